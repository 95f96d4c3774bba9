"""Tables of segments: a row per segment, or a row per frame."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from kerneton.exceptions import FormatError
from kerneton.files.segments import MAX_INTERVALS, Interval, tagged_frames

_LABEL = ("label", "action", "class", "activity", "annotation", "gesture", "behavior", "behaviour", "event")
_FILE = ("file", "recording", "name", "video", "sequence")
_FRAME = ("frame", "frame_number", "index")
_TIME = ("time", "time_s", "time_sec", "time_seconds", "time_ms", "timestamp", "seconds")
_STARTS = ("start", "begin", "onset", "from", "first")
_STOPS = ("stop", "end", "offset", "to", "last", "duration")
# Units next to such a word in the name of a column: seconds per count, 0 for frames.
_UNITS = {
    **dict.fromkeys(("frame", "frames", "frame_number"), 0.0),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds", "time", "time_s", "time_sec"), 1.0),
    **dict.fromkeys(("time_seconds", "time_ss_msec", "ss_msec", "time_hh_mm_ss_ms", "hh_mm_ss_ms"), 1.0),
    **dict.fromkeys(("ms", "msec", "millis", "milliseconds", "time_ms", "time_msec"), 1e-3),
}
_ACCEPTED = (
    "expected a header such as label,start,stop (frames), label,start_s,stop_s (seconds) or, for a label per frame, frame,label; "
    f"also read: {', '.join(_LABEL[1:])}; {', '.join(_STARTS[1:])}; {', '.join(_STOPS[1:])}; endings _s, _sec, _ms, _frame"
)


class _Bound(NamedTuple):
    """The column of a start, a stop or a duration; ``unit`` is seconds per count, 0 for frames, None if not stated."""

    column: int
    word: str
    unit: float | None


def table_intervals(text: str, path: Path) -> Iterator[Interval]:
    """Intervals of a table with a header.

    >>> next(table_intervals("label;first;last\\nwave;10;39\\n", Path("long.csv"))).stop
    40.0
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
    """The meaning of a column name for starts and stops, in either order: ``start_frame`` and ``frame_start``.

    >>> _bound(0, "end_ms"), _bound(0, "frame_start"), _bound(0, "start"), _bound(0, "startle")
    (_Bound(column=0, word='end', unit=0.001), _Bound(column=0, word='start', unit=0.0), _Bound(column=0, word='start', unit=None), None)
    """
    words = name.split("_")
    for at in (0, -1):
        if (word := words[at]) in _STARTS + _STOPS:
            unit = "_".join(words[1:] if at == 0 else words[:-1])
            if not unit or unit in _UNITS:
                return _Bound(column, word, _UNITS.get(unit))
    return None


def _start_and_stop(bounds: list[_Bound]) -> tuple[_Bound, _Bound] | None:
    """The first start and stop that agree on frames or seconds, a stop before a duration; onsets are seconds, other bare names frames."""
    starts = [b for b in bounds if b.word in _STARTS]
    stops = sorted((b for b in bounds if b.word in _STOPS), key=lambda b: b.word == "duration")
    for stop in stops:
        for start in starts:
            bare = 1.0 if start.word == "onset" else 0.0
            units = [unit for unit in (start.unit, stop.unit) if unit is not None]
            a, b = (bound.unit if bound.unit is not None else (units or [bare])[0] for bound in (start, stop))
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
            value = _number(word := _cell(row, column))
            if not math.isfinite(value) or (not seconds and (value != int(value) or re.search("[:s]", word))):
                expected = "seconds" if seconds else "a whole frame number"
                hint = f"; name the columns {first.word}_s and {last.word}_s for seconds"
                remedy = hint if math.isfinite(value) and not seconds else ""
                raise FormatError(f"{path}, {where}: expected {expected}, got {word[:40]!r}{remedy}")
            values.append(value * (unit or 1.0))
        start, stop = values
        if last.word == "duration":
            stop += start
        elif last.word == "last" and not seconds:
            stop += 1
        yield Interval(_cell(row, label), start, stop, seconds, _cell(row, file), where)


def _number(word: str) -> float:
    """A number, seconds (``1.5s``) or a time (``0:01.5``); nan for anything else.

    >>> _number("1,5"), _number("1.5 s"), _number("00:01:01.5")
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
    """A label per frame; frames are rows in order, or the numbers of their column, counted from 0."""
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
