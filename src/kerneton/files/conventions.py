"""Coordinates of many files in one convention: recordings of one kind are judged together."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from kerneton.data.sequence import SkeletonSequence
from kerneton.data.units import Conventions, Conversion, check_convention, find_conventions, to_convention
from kerneton.files import readers


def settle(
    found: Sequence[tuple[Path, SkeletonSequence]],
    *,
    unit: str | None = None,
    up: str | None = None,
    flip: bool | None = None,
    kept: Conventions | None = None,
) -> tuple[list[SkeletonSequence], Conversion]:
    """Recordings of files in metres, y up and right-handed, and what was done.

    Recordings of formats that state unit or axis are not turned or scaled. The others are taken together where their
    format, their joints and their size agree: a person who lies must not be judged alone, nor a folder in metres be
    scaled because there is one in millimetres beside it. ``kept`` is what a model keeps, as in `to_convention`.
    """
    check_convention(unit, up)
    sequences = [sequence for _, sequence in found]
    done = []
    for members, stated in _kinds(found):
        some = [sequences[i] for i in members]
        if stated:
            turned, _ = to_convention(some, flip=bool(flip), find=False)
            said = ("flip",) if flip is not None else ()
            conversion = Conversion("m", "y", bool(flip), said, count=len(some), stated=True)
        else:
            turned, conversion = to_convention(some, unit=unit, up=up, flip=flip, kept=kept)
        done.append(conversion)
        for i, sequence in zip(members, turned, strict=True):
            sequences[i] = sequence
    done.sort(key=lambda conversion: -conversion.count)
    alike = {(c.unit, c.up, c.flip) for c in done}
    if len(alike) == 1:
        return sequences, dataclasses.replace(done[0], count=len(sequences))
    return sequences, dataclasses.replace(done[0], others=tuple(done[1:]))


def _kinds(found: Sequence[tuple[Path, SkeletonSequence]]) -> list[tuple[list[int], bool]]:
    """Positions of recordings of one kind, and whether their format states its convention."""
    formats: dict[Path, str | None] = {}
    groups: dict[tuple[object, ...], list[int]] = {}
    for i, (path, sequence) in enumerate(found):
        if path not in formats:
            formats[path] = readers.detect_format(path)
        joints = None if sequence.layout is None else sequence.layout.joints
        groups.setdefault((formats[path], joints), []).append(i)
    kinds = []
    for (name, _), members in groups.items():
        stated = isinstance(name, str) and bool(getattr(readers.reader(name), "STATES", ()))
        if stated:
            kinds.append((members, True))
            continue
        units = {i: find_conventions([found[i][1]]).unit for i in members}
        common = Counter(unit for unit in units.values() if unit is not None).most_common(1)
        by_unit: dict[str | None, list[int]] = {}
        for i in members:
            by_unit.setdefault(units[i] or (common[0][0] if common else None), []).append(i)
        kinds += [(some, False) for some in by_unit.values()]
    return kinds
