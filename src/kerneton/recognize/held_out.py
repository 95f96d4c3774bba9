"""What a recogniser says of people it was not trained on: its machine refitted on folds, from Gram matrices.

Features are encoded once. Every fold centres and normalises them on its own training side, learns joint weights
there, and solves its own machine. Two things are shared with the recordings held out, neither of which sees a label:
the reference skeleton of the preprocessing, and the scale of velocities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import FeatureUnion, Pipeline

from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import ParameterError
from kerneton.kernels.blocks import BlockTransformer
from kerneton.machine.alignment import alignment_weights, block_grams
from kerneton.machine.folds import class_weights, penalised_machines
from kerneton.machine.gram import center_normalize_gram, combine, gram
from kerneton.machine.normalize import CenterNormalize
from kerneton.machine.svm import LinearSVM
from kerneton.recognize.search import KernelSearch

_MOST_CELLS = 2**28  # of block-wise Gram matrices; beyond this, joint weights are those of all recordings


@dataclass(frozen=True)
class Branch:
    """Inner products of one branch's features, (n_blocks, n, n), before weighting, centring and normalising."""

    blocks: np.ndarray
    weighted: bool
    scale: CenterNormalize | None
    factor: float  # by which a union multiplies the branch's inner products
    means: np.ndarray  # (n_classes, n_features) of the features as the fitted branch gives them

    def grams(self, codes: np.ndarray, train: np.ndarray, valid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(train, train) and (valid, train) inner products as the branch would have given them."""
        weights = np.ones(len(self.blocks))
        if self.weighted:
            weights = alignment_weights(self.blocks[:, train][:, :, train], codes[train])
        K = np.tensordot(weights, self.blocks, axes=1)
        if self.scale is None:
            inside, across = K[np.ix_(train, train)], K[np.ix_(valid, train)]
        else:
            options = {"center": self.scale.center, "norm": self.scale.norm}
            inside, across = center_normalize_gram(K, train, valid, **options)
        return inside * self.factor, across * self.factor


@dataclass(frozen=True)
class Machine:
    """How to get from branches to decision values: weights of branches, C and scatter, several of them averaged."""

    mixtures: tuple[tuple[np.ndarray, float, float], ...]
    svm: LinearSVM

    def decide(self, inside: np.ndarray, across: np.ndarray, codes: np.ndarray, n_classes: int) -> np.ndarray:
        """Decision values (n_valid, n_classes) from Gram matrices (n_branches, ...); absent classes get -inf."""
        present, local = np.unique(codes, return_inverse=True)
        scaling = float(self.svm.intercept_scaling) ** 2 if self.svm.fit_intercept else 0.0
        factors = self.svm.class_weight
        if isinstance(factors, dict):
            factors = [factors.get(label, 1.0) for label in self.svm.classes_[present].tolist()]
        scores: Any = 0.0
        for weights, C, scatter in self.mixtures:
            K = np.tensordot(weights, inside, axes=1)
            ((duals, intercept),) = penalised_machines(
                K,
                local,
                [C],
                scatter=scatter,
                scaling=scaling,
                loss=self.svm.loss,
                weights=class_weights(local, len(present), factors),
                tol=1e-4,
                max_iter=self.svm.max_iter,
            )
            decided = np.tensordot(weights, across, axes=1) @ duals.T + intercept
            scores = scores + decided / len(self.mixtures)
        if len(present) == 2:
            scores = np.hstack([-scores, scores])
        out = np.full((len(scores), n_classes), -np.inf)
        out[:, present] = scores
        return out


def take_apart(
    model: Any, pipeline: Pipeline, sequences: list[SkeletonSequence], codes: np.ndarray
) -> tuple[list[Branch], Machine]:
    """Branches and machine of a fitted recogniser, ready to be refitted on some of its training recordings."""
    average = np.stack([(codes == c) / (codes == c).sum() for c in range(codes.max() + 1)])
    first = pipeline.steps[0][1]
    parts = [("", pipeline[:-1])]
    factors = {}
    if isinstance(first, FeatureUnion) and len(pipeline.steps) == 2:
        parts, factors = first.transformer_list, dict(first.transformer_weights or {})
    branches = [_branch(part, sequences, average, factors.get(name, 1.0)) for name, part in parts]
    names = [name for name, _ in parts]
    svm = pipeline[-1]
    if isinstance(model, KernelSearch):
        mixtures = []
        for trial in model.chosen_:
            share = model.branch_weights(trial)
            mixtures.append((np.array([share.get(name, 0.0) for name in names]), trial.C, trial.scatter))
        return branches, Machine(tuple(mixtures), svm)
    return branches, Machine(((np.ones(len(branches)), svm.C, 0.0),), svm)


def _branch(part: Any, sequences: list[SkeletonSequence], average: np.ndarray, weight: float) -> Branch:
    steps = [step for _, step in part.steps] if isinstance(part, Pipeline) else [part]
    at = next((i for i, step in enumerate(steps) if isinstance(step, BlockTransformer)), None)
    after = [] if at is None else [s for s in steps[at + 1 :] if s not in (None, "passthrough")]
    if at is None or len(after) > 1 or not all(isinstance(s, CenterNormalize) for s in after):
        told = ", ".join(type(step).__name__ for step in steps)
        raise ParameterError(
            f"calibration knows branches of preprocessing, SCK or DCK, and CenterNormalize; got {told}"
        )
    poses: Any = sequences
    for step in steps[:at]:
        poses = step.transform(poses)
    kernel = steps[at]
    sizes, weighted = kernel.block_sizes_, kernel.weighting is not None
    if weighted and len(sizes) * len(sequences) ** 2 <= _MOST_CELLS:
        features = clone(kernel).set_params(weighting=None).fit_transform(poses)
        blocks = block_grams(features, sizes)
        kernel._weight(features)
    else:
        weighted = False
        features = kernel.transform(poses)
        blocks = gram(features)[None]
    scale = after[0] if after else None
    if scale is not None:
        features = scale.transform(features)
    return Branch(blocks, weighted, scale, weight**2, weight * combine(average, features))
