"""kerneton spot and watch, from training to events."""

from __future__ import annotations

import argparse
import io
import json
import re
import subprocess
import sys

import numpy as np
import pytest
from samples import write_segments

from kerneton import load, make_actions
from kerneton.cli import main, watch
from kerneton.files.readers import read, write
from kerneton.files.segments import read_segments
from kerneton.stream.frames import raw_joints
from kerneton.stream.live import Event


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder of long recordings with segments beside them, a model trained from it, and one more
    recording.
    """
    home = tmp_path_factory.mktemp("spot")
    takes = make_actions(["wave", "kick"], n_subjects=4, n_takes=1, uncut=True, random_state=2)
    for take in takes[:3]:
        write([take.replace(segments=())], home / "train" / f"{take.name}.npz")
        write_segments(home / "train" / f"{take.name}.segments.csv", take.segments)
    write([takes[3].replace(segments=())], home / "new.npz")
    assert main(["fit", str(home / "train"), "--spot", "-o", str(home / "model.kern"), "-q"]) == 0
    return home


def test_the_model_file_finds_what_the_spotter_finds(home, capsys):
    spotter = load(home / "model.kern")
    take = make_actions(["wave", "kick"], n_subjects=4, n_takes=1, uncut=True, random_state=2)[3]
    assert main(["spot", str(home / "model.kern"), str(home / "new.npz"), "--json", "-"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(r["label"], r["start"], r["stop"]) for r in rows] == [
        (d.label, d.start, d.stop) for d in spotter.spot(take)
    ]
    assert rows
    for row in rows:
        total = row["reason"]["intercept"] + sum(row["reason"]["joints"].values())
        assert total == pytest.approx(row["decision"], abs=1e-4)


def test_tables_elan_pictures_and_pages(home, tmp_path):
    table, eaf, page, picture = (
        tmp_path / n for n in ("found.csv", "found.eaf", "page.html", "line.png")
    )
    options = ["--csv", str(table), "--eaf", str(eaf), "--html", str(page), "-o", str(picture)]
    assert main(["spot", str(home / "model.kern"), str(home / "new.npz"), "-q", *options]) == 0
    (found,) = read_segments(table).values()
    assert read_segments(eaf, fps=30)[""] == found
    assert "<svg" in page.read_text()
    assert "to be played" in page.read_text()
    assert page.read_text().count("right_hand +") >= len(found) / 2  # the reasons
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_many_files_are_searched_one_by_one_and_resumed(home, tmp_path, capsys, jobs):
    files = sorted((home / "train").glob("*.npz"))
    table, scratch = tmp_path / "found.csv", tmp_path / "work"
    options = ["--csv", str(table), "--scratch", str(scratch), "--jobs", jobs]
    (tmp_path / "broken.npz").write_bytes(b"nothing")
    command = ["spot", str(home / "model.kern"), *map(str, files), "--json", "-", *options]
    assert main([*command[:2], str(tmp_path / "broken.npz"), *command[2:]]) == 1
    told = capsys.readouterr().err
    assert "1 of 4 files could not be searched" in told
    assert "broken.npz" in told
    assert not table.exists()
    assert main(command) == 0
    out = capsys.readouterr()
    assert "3 files of 3 known from an earlier run" in out.err
    rows = json.loads(out.out)
    model = load(home / "model.kern")
    expected = [(str(f), d.label, d.start, d.stop) for f in files for d in model.spot(*read(f))]
    assert [(r["file"], r["label"], r["start"], r["stop"]) for r in rows] == expected
    assert {r["recording"] for r in rows} <= {f.stem for f in files}
    assert len(table.read_text().splitlines()) == 1 + len(expected)
    for row in rows:
        total = row["reason"]["intercept"] + sum(row["reason"]["joints"].values())
        assert total == pytest.approx(row["decision"], abs=1e-4)


def test_stretches_to_label_next(home, capsys):
    assert main(["spot", str(home / "model.kern"), str(home / "new.npz"), "--suggest", "3"]) == 0
    assert "perhaps" in capsys.readouterr().out
    command = ["spot", str(home / "model.kern"), str(home / "new.npz"), "--suggest", "2"]
    assert main([*command, "--json", "-"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert 1 <= len(rows) <= 2
    assert all(r["label"] in ("wave", "kick") and r["start"] < r["stop"] for r in rows)
    assert main([*command[:-1], "0"]) == 1
    assert "--suggest takes a whole number" in capsys.readouterr().err


def lines_of(home, monkeypatch, capsys, data, *options):
    class Input:
        buffer = io.BytesIO(data)

    monkeypatch.setattr("sys.stdin", Input)
    assert main(["watch", str(home / "model.kern"), "--lines", *options]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_watch_standard_input_with_rubbish_in_it(home, monkeypatch, capsys):
    take = make_actions(["wave", "kick"], n_subjects=4, n_takes=1, uncut=True, random_state=2)[3]
    messages = []
    for t, pose in enumerate(raw_joints(take)):
        joints = [None if np.isnan(j).any() else [float(c) for c in j] for j in pose]
        messages.append(json.dumps({"joints": joints, "time": t / 30}))
        if t == 50:
            messages += ["{broken"] * 1000 + [
                '{"joints": [[0, 0, 0]]}',
                '{"joints": [], "time": -4}',
            ]
    events = lines_of(home, monkeypatch, capsys, "\n".join(messages).encode(), "--sure")
    found = [
        (e["label"], round(e["start"] * 30), round(e["stop"] * 30))
        for e in events
        if e["event"] == "segment"
    ]
    expected = [(d.label, d.start, d.stop) for d in load(home / "model.kern").spot(take)]
    assert sorted(found, key=lambda s: s[1]) == expected
    assert events[-1]["summary"]["dropped: a message that is not JSON"] == 1000
    assert sum(e["event"] == "dropped" for e in events) == 3


def test_watch_records_the_frames_that_arrive(home, tmp_path, monkeypatch, capsys):
    take = make_actions(["wave", "kick"], n_subjects=1, n_takes=1, uncut=True, random_state=2)[0]
    messages = []
    for t, pose in enumerate(raw_joints(take)[:90]):
        joints = [None if np.isnan(j).any() else [float(c) for c in j] for j in pose]
        messages.append(json.dumps({"joints": joints, "time": t / 30}))
    messages.insert(40, "{broken")
    file = tmp_path / "take.jsonl"
    lines_of(home, monkeypatch, capsys, "\n".join(messages).encode(), "--record", str(file))
    (recorded,) = read(file)
    np.testing.assert_array_equal(recorded.joints, raw_joints(take)[:90])
    assert recorded.fps == 30
    assert main(["watch", str(home / "model.kern"), "--record", str(tmp_path / "take.csv")]) == 1
    assert "a stream is recorded as .jsonl" in capsys.readouterr().err


def test_watch_replays_a_file_and_runs_a_command(home, tmp_path, capsys):
    log = tmp_path / "log.txt"
    command = f"python3 -c \"open({str(log)!r},'a').write('{{label}}\\n')\""
    arguments = [
        "--source",
        str(home / "new.npz"),
        "--fast",
        "--sure",
        "--run",
        command,
        "--repetitions",
    ]
    assert main(["watch", str(home / "model.kern"), *arguments]) == 0
    out = capsys.readouterr().out
    assert "end of the stream: frames" in out
    assert log.read_text().split() == [
        line.split()[3] for line in out.splitlines() if " from " in line
    ]


def test_a_web_socket_whose_actions_run_commands_needs_the_token(home):
    """The address that the command prints works; without its token, or from a web page, nothing is
    heard.
    """
    from websockets.exceptions import InvalidStatus
    from websockets.sync.client import connect

    arguments = [
        "--source",
        "ws:0",
        "--once",
        "--run",
        "true",
        "--allow-origin",
        "http://localhost:3000",
    ]
    command = subprocess.Popen(
        [sys.executable, "-m", "kerneton", "watch", str(home / "model.kern"), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    said = command.stderr.readline()
    address = re.search(r"ws://127\.0\.0\.1:\d+/\?token=\S+(?=,)", said)[0]
    assert (
        "web pages of http://localhost:3000 may connect with this token, because --run is given"
        in said
    )
    with connect(address) as client:
        with pytest.raises(InvalidStatus, match="401"), connect(address.partition("?")[0]):
            pass
        with (
            pytest.raises(InvalidStatus, match="403"),
            connect(address, origin="http://evil.example"),
        ):
            pass
        with connect(address, origin="http://localhost:3000"):
            pass
        client.send("{broken")
    out, _ = command.communicate(timeout=60)
    for reason in ("a web page that may not connect", "a client without the token", "not JSON"):
        assert reason in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "TRAIN", "--false-alarms", "1/h"], "go with --spot"),
        (
            ["fit", "TRAIN", "--spot", "--false-alarms-per-hour", "often"],
            "takes a number such as 1, got 'often'",
        ),
        (["watch", "MODEL", "--source", "udp:x"], "expected PORT or HOST:PORT"),
        (
            ["watch", "MODEL", "--source", "tcp:9000"],
            "expected -, udp:PORT, ws:PORT, camera, an address or a file",
        ),
        (["watch", "none.kern"], "no such file"),
    ],
)
def test_mistakes(home, capsys, arguments, message):
    places = {"MODEL": str(home / "model.kern"), "TRAIN": str(home / "train")}
    assert main([places.get(a, a) for a in arguments]) == 1
    assert message in capsys.readouterr().err


def test_the_name_of_a_body_cannot_end_a_command_per_action(capsys):
    """Names come from the network; none can be given to a program with a NUL in it."""
    event = Event("segment", "a\0\x1b[2J", 4.0, label="wave", start=1.0, stop=3.0)
    watch._tell(event, argparse.Namespace(lines=False, quiet=True, command="true {body}"))
    assert capsys.readouterr().err == "kerneton: warning: true: embedded null byte\n"
