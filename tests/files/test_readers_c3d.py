"""C3D through files that the library's own writer makes."""

from __future__ import annotations

import io
import struct
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kerneton.exceptions import FormatError, MissingExtraError
from kerneton.files import readers
from kerneton.files.readers import c3d as reader

LABELS = ["LSHO", "RSHO", "LELB", "RELB", "LANK", "RANK", "*1"]


def c3d_bytes(points, labels=LABELS, *, screen=("+X", "+Z"), missing=(), scale=-1.0, lists=None, **options):
    """A C3D file of points (T, M, 3); ``missing`` lists (frame, point)."""
    c3d = pytest.importorskip("c3d")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        writer = c3d.Writer(point_rate=120.0, analog_rate=0.0, point_scale=scale, **options)
        writer.set_point_labels(labels)
        if screen:
            writer.set_screen_axis(*screen)
        for name, words in (lists or {}).items():
            text, width = c3d.Writer.pack_labels(words)
            writer.point_group.add_str(name, "", text, width, len(words))
        for t, frame in enumerate(points):
            rows = np.zeros((len(frame), 5), dtype=np.float32)
            rows[:, :3], rows[:, 3:] = frame, 1
            for when, which in missing:
                if when == t:
                    rows[which, 3] = -1
            writer.add_frames([(rows, np.zeros((0, 0)))])
        handle = io.BytesIO()
        writer.write(handle)
    return handle.getvalue()


@pytest.fixture
def points():
    rng = np.random.default_rng(0)
    standing = [[-200, 0, 1500], [200, 0, 1500], [-400, 0, 1300], [400, 0, 1300], [-100, 0, 80], [100, 0, 80]]
    return np.array([*standing, [0, 0, 999]]) + 20 * rng.normal(size=(9, 7, 3))


def write(tmp_path, content):
    path = tmp_path / "walk.c3d"
    path.write_bytes(content)
    return path


def turned(points):
    x, y, z = np.moveaxis(points, -1, 0)
    return np.stack([x, z, -y], axis=-1)


def test_labelled_points_in_metres_with_y_up(tmp_path, points):
    (recording,) = readers.read(write(tmp_path, c3d_bytes(points)))
    assert recording.layout.joints == (
        *("left_shoulder", "right_shoulder", "left_elbow", "right_elbow", "left_ankle", "right_ankle"),
    )
    assert recording.fps == 120
    assert recording.name == "walk"
    assert recording.confidence is None
    assert_allclose(recording.joints, turned(points)[:, :6] / 1000, atol=1e-6)


def test_missing_points(tmp_path, points):
    points[4, 2] = 0
    points[5, 3, 1] = np.nan
    (recording,) = reader.read(write(tmp_path, c3d_bytes(points, missing=[(1, 0), (8, 5)])))
    gone = np.zeros((9, 6), dtype=bool)
    gone[[1, 8, 4, 5], [0, 5, 2, 3]] = True
    assert_array_equal(np.isnan(recording.joints).all(axis=2), gone)
    assert_array_equal(np.isnan(recording.joints).any(axis=2), gone)
    assert_array_equal(recording.confidence, (~gone).astype(float))


def test_integer_points_are_scaled(tmp_path, points):
    (recording,) = reader.read(write(tmp_path, c3d_bytes(points, scale=0.1)))
    assert_allclose(recording.joints, turned(points)[:, :6] / 1000, atol=1.1e-4)


@pytest.mark.parametrize(("unit", "metres"), [("mm  ", 1e-3), ("m", 1.0), ("cm", 1e-2)])
def test_units(tmp_path, points, unit, metres):
    (recording,) = reader.read(write(tmp_path, c3d_bytes(points, point_units=unit)))
    assert_allclose(recording.joints, turned(points)[:, :6] * metres, rtol=1e-5)


def test_screen_axis_wins_over_the_labels(tmp_path, points):
    (recording,) = reader.read(write(tmp_path, c3d_bytes(points, screen=("+X", "+Y"))))
    assert_allclose(recording.joints, points[:, :6] / 1000, atol=1e-6)


def test_without_screen_axis_the_labels_tell_then_z(tmp_path, points):
    (standing,) = reader.read(write(tmp_path, c3d_bytes(turned(points), screen=None)))
    assert_allclose(standing.joints, turned(points)[:, :6] / 1000, atol=1e-6)
    (unknown,) = reader.read(write(tmp_path, c3d_bytes(points, labels=list("abcdefg"), screen=None)))
    assert_allclose(unknown.joints, turned(points) / 1000, atol=1e-6)


def test_angles_and_forces_are_not_joints(tmp_path, points):
    content = c3d_bytes(points, lists={"ANGLES": ["LELB"], "FORCES": ["RANK", "RELB"]})
    (recording,) = reader.read(write(tmp_path, content))
    assert recording.layout.joints == ("left_shoulder", "right_shoulder", "left_ankle")


def test_two_bodies_give_two_recordings(tmp_path, points):
    labels = [f"{who}:{part}" for who in ("Ann", "Bob") for part in ("Hips", "Neck", "Head")] + ["*1"]
    ann, bob = reader.read(write(tmp_path, c3d_bytes(points, labels=labels)))
    assert (ann.subject, bob.subject) == ("Ann", "Bob")
    assert ann.layout.joints == bob.layout.joints == ("hip_center", "neck", "head")
    assert (ann.name, bob.name) == ("walk-Ann", "walk-Bob")
    assert_allclose(bob.joints, turned(points)[:, 3:6] / 1000, atol=1e-6)


def test_one_prefix_is_no_body_of_its_own(tmp_path, points):
    (recording,) = reader.read(
        write(tmp_path, c3d_bytes(points, labels=[f"Ann:{label}" for label in LABELS]))
    )
    assert recording.subject is None
    assert recording.layout.joints[0] == "left_shoulder"


def test_points_without_labels_are_numbered(tmp_path, points):
    (recording,) = reader.read(write(tmp_path, c3d_bytes(points, labels=["*"] * 7)))
    assert recording.layout.joints == tuple(f"point{i}" for i in range(1, 8))


def test_truncated_and_foreign_files_are_refused(tmp_path, points):
    content = c3d_bytes(points)
    with pytest.raises(FormatError, match="promises 9 frames, the file holds"):
        reader.read(write(tmp_path, content[:-700]))
    with pytest.raises(FormatError, match="damaged, or not C3D"):
        reader.read(write(tmp_path, content[:600]))
    with pytest.raises(FormatError, match="damaged, or not C3D"):
        reader.read(write(tmp_path, b"HIERARCHY"))
    with pytest.raises(FormatError, match="expected a unit of length such as mm, got 'furlong'"):
        reader.read(write(tmp_path, c3d_bytes(points, point_units="furlong")))


def test_promised_frames_take_no_memory(tmp_path, points):
    content = bytearray(c3d_bytes(points))
    at = content.index(b"ACTUAL_END_FIELD") + len("ACTUAL_END_FIELD") + 5
    content[at : at + 4] = struct.pack("<I", 2**31)
    with pytest.raises(FormatError, match=r"need .* MiB"):
        reader.read(write(tmp_path, bytes(content)))


def test_without_the_library_the_extra_is_named(tmp_path, points, monkeypatch):
    path = write(tmp_path, c3d_bytes(points))
    monkeypatch.setitem(sys.modules, "c3d", None)
    with pytest.raises(MissingExtraError, match=r"kerneton\[c3d\]"):
        reader.read(path)


def test_sniff_is_by_content(points):
    content = c3d_bytes(points)
    assert reader.sniff(content[:65536], Path("walk.dat"))
    assert not reader.sniff(b"\x02P" + bytes(2000), Path("walk.c3d"))
    assert not reader.sniff(b"", Path("walk.c3d"))
