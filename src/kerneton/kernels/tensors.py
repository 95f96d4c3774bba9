"""Symmetric tensors: sums of outer products over frames, and the unique entries of these sums."""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from typing import Any

import numpy as np

from kerneton.data.arrays import asarray_like, index_like, is_torch, namespace_of


def n_entries(d: int, order: int, entries: str) -> int:
    """How many entries `unique_entries` keeps of a tensor with side d.

    >>> n_entries(21, 3, "simplex"), n_entries(22, 3, "simplex"), n_entries(21, 3, "slices")
    (1771, 2024, 4851)
    """
    if entries == "slices" and order == 3:
        return d * d * (d + 1) // 2
    return math.comb(d + order - 1, order)


@functools.lru_cache(maxsize=32)
def entry_table(d: int, order: int, entries: str) -> tuple[np.ndarray, np.ndarray]:
    """Flat positions of the kept entries, (m, n_entries), to be averaged over m, and their weights (n_entries,).

    "simplex" keeps the entries k ≤ i ≤ j of the tensor's symmetric part, weighted by √(number of permutations):
    exact for super-symmetric tensors, and the nearest one for others. "upper" keeps as many, each from the slice
    that its largest index names: the paper's upper simplex of slices stacked along the third mode. "slices" keeps
    i ≤ j of every slice, weighted by √2 off the diagonal: exact also where slices differ, as after slice-wise EPN.
    """
    if order == 3 and entries == "slices":
        pairs = list(itertools.combinations_with_replacement(range(d), 2))
        kept = np.asarray([(k, i, j) for k in range(d) for i, j in pairs])
        weights = np.where(kept[:, 1] == kept[:, 2], 1.0, math.sqrt(2))
        orders = [[0, 1, 2]]
    else:
        kept = np.asarray(list(itertools.combinations_with_replacement(range(d), order)))
        repeats = [math.prod(math.factorial(c) for c in Counter(e).values()) for e in kept.tolist()]
        weights = np.sqrt(math.factorial(order) / np.asarray(repeats))
        # Each slice is symmetric by itself, so which index names the slice is all that differs.
        orders = [[2, 0, 1], [1, 0, 2], [0, 1, 2]] if order == 3 else [list(range(order))]
        if entries == "upper":
            orders = orders[:1]
    strides = d ** np.arange(order - 1, -1, -1)
    return np.stack([kept[:, o] @ strides for o in orders]), weights


def unique_entries(tensors: Any, order: int, entries: str = "simplex") -> Any:
    """The entries that symmetry leaves, weighted by √multiplicity; (..., d, d, d) → (..., n_entries).

    >>> a, b = np.random.default_rng(0).normal(size=(2, 5))
    >>> A, B = (np.einsum("i,j,k->ijk", v, v, v) for v in (a, b))
    >>> bool(np.isclose(unique_entries(A, 3) @ unique_entries(B, 3), (A * B).sum()))
    True
    """
    d = tensors.shape[-1]
    positions, weights = entry_table(d, order, entries)
    flat = tensors.reshape(*tensors.shape[: tensors.ndim - order], d**order)
    kept = sum(flat[..., index_like(p, tensors)] for p in positions)
    return kept * asarray_like(weights / len(positions), tensors)


def permuted_entries(permutation: np.ndarray, order: int, entries: str = "simplex") -> np.ndarray:
    """Where each kept entry comes from when the tensor's indices are permuted; (d,) → (n_entries,).

    ``entries`` is as in `unique_entries`, but for "upper", which does not keep all it would need, or "all": d**order.

    >>> A = np.array([[1.0, 2.0], [2.0, 5.0]])
    >>> unique_entries(A[::-1, ::-1], 2).tolist() == unique_entries(A, 2)[permuted_entries(np.array([1, 0]), 2)].tolist()
    True
    """
    return _permuted_entries(tuple(np.asarray(permutation).tolist()), order, entries)


@functools.lru_cache(maxsize=64)
def _permuted_entries(permutation: tuple[int, ...], order: int, entries: str) -> np.ndarray:
    d = len(permutation)
    if entries == "all":
        return np.arange(d**order).reshape((d,) * order)[np.ix_(*[permutation] * order)].ravel()
    if order == 3 and entries == "slices":
        pairs = list(itertools.combinations_with_replacement(range(d), 2))
        kept: list[tuple[int, ...]] = [(k, *pair) for k in range(d) for pair in pairs]
        moved = [(permutation[k], *sorted((permutation[i], permutation[j]))) for k, i, j in kept]
    else:
        kept = list(itertools.combinations_with_replacement(range(d), order))
        moved = [tuple(sorted(permutation[i] for i in entry)) for entry in kept]
    place = {entry: n for n, entry in enumerate(kept)}
    return np.asarray([place[entry] for entry in moved])


def outer_power_sum(v: Any, order: int) -> Any:
    """Σ_s v_s ⊗ ... ⊗ v_s, `order` times; (B, J, T, d) → (B, J, d, ...).

    For order 3 the sum over frames is one matrix product of v with its own row-wise products.

    >>> import numpy as np
    >>> v = np.random.default_rng(0).normal(size=(2, 3, 7, 4))
    >>> np.allclose(outer_power_sum(v, 3), np.einsum("bjtx,bjty,bjtz->bjxyz", v, v, v))
    True
    """
    if order == 1:
        return v.sum(2)
    transposed = v.swapaxes(-1, -2)
    if order == 2:
        return transposed @ v
    *lead, n_frames, d = v.shape
    if is_torch(v):
        squares = (v[..., :, None] * v[..., None, :]).reshape(*lead, n_frames, d * d)
        return (transposed @ squares).reshape(*lead, d, d, d)
    # One recording at a time: its products stay in the processor's cache.
    xp = namespace_of(v)
    out = xp.empty((*lead, d, d * d), dtype=v.dtype)
    for recording, row in zip(v, out, strict=True):
        squares = (recording[..., :, None] * recording[..., None, :]).reshape(-1, n_frames, d * d)
        xp.matmul(recording.swapaxes(-1, -2), squares, out=row)
    return out.reshape(*lead, d, d, d)
