"""Layouts: every table is a tree with sides, and mistakes in one's own are named."""

from __future__ import annotations

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
}


def test_every_layout_is_listed():
    assert {name: len(layout.joints) for name, layout in LAYOUTS.items()} == COUNTS


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_bones_are_one_tree_from_the_root(layout):
    assert len(layout.bones) == len(layout.joints) - 1
    reached = {layout.root}
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


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_key_joints_are_nine_and_symmetric(layout):
    key = layout.sets["key"]
    assert len(key) == 9
    assert {int(layout.mirror[i]) for i in key} == set(key)


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
    with pytest.raises(ParameterError, match="b is the end of two bones"):
        Layout("x", "abc", bones=[("a", "b"), ("c", "b")])
    with pytest.raises(ParameterError, match="a is the end of two bones"):
        Layout("x", "ab", bones=[("b", "a")], root="a")
    with pytest.raises(ParameterError, match="the bone to c comes before its parent's"):
        Layout("x", "abc", bones=[("b", "c"), ("a", "b")])
    with pytest.raises(ParameterError, match="the bone to a comes before its parent's"):
        Layout("x", "a", bones=[("a", "a")])
    with pytest.raises(ParameterError, match="no joint 'd'; it has a, b"):
        Layout("x", "ab", root="d")
    with pytest.raises(ParameterError, match="joints 0 to 1, asked for 2"):
        Layout("x", "ab", bones=[(0, 2)])


def test_choosing_joints():
    layout = LAYOUTS["coco17"]
    assert layout.indices(None) == tuple(range(17))
    assert layout.indices("nose") == (0,)
    assert layout.indices(3) == (3,)
    assert layout.indices(["left_eye", 4]) == (1, 4)
    with pytest.raises(ParameterError, match="no joint or joint set 'tail'; sets: key"):
        layout.indices("tail")
    with pytest.raises(ParameterError, match="chosen twice"):
        layout.indices([1, "left_eye"])


def test_a_long_layout_is_made_in_linear_time():
    names = [f"j{i}" for i in range(2000)]
    layout = Layout("long", names, bones=[(i, i + 1) for i in range(1999)], root=0)
    assert layout.parents[-1] == 1998
