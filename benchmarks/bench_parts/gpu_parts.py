"""Peak speed of a GPU, each stage's share of it, power normalisation alone, and errors against the
CPU.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np

from bench_parts.workloads import SET_E, kernels, recordings
from kerneton.cuda import launch
from kerneton.cuda.gpu import Gpu
from kerneton.kernels import power_norm
from kerneton.kernels.tensors import gaussian_features
from kerneton.paper.stopwatch import repeated, timed

# and how many matrices to time
ORDERS = {6: 400_000, 15: 200_000, 22: 100_000, 32: 50_000, 64: 8_000}
N_NUMBERS = 2**29  # that a copy moves
N_MATRIX = 8192  # side of the matrices that are multiplied
N_STAGES = 1024  # sequences while stages are timed
N_ACCURACY = 16  # sequences whose features are compared
POWER = 0.36


def seconds(torch: Any, function: Callable[[], Any], repeats: int = 7) -> float:
    """Median seconds of the device, or of the clock where there is none."""
    if not torch.cuda.is_available():
        return statistics.median(repeated(function, repeats))
    function()
    times = []
    for _ in range(repeats):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        function()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) / 1e3)
    return statistics.median(times)


def ceilings(gpu: Gpu) -> dict[str, float]:
    """Peaks of the machine: bytes and operations per second. Products in float64 run on tensor
    cores.
    """
    torch, device = gpu.torch, gpu.device
    a, b = (torch.randn(N_NUMBERS, device=device) for _ in range(2))
    result = {"copy_bytes": 2 * a.nbytes / seconds(torch, lambda: b.copy_(a))}
    for name, dtype in (("fp32", torch.float32), ("fp64", torch.float64)):
        x, y = (torch.randn(N_MATRIX, N_MATRIX, dtype=dtype, device=device) for _ in range(2))
        result[f"{name}_flops"] = 2 * N_MATRIX**3 / seconds(torch, lambda x=x, y=y: x @ y, 3)  # type: ignore[misc]
    host = torch.empty(N_NUMBERS // 2, pin_memory=device.type == "cuda")
    part = a[: N_NUMBERS // 2]
    result["to_host_bytes"] = host.nbytes / seconds(
        torch, lambda: host.copy_(part, non_blocking=True), 3
    )
    result["to_device_bytes"] = host.nbytes / seconds(
        torch, lambda: part.copy_(host, non_blocking=True), 3
    )
    source, target = np.ones(N_NUMBERS // 4, np.float32), np.empty(N_NUMBERS // 4, np.float32)
    for name in ("fresh", "used"):
        result[f"host_copy_{name}_bytes"] = (
            source.nbytes / timed(lambda: np.copyto(target, source))[0]
        )
    return result


def stages(gpu: Gpu, peaks: dict[str, float]) -> dict[str, Any]:
    """GPU microseconds per sequence of each stage, and the share of the measured peak that its
    operations reach.
    """
    n, torch = N_STAGES, gpu.torch
    x = recordings(n)
    X = gpu.send(np.ascontiguousarray(x.reshape(-1, *x.shape[2:])))
    starts = gpu.send(np.arange(n + 1, dtype=np.int32) * x.shape[1])
    part = X[:, list(SET_E)].contiguous()
    made = kernels()
    for kernel in made.values():
        kernel.fit(list(recordings(4)))
    table = made["sck"]._map.table()

    def sums(name: str) -> Any:
        kernel = made[name]
        return launch.dck_sums(
            gpu,
            part,
            starts,
            x.shape[1],
            kernel._local_pairs,
            sigma=kernel.sigma_joint,
            n_pivots=kernel.n_pivots_joint,
            reach=kernel._reach(),
            sigma_span=kernel.sigma_span,
            sigma_time=kernel.sigma_time,
            n_times=kernel.n_pivots_time,
            reach_time=0.0,
            tol=kernel._tolerance(np.dtype(np.float32)),
        )

    tensors = sums("dck").flatten(0, 1)  # (n · n_pairs, 3Z, Z₃, Z₃)
    flat = tensors.reshape(n, -1)
    positions = gpu.send(made["dck"]._entries)
    timed = {
        "sck": lambda: launch.sck_features(gpu, X, starts, table, POWER, "simplex"),
        "dck_sums": lambda: sums("dck"),
        "dck_window_sums": lambda: sums("dck_window"),
        "dck_hosvd": lambda: launch.hosvd_power(gpu, tensors, 0.85, 1.0),
        "dck_entries": lambda: flat[:, positions] * 2**0.5,
    }
    rows: dict[str, Any] = {name: {"us": seconds(torch, f) / n * 1e6} for name, f in timed.items()}
    for name, counts in _operations(n).items():
        for unit, count in counts.items():
            peak = peaks["copy_bytes" if unit == "bytes" else f"{unit}s"]
            rows[name][unit] = count
            rows[name][f"{unit}_share_of_peak"] = count / (rows[name]["us"] * 1e-6) / peak
    return rows


def _operations(n: int) -> dict[str, dict[str, float]]:
    """Operations and bytes of memory that a sequence needs at least, by stage.

    A rotation of two columns of order m is 6m operations, a sweep m(m-1)/2 rotations, and five are
    the usual number; an exponential counts as four.
    """
    frames, slices, order, pairs, z2, z3 = 80, 25 * 22, 22, 36, 15, 6
    entries, band = z2 * z3 * z3, 25  # frames to either side that the kernel looks at for σ = 3
    rotations = 5 * (z2 * (z2 - 1) // 2 * 6 * z2 + 2 * z3 * (z3 - 1) // 2 * 6 * z3)
    grams = 2 * entries * (z2 + z3 + z3)
    return {
        "sck": {
            "fp32_flop": slices * (5 * 231 * 6 * order + 2 * order**3),
            # Cholesky and the tensor's entries
            "fp64_flop": slices * 2 * order**3 + 25 * 2 * 253 * 11 * frames,
            "bytes": 4 * 25 * (3 * frames + 2024),
        },
        "dck_sums": {
            "fp32_flop": 3 * pairs * 5 * (12 * 96 * 2 + frames * 80),
            "bytes": 4 * (8 * 3 * frames + pairs * entries),
        },
        "dck_window_sums": {
            "fp32_flop": 3 * pairs * 5 * frames * ((2 * band + 1) * (2 * z3 + 8) + 2 * z3 * z3),
            "bytes": 4 * (8 * 3 * frames + pairs * entries),
        },
        # Gram matrices of three modes, their eigenvectors, and products there and back
        "dck_hosvd": {
            "fp64_flop": pairs * (grams + rotations + 2 * grams),
            "bytes": 2 * 4 * pairs * entries,
        },
        "dck_entries": {"bytes": 4 * (4 * 16920) + 8 * 16920 / n},
    }


def slices(gpu: Gpu, n: int, order: int = 22) -> Any:
    """n slices like SCK's, (n, order, order), float64: features of smooth motion, weighted by one
    of them.
    """
    x = np.float64(recordings(16, n_joints=16))
    v = gaussian_features(x, sigma=0.6, n_pivots=-(-order // 3))
    v = v.swapaxes(1, 2).reshape(256, x.shape[1], -1)[..., :order]
    s = np.einsum("bt,bti,btj->bij", v[:, :, 0], v, v) / x.shape[1]
    return gpu.send(s).repeat(-(-n // 256), 1, 1)[:n].contiguous()


def epn(gpu: Gpu) -> dict[str, float]:
    """Matrices per second of our kernel, and of ``torch.linalg.eigh`` with the two products."""
    result, torch = {}, gpu.torch
    for order, n in ORDERS.items():
        A = slices(gpu, n, order)
        for dtype in (torch.float64, torch.float32):
            X = A.to(dtype)
            time_s = seconds(torch, lambda X=X: launch.psd_power(gpu, X, POWER), 3)  # type: ignore[misc]
            result[f"psd_power_{order}_{str(dtype)[6:]}"] = n / time_s
            if order == 22:
                part = X[:16384]
                time_s = seconds(torch, lambda part=part: _eigh(torch, part), 2)  # type: ignore[misc]
                result[f"torch_eigh_{order}_{str(dtype)[6:]}"] = len(part) / time_s
    return result


def _eigh(torch: Any, A: Any) -> Any:
    values, vectors = torch.linalg.eigh(A)
    return (vectors * values.clamp_min(0)[:, None, :] ** POWER) @ vectors.mT


def accuracy(gpu: Gpu, device: str) -> dict[str, float]:
    """Largest relative errors against float64 on the CPU."""
    result, torch = {}, gpu.torch
    for order in ORDERS:
        A = slices(gpu, 256, order)
        for dtype in (torch.float64, torch.float32):
            X = A.to(dtype)
            got = launch.psd_power(gpu, X, POWER).cpu().numpy().astype(float)
            expected = power_norm._eigh_power(X.cpu().numpy().astype(float), POWER)
            error = np.linalg.norm(got - expected, axis=(1, 2)) / np.linalg.norm(
                expected, axis=(1, 2)
            )
            result[f"psd_power_{order}_{str(dtype)[6:]}"] = float(error.max())
    rng = np.random.default_rng(1)
    X = [x[: rng.integers(2, 80)] for x in recordings(N_ACCURACY)]
    for name, kernel in kernels().items():
        exact = kernel.fit_transform([x.astype(float) for x in X])
        for precision in (np.float64, np.float32):
            got = kernel.set_params(device=device).fit_transform([x.astype(precision) for x in X])
            error = np.linalg.norm(got - exact, axis=1) / np.linalg.norm(exact, axis=1)
            result[f"{name}_{np.dtype(precision).name}"] = float(error.max())
    return result
