"""The film beside its skeleton: which one it is, how it is served, and that it follows."""

from __future__ import annotations

import shutil
import urllib.parse
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from browsers import CHROMIUM, WAIT, opened
from studios import TOKEN

from kerneton.studio.library import Library

WAVE = "wave/s1/s01_wave_t1.npz"


def film(path: Path, seconds: float = 3.0) -> None:
    """A film whose pictures grow lighter, at 30 pictures a second."""
    av = pytest.importorskip("av", reason="PyAV is not installed: pip install 'kerneton[video]'")
    with av.open(str(path), "w") as out:
        stream = out.add_stream("libvpx", rate=30)
        stream.width, stream.height, stream.pix_fmt = 96, 64, "yuv420p"
        for k in range(round(30 * seconds)):
            picture = np.full((64, 96, 3), 2 * k, np.uint8)
            out.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        out.mux(stream.encode(None))


def part(server, id: str, **headers: str):
    query = urllib.parse.urlencode({"id": id, "token": TOKEN})
    request = urllib.request.Request(f"{server.address}/api/film?{query}", headers=headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.status, answer.read(), dict(answer.headers)


def test_the_film_of_a_recording_is_the_one_of_its_name(folder):
    for name in ("wave/s1/s01_wave_t1.mp4", "films/s02_wave_t1.webm", "a/s01_clap_t1.mp4"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"not really")
    (folder / "b").mkdir()
    shutil.copy(folder / "a" / "s01_clap_t1.mp4", folder / "b")
    (folder / "wave" / "s3" / "s03_wave_t1.mp4").symlink_to("/etc/passwd")
    library = Library(folder)
    library.scan()
    assert library.film_of(WAVE) == ("wave/s1/s01_wave_t1.mp4", 0)
    assert library.film_of("wave/s2/s02_wave_t1.npz") == ("films/s02_wave_t1.webm", 0)
    assert library.film_of("clap/s1/s01_clap_t1.npz") is None  # two of them: which one?
    assert library.film_of("wave/s3/s03_wave_t1.npz") is None  # a link is not followed
    moved = library.annotate(WAVE, segments=[{"start": 12, "stop": 30, "label": "up"}])
    assert library.film_of(moved[WAVE]) == ("wave/s1/s01_wave_t1.mp4", 0)
    assert library.film_of("up/s1/s01_wave_t1@12-30.npz") == ("wave/s1/s01_wave_t1.mp4", 12)


def test_a_film_is_served_in_parts_and_nothing_else_is(server, folder):
    data = bytes(range(256)) * 40
    (folder / "wave" / "s1" / "s01_wave_t1.mp4").write_bytes(data)
    server.studio.library.scan()
    status, body, headers = part(server, WAVE)
    assert (status, body, headers["content-type"]) == (200, data, "video/mp4")
    status, body, headers = part(server, WAVE, Range="bytes=1000-1999")
    assert (status, body) == (206, data[1000:2000])
    assert headers["content-range"] == f"bytes 1000-1999/{len(data)}"
    (row,) = [r for r in server.get("recordings")["recordings"] if r["id"] == WAVE]
    assert row["film"] == ["wave/s1/s01_wave_t1.mp4", 0]
    for wrong in ("clap/s1/s01_clap_t1.npz", "../x", "wave/s1/s01_wave_t1.mp4x"):
        assert server.ask(f"/api/film?id={wrong}")[0] == 404
    assert server.ask(f"/api/film?id={WAVE}", token=False)[0] == 401
    (folder / "wave" / "s1" / "s01_wave_t1.mp4").unlink()
    (folder / "wave" / "s1" / "s01_wave_t1.mp4").symlink_to("/etc/passwd")
    assert server.ask(f"/api/film?id={WAVE}")[0] == 404


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_the_film_follows_its_skeleton(server, folder):
    driver = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    film(folder / "wave" / "s1" / "s01_wave_t1.webm")
    server.studio.library.scan()
    with driver.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = opened(
            browser.new_context(reduced_motion="reduce"),
            server,
            f"label/{WAVE.replace('/', '%2F')}",
        )
        page.set_default_timeout(WAIT)
        video = page.locator(".film video")
        video.wait_for()
        page.locator(".label-key").first.wait_for()
        page.keyboard.press("Home")
        for _ in range(3):
            page.keyboard.press("Shift+ArrowRight")
        page.locator(".clock", has_text="31/").wait_for()

        def time() -> float:
            return video.evaluate("v => v.seeking || v.readyState < 2 ? -1 : v.currentTime")

        for _ in range(600):
            if (at := time()) >= 0:
                break
            page.wait_for_timeout(50)
        assert at == pytest.approx(30.5 / 30, abs=0.02)
        page.keyboard.press("Space")
        page.wait_for_timeout(400)
        page.keyboard.press("Space")
        assert time() > 31 / 30 or time() < 0
        box, body = video.bounding_box(), page.locator(".film-beside canvas").bounding_box()
        assert box["x"] + box["width"] <= body["x"]
        browser.close()
