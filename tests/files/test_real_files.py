"""Files that other people's software wrote: each is read, or says in one sentence what it is."""

from __future__ import annotations

import numpy as np
import pytest

from kerneton.exceptions import FormatError
from kerneton.files import readers


@pytest.fixture
def files(data_home):
    folder = data_home / "files"
    if not folder.is_dir():
        pytest.skip("no files of other software at hand")
    return folder


@pytest.mark.parametrize(
    ("name", "n_frames", "n_joints", "fps"),
    [
        ("Dance.c3d", 499, 40, 65.05),
        ("FP1.C3D", 480, 8, 60),
        ("MACsample.c3d", 180, 33, 60),
        ("MotionMonitorC3D.c3d", 840, 7, 140),
        ("golfswing.c3d", 514, 29, 107.53),
        ("Gait.trc", 487, 33, 100),
        ("SprintCalib.trc", 337, 65, 250),
        ("UpperLimbStatic.trc", 146, 34, 100),
        ("example_crowdpose_preds.json", 4, 14, None),
    ],
)
def test_is_read(files, name, n_frames, n_joints, fps):
    (recording,) = readers.read(files / name)
    assert (recording.n_frames, recording.n_joints) == (n_frames, n_joints)
    assert recording.fps is None if fps is None else recording.fps == pytest.approx(fps, abs=0.01)
    assert np.isfinite(recording.joints).all(axis=-1).any()


def test_a_shoulder_is_where_a_shoulder_can_be(files):
    """MACsample states two scales that contradict each other; by one a person has 58 cm."""
    (recording,) = readers.read(files / "MACsample.c3d")
    height = np.nanmax(recording.joints[:, recording.layout.index("right_shoulder"), 1])
    assert 1.2 < height < 1.6


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("01.asf", "an ASF skeleton, which contains no motion: give its AMC file"),
        ("10002-20130626160334-Unnamed.trc", "no marker has a name"),
        ("sample.pkl", "100 annotations without keypoints"),
    ],
)
def test_says_what_it_is(files, name, sentence):
    with pytest.raises(FormatError, match=sentence):
        readers.read(files / name)


@pytest.mark.parametrize(
    ("name", "n_frames", "labels", "first"),
    [
        ("frame_labelled_squat.csv", 4160, {"down", "up"}, ("down", 0, 33)),
        ("frame_labelled_lunge.csv", 1107, {"L", "C", "R"}, ("L", 0, 30)),
    ],
)
def test_a_label_per_frame_gives_segments(files, name, n_frames, labels, first):
    (recording,) = readers.read(files / name)
    assert recording.n_frames == n_frames
    assert recording.label is None
    assert {s.label for s in recording.segments} <= labels | {"I"}
    assert (
        recording.segments[0].label,
        recording.segments[0].start,
        recording.segments[0].stop,
    ) == first
    assert sum(s.n_frames for s in recording.segments) == n_frames
