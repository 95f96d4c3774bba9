"""Model selection on one Gram matrix: every fold, class and C without going back to the features."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from kerneton.data.arrays import index_like, is_torch, namespace_of
from kerneton.machine.gram import center_normalize_gram, filled, scatter_penalty
from kerneton.machine.solver import solve_gram


def one_vs_rest(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Signs of shape (n_classes, n), one row a class; a single row, that of class 1, for two classes.

    >>> one_vs_rest(np.array([0, 2, 1]), 3)
    array([[ 1., -1., -1.],
           [-1., -1.,  1.],
           [-1.,  1., -1.]])
    """
    rows = [1] if n_classes == 2 else range(n_classes)
    return np.array([np.where(codes == c, 1.0, -1.0) for c in rows])


def class_weights(
    codes: np.ndarray, n_classes: int, class_weight: Any = None, sample_weight: np.ndarray | None = None
) -> np.ndarray | None:
    """Factors of C, one row a one-against-rest problem, or None where all are 1.

    ``class_weight`` is None, "balanced" (``n / (n_classes n_c)``) or one number a class. As in liblinear, a class's
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


def penalised_machines(
    K: Any, codes: np.ndarray, Cs: Sequence[float], *, scatter: float, scaling: float = 1.0, **options: Any
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Duals (n_rows, n) and intercepts (n_rows,) for every C, of machines that pay for scatter within classes.

    ``codes`` are classes 0..k-1, all of them there; decision values of x are ``k_x · duals + intercept``, k_x its inner
    products with the n recordings of K. ``scaling`` is the square of the intercept's; options go to `solve_gram`.

    >>> ((duals, intercept),) = penalised_machines(np.diag([1.0, 1.0]), np.array([0, 1]), [10.0], scatter=0.0)
    >>> np.round(duals, 2), bool(abs(intercept[0]) < 1e-12)
    (array([[-0.95,  0.95]]), True)
    """
    penalty = scatter_penalty(K, codes, scatter)
    signs = one_vs_rest(codes, int(codes.max()) + 1)
    path = solve_gram(K @ penalty + scaling, signs, Cs, **options)
    return [(beta @ penalty.T, scaling * beta.sum(axis=1)) for beta in path.coef]


def fold_decisions(
    K: Any,
    codes: Any,
    folds: Iterable[tuple[Any, Any]],
    Cs: Sequence[float],
    *,
    center: bool = True,
    norm: bool = True,
    loss: str = "squared_hinge",
    intercept_scaling: float = 1.0,
    class_weight: Any = None,
    tol: float = 1e-4,
    max_iter: int = 1000,
) -> list[Any]:
    """Decision values of every fold's validation rows for every C, from one Gram matrix of raw features.

    ``codes`` are classes 0..k-1, ``folds`` pairs of positions (train, validation) as scikit-learn's splitters yield.
    Each fold is centred on its own training mean. The answer is one array (n_C, n_validation, k) a fold; a class
    without training rows gets -inf.

    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [0.1, 1.0], [1.0, 0.1]])
    >>> [D.argmax(-1).tolist() for D in fold_decisions(X @ X.T, [0, 1, 0, 1], [([0, 1], [2, 3])], [1.0, 10.0])]
    [[[0, 1], [0, 1]]]
    """
    K = K.double() if is_torch(K) else np.asarray(K, dtype=np.float64)
    xp = namespace_of(K)
    codes = np.asarray(codes)
    n_classes = int(codes.max()) + 1
    answers = []
    for train, valid in folds:
        present, inside = np.unique(codes[np.asarray(train)], return_inverse=True)
        K_train, K_valid = center_normalize_gram(K, train, valid, center=center, norm=norm)
        out = [filled((K_valid.shape[0], n_classes), -np.inf, like=K) for _ in Cs]
        if len(present) == 1:
            for decision in out:
                decision[:, present[0]] = 0.0
        else:
            beta = solve_gram(
                K_train + intercept_scaling**2,
                one_vs_rest(inside, len(present)),
                Cs,
                loss=loss,
                weights=class_weights(inside, len(present), class_weight),
                tol=tol,
                max_iter=max_iter,
            ).coef
            for decision, b in zip(out, beta, strict=True):
                f = (K_valid + intercept_scaling**2) @ b.T
                decision[:, index_like(present, K)] = xp.concatenate([-f, f], 1) if len(present) == 2 else f
        answers.append(xp.stack(out))
    return answers
