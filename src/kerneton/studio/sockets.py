"""What is not question and answer: news for pages, live labels, and frames that other programs send."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.websockets import WebSocket, WebSocketDisconnect

from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import KernetonError, ParameterError
from kerneton.studio.facts import sides
from kerneton.studio.guard import PROTOCOL
from kerneton.studio.live import frame_of, replayed, typical_seconds
from kerneton.studio.server import Studio

_PAUSE = 0.03  # seconds between two answers at least
_MOST_WAITING = 600  # frames that wait for an answer
_LINE = 1 << 20  # bytes of a frame that a program sends


def events(studio: Studio) -> Callable[[WebSocket], Awaitable[None]]:
    """A socket that says when something has changed."""

    async def handle(socket: WebSocket) -> None:
        await socket.accept(subprotocol=_protocol(socket))
        queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        queue.put_nowait(studio.pulse())
        studio.listeners.add(queue)

        async def send() -> None:
            while True:
                await socket.send_json(await queue.get())

        task = asyncio.create_task(send())
        try:
            while True:
                await socket.receive_text()
        except WebSocketDisconnect:
            pass
        finally:
            studio.listeners.discard(queue)
            task.cancel()

    return handle


def stream_receiver(studio: Studio) -> Callable[[Request], Awaitable[Response]]:
    """Frames from another program, a line of JSON each, for as long as it sends."""

    async def handle(request: Request) -> Response:
        rest, count = b"", 0
        async for chunk in request.stream():
            *lines, rest = (rest + chunk).split(b"\n")
            if len(rest) > _LINE:
                raise ParameterError(f"a frame of more than {_LINE} bytes")
            for line in lines:
                count += _pass_on(studio, line)
        count += _pass_on(studio, rest)
        return JSONResponse({"frames": count, "watching": len(studio.streams)})

    return handle


def _pass_on(studio: Studio, line: bytes) -> int:
    if not line.strip():
        return 0
    try:
        told = json.loads(line)
    except ValueError as error:
        raise ParameterError(f"a frame is not JSON: {error}") from error
    if not isinstance(told, dict):
        raise ParameterError("a frame must be an object with time and joints")
    frame_of(told)
    studio.stream_seen += 1
    for listen in list(studio.streams):
        listen(told)
    return 1


class _Session:
    """One page that watches: frames come in, the newest window is answered when the last answer is out."""

    def __init__(self, studio: Studio, socket: WebSocket) -> None:
        self.studio, self.socket = studio, socket
        self.model: Path | None = None
        self.frames: list[tuple[float, np.ndarray]] = []  # that came since the last answer
        self.layout: Any = None
        self._number = 0  # of sources so far: each is watched anew
        self.replayed: list[tuple[float, np.ndarray]] = []
        self.fresh = asyncio.Event()
        self.why = True
        self._shown: Any = None
        self._replayed_layout: Any = None
        self._replay_at = -1

    async def take(self, told: dict[str, Any]) -> None:
        """A message of the page: what to watch, or a frame."""
        if "why" in told:
            self.why = bool(told["why"])
        if "source" in told or "replay" in told:
            self._number += 1
            self.frames.clear()
        if told.get("source") == "stream":
            self.studio.streams.add(self.from_program)
        elif "source" in told:
            self.studio.streams.discard(self.from_program)
        if "replay" in told:
            sequence = await run_in_threadpool(self.studio.library.sequence, str(told["replay"]))
            self.replayed, self._replayed_layout = replayed(sequence)
            self._replay_at = -1
        elif "at" in told:
            self._replay_to(told["at"])
        elif "joints" in told:
            self._push(*frame_of(told))

    def from_program(self, told: dict[str, Any]) -> None:
        """A frame of another program: watched, and shown on the page."""
        frame = frame_of(told)
        self._push(*frame)
        task = asyncio.ensure_future(self._show(*frame))
        task.add_done_callback(lambda t: t.cancelled() or t.exception())

    async def _show(self, when: float, joints: np.ndarray, layout: Any) -> None:
        names = list(layout.joints) if layout else [f"joint {i}" for i in range(1, len(joints) + 1)]
        body: dict[str, Any] = {"t": when, "points": np.nan_to_num(joints).round(4).tolist()}
        if layout is not self._shown or layout is None:
            self._shown = layout
            blank = SkeletonSequence(np.zeros((1, len(joints), 3)), layout=layout)
            body |= {"names": names, "bones": layout.bones if layout else [], "sides": sides(blank)}
        await self.socket.send_json({"frame": body})

    def _replay_to(self, at: Any) -> None:
        if type(at) is not int or not 0 <= at < len(self.replayed):
            raise ParameterError("at: expected a frame of the recording that is replayed")
        if at <= self._replay_at or at - self._replay_at > 300:
            self._replay_at = at - 1
        for when, rows in self.replayed[self._replay_at + 1 : at + 1]:
            self._push(when, rows, self._replayed_layout)
        self._replay_at = at

    def _push(self, when: float, joints: np.ndarray, layout: Any) -> None:
        if self.model is None:
            return
        if layout is not self.layout or (self.frames and when <= self.frames[-1][0]):
            self.frames.clear()
        self.layout = layout
        self.frames.append((when, joints))
        del self.frames[:-_MOST_WAITING]
        self.fresh.set()

    async def answer(self) -> None:
        """Answer for as long as the page is there."""
        if self.model is not None and self.studio.eager:  # the process may have to read the model first
            await run_in_threadpool(self.studio.load_model)
            self.frames.clear()
            await self.socket.send_json({"ready": True})
        while True:
            await self.fresh.wait()
            self.fresh.clear()
            frames, self.frames = self.frames, []
            if self.model is None or not frames:
                continue
            number = self._number
            start = time.perf_counter()
            try:
                out = await run_in_threadpool(
                    self.studio.mind.watch, self.model, f"{id(self)} {number}", frames, self.layout, self.why
                )
            except KernetonError as error:
                out = {"error": str(error)}
            if number != self._number:
                continue  # another source was chosen meanwhile
            out["computed"] = round((time.perf_counter() - start) * 1000, 1)
            await self.socket.send_json(out)
            await asyncio.sleep(_PAUSE)

    async def load(self) -> None:
        """The present model, or why there is none."""
        try:
            model, figures = await run_in_threadpool(self.studio.models.figures)
            facts = {
                "model": model.parent.name,
                "window": typical_seconds(figures),
                "labels": list(figures["labels"]),
                "ready": not self.studio.eager,
            }
            self.model = model
            await self.socket.send_json(facts)
        except KernetonError as error:
            await self.socket.send_json({"no_model": str(error)})


def live(studio: Studio) -> Callable[[WebSocket], Awaitable[None]]:
    """A socket that takes frames and answers with labels."""

    async def handle(socket: WebSocket) -> None:
        await socket.accept(subprotocol=_protocol(socket))
        session = _Session(studio, socket)
        await session.load()
        task = asyncio.create_task(session.answer())
        try:
            while True:
                try:
                    told = json.loads(await socket.receive_text())
                    if not isinstance(told, dict):
                        raise ParameterError("expected an object")
                    await session.take(told)
                except (KernetonError, ValueError) as error:
                    await socket.send_json({"error": str(error)})
        except WebSocketDisconnect:
            pass
        finally:
            studio.streams.discard(session.from_program)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await task

    return handle


def _protocol(socket: WebSocket) -> str | None:
    return PROTOCOL if PROTOCOL in socket.scope.get("subprotocols", ()) else None
