"""What is written comes back: names, labels, axes, segments, joints."""

from __future__ import annotations

import pytest
from numpy.testing import assert_allclose, assert_array_equal
from samples import motion, sequence

from kerneton.data.layouts import KINECT_20, Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.files import readers


@pytest.mark.parametrize("ending", ["csv", "tsv", "npz", "pkl"])
def test_two_recordings_of_one_name_stay_two(tmp_path, ending):
    path = tmp_path / f"two.{ending}"
    first, second = sequence(n_frames=4), sequence(n_frames=7, label="bow")
    readers.write([first, second], path)
    back = readers.read(path)
    assert [s.n_frames for s in back] == [4, 7]
    assert [s.label for s in back] == ["wave", "bow"]


@pytest.mark.parametrize("ending", ["csv", "tsv", "npz", "pkl"])
@pytest.mark.parametrize(
    "label",
    ["two\nlines", "a\r\n\r\nb", 'say "hi"\n, now', "tab\there", "#1", "ünï", "a\rb", "end\r"],
)
def test_any_label_comes_back(tmp_path, ending, label):
    path = tmp_path / f"odd.{ending}"
    readers.write([sequence(label=label, subject=label, name="a"), sequence(name="b")], path)
    first, second = readers.read(path)
    assert (first.label, first.subject, second.label) == (label, label, "wave")


@pytest.mark.parametrize("ending", ["csv", "tsv", "npz", "pkl"])
def test_names_that_look_like_comments_come_back(tmp_path, ending):
    path = tmp_path / f"odd.{ending}"
    readers.write([sequence(name="#1"), sequence(name="# two")], path)
    assert [s.name for s in readers.read(path)] == ["#1", "# two"]
    readers.write([sequence(label="#1")], path)
    assert [s.label for s in readers.read(path)] == ["#1"]


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_names_that_are_comments_after_a_blank_lose_no_recording(tmp_path, ending):
    path = tmp_path / f"odd.{ending}"
    readers.write([sequence(name=" # one"), sequence(name="two")], path)
    assert [s.name for s in readers.read(path)] == ["# one", "two"]


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_subjects_that_are_comments_after_frames_without_label_lose_no_frames(tmp_path, ending):
    path = tmp_path / f"odd.{ending}"
    readers.write([sequence(label=None, subject="#1", segments=[("nod", 2, 4)])], path)
    (back,) = readers.read(path)
    assert (back.subject, back.n_frames, back.segments[0].start) == ("#1", 6, 2)


@pytest.mark.parametrize("ending", ["csv", "tsv", "npz"])
def test_frame_rates_come_back_where_some_recordings_have_none(tmp_path, ending):
    path = tmp_path / f"rates.{ending}"
    readers.write(
        [sequence(name="a", fps=None), sequence(name="b", fps=30), sequence(name="c", fps=12.5)],
        path,
    )
    assert [s.fps for s in readers.read(path)] == [None, 30, 12.5]


@pytest.mark.parametrize("ending", ["csv", "npz", "pkl"])
def test_labels_hold_no_nul_which_arrays_of_text_would_lose(tmp_path, ending):
    path = tmp_path / f"odd.{ending}"
    readers.write([sequence(label="a\0"), sequence(label="a")], path)
    assert [s.label for s in readers.read(path)] == ["a\\x00", "a"]


@pytest.mark.parametrize("ending", ["csv", "tsv", "npz", "pkl"])
def test_no_label_comes_back_as_none(tmp_path, ending):
    path = tmp_path / f"half.{ending}"
    readers.write([sequence(subject="ann"), sequence(label=None, subject=None)], path)
    first, second = readers.read(path)
    assert (first.label, first.subject, second.label, second.subject) == ("wave", "ann", None, None)


def lying() -> SkeletonSequence:
    """A body whose head is a metre and a half from its feet along z."""
    joints = motion(6, 20) * [1, 0.1, 1]
    joints[:, KINECT_20.index("head"), 2] += 3
    for side in ("left", "right"):
        joints[:, [KINECT_20.index(f"{side}_{part}") for part in ("ankle", "foot")], 2] -= 3
    return SkeletonSequence(joints, layout=KINECT_20, fps=30.0)


@pytest.mark.parametrize("ending", ["trc", "bvh", "csv", "npz", "pkl"])
def test_a_lying_body_stays_as_it_lies(tmp_path, ending):
    path = tmp_path / f"lie.{ending}"
    readers.write([lying()], path)
    (back,) = readers.read(path)
    order = [back.layout.index(joint) for joint in KINECT_20.joints]
    assert_allclose(back.joints[:, order], lying().joints, atol=1e-5)


@pytest.mark.parametrize("ending", ["csv", "tsv", "npz"])
def test_segments_come_back(tmp_path, ending):
    path = tmp_path / f"long.{ending}"
    segments = [("wave", 1, 3), ("bow", 3, 5)]
    long = SkeletonSequence(motion(8), layout=KINECT_20, name="long", segments=segments)
    readers.write([long], path)
    (back,) = readers.read(path)
    assert back.segments == long.segments
    assert_array_equal(back.joints, long.joints)


def test_segments_of_several_recordings(tmp_path):
    one = SkeletonSequence(motion(8), layout=KINECT_20, name="a", segments=[("wave", 0, 3)])
    readers.write([one, sequence(name="b")], tmp_path / "x.csv")
    first, second = readers.read(tmp_path / "x.csv")
    assert (first.segments, first.label) == (one.segments, None)
    assert (second.segments, second.label) == ((), "wave")


def test_labels_per_frame_in_a_long_table(tmp_path):
    rows = [
        f"{t},{joint},{label},{t},1,2"
        for t, label in ((2, "b"), (0, "a"), (1, "a"))
        for joint in "pq"
    ]
    (tmp_path / "x.csv").write_text("\n".join(["frame,joint,label,x,y,z", *rows]))
    (recording,) = readers.read(tmp_path / "x.csv")
    assert [(s.label, s.start, s.stop) for s in recording.segments] == [("a", 0, 2), ("b", 2, 3)]
    assert recording.joints[:, 0, 0].tolist() == [0, 1, 2]


def test_pickles_keep_own_joints(tmp_path):
    layout = Layout(
        "mine",
        ["palm", "thumb", "index"],
        bones=[("palm", "thumb"), ("palm", "index")],
        root="palm",
    )
    readers.write([SkeletonSequence(motion(4, 3), layout=layout, name="a")], tmp_path / "x.pkl")
    assert readers.read(tmp_path / "x.pkl")[0].layout == layout
