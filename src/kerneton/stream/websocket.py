"""A minimal WebSocket server that receives messages (RFC 6455): handshake, text and binary frames,
ping, close.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import select
import socket
import struct
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from urllib.parse import parse_qs, urlsplit

from kerneton.stream.sources import MAX_MESSAGE, Message, parse_message

_MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # fixed by the protocol
_MORE, _TEXT, _BINARY, _CLOSE, _PING, _TOO_LARGE = 0, 1, 2, 8, 9, 16
_MAX_CLIENTS = 64
_HANDSHAKE = 5.0  # seconds for it


def from_websocket(
    sock: socket.socket,
    *,
    once: bool = False,
    origins: Collection[str] = (),
    token: str | None = None,
) -> Iterator[Message]:
    """Messages of several WebSocket clients; with ``once`` it ends when the last client has left.

    Programs may connect. Browsers send the origin of the page with every connection: only pages of
    ``origins`` may. With a ``token``, a client must send it, as ``?token=`` in the address or as
    ``Authorization: Bearer``.
    """
    clients: dict[socket.socket, _Client] = {}
    served = False
    while True:
        try:
            ready, _, _ = select.select([sock, *clients], [], [], 1.0)
        except (OSError, ValueError):
            return
        for s in ready:
            if s is sock:
                try:
                    client, _ = sock.accept()
                except OSError:
                    return
                if len(clients) >= _MAX_CLIENTS:
                    client.close()
                    continue
                client.setblocking(False)
                clients[client] = _Client(client, origins, token)
                served = True
                continue
            yield from clients[s].read()
        for s in [s for s, client in clients.items() if client.closed or client.is_silent]:
            clients.pop(s)
            s.close()
        if once and served and not clients:
            return


class _Client:
    """One WebSocket connection: the handshake, then frames."""

    def __init__(self, sock: socket.socket, origins: Collection[str], token: str | None) -> None:
        self._sock, self._buffer, self._open, self.closed = sock, bytearray(), False, False
        self._text = bytearray()
        self._origins, self._token, self._since = origins, token, time.monotonic()

    @property
    def is_silent(self) -> bool:
        """Whether the handshake is overdue."""
        return not self._open and time.monotonic() - self._since > _HANDSHAKE

    def read(self) -> Iterator[Message]:
        try:
            data = self._sock.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            if self._buffer or self._text:
                yield Message(fault="a client that disconnected within a message")
            self.closed = True
            return
        self._buffer += data
        if not self._open:
            refused = self._handshake()
            if refused is not None:
                yield Message(fault=refused)
        if not self._open:
            return
        while not self.closed and (frame := self._frame()) is not None:
            yield from self._message(*frame)

    def _handshake(self) -> str | None:
        """Answer the request once it is whole; the reason if the client may not connect."""
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            self.closed = len(self._buffer) > 16384
            return None
        lines = bytes(self._buffer[:end]).split(b"\r\n")
        del self._buffer[: end + 4]
        fields = {
            k.strip().lower(): v.strip() for k, _, v in (line.partition(b":") for line in lines[1:])
        }
        key = fields.get(b"sec-websocket-key")
        if key is None or not lines[0].startswith(b"GET "):
            return self._refuse("400 Bad Request", None)
        origin = fields.get(b"origin")
        if origin is not None and origin.decode("latin-1").lower() not in self._origins:
            return self._refuse("403 Forbidden", "a web page that may not connect")
        if self._token is not None and not self._knows_token(lines[0], fields):
            return self._refuse("401 Unauthorized", "a client without the token")
        accept = base64.b64encode(hashlib.sha1(key + _MAGIC).digest())
        self._send(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n"
        )
        self._open = True
        return None

    def _refuse(self, status: str, reason: str | None) -> str | None:
        self._send(f"HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".encode())
        self.closed = True
        return reason

    def _knows_token(self, request: bytes, fields: dict[bytes, bytes]) -> bool:
        target = (request.split(b" ") + [b""])[1].decode("latin-1")
        given = [fields.get(b"authorization", b"").removeprefix(b"Bearer ")]
        with suppress(ValueError):  # no address
            given += [text.encode() for text in parse_qs(urlsplit(target).query).get("token", [])]
        return any(hmac.compare_digest(text, (self._token or "").encode()) for text in given)

    def _frame(self) -> tuple[int, bool, bytes] | None:
        """(kind, whether it is the last of its message, payload), once a whole frame has
        arrived.
        """
        b = self._buffer
        if len(b) < 2:
            return None
        kind, last, masked = b[0] & 0x0F, bool(b[0] & 0x80), bool(b[1] & 0x80)
        length, at = b[1] & 0x7F, 2
        wide = {126: (4, ">H"), 127: (10, ">Q")}.get(length)
        if wide is not None:
            at, form = wide
            if len(b) < at:
                return None
            (length,) = struct.unpack(form, b[2:at])
        if length > MAX_MESSAGE:  # the connection must be closed
            return _TOO_LARGE, True, b""
        at += 4 * masked
        if len(b) < at + length:
            return None
        payload = bytes(b[at : at + length])
        if masked and payload:
            key = (bytes(b[at - 4 : at]) * (length // 4 + 1))[:length]
            mixed = int.from_bytes(payload, "big") ^ int.from_bytes(key, "big")
            payload = mixed.to_bytes(length, "big")
        del b[: at + length]
        return kind, last, payload

    def _message(self, kind: int, last: bool, payload: bytes) -> Iterator[Message]:
        if kind == _TOO_LARGE or len(self._text) + len(payload) > MAX_MESSAGE:
            self.closed = True
            yield Message(fault="a message of more than 1 MiB")
        elif kind == _CLOSE:
            self._send(bytes([0x88, 0]))
            self.closed = True
        elif kind == _PING:
            self._send(
                bytes([0x8A, len(payload)]) + payload if len(payload) < 126 else bytes([0x8A, 0])
            )
        elif kind in (_MORE, _TEXT, _BINARY):
            self._text += payload
            if last:
                data, self._text = bytes(self._text), bytearray()
                yield parse_message(data)

    def _send(self, data: bytes) -> None:
        try:
            self._sock.send(data)
        except OSError:
            self.closed = True
