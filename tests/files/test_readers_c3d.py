"""C3D through files that another library writes, and through some made by hand."""

from __future__ import annotations

import io
import struct
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kerneton.exceptions import FormatError
from kerneton.files import readers
from kerneton.files.readers import c3d as reader

LABELS = ["LSHO", "RSHO", "LELB", "RELB", "LANK", "RANK", "*1"]


def c3d_bytes(
    points, labels=LABELS, *, screen=("+X", "+Z"), missing=(), scale=-1.0, lists=None, **options
):
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
    standing = [
        [-200, 0, 1500],
        [200, 0, 1500],
        [-400, 0, 1300],
        [400, 0, 1300],
        [-100, 0, 80],
        [100, 0, 80],
    ]
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
        *(
            "left_shoulder",
            "right_shoulder",
            "left_elbow",
            "right_elbow",
            "left_ankle",
            "right_ankle",
        ),
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
    (unknown,) = reader.read(
        write(tmp_path, c3d_bytes(points, labels=list("abcdefg"), screen=None))
    )
    assert_allclose(unknown.joints, turned(points) / 1000, atol=1e-6)


def test_angles_and_forces_are_not_joints(tmp_path, points):
    content = c3d_bytes(points, lists={"ANGLES": ["LELB"], "FORCES": ["RANK", "RELB"]})
    (recording,) = reader.read(write(tmp_path, content))
    assert recording.layout.joints == ("left_shoulder", "right_shoulder", "left_ankle")


def test_two_bodies_give_two_recordings(tmp_path, points):
    labels = [f"{who}:{part}" for who in ("Ann", "Bob") for part in ("Hips", "Neck", "Head")] + [
        "*1"
    ]
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
    with pytest.raises(FormatError, match="states 9 frames, but the file contains"):
        reader.read(write(tmp_path, content[:-700]))
    with pytest.raises(FormatError, match="cut off"):
        reader.read(write(tmp_path, content[:600]))
    with pytest.raises(FormatError, match="not C3D, or cut off in its header"):
        reader.read(write(tmp_path, b"HIERARCHY"))
    with pytest.raises(FormatError, match="expected a unit of length such as mm, got 'furlong'"):
        reader.read(write(tmp_path, c3d_bytes(points, point_units="furlong")))


def test_one_frame_fewer_than_promised_is_read(tmp_path, points):
    content = bytearray(c3d_bytes(points))
    last = struct.unpack_from("<H", content, 8)[0]
    frame = 16 * points.shape[1]
    start = 512 * (struct.unpack_from("<H", content, 16)[0] - 1)
    (recording,) = reader.read(write(tmp_path, bytes(content[: start + 9 * frame - 4])))
    assert recording.n_frames == 8
    assert_allclose(recording.joints, turned(points)[:8, :6] / 1000, atol=1e-6)
    assert last == 9


def test_promised_frames_take_no_memory(tmp_path, points):
    content = bytearray(c3d_bytes(points))
    content[8:10] = struct.pack("<H", 65535)  # the header's counter is full: the parameter counts
    at = content.index(b"ACTUAL_END_FIELD") + len("ACTUAL_END_FIELD") + 5
    content[at : at + 4] = struct.pack("<I", 2**31)
    with pytest.raises(FormatError, match=r"states 2147483648 frames, but the file contains"):
        reader.read(write(tmp_path, bytes(content)))


def by_hand(points, processor, *, scale=-1.0, analog=(0, 0, 0), labels=("LSHO", "LANK")):
    """A small file of any processor type; ``analog``: samples in the header, per channel, and
    ANALOG:USED.
    """
    order = ">" if processor == 86 else "<"

    def real(value):
        if processor != 85:
            return struct.pack(order + "f", value)
        halves = struct.pack("<f", 4 * value)
        return halves[2:] + halves[:2]

    def entry(group, name, body):
        head = struct.pack("bb", len(name), group) + name
        return head + struct.pack(order + "h", 2 + len(body)) + body

    def parameter(group, name, kind, dimensions, content):
        body = struct.pack("bB", kind, len(dimensions)) + bytes(dimensions) + content + b"\0"
        return entry(group, name, body)

    whole = lambda value: struct.pack(order + "h", value)  # noqa: E731
    text = "".join(label.ljust(4) for label in labels).encode()
    parameters = bytes([0, 0, 1, processor]) + b"".join(
        [
            entry(-1, b"POINT", b"\0"),
            parameter(1, b"USED", 2, [], whole(points.shape[1])),
            parameter(1, b"SCALE", 4, [], real(2 * scale)),  # contradicts the header
            parameter(1, b"RATE", 4, [], real(50.0)),
            parameter(1, b"LABELS", -1, [4, len(labels)], text),
            parameter(1, b"UNITS", -1, [4], b"mete"),
            entry(-2, b"ANALOG", b"\0"),
            parameter(2, b"USED", 2, [], whole(analog[2])),
        ]
    )
    header = bytes([2, 0x50]) + b"".join(
        whole(v) for v in (points.shape[1], analog[0], 1, len(points), 0)
    )
    header += real(scale) + whole(3) + whole(analog[1]) + real(50.0)
    frames = b""
    for frame in points:
        for point in frame:
            values = [*point, 0.0] if scale < 0 else [*(point / scale), 0]
            frames += b"".join(real(v) if scale < 0 else whole(round(v)) for v in values)
        frames += (real(7.0) if scale < 0 else whole(7)) * analog[0]
    return header.ljust(512, b"\0") + parameters.ljust(512, b"\0") + frames


@pytest.mark.parametrize("processor", [84, 85, 86])
@pytest.mark.parametrize("scale", [-1.0, 0.001])
def test_every_processor_type_reads_the_same(tmp_path, processor, scale):
    points = np.array([[[0.1, 1.4, 2.0], [0.2, 0.1, 2.0]], [[0.1, 1.5, -2.0], [0.3, 0.2, -2.1]]])
    (recording,) = reader.read(write(tmp_path, by_hand(points, processor, scale=scale)))
    assert recording.fps == 50
    assert_allclose(recording.joints, points, atol=6e-4)


@pytest.mark.parametrize("processor", [84, 86])
def test_the_last_step_may_point_outside_the_section(tmp_path, processor):
    """Files of an SGI state 16129 bytes beyond a section of a few blocks."""
    points = np.random.default_rng(0).normal(size=(9, 2, 3))
    points[:, 0, 1] += 5
    content = bytearray(by_hand(points, processor))
    at = content.index(b"USED", content.index(b"ANALOG")) + 4
    content[at : at + 2] = struct.pack(">h" if processor == 86 else "<h", 600)
    (recording,) = reader.read(write(tmp_path, bytes(content)))
    assert_allclose(recording.joints, points, atol=1e-6)


@pytest.mark.parametrize("analog", [(6, 3, 2), (6, 3, 6)])
def test_analog_counts_that_contradict_each_other(tmp_path, analog):
    points = np.random.default_rng(0).normal(size=(200, 2, 3))
    points[:, 0, 1] += 5
    (recording,) = reader.read(write(tmp_path, by_hand(points, 84, analog=analog)))
    assert_allclose(recording.joints, points, atol=1e-6)


def test_sniff_is_by_content(points):
    content = c3d_bytes(points)
    assert reader.sniff(content[:65536], Path("walk.dat"))
    assert not reader.sniff(b"\x02P" + bytes(2000), Path("walk.c3d"))
    assert not reader.sniff(b"", Path("walk.c3d"))
