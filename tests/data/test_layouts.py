"""Layouts: every table is a tree with sides, and mistakes in one's own are named."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from kerneton.data.layouts import (
    AZURE_32,
    COCO_17,
    HDM_31,
    KARD_15,
    KINECT_25,
    LAYOUTS,
    MEDIAPIPE_33,
    OPENPOSE_25,
    SMPL_24,
    Layout,
)
from kerneton.exceptions import ParameterError

COUNTS = {
    **{"florence15": 15, "kinect20": 20, "msr20": 20, "utd20": 20, "kinect25": 25, "azure32": 32},
    **{"mediapipe33": 33, "coco17": 17, "openpose25": 25, "kard15": 15, "smpl24": 24, "hdm31": 31},
    **{"openni15": 15, "jhmdb15": 15, "hand21": 21, "hand20": 20, "hands42": 42},
}
BODIES = {name: layout for name, layout in LAYOUTS.items() if not name.startswith("hand")}


def test_every_layout_is_listed():
    assert {name: len(layout.joints) for name, layout in LAYOUTS.items()} == COUNTS


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_bones_are_a_tree_from_each_root(layout):
    """Both hands of a person are two trees, anything else is one."""
    assert len(layout.roots) == (2 if layout.name == "hands42" else 1)
    assert len(layout.bones) == len(layout.joints) - len(layout.roots)
    reached = set(layout.roots)
    for parent, child in layout.bones:
        assert parent in reached
        reached.add(child)
    assert reached == set(range(len(layout.joints)))


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_every_side_has_its_twin_and_bones_mirror(layout):
    mirror = layout.mirror
    np.testing.assert_array_equal(mirror[mirror], np.arange(len(layout.joints)))
    for i, joint in enumerate(layout.joints):
        assert (mirror[i] != i) == joint.startswith(("left_", "right_")), joint
    mirrored = {(mirror[a], mirror[b]) for a, b in layout.bones}
    assert mirrored == set(layout.bones)


@pytest.mark.parametrize("layout", BODIES.values(), ids=BODIES)
def test_key_joints_are_nine_and_symmetric(layout):
    key = layout.sets["key"]
    assert len(key) == 9
    assert {int(layout.mirror[i]) for i in key} == set(key)


@pytest.mark.parametrize("layout", BODIES.values(), ids=BODIES)
def test_what_the_names_say_follows_from_the_bones_too(layout):
    """Bones turned round and shuffled, no root, no sets: the same tree, and key joints of both
    sides.
    """
    rng = np.random.default_rng(0)
    shuffled = [layout.bones[i][::-1] for i in rng.permutation(len(layout.bones))]
    bare = Layout("bare", layout.joints, shuffled)
    assert bare.root == layout.root
    assert set(bare.bones) == set(layout.bones)
    np.testing.assert_array_equal(bare.parents, layout.parents)
    key = bare.sets["key"]
    assert {int(layout.mirror[i]) for i in key} == set(key)
    assert len(key) <= 12
    ends = set(range(len(layout.joints))) - {parent for parent, _ in layout.bones}
    assert len(ends & set(key)) >= min(5, len(ends))


def test_key_joints_of_hands_are_tips_and_the_joints_before_them():
    hand = LAYOUTS["hand21"]
    fingers = ("thumb", "index", "middle", "ring", "pinky")
    tips = {f"{finger}_tip" for finger in fingers}
    assert tips | {f"{finger}_dip" for finger in fingers[1:]} | {"thumb_ip"} == {
        hand.joints[i] for i in hand.sets["key"]
    }
    assert len(LAYOUTS["hand20"].sets["key"]) == 10


def test_joints_of_the_papers_kernel_are_there_for_every_layout():
    assert {LAYOUTS["kard15"].joints[i] for i in LAYOUTS["kard15"].sets["E"]} >= {
        "left_hand",
        "right_foot",
    }
    assert len(LAYOUTS["kard15"].sets["E"]) == 8
    assert LAYOUTS["hand20"].sets["E"] == LAYOUTS["hand20"].sets["key"]
    assert Layout("dots", "abc").sets["E"] == (0, 1, 2)
    assert "key" not in Layout("cloud", [f"m{i}" for i in range(39)]).sets


@pytest.mark.parametrize(
    "names",
    [
        ["left_hand", "right_hand", "head"],
        ["LeftHand", "RightHand", "Head"],
        ["LHND", "RHND", "C7"],
        ["hand_l", "hand_r", "head"],
        ["hand.L", "hand.R", "head"],
        ["handL", "handR", "clip"],
        ["arm left", "arm right", "rear"],
    ],
)
def test_left_and_right_in_names_of_others(names):
    layout = Layout("x", names)
    assert layout.mirror.tolist() == [1, 0, 2]
    assert layout.sides.tolist() == [-1, 1, 0]


def test_roots():
    arms = Layout("arms", ["left_a", "left_b", "right_a", "right_b"], bones=[(0, 1), (2, 3)])
    assert arms.root is None  # neither side is favoured
    assert arms.roots == (0, 2)
    with_clip = Layout("x", "abcd", bones=[("b", "c"), ("a", "b")])
    assert (with_clip.root, with_clip.bones) == (0, ((0, 1), (1, 2)))
    path = Layout("path", "abcde", bones=[("a", "b"), ("c", "b"), ("c", "d"), ("e", "d")])
    assert path.joints[path.root] == "c"  # directions that say nothing: the middle
    assert Layout("dots", "ab").roots == ()
    named = Layout("x", "abc", bones=[("a", "b"), ("b", "c")], root="c")
    assert named.bones == ((2, 1), (1, 0))


@pytest.mark.parametrize(
    ("layout", "position", "joint"),
    [
        (KINECT_25, 20, "shoulder_center"),
        (KINECT_25, 24, "right_thumb"),
        (AZURE_32, 4, "left_collar"),
        (AZURE_32, 17, "right_thumb"),
        (AZURE_32, 29, "left_ear"),
        (MEDIAPIPE_33, 8, "right_ear"),
        (MEDIAPIPE_33, 15, "left_wrist"),
        (MEDIAPIPE_33, 32, "right_foot_index"),
        (COCO_17, 9, "left_wrist"),
        (OPENPOSE_25, 4, "right_wrist"),
        (OPENPOSE_25, 8, "hip_center"),
        (OPENPOSE_25, 24, "right_heel"),
        (LAYOUTS["openni15"], 11, "left_foot"),
        (LAYOUTS["jhmdb15"], 12, "left_wrist"),
        (KARD_15, 8, "spine"),
        (KARD_15, 14, "left_foot"),
        (SMPL_24, 9, "chest"),
        (SMPL_24, 15, "head"),
        (SMPL_24, 21, "right_wrist"),
        (HDM_31, 5, "left_toes"),
        (HDM_31, 30, "right_thumb"),
    ],
)
def test_published_positions(layout, position, joint):
    assert layout.joints[position] == joint


def test_wrong_layouts_are_refused():
    with pytest.raises(ParameterError, match="names a, b more than once"):
        Layout("x", ["b", "a", "b", "a", "c"])
    with pytest.raises(ParameterError, match="the bone between a and b closes a loop"):
        Layout("x", "abc", bones=[("a", "b"), ("b", "c"), ("c", "a")])
    with pytest.raises(ParameterError, match="the bone between a and b closes a loop"):
        Layout("x", "ab", bones=[("a", "b"), ("b", "a")])
    with pytest.raises(ParameterError, match="the bone between a and a closes a loop"):
        Layout("x", "a", bones=[("a", "a")])
    with pytest.raises(ParameterError, match="no joint 'd'; it has a, b"):
        Layout("x", "ab", root="d")
    with pytest.raises(ParameterError, match="joints 0 to 1, got 2"):
        Layout("x", "ab", bones=[(0, 2)])


def test_choosing_joints():
    layout = LAYOUTS["coco17"]
    assert layout.indices(None) == tuple(range(17))
    assert layout.indices("nose") == (0,)
    assert layout.indices(3) == (3,)
    assert layout.indices(["left_eye", 4]) == (1, 4)
    with pytest.raises(ParameterError, match="no joint or joint set 'tail'; sets: key"):
        layout.indices("tail")
    with pytest.raises(ParameterError, match="listed twice"):
        layout.indices([1, "left_eye"])


def test_a_long_layout_is_made_in_linear_time():
    names = [f"j{i}" for i in range(2000)]
    layout = Layout("long", names, bones=[(i, i + 1) for i in range(1999)], root=0)
    assert layout.parents[-1] == 1998
    backwards = Layout("long", names, bones=[(i + 1, i) for i in range(1999)], root=0)
    assert backwards.bones == layout.bones


def test_joints_that_are_lettered_through_have_no_sides():
    lettered = Layout("mine", [f"pt_{letter}" for letter in "abcdefghijklmnopqrst"])
    assert not lettered.sides.any()
    assert Layout("two", ["hand_l", "hand_r", "head"]).sides.tolist() == [-1, 1, 0]


def test_a_layout_with_other_fields_is_made_as_of_any_dataclass():
    hand = Layout("table", ["left_hand", "head"])
    hand.written["left_hand"] = "LHND"
    again = dataclasses.replace(hand, name="other")
    assert (again.name, again.joints, again.written) == ("other", hand.joints, {})
    assert hand == Layout("table", ["left_hand", "head"])
