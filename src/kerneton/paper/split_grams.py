"""One split of a protocol as Gram matrices: every cue is encoded once for all choices and tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from kerneton.data.sequence import SkeletonSequence
from kerneton.machine.folds import BlockGrams, Folds, held_out_scores, split_rows, subject_folds
from kerneton.recognize.branch import Branch, branch_key
from kerneton.recognize.encoder import (
    Encoder,
    LocalTrials,
    fold_grams,
    fold_options,
    is_weighted,
    score_sum,
)
from kerneton.recognize.search import Mixture, Outcome, Search


@dataclass
class SplitGrams:
    """Training recordings with subjects, and test sets by name (for example the recordings as they
    are, and turned).

    The reference skeleton and the scale of velocities are learned from the training recordings, and
    joint weights from the training side of each fold, exactly as in `Recognizer`.
    """

    train: Sequence[SkeletonSequence]
    labels: np.ndarray
    subjects: np.ndarray
    tests: Mapping[str, Sequence[SkeletonSequence]]

    def __post_init__(self) -> None:
        self.classes, self.codes = np.unique(self.labels, return_inverse=True)
        self.folds: Folds = subject_folds(self.codes, self.subjects)
        self.encoder = Encoder(self.train)
        self._grams: dict[str, BlockGrams] = {}
        self._features: dict[str, tuple[Any, np.ndarray, list[np.ndarray]]] = {}

    def grams(self, branch: Branch) -> BlockGrams:
        """Inner products of a branch's features, training recordings first, then the test sets."""
        key = branch_key(branch)
        if key not in self._grams:
            sizes, features, tests = self._encoded(branch)
            weighted = is_weighted(branch.kernel)
            self._grams[key] = BlockGrams.of(
                features, sizes, tests, weighted=weighted, **fold_options(branch)
            )
        return self._grams[key]

    def choose(self, search: Search, branches: Mapping[str, Branch]) -> Outcome:
        """Choose inside the training subjects, as a `Recognizer` does."""
        return search.run(branches, LocalTrials(self.grams, self.codes, self.folds))

    def validation(self, cues: Sequence[Branch], C: float, penalty: float) -> float:
        """Accuracy of a sum of cues on held-out training subjects."""
        parts = [(fold_grams(self.grams(cue), self.codes, self.folds), 1.0) for cue in cues]
        return score_sum(parts, self.codes, self.folds, [C], [penalty])[penalty, C][0]

    def predict(
        self, mixtures: Sequence[Mixture], cues: Mapping[str, Branch]
    ) -> dict[str, np.ndarray]:
        """Labels of every test set, by name, from the averaged decision values of mixtures."""
        every = np.arange(len(self.codes))
        rows = split_rows(len(every), [len(test) for test in self.tests.values()])
        parts: dict[str, list[Any]] = {}
        for name in {name for mixture in mixtures for name in mixture.shares}:
            found = self.grams(cues[name]).fold(self.codes, every, *rows)
            parts[name] = [part.astype(np.float32) for part in found]
        scores: Any = dict.fromkeys(self.tests, 0.0)
        for mixture in mixtures:
            shares = mixture.shares.items()
            inside: Any = sum(parts[name][0].astype(np.float64) * share for name, share in shares)
            across = [
                sum(parts[name][t + 1] * share for name, share in shares) for t in range(len(rows))
            ]
            (found,) = held_out_scores(
                inside,
                np.concatenate(across),
                self.codes,
                len(self.classes),
                [mixture.C],
                penalty=mixture.penalty,
                tol=1e-6,
            )
            ends = np.cumsum([len(a) for a in across])[:-1]
            for name, part in zip(self.tests, np.split(found, ends), strict=True):
                scores[name] = scores[name] + part
        return {name: self.classes[s.argmax(axis=1)] for name, s in scores.items()}

    def _encoded(self, branch: Branch) -> tuple[Any, np.ndarray, list[np.ndarray]]:
        """Block sizes and features of the training recordings and of each test set, before
        weighting.
        """
        plain = clone(branch).set_params(kernel__weighting=None, scale=None)
        key = branch_key(plain)
        if key not in self._features:
            encoded = self.encoder.encoded(plain)
            tests = self._mirrored(plain)
            if tests is None:
                poses = [encoded.preprocess.transform(test) for test in self.tests.values()]
                tests = [encoded.kernel.transform(p) for p in poses]
            self._features[key] = encoded.kernel.block_sizes_, encoded.features, tests
        return self._features[key]

    def _mirrored(self, plain: Branch) -> list[np.ndarray] | None:
        """Mirrored features of the test sets, from those without mirroring."""
        if not plain.kernel.mirror:
            return None
        twin = clone(plain).set_params(kernel__mirror=False)
        kernel = self.encoder.encoded(twin).kernel
        tests = self._encoded(twin)[2]
        found = [kernel.mirrored(features, plain.kernel.mirror) for features in tests]
        return None if any(f is None for f in found) else [features for _, features in found]
