"""Processes of the studio that compute, separate from the server.

Computing holds Python's lock: a server that computes would respond late. The two exchange pickles
over pipes that no other program can reach.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

from kerneton import exceptions
from kerneton.exceptions import KernetonError

Tell = Callable[[Any], None]


class Child:
    """A module that runs `answer_requests` in a process of its own, started with the first request.

    One request at a time is answered, from any thread; ``doing`` names what has ended in the error
    about a process that is gone.
    """

    def __init__(self, module: str, doing: str) -> None:
        self.module, self.doing = module, doing
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    def ask(self, what: str, *values: Any, tell: Tell | None = None) -> Any:
        """The answer to a request; ``tell`` is called with what the process says before it."""
        with self._lock:
            if self._closed:
                raise KernetonError("the studio has ended")
            if self._process is None or self._process.poll() is not None:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", self.module],
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
                while True:
                    kind, value = pickle.load(pipe_out)
                    if kind != "told":
                        break
                    if tell is not None:
                        tell(value)
            except (OSError, EOFError) as broken:
                raise KernetonError(f"{self.doing}'s process has ended; try again") from broken
        if kind != "answer":
            raise getattr(exceptions, kind, KernetonError)(value)
        return value

    def close(self) -> None:
        """End the process."""
        self._closed = True
        process = self._process
        if process is not None:
            process.kill()  # ends a request that is waiting, and with it the lock
            with self._lock:
                end_process(process)


def end_process(process: subprocess.Popen[Any]) -> None:
    """Kill a process if it still runs, and close its pipes."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


def answer_requests(run: Callable[..., Any]) -> None:
    """Answer requests in this process until the server is gone: ``run(tell, what, *values)``."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # printed text must not mix with the answers

    def say(kind: str, value: Any) -> None:
        pickle.dump((kind, value), out)
        out.flush()

    while True:
        try:
            what, values = pickle.load(sys.stdin.buffer)
        except (EOFError, KeyboardInterrupt):
            return
        try:
            kind, answer = "answer", run(lambda value: say("told", value), what, *values)
        except KernetonError as problem:
            kind, answer = type(problem).__name__, str(problem)
        except Exception as problem:  # one bad recording must not end the process
            kind, answer = "KernetonError", f"{type(problem).__name__}: {problem}"
        say(kind, answer)
