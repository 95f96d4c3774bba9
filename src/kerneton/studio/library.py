"""The recordings of a folder, and every change to them.

Labels and subjects are folders (``LABEL/SUBJECT/FILE``), so that the command line sees the same as
the page. A recording with segments is below ``__studio__/unlabelled``; each of its segments is also
a file in the folder of its label, which is written again when the segment changes.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import FormatError, KernetonError, MissingDataError, ParameterError
from kerneton.files.folder import find_entries, listed_entries
from kerneton.files.readers import FORMATS
from kerneton.studio import clips, folders, origin
from kerneton.studio.index import INDEX, sorting_steps
from kerneton.studio.journal import LONGEST_NOTE, Journal, Step, read_edits
from kerneton.studio.place import Place
from kerneton.studio.reading import Files
from kerneton.studio.recording_info import RecordingInfo

Found = tuple[str, str | None, str | None]  # path, label, subject
_KEPT = (folders.UNLABELLED, folders.INCOMING, folders.TRASH, folders.ORIGINALS, folders.MODELS)


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
    >>> from kerneton import make_actions, write
    >>> root = Path(tempfile.mkdtemp())
    >>> write(make_actions(["wave"], n_subjects=1, n_takes=1), root / "wave" / "ann" / "1.npz")
    >>> library = Library(root)
    >>> library.scan()
    >>> library.assign(["wave/ann/1.npz"], label="greet")
    {'wave/ann/1.npz': 'greet/ann/1.npz'}
    >>> sorted(library.records), library.undo()
    (['greet/ann/1.npz'], {'greet/ann/1.npz': 'wave/ann/1.npz'})
    """

    def __init__(
        self, root: Path, estimate: Callable[[Sequence[Path]], None] = lambda _: None
    ) -> None:
        self.root = root.resolve()
        self.root.mkdir(parents=True, exist_ok=True)
        self.lock = threading.RLock()
        self.place = Place(self.root)
        # nothing is changed before the user has taken the folder over
        self.foreign = self._why_foreign()
        self.journal = Journal(self.place, empty=True)
        if self.foreign is None:
            origin.adopt(self.place)
            self._open_journal()
        self.records: dict[str, Record] = {}
        self.broken: dict[str, str] = {}
        self.fault: str | None = None  # of the last scan
        self._films: dict[str, list[str]] = {}  # paths of films by their stem
        self._seen = 0  # at the last look
        self._unreadable: dict[str, str] = {}
        self._unlisted: dict[str, str] = {}  # why not all files are listed
        self._uncut: dict[str, str] = {}  # segments whose files could not be written
        self.progress = (0, 0)  # files read, files to read
        self.version = 0
        self.files = Files(self.root, estimate)

    # Whose folder it is

    def _why_foreign(self) -> str | None:
        if self.place.is_taken(folders.STUDIO) and not self.place.is_folder(folders.STUDIO):
            raise FormatError(
                f"{self.root / folders.STUDIO}: a link or a file; remove it, then start again"
            )
        return (
            None if origin.is_ours(self.place) else "it was not made by the studio on this machine"
        )

    def _open_journal(self) -> None:
        try:
            self.journal = Journal(self.place)
            clips.read_list(self.place)
        except (KernetonError, OSError) as error:
            self.journal, self.foreign = Journal(self.place, empty=True), str(error)

    def check_ours(self) -> None:
        """An error while the folder counts as a stranger's."""
        if self.foreign is not None:
            raise ParameterError(
                f"nothing is changed in this folder before you take it over: {self.foreign}"
            )

    def take_over(self) -> dict[str, Any]:
        """Make a stranger's folder ours: notes and segments that are valid stay, all else of its
        ``__studio__`` but files is set aside.
        """
        with self.lock:
            if self.foreign is None:
                return {"wrong": []}
            wrong: list[str] = []
            try:
                _, edits, wrong = read_edits(self.place)
            except (KernetonError, OSError) as error:
                edits, wrong = {}, [str(error)]
            aside = folders.free_path(folders.ASIDE, self.place.is_taken)
            for name in self.place.names(folders.STUDIO):
                path = f"{folders.STUDIO}/{name}"
                kept = path in _KEPT and self.place.is_folder(path)
                if not kept and not path.startswith(folders.ASIDE):
                    self.place.set_aside(path, f"{aside}/{name}")
            origin.adopt(self.place)
            self.foreign = None
            self._open_journal()
            steps: list[Step] = [
                {"edit": [recording, field, None, value]}
                for recording, fields in edits.items()
                for field, value in fields.items()
            ]
            if steps and self.foreign is None:
                self.journal.do("take over", steps)
        self.scan()
        return {"wrong": wrong}

    # Reading

    def scan(self) -> None:
        """Read every file that is new or has changed, and forget those that are gone. What goes
        wrong is kept in ``fault``.
        """
        try:
            self._scan()
            self._films = self._find_films()
            self.fault = None
        except Exception as error:  # the list stays as it was, and the page says why
            self.fault = f"the folder cannot be read: {reason(error)}".replace(f"{self.root}/", "")
            self.progress = (0, 0)

    def _scan(self) -> None:
        self.place.check_there()
        with self.lock:
            self._sync_clips()
        while True:
            version, found = self.version, list(self._entries())
            self.progress = (0, len(found))
            self.files.estimate(path for path, *_rest in found)
            self.files.learn_axes(path for path, *_rest in found)
            for count, (path, *_rest) in enumerate(found):
                self.progress = (count, len(found))
                self.files.info(path)
            with self.lock:
                if version == self.version:  # otherwise scan again: something was changed meanwhile
                    self._collect(found)
                    self.progress = (len(found), len(found))
                    return

    def _find_films(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        endings = tuple(FORMATS["film"].suffixes)
        for folder, below, names in os.walk(self.root):
            inside = Path(folder).relative_to(self.root).as_posix()
            below[:] = sorted(name for name in below if _is_watched(inside, name))
            for name in sorted(names):
                if name.lower().endswith(endings) and not name.startswith("."):
                    path = PurePosixPath(inside, name)
                    found.setdefault(path.stem, []).append(str(path))
        return found

    @property
    def has_films(self) -> bool:
        """Whether there is any film in the folder."""
        return bool(self._films)

    def film_of(self, id: str) -> tuple[str, int] | None:
        """The film of a recording, and the frame at which the recording begins in it: the file that
        it was estimated from, or one of its name, in its folder or alone of that name.
        """
        start = 0
        if "@" in id and (clip := clips.clip_paths(self.journal.edits).get(id)) is not None:
            id, start = clip[0], clip[1]["start"]
        path = PurePosixPath(self.record(id).path)
        some = self._films.get(path.stem, [])
        if str(path) in some:
            return str(path), start
        near = [film for film in some if PurePosixPath(film).parent == path.parent] or some
        return (near[0], start) if len(near) == 1 and self.place.is_file(near[0]) else None

    def look(self) -> bool:
        """Scan again if another program has changed something; whether it has."""
        seen = self._glance()
        if seen == self._seen:
            return False
        self.scan()
        self._seen = self._glance()  # what the scan itself has written is no change
        return True

    def _glance(self) -> int:
        """A number that changes with the names, sizes and times of all files that are listed."""
        facts = []
        for folder, below, names in os.walk(self.root):
            inside = Path(folder).relative_to(self.root).as_posix()
            below[:] = sorted(name for name in below if _is_watched(inside, name))
            for name in sorted(names) if inside != folders.STUDIO else ():
                with contextlib.suppress(OSError):
                    found = os.stat(os.path.join(folder, name))
                    facts.append((inside, name, found.st_mtime_ns, found.st_size))
        return hash(tuple(facts))

    def _entries(self) -> Iterator[Found]:
        skipped: list[OSError] = []
        ignored: list[Path] = []
        unlisted: dict[str, str] = {}
        try:
            for entry in listed_entries(self.root, ignored=ignored, skipped=skipped):
                if folders.is_inside(self.root, entry.path):
                    yield entry.path.relative_to(self.root).as_posix(), entry.label, entry.subject
        except MissingDataError:
            pass  # an index names files that are missing: each of them is listed as broken
        except (KernetonError, OSError, ValueError) as error:  # the other files are shown
            name = INDEX if self.place.is_file(INDEX) else "folder"
            unlisted[name] = f"{name}: {reason(error)}".replace(f"{self.root}/", "")
        if self.place.is_folder(folders.UNLABELLED):
            unlabelled = self.root / folders.UNLABELLED
            for entry in find_entries(unlabelled, ignored=ignored, skipped=skipped):
                if folders.is_inside(self.root, entry.path):
                    # the first folder there is the subject
                    yield entry.path.relative_to(self.root).as_posix(), None, entry.label
        for problem in skipped:
            name = str(problem.filename).replace(f"{self.root}/", "")
            unlisted[name] = f"{name}: cannot be read: {problem.strerror}"
        for path in ignored:
            name = path.relative_to(self.root).as_posix()
            unlisted[name] = f"{name}: no format of recordings that can be read"
        self._unlisted = unlisted

    def _sync_clips(self) -> set[str]:
        """The files of segments are written or removed; those that changed."""
        if self.foreign is not None:
            return set()
        changed, self._uncut = clips.sync(self.place, self.journal.edits, self.files.sequences)
        return changed

    def _collect(
        self, found: Iterable[Found] | None = None, *, paths: set[str] | None = None
    ) -> None:
        """Update all records, or those of some paths; reads what is new or has changed."""
        records: dict[str, Record] = {}
        broken: dict[str, str] = {}
        if paths is not None:
            records = {id: r for id, r in self.records.items() if r.path not in paths}
            broken = {p: why for p, why in self._unreadable.items() if p not in paths}
            found = self._entries_of(paths)
        elif found is None:
            found = self._entries()
        for path, label, subject in list(found):
            info = self.files.info(path)
            if isinstance(info, str):
                broken[path] = info
                continue
            for k, (id, own_label, own_subject) in enumerate(
                folders.named(path, info, label, subject)
            ):
                part = None if len(info) == 1 else k
                records[id] = Record(id, path, part, own_label, own_subject, info[k])
        if paths is not None:
            records = dict(sorted(records.items(), key=lambda item: folders.order(*item)))
        self._unreadable = broken
        broken = broken | self._uncut | self._unlisted
        with self.lock:
            if (records, broken) != (self.records, self.broken) or not self.version:
                self.records, self.broken = records, broken
                self.version += 1

    def _entries_of(self, paths: set[str]) -> Iterator[Found]:
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
        """Give recordings a label or a subject; ``None`` removes it. For the file of a segment, the
        segment changes.
        """
        wanted = {field: folders.check_name(value, field) for field, value in changes.items()}
        with self.lock:
            steps: list[Step] = []
            taken: set[str] = set()
            renamed = self._own_files(ids)
            segments = clips.clip_paths(self.journal.edits)
            cut = [id for id in renamed.values() if id in segments]
            if "label" in wanted and cut:
                steps += clips.relabel(cut, wanted["label"], self.journal.edits)
            for id in renamed.values():
                record = self.record(id)
                if id in segments:
                    continue
                label = wanted.get("label", record.label)
                if label is not None and self.journal.edits.get(id, {}).get("segments"):
                    raise ParameterError(f"{id}: its labels are in its segments; remove them first")
                target = folders.path_of(
                    label, wanted.get("subject", record.subject), PurePosixPath(id).name
                )
                if target != id:
                    steps.append({"move": [id, self._free(target, taken)]})
            return renamed | self._do(" and ".join(wanted), steps, renamed)

    def annotate(
        self, id: str, *, note: str | None = None, segments: list[Any] | None = None
    ) -> dict[str, str]:
        """Set a recording's note, or its segments; a recording with segments has no label of its
        own.
        """
        with self.lock:
            renamed = self._own_files([id])
            id = renamed[id]
            record, edits = self.record(id), self.journal.edits.get(id, {})
            steps: list[Step] = []
            if note is not None:
                if len(note) > LONGEST_NOTE:
                    raise ParameterError(
                        f"{id}: a note of {len(note)} characters; at most {LONGEST_NOTE}"
                    )
                steps.append({"edit": [id, "note", edits.get("note"), note]})
            if segments is not None:
                if clips.source_of(id, self.journal.edits) is not None:
                    raise ParameterError(
                        f"{id}: a segment of another recording; edit the segments there"
                    )
                checked = clips.check_segments(segments, record.info.n_frames, id)
                steps += self._segment_steps(id, checked, set())
            return renamed | self._do("note" if segments is None else "segments", steps, renamed)

    def _segment_steps(
        self, id: str, segments: list[dict[str, Any]], taken: set[str]
    ) -> list[Step]:
        """The steps that give a recording these segments, and with them no label of its own."""
        steps: list[Step] = []
        before = self.journal.edits.get(id, {}).get("segments")
        if segments and not id.startswith(f"{folders.UNLABELLED}/"):
            target = folders.path_of(None, self.record(id).subject, PurePosixPath(id).name)
            steps.append({"move": [id, self._free(target, taken)]})
            id = steps[-1]["move"][1]
        return [*steps, {"edit": [id, "segments", before, segments]}]

    def rename(self, field: str, old: str, new: str) -> dict[str, str]:
        """Give a label, or a person, another name wherever it occurs, as one change; a name that
        exists already takes over what the old one had.
        """
        if field not in ("label", "subject"):
            raise ParameterError(f"expected label or subject, got {field[:40]!r}")
        wanted = folders.check_name(new, field)
        if wanted is None:
            raise ParameterError(f"{field} {old[:80]!r} needs a new name")
        with self.lock:
            self.check_ours()
            stored = field == "label" and any(
                s["label"] == old for r in self.records.values() for s in self._segments(r)
            )
            ids = [id for id, r in self.records.items() if getattr(r, field) == old]
            if not ids and not stored:
                raise MissingDataError(f"no recording has the {field} {old[:80]!r}")
            if stored:  # of other programs' files
                ids += [
                    id
                    for id, r in self.records.items()
                    if r.info.segments
                    and "segments" not in self.journal.edits.get(id, {})
                    and any(s["label"] == old for s in self._segments(r))
                ]
            renamed = self._own_files(ids)
            cut = clips.clip_paths(self.journal.edits)
            taken: set[str] = set()
            steps: list[Step] = []
            for id in renamed.values():
                record = self.record(id)
                if id in cut or getattr(record, field) != old:
                    continue
                names = {"label": record.label, "subject": record.subject, field: wanted}
                target = folders.path_of(names["label"], names["subject"], PurePosixPath(id).name)
                steps.append({"move": [id, self._free(target, taken)]})
            for id, record in self.records.items() if field == "label" else ():
                now = self._segments(record)
                if any(s["label"] == old for s in now):
                    changed = [{**s, "label": wanted} if s["label"] == old else s for s in now]
                    steps += self._segment_steps(id, changed, taken)
            return renamed | self._do(f"{field} {old} → {wanted}", steps, renamed)

    def _segments(self, record: Record) -> list[dict[str, Any]]:
        """The segments of a recording: the user's, else those that its file holds."""
        own = self.journal.edits.get(record.id, {}).get("segments")
        return own or clips.stored_segments(record.info)

    def trim(self, id: str, start: int, stop: int) -> dict[str, str]:
        """Keep the frames from ``start`` up to ``stop``; the whole recording stays among the
        originals, and undo brings it back. Of a segment, its edges move.
        """
        with self.lock:
            self.check_ours()
            id = self._own_files([id])[id]
            record, edits = self.record(id), dict(self.journal.edits.get(id, {}))
            n = record.info.n_frames
            if not (type(start) is type(stop) is int and 0 <= start < stop <= n):
                raise ParameterError(f"{id}: frames {start} to {stop} of {n} cannot be kept")
            if (clip := clips.clip_paths(self.journal.edits).get(id)) is not None:
                source, segment = clip
                begin = segment["start"]
                moved = {**segment, "start": begin + start, "stop": begin + stop}
                old = self.journal.edits[source]["segments"]
                new = [moved if s == segment else s for s in old]
                return self._do("trim", [{"edit": [source, "segments", old, new]}], {id: id})
            if record.info.segments and "segments" not in edits:
                raise ParameterError(
                    f"{id}: its segments come with a file of another program, which would no "
                    "longer fit; change one of them here first, or use 'kerneton cut'"
                )
            path = PurePosixPath(id)
            staged = self._free(f"{folders.ORIGINALS}/{path.stem}.npz", set())
            cut = self.sequence(id).cut(start, stop, name=path.stem)
            self.place.write_recordings(staged, [cut.replace(segments=())])
            taken = {staged}
            original = self._free(f"{folders.ORIGINALS}/{path.name}", taken)
            target = str(path.with_suffix(".npz"))
            if target != id:
                target = self._free(target, taken)
            kept = [
                {**s, "start": max(s["start"], start) - start, "stop": min(s["stop"], stop) - start}
                for s in self._segments(record)
                if s["start"] < stop and s["stop"] > start
            ]
            steps: list[Step] = [{"move": [id, original]}, {"move": [staged, target]}]
            if edits.get("note"):
                steps.append({"edit": [target, "note", None, edits["note"]]})
            if kept:
                steps.append({"edit": [target, "segments", None, kept]})
            self._do("trim", steps, {})
            return {id: target}

    def remove(self, ids: Iterable[str]) -> dict[str, str]:
        """Move recordings to the studio's trash; a segment is removed from its recording."""
        with self.lock:
            renamed, taken, steps = self._own_files(ids), set[str](), list[Step]()
            segments = clips.clip_paths(self.journal.edits)
            cut = [id for id in renamed.values() if id in segments]
            if cut:
                steps += clips.relabel(cut, None, self.journal.edits)
            for id in renamed.values():
                self.record(id)
                if id not in segments:
                    target = f"{folders.TRASH}/{PurePosixPath(id).name}"
                    steps.append({"move": [id, self._free(target, taken)]})
            return self._do("remove", steps, renamed)

    def add(
        self,
        staged: Iterable[tuple[str, str]],
        what: str = "add",
        *,
        segments: Mapping[str, list[dict[str, Any]]] | None = None,
    ) -> list[str]:
        """Move files from below ``__studio__`` to these paths, or to free ones like them, and give
        them ``segments``, which are named by the path before; returns the new paths.
        """
        with self.lock:
            self.check_ours()
            self._sort_by_index()
            taken: set[str] = set()
            places = {path: self._free(target, taken) for path, target in staged}
            steps: list[Step] = [{"move": [old, new]} for old, new in places.items()]
            for old, some in (segments or {}).items():
                steps.append({"edit": [places[old], "segments", None, some]})
            self._do(what, steps, {})
            return list(places.values())

    def undo(self) -> dict[str, str] | None:
        """Undo the last change; returns the ids that it moved, or None if there is nothing to
        undo.
        """
        with self.lock:
            self.check_ours()
            return self._after(self.journal.undo())

    def redo(self) -> dict[str, str] | None:
        """Repeat what was last undone."""
        with self.lock:
            self.check_ours()
            return self._after(self.journal.redo())

    def _do(self, what: str, steps: list[Step], renamed: dict[str, str]) -> dict[str, str]:
        moved = (self._after(self.journal.do(what, steps)) if steps else None) or {}
        return {
            old: moved.get(new, new) for old, new in renamed.items() if moved.get(new, new) != old
        }

    def _after(self, steps: list[Step] | None) -> dict[str, str] | None:
        if steps is None:
            return None
        changed = self._sync_clips()
        moves = [step["move"] for step in steps if "move" in step]
        if any(PurePosixPath(path).name == INDEX for move in moves for path in move):
            self._collect()  # it holds the labels
        else:
            for before, after in moves:  # the content is the same
                self.files.moved(before, after)
            self._collect(paths=changed.union(*moves))
        return dict(moves)

    def _free(self, target: str, taken: set[str]) -> str:
        free = folders.free_path(target, lambda path: path in taken or self.place.is_taken(path))
        taken.add(free)
        return free

    def _own_files(self, ids: Iterable[str]) -> dict[str, str]:
        """Ids after every recording has its own file: files with several recordings, or that need
        another file, are split.
        """
        self.check_ours()
        ids = list(ids)
        sorted_ids = self._sort_by_index()
        renamed: dict[str, str] = {}
        for id in (sorted_ids.get(id, id) for id in ids):
            record = self.record(id) if id not in renamed else None
            if record is None or (record.part is None and not record.path.lower().endswith(".amc")):
                renamed.setdefault(id, id)
                continue
            for sibling in [r for r in self.records.values() if r.path == record.path]:
                name = (
                    f"{folders.safe_name(sibling.info.name or PurePosixPath(record.path).stem)}.npz"
                )
                target = self._free(folders.path_of(sibling.label, sibling.subject, name), set())
                sequence = self.sequence(sibling.id)
                self.place.write_recordings(
                    target, [sequence.replace(name=PurePosixPath(target).stem)]
                )
                renamed[sibling.id] = target
            kept = self._free(f"{folders.ORIGINALS}/{PurePosixPath(record.path).name}", set())
            self.place.move(record.path, kept)
            self.place.remove_empty_above(record.path)
            self._collect()
        return {id: renamed[sorted_ids.get(id, id)] for id in ids}

    def _sort_by_index(self) -> dict[str, str]:
        """Labels of an ``index.csv`` become folders, as one change that can be undone; ids, old to
        new.
        """
        if not (self.root / INDEX).is_file():
            return {}
        steps, ids = sorting_steps(self._entries(), self.records.values(), self._free)
        self.journal.do("sort by index.csv", steps)
        self._collect()
        return ids


def reason(error: Exception) -> str:
    """What went wrong, in one line."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) if isinstance(error, KernetonError) else f"{type(error).__name__}: {error}"


def _is_watched(inside: str, name: str) -> bool:
    """Whether a folder can hold recordings of the list, or folders that do."""
    if inside == folders.STUDIO:
        return f"{inside}/{name}" == folders.UNLABELLED
    return (
        name == folders.STUDIO
        if inside == "." and name.startswith("__")
        else not name.startswith((".", "__"))
    )
