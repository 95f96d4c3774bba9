"""Recordings of named points (C3D, TRC): metres, y up, missing points."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kerneton.data.sequence import Conventions, SkeletonSequence
from kerneton.data.stated import Recordings, unit_named
from kerneton.data.units import UNITS, axis_of, trunks_of, turn_up
from kerneton.exceptions import FormatError
from kerneton.files.readers._names import joint_names, layout_of_names
from kerneton.files.readers._text import shorten
from kerneton.files.readers._values import check_values


def named_unit(unit: str, where: str) -> str:
    """The name in a file of a unit of length, as it is written here.

    Some fields are four letters wide.

    >>> named_unit("Meters", "walk.trc"), named_unit("mill", "walk.c3d")
    ('m', 'mm')
    """
    word = unit.strip().lower()
    cut = {"mete": "m", "metr": "m", "cent": "cm", "mill": "mm", "inch": "in"}
    found = unit_named(word) or cut.get(word)
    if found is None:
        raise FormatError(f"{where}: expected a unit of length such as mm, got {shorten(unit)!r}")
    return found


def marker_axis(bodies: Sequence[tuple[Sequence[str], np.ndarray]]) -> str | None:
    """The vertical axis, from the first body whose labels show it."""
    axes = (
        vertical_axis(np.where(_missing(points)[..., None], np.nan, points), joint_names(labels))
        for labels, points in bodies
    )
    return next((axis for axis in axes if axis is not None), None)


def _missing(points: np.ndarray) -> np.ndarray:
    """(T, M) points at NaN or exactly at the origin."""
    return np.isnan(points).any(axis=2) | (points == 0).all(axis=2)


def vertical_axis(points: np.ndarray, names: Sequence[str]) -> str | None:
    """The vertical axis of named points (T, M, 3), y or z: the one along which the head lies above
    the feet.

    >>> points = np.array([[[0, 0, 1.7], [0, 0.1, 0]]])
    >>> vertical_axis(points, ["head", "left_foot"]), vertical_axis(points, ["a", "b"])
    ('z', None)
    """
    trunk = trunks_of(points, names)
    axis = None if trunk is None else axis_of(np.median(trunk, axis=0))
    return axis if axis in ("y", "z") else None  # otherwise the body is lying


def marker_sequence(
    path: Path,
    kind: str,
    labels: Sequence[str],
    points: np.ndarray,
    *,
    unit: str,
    fps: float | None,
    up: str,
) -> SkeletonSequence:
    """A recording from points (T, M, 3) in a unit, with a vertical axis; points at NaN or exactly
    at the origin are missing.
    """
    check_values(path, points, "points")
    names, missing = joint_names(labels), _missing(points)
    points = points * UNITS[unit]
    points[missing] = np.nan
    return SkeletonSequence(
        turn_up(points, up),
        confidence=(~missing).astype(points.dtype) if missing.any() else None,
        layout=layout_of_names(f"{kind}{len(names)}", names, labels),
        name=path.stem,
        fps=fps,
    )


def told(
    recordings: Sequence[SkeletonSequence],
    unit: str,
    up: str,
    *,
    unit_stated: bool,
    up_stated: bool,
) -> Recordings:
    """Recordings, the unit and axis of their file, and which of these the file states."""
    stated = ("unit",) * unit_stated + ("up",) * up_stated
    return Recordings(recordings, Conventions(unit, up, stated=stated))


def marker_recordings(
    path: Path,
    kind: str,
    labels: Sequence[str],
    points: np.ndarray,
    *,
    unit: str,
    fps: float | None,
    up: str,
) -> list[SkeletonSequence]:
    """A recording of each body that prefixes of the labels (``ann:head``) name, as
    `marker_sequence`.
    """
    found = []
    bodies = labelled_bodies(labels)
    for body, members in bodies.items():
        own = [labels[i] for i in members]
        one = marker_sequence(path, kind, own, points[:, members], unit=unit, fps=fps, up=up)
        if len(bodies) > 1:
            one = one.replace(name=f"{path.stem}-{body}", subject=body)
        found.append(one)
    return found


_BODY = 3  # labels that make a prefix a body of its own


def labelled_bodies(labels: Sequence[str]) -> dict[str, list[int]]:
    """Positions of the labelled points of each body; one body if prefixes do not separate them.

    >>> labelled_bodies(["ann:a", "ann:b", "", "ann:c"])
    {'': [0, 1, 3]}
    """
    prefixes: dict[str, list[int]] = {}
    for i, label in enumerate(labels):
        if label:
            prefixes.setdefault(label.rpartition(":")[0], []).append(i)
    bodies = {body: own for body, own in prefixes.items() if body and len(own) >= _BODY}
    return bodies if len(bodies) > 1 else {"": [i for i, label in enumerate(labels) if label]}
