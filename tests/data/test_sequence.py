from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from walks import walk

from kerneton.data.layouts import FLORENCE_15, KINECT_20
from kerneton.data.sequence import SkeletonDataset, SkeletonSequence
from kerneton.exceptions import DataError


@pytest.mark.parametrize(
    ("dtype", "kept"),
    [
        (np.float32, np.float32),
        (np.float64, np.float64),
        (np.int16, np.float64),
        (bool, np.float64),
    ],
)
def test_dtype(dtype, kept):
    sequence = SkeletonSequence(np.ones((2, 3, 3), dtype=dtype), confidence=np.ones((2, 3)))
    assert sequence.joints.dtype == kept
    assert sequence.confidence.dtype == kept


def test_float_arrays_are_not_copied_and_lists_work():
    x = walk(3)
    assert SkeletonSequence(x).joints is x
    assert_allclose(SkeletonSequence(x.tolist()).joints, x)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"joints": np.ones((4, 3))},
            r"'r': expected joints of shape \(frames, joints, 3\), got \(4, 3\)",
        ),
        ({"joints": np.ones((4, 5, 6))}, r"got \(4, 5, 6\); these may be rotations"),
        ({"joints": np.ones((0, 3, 3))}, "0 frames and 3 joints"),
        ({"joints": np.ones((3, 0, 3))}, "3 frames and 0 joints"),
        ({"joints": np.ones((3, 2, 3), dtype=np.float16)}, "float16 is too coarse"),
        ({"joints": np.ones((3, 2, 3)) + 1j}, r"not real numbers \(complex128\)"),
        ({"joints": [[["x", "y", "z"]]]}, "not real numbers"),
        ({"layout": KINECT_20}, "layout 'kinect20' has 20 joints, the recording has 15"),
        ({"confidence": np.ones((2, 15))}, r"confidence of shape \(4, 15\), got \(2, 15\)"),
    ],
)
def test_refused(fields, message):
    with pytest.raises(DataError, match=message):
        SkeletonSequence(**{"joints": walk(4), "name": "r", **fields})


def test_what_is_known():
    sequence = SkeletonSequence(walk(30), layout=FLORENCE_15, label=7, subject=np.int64(2), fps=15)
    assert (sequence.label, sequence.subject) == ("7", "2")
    assert (sequence.n_frames, sequence.n_joints, sequence.duration) == (30, 15, 2.0)
    assert (
        repr(sequence)
        == "SkeletonSequence(30 frames, 15 joints, florence15, label='7', subject='2')"
    )
    assert SkeletonSequence(walk(3)).duration is None
    other = sequence.replace(label="bow", joints=walk(3))
    assert (other.label, other.subject, other.n_frames, sequence.label) == ("bow", "2", 3, "7")
    with pytest.raises(AttributeError):
        sequence.label = "bow"
    with pytest.raises(DataError, match="layout 'florence15' has 15"):
        sequence.replace(joints=walk(3, 4))


def test_round_trip_through_pickle():
    sequence = SkeletonSequence(
        walk(3), layout=FLORENCE_15, label="bow", subject="1", name="x", fps=30
    )
    copy = pickle.loads(pickle.dumps(sequence))
    assert_allclose(copy.joints, sequence.joints, rtol=0)
    assert (copy.layout, copy.label, copy.fps) == (FLORENCE_15, "bow", 30)


def test_dataset(toy):
    assert (len(toy), toy.layout, toy.name) == (36, FLORENCE_15, "toy")
    assert toy.labels.dtype.kind == toy.subjects.dtype.kind == "U"
    assert list(toy.labels[:2]) == ["bow", "bow"]
    assert toy[3] is list(toy)[3]
    part = toy[1:5]
    assert isinstance(part, SkeletonDataset)
    assert (len(part), part.name) == (4, "toy")
    chosen = toy.select(np.array([4, 1]))
    assert [s.name for s in chosen] == [toy[4].name, toy[1].name]
    assert repr(toy) == "SkeletonDataset(toy: 36 recordings, 3 labels, 4 subjects)"
    assert SkeletonDataset([]).layout is None
    with pytest.raises(IndexError):
        toy[36]


@pytest.mark.parametrize("nothing", [None, float("nan"), np.float32("nan"), np.datetime64("NaT")])
def test_nothing_in_a_column_of_a_table_is_no_label_and_no_subject(nothing):
    """Were it taken as text, a person named "nan" would have done all these recordings."""
    sequence = SkeletonSequence(walk(3), label=nothing, subject=nothing)
    assert sequence.label is sequence.subject is None
    assert SkeletonSequence(walk(3), subject="nan").subject == "nan"  # a name that somebody gave


@pytest.mark.parametrize("field", ["label", "subject"])
def test_missing_label_or_subject_is_named(field):
    full = {"label": "bow", "subject": "1"}
    data = SkeletonDataset(
        [
            SkeletonSequence(walk(2), **full),
            SkeletonSequence(walk(2), **{**full, field: None}, name="b-2"),
        ]
    )
    with pytest.raises(
        DataError,
        match=f"1 of 2 recordings have no {field}, first b-2: give them one .*, or leave them out",
    ):
        getattr(data, field + "s")


def dataset():
    return SkeletonDataset(
        [SkeletonSequence(walk(5 + i), label="ab"[i % 2], subject=str(i // 2)) for i in range(6)],
        name="toy",
    )


def test_data_sets_are_indexed_like_arrays():
    data = dataset()
    assert isinstance(data[data.labels == "a"], SkeletonDataset)
    assert [s.n_frames for s in data[data.labels == "a"]] == [5, 7, 9]
    assert [s.n_frames for s in data[[3, 0]]] == [8, 5]
    assert data[np.int64(2)] is data[2]
    assert len(data[np.array([], dtype=int)]) == 0
    assert [s.n_frames for s in data.filter(label="b", subject=["0", "2"])] == [6, 10]
    assert len(data + data[:2]) == 8
    for wrong, message in (([True], "a mask of"), (["a"], "expected positions")):
        with pytest.raises(DataError, match=message):
            data[wrong]
    with pytest.raises(DataError, match="no recording has the label 'c'"):
        data.filter(label="c")


def test_splits_of_scikit_learn_keep_a_data_set():
    from sklearn.model_selection import train_test_split

    data = dataset()
    train, test, y_train, _ = train_test_split(data, data.labels, test_size=2, random_state=0)
    assert isinstance(train, SkeletonDataset)
    assert isinstance(test, SkeletonDataset)
    assert train.labels.tolist() == y_train.tolist()


def test_frames_and_joints_of_a_recording():
    x = walk(12)
    wave = SkeletonSequence(
        x, layout=FLORENCE_15, fps=30, confidence=np.ones((12, 15)), segments=[("a", 3, 9)]
    )
    assert_allclose(wave[2:8].joints, x[2:8])
    thin = wave[1::2]
    assert_allclose(thin.joints, x[1::2])
    assert (thin.fps, thin.confidence.shape) == (15, (6, 15))
    assert [(s.start, s.stop) for s in thin.segments] == [(1, 4)]
    assert_allclose(wave["head"], x[:, 0])
    with pytest.raises(TypeError, match="expected frames such as"):
        wave[3]
    with pytest.raises(TypeError, match="one item"):
        list(wave)
    with pytest.raises(DataError, match="backwards"):
        wave[::-1]


def test_a_recording_as_a_table_and_in_a_notebook():
    pandas = pytest.importorskip("pandas")
    wave = SkeletonSequence(walk(12), layout=FLORENCE_15, fps=30, label="<b>", name="take")
    frame = wave.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert_allclose(frame["head_x"], wave.joints[:, 0, 0])
    html = wave._repr_html_()
    assert "<animate " in html
    assert "label &lt;b&gt;" in html
    assert "<script" not in html
    assert "nan" not in html
    nothing = SkeletonSequence(np.full((3, 15, 3), np.nan), layout=FLORENCE_15)
    assert "<svg" not in nothing._repr_html_()
