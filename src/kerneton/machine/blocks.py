"""Features in blocks that need not be in memory: one pass over all of them maps and sums.

The solver of `kerneton.machine.primal` only uses `Blocks`. ``load`` takes a block from memory or from disk, or computes it again; on a
cluster another class has the same method.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from kerneton.machine.arrays import as_dtype_of, namespace_of
from kerneton.machine.threads import in_threads

# (block (m, d), columns (…, m) of its rows, arrays that all blocks share) → columns (…, m) of the result or None, and a term of the sum.
Work = Callable[..., tuple[np.ndarray | None, np.ndarray]]
_GROUPS = 8  # of blocks, each summed in order, so that sums do not depend on the number of threads


class Blocks(Protocol):
    """Features (n, d) in blocks of rows; sums are arrays of the same library and device as ``like``."""

    like: Any

    @property
    def shape(self) -> tuple[int, int]: ...

    def reduce(self, work: Work, *columns: Any, shared: Any = None) -> tuple[Any, Any]:
        """One pass: columns of all blocks side by side (or None), and the sum over blocks."""


class LocalBlocks:
    """Blocks that ``load(i)`` gives, with ``sizes`` rows each, several at a time on threads.

    >>> blocks = in_memory([np.eye(2), np.ones((1, 2))])
    >>> blocks.shape, blocks.reduce(inner_and_sum, np.array([[1.0, 2.0, 3.0]]))[1].tolist()
    ((3, 2), [[4.0, 5.0]])
    """

    like = np.zeros(0)

    def __init__(
        self, sizes: Sequence[int], n_features: int, load: Callable[[int], np.ndarray], n_threads: int = 1
    ) -> None:
        self.ends = np.cumsum(sizes)
        self.shape = int(self.ends[-1]), n_features
        self.load, self.n_threads = load, n_threads

    def reduce(self, work: Work, *columns: np.ndarray, shared: Any = None) -> tuple[Any, np.ndarray]:
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
        found = in_threads(group, groups, self.n_threads)
        parts = [part for some, _ in found for part in some]
        total = found[0][1]
        for _, term in found[1:]:
            total += term
        return None if parts[0] is None else np.concatenate(parts, axis=-1), total


class DeviceBlocks:
    """Blocks as torch tensors on one device; those in page-locked host memory are copied on a separate stream, one block ahead.

    >>> import torch
    >>> blocks = DeviceBlocks([torch.eye(2), torch.ones(1, 2)], "cpu")
    >>> blocks.reduce(inner_and_sum, torch.tensor([[1.0, 2.0, 3.0]]))[1].tolist()
    [[4.0, 5.0]]
    """

    def __init__(self, blocks: Sequence[Any], device: Any) -> None:
        self.torch = namespace_of(blocks[0])
        self.blocks, self.device = blocks, self.torch.device(device)
        self.ends = np.cumsum([len(X) for X in blocks])
        self.shape = int(self.ends[-1]), blocks[0].shape[1]
        self.like = self.torch.zeros(0, dtype=self.torch.float64, device=device)

    def reduce(self, work: Work, *columns: Any, shared: Any = None) -> tuple[Any, Any]:
        parts: list[Any] = []
        total: Any = 0.0
        start = 0
        for X, end in zip(self._loaded(), self.ends, strict=True):
            part, term = work(X, *(c[..., start:end] for c in columns), shared=shared)
            parts.append(part)
            total, start = total + as_dtype_of(term, self.like), end
        return None if parts[0] is None else self.torch.cat(parts, -1), total

    def _loaded(self) -> Iterator[Any]:
        away = any(X.device.type != self.device.type for X in self.blocks)
        if not away:
            yield from self.blocks
            return
        cuda = self.torch.cuda
        here, copying = cuda.current_stream(self.device), cuda.Stream(self.device)

        def fetched(i: int) -> Any:
            with cuda.stream(copying):
                return self.blocks[i].to(self.device, non_blocking=True)

        ahead = fetched(0)
        for i in range(len(self.blocks)):
            X = ahead
            here.wait_stream(copying)
            if i + 1 < len(self.blocks):
                ahead = fetched(i + 1)
            X.record_stream(here)
            yield X


def in_memory(arrays: Sequence[np.ndarray], n_threads: int = 1) -> LocalBlocks:
    """Blocks that are there."""
    return LocalBlocks([len(X) for X in arrays], arrays[0].shape[1], lambda i: arrays[i], n_threads)


def inner_and_sum(X: Any, *columns: Any, shared: Any = None) -> tuple[Any, Any]:
    """``Σ_i constants_i x_i``; with shared rows W, ``f = W Xᵀ`` and ``Σ_i (factors f + constants)_i x_i``.

    >>> inner_and_sum(np.eye(2), np.ones((1, 2)), np.zeros((1, 2)), shared=np.array([[3.0, 4.0]]))
    (array([[3., 4.]]), array([[3., 4.]]))
    """
    if shared is None:
        return None, as_dtype_of(columns[0], X) @ X
    factors, constants = columns
    inner = as_dtype_of(as_dtype_of(shared, X) @ X.T, factors)
    return inner, as_dtype_of(factors * inner + constants, X) @ X


def sum_and_squares(X: Any, *columns: Any, shared: Any = None) -> tuple[Any, Any]:
    """‖x_i‖² of every row, (1, m), its features weighted by ``shared`` (d,), and ``Σ_i constants_i x_i``.

    >>> sum_and_squares(np.full((2, 3), 2.0), np.ones((1, 2)))
    (array([[12., 12.]]), array([[4., 4., 4.]]))
    """
    Y = X * X if shared is None else X * X * as_dtype_of(shared, X)
    return Y.sum(1, dtype=namespace_of(X).float64)[None], as_dtype_of(columns[0], X) @ X


def hinge_gradient(X: Any, signs: Any, C: Any, bias: Any, share: Any, *, shared: Any) -> tuple[Any, Any]:
    """``f = W Xᵀ + bias``, and ``Σ_i (share (f - bias) - 2 C y max(0, 1 - y f))_i x_i``: the gradient at new weights.

    >>> one = np.ones((1, 1))
    >>> hinge_gradient(np.array([[1.0, 2.0]]), one, one, 0 * one, 0 * one, shared=np.array([[0.1, 0.2]]))
    (array([[0.5]]), array([[-1., -2.]]))
    """
    inner = as_dtype_of(as_dtype_of(shared, X) @ X.T, signs)
    f = inner + bias
    pull = share * inner - 2 * C * signs * (1 - signs * f).clip(0)
    return f, as_dtype_of(pull, X) @ X
