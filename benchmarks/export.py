"""What an exported model costs: bytes, and milliseconds of a prediction in Python, C and node, in
one run.

python benchmarks/export.py
"""

from __future__ import annotations

import ctypes
import functools
import gzip
import http.server
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from runtimes import Answer, Library, Memory, node, questions

from kerneton import make_actions, make_recognizer
from kerneton.datasets.synthetic import ACTIONS
from kerneton.prepare.poses import resample
from kerneton.runtime import export

REPEATS = 200
IN_NODE = """
import {load} from "./kerneton.js";
import {readFileSync} from "node:fs";
const model = await load(new Uint8Array(readFileSync("model.knx")));
const {joints, frames, fps} = JSON.parse(readFileSync("recording.json", "utf8"));
const recording = {joints: Float32Array.from(joints, (x) => x ?? NaN), frames, fps};
const times = [];
for (let k = 0; k < 200; k += 1) {
  const begin = performance.now();
  model.predict(recording);
  times.push(performance.now() - begin);
}
console.log(Math.min(...times));
"""


def main() -> None:
    """Print a table."""
    data = make_actions(list(ACTIONS)[:10], n_subjects=4, n_takes=2)
    model = make_recognizer(calibrate=True, n_jobs=1).fit(data, data.labels)
    recording = data[0].replace(
        joints=resample(data[0].joints, 80).astype(np.float32), confidence=None
    )
    with tempfile.TemporaryDirectory() as name, threadpool_limits(1):
        folder = Path(name)
        sizes = {path.name: path for path in export(model, folder, "web")}
        wasm = sizes["kerneton.wasm"].read_bytes()
        page = sum(
            path.stat().st_size
            for path in sizes.values()
            if path.name not in ("model.knx", "kerneton-plain.wasm")
        )
        print(
            f"model of {len(model.classes_)} labels     {sizes['model.knx'].stat().st_size / 1e6:.2f} MB"
        )
        print(
            f"kerneton.wasm           {len(wasm) / 1e3:.0f} kB, {len(gzip.compress(wasm)) / 1e3:.0f} kB compressed"
        )
        print(f"page without model      {page / 1e3:.0f} kB")
        opened = Library().open(sizes["model.knx"].read_bytes())
        joints = np.ascontiguousarray(recording.joints, np.float32)
        size = opened.library.c.kn_predict_size(opened._model, len(joints))
        room, decisions, answer = Memory(size), np.zeros(len(opened.labels)), Answer()
        given = opened._model, joints.ctypes.data, len(joints), recording.fps, room.at, size
        out = decisions.ctypes.data, None, ctypes.addressof(answer)
        python, features, c = [], [], []
        for _ in range(REPEATS):  # in turns, so that a busy machine is busy for all
            python.append(_seconds(lambda: model.results([recording])))
            features.append(_seconds(lambda: model.features([recording])))
            c.append(_seconds(lambda: opened.library.c.kn_predict(*given, *out)))
        print(
            f"Python, predict         {1e3 * min(python):.2f} ms, of which features {1e3 * min(features):.2f} ms"
        )
        print(
            f"C, kn_predict           {1e3 * min(c):.2f} ms, {min(c) / min(python):.2f} of predict, "
            f"{min(c) / min(features):.2f} of its features"
        )
        (contents,) = questions([(joints, recording.fps)])["recordings"]
        (folder / "recording.json").write_text(json.dumps(contents))
        (folder / "time.mjs").write_text(IN_NODE)
        done = subprocess.run(
            [node(), "time.mjs"], cwd=folder, stdout=subprocess.PIPE, text=True, check=True
        )
        print(f"node, predict           {float(done.stdout):.2f} ms")
        (folder / "recording.json").unlink()
        print(f"page in Chromium        {_page(folder)}")


def _page(folder: Path) -> str:
    """Labels a second of the demo, which plays at 30, and the median time of one."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return "not measured: pip install playwright"
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        return "not measured: Chromium is not installed"
    handler = functools.partial(Quiet, directory=str(folder))
    host = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=host.serve_forever, daemon=True).start()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{host.server_address[1]}/")
        page.get_by_role("button", name="Watch the demo").click()
        page.locator("body[data-milliseconds]").wait_for(timeout=120_000)
        counted = "[Number(document.body.dataset.poses), performance.now() / 1000]"
        first, begin = page.evaluate(counted)
        page.wait_for_timeout(3000)
        last, end = page.evaluate(counted)
        milliseconds = float(page.evaluate("document.body.dataset.milliseconds"))
        browser.close()
    host.shutdown()
    rate = (last - first) / (end - begin)
    return (
        f"{rate:.0f} labels a second of 30 played, {milliseconds:.1f} ms for one with its drawing"
    )


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A static host that does not print."""

    def log_message(self, *arguments: object) -> None:
        pass


def _seconds(work) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
