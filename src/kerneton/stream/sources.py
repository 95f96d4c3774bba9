"""Sources of live frames: lines of JSON on the standard input, UDP packets, a WebSocket, a replayed
file.

A message is JSON: ``{"joints": [[x, y, z], ...], "time": 1.25, "body": "ann"}``, time and body
optional; or the bare array of joints. Nothing that a client sends ends the stream: unusable
messages are counted, and the next one is read.
"""

from __future__ import annotations

import json
import math
import socket
import struct
import sys
import threading
import time as clock
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import ParameterError

if TYPE_CHECKING:
    from kerneton.data.layouts import Layout
    from kerneton.video.cameras import Sight

MAX_MESSAGE = 1 << 20  # bytes of one message; more than any skeleton needs
TOO_FAST = "messages that came faster than they can be used"
_OVERFLOWS = 40  # SO_RXQ_OVFL of Linux: how many packets of a socket were lost so far


@dataclass(frozen=True)
class Message:
    """One frame, or the reason why there is none."""

    joints: Any = None
    time: float | None = None
    body: str | None = None
    fault: str | None = None
    count: int = 1  # messages that have the fault


def parse_message(data: bytes) -> Message:
    """A message from its bytes; faults are stored in it, never raised.

    >>> parse_message(b'{"joints": [[0, 1, 2]], "body": 3}')
    Message(joints=[[0, 1, 2]], time=None, body='3', fault=None, count=1)
    >>> parse_message(b'{"joints"').fault
    'a message that is not JSON'
    """
    if len(data) > MAX_MESSAGE:
        return Message(fault="a message of more than 1 MiB")
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return Message(fault="a message that is not JSON")
    if isinstance(value, list):
        return Message(joints=value)
    if not isinstance(value, dict) or "joints" not in value:
        return Message(fault="a message without joints")
    time, body = value.get("time"), value.get("body")
    if time is not None and (
        isinstance(time, bool) or not isinstance(time, (int, float)) or not math.isfinite(time)
    ):
        return Message(fault="a time that is not a number")
    joints = value["joints"]
    if isinstance(joints, list):
        joints = [_seen(joint) for joint in joints]
    return Message(
        joints, None if time is None else float(time), None if body is None else str(body)[:64]
    )


def _seen(joint: Any) -> Any:
    """Replace null by NaN, which JSON lacks: a joint or a coordinate that was not seen."""
    if joint is None:
        return [math.nan] * 3
    return [math.nan if c is None else c for c in joint] if isinstance(joint, list) else joint


def from_lines(stream: IO[bytes]) -> Iterator[Message]:
    """A message per line; a line that is too long is skipped without being held in memory."""
    while line := stream.readline(MAX_MESSAGE + 1):
        if len(line) > MAX_MESSAGE and not line.endswith(b"\n"):
            while line and not line.endswith(b"\n"):
                line = stream.readline(MAX_MESSAGE)
            yield Message(fault="a message of more than 1 MiB")
        elif line.strip():
            yield parse_message(line)


def buffered(messages: Iterator[Message], size: int = 1000) -> Iterator[Message]:
    """Messages of a source that does not wait, read in a thread: while ``size`` messages are
    waiting, others are dropped and counted.

    >>> [m.body for m in buffered(iter([Message(body="a"), Message(body="b")]))]
    ['a', 'b']
    """
    waiting: deque[Message] = deque()
    state, dropped = threading.Condition(), 0
    ended = False

    def read() -> None:
        nonlocal dropped, ended
        for message in messages:
            with state:
                if len(waiting) < size:
                    waiting.append(message)
                else:
                    dropped += 1
                state.notify()
        with state:
            ended = True
            state.notify()

    threading.Thread(target=read, daemon=True).start()
    while True:
        with state:
            while not (waiting or dropped or ended):
                state.wait(0.5)  # so that the user can interrupt it
            some, lost = list(waiting), dropped
            waiting.clear()
            dropped = 0
            last = ended
        yield from some
        if lost:
            yield Message(fault=TOO_FAST, count=lost)
        if last:
            return


def from_recording(recording: SkeletonSequence, *, real_time: bool = True) -> Iterator[Message]:
    """A recording replayed at its own rate, or as fast as it can be read."""
    fps = recording.fps or 30.0
    begin = clock.monotonic()
    for t, joints in enumerate(recording.joints):
        if real_time:
            clock.sleep(max(0.0, begin + t / fps - clock.monotonic()))
        yield Message(joints, t / fps)


def from_camera(sights: Iterator[Sight], layout: Layout, to: Layout | None) -> Iterator[Message]:
    """The people whom a camera sees, with the joints of a model's layout."""
    from kerneton.data.mapping import map_layout

    for sight in sights:
        for person in sight.people:
            one = SkeletonSequence(person.joints[None], layout=layout)
            mapped = one if to is None else map_layout(one, to)
            yield Message(mapped.joints[0], sight.time, str(person.number))


def address(text: str) -> tuple[str, int]:
    """Host and port; without a host, only this machine can connect.

    >>> address("9000"), address("0.0.0.0:9000")
    (('127.0.0.1', 9000), ('0.0.0.0', 9000))
    """
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or not 0 <= int(port) < 65536:
        raise ParameterError(f"expected PORT or HOST:PORT, got {text!r}")
    return host.strip("[]") or "127.0.0.1", int(port)


def bind(kind: str, text: str) -> socket.socket:
    """A socket that listens; port 0 takes any that is free."""
    host, port = address(text)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM)
    try:
        if kind != "udp":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        elif sys.platform == "linux":
            sock.setsockopt(socket.SOL_SOCKET, _OVERFLOWS, 1)
        sock.bind((host, port))
        if kind != "udp":
            sock.listen(8)
    except OSError as error:
        sock.close()
        raise ParameterError(
            f"cannot listen on {host}:{port}: {error.strerror or error}"
        ) from error
    return sock


def from_udp(sock: socket.socket) -> Iterator[Message]:
    """A message per packet, until the socket is shut down or closed; an empty packet is a fault
    like any other. On Linux, packets that the system dropped are counted with the next one that
    arrives.
    """
    lost = 0
    while True:
        try:
            if sys.platform == "linux":
                data, extra, _, sender = sock.recvmsg(65536, 64)
            else:
                (data, sender), extra = sock.recvfrom(65536), []
        except OSError:
            return
        for level, kind, value in extra:
            if (level, kind, len(value)) == (socket.SOL_SOCKET, _OVERFLOWS, 4):
                (total,) = struct.unpack("=I", value)
                if total != lost:
                    yield Message(fault=TOO_FAST, count=(total - lost) % 2**32)
                lost = total
        if not data and not sender:  # the socket was shut down: a packet has a sender
            return
        yield parse_message(data)
