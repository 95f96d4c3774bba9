"""The exported page in Chromium: its demo, its look at two sizes and in two themes, and what it
asks for.
"""

from __future__ import annotations

import contextlib
import functools
import http.server
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from exported import assert_same, body, expected, varied
from runtimes import ASK, node, questions

from kerneton import make_actions, make_recognizer
from kerneton.runtime import export

sync_api = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
ARGUMENTS = (
    *(
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-sync",
        "--no-first-run",
    ),
    *("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"),
)


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A static host that does not print."""

    def log_message(self, *arguments: object) -> None:
        pass


# Out of playwright's world the policy of the page holds: only its own scripts run.
IN_PAGE = """async ([wasm, given]) => {
  const {load} = await import(new URL("kerneton.js", document.baseURI));
  const {ask} = await import(new URL("ask.mjs", document.baseURI));
  return ask(await load("model.knx", {wasm: new URL(wasm, document.baseURI)}), given);
}"""


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a folder, as a static host gives it."""
    host = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))
    )
    threading.Thread(target=host.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{host.server_address[1]}/"
    host.shutdown()
    host.server_close()


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> Iterator[str]:
    node()
    folder: Path = tmp_path_factory.mktemp("page")
    data = make_actions(["wave", "clap", "sit down"], n_subjects=3, n_takes=1)
    model = make_recognizer(view="free", mirror=True, calibrate=True).fit(data, data.labels)
    model.export(folder, to="web", demo=data[:2])
    with served(folder) as here:
        yield here


@pytest.fixture(scope="module")
def browser() -> Iterator[sync_api.Browser]:
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield opened
        opened.close()


@pytest.mark.parametrize(
    ("width", "theme"), [(400, "light"), (400, "dark"), (1500, "light"), (1500, "dark")]
)
def test_the_demo_runs_without_a_fault(browser, address: str, width: int, theme: str) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    page.get_by_role("button", name="Watch the demo").click()
    page.locator("#bars li").first.wait_for(timeout=60_000)
    page.wait_for_timeout(1500)
    assert int(page.locator("body").get_attribute("data-poses")) > 10
    assert "recorded as" in page.inner_text("#now")
    assert page.locator("#bars li").count() == 3
    assert page.locator("main").bounding_box()["width"] <= width
    from axe_playwright_python.sync_playwright import Axe

    found = [
        v for v in Axe().run(page).response["violations"] if v["impact"] in ("serious", "critical")
    ]
    assert not found, found
    page.get_by_role("button", name="Stop").click()
    assert page.get_by_role("button", name="Start the camera").is_visible()
    assert said == []
    assert all(url.startswith((address, "data:", "blob:")) for url in asked), asked
    page.close()


def test_chromium_answers_as_python_does(browser, tmp_path) -> None:
    model, sequences = body()
    export(model, tmp_path, "web")
    (tmp_path / "ask.mjs").write_text(ASK)
    every = varied(sequences)
    with served(tmp_path) as here:
        page = browser.new_page()
        page.goto(here)
        for wasm in ("kerneton.wasm", "kerneton-plain.wasm"):
            said = page.evaluate(IN_PAGE, [wasm, questions([(s.joints, s.fps) for s in every])])
            for found, sequence in zip(said["out"], every, strict=True):
                assert_same(found, expected(model, sequence))
        page.close()


def test_the_page_says_which_joints_it_does_not_see(browser, tmp_path) -> None:
    model, sequences = body()
    joints = sequences[0].joints.copy()
    joints[:, model.layout_.index("left_foot")] = np.nan
    export(model, tmp_path, "web", demo=[sequences[0].replace(joints=joints, confidence=None)])
    with served(tmp_path) as here:
        page = browser.new_page()
        page.goto(here)
        page.get_by_role("button", name="Watch the demo").click()
        page.get_by_text("Step back: left foot not in sight.").wait_for(timeout=60_000)
        assert page.locator("#bars li").count() == 0
        page.close()


def test_a_camera_without_the_pose_package_says_what_is_missing(browser, address: str) -> None:
    page = browser.new_page()
    page.goto(address)
    page.get_by_role("button", name="Start the camera").click()
    page.locator("#trouble").wait_for(timeout=30_000)
    assert "needs the package @mediapipe/pose in the folder pose/" in page.inner_text("#trouble")
    page.close()
