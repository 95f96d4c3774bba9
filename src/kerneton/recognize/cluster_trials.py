"""A search on a Dask cluster: Gram matrices of folds are computed and stay on the workers; accuracies come back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kerneton.data.progress import silent
from kerneton.data.sequence import SkeletonSequence
from kerneton.machine.folds import Folds
from kerneton.machine.threads import one_blas_thread
from kerneton.recognize.branch import Branch
from kerneton.recognize.cluster import asked
from kerneton.recognize.encoder import Encoder
from kerneton.recognize.trials import FAILURES, FoldGrams, Scores, Trials, fold_grams, score_sum

if TYPE_CHECKING:
    from kerneton.data.progress import Progress


class ClusterEncoder(Encoder):
    """Encodes in this process what was chosen; candidates are tried on the cluster."""

    def __init__(self, client: Any, sequences: Sequence[SkeletonSequence], n_threads: int = 1) -> None:
        super().__init__(sequences, n_threads)
        self.client = client

    def trials(self, codes: np.ndarray, folds: Folds, progress: Progress | None = None) -> Trials:
        return ClusterTrials(self.client, self.sequences, codes, folds, progress or silent)


class ClusterTrials:
    """A task per branch, whose Gram matrices stay where it ran, and a task per sum of them."""

    def __init__(
        self,
        client: Any,
        sequences: Sequence[SkeletonSequence],
        codes: np.ndarray,
        folds: Folds,
        progress: Progress,
    ) -> None:
        self.client, self.progress, self.given = client, progress, (codes, folds)
        # Tasks on one worker are given the same object: what branches have in common is computed there once.
        self.encoder = client.submit(Encoder, list(sequences), pure=False)

    def fold_grams(self, branches: Sequence[Branch]) -> list[tuple[Any, str]]:
        tasks = [
            self.client.submit(_fold_grams, self.encoder, branch, *self.given, pure=False)
            for branch in branches
        ]
        self._wait(tasks, "kernels")
        found: list[tuple[Any, str]] = []
        for task in tasks:
            error = asked(task.exception)
            if error is not None and not isinstance(error, FAILURES):
                asked(task.result)
            found.append((task, "") if error is None else (None, str(error)))
        return found

    def scores(
        self, sums: Sequence[list[tuple[Any, float]]], Cs: Sequence[float], penalties: Sequence[float]
    ) -> list[Scores]:
        tasks = [
            self.client.submit(
                _scores,
                [task for task, _ in parts],
                [weight for _, weight in parts],
                *self.given,
                Cs,
                penalties,
                pure=False,
            )
            for parts in sums
        ]
        self._wait(tasks, "candidates")
        return asked(lambda: self.client.gather(tasks))

    def _wait(self, tasks: list[Any], what: str) -> None:
        from distributed import as_completed

        for _ in self.progress(as_completed(tasks), total=len(tasks), desc=what):
            pass


@one_blas_thread()
def _fold_grams(encoder: Encoder, branch: Branch, codes: np.ndarray, folds: Folds) -> FoldGrams:
    return fold_grams(encoder.grams(branch.run_on(n_jobs=1)), codes, folds)


@one_blas_thread()
def _scores(
    parts: list[FoldGrams],
    weights: list[float],
    codes: np.ndarray,
    folds: Folds,
    Cs: Sequence[float],
    penalties: Sequence[float],
) -> Scores:
    return score_sum(list(zip(parts, weights, strict=True)), codes, folds, Cs, penalties)
