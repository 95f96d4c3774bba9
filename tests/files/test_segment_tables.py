"""Tables of segments as people name their columns."""

from __future__ import annotations

import pytest
from walks import walk

from kerneton.data.segments import Segment
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import FormatError
from kerneton.files.segments import read_segments, with_segments

WAVE, CLAP = Segment("wave", 30, 75), Segment("clap", 120, 150)
FRAMES = (30, 75, 120, 150)
SECONDS = (1.0, 2.5, 4, 5)


def table(header, a, b, c, d, between=","):
    return between.join(header) + f"\n{a}{between}{b}{between}wave\n{c}{between}{d}{between}clap\n"


HEADERS = {
    **dict.fromkeys(
        ["start,end", "begin,stop", "from,to", "start_frame,end_frame", "frame_start,frame_end"],
        FRAMES,
    ),
    **dict.fromkeys(
        ["startFrame,endFrame", "Start Frame,Stop (frames)", "start,end_frame"], FRAMES
    ),
    **dict.fromkeys(
        ["start,duration", "begin_frame,duration", "start_frame,duration_frames"], (30, 45, 120, 30)
    ),
    **dict.fromkeys(["start_s,end_s", "start_sec,end_sec", "begin_seconds,stop_seconds"], SECONDS),
    **dict.fromkeys(
        ["start_time,end_time", "onset,offset", "Start (s),Stop (s)", "first_s,last_s"], SECONDS
    ),
    **dict.fromkeys(["Begin Time - ss.msec,End Time - ss.msec", "start,end_s"], SECONDS),
    **dict.fromkeys(["start_s,duration_s", "onset,duration"], (1.0, 1.5, 4, 1)),
    **dict.fromkeys(
        ["start_ms,end_ms", "Begin Time - msec,End Time - msec"], (1000, 2500, 4000, 5000)
    ),
    "start_s,duration_ms": (1.0, 1500, 4, 1000),
    "start_s,end_s ": ("1.0s", "0:02.5", "00:00:04.000", "5"),
    "Begin Time - hh:mm:ss.ms,End Time - hh:mm:ss.ms": (
        *("00:00:01.000", "00:00:02.500"),
        *("00:00:04.000", "00:00:05.000"),
    ),
}


@pytest.mark.parametrize("header", HEADERS)
def test_names_of_columns(tmp_path, header):
    (tmp_path / "s.csv").write_text(table([*header.split(","), "label"], *HEADERS[header]))
    assert read_segments(tmp_path / "s.csv", fps=30) == {"": (WAVE, CLAP)}


def test_elan_writes_each_time_in_several_units(tmp_path):
    names = [
        f"{word} Time - {unit}" for word in ("Begin", "End") for unit in ("hh:mm:ss.ms", "ss.msec")
    ]
    names += ["Duration - ss.msec", "Annotation"]
    row = ["00:00:01.000", "1.0", "00:00:02.500", "2.5", "1.5", "wave"]
    (tmp_path / "s.txt").write_text("\t".join(names) + "\n" + "\t".join(row) + "\n")
    assert read_segments(tmp_path / "s.txt", fps=30) == {"": (WAVE,)}


@pytest.mark.parametrize(
    "header",
    [
        *("foo,bar,label", "start_frame,end_s,label", "start,foo,label", "frame,end,label"),
        *("time,duration,label", "start_h,end_h,label", "label,comment"),
    ],
)
def test_unknown_columns_are_named_and_not_taken_for_a_label_per_frame(tmp_path, header):
    (tmp_path / "s.csv").write_text(f"{header}\n1,2,3\n")
    with pytest.raises(FormatError) as error:
        read_segments(tmp_path / "s.csv", fps=30)
    assert f"got the columns {header.replace(',', ', ')}" in str(error.value)
    assert "label,start_s,stop_s (seconds)" in str(error.value)


@pytest.mark.parametrize("header", ["label", "time,label", "Timestamp,label"])
def test_a_label_per_frame_has_as_many_rows_as_the_recording_has_frames(tmp_path, header):
    long = SkeletonSequence(walk(90), fps=30, name="long")
    file, rows = tmp_path / "s.csv", header.count(",") * "0.5," + "wave\n"
    file.write_text(f"{header}\n" + rows * 90)
    assert with_segments([long], file)[0].segments == (Segment("wave", 0, 90),)
    file.write_text(f"{header}\n" + rows * 3)
    with pytest.raises(
        FormatError, match="3 rows with a label each, but the recording has 90 frames"
    ):
        with_segments([long], file)


@pytest.mark.parametrize("word", ["1.10", "1.1s", "2s", "0:01.1", "0:02"])
@pytest.mark.parametrize("header", ["start,end", "begin,duration"])
def test_times_among_frame_numbers_say_how_to_name_the_columns(tmp_path, header, word):
    (tmp_path / "s.csv").write_text(f"{header},label\n{word},3,wave\n")
    first, last = header.split(",")
    remedy = (
        f"whole frame number, got '{word}'; name the columns {first}_s and {last}_s for seconds"
    )
    with pytest.raises(FormatError, match=remedy):
        read_segments(tmp_path / "s.csv", fps=30)
    (tmp_path / "s.csv").write_text(f"{first}_s,{last}_s,label\n{word},3,wave\n")
    assert read_segments(tmp_path / "s.csv", fps=30)


POINTS = (Segment.at("kick", 30), Segment.at("wave", 75), Segment.at("kick", 120))


@pytest.mark.parametrize(
    "text",
    [
        "frame,label\n30,kick\n75,wave\n120,kick\n",
        "label,frame\nkick,30\nwave,75\nkick,120\n",
        "label,start\nkick,30\nwave,75\nkick,120\n",
        "label,point\nkick,30\nwave,75\nkick,120\n",
        "time,label\n1.0,kick\n2.5,wave\n4,kick\n",
        "time_ms,label\n1000,kick\n2500,wave\n4000,kick\n",
        "label,start_s\nkick,1\nwave,0:02.5\nkick,4\n",
        "label,start_s,comment\nkick,1,good\nwave,2.5,\nkick,4,again\n",
        "label,start,stop\nkick,30,31\nwave,75,76\nkick,120,121\n",
    ],
)
def test_points_in_tables(tmp_path, text):
    (tmp_path / "s.csv").write_text(text)
    assert read_segments(tmp_path / "s.csv", fps=30)[""] == POINTS
    long = SkeletonSequence(walk(150), fps=30, name="long")
    assert with_segments([long], tmp_path / "s.csv")[0].segments == POINTS


def test_times_of_every_frame_are_no_points(tmp_path):
    rows = "".join(f"{t / 5},{'kick' if 4 <= t < 9 else 'none'}\n" for t in range(20))
    (tmp_path / "s.csv").write_text(f"time,label\n{rows}")
    long = SkeletonSequence(walk(20), fps=5, name="long")
    assert with_segments([long], tmp_path / "s.csv")[0].segments == (Segment("kick", 4, 9),)


@pytest.mark.parametrize("word", ["soon", "", "nan"])
def test_points_that_are_no_times_name_their_line(tmp_path, word):
    (tmp_path / "s.csv").write_text(f"label,start_s\nkick,1\nwave,{word}\n")
    with pytest.raises(FormatError, match="line 3: expected seconds, got"):
        read_segments(tmp_path / "s.csv", fps=30)
    (tmp_path / "s.csv").write_text("label,start_s\nkick,1\n")
    with pytest.raises(FormatError, match="the frame rate is needed"):
        read_segments(tmp_path / "s.csv")
