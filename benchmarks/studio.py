"""Speed of the studio: from clips to a live label, responses during a training, frames per second
of the list.

    python benchmarks/studio.py [--recordings 2000] [--only first]

It starts the command on generated actions and drives Chromium through Playwright. Times are wall
times, so run it on an idle machine; ``cpu_seconds`` is the processor time of the server's processes
from pressing Train until everything is learned.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, sync_playwright

from kerneton import SkeletonSequence, make_actions, write

SCROLL = """async () => {
    const grid = document.querySelector('.grid'), times = [];
    for (let i = 0; i < 240; i++) {
        grid.scrollTop += 400;
        times.push(await new Promise(requestAnimationFrame));
    }
    return times;
}"""


def start(folder: Path) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-m", "kerneton", "studio", str(folder), "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    found = re.search(r"http://\S+", process.stdout.readline())
    return process, found[0]


def cpu_seconds(pid: int) -> float:
    """Computing time of a process, of those it started, and of those of them that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    threads = [t for t in Path(f"/proc/{pid}/task").iterdir() if t.name != str(pid)]
    children += [c for t in threads for c in (t / "children").read_text().split()]
    return own + sum(cpu_seconds(int(child)) for child in children)


def noted(url: str, id: str, n: int) -> float:
    """Seconds until the server has answered to a change."""
    base, token = url.split("/?token=")
    headers = {"X-Kerneton-Token": token, "Content-Type": "application/json"}
    body = json.dumps({"id": id, "note": str(n)}).encode()
    asked = time.perf_counter()
    urllib.request.urlopen(urllib.request.Request(f"{base}/api/annotate", body, headers)).read()
    return time.perf_counter() - asked


def clips_to_live(page: Page, url: str, pid: int) -> dict[str, float]:
    """Seconds from pressing Train to the first live label, and of answers to a click meanwhile."""
    base = url.split("/?token=")[0]
    page.goto(url)
    page.get_by_role("button", name="Only the clips").click()
    page.wait_for_selector(".card")
    # the processes that train and recognise get ready, as they do while people collect
    time.sleep(20)
    page.goto(f"{base}/#/train")
    computed = cpu_seconds(pid)
    begin = time.perf_counter()
    page.get_by_role("button", name="Train", exact=True).click()
    answers = []
    while not page.locator(".hero").count():
        answers.append(noted(url, "wave/ann/wave-ann.npz", len(answers)))
        page.wait_for_timeout(50)
    trained = time.perf_counter()
    page.locator("button.large:not(:disabled)").wait_for()
    learnt, computed = time.perf_counter(), cpu_seconds(pid) - computed
    page.get_by_role("link", name="See it live").click()
    page.get_by_role("button", name="Start").click()
    page.locator(".live-now .bars li").first.wait_for()
    shown = time.perf_counter()
    page.wait_for_timeout(8000)  # the meter shows the last 150 frames
    meter = page.locator("[data-k=delay]")
    return {
        "train_seconds": trained - begin,
        "all_learnt_seconds": learnt - begin,
        "label_seconds": trained - begin + shown - learnt,
        "cpu_seconds": computed,
        "answer_ms_median": 1000 * statistics.median(answers),
        "answer_ms_95": 1000 * float(np.quantile(answers, 0.95)),
        "answer_ms_largest": 1000 * max(answers),
        "live_delay_ms_median": float(meter.inner_text().removesuffix(" ms")),
        "live_delay_ms_95": float(re.findall(r"\d+", str(meter.get_attribute("title")))[-1]),
    }


def dropped_to_live(page: Page, url: str, pid: int, clips: Path) -> dict[str, float]:
    """Seconds and clicks from an empty folder to a live label, with sixty tables in a folder."""
    for s in make_actions(["wave", "clap", "kick", "bow"], n_subjects=5, n_takes=3):
        write([s], clips / str(s.label) / f"p{s.subject}" / f"{s.name}.csv")
    page.goto(url)
    page.evaluate(
        "addEventListener('click', e => { if (e.isTrusted) "
        "globalThis.clicks = (globalThis.clicks ?? 0) + 1; }, true)"
    )
    computed, begin = cpu_seconds(pid), time.perf_counter()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Add folder").first.click()
    chooser.value.set_files(clips)
    page.get_by_text("60 recordings · 4 labels").wait_for()
    added = time.perf_counter()
    page.get_by_role("link", name="Train").click()
    page.get_by_role("button", name="Train", exact=True).click()
    page.locator(".hero").wait_for()
    page.get_by_role("link", name="See it live").click()
    page.get_by_role("button", name="Start").click()
    page.locator(".live-now .bars li").first.wait_for()
    return {
        "sixty_csv_added_seconds": added - begin,
        "sixty_csv_to_live_seconds": time.perf_counter() - begin,
        "sixty_csv_to_live_cpu_seconds": cpu_seconds(pid) - computed,
        "sixty_csv_to_live_clicks": page.evaluate("globalThis.clicks"),
    }


def tour(page: Page, url: str) -> dict[str, float]:
    """Seconds of the tour, from its first click to a live label, for somebody who reads nothing."""
    page.goto(url)
    begin = time.perf_counter()
    page.get_by_role("button", name="Take the tour").last.click()
    card = page.get_by_role("dialog", name="Tour")
    for name in ("Next", "Next", "Train", "Next"):
        card.get_by_role("button", name=name, exact=True).click()
    page.locator(".live-now .bars li").first.wait_for()
    return {"tour_seconds": time.perf_counter() - begin}


def list_of(page: Page, url: str, n: int) -> dict[str, float]:
    """Frames a second while a long list scrolls."""
    page.goto(url)
    page.get_by_text(f"{n:,} recordings").wait_for(timeout=120_000)
    page.evaluate(SCROLL)
    client = page.context.new_cdp_session(page)

    def heap() -> float:
        client.send("HeapProfiler.collectGarbage")
        return client.send("Runtime.getHeapUsage")["usedSize"] / 2**20

    before = heap()
    times = np.diff(page.evaluate(SCROLL))
    answers = [noted(url, "label 0/p0/00000.npz", i) for i in range(30)]
    return {
        "change_in_list_ms_median": 1000 * statistics.median(answers),
        "change_in_list_ms_largest": 1000 * max(answers),
        "heap_mib_before": before,
        "heap_mib_after": heap(),
        "scroll_fps_median": 1000 / float(np.median(times)),
        "scroll_fps_low": 1000 / float(np.quantile(times, 0.95)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recordings", type=int, default=2000)
    parser.add_argument(
        "--only", choices=["first", "rest"], help="the first minutes from an empty folder, or not"
    )
    args = parser.parse_args()
    n = args.recordings
    results: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as work, sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.set_default_timeout(180_000)
        if args.only != "rest":
            process, url = start(Path(work) / "empty")
            results |= dropped_to_live(page, url, process.pid, Path(work) / "tables")
            process.terminate()
            process.wait()
            process, url = start(Path(work) / "new")
            results |= tour(page, url)
            process.terminate()
            process.wait()
        if args.only == "first":
            print(json.dumps({key: round(value, 2) for key, value in results.items()}, indent=2))
            return
        process, url = start(Path(work) / "clips")
        results |= clips_to_live(page, url, process.pid)
        process.terminate()
        process.wait()
        layout = make_actions(["wave"], n_subjects=1, n_takes=1)[0].layout
        rng = np.random.default_rng(0)
        for i in range(n):
            one = SkeletonSequence(
                rng.normal(size=(30, 20, 3)).astype(np.float32), layout=layout, fps=30
            )
            write([one], Path(work) / "many" / f"label {i % 20}" / f"p{i % 7}" / f"{i:05d}.npz")
        process, url = start(Path(work) / "many")
        results |= list_of(page, url, n)
        process.terminate()
        process.wait()
        browser.close()
    print(json.dumps({key: round(value, 2) for key, value in results.items()}, indent=2))


if __name__ == "__main__":
    main()
