"""How time grows with frames, joints and sequences, and the pictures of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kerneton.experiments.bench._timing import Settings, median_seconds
from kerneton.experiments.bench.workloads import PAPER_DCK, kernels, recordings
from kerneton.files.output import replacing
from kerneton.kernels.dck import DCK
from kerneton.kernels.sck import SCK
from kerneton.report.pictures import plot_sweep

SIZES = {
    "frames": (25, 50, 100, 200, 400, 800, 1600),
    "joints": (5, 10, 20, 40),
    "sequences": (1, 4, 16, 64, 256),
}
QUICK = {"frames": (10, 20), "joints": (5, 10), "sequences": (1, 2)}
_FEW = 4  # sequences while frames or joints grow
_TITLES = {
    "frames": ("frames a sequence", "20 joints, DCK of eight"),
    "joints": ("joints, DCK pairs all of them", "50 frames"),
    "sequences": ("sequences", "50 frames, 20 joints, DCK of eight"),
}


def measure(settings: Settings) -> dict[str, Any]:
    """Seconds of one core, float32, as each of the three grows alone; a sequence, or all while sequences grow."""
    sizes = QUICK if settings.quick else SIZES
    return {"growth": {what: _sweep(what, values, settings) for what, values in sizes.items()}}


def _sweep(what: str, sizes: tuple[int, ...], settings: Settings) -> dict[str, Any]:
    calls: dict[str, Callable[[], Any]] = {}
    count = {}
    for size in sizes:
        n, frames, joints = {
            "frames": (_FEW, size, 20),
            "joints": (_FEW, 50, size),
            "sequences": (size, 50, 20),
        }[what]
        X = list(recordings(n, frames, joints))
        for name, kernel in _kernels(all_joints=what == "joints").items():
            kernel.fit(X[:1])
            calls[f"{name} {size}"] = partial(kernel.transform, X)
            count[f"{name} {size}"] = n if what != "sequences" else 1
    seconds = median_seconds(calls, settings, f"growth with {what}", repeats=min(settings.repeats, 5))
    found: dict[str, Any] = {what: list(sizes)}
    for name in ("sck", "dck", "dck_window"):
        key = [f"{name} {size}" for size in sizes]
        found[f"{name}_s"] = [seconds[k] / count[k] for k in key]
    return found


def _kernels(all_joints: bool) -> dict[str, Any]:
    if not all_joints:
        return kernels()
    return {"sck": SCK(n_pivots_time=7), "dck": DCK(), "dck_window": DCK(**PAPER_DCK)}


def draw(found: dict[str, Any], folder: str | os.PathLike[str]) -> list[Path]:
    """A picture for frames, joints and sequences each: ``growth_frames.png`` and its like."""
    paths = []
    for what, sweep in found["growth"].items():
        sizes = sweep[what]
        names = {"sck_s": "SCK", "dck_s": "DCK, any distance", "dck_window_s": "DCK, window of σ = 3 frames"}
        curves = {title: 1e3 * np.asarray(sweep[key]) for key, title in names.items()}
        curves["proportional"] = max(curve[0] for curve in curves.values()) * np.asarray(sizes) / sizes[0]
        xlabel, fixed = _TITLES[what]
        figure = plot_sweep(
            sizes,
            curves,
            xlabel=xlabel,
            ylabel="ms, all of them" if what == "sequences" else "ms a sequence",
            title=f"One core, float32; {fixed}",
            log=True,
        )
        axes = figure.axes[0]
        axes.set_yscale("log")
        line = axes.get_lines()[-1]
        line.set(linestyle=":", marker="", color="#888888")
        axes.legend(frameon=False, fontsize=9)
        axes.set_xticks(sizes, [str(size) for size in sizes])
        axes.minorticks_off()
        path = Path(folder) / f"growth_{what}.png"
        with replacing(path) as temporary:
            figure.savefig(temporary, dpi=150)
        paths.append(path)
    return paths
