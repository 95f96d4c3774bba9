"""Arrays as others have them: padded, channels first, with confidences, of PyTorch and xarray."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from walks import walk, walks

from kerneton import make_actions, make_recognizer
from kerneton.data.checks import check_sequences
from kerneton.data.layouts import COCO_17
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError, KernetonWarning


@pytest.mark.parametrize("fill", [0.0, np.nan])
def test_padding_is_no_motion(fill):
    """Zeros at the ends once moved decision values by 0.9."""
    data = make_actions(["bow", "wave", "clap"], n_subjects=3, n_takes=2)
    longest = max(s.n_frames for s in data) + 20
    padded = np.full((len(data), longest, data[0].n_joints, 3), fill)
    for array, sequence in zip(padded, data, strict=True):
        array[5 : 5 + sequence.n_frames] = sequence.joints
    model = make_recognizer("paper")
    expected = model.fit([s.joints for s in data], data.labels).decision_function(list(data))
    told = f"{len(data)} of {len(data)} recordings: frames without any joint at the ends are taken"
    with pytest.warns(KernetonWarning, match=told) as caught:
        model.fit(padded, data.labels)
    assert sum("padding" in str(w.message) for w in caught) == 1
    with pytest.warns(KernetonWarning, match=told):
        assert_array_equal(model.decision_function(padded), expected)


def test_long_recordings_and_frames_in_the_middle_keep_their_zeros():
    x = walk(6)
    x[0] = x[3] = 0
    long = SkeletonSequence(x, segments=[("walk", 1, 6)])
    assert [s.n_frames for s in check_sequences([long], allow_missing=True)] == [6]
    with pytest.warns(KernetonWarning, match="1 of 2 recordings"):
        checked = check_sequences([x, walk(4)], allow_missing=True)
    assert_array_equal(checked[0].joints, x[1:])
    whole = np.zeros((6, 15, 3))  # nothing seen at all: an error later on, no empty recording
    assert check_sequences([whole], allow_missing=True)[0].n_frames == 6


def test_two_coordinates_have_no_depth():
    x = walk(6)
    flat = SkeletonSequence(x[..., :2])
    assert_array_equal(flat.joints, x * [1, 1, 0])


def test_channels_first():
    x = walk(6)
    assert_array_equal(SkeletonSequence(np.moveaxis(x, 2, 0)).joints, x)
    assert_array_equal(SkeletonSequence(np.moveaxis(x, 2, 1)).joints, x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_batches_of_st_gcn_have_one_person_or_two(dtype):
    ann, bob = walks((6, 6))
    batch = np.zeros((2, 3, 6, 15, 2), dtype)  # (N, C, T, V, M)
    batch[0, ..., 0] = np.moveaxis(ann, 2, 0)
    batch[1, ..., 0], batch[1, ..., 1] = np.moveaxis(ann, 2, 0), np.moveaxis(bob, 2, 0)
    alone, both = (SkeletonSequence(item) for item in batch)
    assert_array_equal(alone.joints, ann.astype(dtype))
    assert_array_equal(both.joints, np.hstack([ann, bob]).astype(dtype))
    assert [len(body) for body in both.layout.bodies] == [15, 15]
    assert_array_equal(SkeletonSequence(np.stack([ann, bob])).joints, np.hstack([ann, bob]))
    assert len(check_sequences(batch[:1])) == 1


def test_a_confidence_is_the_fourth_number():
    x = walk(6)
    trust = np.random.default_rng(0).uniform(0.2, 1, (6, 15, 1))
    one = SkeletonSequence(np.concatenate([x, trust], axis=2))
    assert_array_equal(one.joints, x)
    assert_array_equal(one.confidence, trust[..., 0])


def unit_quaternions():
    q = np.random.default_rng(0).normal(size=(6, 15, 4))
    return q / np.linalg.norm(q, axis=2, keepdims=True)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (unit_quaternions(), r"rotations \(quaternions\), not positions"),
        (
            10 * unit_quaternions(),
            "a confidence between 0 and 1 of each joint, got .* pass the first three",
        ),
        (np.ones((6, 45)), r"x.reshape\(len\(x\), 15, 3\)"),
        (np.ones((2, 6, 15, 2)), r"both \(coordinates, frames, joints, persons\)"),
        (np.ones((5, 6, 15, 7)), "neither"),
        (
            np.random.default_rng(0).random((3, 6, 15)),
            "if it is a confidence, pass SkeletonSequence",
        ),
        ([walk(3)[0], walk(3, 14)[0]], "frames differ in their numbers of joints"),
    ],
)
def test_what_is_not_clear_is_refused_with_advice(array, message):
    with pytest.raises(DataError, match=message):
        SkeletonSequence(array)


def test_tables_are_for_read():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"head_x": [1.0], "head_y": [2.0], "head_z": [3.0]})
    for given in (frame, [frame]):
        with pytest.raises(DataError, match=r"kerneton.read\(table\) makes recordings"):
            check_sequences(given)


def test_tensors_with_a_gradient():
    torch = pytest.importorskip("torch")
    x = walk(6)
    assert_array_equal(SkeletonSequence(torch.tensor(x, requires_grad=True)).joints, x)


def test_xarray_in_the_order_of_movement():
    xarray = pytest.importorskip("xarray")
    x = np.stack([walk(6, 3), walk(6, 3) + 1])  # (individuals, time, keypoints, space)
    names = ["left_ear", "right_ear", "snout"]
    array = xarray.DataArray(
        x.transpose(1, 3, 2, 0),
        dims=("time", "space", "keypoints", "individuals"),
        coords={"keypoints": names, "individuals": ["a", "b"]},
    )
    both = SkeletonSequence(array)
    assert both.layout.joints == tuple(f"{name}_{n}" for n in (1, 2) for name in names)
    one = SkeletonSequence(array.sel(individuals="b"))
    assert_array_equal(one.joints, x[1])
    assert one.layout.joints == tuple(names)
    with pytest.raises(DataError, match="wrap it in a list"):
        check_sequences(array.sel(individuals="b"))
    with pytest.raises(DataError, match="expected the dimensions time, space and keypoints"):
        SkeletonSequence(array.rename(keypoints="what"))


def test_a_layout_may_be_given_by_name():
    x = np.random.default_rng(0).normal(size=(4, 17, 3))
    assert SkeletonSequence(x, layout="coco17").layout is COCO_17
    with pytest.raises(ValueError, match=r"no layout 'coco18' \(did you mean coco17\?\)"):
        SkeletonSequence(x, layout="coco18")
