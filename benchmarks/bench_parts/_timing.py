"""Settings of a run, medians of repeats in turns, programs in their own process, versions of
packages.
"""

from __future__ import annotations

import importlib
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kerneton
from kerneton.data.progress import Progress, silent
from kerneton.exceptions import DataError
from kerneton.paper.stopwatch import timed

SOURCE = Path(kerneton.__file__).resolve().parents[1]
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(frozen=True)
class Settings:
    """How much to measure, where the published recordings and an older checkout are, and how to
    show progress.
    """

    repeats: int = 7
    quick: bool = False
    data_home: str | os.PathLike[str] | None = None
    progress: Progress = silent
    before: str | os.PathLike[str] | None = None


def compared(ours: float, yardstick: float, ratio: float, unit: str) -> dict[str, Any]:
    """One line of the table: our figure, the baseline's figure, and the ratio that has a target."""
    return {"ours": ours, "yardstick": yardstick, "ratio": ratio, "unit": unit}


def median_seconds(
    calls: Mapping[str, Callable[[], Any]],
    settings: Settings,
    desc: str = "",
    repeats: int | None = None,
) -> dict[str, float]:
    """Median wall seconds of each call; the first one, which may compile, is not counted.

    The calls take turns, so that a busy machine slows all of them down.

    >>> sorted(
    ...     median_seconds(
    ...         {"nothing": lambda: None, "little": lambda: sum(range(9))}, Settings(repeats=3)
    ...     )
    ... )
    ['little', 'nothing']
    """
    for call in calls.values():
        call()
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    rounds = range(repeats or settings.repeats)
    for _ in settings.progress(rounds, total=len(rounds), desc=desc):
        for name, call in calls.items():
            seconds[name].append(timed(call)[0])
    return {name: statistics.median(times) for name, times in seconds.items()}


def run_program(program: str, source: Path, *arguments: str) -> dict[str, Any]:
    """The JSON that a program prints, run in its own process on one thread with the package of this
    source folder.
    """
    path = os.pathsep.join([str(source), str(Path(__file__).parents[1])])
    environment = os.environ | _ONE_THREAD | {"PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], env=environment, capture_output=True, text=True
    )
    if done.returncode:
        raise DataError(
            f"a run with the source in {source} failed: {done.stderr.strip().splitlines()[-1]}"
        )
    return json.loads(done.stdout.splitlines()[-1])


def package_versions(*names: str) -> dict[str, str | None]:
    """Version of each package; None if it is not installed.

    >>> package_versions("numpy", "no_such_package")["no_such_package"] is None
    True
    """
    found = {}
    for name in names:
        try:
            found[name] = importlib.import_module(name).__version__
        except ImportError:
            found[name] = None
    return found
