"""SCK + DCK on a GPU: sequences a second, where the time goes, and what share of the machine's peak each stage reaches.

    python benchmarks/gpu.py --json gpu.json [--n 20000] [--only ceilings stages accuracy kernels throughput]

Recordings of 25 joints and 80 frames on the host become float32 features on the host, through the public classes:
``SCK(device="cuda").transform`` and then ``DCK(device="cuda").transform``. Kernels are timed by device events, medians
of repeats; every figure of accuracy is a relative error against float64 on the CPU.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from workloads import SET_E, recordings

from kerneton import DCK, SCK, _batches, power_norm
from kerneton.feature_maps import gaussian_features
from kerneton.sequence import SkeletonSequence

PAPER_DCK = {"sigma_joint": 0.3, "sigma_time": 0.25, "sigma_span": 3.0}


def kernels(**options: Any) -> dict[str, Any]:
    return {
        "sck": SCK(n_pivots_time=7, **options),
        "dck": DCK(joints=SET_E, **options),
        "dck_window": DCK(joints=SET_E, **PAPER_DCK, **options),
    }


def seconds(function: Callable[[], Any], repeats: int = 7) -> float:
    """Median device seconds."""
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


def machine() -> dict[str, Any]:
    found = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda}
    found |= {"python": platform.python_version(), "numpy": np.__version__}
    for name in ("sklearn", "numba", "joblib", "threadpoolctl"):
        try:
            found[name] = __import__(name).__version__
        except ImportError:
            found[name] = None
    return found


def ceilings() -> dict[str, float]:
    """What the machine can do: bytes and operations a second."""
    a, b = (torch.randn(2**29, device="cuda") for _ in range(2))
    result = {"copy_bytes": 2 * a.nbytes / seconds(lambda: b.copy_(a))}
    for name, dtype in (("fp32", torch.float32), ("fp64", torch.float64)):
        x, y = (torch.randn(8192, 8192, dtype=dtype, device="cuda") for _ in range(2))
        result[f"{name}_flops"] = 2 * 8192**3 / seconds(lambda x=x, y=y: x @ y, 3)
    host = torch.empty(2**28, pin_memory=True)
    part = a[: 2**28]
    result["to_host_bytes"] = host.nbytes / seconds(lambda: host.copy_(part, non_blocking=True), 3)
    result["to_device_bytes"] = host.nbytes / seconds(lambda: part.copy_(host, non_blocking=True), 3)
    source, target = np.ones(2**27, np.float32), np.empty(2**27, np.float32)
    for name in ("fresh", "used"):
        start = time.perf_counter()
        target[:] = source
        result[f"host_copy_{name}_bytes"] = source.nbytes / (time.perf_counter() - start)
    return result


def slices(n: int, order: int = 22) -> torch.Tensor:
    """As many slices like SCK's, (n, order, order), float64: first features of smooth motion, weighted by one of them."""
    x = torch.as_tensor(recordings(16, n_joints=16), dtype=torch.float64, device="cuda")
    v = (
        gaussian_features(x, sigma=0.6, n_pivots=-(-order // 3))
        .swapaxes(1, 2)
        .reshape(256, 80, -1)[..., :order]
    )
    s = torch.einsum("bt,bti,btj->bij", v[:, :, 0], v, v) / 80
    return s.repeat(-(-n // 256), 1, 1)[:n].contiguous()


def accuracy() -> dict[str, float]:
    """Largest relative errors."""
    result = {}
    for order in (6, 15, 22, 32, 64):
        A = slices(256, order)
        for dtype in (torch.float64, torch.float32):
            X = A.to(dtype)
            got = power_norm.psd_power(X, 0.36).cpu().numpy().astype(float)
            expected = power_norm._eigh_power(np, X.cpu().numpy().astype(float), 0.36)
            error = np.linalg.norm(got - expected, axis=(1, 2)) / np.linalg.norm(expected, axis=(1, 2))
            result[f"psd_power_{order}_{str(dtype)[6:]}"] = float(error.max())
    rng = np.random.default_rng(1)
    X = [x[: rng.integers(2, 80)] for x in recordings(16)]
    for name, kernel in kernels().items():
        exact = kernel.fit_transform([x.astype(float) for x in X])
        for dtype in (np.float64, np.float32):
            got = kernel.set_params(device="cuda").fit_transform([x.astype(dtype) for x in X])
            assert got.dtype == dtype
            error = np.linalg.norm(got - exact, axis=1) / np.linalg.norm(exact, axis=1)
            result[f"{name}_{np.dtype(dtype).name}"] = float(error.max())
    return result


def kernel_times() -> dict[str, float]:
    """Matrices a second of our kernel and of torch.linalg.eigh."""
    result = {}
    for order, n in ((6, 400_000), (15, 200_000), (22, 100_000), (32, 50_000), (64, 8_000)):
        A = slices(n, order)
        for dtype in (torch.float64, torch.float32):
            X = A.to(dtype)
            result[f"psd_power_{order}_{str(dtype)[6:]}"] = n / seconds(
                lambda X=X: power_norm.psd_power(X, 0.36), 3
            )
        if order == 22:
            part = A[:16384].float()
            result["torch_eigh_22_float32"] = 16384 / seconds(
                lambda part=part: power_norm._eigh_power(torch, part, 0.36), 2
            )
    return result


def profile(n: int = 512) -> str:
    """The kernels that a batch launches, by time."""
    x = torch.as_tensor(recordings(n), device="cuda")
    lengths = torch.full((n,), x.shape[1], device="cuda")
    for name, kernel in kernels(device="cuda").items():
        kernel.fit(list(recordings(4)))
        kernel._encode(x, lengths)
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as recorded:
            kernel._encode(x, lengths)
            torch.cuda.synchronize()
        print(name)
        for row in sorted(recorded.key_averages(), key=lambda row: -row.device_time_total)[:14]:
            print(f"  {row.device_time_total / n:7.3f} µs {row.count:3d} {row.key[:90]}")
    return ""


def stages(peaks: dict[str, float], n: int = 1024) -> dict[str, Any]:
    """Device microseconds a sequence of each stage, and the share of the measured peak that its operations reach."""
    X = torch.as_tensor(recordings(n), device="cuda")
    lengths = torch.full((n,), X.shape[1], device="cuda")
    part = X[:, :, list(SET_E)].contiguous()
    made = kernels(device="cuda")
    for kernel in made.values():
        kernel.fit(list(recordings(4)))
    sums = made["dck"]._fused_sums(part, lengths)
    tensors = sums.reshape(-1, 15, 6, 6)
    flat = tensors.reshape(n, -1)
    positions = torch.as_tensor(made["dck"]._entries, device="cuda")
    timed = {
        "sck": lambda: made["sck"]._encode(X, lengths),
        "dck_sums": lambda: made["dck"]._fused_sums(part, lengths),
        "dck_window_sums": lambda: made["dck_window"]._fused_sums(part, lengths),
        "dck_hosvd": lambda: power_norm.hosvd_power(tensors, 0.85),
        "dck_entries": lambda: flat[:, positions] * 2**0.5,
        "dck": lambda: made["dck"]._encode(X, lengths),
        "dck_window": lambda: made["dck_window"]._encode(X, lengths),
    }
    result: dict[str, Any] = {name: {"us": seconds(f) / n * 1e6} for name, f in timed.items()}
    # A rotation of two columns of order 22 is 6·22 operations, a sweep 231 rotations, and five are the usual number;
    # then the product. Cholesky and the tensor's entries are in double precision.
    slices, order, frames = 25 * 22, 22, 80
    result["sck"]["fp32_flop"] = slices * (5 * 231 * 6 * order + 2 * order**3)
    result["sck"]["fp64_flop"] = slices * 2 * order**3 + 25 * 2 * 253 * 11 * frames
    result["sck"]["bytes"] = 4 * 25 * (3 * frames + 2024)
    result["dck_sums"]["fp32_flop"] = 3 * 36 * 5 * (12 * 96 * 2 + frames * 80)
    result["dck_sums"]["bytes"] = 4 * (8 * 3 * frames + 36 * 540)
    result["dck_entries"]["bytes"] = 4 * (4 * 16920) + 8 * 16920 / n
    result["dck_hosvd"]["bytes"] = 2 * 4 * 36 * 540
    for row in result.values():
        for unit, peak in (("fp32_flop", "fp32_flops"), ("fp64_flop", "fp64_flops"), ("bytes", "copy_bytes")):
            if unit in row:
                row[f"{unit}_share_of_peak"] = row[unit] / (row["us"] * 1e-6) / peaks[peak]
    return result


def throughput(n: int, batch_sizes: list[int], streams: list[int]) -> dict[str, Any]:
    """From recordings on the host to features on the host, and how the result's memory matters.

    "page-locked" and "used" memory was written before, "fresh" is what ``out=None`` allocates: its pages come with the
    first write, which takes longer than all else.
    """
    X = [SkeletonSequence(x) for x in recordings(n)]
    made = kernels(device="cuda")
    width = {name: int(kernel.fit(X[:64]).block_sizes_.sum()) for name, kernel in made.items()}
    rows = []
    default = _batches._STREAMS
    for memory in ("page-locked", "used", "fresh"):
        outs: dict[int, Any] = dict.fromkeys(width.values())
        if memory != "fresh":
            pinned = memory == "page-locked"
            outs = {w: torch.empty(n, w, pin_memory=pinned).fill_(1).numpy() for w in outs}
        for batch_size in batch_sizes:
            for n_streams in streams if memory != "fresh" else [default]:
                _batches._STREAMS = n_streams
                row: dict[str, Any] = {"memory": memory, "batch_size": batch_size, "streams": n_streams}
                for name, kernel in made.items():
                    kernel.set_params(batch_size=batch_size)
                    out = outs[width[name]]
                    kernel.transform(X[:2048], out=None if out is None else out[:2048])
                    torch.cuda.reset_peak_memory_stats()
                    times = []
                    for _ in range(3 if memory != "fresh" else 1):
                        start = time.perf_counter()
                        features = kernel.transform(X, out=out)
                        times.append(time.perf_counter() - start)
                    assert np.isfinite(features[:: max(1, n // 100)]).all()
                    row[f"{name}_s"] = statistics.median(times)
                    row[f"{name}_gpu_bytes"] = torch.cuda.max_memory_allocated()
                    del features
                row["sequences_per_second"] = n / (row["sck_s"] + row["dck_window_s"])
                row["sequences_per_second_without_window"] = n / (row["sck_s"] + row["dck_s"])
                rows.append(row)
                print(json.dumps(row), flush=True)
        del outs
    _batches._STREAMS = default
    best = max(rows, key=lambda row: row["sequences_per_second"])
    return {"n": n, "best": best, "rows": rows}


def main() -> None:
    result: dict[str, Any] = {"machine": machine()}
    parts: dict[str, Callable[[], Any]] = {
        "ceilings": ceilings,
        "stages": lambda: stages(result["ceilings"]),
        "accuracy": accuracy,
        "kernels": kernel_times,
        "profile": profile,
    }
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=20_000)
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[32, 512, 20_000])
    parser.add_argument("--streams", type=int, nargs="+", default=[3])
    parser.add_argument(
        "--only", nargs="+", default=["ceilings", "stages", "throughput", "kernels", "accuracy"]
    )
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    parts["throughput"] = lambda: throughput(options.n, options.batch_sizes, options.streams)
    print(json.dumps(result["machine"]), flush=True)
    for name in options.only:
        start = time.perf_counter()
        try:
            result[name] = parts[name]()
        except Exception as error:  # one part that fails must not cost the others
            result[name] = f"{type(error).__name__}: {error}"
            import traceback

            traceback.print_exc()
        print(f"{name} ({time.perf_counter() - start:.0f} s)", json.dumps(result[name], indent=1), flush=True)
        if name == "throughput" and isinstance(result[name], dict):
            result["gpu"] = {"sequences_per_second": result[name]["best"]["sequences_per_second"]}
        if options.json:
            options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
