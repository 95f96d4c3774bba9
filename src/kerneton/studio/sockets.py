"""Web sockets and streams: state changes for pages, live labels, and frames from other programs."""

from __future__ import annotations

import asyncio
import contextlib
import json
import struct
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.websockets import WebSocket, WebSocketDisconnect

from kerneton.exceptions import KernetonError, ParameterError
from kerneton.studio.guard import PROTOCOL
from kerneton.studio.live import DOUBT, Frame, frame_of, replayed, typical_seconds
from kerneton.studio.recording_info import joint_names, sides
from kerneton.studio.server import Studio
from kerneton.video.estimator import PoseOptions

_PAUSE = 0.03  # seconds between two answers at least
_MOST_WAITING = 600  # frames that wait for an answer
_LINE = 1 << 20  # bytes of one frame from another program
_MOST_BODIES = 6  # that a page watches at a time
_AWAY = 2.0  # seconds after which a body that was not seen gives its place to another


def outgoing(
    begin: Callable[[], asyncio.Queue[dict[str, Any]]],
    end: Callable[[asyncio.Queue[dict[str, Any]]], None],
) -> Callable[[WebSocket], Awaitable[None]]:
    """A socket that sends what is put into a queue, until its other side closes it."""

    async def handle(socket: WebSocket) -> None:
        await socket.accept(subprotocol=_protocol(socket))
        queue = begin()

        async def send() -> None:
            while True:
                await socket.send_json(await queue.get())

        task = asyncio.create_task(send())
        try:
            while True:
                with contextlib.suppress(ParameterError):
                    await _received(socket)  # nothing is expected
        except WebSocketDisconnect:
            pass
        finally:
            end(queue)
            task.cancel()

    return handle


def events(studio: Studio) -> Callable[[WebSocket], Awaitable[None]]:
    """A socket that sends the state whenever it changes."""

    def begin() -> asyncio.Queue[dict[str, Any]]:
        queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        queue.put_nowait(studio.pulse())
        studio.listeners.add(queue)
        return queue

    return outgoing(begin, studio.listeners.discard)


def stream_receiver(studio: Studio) -> Callable[[Request], Awaitable[Response]]:
    """Receives frames from another program, one line of JSON each, until it stops sending."""

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
        message = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ParameterError(f"a frame is not JSON: {error}") from error
    if not isinstance(message, dict):
        raise ParameterError("a frame must be an object with time and joints")
    frame = frame_of(message)
    studio.stream_seen += 1
    for listen in list(studio.streams):
        listen(frame)
    return 1


@dataclass
class _Body:
    """One of the bodies that a page watches."""

    layout: Any = None
    # that came since the last answer
    frames: list[tuple[float, np.ndarray]] = field(default_factory=list)
    last: float = 0.0  # time of the newest frame


class _Session:
    """One page with live labels: frames come in, and whenever an answer has been sent the newest
    frames of every body are answered.
    """

    def __init__(self, studio: Studio, socket: WebSocket) -> None:
        self.studio, self.socket = studio, socket
        self.model: Path | None = None
        self.bodies: dict[str, _Body] = {}
        self.source = ""  # for the events
        self._number = 0  # of sources so far: each starts a new stream
        self.replayed: list[tuple[float, np.ndarray]] = []
        self.fresh = asyncio.Event()
        self.why, self.doubt = True, DOUBT
        self._newest: dict[str, Frame] = {}  # of another program
        self._to_show = asyncio.Event()
        self._shown: Any = None
        self._replayed_layout: Any = None
        self._replay_at = -1

    async def take(self, message: dict[str, Any]) -> None:
        """Handle a message of the page: a source, or a frame."""
        if "why" in message:
            self.why = bool(message["why"])
        if "doubt" in message:
            if type(message["doubt"]) not in (int, float) or not 0 <= message["doubt"] <= 1:
                raise ParameterError("doubt: expected a number from 0 to 1")
            self.doubt = float(message["doubt"])
        if "source" in message or "replay" in message:
            self._number += 1
            self.bodies.clear()
            self.source = str(message.get("replay", message.get("source")))[:400]
        if message.get("source") == "stream":
            self.studio.streams.add(self.from_program)
        elif "source" in message:
            self.studio.streams.discard(self.from_program)
        if "replay" in message:
            sequence = await run_in_threadpool(self.studio.library.sequence, str(message["replay"]))
            self.replayed, self._replayed_layout = replayed(sequence)
            self._replay_at = -1
        elif "at" in message:
            self._replay_to(message["at"])
        elif "joints" in message:
            self._push(*frame_of(message))

    def from_program(self, frame: Frame) -> None:
        """Handle a frame of another program: answer it, and show the newest on the page."""
        if self._push(*frame):
            self._newest[frame[3]] = frame
            self._to_show.set()

    async def show(self) -> None:
        """Send frames of another program to the page, as fast as it reads them; those between are
        not shown.
        """
        while True:
            await self._to_show.wait()
            self._to_show.clear()
            newest, self._newest = self._newest, {}
            for frame in newest.values():
                await self._show(*frame)

    async def _show(self, when: float, joints: np.ndarray, layout: Any, who: str) -> None:
        points = np.nan_to_num(joints).round(4).tolist()
        body: dict[str, Any] = {"t": when, "body": who, "points": points}
        if layout is not self._shown or layout is None:
            self._shown = layout
            body |= {
                "names": joint_names(layout, len(joints)),
                "bones": layout.bones if layout else [],
                "sides": sides(layout, len(joints)),
            }
        await self.socket.send_json({"frame": body})

    def _replay_to(self, at: Any) -> None:
        """Handle the frames of the replayed recording up to a frame."""
        if type(at) is not int or not 0 <= at < len(self.replayed):
            raise ParameterError("at: expected a frame of the recording that is replayed")
        if at <= self._replay_at or at - self._replay_at > 300:
            self._replay_at = at - 1
        for when, rows in self.replayed[self._replay_at + 1 : at + 1]:
            self._push(when, rows, self._replayed_layout)
        self._replay_at = at

    def _push(self, when: float, joints: np.ndarray, layout: Any, who: str = "") -> bool:
        """A frame of a body; False for one body more than are watched at a time."""
        if who not in self.bodies:
            gone = [k for k, b in self.bodies.items() if abs(when - b.last) > _AWAY]
            for key in gone:
                del self.bodies[key]
            if len(self.bodies) >= _MOST_BODIES:
                return False
        body = self.bodies.setdefault(who, _Body(layout))
        if layout is not body.layout or (body.frames and when <= body.frames[-1][0]):
            body.frames.clear()
        body.layout, body.last = layout, when
        if self.model is not None:
            body.frames.append((when, joints))
            del body.frames[:-_MOST_WAITING]
            self.fresh.set()
        return True

    async def answer(self) -> None:
        """Answer until the page closes."""
        # the process may have to read the model first
        if self.model is not None and self.studio.eager:
            await run_in_threadpool(self.studio.load_model)
            self.bodies.clear()
            await self.socket.send_json({"ready": True})
        while True:
            await self.fresh.wait()
            self.fresh.clear()
            for who, body in list(self.bodies.items()):
                frames, body.frames = body.frames, []
                if self.model is not None and frames:
                    await self._answer(self.model, who, body.layout, frames)
            await asyncio.sleep(_PAUSE)

    async def _answer(self, model: Path, who: str, layout: Any, frames: list[Any]) -> None:
        number, source, start = self._number, self.source, time.perf_counter()
        watched = f"{id(self)} {number} {who}"
        try:
            out = await run_in_threadpool(
                self.studio.worker.watch, model, watched, frames, layout, self.why, self.doubt
            )
        except KernetonError as error:
            out = {"error": str(error)}
        if number != self._number:
            return  # another source was chosen meanwhile
        self.studio.events.take(out, source=source, body=who)
        out |= {"computed": round((time.perf_counter() - start) * 1000, 1), "body": who}
        await self.socket.send_json(out)

    async def load(self) -> None:
        """Send the chosen model, or the reason why there is none."""
        try:
            model, figures = await run_in_threadpool(self.studio.models.figures)
            self.model = model
            info = {"model": model.parent.name, "window": typical_seconds(figures)}
            info |= {"labels": list(figures["labels"]), "ready": not self.studio.eager}
            await self.socket.send_json(info)
        except KernetonError as error:
            await self.socket.send_json({"no_model": str(error)})


def live(studio: Studio) -> Callable[[WebSocket], Awaitable[None]]:
    """A socket that takes frames and answers with labels."""

    async def handle(socket: WebSocket) -> None:
        await socket.accept(subprotocol=_protocol(socket))
        session = _Session(studio, socket)
        await session.load()
        tasks = [asyncio.create_task(work) for work in (session.answer(), session.show())]
        try:
            while True:
                try:
                    message = json.loads(await _received(socket))
                    if not isinstance(message, dict):
                        raise ParameterError("expected an object")
                    await session.take(message)
                except (KernetonError, ValueError, RecursionError) as error:
                    await socket.send_json({"error": str(error)[:400]})
        except WebSocketDisconnect:
            pass
        finally:
            studio.streams.discard(session.from_program)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    return handle


def camera(studio: Studio) -> Callable[[WebSocket], Awaitable[None]]:
    """A socket that takes pictures of a camera, and answers with the joints of who is seen.

    A message of bytes is a time in seconds (eight bytes, little-endian) and a JPEG file, which is
    dropped when its joints are known. A message of text begins again: {"pose_model": "full"}.
    """

    async def handle(socket: WebSocket) -> None:
        await socket.accept(subprotocol=_protocol(socket))
        who, options, poses = f"{id(socket)}", PoseOptions(), studio.poses
        try:
            while True:
                message = await socket.receive()
                if message["type"] == "websocket.disconnect":
                    return
                data, text = message.get("bytes"), message.get("text")
                try:
                    if text is not None:
                        options = _pose_options(text)
                        await run_in_threadpool(poses.forget, who)
                        await socket.send_json({"ready": True})
                        continue
                    if data is None or len(data) <= 8:
                        raise ParameterError("a picture is a time of eight bytes and a JPEG file")
                    (moment,) = struct.unpack("<d", data[:8])
                    joints = await run_in_threadpool(poses.push, who, options, moment, data[8:])
                    await socket.send_json({"time": moment, "joints": joints})
                except KernetonError as error:
                    await socket.send_json({"error": str(error)[:400]})
        except WebSocketDisconnect:
            pass
        finally:
            with contextlib.suppress(KernetonError):  # the studio has ended
                await run_in_threadpool(poses.forget, who)

    return handle


def _pose_options(text: str) -> PoseOptions:
    try:
        return PoseOptions(pose_model=str(json.loads(text)["pose_model"])[:40])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError('expected {"pose_model": "full"}') from error


async def _received(socket: WebSocket) -> str:
    """The next message of a page: text; bytes are an error of the page."""
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1000))
    text = message.get("text")
    if text is None:
        raise ParameterError("expected text, got bytes")
    return str(text)


def _protocol(socket: WebSocket) -> str | None:
    return PROTOCOL if PROTOCOL in socket.scope.get("subprotocols", ()) else None
