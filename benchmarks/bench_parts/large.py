"""Fits of many generated recordings: how time and memory grow beyond Gram matrices.

Every fit runs in a process of its own, BLAS on one thread. Memory is measured without the
recordings themselves; times are those of the choices on the sample, of encoding and of the solver.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from typing import Any

from bench_parts._timing import SOURCE, Settings, compared
from bench_parts.before import run_program
from bench_parts.memory import peak_mb
from bench_parts.scale import labelled
from kerneton.data.layouts import KINECT_25

SIZES, QUICK = (8_000, 16_000), (60, 120)
_PROGRAM = "from bench_parts import large; large.main()"


def measure(settings: Settings) -> dict[str, Any]:
    """Fits of 8,000 and 16,000 recordings."""
    few, many = QUICK if settings.quick else SIZES
    found = medians(settings, {f"{n}": (n, 0) for n in (few, many)})
    a, b = (found[f"{n}"]["fit_s"] for n in (few, many))
    gib = found[f"{many}"]["above_recordings_mb"] * 1e6 / 2**30
    return found | {
        "comparisons": {
            "fit_growth_8000_16000": compared(b, a, b / a, "s"),
            "peak_memory_16000": compared(gib, 1.0, gib, "GiB"),
        }
    }


def medians(settings: Settings, kinds: dict[str, tuple[int, int]]) -> dict[str, Any]:
    """Medians of fits of so many recordings on so many workers, in turns."""
    rounds = [name for _ in range(min(settings.repeats, 3)) for name in kinds]
    runs: dict[str, list[dict[str, Any]]] = {}
    for name in settings.progress(rounds, total=len(rounds), desc="fits of many recordings"):
        n, workers = kinds[name]
        runs.setdefault(name, []).append(_run(n, "growth", workers))
    return {
        name: {key: statistics.median(run[key] for run in some) for key in some[0]}
        for name, some in runs.items()
    }


def _run(n: int, kind: str, workers: int) -> dict[str, Any]:
    return run_program(_PROGRAM, SOURCE, str(n), kind, str(workers))


def main() -> None:
    """Fit as the arguments say (recordings, kind, Dask workers), and print what it took."""
    n, kind, workers = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    if not workers:
        print(json.dumps(fit(n, kind)))
        return
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        warm_up()
        client.run(warm_up)
        before = client.run(time.process_time)
        found = fit(n, kind)
        spent = [seconds - before[name] for name, seconds in client.run(time.process_time).items()]
        print(json.dumps(found | {"busiest_worker_cpu_s": max(spent), "workers_cpu_s": sum(spent)}))


def warm_up() -> None:
    """A small fit, so that loading compiled code is not counted; on workers this happens once in
    their life.
    """
    from kerneton import make_recognizer

    few = labelled(60)
    make_recognizer(calibrate=False).fit(few, few.labels)


def _told(iterable: Any, *, total: int | None = None, desc: str = "") -> Any:
    """A line on stderr when a part of the work begins."""
    print(f"{desc}: {total}", file=sys.stderr, flush=True)
    return iterable


def fit(n: int, kind: str) -> dict[str, Any]:
    """Fit the default recogniser on n generated recordings in this process; "large" ones have 25
    joints, 60 classes, 40 people.
    """
    from kerneton import make_recognizer
    from kerneton.recognize.training import Limits

    shape: dict[str, Any] = {}
    if kind == "large":
        shape = {"classes": 60, "people": 40, "layout": KINECT_25, "longest": 120}
    data = labelled(n, **shape)
    before = peak_mb()
    start, cpu = time.perf_counter(), time.process_time()
    model = make_recognizer(n_jobs=-1, calibrate=False, progress=_told)
    if n <= model.limits.gram:  # a check that the model works
        model.limits = Limits(choice=n // 2, gram=n // 2, sample=n // 2)
    model.fit(data, data.labels)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    wrong = int((model.predict(data[:200]) != data.labels[:200]).sum())
    return {
        "fit_s": seconds,
        "cpu_s": cpu,
        **model.timing_,
        "above_recordings_mb": peak_mb() - before,
        "wrong_of_200": wrong,
    }
