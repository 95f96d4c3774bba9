"""Accuracies of all settings as a table and as strip plots; values seen on test subjects are
marked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from paper_readings.readings import READINGS

from kerneton.exceptions import import_extra
from kerneton.paper.markdown import _KERNELS, _NAMES
from kerneton.report.pictures import save_figure
from kerneton.report.tables import markdown

SEEN = "seen on test: not a result"
_FIELDS = {
    "median": "median",
    "best_setting": "best setting",
    "best_per_split": "best of each split",
}


def to_markdown(cells: Sequence[Mapping[str, Any]]) -> str:
    """One row per cell and reading; the last three columns are marked as seen on test subjects.

    >>> seen = {"median": 0.9, "best_setting": 0.92, "best_per_split": 0.95}
    >>> print(
    ...     to_markdown(
    ...         [
    ...             {
    ...                 "data": "utkinect",
    ...                 "kernel": "sck",
    ...                 "reading": "printed",
    ...                 "paper": 0.9608,
    ...                 "chosen": 0.95,
    ...                 "settings": 48,
    ...                 "settings_of": 48,
    ...                 SEEN: seen,
    ...             }
    ...         ]
    ...     ).splitlines()[-1]
    ... )
    | UTKinect | SCK | the tables' settings | 96.08 | 95.00 | 48 | 90.00 | 92.00 | 95.00 |
    """
    rows = [["data", "kernel", "reading", "paper %", "ours %", "settings"]]
    rows[0] += [f"{name} ({SEEN})" for name in _FIELDS.values()]
    for cell in cells:
        n, n_all = cell["settings"], cell["settings_of"]
        row = [_data_name(cell), _KERNELS[cell["kernel"]], READINGS[cell["reading"]].title]
        row += [f"{100 * cell[key]:.2f}" for key in ("paper", "chosen")]
        row += [str(n) if n == n_all else f"{n} of {n_all:,}"]
        rows.append(row + [f"{100 * cell[SEEN][key]:.2f}" for key in _FIELDS])
    return markdown(rows)


def draw_strips(cells: Sequence[Mapping[str, Any]], folder: Path) -> None:
    """``oracle.png``, a strip per cell with the tables' settings; ``readings.png``, a panel per
    cell with all readings.
    """
    Figure = import_extra("matplotlib.figure", extra="plot", purpose="Drawing the strips").Figure
    plain = [cell for cell in cells if cell["reading"] == "printed"]
    if plain:
        figure = Figure(figsize=(9, 0.9 + 0.36 * len(plain)), layout="constrained")
        names = [f"{_data_name(c)}, {_KERNELS[c['kernel']]}" for c in plain]
        ax = figure.add_subplot()
        _panel(ax, plain, names)
        ax.legend(
            loc="upper center", bbox_to_anchor=(0.4, -0.1), ncols=3, frameon=False, fontsize=8
        )
        ax.set_xlabel("accuracy (%)")
        save_figure(figure, folder / "oracle.png", dpi=110)
    panels = list(dict.fromkeys((c["data"], c["kernel"]) for c in cells))
    if len(cells) == len(plain):
        return
    rows = -(-len(panels) // 2)
    figure = Figure(figsize=(13, 3.6 * rows), layout="constrained")
    axes = figure.subplots(rows, 2, squeeze=False).ravel()
    for ax in axes[len(panels) :]:
        ax.axis("off")
    for ax, (data, kernel) in zip(axes, panels, strict=False):
        some = [c for c in cells if (c["data"], c["kernel"]) == (data, kernel)]
        _panel(ax, some, [READINGS[c["reading"]].title for c in some])
        ax.set_title(f"{_data_name(some[0])}, {_KERNELS[kernel]}", fontsize=10)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    save_figure(figure, folder / "readings.png", dpi=110)


def _panel(ax: Any, cells: Sequence[Mapping[str, Any]], names: Sequence[str]) -> None:
    """A strip per row: a tick per percentile of the settings, and the marks."""
    at = np.arange(len(cells))[::-1]
    for y, cell in zip(at, cells, strict=True):
        values = 100 * np.asarray(cell[SEEN]["percentiles"])
        ax.plot(values, np.full(len(values), y), "|", color="#9aa5b1", markersize=9, zorder=1)
    seen = (
        ("median", "|", "#1f2933"),
        ("best_setting", "o", "#d9822b"),
        ("best_per_split", "D", "#d9822b"),
    )
    for key, mark, color in seen:
        x = [100 * cell[SEEN][key] for cell in cells]
        style = {"color": color, "fillstyle": "none", "linestyle": "none", "zorder": 2}
        ax.plot(
            x,
            at,
            mark,
            markersize=11 if mark == "|" else 5.5,
            label=f"{_FIELDS[key]} ({SEEN})",
            **style,
        )
    ax.scatter(
        [100 * c["chosen"] for c in cells],
        at,
        s=30,
        color="#2166ac",
        label="ours, chosen honestly",
        zorder=3,
    )
    ax.scatter(
        [100 * c["paper"] for c in cells],
        at,
        marker="*",
        s=80,
        color="#b2182b",
        label="printed",
        zorder=3,
    )
    ax.set_yticks(at, names, fontsize=8)
    ax.grid(axis="x", color="#e4e7eb", linewidth=0.8)
    ax.set_axisbelow(True)


def _data_name(cell: Mapping[str, Any]) -> str:
    return _NAMES[cell["data"].split()[-1]]  # the protocol, or the data set without one
