"""OpenPose: folders and files, two and three dimensions, one person among several."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kerneton.data.layouts import OPENPOSE_25
from kerneton.exceptions import FormatError, MissingDataError
from kerneton.files import readers
from kerneton.files.readers import openpose


def person(points):
    """A person of OpenPose's output from points (J, 3) of x, y, confidence or (J, 4) with z."""
    kind = "pose_keypoints_3d" if points.shape[1] == 4 else "pose_keypoints_2d"
    other = "pose_keypoints_2d" if kind.endswith("3d") else "pose_keypoints_3d"
    return {"person_id": [-1], kind: points.ravel().tolist(), "face_keypoints_2d": [], other: []}


def frames_of(*tracks):
    return [
        {"version": 1.3, "people": [person(p) for p in frame]}
        for frame in zip(*tracks, strict=True)
    ]


def write_folder(path, frames, name="clip"):
    path.mkdir()
    for t, frame in enumerate(frames):
        (path / f"{name}_{t}_keypoints.json").write_text(
            json.dumps(frame)
        )  # 10 sorts after 9, not after 1
    return path


@pytest.fixture
def track():
    rng = np.random.default_rng(0)
    body = rng.uniform(100, 500, size=(25, 2))
    points = body + np.cumsum(rng.normal(size=(12, 1, 2)), axis=0)
    return np.concatenate([points, rng.uniform(0.5, 1, size=(12, 25, 1))], axis=2)


def expected(track):
    return np.stack([-track[..., 0], -track[..., 1], 0 * track[..., 0]], axis=-1)


def test_a_folder_is_a_recording(tmp_path, track, caplog):
    with caplog.at_level(logging.INFO, "kerneton.files.readers"):
        (recording,) = readers.read(write_folder(tmp_path / "wave", frames_of(track)))
    assert recording.layout is OPENPOSE_25
    assert recording.name == "wave"
    assert_allclose(recording.joints, expected(track))
    assert_allclose(recording.confidence, track[..., 2])
    assert "z is zero" in caplog.text
    assert "left out" not in caplog.text


def test_one_file_with_all_frames(tmp_path, track):
    path = tmp_path / "wave.json"
    path.write_text(json.dumps(frames_of(track)))
    assert readers.detect_format(path) == "openpose"
    assert_allclose(readers.read(path)[0].joints, expected(track))
    path.write_text(json.dumps({"fps": 25, "frames": frames_of(track)}))
    (recording,) = openpose.read(path)
    assert recording.fps == 25
    assert_allclose(recording.joints, expected(track))


def test_one_file_is_one_frame(tmp_path, track):
    folder = write_folder(tmp_path / "wave", frames_of(track))
    (recording,) = readers.read(folder / "clip_3_keypoints.json")
    assert recording.name == "clip_3"
    assert_allclose(recording.joints, expected(track)[3:4])


def test_keypoints_not_found_are_missing(tmp_path, track):
    track[4, 7] = 0
    (recording,) = openpose.read(write_folder(tmp_path / "wave", frames_of(track)))
    gone = np.zeros((12, 25), dtype=bool)
    gone[4, 7] = True
    assert_array_equal(np.isnan(recording.joints).all(axis=2), gone)
    assert_array_equal(recording.confidence == 0, gone)


def test_frames_without_people_are_missing(tmp_path, track):
    frames = frames_of(track)
    frames[0]["people"] = frames[5]["people"] = []
    (recording,) = openpose.read(write_folder(tmp_path / "wave", frames))
    assert_array_equal(np.flatnonzero(np.isnan(recording.joints).all(axis=(1, 2))), [0, 5])


def test_the_most_confident_person_is_followed(tmp_path, track, caplog):
    other = track + [700, 30, 0]
    other[..., 2] *= 0.4
    frames = frames_of(other, track)
    for frame in frames[::2]:
        frame["people"].reverse()
    frames[7]["people"] = [
        person(other[7])
    ]  # the one we follow is hidden; the other is too far away
    with caplog.at_level(logging.INFO, "kerneton.files.readers"):
        (recording,) = openpose.read(write_folder(tmp_path / "wave", frames))
    rest = np.delete(np.arange(12), 7)
    assert_allclose(recording.joints[rest], expected(track)[rest])
    assert np.isnan(recording.joints[7]).all()
    assert "up to 1 more people" in caplog.text


def test_three_dimensions_where_they_are(tmp_path, track, caplog):
    rng = np.random.default_rng(1)
    solid = np.insert(track, 2, rng.normal(size=(12, 25)), axis=2)
    with caplog.at_level(logging.INFO, "kerneton.files.readers"):
        (recording,) = openpose.read(write_folder(tmp_path / "wave", frames_of(solid)))
    assert_allclose(recording.joints, solid[..., :3] * [-1, -1, 1])
    assert "z is zero" not in caplog.text


def test_eighteen_keypoints(tmp_path, track):
    (recording,) = openpose.read(write_folder(tmp_path / "wave", frames_of(track[:, :18])))
    layout = recording.layout
    assert layout is openpose.OPENPOSE_18
    assert layout.joints[:5] == ("nose", "neck", "right_shoulder", "right_elbow", "right_wrist")
    assert layout.joints[5:8] == ("left_shoulder", "left_elbow", "left_wrist")
    assert layout.joints[8:14] == tuple(
        f"{s}_{p}" for s in ("right", "left") for p in ("hip", "knee", "ankle")
    )
    assert layout.joints[14:] == ("right_eye", "left_eye", "right_ear", "left_ear")
    assert len(layout.bones) == 17


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.__setitem__(2, {}), "frame 2: expected an object with a list 'people'"),
        (lambda f: f[2].update(people=[3]), "frame 2: expected a person"),
        (
            lambda f: f[2]["people"][0].update(pose_keypoints_2d=[1.0] * 74),
            "expected 3 x 25 or 3 x 18",
        ),
        (
            lambda f: f[2]["people"][0].update(pose_keypoints_2d=[1.0] * 54),
            "people with 18 and with 25",
        ),
        (
            lambda f: f[2]["people"][0].update(pose_keypoints_2d=["a"] * 75),
            "expected a list of numbers",
        ),
        (
            lambda f: f[2]["people"][0].update(pose_keypoints_2d=[1e12] * 75),
            "implausibly large for a recording",
        ),
        (lambda f: [frame.update(people=[]) for frame in f], "no person in any of them"),
    ],
)
def test_errors_name_the_frame(tmp_path, track, change, message):
    frames = frames_of(track)
    change(frames)
    with pytest.raises(FormatError, match=message):
        openpose.read(write_folder(tmp_path / "wave", frames))


def test_broken_json_names_the_line(tmp_path, track):
    folder = write_folder(tmp_path / "wave", frames_of(track))
    (folder / "clip_3_keypoints.json").write_text('{"people":\n[')
    with pytest.raises(FormatError, match=r"clip_3_keypoints\.json, line 2: not JSON"):
        openpose.read(folder)
    (folder / "clip_3_keypoints.json").write_text("[" * 100000)
    with pytest.raises(FormatError, match=r"clip_3_keypoints\.json: not JSON \(RecursionError\)"):
        openpose.read(folder)
    (folder / "clip_3_keypoints.json").write_text("9" * 10000)
    with pytest.raises(FormatError, match="not JSON"):
        openpose.read(folder)


def test_other_folders(tmp_path):
    assert not openpose.sniff(b"", tmp_path)
    with pytest.raises(FormatError, match=r"no \*_keypoints\.json"):
        openpose.read(tmp_path)
    with pytest.raises(MissingDataError):
        openpose.read(tmp_path / "nowhere.json")
    assert not openpose.sniff(b'[{"keypoints": []}]', Path("a.json"))
