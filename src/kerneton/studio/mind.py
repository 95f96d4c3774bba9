"""The process that recognises: live labels, suggestions and reasons, beside the server and not in it.

Computing holds Python's lock; a server that computes would answer late. The two exchange pickles over pipes that
nobody else can reach.
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

_WATCHERS = 16  # that are kept at once
Answers = list[dict[str, Any]]


class Mind:
    """Questions about recordings to a model's file; one at a time, from any thread.

    >>> mind = Mind()
    >>> try: mind.answers(Path("none.kern"), [])
    ... except KernetonError as error: print(error)
    none.kern: no such file
    >>> mind.close()
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    def answers(self, model: Path, sequences: list[SkeletonSequence]) -> Answers:
        """See `kerneton.studio.recognizing.answers`."""
        found: Answers = self._ask("answers", model, sequences)
        return found

    def contributions(self, model: Path, sequence: SkeletonSequence, label: str) -> dict[str, float]:
        """See `kerneton.studio.recognizing.contributions`."""
        found: dict[str, float] = self._ask("contributions", model, sequence, label)
        return found

    def segments(self, model: Path, sequence: SkeletonSequence) -> Answers:
        """See `kerneton.studio.recognizing.segments`."""
        found: Answers = self._ask("segments", model, sequence)
        return found

    def watch(self, model: Path, who: str, frames: Any, layout: Any, why: bool) -> dict[str, Any]:
        """See `kerneton.studio.live.Watcher.answer`; ``who`` names one of several who watch."""
        found: dict[str, Any] = self._ask("watch", model, who, frames, layout, why)
        return found

    def warm_up(self) -> None:
        """Start the process and have it compile what it needs."""
        self._ask("warm_up", None)

    def close(self) -> None:
        """End the process."""
        self._closed = True
        process = self._process
        if process is None:
            return
        process.kill()
        process.wait()
        with self._lock:  # whoever waits for an answer has heard of the end
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()

    def _ask(self, what: str, *values: Any) -> Any:
        with self._lock:
            if self._closed:
                raise KernetonError("the studio has ended")
            if self._process is None or self._process.poll() is not None:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "kerneton.studio.mind"],
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


class _Thinker:
    """The other side: keeps the last model, its spotter and figures, and who watches with it."""

    def __init__(self) -> None:
        self.key: Any = None
        self.model: Any = None
        self.spotter: Any = None
        self.figures: dict[str, Any] = {}
        self.watchers: OrderedDict[str, Any] = OrderedDict()

    def work(self, what: str, path: Path | None, *values: Any) -> Any:
        """Answer one question."""
        from kerneton.studio import recognizing

        if path is None:
            recognizing.warm_up()
            return None
        self._load(path)
        if what == "watch":
            return self._watch(*values)
        if what == "segments":
            if self.spotter is None:
                raise MissingDataError("this model cannot find segments yet: train again, and let it finish")
            return recognizing.segments(self.spotter, values[0], self.figures.get("fps"))
        return getattr(recognizing, what)(self.model, *values)

    def _load(self, path: Path) -> None:
        from kerneton.studio import recognizing

        spots, figures = path.with_name("spotter.kern"), path.with_name("figures.json")
        key = [(p, p.stat().st_mtime_ns if p.exists() else 0) for p in (path, spots)]
        if key == self.key:
            return
        if self.key is None or key[0] != self.key[0]:
            self.model = recognizing.load_model(path)
        self.spotter = recognizing.load_model(spots) if spots.exists() else None
        self.figures = json.loads(figures.read_text(encoding="utf-8")) if figures.exists() else {}
        self.key = key
        self.watchers.clear()

    def _watch(self, who: str, frames: Any, layout: Any, why: bool) -> dict[str, Any]:
        from kerneton.studio.live import Watcher

        if who not in self.watchers:
            self.watchers[who] = Watcher(self.model, self.spotter, self.figures)
            while len(self.watchers) > _WATCHERS:
                self.watchers.popitem(last=False)
        answer: dict[str, Any] = self.watchers[who].answer(frames, layout, why=why)
        return answer


def main() -> None:
    """Answer until the server is gone."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints, prints elsewhere
    thinker = _Thinker()
    while True:
        try:
            what, values = pickle.load(sys.stdin.buffer)
        except (EOFError, KeyboardInterrupt):
            return
        result, error = None, None
        try:
            result = thinker.work(what, *values)
        except KernetonError as problem:
            error = (type(problem).__name__, str(problem))
        except Exception as problem:  # one bad recording must not end the live labels
            error = ("KernetonError", f"{type(problem).__name__}: {problem}")
        pickle.dump((result, error), out)
        out.flush()


if __name__ == "__main__":
    main()
