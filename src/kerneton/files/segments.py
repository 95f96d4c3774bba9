"""Segments of long recordings, from the files that annotation tools write.

Tables: ``label,start,stop`` (frames as in a slice), ``label,first,last`` (both counted in),
``label,start_s,stop_s`` (seconds) and the like, each with an optional column ``file``; points, at
which an action is complete (``label,start_s``, ``time,label``, ``frame,label``); or a label per
frame. ELAN (``.eaf``), Praat (``.TextGrid``), Label Studio (JSON) and CVAT (XML). Nothing in
such a file is ever executed, fetched or expanded.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import os
import re
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from xml.etree import ElementTree

from kerneton.data.segments import Segment, as_segments
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError, FormatError, KernetonWarning
from kerneton.files.readers import FOLDER_TABLE, Content, read_all_here, segment_file_of
from kerneton.files.readers._text import decode, read_head
from kerneton.files.readers._xml import MAX_NUMBER, parse_xml

MAX_BYTES = 1 << 26  # 64 MiB are enough for all segments that people draw
MAX_INTERVALS = 1_000_000
_BACKGROUND = {"", "-", "none", "null", "nan", "background", "no action", "unlabeled", "unlabelled"}


@dataclass(frozen=True)
class Interval:
    """A label from start to stop, in frames as in a slice, or in seconds; equal for a point."""

    label: str
    start: float
    stop: float
    seconds: bool = False
    recording: str = ""
    where: str = ""  # for errors: "line 3"
    # of a table with a row per frame that does not number them
    rows: int = field(default=0, repr=False)
    point: bool = field(default=False, repr=False)


def tagged_frames(frames: Mapping[tuple[str, str], Iterable[int]]) -> Iterator[Interval]:
    """Intervals of consecutive frames; ``frames`` are those of each recording and label.

    >>> [(i.start, i.stop) for i in tagged_frames({("", "wave"): [3, 4, 5, 9]})]
    [(3, 6), (9, 10)]
    """
    for (recording, label), numbers in frames.items():
        # In a run of consecutive numbers, number - position is constant.
        for _, run in itertools.groupby(
            enumerate(sorted(set(numbers))), lambda pair: pair[1] - pair[0]
        ):
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
        Frames of the recordings by name, with ``""`` for any other: a table with a row per frame
        must fit.

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
        raise FormatError(
            f"{path}: larger than {MAX_BYTES >> 20} MiB, too large for a file of segments"
        )
    intervals = list(itertools.islice(_intervals(data, path, tier, lengths), MAX_INTERVALS + 1))
    if len(intervals) > MAX_INTERVALS:
        raise FormatError(f"{path}: more than {MAX_INTERVALS} segments")
    wanted = [
        interval for interval in intervals if interval.label.strip().lower() not in _BACKGROUND
    ]
    if lengths is not None:
        _check_rows(wanted, path, lengths)
    return _to_frames(wanted, path, fps)


def _intervals(
    data: bytes, path: Path, tier: str | None, lengths: Mapping[str, int] | None = None
) -> Iterable[Interval]:
    text = decode(data)
    head = text.lstrip()[:256]
    if head.startswith("<"):
        root = parse_xml(data, path)
        if root.tag == "ANNOTATION_DOCUMENT":
            return eaf_intervals(root, path, tier)
        if root.tag == "annotations":
            return cvat_intervals(root, path)
        raise FormatError(f"{path}: expected an ELAN or CVAT file, got XML with <{root.tag[:40]}>")
    if "ooTextFile" in head:
        return textgrid_intervals(text, path, tier)
    if head.startswith(("[", "{")):
        return label_studio_intervals(text, path)

    return table_intervals(text, path, lengths)


def _check_rows(intervals: Iterable[Interval], path: Path, lengths: Mapping[str, int]) -> None:
    """Refuse rows of labels that are not one per frame; a video may have a few frames more than the
    recording.
    """
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
            if item.point:
                rate = fps if item.seconds and fps is not None else 1.0
                segment = Segment.at(item.label, round(item.start * rate))
            elif item.seconds and fps is not None:
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
    """Recordings with the segments of a file, which names the recordings, or belongs to the only
    one.

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
        raise DataError(
            f"{path}: no column names the recording, but there are {len(recordings)} of them"
        )
    if unknown and len(unknown) == len(found) == len(recordings) == 1:
        unknown, found = (
            [],
            {names[0]: found[unknown[0]]},
        )  # one recording and one file belong together
    if unknown:
        raise DataError(
            f"{path}: segments of {', '.join(unknown[:5])}, which are not among the recordings"
        )
    own = found.get("", ()) if len(recordings) == 1 else ()
    pairs = zip(recordings, names, strict=True)
    return [r.replace(segments=found.get(name) or own or r.segments) for r, name in pairs]


def segments_beside(path: str | os.PathLike[str]) -> Path | None:
    """The segments beside a recording: ``long.segments.csv``, ``long.eaf``, ..., or None."""
    path = Path(path)
    if (beside := segment_file_of(path)) is not None:
        return beside
    table = path.with_name(FOLDER_TABLE)
    if not table.is_file() or table == path:
        return None
    intervals = _intervals(read_head(table, MAX_BYTES), table, None)
    return (
        table if _stem(path.name) in {_stem(interval.recording) for interval in intervals} else None
    )


def beside_segments(
    recordings: Sequence[SkeletonSequence], path: str | os.PathLike[str]
) -> list[SkeletonSequence]:
    """The recordings of a file; those without segments get the segments of the file beside it.

    Segments belong to the first recording of the file: annotation tools have one timeline.
    """
    if (
        not recordings
        or any(r.segments for r in recordings)
        or (beside := segments_beside(path)) is None
    ):
        return list(recordings)
    first = recordings[0]
    of_folder, stem = beside.name.lower() == FOLDER_TABLE, _stem(Path(path).name)
    found = read_segments(
        beside, fps=first.fps, lengths={stem if of_folder else "": first.n_frames}
    )
    name = stem if of_folder else next(iter(found), "")
    return [first.replace(segments=found.get(name, ())), *recordings[1:]]


def read_all_but_segments(paths: Sequence[Path], options: Mapping[str, Any]) -> Iterator[Content]:
    """As `read_all_here`, but a recording whose file of segments cannot be read has none, with a
    warning.
    """
    told = set()
    for content in read_all_here(paths, options):
        if content.recordings and content.error is not None:
            if (problem := str(content.error)) not in told:
                warnings.warn(f"read without segments: {problem}", KernetonWarning, stacklevel=2)
            told.add(problem)
            content = content._replace(error=None)
        yield content


def _stem(name: str) -> str:
    """A recording's name without folders and without the ending of a file."""
    base = PurePosixPath(name.replace("\\", "/")).name
    head, dot, tail = base.rpartition(".")
    return (
        head
        if dot and head and 1 <= len(tail) <= 8 and tail.isalnum() and not tail.isdigit()
        else base
    )


_LABEL = (
    "label",
    "action",
    "class",
    "activity",
    "annotation",
    "gesture",
    "behavior",
    "behaviour",
    "event",
)
_FILE = ("file", "recording", "name", "video", "sequence")
_FRAME = ("frame", "frame_number", "index")
_TIME = ("time", "time_s", "time_sec", "time_seconds", "time_ms", "timestamp", "seconds")
_STARTS = ("start", "begin", "onset", "from", "first")
_STOPS = ("stop", "end", "offset", "to", "last", "duration")
_SPARSE = 0.15  # seconds between rows from which they are points, not frames
# Units next to such a word in the name of a column: seconds per count, 0 for frames.
_UNITS = {
    **dict.fromkeys(("frame", "frames", "frame_number"), 0.0),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds", "time", "time_s", "time_sec"), 1.0),
    **dict.fromkeys(
        ("time_seconds", "time_ss_msec", "ss_msec", "time_hh_mm_ss_ms", "hh_mm_ss_ms"), 1.0
    ),
    **dict.fromkeys(("ms", "msec", "millis", "milliseconds", "time_ms", "time_msec"), 1e-3),
}
_ACCEPTED = (
    "expected a header such as label,start,stop (frames), label,start_s,stop_s (seconds), "
    "label,start_s (points) or, for a label per frame, frame,label; "
    f"also read: {', '.join(_LABEL[1:])}; {', '.join(_STARTS[1:])}; {', '.join(_STOPS[1:])}; "
    "endings _s, _sec, _ms, _frame"
)


class _Bound(NamedTuple):
    """The column of a start, a stop or a duration; ``unit`` is seconds per count, 0 for frames,
    None if not stated.
    """

    column: int
    word: str
    unit: float | None


def table_intervals(
    text: str, path: Path, lengths: Mapping[str, int] | None = None
) -> Iterator[Interval]:
    """Intervals of a table with a header.

    >>> next(table_intervals("label;first;last\\nwave;10;39\\n", Path("long.csv"))).stop
    40.0
    >>> next(table_intervals("time,label\\n1.5,kick\\n", Path("long.csv"))).point
    True
    """
    first_line = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = max(",;\t", key=first_line.count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        numbered = [(rows.line_num, row) for row in rows if any(word.strip() for word in row)]
    except csv.Error as error:
        raise FormatError(f"{path}: not a table: {error}") from error
    if not numbered:
        raise FormatError(f"{path}: the file is empty")
    if len(numbered) > MAX_INTERVALS:
        raise FormatError(f"{path}: {len(numbered)} rows; at most {MAX_INTERVALS} are read")
    titles = [word.strip() for word in numbered[0][1]]
    header = [_plain(title) for title in titles]
    label, file, frame = (_column(header, names) for names in (_LABEL, _FILE, _FRAME))
    bounds = [bound for i, name in enumerate(header) if (bound := _bound(i, name)) is not None]
    if label is not None and (pair := _start_and_stop(bounds)) is not None:
        return _segment_rows(numbered[1:], label, file, pair, path)
    starts = [bound for bound in bounds if bound.word in _STARTS + ("point",)]
    unknown = {i for i, name in enumerate(header) if name} - {label, file, *(b[0] for b in bounds)}
    if (
        label is not None
        and len(starts) == len(bounds) == 1
        and (starts[0].unit is not None or starts[0].word == "point" or not unknown)
    ):
        return _point_rows(numbered[1:], label, file, starts[0], path)
    time = _column(header, _TIME)
    if label is not None and not bounds and frame is None and time is not None:
        bound = _Bound(time, "time", 1e-3 if header[time] == "time_ms" else 1.0)
        if _few_times(numbered[1:], bound, file, lengths or {}):
            return _point_rows(numbered[1:], label, file, bound, path)
    others = {i for i, name in enumerate(header) if name and name not in _TIME} - {label, file}
    if label is None or bounds or (others and frame is None):
        got = ", ".join(titles[:12]) + ", ..." * (len(titles) > 12)
        raise FormatError(f"{path}: got the columns {got[:200]}; {_ACCEPTED}")
    return _frame_rows(numbered[1:], label, frame, file, path)


def _plain(title: str) -> str:
    """A column name in small letters and underscores.

    >>> _plain("Begin Time - ss.msec"), _plain("Start (s)"), _plain("startFrame")
    ('begin_time_ss_msec', 'start_s', 'start_frame')
    """
    return re.sub(r"[\W_]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", title)).strip("_").lower()


def _bound(column: int, name: str) -> _Bound | None:
    """The meaning of a column name for starts and stops, in either order: ``start_frame`` and
    ``frame_start``.

    >>> _bound(0, "end_ms"), _bound(0, "startle")
    (_Bound(column=0, word='end', unit=0.001), None)
    >>> _bound(0, "frame_start"), _bound(0, "start")
    (_Bound(column=0, word='start', unit=0.0), _Bound(column=0, word='start', unit=None))
    """
    words = name.split("_")
    for at in (0, -1):
        if (word := words[at]) in (*_STARTS, *_STOPS, "point"):
            unit = "_".join(words[1:] if at == 0 else words[:-1])
            if not unit or unit in _UNITS:
                return _Bound(column, word, _UNITS.get(unit))
    return None


def _start_and_stop(bounds: list[_Bound]) -> tuple[_Bound, _Bound] | None:
    """The first start and stop that agree on frames or seconds, a stop before a duration; onsets
    are seconds, other bare names frames.
    """
    starts = [b for b in bounds if b.word in _STARTS]
    stops = sorted((b for b in bounds if b.word in _STOPS), key=lambda b: b.word == "duration")
    for stop in stops:
        for start in starts:
            bare = 1.0 if start.word == "onset" else 0.0
            units = [unit for unit in (start.unit, stop.unit) if unit is not None]
            a, b = (
                bound.unit if bound.unit is not None else (units or [bare])[0]
                for bound in (start, stop)
            )
            if bool(a) == bool(b):
                return start._replace(unit=a), stop._replace(unit=b)
    return None


def _column(header: list[str], names: tuple[str, ...]) -> int | None:
    return next((header.index(name) for name in names if name in header), None)


def _cell(row: list[str], column: int | None) -> str:
    return row[column].strip() if column is not None and column < len(row) else ""


def _segment_rows(
    rows: list[tuple[int, list[str]]],
    label: int,
    file: int | None,
    pair: tuple[_Bound, _Bound],
    path: Path,
) -> Iterator[Interval]:
    first, last = pair
    seconds = bool(last.unit)
    for line, row in rows:
        where = f"line {line}"
        values = []
        for column, _, unit in pair:
            value = _number_or_clock(word := _cell(row, column))
            if not math.isfinite(value) or (
                not seconds and (value != int(value) or re.search("[:s]", word))
            ):
                expected = "seconds" if seconds else "a whole frame number"
                hint = f"; name the columns {first.word}_s and {last.word}_s for seconds"
                remedy = hint if math.isfinite(value) and not seconds else ""
                raise FormatError(
                    f"{path}, {where}: expected {expected}, got {word[:40]!r}{remedy}"
                )
            values.append(value * (unit or 1.0))
        start, stop = values
        if last.word == "duration":
            stop += start
        elif last.word == "last" and not seconds:
            stop += 1
        yield Interval(_cell(row, label), start, stop, seconds, _cell(row, file), where)


def _point_rows(
    rows: list[tuple[int, list[str]]], label: int, file: int | None, bound: _Bound, path: Path
) -> Iterator[Interval]:
    """A point per row; onsets are seconds, other bare names frames."""
    unit = bound.unit if bound.unit is not None else float(bound.word == "onset")
    for line, row in rows:
        value = _number_or_clock(word := _cell(row, bound.column))
        if not math.isfinite(value) or (not unit and value != int(value)):
            expected = "seconds" if unit else "a whole frame number"
            raise FormatError(f"{path}, line {line}: expected {expected}, got {word[:40]!r}")
        value *= unit or 1.0
        where = f"line {line}"
        yield Interval(
            _cell(row, label), value, value, bool(unit), _cell(row, file), where, point=True
        )


def _few_times(
    rows: list[tuple[int, list[str]]], bound: _Bound, file: int | None, lengths: Mapping[str, int]
) -> bool:
    """Whether rows with a time are points: not one per frame of their recording and, where its
    length is unknown, further apart than frames are.
    """
    times: dict[str, list[float]] = {}
    for _, row in rows:
        times.setdefault(_cell(row, file), []).append(_number_or_clock(_cell(row, bound.column)))
    steps = []
    for name, own in times.items():
        frames = lengths.get(_stem(name), lengths.get("", 0))
        if frames and len(own) > frames // 3:
            return False
        steps += [(b - a) * (bound.unit or 1.0) for a, b in itertools.pairwise(sorted(own))]
    return not steps or sorted(steps)[len(steps) // 2] > _SPARSE


def _number_or_clock(word: str) -> float:
    """A number, seconds (``1.5s``) or a time (``0:01.5``); nan for anything else.

    >>> _number_or_clock("1,5"), _number_or_clock("1.5 s"), _number_or_clock("00:01:01.5")
    (1.5, 1.5, 61.5)
    """
    value = 0.0
    try:
        for part in word.replace(",", ".").removesuffix("s").split(":"):
            value = 60 * value + float(part)
    except ValueError:
        return math.nan
    return value


def _frame_rows(
    rows: list[tuple[int, list[str]]], label: int, frame: int | None, file: int | None, path: Path
) -> Iterator[Interval]:
    """A label per frame; frames are rows in order, or numbers of a column, counted from 0."""
    known: dict[str, set[int]] = {}
    tags: dict[tuple[str, str], list[int]] = {}
    for line, row in rows:
        frames = known.setdefault(_cell(row, file), set())
        word = str(len(frames)) if frame is None else _cell(row, frame)
        if not word.isdecimal() or len(word) > 9:
            raise FormatError(f"{path}, line {line}: frame {word[:40]} is not a whole number")
        if int(word) in frames:
            raise FormatError(f"{path}, line {line}: frame {word} occurs twice")
        frames.add(int(word))
        tags.setdefault((_cell(row, file), _cell(row, label)), []).append(int(word))
    for item in tagged_frames(tags):
        yield item if frame is not None else replace(item, rows=len(known[item.recording]))


def eaf_intervals(root: ElementTree.Element, path: Path, tier: str | None) -> Iterator[Interval]:
    """Aligned annotations of ELAN's tiers; one that refers to another has the same time."""
    slots = {s.get("TIME_SLOT_ID"): s.get("TIME_VALUE") for s in root.iter("TIME_SLOT")}
    tiers = root.findall("TIER")  # not nested ones, which would be read repeatedly
    check_tier(tier, [t.get("TIER_ID") or "" for t in tiers], path)
    times: dict[str | None, tuple[float, float]] = {}
    for element in tiers:
        for item in element.iterfind("ANNOTATION/*"):
            if item.tag == "ALIGNABLE_ANNOTATION":
                bounds = [slots.get(item.get(f"TIME_SLOT_REF{i}")) for i in (1, 2)]
                if any(b is None for b in bounds):
                    continue  # ELAN does not store times that follow from neighbours
                start, stop = (_xml_number(b, path) / 1000 for b in bounds)
                times[item.get("ANNOTATION_ID")] = (start, stop)
            elif item.tag == "REF_ANNOTATION" and item.get("ANNOTATION_REF") in times:
                start, stop = times[item.get("ANNOTATION_REF")]
            else:
                continue
            if tier in (None, element.get("TIER_ID")):
                label = (item.findtext("ANNOTATION_VALUE") or "").strip()
                where = f"annotation {item.get('ANNOTATION_ID', '?')[:40]}"
                yield Interval(label, start, stop, seconds=True, where=where)


def cvat_intervals(root: ElementTree.Element, path: Path) -> Iterator[Interval]:
    """Tracks of CVAT's video form from their first frame to where they go outside, and runs of
    tagged frames.
    """
    for track in root.findall("track"):
        label = (track.get("label") or "").strip()
        shapes = [s for s in track if s.get("frame") is not None]
        frames = sorted(
            (int(_xml_number(s.get("frame"), path)), s.get("outside") == "1") for s in shapes
        )
        start: int | None = None
        for frame, outside in frames:
            if outside and start is not None:
                yield Interval(label, start, frame)
                start = None
            elif not outside and start is None:
                start = frame
        if start is not None:  # it lasts to its last shape
            yield Interval(label, start, frames[-1][0] + 1)
    found = [
        (image.get("id"), tag) for image in root.findall("image") for tag in image.findall("tag")
    ]
    found += [
        (tag.get("frame"), tag) for tag in root.findall("tag")
    ]  # of whole frames, in the video form
    tags: dict[tuple[str, str], list[int]] = {}
    for number, tag in found:
        label = (tag.get("label") or "").strip()
        tags.setdefault(("", label), []).append(int(_xml_number(number, path)))
    yield from tagged_frames(tags)


def _xml_number(text: str | None, path: Path) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = -1.0
    if not 0 <= value <= MAX_NUMBER:
        raise FormatError(f"{path}: expected a time or frame number, got {str(text)[:40]!r}")
    return value


def eaf_text(segments: Iterable[Segment], fps: float) -> str:
    """An ELAN file with one tier, ``actions``.

    >>> root = parse_xml(eaf_text([Segment("wave", 30, 75)], fps=30).encode(), Path("a.eaf"))
    >>> [(i.label, i.start, i.stop) for i in eaf_intervals(root, Path("a.eaf"), None)]
    [('wave', 1.0, 2.5)]
    """
    root = ElementTree.Element(
        "ANNOTATION_DOCUMENT",
        AUTHOR="",
        DATE="2000-01-01T00:00:00+00:00",
        FORMAT="3.0",
        VERSION="3.0",
    )
    ElementTree.SubElement(root, "HEADER", MEDIA_FILE="", TIME_UNITS="milliseconds")
    order = ElementTree.SubElement(root, "TIME_ORDER")
    layer = ElementTree.SubElement(
        root, "TIER", LINGUISTIC_TYPE_REF="default-lt", TIER_ID="actions"
    )
    for i, s in enumerate(segments):
        for k, seconds in enumerate(s.seconds(fps)):
            value = str(round(1000 * seconds))
            ElementTree.SubElement(
                order, "TIME_SLOT", TIME_SLOT_ID=f"ts{2 * i + k + 1}", TIME_VALUE=value
            )
        slots = {f"TIME_SLOT_REF{k + 1}": f"ts{2 * i + k + 1}" for k in range(2)}
        outer = ElementTree.SubElement(layer, "ANNOTATION")
        inner = ElementTree.SubElement(
            outer, "ALIGNABLE_ANNOTATION", {"ANNOTATION_ID": f"a{i + 1}", **slots}
        )
        printable = "".join(c for c in s.label if c >= " " and c not in "\ufffe\uffff")
        ElementTree.SubElement(inner, "ANNOTATION_VALUE").text = printable
    kind = {
        "GRAPHIC_REFERENCES": "false",
        "LINGUISTIC_TYPE_ID": "default-lt",
        "TIME_ALIGNABLE": "true",
    }
    ElementTree.SubElement(root, "LINGUISTIC_TYPE", kind)
    ElementTree.indent(root)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        + ElementTree.tostring(root, encoding="unicode")
        + "\n"
    )


# The long form is the short one with names before the values and item numbers in brackets, which
# are skipped.
_TOKEN = re.compile(
    r'"([^"]*(?:""[^"]*)*)"|\[\s*\d{0,9}\s*\]|(?<![\w.])(-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)(?![\w.])|<(\w+)>'
)


def textgrid_intervals(text: str, path: Path, tier: str | None) -> list[Interval]:
    """Intervals of the interval tiers, and the points of the others.

    >>> text = '''File type = "ooTextFile"
    ... Object class = "TextGrid"
    ... 0
    ... 9
    ... <exists>
    ... 1
    ... "IntervalTier" "actions" 0 9 2
    ... 0 3 ""
    ... 3 9 "wave"'''
    >>> [(i.label, i.start, i.stop) for i in textgrid_intervals(text, Path("a.TextGrid"), None)]
    [('', 0.0, 3.0), ('wave', 3.0, 9.0)]
    """
    values = _grid_values(text)
    intervals: list[Interval] = []
    names = []
    try:
        if (next(values), next(values)) != ("ooTextFile", "TextGrid"):
            raise FormatError(f"{path}: a Praat file, but not a TextGrid")
        _, _, exists = _grid_number(next(values)), _grid_number(next(values)), next(values)
        for _ in range(_grid_count(next(values)) if exists is True else 0):
            kind, name = next(values), next(values)
            _, _, n = (
                _grid_number(next(values)),
                _grid_number(next(values)),
                _grid_count(next(values)),
            )
            names.append(str(name))
            for i in range(n):
                start = _grid_number(next(values))
                stop = _grid_number(next(values)) if kind == "IntervalTier" else start
                label = str(next(values)).strip()
                if tier in (None, name):
                    point = kind != "IntervalTier"
                    what = "point" if point else "interval"
                    where = f"tier {str(name)[:40]!r}, {what} {i + 1}"
                    intervals.append(Interval(label, start, stop, True, where=where, point=point))
    except FormatError:
        raise
    except (StopIteration, ValueError):
        raise FormatError(f"{path}: the TextGrid is cut off or damaged") from None
    check_tier(tier, names, path)
    return intervals


def _grid_values(text: str) -> Iterator[str | float | bool]:
    for found in _TOKEN.finditer(text):
        quoted, number, flag = found.groups()
        if quoted is not None:
            yield quoted.replace('""', '"')
        elif number is not None:
            yield float(number)
        elif flag is not None:
            yield flag == "exists"


def _grid_number(value: str | float | bool) -> float:
    if not isinstance(value, float):
        raise ValueError(value)
    return value


def _grid_count(value: str | float | bool) -> int:
    number = _grid_number(value)
    if not 0 <= number <= MAX_INTERVALS:
        raise ValueError(value)
    return int(number)


_SERIES = "timeserieslabels"


def label_studio_intervals(text: str, path: Path) -> list[Interval]:
    """Intervals of the exported tasks; the data of a task name its recording.

    ``timelinelabels`` count video frames from 1, the last one included; ``timeserieslabels`` are
    frames if all of their bounds are whole numbers, else seconds; ``labels`` of audio and video are
    seconds.

    >>> value = {"ranges": [{"start": 11, "end": 40}], "timelinelabels": ["wave"]}
    >>> result = [{"type": "timelinelabels", "value": value}]
    >>> task = {"data": {"video": "/data/long.mp4"}, "annotations": [{"result": result}]}
    >>> label_studio_intervals(json.dumps([task]), Path("a.json"))[0]
    Interval(label='wave', start=10.0, stop=40.0, seconds=False, recording='/data/long.mp4',
     where='task 1')
    """
    try:
        tasks = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: damaged JSON: {str(error)[:80]}") from error
    tasks = [
        task for task in (tasks if isinstance(tasks, list) else [tasks]) if isinstance(task, dict)
    ]
    if not any(isinstance(_annotations(task), list) for task in tasks):
        raise FormatError(f"{path}: expected an export of Label Studio: tasks with 'annotations'")
    most = min(
        MAX_INTERVALS, len(text) // 4
    )  # every label is repeated for every range of its region
    intervals = list(itertools.islice(_task_intervals(tasks, path), most + 1))
    if len(intervals) > most:
        raise FormatError(f"{path}: {len(text)} characters that describe more than {most} segments")
    series = [i for i in intervals if i.where.endswith(_SERIES)]
    if any(i.start != int(i.start) or i.stop != int(i.stop) for i in series):
        return intervals
    return [
        replace(i, stop=i.stop + 1, seconds=False) if i.where.endswith(_SERIES) else i
        for i in intervals
    ]


def _annotations(task: dict[str, Any]) -> Any:
    return task.get("annotations", task.get("completions"))


def _task_intervals(tasks: list[dict[str, Any]], path: Path) -> Iterator[Interval]:
    for number, task in enumerate(tasks, start=1):
        annotations = [a for a in _list(_annotations(task)) if isinstance(a, dict)]
        for annotation in annotations:
            results = [] if annotation.get("was_cancelled") else _list(annotation.get("result"))
            for result in results:
                if isinstance(result, dict):
                    yield from _item(result, _recording(task), f"task {number}", path)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _recording(task: dict[str, Any]) -> str:
    data = task.get("data")
    texts = [v for v in data.values() if isinstance(v, str)] if isinstance(data, dict) else []
    name = str(task.get("file_upload") or (texts[0] if texts else ""))
    return name.partition("?")[0]


def _item(item: dict[str, Any], recording: str, where: str, path: Path) -> Iterator[Interval]:
    value, kind = item.get("value"), item.get("type")
    if not isinstance(value, dict) or kind not in ("timelinelabels", _SERIES, "labels"):
        return
    labels = value.get(kind)
    ranges = _list(value.get("ranges")) if kind == "timelinelabels" else [value]
    for bounds in ranges:
        start, stop = (_json_number(bounds, key, where, path) for key in ("start", "end"))
        for label in (label for label in _list(labels) if isinstance(label, str)):
            if kind == "timelinelabels":
                yield Interval(label, start - 1, stop, False, recording, where)
            else:  # both bounds of a series are samples: the unit is decided when all are known
                yield Interval(label, start, stop, True, recording, f"{where}, {kind}")


def _json_number(bounds: Any, key: str, where: str, path: Path) -> float:
    value = bounds.get(key) if isinstance(bounds, dict) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise FormatError(f"{path}, {where}: expected a number as {key!r}, got {str(value)[:40]!r}")
    if not 0 <= value <= 1e9:  # NaN too
        raise FormatError(
            f"{path}, {where}: {key!r} is {str(value)[:40]}, which is not a valid time"
        )
    return float(value)
