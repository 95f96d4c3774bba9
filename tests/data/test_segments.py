from __future__ import annotations

import numpy as np
import pytest
from walks import walk

from kerneton.data.segments import (
    Segment,
    as_segments,
    frame_labels,
    segment_problems,
    segments_from_frames,
)
from kerneton.data.sequence import SkeletonDataset, SkeletonSequence
from kerneton.exceptions import DataError, FormatError
from kerneton.files.readers import npz


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (("wave", 5, 5), "0 <= start < stop, got 5 to 5"),
        (("wave", -1, 5), "0 <= start < stop"),
        (("wave", 0.5, 5), "start must be a whole number, got 0.5"),
        (("wave", 0, True), "stop must be a whole number"),
    ],
)
def test_what_is_no_segment(fields, message):
    with pytest.raises(DataError, match=message):
        Segment(*fields)


@pytest.mark.parametrize("value", ["wave", 3, [("wave",)], ["abc"], [7]])
def test_what_are_no_segments(value):
    with pytest.raises(DataError, match="'long': expected"):
        SkeletonSequence(walk(9), segments=value, name="long")


def test_seconds_and_back():
    segment = Segment("wave", np.int64(7), 31)
    assert type(segment.start) is int
    assert Segment.from_seconds("wave", *segment.seconds(29.97), fps=29.97) == segment
    assert Segment.from_seconds("blink", 1.0, 1.001, fps=30) == Segment("blink", 30, 31)
    with pytest.raises(DataError, match="start < stop"):
        Segment.from_seconds("wave", 2.0, 1.0, fps=30)
    with pytest.raises(DataError, match="expected times"):
        Segment.from_seconds("wave", float("nan"), 1.0, fps=30)


def test_problems_name_a_segment_inside_another_one():
    found = segment_problems(
        as_segments([("a", 0, 50), ("b", 10, 20), ("c", 40, 60), ("d", 200, 201)]), 100
    )
    assert len(found) == 3
    assert "'d' starts at frame 200" in found[0]
    assert "'a' (0 to 50) and 'b' (10 to 20) overlap in 10 frames" in found[1]
    assert "'a' (0 to 50) and 'c' (40 to 60) overlap in 10 frames" in found[2]


def test_points():
    kick = Segment.at("kick", np.int64(7))
    assert (kick, kick.is_point) == (Segment("kick", 7, 8), True)
    assert as_segments([("kick", 7)]) == (kick,)
    for frame in (-1, 1.5, None):
        with pytest.raises(DataError, match="segment 'kick'"):
            Segment.at("kick", frame)
    inside = as_segments([("a", 0, 50), ("kick", 7), ("kick", 90), ("wave", 90), ("a", 300)])
    found = segment_problems(inside, 100)
    assert found == [
        "segment 'a' starts at frame 300, the recording ends at 100",
        "points 'kick' and 'wave' are in the same frame 90",
    ]


def test_frames_and_segments_are_the_same_thing():
    segments = as_segments([("wave", 2, 5), ("clap", 5, 9), ("wave", 12, 13)])
    assert segments_from_frames(frame_labels(segments, 14)) == segments


def test_segments_survive_replace_select_and_cut():
    long = SkeletonSequence(
        walk(60), segments=[("clap", 30, 50), ("wave", 5, 20)], name="long", fps=30
    )
    assert [s.label for s in long.segments] == ["wave", "clap"]
    assert long.replace(name="other").segments == long.segments
    assert SkeletonDataset([long]).select([0])[0].segments == long.segments
    part = long.cut(10, 40)
    assert part.segments == (Segment("wave", 0, 10), Segment("clap", 20, 30))
    assert part.n_frames == 30
    assert np.shares_memory(part.joints, long.joints)
    with pytest.raises(DataError, match="'long': cannot cut frames 50 to 61 out of 60"):
        long.cut(50, 61)


def test_segments_come_back_from_npz(tmp_path):
    first = SkeletonSequence(walk(60), segments=[("wave; 'quoted' ü", 5, 20)], name="a")
    second = SkeletonSequence(walk(30), name="b")
    npz.write([first, second], tmp_path / "two.npz")
    assert [s.segments for s in npz.read(tmp_path / "two.npz")] == [first.segments, ()]
    npz.write([first], tmp_path / "one.npz")
    assert npz.read(tmp_path / "one.npz")[0].segments == first.segments


@pytest.mark.parametrize("text", ["[[1]]", "{", '[["a", 3, 1]]', '["abc"]', "3", "[" * 100_000])
def test_damaged_segments_are_a_format_error(tmp_path, text):
    np.savez(tmp_path / "long.npz", joints=walk(9), segments=text)
    with pytest.raises(FormatError, match="segments must be JSON"):
        npz.read(tmp_path / "long.npz")
