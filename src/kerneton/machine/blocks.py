"""Features in blocks that need not be in memory: one pass over all of them maps and sums.

The solver of `kerneton.machine.truncated_newton` uses only `Blocks`: those of this machine, which
are in memory, on disk or computed again, and those of a cluster (`kerneton.recognize.cluster`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from kerneton.parallel.threads import in_threads

# (block (m, d), columns (…, m) of its rows, an array that all blocks share)
# → columns (…, m) of the result or None, and a term of the sum.
Work = Callable[..., tuple[np.ndarray | None, np.ndarray]]
_GROUPS = 8  # of blocks, each summed in order, so that sums do not depend on the number of threads


class Blocks(Protocol):
    """Features (n, d) in blocks of rows."""

    @property
    def shape(self) -> tuple[int, int]: ...

    def reduce(
        self, work: Work, *columns: np.ndarray, shared: np.ndarray | None = None
    ) -> tuple[np.ndarray | None, np.ndarray]:
        """One pass: columns of all blocks side by side (or None), and the sum over blocks in
        float64.
        """


class LocalBlocks:
    """Blocks that ``load(i)`` gives, with ``sizes`` rows each, several at a time on threads.

    >>> blocks = in_memory([np.eye(2), np.ones((1, 2))])
    >>> blocks.shape, blocks.reduce(inner_and_sum, np.array([[1.0, 2.0, 3.0]]))[1].tolist()
    ((3, 2), [[4.0, 5.0]])
    """

    def __init__(
        self,
        sizes: Sequence[int],
        n_features: int,
        load: Callable[[int], np.ndarray],
        n_threads: int = 1,
    ) -> None:
        self.ends = np.cumsum(sizes)
        self.shape = int(self.ends[-1]), n_features
        self.load, self.n_threads = load, n_threads

    def reduce(
        self, work: Work, *columns: np.ndarray, shared: np.ndarray | None = None
    ) -> tuple[np.ndarray | None, np.ndarray]:
        starts = [0, *self.ends[:-1]]

        def group(blocks: np.ndarray) -> tuple[list[Any], Any]:
            parts, total = [], None
            for i in blocks:
                rows = slice(starts[i], self.ends[i])
                part, term = work(self.load(i), *(c[..., rows] for c in columns), shared=shared)
                parts.append(part)
                total = term.astype(np.float64) if total is None else np.add(total, term, out=total)
            return parts, total

        groups = np.array_split(np.arange(len(self.ends)), min(_GROUPS, len(self.ends)))
        done = in_threads(group, groups, self.n_threads)
        parts = [part for some, _ in done for part in some]
        total = done[0][1]
        for _, term in done[1:]:
            total += term
        return None if parts[0] is None else np.concatenate(parts, axis=-1), total


def in_memory(arrays: Sequence[np.ndarray], n_threads: int = 1) -> LocalBlocks:
    """Blocks that are there."""
    return LocalBlocks([len(X) for X in arrays], arrays[0].shape[1], lambda i: arrays[i], n_threads)


def inner_and_sum(
    X: np.ndarray, *columns: np.ndarray, shared: np.ndarray | None = None
) -> tuple[np.ndarray | None, np.ndarray]:
    """``Σ_i constants_i x_i``; with shared rows W, ``f = W Xᵀ`` and ``Σ_i (factors f + constants)_i
    x_i``.

    >>> inner_and_sum(np.eye(2), np.ones((1, 2)), np.zeros((1, 2)), shared=np.array([[3.0, 4.0]]))
    (array([[3., 4.]]), array([[3., 4.]]))
    """
    if shared is None:
        return None, columns[0].astype(X.dtype) @ X
    factors, constants = columns
    inner = (shared.astype(X.dtype) @ X.T).astype(factors.dtype)
    return inner, (factors * inner + constants).astype(X.dtype) @ X


def sum_and_squares(
    X: np.ndarray, *columns: np.ndarray, shared: np.ndarray | None = None
) -> tuple[np.ndarray | None, np.ndarray]:
    """‖x_i‖² of every row, (1, m), its features weighted by ``shared`` (d,), and ``Σ_i constants_i
    x_i``.

    >>> sum_and_squares(np.full((2, 3), 2.0), np.ones((1, 2)))
    (array([[12., 12.]]), array([[4., 4., 4.]]))
    """
    Y = X * X if shared is None else X * X * shared.astype(X.dtype)
    return Y.sum(axis=1, dtype=np.float64)[None], columns[0].astype(X.dtype) @ X


def hinge_gradient(
    X: np.ndarray,
    signs: np.ndarray,
    C: np.ndarray,
    bias: np.ndarray,
    share: np.ndarray,
    *,
    shared: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """``f = W Xᵀ + bias``, and ``Σ_i (share (f - bias) - 2 C y max(0, 1 - y f))_i x_i``: the
    gradient at new weights.

    >>> one = np.ones((1, 1))
    >>> hinge_gradient(
    ...     np.array([[1.0, 2.0]]), one, one, 0 * one, 0 * one, shared=np.array([[0.1, 0.2]])
    ... )
    (array([[0.5]]), array([[-1., -2.]]))
    """
    inner = (shared.astype(X.dtype) @ X.T).astype(signs.dtype)
    f = inner + bias
    pull = share * inner - 2 * C * signs * (1 - signs * f).clip(0)
    return f, pull.astype(X.dtype) @ X
