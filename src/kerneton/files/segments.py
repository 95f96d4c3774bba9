"""Segments of long recordings, from the files that annotation tools write.

Tables: ``label,start,stop`` (frames as in a slice), ``label,first,last`` (both counted in), ``label,start_s,stop_s``
(seconds) and the like, each with an optional column ``file``; or a label per frame. ELAN (``.eaf``), Praat (``.TextGrid``), Label
Studio (JSON) and CVAT (XML). Nothing in such a file is ever executed, fetched or expanded.
"""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from kerneton.data.segments import Segment, as_segments
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError, FormatError
from kerneton.files.readers import FOLDER_TABLE, Content, read_all_here, segment_file_of
from kerneton.files.readers._text import decode, read_head

MAX_BYTES = 1 << 26  # 64 MiB are enough for all segments that people draw
MAX_INTERVALS = 1_000_000
_BACKGROUND = {"", "-", "none", "null", "nan", "background", "no action", "unlabeled", "unlabelled"}


@dataclass(frozen=True)
class Interval:
    """A label from start to stop, in frames as in a slice, or in seconds."""

    label: str
    start: float
    stop: float
    seconds: bool = False
    recording: str = ""
    where: str = ""  # for errors: "line 3"
    rows: int = field(default=0, repr=False)  # of a table with a row per frame that does not number them


def tagged_frames(frames: Mapping[tuple[str, str], Iterable[int]]) -> Iterator[Interval]:
    """Intervals of consecutive frames; ``frames`` are those of each recording and label.

    >>> [(i.start, i.stop) for i in tagged_frames({("", "wave"): [3, 4, 5, 9]})]
    [(3, 6), (9, 10)]
    """
    for (recording, label), numbers in frames.items():
        # In a run of consecutive numbers, number - position is constant.
        for _, run in itertools.groupby(enumerate(sorted(set(numbers))), lambda pair: pair[1] - pair[0]):
            members = [number for _, number in run]
            yield Interval(label, members[0], members[-1] + 1, recording=recording)


def check_tier(tier: str | None, tiers: Collection[str], path: Path) -> None:
    """Refuse a tier that a file does not have."""
    if tier is not None and tier not in tiers:
        raise FormatError(f"{path}: no tier {tier!r}; there are {', '.join(list(tiers)[:20])}")


def read_segments(
    path: str | os.PathLike[str],
    *,
    fps: float | None = None,
    tier: str | None = None,
    lengths: Mapping[str, int] | None = None,
) -> dict[str, tuple[Segment, ...]]:
    """Segments by the name of their recording; ``""`` where the file names none.

    Parameters
    ----------
    path : path
        The format is detected from the content.
    fps : float, optional
        Frames per second of the recording, for files whose times are seconds.
    tier : str, optional
        Which tier of an ELAN or Praat file; all by default.
    lengths : mapping, optional
        Frames of the recordings by name, with ``""`` for any other: a table with a row per frame must fit.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "long.segments.csv"
    >>> _ = file.write_text("label,start_s,stop_s\\nwave,1.0,2.5\\nclap,4,5\\n")
    >>> read_segments(file, fps=30)[""]
    (Segment(label='wave', start=30, stop=75), Segment(label='clap', start=120, stop=150))
    """
    path = Path(path)
    data = read_head(path, MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise FormatError(f"{path}: larger than {MAX_BYTES >> 20} MiB, too large for a file of segments")
    intervals = list(itertools.islice(_intervals(data, path, tier), MAX_INTERVALS + 1))
    if len(intervals) > MAX_INTERVALS:
        raise FormatError(f"{path}: more than {MAX_INTERVALS} segments")
    wanted = [interval for interval in intervals if interval.label.strip().lower() not in _BACKGROUND]
    if lengths is not None:
        _check_rows(wanted, path, lengths)
    return _to_frames(wanted, path, fps)


def _intervals(data: bytes, path: Path, tier: str | None) -> Iterable[Interval]:
    text = decode(data)
    head = text.lstrip()[:256]
    if head.startswith("<"):
        from kerneton.files._segment_xml import cvat_intervals, eaf_intervals, parse_xml

        root = parse_xml(data, path)
        if root.tag == "ANNOTATION_DOCUMENT":
            return eaf_intervals(root, path, tier)
        if root.tag == "annotations":
            return cvat_intervals(root, path)
        raise FormatError(f"{path}: expected an ELAN or CVAT file, got XML with <{root.tag[:40]}>")
    if "ooTextFile" in head:
        from kerneton.files._segment_textgrid import textgrid_intervals

        return textgrid_intervals(text, path, tier)
    if head.startswith(("[", "{")):
        from kerneton.files._segment_json import label_studio_intervals

        return label_studio_intervals(text, path)
    from kerneton.files._segment_tables import table_intervals

    return table_intervals(text, path)


def _check_rows(intervals: Iterable[Interval], path: Path, lengths: Mapping[str, int]) -> None:
    """Refuse rows of labels that are not one per frame; a video may have a few frames more than the recording."""
    for item in intervals:
        frames = lengths.get(_stem(item.recording), lengths.get("", 0))
        if item.rows and frames and abs(item.rows - frames) > 2 + frames // 50:
            raise FormatError(
                f"{path}: {item.rows} rows with a label each, but the recording has {frames} frames: "
                f"expected a row per frame, or columns such as label,start,stop or label,start_s,stop_s"
            )


def _to_frames(
    intervals: Iterable[Interval], path: Path, fps: float | None
) -> dict[str, tuple[Segment, ...]]:
    found: dict[str, list[Segment]] = {}
    problems = []
    for item in intervals:
        if item.seconds and fps is None:
            problems.append("its times are seconds: the frame rate is needed (fps=)")
            continue
        try:
            if item.seconds and fps is not None:
                segment = Segment.from_seconds(item.label, item.start, item.stop, fps)
            else:
                segment = Segment(item.label, int(item.start), int(item.stop))
            found.setdefault(_stem(item.recording), []).append(segment)
        except DataError as error:
            problems.append(f"{item.where}: {error}" if item.where else str(error))
    if problems:
        unique = list(dict.fromkeys(problems))
        more = f"; and {len(unique) - 5} more" if len(unique) > 5 else ""
        raise FormatError(f"{path}: {'; '.join(unique[:5])}{more}")
    return {name: as_segments(segments) for name, segments in found.items()}


def with_segments(
    recordings: Sequence[SkeletonSequence],
    path: str | os.PathLike[str],
    *,
    fps: float | None = None,
    tier: str | None = None,
) -> list[SkeletonSequence]:
    """Recordings with the segments of a file, which names the recordings, or belongs to the only one.

    >>> import numpy as np, tempfile
    >>> file = Path(tempfile.mkdtemp()) / "segments.csv"
    >>> _ = file.write_text("file,label,start,stop\\nlong.bvh,wave,10,40\\n")
    >>> with_segments([SkeletonSequence(np.ones((90, 5, 3)), name="long")], file)[0].segments
    (Segment(label='wave', start=10, stop=40),)
    """
    rates = {r.fps for r in recordings if r.fps is not None}
    if fps is None and len(rates) == 1:
        fps = rates.pop()
    names = [_stem(r.name) for r in recordings]
    lengths = {name: r.n_frames for name, r in zip(names, recordings, strict=True)}
    only = {"": recordings[0].n_frames} if len(recordings) == 1 else {}
    found = read_segments(path, fps=fps, tier=tier, lengths=lengths | only)
    unknown = sorted(name for name in found if name and name not in names)
    if set(found) == {""} and len(recordings) > 1:
        raise DataError(f"{path}: no column names the recording, but there are {len(recordings)} of them")
    if unknown and len(unknown) == len(found) == len(recordings) == 1:
        unknown, found = [], {names[0]: found[unknown[0]]}  # one recording and one file belong together
    if unknown:
        raise DataError(f"{path}: segments of {', '.join(unknown[:5])}, which are not among the recordings")
    own = found.get("", ()) if len(recordings) == 1 else ()
    pairs = zip(recordings, names, strict=True)
    return [r.replace(segments=found.get(name) or own or r.segments) for r, name in pairs]


def segments_beside(path: str | os.PathLike[str]) -> Path | None:
    """The file of segments beside a recording: ``long.segments.csv``, ``long.eaf``, ..., or None."""
    path = Path(path)
    if (beside := segment_file_of(path)) is not None:
        return beside
    table = path.with_name(FOLDER_TABLE)
    if not table.is_file() or table == path:
        return None
    intervals = _intervals(read_head(table, MAX_BYTES), table, None)
    return table if _stem(path.name) in {_stem(interval.recording) for interval in intervals} else None


def beside_segments(
    recordings: Sequence[SkeletonSequence], path: str | os.PathLike[str]
) -> list[SkeletonSequence]:
    """The recordings of a file; those without segments get the segments of the file beside it.

    Segments belong to the first recording of the file: annotation tools have one timeline.
    """
    if not recordings or any(r.segments for r in recordings) or (beside := segments_beside(path)) is None:
        return list(recordings)
    first = recordings[0]
    of_folder, stem = beside.name.lower() == FOLDER_TABLE, _stem(Path(path).name)
    found = read_segments(beside, fps=first.fps, lengths={stem if of_folder else "": first.n_frames})
    name = stem if of_folder else next(iter(found), "")
    return [first.replace(segments=found.get(name, ())), *recordings[1:]]


def read_all_but_segments(paths: Sequence[Path], options: Mapping[str, Any]) -> Iterator[Content]:
    """As `read_all_here`, but a recording whose file of segments cannot be read has none, with a warning."""
    told = set()
    for content in read_all_here(paths, options):
        if content.recordings and content.error is not None:
            if (problem := str(content.error)) not in told:
                warnings.warn(f"read without segments: {problem}", stacklevel=2)
            told.add(problem)
            content = content._replace(error=None)
        yield content


def _stem(name: str) -> str:
    """A recording's name without folders and without the ending of a file."""
    base = PurePosixPath(name.replace("\\", "/")).name
    head, dot, tail = base.rpartition(".")
    return head if dot and head and 1 <= len(tail) <= 8 and tail.isalnum() and not tail.isdigit() else base
