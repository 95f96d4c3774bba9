"""Centring on the training mean and unit length: a step of its own between features and classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from kerneton.data.arrays import is_torch, namespace_of, to_numpy
from kerneton.data.validation import QuickParameters
from kerneton.exceptions import DataError, ModelFileError

_CHUNK_BYTES = 2**22  # temporaries stay within this, whatever the width of the features


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
    """Whether X is a plain table of features as a fitted estimator wants it, seen at a glance: no other check is needed then."""
    plain = type(X) is np.ndarray and X.ndim == 2 and X.dtype in (np.float32, np.float64) and len(X) > 0
    if not plain or hasattr(estimator, "feature_names_in_") or X.shape[1] != estimator.n_features_in_:
        return False
    return bool(np.isfinite(X.sum()))


class CenterNormalize(QuickParameters, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Subtract the training mean, then scale each row to unit L2 norm.

    ``x ← (x - μ) / ‖x - μ‖``. Features of SCK and DCK are positive and nearly parallel; what tells actions apart is
    how they leave their mean. A row equal to the mean (up to rounding) becomes zero. Arrays (n, d) in float32 stay
    float32; torch tensors are answered with torch tensors on the same device.

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
        """`transform` of features that were checked already; without ``copy`` these are overwritten."""
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
            # The mean carries a rounding error of this size: what is shorter has no direction.
            eps = namespace_of(X).finfo(X.dtype).eps
            floor = 4 * float(eps) * float(namespace_of(X).linalg.norm(mean))
        return unit_rows(X, floor) if self.norm else X

    def get_state(self) -> dict[str, Any]:
        """What was learnt, for a file."""
        mean = None if self.mean_ is None else to_numpy(self.mean_)
        return {"mean": mean, "n_features": self.n_features_in_}

    def set_state(self, state: dict[str, Any]) -> None:
        """Become the step that ``get_state`` described; what does not fit is refused."""
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
        torch = namespace_of(X)
        if X.ndim != 2 or len(X) == 0 or X.dtype not in (torch.float32, torch.float64):
            raise DataError(
                f"expected a float32 or float64 tensor of shape (n, d), got {X.dtype} of {tuple(X.shape)}"
            )
        if not bool(torch.isfinite(X.sum())) and not bool(torch.isfinite(X).all()):
            raise DataError("features contain NaN or infinity")
        if reset:
            self.n_features_in_ = X.shape[1]
        elif X.shape[1] != self.n_features_in_:
            raise DataError(f"CenterNormalize was fitted on {self.n_features_in_} features, got {X.shape[1]}")
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
