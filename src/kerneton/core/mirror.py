"""Features averaged with those of the mirror image, computed by the core."""

from __future__ import annotations

import numpy as np

from kerneton import core
from kerneton.parallel.threads import in_threads, ranges

_average = core.function(
    "kn_mirror_average",
    *(core.int32, core.pointer, core.int64, core.int64, core.pointer, core.pointer, core.pointer),
    *(core.pointer, core.int64, core.pointer),
)


def average(
    features: np.ndarray,
    columns: np.ndarray,
    source: np.ndarray,
    own: np.ndarray,
    other: np.ndarray,
    n_threads: int = 1,
) -> np.ndarray:
    """``features[:, columns] * own + features[:, source] * other`` in float32 or float64, (n,
    n_kept).

    ``features`` are (n, n_all), the others (n_kept,).

    >>> half = np.full(2, 0.5)
    >>> average(
    ...     np.array([[1.0, 2.0, 5.0]]), np.array([0, 1]), np.array([2, 1]), half, half
    ... ).tolist()
    [[3.0, 2.0]]
    """
    features = np.ascontiguousarray(features)
    (n, n_all), kind, dtype = features.shape, core.precision(features.dtype), features.dtype
    columns, source = (np.ascontiguousarray(places, np.int64) for places in (columns, source))
    own, other = (np.ascontiguousarray(factors, dtype) for factors in (own, other))
    n_kept, out = len(columns), np.empty((n, len(columns)), dtype)
    if not n_kept == len(source) == len(own) == len(other):
        raise ValueError(
            f"{n_kept} columns, {len(source)} images, {len(own)} and {len(other)} factors"
        )

    def work(part: tuple[int, int]) -> None:
        first, last = part
        _average(
            *(kind, core.address(features[first:last]), last - first, n_all, core.address(columns)),
            *(core.address(source), core.address(own), core.address(other), n_kept),
            core.address(out[first:last]),
        )

    in_threads(work, ranges(n, n_threads), n_threads)
    return out
