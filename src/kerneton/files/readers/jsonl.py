"""Kerneton's own stream: a line of JSON per frame, as ``kerneton watch`` reads and records it.

A line is ``{"joints": [[x, y, z], ...], "time": 1.25, "body": "ann"}``, or the array of joints
alone; ``time`` (seconds) and ``body`` may be absent. A joint that was not seen is ``null`` or has
null coordinates. Further facts may stand in the first line of a recording, and are not needed by
``kerneton watch``: ``recording`` (its name; another name begins another recording), ``layout``,
``fps``, ``label``, ``subject`` and ``segments``; ``confidence`` may stand in every line. Two bodies
that share half of the frames become a pair. A last line that is cut off is left out, with a
warning.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kerneton.data.segments import as_segments
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import FormatError, KernetonError
from kerneton.files.output import replacing
from kerneton.files.readers._arrays import layout_from_text, layout_text
from kerneton.files.readers._gaps import is_cut_off
from kerneton.files.readers._keypoints import number_array
from kerneton.files.readers._names import unique_names
from kerneton.files.readers._text import MAX_JOINTS, RECORDING, decode, lines, shorten
from kerneton.files.readers._values import file_budget, valid_rate

WRITES = (".jsonl",)
_FACTS = ("label", "subject")


@dataclass
class _Take:
    frames: list[np.ndarray] = field(default_factory=list)  # (J, 4)
    times: list[float] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)  # of the first line


def sniff(head: bytes, path: Path) -> bool:
    """Whether the first line is a whole message with joints, and more lines or the name show
    lines.
    """
    first, _, rest = decode(head).lstrip().partition("\n")
    named = path.suffix.lower() in (".jsonl", ".ndjson")
    if not named and rest.lstrip()[:1] != first[:1]:
        return False
    try:
        value = json.loads(first)
    except (ValueError, RecursionError):
        return named and first.startswith(('{"', "["))  # a damaged file, which is reported
    if isinstance(value, dict):
        return isinstance(value.get("joints"), list)
    return isinstance(value, list) and bool(value) and isinstance(value[0], (list, type(None)))


def read(path: Path) -> list[SkeletonSequence]:
    """The recordings of a file of messages.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "nod.jsonl"
    >>> _ = file.write_text(
    ...     '{"joints": [[0, 1.7, 2], null], "time": 0}\\n'
    ...     '{"joints": [[0, 1.6, 2], [0, 1, 2]], "time": 0.04}\\n'
    ... )
    >>> read(file)[0].fps, read(file)[0].joints[0].tolist()
    (25.0, [[0.0, 1.7, 2.0], [nan, nan, nan]])
    """
    takes: dict[tuple[str, str], _Take] = {}
    budget, name = file_budget(path), ""
    content = lines(path)
    for line, text in content:
        where = f"{path}, line {line}"
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            if takes and next(content, None) is None and is_cut_off(path, line):
                break
            raise FormatError(
                f"{where}: not JSON; expected a frame such as {{'joints': ...}}"
            ) from None
        message = {"joints": value} if isinstance(value, list) else value
        if not isinstance(message, dict) or "joints" not in message:
            raise FormatError(f"{where}: expected a frame with 'joints', got {shorten(text)}")
        name = str(message.get("recording", name))
        body = str(message.get("body", ""))
        if (take := takes.get((name, body))) is None:
            take = takes[name, body] = _Take(facts=message)
            budget.take(RECORDING)
        points = _points(message, where)
        budget.take(points.nbytes + 200)
        if take.frames and len(points) != len(take.frames[0]):
            got = f"{len(points)} joints, the first frame has {len(take.frames[0])}"
            raise FormatError(f"{where}: {got}")
        take.frames.append(points)
        time = message.get("time")
        if isinstance(time, bool) or not isinstance(time, (int, float, type(None))):
            raise FormatError(f"{where}: expected a time in seconds, got {shorten(str(time))}")
        take.times.append(np.nan if time is None or abs(time) > 1e15 else float(time))
    if not takes:
        raise FormatError(f"{path}: no frames")
    from kerneton.files.readers.csv_table import joined_bodies

    made = {key: _recording(take, key[0], path) for key, take in takes.items()}
    if len(made) == len({name for name, _ in made}):
        return list(made.values())
    frames = {
        key: [str(i if t != t else t) for i, t in enumerate(take.times)]
        for key, take in takes.items()
    }
    return list(joined_bodies(made, {k: _distinct(v) for k, v in frames.items()}, "body", path))


def _distinct(frames: list[str]) -> list[str]:
    return frames if len(set(frames)) == len(frames) else [str(i) for i in range(len(frames))]


def _points(message: dict[str, Any], where: str) -> np.ndarray:
    """(J, 4) x, y, z and confidence of one frame."""
    value = message["joints"]
    if not isinstance(value, list) or not 0 < len(value) <= MAX_JOINTS:
        raise FormatError(f"{where}: expected 1 to {MAX_JOINTS} joints")
    width = max((len(joint) for joint in value if isinstance(joint, list)), default=3)
    points = number_array([[None] * width if joint is None else joint for joint in value], where)
    if points.ndim != 2 or points.shape[1] not in (2, 3):
        raise FormatError(
            f"{where}: expected x, y, z of each joint, got an array of {points.shape}"
        )
    full = np.zeros((len(points), 4))
    full[:, : points.shape[1]] = points
    full[:, 3] = 1.0
    if (trust := message.get("confidence")) is not None:
        given = number_array(trust, where)
        if given.shape != (len(points),):
            raise FormatError(f"{where}: {len(points)} joints, confidences of shape {given.shape}")
        full[:, 3] = np.nan_to_num(np.clip(given, 0, 1))
    full[np.isnan(full[:, :3]).any(axis=1), :3] = np.nan
    return full


def _recording(take: _Take, name: str, path: Path) -> SkeletonSequence:
    from kerneton.files.readers.csv_table import rate_of

    points, facts = np.array(take.frames), take.facts
    text = facts.get("layout")
    layout = layout_from_text(text, str(path)) if isinstance(text, str) else None
    segments = facts.get("segments")
    known = {fact: str(facts[fact]) for fact in _FACTS if facts.get(fact) is not None}
    try:
        return SkeletonSequence(
            points[..., :3].copy(),
            None if (points[..., 3] == 1).all() else points[..., 3].copy(),
            layout=layout,
            name=name or path.stem,
            fps=valid_rate(facts.get("fps")) or rate_of(np.array(take.times)),
            segments=as_segments(segments) if isinstance(segments, list) else (),
            **known,
        )
    except (KernetonError, TypeError) as error:
        raise FormatError(f"{path}: {error}") from error


def write(sequences: Sequence[SkeletonSequence], path: Path) -> None:
    """Write recordings as messages that ``kerneton watch`` reads, with all digits of coordinates.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "nod.jsonl"
    >>> write([SkeletonSequence([[[0, 1.5, 2]]], label="nod", fps=25)], file)
    >>> file.read_text()
    '{"joints": [[0.0, 1.5, 2.0]], "time": 0.0, "label": "nod", "fps": 25.0}\\n'
    """
    names = unique_names(sequences)
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for name, sequence in zip(names, sequences, strict=True):
            facts = {
                fact: value for fact in _FACTS if (value := getattr(sequence, fact)) is not None
            }
            if sequence.fps is not None:
                facts["fps"] = float(sequence.fps)
            if sequence.layout is not None:
                facts["layout"] = layout_text(sequence.layout)
            if sequence.segments:
                facts["segments"] = [[s.label, s.start, s.stop] for s in sequence.segments]
            if len(sequences) > 1 or sequence.name:
                facts["recording"] = name
            for t, frame in enumerate(sequence.joints.tolist()):
                joints = [None if any(v != v for v in joint) else joint for joint in frame]
                time = {} if sequence.fps is None else {"time": t / float(sequence.fps)}
                trust = sequence.confidence
                own = {} if trust is None else {"confidence": np.nan_to_num(trust[t]).tolist()}
                message = {"joints": joints, **time, **own, **(facts if t == 0 else {})}
                file.write(json.dumps(message, allow_nan=False) + "\n")
