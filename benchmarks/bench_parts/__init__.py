"""Speed of the library compared with plain NumPy, LAPACK, scikit-learn and others, in one run on
one machine.

Every part measures ours and a baseline in turns and returns plain data; only ratios within a run
are comparable.
"""

from __future__ import annotations

import importlib
import os
import platform
from collections.abc import Sequence
from typing import Any

from threadpoolctl import threadpool_limits

from bench_parts._table import BARS, to_text
from bench_parts._timing import Settings, package_versions
from kerneton.data.parameters import check_choice, check_positive
from kerneton.data.progress import Progress, silent
from kerneton.exceptions import import_extra

__all__ = ["BARS", "PARTS", "bench", "to_text"]

# Part → the module here that measures it, in the order in which they run.
PARTS = {
    "kernels": "kernels",
    "epn": "epn",
    "dck": "dck_frames",
    "stages": "stages",
    "growth": "growth",
    "memory": "memory",
    "msr": "msr",
    "svm": "linear_svm",
    "scale": "scale",
    "scale-growth": "large",
    "scale-stopping": "stopping",
    "scale-dask": "workers",
    "scale-100k": "scale_100k",
    "stream": "stream",
    "spotting-scale": "spotting_scale",
    "gpu": "gpu",
}
_ON_REQUEST = {"scale-100k", "scale-stopping", "spotting-scale"}  # take minutes and more
_THREADS = {"msr": 2, "gpu": None}  # all others use one


def bench(
    *,
    only: Sequence[str] | None = None,
    repeats: int = 7,
    quick: bool = False,
    data_home: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    before: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Measure everything, or ``only`` some of `PARTS`.

    ``"cpu"`` holds ratios of medians, None if a package or data set is missing; ``"gpu"`` the
    figures of the GPU, None without one; ``"scale"`` ratios of fits, compared with the checkout
    ``before`` if it is given; ``"stream"`` those of live recognition; ``"details"`` everything else
    that each part measured. ``quick`` uses smaller workloads, to which the targets do not apply;
    ``output`` is a folder for plots of how times grow.

    >>> bench(only=["gpu"], quick=True)["cpu"]  # doctest: +SKIP
    {}
    """
    if output is not None:
        import_extra("matplotlib", extra="plot", purpose="Drawing the growth of times")
    check_positive("repeats", repeats, integer=True)
    for name in only or ():
        check_choice("only", name, PARTS)
    settings = Settings(repeats, quick, data_home, progress or silent, before)
    result: dict[str, Any] = {"machine": machine(), "quick": quick, "cpu": {}, "details": {}}
    for name, module in PARTS.items():
        if name not in (only or set(PARTS) - _ON_REQUEST):
            continue
        with threadpool_limits(_THREADS.get(name, 1)):
            found = importlib.import_module(f"{__name__}.{module}").measure(settings)
        if name == "gpu":
            result["gpu"] = found
            continue
        result["details"][name] = found
        if name == "growth" and output is not None:
            from bench_parts.growth import draw

            draw(found, output)
        section = name.partition("-")[0]
        ratios = (
            result.setdefault(section, {})
            if section in ("scale", "stream", "spotting")
            else result["cpu"]
        )
        ratios |= {
            key: line and line["ratio"] for key, line in found.get("comparisons", {}).items()
        }
    return result


def machine() -> dict[str, Any]:
    """Processor and versions of the packages that matter."""
    found = {"cpu": _cpu_name(), "cores": os.cpu_count(), "python": platform.python_version()}
    return found | package_versions("numpy", "scipy", "sklearn", "aeon")


def _cpu_name() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [
                line.partition(":")[2].strip() for line in file if line.startswith("model name")
            ]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()
