"""Calibrated probabilities, and "none of these" for recordings unlike all training recordings.

Both are learned from decision values of held-out people: the classifier is fitted again without
them, fold by fold, from Gram matrices. Only the reference skeleton and the scale of velocities,
which do not depend on labels, also use the held-out recordings. The choices of a search are kept.

Recordings of unknown classes are detected by two features, learned by leaving classes out: the
margin between the best and the second decision value, and the likeness of the recording to the mean
of the predicted class, compared with the usual likeness of new people in that class. Both are
needed: a new action may be near a single class (large margin), or between several classes (ordinary
likeness).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_softmax, softmax
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression

from kerneton.exceptions import HeldOutError, ModelFileError
from kerneton.machine.folds import BlockGrams, Folds, held_out_scores
from kerneton.machine.products import gram
from kerneton.machine.solver import per_class
from kerneton.report.intervals import expected_calibration_error, interval

if TYPE_CHECKING:
    from kerneton.data.progress import Progress

_SHARPEST = 50.0  # limits of the factor of decision values
_PEOPLE, _OF_ONE = 3, 5  # people, and recordings of each, needed to know how people differ
# scores of a person that are averaged; decay length of the tail, in deviations
_LARGEST, _TAIL = 2, 0.3
_MARGIN = 0.4  # share of the requested rate, since new people may differ more than held-out ones
_NO_ALARM, _IN_THE_TAIL = 1e-9, 0.05  # smallest rate, and rate above which quantiles are used
_SHRINK = 3.0  # weight of the mean over classes, in recordings


class Calibration(BaseEstimator):
    """The calibration of a recogniser.

    ::

        probability of class c = exp(s f_c) / Σ_k exp(s f_k),      f the decision values
        odds of none of these  = exp(a · [f_1st - f_2nd, x·m_1st - u_1st] + b)
        m the means of the classes

    One factor s for all classes, so that the most probable label is the predicted one.

    Attributes
    ----------
    sharpness_ : float
        s.
    class_means_ : ndarray of shape (n_classes, n_features)
        m, of unit length.
    usual_likeness_ : ndarray of shape (n_classes,)
        u, the usual likeness of recordings of new people to the mean of their class.
    unknown_weights_ : ndarray of shape (3,)
        a and b.
    threshold_ : float
        The score above which a recording counts as none of the classes.
    held_out_ : dict of str to float
        Results on held-out training subjects: "accuracy"; "accuracy_nested", where choices are made
        without the tested subjects, with its interval over subjects ("accuracy_low",
        "accuracy_high"); "calibration_error" (on the recordings from which it was learned),
        "unknown_auc" (area under the ROC curve, with classes left out), "false_alarm" with its
        interval over subjects (the share of each subject that a threshold from the others refuses),
        "n_folds".

    Examples
    --------
    >>> from kerneton import make_actions, make_recognizer
    >>> data = make_actions(["wave", "bow"], n_subjects=4, n_takes=1)
    >>> model = make_recognizer(calibrate=True).fit(data, data.labels)
    >>> 0 < model.calibration_.threshold_ < 1
    True
    """

    sharpness_: float
    class_means_: np.ndarray
    usual_likeness_: np.ndarray
    unknown_weights_: np.ndarray
    threshold_: float
    held_out_: dict[str, float]

    def probabilities(self, decisions: np.ndarray) -> np.ndarray:
        """(n, n_classes) from decision values; rows sum to one."""
        return softmax(self.sharpness_ * per_class(decisions).astype(np.float64), axis=1)

    def likeness(self, features: np.ndarray) -> np.ndarray:
        """(n, n_classes), inner products with the means of the classes."""
        return gram(features, self.class_means_)

    def unknown_score(self, decisions: np.ndarray, alike: np.ndarray) -> np.ndarray:
        """(n,) in [0, 1], larger for recordings less like any class; ``alike`` is their
        `likeness`.
        """
        found = novelty_features(
            per_class(decisions).astype(np.float64), alike, self.usual_likeness_
        )
        return expit(found @ self.unknown_weights_[:2] + self.unknown_weights_[2])

    def get_state(self) -> dict[str, Any]:
        """The learned values, for a file."""
        return {name.rstrip("_"): getattr(self, name) for name in _LEARNT}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore what ``get_state`` returned; values that do not fit are refused."""
        for name in _LEARNT:
            setattr(self, name, state[name.rstrip("_")])
        shapes = [np.shape(self.class_means_)[:1], np.shape(self.usual_likeness_)]
        if shapes[0] != shapes[1] or np.shape(self.unknown_weights_) != (3,):
            raise ModelFileError(
                f"class means and likenesses of shapes {shapes[0]} and {shapes[1]}"
            )
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
    """The averaged classifiers, which turn Gram matrices of branches into decision values."""

    mixtures: Sequence[tuple[np.ndarray, float, float]]  # shares (n_branches,), C, penalty
    options: dict[str, Any]  # of `held_out_scores`

    def decide(
        self, inside: np.ndarray, across: np.ndarray, codes: np.ndarray, n_classes: int
    ) -> np.ndarray:
        """Decision values (n_valid, n_classes) from Gram matrices (n_branches, ...); absent classes
        get -inf.
        """
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
    """The training recordings of folds: Gram matrices per branch, classes, people, and the
    classifiers.
    """

    grams: Sequence[BlockGrams]
    machines: Machines
    codes: np.ndarray
    people: np.ndarray

    def out(self, train: np.ndarray, valid: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Decision values (n_valid, n_classes) and novelty features (n_valid, 2) of held-out
        recordings.
        """
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
    """Held-out results: of n recordings whose people were held out, and of m whose class was also
    left out.
    """

    decisions: np.ndarray  # (n, n_classes)
    truth: np.ndarray  # (n,) classes
    people: np.ndarray  # (n,)
    known: np.ndarray  # (n, 2) novelty features
    unknown: np.ndarray  # (m, 2)


def hold_out(held: Held, folds: Folds, n_classes: int, progress: Progress | None = None) -> HeldOut:
    """Hold out the people of each fold in turn, and also groups of classes."""
    codes = held.codes
    unseen_classes = []
    for fold, group in rounds(len(folds), class_groups(n_classes)):
        train, valid = folds[fold]
        unseen_classes.append(
            (train[~np.isin(codes[train], group)], valid[np.isin(codes[valid], group)])
        )
    jobs = [*folds, *unseen_classes]
    answers = [held.out(*job) for job in (progress(jobs, desc="calibration") if progress else jobs)]
    decided, known, true, people = [], [], [], []
    for (train, valid), found in zip(folds, answers, strict=False):
        if found is not None:  # a class that nobody else performs cannot be learned
            there = np.isin(codes[valid], codes[train])
            decided.append(found[0][there])
            known.append(found[1][there])
            true.append(codes[valid][there])
            people.append(held.people[valid][there])
    if not sum(map(len, true)):
        raise HeldOutError("no subject can be held out: every label has only one subject")
    unknown = [
        np.empty((0, 2)),
        *(found[1] for found in answers[len(folds) :] if found is not None),
    ]
    return HeldOut(*map(np.concatenate, (decided, true, people, known, unknown)))


def calibrate(
    held: Held,
    means: np.ndarray,
    folds: Folds,
    false_alarm: float,
    optimism: Sequence[float] = (),
    progress: Progress | None = None,
) -> Calibration:
    """Learn the factor s, weights and threshold from held-out recordings.

    ``means`` (n_classes, n_features) are the mean features of the classes; ``false_alarm`` is the
    share of recordings of known classes by new people that may count as unknown; ``optimism`` is
    the part of the accuracy of each fold that is due to choosing the classifiers on the same
    people.
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
    refused = np.zeros(len(doubt), dtype=bool)  # with a threshold from the other people
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
    )  # precise enough, and stored in half precision
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
    """The factor s that makes ``softmax(s f)`` most likely, (n, n_classes) decision values of
    held-out recordings.

    As in Platt's method, targets are (n+1)/(n+2) instead of 1: a few correct recordings do not make
    predictions certain.

    >>> f = np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, -1.0]])
    >>> (
    ...     round(learn_sharpness(f, np.array([0, 1, 1])), 2),
    ...     round(learn_sharpness(f, np.array([0, 1, 0])), 2),
    ... )
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

    return float(
        np.exp(minimize_scalar(loss, bounds=(-5.0, np.log(_SHARPEST)), method="bounded").x)
    )


def _area(known: np.ndarray, unknown: np.ndarray) -> float:
    """The probability that an unknown recording has a higher score than a known one; 0.5 without
    unknown ones.
    """
    if not len(unknown):
        return 0.5
    order = np.sort(known)
    below = np.searchsorted(order, unknown, side="left") + np.searchsorted(
        order, unknown, side="right"
    )
    return float(below.mean() / (2 * len(order)))


def likeness(
    across: np.ndarray, inside: np.ndarray, codes: np.ndarray, n_classes: int
) -> np.ndarray:
    """Inner products with the unit-length means of the classes, (n_valid, n_classes), from Gram
    matrices.

    ``inside`` is (n_train, n_train), ``across`` (n_valid, n_train), ``codes`` the classes of the
    training side; classes that are absent get -inf.

    >>> likeness(np.array([[0.6, 0.6]]), np.ones((2, 2)), np.array([0, 0]), 2).tolist()
    [[0.6, -inf]]
    """
    out = np.full((len(across), n_classes), -np.inf)
    for c in np.unique(codes):
        rows = np.flatnonzero(codes == c)
        length = np.sqrt(max(inside[np.ix_(rows, rows)].mean(), 0.0))
        out[:, c] = across[:, rows].mean(axis=1) / length if length > 0 else 0.0
    return out


def usual_likeness(
    inside: np.ndarray, codes: np.ndarray, subjects: np.ndarray, n_classes: int
) -> np.ndarray:
    """Likeness of a class's recordings to its mean over the *other* people, (n_classes,), shrunk
    towards the mean of all classes.

    If a class has only one person, its other recordings are used instead.

    >>> K = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> usual_likeness(K, np.array([0, 0]), np.array(["ann", "bob"]), 1).tolist()
    [0.5]
    """
    found: list[list[float]] = [[] for _ in range(n_classes)]
    for c in np.unique(codes):
        rows = np.flatnonzero(codes == c)
        people = subjects[rows]
        for i, row in enumerate(rows):
            others = rows[people != people[i]]
            if not len(others):
                others = np.delete(rows, i)
            if len(others):
                length = np.sqrt(max(inside[np.ix_(others, others)].mean(), 0.0))
                found[c].append(float(inside[row, others].mean() / length) if length > 0 else 0.0)
    everything = [value for values in found for value in values]
    overall = float(np.mean(everything)) if everything else 0.0
    return np.array(
        [(sum(values) + _SHRINK * overall) / (len(values) + _SHRINK) for values in found]
    )


def novelty_features(decisions: np.ndarray, alike: np.ndarray, usual: np.ndarray) -> np.ndarray:
    """Margin and relative likeness of each recording, (n, 2), both larger for known classes.

    >>> novelty_features(
    ...     np.array([[0.9, -0.6]]), np.array([[0.7, 0.1]]), np.array([0.5, 0.5])
    ... ).round(2).tolist()
    [[1.5, 0.2]]
    """
    best = decisions.argmax(axis=1)
    top = np.sort(decisions, axis=1)[:, -2:]
    rows = np.arange(len(decisions))
    return np.stack([top[:, 1] - top[:, 0], alike[rows, best] - usual[best]], axis=1)


def learn_weights(known: np.ndarray, unknown: np.ndarray) -> np.ndarray:
    """Weights of the two features and an offset, (3,): the log-odds that a recording belongs to no
    class.

    ``known`` and ``unknown`` are novelty features (n, 2) of held-out recordings whose class was or
    was not in the training; both sets have the same total weight. Without unknown ones (with two
    classes none can be left out), both features have the same weight, and the odds are even two
    standard deviations below the mean of the known.

    >>> learn_weights(np.array([[2.0, 0.1], [1.0, 0.3]]), np.array([[0.1, -0.2], [0.2, 0.0]])).shape
    (3,)
    """
    together = np.concatenate([known, unknown])
    mean, spread = together.mean(axis=0), together.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    if len(unknown):
        truth = np.repeat([0, 1], [len(known), len(unknown)])
        model = LogisticRegression(class_weight="balanced").fit((together - mean) / spread, truth)
        slope, offset = model.coef_[0], float(model.intercept_[0])
    else:
        slope, offset = np.array([-1.0, -1.0]), -4.0
    slope = slope / spread
    return np.append(slope, offset - slope @ mean)


def learn_threshold(scores: np.ndarray, people: np.ndarray, false_alarm: float) -> float:
    """The score that known actions of new people seldom exceed, from scores (n,) of held-out
    people.

    People differ mostly in their largest scores. With x_p the mean of the two largest of the n_p
    scores of a person, s the standard deviation within people and a the rate, the threshold is the
    mean over people of

        t_p = x_p - 0.3 s ln(0.4 a n_p)

    If the tail is exponential, one of n_p scores exceeds x_p; the second term extrapolates to the
    rate a. The factor 0.4 is a margin, since few people are held out and a new person may differ
    more. Both constants were chosen on other draws of people (docs/accuracy.md). Rates above 5 %
    are not in the tail, so the quantiles of each person are used there. If fewer than three people
    have five recordings, the quantile of all scores is used.

    >>> calm, odd = np.linspace(-2, 0, 20), np.linspace(-1, 1, 20)
    >>> round(
    ...     learn_threshold(
    ...         np.concatenate([calm, calm, odd]), np.repeat(["ann", "bob", "cid"], 20), 0.05
    ...     ),
    ...     2,
    ... )
    0.45
    """
    names, counts = np.unique(people, return_counts=True)
    names = names[counts >= _OF_ONE]
    if len(names) < _PEOPLE:
        return float(np.quantile(scores, 1 - false_alarm))
    own = [np.sort(scores[people == name]) for name in names]
    spread = _TAIL * np.sqrt(np.mean([x.var() for x in own]))
    rate = min(max(false_alarm, _NO_ALARM), _IN_THE_TAIL)
    reached = [x[-_LARGEST:].mean() - spread * np.log(_MARGIN * rate * len(x)) for x in own]
    beyond = [np.quantile(x, 1 - max(false_alarm, rate)) - np.quantile(x, 1 - rate) for x in own]
    return float(np.mean(reached) + np.mean(beyond))


def class_groups(n_classes: int, n_groups: int = 6) -> list[np.ndarray]:
    """Groups of classes to leave out together, each class in one group, so that at least two
    remain; no groups for two classes.

    >>> [group.tolist() for group in class_groups(3)]
    [[0], [1], [2]]
    """
    if n_classes < 3:
        return []
    n_groups = max(min(n_groups, n_classes), 2 if n_classes > 3 else 3)
    return [np.arange(start, n_classes, n_groups) for start in range(n_groups)]


def rounds(
    n_folds: int, groups: Sequence[np.ndarray], most: int = 4
) -> list[tuple[int, np.ndarray]]:
    """Pairs of a fold, whose people are held out, and a group of classes to leave out: every group
    in up to ``most`` folds.

    >>> [(fold, group.tolist()) for fold, group in rounds(2, class_groups(3), most=1)]
    [(0, [0]), (1, [1]), (0, [2])]
    """
    return [
        ((i + shift) % n_folds, group)
        for i, group in enumerate(groups)
        for shift in range(min(most, n_folds))
    ]
