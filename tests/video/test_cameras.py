"""Cameras, played by a server on this machine that streams a film, ends it, or says nothing."""

from __future__ import annotations

import contextlib
import http.server
import io
import os
import socket
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from films_made import write_film

import kerneton
from kerneton.cli import main
from kerneton.exceptions import DataError, MissingDataError, ParameterError
from kerneton.video import cameras
from kerneton.video.cameras import Camera, Sight, is_camera
from kerneton.video.estimator import Person, PoseOptions
from kerneton.video.takes import as_recordings, hands_free_take, timed_take

av = pytest.importorskip("av", reason="PyAV is not installed: pip install 'kerneton[video]'")


def jpegs(path: Path) -> list[bytes]:
    """The pictures of a film as JPEG files."""
    made = []
    with av.open(str(path)) as film:
        for frame in film.decode(video=0):
            target = io.BytesIO()
            with av.open(target, "w", format="mjpeg") as out:
                stream = out.add_stream("mjpeg", rate=30)
                stream.width, stream.height, stream.pix_fmt = frame.width, frame.height, "yuvj420p"
                pixels = av.VideoFrame.from_ndarray(
                    frame.to_ndarray(format="rgb24"), format="rgb24"
                )
                out.mux(stream.encode(pixels.reformat(format="yuvj420p")))
                out.mux(stream.encode(None))
            made.append(target.getvalue())
    return made


@pytest.fixture
def serve(tmp_path):
    """Addresses of a web camera, which sends the pictures of a film of the test's folder 30 a
    second.
    """

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            path = tmp_path / Path(self.path).name
            if not path.exists():
                self.send_error(404)
                return
            self.send_response(200)
            if path.suffix == ".m3u8":
                self.send_header("Content-Type", "application/vnd.apple.mpegurl")
                self.end_headers()
                self.wfile.write(path.read_bytes())
                return
            self.send_header("Content-Type", "multipart/x-mixed-replace; boundary=picture")
            self.end_headers()
            for picture in jpegs(path):
                head = f"--picture\r\nContent-Type: image/jpeg\r\nContent-Length: {len(picture)}\r\n\r\n"
                with contextlib.suppress(OSError):  # the camera was closed
                    self.wfile.write(head.encode() + picture + b"\r\n")
                time.sleep(1 / 30)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield lambda name: f"http://127.0.0.1:{server.server_port}/{Path(name).name}"
    server.shutdown()
    server.server_close()


def test_an_address_gives_pictures_and_ends(serve, tmp_path):
    with Camera(serve(write_film(tmp_path / "film.mkv", n=30))) as camera:
        seen = []
        with pytest.raises(DataError, match=r"was the camera unplugged\?"):
            seen.extend(camera.pictures())
    assert 10 <= len(seen) <= 30
    assert len(seen) + camera.dropped >= 28
    assert seen[0][1].shape == (48, 64, 4)
    assert (np.diff([moment for moment, _ in seen]) > 0).all()


def test_a_missing_page_is_one_error(serve, tmp_path):
    with pytest.raises(MissingDataError, match=r"none\.ts: .*404"):
        Camera(serve(tmp_path / "none.ts"))


def test_nobody_there_is_one_error():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/live"
        with pytest.raises(MissingDataError, match="refused"):
            Camera(address)


def test_an_address_that_hangs_is_given_up():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(MissingDataError, match=r"127\.0\.0\.1"):
            Camera(f"http://127.0.0.1:{silent.getsockname()[1]}/live", patience=0.5)


def test_a_camera_that_falls_silent_is_given_up(tmp_path):
    """It sends some pictures, then nothing, and does not hang up."""
    pictures = jpegs(write_film(tmp_path / "film.mkv", n=6))
    done = threading.Event()

    def serve(listening):
        link, _ = listening.accept()
        with link:
            link.recv(4096)
            head = "HTTP/1.0 200 OK\r\nContent-Type: multipart/x-mixed-replace; boundary=picture"
            link.sendall(f"{head}\r\n\r\n".encode())
            for picture in pictures:
                size = f"Content-Length: {len(picture)}"
                link.sendall(f"--picture\r\nContent-Type: image/jpeg\r\n{size}\r\n\r\n".encode())
                link.sendall(picture + b"\r\n")
                time.sleep(0.05)
            done.wait(60)

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        threading.Thread(target=serve, args=(listening,), daemon=True).start()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/live"
        seen = []
        try:
            with (
                pytest.raises(DataError, match=r"was the camera unplugged\?"),
                Camera(address, patience=3) as camera,
            ):
                seen.extend(camera.pictures())
        finally:
            done.set()
    assert seen


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(16, "Device or resource busy"), r"used by another program .* close it first"),
        (PermissionError(13, "Permission denied"), "add yourself to the group video"),
        (OSError(19, "No such device"), "No such device"),
    ],
)
def test_a_camera_that_cannot_be_opened_says_why(monkeypatch, error, told):
    """What the system answers for a camera that is busy, forbidden, or gone."""

    def refuse(*_args, **_options):
        raise error

    monkeypatch.setattr(av, "open", refuse)
    monkeypatch.setattr(cameras, "_place", lambda *_: ("/dev/video0", "v4l2", {}))
    with pytest.raises(MissingDataError, match=told):
        Camera("camera")


def test_an_address_leads_to_no_file(serve, tmp_path):
    film = write_film(tmp_path / "film.ts")
    (tmp_path / "list.m3u8").write_text(
        f"#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:1,\nfile://{film}\n#EXT-X-ENDLIST\n"
    )
    with (
        pytest.raises((MissingDataError, DataError)),
        Camera(serve(tmp_path / "list.m3u8"), 3) as camera,
    ):
        list(camera.pictures())


def test_missing_cameras_say_which_there_are(tmp_path):
    with pytest.raises(MissingDataError, match="camera:77: no camera /dev/video77; there are: "):
        Camera("camera:77")
    with pytest.raises(ParameterError, match=r"long\.bvh: expected camera"):
        Camera("long.bvh")
    assert not is_camera("udp:9000")


def standing(moment, moved=0.0, number=0, people=1):
    joints = np.zeros((33, 3)) + np.linspace(0, 1, 33)[:, None]
    joints[15:23, 1] += moved  # hands and feet
    person = Person(number, joints, joints[:, :2] * 100, np.ones(33, np.float32))
    return Sight(moment, [person] * people, np.zeros((48, 64, 4), np.uint8))


def test_a_take_by_the_clock():
    taken = timed_take((standing(t / 20) for t in range(1000)), seconds=2.0)
    assert taken[-1].time == 2.0


def test_a_hands_free_take_is_the_movement():
    """Still for two seconds, waving from 2.0 to 3.5 s, still again."""
    moved = [0.2 * np.sin(8 * (t - 2)) if 2 <= t < 3.5 else 0.0 for t in np.arange(0, 8, 0.05)]
    told = []
    taken = hands_free_take((standing(0.05 * i, m) for i, m in enumerate(moved)), 10.0, told.append)
    assert told == ["stand still", "go", "done"]
    assert 1.5 < taken[0].time < 2.1
    assert 3.3 < taken[-1].time < 4.0


def test_a_take_without_a_person_is_refused():
    options = PoseOptions()
    with pytest.raises(DataError, match=r"a person seen in only 0% of the 20 pictures"):
        as_recordings([standing(t / 20, people=0) for t in range(20)], options, "take")
    (found,) = as_recordings([standing(t / 20) for t in range(20)], options, "take")
    assert (found.n_frames, round(found.fps)) == (20, 20)


def test_takes_are_written_with_label_and_subject(serve, tmp_path, capsys):
    videos = Path(os.environ.get("KERNETON_DATA", "")) / "videos"
    from kerneton.video import models

    if not (videos / "help.mkv").exists() or set(PoseOptions().models) - set(models.found_models()):
        pytest.skip("KERNETON_DATA has no videos/help.mkv, or kerneton pose --get was not run")
    (tmp_path / "help.mkv").symlink_to(videos / "help.mkv")
    words = [
        "record",
        str(tmp_path / "mine"),
        "--source",
        serve("help.mkv"),
        "--label",
        "help",
        "--subject",
        "ann",
    ]
    assert main([*words, "--takes", "1", "--seconds", "0.5", "--countdown", "0"]) == 0
    data = kerneton.load_folder(tmp_path / "mine")
    assert (data.labels.tolist(), data.subjects.tolist()) == (["help"], ["ann"])
    assert data[0].layout.name == "mediapipe33"
    capsys.readouterr()
    # The film ends in the second take: the first is kept.
    assert main([*words, "--takes", "500", "--seconds", "0.2", "--countdown", "0"]) == 1
    told = capsys.readouterr().err
    assert "was the camera unplugged?" in told
    assert "takes of 500 are kept in" in told
    assert main([*words[:-3], "../x", "--subject", "ann"]) == 1
    assert "cannot be the name of a folder" in capsys.readouterr().err


def test_the_patience_is_stated():
    assert 5 <= cameras._PATIENCE <= 20


def test_watch_takes_a_camera(serve, tmp_path, capsys):
    """A model of long films, and a camera that shows one of them."""
    videos = Path(os.environ.get("KERNETON_DATA", "")) / "videos"
    from kerneton.video import models

    if not (videos / "help.mkv").exists() or set(PoseOptions().models) - set(models.found_models()):
        pytest.skip("KERNETON_DATA has no videos/help.mkv, or kerneton pose --get was not run")
    recordings = [
        s.replace(label=label, subject=subject)
        for label in ("help", "milk")
        for s in kerneton.read(videos / f"{label}.mkv")
        for subject in ("ann", "bob")
    ]
    long = [
        kerneton.SkeletonSequence(
            np.concatenate([s.joints[:, :25] for s in pair]),
            layout=kerneton.Layout("upper", s.layout.joints[:25]),
            segments=[("help", 5, 45), ("milk", pair[0].n_frames + 5, pair[0].n_frames + 45)],
            fps=30,
            subject=who,
        )
        for who, pair in (("ann", recordings[::2]), ("bob", recordings[1::2]))
        for s in pair[:1]
    ]
    model = kerneton.make_recognizer().fit_spotting(long)
    model.save(tmp_path / "m.kern")
    (tmp_path / "help.mkv").symlink_to(videos / "help.mkv")
    words = ["watch", str(tmp_path / "m.kern"), "--source", serve("help.mkv"), "--lines"]
    assert main(words) == 1  # the camera ends
    told = capsys.readouterr()
    assert '"event": "body"' in told.out
    assert "was the camera unplugged?" in told.err
    assert "joints" not in told.err
