"""OpenSim storage files (``.sto``, ``.mot``) with positions; joint angles and forces are refused.

Read are markers or bodies as triples of numbers (``DataType=Vec3``) and the positions that Body
Kinematics writes (``pelvis_X``, ``pelvis_Y``, ``pelvis_Z``, whose rotations ``pelvis_Ox`` are left
out). Metres unless the bodies show otherwise; y points up, as in OpenSim. The frame rate is that of
the times.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import FormatError
from kerneton.files.readers._markers import marker_axis, marker_recordings, told
from kerneton.files.readers._text import MAX_JOINTS, shorten
from kerneton.files.readers._values import check_room, number, read_lines

NAMES_JOINTS, STATES = True, {"unit": None, "up": None}
_MOST_HEADER = 200
_PLACE = re.compile(r"(.+?)[_.]?([XYZ])|(.+)[_.]([xyz])")
_ANGLES = re.compile(
    r".*(flexion|adduction|rotation|_tilt|_list|bending|angle|pro_sup|deviation|obliquity).*"
)
_WAY = (
    "run Body Kinematics in OpenSim's Analyze tool and read its positions (..._pos_global.sto), or "
    "read the .trc file of the markers"
)


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001
    """Whether the header ends with the word that OpenSim writes."""
    return re.search(rb"(?im)^\s*endheader\s*$", head) is not None


def read(path: Path) -> list[SkeletonSequence]:
    """The recordings of a storage file.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "nod.sto"
    >>> _ = file.write_text('''Positions
    ... version=1
    ... endheader
    ... time\\thead_X\\thead_Y\\thead_Z\\thead_Ox
    ... 0.00\\t0.1\\t1.7\\t0.2\\t90
    ... 0.01\\t0.1\\t1.6\\t0.2\\t90
    ... ''')
    >>> read(file)[0].joints[1, 0].tolist(), read(file)[0].fps
    ([0.1, 1.6, 0.2], 100.0)
    """
    lines = [line.strip() for line in read_lines(path)]
    end = next((i for i, s in enumerate(lines[:_MOST_HEADER]) if s.lower() == "endheader"), None)
    if end is None or end + 1 >= len(lines):
        raise FormatError(f"{path}: no rows after a header that ends with endheader")
    header = {line.lower().replace(" ", "") for line in lines[:end]}
    title = lines[0].lower()
    if any(word in title for word in ("velocit", "accelerat", "force", "moment")):
        raise FormatError(f"{path}: {shorten(lines[0])}, not positions; {_WAY}")
    labels = lines[end + 1].split("\t") if "\t" in lines[end + 1] else lines[end + 1].split()
    rows = [(i, line) for i, line in enumerate(lines[end + 2 :], start=end + 3) if line]
    if not rows:
        raise FormatError(f"{path}: a header and no rows")
    if "datatype=vec3" in header:
        names, columns = labels[1:], [[i] for i in range(1, len(labels))]
    else:
        names, columns = _places(labels, path)
    if not names or len(names) > MAX_JOINTS:
        raise FormatError(f"{path}: {len(names)} points; expected 1 to {MAX_JOINTS}")
    check_room(path, len(rows), len(names), 4)
    times, points = np.empty(len(rows)), np.empty((len(rows), len(names), 3))
    for t, (i, line) in enumerate(rows):
        where = f"{path}, line {i}"
        cells = line.split("\t") if "\t" in line else line.split()
        if len(cells) != len(labels):
            raise FormatError(f"{where}: expected {len(labels)} columns, got {len(cells)}")
        times[t] = number(cells[0], where)
        for j, own in enumerate(columns):
            words = cells[own[0]].split(",") if len(own) == 1 else [cells[k] for k in own]
            if len(words) != 3:
                raise FormatError(f"{where}: expected x,y,z of {shorten(names[j])!r}")
            points[t, j] = [number(word.strip(), where) for word in words]
    up = marker_axis([(names, points)]) or "y"
    found = marker_recordings(path, "opensim", names, points, unit="m", fps=_rate(times), up=up)
    return told(found, "m", up, unit_stated=False, up_stated=False)


def _places(labels: list[str], path: Path) -> tuple[list[str], list[list[int]]]:
    """Names and columns of the points that have x, y and z."""
    points: dict[str, dict[str, int]] = {}
    for i, label in enumerate(labels[1:], start=1):
        if found := _PLACE.fullmatch(label.strip()):
            name, axis = found[1] or found[3], (found[2] or found[4]).lower()
            points.setdefault(name, {})[axis] = i
    whole = {name: axes for name, axes in points.items() if {"x", "y", "z"} <= axes.keys()}
    whole = {name: axes for name, axes in whole.items() if not re.search(r"(?i)force|torque", name)}
    if whole:
        return list(whole), [[axes[axis] for axis in "xyz"] for axes in whole.values()]
    shown = shorten(", ".join(labels[1:5]), 80)
    kind = "joint angles" if any(_ANGLES.fullmatch(s.lower()) for s in labels) else "no positions"
    raise FormatError(f"{path}: {kind} ({shown}, ...), but positions of joints are needed; {_WAY}")


def _rate(times: np.ndarray) -> float | None:
    steps = np.diff(times)
    step = float(np.median(steps)) if len(steps) else 0.0
    return round(1 / step, 3) if 1e-4 < step < 1 else None
