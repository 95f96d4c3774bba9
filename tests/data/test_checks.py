from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from walks import walk, walks

from kerneton.data.checks import (
    as_dataset,
    check_sequences,
    describe,
    joint_name,
    without_padding,
)
from kerneton.data.layouts import FLORENCE_15, KINECT_20, MSR_20, Layout
from kerneton.data.parameters import check_choice, check_in, check_positive
from kerneton.data.sequence import SkeletonDataset, SkeletonSequence
from kerneton.exceptions import DataError, KernetonWarning, ParameterError


def test_arrays_and_recordings_become_a_list():
    named = SkeletonSequence(walk(4), name="first")
    checked = check_sequences([named, walk(5)])
    assert checked[0] is named
    assert [s.n_frames for s in checked] == [4, 5]
    assert isinstance(checked, list)
    assert len(check_sequences(SkeletonDataset([named]))) == 1
    assert len(check_sequences(x for x in walks((3, 4)))) == 2
    assert len(check_sequences(np.ones((2, 4, 3, 3)))) == 2


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([], "at least one recording, got none"),
        (walk(4), r"wrap it in a list: \[recording\]"),
        (SkeletonSequence(walk(4)), "got one recording"),
        ("walk.npy", "got str"),
        (7, "got int"),
        (
            [np.ones((4, 3))],
            r"#0: sequence: expected joints of shape \(frames, joints, 3\), got \(4, 3\)",
        ),
        ([np.ones((4, 5, 7))], r"got \(4, 5, 7\)"),
        ([np.ones((0, 5, 3))], "it has 0 frames and 5 joints"),
        ([[["a"]]], "not real numbers"),
        (
            walks((3, 3)) + [walk(3, 14)],
            "1 of 3 recordings .* recording #2 has 14 joints, expected 15",
        ),
    ],
)
def test_refused(X, message):
    with pytest.raises(DataError, match=message):
        check_sequences(X)


def test_every_problem_is_told_and_counted():
    with pytest.raises(DataError, match=r"2 of 3 recordings.*#1: .*; #2: "):
        check_sequences([walk(3), np.ones((3, 3)), np.ones((0, 3, 3))])
    bad = [np.full((2, 3, 3), np.nan)] * 8
    with pytest.raises(
        DataError, match=r"8 of 8 .*recording #0 is NaN.*\(the same in 8: #0, #1, #2 and 5 more\)"
    ):
        check_sequences(bad)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.nan, r"recording 'jump' is NaN at frame 2, neck \(put kerneton.Preprocess before"),
        (np.inf, "recording 'jump' is infinite at frame 2, neck"),
        (-np.inf, "infinite at frame 2, neck"),
        (1e12, r"is 1e\+12 at frame 2, neck, which cannot be a coordinate"),
        (-1e12, r"is -1e\+12 at frame 2, neck"),
    ],
)
def test_values_are_located(value, message):
    x = walk(5)
    x[2, 1, 0] = value
    with pytest.raises(DataError, match=message):
        check_sequences([SkeletonSequence(x, layout=FLORENCE_15, name="jump")])


def test_what_only_preprocessing_may_see():
    holes = walk(5)
    holes[2, 1] = np.nan
    lost = walk(5)
    lost[3] = 0
    confidence = np.ones((5, 15))
    confidence[1, 4] = 0
    doubtful = SkeletonSequence(walk(5), confidence=confidence)
    for X, message in [
        ([holes], "is NaN at frame 2, joint 1"),
        ([lost], "has no pose at frame 3: every joint is zero"),
        ([doubtful], "has no confidence at frame 1, joint 4"),
    ]:
        assert len(check_sequences(X, allow_missing=True)) == 1
        with pytest.raises(DataError, match=message):
            check_sequences(X)
    with pytest.raises(DataError, match="infinite"):
        check_sequences([np.full((2, 2, 3), np.inf)], allow_missing=True)
    # One joint at the origin, or some of many, is a pose like any other.
    check_sequences([np.zeros((3, 1, 3))])
    some = walk(3)
    some[:, 4] = 0
    check_sequences([some])


def test_layouts_do_not_mix():
    x = walk(4, 20)
    kinect, msr = (
        SkeletonSequence(x, layout=KINECT_20),
        SkeletonSequence(x, layout=MSR_20, name="b"),
    )
    for X in ([kinect, msr], [x, kinect, msr]):
        with pytest.raises(
            DataError,
            match=r"'b' has the same 20 joints in another order \(layout 'msr20', expected 'kinect20'\)",
        ):
            check_sequences(X)
    with pytest.raises(DataError, match=r"in another order .layout 'msr20', expected 'kinect20'"):
        check_sequences([msr], layout=KINECT_20)
    assert len(check_sequences([x, kinect], layout=KINECT_20)) == 2
    with pytest.raises(DataError, match="has 20 joints, expected 15"):
        check_sequences([kinect], n_joints=15)


def test_names():
    plain, named = (
        SkeletonSequence(walk(2)),
        SkeletonSequence(walk(2), layout=FLORENCE_15, name="bow-1"),
    )
    assert (describe(plain, 3), describe(named, 3)) == ("recording #3", "recording 'bow-1'")
    assert (joint_name(plain, 2), joint_name(named, 2)) == ("joint 2", "spine")


@pytest.mark.parametrize("value", [0.5, np.float32(0.5), np.float64(1), 1, np.int64(1)])
def test_check_in_accepts(value):
    check_in("power", value, 0, 1, closed="right")


@pytest.mark.parametrize("value", [0, -0.1, 1.1, np.nan, np.inf, "0.5", None, True, [0.5]])
def test_check_in_refuses(value):
    with pytest.raises(ParameterError, match=r"power must be a number in \(0, 1\], got"):
        check_in("power", value, 0, 1, closed="right")


def test_check_in_ends():
    for closed, ends in {"both": (0, 1), "left": (0,), "right": (1,), "neither": ()}.items():
        for value in (0, 1):
            if value in ends:
                check_in("x", value, 0, 1, closed=closed)
            else:
                with pytest.raises(ParameterError, match="x must be"):
                    check_in("x", value, 0, 1, closed=closed)


@pytest.mark.parametrize("value", [0, -1, np.nan, np.inf, "3", None, True])
def test_check_positive_refuses(value):
    with pytest.raises(ParameterError, match="n must be a positive number"):
        check_positive("n", value)
    with pytest.raises(ParameterError, match="n must be a positive whole number"):
        check_positive("n", value, integer=True)


def test_check_positive_whole():
    check_positive("n", 2.5)
    check_positive("n", np.int32(2), integer=True)
    with pytest.raises(ParameterError, match=r"whole number, got 2\.5"):
        check_positive("n", 2.5, integer=True)


def test_check_choice():
    for value in (3, np.int64(3), "a", np.str_("a"), None):
        check_choice("x", value, [3, "a", None])
    for value in (1, True, 3.0, "b", [3], np.array([3])):
        with pytest.raises(ParameterError, match="x must be one of 3, 'a', None, got"):
            check_choice("x", value, [3, "a", None])
    with pytest.raises(ParameterError, match="got True"):
        check_choice("x", True, [1, 2])


def named(name, *joints):
    return SkeletonSequence(np.ones((2, len(joints), 3)), layout=Layout("table", joints), name=name)


def test_one_misspelt_joint_is_named_and_the_others_are_not_blamed():
    bad = named("bow/ann", "head", "left_hand", "rigth_hand")
    good = [named(f"wave/{i}", "head", "left_hand", "right_hand") for i in range(17)]
    for mixed in ([bad, *good], [*good, bad]):
        with pytest.raises(DataError) as caught:
            check_sequences(mixed)
        assert str(caught.value) == (
            "1 of 18 recordings cannot be used: recording 'bow/ann' has a joint 'rigth_hand' where "
            "'right_hand' is expected: misspelt?"
        )


def test_a_minority_of_other_skeletons_is_blamed_once():
    other = [named(f"odd/{i}", "palm", "thumb") for i in range(4)]
    good = [named(f"wave/{i}", "head", "left_hand", "right_hand") for i in range(9)]
    with pytest.raises(DataError) as caught:
        check_sequences([*other, *good])
    message = str(caught.value)
    assert message.startswith(
        "4 of 13 recordings cannot be used: recording 'odd/0' lacks head, left_hand"
    )
    assert "has palm, thumb in addition" in message
    assert "(the same in 4: 'odd/0', 'odd/1', 'odd/2' and 1 more)" in message
    assert "wave" not in message


def test_layouts_are_compared_by_joints_not_by_name():
    one = named("a", "head", "neck")
    assert len(check_sequences([one, one.replace(layout=Layout("other", ["head", "neck"]))])) == 2


def test_padding_of_recordings_is_left_out_and_said_once_for_each_line():
    """Recordings of padded arrays are those of the frames that were seen; long ones stay whole."""
    moving = np.random.default_rng(0).normal(size=(9, 4, 3))
    padded = np.concatenate([np.full((2, 4, 3), np.nan), moving, np.zeros((5, 4, 3))])
    given = [SkeletonSequence(padded, name="a"), SkeletonSequence(moving), padded]
    with pytest.warns(KernetonWarning, match="2 of 3 recordings: frames without any") as caught:
        found = check_sequences(given, allow_missing=True)
    assert [s.n_frames for s in found] == [9, 9, 9]
    assert found[1] is given[1]
    assert caught[0].filename == __file__
    assert_array_equal(found[0].joints, moving)
    assert check_sequences(given[:1], allow_missing=True, whole=True)[0].n_frames == 16
    long = SkeletonSequence(padded, segments=[("bow", 2, 9)])
    assert check_sequences([long], allow_missing=True)[0] is long
    data = SkeletonDataset([long, given[0]], name="toy", left_out=["c.csv"])
    with pytest.warns(KernetonWarning, match="1 of 2 recordings"):
        cut = as_dataset(data)
    assert ([s.n_frames for s in cut], cut.name, cut.left_out) == ([16, 9], "toy", ("c.csv",))
    assert as_dataset(cut) is cut
    hidden = SkeletonSequence(padded, np.zeros((16, 4)))  # nothing was ever seen: an error tells it
    assert without_padding(hidden) is hidden
