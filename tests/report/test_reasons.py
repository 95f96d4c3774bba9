"""Sentences about what joints did: directions are the person's, times hold most of what was
contributed.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from kerneton.data.layouts import KINECT_20
from kerneton.data.sequence import SkeletonSequence
from kerneton.prepare.poses import turn
from kerneton.report.explanation import Explanation
from kerneton.report.reasons import reasons

STAND = {
    "left": {"shoulder": 0.2, "elbow": 0.2, "wrist": 0.2, "hand": 0.2, "hip": 0.1, "knee": 0.1, "ankle": 0.1, "foot": 0.1},
    "height": {"shoulder": 1.4, "elbow": 1.1, "wrist": 0.9, "hand": 0.8, "hip": 0.9, "knee": 0.5, "ankle": 0.1, "foot": 0.0},
}  # fmt: skip
HAND = KINECT_20.index("right_hand")


def standing(n_frames=60):
    """A body that faces the camera, which looks along z: its right hand is at positive x."""
    pose = np.zeros((20, 3))
    for j, joint in enumerate(KINECT_20.joints):
        side, _, part = joint.partition("_")
        if side in ("left", "right") and part in STAND["left"]:
            sign = -1 if side == "left" else 1
            pose[j] = sign * STAND["left"][part], STAND["height"][part], 0
        else:
            pose[j, 1] = {"hip_center": 0.95, "spine": 1.0, "shoulder_center": 1.45, "head": 1.65}[
                joint
            ]
    return np.repeat(pose[None], n_frames, axis=0)


def why(joints, said, fps=30.0, **more):
    sequence = SkeletonSequence(joints, layout=KINECT_20, fps=fps, name="it")
    by_frame = np.zeros(joints.shape[:2])
    by_frame[:, HAND] = said
    return Explanation(sequence, "wave", None, 1.0, 0.0, (), by_frame, np.zeros(20), **more)


def moved(axis, amount):
    joints = standing()
    joints[20:40, HAND, axis] += amount * np.linspace(0, 1, 20)
    joints[40:, HAND, axis] += amount
    return joints


SAID = np.where((np.arange(60) >= 20) & (np.arange(60) < 40), 1.0, 0.0)
DIRECTIONS = {(1, 0.8): "up", (1, -0.6): "down", (0, 0.6): "to the right", (0, -0.6): "to the left",
              (2, -0.6): "forwards", (2, 0.6): "backwards"}  # fmt: skip


@pytest.mark.parametrize("yaw", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("way", DIRECTIONS)
def test_directions_are_those_of_the_person(way, yaw):
    text = reasons(why(turn(moved(*way), yaw), SAID))
    assert text == f"wave, because the right hand moved {DIRECTIONS[way]} at 0.7 to 1.2 s"


def test_a_way_there_and_back():
    joints = standing()
    joints[:, HAND, 0] += 0.4 * np.sin(np.linspace(0, 6 * np.pi, 60))
    text = reasons(why(joints, np.ones(60) / 60))
    assert "moved from side to side at 0.0 to 1.6 s" in text


def test_what_stays_and_what_is_held():
    assert "the right hand stayed where it was" in reasons(why(standing(), SAID))
    joints = standing()
    joints[10:50, HAND, 1] += 0.9
    assert "the right hand was held up at 0.7 to 1.2 s" in reasons(why(joints, SAID))


def test_times_are_those_of_the_long_recording_or_frames():
    assert "in frames 20 to 35" in reasons(why(moved(1, 0.8), SAID, fps=None))
    assert "at 10.7 to 11.2 s" in reasons(why(moved(1, 0.8), SAID, first_frame=300))


def test_what_speaks_against_and_nothing():
    against = reasons(why(moved(1, 0.8), -SAID))
    assert against == (
        "wave, although nothing speaks for it; against it: the right hand moved up at 0.7 to 1.2 s"
    )
    nothing = reasons(why(moved(1, 0.8), 0 * SAID))
    assert nothing == "wave: nothing in the recording speaks for or against it"
    versus = dataclasses.replace(why(moved(1, 0.8), SAID), versus="drink")
    assert reasons(versus).startswith("wave rather than drink, because the right hand")


def test_joints_that_are_missing_or_unknown():
    joints = moved(1, 0.8)
    joints[:, HAND] = np.nan
    assert "the right hand was hardly seen" in reasons(why(joints, SAID))
    bare = why(moved(1, 0.8), SAID)
    bare = dataclasses.replace(bare, sequence=bare.sequence.replace(layout=None))
    assert f"joint {HAND} moved up" in reasons(bare)


def test_two_joints_that_did_the_same_are_told_together():
    both = why(standing(1), np.ones(1))
    both.by_frame[:, KINECT_20.index("left_hand")] = 1.0
    assert reasons(both) == "wave, because the left hand and the right hand were where they were"
