"""Tables of motion-capture programs and OpenSim: positions in metres with y up, angles refused."""

from __future__ import annotations

import numpy as np
import published
import pytest
from numpy.testing import assert_allclose

from kerneton.exceptions import FormatError
from kerneton.files import readers

JOINTS = {"left_fhd": "LFHD", "right_shoulder": "RSHO", "left_knee": "LKNE", "right_toe": "RTOE"}


def read(tmp_path, content, name):
    path = tmp_path / name
    path.write_bytes(content)
    return readers.read(path)


def check(sequence, tolerance=1e-5):
    expected = published.person()
    names = list(published.MARKERS)
    assert sequence.n_joints == len(names)
    heights = sequence.joints[..., 1]
    assert_allclose(
        np.nan_to_num(heights, nan=-1).max(axis=1), expected[..., 1].max(axis=1), atol=tolerance
    )
    assert_allclose(sequence.joints[0], expected[0], atol=tolerance)


@pytest.mark.parametrize(
    ("make", "name", "fps"),
    [
        (published.motive, "take.csv", 120),
        (published.nexus, "take.csv", 100),
        (published.qualisys, "take.tsv", 100),
        (lambda: published.qualisys(time=False), "take.tsv", 100),
        (published.visual3d, "take.txt", None),
        (published.body_kinematics, "take.sto", 50),
        (published.vec3_sto, "take.sto", 50),
    ],
)
def test_positions_in_metres_with_y_up(make, name, fps, tmp_path):
    (sequence,) = read(tmp_path, make(), name)
    check(sequence)
    assert sequence.fps == fps
    assert {"left_shoulder", "right_knee"} <= set(sequence.layout.joints)


def test_a_lost_marker_is_missing(tmp_path):
    (sequence,) = read(tmp_path, published.nexus(), "take.csv")
    assert np.isnan(sequence.joints[2, -1]).all()
    assert np.isfinite(sequence.joints[[0, 1, 3, 4]]).all()


def test_two_subjects_are_two_recordings(tmp_path):
    content = published.nexus().replace(b"ann:R", b"bob:R")
    found = read(tmp_path, content, "take.csv")
    assert [(s.subject, s.n_joints) for s in found] == [("ann", 6), ("bob", 6)]


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (
            published.inverse_kinematics(),
            "ik.mot",
            "joint angles .*, but positions .*Body Kinematics",
        ),
        (
            published.body_kinematics().replace(b"Positions", b"Velocities"),
            "v.sto",
            "Velocities, not positions",
        ),
        (
            published.visual3d("LINK_MODEL_BASED"),
            "v.txt",
            "'LFHD' is of type LINK_MODEL_BASED, no position",
        ),
        (
            published.motive().replace(b"Space,Global", b"Space,Local"),
            "m.csv",
            "local coordinates; export .* Global",
        ),
        (published.nexus().partition(b"Trajectories")[0], "n.csv", "no section Trajectories"),
        (
            published.qualisys().replace(b"MARKER_NAMES", b"BODY_NAMES").replace(b"\t3D", b"\t6D"),
            "q.tsv",
            "no MARKER_NAMES, but 6D",
        ),
        (
            published.motive().replace(b"0.07", b"0.0x7", 1),
            "m.csv",
            "line 8: expected a number, got '0.0x70000'",
        ),
    ],
)
def test_what_has_no_positions_is_refused_with_the_way_out(content, name, message, tmp_path):
    with pytest.raises(FormatError, match=message):
        read(tmp_path, content, name)
