"""Videos and the camera become joints, with the pose package: ``kerneton studio --get-pose``
fetches it.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from browsers import CHROMIUM, WAIT, opened
from studios import running

import kerneton
from kerneton.studio import pose
from kerneton.studio.server import Studio

if CHROMIUM is None:
    pytest.skip("Chromium is not installed", allow_module_level=True)
playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
if pose.pose_folder() is None:
    pytest.skip(
        "the pose package was not fetched: kerneton studio --get-pose", allow_module_level=True
    )
VIDEO = Path(os.environ.get("KERNETON_DATA", "")) / "videos" / "help.mkv"
if not VIDEO.exists():
    pytest.skip("KERNETON_DATA has no videos/help.mkv", allow_module_level=True)
FFMPEG = pytest.importorskip(
    "imageio_ffmpeg", reason="imageio-ffmpeg is not installed"
).get_ffmpeg_exe()


def cut(target: Path, filters: str) -> Path:
    """The video made small for software rendering, and short."""
    subprocess.run(
        [FFMPEG, "-loglevel", "error", "-i", str(VIDEO), "-vf", filters, str(target)], check=True
    )
    return target


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    with running(Studio(tmp_path_factory.mktemp("camera") / "studio", eager=False)) as found:
        yield found


@pytest.fixture(scope="module")
def page(tmp_path_factory, studio):
    """A page whose camera shows a person who signs, over and over; it reads the estimator once."""
    film = cut(tmp_path_factory.mktemp("film") / "camera.mjpeg", "scale=320:240")
    arguments = [
        *("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"),
        *("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"),
        f"--use-file-for-fake-video-capture={film}",
    ]
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=arguments)
        found = browser.new_context()
        found.set_default_timeout(5 * WAIT)
        found.add_init_script("localStorage.setItem('kerneton-pose', 'lite')")
        yield opened(found, studio)
        browser.close()


def test_a_video_becomes_joints(page, studio, tmp_path):
    video = cut(tmp_path / "help.mp4", "scale=320:240,trim=duration=0.5")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Add files").first.click()
    chooser.value.set_files(video)
    page.wait_for_selector(".card")
    (found,) = kerneton.read(studio.folder / "__studio__" / "unlabelled" / "help.npz")
    assert found.layout.name == "mediapipe33"
    assert found.n_frames >= 6
    up = (
        found.joints[:, found.layout.index("nose"), 1]
        - found.joints[:, found.layout.index("left_hip"), 1]
    )
    assert (up > 0.2).mean() > 0.9  # people stand upright


def test_the_camera_makes_recordings(page, studio):
    page.get_by_role("button", name="Record").first.click()
    dialog = page.get_by_role("dialog")
    dialog.locator("input[name=record-label]").fill("sign")
    dialog.locator("input[name=record-subject]").fill("ann")
    for name, value in (("Seconds", "4"), ("Takes", "1"), ("Countdown", "0")):
        dialog.get_by_label(name).fill(value)
    go = dialog.locator("button.primary:not(:disabled)")
    go.wait_for()
    go.click()
    dialog.get_by_text("All takes are kept").wait_for()
    page.locator(".card", has_text="sign").wait_for(state="attached")
    data = kerneton.load_folder(studio.folder)
    assert data.labels.tolist() == ["sign"]
    assert data.subjects.tolist() == ["ann"]
    assert (studio.folder / "sign" / "ann").is_dir()
