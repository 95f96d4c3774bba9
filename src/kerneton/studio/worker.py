"""The process that runs the recogniser for live labels, suggestions and explanations, separate from
the server.

Computing holds Python's lock: a server that computes would respond late. The two exchange pickles
over pipes that no other program can reach.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import subprocess
import sys
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any

from kerneton import exceptions
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import KernetonError, MissingDataError
from kerneton.studio import recognizing
from kerneton.studio.live import Watcher

_WATCHERS = 16  # streams that are kept at once
Answers = list[dict[str, Any]]


class Worker:
    """Runs the model of a file on recordings; one request at a time, from any thread.

    >>> worker = Worker()
    >>> try:
    ...     worker.answers(Path("none.kern"), [])
    ... except KernetonError as error:
    ...     print(error)
    none.kern: no such file
    >>> worker.close()
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    def answers(self, model: Path, sequences: list[SkeletonSequence]) -> Answers:
        """See `kerneton.studio.recognizing.answers`."""
        return self._ask("answers", model, sequences)

    def contributions(
        self, model: Path, sequence: SkeletonSequence, label: str
    ) -> dict[str, float]:
        """See `kerneton.studio.recognizing.contributions`."""
        return self._ask("contributions", model, sequence, label)

    def reasons(self, model: Path, sequence: SkeletonSequence, label: str) -> dict[str, Any]:
        """See `kerneton.studio.recognizing.reasons`."""
        return self._ask("reasons", model, sequence, label)

    def segments(self, model: Path, sequence: SkeletonSequence) -> Answers:
        """See `kerneton.studio.recognizing.segments`."""
        return self._ask("segments", model, sequence)

    def page(self, model: Path, path: Path, pose: Path | None) -> None:
        """See `kerneton.studio.recognizing.page`."""
        self._ask("page", model, path, pose)

    def watch(
        self, model: Path, who: str, frames: Any, layout: Any, why: bool, doubt: float
    ) -> dict[str, Any]:
        """See `kerneton.studio.live.Watcher.answer`; ``who`` names one of several streams."""
        return self._ask("watch", model, who, frames, layout, why, doubt)

    def close(self) -> None:
        """End the process."""
        self._closed = True
        process = self._process
        if process is not None:
            process.kill()  # ends a request that is waiting, and with it the lock
            with self._lock:
                end_process(process)

    def _ask(self, what: str, *values: Any) -> Any:
        with self._lock:
            if self._closed:
                raise KernetonError("the studio has ended")
            if self._process is None or self._process.poll() is not None:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "kerneton.studio.worker"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
                )
            pipe_in, pipe_out = self._process.stdin, self._process.stdout
            assert pipe_in is not None
            assert pipe_out is not None
            try:
                pickle.dump((what, values), pipe_in)
                pipe_in.flush()
                result, error = pickle.load(pipe_out)
            except (OSError, EOFError) as broken:
                raise KernetonError("the recogniser's process has ended; try again") from broken
        if error is not None:
            kind, text = error
            raise getattr(exceptions, kind, KernetonError)(text)
        return result


def end_process(process: subprocess.Popen[Any]) -> None:
    """Kill a process if it still runs, and close its pipes."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


class _State:
    """State of the process: the last model with its figures, and the streams that it watches."""

    def __init__(self) -> None:
        self.key: Any = None
        self.model: Any = None
        self.figures: dict[str, Any] = {}
        self.watchers: OrderedDict[str, Watcher] = OrderedDict()

    def run(self, what: str, path: Path, *values: Any) -> Any:
        """Carry out one request."""
        self._load(path)
        if what == "watch":
            return self._watch(*values)
        if what == "segments":
            if self.model.spotter_ is None:
                raise MissingDataError(
                    "this model cannot find segments yet: train again, and let it finish"
                )
            return recognizing.segments(self.model, values[0], self.figures.get("fps"))
        return getattr(recognizing, what)(self.model, *values)

    def _load(self, path: Path) -> None:
        from kerneton.recognize.model_reader import load

        figures = path.with_name("figures.json")
        key = path, path.stat().st_mtime_ns if path.exists() else 0
        if key == self.key:
            return
        self.model = load(path)
        self.figures = json.loads(figures.read_text(encoding="utf-8")) if figures.exists() else {}
        self.key = key
        self.watchers.clear()

    def _watch(self, who: str, frames: Any, layout: Any, why: bool, doubt: float) -> dict[str, Any]:
        if who not in self.watchers:
            self.watchers[who] = Watcher(self.model, self.figures)
            while len(self.watchers) > _WATCHERS:
                self.watchers.popitem(last=False)
        return self.watchers[who].answer(frames, layout, why=why, doubt=doubt)


def main() -> None:
    """Answer requests until the server is gone."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # printed text must not mix with the answers
    state = _State()
    while True:
        try:
            what, values = pickle.load(sys.stdin.buffer)
        except (EOFError, KeyboardInterrupt):
            return
        result, error = None, None
        try:
            result = state.run(what, *values)
        except KernetonError as problem:
            error = (type(problem).__name__, str(problem))
        except Exception as problem:  # one bad recording must not stop the live labels
            error = ("KernetonError", f"{type(problem).__name__}: {problem}")
        pickle.dump((result, error), out)
        out.flush()


if __name__ == "__main__":
    main()
