"""Choosing among overlapping candidates: the non-overlapping segments with the largest total
gain.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kerneton.data.segments import Segment

_SKIPPED = 0.3  # weight of a pair with another action in between, which might be missed
_UNSEEN = 0.1  # pseudo-count of pairs, so that no pair is impossible


@dataclass(frozen=True)
class Order:
    """Which action follows which: log P(b | a) / P(b) for the action b after a, and for the first
    one of a recording.
    """

    labels: tuple[str, ...]
    table: np.ndarray  # (n_labels + 1, n_labels), the last row for the first action
    reach: int  # frames between two actions beyond which the order is not used
    threshold: float = 0.0  # log odds, including the order, below which nothing is reported

    def gains(self, before: Segment | None) -> np.ndarray:
        """(n_labels,) the gain of every label if it comes next."""
        row = len(self.labels) if before is None else self.labels.index(before.label)
        return self.table[row]

    def gain(self, before: Segment | None, segment: Segment) -> float:
        """The gain of a segment from the one before it."""
        if segment.start - (0 if before is None else before.stop) > self.reach:
            return 0.0
        return float(self.gains(before)[self.labels.index(segment.label)])

    def get_state(self) -> dict[str, Any]:
        """The learned values with the labels, for a file."""
        return {"table": self.table, "reach": self.reach, "threshold": self.threshold}


def learn_order(recordings: Sequence[Sequence[Segment]], labels: tuple[str, ...]) -> Order:
    """Learn from the segments of recordings; a pair with others in between has a small weight, an
    unseen pair a very small one.

    >>> order = learn_order([[Segment("a", 0, 5), Segment("b", 9, 12)]] * 3, ("a", "b"))
    >>> order.table.round(1).tolist(), order.reach
    ([[-2.8, 0.5], [0.0, 0.0], [0.5, -0.8]], 4)
    """
    k, reach = len(labels), 0
    counts = np.zeros((k + 1, k))
    for segments in recordings:
        ordered = sorted(segments, key=lambda s: (s.start, s.stop))
        codes = [k, *(labels.index(s.label) for s in ordered)]
        for i, a in enumerate(codes):
            for j, b in enumerate(codes[i + 1 :]):
                counts[a, b] += _SKIPPED**j
        stops = [0, *(s.stop for s in ordered)]
        reach = max([reach, *(s.start - t for s, t in zip(ordered, stops, strict=False))])
    usual = counts.sum(axis=0) + _UNSEEN
    usual /= usual.sum()
    share = (counts + _UNSEEN * k * usual) / (counts.sum(axis=1, keepdims=True) + _UNSEEN * k)
    return Order(labels, np.log(share / usual), int(reach))


class Paths:
    """The best path to every candidate, by dynamic programming over candidates sorted by their end.

    best(i) = gain_i + max(from the start, max over j that stop before i starts of best(j) +
    order(j, i)). Candidates with gains ≤ 0 are only used if an ``order`` can make up for them.
    ``last`` is the segment before all candidates.
    """

    def __init__(
        self,
        candidates: Sequence[Segment],
        gains: Sequence[float],
        order: Order | None = None,
        last: Segment | None = None,
    ) -> None:
        self._order, self._last = order, last
        self.at = sorted(
            (i for i in range(len(candidates)) if order is not None or gains[i] > 0),
            key=lambda i: (candidates[i].stop, candidates[i].start, candidates[i].label),
        )
        self.segments = [candidates[i] for i in self.at]
        self.stops = [s.stop for s in self.segments]
        n = len(self.at)
        self.values, self.extra = np.zeros(n), np.zeros(n)
        self.back = [-1] * n
        codes = np.zeros(n, dtype=int)
        stops = np.array(self.stops, dtype=int)
        for i, s in enumerate(self.segments):
            before = bisect_right(self.stops, s.start, 0, i)
            extra = 0.0 if order is None else order.gain(last, s)
            value = extra
            if before:
                after = np.zeros(before)
                if order is not None:
                    codes[i] = order.labels.index(s.label)
                    near = s.start - stops[:before] <= order.reach
                    after = np.where(near, order.table[codes[:before], codes[i]], 0.0)
                j = int(np.argmax(self.values[:before] + after))
                if self.values[j] + after[j] > value:
                    value, extra, self.back[i] = self.values[j] + after[j], float(after[j]), j
            elif order is not None:
                codes[i] = order.labels.index(s.label)
            self.values[i], self.extra[i] = value + gains[self.at[i]], extra

    def way(self, end: int) -> list[int]:
        """Positions in ``segments`` of the best path that ends here; -1 is the empty path."""
        way = []
        while end >= 0:
            way.append(end)
            end = self.back[end]
        return way[::-1]

    def best(self) -> list[int]:
        """The best path of all."""
        end = int(np.argmax(self.values)) if len(self.values) else -1
        return self.way(end) if end >= 0 and self.values[end] > 0 else []

    def sure(self, horizon: int) -> tuple[list[int], set[int]]:
        """The segments that are final whatever comes from frame ``horizon`` on, and all candidates
        that can still matter.

        A path to A makes a path to B superfluous if everything that may follow B may also follow A,
        with a larger gain.
        """
        n = len(self.values)
        ends = [-1, *range(n)]
        value = np.concatenate([[0.0], self.values])
        stop = np.maximum(np.array([0, *self.stops]), horizon)
        low = high = np.zeros((n + 1, 1))
        if self._order is not None:
            rows = [self._order.gains(self._last), *(self._order.gains(s) for s in self.segments)]
            low, high = np.minimum(rows, 0.0), np.maximum(rows, 0.0)
        alive = np.ones(n + 1, dtype=bool)
        for a in np.argsort(-value, kind="stable"):
            if alive[a]:
                worst = (high - low[a]).max(axis=1)  # what B may gain in addition
                alive &= ~((value[a] >= value + worst) & (stop >= stop[a])) | (
                    np.arange(n + 1) == a
                )
        ways = [self.way(ends[i]) for i in np.flatnonzero(alive)]
        shared = []
        for step in zip(*ways, strict=False):
            if len(set(step)) > 1:
                break
            shared.append(step[0])
        return shared, {i for way in ways for i in way}
