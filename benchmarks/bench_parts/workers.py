"""The same fit on one and on two local Dask workers of one thread each."""

from __future__ import annotations

from typing import Any

from bench_parts._timing import Settings, compared
from bench_parts.large import medians

N, QUICK = 8_000, 60


def measure(settings: Settings) -> dict[str, Any]:
    """Seconds of both, by phase, and processor seconds of the client and of the workers.

    On cores that are also used by others, two workers seem slower than they are:
    ``by_processor_time`` is the ratio from processor times of the client plus the busiest worker.
    """
    n = QUICK if settings.quick else N
    found = medians(settings, {"one worker": (n, 1), "two workers": (n, 2)})
    one, two = found.values()
    work = [run["cpu_s"] + run["busiest_worker_cpu_s"] for run in (one, two)]
    found["by_processor_time"] = work[0] / work[1]
    ratio = one["fit_s"] / two["fit_s"]
    return found | {
        "comparisons": {"dask_two_vs_one": compared(two["fit_s"], one["fit_s"], ratio, "s")}
    }
