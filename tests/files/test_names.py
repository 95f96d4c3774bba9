"""Names of joints as sensors, suites and people write them: which joints of ours they are, and
bones that look like a body.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from kerneton.data.differences import layout_difference, misspelt_side
from kerneton.data.layouts import HAND_21, LAYOUTS, Layout
from kerneton.datasets.synthetic import make_actions
from kerneton.exceptions import DataError, FormatError, ParameterError
from kerneton.files import readers
from kerneton.files.folder import load_folder
from kerneton.files.readers._bones import named_bones
from kerneton.files.readers._names import joint_names, layout_of_names
from kerneton.files.readers._people import say

FINGERS = ("thumb", "index", "middle", "ring", "pinky")


def both(*parts):
    return [f"{side}_{part}" for side in ("left", "right") for part in parts]


ARMS, LEGS = ("shoulder", "elbow", "wrist"), ("hip", "knee", "ankle")
OPENNI = [
    *("head", "neck", "torso"),
    *both("shoulder", "elbow", "hand"),
    *both("hip", "knee", "foot"),
]
NTU = """base of the spine,middle of the spine,neck,head,left shoulder,left elbow,left wrist,left hand,
right shoulder,right elbow,right wrist,right hand,left hip,left knee,left ankle,left foot,right hip,right knee,
right ankle,right foot,spine,tip of the left hand,left thumb,tip of the right hand,right thumb"""
MIXAMO = """Hips Spine Spine1 Spine2 Neck Head HeadTop_End LeftShoulder LeftArm LeftForeArm LeftHand LeftHandThumb1
LeftHandThumb2 LeftHandIndex1 LeftHandIndex2 RightShoulder RightArm RightForeArm RightHand RightHandThumb1 RightHandThumb2
RightHandIndex1 RightHandIndex2 LeftUpLeg LeftLeg LeftFoot LeftToeBase LeftToe_End RightUpLeg RightLeg RightFoot RightToeBase
RightToe_End"""
PLUG_IN_GAIT = """LFHD RFHD LBHD RBHD C7 T10 CLAV STRN RBAK LSHO LUPA LELB LFRM LWRA LWRB LFIN RSHO RUPA RELB RFRM RWRA RWRB
RFIN LASI RASI LPSI RPSI LTHI LKNE LTIB LANK LHEE LTOE RTHI RKNE RTIB RANK RHEE RTOE"""
BVH = """Hips Chest Chest2 Chest3 Chest4 Neck Head LeftCollar LeftShoulder LeftElbow LeftWrist RightCollar RightShoulder
RightElbow RightWrist LeftHip LeftKnee LeftAnkle LeftToe RightHip RightKnee RightAnkle RightToe"""
SETS = {
    "without clavicles": [
        "head",
        "neck",
        "spine",
        *both(*ARMS, "hand"),
        *both(*LEGS, "foot"),
        "pelvis",
    ],
    "without a pelvis": [
        "head",
        "neck",
        "spine",
        *both(*ARMS, "hand", "thumb"),
        *both(*LEGS, "foot"),
    ],
    "without a spine": ["head", "neck", *both(*ARMS), *both(*LEGS)],
    "ntu": NTU.replace("\n", "").split(","),
    "mixamo": [f"mixamorig:{name}" for name in MIXAMO.split()],
    "plug-in gait": PLUG_IN_GAIT.split(),
    "bvh": BVH.split(),
    "openpose 18": [
        *("Nose", "Neck"),
        *(f"{side}{part.title()}" for side in "RL" for part in (*ARMS, *LEGS, "eye", "ear")),
    ],
    "smpl-x": [
        *("pelvis", "spine1", "spine2", "spine3", "neck", "head", "jaw"),
        *both(
            "collar",
            *ARMS,
            *LEGS,
            "foot",
            "eye_smplhf",
            *(f"{f}{n}" for f in FINGERS for n in (1, 2, 3)),
        ),
    ],
    "h36m": [
        "Hip",
        "RHip",
        "RKnee",
        "RFoot",
        "LHip",
        "LKnee",
        "LFoot",
        "Spine",
        "Thorax",
        "Neck/Nose",
        "Head",
    ]
    + ["LShoulder", "LElbow", "LWrist", "RShoulder", "RElbow", "RWrist"],
    "mpii": [*("pelvis", "thorax", "upper_neck", "head_top"), *both(*ARMS, *LEGS)],
}


def bones_of(layout):
    return {frozenset((layout.joints[a], layout.joints[b])) for a, b in layout.bones}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_names_alone_give_the_bones_of_every_layout(layout):
    named = named_bones("named", layout.joints)
    assert bones_of(named) == bones_of(layout)
    assert named.root == layout.root


@pytest.mark.parametrize("names", SETS.values(), ids=SETS)
def test_bones_of_the_usual_names_are_one_tree_with_two_equal_sides(names):
    layout = layout_of_names("table", joint_names(names))
    assert len(layout.bones) == len(names) - 1
    mirrored = {(layout.mirror[a], layout.mirror[b]) for a, b in layout.bones}
    assert mirrored == set(layout.bones)


def parent(layout, joint):
    return layout.joints[layout.parents[layout.index(joint)]]


def test_shoulders_hang_from_the_neck_where_there_are_no_clavicles():
    for name in ("without clavicles", "without a pelvis", "without a spine", "openpose 18"):
        layout = layout_of_names("table", joint_names(SETS[name]))
        assert parent(layout, "left_shoulder") == parent(layout, "right_shoulder") == "neck"


def test_bones_do_not_cross_the_body():
    """Every bone between joints of a generated person is as short as one of a body."""
    recording = make_actions(["wave"], n_subjects=1, n_takes=1)[0]
    kept = [
        joint
        for joint in recording.layout.joints
        if joint not in ("hip_center", "left_wrist", "right_wrist")
    ]
    names = ["neck" if joint == "shoulder_center" else joint for joint in kept]
    joints = recording.joints[:, recording.layout.indices(kept)]
    layout = layout_of_names("table", joint_names(names))
    assert len(layout.bones) == len(names) - 1
    lengths = [np.linalg.norm(joints[:, a] - joints[:, b], axis=1).max() for a, b in layout.bones]
    assert max(lengths) < 0.6


@pytest.mark.parametrize(
    ("names", "layout"),
    [
        (NTU.replace("\n", "").split(","), "kinect25"),
        ([name.replace(" ", "_") for name in NTU.replace("\n", "").split(",")], "kinect25"),
        ([f"XN_SKEL_{name.upper()}" for name in OPENNI], "openni15"),
        ([f"joint_{name}" for name in OPENNI], "openni15"),
        (OPENNI, "openni15"),
        ([name.title().replace("_", "") for name in OPENNI], "openni15"),
        ([name.replace("left", "l").replace("right", "r") for name in OPENNI], "openni15"),
        ([*("head", "neck", "torso"), *both(*ARMS), *both(*LEGS)], "florence15"),
        ([name.replace("left_mouth", "mouth_left").replace("right_mouth", "mouth_right")
          for name in LAYOUTS["mediapipe33"].joints], "mediapipe33"),
    ],
)  # fmt: skip
def test_names_of_known_layouts(names, layout):
    assert layout_of_names("table", joint_names(names)) is LAYOUTS[layout]


def test_bones_that_hands_and_feet_are_named_after_make_them_wrists_and_ankles():
    for names, expected in (
        (["LeftForeArm", "LeftHand", "LeftLeg", "LeftFoot"], ["elbow", "wrist", "knee", "ankle"]),
        (["LeftElbow", "LeftHand", "LeftKnee", "LeftFoot"], ["elbow", "hand", "knee", "foot"]),
    ):
        assert joint_names(names) == [f"left_{part}" for part in expected]


@pytest.mark.parametrize(
    "names",
    [
        [joint.upper().replace("_", "_FINGER_", 1) if joint[:2] in ("in", "mi", "ri") else joint.upper()
         for joint in HAND_21.joints],
        ["wrist", *(f"{finger}_{n}" for finger in ("thumb", "idx", "mid", "rng", "pky") for n in range(1, 5))],
        ["wrist", *(f"{finger}{n}" for finger in FINGERS for n in range(4))],
        ["hand", *(f"{finger}_{n}" for finger in ("thumb", "index", "middle", "ring", "little") for n in "abcd")],
        [f"left_hand_{joint}" for joint in HAND_21.joints],
        [f"hand_{joint}" for joint in HAND_21.joints],
        ["palm", *(f"{finger}_{part}" for finger in FINGERS for part in ("knuckle", "pip", "dip", "tip"))],
        ["palm", *(f"{finger}_{part}" for finger in FINGERS for part in ("base", "mid", "far", "tip"))],
        ["wrist", *(f"{finger}_knuckle{n}" for finger in FINGERS for n in range(1, 5))],
        ["hand_root", *(f"{letter}{n}" for letter in "TIMRP" for n in range(1, 5))],
    ],
)  # fmt: skip
def test_hands(names):
    assert layout_of_names("table", joint_names(names)) is HAND_21


def test_five_counted_words_and_one_joint_are_a_hand():
    fingers = ("Daumen", "Zeige", "Mittel", "Ring", "Klein")
    layout = layout_of_names(
        "table", joint_names(["Handgelenk", *(f"{f}_{n}" for f in fingers for n in (1, 2, 3))])
    )
    assert len(layout.bones) == 15
    assert {parent(layout, f"{finger.lower()}1") for finger in fingers} == {"handgelenk"}
    assert {parent(layout, f"{f.lower()}{n}") for f in fingers for n in (2, 3)} == {
        f"{f.lower()}{n}" for f in fingers for n in (1, 2)
    }


def test_the_right_and_the_left_hand_keep_their_sides():
    names = [f"{side}_hand_{joint}" for side in ("right", "left") for joint in HAND_21.joints]
    layout = layout_of_names("table", joint_names(names))
    assert layout.joints == tuple(
        f"{side}_{joint}" for side in ("right", "left") for joint in HAND_21.joints
    )
    assert len(layout.bodies) == 1
    assert len(layout.bones) == 40
    assert sorted(layout.roots) == [0, 21]


def test_fingers_of_a_body_hang_from_its_wrists():
    layout = layout_of_names("table", joint_names(SETS["mixamo"]))
    assert parent(layout, "left_hand_index1") == "left_wrist"
    assert parent(layout, "left_hand_index2") == "left_hand_index1"
    assert parent(layout, "head_top_end") == "head"


@pytest.mark.parametrize("text", ["NAME,NAME,...", "head,neck,", "head,neck,head", ",", "head,..."])
def test_examples_of_messages_are_no_joints(tmp_path, text):
    (tmp_path / "rows.txt").write_text("1 2 3\n" * 6)
    with pytest.raises(
        ParameterError, match=r"is no list of joints: .* every joint of the file needs its own name"
    ):
        readers.read(tmp_path / "rows.txt", layout=text)


def test_joints_that_are_nearly_known_are_told(tmp_path, caplog):
    say.cache_clear()
    (tmp_path / "rows.txt").write_text("1 2 3\n" * 6)
    (rows,) = readers.read(tmp_path / "rows.txt", layout="haed,tail,LeftWrsit")
    assert rows.layout.joints == ("haed", "tail", "left_wrsit")
    assert [m.split(";")[0] for m in caplog.messages] == [
        "'haed' is no joint that Kerneton knows (did you mean 'head'?)",
        "'LeftWrsit' is no joint that Kerneton knows (did you mean 'left_wrist'?)",
    ]


def test_a_layout_of_another_width_says_how_many_joints_the_file_has(tmp_path):
    (tmp_path / "bare.csv").write_text("1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n" * 2)
    with pytest.raises(
        FormatError,
        match=r"15 columns do not fit the 2 joints .*; the file may have 5 joints of x, y, z",
    ):
        readers.read(tmp_path / "bare.csv", layout="head,neck")


def people(folder, header, odd):
    """Three recordings with this header, and one with some columns written otherwise."""
    for i in range(4):
        place = folder / "wave" / str(i)
        place.mkdir(parents=True)
        names = [odd.get(name, name) for name in header] if i == 3 else header
        row = ",".join(map(str, range(len(names))))
        (place / "take.csv").write_text(f"{','.join(names)}\n{row}\n{row}1\n")
    return folder


WORDS = [
    "Head",
    "Neck",
    "Tail",
    *(side + part for side in ("Left", "Right") for part in ("Shoulder", "Elbow", "Hand")),
]


_ARM_AND_LEG = ("Shoulder", "Arm", "ForeArm", "Hand", "UpLeg", "Leg", "Foot", "ToeBase")
ENGINE = [
    "Hips",
    "Spine",
    "Neck",
    "Head",
    *(side + part for side in ("Left", "Right") for part in _ARM_AND_LEG),
]


@pytest.mark.parametrize(
    ("words", "old", "new"),
    [
        (WORDS, "RightHand", "RigthHnad"),
        (WORDS, "Neck", "Nekc"),
        (WORDS, "Tail", "Taill"),
        (ENGINE, "RightHand", "RigthHand"),  # the wrist, beside RightForeArm
        (ENGINE, "LeftArm", "LeftAmr"),  # without it, LeftShoulder is the shoulder
        (ENGINE, "Hips", "Hisp"),
    ],
)
def test_messages_name_joints_as_the_file_does_and_renaming_takes_both_spellings(
    tmp_path, words, old, new
):
    header = [f"{joint}{axis}" for joint in words for axis in "XYZ"]
    data = people(tmp_path, header, {f"{old}{axis}": f"{new}{axis}" for axis in "XYZ"})
    found = load_folder(data)
    expected = found[0].layout
    said = layout_difference(found[3].layout, expected)
    assert said == f"has a joint {new!r} where {old!r} is expected: misspelt?"
    ours = next(joint for joint in expected.joints if expected.written[joint] == old)
    for before in (
        new,
        *(joint for joint in found[3].layout.joints if joint not in expected.joints),
    ):
        for after in (old,) if ours in found[3].layout.joints else (old, ours):
            assert load_folder(data, rename={before: after})[3].layout.joints == expected.joints
    with pytest.raises(
        ParameterError, match=rf"no joint .* a joint '{new}x' .*; did you mean '{new}'|'{new}'\?"
    ):
        load_folder(data, rename={f"{new}x": old})


def test_a_misspelling_is_found_where_the_file_has_the_words_of_a_joint_in_another_order(tmp_path):
    joints = [
        re.sub("^(Left|Right)(.*)", r"\2\1", joint.title().replace("_", ""))
        for joint in LAYOUTS["kinect20"].joints
    ]
    header = [f"{joint}_{axis}" for joint in joints for axis in "XYZ"]
    found = load_folder(
        people(tmp_path, header, {f"HandRight_{axis}": f"HandRigth_{axis}" for axis in "XYZ"})
    )
    told = "has a joint 'HandRigth' where 'right_hand' is expected: misspelt?"
    assert layout_difference(found[3].layout, found[0].layout) == told
    assert misspelt_side(found[3].layout) == (
        "'HandLeft' has no partner on the other side: is 'HandRigth' misspelt?"
    )


def test_layouts_of_one_name_are_not_told_apart_by_it():
    one, other = (Layout("table", ["head", tail]) for tail in ("tail", "paw"))
    assert layout_difference(one, other) == "lacks paw and has tail in addition"
    other = Layout("other", other.joints)
    assert layout_difference(one, other) == "lacks paw and has tail in addition"


@pytest.mark.parametrize("axis", "xyz")
def test_one_misspelt_column_of_a_joint_is_found(tmp_path, axis):
    header = [f"{joint}_{axis}" for joint in ("head", "hand_l", "hand_r") for axis in "xyz"]
    data = people(tmp_path, header, {f"hand_l_{axis}": f"hnad_l_{axis}"})
    with pytest.raises(
        DataError,
        match=f"'hand_l' has no {axis}; is it the column 'hnad_l_{axis}'.*columns={{'OLD': 'NEW'}}|'hnad_l' has no",
    ):
        load_folder(data)
    fixed = load_folder(data, columns={f"hnad_l_{axis}": f"hand_l_{axis}"})
    assert [s.n_joints for s in fixed] == [3] * 4


def test_names_of_jhmdb_are_a_body():
    ends = ("shoulder", "hip", "elbow", "knee", "wrist", "ankle")
    names = [
        "neck",
        "belly",
        "face",
        *(f"{side}_{end}" for end in ends for side in ("right", "left")),
    ]
    assert tuple(joint_names(names)) == LAYOUTS["jhmdb15"].joints
