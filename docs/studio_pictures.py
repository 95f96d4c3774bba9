"""Pictures of the studio, of generated actions: ``python docs/studio_pictures.py FOLDER [--all]``
(needs Chromium).

Without ``--all`` the pictures of the pages, light and wide; with it every view, light and dark,
wide and on a phone.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

WIDTHS = {"wide": (1280, 800), "phone": (400, 860)}
VIEWS = ("collect", "label", "train", "live", "share")


def train(page: Page, base: str) -> None:
    """A model of the generated clips, and what finds segments."""
    page.goto(f"{base}/#/train")
    page.get_by_role("button", name="Train", exact=True).click()
    page.locator(".hero").wait_for()
    page.locator("button.large:not(:disabled)").wait_for()  # all is learned


def show(page: Page, base: str, view: str) -> None:
    """Bring a view into the state that is worth a picture."""
    page.goto(f"{base}/#/{view}")
    page.wait_for_timeout(700)
    if view == "label":
        only = page.get_by_role("checkbox", name="Only unlabelled")
        if only.is_checked():
            only.uncheck()
        page.locator(".queue-item", has_text="long-take").first.click()
        page.get_by_role("button", name="Find segments").click()
        if page.locator(".segment:not(.offered)").count() == 0:
            page.get_by_role("button", name="Accept all").click()
        page.locator(".segment:not(.offered)").nth(4).wait_for()
        page.keyboard.press("Home")
        for _ in range(6):
            page.keyboard.press("Shift+ArrowRight")
        page.wait_for_timeout(400)
    if view == "live":
        page.locator(".live-setup select").select_option(index=0)
        page.get_by_role("button", name="Start").click()
        page.locator(".live-now .bars li").first.wait_for()  # the process that recognises is ready
        stop = page.get_by_role("button", name="Stop")
        if stop.count():
            stop.click()
        page.get_by_role("button", name="Start").click()
        page.locator(".tally").nth(1).wait_for()
        page.wait_for_timeout(300)


def main() -> None:
    """Start the command, walk through the page, and take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument(
        "--data", type=Path, help="a studio's folder with the generated actions and a model"
    )
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work, sync_playwright() as driver:
        home = arguments.data or Path(work) / "moves"
        command = [sys.executable, "-m", "kerneton", "studio", str(home), "--no-browser"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            found = re.search(r"(http://\S+)/\?token=\S+", process.stdout.readline())
            browser = driver.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox"]
            )
            for theme in ("light", "dark") if arguments.all else ("light",):
                for size in WIDTHS if arguments.all else ("wide",):
                    width, height = WIDTHS[size]
                    page = browser.new_page(
                        viewport={"width": width, "height": height}, color_scheme=theme
                    )
                    page.set_default_timeout(240_000)
                    page.goto(found[0])
                    page.wait_for_selector("body[data-ready]")
                    if page.get_by_role("button", name="Only the clips").count():
                        page.screenshot(path=arguments.folder / f"welcome-{theme}-{size}.png")
                        page.get_by_role("button", name="Only the clips").click()
                        page.wait_for_selector(".card")
                        train(page, found[1])
                    for view in VIEWS if arguments.all else ("label", "train", "live"):
                        # the comparison of models is at its end
                        tall = view == "train" and size == "wide"
                        page.set_viewport_size({"width": width, "height": 1120 if tall else height})
                        show(page, found[1], view)
                        name = f"{view}-{theme}-{size}" if arguments.all else view
                        page.screenshot(path=arguments.folder / f"{name}.png")
                    page.close()
            browser.close()
        finally:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    main()
