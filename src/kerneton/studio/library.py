"""The folder as the studio sees it: recordings where they lie, and every change to them.

Labels and subjects are places (``LABEL/SUBJECT/FILE``), so that the command line sees what the page sees. A recording
with segments lies below ``__studio__/unlabelled``; its segments are files of their own in their label's folder, which
follow the segments.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import MissingDataError, ParameterError
from kerneton.files.folder import find_entries, listed_entries
from kerneton.files.readers import write
from kerneton.studio import clips, places
from kerneton.studio.facts import Facts
from kerneton.studio.index import INDEX, sorting_steps
from kerneton.studio.journal import Journal, Step
from kerneton.studio.reading import Files

Place = tuple[str, str | None, str | None]  # path, label, subject


@dataclass(frozen=True)
class Record:
    """One recording of the folder."""

    id: str  # its path below the folder, and #k for the k-th of a file with several
    path: str
    part: int | None
    label: str | None
    subject: str | None
    facts: Facts


class Library:
    """The recordings of a folder and what can be done to them; safe to use from several threads.

    >>> import tempfile
    >>> from kerneton import make_actions
    >>> root = Path(tempfile.mkdtemp())
    >>> write(root / "wave" / "ann" / "1.npz", make_actions(["wave"], n_subjects=1, n_takes=1))
    >>> library = Library(root)
    >>> library.scan()
    >>> library.assign(["wave/ann/1.npz"], label="greet")
    {'wave/ann/1.npz': 'greet/ann/1.npz'}
    >>> sorted(library.records), library.undo()
    (['greet/ann/1.npz'], {'greet/ann/1.npz': 'wave/ann/1.npz'})
    """

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.root.mkdir(parents=True, exist_ok=True)
        self.lock = threading.RLock()
        self.journal = Journal(self.root / places.STUDIO, self.root)
        self.records: dict[str, Record] = {}
        self.broken: dict[str, str] = {}
        self.progress = (0, 0)  # files read, files to read
        self.version = 0
        self.files = Files(self.root)

    # Reading

    def scan(self) -> None:
        """Look at every file that is new or has changed, and forget those that are gone."""
        with self.lock:
            clips.sync(self.root, self.journal.edits, self.files.sequences)
        while True:
            version, found = self.version, list(self._entries())
            self.progress = (0, len(found))
            self.files.learn_axes(path for path, *_rest in found)
            for count, (path, *_rest) in enumerate(found):
                self.progress = (count, len(found))
                self.files.facts(path)
            with self.lock:
                if version == self.version:  # else something was changed meanwhile: look again, most is known
                    self._collect(found)
                    self.progress = (len(found), len(found))
                    return

    def _entries(self) -> Iterator[Place]:
        try:
            for entry in listed_entries(self.root):
                if entry.path.resolve().is_relative_to(self.root):  # links must not lead out of the folder
                    yield entry.path.relative_to(self.root).as_posix(), entry.label, entry.subject
        except MissingDataError:
            pass  # an index that names files that are not there: each of them is said to be broken
        unlabelled = self.root / places.UNLABELLED
        if unlabelled.is_dir():
            for entry in find_entries(unlabelled):
                if entry.path.resolve().is_relative_to(self.root):
                    # the first folder there is the subject
                    yield entry.path.relative_to(self.root).as_posix(), None, entry.label

    def _collect(self, found: Iterable[Place] | None = None, *, paths: set[str] | None = None) -> None:
        """The records of what lies in the folder now, or of these paths alone; reads what is new or has changed."""
        records = {} if paths is None else {id: r for id, r in self.records.items() if r.path not in paths}
        broken = {} if paths is None else {p: why for p, why in self.broken.items() if p not in paths}
        if found is None:
            found = self._entries() if paths is None else self._entries_of(paths)
        for path, label, subject in list(found):
            facts = self.files.facts(path)
            if isinstance(facts, str):
                broken[path] = facts
                continue
            for k, (id, own_label, own_subject) in enumerate(places.named(path, facts, label, subject)):
                part = None if len(facts) == 1 else k
                records[id] = Record(id, path, part, own_label, own_subject, facts[k])
        if paths is not None:
            records = dict(sorted(records.items(), key=lambda item: places.order(*item)))
        with self.lock:
            self.records, self.broken = records, broken
            self.version += 1

    def _entries_of(self, paths: set[str]) -> Iterator[Place]:
        for path in paths:
            if (self.root / path).exists() and places.is_listed(path):
                yield path, *places.label_and_subject(path)

    def record(self, id: str) -> Record:
        """A recording by its id; ids that the folder does not have are an error, whatever path they spell."""
        found = self.records.get(id)
        if found is None:
            raise MissingDataError(f"{id[: places.LONGEST]!r}: no such recording in this folder")
        return found

    def sequence(self, id: str) -> SkeletonSequence:
        """The recording itself, with the folder's label and subject."""
        record = self.record(id)
        found = self.files.sequences(record.path)[record.part or 0]
        return found.replace(label=record.label, subject=record.subject, name=record.id)

    # Changes; each returns the ids that changed, old to new

    def assign(self, ids: Iterable[str], **changes: Any) -> dict[str, str]:
        """Give recordings a label or a subject; ``None`` takes it away. Labels of segments change their segment."""
        wanted = {field: places.check_name(value, field) for field, value in changes.items()}
        with self.lock:
            steps: list[Step] = []
            taken: set[str] = set()
            renamed = self._own_files(ids)
            for id in renamed.values():
                record = self.record(id)
                source = clips.source_of(id, self.journal.edits)
                if source is not None:
                    if "label" in wanted:
                        steps += clips.relabel(id, wanted["label"], self.journal.edits)
                    continue
                label = wanted.get("label", record.label)
                if label is not None and self.journal.edits.get(id, {}).get("segments"):
                    raise ParameterError(f"{id}: its labels are in its segments; remove them first")
                target = places.place(label, wanted.get("subject", record.subject), PurePosixPath(id).name)
                if target != id:
                    steps.append({"move": [id, self._free(target, taken)]})
            return renamed | self._do(" and ".join(wanted), steps, renamed)

    def annotate(
        self, id: str, *, note: str | None = None, segments: list[Any] | None = None
    ) -> dict[str, str]:
        """Set a recording's note, or its segments; a recording with segments has no label of its own."""
        with self.lock:
            renamed = self._own_files([id])
            id = renamed[id]
            record, edits = self.record(id), self.journal.edits.get(id, {})
            steps: list[Step] = []
            if note is not None:
                if len(note) > 4000:
                    raise ParameterError(f"{id}: a note of {len(note)} characters; at most 4000")
                steps.append({"edit": [id, "note", edits.get("note"), note]})
            if segments is not None:
                if clips.source_of(id, self.journal.edits) is not None:
                    raise ParameterError(f"{id}: a segment of another recording; edit the segments there")
                checked = clips.check_segments(segments, record.facts.n_frames, id)
                if checked and record.label is not None:
                    target = places.place(None, record.subject, PurePosixPath(id).name)
                    target = self._free(target, set())
                    steps.append({"move": [id, target]})
                    id = target
                steps.append({"edit": [id, "segments", edits.get("segments"), checked]})
            return renamed | self._do("note" if segments is None else "segments", steps, renamed)

    def remove(self, ids: Iterable[str]) -> dict[str, str]:
        """Move recordings to the studio's trash; a segment leaves its recording."""
        with self.lock:
            renamed, taken, steps = self._own_files(ids), set[str](), list[Step]()
            for id in renamed.values():
                self.record(id)
                if clips.source_of(id, self.journal.edits) is not None:
                    steps += clips.relabel(id, None, self.journal.edits)
                    continue
                steps.append({"move": [id, self._free(f"{places.TRASH}/{PurePosixPath(id).name}", taken)]})
            return self._do("remove", steps, renamed)

    def add(self, staged: Iterable[tuple[str, str]], what: str = "add") -> list[str]:
        """Take in files from below ``__studio__`` at the places wanted; returns where they are."""
        with self.lock:
            self._sort_by_index()
            taken: set[str] = set()
            steps: list[Step] = [{"move": [path, self._free(target, taken)]} for path, target in staged]
            if steps:
                self.journal.do(what, steps)
                self._after(steps)
            return [step["move"][1] for step in steps]

    def undo(self) -> dict[str, str] | None:
        """Take the last change back; the ids that it moved, or None where there is nothing to undo."""
        with self.lock:
            return self._after(self.journal.undo())

    def redo(self) -> dict[str, str] | None:
        """Repeat what was last undone."""
        with self.lock:
            return self._after(self.journal.redo())

    def _do(self, what: str, steps: list[Step], renamed: dict[str, str]) -> dict[str, str]:
        if steps:
            self.journal.do(what, steps)
        moved = self._after(steps) or {}
        return {old: moved.get(new, new) for old, new in renamed.items() if moved.get(new, new) != old}

    def _after(self, steps: list[Step] | None) -> dict[str, str] | None:
        if steps is None:
            return None
        changed = clips.sync(self.root, self.journal.edits, self.files.sequences)
        moves = [step["move"] for step in steps if "move" in step]
        if any(PurePosixPath(path).name == INDEX for move in moves for path in move):
            self._collect()  # labels came from there, or come from there again
        else:
            for before, after in moves:  # the content is the same
                self.files.moved(before, after)
            self._collect(paths=changed.union(*moves))
        return dict(moves)

    def _free(self, target: str, taken: set[str]) -> str:
        free = places.free_place(target, lambda path: path in taken or (self.root / path).exists())
        taken.add(free)
        return free

    def _own_files(self, ids: Iterable[str]) -> dict[str, str]:
        """Ids of recordings with files of their own: files with several, or that need another file, are taken apart."""
        ids = list(ids)
        sorted_ids = self._sort_by_index()
        renamed: dict[str, str] = {}
        for id in (sorted_ids.get(id, id) for id in ids):
            record = self.record(id) if id not in renamed else None
            if record is None or (record.part is None and not record.path.lower().endswith(".amc")):
                renamed.setdefault(id, id)
                continue
            siblings = [r for r in self.records.values() if r.path == record.path]
            for sibling in siblings:
                name = f"{places.safe_name(sibling.facts.name or PurePosixPath(record.path).stem)}.npz"
                target = self._free(places.place(sibling.label, sibling.subject, name), set())
                sequence = self.sequence(sibling.id)
                write(self.root / target, [sequence.replace(name=PurePosixPath(target).stem)])
                renamed[sibling.id] = target
            kept = self._free(f"{places.ORIGINALS}/{PurePosixPath(record.path).name}", set())
            (self.root / kept).parent.mkdir(parents=True, exist_ok=True)
            (self.root / record.path).rename(self.root / kept)
            places.remove_empty_folders(self.root, (self.root / record.path).parent)
            self._collect()
        return {id: renamed[sorted_ids.get(id, id)] for id in ids}

    def _sort_by_index(self) -> dict[str, str]:
        """Labels of an ``index.csv`` become places, as one change that can be undone; ids, old to new."""
        if not (self.root / INDEX).is_file():
            return {}
        steps, ids = sorting_steps(self._entries(), self.records.values(), self._free)
        self.journal.do("sort by index.csv", steps)
        self._collect()
        return ids
