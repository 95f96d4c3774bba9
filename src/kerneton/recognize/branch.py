"""Branches: poses, a kernel, features centred on the training mean."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import joblib
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from kerneton.data.checks import check_sequences
from kerneton.data.parameters import QuickParameters
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import ModelFileError, ParameterError
from kerneton.kernels.blocks import BlockKernel
from kerneton.kernels.prepared import Prepared
from kerneton.machine.scaling import CenterNormalize, ready
from kerneton.parallel.threads import count_threads, in_threads

RUNTIME_PARAMETERS = ("batch_size", "n_jobs", "device")  # do not change results


class Branch(QuickParameters, TransformerMixin, BaseEstimator):
    """Recordings to features: ``preprocess``, then ``kernel``, then ``scale``, times ``weight``.

    Parameters
    ----------
    preprocess : Preprocess or other step from recordings to recordings, optional
    kernel : SCK, DCK or your own (see "Extending Kerneton")
        Recordings to features, one block per joint or pair.
    scale : CenterNormalize, optional
        None leaves the features as the kernel gives them.
    weight : float
        Factor of the features relative to those of other branches.

    Attributes
    ----------
    preprocess_, kernel_, scale_ : the fitted steps; None for missing ones

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

    def __init__(
        self, preprocess: Any, kernel: Any, scale: Any = None, *, weight: float = 1.0
    ) -> None:
        self.preprocess = preprocess
        self.kernel = kernel
        self.scale = scale
        self.weight = weight

    def fit(self, X: Iterable[Any], y: Any = None) -> Branch:
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Iterable[Any], y: Any = None) -> np.ndarray:
        """Fit all steps and return the features of the training recordings, (n, n_features)."""
        prepared, kernel = Prepared(check_sequences(X, allow_missing=True)), clone(self.kernel)
        preprocess = prepared.fit(self.preprocess)
        return self.take(
            preprocess, kernel, kernel.fit_transform(prepared.poses(preprocess, kernel), y)
        )

    def transform(self, X: Iterable[Any]) -> np.ndarray:
        """Features, (n, n_features)."""
        check_is_fitted(self, "kernel_")
        return encode_together([self], check_sequences(X, allow_missing=True))[0]

    def finish(self, features: np.ndarray) -> np.ndarray:
        """Apply block weights and scale to the kernel's unweighted features, in place if
        possible.
        """
        kernel = self.kernel_
        if isinstance(kernel, BlockKernel) and kernel.weighting is not None:
            features = kernel.weigh(features, kernel.weights_)
        return self._scaled(features)

    def take(self, preprocess: Any, kernel: Any, features: np.ndarray) -> np.ndarray:
        """Store fitted steps, and scale the kernel's features of the training recordings, in place
        if possible.
        """
        self.preprocess_, self.kernel_ = preprocess, kernel
        self.scale_ = None if self.scale is None else clone(self.scale).fit(features)
        return self._scaled(features)

    def run_on(self, **where: Any) -> Branch:
        """Set runtime parameters (``n_jobs``, ``device``) of the kernel, fitted or not, where they
        are not None.
        """
        where = {name: value for name, value in where.items() if value is not None}
        for kernel in (self.kernel, getattr(self, "kernel_", None)) if where else ():
            if kernel is not None:
                known = kernel.get_params(deep=False)
                kernel.set_params(**{k: v for k, v in where.items() if k in known})
        return self

    def get_state(self) -> dict[str, Any]:
        """The fitted steps, for a file."""
        return {"preprocess": self.preprocess_, "kernel": self.kernel_, "scale": self.scale_}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore what ``get_state`` returned."""
        self.preprocess_, self.kernel_, self.scale_ = (
            state[k] for k in ("preprocess", "kernel", "scale")
        )
        if self.kernel_ is None or (self.scale_ is None) != (self.scale is None):
            raise ModelFileError("a branch without its steps")

    def _scaled(self, features: np.ndarray) -> np.ndarray:
        if self.scale_ is not None:
            same = type(self.scale_) is CenterNormalize and ready(self.scale_, features)
            copy = not isinstance(
                self.kernel_, BlockKernel
            )  # a kernel of your own may still use its features
            features = (
                self.scale_.apply(features, copy=copy) if same else self.scale_.transform(features)
            )
        return features if self.weight == 1 else features * features.dtype.type(self.weight)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "kernel_")


def block_sizes(kernel: Any, features: np.ndarray | None = None) -> np.ndarray:
    """Features per block of a fitted kernel; a kernel without blocks has one."""
    found = getattr(kernel, "block_sizes_", None)
    if found is None:
        assert features is not None
        found = [features.shape[1]]
    return np.asarray(found)


def encode_together(
    branches: Iterable[Branch], sequences: list[SkeletonSequence]
) -> list[np.ndarray]:
    """Features of each fitted branch; branches with the same preprocessing share poses and signals.

    >>> from kerneton import SCK, CenterNormalize, Preprocess, make_actions
    >>> data = list(make_actions(["wave"], n_subjects=1, n_takes=2))
    >>> branch = Branch(Preprocess(), SCK(order=2), CenterNormalize()).fit(data)
    >>> [features.shape for features in encode_together([branch, branch], data)]
    [(2, 4620), (2, 4620)]
    """
    branches = list(branches)
    n_threads = count_threads(getattr(branches[0].kernel_, "n_jobs", None))
    prepared, features = Prepared(sequences, n_threads), []
    for branch in branches:
        kernel = branch.kernel_
        poses = prepared.poses(branch.preprocess_, kernel)
        encode = kernel.unweighted if isinstance(kernel, BlockKernel) else kernel.transform
        features.append(np.asarray(encode(poses)))
    pairs = zip(branches, features, strict=True)
    return in_threads(lambda pair: pair[0].finish(pair[1]), pairs, n_threads)


def share_preprocessing(branches: Iterable[Branch]) -> None:
    """Let fitted branches with equal preprocessing share one step, like branches that were fitted
    together.
    """
    known: dict[str, Any] = {}
    for branch in branches:
        step = branch.preprocess_
        if step is not None:
            key = joblib.hash((type(step).__qualname__, step.get_params(), vars(step)))
            branch.preprocess_ = known.setdefault(key, step)


def side_by_side(features: list[np.ndarray]) -> np.ndarray:
    """Features of branches, one branch after the other, (n, Σ n_features).

    >>> side_by_side([np.ones((1, 2)), np.zeros((1, 1))]).tolist()
    [[1.0, 1.0, 0.0]]
    """
    return features[0] if len(features) == 1 else np.hstack(features)


def branch_key(branch: Branch) -> Any:
    """A key that is equal for branches with equal features."""
    return (
        step_key(branch.preprocess),
        step_key(branch.kernel),
        step_key(branch.scale),
        branch.weight,
    )


def step_key(step: Any) -> Any:
    """Class and parameters of a step, as a key of a dictionary."""
    if step is None:
        return None
    named = sorted(
        (k, _frozen(v)) for k, v in step.get_params().items() if k not in RUNTIME_PARAMETERS
    )
    return type(step).__qualname__, *named


def _frozen(value: Any) -> Any:
    """A parameter as part of a key: lists become tuples, unhashable objects their contents."""
    if isinstance(value, (list, tuple)):
        return tuple(_frozen(v) for v in value)
    try:
        hash(value)
    except TypeError:
        return joblib.hash(value)
    return type(value).__name__, value


def check_branches(branches: Any) -> None:
    """Refuse anything but a list of pairs (name, Branch) with a kernel each.

    >>> check_branches([("sck", Branch(None, None))])
    Traceback (most recent call last):
    kerneton.exceptions.ParameterError: no kernel in sck: a branch is Branch(...)
    """
    pairs = branches if isinstance(branches, (list, tuple)) else ()
    if not pairs or not all(
        isinstance(p, (list, tuple)) and len(p) == 2 and isinstance(p[0], str) for p in pairs
    ):
        raise ParameterError(
            f"a recogniser needs at least one branch: expected a list of pairs (name, Branch), got {branches!r}"[
                :200
            ]
        )
    kernels = {name: getattr(branch, "kernel", None) for name, branch in pairs}
    if without := [
        name for name, kernel in kernels.items() if kernel is None or isinstance(kernel, type)
    ]:
        raise ParameterError(
            f"no kernel in {', '.join(without)}: a branch is Branch(preprocess, kernel, scale)"
        )
