"""Many files read, in this process or elsewhere: what each holds, or what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import KernetonError
from kerneton.files import readers
from kerneton.files.readers._layouts import Renaming

FOLDER_TABLE = "segments.csv"  # segments of several recordings in a folder
_SEGMENTS = (
    *(".segments.csv", ".labels.csv", ".eaf", ".TextGrid", ".textgrid"),
    *(".segments.json", ".segments.xml"),
)


class Content(NamedTuple):
    """The recordings of a file; its format and whether that states unit or axes; the old names of joints that were met."""

    recordings: list[SkeletonSequence]
    facts: tuple[str, bool] = ("", False)
    met: frozenset[str] = frozenset()
    error: KernetonError | None = None  # why there are none


ReadAll = Callable[[Sequence[Path], Mapping[str, Any]], Iterable[Content]]  # in the order of the paths


def read_all_here(paths: Sequence[Path], options: Mapping[str, Any]) -> Iterable[Content]:
    """Read files one after the other in this process; ``options`` are those of `kerneton.files.readers.read`."""
    return (read_content(path, options) for path in paths)


def read_content(path: Path, options: Mapping[str, Any]) -> Content:
    """Read one file among others; what cannot be used is told and not raised."""
    names = Renaming(options.get("rename") or {})
    try:
        recordings = read_entry(path, {**options, "rename": names})
        return Content(recordings, readers.format_facts(path), frozenset(names.met))
    except KernetonError as error:
        return Content([], met=frozenset(names.met), error=error)


def read_entry(path: Path, options: Mapping[str, Any]) -> list[SkeletonSequence]:
    """The recordings of one file among others: columns are for the tables, not for the files beside them."""
    if options.get("columns") is not None and readers.detect_format(path) != "csv_table":
        options = {**options, "columns": None}
    recordings = readers.read(path, **options)
    if segment_file_of(path) is None and not path.with_name(FOLDER_TABLE).is_file():
        return recordings
    from kerneton.files.segments import beside_segments

    return beside_segments(recordings, path)


def segment_file_of(path: Path) -> Path | None:
    """The file of segments beside a recording that has its name, if there is one."""
    beside = (path.with_name(path.stem + suffix) for suffix in _SEGMENTS)
    return next((file for file in beside if file != path and file.is_file()), None)


def is_segment_file(path: Path) -> bool:
    """Whether the name of a file says that it contains segments, not a recording.

    >>> is_segment_file(Path("a/long.segments.csv")), is_segment_file(Path("a/long.csv"))
    (True, False)
    """
    name = path.name.lower()
    return name == FOLDER_TABLE or name.endswith(tuple(suffix.lower() for suffix in _SEGMENTS))


def file_problem(path: Path, error: KernetonError) -> tuple[str, str]:
    """Who and what, for `kerneton.data.validation.grouped`: the file, and what is wrong with it.

    >>> file_problem(Path("a.csv"), KernetonError("a.csv, line 3: no number"))
    ('a.csv:', 'line 3: no number')
    """
    return f"{path}:", str(error).removeprefix(f"{path}: ").removeprefix(f"{path}, ")
