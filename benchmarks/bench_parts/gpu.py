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
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import KernetonError
from kerneton.kernels.batches import torch_for
from kerneton.kernels.cuda import launch as _cuda
from kerneton.paper.stopwatch import timed

log = logging.getLogger(__name__)

N_SEQUENCES = 20_000
BATCH_SIZES = (32, 512, 20_000)
MEMORIES = ("page-locked", "used", "fresh")


def measure(settings: Settings, device: str = "cuda") -> dict[str, Any] | None:
    """All figures of the GPU, ``sequences_per_second`` first; None if there is no GPU.

    A part that fails leaves its error in place of its figures; the others still run.
    """
    try:
        torch = torch_for(device)
    except KernetonError:
        return None
    n = 2_000 if settings.quick else N_SEQUENCES
    batch_sizes = BATCH_SIZES[1:2] if settings.quick else BATCH_SIZES
    found: dict[str, Any] = {}
    parts: dict[str, Callable[[], Any]] = {
        "machine": lambda: machine(torch, device),
        "ceilings": lambda: gpu_parts.ceilings(torch, device),
        "stages": lambda: gpu_parts.stages(torch, device, found["ceilings"]),
        "paper": lambda: gpu_recognizers.paper(torch, device, n),
        "default": lambda: gpu_recognizers.measure(torch, device, n // 2),
        "fit": lambda: gpu_recognizers.fit(torch, device, 2 * n),
        "throughput": lambda: throughput(torch, device, n, batch_sizes),
        "without_own_kernels": lambda: without_own_kernels(torch, device, max(1, n // 10)),
        "epn": lambda: gpu_parts.epn(torch, device),
        "accuracy": lambda: gpu_parts.accuracy(torch, device),
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
        f"{key}_without_own_kernels": found["without_own_kernels"].get(key),
        "n_sequences": n,
        "shape": [80, 25, 3],
    }
    return headline | found


def machine(torch: Any, device: str) -> dict[str, Any]:
    """The GPU and versions of the packages that matter."""
    gpu = torch.cuda.get_device_name(device) if device.startswith("cuda") else device
    found = {"gpu": gpu, "torch": torch.__version__, "cuda": torch.version.cuda}
    found["python"] = platform.python_version()
    return found | package_versions("numpy", "sklearn", "joblib", "threadpoolctl")


def throughput(torch: Any, device: str, n: int, batch_sizes: tuple[int, ...]) -> dict[str, Any]:
    """From recordings on the host to features on the host, by batch size and kind of the result's
    memory.

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
            pinned = memory == "page-locked" and device.startswith("cuda")
            outs = {w: torch.empty(n, w, pin_memory=pinned).fill_(1).numpy() for w in outs}
        for batch_size in batch_sizes:
            row: dict[str, Any] = {"memory": memory, "batch_size": batch_size}
            for name, kernel in made.items():
                kernel.set_params(batch_size=batch_size)
                row |= _transform(
                    torch,
                    name,
                    kernel,
                    X,
                    outs[widths[name]],
                    repeats=3 if memory != "fresh" else 1,
                )
            row["sequences_per_second"] = n / (row["sck_s"] + row["dck_window_s"])
            row["sequences_per_second_without_window"] = n / (row["sck_s"] + row["dck_s"])
            rows.append(row)
            log.info("%s", row)
        del outs
    return {"n": n, "best": max(rows, key=lambda row: row["sequences_per_second"]), "rows": rows}


def _transform(
    torch: Any, name: str, kernel: Any, X: list[SkeletonSequence], out: Any, repeats: int
) -> dict[str, Any]:
    """Median wall seconds of one call for all recordings, and the device memory it took."""
    few = min(len(X), 2048)
    kernel.transform(X[:few], out=None if out is None else out[:few])
    on_gpu = kernel.device.startswith("cuda")
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
    times = []
    for _ in range(repeats):
        seconds, features = timed(lambda: kernel.transform(X, out=out))
        times.append(seconds)
        if not np.isfinite(features[:: max(1, len(X) // 100)]).all():
            raise RuntimeError(f"{name} gave features that are not finite")
        del features
    row = {f"{name}_s": statistics.median(times)}
    if on_gpu:
        row[f"{name}_gpu_bytes"] = torch.cuda.max_memory_allocated()
    return row


def without_own_kernels(torch: Any, device: str, n: int) -> dict[str, Any]:
    """The baseline: the same classes with torch's operations only, ``torch.linalg.eigh`` and
    ``svd`` among them.
    """
    X = [SkeletonSequence(x) for x in recordings(n)]
    result: dict[str, Any] = {"n": n}
    own = _cuda._kernel
    _cuda._kernel = lambda *_: None  # as where they cannot be compiled
    try:
        for name, kernel in kernels(device=device, batch_size=512).items():
            width = int(kernel.fit(X[:64]).block_sizes_.sum())
            out = np.ones((n, width), dtype=np.float32)
            result |= _transform(torch, name, kernel, X, out, repeats=1)
    finally:
        _cuda._kernel = own
    result["sequences_per_second"] = n / (result["sck_s"] + result["dck_window_s"])
    return result
