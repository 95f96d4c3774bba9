"""A studio that runs: in this process, or as the command."""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import uvicorn
from websockets.sync.client import connect

from kerneton.studio.server import Studio, build, settings

TOKEN = "a-token-for-tests"


class Server:
    """A studio that answers on a port of this machine."""

    def __init__(self, studio: Studio, port: int, token: str = TOKEN) -> None:
        self.studio, self.port, self.token = studio, port, token
        self.address = f"http://127.0.0.1:{port}"
        self.url = f"{self.address}/?token={token}"
        self.told: list[Any] = []  # news of a training, where there was one

    def ask(
        self,
        path: str,
        body: Any = None,
        *,
        method: str | None = None,
        token: bool = True,
        **headers: str,
    ):
        """Status and answer of a request; a body is sent as JSON unless it is bytes."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
        given = {"Content-Type": kind} if data is not None else {}
        given |= {"X-Kerneton-Token": self.token} if token else {}
        given |= {key.replace("_", "-"): value for key, value in headers.items()}
        request = urllib.request.Request(
            f"{self.address}{path}", data=data, headers=given, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, _parsed(answer.read()), dict(answer.headers)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, _parsed(error.read()), dict(error.headers)

    def post(self, path: str, **body: Any) -> Any:
        status, answer, _ = self.ask(f"/api/{path}", body)
        assert status == 200, answer
        return answer

    @property
    def folder(self) -> Path:
        return self.studio.library.root

    def get(self, path: str) -> Any:
        status, answer, _ = self.ask(f"/api/{path}")
        assert status == 200, answer
        return answer


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return data


@contextlib.contextmanager
def running(studio: Studio) -> Iterator[Server]:
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(128)
    port = listening.getsockname()[1]
    config = settings(build(studio, token=TOKEN, port=port))
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.01)
        assert thread.is_alive()
    try:
        yield Server(studio, port)
    finally:
        server.should_exit = True
        thread.join(20)
        studio.close()
        listening.close()


def train(server: Server) -> list[Any]:
    """Train, and wait until all is done; the news that pages were sent meanwhile."""
    told = []
    with connect(f"ws://127.0.0.1:{server.port}/api/events?token={server.token}") as news:
        server.post("train")
        while True:
            told.append(json.loads(news.recv(timeout=600)))
            if "error" in told[-1]["training"]:
                return told


class Command:
    """The command itself, in a process that can be killed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "kerneton", "studio", str(folder), "--no-browser"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        assert self.process.stdout is not None
        found = re.search(
            r"http://127\.0\.0\.1:(\d+)/\?token=(\S+)", self.process.stdout.readline()
        )
        assert found is not None
        self.url, self.port, self.token = found[0], int(found[1]), found[2]

    def close(self, *, kill: bool = False) -> None:
        (self.process.kill if kill else self.process.terminate)()
        self.process.wait(20)
        if self.process.stdout is not None:
            self.process.stdout.close()
