"""Encoding of the training recordings of a fit: features and inner products of every branch are
computed once.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from sklearn.base import clone

from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError, ParameterError
from kerneton.kernels.prepared import Prepared
from kerneton.machine.folds import BlockGrams, Folds, held_out_scores
from kerneton.parallel.threads import in_threads
from kerneton.recognize.branch import Branch, block_sizes, branch_key, step_key

if TYPE_CHECKING:
    from kerneton.data.progress import Progress

# Bytes of inner products, and of features, that are kept; others are computed again.
_KEPT = 2**30

# (train, train) and (held out, train), one pair per fold
FoldGrams = list[tuple[np.ndarray, np.ndarray]]
# Results of `score_sum`: accuracy, its standard error, and by fold the correct recordings and the
# sum of losses.
Scores = dict[tuple[float, float], tuple[float, float, tuple[int, ...], tuple[float, ...]]]
FAILURES = (DataError, ParameterError, np.linalg.LinAlgError)  # of an impossible branch


@dataclass(frozen=True)
class Encoded:
    """A branch's fitted steps and the features of the training recordings before weighting and
    scaling.
    """

    preprocess: Any
    kernel: Any
    features: np.ndarray


class Encoder:
    """Encodes the training recordings; steps that branches have in common are computed once.

    Branches with equal preprocessing share poses; those that differ only in ``kernel__weighting``
    or ``scale`` share features; mirrored features are computed from unmirrored ones if the kernel
    supports it.

    >>> from kerneton import SCK, Preprocess, make_actions
    >>> encoder = Encoder(make_actions(["wave"], n_subjects=1, n_takes=2))
    >>> plain, mirrored = (Branch(Preprocess(), SCK(order=2, mirror=m)) for m in (False, True))
    >>> (
    ...     encoder.encoded(plain).features.shape,
    ...     encoder.encoded(mirrored).features.shape,
    ...     encoder.n_encoded,
    ... )
    ((2, 4620), (2, 2772), 1)
    """

    def __init__(self, sequences: Sequence[SkeletonSequence], n_threads: int = 1) -> None:
        self.sequences, self.n_threads = list(sequences), n_threads
        self.n_encoded = 0  # number of times that recordings were encoded
        self._steps: dict[Any, Any] = {}  # fitted preprocessing
        self._encoded: dict[Any, Encoded] = {}
        self._grams: dict[Any, BlockGrams] = {}
        self._prepared = Prepared(self.sequences, n_threads)
        self._lock = threading.RLock()  # of what is kept, which threads ask for

    def __reduce__(self) -> Any:
        """A copy for another process contains the recordings, but nothing computed from them."""
        return Encoder, (self.sequences, self.n_threads)

    def encoded(self, branch: Branch) -> Encoded:
        """Features of the training recordings from the branch's kernel, without weighting."""
        kernel = plain_kernel(branch.kernel)
        key = step_key(branch.preprocess), step_key(kernel)
        with self._lock:
            found = self._encoded.pop(key, None) or self._encode(branch, kernel)
            self._encoded[key] = found  # the last one used
            kept = sum(each.features.nbytes for each in self._encoded.values())
            for old in [*self._encoded][:-1]:  # the longest unused one first
                if kept > _KEPT:
                    kept -= self._encoded.pop(old).features.nbytes
        return found

    def grams(self, branch: Branch) -> BlockGrams:
        """Inner products of a branch's features, block by block, for folds."""
        key = branch_key(branch)
        if key in self._grams:
            return self._grams[key]
        found = self._derived(branch)
        if found is None:
            encoded = self.encoded(branch)
            sizes = block_sizes(encoded.kernel, encoded.features)
            options = {**fold_options(branch), "weighted": is_weighted(branch.kernel)}
            found = BlockGrams.of(encoded.features, sizes, n_threads=self.n_threads, **options)
        if sum(grams.blocks.nbytes for grams in (found, *self._grams.values())) <= _KEPT:
            self._grams[key] = found
        return found

    def _derived(self, branch: Branch) -> BlockGrams | None:
        """Inner products of partly mirrored features, if those of unmirrored and of mirrored ones
        are known.
        """
        if getattr(branch.kernel, "mirror", None) != "partly":
            return None
        twins = [clone(branch).set_params(kernel__mirror=mirror) for mirror in (False, True)]
        plain, mirrored = (self._grams.get(branch_key(twin)) for twin in twins)
        if plain is None or mirrored is None:
            return None
        kernel = self.encoded(twins[0]).kernel
        blocks = kernel.partly_mirrored(plain.blocks, mirrored.blocks)
        return replace(plain, blocks=blocks, squares=np.diagonal(blocks, axis1=1, axis2=2))

    def trials(self, codes: np.ndarray, folds: Folds, progress: Progress | None = None) -> Trials:
        """The `Trials` with which a search tries candidates on these recordings."""
        return LocalTrials(self.grams, codes, folds, progress, self.n_threads)

    def fit(self, branch: Branch, y: np.ndarray) -> np.ndarray:
        """Fit a branch on the training recordings and return their features, scaled and
        weighted.
        """
        encoded = self.encoded(branch)
        kernel, features = encoded.kernel, encoded.features
        if is_weighted(branch.kernel):
            kernel = copy.copy(kernel).set_params(weighting=branch.kernel.weighting)
            features = kernel.weigh(
                features.copy(), self.grams(branch).weights(y, [np.arange(len(y))])[0]
            )
        else:
            features = features.copy()
        return branch.take(encoded.preprocess, kernel, features)

    def fit_all(
        self, branches: Mapping[str, Branch], y: np.ndarray, progress: Progress | None = None
    ) -> dict[str, np.ndarray]:
        """`fit` of every branch; they are encoded one after the other, then weighted and scaled in
        parallel.
        """
        every = list(branches.values())
        for branch in progress(every, total=len(every), desc="kernels") if progress else every:
            self.encoded(branch)
        each = branches.values()
        done = in_threads(
            lambda branch: self.fit(branch, y), each, self.n_threads, progress, "features"
        )
        found = dict(zip(branches, done, strict=True))
        return found

    def inner(
        self, branches: Mapping[str, Branch], y: np.ndarray, progress: Progress | None = None
    ) -> dict[str, np.ndarray]:
        """Inner products (n, n) of the features from `fit_all`, by branch."""
        every = np.arange(len(y))
        items = branches.items()
        shown = progress(items, total=len(items), desc="inner products") if progress else items
        return {name: self.grams(branch).fold(y, every, every)[0] for name, branch in shown}

    def extended(
        self, sequences: list[SkeletonSequence], progress: Progress | None = None
    ) -> Encoder:
        """The same encoder with more training recordings, which are encoded with the steps that are
        already fitted.
        """
        out, prepared = (
            Encoder([*self.sequences, *sequences], self.n_threads),
            Prepared(sequences, self.n_threads),
        )
        items = self._encoded.items()
        for key, old in progress(items, total=len(items), desc="kernels") if progress else items:
            more = np.asarray(old.kernel.transform(prepared.poses(old.preprocess, old.kernel)))
            out._encoded[key] = Encoded(
                old.preprocess, old.kernel, np.concatenate([old.features, more])
            )
        out._steps = self._steps
        return out

    def _encode(self, branch: Branch, kernel: Any) -> Encoded:
        if getattr(kernel, "mirror", False) and hasattr(kernel, "mirrored"):
            twin = Branch(branch.preprocess, clone(kernel).set_params(mirror=False))
            plain = self.encoded(twin)
            found = plain.kernel.mirrored(plain.features, kernel.mirror)
            if found is not None:
                return Encoded(plain.preprocess, *found)
        self.n_encoded += 1
        kernel, key = clone(kernel), step_key(branch.preprocess)
        if key not in self._steps:
            self._steps[key] = self._prepared.fit(branch.preprocess)
        poses = self._prepared.poses(self._steps[key], kernel)
        return Encoded(self._steps[key], kernel, np.asarray(kernel.fit_transform(poses)))


def fold_options(branch: Branch) -> dict[str, Any]:
    """Options for the inner products of a branch's features in folds."""
    if branch.scale is None:
        return {"center": False, "norm": False, "factor": branch.weight**2}
    return {"center": branch.scale.center, "norm": branch.scale.norm, "factor": branch.weight**2}


def is_weighted(kernel: Any) -> bool:
    """Whether a kernel weights its blocks by labels."""
    return getattr(kernel, "weighting", None) is not None


def plain_kernel(kernel: Any) -> Any:
    """A fresh copy of a kernel without weighting by labels."""
    return clone(kernel).set_params(weighting=None) if is_weighted(kernel) else clone(kernel)


class Trials(Protocol):
    """How a search tries candidates. ``Any`` stands for Gram matrices of folds, which may be on the
    workers of a cluster.
    """

    def fold_grams(self, branches: Sequence[Branch]) -> list[tuple[Any, str]]:
        """Gram matrices of each branch, or None and the reason why there are none."""

    def scores(
        self,
        sums: Sequence[list[tuple[Any, float]]],
        Cs: Sequence[float],
        penalties: Sequence[float],
    ) -> list[Scores]:
        """The results of `score_sum` for each sum of branches."""


@dataclass(frozen=True)
class LocalTrials:
    """Trials in this process; ``grams`` returns the inner products of a branch's features."""

    grams: Callable[[Branch], BlockGrams]
    codes: np.ndarray
    folds: Folds
    progress: Progress | None = None
    n_threads: int = 1

    def fold_grams(self, branches: Sequence[Branch]) -> list[tuple[Any, str]]:
        found: list[tuple[Any, str]] = []
        for branch in self.progress(branches, desc="kernels") if self.progress else branches:
            try:
                found.append((fold_grams(self.grams(branch), self.codes, self.folds), ""))
            except FAILURES as error:
                found.append((None, str(error)))
        return found

    def scores(
        self,
        sums: Sequence[list[tuple[Any, float]]],
        Cs: Sequence[float],
        penalties: Sequence[float],
    ) -> list[Scores]:
        score = partial(score_sum, codes=self.codes, folds=self.folds, Cs=Cs, penalties=penalties)
        return in_threads(score, sums, self.n_threads, self.progress, "candidates")


def fold_grams(grams: BlockGrams, codes: np.ndarray, folds: Folds) -> FoldGrams:
    """Gram matrices of every fold in single precision, which is enough to rank candidates and needs
    half the memory.
    """
    weights = grams.weights(codes, [train for train, _ in folds])
    return [(a.astype(np.float32), b.astype(np.float32)) for a, b in grams.folds(folds, weights)]


def score_sum(
    parts: list[tuple[FoldGrams, float]],
    codes: np.ndarray,
    folds: Folds,
    Cs: Sequence[float],
    penalties: Sequence[float] = (0.0,),
) -> Scores:
    """Accuracy on held-out recordings, its standard error over folds, and of each fold the number
    of correct ones and the sum of losses.

    The loss of a recording is the mean squared hinge of its decision values, by (penalty, C).
    """
    total, n_classes = sum(weight for _, weight in parts), int(codes.max()) + 1
    right = np.zeros((len(penalties), len(Cs), len(folds)))
    losses = np.zeros_like(right)
    for f, (train, valid) in enumerate(folds):
        inside: Any = sum(
            part[f][0].astype(np.float64) * (weight / total) for part, weight in parts
        )
        across: Any = sum(
            part[f][1].astype(np.float64) * (weight / total) for part, weight in parts
        )
        signs = np.where(np.arange(n_classes) == codes[valid][:, None], 1.0, -1.0)
        for p, penalty in enumerate(penalties):
            scores = held_out_scores(inside, across, codes[train], n_classes, Cs, penalty=penalty)
            right[p, :, f] = (scores.argmax(axis=2) == codes[valid]).sum(axis=1)
            # -inf: absent on the training side
            margins = signs * np.where(np.isfinite(scores), scores, -1.0)
            losses[p, :, f] = (np.maximum(0.0, 1.0 - margins) ** 2).mean(axis=2).sum(axis=1)
    sizes = np.asarray([len(valid) for _, valid in folds])
    accuracy = right.sum(axis=2) / sizes.sum()
    spread = (right / sizes).std(axis=2) / np.sqrt(max(len(folds) - 1, 1))
    return {
        (penalty, C): (
            float(accuracy[p, c]),
            float(spread[p, c]),
            tuple(right[p, c].astype(int).tolist()),
            tuple(losses[p, c].tolist()),
        )
        for p, penalty in enumerate(penalties)
        for c, C in enumerate(Cs)
    }
