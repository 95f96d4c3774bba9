"""The probability that a candidate is right: logistic regression on scores of held-out people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

# C of the regression: strong, since there are few held-out people and many coefficients
_STRENGTH = 0.1
_SPREAD = 0.15  # added to the spread of log durations, which is too small for few examples


@dataclass
class Candidates:
    """Windows of one recording with the scores of both stages, the background last."""

    windows: np.ndarray  # (n, 2)
    light: np.ndarray  # (n, n_classes + 1) of the window scorer
    deep: np.ndarray  # (n, n_classes + 1) of the recogniser

    def labels(self) -> np.ndarray:
        """(n,) the class of each, without the background."""
        return (self.light + self.deep)[:, :-1].argmax(axis=1)


@dataclass
class Verifier:
    """Log odds that a candidate is an action with its label."""

    durations: np.ndarray  # (n_classes, 2) mean and spread of log lengths
    mean: np.ndarray
    scale: np.ndarray
    coef: np.ndarray
    intercept: float

    def log_odds(self, candidates: Candidates) -> np.ndarray:
        """(n,) from scores and durations."""
        evidence = _evidence(candidates, self.durations)
        return ((evidence - self.mean) / self.scale) @ self.coef + self.intercept

    def get_state(self) -> dict[str, Any]:
        """The learned values, for a file."""
        return {name: getattr(self, name) for name in Verifier.__dataclass_fields__}

    def fits(self, n_classes: int) -> bool:
        """Whether it was learned for this number of actions."""
        n = _PLAIN + 2 * n_classes
        shapes = [
            np.shape(v) for v in (self.durations, self.mean, self.scale, self.coef, self.intercept)
        ]
        return shapes == [(n_classes, 2), (n,), (n,), (n,), ()] and bool(
            (self.durations[:, 1] > 0).all()
        )


def fit_durations(lengths: Sequence[Sequence[int]]) -> np.ndarray:
    """(n_classes, 2) mean and spread of the logarithm of each class's lengths.

    >>> fit_durations([[10, 10], [5, 20]]).round(2).tolist()
    [[2.3, 0.15], [2.3, 0.84]]
    """
    logs = [np.log(np.asarray(n, dtype=float)) for n in lengths]
    return np.array([(n.mean(), n.std() + _SPREAD) for n in logs])


def fit_verifier(
    candidates: Sequence[Candidates], right: Sequence[np.ndarray], durations: np.ndarray
) -> Verifier:
    """Learn from candidates of held-out people, and which of them are right."""
    from sklearn.linear_model import LogisticRegression

    X = np.concatenate([_evidence(c, durations) for c in candidates])
    y = np.concatenate(right)
    mean, scale = X.mean(axis=0), X.std(axis=0) + 1e-6
    scale[_PLAIN:] = 1.0  # of indicators, so that a rare class does not dominate
    if len(np.unique(y)) < 2:  # nothing to learn from: use only the margins
        coef = np.zeros(X.shape[1])
        coef[[0, 3]], coef[[1, 4]] = 1.0, -1.0
        return Verifier(durations, np.zeros_like(mean), np.ones_like(scale), coef, 0.0)
    machine = LogisticRegression(C=_STRENGTH, max_iter=5000).fit((X - mean) / scale, y)
    return Verifier(durations, mean, scale, machine.coef_[0], float(machine.intercept_[0]))


_PLAIN = 7  # entries of evidence before those per class


def _evidence(c: Candidates, durations: np.ndarray) -> np.ndarray:
    """Per candidate: both stages' scores of its label, of the background and against the runner-up;
    how unusual its length is; and, per class, whether it is the label and by how much it beats the
    background."""
    n, k = len(c.windows), c.light.shape[1] - 1
    rows, label = np.arange(n), c.labels()
    columns = []
    for scores in (c.deep, c.light):
        own = scores[rows, label]
        others = scores[:, :k].copy()
        others[rows, label] = -np.inf
        rival = others.max(axis=1, initial=-1.0) if k > 1 else np.full(n, -1.0)
        columns += [own, scores[:, k], own - rival]
    length = np.log(np.maximum(c.windows[:, 1] - c.windows[:, 0], 1))
    columns.append(-(((length - durations[label, 0]) / durations[label, 1]) ** 2))
    chosen = np.eye(k)[label]
    margin = 0.5 * (c.deep[rows, label] - c.deep[:, k])
    return np.column_stack([*columns, chosen, chosen * margin[:, None]])
