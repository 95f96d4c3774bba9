"""kerneton watch: recognise actions in a live stream of frames."""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from kerneton.cli import Output, PathTo, add_command
from kerneton.cli._recordings import add_reading_options, load_model
from kerneton.cli.spot import add_order
from kerneton.exceptions import ParameterError

_EXAMPLES = """\
  kerneton watch model.kern                              a JSON line per frame on the standard input, {"joints": [[x, y, z], ...]}
  kerneton watch model.kern --source udp:9000            a packet per frame, from this machine
  kerneton watch model.kern --source ws:0.0.0.0:9000     a WebSocket that other machines may reach
  kerneton watch model.kern --source long.bvh            a file replayed in real time
  kerneton watch model.kern --delay 0.5 --lines --run notify-send
"""


def add_parser(subparsers: Any) -> None:
    """Add the parser of the command."""
    parser = add_command(
        subparsers, "watch", run, help="recognise actions in a live stream of frames", examples=_EXAMPLES
    )
    parser.add_argument(
        "model", metavar="MODEL", type=PathTo.READ, help="a model file that kerneton fit --spot wrote"
    )
    parser.add_argument(
        "--source",
        metavar="WHERE",
        type=PathTo.READ,
        default="-",
        help="- for JSON lines on the standard input, udp:[HOST:]PORT, ws:[HOST:]PORT, or a file (default: -)",
    )
    parser.add_argument(
        "--rate", metavar="N", type=float, help="frames per second where messages have no time"
    )
    parser.add_argument(
        "--delay",
        metavar="SECONDS",
        type=float,
        default=1.0,
        help="from an action's end to its report (default: 1)",
    )
    parser.add_argument(
        "--sure", action="store_true", help="wait until nothing can change, however long that takes"
    )
    parser.add_argument("--lines", action="store_true", help="print events as JSON lines")
    parser.add_argument("--repetitions", action="store_true", help="count repetitions inside each action")
    parser.add_argument("--fast", action="store_true", help="replay a file as fast as possible")
    parser.add_argument(
        "--run",
        metavar="COMMAND",
        dest="command",
        help="run per action; {label}, {start}, {stop}, {body} are filled in",
    )
    parser.add_argument(
        "--once", action="store_true", help="with ws: stop when the last client has disconnected"
    )
    add_order(parser)
    add_reading_options(parser)


def run(args: argparse.Namespace) -> Output:
    """Watch until the source ends or the user does."""
    delay = None if args.sure else args.delay
    stream = load_model(args.model, args).stream(
        fps=args.rate, delay=delay, repetitions=args.repetitions, in_order=args.in_order
    )
    try:
        for message in _messages(args):
            if message.fault is not None:
                events = stream.drop(message.fault, message.count)
            else:
                events = stream.push(message.joints, message.time, message.body)
            for event in events:
                _tell(event, args)
    except KeyboardInterrupt:
        pass
    for event in stream.close():
        _tell(event, args)
    summary = stream.summary()
    counted = ", ".join(f"{name} {n}" for name, n in summary.items())
    if args.lines:
        return Output(json.dumps({"event": "end", "summary": summary}), summary)
    return Output(f"end of the stream: {counted or 'no frames'}", summary)


def _messages(args: argparse.Namespace) -> Iterator[Any]:
    from kerneton.stream import sources, websocket

    kind, colon, where = args.source.partition(":")
    if args.source == "-":
        yield from sources.from_lines(sys.stdin.buffer)
    elif colon and kind in ("udp", "ws"):
        with sources.bind(kind, where) as sock:
            host, port = sock.getsockname()[:2]
            local = host in ("127.0.0.1", "::1")
            who = "only from this machine" if local else "from any machine that can reach it"
            print(f"kerneton: listening on {kind} {host}:{port}, {who}", file=sys.stderr, flush=True)
            udp = kind == "udp"
            messages = sources.from_udp(sock) if udp else websocket.from_websocket(sock, once=args.once)
            yield from sources.buffered(messages)
    else:
        from kerneton.cli._recordings import read_one

        if colon and kind in ("http", "https", "tcp"):
            raise ParameterError(f"--source {args.source!r}: expected -, udp:PORT, ws:PORT or a file")
        args.recording = None
        yield from sources.from_recording(read_one(args.source, None, args), real_time=not args.fast)


def _tell(event: Any, args: argparse.Namespace) -> None:
    if args.lines and not args.quiet:
        print(json.dumps(event.to_dict()), flush=True)
    elif not args.quiet:
        print(line(event), flush=True)
    if args.command and event.kind == "segment":
        values = {
            "label": event.label,
            "start": f"{event.start:.3f}",
            "stop": f"{event.stop:.3f}",
            "body": event.body,
        }
        words = [_filled(word, values) for word in shlex.split(args.command)]
        try:
            subprocess.run(words, check=False, timeout=60)  # no shell: labels are never code
        except (
            OSError,
            ValueError,
            subprocess.TimeoutExpired,
        ) as error:  # ValueError: a NUL in the name of a body
            print(f"kerneton: warning: {_plain(words[0])}: {_plain(error)}", file=sys.stderr)


def _filled(word: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        word = word.replace("{" + name + "}", value)
    return word


def line(event: Any) -> str:
    """One event as a line for a terminal; labels cannot steer it.

    >>> from kerneton.stream.live import Event
    >>> line(Event("segment", "0", 4.0, label="wave", start=1.0, stop=3.0, probability=0.9))
    '    4.00  body 0  wave from 1.00 to 3.00, probability 0.90'

    With repetitions, regularity is 1 for a metronome.
    """
    head = f"{event.time:8.2f}  body {_plain(event.body)}  "
    if event.kind == "segment":
        more = ""
        if event.repetitions is not None and event.repetitions.count > 1:
            counted = event.repetitions
            more = f", {counted.count} repetitions"
            if counted.regularity is not None:
                more += f" every {counted.period:.2f} s, regularity {counted.regularity:.2f}"
        chance = "" if event.probability is None else f", probability {event.probability:.2f}"
        return f"{head}{_plain(event.label)} from {event.start:.2f} to {event.stop:.2f}{chance}{more}"
    if event.kind == "provisional":
        return f"{head}perhaps {_plain(event.label)} ..."
    return f"{head}{event.kind}: {_plain(event.reason)}"


def _plain(text: Any) -> str:
    return "".join(c if c.isprintable() else "?" for c in str(text))
