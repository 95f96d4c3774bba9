"""Recordings that differ from the training: other units, axes and frame rates, and features centred
on another sensor's recordings.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kerneton.data.checks import check_sequences
from kerneton.data.mapping import adapted
from kerneton.data.sequence import Conventions, Conversion, SkeletonSequence
from kerneton.data.units import AXES, UNITS, find_conventions, turn_up
from kerneton.data.wording import many
from kerneton.exceptions import DataError
from kerneton.kernels.signals import FAST, SIGNALS
from kerneton.parallel.threads import one_blas_thread

if TYPE_CHECKING:
    from kerneton.recognize.recognizer import Recognizer

_MANY = 0.4  # of the bodies of a kind; fewer may be lying people


def adapt(model: Recognizer, X: Iterable[SkeletonSequence]) -> list[SkeletonSequence]:
    """Recordings with the joints of a recogniser's layout (`map_layout`) and its precision, and
    `paced`.
    """
    check_is_fitted(model)
    dtype = getattr(getattr(model.machine_, "coef_", None), "dtype", np.dtype(np.float64))
    return [paced(model, adapted(s, model.layout_, model.n_joints_in_, dtype)) for s in X]


def paced(model: Recognizer, sequence: SkeletonSequence) -> SkeletonSequence:
    """The recording with a frame rate at which it moves as fast as the training recordings, if
    rates cannot be compared.

    This is needed if the training recordings have a frame rate and this one has none, or the
    reverse: velocities are then in metres per second on one side and in metres per frame on the
    other. Each recording is treated separately.
    """
    if model.timed_ is None or model.timed_ == (sequence.fps is not None):
        return sequence
    for branch in model.branches_.values():
        scale = getattr(branch.kernel_, "scales_", {}).get("velocity", 1.0)
        if scale == 1.0 or branch.preprocess_ is None:
            continue
        (poses,) = branch.preprocess_.transform([sequence.replace(fps=None)])
        moved = np.abs(SIGNALS["velocity"](poses)).max(axis=(1, 2))
        speed = float(np.quantile(moved, FAST))
        return sequence.replace(fps=float(1 / (scale * speed))) if speed > 0 else sequence
    return sequence


def centred_on(model: Recognizer, X: Iterable[Any]) -> Recognizer:
    """A copy of a recogniser for another sensor: features are centred on these recordings, which
    need no labels.

    The difference between sensors is similar for all actions, and centring removes it. Pass adapted
    recordings (`Recognizer.adapt`) in which the actions are about as frequent as in the training
    recordings.

    >>> from kerneton import make_actions, make_recognizer
    >>> data = make_actions(["wave", "clap"], n_subjects=3, n_takes=1)
    >>> model = make_recognizer("paper", kernel="sck").fit(data, data.labels)
    >>> bool(
    ...     (centred_on(model, data).predict(data) == model.predict(data)).all()
    ... )  # the same recordings, the same mean
    True
    """
    check_is_fitted(model)
    sequences = check_sequences(X, allow_missing=True)
    if len(sequences) < 2:
        raise DataError(
            "features cannot be centred on one recording: give several, of several actions"
        )
    branches = {name: copy.copy(branch) for name, branch in model.branches_.items()}
    with one_blas_thread():
        for branch in branches.values():
            if getattr(branch.scale_, "mean_", None) is None:
                continue
            poses = (
                sequences if branch.preprocess_ is None else branch.preprocess_.transform(sequences)
            )
            features = branch.kernel_.transform(poses)
            branch.scale_ = copy.copy(branch.scale_)
            branch.scale_.mean_ = features.mean(axis=0, dtype=np.float64).astype(features.dtype)
    return model.with_learned(replace(model.learned_, branches=branches))


def kept_conventions(facts: Mapping[str, Any]) -> Conventions | None:
    """Unit and axes of the training files of a model, as stored in its file; None if they are not
    known.

    >>> kept_conventions({"conversion": {"unit": "mm", "up": "z", "flip": True}})
    Conventions(unit='mm', up='z', mirrored=True, height=None)
    """
    done = facts.get("conversion")
    if not isinstance(done, dict) or done.get("mixed"):
        return None
    unit, up, flip = (done.get(name) for name in ("unit", "up", "flip"))
    if done.get(
        "stated"
    ):  # for such files, keep what the user stated, and the axis if the files do not state it
        said, told = (
            names if isinstance(names := done.get(key), list) else [] for key in ("said", "told")
        )
        unit, flip = (
            value if name in said else None for name, value in (("unit", unit), ("flip", flip))
        )
        up = None if "up" in told else up
        good = (
            unit in (None, *UNITS)
            and up in (None, *AXES)
            and (unit or up or isinstance(flip, bool))
        )
        return (
            Conventions(unit, up, flip, stated=("unit", "up") if "up" in said else ("unit",))
            if good
            else None
        )
    if unit not in (None, *UNITS) or up not in (None, *AXES) or not isinstance(flip, bool):
        return None
    return Conventions(unit, up, flip)


def differences(
    facts: Mapping[str, Any], recordings: Sequence[SkeletonSequence], done: Conversion | None = None
) -> list[str]:
    """Differences between recordings and the training recordings that a model file describes, one
    sentence each.

    ``done`` is how the recordings were converted.

    >>> from kerneton.datasets.synthetic import make_actions
    >>> data = make_actions(["wave"], n_subjects=2, n_takes=1)
    >>> differences({"fps": 30.0, "height": 1.48}, [data[0].replace(fps=None)])
    ['1 of 1 recording has no frame rate, the training recordings have 30 frames per second: ...']
    """
    if not facts:
        return []
    notes = []
    fps, height = (_known(facts.get(key)) for key in ("fps", "height"))
    total = f"of {many(len(recordings), 'recording')}"
    if fps:
        without = sum(r.fps is None for r in recordings)
        other = sum(r.fps is not None and not 0.5 <= r.fps / fps <= 2 for r in recordings)
        trained = f"the training recordings have {fps:g} frames per second"
        if without:
            verb = "has" if without == 1 else "have"
            notes.append(f"{without} {total} {verb} no frame rate, {trained}: give it with fps=")
        if other:
            notes.append(
                f"{other} {total} differ by more than a factor of two in frame rate: {trained}"
            )
    shown = [find_conventions([r]) for r in recordings]
    if height:
        odd = sum(c.height is not None and not 0.5 <= c.height / height <= 2 for c in shown)
        if odd:
            size = f"another size than the {height:.3g} m of training"
            notes.append(f"{odd} {total} show bodies of {size}: is the unit right (unit=)?")
    done = done or Conversion()
    kinds = done.kinds or (range(len(recordings)),)
    for i, members in enumerate(kinds):
        kind = (done, *done.others)[i if done.others else 0]
        notes += _other_axes(facts, [shown[m] for m in members], kind, len(recordings))
    return notes


def _other_axes(
    facts: Mapping[str, Any], shown: Sequence[Conventions], done: Conversion, total: int
) -> list[str]:
    """Whether bodies in one kind of recordings lie although those in training stand, or have left
    and right exchanged.
    """
    lying = Counter(c.up for c in shown if c.up not in (None, "y")).most_common(1)
    up, count = lying[0] if lying else (None, 0)
    if (
        up is not None
        and facts.get("up") == "y"
        and count >= _MANY * sum(c.up is not None for c in shown)
    ):
        if "up" not in done.kept:
            return [
                f"bodies are aligned with {up}, but with y in training: is the axis right (up=)?"
            ]
        options = [f"up={axis_before(up, done.up or 'y')!r}"]
        if _agreed(c.mirrored for c in shown if c.up == up) and "flip" in done.kept:
            options.append(f"flip={not done.flip}")
        some = count < total
        who = f"{count} of {total} recordings: " if some else ""
        only = " to a command with only these" if some else ""
        return [
            f"{who}bodies lie, or have other axes than the training recordings, where {done.up} is up: "
            f"if so, give {' '.join(options)}{only}"
        ]
    exchanged = _agreed(c.mirrored for c in shown)
    now, other, option = (
        ("right-handed", "left-handed", "flip=False")
        if done.flip
        else ("left-handed", "right-handed", "flip=True")
    )
    if exchanged and facts.get("mirrored") is False:
        return [
            f"left and right seem exchanged, but not in training: are the axes {now} ({option})?"
        ]
    if exchanged and facts.get("mirrored", True) is None and "flip" in done.kept:
        known = (
            f"axes seem {now}; the training recordings, without nose and toes, do not show theirs"
        )
        return [f"{known}: if those are {other}, give {option}"]
    return []


def _agreed(votes: Iterable[bool | None]) -> bool:
    """Whether nine in ten recordings that show left and right have them exchanged."""
    clear = [vote for vote in votes if vote is not None]
    return bool(clear) and sum(clear) >= 0.9 * len(clear)


def axis_before(axis: str, up: str) -> str:
    """The axis that `turn_up` with the axis ``up`` turned into this one.

    >>> axis_before("y", "z"), axis_before("-z", "z")
    ('z', 'y')
    """
    vectors = {
        name: np.eye(3)["xyz".index(name[-1])] * (-1 if name[0] == "-" else 1) for name in AXES
    }
    return next(name for name in AXES if np.array_equal(turn_up(vectors[name], up), vectors[axis]))


def _known(value: Any) -> float | None:
    """A positive number; None for anything else that a file may contain instead."""
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e9
    return float(value) if good else None
