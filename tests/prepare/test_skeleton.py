"""Skeletons that say little about themselves: found bones, 2D, hands, two bodies."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from walks import people, walk

from kerneton import Preprocess, make_actions, pair
from kerneton.data.layouts import COCO_17, HAND_20, HAND_21, KINECT_20, Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import ParameterError
from kerneton.prepare import skeleton
from kerneton.prepare.poses import SkeletonKind, can_turn, face_front, facing, mirror, skeleton_kind, turn
from kerneton.prepare.skeleton import complete_layout, find_bones


@pytest.fixture(scope="module")
def actions():
    made = make_actions(["wave", "kick", "bow", "sit down"], n_subjects=3, n_takes=1)
    return Preprocess(center=False, bones=None).fit_transform(made)  # no gaps


def edges(bones):
    return {frozenset(bone) for bone in bones}


@pytest.mark.parametrize("named", [True, False])
def test_bones_are_found_in_what_joints_do(actions, named):
    names = KINECT_20.joints if named else [f"m{i}" for i in range(20)]
    found = find_bones([s.joints for s in actions], Layout("bare", names))
    assert len(found) == 19
    assert len(edges(found) & edges(KINECT_20.bones)) >= 14  # a trunk that hardly bends has several trees


def test_joints_that_never_part_have_bones_too():
    still = np.zeros((5, 3, 3))
    assert len(find_bones([still], Layout("dots", "abc"))) == 2
    assert complete_layout(Layout("one", "a"), [still[:, :1]], 1).bones == ()


def test_legs_that_stand_still_are_not_tied_together():
    arm = np.random.default_rng(0).normal(scale=0.1, size=(20, 1, 3))
    rest = np.array(
        [[0, 1, 0], [-0.1, 0.9, 0], [0.1, 0.9, 0], [-0.1, 0.5, 0], [0.1, 0.5, 0], [-0.1, 0, 0], [0.1, 0, 0]]
    )
    layout = Layout(
        "own", ["rumpf", *(f"{side}_{part}" for part in ("h", "k", "f") for side in ("left", "right"))]
    )
    found = edges(find_bones([rest + np.repeat(arm, 7, axis=1)], layout))
    assert found == edges([(0, 1), (0, 2), (1, 3), (2, 4), (3, 5), (4, 6)])


def test_bones_stay_within_their_body(actions):
    a = actions[0].replace(layout=None)
    both = pair(a, a)
    found = find_bones([both.joints], both.layout)
    assert len(found) == 38
    assert all((i < 20) == (j < 20) for i, j in found)


def test_what_is_missed_is_said_once(caplog):
    X = [SkeletonSequence(walk(6, 17), name=str(i)) for i in range(3)]
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            out = Preprocess().fit_transform(X)
    assert [r.message for r in caplog.records] == [
        "the recordings have no layout: their joints are numbered; bones were estimated from joints that keep their "
        "distance; left and right are unknown"
    ]
    assert all(len(s.layout.bones) == 16 for s in out)


def test_a_model_of_numbered_joints_takes_named_ones():
    fitted = Preprocess().fit([SkeletonSequence(walk(6, 17))])
    named = SkeletonSequence(walk(6, 17), layout=COCO_17)
    assert fitted.transform([named])[0].layout == fitted.layout_


@pytest.mark.parametrize("option", ["sequence", "frame"])
def test_what_has_no_front_is_not_turned(option):
    hand = SkeletonSequence(walk(6, 21), layout=HAND_21)
    filmed = SkeletonSequence(walk(6, 17) * [1, 1, 0], layout=COCO_17)
    for recording in (hand, filmed):
        plain, asked = (
            Preprocess(facing=facing).fit_transform([recording])[0].joints for facing in (None, option)
        )
        assert_array_equal(plain, asked)
    deep = filmed.replace(joints=walk(6, 17))
    assert not np.allclose(*(Preprocess(facing=f).fit_transform([deep])[0].joints for f in (None, option)))


def two_people(n_frames=8):
    a, b = people((n_frames, n_frames))
    return pair(a, b.replace(joints=b.joints + [2.5, 0, 1.0]))


@pytest.mark.parametrize("angle", [0.4, -2.0])
def test_two_bodies_turn_by_the_line_between_them(angle):
    both = two_people()
    front = face_front(both.joints, both.layout)
    assert_allclose(face_front(turn(both.joints, angle), both.layout), front, atol=1e-6)
    line = face_front(both.joints, both.layout, per_frame=True)[:, both.layout.roots]
    line = line[:, 1] - line[:, 0]
    assert_allclose(line[:, 0], 0, atol=1e-12)
    assert (line[:, 2] < 0).all()  # the second is where the first looks, towards the camera
    seen = mirror(both)
    turned = face_front(seen.joints, seen.layout, per_frame=True)
    expected = mirror(both.replace(joints=face_front(both.joints, both.layout, per_frame=True)))
    assert_allclose(turned, expected.joints, atol=1e-12)


def test_two_bodies_are_centred_between_them_and_keep_their_distance():
    both = two_people()
    out = Preprocess(bones="size").fit_transform([both])[0].joints
    first, second = both.layout.roots
    assert_allclose(out[:, first] + out[:, second], 0, atol=1e-12)
    assert_allclose(
        out[:, first] - out[:, second], both.joints[:, first] - both.joints[:, second], atol=1e-12
    )


def test_kinds():
    body = SkeletonSequence(walk(5, 20), layout=KINECT_20)
    assert skeleton_kind([body]) == SkeletonKind(20)
    flat = body.replace(joints=body.joints * [1, 1, 0])
    assert skeleton_kind([flat]) == SkeletonKind(20, flat=True, turns=False)
    assert not skeleton_kind([flat, body]).flat
    assert skeleton_kind([SkeletonSequence(walk(5, 20), layout=HAND_20)]).turns is False
    assert skeleton_kind([SkeletonSequence(walk(5, 39))]) == SkeletonKind(39, turns=False, sides=False)
    assert skeleton_kind([two_people()]).bodies == 2
    lost = flat.joints.copy()
    lost[0, 3] = np.nan
    assert skeleton_kind([flat.replace(joints=lost)]).flat


def test_a_side_alone_is_no_front():
    assert not can_turn(Layout("arm", ["left_elbow", "left_hand"]))
    both = two_people()
    assert np.shape(facing(both.joints, both.layout)) == ()


@pytest.mark.parametrize("bones", ["size", "reference"])
@pytest.mark.parametrize("factor", [1.0, 640.0])
def test_reach_makes_pixels_and_hands_as_large_as_bodies(bones, factor):
    X = [SkeletonSequence(walk(6, 21, seed=i) * factor, layout=HAND_21) for i in range(3)]
    out = Preprocess(bones=bones, reach=0.9).fit_transform(X)
    assert_allclose(np.median([np.abs(s.joints).max() for s in out]), 0.9)
    moved = [s.replace(joints=s.joints + 1000 * factor) for s in X]
    out = Preprocess(bones="size", reach=0.9, center=False).fit_transform(moved)
    found = [np.abs(s.joints - s.joints.mean(axis=(0, 1))).max() for s in out]
    assert_allclose(np.median(found), 0.9, rtol=1e-6)


def test_reach_needs_bones():
    with pytest.raises(ParameterError, match="reach scales the reference skeleton and needs bones"):
        Preprocess(bones=None, reach=1.0).fit([SkeletonSequence(walk(6, 21), layout=HAND_21)])
    with pytest.raises(ParameterError, match="reach must be a positive number"):
        Preprocess(reach=0).fit([SkeletonSequence(walk(6, 21), layout=HAND_21)])
    still = SkeletonSequence(np.ones((4, 21, 3)), layout=HAND_21)
    assert np.isfinite(Preprocess(reach=1.0).fit_transform([still])[0].joints).all()


@pytest.mark.parametrize("bodies", [1, 2])
def test_joints_without_a_bone_get_one_and_known_bones_stay(actions, bodies, caplog):
    lost = KINECT_20.index("spine")
    bones = [
        bone for bone in KINECT_20.bones if lost not in bone and KINECT_20.index("left_hand") not in bone
    ]
    layout = Layout("table", KINECT_20.joints, bones)
    body = [s.replace(layout=layout) for s in actions]
    if bodies == 2:
        body = [pair(s, s.replace(joints=s.joints[::-1] + [0, 0, 1.5])) for s in body]
    known = body[0].layout
    skeleton._warn.cache_clear()
    with caplog.at_level(logging.WARNING):
        out = Preprocess(center=False, bones=None).fit_transform(body)
    full = out[0].layout
    assert len(full.bones) == bodies * 19
    assert edges(known.bones) <= edges(full.bones)
    assert (KINECT_20.index("left_wrist"), KINECT_20.index("left_hand")) in full.bones
    assert all({a < 20, b < 20} != {True, False} for a, b in full.bones)
    assert known.indices("key") != full.indices("key")
    assert KINECT_20.index("left_hand") in full.sets["key"]
    (message,) = caplog.messages
    assert message.startswith("no bones are known for the joint names spine")
