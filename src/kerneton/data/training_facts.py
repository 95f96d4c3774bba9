"""What a model remembers of its training recordings, and how others differ from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kerneton.data.sequence import SkeletonSequence
from kerneton.data.units import AXES, UNITS, Conventions, find_conventions


def recording_facts(recordings: Sequence[SkeletonSequence]) -> dict[str, Any]:
    """What a model should remember of its training recordings, to tell when others differ: frame rate, height, axes.

    >>> from kerneton.datasets.synthetic import make_actions
    >>> recording_facts(make_actions(["wave"], n_subjects=2, n_takes=1))
    {'fps': 30.0, 'height': 1.48..., 'up': 'y', 'mirrored': False}
    """
    rates = [r.fps for r in recordings if r.fps is not None]
    fps = float(np.median(rates)) if 2 * len(rates) > len(recordings) else None
    found = find_conventions(recordings)
    return {"fps": fps, "height": found.height, "up": found.up, "mirrored": found.mirrored}


def kept_conventions(facts: Mapping[str, Any]) -> Conventions | None:
    """Unit and axes that the training files of a model had, by what its file keeps; None where it does not tell.

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
    """How recordings differ from those that a model was trained on, by `recording_facts`; a sentence each.

    >>> from kerneton.datasets.synthetic import make_actions
    >>> data = make_actions(["wave"], n_subjects=2, n_takes=1)
    >>> differences(recording_facts(data), [data[0].replace(fps=None)])
    ['1 of 1 recordings has no frame rate, the training recordings have 30 frames per second: give it with --fps']
    """
    told = []
    fps, height = (_known(facts.get(key)) for key in ("fps", "height"))
    total = f"of {len(recordings)} recordings"
    if fps:
        without = sum(r.fps is None for r in recordings)
        other = sum(r.fps is not None and not 0.5 <= r.fps / fps <= 2 for r in recordings)
        trained = f"the training recordings have {fps:g} frames per second"
        if without:
            verb = "has" if without == 1 else "have"
            told.append(f"{without} {total} {verb} no frame rate, {trained}: give it with --fps")
        if other:
            told.append(f"{other} {total} differ by more than a factor of two in frame rate: {trained}")
    if height:
        sizes = [find_conventions([r]).height for r in recordings]
        odd = sum(size is not None and not 0.5 <= size / height <= 2 for size in sizes)
        if odd:
            told.append(
                f"{odd} {total} show bodies of another size than the {height:.3g} m of training: is the unit right (--unit)?"
            )
    found = find_conventions(recordings)
    if facts.get("up") == "y" and found.up not in (None, "y"):
        told.append(f"bodies lie along {found.up}, in training they stand along y: is the axis right (--up)?")
    elif facts.get("mirrored") is False and found.mirrored:
        told.append(
            "left and right seem exchanged, in training they are not: are the axes left-handed (--flip)?"
        )
    return told


def _known(value: Any) -> float | None:
    """A positive number; None for anything else that a file may hold in its place."""
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e9
    return float(value) if good else None
