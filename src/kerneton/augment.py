"""Training on copies: recordings in a mirror and from other sides, beside the recordings themselves."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from kerneton._validation import check_choice, check_in, check_sequences
from kerneton.exceptions import DataError
from kerneton.poses import mirror, turn
from kerneton.sequence import SkeletonSequence


def copies(sequence: SkeletonSequence, *, mirrored: bool, angles: Sequence[float]) -> list[SkeletonSequence]:
    """A recording, its mirror image where asked for, and each of these turned about the vertical by every angle.

    >>> from kerneton import make_actions
    >>> recording = make_actions(["wave"], n_subjects=1, n_takes=1)[0]
    >>> len(copies(recording, mirrored=True, angles=(-30, 30)))
    6
    """
    sides = [sequence, mirror(sequence)] if mirrored else [sequence]
    turned = [s.replace(joints=turn(s.joints, float(np.deg2rad(angle)))) for angle in angles for s in sides]
    return sides + turned


class TrainOnCopies(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """A recogniser that also learns from mirrored and turned copies of the training recordings.

    Copies keep the label and the subject of their recording, so a search inside the recogniser holds them out
    together. Training takes as many times longer as there are copies; prediction is as before. Mirroring as a property of
    the kernel (``SCK(mirror=True)``) and turning every recording to the front (``Preprocess(facing="sequence")``) do
    the same without copies where the layout allows.

    Parameters
    ----------
    estimator : classifier of recordings
    mirror : bool
        Add the mirror image of every recording.
    angles : sequence of float
        Add every recording turned about the vertical by each of these, in degrees.

    Attributes
    ----------
    estimator_ : the fitted recogniser
    classes_ : ndarray

    Examples
    --------
    >>> from kerneton import make_actions, make_recognizer
    >>> data = make_actions(["wave", "clap"], n_subjects=3, n_takes=2)
    >>> model = TrainOnCopies(make_recognizer("paper", kernel="sck"), mirror=True, angles=(-45, 45))
    >>> model.fit(data, data.labels).predict(data[:1])
    array(['wave'], dtype='<U4')
    """

    def __init__(self, estimator: Any, *, mirror: bool = False, angles: Sequence[float] = ()) -> None:
        self.estimator = estimator
        self.mirror = mirror
        self.angles = angles

    def fit(self, X: Iterable[Any], y: Any, groups: Any = None) -> TrainOnCopies:
        """Train on the recordings and their copies; ``groups`` are the subjects, for recognisers that take them."""
        check_choice("mirror", self.mirror, [True, False])
        for angle in self.angles:
            check_in("angle", angle, -360, 360)
        sequences = check_sequences(X, allow_missing=True)
        for name, values in (("labels", y), ("subjects", groups)):
            if values is not None and len(values) != len(sequences):
                raise DataError(f"{len(sequences)} recordings but {len(values)} {name}")
        sets = [copies(s, mirrored=self.mirror, angles=self.angles) for s in sequences]
        n_each = len(sets[0])
        model = clone(self.estimator)
        subjects = {}
        if groups is not None and "groups" in inspect.signature(model.fit).parameters:
            subjects = {"groups": np.repeat(np.asarray(groups), n_each)}
        together = [s for same in sets for s in same]
        self.estimator_ = model.fit(together, np.repeat(np.asarray(y), n_each), **subjects)
        self.classes_ = self.estimator_.classes_
        return self

    def predict(self, X: Iterable[Any]) -> np.ndarray:
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict(X)

    @available_if(lambda self: hasattr(self.estimator, "decision_function"))
    def decision_function(self, X: Iterable[Any]) -> np.ndarray:
        check_is_fitted(self, "estimator_")
        return self.estimator_.decision_function(X)
