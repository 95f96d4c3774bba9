"""One class against the rest: signs to train with, weights of classes, and the one rule for two classes.

Two classes share one machine. Its decision value speaks for the second class where it is positive, and its negative is
the decision value of the first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kerneton.data.arrays import namespace_of, to_numpy


def one_vs_rest(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Signs of shape (n_classes, n), one row per class; a single row, that of class 1, for two classes.

    >>> one_vs_rest(np.array([0, 2, 1]), 3)
    array([[ 1., -1., -1.],
           [-1., -1.,  1.],
           [-1.,  1., -1.]])
    """
    rows = [1] if n_classes == 2 else range(n_classes)
    return np.array([np.where(codes == c, 1.0, -1.0) for c in rows])


def per_class(scores: Any) -> Any:
    """Decision values with a column per class, (n, k), from those of a machine: (n, k), or (n,) or (n, 1) for two.

    >>> per_class(np.array([0.5, -2.0])).tolist()
    [[-0.5, 0.5], [2.0, -2.0]]
    """
    if scores.ndim == 2 and scores.shape[1] > 1:
        return scores
    scores = scores.reshape(-1)
    return namespace_of(scores).stack([-scores, scores], 1)


def chosen_codes(scores: Any) -> np.ndarray:
    """The class of the largest decision value, (n,), from what `per_class` takes; ties go to the first.

    >>> chosen_codes(np.array([0.5, 0.0])).tolist()
    [1, 0]
    """
    return to_numpy(per_class(scores)).argmax(axis=1)


def class_weights(
    codes: np.ndarray, n_classes: int, class_weight: Any = None, sample_weight: np.ndarray | None = None
) -> np.ndarray | None:
    """Factors of C, one row per one-against-rest problem, or None where all are 1.

    ``class_weight`` is None, "balanced" (``n / (n_classes n_c)``) or one number per class. As in liblinear, a class's
    weight counts for its own examples in its own problem; two classes share one problem and both weights count.

    >>> class_weights(np.array([0, 0, 1]), 2, "balanced")
    array([[0.75, 0.75, 1.5 ]])
    """
    if class_weight is None and sample_weight is None:
        return None
    sample_weight = np.ones(len(codes)) if sample_weight is None else sample_weight
    if class_weight is None:
        factors = np.ones(n_classes)
    elif isinstance(class_weight, str):
        counts = np.bincount(codes, weights=sample_weight, minlength=n_classes)
        factors = sample_weight.sum() / (n_classes * np.where(counts > 0, counts, 1.0))
    else:
        factors = np.asarray(class_weight, dtype=float)
    if n_classes == 2:
        return (factors[codes] * sample_weight)[None]
    return np.array([np.where(codes == c, factors[c], 1.0) * sample_weight for c in range(n_classes)])
