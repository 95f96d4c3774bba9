"""The best non-overlapping segments, beside all there are; and what is settled early beside what is
known at the end.
"""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest

from kerneton.data.segments import Segment
from kerneton.stream.selection import Paths, learn_order

LABELS = ("a", "b", "c")
ORDER = learn_order(
    [
        [Segment("a", 2, 6), Segment("b", 9, 14), Segment("c", 15, 20)],
        [Segment("a", 1, 5), Segment("c", 9, 14)],
    ],
    LABELS,
)


def random_candidates(chance, n, span=40):
    starts = chance.integers(0, span, n)
    made = [
        Segment(LABELS[chance.integers(3)], int(s), int(s + chance.integers(2, 9))) for s in starts
    ]
    return sorted(made, key=lambda s: s.stop), chance.normal(0.3, 1.0, n)


def total(chosen, gains, order):
    value, before = 0.0, None
    for segment, gain in zip(chosen, gains, strict=True):
        value += gain + (0.0 if order is None else order.gain(before, segment))
        before = segment
    return value


def best_by_trying(candidates, gains, order):
    best = 0.0
    for n in range(1, len(candidates) + 1):
        for some in combinations(range(len(candidates)), n):
            chosen = sorted((candidates[i], gains[i]) for i in some)
            chosen.sort(key=lambda item: item[0].start)
            segments = [s for s, _ in chosen]
            if all(x.stop <= y.start for x, y in pairwise(segments)):
                best = max(best, total(segments, [g for _, g in chosen], order))
    return best


def best_segments(candidates, gains, order):
    paths = Paths(candidates, gains, order)
    return [paths.at[i] for i in paths.best()]


@pytest.mark.parametrize("order", [None, ORDER], ids=["any order", "in order"])
def test_no_other_choice_is_better(order):
    chance = np.random.default_rng(0)
    for _ in range(30):
        candidates, gains = random_candidates(chance, 9)
        chosen = best_segments(candidates, gains, order)
        segments = [candidates[i] for i in chosen]
        assert all(x.stop <= y.start for x, y in pairwise(segments))
        value = total(segments, [gains[i] for i in chosen], order)
        assert value == pytest.approx(best_by_trying(candidates, gains, order), abs=1e-9)


@pytest.mark.parametrize("order", [None, ORDER], ids=["any order", "in order"])
def test_what_is_settled_early_is_what_the_whole_gives(order):
    chance, early = np.random.default_rng(1), 0
    longest = 8
    for _ in range(40):
        candidates, gains = random_candidates(chance, 30, span=120)
        whole = [candidates[i] for i in best_segments(candidates, gains, order)]
        found, active, last = [], [], None
        for now in range(1, 130):  # candidates come in the order in which they stop
            active += [(c, g) for c, g in zip(candidates, gains, strict=True) if c.stop == now]
            if last is not None:
                active = [(c, g) for c, g in active if c.start >= last.stop]
            paths = Paths([c for c, _ in active], [g for _, g in active], order, last)
            way, matter = paths.sure(now + 1 - longest)
            found += [paths.segments[i] for i in way]
            early += len(way)
            active = [active[paths.at[i]] for i in sorted(matter - set(way))]
            last = found[-1] if found else None
        paths = Paths([c for c, _ in active], [g for _, g in active], order, last)
        found += [paths.segments[i] for i in paths.best()]
        assert found == whole
    assert early > 100


def test_the_order_of_training_favours_what_follows_in_it():
    a, b = Segment("a", 3, 6), Segment("b", 8, 12)
    assert ORDER.gain(None, a) > 0 > ORDER.gain(a, Segment("a", 8, 12))
    assert ORDER.gain(a, b) > ORDER.gain(b, Segment("a", 13, 15))
    assert ORDER.gain(a, Segment("b", 100, 104)) == 0.0  # nobody waited for so long
