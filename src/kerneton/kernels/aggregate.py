"""Sums of outer products over frames and pairs of frames: the hot mathematics."""

from __future__ import annotations

from typing import Any

from kerneton.data.arrays import is_torch, namespace_of


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
