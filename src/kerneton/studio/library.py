"""The recordings of a folder, and every change to them.

Labels and subjects are folders (``LABEL/SUBJECT/FILE``), so that the command line sees the same as the page. A recording
with segments is below ``__studio__/unlabelled``; each of its segments is also a file in the folder of its label, which is
written again when the segment changes.
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
from kerneton.studio import clips, folders
from kerneton.studio.index import INDEX, sorting_steps
from kerneton.studio.journal import Journal, Step
from kerneton.studio.reading import Files
from kerneton.studio.recording_info import RecordingInfo

Place = tuple[str, str | None, str | None]  # path, label, subject


@dataclass(frozen=True)
class Record:
    """One recording of the folder."""

    id: str  # its path below the folder, and #k for the k-th of a file with several
    path: str
    part: int | None
    label: str | None
    subject: str | None
    info: RecordingInfo


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
        self.journal = Journal(self.root / folders.STUDIO, self.root)
        self.records: dict[str, Record] = {}
        self.broken: dict[str, str] = {}
        self.progress = (0, 0)  # files read, files to read
        self.version = 0
        self.files = Files(self.root)

    # Reading

    def scan(self) -> None:
        """Read every file that is new or has changed, and forget those that are gone."""
        with self.lock:
            clips.sync(self.root, self.journal.edits, self.files.sequences)
        while True:
            version, found = self.version, list(self._entries())
            self.progress = (0, len(found))
            self.files.learn_axes(path for path, *_rest in found)
            for count, (path, *_rest) in enumerate(found):
                self.progress = (count, len(found))
                self.files.info(path)
            with self.lock:
                if version == self.version:  # otherwise scan again: something was changed meanwhile
                    self._collect(found)
                    self.progress = (len(found), len(found))
                    return

    def _entries(self) -> Iterator[Place]:
        try:
            for entry in listed_entries(self.root):
                if entry.path.resolve().is_relative_to(self.root):  # links must not lead out of the folder
                    yield entry.path.relative_to(self.root).as_posix(), entry.label, entry.subject
        except MissingDataError:
            pass  # an index names files that are missing: each of them is listed as broken
        unlabelled = self.root / folders.UNLABELLED
        if unlabelled.is_dir():
            for entry in find_entries(unlabelled):
                if entry.path.resolve().is_relative_to(self.root):
                    # the first folder there is the subject
                    yield entry.path.relative_to(self.root).as_posix(), None, entry.label

    def _collect(self, found: Iterable[Place] | None = None, *, paths: set[str] | None = None) -> None:
        """Update all records, or those of some paths; reads what is new or has changed."""
        records: dict[str, Record] = {}
        broken: dict[str, str] = {}
        if paths is not None:
            records = {id: r for id, r in self.records.items() if r.path not in paths}
            broken = {p: why for p, why in self.broken.items() if p not in paths}
            found = self._entries_of(paths)
        elif found is None:
            found = self._entries()
        for path, label, subject in list(found):
            info = self.files.info(path)
            if isinstance(info, str):
                broken[path] = info
                continue
            for k, (id, own_label, own_subject) in enumerate(folders.named(path, info, label, subject)):
                part = None if len(info) == 1 else k
                records[id] = Record(id, path, part, own_label, own_subject, info[k])
        if paths is not None:
            records = dict(sorted(records.items(), key=lambda item: folders.order(*item)))
        with self.lock:
            self.records, self.broken = records, broken
            self.version += 1

    def _entries_of(self, paths: set[str]) -> Iterator[Place]:
        for path in paths:
            if (self.root / path).exists() and folders.is_listed(path):
                yield path, *folders.label_and_subject(path)

    def record(self, id: str) -> Record:
        """A recording by its id; any other id is an error, also if it is the path of a file."""
        found = self.records.get(id)
        if found is None:
            raise MissingDataError(f"{id[: folders.LONGEST]!r}: no such recording in this folder")
        return found

    def sequence(self, id: str) -> SkeletonSequence:
        """The recording itself, with the folder's label and subject."""
        record = self.record(id)
        found = self.files.sequences(record.path)[record.part or 0]
        return found.replace(label=record.label, subject=record.subject, name=record.id)

    # Changes; each returns the ids that changed, old to new

    def assign(self, ids: Iterable[str], **changes: Any) -> dict[str, str]:
        """Give recordings a label or a subject; ``None`` removes it. For the file of a segment, the segment changes."""
        wanted = {field: folders.check_name(value, field) for field, value in changes.items()}
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
                target = folders.path_of(label, wanted.get("subject", record.subject), PurePosixPath(id).name)
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
                checked = clips.check_segments(segments, record.info.n_frames, id)
                if checked and record.label is not None:
                    target = folders.path_of(None, record.subject, PurePosixPath(id).name)
                    steps.append({"move": [id, self._free(target, set())]})
                    id = steps[-1]["move"][1]
                steps.append({"edit": [id, "segments", edits.get("segments"), checked]})
            return renamed | self._do("note" if segments is None else "segments", steps, renamed)

    def remove(self, ids: Iterable[str]) -> dict[str, str]:
        """Move recordings to the studio's trash; a segment is removed from its recording."""
        with self.lock:
            renamed, taken, steps = self._own_files(ids), set[str](), list[Step]()
            for id in renamed.values():
                self.record(id)
                if clips.source_of(id, self.journal.edits) is not None:
                    steps += clips.relabel(id, None, self.journal.edits)
                else:
                    target = f"{folders.TRASH}/{PurePosixPath(id).name}"
                    steps.append({"move": [id, self._free(target, taken)]})
            return self._do("remove", steps, renamed)

    def add(self, staged: Iterable[tuple[str, str]], what: str = "add") -> list[str]:
        """Move files from below ``__studio__`` to these paths, or to free ones like them; returns the paths."""
        with self.lock:
            self._sort_by_index()
            taken: set[str] = set()
            steps: list[Step] = [{"move": [path, self._free(target, taken)]} for path, target in staged]
            self._do(what, steps, {})
            return [step["move"][1] for step in steps]

    def undo(self) -> dict[str, str] | None:
        """Undo the last change; returns the ids that it moved, or None if there is nothing to undo."""
        with self.lock:
            return self._after(self.journal.undo())

    def redo(self) -> dict[str, str] | None:
        """Repeat what was last undone."""
        with self.lock:
            return self._after(self.journal.redo())

    def _do(self, what: str, steps: list[Step], renamed: dict[str, str]) -> dict[str, str]:
        moved = (self._after(self.journal.do(what, steps)) if steps else None) or {}
        return {old: moved.get(new, new) for old, new in renamed.items() if moved.get(new, new) != old}

    def _after(self, steps: list[Step] | None) -> dict[str, str] | None:
        if steps is None:
            return None
        changed = clips.sync(self.root, self.journal.edits, self.files.sequences)
        moves = [step["move"] for step in steps if "move" in step]
        if any(PurePosixPath(path).name == INDEX for move in moves for path in move):
            self._collect()  # it holds the labels
        else:
            for before, after in moves:  # the content is the same
                self.files.moved(before, after)
            self._collect(paths=changed.union(*moves))
        return dict(moves)

    def _free(self, target: str, taken: set[str]) -> str:
        free = folders.free_path(target, lambda path: path in taken or (self.root / path).exists())
        taken.add(free)
        return free

    def _own_files(self, ids: Iterable[str]) -> dict[str, str]:
        """Ids after every recording has its own file: files with several recordings, or that need another file, are split."""
        ids = list(ids)
        sorted_ids = self._sort_by_index()
        renamed: dict[str, str] = {}
        for id in (sorted_ids.get(id, id) for id in ids):
            record = self.record(id) if id not in renamed else None
            if record is None or (record.part is None and not record.path.lower().endswith(".amc")):
                renamed.setdefault(id, id)
                continue
            for sibling in [r for r in self.records.values() if r.path == record.path]:
                name = f"{folders.safe_name(sibling.info.name or PurePosixPath(record.path).stem)}.npz"
                target = self._free(folders.path_of(sibling.label, sibling.subject, name), set())
                sequence = self.sequence(sibling.id)
                write(self.root / target, [sequence.replace(name=PurePosixPath(target).stem)])
                renamed[sibling.id] = target
            kept = self._free(f"{folders.ORIGINALS}/{PurePosixPath(record.path).name}", set())
            (self.root / kept).parent.mkdir(parents=True, exist_ok=True)
            (self.root / record.path).rename(self.root / kept)
            folders.remove_empty_folders(self.root, (self.root / record.path).parent)
            self._collect()
        return {id: renamed[sorted_ids.get(id, id)] for id in ids}

    def _sort_by_index(self) -> dict[str, str]:
        """Labels of an ``index.csv`` become folders, as one change that can be undone; ids, old to new."""
        if not (self.root / INDEX).is_file():
            return {}
        steps, ids = sorting_steps(self._entries(), self.records.values(), self._free)
        self.journal.do("sort by index.csv", steps)
        self._collect()
        return ids
