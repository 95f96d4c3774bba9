"""Recordings of named points (C3D, TRC): metres, y up, missing points."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import FormatError
from kerneton.files.readers._names import joint_names, marker_layout
from kerneton.files.readers._text import shorten
from kerneton.files.readers._values import check_values

_UNITS = {
    **dict.fromkeys(("m", "meters", "metres", "meter", "metre"), 1.0),
    **dict.fromkeys(("cm", "centimeters", "centimetres"), 0.01),
    **dict.fromkeys(("mm", "millimeters", "millimetres"), 0.001),
    **dict.fromkeys(("in", "inch", "inches"), 0.0254),
}
_HIGH = ("head", "nose", "neck", "left_shoulder", "right_shoulder", "left_fhd", "right_fhd", "c7")
_LOW = tuple(
    f"{side}_{part}"
    for side in ("left", "right")
    for part in ("ankle", "foot", "heel", "hee", "big_toe", "toes")
)


def unit_in_metres(unit: str, where: str) -> float:
    """The length of a named unit.

    >>> unit_in_metres("mm", "walk.trc")
    0.001
    """
    if unit.strip().lower() not in _UNITS:
        raise FormatError(f"{where}: expected a unit of length such as mm, got {shorten(unit)!r}")
    return _UNITS[unit.strip().lower()]


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
    points = turn_up(points, up or guess_up(points, names) or usual_up)
    return SkeletonSequence(
        points,
        confidence=(~missing).astype(points.dtype) if missing.any() else None,
        layout=marker_layout(f"{kind}{len(names)}", names),
        name=path.stem,
        fps=fps,
    )


def guess_up(points: np.ndarray, names: Sequence[str]) -> str | None:
    """The vertical axis, "y" or "z", or None where the names do not tell: where most of the way from the feet to the head lies.

    >>> points = np.array([[[0, 0, 1.7], [0, 0.1, 0]]])
    >>> guess_up(points, ["head", "left_foot"]), guess_up(points, ["a", "b"])
    ('z', None)
    """
    high = [i for i, name in enumerate(names) if name in _HIGH]
    low = [i for i, name in enumerate(names) if name in _LOW]
    trunk = points[:, high].sum(axis=1) / max(len(high), 1) - points[:, low].sum(axis=1) / max(len(low), 1)
    seen = trunk[~np.isnan(trunk).any(axis=1)]
    if not high or not low or not len(seen):
        return None
    x, y, z = np.median(seen, axis=0)
    return "z" if z > 2 * max(abs(x), abs(y)) else "y" if y > 2 * max(abs(x), abs(z)) else None


def turn_up(points: np.ndarray, up: str) -> np.ndarray:
    """Turn points so that the named axis points up; no reflection, so left stays left.

    >>> turn_up(np.array([[[1, 2, 3]]]), "z").tolist(), turn_up(np.array([[[1, 2, 3]]]), "-y").tolist()
    ([[[1, 3, -2]]], [[[-1, -2, 3]]])
    """
    if up == "y":
        return points
    x, y, z = np.moveaxis(points, -1, 0)
    turned = {
        "x": (-y, x, z),
        "-x": (y, -x, z),
        "-y": (-x, -y, z),
        "z": (x, z, -y),
        "-z": (x, -z, y),
    }[up]
    return np.stack(turned, axis=-1)
