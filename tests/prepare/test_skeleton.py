"""Skeletons that say little about themselves: found bones, 2D, hands, two bodies."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from walks import people, walk

from kerneton import Preprocess, make_actions, pair
from kerneton.data.layouts import (
    COCO_17,
    FLORENCE_15,
    HAND_20,
    HAND_21,
    KINECT_20,
    Layout,
    can_turn,
)
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import ParameterError
from kerneton.prepare import skeleton
from kerneton.prepare.poses import face_front, facing, mirror, palm, turn
from kerneton.prepare.preprocess import SkeletonKind, skeleton_kind
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
    # a trunk that hardly bends has several trees
    assert len(edges(found) & edges(KINECT_20.bones)) >= 14


def test_joints_that_never_part_have_bones_too():
    still = np.zeros((5, 3, 3))
    assert len(find_bones([still], Layout("dots", "abc"))) == 2
    assert complete_layout(Layout("one", "a"), [still[:, :1]], 1).bones == ()


def test_legs_that_stand_still_are_not_tied_together():
    arm = np.random.default_rng(0).normal(scale=0.1, size=(20, 1, 3))
    rest = np.array(
        [
            [0, 1, 0],
            [-0.1, 0.9, 0],
            [0.1, 0.9, 0],
            [-0.1, 0.5, 0],
            [0.1, 0.5, 0],
            [-0.1, 0, 0],
            [0.1, 0, 0],
        ]
    )
    layout = Layout(
        "own",
        ["rumpf", *(f"{side}_{part}" for part in ("h", "k", "f") for side in ("left", "right"))],
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
    chain = Layout("chain", list("abcd"), bones=[("a", "b"), ("b", "c"), ("c", "d")], root="a")
    rope = SkeletonSequence(walk(6, 4), layout=chain)
    filmed = SkeletonSequence(walk(6, 17) * [1, 1, 0], layout=COCO_17)
    for recording in (rope, filmed):
        plain, asked = (
            Preprocess(facing=facing).fit_transform([recording])[0].joints
            for facing in (None, option)
        )
        assert_array_equal(plain, asked)
    deep = filmed.replace(joints=walk(6, 17))
    assert not np.allclose(
        *(Preprocess(facing=f).fit_transform([deep])[0].joints for f in (None, option))
    )


def rotation(seed):
    """A random rotation, (3, 3)."""
    q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    return q * np.sign(np.linalg.det(q))


@pytest.mark.parametrize("layout", [HAND_20, HAND_21])
@pytest.mark.parametrize("option", ["sequence", "frame"])
def test_hands_do_not_depend_on_how_the_sensor_is_held(layout, option):
    hand = SkeletonSequence(walk(6, len(layout.joints)), layout=layout)
    held = [hand, *(hand.replace(joints=hand.joints @ rotation(seed)) for seed in range(3))]
    for center in (True, False):
        step = Preprocess(facing=option, center=center).fit([hand])
        here, *turned = step.transform(held)
        assert not np.allclose(
            here.joints, Preprocess(center=center).fit_transform([hand])[0].joints
        )
        for other in turned:
            assert_allclose(other.joints, here.joints, atol=1e-9)


def test_the_palm_is_a_frame_by_hand():
    """A flat hand in the plane of x and y, fingers along y, from index at the right to the little
    finger at the left.
    """
    joints = np.zeros((1, 21, 3))
    for finger, place in enumerate((0.04, 0.02, 0.0, -0.02, -0.04)):
        for part in range(4):
            joints[0, 1 + 4 * finger + part] = [place, 0.08 + 0.03 * part, 0]
    assert_allclose(palm(joints, HAND_21), [[0, 0, 1], [0, 1, 0], [-1, 0, 0]], atol=1e-12)
    other = palm(joints * [-1, 1, 1], HAND_21)  # the other hand: its normal points away
    assert_allclose(other, [[0, 0, -1], [0, 1, 0], [1, 0, 0]], atol=1e-12)


def test_the_other_hand_is_the_mirror_image():
    hand = SkeletonSequence(walk(6, 20), layout=HAND_20)
    step = Preprocess(facing="sequence").fit([hand])
    own, other = (
        step.transform([hand.replace(joints=hand.joints * [x, 1, 1])])[0].joints for x in (1, -1)
    )
    assert_allclose(other, own * [-1, 1, 1], atol=1e-9)


def test_hands_without_a_frame_stay_hands():
    for x in (
        np.zeros((3, 20, 3)),
        np.ones((3, 20, 1)) * np.linspace(0, 1, 20)[None, :, None] * [1, 0, 0],
    ):
        frame = palm(x, HAND_20)
        assert_allclose(frame @ frame.T, np.eye(3), atol=1e-9)


@pytest.mark.parametrize("facing", [None, "sequence"])
@pytest.mark.parametrize("bones", [None, "size", "reference"])
def test_the_path_of_the_root_stays_if_asked(facing, bones):
    body = SkeletonSequence(walk(6), layout=FLORENCE_15)
    moved = body.replace(joints=body.joints + np.linspace(0, 1, 6)[:, None, None] * [1.0, 0.5, 0.2])
    options = {"facing": facing, "bones": bones}
    there, plain = (
        Preprocess(path=path, **options).fit_transform([moved])[0].joints for path in (True, False)
    )
    root = FLORENCE_15.root
    assert not plain[:, root].any()
    others = [j for j in range(15) if j != root]
    assert_array_equal(there[:, others], plain[:, others])
    free = Preprocess(center=False, **options).fit_transform([moved])[0].joints
    assert_allclose(there[:, root], free[:, root] - free[0, root], atol=1e-9)


def test_two_people_have_no_path():
    both = two_people()
    a, b = (Preprocess(path=path).fit_transform([both])[0].joints for path in (True, False))
    assert_array_equal(a, b)


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
    assert skeleton_kind([body]) == SkeletonKind(20, root=0)
    flat = body.replace(joints=body.joints * [1, 1, 0])
    assert skeleton_kind([flat]) == SkeletonKind(20, flat=True, turns="", root=0)
    assert not skeleton_kind([flat, body]).flat
    assert skeleton_kind([SkeletonSequence(walk(5, 20, seed=1), layout=HAND_20)]).turns == "full"
    assert skeleton_kind([SkeletonSequence(walk(5, 39))]) == SkeletonKind(39, turns="", sides=False)
    assert skeleton_kind([two_people()]).bodies == 2
    lost = flat.joints.copy()
    lost[0, 3] = np.nan
    assert skeleton_kind([flat.replace(joints=lost)]).flat


def test_joints_on_a_line_are_no_frame():
    star = Layout("star", list("abcd"), bones=[("a", "b"), ("a", "c"), ("a", "d")], root="a")
    place = np.array([0.0, -1.0, 1.0, 2.0])[None, :, None] * [0.1, 0.0, 0.0]
    rod = SkeletonSequence(walk(6, 4) * 1e-3 + place, layout=star)
    assert skeleton_kind([rod]).turns == ""
    assert skeleton_kind([SkeletonSequence(walk(6, 4), layout=star)]).turns == "full"


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
        bone
        for bone in KINECT_20.bones
        if lost not in bone and KINECT_20.index("left_hand") not in bone
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
