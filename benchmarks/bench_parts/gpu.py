"""SCK + DCK on a GPU: sequences per second from recordings to features on the host, and the peak of
the machine.

Recordings of 25 joints and 80 frames on the host become float32 features on the host through the
public classes, ``SCK(device="cuda").transform`` and then ``DCK(device="cuda").transform``. Kernels
are timed by device events.
"""

from __future__ import annotations

import logging
import platform
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np

from bench_parts import gpu_parts, gpu_recognizers
from bench_parts._timing import Settings, package_versions
from bench_parts.workloads import kernels, recordings
from kerneton.cuda.gpu import Gpu
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import KernetonError
from kerneton.kernels.engine import find_gpu
from kerneton.paper.stopwatch import timed

log = logging.getLogger(__name__)

N_SEQUENCES = 20_000
MEMORIES = ("page-locked", "used", "fresh")


def measure(settings: Settings, device: str = "cuda") -> dict[str, Any] | None:
    """All figures of the GPU, ``sequences_per_second`` first; None if there is no GPU.

    A part that fails leaves its error in place of its figures; the others still run.
    """
    try:
        gpu = find_gpu(device)
    except KernetonError:
        return None
    assert gpu is not None
    torch, n = gpu.torch, 2_000 if settings.quick else N_SEQUENCES
    found: dict[str, Any] = {}
    parts: dict[str, Callable[[], Any]] = {
        "machine": lambda: machine(torch, device),
        "ceilings": lambda: gpu_parts.ceilings(gpu),
        "stages": lambda: gpu_parts.stages(gpu, found["ceilings"]),
        "paper": lambda: gpu_recognizers.paper(gpu, device, n),
        "default": lambda: gpu_recognizers.measure(gpu, device, n // 2),
        "fit": lambda: gpu_recognizers.fit(gpu, device, 2 * n),
        "throughput": lambda: throughput(gpu, device, n),
        "epn": lambda: gpu_parts.epn(gpu),
        "accuracy": lambda: gpu_parts.accuracy(gpu, device),
    }
    allowed = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    try:
        for name in settings.progress(list(parts), total=len(parts), desc="GPU"):
            try:
                seconds, found[name] = timed(parts[name])
                log.info("%s took %.0f s", name, seconds)
            except Exception as error:
                log.exception("%s failed", name)
                found[name] = {"error": f"{type(error).__name__}: {error}"}
    finally:
        torch.backends.cuda.matmul.allow_tf32 = allowed
    key = "sequences_per_second"
    headline = {
        key: found["throughput"].get("best", {}).get(key),
        "n_sequences": n,
        "shape": [80, 25, 3],
    }
    return headline | found


def machine(torch: Any, device: str) -> dict[str, Any]:
    """The GPU and versions of the packages that matter."""
    found = {
        "gpu": torch.cuda.get_device_name(device),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
    }
    found["python"] = platform.python_version()
    return found | package_versions("numpy", "sklearn", "joblib", "threadpoolctl")


def throughput(gpu: Gpu, device: str, n: int) -> dict[str, Any]:
    """From recordings on the host to features on the host, by kind of the result's memory.

    "page-locked" and "used" memory was written to before. "fresh" is what ``out=None`` allocates:
    the system maps its pages at the first write, which takes longer than everything else.
    ``sequences_per_second`` is SCK and then DCK in the paper's window.
    """
    X = [SkeletonSequence(x) for x in recordings(n)]
    made = kernels(device=device)
    widths = {name: int(kernel.fit(X[:64]).block_sizes_.sum()) for name, kernel in made.items()}
    rows = []
    for memory in MEMORIES:
        outs: dict[int, Any] = dict.fromkeys(widths.values())
        if memory != "fresh":
            pinned = memory == "page-locked" and gpu.device.type == "cuda"
            outs = {w: gpu.torch.empty(n, w, pin_memory=pinned).fill_(1).numpy() for w in outs}
        row: dict[str, Any] = {"memory": memory}
        repeats = 3 if memory != "fresh" else 1
        for name, kernel in made.items():
            row |= _transform(gpu, name, kernel, X, outs[widths[name]], repeats)
        row["sequences_per_second"] = n / (row["sck_s"] + row["dck_window_s"])
        row["sequences_per_second_without_window"] = n / (row["sck_s"] + row["dck_s"])
        rows.append(row)
        log.info("%s", row)
        del outs
    return {"n": n, "best": max(rows, key=lambda row: row["sequences_per_second"]), "rows": rows}


def _transform(
    gpu: Gpu, name: str, kernel: Any, X: list[SkeletonSequence], out: Any, repeats: int
) -> dict[str, Any]:
    """Median wall seconds of one call for all recordings, and the device memory it took."""
    few = min(len(X), 2048)
    kernel.transform(X[:few], out=None if out is None else out[:few])
    on_gpu = gpu.device.type == "cuda"
    if on_gpu:
        gpu.torch.cuda.reset_peak_memory_stats()
    times = []
    for _ in range(repeats):
        seconds, features = timed(lambda: kernel.transform(X, out=out))
        times.append(seconds)
        if not np.isfinite(features[:: max(1, len(X) // 100)]).all():
            raise RuntimeError(f"{name} gave features that are not finite")
        del features
    peak = gpu.torch.cuda.max_memory_allocated() if on_gpu else 0
    return {f"{name}_s": statistics.median(times), f"{name}_gpu_bytes": peak}
