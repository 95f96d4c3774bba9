"""Recordings of another sensor than the training's: unknown frame rates, and features centred on the new recordings."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kerneton.data.mapping import adapted
from kerneton.data.sequence import SkeletonSequence
from kerneton.data.validation import check_sequences
from kerneton.exceptions import DataError
from kerneton.kernels.signals import FAST, SIGNALS
from kerneton.machine.threads import one_blas_thread

if TYPE_CHECKING:
    from kerneton.recognize.recognizer import Recognizer


def adapt(model: Recognizer, X: Iterable[SkeletonSequence]) -> list[SkeletonSequence]:
    """Recordings with the joints of a recogniser's layout (`map_layout`), in its precision, and `paced`."""
    check_is_fitted(model)
    dtype = getattr(getattr(model.machine_, "coef_", None), "dtype", np.dtype(np.float64))
    return [paced(model, adapted(s, model.layout_, model.n_joints_in_, dtype)) for s in X]


def paced(model: Recognizer, sequence: SkeletonSequence) -> SkeletonSequence:
    """The recording with a rate at which it is as fast as the training recordings, where rates cannot be compared.

    That is where the training recordings have a frame rate and this one has none, or the other way round: velocities are
    then metres a second on one side and metres a frame on the other. Each recording is looked at alone.
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
    """A copy of a recogniser for recordings of another sensor: features are centred on these, which need no labels.

    What sensors differ in is much alike for all actions, and centring takes it away. Give adapted recordings
    (`Recognizer.adapt`) that show the actions about as often as the training recordings do.

    >>> from kerneton import make_actions, make_recognizer
    >>> data = make_actions(["wave", "clap"], n_subjects=3, n_takes=1)
    >>> model = make_recognizer("paper", kernel="sck").fit(data, data.labels)
    >>> bool((centred_on(model, data).predict(data) == model.predict(data)).all())  # the same recordings, the same mean
    True
    """
    check_is_fitted(model)
    sequences = check_sequences(X, allow_missing=True)
    if len(sequences) < 2:
        raise DataError("features cannot be centred on one recording: give several, of several actions")
    out = copy.copy(model)
    out.branches_ = {name: copy.copy(branch) for name, branch in model.branches_.items()}
    with one_blas_thread():
        for branch in out.branches_.values():
            if getattr(branch.scale_, "mean_", None) is None:
                continue
            poses = sequences if branch.preprocess_ is None else branch.preprocess_.transform(sequences)
            features = branch.kernel_.transform(poses)
            branch.scale_ = copy.copy(branch.scale_)
            branch.scale_.mean_ = features.mean(axis=0, dtype=np.float64).astype(features.dtype)
    return out
