"""Every change is written to a file before it is carried out, so that nothing is lost and
everything can be undone.

An action is a list of steps, each with its inverse:

- ``{"move": [from, to]}``: a file moves to another path below the folder;
- ``{"edit": [recording, field, old, new]}``: a note or the segments of a recording.

``journal.jsonl`` holds one line per action, undo and redo, written before the action is carried
out, so that nothing is lost when the process ends; `Journal.sync` flushes it to the disk, which the
server does several times a second. ``edits.json`` holds the resulting notes and segments, and the
number of the last line that they include: edits of later lines are applied again when the journal
is opened. Only the moves of the last line can be unfinished, and a move may be repeated safely.

Both files are read as if a stranger had written them: every line is checked before anything is
done.
"""

from __future__ import annotations

import json
import threading
from pathlib import PurePosixPath
from typing import Any

from kerneton.exceptions import DataError, FormatError, KernetonError, ParameterError
from kerneton.studio.clips import Edits, are_segments
from kerneton.studio.folders import INCOMING, ORIGINALS, STUDIO, TRASH, is_listed
from kerneton.studio.place import Place, parts_of

JOURNAL, EDITS = f"{STUDIO}/journal.jsonl", f"{STUDIO}/edits.json"
LONGEST_NOTE = 4000  # characters
_UNLISTED = tuple(f"{folder}/" for folder in (INCOMING, ORIGINALS, TRASH))
_MOST_STEPS = 1_000_000

Step = dict[str, list[Any]]
Action = dict[str, Any]  # {"what": text, "steps": [...]}


def inverse(action: Action) -> list[Step]:
    """The steps that undo an action.

    >>> inverse(
    ...     {
    ...         "what": "label",
    ...         "steps": [{"move": ["a", "b"]}, {"edit": ["b", "note", None, "good"]}],
    ...     }
    ... )
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
    """The journal and the edits of one folder; with ``empty`` it does not look at what is there.

    >>> import tempfile
    >>> from pathlib import Path
    >>> place = Place(Path(tempfile.mkdtemp()))
    >>> journal = Journal(place)
    >>> _ = journal.do("note", [{"edit": ["a.csv", "note", None, "good"]}])
    >>> Journal(place).edits
    {'a.csv': {'note': 'good'}}
    >>> journal.undo() is not None, Journal(place).edits, Journal(place).can
    (True, {}, (False, True))
    """

    def __init__(self, place: Place, *, empty: bool = False) -> None:
        self.place = place
        self.edits: Edits = {}
        self.done: list[Action] = []
        self.undone: list[Action] = []
        self.number = self._synced = 0
        self._lock = threading.Lock()
        if not empty:
            self._open()

    @property
    def can(self) -> tuple[bool, bool]:
        """Whether there is something to undo, and to redo."""
        return bool(self.done), bool(self.undone)

    def moved_paths(self) -> set[str]:
        """Every path that undo or redo may need."""
        steps = (step for action in self.done + self.undone for step in action["steps"])
        return {path for step in steps for path in step.get("move", ())}

    def do(self, what: str, steps: list[Step]) -> list[Step]:
        """Carry out an action and return its steps; undone actions can then no longer be redone."""
        return self._record({"do": _checked_action({"what": what, "steps": steps})})

    def undo(self) -> list[Step] | None:
        """Undo the last action and return the steps that were done; None if there is none."""
        return self._record({"undo": self.done[-1]["what"]}) if self.done else None

    def redo(self) -> list[Step] | None:
        """Repeat what was last undone and return its steps; None if there is none."""
        return self._record({"redo": self.undone[-1]["what"]}) if self.undone else None

    def _record(self, line: dict[str, Any]) -> list[Step]:
        """Write a line, carry it out, and return its steps."""
        line = {"n": self.number + 1, **line}
        self.place.append(JOURNAL, json.dumps(line).encode() + b"\n")
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
            text = json.dumps({"number": number, "edits": self.edits}, indent=1)
        self.place.flush(JOURNAL)
        self.place.write(EDITS, text.encode() + b"\n")
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
                if files and self.place.is_taken(before) and not self.place.is_taken(after):
                    self.place.move(before, after)
                    self.place.remove_empty_above(before)
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
        applied, self.edits, wrong = read_edits(self.place)
        if wrong:
            raise FormatError(f"{EDITS}: not the studio's notes and segments: {wrong[0]}")
        data = self.place.read(JOURNAL)
        if data is None:
            self.number = self._synced = applied
            return
        # a crash may leave half a line: it was never carried out
        whole = data[: data.rfind(b"\n") + 1]
        lines: list[tuple[int, list[Step]]] = []
        for count, text in enumerate(whole.split(b"\n")[:-1], start=1):
            try:
                line = _checked_line(json.loads(text), self.number + 1 if lines else None)
                steps = self._remember(line)
            except (ValueError, RecursionError, IndexError) as error:
                raise FormatError(
                    f"{JOURNAL}, line {count}: not a line of the journal: {error}"
                ) from error
            lines.append((line["n"], steps))
        for count, (number, steps) in enumerate(lines, start=1):
            if number > applied:
                self._carry_out(steps, files=count == len(lines))
        if len(whole) < len(data):
            self.place.shorten(JOURNAL, len(whole))
        self._synced = applied


def read_edits(place: Place) -> tuple[int, Edits, list[str]]:
    """The number of the last line, notes and segments by recording, and what is wrong with those
    that are left out.
    """
    data = place.read(EDITS)
    if data is None:
        return 0, {}, []
    try:
        kept = json.loads(data)
        number, given = _number(kept["number"]), kept["edits"].items()
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        return 0, {}, [f"{type(error).__name__}: {error}"]
    edits: Edits = {}
    wrong = []
    for recording, fields in given:
        try:
            parts_of(recording)
            if not isinstance(fields, dict) or not fields:
                raise DataError(f"{recording[:80]!r}: no note and no segments")
            edits[recording] = {
                field: _checked_field(recording, field, value) for field, value in fields.items()
            }
        except KernetonError as error:
            wrong.append(str(error))
    return number, edits, wrong


def _number(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 53:
        raise DataError("expected a number of a line")
    return value


def _checked_field(recording: str, field: object, value: Any) -> Any:
    """A note or segments as they must be."""
    if field == "note" and isinstance(value, str) and len(value) <= LONGEST_NOTE:
        return value
    if field == "segments" and are_segments(value):
        return value
    raise ParameterError(f"{recording[:80]!r}: neither a note nor segments")


def _checked_action(action: Any) -> Action:
    if (
        not isinstance(action, dict)
        or set(action) != {"what", "steps"}
        or not isinstance(action["what"], str)
        or not isinstance(action["steps"], list)
        or len(action["steps"]) > _MOST_STEPS
    ):
        raise DataError("expected what was done, and its steps")
    for step in action["steps"]:
        kind, values = (
            next(iter(step.items())) if isinstance(step, dict) and len(step) == 1 else ("", [])
        )
        if kind == "move" and isinstance(values, list) and len(values) == 2:
            endings = {PurePosixPath("/".join(parts_of(path))).suffix for path in values}
            if len(endings) > 1 or not all(
                is_listed(path) or path.startswith(_UNLISTED) for path in values
            ):
                raise DataError("a move that would hide a recording")
        elif kind == "edit" and isinstance(values, list) and len(values) == 4:
            parts_of(values[0])
            for value in values[2:]:
                if value is not None:
                    _checked_field(values[0], values[1], value)
        else:
            raise DataError("a step that is neither a move nor an edit")
    return action


def _checked_line(line: Any, number: int | None) -> dict[str, Any]:
    """A line whose paths stay inside the folder; ``number`` is the one it must have."""
    if not isinstance(line, dict) or len(line) != 2 or not {"do", "undo", "redo"} & set(line):
        raise DataError("expected a number and an action, undo or redo")
    if _number(line.get("n")) != (line["n"] if number is None else number):
        raise DataError(f"expected line {number}, got {line['n']}")
    if "do" in line:
        _checked_action(line["do"])
    return line
