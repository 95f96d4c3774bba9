"""Fits of many recordings: how time and memory grow, 100,000 recordings, and a cluster of two local workers against one.

Every fit runs in a process of its own, BLAS on one thread. Memory is that above the recordings themselves.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from kerneton.data.layouts import KINECT_25
from kerneton.experiments.bench._timing import Settings
from kerneton.experiments.bench.memory import peak_mb
from kerneton.experiments.bench.scale import labelled

N_LARGE, N_QUICK = 100_000, 400
MODULE = "kerneton.experiments.bench.large"


def measure(settings: Settings) -> dict[str, Any]:
    """100,000 recordings of 25 joints, 40 to 120 frames, 60 classes and 40 people, or few of them."""
    from kerneton.experiments.bench.scale import run_module

    n = N_QUICK if settings.quick else N_LARGE
    return run_module(MODULE, str(n), "large")


def fit(n: int, kind: str) -> dict[str, Any]:
    """Fit the default recogniser on n generated recordings in this process, and tell what it took."""
    from kerneton import make_recognizer
    from kerneton.recognize import training

    shape = {"classes": 60, "people": 40, "layout": KINECT_25, "longest": 120} if kind == "large" else {}
    if n < training.GRAM_LIMIT and kind == "large":
        training.GRAM_LIMIT = n // 2
    data = labelled(n, **shape)
    before = peak_mb()
    start = time.perf_counter()
    cpu = time.process_time()
    progress = None
    if sys.stderr.isatty() or kind == "large":
        from kerneton.data.progress import bar as progress
    model = make_recognizer(n_jobs=-1, progress=progress).fit(data, data.labels)
    found = {"n": n, "fit_s": time.perf_counter() - start, "fit_cpu_s": time.process_time() - cpu}
    wrong = sum(model.predict(data[:200]) != data.labels[:200])
    timing = getattr(model, "timing_", {})
    return (
        found
        | timing
        | {"above_recordings_mb": peak_mb() - before, "peak_mb": peak_mb(), "wrong_of_200": int(wrong)}
    )


if __name__ == "__main__":
    print(json.dumps(fit(int(sys.argv[1]), sys.argv[2])))
