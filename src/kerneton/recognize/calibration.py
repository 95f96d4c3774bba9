"""Probabilities that can be believed, and "none of these" for recordings unlike anything seen.

Both are learnt from decision values of people held out: the recogniser is refitted without them, fold by fold, on the
recordings of the others.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from kerneton.data.validation import check_in, check_sequences
from kerneton.exceptions import DataError, ParameterError
from kerneton.recognize.calibrated_svm import CalibratedSVM, calibrate, calibrated
from kerneton.recognize.fitted import plain_pipeline
from kerneton.recognize.held_out import take_apart
from kerneton.recognize.selection import subject_folds
from kerneton.report.reliability import Bin, expected_calibration_error, reliability

__all__ = [
    "Bin",
    "CalibratedRecognizer",
    "CalibratedSVM",
    "Prediction",
    "expected_calibration_error",
    "reliability",
]


@dataclass(frozen=True)
class Prediction:
    """What a calibrated recogniser says of one recording."""

    label: str
    probability: float
    unknown: bool  # nothing like it was seen: the label is the best of bad ones
    unknown_score: float
    probabilities: dict[str, float]  # of every label, the likeliest first


class CalibratedRecognizer(ClassifierMixin, BaseEstimator):
    """A recogniser with probabilities, and with "none of these" for recordings unlike anything seen.

    ``fit`` trains ``estimator`` on all recordings. Then it holds out the training subjects in turn, refits the
    machine without them (see `kerneton.recognize.held_out`), and learns from the decision values of those held out how sure
    to be. For "none of these" it leaves out classes besides, and learns how such recordings differ from others; the
    threshold is set so that ``false_alarm`` of the recordings of known classes, by people held out, are refused.

    Without subjects it holds out recordings, and will be too sure of itself with new people.

    Parameters
    ----------
    estimator : recogniser
        A pipeline as `make_recognizer` makes it, or a `KernelSearch`, which is not searched anew without the
        subjects held out.
    false_alarm : float in [0, 1)
        The share of recordings of known classes that may be refused.
    reject : bool
        Whether `predict` answers ``unknown_label`` for recordings above the threshold.
    unknown_label : str

    Attributes
    ----------
    recognizer_ : Pipeline
        Fitted on all recordings; its last step is a `CalibratedSVM`.
    held_out_ : dict of str to float
        What was found with the training subjects held out: "accuracy", "calibration_error" (on the very recordings
        that it was learnt from), "unknown_auc" (area under the ROC curve, classes left out), "n_folds".
    classes_ : ndarray

    Examples
    --------
    >>> from kerneton import make_actions, make_recognizer
    >>> data = make_actions(["wave", "clap", "bow"], n_subjects=3, n_takes=1)
    >>> model = CalibratedRecognizer(make_recognizer(kernel="sck"))
    >>> model.fit(data, data.labels, groups=data.subjects).predict_proba(data[:2]).shape
    (2, 3)
    >>> model.predictions(data[:1])[0].label
    'wave'
    """

    recognizer_: Pipeline
    classes_: np.ndarray
    held_out_: dict[str, float]

    def __init__(
        self,
        estimator: Any,
        *,
        false_alarm: float = 0.05,
        reject: bool = False,
        unknown_label: str = "unknown",
    ) -> None:
        self.estimator = estimator
        self.false_alarm = false_alarm
        self.reject = reject
        self.unknown_label = unknown_label

    def fit(self, X: Iterable[Any], y: Any, groups: Any = None) -> CalibratedRecognizer:
        """Train and calibrate; ``groups`` are the subjects, by default the recordings' own where all have one."""
        check_in("false_alarm", self.false_alarm, 0, 1, closed="left")
        sequences = check_sequences(X, allow_missing=True)
        y = np.asarray(y)
        if len(y) != len(sequences):
            raise DataError(f"{len(sequences)} recordings but {len(y)} labels")
        if groups is None and all(s.subject is not None for s in sequences):
            groups = [s.subject for s in sequences]
        model = clone(self.estimator)
        takes_groups = "groups" in inspect.signature(model.fit).parameters
        model.fit(sequences, y, **({"groups": groups} if takes_groups else {}))
        pipeline = plain_pipeline(model)
        classes, codes = np.unique(y, return_inverse=True)
        if self.reject and self.unknown_label in classes.astype(str).tolist():
            raise ParameterError(f"unknown_label={self.unknown_label!r} is the label of some recordings")
        folds = subject_folds(codes, groups)
        inner = getattr(model, "best_estimator_", model)
        branches, machine = take_apart(inner, pipeline, sequences, codes)
        people = np.arange(len(codes)).astype(str) if groups is None else np.asarray(groups).astype(str)
        svm = calibrated(pipeline[-1])
        self.held_out_ = calibrate(svm, branches, machine, codes, people, folds, self.false_alarm)
        self.classes_ = classes
        self.recognizer_ = Pipeline([*pipeline.steps[:-1], (pipeline.steps[-1][0], svm)])
        return self

    def predict(self, X: Iterable[Any]) -> np.ndarray:
        """Labels; with ``reject``, ``unknown_label`` for what is like none of them."""
        svm, features = self._features(X)
        labels = svm.predict(features)
        if not self.reject:
            return labels
        return np.where(svm.unknown_score(features) > svm.threshold_, self.unknown_label, labels.astype(str))

    def decision_function(self, X: Iterable[Any]) -> np.ndarray:
        """(n, n_classes), or (n,) for two classes."""
        svm, features = self._features(X)
        return svm.decision_function(features)

    def predict_proba(self, X: Iterable[Any]) -> np.ndarray:
        """(n, n_classes) in the order of ``classes_``; rows sum to one: they say which, given that it is one of them."""
        svm, features = self._features(X)
        return svm.predict_proba(features)

    def unknown_score(self, X: Iterable[Any]) -> np.ndarray:
        """(n,) in [0, 1], larger for recordings less like any class that was trained on."""
        svm, features = self._features(X)
        return svm.unknown_score(features)

    def is_unknown(self, X: Iterable[Any]) -> np.ndarray:
        """(n,) bool: whether the score of each recording is above the threshold."""
        svm, features = self._features(X)
        return svm.unknown_score(features) > svm.threshold_

    def predictions(self, X: Iterable[Any]) -> list[Prediction]:
        """Label, probability and doubt of each recording, its features computed once."""
        svm, features = self._features(X)
        proba, scores = svm.predict_proba(features), svm.unknown_score(features)
        names = [str(c) for c in svm.classes_]
        out = []
        for row, score in zip(proba, scores, strict=True):
            order = np.argsort(-row, kind="stable")
            ranked = {names[k]: float(row[k]) for k in order}
            best = names[order[0]]
            out.append(Prediction(best, ranked[best], bool(score > svm.threshold_), float(score), ranked))
        return out

    def _features(self, X: Iterable[Any]) -> tuple[CalibratedSVM, np.ndarray]:
        check_is_fitted(self, "recognizer_")
        return self.recognizer_[-1], self.recognizer_[:-1].transform(X)
