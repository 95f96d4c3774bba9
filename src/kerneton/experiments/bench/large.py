"""Fits of many generated recordings: how time and memory grow beyond Gram matrices, and two local Dask workers against one.

Every fit runs in a process of its own, BLAS on one thread. Memory is that above the recordings themselves; time is told for choices
on the sample, for encoding and for the solver.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from kerneton.data.layouts import KINECT_25
from kerneton.data.progress import bar
from kerneton.experiments.bench._timing import Settings, compared
from kerneton.experiments.bench.before import run_program
from kerneton.experiments.bench.memory import peak_mb
from kerneton.experiments.bench.scale import labelled

SIZES, QUICK = (8_000, 16_000), (60, 120)
_PROGRAM = "from kerneton.experiments.bench import large; large.main()"


def measure(settings: Settings) -> dict[str, Any]:
    """Fits of 8,000 and 16,000 recordings, and of the smaller number on one and on two workers."""
    few, many = QUICK if settings.quick else SIZES
    kinds = [(f"{few}", few, 0), (f"{many}", many, 0), ("one worker", few, 1), ("two workers", few, 2)]
    rounds = [kind for _ in range(min(settings.repeats, 3)) for kind in kinds]
    runs: dict[str, list[dict[str, Any]]] = {}
    for name, n, workers in settings.progress(rounds, total=len(rounds), desc="fits of many recordings"):
        runs.setdefault(name, []).append(_run(n, "growth", workers))
    found = {
        name: {key: statistics.median(run[key] for run in some) for key in some[0]}
        for name, some in runs.items()
    }
    a, b, one, two = (found[name]["fit_s"] for name, _, _ in kinds)
    gib = found[f"{many}"]["above_recordings_mb"] * 1e6 / 2**30
    return found | {
        "comparisons": {
            "fit_growth_8000_16000": compared(b, a, b / a, "s"),
            "peak_memory_16000": compared(gib, 1.0, gib, "GiB"),
            "dask_two_vs_one": compared(two, one, one / two, "s"),
        }
    }


def _run(n: int, kind: str, workers: int) -> dict[str, Any]:
    return run_program(_PROGRAM, Path(__file__).resolve().parents[3], str(n), kind, str(workers))


def main() -> None:
    """Fit as the arguments say (recordings, kind, Dask workers), and print what it took."""
    n, kind, workers = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    if not workers:
        print(json.dumps(fit(n, kind)))
        return
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        print(json.dumps(fit(n, kind)))


def fit(n: int, kind: str) -> dict[str, Any]:
    """Fit the default recogniser on n generated recordings in this process; "large" ones have 25 joints, 60 classes, 40 people."""
    from kerneton import make_recognizer
    from kerneton.recognize import growth, training

    shape: dict[str, Any] = {}
    if kind == "large":
        shape = {"classes": 60, "people": 40, "layout": KINECT_25, "longest": 120}
    if n <= training.GRAM_LIMIT:  # to see that all works
        training.GRAM_LIMIT, growth.SAMPLE = n // 2, n // 2
    data = labelled(n, **shape)
    before = peak_mb()
    start = time.perf_counter()
    model = make_recognizer(n_jobs=-1, progress=bar).fit(data, data.labels)
    seconds = time.perf_counter() - start
    wrong = int((model.predict(data[:200]) != data.labels[:200]).sum())
    return {
        "fit_s": seconds,
        **model.timing_,
        "above_recordings_mb": peak_mb() - before,
        "wrong_of_200": wrong,
    }
