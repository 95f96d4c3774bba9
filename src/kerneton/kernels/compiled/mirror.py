"""Features averaged with those of the mirror image, compiled by Numba."""

from __future__ import annotations

import itertools
from pathlib import Path

from kerneton.machine.compiled.cache import cached_jit, source_number
from kerneton.machine.threads import in_threads


def average(features, columns, source, factors, out, n_threads=1):
    """``out = (features[:, columns] + features[:, source]) * factors``."""
    n_threads = max(1, min(n_threads, len(out)))
    ends = [len(out) * i // n_threads for i in range(n_threads + 1)]
    in_threads(
        lambda rows: _kernel(features, columns, source, factors, *rows, out),
        itertools.pairwise(ends),
        n_threads,
    )


def _compile(sources):
    @cached_jit
    def kernel(features, columns, source, factors, first, last, out):
        if not sources:
            return
        for i in range(first, last):
            row, mean = features[i], out[i]
            for k in range(len(columns)):
                mean[k] = (row[columns[k]] + row[source[k]]) * factors[k]

    return kernel


_kernel = _compile(source_number(Path(__file__).parent))
