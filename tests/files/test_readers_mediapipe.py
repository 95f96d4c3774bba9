"""MediaPipe landmarks: the forms in which people export them."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kerneton.data.layouts import MEDIAPIPE_33
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import FormatError
from kerneton.files import readers
from kerneton.files.readers import mediapipe

JOINTS = MEDIAPIPE_33.joints
AXES = ("x", "y", "z", "visibility")


@pytest.fixture
def world():
    """(T, 33, 4): metres about the hips and visibility."""
    rng = np.random.default_rng(0)
    return np.concatenate(
        [rng.normal(scale=0.3, size=(6, 33, 3)), rng.uniform(0.2, 1, size=(6, 33, 1))], axis=2
    )


@pytest.fixture
def picture():
    rng = np.random.default_rng(1)
    return np.concatenate(
        [rng.uniform(0.3, 0.7, size=(6, 33, 3)), rng.uniform(0.2, 1, size=(6, 33, 1))], axis=2
    )


def objects(frame):
    return [dict(zip(AXES, point, strict=True)) for point in frame.tolist()]


def write(tmp_path, document):
    path = tmp_path / "wave.json"
    path.write_text(json.dumps(document))
    return path


JSON_FORMS = {
    "list of lists of objects": lambda w: [objects(f) for f in w],
    "list of lists of numbers": lambda w: {"landmarks": w.tolist()},
    "flat numbers": lambda w: {"landmarks": [f.ravel().tolist() for f in w]},
    "frames of landmarks": lambda w: {
        "fps": 30,
        "frames": [{"t": i, "landmarks": objects(f)} for i, f in enumerate(w)],
    },
    "tasks, python": lambda w: [
        {"pose_landmarks": [objects(f + 5)], "pose_world_landmarks": [objects(f)]} for f in w
    ],
    "tasks, web": lambda w: [
        {"landmarks": [objects(f + 5)], "worldLandmarks": [objects(f)]} for f in w
    ],
    "protobuf": lambda w: {"frames": [{"poseWorldLandmarks": {"landmark": objects(f)}} for f in w]},
    "named": lambda w: [dict(zip((j.upper() for j in JOINTS), objects(f), strict=True)) for f in w],
    "keyed by number": lambda w: {str(i): {"landmarks": objects(w[i])} for i in (3, 1, 2, 0, 5, 4)},
}


@pytest.mark.parametrize("form", JSON_FORMS)
def test_json_forms(tmp_path, world, form):
    path = write(tmp_path, JSON_FORMS[form](world))
    if form != "named":  # which no word tells from other JSON but visibility
        assert readers.detect_format(path) == "mediapipe"
    (recording,) = readers.read(path)
    assert recording.layout is MEDIAPIPE_33
    assert recording.name == "wave"
    assert_allclose(recording.joints, world[..., :3] * [-1, -1, 1])
    assert_allclose(recording.confidence, world[..., 3])
    assert recording.fps == (30 if form == "frames of landmarks" else None)


def table(header, rows):
    return "\n".join(",".join(map(str, row)) for row in [header, *rows])


def wide(names, w, axes=AXES):
    return table(
        ["frame", *(name.format(a=a) for name in names for a in axes)],
        [[t, *f.ravel()] for t, f in enumerate(w)],
    )


CSV_FORMS = {
    "names": lambda w: wide([f"{j}_{{a}}" for j in JOINTS], w),
    "shouted names": lambda w: wide([f"{j.upper()}.{{a}}" for j in JOINTS], w),
    "numbers from 1": lambda w: wide([f"{{a}}{i + 1}" for i in range(33)], w, ("x", "y", "z", "v")),
    "numbers from 0": lambda w: wide([f"landmark_{i}_{{a}}" for i in range(33)], w),
    "both kinds": lambda w: table(
        [f"{k}{j}_{a}" for k in ("", "world_") for j in JOINTS for a in AXES],
        [[*(f + 5).ravel(), *f.ravel()] for f in w],
    ),
    "presence": lambda w: table(
        [f"{j}_{a}" for j in JOINTS for a in (*AXES, "presence")],
        [np.insert(f, 4, 0.5, axis=1).ravel() for f in w],
    ),
    "long, names": lambda w: table(
        ["frame", "landmark", *AXES],
        [[t, JOINTS[j], *p] for t, f in enumerate(w) for j, p in enumerate(f)],
    ),
    "long, numbers": lambda w: table(
        ["frame", "landmark_id", *AXES],
        [[t, j, *p] for t, f in enumerate(w) for j, p in enumerate(f)],
    ),
}


@pytest.mark.parametrize("form", CSV_FORMS)
def test_csv_forms(tmp_path, world, form):
    path = tmp_path / "wave.csv"
    path.write_text(CSV_FORMS[form](world))
    assert readers.detect_format(path) == "mediapipe"
    (recording,) = readers.read(path)
    assert recording.layout is MEDIAPIPE_33
    assert recording.name == "wave"
    assert_allclose(recording.joints, world[..., :3] * [-1, -1, 1])
    assert_allclose(recording.confidence, world[..., 3])


def test_label_and_time_of_a_table(tmp_path, world):
    path = tmp_path / "wave.csv"
    header = ["class", "time", *(f"{a}{i + 1}" for i in range(33) for a in "xyzv")]
    path.write_text(table(header, [["wave", t / 25, *f.ravel()] for t, f in enumerate(world)]))
    (recording,) = readers.read(path)
    assert recording.label == "wave"
    assert recording.fps == 25


def test_our_own_tables_are_not_turned(tmp_path, world):
    mine = SkeletonSequence(world[..., :3], world[..., 3], layout=MEDIAPIPE_33)
    readers.write([mine], tmp_path / "mine.csv")
    assert readers.detect_format(tmp_path / "mine.csv") == "csv_table"
    assert_allclose(readers.read(tmp_path / "mine.csv")[0].joints, mine.joints)


def test_parts_of_a_picture(tmp_path, picture, caplog):
    frames = [{"landmarks": objects(f)} for f in picture]
    with caplog.at_level(logging.INFO, "kerneton.files.readers"):
        (plain,) = mediapipe.read(write(tmp_path, frames))
    assert_allclose(plain.joints, picture[..., :3] * [-1, -1, 1])
    assert "fractions of a picture" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.INFO, "kerneton.files.readers"):
        (sized,) = mediapipe.read(write(tmp_path, {"width": 640, "height": 480, "frames": frames}))
    assert_allclose(sized.joints, picture[..., :3] * [-4 / 3, -1, 4 / 3])
    assert not caplog.text


def test_a_standing_body_has_its_head_up_and_its_left_on_the_right_of_the_picture(
    tmp_path, picture
):
    picture[:, JOINTS.index("nose"), 1] = 0.1
    picture[:, JOINTS.index("left_heel"), 1] = 0.9
    picture[:, JOINTS.index("left_shoulder"), 0] = 0.7
    picture[:, JOINTS.index("right_shoulder"), 0] = 0.3
    (recording,) = mediapipe.read(write(tmp_path, [objects(f) for f in picture]))
    pose = dict(zip(JOINTS, recording.joints[0], strict=True))
    assert pose["nose"][1] > pose["left_heel"][1]
    facing, up = np.array([0, 0, -1]), np.array([0, 1, 0])  # towards the camera
    assert (pose["left_shoulder"] - pose["right_shoulder"]) @ np.cross(up, facing) > 0


@pytest.mark.parametrize("nobody", [None, [], {"landmarks": []}, {"pose_landmarks": None}])
def test_frames_without_a_person_are_missing(tmp_path, world, nobody):
    frames = [{"landmarks": objects(f)} for f in world]
    frames[2] = nobody
    (recording,) = mediapipe.read(write(tmp_path, frames))
    assert_array_equal(np.flatnonzero(np.isnan(recording.joints).all(axis=(1, 2))), [2])
    assert_array_equal(recording.confidence[2], np.zeros(33))


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([{"landmarks": [{"x": 1, "y": 2}] * 32}], "frame 0: expected 33 landmarks, got 32"),
        ([{"landmarks": ["a"] * 33}], "frame 0: expected"),
        ([{"landmarks": [{"x": "a", "y": 2}] * 33}], "frame 0: expected a list of numbers"),
        ([{"landmarks": [{"x": 1e300, "y": 2}] * 33}], "implausibly large for a recording"),
        ([{"hands": 3}], "frame 0: expected landmarks, got an object with 'hands'"),
        ([3], "frame 0: expected a list of 33 landmarks, got int"),
        ([[[[[[[[[[[[[[1]]]]]]]]]]]]]], "no landmarks within 8 levels of nesting"),
        ([], "0 frames, but no person in any"),
        ({"landmarks": []}, "no person in any"),
    ],
)
def test_json_errors(tmp_path, document, message):
    with pytest.raises(FormatError, match=message):
        mediapipe.read(write(tmp_path, document))


def test_table_errors(tmp_path, world):
    path = tmp_path / "wave.csv"
    path.write_text(wide([f"{j}_{{a}}" for j in JOINTS[:32]], world[:, :32]))
    with pytest.raises(FormatError, match="expected 33 landmarks, got 32"):
        mediapipe.read(path)
    path.write_text("")
    with pytest.raises(FormatError):
        mediapipe.read(path)


def test_sniff_is_by_content():
    assert mediapipe.sniff(b'[[{"x": 0.1, "visibility": 1', Path("a.txt"))
    assert not mediapipe.sniff(b'{"people": []}', Path("a.json"))
    assert not mediapipe.sniff(b"frame,nose_x,nose_y\n", Path("a.csv"))
