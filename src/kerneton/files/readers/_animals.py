"""Recordings of animals: points of any names, several individuals, a likelihood of each point."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kerneton.data.layouts import Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import FormatError
from kerneton.files.readers._text import MAX_JOINTS

_MOST_ANIMALS = 100


def table_of_animals(
    path: Path, place: dict[tuple[str, str, str], int], values: np.ndarray
) -> list[SkeletonSequence]:
    """Recordings from the columns of (animal, part, x or y or z or likelihood) in a table (T,
    n).
    """
    animals = list(dict.fromkeys(animal for animal, _, _ in place))
    parts = {a: list(dict.fromkeys(part for own, part, _ in place if own == a)) for a in animals}
    shared = parts[max(animals, key=lambda a: len(parts[a]))]
    flat = not any(axis == "z" for *_, axis in place)
    n_frames = len(values)
    points = np.full((len(animals), n_frames, len(shared), 2 if flat else 3), np.nan)
    trust = np.ones(points.shape[:3])
    for i, animal in enumerate(animals):
        for j, part in enumerate(shared):
            for k, axis in enumerate("xy" if flat else "xyz"):
                if (at := place.get((animal, part, axis))) is not None:
                    points[i, :, j, k] = values[:, at]
            if (at := place.get((animal, part, "likelihood"))) is not None:
                trust[i, :, j] = values[:, at]
    return animal_recordings(path, shared, points, trust, animals if len(animals) > 1 else [])


def animal_recordings(
    path: Path,
    names: Sequence[str],
    animals: np.ndarray,
    trust: np.ndarray | None = None,
    tracks: Sequence[str] = (),
    fps: float | None = None,
) -> list[SkeletonSequence]:
    """A recording of each animal (T, J, 2 or 3) from its first to its last frame, or a pair of
    two.
    """
    from kerneton.files.readers.csv_table import joined_bodies

    if (
        not 0 < len(animals) <= _MOST_ANIMALS
        or not 0 < len(names) <= MAX_JOINTS
        or not animals.shape[1]
    ):
        raise FormatError(
            f"{path}: {len(animals)} animals with {len(names)} points in {animals.shape[1]} frames"
        )
    if len(set(names)) < len(names):
        raise FormatError(f"{path}: two points have the same name")
    layout = Layout(
        "animal", [re.sub(r"\W+", "_", name) or f"point_{i}" for i, name in enumerate(names)]
    )
    found, frames = {}, {}
    for i, points in enumerate(animals):
        joints = np.zeros((*points.shape[:2], 3))
        joints[..., : points.shape[2]] = points
        gone = np.isnan(points).any(axis=2)
        joints[gone] = np.nan
        seen = np.flatnonzero(~gone.all(axis=1))
        if not len(seen):
            continue
        own = slice(seen[0], seen[-1] + 1)
        confidence = None
        if trust is not None:
            confidence = np.where(gone, 0.0, np.nan_to_num(np.clip(trust[i], 0, 1)))[own]
        subject = tracks[i] if i < len(tracks) and len(animals) > 1 else None
        key = ("", subject or str(i + 1))
        found[key] = SkeletonSequence(
            joints[own], confidence, layout=layout, name=path.stem, subject=subject, fps=fps
        )
        frames[key] = [str(t) for t in range(own.start, own.stop)]
    if not found:
        raise FormatError(f"{path}: no point of any animal in any frame")
    if len(found) > 2:
        return [s.replace(name=f"{s.name}_{animal}") for (_, animal), s in found.items()]
    return list(joined_bodies(found, frames, "animal", path))
