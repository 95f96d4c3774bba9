"""A search on a Dask cluster: Gram matrices of folds are computed and kept on the workers; only
accuracies are returned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kerneton.data.progress import silent
from kerneton.data.sequence import SkeletonSequence
from kerneton.machine.dask_client import asked, ended
from kerneton.machine.folds import Folds
from kerneton.parallel.threads import one_blas_thread
from kerneton.recognize.branch import RUNTIME_PARAMETERS, Branch, branch_key, share_preprocessing
from kerneton.recognize.cluster import submitted
from kerneton.recognize.encoder import Encoder, FoldGrams, LocalTrials, Scores, Trials, score_sum
from kerneton.recognize.search import with_parameters

if TYPE_CHECKING:
    from kerneton.data.progress import Progress


class ClusterEncoder(Encoder):
    """An encoder that tries candidates on the cluster and encodes the chosen branches in this
    process.
    """

    def __init__(
        self, client: Any, sequences: Sequence[SkeletonSequence], n_threads: int = 1
    ) -> None:
        super().__init__(sequences, n_threads)
        self.client = client
        # Tasks on one worker share this object, so steps that branches have in common are computed
        # once there.
        self.there = submitted(client, Encoder, self.sequences)
        self.tried: dict[Any, Any] = {}  # the task of each kernel; its worker has the features
        self._inner: dict[str, np.ndarray] = {}

    def trials(self, codes: np.ndarray, folds: Folds, progress: Progress | None = None) -> Trials:
        return ClusterTrials(self.client, self.there, codes, folds, progress or silent, self.tried)

    def fit_all(
        self, branches: Mapping[str, Branch], y: np.ndarray, progress: Progress | None = None
    ) -> dict[str, np.ndarray]:
        tasks = [
            submitted(self.client, _fitted, self.there, branch, y, workers=self._places(branch))
            for branch in branches.values()
        ]
        self.tried.clear()  # also frees the Gram matrices on the workers
        found: dict[str, np.ndarray] = {}
        named = list(zip(branches.items(), tasks, strict=True))
        for (name, branch), task in (
            progress(named, total=len(named), desc="kernels") if progress else named
        ):
            state, found[name], self._inner[name] = asked(self.client, task.result, [task])
            branch.set_state(state)
            given = branch.kernel.get_params(deep=False)
            branch.kernel_.set_params(**{k: given[k] for k in RUNTIME_PARAMETERS if k in given})
        share_preprocessing(branches.values())
        return found

    def _places(self, branch: Branch) -> Any:
        """The workers that tried a branch and therefore have its features."""
        task = self.tried.get(_without_mirror(branch))
        return (
            None
            if task is None
            else asked(self.client, lambda: self.client.who_has([task])).get(task.key)
        )

    def inner(
        self,
        branches: Mapping[str, Branch],
        y: np.ndarray,  # noqa: ARG002
        progress: Progress | None = None,  # noqa: ARG002
    ) -> dict[str, np.ndarray]:
        return {name: self._inner[name] for name in branches}


class ClusterTrials:
    """A task per branch, whose Gram matrices stay on its worker, and a task per sum of them."""

    def __init__(
        self,
        client: Any,
        encoder: Any,
        codes: np.ndarray,
        folds: Folds,
        progress: Progress,
        tried: dict[Any, Any],
    ) -> None:
        self.client, self.encoder, self.progress, self.given = (
            client,
            encoder,
            progress,
            (codes, folds),
        )
        self.tried = tried

    def fold_grams(self, branches: Sequence[Branch]) -> list[tuple[Any, str]]:
        groups: dict[Any, list[int]] = {}  # one task: mirrored features need the unmirrored ones
        for i, branch in enumerate(branches):
            groups.setdefault(_without_mirror(branch), []).append(i)
        tasks = [
            submitted(
                self.client, _fold_grams, self.encoder, [branches[i] for i in group], *self.given
            )
            for group in groups.values()
        ]
        self.tried.update(zip(groups, tasks, strict=True))
        reasons = [submitted(self.client, _reasons, task) for task in tasks]
        told = self._answers(reasons, "kernels")
        found: dict[int, tuple[Any, str]] = {}
        for group, task, some in zip(groups.values(), tasks, told, strict=True):
            for place, (i, reason) in enumerate(zip(group, some, strict=True)):
                found[i] = None if reason else submitted(self.client, _grams, task, place), reason
        return [found[i] for i in range(len(branches))]

    def scores(
        self,
        sums: Sequence[list[tuple[Any, float]]],
        Cs: Sequence[float],
        penalties: Sequence[float],
    ) -> list[Scores]:
        tasks = [
            submitted(
                self.client,
                _scores,
                [task for task, _ in parts],
                [weight for _, weight in parts],
                *self.given,
                Cs,
                penalties,
            )
            for parts in sums
        ]
        return self._answers(tasks, "candidates")

    def _answers(self, tasks: list[Any], what: str) -> list[Any]:
        for _ in self.progress(ended(self.client, tasks), total=len(tasks), desc=what):
            pass
        return list(asked(self.client, lambda: self.client.gather(tasks), tasks))


def _without_mirror(branch: Branch) -> Any:
    return branch_key(with_parameters(branch, {"kernel__mirror": False}))


@one_blas_thread()
def _fold_grams(
    encoder: Encoder, branches: list[Branch], codes: np.ndarray, folds: Folds
) -> list[tuple[FoldGrams | None, str]]:
    for branch in branches:
        branch.run_on(n_jobs=1)
    return LocalTrials(encoder.grams, codes, folds).fold_grams(branches)


def _reasons(found: list[tuple[Any, str]]) -> list[str]:
    return [reason for _, reason in found]


def _grams(found: list[tuple[FoldGrams, str]], place: int) -> FoldGrams:
    return found[place][0]


@one_blas_thread()
def _fitted(
    encoder: Encoder, branch: Branch, y: np.ndarray
) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    """The fitted steps of a branch, its features of the recordings, and their inner products."""
    features = encoder.fit(branch, y)
    return branch.get_state(), features, encoder.inner({"": branch}, y)[""]


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
