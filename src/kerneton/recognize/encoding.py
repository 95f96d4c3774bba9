"""Features of the training recordings: every cue is encoded once, whatever is then chosen, fitted or calibrated."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone

from kerneton.data.sequence import SkeletonSequence
from kerneton.machine.folds import BlockGrams
from kerneton.recognize.branch import RUNTIME_PARAMETERS, Branch, block_sizes


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

    def __init__(self, sequences: Sequence[SkeletonSequence]) -> None:
        self.sequences = list(sequences)
        self.n_encoded = 0  # times that recordings went through a kernel
        self._poses: dict[str, tuple[Any, Any]] = {}
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
        if key not in self._grams:
            encoded = self.encoded(branch)
            sizes = block_sizes(encoded.kernel, encoded.features)
            self._grams[key] = BlockGrams.of(
                encoded.features, sizes, weighted=is_weighted(branch.kernel), **fold_options(branch)
            )
        return self._grams[key]

    def fit(self, branch: Branch, y: np.ndarray) -> np.ndarray:
        """Fit a branch on the training recordings and return their features, scaled and weighted."""
        encoded = self.encoded(branch)
        kernel, features = encoded.kernel, encoded.features
        if is_weighted(branch.kernel):
            kernel = copy.copy(kernel).set_params(weighting=branch.kernel.weighting)
            features = kernel.weigh(features.copy(), self.grams(branch).weights(y, [np.arange(len(y))])[0])
        return branch.take(encoded.preprocess, kernel, features)

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
        if key not in self._poses:
            fitted = clone(preprocess).fit(self.sequences)
            self._poses[key] = fitted, fitted.transform(self.sequences)
        return self._poses[key]


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
