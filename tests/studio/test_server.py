"""The server's manners: who is answered, what is refused, and that nothing leaves the folder."""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from studios import TOKEN
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from kerneton import load_folder, make_actions
from kerneton.files.readers import write
from kerneton.studio.journal import Journal
from kerneton.studio.place import Place
from kerneton.studio.routes import routes
from kerneton.studio.server import MAX_CONNECTIONS, PAGE

WAVE = "wave/s1/s01_wave_t1.npz"


def paths(server) -> list[tuple[str, str]]:
    found = []
    for route in routes(server.studio):
        for method in sorted(set(getattr(route, "methods", None) or ()) - {"HEAD"}):
            path = (
                route.path.replace("{batch}", "batch0001")
                .replace("{name}", "x")
                .replace("{file}", "y")
            )
            found.append((method, path))
    return found


def test_nothing_below_api_answers_without_the_token(server):
    asked = paths(server)
    assert len(asked) > 20
    for method, path in asked:
        for headers in ({}, {"X_Kerneton_Token": "wrong"}, {"Authorization": "Bearer wrong"}):
            status, answer, _ = server.ask(
                path, b"{}" if method != "GET" else None, method=method, token=False, **headers
            )
            assert status == 401, (method, path)
            assert b"token" in answer
    assert server.ask("/api/recordings?token=wrong", token=False)[0] == 401
    assert server.ask("/api", token=False)[0] == 401


def test_the_token_may_be_a_header_or_in_the_address(server):
    assert server.ask("/api/recordings")[0] == 200
    assert server.ask(f"/api/recordings?token={TOKEN}", token=False)[0] == 200
    assert server.ask("/api/recordings", token=False, Authorization=f"Bearer {TOKEN}")[0] == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "0.0.0.0:{port}", ""],
)
def test_other_hosts_are_refused(server, host):
    """A page of another site whose name points here (DNS rebinding) sends its own name as the
    host.
    """
    for path in ("/", "/api/recordings"):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        connection.putrequest("GET", path, skip_host=True)
        connection.putheader("Host", host.format(port=server.port))
        connection.putheader("X-Kerneton-Token", TOKEN)
        connection.endheaders()
        answer = connection.getresponse()
        answer.read()
        connection.close()
        assert answer.status in (400, 421)


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "https://127.0.0.1:{port}", "http://127.0.0.1:1", "null", "file://"],
)
def test_other_origins_are_refused_even_with_the_token(server, origin):
    status, *_ = server.ask("/api/undo", {}, Origin=origin.format(port=server.port))
    assert status == 403


def test_cross_site_requests_and_forms_are_refused(server):
    assert server.ask("/api/recordings", Sec_Fetch_Site="cross-site")[0] == 403
    assert server.ask("/api/recordings", Sec_Fetch_Site="same-site")[0] == 403
    assert server.ask("/api/recordings", Sec_Fetch_Site="same-origin")[0] == 200
    for kind in (
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain",
    ):
        assert server.ask("/api/undo", {}, Content_Type=kind)[0] == 415


def test_no_answer_invites_other_sites(server):
    for path in ("/", "/api/state", "/main.js", "/none"):
        *_, headers = server.ask(path)
        names = {name.lower() for name in headers}
        assert "access-control-allow-origin" not in names
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe-inline" not in policy
        assert re.search(r"script-src ([^;]*);", policy)[1] == "'self'"


def test_the_page_has_no_inline_script_style_or_foreign_address():
    page = (PAGE / "index.html").read_text()
    assert not re.search(r"<script(?![^>]*\bsrc=)", page)
    assert not re.search(r"\son\w+=|<style|style=", page)
    for file in PAGE.iterdir():
        text = file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://(?!\$)", text), file.name
        assert "innerHTML" not in text
        assert "eval(" not in text


@pytest.mark.parametrize(
    "path",
    [
        "/../server.py", "/%2e%2e/server.py", "/..%2fserver.py", "/pose/pose.js", "/x/../../etc/passwd", "/x/%2e%2e/%2e%2e/x",
        "/api/motion?id=../secret.npz", "/api/motion?id=/etc/passwd", "/api/motion?id=__studio__/journal.jsonl",
        "/api/models/..%2f..%2fx/model.kern", "/api/models/2026-01-01_000000/figures.json", "/api/export?format=../x",
    ],
)  # fmt: skip
def test_no_path_leads_out(server, path):
    (server.studio.library.root.parent / "secret.npz").write_bytes(b"secret")
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request("GET", path, headers={"X-Kerneton-Token": TOKEN})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    assert answer.status in (400, 404)
    assert b"secret" not in body.replace(b"secret.npz", b"")


def test_uploads_stay_in_their_folder_and_below_their_limit(server):
    limit = server.studio.max_upload
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.putrequest("PUT", "/api/uploads/batch0001?path=a.npz")
    connection.putheader("X-Kerneton-Token", TOKEN)
    connection.putheader("Content-Length", str(limit + 1))
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()
    status, answer, _ = server.ask(
        "/api/uploads/batch0001?path=../../../up/../b.csv", b"x", method="PUT"
    )
    assert (status, answer["path"]) == (200, "up/b.csv")
    assert server.ask("/api/uploads/..?path=a.csv", b"x", method="PUT")[0] in (400, 404, 405)
    assert server.ask("/api/uploads/BATCH..01?path=a.csv", b"x", method="PUT")[0] == 400
    inside = server.studio.library.root / "__studio__" / "incoming" / "batch0001"
    assert [p.relative_to(inside).as_posix() for p in inside.rglob("*") if p.is_file()] == [
        "up/b.csv"
    ]


def test_an_upload_without_a_length_is_cut_off_at_the_limit(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.putrequest("PUT", "/api/uploads/batch0009?path=a.npz")
    connection.putheader("X-Kerneton-Token", TOKEN)
    connection.putheader("Transfer-Encoding", "chunked")
    connection.endheaders()
    piece = b"x" * 65536
    try:
        for _ in range(40):
            connection.send(b"%x\r\n%s\r\n" % (len(piece), piece))
        connection.send(b"0\r\n\r\n")
        assert connection.getresponse().status == 413
    except (BrokenPipeError, ConnectionResetError):
        pass  # the server may close before we have said everything
    finally:
        connection.close()
    assert not list((server.studio.library.root / "__studio__" / "incoming").rglob("*.npz"))
    assert server.ask("/api/state")[0] == 200


def test_more_connections_than_stated_are_turned_away(server):
    waiting = []
    try:
        for _ in range(MAX_CONNECTIONS + 4):
            one = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
            one.request("GET", "/api/state", headers={"X-Kerneton-Token": TOKEN})
            one.getresponse().read()
            waiting.append(one)
        statuses = {server.ask("/api/state")[0] for _ in range(3)}
        assert statuses == {503}
    finally:
        for one in waiting:
            one.close()


@pytest.mark.parametrize(
    "text", [b"", b"GET /api/state HTTP/1.1\r\nHost: "], ids=["silent", "half a request"]
)
def test_silent_connections_do_not_close_the_page_to_its_owner(server, text):
    waiting = []
    try:
        for _ in range(2 * MAX_CONNECTIONS):
            one = socket.create_connection(("127.0.0.1", server.port), timeout=20)
            waiting.append(one)
            one.sendall(text)
        assert {server.ask("/api/state")[0] for _ in range(3)} == {200}
        assert waiting[-1].recv(1) == b""  # closed after some seconds
    finally:
        for one in waiting:
            one.close()


def test_connections_without_the_token_end_with_their_answer(server):
    for path in ("/", "/main.js", "/api/state"):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        connection.request("GET", path)
        assert connection.getresponse().will_close
        connection.close()


@pytest.mark.parametrize("path", ["assign", "annotate", "recorded", "stream", "models/present"])
@pytest.mark.parametrize(
    "body", [b"[" * 200_000, b'{"ids":' * 100_000, b'{"time": ' + b"[" * 100_000]
)
def test_deep_json_is_a_clear_error(server, path, body):
    status, answer, _ = server.ask(f"/api/{path}", body, Content_Type="application/json")
    assert status == 400
    assert "JSON" in answer["error"]


@pytest.mark.parametrize("path", ["events", "live"])
def test_odd_messages_do_not_end_a_socket(server, path):
    with connect(f"ws://127.0.0.1:{server.port}/api/{path}?token={TOKEN}") as page:
        page.recv(timeout=10)
        for message in (b"\x00\x01", "[" * 100_000, "{", "3"):
            page.send(message)
            if path == "live":
                assert "error" in json.loads(page.recv(timeout=10))
        page.ping().wait(10)


@pytest.mark.parametrize("times", [[0, 1e6], [0, 1e300], [-1e308, 1e308], [0, 1e11]])
def test_two_poses_far_apart_are_no_recording(server, times):
    """Interpolated they would have taken gigabytes."""
    frame = [[0.1, -0.5, 0.2, 1.0]] * 33
    status, answer, _ = server.ask("/api/recorded", {"joints": [frame, frame], "times": times})
    assert status == 400
    assert isinstance(answer["error"], str)


def test_a_page_that_does_not_read_costs_no_memory(server):
    joints = [[0.123, 1.234, 2.345]] * 500
    with connect(f"ws://127.0.0.1:{server.port}/api/live?token={TOKEN}", max_queue=1) as page:
        page.send(json.dumps({"source": "stream"}))
        while not server.studio.streams:
            pass
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            for part in range(10):
                lines = [json.dumps({"time": 200 * part + t, "joints": joints}) for t in range(200)]
                server.ask("/api/stream", "\n".join(lines).encode())
            assert tracemalloc.get_traced_memory()[0] - before < 8e6
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("assign", {"ids": "x", "label": "a"}),
        ("assign", {"ids": [WAVE]}),
        ("assign", {"ids": [WAVE], "label": "a/b"}),
        ("assign", {"ids": [WAVE], "label": ["a"]}),
        ("annotate", {"id": WAVE, "note": 5}),
        ("annotate", {"id": WAVE, "segments": "x"}),
        ("recorded", {"joints": [[1]], "times": [0]}),
        ("recorded", {"joints": "x"}),
        ("train/stop", []),
        ("uploads/commit", {"batch": "../../x"}),
        ("models/present", {"name": "../../x"}),
        ("suggest", {"ids": [WAVE]}),
        ("stream", {"time": "x"}),
    ],
)
def test_wrong_questions_get_a_sentence_and_no_traceback(server, path, body):
    status, answer, _ = server.ask(f"/api/{path}", body)
    assert status in (400, 404)
    assert isinstance(answer["error"], str)
    assert "Traceback" not in answer["error"]
    assert str(server.studio.library.root) not in answer["error"]


def test_changes_are_on_disk_when_they_are_answered(server, folder):
    server.post("assign", ids=[WAVE], label="greet", subject="ann")
    assert (folder / "greet" / "ann" / "s01_wave_t1.npz").exists()
    server.post("annotate", id="greet/ann/s01_wave_t1.npz", note="<script>alert(1)</script>")
    kept = Journal(Place(folder)).edits  # as after a kill
    assert kept["greet/ann/s01_wave_t1.npz"]["note"] == "<script>alert(1)</script>"
    rows = {row["id"]: row for row in server.get("recordings")["recordings"]}
    assert rows["greet/ann/s01_wave_t1.npz"]["note"] == "<script>alert(1)</script>"
    server.post("undo")
    server.post("undo")
    assert (folder / WAVE).exists()


def test_what_the_command_line_adds_appears(server, folder):
    write(make_actions(["bow"], n_subjects=1, n_takes=1), folder / "bow" / "s7" / "new.npz")
    with connect(f"ws://127.0.0.1:{server.port}/api/events?token={TOKEN}") as news:
        server.post("refresh")
        while "bow/s7/new.npz" not in {row["id"] for row in server.get("recordings")["recordings"]}:
            news.recv(timeout=20)


def test_motion_and_thumbs_are_the_recording(server, folder):
    import base64

    told = server.get(f"motion?id={WAVE}")
    points = np.frombuffer(base64.b64decode(told["points"]), "<i2").reshape(told["frames"], -1, 3)
    sequence = server.studio.library.sequence(WAVE)
    assert points.shape == sequence.joints.shape
    missing = points[..., 0] == -32768
    np.testing.assert_array_equal(missing, np.isnan(sequence.joints).any(-1))
    # distances between joints are what they were, to the rounding of the page
    mine, theirs = points * told["unit"], np.asarray(sequence.joints)
    seen = ~missing[:, 0] & ~missing[:, 5]
    for a in (mine, theirs):
        assert len(a) == told["frames"]
    np.testing.assert_allclose(
        np.linalg.norm(mine[seen, 0] - mine[seen, 5], axis=-1),
        np.linalg.norm(theirs[seen, 0] - theirs[seen, 5], axis=-1),
        atol=4 * told["unit"],
    )
    thumbs = server.post("thumbs", ids=[WAVE, "no/such.npz"])
    assert list(thumbs) == [WAVE]


def test_a_recording_of_the_page_is_a_file_that_the_command_line_reads(server, folder):
    up = (
        [0.6] * 11 + [0.45] * 2 + [0.2] * 2 + [-0.05] * 8 + [0.0] * 2 + [-0.4] * 2 + [-0.8] * 6
    )  # y of a person who stands
    frame = [[-0.15 if j % 2 else 0.15, y, 0.02, 1.0] for j, y in enumerate(up)]
    frame[32] = [None, None, None, 0]  # a foot that is not seen
    told = server.post(
        "recorded",
        joints=[frame] * 30,
        times=[i / 15 for i in range(30)],
        name="me/../x",
        label="nod",
        subject="ann",
    )
    assert told["id"].startswith("nod/ann/")
    data = [s for s in load_folder(folder) if s.label == "nod"]
    assert len(data) == 1
    assert data[0].layout.name == "mediapipe33"
    assert data[0].fps == 15
    assert np.isnan(data[0].joints[:, 32]).all()
    np.testing.assert_allclose(data[0].joints[0, 25], [-0.15, -0.4, 0.02], atol=1e-6)


@pytest.mark.parametrize("path", ["events", "live", "camera"])
def test_sockets_need_token_host_and_origin(server, path):
    address = f"ws://127.0.0.1:{server.port}/api/{path}"
    for options in (
        {},
        {"subprotocols": ["kerneton", "wrong"]},
        {"origin": "http://evil.example", "subprotocols": ["kerneton", TOKEN]},
    ):
        with (
            pytest.raises((InvalidStatus, ConnectionClosed)),
            connect(address, **options) as refused,
        ):
            refused.recv(timeout=10)
    with connect(address, subprotocols=["kerneton", TOKEN], origin=server.address) as accepted:
        assert accepted.subprotocol == "kerneton"
        if path == "camera":  # which answers alone
            accepted.send('{"pose_model": "lite"}')
        json.loads(accepted.recv(timeout=10))


def test_frames_of_another_program_reach_the_page(server):
    with connect(f"ws://127.0.0.1:{server.port}/api/live?token={TOKEN}") as page:
        assert "no_model" in json.loads(page.recv(timeout=10))
        page.send(json.dumps({"source": "stream"}))
        page.send("not json")
        assert "error" in json.loads(page.recv(timeout=10))  # so the first message was heard, too
        lines = "\n".join(
            json.dumps({"time": t, "joints": [[0, 1, 2]] * 20, "layout": "kinect20"})
            for t in range(3)
        )
        told = server.ask("/api/stream", lines.encode())[1]
        assert told == {"frames": 3, "watching": 1}
        shown = [json.loads(page.recv(timeout=10))["frame"]]
        while shown[-1]["t"] < 2:  # the newest, as fast as the page reads them
            shown.append(json.loads(page.recv(timeout=10))["frame"])
    assert len(shown[0]["names"]) == 20


def test_a_rate_of_one_pose_a_second_is_kept_and_warned_of(server):
    frame = [[0.1, -0.5, 0.2, 1.0]] * 33
    told = server.post("recorded", joints=[frame] * 5, times=[0, 1, 2, 3, 4], label="nod")
    row = {row["id"]: row for row in server.get("recordings")["recordings"]}[told["id"]]
    assert (row["fps"], row["frames"]) == (1, 5)
    assert "slow" in row["warnings"]


def test_the_command_prints_an_address_that_works(command):
    from studios import Server

    found = Server(None, command.port, command.token)  # type: ignore[arg-type]
    assert found.ask("/api/recordings", token=False)[0] == 401
    status, answer, _ = found.ask(f"/api/recordings?token={command.token}", token=False)
    assert status == 200
    assert "recordings" in answer
    assert Path(found.get("state")["folder"]) == command.folder


def test_the_token_is_in_no_list_of_processes_and_stays_after_a_restart(folder, tmp_path):
    """A browser that writes down what it was started with, and what the file says that it was
    given.
    """
    browser, log = tmp_path / "browser", tmp_path / "log"
    browser.write_text(
        f'#!/bin/sh\necho "$@" > {log}\ncat "${{1#file://}}" >> {log}\necho end >> {log}\n'
    )
    browser.chmod(0o755)
    tokens = []
    for _ in range(2):
        with subprocess.Popen(
            [sys.executable, "-m", "kerneton", "studio", str(folder)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "BROWSER": str(browser)},
        ) as command:
            address = re.search(r"http://\S+", command.stdout.readline())[0]
            while not (log.exists() and log.read_text().endswith("end\n")):
                pass
            started, *file = log.read_text().splitlines()
            log.unlink()
            command.terminate()
        tokens.append(address.partition("token=")[2])
        assert tokens[-1] not in started
        assert started.startswith("file://")
        assert address in "".join(file)
        assert Path(started.removeprefix("file://")).stat().st_mode & 0o077 == 0
    assert tokens[0] == tokens[1]


def test_a_second_studio_on_the_same_folder_is_refused(command, folder):
    second = subprocess.run(
        [sys.executable, "-m", "kerneton", "studio", str(folder), "--no-browser"],
        capture_output=True,
        text=True,
    )
    assert second.returncode != 0
    assert "another studio has this folder open" in second.stderr
    assert "Traceback" not in second.stderr


def test_what_was_answered_survives_a_kill(command, folder):
    from studios import Command, Server

    found = Server(None, command.port, command.token)  # type: ignore[arg-type]
    while len(found.get("recordings")["recordings"]) < 9:
        pass
    found.post("assign", ids=[WAVE], label="greet")
    found.post("annotate", id="kick/s1/s01_kick_t1.npz", note="half done")
    command.close(kill=True)
    again = Command(folder)
    try:
        found = Server(None, again.port, again.token)  # type: ignore[arg-type]
        while len(rows := found.get("recordings")["recordings"]) < 9:
            pass
        notes = {row["id"]: row["note"] for row in rows}
        assert notes["kick/s1/s01_kick_t1.npz"] == "half done"
        assert "greet/s1/s01_wave_t1.npz" in notes
        assert found.get("state")["undo"]
    finally:
        again.close()
