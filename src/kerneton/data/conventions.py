"""Units, axes and frame rates of many recordings: converted together, stored in a model, compared with later recordings."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kerneton.data.sequence import SkeletonSequence
from kerneton.data.units import (
    AXES,
    UNITS,
    Conventions,
    Conversion,
    check_convention,
    find_conventions,
    to_convention,
)


def settle(
    found: Sequence[tuple[str, bool, SkeletonSequence]],
    *,
    unit: str | None = None,
    up: str | None = None,
    flip: bool | None = None,
    kept: Conventions | None = None,
) -> tuple[list[SkeletonSequence], Conversion]:
    """Recordings of files in metres, y up and right-handed, and what was done.

    ``found`` are the format of the file, whether that format states unit or axis, and the recording. Recordings of
    formats that state unit or axis are not rotated or scaled. The others are converted together if their format,
    joints and size agree: a lying person must not be judged alone, and metres must not be scaled because there are
    millimetres in the same folder. ``kept`` is as in `to_convention`.
    """
    check_convention(unit, up)
    sequences = [sequence for *_, sequence in found]
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


def _kinds(found: Sequence[tuple[str, bool, SkeletonSequence]]) -> list[tuple[list[int], bool]]:
    """Positions of recordings of one kind, and whether their format states its convention."""
    groups: dict[tuple[str, bool, tuple[str, ...] | None], list[int]] = {}
    for i, (name, stated, sequence) in enumerate(found):
        joints = None if sequence.layout is None else sequence.layout.joints
        groups.setdefault((name, stated, joints), []).append(i)
    kinds = []
    for (_, stated, _), members in groups.items():
        if stated:
            kinds.append((members, True))
            continue
        units = {i: find_conventions([found[i][2]]).unit for i in members}
        common = Counter(unit for unit in units.values() if unit is not None).most_common(1)
        by_unit: dict[str | None, list[int]] = {}
        for i in members:
            by_unit.setdefault(units[i] or (common[0][0] if common else None), []).append(i)
        kinds += [(some, False) for some in by_unit.values()]
    return kinds


def recording_facts(recordings: Sequence[SkeletonSequence]) -> dict[str, Any]:
    """Frame rate, height and axes of training recordings, which a model stores to warn if others differ.

    >>> from kerneton.datasets.synthetic import make_actions
    >>> recording_facts(make_actions(["wave"], n_subjects=2, n_takes=1))
    {'fps': 30.0, 'height': 1.48..., 'up': 'y', 'mirrored': False}
    """
    rates = [r.fps for r in recordings if r.fps is not None]
    fps = float(np.median(rates)) if 2 * len(rates) > len(recordings) else None
    found = find_conventions(recordings)
    return {"fps": fps, "height": found.height, "up": found.up, "mirrored": found.mirrored}


def kept_conventions(facts: Mapping[str, Any]) -> Conventions | None:
    """Unit and axes of the training files of a model, as stored in its file; None if they are not known.

    >>> kept_conventions({"conversion": {"unit": "mm", "up": "z", "flip": True}})
    Conventions(unit='mm', up='z', mirrored=True, height=None)
    """
    done = facts.get("conversion")
    if not isinstance(done, dict) or done.get("stated") or done.get("mixed"):
        return None
    unit, up, flip = (done.get(name) for name in ("unit", "up", "flip"))
    if unit not in (None, *UNITS) or up not in (None, *AXES) or not isinstance(flip, bool):
        return None
    return Conventions(unit, up, flip)


def differences(facts: Mapping[str, Any], recordings: Sequence[SkeletonSequence]) -> list[str]:
    """How recordings differ from the training recordings of a model, by `recording_facts`; one sentence each.

    >>> from kerneton.datasets.synthetic import make_actions
    >>> data = make_actions(["wave"], n_subjects=2, n_takes=1)
    >>> differences(recording_facts(data), [data[0].replace(fps=None)])
    ['1 of 1 recordings has no frame rate, the training recordings have 30 frames per second: give it with --fps']
    """
    notes = []
    fps, height = (_known(facts.get(key)) for key in ("fps", "height"))
    total = f"of {len(recordings)} recordings"
    if fps:
        without = sum(r.fps is None for r in recordings)
        other = sum(r.fps is not None and not 0.5 <= r.fps / fps <= 2 for r in recordings)
        trained = f"the training recordings have {fps:g} frames per second"
        if without:
            verb = "has" if without == 1 else "have"
            notes.append(f"{without} {total} {verb} no frame rate, {trained}: give it with --fps")
        if other:
            notes.append(f"{other} {total} differ by more than a factor of two in frame rate: {trained}")
    if height:
        sizes = [find_conventions([r]).height for r in recordings]
        odd = sum(size is not None and not 0.5 <= size / height <= 2 for size in sizes)
        if odd:
            size = f"another size than the {height:.3g} m of training"
            notes.append(f"{odd} {total} show bodies of {size}: is the unit right (--unit)?")
    found = find_conventions(recordings)
    if facts.get("up") == "y" and found.up not in (None, "y"):
        notes.append(f"bodies are aligned with {found.up}, but with y in training: is the axis right (--up)?")
    elif facts.get("mirrored") is False and found.mirrored:
        notes.append("left and right seem exchanged, but not in training: are the axes left-handed (--flip)?")
    return notes


def _known(value: Any) -> float | None:
    """A positive number; None for anything else that a file may contain instead."""
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e9
    return float(value) if good else None
