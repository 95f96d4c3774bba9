"""Exact and linearised kernels as recordings become longer and more: measured times and their
growth.

Needs no data: recordings are generated and resampled to the wanted number of frames.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from kerneton.data.progress import Progress, silent
from kerneton.data.sequence import SkeletonSequence
from kerneton.datasets import make_actions
from kerneton.exceptions import import_extra
from kerneton.files.output import AnyPath, write_text
from kerneton.kernels.dck import DCK
from kerneton.kernels.exact import dck_kernel, sck_kernel
from kerneton.kernels.sck import SCK
from kerneton.machine.products import gram
from kerneton.paper import printed as printed
from kerneton.paper.stopwatch import repeated
from kerneton.prepare.poses import resample
from kerneton.prepare.preprocess import Preprocess
from kerneton.report.pictures import plot_sweep, save_figure
from kerneton.report.tables import csv_text

N_FRAMES = 50  # the paper's example
# Sizes to measure; the exact kernels only up to sizes that take moments
SIZES = {
    "sck_frames": (10, 20, 40, 80, 160, 320, 640),
    "sck_sequences": (4, 8, 16, 32, 64, 128),
    "dck_frames": (6, 8, 11, 16, 22, 50, 100, 200, 400, 800),
    "dck_sequences": (3, 6, 12, 24, 48, 96),
}
LARGEST_EXACT = {"sck_frames": 160, "sck_sequences": 32, "dck_frames": 22, "dck_sequences": 12}
_FEW = 4  # sequences while frames grow
_MANY = 16  # sequences to time one of them by
_SHORT = {"sck": N_FRAMES, "dck": 8}  # frames while sequences grow
_JOINTS = {"sck": 20, "dck": 4}
_TITLES = {"frames": "frames per sequence", "sequences": "sequences"}


def complexity(
    *,
    data_home: AnyPath | None = None,  # noqa: ARG001
    output: AnyPath | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Seconds of one core for all kernel values between generated recordings, exact and linearised.

    The number of frames and the number of sequences grow; exponents are fitted to the larger sizes.
    Ratios at the paper's sizes come from one pair and one sequence of 50 frames: measured for SCK,
    extrapolated along the fitted growth for DCK, whose exact kernel takes O(J²N⁴) per pair.
    ``output`` receives pictures and ``complexity.csv``; ``data_home`` is not needed.

    >>> complexity()["complexity"]["ratios"][0]["paper"]  # doctest: +SKIP
    3.5
    """
    if output is not None:
        import_extra("matplotlib", extra="plot", purpose="Drawing the growth of times")
    jobs = [(name, size) for name, sizes in SIZES.items() for size in sizes]
    measured: dict[str, list[Any]] = {name: [] for name in SIZES}
    with threadpool_limits(1):
        for name, size in (progress or silent)(jobs, total=len(jobs), desc="kernel values"):
            measured[name].append(_measure(name, size))
        sweeps = {name: _sweep(name, times) for name, times in measured.items()}
        result = {"sweeps": sweeps, "ratios": _ratios(sweeps)}
    if output is not None:
        for name, sweep in sweeps.items():
            _draw(Path(output) / f"complexity_{name}.png", name, sweep)
        write_text(Path(output) / "complexity.csv", _csv(sweeps))
    return {"complexity": result}


def growth(sizes: Any, seconds: Any) -> float:
    """Exponent p of seconds ∝ size^p, fitted to the larger half, where constant costs matter
    little.

    >>> round(growth([1, 2, 4, 8, 16], [5.1, 5.4, 6.6, 11.4, 30.6]), 1)
    1.1
    """
    half = min(len(sizes) // 2, len(sizes) - 2)
    return float(np.polyfit(np.log(sizes[half:]), np.log(seconds[half:]), 1)[0])


def motions(n_sequences: int, n_frames: int, n_joints: int) -> list[SkeletonSequence]:
    """Generated recordings of a given length, with some of their joints.

    >>> [s.joints.shape for s in motions(2, 12, 4)]
    [(12, 4, 3), (12, 4, 3)]
    """
    made = make_actions(["wave", "kick", "bow", "clap"], n_subjects=1 + n_sequences // 4, n_takes=1)
    poses = Preprocess(bones=None).fit(made).transform(made)[:n_sequences]
    chosen = (
        np.linspace(4, poses[0].n_joints - 1, n_joints).astype(int)
        if n_joints < 20
        else slice(None)
    )
    return [SkeletonSequence(resample(s.joints, n_frames)[:, chosen]) for s in poses]


def _measure(name: str, size: int) -> tuple[float | None, float]:
    """Seconds of the exact kernel, where that is feasible, and of the linearised one."""
    kernel, _, what = name.partition("_")
    n_sequences, n_frames = (_FEW, size) if what == "frames" else (size, _SHORT[kernel])
    X = motions(n_sequences, n_frames, _JOINTS[kernel])
    exact = _seconds(lambda: _exact(kernel, X)) if size <= LARGEST_EXACT[name] else None
    return exact, _seconds(lambda: gram(_linear(kernel).fit_transform(X)))


def _sweep(name: str, times: list[tuple[float | None, float]]) -> dict[str, Any]:
    sizes = SIZES[name]
    exact, linear = [e for e, _ in times], [seconds for _, seconds in times]
    feasible = [e for e in exact if e is not None]
    return {
        "n": list(sizes),
        "exact_seconds": exact,
        "linear_seconds": linear,
        "exact_growth": growth(sizes[: len(feasible)], feasible),
        "linear_growth": growth(sizes, linear),
    }


def _exact(kernel: str, X: list[SkeletonSequence]) -> np.ndarray:
    return sck_kernel(X) if kernel == "sck" else dck_kernel(X, sigma_joint=0.3, sigma_time=0.25)


def _linear(kernel: str) -> SCK | DCK:
    return SCK() if kernel == "sck" else DCK(sigma_joint=0.3, sigma_time=0.25)


def _ratios(sweeps: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Time of T²/2 exact pairs divided by that of T linearised sequences and T²/2 products of their
    features.
    """
    times = {kernel: _unit_times(kernel, sweeps[f"{kernel}_frames"]) for kernel in ("sck", "dck")}
    rows = []
    for (kernel, n_sequences), paper in printed.SPEEDUPS.items():
        pair, sequence, product = times[kernel]
        pairs = n_sequences**2 / 2
        rows.append(
            {
                "kernel": kernel,
                "sequences": n_sequences,
                "frames": N_FRAMES,
                "paper": paper,
                "ours": pairs * pair / (n_sequences * sequence + pairs * product),
                "exact_pair_seconds": pair,
                "linear_sequence_seconds": sequence,
                "extrapolated": LARGEST_EXACT[f"{kernel}_frames"] < N_FRAMES,
            }
        )
    return rows


def _unit_times(kernel: str, sweep: Mapping[str, Any]) -> tuple[float, float, float]:
    """Seconds of an exact pair, of a linearised sequence and of a product of features, at 50
    frames.
    """
    exact = [seconds for seconds in sweep["exact_seconds"] if seconds is not None]
    pair = _at(N_FRAMES, sweep["n"][: len(exact)], exact, sweep["exact_growth"]) / (
        _FEW * (_FEW + 1) / 2
    )
    X = motions(_MANY, N_FRAMES, _JOINTS[kernel])
    features = _linear(kernel).fit_transform(X)
    sequence = _seconds(lambda: _linear(kernel).fit_transform(X)) / _MANY
    wide = np.tile(features, (8, 1))
    return pair, sequence, _seconds(lambda: gram(wide)) / len(wide) ** 2


def _at(size: int, sizes: list[int], seconds: list[float], exponent: float) -> float:
    """Time at a size: between measured ones in the logarithm, beyond them along the fitted
    growth.
    """
    if size > sizes[-1]:
        return seconds[-1] * (size / sizes[-1]) ** exponent
    return float(np.exp(np.interp(np.log(size), np.log(sizes), np.log(seconds))))


def _seconds(call: Callable[[], Any], repeats: int = 3) -> float:
    """Processor seconds of the fastest of some calls; at least a microsecond, the resolution of
    clocks.
    """
    return max(min(repeated(call, repeats, time.process_time)), 1e-6)


def _draw(path: Path, name: str, sweep: Mapping[str, Any]) -> None:
    kernel, _, what = name.partition("_")
    curves = {
        f"exact, ∝ n^{sweep['exact_growth']:.1f}": np.asarray(sweep["exact_seconds"], dtype=float),
        f"linearised, ∝ n^{sweep['linear_growth']:.1f}": sweep["linear_seconds"],
    }
    fixed = f"{_FEW} sequences" if what == "frames" else f"{_SHORT[kernel]} frames"
    figure = plot_sweep(
        sweep["n"],
        curves,
        xlabel=f"n, {_TITLES[what]}",
        ylabel="seconds",
        title=f"{kernel.upper()}, all kernel values, {_JOINTS[kernel]} joints, {fixed}",
        log=True,
    )
    figure.axes[0].set_yscale("log")
    save_figure(figure, path)


def _csv(sweeps: Mapping[str, Mapping[str, Any]]) -> str:
    table = [["kernel", "what grows", "n", "exact seconds", "linearised seconds"]]
    for name, sweep in sweeps.items():
        rows = zip(sweep["n"], sweep["exact_seconds"], sweep["linear_seconds"], strict=True)
        table += [[*name.split("_"), *row] for row in rows]
    return csv_text(table)
