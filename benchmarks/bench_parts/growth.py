"""Growth of time with frames, joints and sequences, and plots of it."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench_parts._timing import Settings, median_seconds
from bench_parts.workloads import SET_E, kernels, recordings
from kerneton.report.pictures import plot_sweep, save_figure

SIZES = {
    "frames": (25, 50, 100, 200, 400, 800, 1600),
    "joints": (5, 10, 20, 40),
    "sequences": (1, 4, 16, 64, 256),
}
QUICK = {"frames": (10, 20), "joints": (5, 10), "sequences": (1, 2)}
_FEW = 4  # sequences while frames or joints grow
_TITLES = {
    "frames": ("frames per sequence", "20 joints, DCK of eight"),
    "joints": ("joints, DCK pairs all of them", "50 frames"),
    "sequences": ("sequences", "50 frames, 20 joints, DCK of eight"),
}


def measure(settings: Settings) -> dict[str, Any]:
    """Seconds of one core, float32, as each of the three grows alone: per sequence, or for all
    while sequences grow.
    """
    sizes = QUICK if settings.quick else SIZES
    return {"growth": {what: _sweep(what, values, settings) for what, values in sizes.items()}}


def _sweep(what: str, sizes: tuple[int, ...], settings: Settings) -> dict[str, Any]:
    calls = {}
    for size in sizes:
        n, frames, joints = {
            "frames": (_FEW, size, 20),
            "joints": (_FEW, 50, size),
            "sequences": (size, 50, 20),
        }[what]
        X = list(recordings(n, frames, joints))
        for name, kernel in kernels(joints=None if what == "joints" else SET_E).items():
            calls[f"{name} {size}"] = partial(kernel.fit(X[:1]).transform, X)
    seconds = median_seconds(
        calls, settings, f"growth with {what}", repeats=min(settings.repeats, 5)
    )
    count = 1 if what == "sequences" else _FEW
    found: dict[str, Any] = {what: list(sizes)}
    for name in ("sck", "dck", "dck_window"):
        found[f"{name}_s"] = [seconds[f"{name} {size}"] / count for size in sizes]
    return found


def draw(found: dict[str, Any], folder: str | os.PathLike[str]) -> None:
    """Plots of growth with frames, joints and sequences: ``growth_frames.png`` and so on."""
    for what, sweep in found["growth"].items():
        sizes = sweep[what]
        names = {
            "sck_s": "SCK",
            "dck_s": "DCK, any distance",
            "dck_window_s": "DCK, window of σ = 3 frames",
        }
        curves = {title: 1e3 * np.asarray(sweep[key]) for key, title in names.items()}
        curves["proportional"] = (
            max(curve[0] for curve in curves.values()) * np.asarray(sizes) / sizes[0]
        )
        xlabel, fixed = _TITLES[what]
        figure = plot_sweep(
            sizes,
            curves,
            xlabel=xlabel,
            ylabel="ms, all of them" if what == "sequences" else "ms per sequence",
            title=f"One core, float32; {fixed}",
            log=True,
        )
        axes = figure.axes[0]
        axes.set_yscale("log")
        axes.get_lines()[-1].set(linestyle=":", marker="", color="#888888")
        axes.legend(frameon=False, fontsize=9)
        axes.set_xticks(sizes, [str(size) for size in sizes])
        axes.minorticks_off()
        save_figure(figure, Path(folder) / f"growth_{what}.png")
