"""Probabilities that can be believed, and "none of these" for recordings unlike anything seen.

Both are learnt from decision values of people held out: the machine is refitted without them, fold by fold, from Gram
matrices. Two things are shared with the recordings held out, neither of which sees a label: the reference skeleton of
the preprocessing, and the scale of velocities. What a search chose is not chosen anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_softmax, softmax
from sklearn.base import BaseEstimator

from kerneton.exceptions import HeldOutError, ModelFileError
from kerneton.machine.arrays import gram
from kerneton.machine.folds import BlockGrams, Folds, held_out_scores
from kerneton.machine.solver import per_class
from kerneton.recognize.novelty import (
    class_groups,
    learn_threshold,
    learn_weights,
    likeness,
    novelty_features,
    rounds,
    usual_likeness,
)
from kerneton.report.intervals import expected_calibration_error, interval

if TYPE_CHECKING:
    from kerneton.data.progress import Progress

_SHARPEST = 50.0  # factor of decision values; what is this certain needs no more digits


class Calibration(BaseEstimator):
    """What a calibrated recogniser knows beside its machine.

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
    held_out_ : dict of str to float
        What was found with the training subjects held out: "accuracy", what remains of it when choices are made without the
        subjects who are tested ("accuracy_nested"), with its interval over subjects ("accuracy_low",
        "accuracy_high"); "calibration_error" (on the very recordings that it was learnt from), "unknown_auc" (area
        under the ROC curve, classes left out), "false_alarm" with its interval over subjects (what a threshold from the
        other subjects refuses of each), "n_folds".
    """

    sharpness_: float
    class_means_: np.ndarray
    usual_likeness_: np.ndarray
    unknown_weights_: np.ndarray
    threshold_: float
    held_out_: dict[str, float]

    def probabilities(self, decisions: np.ndarray) -> np.ndarray:
        """(n, n_classes), rows sum to one, of decision values as a machine gives them."""
        return softmax(self.sharpness_ * per_class(decisions).astype(np.float64), axis=1)

    def likeness(self, features: np.ndarray) -> np.ndarray:
        """(n, n_classes), inner products with the means of the classes."""
        return gram(features, self.class_means_)

    def unknown_score(self, decisions: np.ndarray, alike: np.ndarray) -> np.ndarray:
        """(n,) in [0, 1], larger for recordings less like any class; ``alike`` is their `likeness`."""
        found = novelty_features(per_class(decisions).astype(np.float64), alike, self.usual_likeness_)
        return expit(found @ self.unknown_weights_[:2] + self.unknown_weights_[2])

    def get_state(self) -> dict[str, Any]:
        """What was learnt, for a file."""
        return {name.rstrip("_"): getattr(self, name) for name in _LEARNT}

    def set_state(self, state: dict[str, Any]) -> None:
        """Become what ``get_state`` described; what does not fit is refused."""
        for name in _LEARNT:
            setattr(self, name, state[name.rstrip("_")])
        shapes = [np.shape(self.class_means_)[:1], np.shape(self.usual_likeness_)]
        if shapes[0] != shapes[1] or np.shape(self.unknown_weights_) != (3,):
            raise ModelFileError(f"class means and likenesses of shapes {shapes[0]} and {shapes[1]}")
        if not self.sharpness_ > 0 or not isinstance(self.threshold_, float):
            raise ModelFileError("a sharpness that is not positive, or no threshold")
        if not all(isinstance(value, (int, float)) for value in self.held_out_.values()):
            raise ModelFileError("accuracies that are not numbers")


_LEARNT = (
    *("sharpness_", "class_means_", "usual_likeness_", "unknown_weights_", "threshold_"),
    "held_out_",
)


@dataclass(frozen=True)
class Machines:
    """How to get from Gram matrices of branches to decision values: shares, C and penalty of what is averaged."""

    mixtures: Sequence[tuple[np.ndarray, float, float]]  # shares (n_branches,), C, penalty
    options: dict[str, Any]  # of `held_out_scores`

    def decide(self, inside: np.ndarray, across: np.ndarray, codes: np.ndarray, n_classes: int) -> np.ndarray:
        """Decision values (n_valid, n_classes) from Gram matrices (n_branches, ...); absent classes get -inf."""
        scores: Any = 0.0
        for shares, C, penalty in self.mixtures:
            (found,) = held_out_scores(
                np.tensordot(shares, inside, axes=1),
                np.tensordot(shares, across, axes=1),
                codes,
                n_classes,
                [C],
                penalty=penalty,
                **self.options,
            )
            scores = scores + found / len(self.mixtures)
        return scores


@dataclass(frozen=True)
class Held:
    """Training recordings as folds see them: Gram matrices per branch, classes, people, and the machines."""

    grams: Sequence[BlockGrams]
    machines: Machines
    codes: np.ndarray
    people: np.ndarray

    def out(self, train: np.ndarray, valid: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Decision values (n_valid, n_classes) and novelty features (n_valid, 2) of recordings that took no part."""
        codes, n_classes = self.codes[train], int(self.codes.max()) + 1
        if not len(valid) or len(np.unique(codes)) < 2:
            return None
        pairs = [grams.fold(self.codes, train, valid) for grams in self.grams]
        inside, across = (np.stack([pair[side] for pair in pairs]) for side in (0, 1))
        decisions = self.machines.decide(inside, across, codes, n_classes)
        total = inside.sum(axis=0)
        alike = likeness(across.sum(axis=0), total, codes, n_classes)
        usual = usual_likeness(total, codes, self.people[train], n_classes)
        return decisions, novelty_features(decisions, alike, usual)


@dataclass(frozen=True)
class HeldOut:
    """What folds found: of n recordings whose people were held out, and of m whose class was left out as well."""

    decisions: np.ndarray  # (n, n_classes)
    truth: np.ndarray  # (n,) classes
    people: np.ndarray  # (n,)
    known: np.ndarray  # (n, 2) novelty features
    unknown: np.ndarray  # (m, 2)


def hold_out(held: Held, folds: Folds, n_classes: int, progress: Progress | None = None) -> HeldOut:
    """Hold out the people of each fold in turn, and groups of classes besides."""
    codes = held.codes
    unseen_classes = []
    for fold, group in rounds(len(folds), class_groups(n_classes)):
        train, valid = folds[fold]
        unseen_classes.append((train[~np.isin(codes[train], group)], valid[np.isin(codes[valid], group)]))
    jobs = [*folds, *unseen_classes]
    answers = [held.out(*job) for job in (progress(jobs, desc="calibration") if progress else jobs)]
    decided, known, true, people = [], [], [], []
    for (train, valid), found in zip(folds, answers, strict=False):
        if found is not None:  # of a class that nobody else does, nothing can be learnt
            there = np.isin(codes[valid], codes[train])
            decided.append(found[0][there])
            known.append(found[1][there])
            true.append(codes[valid][there])
            people.append(held.people[valid][there])
    if not sum(map(len, true)):
        raise HeldOutError("no subject can be held out: every label has only one subject")
    unknown = [np.empty((0, 2)), *(found[1] for found in answers[len(folds) :] if found is not None)]
    return HeldOut(*map(np.concatenate, (decided, true, people, known, unknown)))


def calibrate(
    held: Held,
    means: np.ndarray,
    folds: Folds,
    false_alarm: float,
    optimism: Sequence[float] = (),
    progress: Progress | None = None,
) -> Calibration:
    """Learn sharpness, weights and threshold from held-out recordings.

    ``means`` (n_classes, n_features) are the classes' mean features; ``false_alarm`` of the recordings of known classes,
    by people held out, will be taken for unknown ones; ``optimism`` is the accuracy of each fold that the choice of the
    machines owes to having been made on the same people.
    """
    codes, n_classes = held.codes, len(means)
    found = hold_out(held, folds, n_classes, progress)
    truth, who = found.truth, found.people
    out = Calibration()
    out.sharpness_ = learn_sharpness(found.decisions, truth)
    out.unknown_weights_ = learn_weights(found.known, found.unknown)
    doubt, strange = (
        x @ out.unknown_weights_[:2] + out.unknown_weights_[2] for x in (found.known, found.unknown)
    )
    out.threshold_ = float(expit(learn_threshold(doubt, who, false_alarm)))
    refused = np.zeros(len(doubt), dtype=bool)  # by a threshold from the other people
    for person in np.unique(who) if len(np.unique(who)) < len(who) else ():
        mine = who == person
        if not mine.all():
            refused[mine] = doubt[mine] > learn_threshold(doubt[~mine], who[~mine], false_alarm)
    alarms = interval(refused, who)
    every = np.arange(len(codes))
    shown = progress(held.grams, desc="likeness") if progress else held.grams
    inside = sum(grams.fold(codes, every, every[:0])[0] for grams in shown)
    out.usual_likeness_ = usual_likeness(np.asarray(inside), codes, held.people, n_classes)
    length = np.linalg.norm(means, axis=1, keepdims=True)
    means = np.divide(means, length, out=np.zeros_like(means), where=length > 0)
    out.class_means_ = means.astype(np.float16).astype(
        means.dtype
    )  # fine enough; files hold it in half precision
    proba = softmax(out.sharpness_ * found.decisions, axis=1)
    right = found.decisions.argmax(axis=1) == truth
    honest = right.astype(float)
    for (_, valid), gained in zip(folds, optimism, strict=False):
        for person in np.unique(held.people[valid]) if gained else ():
            honest[who == person] = np.clip(right[who == person].mean() - gained, 0, 1)
    known_to = interval(honest, who)
    out.held_out_ = {
        "n_folds": len(folds),
        "accuracy": float(right.mean()),
        "accuracy_nested": float(honest.mean()),
        "accuracy_low": known_to.low,
        "accuracy_high": known_to.high,
        "calibration_error": expected_calibration_error(proba, truth, np.arange(n_classes)),
        "unknown_auc": _area(expit(doubt), expit(strange)),
        "false_alarm": float(refused.mean()),
        "false_alarm_low": alarms.low,
        "false_alarm_high": alarms.high,
    }
    return out


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


def _area(known: np.ndarray, unknown: np.ndarray) -> float:
    """The chance that an unknown recording scores higher than a known one; 0.5 without unknown ones."""
    if not len(unknown):
        return 0.5
    order = np.sort(known)
    below = np.searchsorted(order, unknown, side="left") + np.searchsorted(order, unknown, side="right")
    return float(below.mean() / (2 * len(order)))
