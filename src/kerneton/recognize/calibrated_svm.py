"""A linear machine that knows how sure it may be, and how it learns that from recordings held out."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_softmax, softmax
from sklearn.utils.validation import check_is_fitted

from kerneton.exceptions import DataError
from kerneton.machine.gram import gram
from kerneton.machine.svm import LinearSVM
from kerneton.recognize.held_out import Branch, Machine
from kerneton.recognize.selection import Folds
from kerneton.recognize.unknown import class_groups, learn_weights, likeness, rounds, signs, usual_likeness
from kerneton.report.reliability import expected_calibration_error

_SHARPEST = 50.0  # factor of decision values; what is this certain needs no more digits


class CalibratedSVM(LinearSVM):
    """A `LinearSVM` that also gives probabilities and knows what it does not know; made by `CalibratedRecognizer`.

    ::

        probability of class c = exp(s f_c) / Σ_k exp(s f_k),      f the decision values
        odds of none of these  = exp(a · [f_1st - f_2nd, x·m_1st - u_1st] + b),      m the means of the classes

    One factor s for all classes: probabilities never contradict the label.

    Attributes
    ----------
    sharpness_ : float
        s.
    class_means_ : ndarray of shape (n_classes, n_features)
        m, of unit length.
    usual_likeness_ : ndarray of shape (n_classes,)
        u, how alike recordings of people not seen before are to the mean of their class.
    unknown_weights_ : ndarray of shape (3,)
        a and b.
    threshold_ : float
        The score of unknown recordings above which a recording is taken for none of the classes.
    """

    sharpness_: float
    class_means_: np.ndarray
    usual_likeness_: np.ndarray
    unknown_weights_: np.ndarray
    threshold_: float

    def predict_proba(self, X: Any) -> np.ndarray:
        """(n, n_classes), rows sum to one."""
        return self.probabilities(self.decision_function(X))

    def unknown_score(self, X: Any) -> np.ndarray:
        """(n,) in [0, 1], larger for recordings less like any class; above ``threshold_`` none of them is believed."""
        check_is_fitted(self, "threshold_")
        X = self._check_features(X)
        return self.novelty(self.decision_function(X), gram(X, self.class_means_))

    def probabilities(self, decisions: np.ndarray) -> np.ndarray:
        """Of decision values, (n, n_classes) or (n,) as `decision_function` gives them."""
        check_is_fitted(self, "threshold_")
        return softmax(self.sharpness_ * _by_class(decisions).astype(np.float64), axis=1)

    def novelty(self, decisions: np.ndarray, alike: np.ndarray) -> np.ndarray:
        """`unknown_score` of decision values and of inner products with the means of the classes."""
        found = signs(_by_class(decisions).astype(np.float64), alike, self.usual_likeness_)
        return expit(found @ self.unknown_weights_[:2] + self.unknown_weights_[2])


def calibrated(svm: LinearSVM) -> CalibratedSVM:
    """The same machine, about to learn more."""
    out = CalibratedSVM(**svm.get_params())
    for name, value in vars(svm).items():
        if name.endswith("_"):
            setattr(out, name, value)
    return out


def calibrate(
    svm: CalibratedSVM,
    branches: list[Branch],
    machine: Machine,
    codes: np.ndarray,
    people: np.ndarray,
    folds: Folds,
    false_alarm: float,
) -> dict[str, float]:
    """Learn sharpness, weights and threshold from held-out recordings; returns what was found on the way."""
    n_classes = len(svm.classes_)
    decided, known, true = [], [], []
    for train, valid in folds:
        found = _held_out_signs(branches, machine, codes, people, train, valid, n_classes)
        if found is not None:
            there = np.isin(
                codes[valid], codes[train]
            )  # of a class that nobody else does, nothing can be learnt
            decided.append(found[0][there])
            known.append(found[1][there])
            true.append(codes[valid][there])
    if not sum(map(len, true)):
        raise DataError("no subject can be held out: every label is done by one subject only")
    decisions, truth = np.concatenate(decided), np.concatenate(true)
    svm.sharpness_ = learn_sharpness(decisions, truth)
    left_out = [np.empty((0, 2))]
    for fold, group in rounds(len(folds), class_groups(n_classes)):
        train, valid = folds[fold]
        strange = valid[np.isin(codes[valid], group)]
        rest = train[~np.isin(codes[train], group)]
        found = _held_out_signs(branches, machine, codes, people, rest, strange, n_classes)
        if found is not None:
            left_out.append(found[1])
    seen, unseen = np.concatenate(known), np.concatenate(left_out)
    svm.unknown_weights_ = learn_weights(seen, unseen)
    score = [expit(x @ svm.unknown_weights_[:2] + svm.unknown_weights_[2]) for x in (seen, unseen)]
    svm.threshold_ = float(np.quantile(score[0], 1 - false_alarm))
    every = np.arange(len(codes))
    inside = sum(branch.grams(codes, every, every[:0])[0] for branch in branches)
    svm.usual_likeness_ = usual_likeness(np.asarray(inside), codes, people, n_classes)
    means = np.hstack([branch.means for branch in branches])
    length = np.linalg.norm(means, axis=1, keepdims=True)
    means = np.divide(means, length, out=np.zeros_like(means), where=length > 0)
    svm.class_means_ = means.astype(np.float16).astype(
        means.dtype
    )  # as fine as it need be; files hold it in half
    proba = softmax(svm.sharpness_ * decisions, axis=1)
    return {
        "n_folds": len(folds),
        "accuracy": float((decisions.argmax(axis=1) == truth).mean()),
        "calibration_error": expected_calibration_error(proba, truth, np.arange(n_classes)),
        "unknown_auc": _area(*score),
    }


def _held_out_signs(
    branches: list[Branch],
    machine: Machine,
    codes: np.ndarray,
    people: np.ndarray,
    train: np.ndarray,
    valid: np.ndarray,
    n_classes: int,
) -> tuple[np.ndarray, np.ndarray] | None:
    """Decision values (n_valid, n_classes) and signs (n_valid, 2) of recordings that took no part."""
    if not len(valid) or len(np.unique(codes[train])) < 2:
        return None
    grams = [branch.grams(codes, train, valid) for branch in branches]
    inside, across = (np.stack([pair[side] for pair in grams]) for side in (0, 1))
    decisions = machine.decide(inside, across, codes[train], n_classes)
    total = inside.sum(axis=0)
    alike = likeness(across.sum(axis=0), total, codes[train], n_classes)
    usual = usual_likeness(total, codes[train], people[train], n_classes)
    return decisions, signs(decisions, alike, usual)


def learn_sharpness(decisions: np.ndarray, codes: np.ndarray) -> float:
    """The factor s that makes ``softmax(s f)`` most likely, (n, n_classes) decision values of held-out recordings.

    As in Platt's method the truth is softened, to a probability of (n+1)/(n+2): few recordings, even when all are
    right, make nobody sure.

    >>> f = np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, -1.0]])
    >>> round(learn_sharpness(f, np.array([0, 1, 1])), 2), round(learn_sharpness(f, np.array([0, 1, 0])), 2)
    (0.2, 0.69)
    """
    n, there = len(codes), np.isfinite(decisions)
    others = there.copy()
    others[np.arange(n), codes] = False
    count = np.maximum(others.sum(axis=1, keepdims=True), 1)
    target = np.where(others, 1 / (n + 2) / count, 0.0)
    target[np.arange(n), codes] = (n + 1) / (n + 2)

    def loss(log_s: float) -> float:
        log_p = log_softmax(np.exp(log_s) * decisions, axis=1)
        return -float((target * np.where(there, log_p, 0.0)).sum())

    return float(np.exp(minimize_scalar(loss, bounds=(-5.0, np.log(_SHARPEST)), method="bounded").x))


def _by_class(decisions: np.ndarray) -> np.ndarray:
    decisions = np.asarray(decisions)
    return np.stack([-decisions, decisions], axis=1) if decisions.ndim == 1 else decisions


def _area(known: np.ndarray, unknown: np.ndarray) -> float:
    """The chance that an unknown recording scores higher than a known one; 0.5 without unknown ones."""
    if not len(unknown):
        return 0.5
    order = np.sort(known)
    below = np.searchsorted(order, unknown, side="left") + np.searchsorted(order, unknown, side="right")
    return float(below.mean() / (2 * len(order)))
