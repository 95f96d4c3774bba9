""" "None of these": detecting recordings of unknown classes, learned by leaving classes out.

Two features are used: the margin between the best and the second decision value, and the likeness of the recording to the mean of the
predicted class, compared with the usual likeness of new people in that class. Both are needed: a new action may be near a single class
(large margin), or between several classes (ordinary likeness).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.linear_model import LogisticRegression

_PEOPLE, _OF_ONE = 3, 5  # people, and recordings of each, needed to know how people differ
_LARGEST, _TAIL = 2, 0.3  # scores of a person that are averaged; decay length of the tail, in deviations
_MARGIN = 0.4  # share of the requested rate, since new people may differ more than held-out ones
_NO_ALARM, _IN_THE_TAIL = 1e-9, 0.05  # smallest rate, and rate above which quantiles are used
_SHRINK = 3.0  # weight of the mean over classes, in recordings


def likeness(across: np.ndarray, inside: np.ndarray, codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Inner products with the unit-length means of the classes, (n_valid, n_classes), from Gram matrices.

    ``inside`` is (n_train, n_train), ``across`` (n_valid, n_train), ``codes`` the classes of the training side;
    classes that are absent get -inf.

    >>> likeness(np.array([[0.6, 0.6]]), np.ones((2, 2)), np.array([0, 0]), 2).tolist()
    [[0.6, -inf]]
    """
    out = np.full((len(across), n_classes), -np.inf)
    for c in np.unique(codes):
        rows = np.flatnonzero(codes == c)
        length = np.sqrt(max(inside[np.ix_(rows, rows)].mean(), 0.0))
        out[:, c] = across[:, rows].mean(axis=1) / length if length > 0 else 0.0
    return out


def usual_likeness(inside: np.ndarray, codes: np.ndarray, subjects: np.ndarray, n_classes: int) -> np.ndarray:
    """Likeness of a class's recordings to its mean over the *other* people, (n_classes,), shrunk towards the mean of all classes.

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
    return np.array([(sum(values) + _SHRINK * overall) / (len(values) + _SHRINK) for values in found])


def novelty_features(decisions: np.ndarray, alike: np.ndarray, usual: np.ndarray) -> np.ndarray:
    """Margin and relative likeness of each recording, (n, 2), both larger for known classes.

    >>> novelty_features(np.array([[0.9, -0.6]]), np.array([[0.7, 0.1]]), np.array([0.5, 0.5])).round(2).tolist()
    [[1.5, 0.2]]
    """
    best = decisions.argmax(axis=1)
    top = np.sort(decisions, axis=1)[:, -2:]
    rows = np.arange(len(decisions))
    return np.stack([top[:, 1] - top[:, 0], alike[rows, best] - usual[best]], axis=1)


def learn_weights(known: np.ndarray, unknown: np.ndarray) -> np.ndarray:
    """Weights of the two features and an offset, (3,): the log-odds that a recording belongs to no class.

    ``known`` and ``unknown`` are novelty features (n, 2) of held-out recordings whose class was or was not in the training; both sets have
    the same total weight. Without unknown ones (with two classes none can be left out), both features have the same weight, and the odds
    are even two standard deviations below the mean of the known.

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
    """The score that known actions of new people seldom exceed, from scores (n,) of held-out people.

    People differ mostly in their largest scores. With x_p the mean of the two largest of the n_p scores of a person, s the standard
    deviation within people and a the rate, the threshold is the mean over people of

        t_p = x_p - 0.3 s ln(0.4 a n_p)

    If the tail is exponential, one of n_p scores exceeds x_p; the second term extrapolates to the rate a. The factor 0.4 is a margin, since
    few people are held out and a new person may differ more. Both constants were chosen on other draws of people (docs/accuracy.md). Rates
    above 5 % are not in the tail, so the quantiles of each person are used there. If fewer than three people have five recordings, the
    quantile of all scores is used.

    >>> calm, odd = np.linspace(-2, 0, 20), np.linspace(-1, 1, 20)
    >>> round(learn_threshold(np.concatenate([calm, calm, odd]), np.repeat(["ann", "bob", "cid"], 20), 0.05), 2)
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
    """Groups of classes to leave out together, each class in one group, so that at least two remain; no groups for two classes.

    >>> [group.tolist() for group in class_groups(3)]
    [[0], [1], [2]]
    """
    if n_classes < 3:
        return []
    n_groups = max(min(n_groups, n_classes), 2 if n_classes > 3 else 3)
    return [np.arange(start, n_classes, n_groups) for start in range(n_groups)]


def rounds(n_folds: int, groups: Sequence[np.ndarray], most: int = 4) -> list[tuple[int, np.ndarray]]:
    """Pairs of a fold, whose people are held out, and a group of classes to leave out: every group in up to ``most`` folds.

    >>> [(fold, group.tolist()) for fold, group in rounds(2, class_groups(3), most=1)]
    [(0, [0]), (1, [1]), (0, [2])]
    """
    return [
        ((i + shift) % n_folds, group)
        for i, group in enumerate(groups)
        for shift in range(min(most, n_folds))
    ]
