"""One split of a protocol as Gram matrices: every cue encoded once, whatever is then chosen, left out or tested."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline

from kerneton.data.sequence import SkeletonSequence
from kerneton.machine.alignment import alignment_weights
from kerneton.machine.folds import penalised_machines
from kerneton.machine.gram import center_normalize_gram, gram
from kerneton.recognize.search import KernelSearch
from kerneton.recognize.selection import Failures, FoldGrams, Folds, score_sum, subject_folds, with_parameters

Grams = tuple[
    FoldGrams, FoldGrams
]  # of the training subjects' folds; of test sets against all training recordings


@dataclass
class SplitGrams:
    """Training recordings with subjects, and test sets by name (the recordings as they are, and turned, say).

    What is learnt from recordings (reference skeleton, scale of velocities) is learnt from the training recordings,
    and joint weights from the training side of each fold, exactly as in `KernelSearch`.
    """

    train: Sequence[SkeletonSequence]
    labels: np.ndarray
    subjects: np.ndarray
    tests: Mapping[str, Sequence[SkeletonSequence]]

    def __post_init__(self) -> None:
        self.classes, self.codes = np.unique(self.labels, return_inverse=True)
        self.folds: Folds = subject_folds(self.codes, self.subjects)
        self._known: dict[tuple[Any, ...], Grams] = {}

    def of(self, cue: Pipeline) -> Grams:
        """The Gram matrices of a cue, computed at its first use; cues that only differ in weighting share features."""
        if _key(cue) not in self._known:
            self._encode(cue)
        return self._known[_key(cue)]

    def validation(self, cues: Sequence[Pipeline], C: float, scatter: float) -> float:
        """Accuracy of a sum of cues on held-out training subjects."""
        parts = [(self.of(cue)[0], 1.0) for cue in cues]
        return score_sum(parts, self.codes, self.folds, [C], [scatter])[scatter, C][0]

    def predict(
        self, machines: Sequence[tuple[Mapping[str, float], float, float]], cues: Mapping[str, Pipeline]
    ) -> Any:
        """Labels of every test set, by name, from the averaged scores of machines (weights of cues, C, scatter)."""
        scores: Any = dict.fromkeys(self.tests, 0.0)
        for weights, C, scatter in machines:
            total = sum(weights.values())
            parts = [(self.of(cues[name])[1], weight / total) for name, weight in weights.items()]
            inside: Any = sum(part[0][0].astype(np.float64) * share for part, share in parts)
            ((duals, intercept),) = penalised_machines(inside, self.codes, [C], scatter=scatter)
            for t, name in enumerate(self.tests):
                across = sum(part[t][1] * share for part, share in parts)
                scores[name] = scores[name] + across @ duals.T + intercept
        two = len(self.classes) == 2
        return {
            name: self.classes[(s[:, 0] > 0).astype(int) if two else s.argmax(axis=1)]
            for name, s in scores.items()
        }

    def _encode(self, cue: Pipeline) -> None:
        encoder = clone(cue).set_params(kernel__weighting=None)
        known = encoder.fit_transform(self.train)
        others = [encoder.transform(test) for test in self.tests.values()]
        blocks, squares = _against(known, np.concatenate([known, *others]), encoder["kernel"].block_sizes_)
        n = len(self.train)
        ends = n + np.cumsum([0, *map(len, others)])
        rows = [np.arange(start, end) for start, end in itertools.pairwise(ends)]
        for weighting in ("alignment", None):
            parts = (blocks, squares, weighting)
            inner = [self._pairs(*parts, fit, [held])[0] for fit, held in self.folds]
            outer = self._pairs(*parts, np.arange(n), rows)
            self._known[_key(clone(cue).set_params(kernel__weighting=weighting))] = inner, outer

    def _pairs(
        self,
        blocks: np.ndarray,
        squares: np.ndarray,
        weighting: str | None,
        fit: np.ndarray,
        tests: Sequence[np.ndarray],
    ) -> FoldGrams:
        weights = np.ones(len(blocks))
        if weighting is not None:
            weights = alignment_weights(blocks[:, fit][:, :, fit], self.codes[fit])
        n_all, n = blocks.shape[1:]
        K = np.zeros(
            (n_all, n_all)
        )  # between two test recordings no product is needed, of one with itself it is
        K[:, :n] = np.tensordot(weights, blocks, axes=1)
        np.fill_diagonal(K, weights @ squares)
        pairs = [center_normalize_gram(K, fit, test) for test in tests]
        return [(inside.astype(np.float32), across.astype(np.float32)) for inside, across in pairs]


def _against(known: np.ndarray, every: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Inner products of each block, all recordings with the known ones (n_blocks, n_all, n), and with themselves."""
    blocks = np.empty((len(sizes), len(every), len(known)))
    squares = np.empty((len(sizes), len(every)))
    for b, (end, size) in enumerate(zip(np.cumsum(sizes), sizes, strict=True)):
        columns = slice(end - size, end)
        blocks[b] = gram(every[:, columns], known[:, columns])
        squares[b] = np.square(every[:, columns], dtype=np.float64).sum(axis=1)
    return blocks, squares


def _key(cue: Pipeline) -> tuple[Any, ...]:
    values = cue.get_params().items()
    return tuple(sorted((k, repr(v)) for k, v in values if k != "steps" and not isinstance(v, BaseEstimator)))


class SplitSearch(KernelSearch):
    """A `KernelSearch` that takes its Gram matrices from a split, and predicts from them without fitting again."""

    def choose(self, split: SplitGrams) -> SplitSearch:
        """Choose inside the training subjects of a split, as ``fit`` does."""
        self._split = split
        return self.fit(split.train, split.labels, groups=split.subjects)

    def predict_tests(self) -> dict[str, np.ndarray]:
        """Labels of every test set of the split, by name."""
        overrides = (self.variants or {"": {}})[self.variant_]
        cues = {name: with_parameters(cue, overrides) for name, cue in self.cues.items()}
        machines = [(dict(zip(t.cues, t.weights, strict=True)), t.C, t.scatter) for t in self.chosen_]
        return self._split.predict(machines, cues)

    def _grams(self, *_: Any) -> tuple[dict[tuple[str, str], FoldGrams], Failures]:
        grams = {
            (variant, name): self._split.of(with_parameters(cue, {**overrides, **(self.scout or {})}))[0]
            for variant, overrides in dict(self.variants or {"": {}}).items()
            for name, cue in self.cues.items()
        }
        return grams, {}

    def _final(self, *_: Any) -> Any:
        return None  # the machines are solved where they are tested
