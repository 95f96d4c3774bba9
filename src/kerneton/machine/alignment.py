"""Which joints tell the labels apart: centred kernel alignment of each block of features with the labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from kerneton.machine.gram import gram

_QUIET = 0.01  # blocks that vary less than this part of the liveliest one (a centred root, say) say nothing


def block_grams(features: Any, block_sizes: np.ndarray) -> np.ndarray:
    """Inner products of each block of features, (n_blocks, n, n).

    >>> block_grams(np.array([[1.0, 2.0, 3.0]]), np.array([1, 2])).tolist()
    [[[1.0]], [[13.0]]]
    """
    ends = np.cumsum(block_sizes)
    return np.stack(
        [gram(features[:, end - size : end]) for end, size in zip(ends, block_sizes, strict=True)]
    )


def alignment_weights(grams: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Weight of each block, (n_blocks,): the square of its alignment with the labels, mean 1.

    ::

        a_b = <H K_b H, H Y H> / (‖H K_b H‖ ‖H Y H‖),   w_b ∝ max(0, a_b)²,   Y_ij = [y_i = y_j],   H = I - 11ᵀ/n

    One pass, no optimiser.

    >>> useful, noise = np.kron(np.eye(2), np.ones((2, 2))), np.eye(4)
    >>> alignment_weights(np.stack([useful, noise]), np.array(["a", "a", "b", "b"])).round(2).tolist()
    [1.5, 0.5]
    """
    labels = center_gram((y[:, None] == y[None, :]).astype(float))
    centred = np.stack([center_gram(K) for K in grams])
    traces = np.trace(centred, axis1=1, axis2=2)
    norms = np.sqrt((centred**2).sum(axis=(1, 2)) * (labels**2).sum())
    inner = (centred * labels).sum(axis=(1, 2))
    alignment = np.divide(inner, norms, out=np.zeros_like(inner), where=norms > 0)
    weights = np.where(traces >= _QUIET * traces.max(), np.maximum(alignment, 0) ** 2, 0.0)
    if not weights.any():  # one label, or no variation: nothing to learn from
        return np.ones(len(weights))
    return weights * (len(weights) / weights.sum())


def center_gram(K: np.ndarray) -> np.ndarray:
    """H K H: inner products of features less their mean.

    >>> center_gram(np.array([[1.0, 1.0], [1.0, 1.0]])).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    rows = K.mean(axis=0)
    return K - rows[:, None] - rows[None, :] + rows.mean()
