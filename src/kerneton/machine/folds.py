"""Held-out evaluation: folds of subjects, Gram matrices of folds, decision values of held-out
recordings.

Features are computed once. Every fold centres and normalises them on its own training side, learns
block weights there and solves its own classifier, all from inner products. Selection, calibration,
the comparison of presets and the paper's tables use only these functions.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, StratifiedKFold

from kerneton.core.grams import weighted_sums
from kerneton.data.notes import logger
from kerneton.exceptions import DataError, HeldOutError
from kerneton.machine.products import block_grams, gram
from kerneton.machine.scaling import center_normalize_gram, fold_weights
from kerneton.machine.solver import one_vs_rest, penalised_gram, per_class, solve_gram
from kerneton.machine.svm import class_weights

log = logger(__name__)

Folds = list[tuple[np.ndarray, np.ndarray]]  # positions to train on, positions to hold out
_MAX_FOLDS = 10
_SUM_ENTRIES = 2**23  # of sums of blocks that are computed together


def subject_folds(codes: np.ndarray, groups: Any) -> Folds:
    """Leave one subject out, ten folds of subjects if there are many, or folds of recordings
    without subjects.

    >>> [
    ...     valid.tolist()
    ...     for _, valid in subject_folds(np.array([0, 1, 0, 1]), ["ann", "ann", "bob", "bob"])
    ... ]
    [[0, 1], [2, 3]]
    """
    subjects = None if groups is None else np.asarray(groups).astype(str)
    if subjects is not None and len(subjects) != len(codes):
        raise DataError(f"{len(codes)} recordings but {len(subjects)} subjects")
    n_subjects = 0 if subjects is None else len(np.unique(subjects))
    if subjects is not None and n_subjects > 1:
        if n_subjects <= _MAX_FOLDS:
            return [
                (np.flatnonzero(subjects != s), np.flatnonzero(subjects == s))
                for s in np.unique(subjects)
            ]
        return list(GroupKFold(_MAX_FOLDS).split(codes, codes, subjects))
    counts = np.bincount(codes)
    if counts.max() < 2:
        raise HeldOutError(
            "every label has only one recording: none can be held out; record each action at least twice"
        )
    n_folds = max(2, min(5, int(counts.min())))
    log.warning(
        "%s: folds hold out recordings, not people", "one subject" if n_subjects else "no subjects"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # small classes are missing in some folds
        return list(StratifiedKFold(n_folds, shuffle=True, random_state=0).split(codes, codes))


@dataclass(frozen=True)
class BlockGrams:
    """Inner products of the features of one branch, block by block: of all recordings with the
    first n.

    Each fold weights, centres and normalises them on its own training side. ``squares`` are
    products of recordings with themselves, needed for those after the first n; ``factor``
    multiplies everything.
    """

    blocks: np.ndarray  # (n_blocks, n_all, n)
    squares: np.ndarray  # (n_blocks, n_all)
    weighted: bool = False
    center: bool = True
    norm: bool = True
    factor: float = 1.0
    n_threads: int = 1

    @classmethod
    def of(
        cls,
        features: Any,
        sizes: np.ndarray,
        others: Sequence[Any] = (),
        *,
        weighted: bool,
        n_threads: int = 1,
        **options: Any,
    ) -> BlockGrams:
        """From features (n, d) whose blocks have ``sizes``, and features of ``others``, which are
        never trained on.

        >>> grams = BlockGrams.of(np.eye(3)[:, :2], np.array([1, 1]), weighted=False)
        >>> grams.fold(np.array([0, 1, 0]), np.array([0, 1]), np.array([2]))[1].round(3).tolist()
        [[0.0, 0.0]]
        """
        if not np.isfinite(features).all():
            raise DataError("its features are not finite")
        if not weighted:
            sizes = np.array([features.shape[1]])
        if not others:
            blocks = block_grams(features, sizes, n_threads)
            squares = np.diagonal(blocks, axis1=1, axis2=2)
            return cls(blocks, squares, weighted, n_threads=n_threads, **options)
        every = np.concatenate([features, *others])
        blocks = np.empty((len(sizes), len(every), len(features)))
        squares = np.empty((len(sizes), len(every)))
        for b, (end, size) in enumerate(zip(np.cumsum(sizes), sizes, strict=True)):
            columns = slice(end - size, end)
            blocks[b] = gram(every[:, columns], features[:, columns])
            squares[b] = np.square(every[:, columns], dtype=np.float64).sum(axis=1)
        return cls(blocks, squares, weighted, **options)

    def weights(self, codes: np.ndarray, trains: Sequence[np.ndarray]) -> np.ndarray:
        """Weight of each block by its alignment with the labels of each training side, (n_sides,
        n_blocks).
        """
        if not self.weighted:
            return np.ones((len(trains), len(self.blocks)))
        return fold_weights(self.blocks, codes, trains, self.n_threads)

    def fold(
        self,
        codes: np.ndarray,
        train: np.ndarray,
        *tests: np.ndarray,
        weights: np.ndarray | None = None,
    ) -> tuple[np.ndarray, ...]:
        """Gram matrices (train, train) and (test, train) of the features of a branch fitted on
        ``train``.

        ``codes`` are the classes of the first n recordings, which include ``train``; ``weights``
        are the block weights if already known.
        """
        weights = self.weights(codes, [train])[0] if weights is None else weights
        return self._fold(weighted_sums(weights[None], self.blocks)[0], weights, train, *tests)

    def folds(self, folds: Folds, weights: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
        """`fold` of several folds with weights (n_folds, n_blocks); blocks are read once for as
        many folds as fit into memory.
        """
        n_all, n = self.blocks.shape[1:]
        at_once = max(1, _SUM_ENTRIES // (n_all * n))
        for i in range(0, len(folds), at_once):
            sums = weighted_sums(weights[i : i + at_once], self.blocks, self.n_threads)
            for K, w, (train, *tests) in zip(sums, weights[i:], folds[i:], strict=False):
                yield self._fold(K, w, train, *tests)

    def _fold(
        self, K: np.ndarray, weights: np.ndarray, train: np.ndarray, *tests: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        n_all, n = K.shape
        # products between two such recordings are not needed, except of each with itself
        if n_all > n:
            whole = np.zeros((n_all, n_all))
            whole[:, :n] = K
            np.fill_diagonal(whole, weights @ self.squares)
            K = whole
        found: list[Any] = []
        for test in tests:
            inside, across = center_normalize_gram(
                K, train, test, center=self.center, norm=self.norm
            )
            found = [*(found or [inside]), across]
        if self.factor != 1:
            found = [part * self.factor for part in found]
        return tuple(found)


def machines(
    K: np.ndarray,
    codes: np.ndarray,
    Cs: Sequence[float],
    *,
    penalty: float = 0.0,
    scaling: float = 1.0,
    **options: Any,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Duals (n_rows, n) and intercepts (n_rows,) for every C, of linear classifiers on a Gram
    matrix (n, n).

    ``codes`` are classes 0..k-1, all of which occur; decision values of x are ``k_x · duals +
    intercept`` with k_x its inner products with the n recordings of K. ``penalty`` is the
    within-class penalty, see `kerneton.machine.solver.penalised_gram`; ``scaling`` is the square of
    the intercept's; options go to `solve_gram`.

    >>> ((duals, intercept),) = machines(np.diag([1.0, 1.0]), np.array([0, 1]), [10.0])
    >>> np.round(duals, 2), bool(abs(intercept[0]) < 1e-12)
    (array([[-0.95,  0.95]]), True)
    """
    signs = one_vs_rest(codes, int(codes.max()) + 1)
    if penalty == 0:
        path = solve_gram(K + scaling, signs, Cs, **options)
        return [(beta, scaling * beta.sum(1)) for beta in path.coef]
    changed, duals = penalised_gram(K, codes, penalty)
    path = solve_gram(changed + scaling, signs, Cs, **options)
    return [(duals(beta), scaling * beta.sum(1)) for beta in path.coef]


def held_out_scores(
    inside: np.ndarray,
    across: np.ndarray,
    codes: np.ndarray,
    n_classes: int,
    Cs: Sequence[float],
    *,
    class_weight: Any = None,
    tol: float = 1e-4,
    **options: Any,
) -> np.ndarray:
    """Decision values (n_C, n_test, n_classes) of held-out recordings, from Gram matrices of a
    fold.

    ``codes`` are the classes of the training side; a class that is absent there gets -inf.
    ``class_weight`` is as in `class_weights`; options go to `machines`.

    >>> inside, across = np.eye(2), np.array([[0.9, 0.1]])
    >>> held_out_scores(inside, across, np.array([0, 1]), 3, [1.0]).argmax(-1).tolist()
    [[0]]
    """
    present, local = np.unique(codes, return_inverse=True)
    out = np.full((len(Cs), len(across), n_classes), -np.inf)
    if len(present) == 1:
        out[:, :, present] = 0.0
        return out
    if class_weight is not None and not isinstance(class_weight, str):
        class_weight = np.asarray(class_weight)[present]
    weights = class_weights(local, len(present), class_weight)
    for row, (duals, intercept) in zip(
        out, machines(inside, local, Cs, weights=weights, tol=tol, **options), strict=True
    ):
        row[:, present] = per_class(across @ duals.T + intercept)
    return out


def split_rows(n: int, sizes: Sequence[int]) -> list[np.ndarray]:
    """Positions of further sets of recordings that follow the first n.

    >>> [rows.tolist() for rows in split_rows(2, [1, 2])]
    [[2], [3, 4]]
    """
    ends = n + np.cumsum([0, *sizes])
    return [np.arange(start, end) for start, end in itertools.pairwise(ends)]
