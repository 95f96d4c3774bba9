"""Every change is written to a file before it is carried out, so that nothing is lost and everything can be undone.

An action is a list of steps, each with its inverse:

- ``{"move": [from, to]}``: a file moves to another path below the folder;
- ``{"edit": [recording, field, old, new]}``: a note or the segments of a recording.

``journal.jsonl`` holds one line per action, undo and redo, written before the action is carried out, so that nothing is lost
when the process ends; `Journal.sync` flushes it to the disk, which the server does several times a second. ``edits.json``
holds the resulting notes and segments, and the number of the last line that they include: edits of later lines are applied
again when the journal is opened. Only the moves of the last line can be unfinished, and a move may be repeated safely.
"""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

from kerneton.exceptions import FormatError
from kerneton.files.output import write_text
from kerneton.studio.folders import remove_empty_folders

Step = dict[str, list[Any]]
Action = dict[str, Any]  # {"what": text, "steps": [...]}


def inverse(action: Action) -> list[Step]:
    """The steps that undo an action.

    >>> inverse({"what": "label", "steps": [{"move": ["a", "b"]}, {"edit": ["b", "note", None, "good"]}]})
    [{'edit': ['b', 'note', 'good', None]}, {'move': ['b', 'a']}]
    """
    out: list[Step] = []
    for step in reversed(action["steps"]):
        if "move" in step:
            out.append({"move": step["move"][::-1]})
        else:
            recording, field, old, new = step["edit"]
            out.append({"edit": [recording, field, new, old]})
    return out


class Journal:
    """The journal and the edits of one folder.

    >>> import tempfile
    >>> home = Path(tempfile.mkdtemp())
    >>> journal = Journal(home)
    >>> _ = journal.do("note", [{"edit": ["a.csv", "note", None, "good"]}])
    >>> Journal(home).edits
    {'a.csv': {'note': 'good'}}
    >>> journal.undo() is not None, Journal(home).edits, Journal(home).can
    (True, {}, (False, True))
    """

    def __init__(self, home: Path, root: Path | None = None) -> None:
        self.home, self.root = home, home if root is None else root
        self._journal, self._edits = home / "journal.jsonl", home / "edits.json"
        self.edits: dict[str, dict[str, Any]] = {}
        self.done: list[Action] = []
        self.undone: list[Action] = []
        self.number = self._synced = 0
        self._lock = threading.Lock()
        self._open()

    @property
    def can(self) -> tuple[bool, bool]:
        """Whether there is something to undo, and to redo."""
        return bool(self.done), bool(self.undone)

    def do(self, what: str, steps: list[Step]) -> list[Step]:
        """Carry out an action and return its steps; undone actions can then no longer be redone."""
        return self._record({"do": {"what": what, "steps": steps}})

    def undo(self) -> list[Step] | None:
        """Undo the last action and return the steps that were done; None if there is none."""
        return self._record({"undo": self.done[-1]["what"]}) if self.done else None

    def redo(self) -> list[Step] | None:
        """Repeat what was last undone and return its steps; None if there is none."""
        return self._record({"redo": self.undone[-1]["what"]}) if self.undone else None

    def _record(self, line: dict[str, Any]) -> list[Step]:
        """Write a line, carry it out, and return its steps."""
        self.home.mkdir(parents=True, exist_ok=True)
        line = {"n": self.number + 1, **line}
        size = self._journal.stat().st_size if self._journal.exists() else 0
        try:
            with self._journal.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
        except OSError:  # the disk is full: half a line must not stay
            os.truncate(self._journal, size)
            raise
        with self._lock:
            steps = self._remember(line)
            self._carry_out(steps)
        return steps

    def sync(self) -> None:
        """Flush every change to the disk, so that a power failure loses nothing."""
        with self._lock:
            number = self.number
            if number == self._synced:
                return
            text = json.dumps({"number": number, "edits": self.edits}, ensure_ascii=False, indent=1)
        with self._journal.open("rb") as file:
            os.fsync(file.fileno())
        write_text(self._edits, text + "\n")
        self._synced = number

    def _remember(self, line: dict[str, Any]) -> list[Step]:
        """Update the stacks of done and undone actions; returns the steps of the line."""
        self.number = line["n"]
        if "undo" in line:
            self.undone.append(self.done.pop())
            return inverse(self.undone[-1])
        if "do" in line:
            self.done.append(line["do"])
            self.undone.clear()
        else:
            self.done.append(self.undone.pop())
        return self.done[-1]["steps"]

    def _carry_out(self, steps: list[Step], *, files: bool = True) -> None:
        for step in steps:
            if "move" in step:
                before, after = step["move"]
                source, target = self.root / before, self.root / after
                if files and source.exists() and not target.exists():
                    target.parent.mkdir(parents=True, exist_ok=True)
                    source.rename(target)
                    remove_empty_folders(self.root, source.parent)
                if before in self.edits:
                    self.edits[after] = self.edits.pop(before)
            else:
                recording, field, _, new = step["edit"]
                fields = self.edits.setdefault(recording, {})
                if new in (None, [], ""):
                    fields.pop(field, None)
                else:
                    fields[field] = new
                if not fields:
                    del self.edits[recording]

    def _open(self) -> None:
        applied = 0
        if self._edits.exists():
            try:
                kept = json.loads(self._edits.read_text(encoding="utf-8"))
                applied, self.edits = int(kept["number"]), dict(kept["edits"])
            except (ValueError, KeyError, TypeError) as error:
                raise FormatError(f"{self._edits}: not the studio's notes and segments: {error}") from error
        if not self._journal.exists():
            self.number = self._synced = applied
            return
        data = self._journal.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]  # a crash may leave half a line: it was never carried out
        lines = whole.splitlines()
        for count, text in enumerate(lines, start=1):
            try:
                line = json.loads(text)
                steps = self._remember(line)
            except (ValueError, KeyError, TypeError, IndexError) as error:
                raise FormatError(
                    f"{self._journal}, line {count}: not a line of the journal: {error}"
                ) from error
            if line["n"] > applied:
                self._carry_out(steps, files=count == len(lines))
        if len(whole) < len(data):
            os.truncate(self._journal, len(whole))
        self._synced = applied
