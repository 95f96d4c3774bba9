"""NumPy files: exact round trips, other people's arrays, and hostile archives refused."""

from __future__ import annotations

import io
import json
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from samples import motion, npy_bytes, npz_bytes, sequence

from kerneton.data.layouts import COCO_17, KINECT_20, Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import FormatError
from kerneton.files import readers
from kerneton.files.readers import npz
from kerneton.files.readers._arrays import read_array


def put(tmp_path, content, name="take.npz"):
    path = tmp_path / name
    path.write_bytes(content)
    return path


def assert_same(a, b):
    assert_array_equal(a.joints, b.joints)
    assert a.joints.dtype == b.joints.dtype
    assert (a.confidence is None) == (b.confidence is None)
    if a.confidence is not None:
        assert_array_equal(a.confidence, b.confidence)
    for field in ("layout", "label", "subject", "name", "fps"):
        assert getattr(a, field) == getattr(b, field), field


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_recording_comes_back_to_the_bit(tmp_path, dtype):
    mine = Layout(
        "mine", ["hip", "left_hand", "right_hand"], [(0, 1), (0, 2)], root=0, sets={"hands": [1, 2]}
    )
    joints = motion(5, 3).astype(dtype)
    joints[1, 2] = np.nan
    confidence = np.random.default_rng(0).uniform(size=(5, 3)).astype(dtype)
    first = SkeletonSequence(joints, confidence, mine, "wave – große", "Ann", "take 1", 29.97)
    readers.write([first], tmp_path / "a.npz")
    (back,) = readers.read(tmp_path / "a.npz")
    assert_same(first, back)
    assert back.layout.sets["hands"] == (1, 2)
    assert back.joints.flags.writeable


def test_many_recordings_of_many_kinds(tmp_path):
    many = [
        sequence(),
        sequence(COCO_17, n_frames=9, name="b", label=None, fps=None),
        sequence(None, name="c", subject=None),
        *(sequence(name=f"r{i}") for i in range(10)),
    ]
    readers.write(many, tmp_path / "all.npz")
    back = readers.read(tmp_path / "all.npz")
    assert len(back) == len(many)
    for a, b in zip(many, back, strict=True):
        assert_same(a, b)
    assert back[0].layout is KINECT_20


@settings(max_examples=25, deadline=None)
@given(
    joints=hnp.arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 3), st.just(3)),
                      elements=st.floats(-1e6, 1e6) | st.just(np.nan)),
    label=st.none() | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=10),
    fps=st.none() | st.floats(0.001, 1000),
)  # fmt: skip
def test_round_trip_property(tmp_path_factory, joints, label, fps):
    path = tmp_path_factory.mktemp("npz") / "x.npz"
    first = SkeletonSequence(joints, label=label, fps=fps, name="x")
    npz.write([first], path)
    assert_same(first, npz.read(path)[0])


def test_a_nameless_recording_is_called_after_its_file(tmp_path):
    readers.write([sequence(name="")], tmp_path / "wave.npz")
    assert readers.read(tmp_path / "wave.npz")[0].name == "wave"


@pytest.mark.parametrize("dtype", ["<f2", "<f4", ">f8", "<i2", "|u1", ">i8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_of_any_number_type(tmp_path, dtype, order):
    array = np.asarray(np.arange(60).reshape(5, 4, 3), dtype=dtype, order=order)
    (take,) = readers.read(put(tmp_path, npy_bytes(array), "take.npy"))
    assert_allclose(take.joints, array.astype(float))
    assert take.joints.dtype == (np.float32 if dtype in ("<f2", "<f4") else np.float64)
    assert take.name == "take"


def test_two_coordinates_get_zero_depth(tmp_path):
    flat = motion()[..., :2]
    (take,) = readers.read(put(tmp_path, npy_bytes(flat), "take.npy"))
    assert_array_equal(take.joints[..., :2], flat)
    assert_array_equal(take.joints[..., 2], 0)


def test_four_dimensions_are_many_recordings(tmp_path):
    many = np.stack([motion(seed=i) for i in range(3)])
    got = readers.read(
        put(
            tmp_path,
            npz_bytes(
                data=many, labels=["a", "b", "c"], subject="ann", confidence=np.ones((3, 6, 20))
            ),
        )
    )
    assert [(s.name, s.label, s.subject) for s in got] == [
        ("take_0", "a", "ann"),
        ("take_1", "b", "ann"),
        ("take_2", "c", "ann"),
    ]
    assert_array_equal(got[2].joints, many[2])


def test_other_peoples_names(tmp_path):
    (a,) = readers.read(put(tmp_path, npz_bytes(weird=motion(), notes="x", y=3)))
    assert_array_equal(a.joints, motion())
    positional = io.BytesIO()
    np.savez(positional, motion(4), motion(5))
    assert [s.n_frames for s in readers.read(put(tmp_path, positional.getvalue()))] == [4, 5]
    (c,) = readers.read(
        put(tmp_path, npz_bytes(keypoints=motion(n_joints=17), layout="coco17", label=4, fps=25))
    )
    assert (c.layout, c.label, c.fps) == (COCO_17, "4", 25.0)


def test_fields_without_meaning_are_not_even_opened(tmp_path):
    content = npz_bytes(joints=motion(), extra=np.array([{"a": 1}], dtype=object))
    assert len(readers.read(put(tmp_path, content))) == 1


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"joints": np.zeros((4, 3))},
            r"expected numbers of shape \(frames, joints, 3\), got float64 of shape \(4, 3",
        ),
        ({"joints": np.zeros((4, 3, 5))}, "expected numbers of shape"),
        ({"joints": np.zeros((4, 3, 3), complex)}, "only plain numbers and strings"),
        ({"joints": np.zeros((0, 3, 3))}, "expected frames and 1 to 1000 joints"),
        ({"joints": np.zeros((1, 2000, 3))}, "expected frames and 1 to 1000 joints"),
        ({"joints": np.full((2, 2, 3), np.inf)}, "coordinate of inf is too large"),
        ({"joints": np.array(["a"])}, "expected numbers"),
        ({"joints": np.array([[[object()] * 3]])}, "only plain numbers and strings are read"),
        ({"a": motion(), "b": motion()}, "expected an array 'joints', found a, b"),
        (
            {"joints": motion(), "confidence": np.ones((6, 19))},
            r"confidences of shape \(6, 20\), got",
        ),
        ({"joints": motion(), "layout": "coco17"}, "layout 'coco17' has 17 joints, the array 20"),
        (
            {"joints": motion(), "layout": "robot"},
            "unknown layout 'robot'; known layouts are florence15",
        ),
        ({"joints": motion(), "layout": "[" * 100_000}, "unknown layout"),
        ({"joints": motion(), "layout": json.dumps({"name": "x"})}, "unknown layout"),
        ({"joints": motion(), "layout": ["coco17", "msr20"]}, "2 values of layout for 1"),
        ({"joints": motion(), "label": ["a", "b"]}, "2 values of label for 1 recording"),
        ({"joints": motion(), "fps": -3}, "fps must be one positive number"),
        ({"joints": motion(), "fps": np.nan}, "fps must be one positive number"),
        ({"joints": motion(), "fps": "fast"}, "fps must be one positive number"),
    ],
)
def test_wrong_fields_are_named(tmp_path, fields, message):
    out = io.BytesIO()
    np.savez(out, **fields)
    with pytest.raises(FormatError, match=message):
        readers.read(put(tmp_path, out.getvalue()))


def test_layouts_that_are_no_trees_are_refused(tmp_path):
    layout = {"name": "x", "joints": ["a", "b"], "bones": [[0, 1], [1, 0]], "root": 0, "sets": {}}
    with pytest.raises(FormatError, match="the bone between a and b closes a loop"):
        readers.read(put(tmp_path, npz_bytes(joints=motion(n_joints=2), layout=json.dumps(layout))))
    layout |= {"joints": [str(i) for i in range(5000)]}
    with pytest.raises(FormatError, match="a layout of 5000 joints"):
        readers.read(put(tmp_path, npz_bytes(joints=motion(n_joints=2), layout=json.dumps(layout))))


def header(text, version=1):
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H", len(text)) + text.encode()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            header("{'descr': '|O', 'fortran_order': False, 'shape': (1, 1, 3)}"),
            "only plain numbers",
        ),
        (
            header("{'descr': [('x', '<f8')], 'fortran_order': False, 'shape': (3,)}"),
            "only plain numbers",
        ),
        (
            header("{'descr': '<f8', 'fortran_order': False, 'shape': (9999999, 9999999, 3)}"),
            "bytes, the file holds 0",
        ),
        (
            header("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2, 3)}") + b"12345678",
            "needs 96 bytes",
        ),
        (header("{'descr': '<f8', 'fortran_order': False, 'shape': (-2, 2, 3)}"), "damaged header"),
        (
            header("{'descr': '<f8', 'fortran_order': False, 'shape': (" + "1," * 40 + ")}"),
            "40 dimensions",
        ),
        (header("{'descr': '<f7', 'fortran_order': False, 'shape': (1, 1, 3)}"), "no such type"),
        (header("__import__('os').system('true')"), "damaged header"),
        (
            header("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1, 3)}", version=9),
            "format 9",
        ),
        (b"\x93NUMPY\x01\x00\xff\xff" + b"x" * 10, "damaged header"),
        (b"\x93NUMPY", "not a NumPy array"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff", "header of 4294967295 bytes"),
    ],
)
def test_hostile_headers(tmp_path, content, message):
    with pytest.raises(FormatError, match=message):
        readers.read(put(tmp_path, content, "take.npy"))


def claiming(path, n_rows, size):
    """An archive of a megabyte of zeros that claims to unpack to ``size`` bytes for ``n_rows``
    rows.
    """
    member = header(
        f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({n_rows}, 1, 3)}}"
    ) + bytes(1_000_000)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("joints.npy", member)
    content = path.read_bytes()
    true, claimed = struct.pack("<I", len(member)), struct.pack("<I", size)
    assert content.count(true) == 2  # in the member's own header and in the directory
    path.write_bytes(content.replace(true, claimed))
    return path


def test_zip_bombs_are_refused_before_they_unpack(tmp_path):
    tracemalloc.start()
    with pytest.raises(FormatError, match="unpacks to 686 MiB; at most 512 are read"):
        readers.read(claiming(tmp_path / "bomb.npz", 30_000_000, 720_000_100))
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()


def test_archives_that_lie_about_sizes(tmp_path):
    with pytest.raises(
        FormatError,
        match=r"would need more than 64 MiB|cut off, 1000000 of 96000000 bytes|damaged archive",
    ):
        readers.read(claiming(tmp_path / "lie.npz", 4_000_000, 96_000_100))
    with pytest.raises(FormatError, match="needs 96000000 bytes, the file holds"):
        readers.read(claiming(tmp_path / "lie.npz", 4_000_000, 1_000_000))


def test_numbers_that_grow_when_read_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("kerneton.files.readers._arrays.MAX_BYTES", 1000)
    with pytest.raises(FormatError, match="needs more than"):
        readers.read(put(tmp_path, npy_bytes(np.zeros((50, 1, 3), np.int8)), "take.npy"))


def test_empty_arrays_of_impossible_shapes():
    """NumPy makes none of them, though they hold nothing."""
    header = (
        "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 999999999999999999, 9)}".ljust(117)
        + "\n"
    )
    content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
    with pytest.raises(FormatError, match="needs 0 bytes"):
        read_array(io.BytesIO(content), len(content), "take.npy")


def test_encrypted_and_odd_archives(tmp_path):
    content = bytearray(npz_bytes(joints=motion()))
    for at in (content.index(b"PK\x03\x04") + 6, content.index(b"PK\x01\x02") + 8):
        content[at] |= 1  # the flag of encryption
    with pytest.raises(FormatError, match="damaged archive"):
        readers.read(put(tmp_path, bytes(content)))
    empty = io.BytesIO()
    with zipfile.ZipFile(empty, "w") as archive:
        archive.writestr("readme.npy.txt", "no arrays")
    with pytest.raises(FormatError, match="not a NumPy array"):
        readers.read(put(tmp_path, empty.getvalue()))


def test_read_array_needs_whole_data():
    content = npy_bytes(np.arange(10.0))
    with pytest.raises(FormatError, match="cut off, 72 of 80 bytes"):
        read_array(io.BytesIO(content[:-8]), len(content), "x.npy")


def test_label_text_is_always_printable(tmp_path):
    content = npz_bytes(joints=motion(), label=np.array("a\ud800b"), subject=np.array(b"\xffann"))
    (take,) = readers.read(put(tmp_path, content))
    assert take.label.encode() == b"a?b"
    assert take.subject.encode()
