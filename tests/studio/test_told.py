"""What is seen live: of several bodies, kept as a table, and passed on to other programs."""

from __future__ import annotations

import csv
import io
import json
import time

import numpy as np
import pytest
from studios import TOKEN
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from kerneton.files.segments import read_segments
from kerneton.studio.live import replayed


def lines(frames, layout, body):
    return [
        json.dumps(
            {"time": t, "joints": rows.tolist(), "layout": layout.name, "body": body}
        ).encode()
        for t, rows in frames
    ]


def send(server, rows):
    status, told, _ = server.ask("/api/stream", b"\n".join(rows))
    assert status == 200, told


def test_two_bodies_are_watched_at_once_and_told_to_another_program(trained, tmp_path):
    """One claps while the other kicks; each has its own label and its own segments."""
    played = {}
    for body, label in (("left", "clap"), ("right", "kick")):
        frames, layout = replayed(trained.studio.library.sequence(f"{label}/bob/{label}-bob.npz"))
        last, pose = frames[-1]
        rest = [(last + i / 30, pose) for i in range(1, 61)]
        played[body] = lines([*frames, *rest], layout, body)
    address = f"ws://127.0.0.1:{trained.port}/api"
    with (
        connect(f"{address}/told?token={TOKEN}") as other,
        connect(f"{address}/live?token={TOKEN}") as page,
    ):
        assert json.loads(page.recv(timeout=60))["labels"] == ["clap", "kick", "wave"]
        page.send(json.dumps({"source": "stream"}))
        while not trained.studio.streams:
            time.sleep(0.01)
        seen: dict[str, set[str]] = {"left": set(), "right": set()}
        for i in range(0, max(map(len, played.values())), 10):
            now = {body: rows[i : i + 10] for body, rows in played.items() if rows[i : i + 10]}
            send(trained, [row for rows in now.values() for row in rows])
            bodies = set()
            while bodies < set(now):
                told = json.loads(page.recv(timeout=60))
                assert "error" not in told, told
                if "frame" in told:
                    assert told["frame"]["body"] in seen
                    continue
                bodies.add(told["body"])
                if told.get("sure"):
                    seen[told["body"]].add(told["label"])
        assert seen == {"left": {"clap"}, "right": {"kick"}}
        segments = {}
        while len(segments) < 2:
            event = json.loads(other.recv(timeout=60))
            assert event["source"] == "stream"
            if event["event"] == "segment":
                segments[event["body"]] = event["label"]
    assert segments == {"left": "clap", "right": "kick"}
    status, body, headers = trained.ask("/api/seen")
    assert (status, headers["content-type"].split(";")[0]) == (200, "text/csv")
    rows = list(csv.DictReader(io.StringIO(body.decode())))
    assert {(row["body"], row["label"]) for row in rows} >= {("left", "clap"), ("right", "kick")}
    (tmp_path / "seen.segments.csv").write_bytes(body)
    assert read_segments(tmp_path / "seen.segments.csv", fps=30)  # as the command line reads it


def test_more_bodies_than_are_watched_are_left_out(server):
    joints = np.ones((20, 3)).tolist()
    with connect(f"ws://127.0.0.1:{server.port}/api/live?token={TOKEN}") as page:
        page.recv(timeout=60)
        page.send(json.dumps({"source": "stream"}))
        while not server.studio.streams:
            time.sleep(0.01)
        (listen,) = server.studio.streams
        frames = [{"time": 1.0, "joints": joints, "body": k} for k in range(50)]
        send(server, [json.dumps(frame).encode() for frame in frames])
        assert len(listen.__self__.bodies) == 6
        send(server, [json.dumps({"time": 9.0, "joints": joints, "body": "new"}).encode()])
        assert list(listen.__self__.bodies) == ["new"]
    wrong = json.dumps({"time": 1, "joints": joints, "body": []}).encode()
    assert server.ask("/api/stream", wrong)[0] == 400


def test_what_is_seen_needs_the_token_and_is_there_to_be_saved(server):
    with pytest.raises(InvalidStatus), connect(f"ws://127.0.0.1:{server.port}/api/told?token=no"):
        pass
    status, told, _ = server.ask("/api/seen")
    assert (status, told["error"]) == (404, "nothing was seen live yet")
