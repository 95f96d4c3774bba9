"""Films and the camera become joints, with the networks that ``kerneton pose --get`` fetches."""

from __future__ import annotations

import io
import json
import struct
import subprocess
import urllib.parse

import numpy as np
import pytest
from browsers import CHROMIUM, WAIT, opened
from films_made import VIDEOS, part_of
from studios import TOKEN, running
from websockets.sync.client import connect

import kerneton
from kerneton.studio.library import Library
from kerneton.studio.posing import commands_to_get
from kerneton.studio.server import Studio
from kerneton.video import models
from kerneton.video.estimator import PoseEstimator, PoseOptions
from kerneton.video.films import Film

av = pytest.importorskip("av", reason="PyAV is not installed: pip install 'kerneton[video]'")
if commands_to_get():
    pytest.skip(f"for poses: {'; '.join(commands_to_get())}", allow_module_level=True)
if not (VIDEOS / "help.mkv").exists():
    pytest.skip("KERNETON_DATA has no videos/help.mkv", allow_module_level=True)


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory):
    """Poses are kept in a folder of the tests, beside a link to the networks."""
    folder = tmp_path_factory.mktemp("cache")
    (folder / "pose-models").symlink_to(models.models_folder())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNETON_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="module")
def studio(tmp_path_factory, own_cache):
    with running(Studio(tmp_path_factory.mktemp("camera") / "studio", eager=False)) as found:
        yield found


def jpeg(pixels) -> bytes:
    target = io.BytesIO()
    with av.open(target, "w", format="mjpeg") as out:
        stream = out.add_stream("mjpeg", rate=30)
        stream.height, stream.width = pixels.shape[:2]
        stream.pix_fmt = "yuvj420p"
        frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels[..., :3]), format="rgb24")
        out.mux(stream.encode(frame.reformat(format="yuvj420p")))
        out.mux(stream.encode(None))
    return target.getvalue()


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    film = part_of(VIDEOS / "help.mkv", tmp_path_factory.mktemp("film") / "help.mp4", 20, 26)
    with Film(film) as found:
        return [jpeg(pixels) for pixels, _ in found.pictures()]


def test_pictures_become_the_joints_of_the_estimator(studio, pictures):
    estimator = PoseEstimator(PoseOptions(pose_model="lite"))
    with connect(f"ws://127.0.0.1:{studio.port}/api/camera?token={TOKEN}") as page:
        page.send('{"pose_model": "lite"}')
        assert json.loads(page.recv(timeout=60)) == {"ready": True}
        for t, picture in enumerate(pictures):
            page.send(struct.pack("<d", t / 30) + picture)
            told = json.loads(page.recv(timeout=60))
            (person,) = estimator.push(picture, t / 30)
            assert told["time"] == t / 30
            rows = np.array(told["joints"], float)
            assert np.allclose(rows[:, :3], person.joints, atol=1e-4, equal_nan=True)
            assert (np.isnan(rows[:, 0]) == (rows[:, 3] == 0)).all()
        # nobody is in a grey picture
        page.send(struct.pack("<d", 9.0) + jpeg(np.full((48, 64, 3), 128, np.uint8)))
        assert json.loads(page.recv(timeout=60)) == {"time": 9.0, "joints": None}
    assert not list(studio.folder.rglob("*.jpg"))


def test_bad_pictures_are_errors_and_the_next_one_is_answered(studio, pictures):
    good = struct.pack("<d", 1.0) + pictures[0]
    with connect(f"ws://127.0.0.1:{studio.port}/api/camera?token={TOKEN}") as page:
        for message, told in (
            (b"", "a time of eight bytes"),
            (bytes(8), "a time of eight bytes"),
            (struct.pack("<d", 0.0) + b"\xff\xd8\xff" + bytes(99), "cannot be decoded"),
            (struct.pack("<d", float("nan")) + pictures[0], "times of pictures must grow"),
            ("x", "expected"),
            ("[]", "expected"),
            ('{"pose_model": "big"}', "pose_model must be one of"),
        ):
            page.send(message)
            assert told in json.loads(page.recv(timeout=60))["error"]
        page.send(good)
        assert json.loads(page.recv(timeout=60))["joints"] is not None
        page.send(good)
        assert "must grow" in json.loads(page.recv(timeout=60))["error"]


def test_a_dropped_film_becomes_joints_and_is_removed(studio, tmp_path, own_cache):
    for label, start in (("help", 20), ("wait", 24)):
        film = part_of(VIDEOS / "help.mkv", tmp_path / f"{label}.mp4", start, start + 12)
        path = urllib.parse.quote(f"{label}/ann/1.mp4")
        status, *_ = studio.ask(
            f"/api/uploads/films0001?path={path}", film.read_bytes(), method="PUT"
        )
        assert status == 200
    path = urllib.parse.quote("help/ann/bad.mp4")
    studio.ask(f"/api/uploads/films0001?path={path}", b"no film at all", method="PUT")
    told = studio.post("uploads/commit", batch="films0001")
    assert sorted(told["added"]) == ["help/ann/1.npz", "wait/ann/1.npz"]
    assert len(told["broken"]) == 1
    assert "help/ann/bad.mp4" in told["broken"][0]
    assert not [path for path in studio.folder.rglob("*.mp4") if "trash" not in path.parts]
    one, other = (kerneton.read(studio.folder / p)[0] for p in sorted(told["added"]))
    (direct,) = kerneton.read(tmp_path / "help.mp4")
    assert np.array_equal(one.joints, direct.joints, equal_nan=True)
    assert not np.array_equal(one.joints, other.joints, equal_nan=True)
    assert list((own_cache / "poses").iterdir())


def test_films_in_the_folder_are_listed(tmp_path):
    film = tmp_path / "films" / "help" / "ann" / "1.mp4"
    film.parent.mkdir(parents=True)
    part_of(VIDEOS / "help.mkv", film, 20, 30)
    asked = []
    library = Library(tmp_path / "films", estimate=asked.extend)
    library.scan()
    library.scan()
    assert asked == [film]  # once, since it has not changed
    assert [r.info.layout for r in library.records.values()] == ["mediapipe33"]


if CHROMIUM is not None:
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")


@pytest.fixture(scope="module")
def page(tmp_path_factory, studio):
    """A page whose camera shows a person who signs, over and over."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    encoder = pytest.importorskip("imageio_ffmpeg", reason="imageio-ffmpeg is not installed")
    film = tmp_path_factory.mktemp("film") / "camera.mjpeg"
    command = [encoder.get_ffmpeg_exe(), "-loglevel", "error", "-i", str(VIDEOS / "help.mkv")]
    subprocess.run([*command, "-vf", "scale=320:240", str(film)], check=True)
    arguments = [
        *("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"),
        *("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"),
        f"--use-file-for-fake-video-capture={film}",
    ]
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=arguments)
        found = browser.new_context()
        found.set_default_timeout(WAIT)
        yield opened(found, studio)
        browser.close()


def test_the_camera_makes_recordings(page, studio):
    page.get_by_role("button", name="Record").first.click()
    dialog = page.get_by_role("dialog")
    assert "nowhere else" in dialog.inner_text()
    dialog.locator("input[name=record-label]").fill("sign")
    dialog.locator("input[name=record-subject]").fill("ann")
    for name, value in (("Seconds", "2"), ("Takes", "1"), ("Countdown", "0")):
        dialog.get_by_label(name).fill(value)
    go = dialog.locator("button.primary:not(:disabled)")
    go.wait_for()
    go.click()
    dialog.get_by_text("All takes are kept").wait_for()
    page.locator(".card", has_text="sign").wait_for(state="attached")
    (found,) = [s for s in kerneton.load_folder(studio.folder) if s.label == "sign"]
    assert found.subject == "ann"
    assert (studio.folder / "sign" / "ann").is_dir()
    at = found.layout.index
    up = found.joints[:, at("nose"), 1] - found.joints[:, at("left_hip"), 1]
    assert (up > 0.2).mean() > 0.9  # people stand upright
    # faces the camera, x points to the left
    assert np.nanmedian(found.joints[:, at("left_shoulder"), 0]) < 0
    dialog.get_by_role("button", name="Close").click()


def test_the_camera_is_chosen_and_its_picture_stands_beside_the_body(page, studio):
    """Two cameras, of which the browser makes up the pictures."""
    arguments = ["--no-sandbox", "--use-fake-ui-for-media-stream"]
    arguments.append("--use-fake-device-for-media-stream=device-count=2")
    driver = page.context.browser.browser_type
    browser = driver.launch(executable_path=CHROMIUM, args=arguments)
    page = opened(browser.new_context(), studio, "live")
    page.set_default_timeout(WAIT)
    page.get_by_text("Camera", exact=True).click()
    page.get_by_role("button", name="Start").click()
    choice = page.locator(".live-setup").get_by_label("Camera")
    choice.wait_for()
    assert choice.locator("option").count() == 2
    assert page.locator(".live-picture video").is_visible()
    body, picture = (page.locator(s).bounding_box() for s in (".live-stage canvas", "video"))
    assert body["x"] + body["width"] <= picture["x"]  # beside it, not over it
    second = choice.locator("option").nth(1).get_attribute("value")
    choice.select_option(second)
    page.locator(".live-picture video").wait_for()
    told = page.locator(".live-picture video").evaluate(
        "video => video.srcObject.getVideoTracks()[0].getSettings().deviceId"
    )
    assert told == second
    page.get_by_role("button", name="Stop").click()
    page.locator(".live-picture").wait_for(state="hidden")
    browser.close()
