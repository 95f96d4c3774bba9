"""Between features and classifier: centring on the training mean, unit length, weights of blocks.

The same is computed from features and, for folds, from Gram matrices alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from kerneton.data.validation import QuickParameters
from kerneton.exceptions import DataError, ModelFileError
from kerneton.machine.arrays import (
    check_tensor,
    index_like,
    is_torch,
    namespace_of,
    to_numpy,
)
from kerneton.machine.compiled import load
from kerneton.machine.threads import in_threads

_ROUNDING = 1e-13  # of a sum of squares: a smaller remainder is rounding, not variation
_QUIET = 0.01  # blocks that vary less than this share of the most varying one (such as a centred root) get weight zero

_CHUNK_BYTES = 2**22  # limit of temporary arrays, whatever the width of the features


def unit_rows(X: Any, floor: float = 0.0) -> Any:
    """Scale rows to unit L2 norm in place; rows not longer than ``floor`` become zero.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    xp = namespace_of(X)
    size = max(1, _CHUNK_BYTES // (8 * max(1, X.shape[1])))
    for i in range(0, len(X), size):
        rows = X[i : i + size]
        if is_torch(X):
            norms = xp.linalg.vector_norm(rows, dim=1, dtype=xp.float64)
        else:
            norms = np.sqrt(np.square(rows, dtype=np.float64).sum(1))
        inverse = xp.where(norms > floor, 1.0 / xp.where(norms > floor, norms, 1.0), 0.0)
        rows *= inverse.to(X.dtype)[:, None] if is_torch(X) else inverse.astype(X.dtype)[:, None]
    return X


def ready(estimator: Any, X: Any) -> bool:
    """A quick test whether X is an array that a fitted estimator can use without further checks."""
    plain = type(X) is np.ndarray and X.ndim == 2 and X.dtype in (np.float32, np.float64) and len(X) > 0
    if not plain or hasattr(estimator, "feature_names_in_") or X.shape[1] != estimator.n_features_in_:
        return False
    return bool(np.isfinite(X.sum()))


class CenterNormalize(QuickParameters, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Subtract the training mean, then scale each row to unit L2 norm.

    ``x ← (x - μ) / ‖x - μ‖``. Features of SCK and DCK are positive and nearly parallel; actions differ in their deviations from the mean. A
    row equal to the mean (up to rounding) becomes zero. Arrays (n, d) in float32 stay float32; torch tensors give torch tensors on the same
    device.

    Parameters
    ----------
    center : bool
        Subtract the mean of the rows seen in fit.
    norm : bool
        Scale rows to unit length.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [2.0, 1.0], [1.0, 1.0]])
    >>> CenterNormalize().fit_transform(X)
    array([[-1.,  0.],
           [ 1.,  0.],
           [ 0.,  0.]])
    """

    mean_: Any
    n_features_in_: int

    def __init__(self, *, center: bool = True, norm: bool = True) -> None:
        self.center = center
        self.norm = norm

    def fit(self, X: Any, y: Any = None) -> CenterNormalize:  # noqa: ARG002
        X = self._check(X, reset=True)
        if is_torch(X):
            torch = namespace_of(X)
            self.mean_ = X.mean(0, dtype=torch.float64).to(X.dtype) if self.center else None
        else:
            self.mean_ = X.mean(0, dtype=np.float64).astype(X.dtype) if self.center else None
        return self

    def transform(self, X: Any) -> Any:
        check_is_fitted(self)
        return self.apply(self._check(X, reset=False))

    def apply(self, X: Any, *, copy: bool = True) -> Any:
        """`transform` of features that were already checked; without ``copy`` they are overwritten."""
        floor = 0.0
        if self.mean_ is None:
            if copy:
                X = X.clone() if is_torch(X) else X.copy()
        else:
            mean = self.mean_
            if is_torch(X) != is_torch(mean):
                raise DataError(
                    f"CenterNormalize was fitted on {type(mean).__name__}, got {type(X).__name__}"
                )
            mean = mean.to(X) if is_torch(X) else mean.astype(X.dtype, copy=False)
            if copy:
                X = X - mean
            else:
                X -= mean
            # The mean has a rounding error of this size: shorter vectors have no direction.
            eps = namespace_of(X).finfo(X.dtype).eps
            floor = 4 * float(eps) * float(namespace_of(X).linalg.norm(mean))
        return unit_rows(X, floor) if self.norm else X

    def get_state(self) -> dict[str, Any]:
        """The learned values, for a file."""
        mean = None if self.mean_ is None else to_numpy(self.mean_)
        return {"mean": mean, "n_features": self.n_features_in_}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore what ``get_state`` returned; values that do not fit are refused."""
        self.n_features_in_, self.mean_ = state["n_features"], state["mean"]
        if self.center != (self.mean_ is not None) or not self.n_features_in_ > 0:
            raise ModelFileError("the mean is missing or unexpected")
        if self.center and np.shape(self.mean_) != (self.n_features_in_,):
            raise ModelFileError(f"a mean of shape {np.shape(self.mean_)} for {self.n_features_in_} features")

    def _check(self, X: Any, *, reset: bool) -> Any:
        if not is_torch(X):
            if not reset and ready(self, X):
                return X
            return validate_data(self, X, reset=reset, dtype=[np.float64, np.float32])
        check_tensor(X, least=1)
        if reset:
            self.n_features_in_ = X.shape[1]
        elif X.shape[1] != self.n_features_in_:
            raise DataError(f"CenterNormalize was fitted on {self.n_features_in_} features, got {X.shape[1]}")
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def center_normalize_gram(
    K: Any, train: Any, test: Any = None, *, center: bool = True, norm: bool = True
) -> tuple[Any, Any]:
    """Gram blocks (train, train) and (test, train) of features centred on the training mean and scaled to unit norm.

    With ``r_i = mean_{t ∈ train} K_it`` and ``g = mean_{t ∈ train} r_t``, the centred entry is
    ``K_ij - r_i - r_j + g``; the norms are the square roots of the centred diagonal. Features equal to the mean stay zero. The same as
    `kerneton.CenterNormalize` and then `gram`, without using the features.

    >>> X = np.array([[0.0, 1.0], [2.0, 1.0], [3.0, 1.0]])
    >>> center_normalize_gram(X @ X.T, train=[0, 1], test=[2])
    (array([[ 1., -1.],
           [-1.,  1.]]), array([[-1.,  1.]]))
    """
    xp = namespace_of(K)
    train = index_like(train, K)
    rows = [train] if test is None else [train, index_like(test, K)]
    raw = [K.diagonal()[i] for i in rows]
    compiled = None if is_torch(K) or K.dtype != np.float64 else load("kerneton.machine.compiled.grams")
    blocks = [_take(K, i, train) for i in rows] if compiled is None else []
    squares, means, grand = list(raw), [xp.zeros_like(r) for r in raw], 0.0
    if center:
        if compiled is None:
            means = [B.mean(1) for B in blocks]
        else:
            for i, mean in zip(rows, means, strict=True):
                compiled.row_means(K, i, train, mean)
        grand = means[0].mean()
        squares = [s - 2 * m + grand for s, m in zip(raw, means, strict=True)]
    scales = [xp.ones_like(s) for s in squares]
    if norm:
        # Smaller squares are rounding errors of K and g.
        noise = [1e-13 * (abs(r) + abs(grand)) for r in raw]
        scales = [
            xp.where(s > e, 1.0 / xp.sqrt(xp.where(s > e, s, xp.ones_like(s))), xp.zeros_like(s))
            for s, e in zip(squares, noise, strict=True)
        ]
    if compiled is None:
        parts = zip(blocks, means, scales, strict=True)
        blocks = [(B - (m[:, None] - grand) - means[0]) * k[:, None] * scales[0] for B, m, k in parts]
    else:
        for i, m, k in zip(rows, means, scales, strict=True):
            blocks.append(np.empty((len(i), len(train))))
            compiled.centred(K, i, train, means[0], scales[0], m - grand, k, blocks[-1])
    return blocks[0], blocks[1] if test is not None else None


def _take(K: Any, rows: Any, columns: Any) -> Any:
    return K[rows][:, columns] if is_torch(K) else K.take(rows, 0).take(columns, 1)


def alignment_weights(grams: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Weight of each block, (n_blocks,): the square of its alignment with the labels, mean 1.

    ::

        a_b = <H K_b H, H Y H> / (‖H K_b H‖ ‖H Y H‖),   w_b ∝ max(0, a_b)²,   Y_ij = [y_i = y_j],   H = I - 11ᵀ/n

    It is computed in one pass, without an optimiser.

    >>> useful, noise = np.kron(np.eye(2), np.ones((2, 2))), np.eye(4)
    >>> alignment_weights(np.stack([useful, noise]), np.array(["a", "a", "b", "b"])).round(2).tolist()
    [1.5, 0.5]
    """
    return fold_weights(grams, y, [np.arange(len(y))])[0]


def fold_weights(
    grams: np.ndarray, y: np.ndarray, trains: Sequence[np.ndarray], n_threads: int = 1
) -> np.ndarray:
    """The same for several training sides at once, (n_folds, n_blocks); ``trains`` are positions among the first n.

    Grams are (n_blocks, ≥ n, n), n the length of y. No block is copied per fold: with m the training side as zeros and ones, ``n_f = Σ m``,
    ``r = K m`` and ``Σ`` over i and j of that side,

        ‖H K H‖² = Σ K_ij² - 2/n_f Σ r_i² + (Σ r_i)²/n_f²,   <H K H, H Y H> = Σ K_ij Y_ij - 2/n_f Σ r_i c_i + Σ r_i Σ c_i/n_f²

    where c_i is the number of recordings on that side with the label of i.

    >>> K = np.kron(np.eye(2), np.ones((2, 2)))
    >>> fold_weights(np.stack([K, np.eye(4)]), np.array([0, 0, 1, 1]), [np.arange(4), np.arange(1, 4)]).round(2).tolist()
    [[1.5, 0.5], [1.33, 0.67]]
    """
    codes = np.unique(y, return_inverse=True)[1]
    sides = np.zeros((len(trains), len(y)))
    for side, train in zip(sides, trains, strict=True):
        side[train] = 1
    sizes = sides.sum(axis=1)
    same = (codes[:, None] == codes[None, :]).astype(float)
    counts = sides * (sides @ same)  # (n_folds, n): c_i of the training side, zero elsewhere
    labels = _norm_squared(counts.sum(axis=1), (counts**2).sum(axis=1), counts.sum(axis=1), sizes)
    compiled = load("kerneton.machine.compiled.grams")
    sums = np.empty((len(grams), len(trains), 6))

    def work(b: int) -> None:
        if compiled is None:
            sums[b] = _alignment_sums(grams[b], same, sides, counts)
        else:
            compiled.alignment_sums(grams[b], codes, sides, counts, sums[b])

    in_threads(work, range(len(grams)), n_threads)
    totals, squared, counted, squares, inner, traces = sums.transpose(2, 1, 0)  # each (n_folds, n_blocks)
    sizes = sizes[:, None]
    inner = inner - 2 / sizes * counted + totals * counts.sum(axis=1, keepdims=True) / sizes**2
    norms = np.sqrt(_norm_squared(squares, squared, totals, sizes) * labels[:, None])
    alignment = np.divide(inner, norms, out=np.zeros_like(inner), where=norms > 0)
    traces = traces - totals / sizes
    loud = traces >= _QUIET * traces.max(axis=1, keepdims=True)
    weights = np.where(loud, np.maximum(alignment, 0) ** 2, 0.0)
    total = weights.sum(axis=1, keepdims=True)
    # One label, or no variation: nothing to learn from.
    return np.divide(weights * weights.shape[1], total, out=np.ones_like(weights), where=total > 0)


def _alignment_sums(block: np.ndarray, same: np.ndarray, sides: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Σ r_i, Σ r_i², Σ r_i c_i, Σ K_ij², Σ K_ij Y_ij and Σ K_ii of each training side, (n_sides, 6)."""
    # Subtracting a constant does not change the result, and saves digits.
    K = block[: len(same)].astype(np.float64)
    K -= K.mean()
    rows = sides * (sides @ K.T)
    pairs = [(sides * (sides @ part.T)).sum(axis=1) for part in (K * K, K * same)]
    return np.stack(
        [rows.sum(1), (rows * rows).sum(1), (rows * counts).sum(1), *pairs, sides @ K.diagonal()], 1
    )


def _norm_squared(squares: Any, squared: Any, totals: Any, sizes: Any) -> np.ndarray:
    """‖H K H‖² of each side from Σ K_ij², Σ r_i² and Σ r_i."""
    centred = squares - 2 / sizes * squared + (totals / sizes) ** 2
    return np.where(centred > _ROUNDING * squares, centred, 0.0)
