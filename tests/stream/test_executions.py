"""Repetitions one by one, and two executions side by side."""

from __future__ import annotations

import numpy as np
import pytest

from kerneton import make_actions
from kerneton.data.layouts import KINECT_20
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError
from kerneton.prepare.poses import turn
from kerneton.stream.executions import (
    align,
    angles,
    leading_angle,
    repetitions,
    told,
    warped,
)
from kerneton.stream.repetitions import count_repetitions, repetition_spans

FPS = 30.0


def curls(degrees: list[float], seconds: list[float], side: str = "right") -> SkeletonSequence:
    """A standing body that bends an elbow by so many degrees, in so many seconds each time."""
    rest = make_actions(["wave"], n_subjects=1, n_takes=1)[0]
    pose = np.nan_to_num(np.asarray(rest.joints[0], float))
    at = {name: j for j, name in enumerate(KINECT_20.joints)}
    elbow, wrist, hand = (at[f"{side}_{part}"] for part in ("elbow", "wrist", "hand"))
    shoulder = at[f"{side}_shoulder"]
    pose[elbow] = pose[shoulder] + [0, -0.3, 0]
    frames = []
    for angle, length in zip(degrees, seconds, strict=True):
        for t in np.arange(round(length * FPS)) / (length * FPS):
            bend = np.radians(angle) * (1 - np.cos(2 * np.pi * t)) / 2
            now = pose.copy()
            now[wrist] = now[elbow] + 0.25 * np.array([0, -np.cos(bend), np.sin(bend)])
            now[hand] = now[elbow] + 0.33 * np.array([0, -np.cos(bend), np.sin(bend)])
            frames.append(now)
    return SkeletonSequence(np.array(frames), layout=KINECT_20, fps=FPS)


def test_each_repetition_has_its_range_and_its_time():
    take = curls([120, 90, 120, 60], [2.0, 1.5, 2.0, 1.0])
    found = repetitions(take)
    assert leading_angle(found) == "right_elbow"
    assert [r.ranges["right_elbow"] for r in found] == pytest.approx([120, 90, 120, 60], abs=4)
    assert [r.seconds for r in found] == pytest.approx([2.0, 1.5, 2.0, 1.0], abs=0.15)
    assert all(r.ranges["left_knee"] < 1 for r in found)
    assert all(r.symmetry("right_elbow") < 0.05 for r in found)  # the other arm rests
    assert [a.stop for a in found[:-1]] == [b.start for b in found[1:]]


def test_spans_are_as_many_as_are_counted():
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 5, 8):
        take = curls(list(rng.uniform(80, 120, n)), list(rng.uniform(1, 2, n)))
        spans = repetition_spans(take.joints, FPS)
        assert len(spans) == count_repetitions(take.joints, FPS).count == n
        assert all(a < b for a, b in spans)
    assert repetition_spans(np.zeros((40, 20, 3)), FPS) == []


def test_both_arms_are_symmetric_where_they_do_the_same():
    right, left = curls([100, 100], [1.0, 1.0]), curls([80, 80], [1.0, 1.0], "left")
    both = right.joints.copy()
    for part in ("elbow", "wrist", "hand"):
        j = KINECT_20.joints.index(f"left_{part}")
        both[:, j] = left.joints[:, j]
    for r in repetitions(right.replace(joints=both)):
        assert r.symmetry("right_elbow") == pytest.approx(0.8, abs=0.05)
        assert r.symmetry("head") is None


def test_missing_joints_leave_the_other_angles():
    take = curls([100, 100], [1.0, 1.0])
    joints = take.joints.copy()
    joints[:, KINECT_20.joints.index("left_ankle")] = np.nan
    joints[5:9, KINECT_20.joints.index("right_wrist")] = np.nan
    found = repetitions(take.replace(joints=joints))
    assert len(found) == 2
    assert "left_knee" not in found[0].ranges
    assert found[0].ranges["right_elbow"] == pytest.approx(100, abs=6)
    assert np.isnan(angles(take.replace(joints=joints))["right_elbow"][6])


def test_the_same_movement_at_another_speed_place_and_size_is_the_same():
    slow, fast = curls([100], [3.0]), curls([100], [1.2])
    moved = turn(fast.joints * 1.2 + [2.0, 0.3, -1.0], 0.8)
    found = align(slow, fast.replace(joints=moved))
    assert found.mean < 0.02
    at, distances = found.by_frame()
    assert (np.diff(at) >= 0).all()
    assert (at[0], at[-1]) == (0, fast.n_frames - 1)
    assert at[slow.n_frames // 2] == pytest.approx(fast.n_frames / 2, abs=2)
    assert distances.shape == (slow.n_frames, 20)


def test_the_joint_that_differs_is_the_one_that_is_named():
    found = align(curls([110], [2.0]), curls([60], [1.5])).by_joint()
    assert max(found, key=found.get) == "right_hand"
    assert found["left_foot"] < 0.01


def test_what_cannot_be_compared_is_an_error():
    take = curls([100], [1.0])
    with pytest.raises(DataError, match="same joints"):
        align(take, take.replace(joints=take.joints[:, :15], layout=None))
    long = take.replace(joints=np.tile(take.joints, (70, 1, 1)), name="day")
    with pytest.raises(DataError, match="day: 2100 frames"):
        align(long, take)


def test_many_repetitions_are_told_and_too_many_are_not_compared():
    take = curls([100], [0.5])
    long = take.replace(joints=np.tile(take.joints, (310, 1, 1)))
    found = repetitions(long)
    assert len(found) > 300
    assert len(told(found, long, None)["repetitions"]) == len(found)
    with pytest.raises(DataError, match="at most 300 are compared"):
        told(found, long, 0)


def test_the_way_through_a_table_is_the_cheapest():
    """Against every way, tried one by one."""
    rng = np.random.default_rng(1)

    def cheapest(cost, i, j):
        if i == j == 0:
            return cost[0, 0]
        before = [(i - 1, j - 1), (i - 1, j), (i, j - 1)]
        return cost[i, j] + min(cheapest(cost, *b) for b in before if min(b) >= 0)

    for shape in ((1, 1), (1, 5), (4, 1), (5, 6), (6, 4)):
        cost = rng.uniform(size=shape)
        way = warped(cost)
        assert cost[tuple(way.T)].sum() == pytest.approx(cheapest(cost, *(n - 1 for n in shape)))
        assert set(map(tuple, np.diff(way, axis=0))) <= {(0, 1), (1, 0), (1, 1)}
