"""Samples that are spread over classes and subjects."""

from __future__ import annotations

from typing import Any

import numpy as np


def sample_rows(codes: np.ndarray, groups: Any, size: int, seed: int = 0) -> np.ndarray:
    """Positions of about ``size`` recordings: every class and as many subjects as possible, one
    recording of each in turn.

    >>> rows = sample_rows(np.repeat([0, 1], 50), ["ann", "bob"] * 50, 8)
    >>> np.bincount(np.repeat([0, 1], 50)[rows]).tolist()
    [4, 4]
    """
    order = np.random.default_rng(seed).permutation(len(codes))
    people = (
        np.zeros(len(codes), int) if groups is None else np.unique(groups, return_inverse=True)[1]
    )
    cells = (codes * (people.max() + 1) + people)[order]
    turn = _turns(cells)  # 0 for the first of its class and subject, 1 for the next
    # Within a turn, classes alternate, so that all classes grow equally.
    first = np.argsort(turn, kind="stable")
    within = np.empty(len(codes), int)
    within[first] = _turns(codes[order][first])
    chosen = np.lexsort((within, turn))[:size]
    missing = np.setdiff1d(codes, codes[order][chosen])
    extra = [np.flatnonzero(codes == c)[0] for c in missing]
    return np.unique(np.concatenate([order[chosen], extra]).astype(int))


def _turns(keys: np.ndarray) -> np.ndarray:
    """The number of equal keys before each.

    >>> _turns(np.array([5, 3, 5, 5])).tolist()
    [0, 0, 1, 2]
    """
    order = np.argsort(keys, kind="stable")
    _, starts, counts = np.unique(keys[order], return_index=True, return_counts=True)
    out = np.empty(len(keys), int)
    out[order] = np.arange(len(keys)) - np.repeat(starts, counts)
    return out
