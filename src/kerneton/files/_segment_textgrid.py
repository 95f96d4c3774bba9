"""Praat's TextGrid, in its long and its short text form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from kerneton.exceptions import FormatError
from kerneton.files.segments import MAX_INTERVALS, Interval, check_tier

# The long form is the short one with names before the values and item numbers in brackets, which are skipped.
_TOKEN = re.compile(
    r'"([^"]*(?:""[^"]*)*)"|\[\s*\d{0,9}\s*\]|(?<![\w.])(-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)(?![\w.])|<(\w+)>'
)


def textgrid_intervals(text: str, path: Path, tier: str | None) -> list[Interval]:
    """Intervals of the interval tiers; tiers of points have no length and are left out.

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
    values = _values(text)
    intervals: list[Interval] = []
    names = []
    try:
        if (next(values), next(values)) != ("ooTextFile", "TextGrid"):
            raise FormatError(f"{path}: a Praat file, but not a TextGrid")
        _, _, exists = _number(next(values)), _number(next(values)), next(values)
        for _ in range(_count(next(values)) if exists is True else 0):
            kind, name = next(values), next(values)
            _, _, n = _number(next(values)), _number(next(values)), _count(next(values))
            names.append(str(name))
            for i in range(n):
                start = _number(next(values))
                stop = _number(next(values)) if kind == "IntervalTier" else start
                label = str(next(values)).strip()
                if kind == "IntervalTier" and tier in (None, name):
                    where = f"tier {str(name)[:40]!r}, interval {i + 1}"
                    intervals.append(Interval(label, start, stop, seconds=True, where=where))
    except FormatError:
        raise
    except (StopIteration, ValueError):
        raise FormatError(f"{path}: the TextGrid is cut off or damaged") from None
    check_tier(tier, names, path)
    return intervals


def _values(text: str) -> Iterator[str | float | bool]:
    for found in _TOKEN.finditer(text):
        quoted, number, flag = found.groups()
        if quoted is not None:
            yield quoted.replace('""', '"')
        elif number is not None:
            yield float(number)
        elif flag is not None:
            yield flag == "exists"


def _number(value: str | float | bool) -> float:
    if not isinstance(value, float):
        raise ValueError(value)
    return value


def _count(value: str | float | bool) -> int:
    number = _number(value)
    if not 0 <= number <= MAX_INTERVALS:
        raise ValueError(value)
    return int(number)
