"""The paper's figures on Florence3D: accuracy over one parameter at a time, all others as in its
tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from kerneton.data.progress import Progress, silent
from kerneton.datasets import load_florence3d
from kerneton.exceptions import import_extra
from kerneton.files.output import AnyPath, write_text
from kerneton.kernels.dck import DCK
from kerneton.kernels.sck import SCK
from kerneton.machine.products import gram
from kerneton.paper import printed as printed
from kerneton.paper.choice import Task
from kerneton.prepare.preprocess import Preprocess
from kerneton.report.pictures import plot_sweep, save_figure
from kerneton.report.tables import csv_text


@dataclass(frozen=True)
class Sweep:
    """Values of one parameter of a kernel, and the title and axis of its plot."""

    kernel: str
    parameter: str
    values: tuple[Any, ...]
    title: str
    xlabel: str
    log: bool = False


SWEEPS = {
    "sck_sigma_joint": Sweep(
        "sck",
        "sigma_joint",
        (0.1, 0.2, 0.4, 0.6, 0.8, 1.2, 2.0, 4.0),
        "SCK: width of joints",
        "σ₂",
        log=True,
    ),
    "sck_sigma_time": Sweep(
        "sck",
        "sigma_time",
        (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0),
        "SCK: width of time",
        "σ₃",
        log=True,
    ),
    "sck_pivots_joint": Sweep(
        "sck", "n_pivots_joint", (2, 3, 4, 5, 6, 8, 10), "SCK: pivots of joints", "Z₂"
    ),
    "sck_pivots_time": Sweep(
        "sck", "n_pivots_time", (1, 2, 3, 4, 6, 8, 10), "SCK: pivots of time", "Z₃"
    ),
    "sck_power": Sweep(
        "sck",
        "power",
        (0.1, 0.2, 0.36, 0.5, 0.7, 0.85, 1.0),
        "SCK: eigenvalue power normalisation",
        "γ",
    ),
    "dck_joints": Sweep("dck", "joints", tuple("ABCDEFGHI"), "DCK: joint sets", "joints"),
    "dck_power": Sweep(
        "dck", "power", (0.3, 0.5, 0.7, 0.85, 1.0), "DCK: eigenvalue power normalisation", "γ"
    ),
}


def figures(
    *,
    data_home: AnyPath | None = None,
    output: AnyPath | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Accuracy on Florence3D over σ₂, σ₃, Z₂, Z₃ and γ of SCK, joint sets and γ of DCK; a plot and
    a CSV file of each.

    All other parameters are as printed; those that the paper leaves open have the values that
    held-out subjects mostly prefer. C is chosen in every split inside the training subjects.
    Accuracies are fractions, means over the ten half splits.

    >>> result = figures(data_home="/data", output="figures")  # doctest: +SKIP
    >>> result["figures"]["sck_power"]["gain"]  # doctest: +SKIP
    0.0336...
    """
    if output is not None:
        import_extra("matplotlib", extra="plot", purpose="Drawing the paper's figures")
    task = Task.of(load_florence3d(data_home))
    result = {
        name: sweep_curves(name, sweep, task, progress or silent) for name, sweep in SWEEPS.items()
    }
    if output is not None:
        for name, figure in result.items():
            draw(Path(output) / f"{name}.png", figure, log=SWEEPS[name].log)
            write_text(Path(output) / f"{name}.csv", to_csv(figure))
    return {"figures": result}


def sweep_curves(
    name: str, sweep: Sweep, task: Task, progress: Progress = silent
) -> dict[str, Any]:
    """Validation and test accuracy for every value of a sweep, and what the paper states."""
    points = [
        _point(task, _pipeline(sweep, value))
        for value in progress(sweep.values, total=len(sweep.values), desc=sweep.title)
    ]
    stated = printed.POINTS.get(name, {})
    figure: dict[str, Any] = {
        "title": sweep.title,
        "parameter": sweep.xlabel,
        "values": list(sweep.values),
        "validation": [p[0] for p in points],
        "test": [p[1] for p in points],
        "spread": [p[2] for p in points],
        "paper": [stated.get(value) for value in sweep.values],
    }
    if sweep.parameter == "power":
        best = 0.36 if sweep.kernel == "sck" else 0.85
        figure["gain"] = (
            figure["test"][sweep.values.index(best)] - figure["test"][sweep.values.index(1.0)]
        )
    return figure


def draw(path: Path, figure: Mapping[str, Any], *, log: bool = False) -> None:
    """Plot the curves of one figure, and the paper's points as stars."""
    columns = ("validation", "test", "spread", "paper")  # None becomes NaN
    percent = {key: 100 * np.array(figure[key], dtype=float) for key in columns}
    picture = plot_sweep(
        figure["values"],
        {"held-out training subjects": percent["validation"], "test subjects": percent["test"]},
        spread={"test subjects": percent["spread"]},
        xlabel=figure["parameter"],
        title=f"Florence3D, {figure['title']}",
        log=log,
    )
    ax = picture.axes[0]
    if not np.isnan(percent["paper"]).all():
        x = ax.lines[0].get_xdata()
        ax.plot(x, percent["paper"], "k*", markersize=11, label="test subjects, the paper")
    if log:
        ax.set_xticks(figure["values"], [f"{value:g}" for value in figure["values"]])
        ax.minorticks_off()
    legend = ax.get_legend()
    if legend is not None:
        legend.remove()  # the figure's legend below hides no curve
    picture.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    save_figure(picture, path, dpi=120)


def to_csv(figure: Mapping[str, Any]) -> str:
    """One row per value; cells that the paper does not state are empty.

    >>> print(
    ...     to_csv(
    ...         {
    ...             "parameter": "γ",
    ...             "values": [1.0],
    ...             "validation": [0.8],
    ...             "test": [0.9],
    ...             "spread": [0.02],
    ...             "paper": [None],
    ...         }
    ...     )
    ... )
    γ,validation,test,spread,paper
    1.0,0.8,0.9,0.02,
    """
    columns = ("validation", "test", "spread", "paper")
    rows = zip(figure["values"], *(figure[c] for c in columns), strict=True)
    return csv_text([[figure["parameter"], *columns], *rows])


def _pipeline(sweep: Sweep, value: Any) -> Pipeline:
    """The kernel of the tables with one parameter changed; nothing here learns from training
    recordings.
    """
    kernel: SCK | DCK
    if sweep.kernel == "sck":
        kernel, steps = SCK(entries="upper", n_jobs=-1), Preprocess(bones=None)
    else:
        kernel = DCK(joints="E", sigma_joint=0.3, sigma_time=0.25, sigma_span=3.0, n_jobs=-1)
        steps = Preprocess(center=False, bones=None)
    return Pipeline(
        [("preprocess", steps), ("kernel", kernel.set_params(**{sweep.parameter: value}))]
    )


def _point(task: Task, encoder: Pipeline) -> tuple[float, float, float]:
    """Mean accuracy on held-out training subjects, on test subjects, and the latter's spread over
    splits.
    """
    parts = [(gram(encoder.fit_transform(task.data)), 1.0)]
    outcomes = [task.outcome({(): parts}, [], split) for split in task.splits]
    test = [outcome.accuracy for outcome in outcomes]
    return (
        float(np.mean([o.validation for o in outcomes])),
        float(np.mean(test)),
        float(np.std(test)),
    )
