"""A folder is a data set: recordings with labels and subjects from its tree, its file names or an
index.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kerneton.data.layouts import Layout
from kerneton.data.sequence import (
    Conventions,
    Conversion,
    SkeletonDataset,
    SkeletonSequence,
    plain_text,
)
from kerneton.data.units import settle
from kerneton.data.wording import few, grouped, many
from kerneton.exceptions import (
    DataError,
    FormatError,
    KernetonError,
    KernetonWarning,
    MissingDataError,
    MissingExtraError,
    ParameterError,
)
from kerneton.files import readers
from kerneton.files.readers import Content, ReadAll, is_segment_file, read_all_here
from kerneton.files.readers._text import is_file, is_folder, rows

if TYPE_CHECKING:
    from kerneton.data.progress import Progress
    from kerneton.video.estimator import PoseOptions

_INDEX = "index.csv"
# Of recordings; archives are recordings only if these are inside.
_USUAL = {
    s for name, form in readers.FORMATS.items() for s in form.suffixes if name not in readers.PACKED
}
_FILMS = set(readers.FORMATS["film"].suffixes)
# Documents, code, pictures, sounds and models beside recordings are passed over without a word.
OTHERS = {
    *(".md", ".rst", ".pdf", ".html", ".py", ".ipynb", ".m", ".ini", ".yaml", ".yml", ".toml"),
    *(".png", ".jpg", ".jpeg", ".gif", ".svg", ".bmp", ".wav", ".mp3", ".log", ".kern", ".asf"),
}
_DEEPEST = 8  # folders below folders
_HIDDEN = (".", "__")
_NOTES = ("readme", "license", "licence", "copying", "notes", "changelog")
Columns = Sequence[str] | Mapping[str, str] | None


@dataclass(frozen=True)
class Entry:
    """A file or folder that is a recording, with label and subject that follow from its place."""

    path: Path
    label: str | None = None
    subject: str | None = None
    stated: bool = False  # by an index or a pattern, not only by folders


def load_folder(
    path: str | os.PathLike[str],
    *,
    pattern: str | None = None,
    index: str | os.PathLike[str] | None = None,
    layout: Layout | str | None = None,
    fps: float | None = None,
    columns: Columns = None,
    rename: Mapping[str, str] | None = None,
    unit: str | None = None,
    up: str | None = None,
    flip: bool | None = None,
    skip_broken: bool = False,
    progress: Progress | None = None,
    poses: PoseOptions | None = None,
    read_all: ReadAll = read_all_here,
) -> SkeletonDataset:
    """Read every recording below a folder, or in one file of many, with labels and subjects.

    Without ``pattern`` and ``index``, folders name labels and subjects: ``label/subject/file`` or
    ``label/file``, and ``subject/file`` for long recordings with segments. A file with recordings
    of several labels keeps its own. An ``index.csv`` in the folder is used by default.

    Parameters
    ----------
    path : path
        The folder, a zip archive of one, or a file with many recordings.
    pattern : str, optional
        The parts of file names, without extension: ``"a{label}_s{subject}_e{take}"``; ``*`` matches
        anything. With a ``/`` it describes the path below the folder: ``"{subject}/{label}/*"``.
        What it does not name still follows from the folders.
    index : path, optional
        A table with the columns ``file`` (below the folder), ``label`` and ``subject``; only its
        files are read.
    layout, fps, columns, rename : optional
        As in `kerneton.files.readers.read`, for every file.
    unit, up, flip : optional
        Unit, vertical axis and handedness of the coordinates, as in
        `kerneton.data.units.to_convention`. What is not given is found in all recordings together;
        the attribute ``conversion`` of the result says what was done. What is given overrides what
        files state.
    skip_broken : bool, default=False
        Whether files that cannot be read are skipped with a warning that lists them; otherwise they
        are an error.
    progress : callable, optional
        Wraps the list of files, like ``tqdm.tqdm``.
    poses : PoseOptions, optional
        For films: whether poses of bodies or of hands are estimated, with which network, and of how
        many people.
    read_all : callable, optional
        Reads the files: on a cluster with `kerneton.recognize.cluster.reader`.

    Examples
    --------
    >>> import tempfile
    >>> root = Path(tempfile.mkdtemp())
    >>> for name in ("wave_ann_1", "wave_bob_1", "bow_ann_1"):
    ...     _ = (root / f"{name}.csv").write_text("head_x,head_y,head_z\\n0,1.7,2\\n0,1.6,2\\n")
    >>> data = load_folder(root, pattern="{label}_{subject}_{take}")
    >>> data.labels.tolist(), data.subjects.tolist()
    (['bow', 'wave', 'wave'], ['ann', 'ann', 'bob'])
    """
    root = Path(path)
    try:
        there = is_folder(root) or root.exists()
    except OSError as error:  # a name that is too long
        raise MissingDataError(f"{str(root)[:200]}: cannot be read: {error.strerror}") from error
    if not there:
        raise MissingDataError(f"{root}: no such file or folder")
    if pattern is not None and index is not None:
        raise ParameterError("give a pattern or an index, not both")
    fits = None
    if pattern is not None:
        from kerneton.files._pattern import Pattern

        fits = Pattern(pattern)
    if is_file(root) and readers.detect_format(root) == "zip_file":
        from kerneton.files.readers.zip_file import unpacked

        with unpacked(root) as folder:
            try:
                return load_folder(
                    folder,
                    pattern=pattern,
                    index=index,
                    layout=layout,
                    fps=fps,
                    columns=columns,
                    rename=rename,
                    unit=unit,
                    up=up,
                    flip=flip,
                    skip_broken=skip_broken,
                    poses=poses,
                    progress=progress,  # here, since other machines do not see what was unpacked
                )
            except KernetonError as error:
                raise type(error)(str(error).replace(str(folder), str(root))) from None
    layout = readers.named_layout(layout)
    ignored: list[Path] = []
    if is_folder(root):
        if index is not None:
            entries = list(_indexed(root, Path(index)))
        else:
            by_place = find_entries if pattern is not None else listed_entries
            entries = list(by_place(root, ignored=ignored))
    else:
        root, entries = root.parent, [Entry(root)]
    check_listed(root, entries, ignored)
    facts = [f"label {entry.label}, subject {entry.subject}" for entry in entries if fits is None]
    entries = [entries[i] for i in distinct([entry.path for entry in entries], facts)]
    place = {entry.path: entry for entry in entries}

    def with_facts(path: Path, content: Content) -> Content:
        entry = place[path]
        if fits is not None:
            named = fits.fields(path, root)
            label, subject = (
                named.get(name, getattr(entry, name)) for name in ("label", "subject")
            )
            entry = Entry(path, label, subject, stated=True)
        return content._replace(recordings=list(_named(content.recordings, entry, root)))

    found = collect(
        list(place),
        {"layout": layout, "fps": fps, "columns": columns, "rename": rename, "poses": poses},
        change=with_facts,
        renamed=rename or (),
        skip_broken=skip_broken,
        progress=progress,
        read_all=read_all,
        unit=unit,
        up=up,
        flip=flip,
    )
    for message in fits.doubts(s.subject for s in found.recordings) if fits is not None else ():
        warnings.warn(message, KernetonWarning, stacklevel=2)
    name = root.resolve().name if is_folder(Path(path)) else Path(path).stem
    return SkeletonDataset(
        found.recordings,
        name=plain_text(name),
        conversion=found.conversion,
        left_out=[found.problem] * bool(found.problem),
    )


class Collected(NamedTuple):
    """The recordings of some files in one convention, and what was left out."""

    recordings: list[SkeletonSequence]
    files: list[Path]  # of each recording
    conversion: Conversion
    broken: list[tuple[str, str]]  # files that cannot be used, each with the reason
    problem: str  # these in one sentence; empty if all can be used


def collect(
    paths: Sequence[Path],
    options: Mapping[str, Any],
    *,
    change: Callable[[Path, Content], Content] | None = None,
    renamed: Iterable[str] = (),
    skip_broken: bool = False,
    progress: Progress | None = None,
    read_all: ReadAll = read_all_here,
    unit: str | None = None,
    up: str | None = None,
    flip: bool | None = None,
    kept: Conventions | None = None,
) -> Collected:
    """The recordings of files in metres, y up and right-handed: how the library, the commands and
    the studio read a set of files.

    ``options`` are those of `kerneton.files.readers.read_content`; ``change`` completes what one
    file contains and may refuse it; some file must have each joint of ``renamed``; files that
    cannot be used are one error, or a warning with ``skip_broken``. ``kept`` is as in
    `kerneton.data.units.to_convention`.
    """
    estimate_films(paths, options.get("poses"), progress)
    contents = with_warnings_grouped(read_all(paths, options), paths)
    shown = contents if progress is None else progress(contents, total=len(paths), desc="reading")
    found, broken, met, files = [], [], set[str](), []
    for path, content in zip(paths, shown, strict=True):
        met |= content.met
        try:
            if change is not None:
                content = change(path, content)
                met |= content.met
            if content.error is not None:
                raise content.error
        except KernetonError as error:
            if len(paths) == 1 and not skip_broken:
                raise
            broken.append(file_problem(path, error))
            continue
        found += [(*content.facts, s) for s in content.recordings]
        files += [path] * len(content.recordings)
    problem = ""
    if broken:
        problem = f"{len(broken)} of {many(len(paths), 'file')} cannot be used: {grouped(broken)}"
        if not skip_broken or not found:
            raise DataError(problem)
        warnings.warn(problem, KernetonWarning, stacklevel=3)
    check_renamed(renamed, met, [s for *_, s in found])
    sequences, conversion = settle(found, unit=unit, up=up, flip=flip, kept=kept)
    return Collected(sequences, files, conversion, broken, problem)


def check_listed(root: Path, entries: Sequence[Entry], ignored: Sequence[Path]) -> None:
    """Refuse a folder without recordings; warn of files that are not read, by their kinds."""
    told = ""
    if ignored:
        from kerneton.files.readers._unknown import described_kinds

        told = described_kinds(ignored)
    if not entries:
        raise MissingDataError(f"{root}: no recordings in this folder" + (told and f": {told}"))
    if told:
        warnings.warn(f"{root}: {told}", KernetonWarning, stacklevel=3)


def estimate_films(
    paths: Sequence[Path], poses: PoseOptions | None, progress: Progress | None
) -> None:
    """Estimate the poses of several films on all cores, before they are read one after the other
    from the cache.
    """
    films = [path for path in paths if path.suffix.lower() in readers.FORMATS["film"].suffixes]
    if not films or (len(films) == 1 and progress is None):
        return
    from kerneton.data.progress import silent
    from kerneton.video.estimator import PoseOptions
    from kerneton.video.poses import estimate_all

    with suppress(MissingDataError, MissingExtraError):  # reading says so
        estimate_all(films, poses or PoseOptions(), progress or silent)


def distinct(paths: Sequence[Path], facts: Sequence[object] = ()) -> list[int]:
    """Positions of paths without those that lead to an earlier file, which a warning names; both
    must have the same facts.

    >>> distinct([Path("a.csv"), Path("b.csv")])
    [0, 1]
    """
    first: dict[object, int] = {}
    again = []
    for i, path in enumerate(paths):
        key: object = path
        with suppress(OSError):
            key = path.stat()[:7] if path.stat().st_ino else path  # some devices number no files
        if (j := first.setdefault(key, i)) != i:
            if facts and facts[i] != facts[j]:
                raise DataError(
                    f"{path}: the same file as {paths[j]}, with {facts[i]}, not {facts[j]}"
                )
            again.append(str(path))
    if again:
        warnings.warn(
            f"{len(again)} of {len(paths)} files come twice, read once: {few(again)}",
            KernetonWarning,
            stacklevel=3,
        )
    return list(first.values())


def check_renamed(
    old: Iterable[str], met: Collection[str], sequences: Sequence[SkeletonSequence]
) -> None:
    """Refuse a renaming that no recording needed: the old name is not among the names met, and
    probably misspelt.
    """
    if unused := [name for name in old if name not in met]:
        from kerneton.files.readers._renaming import nearest_joint

        near = nearest_joint(unused[0], (s.layout for s in sequences))
        hint = f"; did you mean {near!r}?" if near else ""
        raise ParameterError(f"no recording has a joint {unused[0]!r} that could be renamed{hint}")


def with_warnings_grouped(contents: Iterable[Content], paths: Sequence[Path]) -> Iterator[Content]:
    """The contents of files; what is warned of while they are read is said after the last, one
    sentence per kind.
    """
    told, contents = [], iter(contents)
    for path in paths:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            content = next(contents)
        told += [file_problem(path, warning.message) for warning in caught]
        yield content
    if told:
        warnings.warn(grouped(told), KernetonWarning, stacklevel=2)


def file_problem(path: Path, error: object) -> tuple[str, str]:
    """The file and its problem, for `kerneton.data.wording.grouped`.

    >>> file_problem(Path("a.csv"), KernetonError("a.csv, line 3: no number"))
    ('a.csv:', 'line 3: no number')
    """
    return f"{path}:", str(error).removeprefix(f"{path}: ").removeprefix(f"{path}, ")


def find_entries(
    folder: Path,
    above: tuple[str, ...] = (),
    *,
    seen: tuple[str, ...] = (),
    ignored: list[Path] | None = None,
    skipped: list[OSError] | None = None,
) -> Iterator[Entry]:
    """Recordings below a folder in alphabetical order; the first two folder names are label and
    subject.

    Names that begin with a dot or with two underscores are left out, and links to folders that are
    read anyway. With a list ``skipped``, the errors of folders that cannot be read are added to it,
    and the other folders are read.

    >>> import tempfile
    >>> root = Path(tempfile.mkdtemp())
    >>> (root / "wave" / "ann").mkdir(parents=True)
    >>> _ = (root / "wave" / "ann" / "1.csv").write_text("head_x,head_y,head_z\\n0,1.7,2\\n")
    >>> [(entry.path.name, entry.label, entry.subject) for entry in find_entries(root)]
    [('1.csv', 'wave', 'ann')]
    """
    label, subject = (*above, None, None)[:2]
    try:
        is_recording = readers.detect_format(folder) is not None
        inside = [] if is_recording else sorted(folder.iterdir())
    except OSError as error:
        if skipped is None:
            raise
        skipped.append(error)
        return
    if is_recording:
        label, subject = (*above[:-1], None, None)[:2]
        yield Entry(folder, label, subject)
        return
    seen = (*seen, os.path.realpath(folder))
    joints = {path.stem for path in inside if path.suffix.lower() in _USUAL - _FILMS}
    for path in inside:
        if path.name.startswith(_HIDDEN):
            continue
        if path.is_dir():
            if len(above) < _DEEPEST and not _is_read_anyway(path, seen):
                deeper = (*above, path.name)
                yield from find_entries(path, deeper, seen=seen, ignored=ignored, skipped=skipped)
        elif path.suffix.lower() in _FILMS and path.stem in joints:
            continue  # the film of a recording whose joints lie beside it
        elif path.is_file() and not is_segment_file(path) and not _is_document(path):
            if path.suffix.lower() in _USUAL or readers.detect_format(path) is not None:
                yield Entry(path, label, subject)  # damaged ones too, so that they are reported
            elif ignored is not None:
                ignored.append(path)


def _is_read_anyway(folder: Path, seen: tuple[str, ...]) -> bool:
    """Whether a folder is a link to one above it, or to one that is read at its real place."""
    real = Path(os.path.realpath(folder))
    inside = [
        real.relative_to(top).parts
        for top in seen
        if folder.is_symlink() and real.is_relative_to(top)
    ]
    return str(real) in seen or any(
        not any(p.startswith(_HIDDEN) for p in parts) for parts in inside
    )


def listed_entries(
    folder: Path,
    *,
    ignored: list[Path] | None = None,
    skipped: list[OSError] | None = None,
) -> Iterator[Entry]:
    """Recordings by the ``index.csv`` of a folder if there is one, else by its subfolders."""
    index = folder / _INDEX
    if index.is_file():
        return _indexed(folder, index)
    return find_entries(folder, ignored=ignored, skipped=skipped)


def _is_document(path: Path) -> bool:
    """Whether a file beside recordings is none of them, whatever its first bytes look like."""
    named = path.suffix.lower() in _USUAL and path.stem.lower().startswith(_NOTES)
    return named or path.suffix.lower() in OTHERS


def _indexed(root: Path, index: Path) -> Iterator[Entry]:
    """The rows of an index; a relative path starts at the folder, else at the working directory."""
    index = root / index if is_file(root / index) else index
    if not is_file(index):
        raise MissingDataError(f"{index}: no such index file")
    table = rows(index)
    _, header = next(table, (0, []))
    names = [cell.strip().strip('"').lower() for cell in header]
    if "file" not in names or not {"label", "subject"} & set(names):
        raise FormatError(
            f"{index}: expected the columns file, label and subject, found {', '.join(names)}"
        )
    place = {name: names.index(name) for name in ("file", "label", "subject") if name in names}
    missing = []
    for line, cells in table:
        if len(cells) < len(names):
            raise FormatError(
                f"{index}, line {line}: expected {len(names)} columns, got {len(cells)}"
            )
        values = {name: cells[i].strip().strip('"') for name, i in place.items()}
        path = root / values["file"]
        if not path.exists():
            missing.append(f"line {line}: {values['file']}")
        yield Entry(path, values.get("label") or None, values.get("subject") or None, stated=True)
    if missing:
        raise MissingDataError(f"{index}: {many(len(missing), 'file')} not found: {few(missing)}")


def _named(
    sequences: list[SkeletonSequence], entry: Entry, root: Path
) -> Iterator[SkeletonSequence]:
    """The recordings of a file with the label and subject of its entry, named by their path below
    the folder.

    A long recording with segments has no label: its only folder is its subject, if it does not know
    it itself.
    """
    inside = entry.path.parent.relative_to(root) if entry.path.is_relative_to(root) else Path()
    facts = {
        field: value
        for field, value in (("label", entry.label), ("subject", entry.subject))
        if value is not None and len({getattr(s, field) for s in sequences}) == 1
    }
    for sequence in sequences:
        sequence = sequence.replace(name=(inside / sequence.name).as_posix())
        if sequence.segments and not entry.stated:
            yield sequence.replace(subject=entry.subject or sequence.subject or entry.label)
        else:
            yield sequence.replace(**facts)
