"""Settings of a run, and medians of repeats that take turns: what slows the machine down slows all of them down."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kerneton.data.progress import Progress, silent


@dataclass(frozen=True)
class Settings:
    """How much to measure, where the published recordings and an older checkout lie, and how to show progress."""

    repeats: int = 7
    quick: bool = False
    data_home: str | os.PathLike[str] | None = None
    progress: Progress = silent
    before: str | os.PathLike[str] | None = None


def compared(ours: float, yardstick: float, ratio: float, unit: str) -> dict[str, Any]:
    """One line of the table: our figure, what it is measured by, and the ratio that has a bar."""
    return {"ours": ours, "yardstick": yardstick, "ratio": ratio, "unit": unit}


def median_seconds(
    calls: Mapping[str, Callable[[], Any]], settings: Settings, desc: str = "", repeats: int | None = None
) -> dict[str, float]:
    """Median wall seconds of each call; the first one, which may compile, does not count.

    >>> sorted(median_seconds({"nothing": lambda: None, "little": lambda: sum(range(9))}, Settings(repeats=3)))
    ['little', 'nothing']
    """
    for call in calls.values():
        call()
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    rounds = range(repeats or settings.repeats)
    for _ in settings.progress(rounds, total=len(rounds), desc=desc):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in seconds.items()}
