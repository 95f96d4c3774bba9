"""The running training, if any: started, followed and stopped by the server."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from kerneton.exceptions import KernetonError, ParameterError
from kerneton.studio import folders
from kerneton.studio.child import end_process
from kerneton.studio.library import Library


class Training:
    """At most one training at a time, in a process of low priority."""

    def __init__(
        self, library: Library, *, on_model: Callable[[bool], None] = lambda _: None
    ) -> None:
        self.library = library
        # called with True for a new model, with False when the training is complete
        self.on_model = on_model
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self.state: dict[str, Any] = {"running": False}

    def start(self) -> dict[str, Any]:
        """Begin a training; an error if one is running."""
        with self._lock:
            if self.state["running"]:
                raise ParameterError("training is already running; stop it first")
            self.library.check_ours()
            name = time.strftime("%Y-%m-%d_%H%M%S")
            wanted = folders.free_path(f"{folders.MODELS}/{name}", self.library.place.is_taken)
            # made here, so that no link can stand in its place
            name = self.library.place.folder(wanted).name
            job = json.dumps({"folder": str(self.library.root), "name": name}) + "\n"
            process = self._process = self._spawn(job)
            self.state = {"running": True, "share": 0.0, "stage": "start", "name": name}
            self.state["started"] = time.time()
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
        if self._process is not None:
            end_process(self._process)

    def _spawn(self, job: str) -> subprocess.Popen[str]:
        """A process that does a job."""
        process = subprocess.Popen(
            [sys.executable, "-m", "kerneton.studio.trainer"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )
        assert process.stdin is not None
        # it has ended already, which is told when it is followed
        with contextlib.suppress(OSError):
            process.stdin.write(job)
            process.stdin.close()
        return process

    def _watch(self, process: subprocess.Popen[str], name: str) -> None:
        done: str | None = None
        error: str | None = None
        try:
            done, error = self._follow(process)
            process.wait()
        except Exception as problem:  # whatever it was, the page must not wait for ever
            error = f"the training could not be followed: {type(problem).__name__}: {problem}"
        end_process(process)
        if done is None:
            with contextlib.suppress(KernetonError, OSError):
                self.library.place.remove_folder(f"{folders.MODELS}/{name}")
            if error is None and not self.state.get("stopped"):
                error = _ended(process.returncode)
        self.state = {**self.state, "running": False, "done": done, "error": error}
        if done is not None:
            with contextlib.suppress(Exception):
                self.on_model(False)

    def _follow(self, process: subprocess.Popen[str]) -> tuple[str | None, str | None]:
        """Pass on what the process says until it ends; the model's name and the error, if any."""
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
        return done, error


def _ended(status: int) -> str:
    """Why a process ended without a result, and what to do."""
    if status == -9:
        return "the training was killed, most likely because memory ran out; close other programs, or train on fewer recordings"
    return f"the training ended without a result (exit status {status}); train again"
