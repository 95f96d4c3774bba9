"""Between features and classifier: centring on the training mean, unit length, weights of blocks.

The same is computed from features and, for folds, from Gram matrices alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from kerneton.core.grams import alignment_sums, center_normalize
from kerneton.data.parameters import QuickParameters
from kerneton.exceptions import ModelFileError

_ROUNDING = 1e-13  # of a sum of squares: a smaller remainder is rounding, not variation
# blocks that vary less than this share of the most varying one (such as a centred root) get weight
# zero
_QUIET = 0.01

_CHUNK_BYTES = 2**22  # limit of temporary arrays, whatever the width of the features


def unit_rows(X: np.ndarray, floor: float = 0.0, chunk_bytes: int = _CHUNK_BYTES) -> np.ndarray:
    """Scale rows to unit L2 norm in place; rows not longer than ``floor`` become zero.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    size = max(1, chunk_bytes // (8 * max(1, X.shape[1])))
    for i in range(0, len(X), size):
        rows = X[i : i + size]
        norms = np.sqrt(np.square(rows, dtype=np.float64).sum(axis=1))
        inverse = np.where(norms > floor, 1.0 / np.where(norms > floor, norms, 1.0), 0.0)
        rows *= inverse.astype(X.dtype)[:, None]
    return X


def ready(estimator: Any, X: Any) -> bool:
    """A quick test whether X is an array that a fitted estimator can use without further checks."""
    plain = (
        type(X) is np.ndarray and X.ndim == 2 and X.dtype in (np.float32, np.float64) and len(X) > 0
    )
    if (
        not plain
        or hasattr(estimator, "feature_names_in_")
        or X.shape[1] != estimator.n_features_in_
    ):
        return False
    return bool(np.isfinite(X.sum()))


class CenterNormalize(QuickParameters, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Subtract the training mean, then scale each row to unit L2 norm.

    ``x ← (x - μ) / ‖x - μ‖``. Features of SCK and DCK are positive and nearly parallel; actions
    differ in their deviations from the mean. A row equal to the mean (up to rounding) becomes zero.
    Arrays (n, d) in float32 stay float32.

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

    mean_: np.ndarray | None
    n_features_in_: int

    def __init__(self, *, center: bool = True, norm: bool = True) -> None:
        self.center = center
        self.norm = norm

    def fit(self, X: Any, y: Any = None) -> CenterNormalize:  # noqa: ARG002
        X = self._check(X, reset=True)
        self.mean_ = X.mean(axis=0, dtype=np.float64).astype(X.dtype) if self.center else None
        return self

    def transform(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return self.apply(self._check(X, reset=False))

    def apply(self, X: np.ndarray, *, copy: bool = True) -> np.ndarray:
        """`transform` of features that were already checked; without ``copy`` they are
        overwritten.
        """
        if self.mean_ is None:
            X, floor = X.copy() if copy else X, 0.0
        else:
            mean = self.mean_.astype(X.dtype, copy=False)
            X = X - mean if copy else np.subtract(X, mean, out=X)
            # The mean has a rounding error of this size: shorter vectors have no direction.
            floor = 4 * float(np.finfo(X.dtype).eps) * float(np.linalg.norm(mean))
        return unit_rows(X, floor) if self.norm else X

    def get_state(self) -> dict[str, Any]:
        """The learned values, for a file."""
        return {"mean": self.mean_, "n_features": self.n_features_in_}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore what ``get_state`` returned; values that do not fit are refused."""
        self.n_features_in_, self.mean_ = state["n_features"], state["mean"]
        if self.center != (self.mean_ is not None) or not self.n_features_in_ > 0:
            raise ModelFileError("the mean is missing or unexpected")
        if self.center and np.shape(self.mean_) != (self.n_features_in_,):
            raise ModelFileError(
                f"a mean of shape {np.shape(self.mean_)} for {self.n_features_in_} features"
            )

    def _check(self, X: Any, *, reset: bool) -> np.ndarray:
        if not reset and ready(self, X):
            return X
        return validate_data(self, X, reset=reset, dtype=[np.float64, np.float32])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def center_normalize_gram(
    K: np.ndarray, train: Any, test: Any = None, *, center: bool = True, norm: bool = True
) -> tuple[np.ndarray, Any]:
    """Gram blocks (train, train) and (test, train) of features centred on the training mean and
    scaled to unit norm.

    With ``r_i = mean_{t ∈ train} K_it`` and ``g = mean_{t ∈ train} r_t``, the centred entry is
    ``K_ij - r_i - r_j + g``; the norms are the square roots of the centred diagonal. Features equal
    to the mean stay zero. The same as `kerneton.CenterNormalize` and then `gram`, without using the
    features.

    >>> X = np.array([[0.0, 1.0], [2.0, 1.0], [3.0, 1.0]])
    >>> center_normalize_gram(X @ X.T, train=[0, 1], test=[2])
    (array([[ 1., -1.],
           [-1.,  1.]]), array([[-1.,  1.]]))
    """
    K, train = np.asarray(K, np.float64), np.asarray(train, np.int64)
    others = np.zeros(0, np.int64) if test is None else np.asarray(test, np.int64)
    found = center_normalize(K, train, others, center=center, norm=norm)
    return found[: len(train)], None if test is None else found[len(train) :]


def alignment_weights(grams: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Weight of each block, (n_blocks,): the square of its alignment with the labels, mean 1.

    ::

        a_b = <H K_b H, H Y H> / (‖H K_b H‖ ‖H Y H‖),   w_b ∝ max(0, a_b)²
        Y_ij = [y_i = y_j],   H = I - 11ᵀ/n

    It is computed in one pass, without an optimiser.

    >>> useful, noise = np.kron(np.eye(2), np.ones((2, 2))), np.eye(4)
    >>> alignment_weights(np.stack([useful, noise]), np.array(["a", "a", "b", "b"])).round(
    ...     2
    ... ).tolist()
    [1.5, 0.5]
    """
    return fold_weights(grams, y, [np.arange(len(y))])[0]


def fold_weights(
    grams: np.ndarray, y: np.ndarray, trains: Sequence[np.ndarray], n_threads: int = 1
) -> np.ndarray:
    """The same for several training sides at once, (n_folds, n_blocks); ``trains`` are positions
    among the first n.

    Grams are (n_blocks, ≥ n, n), n the length of y. No block is copied per fold: with m the
    training side as zeros and ones, ``n_f = Σ m``, ``r = K m`` and ``Σ`` over i and j of that side,

        ‖H K H‖² = Σ K_ij² - 2/n_f Σ r_i² + (Σ r_i)²/n_f²
        <H K H, H Y H> = Σ K_ij Y_ij - 2/n_f Σ r_i c_i + Σ r_i Σ c_i/n_f²

    where c_i is the number of recordings on that side with the label of i.

    >>> K = np.kron(np.eye(2), np.ones((2, 2)))
    >>> fold_weights(
    ...     np.stack([K, np.eye(4)]), np.array([0, 0, 1, 1]), [np.arange(4), np.arange(1, 4)]
    ... ).round(2).tolist()
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
    sums = alignment_sums(grams, codes, sides, counts, n_threads)
    # each (n_folds, n_blocks)
    totals, squared, counted, squares, inner, traces = sums.transpose(2, 1, 0)
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


def _norm_squared(squares: Any, squared: Any, totals: Any, sizes: Any) -> np.ndarray:
    """‖H K H‖² of each side from Σ K_ij², Σ r_i² and Σ r_i."""
    centred = squares - 2 / sizes * squared + (totals / sizes) ** 2
    return np.where(centred > _ROUNDING * squares, centred, 0.0)
