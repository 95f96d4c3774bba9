"""Mapping between layouts: by name, by stand-in, and refused where a joint is missing."""

from __future__ import annotations

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kerneton.data.bodies import pair_layout
from kerneton.data.layouts import (
    COCO_17,
    FLORENCE_15,
    KINECT_20,
    KINECT_25,
    LAYOUTS,
    MSR_20,
    SMPL_24,
    Layout,
)
from kerneton.data.mapping import ALIASES, map_layout, source_joints, sub_layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError, ParameterError


def recording(layout, *, confidence=False, dtype=np.float64, **fields):
    rng = np.random.default_rng(0)
    joints = rng.normal(size=(6, len(layout.joints), 3)).astype(dtype)
    trust = rng.uniform(size=joints.shape[:2]).astype(dtype) if confidence else None
    return SkeletonSequence(joints, trust, layout=layout, **fields)


def test_reordering_there_and_back_is_exact():
    sequence = recording(MSR_20, confidence=True, dtype=np.float32, label="wave", fps=15)
    there = map_layout(sequence, KINECT_20)
    assert there.layout is KINECT_20
    assert there.joints.dtype == np.float32
    assert (there.label, there.fps) == ("wave", 15)
    assert_allclose(there.joints[:, KINECT_20.index("head")], sequence.joints[:, 19])
    back = map_layout(there, MSR_20)
    np.testing.assert_array_equal(back.joints, sequence.joints)
    np.testing.assert_array_equal(back.confidence, sequence.confidence)


def test_the_same_joints_only_change_the_layout():
    sequence = recording(COCO_17)
    renamed = Layout("mine", COCO_17.joints)
    assert map_layout(sequence, renamed).layout is renamed
    np.testing.assert_array_equal(map_layout(sequence, renamed).joints, sequence.joints)


def test_stand_ins_are_means_with_the_weakest_confidence():
    sequence = recording(COCO_17, confidence=True)
    mapped = map_layout(sequence, FLORENCE_15)
    shoulders = COCO_17.indices(["left_shoulder", "right_shoulder"])
    neck = FLORENCE_15.index("neck")
    assert_allclose(mapped.joints[:, neck], sequence.joints[:, shoulders].mean(1))
    assert_allclose(mapped.confidence[:, neck], sequence.confidence[:, shoulders].min(1))


def test_full_trust_stays_unsaid():
    assert map_layout(recording(COCO_17), FLORENCE_15).confidence is None


def test_without_aliases_the_missing_are_named():
    with pytest.raises(
        DataError, match="recording 'clip' with layout 'coco17' lacks head, neck, spine of lay"
    ):
        map_layout(recording(COCO_17, name="clip"), FLORENCE_15, aliases=False)


def test_only_needed_joints_must_be_there():
    sequence = recording(FLORENCE_15)
    with pytest.raises(DataError, match="lacks left_eye, right_eye, left_ear and 1 more of layout"):
        map_layout(sequence, COCO_17)
    mapped = map_layout(sequence, COCO_17, needed="key")
    eye = COCO_17.index("left_eye")
    assert np.isnan(mapped.joints[:, eye]).all()
    assert_allclose(mapped.confidence[:, eye], 0.0)
    assert_allclose(mapped.confidence[:, COCO_17.index("left_wrist")], 1.0)


def test_a_recording_without_layout_cannot_be_mapped():
    with pytest.raises(ParameterError, match="no layout"):
        map_layout(SkeletonSequence(np.ones((2, 5, 3))), COCO_17)


@pytest.mark.parametrize(
    "source",
    [layout for name, layout in LAYOUTS.items() if "hand" not in name],
    ids=lambda layout: layout.name,
)
@pytest.mark.parametrize("target", [FLORENCE_15, KINECT_20], ids=["florence15", "kinect20"])
def test_every_sensor_can_feed_the_paper_layouts(source, target):
    sequence = recording(source)
    mapped = map_layout(sequence, target)
    assert np.isfinite(mapped.joints).all()
    for joint in set(source.joints) & set(target.joints):
        assert_allclose(
            mapped.joints[:, target.index(joint)], sequence.joints[:, source.index(joint)], rtol=0
        )


def test_smpl_from_kinect_needs_only_stand_ins():
    assert all(source_joints(KINECT_25, SMPL_24))


def test_stand_ins_name_joints_of_the_vocabulary():
    known = {joint for layout in LAYOUTS.values() for joint in layout.joints}
    for joint, rows in ALIASES.items():
        for name in (joint, *(name for row in rows for name in row)):
            assert name.replace("*", "left") in known, name


def test_sub_layout_keeps_root_bones_and_whole_sets():
    part = sub_layout(KINECT_20, ["hip_center", "head", "left_hand", "right_hand", "right_elbow"])
    assert part.name == "kinect20/5"
    assert part.root == 0
    bones = {(part.joints[a], part.joints[b]) for a, b in part.bones}
    assert bones == {
        ("hip_center", "head"),
        ("hip_center", "left_hand"),
        ("hip_center", "right_elbow"),
        ("right_elbow", "right_hand"),
    }
    assert part.sets["A"] == (2, 3)
    assert part.sets["key"] == (
        0,
        1,
        2,
        3,
        4,
    )  # the nine of the whole are not all there: from the bones
    assert "D_words" not in part.sets
    assert sub_layout(KINECT_20, ["head", "left_foot"]).bones == ()
    assert sub_layout(KINECT_20, ["head"]).root is None


def test_part_of_two_bodies_is_of_two_bodies():
    both = pair_layout(KINECT_20, KINECT_20)
    part = sub_layout(both, ["hip_center_1", "left_hand_1", "hip_center_2", "left_hand_2"])
    assert part.bodies == ((0, 1), (2, 3))
    assert part.roots == (0, 2)


def test_stand_ins_of_two_bodies_are_those_of_one():
    source, target = (pair_layout(one, one) for one in (LAYOUTS["openni15"], FLORENCE_15))
    sequence = recording(source)
    mapped = map_layout(sequence, target)
    for number in (1, 2):
        wrist, hand = (f"left_{joint}_{number}" for joint in ("wrist", "hand"))
        assert_allclose(
            mapped.joints[:, target.index(wrist)], sequence.joints[:, source.index(hand)]
        )


def test_a_missing_joint_is_said_once_and_in_few_names():
    joints = ["head", "nose", "right_elbwo", "right_wrist", "left_knee"]
    found, wanted = Layout("table", joints), Layout("table", ["head", "right_elbow"])
    found.written.update(zip(joints, ["Head", "Nose", "ElbwoR", "WristR", "KneeL"], strict=True))
    recording = SkeletonSequence(np.ones((2, 5, 3)), layout=found, name="a")
    told = "has a joint 'ElbwoR' where 'right_elbow' is expected: misspelt? rename={'ElbwoR': 'right_elbow'} corrects it"
    with pytest.raises(DataError, match=f"recording 'a' {re.escape(told)}$"):
        map_layout(recording, wanted)
    with pytest.raises(
        DataError, match=r"recording 'a' lacks tail; it has Head, Nose, ElbwoR and 2 more$"
    ):
        map_layout(recording, Layout("table", ["head", "tail"]))
    arms = Layout("table", ["left_wrist", "rigth_hand"])  # beside a forearm, LeftHand is the wrist
    arms.written.update(left_wrist="LeftHand", rigth_hand="RigthHand")
    told = "has a joint 'RigthHand' where 'RightHand' is expected: misspelt? rename={'RigthHand': 'RightHand'} corrects"
    with pytest.raises(DataError, match=re.escape(told)):
        map_layout(
            SkeletonSequence(np.ones((2, 2, 3)), layout=arms), Layout("table", ["right_wrist"])
        )
    with pytest.raises(
        DataError, match="with layout 'table' lacks right_knee of layout 'legs'; it has"
    ):
        map_layout(recording, Layout("legs", ["left_knee", "right_knee"]))
