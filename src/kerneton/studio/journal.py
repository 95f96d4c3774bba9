"""Every change is a line in a file before it happens, so that nothing is lost and everything can be undone.

An action is a list of steps, each with its inverse:

- ``{"move": [from, to]}``: a file goes to another place below the folder;
- ``{"edit": [recording, field, old, new]}``: a note or the segments of a recording.

``journal.jsonl`` holds a line per action, undo and redo, written before anything is done, so that the end of the process
loses nothing; `Journal.sync` brings it to the disk, which the server asks for several times a second. ``edits.json``
holds the notes and segments that result, and the number of the last line that is in it: edits of later lines are made
again when the journal is opened. Of moves only the last line can be unfinished, and a move may be repeated without harm.
"""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

from kerneton.exceptions import FormatError
from kerneton.files.output import write_text
from kerneton.studio.places import remove_empty_folders

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

    def do(self, what: str, steps: list[Step]) -> Action:
        """Carry out an action; what was undone before can no longer be redone."""
        action = {"what": what, "steps": steps}
        self._record({"do": action})
        return action

    def undo(self) -> list[Step] | None:
        """Take the last action back and return the steps that did it; None where there is none."""
        if not self.done:
            return None
        steps = inverse(self.done[-1])
        self._record({"undo": self.done[-1]["what"]})
        return steps

    def redo(self) -> list[Step] | None:
        """Repeat what was last undone and return its steps; None where nothing was."""
        if not self.undone:
            return None
        steps: list[Step] = self.undone[-1]["steps"]
        self._record({"redo": self.undone[-1]["what"]})
        return steps

    def _record(self, line: dict[str, Any]) -> None:
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
            self._carry_out(self._remember(line))

    def sync(self) -> None:
        """Bring every change to the disk, so that a loss of power loses nothing either."""
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
        """Keep the stacks of done and undone actions; the steps that the line asks for."""
        self.number = line["n"]
        if "do" in line:
            self.done.append(line["do"])
            self.undone.clear()
            steps: list[Step] = line["do"]["steps"]
            return steps
        if "undo" in line:
            self.undone.append(self.done.pop())
            return inverse(self.undone[-1])
        self.done.append(self.undone.pop())
        again: list[Step] = self.done[-1]["steps"]
        return again

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
                if new is None or new == [] or new == "":
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
