"""Candidates of a search, tried: Gram matrices of every fold, and accuracy on what the folds hold out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from kerneton.data.progress import ticks
from kerneton.exceptions import DataError, ParameterError
from kerneton.machine.folds import BlockGrams, Folds, held_out_scores
from kerneton.machine.threads import in_threads
from kerneton.recognize.branch import Branch

if TYPE_CHECKING:
    from kerneton.data.progress import Progress

FoldGrams = list[tuple[np.ndarray, np.ndarray]]  # (train, train) and (held out, train), one pair per fold
Scores = dict[tuple[float, float], tuple[float, float, tuple[int, ...]]]  # as `score_sum` gives them
FAILURES = (DataError, ParameterError, np.linalg.LinAlgError)  # of a branch that recordings do not allow


class Trials(Protocol):
    """Where candidates are tried. ``Any`` stands for Gram matrices of folds, which on a cluster stay on its workers."""

    def fold_grams(self, branches: Sequence[Branch]) -> list[tuple[Any, str]]:
        """Gram matrices of each branch, or None and the reason."""

    def scores(
        self, sums: Sequence[list[tuple[Any, float]]], Cs: Sequence[float], penalties: Sequence[float]
    ) -> list[Scores]:
        """`score_sum` of each."""


@dataclass(frozen=True)
class LocalTrials:
    """In this process; ``grams`` gives the inner products of a branch's features on the training recordings."""

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
        self, sums: Sequence[list[tuple[Any, float]]], Cs: Sequence[float], penalties: Sequence[float]
    ) -> list[Scores]:
        with ticks(self.progress, len(sums), "candidates") as tick:

            def score(parts: list[tuple[Any, float]]) -> Scores:
                tick()
                return score_sum(parts, self.codes, self.folds, Cs, penalties)

            return in_threads(score, sums, self.n_threads)


def fold_grams(grams: BlockGrams, codes: np.ndarray, folds: Folds) -> FoldGrams:
    """Gram matrices of every fold in single precision, which is enough to rank candidates and half the memory."""
    weights = grams.weights(codes, [train for train, _ in folds])
    return [(a.astype(np.float32), b.astype(np.float32)) for a, b in grams.folds(folds, weights)]


def score_sum(
    parts: list[tuple[FoldGrams, float]],
    codes: np.ndarray,
    folds: Folds,
    Cs: Sequence[float],
    penalties: Sequence[float] = (0.0,),
) -> Scores:
    """Accuracy on held-out recordings, its standard error over folds and how many of each are right, by (penalty, C)."""
    total, right = sum(weight for _, weight in parts), np.zeros((len(penalties), len(Cs), len(folds)))
    for f, (train, valid) in enumerate(folds):
        inside: Any = sum(part[f][0].astype(np.float64) * (weight / total) for part, weight in parts)
        across = sum(part[f][1].astype(np.float64) * (weight / total) for part, weight in parts)
        for p, penalty in enumerate(penalties):
            scores = held_out_scores(inside, across, codes[train], codes.max() + 1, Cs, penalty=penalty)
            right[p, :, f] = (scores.argmax(axis=2) == codes[valid]).sum(axis=1)
    sizes = np.asarray([len(valid) for _, valid in folds])
    accuracy = right.sum(axis=2) / sizes.sum()
    spread = (right / sizes).std(axis=2) / np.sqrt(max(len(folds) - 1, 1))
    return {
        (penalty, C): (float(accuracy[p, c]), float(spread[p, c]), tuple(right[p, c].astype(int).tolist()))
        for p, penalty in enumerate(penalties)
        for c, C in enumerate(Cs)
    }
