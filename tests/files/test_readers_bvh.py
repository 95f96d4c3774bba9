"""BVH against an independent computation, in every channel order."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from kerneton.data.layouts import KINECT_20, Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import FormatError, ParameterError
from kerneton.files import readers
from kerneton.files.readers import bvh
from kerneton.files.readers._kinematics import _BLOCK, forward_kinematics
from kerneton.files.readers._names import joint_names
from kerneton.files.readers.bvh import Joint

AXES = "XYZ"


def random_tree(rng, channels):
    """A hierarchy as (parent, offset, channels), depth first, with an end site after every leaf."""
    parents = [-1] + [int(rng.integers(max(0, i - 3), i)) for i in range(1, len(channels))]
    children = {i: [c for c, p in enumerate(parents) if p == i] for i in range(len(channels))}
    return (
        parents,
        children,
        rng.normal(size=(len(channels), 3)),
        rng.normal(size=(len(channels), 3)),
    )


def bvh_text(names, channels, children, offsets, tips, values, frame_time=0.01):
    def block(i, depth):
        tab = "\t" * depth
        yield f"{tab}{'JOINT' if depth else 'ROOT'} {names[i]}"
        yield f"{tab}{{"
        yield f"{tab}\tOFFSET {offsets[i][0]!r} {offsets[i][1]!r} {offsets[i][2]!r}"
        if channels[i] is not None:
            yield f"{tab}\tCHANNELS {len(channels[i])} {' '.join(channels[i])}"
        for child in children[i]:
            yield from block(child, depth + 1)
        if not children[i]:
            yield f"{tab}\tEnd Site"
            yield f"{tab}\t{{"
            yield f"{tab}\t\tOFFSET {tips[i][0]!r} {tips[i][1]!r} {tips[i][2]!r}"
            yield f"{tab}\t}}"
        yield f"{tab}}}"

    rows = [" ".join(repr(float(v)) for v in row) for row in values]
    lines = [
        "HIERARCHY",
        *block(0, 0),
        "MOTION",
        f"Frames:\t{len(values)}",
        f"Frame Time:\t{frame_time}",
        *rows,
    ]
    return "\n".join(lines) + "\n"


def reference(order, parents, children, channels, offsets, tips, values):
    """World positions by 4 x 4 matrices, one joint and one frame at a time, rotations by SciPy."""
    frames = []
    for row in values:
        row, world, positions = list(row), {}, []
        for i in order:
            local, turns, angles = np.array(offsets[i]), "", []
            for channel in channels[i] or []:
                value = row.pop(0)
                if channel.endswith("position"):
                    local[AXES.index(channel[0])] = value
                else:
                    turns, angles = turns + channel[0], angles + [value]
            matrix = np.eye(4)
            matrix[:3, 3] = local
            if turns:
                matrix[:3, :3] = (
                    Rotation.from_euler(turns, angles, degrees=True).as_matrix().reshape(3, 3)
                )
            world[i] = matrix if parents[i] < 0 else world[parents[i]] @ matrix
            positions.append(world[i][:3, 3])
            if not children[i]:
                positions.append((world[i] @ np.append(tips[i], 1))[:3])
        frames.append(positions)
    return np.array(frames)


def depth_first(children, i=0):
    return [i] + [k for child in children[i] for k in depth_first(children, child)]


def check_against_reference(tmp_path, channels, seed):
    rng = np.random.default_rng(seed)
    parents, children, offsets, tips = random_tree(rng, channels)
    order = depth_first(children)
    n_values = sum(len(c or []) for c in channels)
    values = rng.uniform(-180, 180, size=(5, n_values))
    names = [f"j{i}" for i in range(len(channels))]
    path = tmp_path / f"tree{seed}.bvh"
    path.write_text(bvh_text(names, channels, children, offsets.tolist(), tips.tolist(), values))
    (recording,) = bvh.read(path)
    expected = reference(order, parents, children, channels, offsets, tips, values)
    unit = np.linalg.norm(recording.joints) / np.linalg.norm(expected)
    assert unit == pytest.approx(1) or unit == pytest.approx(0.01) or unit == pytest.approx(0.001)
    assert_allclose(recording.joints / unit, expected, atol=1e-6, rtol=0)


ROTATIONS = [f"{a}rotation" for a in AXES]
POSITIONS = [f"{a}position" for a in AXES]
SIX = list(itertools.permutations(POSITIONS + ROTATIONS))


@pytest.mark.parametrize("part", range(24))
def test_all_720_orders_of_six_channels(tmp_path, part):
    check_against_reference(tmp_path, [list(c) for c in SIX[part::24]], part)


def test_every_order_of_fewer_channels(tmp_path):
    orders = [list(c) for n in range(4) for c in itertools.permutations(ROTATIONS, n)]
    orders += [list(c) for n in range(1, 4) for c in itertools.permutations(POSITIONS, n)]
    check_against_reference(tmp_path, [SIX[0], *orders, None], 100)


def test_an_axis_may_come_twice(tmp_path):
    twice = [[f"{a}rotation", f"{b}rotation", f"{a}rotation"] for a in AXES for b in AXES if a != b]
    check_against_reference(tmp_path, [SIX[0], *twice], 101)


def test_long_recordings_are_placed_in_blocks():
    rng = np.random.default_rng(0)
    joints = [
        Joint("a", -1, np.zeros(3), [("rotation", 0)]),
        Joint("b", 0, np.array([0.0, 1.0, 0.0])),
    ]
    values = rng.uniform(-90, 90, size=(2 * _BLOCK + 7, 1))
    whole = forward_kinematics(
        [-1, 0], lambda frames: bvh.moves(joints, values[frames]), len(values)
    )
    assert_allclose(whole[:, 1, 1], np.cos(np.deg2rad(values[:, 0])), atol=1e-12)


MIXAMO = """HIERARCHY
ROOT mixamorig:Hips
{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation
  JOINT mixamorig:Spine
  {
    OFFSET 0 30 0
    CHANNELS 3 Zrotation Yrotation Xrotation
    JOINT mixamorig:LeftShoulder
    {
      OFFSET 5 40 0
      CHANNELS 3 Zrotation Yrotation Xrotation
      JOINT mixamorig:LeftArm
      {
        OFFSET 15 0 0
        CHANNELS 3 Zrotation Yrotation Xrotation
        End Site
        {
          OFFSET 30 0 0
        }
      }
    }
  }
}
MOTION
Frames: 2
Frame Time: 0.0333333
0 100 0 0 0 0 0 0 0 0 0 0 0 0 0
0 100 0 0 90 0 0 0 0 0 0 0 0 0 90
"""


def write(tmp_path, text, name="take.bvh"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_names_bones_units_and_frame_rate(tmp_path):
    (recording,) = readers.read(write(tmp_path, MIXAMO))
    layout = recording.layout
    assert layout.joints == (
        "hip_center",
        "spine",
        "left_collar",
        "left_shoulder",
        "left_shoulder_end",
    )
    assert layout.bones == ((0, 1), (1, 2), (2, 3), (3, 4))
    assert layout.root == 0
    assert recording.name == "take"
    assert_allclose(recording.fps, 30, rtol=1e-5)
    expected = [[0, 1, 0], [0, 1.3, 0], [0.05, 1.7, 0], [0.2, 1.7, 0], [0.5, 1.7, 0]]  # metres
    assert_allclose(recording.joints[0], expected, atol=1e-9)
    assert_allclose(recording.joints[1, 4], [0, 1.7, -0.5], atol=1e-9)


@pytest.mark.parametrize(("factor", "unit"), [(0.01, 1.0), (1.0, 0.01), (10.0, 0.001)])
def test_unit_is_guessed_from_the_rest_pose(tmp_path, factor, unit):
    text = MIXAMO
    for old in ("0 30 0", "5 40 0", "15 0 0", "30 0 0"):
        text = text.replace(
            f"OFFSET {old}\n", f"OFFSET {' '.join(str(float(v) * factor) for v in old.split())}\n"
        )
    text = text.replace("0 100 0 0", f"0 {100 * factor} 0 0")
    (recording,) = bvh.read(write(tmp_path, text))
    assert_allclose(recording.joints[0, 3], [0.2, 1.7, 0], atol=1e-9)


def test_the_end_of_the_wrist_is_the_hand(tmp_path):
    text = "ROOT LeftElbow { OFFSET 0 0 0 CHANNELS 1 Xrotation JOINT LeftWrist { OFFSET 0 0 1 "
    text += "End Site { OFFSET 0 0 1 } End Site { OFFSET 0 0 2 } End Site { OFFSET 0 0 2 } } }"
    (recording,) = bvh.read(
        write(tmp_path, f"HIERARCHY\n{text}\nMOTION\nFrames: 1\nFrame Time: 1\n0\n")
    )
    joints = ("left_elbow", "left_wrist", "left_hand", "left_wrist_end", "left_wrist_end2")
    assert recording.layout.joints == joints


def test_one_line_windows_ends_and_byte_order_mark(tmp_path):
    (expected,) = bvh.read(write(tmp_path, MIXAMO))
    head, _, tail = MIXAMO.partition("MOTION")
    path = tmp_path / "other.bvh"
    path.write_bytes(
        b"\xef\xbb\xbf"
        + (" ".join(head.split()) + "\nMOTION" + tail).replace("\n", "\r\n").encode()
    )
    assert readers.detect_format(path) == "bvh"
    (recording,) = bvh.read(path)
    assert_allclose(recording.joints, expected.joints)


def test_nan_values_are_missing_joints(tmp_path):
    (recording,) = bvh.read(write(tmp_path, MIXAMO.replace("0 100 0 0 90 0", "nan 100 0 0 90 0")))
    assert np.isnan(recording.joints[1, :, 0]).all()
    assert not np.isnan(recording.joints[0]).any()


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (["Hips", "LeftHip", "LeftKnee"], ["hip_center", "left_hip", "left_knee"]),
        (["Hips", "LHipJoint", "LeftUpLeg"], ["hip_center", "left_hip_joint", "left_hip"]),
        (
            ["pelvis", "thigh_l", "calf_l", "ball_l"],
            ["hip_center", "left_hip", "left_knee", "left_foot"],
        ),
        (["Bip01", "Bip01 L Thigh", "Bip01 R Hand"], ["hip_center", "left_hip", "right_wrist"]),
        (["shoulder.L", "upper_arm.L"], ["left_collar", "left_shoulder"]),
        (["LeftShoulder", "LeftElbow"], ["left_shoulder", "left_elbow"]),
        (["LeftWrist", "LeftHand"], ["left_wrist", "left_hand"]),
        (["Spine", "Spine1", "Spine2"], ["spine_lower", "spine", "chest"]),
        (["Spine", "Spine1", "Chest"], ["spine_lower", "spine", "chest"]),
        (["spine_01", "spine_02"], ["spine", "chest"]),
        (["LKNE", "RKNE", "LAMP"], ["left_knee", "right_knee", "lamp"]),
        (["C7", "T10", "Prop", "Prop"], ["c7", "t10", "prop", "prop_2"]),
        (["left_hand", "left_elbow"], ["left_hand", "left_elbow"]),
        (["", "é", "*"], ["joint", "é", "joint_2"]),
    ],
)
def test_joint_names(raw, expected):
    assert joint_names(raw) == expected


def test_write_gives_the_same_positions_back(tmp_path):
    rng = np.random.default_rng(3)
    joints = rng.normal(size=(6, 20, 3))
    joints[2, 4] = np.nan
    path = tmp_path / "out.bvh"
    bvh.write([SkeletonSequence(joints, layout=KINECT_20, fps=25)], path)
    (back,) = bvh.read(path)
    assert back.fps == 25
    order = [back.layout.index(name) for name in KINECT_20.joints]
    whole = [0, 1, 3, 4, 5]
    assert_allclose(back.joints[whole][:, order], joints[whole], atol=1e-7)
    assert np.isnan(back.joints[2, back.layout.index("left_shoulder")]).all()
    assert set(back.layout.sets) == {"D", "E", "key"}


@pytest.mark.parametrize("size", [1.0, 800.0])
def test_write_keeps_the_scale_of_metres_and_pixels(tmp_path, size):
    joints = size * np.random.default_rng(4).normal(size=(3, 20, 3))
    bvh.write([SkeletonSequence(joints, layout=KINECT_20)], tmp_path / "out.bvh")
    (back,) = bvh.read(tmp_path / "out.bvh")
    assert_allclose(back.joints[:, 0], joints[:, 0], rtol=1e-6)


def test_write_refuses_what_is_no_tree(tmp_path):
    loose = SkeletonSequence(np.ones((2, 2, 3)), layout=Layout("loose", ["a", "b"]))
    with pytest.raises(ParameterError, match="connect every joint"):
        bvh.write([loose], tmp_path / "a.bvh")
    with pytest.raises(ParameterError, match="one recording, got 0"):
        bvh.write([], tmp_path / "a.bvh")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("MOTION", "", "no line MOTION"),
        ("ROOT", "ROT", "line 2: expected a joint"),
        ("OFFSET 0 30 0", "OFFSET 0 ten 0", "line 8: expected a number, got 'ten'"),
        ("OFFSET 0 30 0", "OFFSET 0 1e300 0", "line 8: 1e300 is implausibly large"),
        ("CHANNELS 6", "CHANNELS 7", "at most 6 channels"),
        ("CHANNELS 6", "CHANNELS six", "expected the number of channels, got 'six'"),
        (
            "Zrotation Yrotation",
            "Wrotation Yrotation",
            "line 5: expected a channel such as Xrotation",
        ),
        ("    JOINT mixamorig:LeftShoulder", "    ROOT x", "ROOT 'x' is inside a joint"),
        ("}\nMOTION", "MOTION", "is never closed"),
        ("}\nMOTION", "}\n}\nMOTION", "got '}'"),
        ("Frames: 2", "Frames: 3", "are 45 numbers, the file contains 30"),
        ("Frames: 2", "Frames: -2", "line 27: expected the number of frames"),
        ("Frames: 2", "Frames: 0", "contains no motion"),
        ("Frame Time: 0.0333333", "Frame Time: x", "line 28: expected a number"),
        ("Frames: 2\n", "", "expected 'Frames:' and 'Frame Time:'"),
        ("0 100 0 0 90", "0 100 0 oops 90", "line 30: expected a number, got 'oops'"),
        ("0 100 0 0 90", "0 inf 0 0 90", "implausibly large for a recording"),
    ],
)
def test_errors_name_the_line(tmp_path, old, new, message):
    assert old in MIXAMO
    with pytest.raises(FormatError, match=message.replace("(", r"\(")):
        bvh.read(write(tmp_path, MIXAMO.replace(old, new, 1)))


def test_header_counts_are_refused_before_memory_is_taken(tmp_path):
    many = "\n".join(f"ROOT a{i} {{ OFFSET 0 0 0 }}" for i in range(1001))
    with pytest.raises(FormatError, match="more than 1000 joints"):
        bvh.read(write(tmp_path, f"HIERARCHY\n{many}\nMOTION\nFrames: 1\nFrame Time: 1\n0\n"))
    wide = "ROOT r { OFFSET 0 0 0 CHANNELS 1 Xrotation " + "JOINT j { OFFSET 0 0 0 } " * 998 + "}"
    with pytest.raises(FormatError, match=r"need .* MiB"):
        bvh.read(
            write(
                tmp_path,
                f"HIERARCHY\n{wide}\nMOTION\nFrames: 30000\nFrame Time: 1\n" + "0 " * 30000,
            )
        )


def test_deep_hierarchies_need_no_recursion(tmp_path):
    text = (
        "ROOT a { OFFSET 0 0.001 0 CHANNELS 1 Xrotation "
        + "JOINT a { OFFSET 0 0.001 0 " * 999
        + "}" * 1000
    )
    path = write(tmp_path, f"HIERARCHY\n{text}\nMOTION\nFrames: 1\nFrame Time: 1\n0\n")
    (recording,) = bvh.read(path)
    assert_allclose(recording.joints[0, -1], [0, 1.0, 0], atol=1e-9)
    assert recording.layout.joints[-1] == "a_1000"


def test_sniff_is_by_content():
    assert bvh.sniff(b"  \r\nhierarchy\nROOT", Path("x.txt"))
    assert not bvh.sniff(b"MOTION", Path("x.bvh"))
