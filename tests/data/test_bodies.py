"""Two bodies in one recording."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from samples import split_bodies
from walks import people, walk

from kerneton import pair
from kerneton.data.bodies import pair_layout
from kerneton.data.layouts import FLORENCE_15, LAYOUTS
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError


def two(n_frames=6, **fields):
    a, b = people((n_frames, n_frames))
    return a.replace(label="hug", subject="ann", **fields), b.replace(subject="bob", name="second")


def test_both_bodies_are_there_and_come_apart_again():
    a, b = two(fps=30)
    both = pair(a, b)
    assert_array_equal(both.joints[:, :15], a.joints)
    assert_array_equal(both.joints[:, 15:], b.joints)
    assert (both.label, both.subject, both.fps) == ("hug", "ann+bob", 30)
    assert both.confidence is None
    for body, alone in zip(split_bodies(both), (a, b), strict=True):
        assert_array_equal(body.joints, alone.joints)
        assert body.layout == FLORENCE_15
    assert split_bodies(a) == [a]


def test_confidence_of_one_is_kept():
    a, b = two()
    trust = np.random.default_rng(0).uniform(size=(6, 15))
    both = pair(a, b.replace(confidence=trust))
    assert_array_equal(both.confidence[:, :15], 1)
    assert_array_equal(split_bodies(both)[1].confidence, trust)


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_layout_of_two(name):
    one = LAYOUTS[name]
    both = pair_layout(one, one)
    n = len(one.joints)
    assert both.bodies == (tuple(range(n)), tuple(range(n, 2 * n)))
    assert both.root is None
    assert both.roots == (one.roots[0], one.roots[0] + n)
    assert_array_equal(
        both.mirror, np.concatenate([one.mirror, one.mirror + n])
    )  # sides change, persons do not
    assert both.sets["key"] == (*one.sets["key"], *(j + n for j in one.sets["key"]))
    assert one.bodies == (tuple(range(n)),)


def test_a_hand_and_a_thing_without_a_layout():
    hand = SkeletonSequence(walk(5, 21), layout=LAYOUTS["hand21"])
    both = pair(hand, SkeletonSequence(walk(5, 1)))
    assert both.layout.joints[-2:] == ("pinky_tip_1", "joint_0_2")
    assert both.layout.bodies[1] == (21,)


def test_pairs_that_do_not_fit():
    a, b = two()
    with pytest.raises(DataError, match="the same number of frames: the first has 6, second has 4"):
        pair(a, b.replace(joints=b.joints[:4]))
    with pytest.raises(DataError, match="the same frame rate, got 30 and 25"):
        pair(a.replace(fps=30), b.replace(fps=25))
