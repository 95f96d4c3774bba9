"""NTU RGB+D ``.skeleton``: frames, bodies and 25 joints of Kinect v2 with their tracking states,
metres.

The file states the number of frames, and each frame the number of bodies. A body is a row that
begins with its id, a row with the number of joints, and one row per joint: ``x y z`` and eight more
numbers, the last of which may be the tracking state.

Two bodies that are present together in at least half of the frames become one recording of two
people (`kerneton.pair`); otherwise there is one recording per body. With ``--layout kinect25``
there is always one recording per body.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from kerneton.data.bodies import pair
from kerneton.data.layouts import KINECT_25, Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import FormatError, ParameterError
from kerneton.files.readers._text import are_numbers, first_rows, lines, numbers, shorten
from kerneton.files.readers._values import check_room

STATES, TAKES = {"unit": "m", "up": "y"}, ("layout",)
FPS = 30.0
_TRACKING = np.array([0.0, 0.5, 1.0])  # not tracked, inferred, tracked
_N_JOINTS = len(KINECT_25.joints)
_NAME = re.compile(r"S\d{3}C\d{3}(P\d{3})R\d{3}(A\d{3})")


@dataclass
class _Body:
    frames: list[int] = field(default_factory=list)
    values: array = field(
        default_factory=lambda: array("d")
    )  # x y z state of each joint of each frame


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001
    """Whether the first two rows are single whole numbers: counts of frames and bodies."""
    rows = first_rows(head)
    return len(rows) == 2 and all(are_numbers(row, 1, n_whole=1) for row in rows)


def subject_and_label(name: str) -> tuple[str | None, str | None]:
    """Subject and action in a name such as S001C002P003R002A013.

    >>> subject_and_label("S001C002P003R002A013"), subject_and_label("wave")
    (('P003', 'A013'), (None, None))
    """
    found = _NAME.match(name)
    return (found[1], found[2]) if found else (None, None)


def read(path: Path, layout: Layout | None = None) -> list[SkeletonSequence]:
    """A pair if two bodies are seen together in at least half of the frames, else one recording per
    body.

    A recording extends from the first frame of its body to the last; frames without the body are
    NaN with confidence 0. With a layout, bodies are never paired. Label and subject come from file
    names such as S001C002P003R002A013.

    >>> import tempfile
    >>> joint = "0.1 0.5 3.2 " + "0 " * 8 + "2\\n"
    >>> file = Path(tempfile.mkdtemp()) / "S001C002P003R002A013.skeleton"
    >>> _ = file.write_text("1\\n1\\n72057 0 1 1 1 1 0 0.02 0.1 2\\n25\\n" + joint * 25)
    >>> read(file)
    [SkeletonSequence(1 frames, 25 joints, kinect25, label='A013', subject='P003',
      name='S001C002P003R002A013')]
    """
    bodies = _bodies(path)
    if layout is not None and len(layout.joints) != _N_JOINTS:
        stated = f"layout {layout.name!r} has {len(layout.joints)}"
        raise ParameterError(f"{path}: {_N_JOINTS} joints per body, {stated}")
    subject, label = subject_and_label(path.stem)
    if layout is None and (two := _together(bodies)):
        span = min(body.frames[0] for body in two), max(body.frames[-1] for body in two)
        people = {
            "": pair(*(SkeletonSequence(*_arrays(body, *span), layout=KINECT_25) for body in two))
        }
    else:
        people = {}
        for i, body in enumerate(bodies.values(), 1):
            arrays = _arrays(body, body.frames[0], body.frames[-1])
            end = "" if len(bodies) == 1 else f"_body{i}"
            people[end] = SkeletonSequence(*arrays, layout=layout or KINECT_25)
    facts = {"label": label, "subject": subject, "fps": FPS}
    return [person.replace(name=path.stem + end, **facts) for end, person in people.items()]


def _together(bodies: dict[str, _Body]) -> list[_Body]:
    """The two bodies seen longest, if they share at least half of the frames in which anybody is
    seen; else none.
    """
    longest = sorted(bodies, key=lambda name: -len(bodies[name].frames))[:2]
    shared = set.intersection(*(set(bodies[name].frames) for name in longest))
    seen = {frame for body in bodies.values() for frame in body.frames}
    if len(longest) < 2 or 2 * len(shared) < len(seen):
        return []
    return [body for name, body in bodies.items() if name in longest]


def _bodies(path: Path) -> dict[str, _Body]:
    """The bodies of the file, in the order in which they appear."""
    rows = ((line, text.split()) for line, text in lines(path))
    bodies: dict[str, _Body] = {}
    n_frames = _count(rows, path, "frames")
    for frame in range(n_frames):
        for _ in range(_count(rows, path, f"bodies in frame {frame}")):
            _read_body(rows, path, frame, bodies)
    extra = next(rows, None)
    if extra is not None:
        raise FormatError(
            f"{path}, line {extra[0]}: the file continues after its {n_frames} frames"
        )
    if not bodies:
        raise FormatError(f"{path}: no body in any of {n_frames} frames")
    spans = sum(body.frames[-1] - body.frames[0] + 1 for body in bodies.values())
    check_room(path, spans, _N_JOINTS, 4)  # frames without the body cost a line each
    return bodies


def _read_body(
    rows: Iterator[tuple[int, list[str]]], path: Path, frame: int, bodies: dict[str, _Body]
) -> None:
    line, words = _next(rows, path, f"a body in frame {frame}")
    body = bodies.setdefault(words[0], _Body())
    if body.frames and body.frames[-1] == frame:
        raise FormatError(
            f"{path}, line {line}: body {shorten(words[0])} is in frame {frame} twice"
        )
    body.frames.append(frame)
    n_joints = _count(rows, path, "joints")
    if n_joints != _N_JOINTS:
        raise FormatError(f"{path}, frame {frame}: expected {_N_JOINTS} joints, got {n_joints}")
    for joint in KINECT_25.joints:
        line, words = _next(rows, path, f"{joint} in frame {frame}")
        if len(words) not in (11, 12):
            got = f"{len(words)} words"
            raise FormatError(
                f"{path}, line {line}: expected 11 or 12 numbers per joint, got {got}"
            )
        values = numbers(words, path, line)
        state = values[11] if len(words) == 12 else 2.0
        if state not in (0.0, 1.0, 2.0):
            raise FormatError(
                f"{path}, line {line}: tracking state must be 0, 1 or 2, got {words[11]}"
            )
        body.values.extend((*values[:3], state))


def _arrays(body: _Body, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """Joints and confidence from one frame to another, both included."""
    values = np.frombuffer(body.values).reshape(-1, _N_JOINTS, 4)
    present = np.asarray(body.frames) - first
    joints = np.full((last - first + 1, _N_JOINTS, 3), np.nan)
    confidence = np.zeros(joints.shape[:2])
    joints[present] = values[:, :, :3]
    confidence[present] = _TRACKING[values[:, :, 3].astype(np.intp)]
    return joints, confidence


def _next(rows: Iterator[tuple[int, list[str]]], path: Path, what: str) -> tuple[int, list[str]]:
    try:
        return next(rows)
    except StopIteration:
        raise FormatError(f"{path}: the file ends where {what} is expected") from None


def _count(rows: Iterator[tuple[int, list[str]]], path: Path, what: str) -> int:
    line, words = _next(rows, path, f"the number of {what}")
    if not are_numbers(words, 1, n_whole=1) or not 0 <= float(words[0]) < 1e9:
        got = shorten(" ".join(words))
        raise FormatError(f"{path}, line {line}: expected the number of {what}, got {got!r}")
    return int(float(words[0]))
