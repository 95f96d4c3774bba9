"""The running training, if any: started, followed and stopped by the server."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kerneton.exceptions import ParameterError
from kerneton.studio import folders
from kerneton.studio.worker import end_process


class Training:
    """At most one training at a time, in a process of low priority."""

    def __init__(self, root: Path, *, on_model: Callable[[bool], None] = lambda _: None) -> None:
        self.root = root
        self.on_model = on_model  # called with True for a new model, with False when the training is complete
        self._lock = threading.Lock()
        self._spare: subprocess.Popen[str] | None = None
        self._process: subprocess.Popen[str] | None = None
        self._eager = False
        self.state: dict[str, Any] = {"running": False}

    def prepare(self) -> None:
        """Start and warm up the process of the next training; from now on also after each training."""
        with self._lock:
            self._eager = True
            if self._spare is None or self._spare.poll() is not None:
                self._spare = self._spawn("--warm")

    def start(self) -> dict[str, Any]:
        """Begin a training; an error if one is running."""
        with self._lock:
            if self.state["running"]:
                raise ParameterError("training is already running; stop it first")
            process, self._spare = self._spare or self._spawn(), None
            assert process.stdin is not None
            name = time.strftime("%Y-%m-%d_%H%M%S")
            self._process = process
            self.state = {"running": True, "share": 0.0, "stage": "start", "name": name}
            self.state["started"] = time.time()
            process.stdin.write(json.dumps({"folder": str(self.root), "name": name}) + "\n")
            process.stdin.close()
        threading.Thread(target=self._watch, args=(process, name), daemon=True).start()
        return self.state

    def stop(self) -> dict[str, Any]:
        """Stop the running training; nothing of it is kept."""
        with self._lock:
            process = self._process
            if process is not None and self.state["running"]:
                self.state = {**self.state, "stopped": True}
                process.kill()
        return self.state

    def close(self) -> None:
        """End every process that was started here."""
        self._eager = False
        for process in (self._spare, self._process):
            if process is not None:
                end_process(process)

    def _spawn(self, *options: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "kerneton.studio.trainer", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )

    def _watch(self, process: subprocess.Popen[str], name: str) -> None:
        done, error = None, None
        assert process.stdout is not None
        for line in process.stdout:
            news = json.loads(line)
            done, error = news.get("model", news.get("done", done)), news.get("error", error)
            if "model" in news:  # can be used while the spotter is trained
                self.state = {**self.state, "done": done}
                self.on_model(True)
            if "share" in news:
                self.state = {**self.state, "share": news["share"], "stage": news["stage"]}
        process.wait()
        process.stdout.close()
        if done is None:
            shutil.rmtree(self.root / folders.MODELS / name, ignore_errors=True)
            if error is None and not self.state.get("stopped"):
                error = f"the training ended without a result (exit status {process.returncode})"
        self.state = {**self.state, "running": False, "done": done, "error": error}
        if done is not None:
            self.on_model(False)
        if self._eager:
            self.prepare()
