"""PYSKL's pickle: read in every protocol, written for every NumPy, and never executed."""

from __future__ import annotations

import collections
import pickle
import pickletools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from samples import motion, pyskl_data, sequence

from kerneton.data.layouts import COCO_17, KINECT_25, OPENPOSE_25, Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import FormatError
from kerneton.files import readers


def put(tmp_path, content, name="mine.pkl"):
    path = tmp_path / name
    path.write_bytes(content)
    return path


def annotated(**fields):
    return {
        "annotations": [
            {"frame_dir": "clip", "label": 3, "keypoint": np.ones((1, 4, 25, 3))} | fields
        ]
    }


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("core", ["numpy._core", "numpy.core"])
def test_every_protocol_and_both_names_of_numpy(tmp_path, protocol, core):
    content = pickle.dumps(pyskl_data(), protocol=protocol)
    for name in (b"multiarray", b"numeric"):
        new, old = b"numpy._core." + name, core.encode() + b"." + name
        content = content.replace(new, old).replace(
            bytes([len(new)]) + old, bytes([len(old)]) + old
        )
    if protocol > 3:  # frames carry their length: drop them, which the format allows
        content = unframed(content)
    got = readers.read(put(tmp_path, content))
    data = pyskl_data()["annotations"]
    assert [s.name for s in got] == ["clip_0_body1", "clip_0_body2", "clip_1_body1", "clip_1_body2"]
    assert [s.label for s in got] == ["0", "0", "1", "1"]
    assert got[0].layout is COCO_17
    for sequence_, (i, m) in zip(got, [(0, 0), (0, 1), (1, 0), (1, 1)], strict=True):
        assert_allclose(
            sequence_.joints[..., :2], -data[i]["keypoint"][m]
        )  # half a turn of the picture
        assert_array_equal(sequence_.joints[..., 2], 0)
        assert_allclose(sequence_.confidence, 0.9, atol=1e-3)
        assert sequence_.joints.flags.writeable


def unframed(content):
    parts, at = [], 0
    for opcode, _, position in pickletools.genops(content):
        if opcode.name == "FRAME":
            parts.append(content[at:position])
            at = position + 9
    return b"".join([*parts, content[at:]])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32, ">f4"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_any_number_type_and_order(tmp_path, dtype, order):
    keypoint = np.asarray(np.arange(1 * 4 * 25 * 3).reshape(1, 4, 25, 3), dtype, order=order)
    for protocol in (2, 4, 5):
        (clip,) = readers.read(put(tmp_path, pickle.dumps(annotated(keypoint=keypoint), protocol)))
        assert_allclose(clip.joints, keypoint[0].astype(float))
        assert clip.layout is KINECT_25


def test_data_as_others_write_it(tmp_path):
    old_list = annotated(label=np.int64(7), keypoint=motion(4, 25)[None])["annotations"]
    (clip,) = readers.read(put(tmp_path, pickle.dumps(old_list)))
    assert clip.label == "7"
    ordered = collections.OrderedDict(annotated(frame_dir=np.str_("S001C001P008R001A002"), label=1))
    (clip,) = readers.read(put(tmp_path, pickle.dumps(ordered)))
    assert (clip.subject, clip.label) == ("P008", "1")
    (clip,) = readers.read(put(tmp_path, pickle.dumps(annotated(frame_dir=None, label=None))))
    assert (clip.name, clip.label) == ("mine_0", None)
    flat = annotated(keypoint=np.ones((1, 4, 25, 2)))
    assert readers.read(put(tmp_path, pickle.dumps(flat)))[0].layout is OPENPOSE_25
    odd = annotated(keypoint=np.ones((1, 4, 13, 3)))
    assert readers.read(put(tmp_path, pickle.dumps(odd)))[0].layout is None
    one_body = annotated(keypoint=np.ones((4, 25, 3)), keypoint_score=np.full((4, 25), 0.5))
    assert_allclose(readers.read(put(tmp_path, pickle.dumps(one_body)))[0].confidence, 0.5)


def test_persons_of_zeros_are_padding(tmp_path):
    keypoint = np.stack([motion(4, 25), np.zeros((4, 25, 3))])
    (clip,) = readers.read(put(tmp_path, pickle.dumps(annotated(keypoint=keypoint))))
    assert clip.name == "clip"
    nobody = readers.read(put(tmp_path, pickle.dumps(annotated(keypoint=np.zeros((2, 4, 25, 3))))))
    assert len(nobody) == 1


def test_written_files_come_back(tmp_path):
    many = [
        sequence(KINECT_25, name="a", label="wave"),
        sequence(KINECT_25, name="b", label="bow", subject=None, fps=None),
        sequence(KINECT_25, name="c", label=None),
    ]
    readers.write(many, tmp_path / "x.pkl")
    back = readers.read(tmp_path / "x.pkl")
    for a, b in zip(many, back, strict=True):
        assert (a.name, a.label, a.subject, a.fps, a.layout) == (
            b.name,
            b.label,
            b.subject,
            b.fps,
            b.layout,
        )
        assert_allclose(a.joints, b.joints, rtol=1e-6)


def test_written_files_are_what_pyskl_expects(tmp_path):
    joints = (motion(5, 17) + 1) * [-1000, -500, 0]
    joints[2, 3] = np.nan
    flat = SkeletonSequence(joints, layout=COCO_17, label="wave", name="a")
    readers.write([flat, sequence(KINECT_25, name="b", label="bow")], tmp_path / "x.pkl")
    with (tmp_path / "x.pkl").open("rb") as file:
        data = pickle.load(file)
    assert set(data) >= {"split", "annotations"}
    assert data["split"] == {"all": ["a", "b"]}
    two, three = data["annotations"]
    assert two["keypoint"].shape == (1, 5, 17, 2)
    assert two["keypoint"].dtype == np.float32
    assert (two["keypoint"] >= 0).all()  # right and down in the picture again
    assert two["label"] == 1
    assert two["total_frames"] == 5
    height, width = two["img_shape"]
    assert (two["keypoint"][0].max((0, 1)) < [width, height]).all()
    assert_array_equal(two["keypoint"][0, 2, 3], 0)
    assert two["keypoint_score"][0, 2, 3] == 0
    assert two["keypoint_score"].shape == (1, 5, 17)
    assert three["keypoint"].shape == (1, 6, 25, 3)
    assert b"numpy._core" not in (tmp_path / "x.pkl").read_bytes()  # NumPy 1 does not know it
    back = readers.read(tmp_path / "x.pkl")[0]
    present = ~np.isnan(joints)
    assert_allclose(back.joints[present], joints[present], rtol=1e-6)


def test_names_are_made_unique(tmp_path):
    same = [
        sequence(KINECT_25, name=""),
        sequence(KINECT_25, name="b"),
        sequence(KINECT_25, name="b"),
    ]
    readers.write(same, tmp_path / "x.pkl")
    assert [s.name for s in readers.read(tmp_path / "x.pkl")] == ["recording_1", "b", "b_2"]


def test_own_layouts_keep_joint_names_and_bones(tmp_path):
    mine = Layout("kinect25", [f"j{i}" for i in range(25)], bones=[("j0", "j1")], root="j0")
    readers.write([SkeletonSequence(motion(4, 25), layout=mine, name="a")], tmp_path / "x.pkl")
    (back,) = readers.read(tmp_path / "x.pkl")
    assert back.layout == mine


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"split": {}}, "expected a dict with a list 'annotations', got dict"),
        ([], "no annotations"),
        (7, "expected a dict with a list 'annotations', got int"),
        ([3], "annotation 0: expected a dict with an array 'keypoint'"),
        ([{"keypoint": [1, 2]}], "annotation 0: expected a dict with an array 'keypoint'"),
        (annotated(keypoint=np.ones((1, 4, 25, 4))), "annotation 0: expected numbers of shape"),
        (annotated(keypoint=np.full((1, 4, 25, 3), np.inf)), "coordinate of inf is too large"),
        (
            annotated(keypoint_score=np.ones((1, 3, 25))),
            r"expected confidences of shape \(1, 4, 25\)",
        ),
        (annotated(layout="coco17"), "25 joints with layout 'coco17'"),
        (annotated(keypoint=np.array([{}])), "holds more than numbers and strings"),
        (
            annotated(keypoint=np.zeros(3, [("x", "f8")])),
            "holds more than numbers|array of records",
        ),
        ({1: 2}, "expected a dict with a list 'annotations'"),
        ({"annotations": {1, 2}}, "uses EMPTY_SET|not data"),
        ({"annotations": 1j}, "asks for builtins.complex, which is not data"),
    ],
)
def test_wrong_data_is_named(tmp_path, data, message):
    with pytest.raises(FormatError, match=rf"mine.pkl.*({message})"):
        readers.read(put(tmp_path, pickle.dumps(data, protocol=4)))


def test_one_array_in_many_annotations_is_bounded(tmp_path):
    one = annotated(keypoint=motion(20, 25)[None])["annotations"][0]
    with pytest.raises(FormatError, match="would need more than 66 MiB"):
        readers.read(put(tmp_path, pickle.dumps([one] * 5000)))


def test_many_annotations_are_read(tmp_path):
    keypoint = motion(30, 17)[None, ..., :2].astype(np.float16)
    many = [{"frame_dir": f"c{i}", "label": i % 9, "keypoint": keypoint + i} for i in range(500)]
    path = put(tmp_path, pickle.dumps({"annotations": many}))
    found = readers.read(path)
    assert len(found) == 500
    assert [s.label for s in found[:10]] == [str(i % 9) for i in range(10)]
    assert len({float(s.joints[0, 0, 0]) for s in found}) == 500  # each its own numbers
