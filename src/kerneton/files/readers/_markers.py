"""Recordings of named points (C3D, TRC): metres, y up, missing points."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kerneton.data.sequence import SkeletonSequence
from kerneton.data.units import turn_up, vertical_axis
from kerneton.exceptions import FormatError
from kerneton.files.readers._names import joint_names, layout_of_names
from kerneton.files.readers._text import shorten
from kerneton.files.readers._values import check_values

_UNITS = {
    **dict.fromkeys(("m", "meters", "metres", "meter", "metre"), 1.0),
    **dict.fromkeys(("cm", "centimeters", "centimetres"), 0.01),
    **dict.fromkeys(("mm", "millimeters", "millimetres"), 0.001),
    **dict.fromkeys(("in", "inch", "inches"), 0.0254),
}


def unit_in_metres(unit: str, where: str) -> float:
    """The length of a named unit.

    >>> unit_in_metres("mm", "walk.trc"), unit_in_metres("mete", "walk.c3d")  # some fields are four letters wide
    (0.001, 1.0)
    """
    word = unit.strip().lower()
    cut = [name for name in _UNITS if len(word) == 4 and name.startswith(word)]
    if word not in _UNITS and not cut:
        raise FormatError(f"{where}: expected a unit of length such as mm, got {shorten(unit)!r}")
    return _UNITS[word] if word in _UNITS else _UNITS[cut[0]]


def marker_sequence(
    path: Path,
    kind: str,
    labels: Sequence[str],
    points: np.ndarray,
    *,
    unit: float,
    fps: float | None,
    up: str | None = None,
    usual_up: str = "y",
) -> SkeletonSequence:
    """A recording from points (T, M, 3): points at NaN or exactly at the origin are missing.

    ``up`` is the vertical axis where the file names it; where it is None, the axis along which heads and shoulders
    lie above feet is taken, and ``usual_up`` where the labels do not tell.
    """
    check_values(path, points, "points")
    names = joint_names(labels)
    missing = np.isnan(points).any(axis=2) | (points == 0).all(axis=2)
    points = points * unit
    points[missing] = np.nan
    points = turn_up(points, up or vertical_axis(points, names) or usual_up)
    return SkeletonSequence(
        points,
        confidence=(~missing).astype(points.dtype) if missing.any() else None,
        layout=layout_of_names(f"{kind}{len(names)}", names, labels),
        name=path.stem,
        fps=fps,
    )
