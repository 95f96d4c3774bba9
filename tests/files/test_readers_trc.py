"""TRC: header, units, missing markers, which way is up."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kerneton.data.bodies import pair
from kerneton.data.layouts import KINECT_20
from kerneton.data.sequence import SkeletonSequence
from kerneton.data.units import turn_up
from kerneton.datasets.synthetic import make_actions
from kerneton.exceptions import FormatError, ParameterError
from kerneton.files import readers
from kerneton.files.readers import trc
from kerneton.files.readers._markers import vertical_axis as guess_up

KEYS = (
    "DataRate CameraRate NumFrames NumMarkers Units OrigDataRate OrigDataStartFrame OrigNumFrames"
)
LABELS = [
    "Hip",
    "RHip",
    "RKnee",
    "RAnkle",
    "RBigToe",
    "Neck",
    "Head",
    "LShoulder",
    "LElbow",
    "Clip",
]


def trc_text(points, labels=LABELS, unit="mm", rate=50.0, tab="\t"):
    """A file as OpenSim writes it; NaN becomes blank fields."""
    T, M, _ = points.shape
    rows = []
    for t in range(T):
        cells = ["" if np.isnan(v) else f"{v:.5f}" for v in points[t].ravel()]
        rows.append(tab.join([str(t + 1), f"{t / rate:.4f}", *cells]))
    lines = [
        f"PathFileType{tab}4{tab}(X/Y/Z){tab}walk.trc",
        KEYS.replace(" ", tab),
        tab.join([f"{rate}", f"{rate}", str(T), str(M), unit, f"{rate}", "1", str(T)]),
        f"Frame#{tab}Time{tab}" + (tab * 3 if tab == "\t" else tab).join(labels),
        tab * 2 + tab.join(f"{a}{m + 1}" for m in range(M) for a in "XYZ"),
        "",
        *rows,
    ]
    return "\n".join(lines) + "\n"


@pytest.fixture
def points():
    rng = np.random.default_rng(0)
    rest = np.array([[0, 1, 0], [-0.1, 1, 0], [-0.1, 0.5, 0], [-0.1, 0.1, 0], [-0.1, 0, 0.2]])
    upper = np.array([[0, 1.5, 0], [0, 1.7, 0], [0.2, 1.5, 0], [0.5, 1.5, 0], [0.3, 0.3, 0.3]])
    return np.concatenate([rest, upper]) + 0.02 * rng.normal(size=(12, 10, 3))


def write(tmp_path, text):
    path = tmp_path / "walk.trc"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("unit", "factor"), [("mm", 1000), ("m", 1), ("cm", 100), ("inches", 1 / 0.0254)]
)
def test_every_unit_becomes_metres(tmp_path, points, unit, factor):
    (recording,) = readers.read(write(tmp_path, trc_text(points * factor, unit=unit)))
    assert_allclose(recording.joints, points, atol=1e-5)
    assert recording.fps == 50
    assert recording.confidence is None
    assert recording.name == "walk"


def test_labels_become_joints_and_bones(tmp_path, points):
    (recording,) = trc.read(write(tmp_path, trc_text(points)))
    layout = recording.layout
    assert layout.joints == (
        *("hip_center", "right_hip", "right_knee", "right_ankle", "right_big_toe"),
        *("neck", "head", "left_shoulder", "left_elbow", "clip"),
    )
    bones = {(layout.joints[a], layout.joints[b]) for a, b in layout.bones}
    assert bones == {
        ("hip_center", "neck"),
        ("neck", "head"),
        ("neck", "left_shoulder"),
        ("left_shoulder", "left_elbow"),
        ("hip_center", "right_hip"),
        ("right_hip", "right_knee"),
        ("right_knee", "right_ankle"),
        ("right_ankle", "right_big_toe"),
    }
    assert layout.root == 0


@pytest.mark.parametrize("gap", [np.nan, 0.0])
def test_blank_fields_and_the_origin_are_missing(tmp_path, points, gap):
    points[3, 2] = points[5, -1] = gap  # the second lies at the end of its row
    (recording,) = trc.read(write(tmp_path, trc_text(points, unit="m")))
    gone = np.zeros((12, 10), dtype=bool)
    gone[3, 2] = gone[5, -1] = True
    assert_array_equal(np.isnan(recording.joints).all(axis=2), gone)
    assert_array_equal(recording.confidence, (~gone).astype(float))


def test_rows_may_lack_the_blanks_at_their_end(tmp_path, points):
    points[5, -1] = np.nan
    text = "\n".join(line.rstrip("\t") for line in trc_text(points, unit="m").split("\n"))
    (recording,) = trc.read(write(tmp_path, text))
    assert np.isnan(recording.joints[5, -1]).all()
    assert np.isnan(recording.joints).sum() == 3


def test_spaces_in_place_of_tabs(tmp_path, points):
    (recording,) = trc.read(write(tmp_path, trc_text(points, unit="m", tab=" ")))
    assert_allclose(recording.joints, points, atol=1e-5)


def test_a_body_that_stands_along_z_is_turned_up(tmp_path, points):
    x, y, z = np.moveaxis(points, -1, 0)
    (recording,) = trc.read(write(tmp_path, trc_text(np.stack([x, -z, y], axis=-1), unit="m")))
    assert_allclose(recording.joints, points, atol=1e-5)


def test_a_body_that_lies_down_is_not_turned(points):
    x, y, z = np.moveaxis(points, -1, 0)
    names = ["head" if i == 6 else "right_ankle" if i == 3 else f"m{i}" for i in range(10)]
    assert guess_up(np.stack([y, x, z], axis=-1), names) is None


@pytest.mark.parametrize("up", ["x", "-x", "y", "-y", "z", "-z"])
def test_turning_up_is_a_rotation(up):
    turn = turn_up(np.eye(3)[:, None], up)[:, 0].T
    assert_allclose(np.linalg.det(turn), 1)
    axis = "xyz".index(up[-1])
    assert_allclose(turn[:, axis], [0, -1 if up[0] == "-" else 1, 0])


def test_round_trip(tmp_path):
    joints = np.random.default_rng(1).normal(size=(7, 20, 3))
    joints[..., 1] += 100 * (np.arange(20) == 3)  # the head is up
    confidence = np.ones((7, 20))
    confidence[2, 5] = 0
    trc.write(
        [SkeletonSequence(joints, confidence, layout=KINECT_20, fps=25)], tmp_path / "out.trc"
    )
    (back,) = readers.read(tmp_path / "out.trc")
    assert back.layout.joints == KINECT_20.joints
    assert back.fps == 25
    joints[2, 5] = np.nan
    assert_allclose(back.joints, joints, atol=1e-6)
    assert_array_equal(back.confidence, confidence)


def test_write_takes_one_recording(tmp_path):
    with pytest.raises(ParameterError, match="one recording, got 2"):
        trc.write([SkeletonSequence(np.ones((2, 2, 3)))] * 2, tmp_path / "a.trc")
    trc.write([SkeletonSequence(np.ones((2, 2, 3)))], tmp_path / "a.trc")
    assert trc.read(tmp_path / "a.trc")[0].layout.joints == ("joint0", "joint1")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("PathFileType", "Path", "line 1: expected PathFileType"),
        ("NumFrames", "Frames", "lacks numframes"),
        ("\tmm\t", "\tfathoms\t", "line 3: expected a unit of length such as mm, got 'fathoms'"),
        ("50.0\t50.0\t12", "x\t50.0\t12", "line 3: expected a number, got 'x'"),
        ("50.0\t50.0\t12", "50\t50\t13", "states 13 frames, but the file contains 12"),
        ("50.0\t50.0\t12", "50\t50\t999999999999", "need .* MiB"),
        ("50.0\t50.0\t12\t10", "50\t50\t12\tten", "expected the number of markers, got 'ten'"),
        ("\n2\t0.0200\t", "\n2\t0.0200\toops", "line 8: expected a number, got 'oops"),
        ("\n2\t0.0200\t", "\n2\t0.0200\t1\t2\t", "line 8: expected 32 fields, got 34"),
        ("-20.19236", "9e99", "implausibly large for a recording"),
    ],
)
def test_errors_name_the_line(tmp_path, points, old, new, message):
    text = trc_text(points * 1000)
    assert old in text
    with pytest.raises(FormatError, match=message):
        trc.read(write(tmp_path, text.replace(old, new, 1)))


def test_a_header_alone_is_refused(tmp_path, points):
    text = "\n".join(trc_text(points).split("\n")[:5])
    with pytest.raises(FormatError, match="5 lines; expected 5 of header"):
        trc.read(write(tmp_path, text))


def test_sniff_is_by_content():
    assert trc.sniff(b"PathFileType\t4", Path("a.txt"))
    assert not trc.sniff(b"HIERARCHY", Path("a.trc"))


def test_a_written_recording_keeps_its_layout_and_both_bodies(tmp_path):
    wave = make_actions(["wave"], n_subjects=1, n_takes=1)[0]
    both = pair(wave, wave.replace(joints=wave.joints + [0, 0, 1.5]))
    for recording in (wave, both):
        trc.write([recording], tmp_path / "take.trc")
        (back,) = trc.read(tmp_path / "take.trc")
        assert back.layout.joints == recording.layout.joints
        assert back.layout.bones == recording.layout.bones
        assert back.layout.bodies == recording.layout.bodies
