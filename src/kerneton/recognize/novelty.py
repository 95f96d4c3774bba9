"""None of these: how a recording that belongs to no known class gives itself away, learnt by leaving classes out.

Two features are looked at: the margin between the best and the second decision value, and how alike the recording is to
the mean of the class it is taken for, compared with what is usual in that class for people not yet seen. Neither is
enough: a new action may lie beside one class alone (large margin), or amid others (ordinary likeness).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.linear_model import LogisticRegression

_PEOPLE, _OF_ONE = 3, 5  # fewer people, or fewer recordings of one, say nothing about how people differ
_LARGEST, _TAIL = (
    2,
    0.3,
)  # scores of a person that are averaged; deviations within people by which scores fall off by a factor e
_MARGIN = 0.4  # of the rate that is asked for, since a new person may be less like those who were held out
_NO_ALARM, _IN_THE_TAIL = 1e-9, 0.05  # rates below which none is meant, and above which quantiles are known
_SHRINK = 3.0  # recordings' worth of trust in the mean over classes


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
    """How alike a class's recordings are to its mean over the *other* people, (n_classes,), shrunk to the mean of all.

    Where a class has one person only, its other recordings take their place.

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
    """Margin and relative likeness of each recording, (n, 2), both larger for what is known.

    >>> novelty_features(np.array([[0.9, -0.6]]), np.array([[0.7, 0.1]]), np.array([0.5, 0.5])).round(2).tolist()
    [[1.5, 0.2]]
    """
    best = decisions.argmax(axis=1)
    top = np.sort(decisions, axis=1)[:, -2:]
    rows = np.arange(len(decisions))
    return np.stack([top[:, 1] - top[:, 0], alike[rows, best] - usual[best]], axis=1)


def learn_weights(known: np.ndarray, unknown: np.ndarray) -> np.ndarray:
    """Weights of the two features and an offset, (3,): the log-odds that a recording belongs to no class.

    ``known`` and ``unknown`` are novelty features (n, 2) of held-out recordings whose class was in the training and was not;
    both count the same, whatever their numbers. Without any unknown (two classes: there is none to leave out), both
    features weigh the same and the odds are even two standard deviations below the mean of the known.

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
    """The score that known actions of people not yet seen seldom pass, from scores (n,) of people held out.

    People differ, and what differs most is how far the largest scores of each reach. With x_p the mean of the two largest of n_p
    scores of a person, s the standard deviation within people and a the rate, it is the mean over people of

        t_p = x_p - 0.3 s ln(0.4 a n_p)

    With an exponential tail one of n scores passes x_p; the second term goes from there to the rate a. Few people are held out, and
    the next one may be less like them: therefore 0.4. Both constants were chosen on other draws of people (docs/accuracy.md).
    Rates above 5 % are no longer in the tail: beyond it the quantiles of each person are followed. Where fewer than three people
    have five recordings, the quantile of all is all there is.

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
    """Classes to leave out together, each class in one group, leaving two classes at least; none of two classes.

    >>> [group.tolist() for group in class_groups(3)]
    [[0], [1], [2]]
    """
    if n_classes < 3:
        return []
    n_groups = max(min(n_groups, n_classes), 2 if n_classes > 3 else 3)
    return [np.arange(start, n_classes, n_groups) for start in range(n_groups)]


def rounds(n_folds: int, groups: Sequence[np.ndarray], most: int = 4) -> list[tuple[int, np.ndarray]]:
    """Which fold holds out its people while which classes are left out: every group in up to ``most`` folds.

    >>> [(fold, group.tolist()) for fold, group in rounds(2, class_groups(3), most=1)]
    [(0, [0]), (1, [1]), (0, [2])]
    """
    return [
        ((i + shift) % n_folds, group)
        for i, group in enumerate(groups)
        for shift in range(min(most, n_folds))
    ]
