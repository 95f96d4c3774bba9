"""Branches: poses, a kernel, features centred on the training mean; every one is encoded once while training."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from kerneton.data.sequence import SkeletonSequence
from kerneton.data.validation import check_sequences
from kerneton.exceptions import ModelFileError
from kerneton.kernels.signals import keeping_signals
from kerneton.machine.folds import BlockGrams
from kerneton.machine.normalize import CenterNormalize, ready

_KEPT = 2**30  # bytes of inner products that a fit keeps; others are computed again when needed
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

    def encode(self, poses: Iterable[Any]) -> np.ndarray:
        """Features of recordings that are preprocessed and checked already, (n, n_features)."""
        encode = getattr(self.kernel_, "encode", None) or self.kernel_.transform
        return self._scaled(np.asarray(encode(poses)))

    def take(self, preprocess: Any, kernel: Any, features: np.ndarray) -> np.ndarray:
        """Take over fitted steps and the kernel's features of the training recordings; returns them scaled, in place where it can."""
        self.preprocess_, self.kernel_ = preprocess, kernel
        self.scale_ = None if self.scale is None else clone(self.scale).fit(features)
        return self._scaled(features)

    def run_on(self, **where: Any) -> Branch:
        """Set runtime parameters (``n_jobs``, ``device``) of the kernel, fitted or not, where they are not None."""
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
        """Become the branch that ``get_state`` described."""
        self.preprocess_, self.kernel_, self.scale_ = (state[k] for k in ("preprocess", "kernel", "scale"))
        if self.kernel_ is None or (self.scale_ is None) != (self.scale is None):
            raise ModelFileError("a branch without its steps")

    def _scaled(self, features: np.ndarray) -> np.ndarray:
        if self.scale_ is not None:
            same = type(self.scale_) is CenterNormalize and ready(self.scale_, features)
            copy = not hasattr(self.kernel_, "encode")  # a kernel of others may want its features back
            features = self.scale_.apply(features, copy=copy) if same else self.scale_.transform(features)
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


def encode_together(branches: Iterable[Branch], sequences: list[SkeletonSequence]) -> list[np.ndarray]:
    """Features of each fitted branch; branches with the same preprocessing share poses and signals.

    >>> from kerneton import SCK, CenterNormalize, Preprocess, make_actions
    >>> data = list(make_actions(["wave"], n_subjects=1, n_takes=2))
    >>> branch = Branch(Preprocess(), SCK(order=2), CenterNormalize()).fit(data)
    >>> [features.shape for features in encode_together([branch, branch], data)]
    [(2, 4620), (2, 4620)]
    """
    poses: dict[int, list[SkeletonSequence]] = {}
    features = []
    for branch in branches:
        step = branch.preprocess_
        if id(step) not in poses:
            prepared = sequences if step is None else step.transform(sequences)
            poses[id(step)] = [keeping_signals(s) for s in check_sequences(prepared)]
        features.append(branch.encode(poses[id(step)]))
    return features


def share_preprocessing(branches: Iterable[Branch]) -> None:
    """Let fitted branches whose preprocessing is the same have one step, as branches that were fitted together do."""
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


@dataclass(frozen=True)
class Encoded:
    """A branch's fitted steps and the features of the training recordings before weighting and scaling."""

    preprocess: Any
    kernel: Any
    features: np.ndarray


class Encoder:
    """Encodes the training recordings for branches; what branches have in common is computed once.

    Branches that share their preprocessing share poses; those that differ in ``kernel__weighting`` or ``scale`` share
    features; mirrored features come from those without mirroring where the kernel can tell them.

    >>> from kerneton import SCK, Preprocess, make_actions
    >>> encoder = Encoder(make_actions(["wave"], n_subjects=1, n_takes=2))
    >>> plain, mirrored = (Branch(Preprocess(), SCK(order=2, mirror=m)) for m in (False, True))
    >>> encoder.encoded(plain).features.shape, encoder.encoded(mirrored).features.shape, encoder.n_encoded
    ((2, 4620), (2, 2772), 1)
    """

    def __init__(self, sequences: Sequence[SkeletonSequence], n_threads: int = 1) -> None:
        self.sequences, self.n_threads = list(sequences), n_threads
        self.n_encoded = 0  # times that recordings went through a kernel
        self._steps: dict[str, Any] = {}  # fitted preprocessing
        self._poses: dict[str, Any] = {}
        self._encoded: dict[str, Encoded] = {}
        self._grams: dict[str, BlockGrams] = {}

    def encoded(self, branch: Branch) -> Encoded:
        """Features of the training recordings as the branch's kernel gives them without weighting."""
        kernel = plain_kernel(branch.kernel)
        key = joblib.hash((_parameters(branch.preprocess), _parameters(kernel)))
        if key not in self._encoded:
            self._encoded[key] = self._encode(branch, kernel)
        return self._encoded[key]

    def grams(self, branch: Branch) -> BlockGrams:
        """Inner products of a branch's features, block by block, as folds want them."""
        key = branch_key(branch)
        if key in self._grams:
            return self._grams[key]
        encoded = self.encoded(branch)
        sizes = block_sizes(encoded.kernel, encoded.features)
        options = {**fold_options(branch), "weighted": is_weighted(branch.kernel)}
        found = BlockGrams.of(encoded.features, sizes, n_threads=self.n_threads, **options)
        if sum(grams.blocks.nbytes for grams in (found, *self._grams.values())) <= _KEPT:
            self._grams[key] = found
        return found

    def fit(self, branch: Branch, y: np.ndarray) -> np.ndarray:
        """Fit a branch on the training recordings and return their features, scaled and weighted."""
        encoded = self.encoded(branch)
        kernel, features = encoded.kernel, encoded.features
        if is_weighted(branch.kernel):
            kernel = copy.copy(kernel).set_params(weighting=branch.kernel.weighting)
            features = kernel.weigh(features.copy(), self.grams(branch).weights(y, [np.arange(len(y))])[0])
        else:
            features = features.copy()
        return branch.take(encoded.preprocess, kernel, features)

    def extended(self, sequences: list[SkeletonSequence]) -> Encoder:
        """The same with more training recordings, which are encoded by the steps that are fitted already."""
        out, poses = Encoder([*self.sequences, *sequences], self.n_threads), dict[int, Any]()
        for key, old in self._encoded.items():
            step = old.preprocess
            if id(step) not in poses:
                poses[id(step)] = sequences if step is None else step.transform(sequences)
            more = np.asarray(old.kernel.transform(poses[id(step)]))
            out._encoded[key] = Encoded(step, old.kernel, np.concatenate([old.features, more]))
        out._steps = self._steps
        return out

    def _encode(self, branch: Branch, kernel: Any) -> Encoded:
        if getattr(kernel, "mirror", False) and hasattr(kernel, "mirrored"):
            twin = Branch(branch.preprocess, clone(kernel).set_params(mirror=False))
            plain = self.encoded(twin)
            found = plain.kernel.mirrored(plain.features, kernel.mirror)
            if found is not None:
                return Encoded(plain.preprocess, *found)
        preprocess, poses = self._posed(branch.preprocess)
        kernel = clone(kernel)
        self.n_encoded += 1
        return Encoded(preprocess, kernel, np.asarray(kernel.fit_transform(poses)))

    def _posed(self, preprocess: Any) -> tuple[Any, Any]:
        if preprocess is None:
            return None, self.sequences
        key = joblib.hash(_parameters(preprocess))
        if key not in self._steps:
            self._steps[key] = clone(preprocess).fit(self.sequences)
        if key not in self._poses:
            self._poses[key] = [keeping_signals(s) for s in self._steps[key].transform(self.sequences)]
        return self._steps[key], self._poses[key]


def branch_key(branch: Branch) -> str:
    """The same for branches that give the same features on the same recordings."""
    scale = _parameters(branch.scale)
    return joblib.hash((_parameters(branch.preprocess), _parameters(branch.kernel), scale, branch.weight))


def fold_options(branch: Branch) -> dict[str, Any]:
    """How folds treat the inner products of a branch's features."""
    if branch.scale is None:
        return {"center": False, "norm": False, "factor": branch.weight**2}
    return {"center": branch.scale.center, "norm": branch.scale.norm, "factor": branch.weight**2}


def is_weighted(kernel: Any) -> bool:
    """Whether a kernel weights its blocks by labels."""
    return getattr(kernel, "weighting", None) is not None


def plain_kernel(kernel: Any) -> Any:
    """A fresh copy of a kernel that does not weight its blocks by labels."""
    return clone(kernel).set_params(weighting=None) if is_weighted(kernel) else clone(kernel)


def _parameters(step: Any) -> Any:
    if step is None:
        return None
    named = step.get_params().items()
    return type(step).__qualname__, sorted((k, v) for k, v in named if k not in RUNTIME_PARAMETERS)
