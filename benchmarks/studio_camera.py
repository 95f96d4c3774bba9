"""The camera of the studio: ``python benchmarks/studio_camera.py FILM``

Chromium's fake camera shows a film at 640 × 480 in the page, whose pictures go to the command
``kerneton studio``. Poses a second, and milliseconds from a picture to its joints in the page. All
programs share the processor, whose load is printed: run it on an idle machine.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import imageio_ffmpeg
from playwright.sync_api import sync_playwright
from studio import start

WATCH = """async seconds => {
    const {Camera} = await import("/pose.js"), wait = s => new Promise(ok => setTimeout(ok, 1000 * s));
    let n = 0, delays = [];
    const camera = new Camera(seen => { n++; if (seen) delays.push(performance.now() - seen.at); });
    await camera.open();
    await wait(3);
    n = 0; delays = [];
    await wait(seconds);
    camera.close();
    delays.sort((a, b) => a - b);
    return [n / seconds, ...[0.5, 0.95].map(share => delays[Math.floor(share * delays.length)])];
}"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("film", metavar="FILM", type=Path)
    parser.add_argument("--seconds", type=float, default=10)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as place, sync_playwright() as driver:
        shown = Path(place, "camera.mjpeg")
        encoder = [imageio_ffmpeg.get_ffmpeg_exe(), "-loglevel", "error", "-i", str(args.film)]
        scaled = ["-vf", "scale=640:480", "-q:v", "3", str(shown)]
        subprocess.run([*encoder, *scaled], check=True)
        process, url = start(Path(place, "studio"))
        options = [
            *("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"),
            *("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"),
            f"--use-file-for-fake-video-capture={shown}",
        ]
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=options)
        try:
            page = browser.new_page()
            page.set_default_timeout(300_000)
            page.goto(url)
            page.wait_for_selector("body[data-ready]")
            rate, median, most = page.evaluate(WATCH, args.seconds)
            print(f"{rate:.1f} poses a second; to the joints {median:.0f} ms, 95 % {most:.0f} ms")
            print("load", *(f"{value:.1f}" for value in os.getloadavg()))
        finally:
            browser.close()
            process.terminate()
            process.wait(20)


if __name__ == "__main__":
    main()
