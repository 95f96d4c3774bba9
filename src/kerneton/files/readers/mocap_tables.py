"""Tables that motion-capture programs export: Motive, Vicon Nexus, Qualisys and Visual3D.

They have several lines of header. **Motive** (OptiTrack): CSV with ``Format Version``; positions of
bones if a skeleton was exported, else of markers; rotations are left out, local coordinates
refused. **Vicon Nexus**: CSV whose section ``Trajectories`` has the frame rate, the names, the axes
and the units above the frames; other sections are passed over. **Qualisys**: text with
``NO_OF_FRAMES`` and ``MARKER_NAMES``, positions only. **Visual3D** (also from Theia): text with the
names, types and folders of signals above ``ITEM``; angles, forces and moments are refused.

Known names are translated to the package's joint names; points without a name are left out. A point
that is blank, or exactly at the origin, is missing. Several subjects give a recording each. The
vertical axis is detected from the names, or else assumed: y in Motive, z elsewhere.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import FormatError
from kerneton.files.readers._markers import marker_axis, marker_recordings, named_unit, told
from kerneton.files.readers._text import MAX_JOINTS, decode, shorten
from kerneton.files.readers._values import check_room, number, read_lines

NAMES_JOINTS, STATES = True, {"unit": None, "up": None}
_MOTIVE = ("bone", "marker", "rigid body")  # kinds of points, the most useful first
_SECTIONS = ("trajectories", "devices", "joints", "model outputs", "segments")  # of Nexus
_MOST_HEADER = 40  # lines above the frames


class Header(NamedTuple):
    """What the lines above the frames say."""

    first: int  # the line of the first frame, counted from 0
    delimiter: str
    points: list[tuple[str, int]]  # names and the column of x; y and z follow
    unit: str
    fps: float | None
    up: str
    unit_stated: bool = True


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001
    """Whether the first lines are those of one of the programs."""
    return _program(decode(head).splitlines()[:_MOST_HEADER]) is not None


def _program(lines: Sequence[str]) -> str | None:
    words = [line.strip().strip('"').lower() for line in lines if line.strip()]
    if not words:
        return None
    if words[0].startswith("format version,"):
        return "motive"
    if words[0].rstrip(",") in _SECTIONS and len(words) > 1 and _is_number(words[1].rstrip(",")):
        return "nexus"
    if words[0].startswith("no_of_frames"):
        return "qualisys"
    if any(re.match(r"item\t", word) for word in words[:6]) and "\t" in lines[0]:
        return "visual3d"
    return None


def _is_number(word: str) -> bool:
    try:
        return bool(word) and float(word) > 0
    except ValueError:
        return False


def read(path: Path) -> list[SkeletonSequence]:
    """The recordings of a table, one per subject.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "nod.csv"
    >>> _ = file.write_text('''Trajectories
    ... 100
    ... ,,ann:Head,,,ann:LeftFoot,,
    ... Frame,Sub Frame,X,Y,Z,X,Y,Z
    ... ,,mm,mm,mm,mm,mm,mm
    ... 1,0,10,20,1700,0,0,90
    ... 2,0,10,20,1690,0,0,90
    ... ''')
    >>> (nod,) = read(file)
    >>> nod.layout.joints, nod.fps, nod.joints[0, 0].round(6).tolist()
    (('head', 'left_ankle'), 100.0, [0.01, 1.7, -0.02])
    """
    lines = read_lines(path)
    program = _program(lines[:_MOST_HEADER])
    if program is None:
        raise FormatError(
            f"{path}, line 1: expected a table of Motive, Nexus, Qualisys or Visual3D"
        )
    headers = {"motive": _motive, "nexus": _nexus, "qualisys": _qualisys, "visual3d": _visual3d}
    header = headers[program](lines, path)
    if not header.points:
        raise FormatError(f"{path}: no point has a name; name the markers in {program} first")
    if len(header.points) > MAX_JOINTS:
        raise FormatError(f"{path}: more than {MAX_JOINTS} points")
    points = _points(lines, header, path)
    labels = [name for name, _ in header.points]
    up = marker_axis([(labels, points)]) or header.up
    found = marker_recordings(
        path, program, labels, points, unit=header.unit, fps=header.fps, up=up
    )
    return told(found, header.unit, up, unit_stated=header.unit_stated, up_stated=False)


def _cells(line: str, delimiter: str) -> list[str]:
    if '"' not in line:
        return [cell.strip() for cell in line.split(delimiter)]
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter), [])]
    except csv.Error:
        return []


def _points(lines: Sequence[str], header: Header, path: Path) -> np.ndarray:
    """(T, M, 3) the rows up to the first blank line."""
    rows = list(takewhile(lambda line: line.strip(f" {header.delimiter}"), lines[header.first :]))
    if not rows:
        raise FormatError(f"{path}: a header and no frames")
    check_room(path, len(rows), len(header.points), 3)
    width = max(column for _, column in header.points) + 3
    columns = [column + axis for _, column in header.points for axis in range(3)]
    points = np.empty((len(rows), len(columns)))
    for t, line in enumerate(rows):
        where = f"{path}, line {header.first + t + 1}"
        cells = _cells(line, header.delimiter)
        if len(cells) < width:
            cells += [""] * (width - len(cells) if header.delimiter == "," else 0)
            if len(cells) < width:
                raise FormatError(f"{where}: expected {width} columns, got {len(cells)}")
        points[t] = [number(cells[i], where) if cells[i] else np.nan for i in columns]
    return points.reshape(len(rows), -1, 3)


def _triplets(axes: Sequence[str]) -> Iterator[int]:
    """Columns of x that are followed by y and z."""
    plain = [axis.lower() for axis in axes]
    return (i for i in range(len(plain) - 2) if plain[i : i + 3] == ["x", "y", "z"])


def _motive(lines: Sequence[str], path: Path) -> Header:
    facts = _cells(lines[0], ",")
    stated = {key.lower(): value for key, value in zip(facts[::2], facts[1::2], strict=False)}
    first = next(
        (i for i, s in enumerate(lines[:_MOST_HEADER]) if s.lower().startswith("frame,")), 0
    )
    if not first:
        raise FormatError(f"{path}: no line that begins with Frame in the first {_MOST_HEADER}")
    above: dict[str, list[str]] = {}
    for line in lines[1:first]:
        cells = _cells(line, ",")
        key = (cells[1] if len(cells) > 1 else "").lower()
        above["values" if "position" in (cell.lower() for cell in cells) else key] = cells
    if not {"type", "name", "values"} <= above.keys():
        raise FormatError(f"{path}: expected lines with Type, Name and Position above the frames")
    kinds, names, values = (above[key] for key in ("type", "name", "values"))
    if stated.get("coordinate space", "global").lower() not in ("global", ""):
        raise FormatError(
            f"{path}: positions in local coordinates; export from Motive with Coordinate Space Global"
        )
    found: dict[str, list[tuple[str, int]]] = {}
    for column in _triplets(_cells(lines[first], ",")):
        if column < min(map(len, (kinds, names, values))) and values[column].lower() == "position":
            name = names[column]
            if name and not name.lower().startswith("unlabeled"):
                found.setdefault(kinds[column].lower(), []).append((name, column))
    kind = next((kind for kind in _MOTIVE if kind in found), next(iter(found), ""))
    word = stated.get("length units", "")
    unit = named_unit(word or "m", f"{path}, line 1")
    rate = stated.get("export frame rate") or stated.get("capture frame rate") or ""
    fps = float(rate) if _is_number(rate) else None
    return Header(first + 1, ",", found.get(kind, []), unit, fps, "y", bool(word))


def _nexus(lines: Sequence[str], path: Path) -> Header:
    start = next(
        (i for i, line in enumerate(lines) if line.strip(' ,"').lower() == "trajectories"), None
    )
    if start is None:
        raise FormatError(
            f"{path}: no section Trajectories; export the markers' trajectories from Nexus, since "
            "model outputs and devices are angles, forces and signals"
        )
    if len(lines) < start + 5:
        raise FormatError(f"{path}: cut off in its header")
    rate, names, axes, units = (_cells(lines[start + i], ",") for i in range(1, 5))
    points = [(names[i], i) for i in _triplets(axes) if i < len(names) and names[i]]
    word = next((word for word in units if word), "mm")
    fps = float(rate[0]) if _is_number(rate[0]) else None
    unit = named_unit(word, f"{path}, line {start + 5}")
    return Header(start + 5, ",", points, unit, fps, "z")


def _qualisys(lines: Sequence[str], path: Path) -> Header:
    stated: dict[str, list[str]] = {}
    first = 0
    for i, line in enumerate(lines[:_MOST_HEADER]):
        cells = _cells(line, "\t")
        if not re.fullmatch(r"[A-Z_]{3,40}", cells[0]):
            first = i
            break
        stated[cells[0]] = cells[1:]
    if "MARKER_NAMES" not in stated:
        kind = shorten((stated.get("DATA_INCLUDED") or ["no positions"])[0])
        raise FormatError(
            f"{path}: no MARKER_NAMES, but {kind}; export the markers as 3D data from Qualisys, "
            "since rigid bodies (6D) are rotations"
        )
    offset = 0
    if first and cells[0].lower() == "frame":
        first, offset = first + 1, sum(cell.lower() in ("frame", "time") for cell in cells[:2])
    elif first:  # numbers: x, y, z of each marker, perhaps after frame and time
        offset = max(len(cells) - 3 * len(stated["MARKER_NAMES"]), 0) % 3
    points = [(name, offset + 3 * i) for i, name in enumerate(stated["MARKER_NAMES"]) if name]
    rate = (stated.get("FREQUENCY") or [""])[0]
    fps = float(rate) if _is_number(rate) else None
    return Header(first or len(lines), "\t", points, "mm", fps, "z", False)


_POINTS = ("target", "landmark", "kinetic_kinematic", "position")  # types of positions in Visual3D


def _visual3d(lines: Sequence[str], path: Path) -> Header:
    rows = [_cells(line, "\t") for line in lines[:6]]
    at = next((i for i, row in enumerate(rows) if row[0].lower() == "item"), 0)
    if at < 3:
        raise FormatError(f"{path}, line {at + 1}: expected names, types and folders above ITEM")
    names, kinds, axes = rows[at - 3], rows[at - 2], rows[at]
    points = []
    for i in _triplets(axes):
        kind = kinds[i] if i < len(kinds) else ""
        if kind.lower() not in _POINTS:
            raise FormatError(
                f"{path}: the signal {shorten(names[i] if i < len(names) else '?')!r} is of type "
                f"{shorten(kind)}, no position; export TARGET or LANDMARK signals from Visual3D"
            )
        if i < len(names) and names[i]:
            points.append((names[i], i))
    return Header(at + 1, "\t", points, "m", None, "z", False)
