"""Messages from lines, packets and sockets: real sockets on this machine."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import socket
import struct
import sys
import threading

import numpy as np
import pytest
from walks import walk

from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import ParameterError
from kerneton.stream.sources import (
    MAX_MESSAGE,
    TOO_FAST,
    bind,
    buffered,
    from_lines,
    from_recording,
    from_udp,
    parse_message,
)
from kerneton.stream.websocket import from_websocket

FRAME = json.dumps({"joints": [[0, 1, 2], None], "time": 1.5, "body": "ann"}).encode()

STOP = json.dumps({"joints": [], "body": "stop"}).encode()


def until_stop(messages):
    """A source of packets ends with its socket: what came before the packet that says so."""
    for message in messages:
        if message.body == "stop":
            return
        yield message


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", "a message that is not JSON"),
        (b"{", "a message that is not JSON"),
        (b"\xff\xfe", "a message that is not JSON"),
        (b"[" * 100_000, "a message that is not JSON"),
        (b"{}", "a message without joints"),
        (b"3", "a message without joints"),
        (b'{"joints": [], "time": "now"}', "a time that is not a number"),
        (b'{"joints": [], "time": Infinity}', "a time that is not a number"),
        (b"1" * (MAX_MESSAGE + 1), "a message of more than 1 MiB"),
    ],
)
def test_faults_are_named(data, fault):
    assert parse_message(data).fault == fault


def test_a_message():
    message = parse_message(FRAME)
    assert (message.time, message.body, message.fault) == (1.5, "ann", None)
    assert np.isnan(message.joints[1]).all()


def test_lines_with_one_of_ten_megabytes_among_them():
    lines = io.BytesIO(FRAME + b"\n" + b"x" * 10_000_000 + b"\n\n{broken\n" + FRAME)
    assert [m.fault for m in from_lines(lines)] == [
        None,
        "a message of more than 1 MiB",
        "a message that is not JSON",
        None,
    ]


def test_a_recording_as_messages():
    messages = list(from_recording(SkeletonSequence(walk(5), fps=10), real_time=False))
    assert [m.time for m in messages] == [0.0, 0.1, 0.2, 0.3, 0.4]


def test_udp():
    with bind("udp", "0") as sock, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        assert sock.getsockname()[0] == "127.0.0.1"
        for data in (FRAME, b"{broken", b"", FRAME, STOP):
            client.sendto(data, sock.getsockname())
        faults = [m.fault for m in until_stop(from_udp(sock))]
    assert faults == [None, "a message that is not JSON", "a message that is not JSON", None]


def websocket_frame(payload, kind=1, last=True):
    mask = os.urandom(4)
    n = len(payload)
    size = bytes([0x80 | n]) if n < 126 else bytes([0x80 | 126]) + struct.pack(">H", n)
    if n > 65535:
        size = bytes([0x80 | 127]) + struct.pack(">Q", n)
    return (
        bytes([(0x80 if last else 0) | kind])
        + size
        + mask
        + bytes(b ^ mask[i % 4] for i, b in enumerate(payload))
    )


def connect(address, target=b"/", headers=b"", expected=b"HTTP/1.1 101"):
    client = socket.create_connection(address)
    key = base64.b64encode(os.urandom(16))
    client.sendall(
        b"GET " + target + b" HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Key: " + key + b"\r\n" + headers + b"\r\n"
    )
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += client.recv(1024)
    assert answer.startswith(expected)
    return client


def serve(talk, **options):
    """What a server yields while ``talk`` runs as its client."""
    with bind("ws", "0") as sock:
        client = threading.Thread(target=talk, args=(sock.getsockname(),))
        client.start()
        found = list(from_websocket(sock, once=True, **options))
        client.join()
    return [m.fault for m in found]


def test_websocket_messages_in_one_and_several_frames():
    def talk(address):
        with connect(address) as c:
            c.sendall(websocket_frame(FRAME) + websocket_frame(FRAME[:9], last=False))
            c.sendall(websocket_frame(b"hello", kind=9))
            c.sendall(websocket_frame(FRAME[9:], kind=0) + websocket_frame(b"{broken"))
            c.sendall(websocket_frame(b"", kind=8))
            while c.recv(1024):
                pass

    assert serve(talk) == [None, None, "a message that is not JSON"]


@pytest.mark.parametrize(
    "origin", [b"http://evil.example", b"null", b"http://127.0.0.1:3000", b"file://"]
)
def test_web_pages_may_not_connect(origin):
    def talk(address):
        connect(address, headers=b"Origin: " + origin + b"\r\n", expected=b"HTTP/1.1 403").close()

    assert serve(talk, origins=["http://localhost:3000"]) == ["a web page that may not connect"]


def test_a_page_that_is_allowed_may_connect():
    def talk(address):
        with connect(address, headers=b"Origin: http://localhost:3000\r\n") as c:
            c.sendall(websocket_frame(FRAME) + websocket_frame(b"", kind=8))
            while c.recv(1024):
                pass

    assert serve(talk, origins=["http://localhost:3000"]) == [None]


@pytest.mark.parametrize(
    ("target", "headers", "status"),
    [
        (b"/", b"", b"401"),
        (b"/?token=wrong", b"", b"401"),
        (b"/?token", b"Authorization: Bearer\r\n", b"401"),
        (b"//[?token=x", b"", b"401"),
        (b"/?token=secret", b"", b"101"),
        (b"/", b"Authorization: Bearer secret\r\n", b"101"),
    ],
)
def test_a_token_is_needed_where_there_is_one(target, headers, status):
    def talk(address):
        connect(address, target, headers, b"HTTP/1.1 " + status).close()

    refused = ["a client without the token"] if status == b"401" else []
    assert serve(talk, token="secret") == refused


def test_clients_that_say_nothing_are_closed(monkeypatch):
    monkeypatch.setattr("kerneton.stream.websocket._HANDSHAKE", 0.2)

    def talk(address):
        with socket.create_connection(address, timeout=20) as c:
            assert c.recv(1) == b""

    assert serve(talk) == []


def test_websocket_accept_key_of_the_standard():
    def talk(address):
        with socket.create_connection(address) as c:
            c.sendall(b"GET / HTTP/1.1\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
            assert b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in c.recv(4096)

    assert serve(talk) == []


def test_a_client_that_leaves_in_mid_message():
    def talk(address):
        with connect(address) as c:
            c.sendall(websocket_frame(FRAME)[:-7])

    assert serve(talk) == ["a client that disconnected within a message"]


def test_a_message_of_ten_megabytes_is_refused_without_being_read():
    def talk(address):
        with connect(address) as c:
            c.sendall(bytes([0x81, 0xFF]) + struct.pack(">Q", 10_000_000) + b"abcd")
            while c.recv(1024):
                pass

    assert serve(talk) == ["a message of more than 1 MiB"]


def test_something_that_is_no_websocket():
    def talk(address):
        with socket.create_connection(address) as c:
            c.sendall(b"POST / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert c.recv(1024).startswith(b"HTTP/1.1 400")

    assert serve(talk) == []


@pytest.mark.parametrize("text", ["x", "1:2:x", "", "99999"])
def test_addresses(text):
    with pytest.raises(ParameterError, match="expected PORT or HOST:PORT"):
        bind("udp", text)


def test_a_port_in_use_is_an_error_of_one_line():
    with (
        bind("ws", "0") as sock,
        pytest.raises(ParameterError, match=r"cannot listen on 127\.0\.0\.1"),
    ):
        bind("ws", str(sock.getsockname()[1]))


def test_ten_thousand_messages_as_fast_as_they_can_be_sent(spotter):
    """Over a real socket, into a real stream: it goes on, and what could not be used is counted and
    said.
    """
    joints = [[float(j), 1.0, 2.0] for j in range(20)]
    burst = [json.dumps({"joints": joints, "time": t / 10_000}).encode() for t in range(10_000)]
    last = json.dumps({"joints": joints, "time": 2.0}).encode()

    def talk(address):
        with connect(address) as c:
            c.sendall(b"".join(websocket_frame(data) for data in burst))
            c.sendall(websocket_frame(last))

    received = threading.Event()

    def until_the_end(messages):
        yield from messages
        received.set()

    stream, events = spotter.stream(delay_s=0.5), []
    with bind("ws", "0") as sock:
        client = threading.Thread(target=talk, args=(sock.getsockname(),))
        client.start()
        source = buffered(until_the_end(from_websocket(sock, once=True)), size=100)
        first = next(source)
        client.join()
        received.wait()  # nobody uses messages meanwhile: all that is more than 100 has to go
        for message in [first, *source]:
            if message.fault is None:
                events += stream.push(message.joints, message.time, message.body)
            else:
                events += stream.drop(message.fault, message.count)
    summary = stream.summary()
    dropped = summary["dropped: messages that came faster than they can be used"]
    assert dropped >= 9000
    assert summary["frames"] + dropped == 10_001
    assert [e.reason for e in events if e.kind == "dropped"] == [
        "messages that came faster than they can be used"
    ]


def test_ten_thousand_packets_over_udp():
    with bind("udp", "0") as sock, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        source = buffered(until_stop(from_udp(sock)), size=100)
        client.sendto(FRAME, sock.getsockname())
        used = [next(source)]
        for _ in range(10_000):
            client.sendto(FRAME, sock.getsockname())
        reader = threading.Thread(target=lambda: used.extend(source))
        reader.start()
        while reader.is_alive():  # the last packet may be lost as well
            client.sendto(STOP, sock.getsockname())
            reader.join(0.01)
    assert sum(m.count for m in used) > 100
    assert used[0].time == 1.5


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how many packets it dropped")
def test_packets_that_the_system_drops_are_counted():
    with bind("udp", "0") as sock, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        for _ in range(20_000):  # more than any buffer has room for, while nobody reads
            client.sendto(FRAME, sock.getsockname())
        sock.settimeout(0.2)
        n = 0
        with contextlib.suppress(TimeoutError):
            while sock.recv(65536):
                n += 1
        client.sendto(FRAME, sock.getsockname())
        client.sendto(STOP, sock.getsockname())
        assert [(m.fault, m.count) for m in until_stop(from_udp(sock))] == [
            (TOO_FAST, 20_000 - n),
            (None, 1),
        ]
