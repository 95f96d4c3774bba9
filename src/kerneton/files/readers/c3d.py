"""C3D motion capture, of any processor type, with integers or floats.

Labelled points become joints; known labels are translated to the package's joint names. Unlabelled
points (``*12``) and the angles, forces, moments, powers and scalars that some programs store among
the points are left out. A point with residual -1, at NaN or exactly at the origin is missing: NaN
with confidence 0. Coordinates become metres. The vertical axis is that of POINT:Y_SCREEN; without
it, it is detected from the labelled points, or else assumed to be z. Several bodies, distinguished
by ``name:`` before the labels, become several recordings. A last frame that is cut off is left out.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import FormatError
from kerneton.files.readers._markers import (
    labelled_bodies,
    marker_axis,
    marker_recordings,
    named_unit,
    told,
)
from kerneton.files.readers._text import MAX_JOINTS
from kerneton.files.readers._values import check_room, read_bytes, valid_rate

BLOCK = 512
_PROCESSORS = {84: "<", 85: "dec", 86: ">"}  # Intel, DEC, MIPS
_SIZES = {-1: 1, 1: 1, 2: 2, 4: 4}  # bytes of a value, by the parameter's type
_MAX_PARAMETERS = 10_000
_FULL = 65535  # the header's largest frame number


@dataclass(frozen=True)
class Parameter:
    """One parameter: the type of its values, their dimensions and their bytes."""

    kind: int  # -1 text, 1 byte, 2 whole number, 4 float
    dimensions: tuple[int, ...]
    content: bytes

    def words(self) -> list[str]:
        """The words of a text parameter, cut from its bytes, since its dimensions may be wrong."""
        length = self.dimensions[0] if self.dimensions else len(self.content)
        if length < 1:
            return []
        parts = (self.content[i : i + length] for i in range(0, len(self.content), length))
        return [part.decode("utf-8", "replace").strip(" \0") for part in parts]


@dataclass(frozen=True)
class C3dFile:
    """A file's parameters by ``GROUP:NAME``, and its points (T, M, 3), NaN where a point was not
    seen.
    """

    parameters: dict[str, Parameter]
    points: np.ndarray
    rate: float

    def words(self, name: str) -> list[str]:
        """The words of a text parameter; none if it is absent."""
        return self.parameters[name].words() if name in self.parameters else []

    def text(self, name: str) -> str:
        """The whole of a text parameter."""
        content = self.parameters[name].content if name in self.parameters else b""
        return content.decode("utf-8", "replace").strip(" \0")


def parse(content: bytes, path: Path) -> C3dFile:
    """Read the content of a C3D file; sizes in it are first compared with its length."""
    start = BLOCK * (content[0] - 1) if content else 0
    if len(content) < 2 * BLOCK or content[1] != 0x50 or start <= 0 or len(content) < start + 4:
        raise FormatError(f"{path}: not C3D, or cut off in its header")
    order = _PROCESSORS.get(content[start + 3])
    if order is None:
        raise FormatError(f"{path}: processor type {content[start + 3]} is not defined by C3D")
    parameters = _parameters(content, start + 4, order, path)
    points = _points(content, order, parameters, path)
    rate = _float(content[20:24], order)
    rate = _number(parameters, "POINT:RATE", order) or rate
    return C3dFile(parameters, points, rate)


def _parameters(content: bytes, at: int, order: str, path: Path) -> dict[str, Parameter]:
    groups: dict[int, str] = {}
    found: list[tuple[int, str, Parameter]] = []
    whole = ">h" if order == ">" else "<h"
    # The last parameter's step may point anywhere: what lies beyond the section is no parameter.
    blocks = content[at - 2]
    end = at - 4 + BLOCK * blocks if blocks else len(content)
    for _ in range(_MAX_PARAMETERS):
        if at + 2 > min(end, len(content)) or content[at] == 0:
            break
        length, group = (abs(n) for n in struct.unpack_from("bb", content, at))
        is_group = content[at + 1] > 127
        name = content[at + 2 : at + 2 + length].decode("latin-1").strip(" \0").upper()
        at += 2 + length
        if at + 2 > len(content):
            raise FormatError(f"{path}: cut off in its parameters")
        step = struct.unpack_from(whole, content, at)[0]
        if is_group:
            groups[group] = name
        else:
            found.append((group, name, _parameter(content, at + 2, name, path)))
        if step <= 0:
            break
        at += step
    return {f"{groups.get(group, '')}:{name}": parameter for group, name, parameter in found}


def _parameter(content: bytes, at: int, name: str, path: Path) -> Parameter:
    if at + 2 > len(content):
        raise FormatError(f"{path}: cut off in its parameters")
    kind, n_dimensions = struct.unpack_from("bB", content, at)
    dimensions = tuple(content[at + 2 : at + 2 + n_dimensions])
    size = _SIZES.get(kind)
    if size is None or n_dimensions > 7 or len(dimensions) < n_dimensions:
        raise FormatError(f"{path}: parameter {name[:40]!a} has an unknown type or shape")
    begin = at + 2 + n_dimensions
    return Parameter(kind, dimensions, content[begin : begin + size * math.prod(dimensions)])


def _points(content: bytes, order: str, parameters: dict[str, Parameter], path: Path) -> np.ndarray:
    words = np.frombuffer(content, ">u2" if order == ">" else "<u2", 10)
    n_points = int(_number(parameters, "POINT:USED", order) or words[1])
    promised = int(words[4]) - int(words[3]) + 1
    if words[4] == _FULL:  # more frames than the header can state
        promised = _long_count(parameters, order) or promised
    if promised < 1 or n_points < 1:
        raise FormatError(
            f"{path}: {n_points} points in {max(promised, 0)} frames; needs one of each"
        )
    scale = _float(content[12:16], order) or _number(parameters, "POINT:SCALE", order) or 0.0
    if not np.isfinite(scale) or scale == 0:
        raise FormatError(f"{path}: the scale of its points is {scale}")
    start = BLOCK * (int(words[8]) - 1)
    if start < BLOCK:
        start = BLOCK * (int(_number(parameters, "POINT:DATA_START", order) or 0) - 1)
    width = 4 if scale < 0 else 2
    room = len(content) - start
    if start < BLOCK or room <= 0:
        raise FormatError(f"{path}: cut off before its frames")
    # Suites disagree about whether a count of analog samples is per frame of points or per sample.
    used, per_frame = int(_number(parameters, "ANALOG:USED", order) or 0), max(int(words[9]), 1)
    sizes = [width * (4 * n_points + n) for n in (int(words[2]), used * per_frame, used)]
    size = next((s for s in sizes if 0 <= room - promised * s < 2 * BLOCK), sizes[0])
    n_frames = min(promised, room // size)
    if n_frames < max(promised - 1, 1):  # one frame fewer than promised is common and harmless
        raise FormatError(
            f"{path}: the header states {promised} frames, but the file contains {n_frames}"
        )
    frames = np.frombuffer(content, np.uint8, n_frames * size, start).reshape(n_frames, size)
    rows = np.ascontiguousarray(frames[:, : 4 * n_points * width]).reshape(
        n_frames, n_points, 4 * width
    )
    if width == 2:
        values = rows.view(">i2" if order == ">" else "<i2").astype(np.float64)
        values[..., :3] *= scale
    else:
        values = _floats(rows, order)
    points = values[..., :3]
    points[~(values[..., 3] >= 0)] = np.nan
    return points


def _long_count(parameters: dict[str, Parameter], order: str) -> int:
    """The number of frames from the parameters that hold numbers beyond 16 bits; 0 if none does."""
    ends = []
    for name in ("TRIAL:ACTUAL_START_FIELD", "TRIAL:ACTUAL_END_FIELD"):
        content = parameters[name].content if name in parameters else b""
        low, high = struct.unpack_from(">HH" if order == ">" else "<HH", content.ljust(4, b"\0"))
        ends.append(low + (high << 16) if len(content) >= 4 else 0)
    if 0 < ends[0] <= ends[1]:
        return ends[1] - ends[0] + 1
    return int(_number(parameters, "POINT:FRAMES", order) or 0)


def _floats(rows: np.ndarray, order: str) -> np.ndarray:
    """Rows of bytes as float64; DEC's floats have their halves exchanged and an exponent larger by
    2.
    """
    if order != "dec":
        return rows.view(f"{order}f4").astype(np.float64)
    halves = rows.view("<u2").reshape(*rows.shape[:-1], -1, 2)[..., ::-1]
    return np.ascontiguousarray(halves).view("<f4")[..., 0].astype(np.float64) / 4


def _float(content: bytes, order: str) -> float:
    if len(content) < 4:
        return 0.0
    return float(_floats(np.frombuffer(content[:4], np.uint8), order)[0])


def _number(parameters: dict[str, Parameter], name: str, order: str) -> float | None:
    """The first number of a parameter; None if there is none."""
    parameter = parameters.get(name)
    if parameter is None or len(parameter.content) < _SIZES[parameter.kind] or parameter.kind == -1:
        return None
    if parameter.kind == 4:
        value = _float(parameter.content, order)
        return value if np.isfinite(value) else None
    if parameter.kind == 2:
        return float(struct.unpack_from(">H" if order == ">" else "<H", parameter.content)[0])
    return float(parameter.content[0])


NAMES_JOINTS, STATES = True, {"unit": None, "up": None}
_NOT_POINTS = ("ANGLES", "FORCES", "MOMENTS", "POWERS", "SCALARS")


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001
    """Whether the second byte is 0x50 and the parameters, at the place in the first byte, have a
    processor type.
    """
    start = 512 * (head[0] - 1) if head else 0
    processor = head[start + 3 : start + 4]
    return len(head) > 512 and head[1] == 0x50 and start > 0 and processor in (b"T", b"U", b"V")


def read(path: Path) -> list[SkeletonSequence]:
    """The recordings of a C3D file, one per body."""
    with np.errstate(all="ignore"):  # damaged numbers are refused below
        file = parse(read_bytes(path), path)
    check_room(path, *file.points.shape[:2])
    labels = _labels(file)
    stated = file.text("POINT:UNITS")
    unit = named_unit(stated or "mm", f"{path}, POINT:UNITS")
    fps = valid_rate(file.rate)
    bodies = labelled_bodies(labels)
    for own in bodies.values():
        if len(own) > MAX_JOINTS:
            raise FormatError(f"{path}: {len(own)} points, at most {MAX_JOINTS} are read")
    own_points = [([labels[i] for i in own], file.points[:, own]) for own in bodies.values()]
    up = _up(file) or marker_axis(own_points) or "z"
    sequences = marker_recordings(path, "c3d", labels, file.points, unit=unit, fps=fps, up=up)
    return told(sequences, unit, up, unit_stated=bool(stated), up_stated=_up(file) is not None)


def _labels(file: C3dFile) -> list[str]:
    """A label per point, empty for points that have none or are not points."""
    n_points = file.points.shape[1]
    found: list[str] = []
    for name in (
        "LABELS",
        *(f"LABELS{i}" for i in range(2, 260)),
    ):  # one parameter holds at most 255
        if f"POINT:{name}" not in file.parameters:
            break
        found += file.words(f"POINT:{name}")
    quantities = {word for name in _NOT_POINTS for word in file.words(f"POINT:{name}")}
    labels = [
        "" if label.startswith("*") or label in quantities else label for label in found[:n_points]
    ]
    if not any(labels):
        return [f"point{i + 1}" for i in range(n_points)]
    return labels + [""] * (n_points - len(labels))


def _up(file: C3dFile) -> str | None:
    declared = file.text("POINT:Y_SCREEN").lower().lstrip("+")
    return declared if declared in ("x", "-x", "y", "-y", "z", "-z") else None
