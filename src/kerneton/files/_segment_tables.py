"""Tables of segments: a row per segment, or a row per frame."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from pathlib import Path

from kerneton.exceptions import FormatError
from kerneton.files.segments import MAX_INTERVALS, Interval, tagged_frames

_LABEL = ("label", "action", "class", "activity", "annotation", "gesture")
_FILE = ("file", "recording", "name", "video", "sequence")
_FRAME = ("frame", "frame_number", "index")
# Column names of start and stop, whether the stop is counted in, and whether they are seconds.
_BOUNDS = (
    (("start", "begin", "start_frame"), ("stop", "end", "stop_frame", "end_frame"), 0, False),
    (("first", "first_frame"), ("last", "last_frame"), 1, False),
    (
        ("start_s", "start_seconds", "start_time", "begin_s", "onset"),
        ("stop_s", "end_s", "stop_seconds", "end_seconds", "stop_time", "end_time", "offset"),
        0,
        True,
    ),
)


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
    header = [word.strip().lower().replace(" ", "_") for word in numbered[0][1]]
    label, file = _column(header, _LABEL), _column(header, _FILE)
    if label is None:
        got = first_line[:80]
        raise FormatError(f"{path}: expected a header such as label,start,stop or frame,label; got {got!r}")
    for starts, stops, inclusive, seconds in _BOUNDS:
        start, stop = _column(header, starts), _column(header, stops)
        if start is not None and stop is not None:
            columns = (label, start, stop, file)
            return _segment_rows(numbered[1:], columns, inclusive, seconds, path)
    return _frame_rows(numbered[1:], label, _column(header, _FRAME), file, path)


def _column(header: list[str], names: tuple[str, ...]) -> int | None:
    return next((header.index(name) for name in names if name in header), None)


def _cell(row: list[str], column: int | None) -> str:
    return row[column].strip() if column is not None and column < len(row) else ""


def _segment_rows(
    rows: list[tuple[int, list[str]]],
    columns: tuple[int, int, int, int | None],
    inclusive: int,
    seconds: bool,
    path: Path,
) -> Iterator[Interval]:
    label, start, stop, file = columns
    for line, row in rows:
        where = f"line {line}"
        values = []
        for column in (start, stop):
            try:
                value = float(_cell(row, column).replace(",", "."))
            except ValueError:
                value = math.nan
            if not math.isfinite(value) or (not seconds and value != int(value)):
                expected = "seconds" if seconds else "a whole frame number"
                raise FormatError(f"{path}, {where}: expected {expected}, got {_cell(row, column)[:40]!r}")
            values.append(value)
        first, last = values
        yield Interval(_cell(row, label), first, last + inclusive, seconds, _cell(row, file), where)


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
    return tagged_frames(tags)
