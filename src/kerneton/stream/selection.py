"""Which of overlapping candidates stay: the non-overlapping segments with the largest total gain."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from kerneton.data.segments import Segment


def best_segments(candidates: Sequence[Segment], gains: Sequence[float]) -> list[int]:
    """Positions of non-overlapping candidates that maximise Σ gain, in order of time; gains ≤ 0 are never taken.

    By dynamic programming over candidates sorted by their stop: best(i) = max(best(i - 1), gain_i + best(p(i))), p(i) the
    last candidate that stops before i starts. Of equal totals the one with fewer and earlier segments stays.

    >>> long, a, b = Segment("x", 0, 10), Segment("x", 0, 5), Segment("x", 5, 10)
    >>> best_segments([long, a, b], [1.0, 0.7, 0.6])
    [1, 2]
    """
    order = sorted(
        (i for i in range(len(candidates)) if gains[i] > 0),
        key=lambda i: (candidates[i].stop, candidates[i].start, candidates[i].label),
    )
    stops = [candidates[i].stop for i in order]
    best = [0.0]
    taken: list[tuple[bool, int]] = []
    for n, i in enumerate(order):
        before = bisect_right(stops, candidates[i].start, 0, n)
        value = best[before] + gains[i]
        taken.append((value > best[-1], before))
        best.append(max(value, best[-1]))
    chosen: list[int] = []
    n = len(order)
    while n:
        take, before = taken[n - 1]
        if take:
            chosen.append(order[n - 1])
            n = before
        else:
            n -= 1
    return chosen[::-1]


def components(candidates: Sequence[Segment]) -> list[list[int]]:
    """Groups of candidates that overlap, directly or through others, in order of time.

    >>> components([Segment("x", 0, 5), Segment("x", 10, 15), Segment("x", 4, 8)])
    [[0, 2], [1]]
    """
    order = sorted(range(len(candidates)), key=lambda i: (candidates[i].start, candidates[i].stop))
    groups: list[list[int]] = []
    reach = -1
    for i in order:
        if groups and candidates[i].start < reach:
            groups[-1].append(i)
        else:
            groups.append([i])
        reach = max(reach, candidates[i].stop)
    return groups
