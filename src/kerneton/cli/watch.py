"""kerneton watch: recognise actions in a live stream of frames."""

from __future__ import annotations

import argparse
import json
import os
import re
import secrets
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from kerneton.cli import Output, PathTo, add_command
from kerneton.cli._options import pose_options
from kerneton.cli._recordings import add_reading_options, load_model, with_poses_of
from kerneton.cli.spot import add_order
from kerneton.exceptions import DataError, ParameterError

if TYPE_CHECKING:
    from kerneton.recognize.recognizer import Recognizer
    from kerneton.video.cameras import Sight

_EXAMPLES = """\
  kerneton watch model.kern                              a JSON line per frame on the standard input, {"joints": [[x, y, z], ...]}
  kerneton watch model.kern --source udp:9000            a packet per frame, from this machine
  kerneton watch model.kern --source ws:0.0.0.0:9000     a WebSocket that other machines may reach
  kerneton watch model.kern --source camera              people in front of the first camera
  kerneton watch model.kern --source long.bvh            a file replayed in real time
  kerneton watch model.kern --source udp:9000 --record take.jsonl    recognise and keep the frames
  kerneton watch model.kern --delay 0.5 --lines --run notify-send
"""


def add_parser(subparsers: Any) -> None:
    """Add the parser of the command."""
    parser = add_command(
        subparsers,
        "watch",
        run,
        help="recognise actions in a live stream of frames",
        examples=_EXAMPLES,
    )
    parser.add_argument(
        "model",
        metavar="MODEL",
        type=PathTo.READ,
        help="a model file that kerneton fit --spot wrote",
    )
    parser.add_argument(
        "--source",
        metavar="WHERE",
        type=PathTo.READ,
        default="-",
        help="- for JSON lines on the standard input, udp:[HOST:]PORT, ws:[HOST:]PORT, camera or camera:1, "
        "the address of a stream (rtsp://, http://), or a file (default: -)",
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
    parser.add_argument(
        "--repetitions", action="store_true", help="count repetitions inside each action"
    )
    parser.add_argument(
        "--record",
        metavar="FILE",
        type=PathTo.WRITE,
        help="write the frames that arrive to a .jsonl file, a line each, which every command can read",
    )
    parser.add_argument("--fast", action="store_true", help="replay a file as fast as possible")
    parser.add_argument(
        "--run",
        metavar="COMMAND",
        dest="command",
        help="run per action; {label}, {start}, {stop}, {body} are filled in",
    )
    parser.add_argument(
        "--allow-origin",
        metavar="ORIGIN",
        action="append",
        default=[],
        type=_origin,
        help="with ws: a web page that may connect, such as http://localhost:3000; others may not",
    )
    parser.add_argument(
        "--once", action="store_true", help="with ws: stop when the last client has disconnected"
    )
    add_order(parser)
    add_reading_options(parser)


def run(args: argparse.Namespace) -> Output:
    """Watch until the source ends or the user does."""
    delay = None if args.sure else args.delay
    model = load_model(args.model, args)
    stream = model.stream(
        fps=args.rate, delay_s=delay, repetitions=args.repetitions, in_order=args.in_order
    )
    gone = None
    if args.record and not args.record.endswith(".jsonl"):
        raise ParameterError(
            f"--record {args.record!r}: a stream is recorded as .jsonl; name such a file"
        )
    with open(args.record, "w", encoding="utf-8") if args.record else nullcontext() as record:
        try:
            for message in _messages(args, model):
                if message.fault is not None:
                    events = stream.drop(message.fault, message.count)
                else:
                    if record is not None:
                        record.write(message_line(message) + "\n")
                        record.flush()  # what is recorded survives a power cut
                    events = stream.push(message.joints, message.time, message.body)
                for event in events:
                    _tell(event, args)
        except KeyboardInterrupt:
            pass
        except DataError as error:  # a camera that is gone: what was seen until then is told
            gone = error
    for event in stream.close():
        _tell(event, args)
    if gone is not None:
        raise gone
    summary = stream.summary()
    counted = ", ".join(f"{name} {n}" for name, n in summary.items())
    if args.lines:
        return Output(json.dumps({"event": "end", "summary": summary}), summary)
    return Output(f"end of the stream: {counted or 'no frames'}", summary)


def _messages(args: argparse.Namespace, model: Recognizer) -> Iterator[Any]:
    from kerneton.stream import sources, websocket
    from kerneton.video.cameras import camera, is_camera
    from kerneton.video.estimator import PoseOptions

    kind, colon, where = args.source.partition(":")
    if args.source == "-":
        yield from sources.from_lines(sys.stdin.buffer)
    elif is_camera(args.source):
        options = pose_options(with_poses_of(model, args)) or PoseOptions()
        seen = told_sights(camera(args.source, options), args)
        yield from sources.from_camera(seen, options.layout, model.layout_)
    elif colon and kind in ("udp", "ws"):
        with sources.bind(kind, where) as sock:
            host, port = sock.getsockname()[:2]
            if kind == "udp":
                messages = sources.from_udp(sock)
                token = None
            else:
                token = _token() if args.command else None
                messages = websocket.from_websocket(
                    sock, once=args.once, origins=args.allow_origin, token=token
                )
            print(f"kerneton: {_who(kind, host, port, token, args)}", file=sys.stderr, flush=True)
            yield from sources.buffered(messages)
    else:
        from kerneton.cli._recordings import read_one

        if colon and kind == "tcp":
            raise ParameterError(
                f"--source {args.source!r}: expected -, udp:PORT, ws:PORT, camera, an address or a file"
            )
        args.recording = None
        recording = read_one(args.source, None, args, model)
        if model.layout_ is not None:
            (mapped,) = model.adapt([recording])
            recording = mapped.replace(fps=recording.fps)  # frames arrive at their own rate
        yield from sources.from_recording(recording, real_time=not args.fast)


def told_sights(sights: Iterator[Sight], args: argparse.Namespace) -> Iterator[Sight]:
    """What a camera sees, with a line on a terminal that says how many people and pictures there
    are.
    """
    shown, n, begin = 0.0, 0, time.monotonic()
    terminal = sys.stderr.isatty() and not args.quiet
    for sight in sights:
        n += 1
        now = time.monotonic()
        if terminal and now - shown > 0.2:
            rate = n / max(now - begin, 1e-9)
            who = ", ".join(f"person {person.number}" for person in sight.people) or "nobody"
            sys.stderr.write(f"\r{args.source}: {who}, {rate:.0f} pictures a second\x1b[K")
            sys.stderr.flush()
            shown = now
            if now - begin > 2:
                n, begin = 0, now
        yield sight
    if terminal:
        sys.stderr.write("\r\x1b[K")


def _origin(text: str) -> str:
    """The origin of a page, as browsers send it."""
    if not re.fullmatch(r"[a-z][a-z0-9+.-]*://[^/\s]+/?|null", text.lower()):
        raise argparse.ArgumentTypeError(
            f"expected an origin such as http://localhost:3000, got {text!r}"
        )
    return text.lower().rstrip("/")


def _token() -> str:
    """The user's own token, or a new one: not an option, because other users see the options of a
    process.
    """
    return os.environ.get("KERNETON_TOKEN") or secrets.token_urlsafe(16)


def _shown(token: str) -> str:
    return "$KERNETON_TOKEN" if token == os.environ.get("KERNETON_TOKEN") else token


def _who(kind: str, host: str, port: int, token: str | None, args: argparse.Namespace) -> str:
    """Where the command listens, and who may send frames."""
    local = host in ("127.0.0.1", "::1")
    whence = "this machine" if local else "any machine that can reach it"
    shown = f"[{host}]" if ":" in host else host
    if kind == "udp":
        return f"listening on udp {shown}:{port}, programs of {whence} may send frames"
    pages = f"web pages of {', '.join(args.allow_origin)}" if args.allow_origin else "no web page"
    address = f"ws://{shown}:{port}/" + ("" if token is None else f"?token={_shown(token)}")
    need = "" if token is None else " with this token, because --run is given"
    return f"listening on {address}, programs of {whence} and {pages} may connect{need}"


def message_line(message: Any) -> str:
    """A message as a line that `kerneton.read` and another ``kerneton watch`` understand.

    >>> from kerneton.stream.sources import parse_message
    >>> message_line(parse_message(b'{"joints": [[0, 1, 2], null], "time": 1.5}'))
    '{"joints": [[0, 1, 2], null], "time": 1.5}'
    """
    joints = message.joints.tolist() if hasattr(message.joints, "tolist") else message.joints
    if isinstance(joints, list):
        unseen = [isinstance(joint, list) and any(v != v for v in joint) for joint in joints]
        joints = [None if gone else joint for gone, joint in zip(unseen, joints, strict=True)]
    facts = {"time": message.time, "body": message.body}
    return json.dumps({"joints": joints} | {name: v for name, v in facts.items() if v is not None})


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
        return (
            f"{head}{_plain(event.label)} from {event.start:.2f} to {event.stop:.2f}{chance}{more}"
        )
    if event.kind == "provisional":
        return f"{head}perhaps {_plain(event.label)} ..."
    return f"{head}{event.kind}: {_plain(event.reason)}"


def _plain(text: Any) -> str:
    return "".join(c if c.isprintable() else "?" for c in str(text))
