"""One way of looking at a recording: poses, a kernel, and features centred on the training mean."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from kerneton.exceptions import ModelFileError

RUNTIME_PARAMETERS = ("batch_size", "n_jobs", "device")  # where a kernel runs, which changes no answer


class Branch(TransformerMixin, BaseEstimator):
    """Recordings to features: ``preprocess``, then ``kernel``, then ``scale``, times ``weight``.

    Parameters
    ----------
    preprocess : Preprocess or other step from recordings to recordings, optional
    kernel : SCK, DCK or your own (see "Extending Kerneton")
        Recordings to features, one block per joint or pair.
    scale : CenterNormalize, optional
        None leaves the features as the kernel gives them.
    weight : float
        Factor of the features beside those of other branches.

    Attributes
    ----------
    preprocess_, kernel_, scale_ : the fitted steps; None for those that are left out

    Examples
    --------
    >>> from kerneton import SCK, CenterNormalize, Preprocess, make_actions
    >>> data = make_actions(["wave", "bow"], n_subjects=2, n_takes=1)
    >>> Branch(Preprocess(), SCK(order=2), CenterNormalize()).fit_transform(data, data.labels).shape
    (4, 4620)
    """

    preprocess_: Any
    kernel_: Any
    scale_: Any

    def __init__(self, preprocess: Any, kernel: Any, scale: Any = None, *, weight: float = 1.0) -> None:
        self.preprocess = preprocess
        self.kernel = kernel
        self.scale = scale
        self.weight = weight

    def fit(self, X: Iterable[Any], y: Any = None) -> Branch:
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Iterable[Any], y: Any = None) -> np.ndarray:
        """Fit all steps and return the features of the training recordings, (n, n_features)."""
        preprocess = None if self.preprocess is None else clone(self.preprocess).fit(X)
        poses = X if preprocess is None else preprocess.transform(X)
        kernel = clone(self.kernel)
        return self.take(preprocess, kernel, kernel.fit_transform(poses, y))

    def transform(self, X: Iterable[Any]) -> np.ndarray:
        """Features, (n, n_features)."""
        check_is_fitted(self, "kernel_")
        poses = X if self.preprocess_ is None else self.preprocess_.transform(X)
        return self._scaled(np.asarray(self.kernel_.transform(poses)))

    def take(self, preprocess: Any, kernel: Any, features: np.ndarray) -> np.ndarray:
        """Take over fitted steps and the kernel's features of the training recordings; returns them scaled."""
        self.preprocess_, self.kernel_ = preprocess, kernel
        self.scale_ = None if self.scale is None else clone(self.scale).fit(features)
        return self._scaled(features)

    def run_on(self, **where: Any) -> Branch:
        """Set runtime parameters (``n_jobs``, ``device``) of the kernel, fitted or not, where they are not None."""
        for kernel in (self.kernel, getattr(self, "kernel_", None)):
            if kernel is not None:
                known = kernel.get_params(deep=False)
                kernel.set_params(**{k: v for k, v in where.items() if v is not None and k in known})
        return self

    def get_state(self) -> dict[str, Any]:
        """The fitted steps, for a file."""
        return {"preprocess": self.preprocess_, "kernel": self.kernel_, "scale": self.scale_}

    def set_state(self, state: dict[str, Any]) -> None:
        """Become the branch that ``get_state`` described."""
        self.preprocess_, self.kernel_, self.scale_ = (state[k] for k in ("preprocess", "kernel", "scale"))
        if self.kernel_ is None or (self.scale_ is None) != (self.scale is None):
            raise ModelFileError("a branch without its steps")

    def _scaled(self, features: np.ndarray) -> np.ndarray:
        features = features if self.scale_ is None else self.scale_.transform(features)
        return features if self.weight == 1 else features * features.dtype.type(self.weight)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "kernel_")


def block_sizes(kernel: Any, features: np.ndarray | None = None) -> np.ndarray:
    """Features per block of a fitted kernel; a kernel that knows no blocks has one."""
    found = getattr(kernel, "block_sizes_", None)
    if found is None:
        assert features is not None
        found = [features.shape[1]]
    return np.asarray(found)


def side_by_side(features: dict[str, np.ndarray]) -> np.ndarray:
    """Features of branches, one branch after the other, (n, Σ n_features).

    >>> side_by_side({"a": np.ones((1, 2)), "b": np.zeros((1, 1))}).tolist()
    [[1.0, 1.0, 0.0]]
    """
    blocks = list(features.values())
    return blocks[0] if len(blocks) == 1 else np.hstack(blocks)
