from __future__ import annotations

import json

import numpy as np
import pytest
from walks import walk

from kerneton.cli import main
from kerneton.data.segments import Segment
from kerneton.data.sequence import SkeletonSequence
from kerneton.files.folder import load_folder
from kerneton.files.readers import read, write
from kerneton.files.summary import summarize


@pytest.fixture
def long(tmp_path):
    file = tmp_path / "long.npz"
    write([SkeletonSequence(walk(300), fps=30, name="long", subject="ann")], file)
    return file


def test_segments_become_a_folder_that_is_a_data_set(tmp_path, long, capsys):
    (tmp_path / "marks.csv").write_text("label,start_s,stop_s\nwave,1,2\nclap,3,5\nwave,6,7\n")
    out = tmp_path / "actions"
    assert (
        main(
            [
                "cut",
                str(long),
                "--segments",
                str(tmp_path / "marks.csv"),
                "-o",
                str(out),
                "--json",
                "-",
            ]
        )
        == 0
    )
    told = json.loads(capsys.readouterr().out)
    assert [row["frames"] for row in told["recordings"]] == [30, 60, 30]
    data = load_folder(out)
    assert sorted(data.labels) == ["clap", "wave", "wave"]
    assert set(data.subjects) == {"ann"}
    clap = next(s for s in data if s.label == "clap")
    assert np.array_equal(clap.joints, read(long)[0].joints[90:150])


def test_own_segments_and_those_beside(tmp_path, long):
    write([read(long)[0].replace(segments=[Segment("bow", 5, 19)])], tmp_path / "own.npz")
    assert main(["cut", str(tmp_path / "own.npz"), "-o", str(tmp_path / "a")]) == 0
    assert load_folder(tmp_path / "a").labels.tolist() == ["bow"]
    (tmp_path / "long.segments.csv").write_text("label,start,stop\nkick,5,19\n")
    assert main(["cut", str(long), "-o", str(tmp_path / "b"), "--format", "csv"]) == 0
    assert load_folder(tmp_path / "b").labels.tolist() == ["kick"]


@pytest.mark.parametrize(("first", "last"), [("60", "120"), ("2s", "4.0s"), ("0:02", "0:04")])
def test_one_part(tmp_path, long, first, last):
    out = tmp_path / "part.npz"
    assert main(["cut", str(long), "--from", first, "--to", last, "-o", str(out)]) == 0
    assert np.array_equal(read(out)[0].joints, read(long)[0].joints[60:120])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "which part?"),
        (["--from", "x"], "expected a frame (300), seconds (3.5s) or minutes (1:05), got 'x'"),
        (["--from", "20s"], "cannot cut frames 600 to 300 out of 300"),
        (["--from", "1", "--segments", "s.csv"], "not both"),
    ],
)
def test_mistakes(tmp_path, long, capsys, options, message):
    assert main(["cut", str(long), "-o", str(tmp_path / "x.npz"), *options]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "x.npz").exists()


@pytest.mark.filterwarnings("default")
def test_overlaps_and_ends_beyond_are_warned_of(tmp_path, long, capsys):
    (tmp_path / "marks.csv").write_text("label,start,stop\nwave,10,50\nclap,40,400\n")
    assert (
        main(
            ["cut", str(long), "--segments", str(tmp_path / "marks.csv"), "-o", str(tmp_path / "a")]
        )
        == 0
    )
    err = capsys.readouterr().err
    assert "ends at frame 400, the recording at 300" in err
    assert "overlap in 10 frames" in err
    assert sorted(s.n_frames for s in load_folder(tmp_path / "a")) == [40, 260]


@pytest.mark.filterwarnings("default")
def test_whole_seconds_that_are_read_as_frames_are_warned_of_once(tmp_path, long, capsys):
    (tmp_path / "long.segments.csv").write_text("start,end,label\n1,3,wave\n4,6,bow\n7,9,wave\n")
    told = "3 of 3 segments have at most 4 frames: are these seconds? Name the columns start_s and end_s"
    assert main(["cut", str(long), "-o", str(tmp_path / "a")]) == 0
    assert capsys.readouterr().err.count(told) == 1
    assert main(["info", str(long)]) == 0
    assert capsys.readouterr().out.count(told) == 1
    assert summarize(load_folder(long)).warnings.count(told) == 1  # as fit --spot prints


@pytest.mark.filterwarnings("default")
def test_a_broken_table_of_segments_stops_training_but_not_looking_at_the_recording(
    tmp_path, long, capsys
):
    (tmp_path / "long.segments.csv").write_text("foo,bar,label\n1,3,wave\n")
    told = "got the columns foo, bar, label"
    commands = [
        ["show", str(long), "-o", str(tmp_path / "a.png")],
        ["info", str(long)],
        ["info", str(tmp_path)],
    ]
    for command in commands:
        assert main(command) == 0
        err = capsys.readouterr().err
        assert "long.npz: read without segments: " in err
        assert err.count(told) == 1
    for command in (["cut", str(long), "-o"], ["fit", str(long), "--spot", "-o"]):
        assert main([*command, str(tmp_path / "x.kern")]) == 1
        assert told in capsys.readouterr().err
    part = ["cut", str(long), "--from", "10", "--to", "50", "-o", str(tmp_path / "part.npz")]
    assert main(part) == 0  # needs no segments


@pytest.mark.filterwarnings("default")
def test_a_folder_of_long_recordings_becomes_a_data_set(tmp_path, capsys):
    for subject in ("ann", "bob"):
        for day in ("monday", "tuesday"):
            file = tmp_path / "long" / subject / f"{day}.npz"
            file.parent.mkdir(parents=True, exist_ok=True)
            write([SkeletonSequence(walk(300), fps=30, name=day)], file)
            file.with_name(f"{day}.segments.csv").write_text(
                "label,start,stop\nwave,10,50\nwave,70,99\nbow,150,400\n"
            )
    (tmp_path / "long/bob/tuesday.segments.csv").unlink()
    assert main(["cut", str(tmp_path / "long"), "-o", str(tmp_path / "actions")]) == 0
    err = capsys.readouterr().err
    assert "without segments, left out: 1 recording" in err
    assert "ann/monday: segment 'bow' ends at frame 400" in err
    data = load_folder(tmp_path / "actions")
    assert sorted(zip(data.labels, data.subjects, strict=True)) == [
        *[("bow", "ann")] * 2,
        *[("bow", "bob")],
        *[("wave", "ann")] * 4,
        *[("wave", "bob")] * 2,
    ]
    assert (tmp_path / "actions/wave/ann/monday_070_wave.npz").is_file()
    table = tmp_path / "all.csv"
    table.write_text("file,label,start,stop\nmonday.npz,kick,10,50\n")
    command = ["cut", str(tmp_path / "long"), "--segments", str(table), "-o", str(tmp_path / "b")]
    assert main(command) == 1
    assert "have the same name" in capsys.readouterr().err
    command[1] += "/ann"
    assert main(command) == 0
    assert main(["cut", str(tmp_path / "long"), "-o", str(tmp_path / "long/out")]) == 1


def test_a_tier_of_the_file_beside_the_recording(tmp_path, long, capsys):
    tier = '"IntervalTier" "{}" 0 6 1 1 2 "{}"'
    grid = 'File type = "ooTextFile"\nObject class = "TextGrid"\n0 6 <exists> 2 '
    (tmp_path / "long.TextGrid").write_text(
        grid + tier.format("arms", "wave") + " " + tier.format("legs", "kick")
    )
    assert main(["cut", str(long), "--tier", "legs", "-o", str(tmp_path / "a")]) == 0
    assert load_folder(tmp_path / "a").labels.tolist() == ["kick"]
    assert main(["cut", str(tmp_path), "--tier", "legs", "-o", str(tmp_path.parent / "b")]) == 1
    assert "--tier is for one file of segments" in capsys.readouterr().err
