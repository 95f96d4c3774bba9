"""TRC marker trajectories, as Motion Analysis, OpenSim and Pose2Sim write them.

The file has five header lines, then one row per frame: number, time, three coordinates per marker.
Coordinates become metres. Markers become joints; known labels are translated to the package's joint
names. A blank or NaN field, or a point exactly at the origin, is a missing point: NaN with
confidence 0. Points without a name, which some programs append to the rows, are left out. y is
assumed to point up, as in OpenSim's files; if the labels show that the body stands along z instead,
it is rotated. Files written by Kerneton state the vertical axis (``UpAxis``).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kerneton.data.layouts import plain_layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.data.units import AXES
from kerneton.exceptions import FormatError, ParameterError
from kerneton.files.output import write_text
from kerneton.files.readers._markers import marker_axis, marker_sequence, named_unit, told
from kerneton.files.readers._text import MAX_JOINTS, shorten
from kerneton.files.readers._values import check_room, number, read_lines, whole_number

WRITES = (".trc",)
NAMES_JOINTS, STATES = True, {"unit": None, "up": None}
_HEADER = 5  # lines before the first frame


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001
    """Whether the file starts with the word PathFileType."""
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()[:12].lower() == b"pathfiletype"


def read(path: Path) -> list[SkeletonSequence]:
    """The one recording of a TRC file.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "step.trc"
    >>> _ = file.write_text('''PathFileType\\t4\\t(X/Y/Z)\\tstep.trc
    ... DataRate\\tCameraRate\\tNumFrames\\tNumMarkers\\tUnits
    ... 100\\t100\\t2\\t2\\tmm
    ... Frame#\\tTime\\tLKnee\\t\\t\\tLAnkle\\t\\t
    ... \\t\\tX1\\tY1\\tZ1\\tX2\\tY2\\tZ2
    ... 1\\t0.00\\t10\\t500\\t0\\t20\\t90\\t0
    ... 2\\t0.01\\t11\\t500\\t0\\t\\t\\t''')
    >>> (recording,) = read(file)
    >>> recording.layout.joints, recording.fps
    (('left_knee', 'left_ankle'), 100.0)
    >>> recording.joints[:, 1].tolist(), recording.confidence[:, 1].tolist()
    ([[0.02, 0.09, 0.0], [nan, nan, nan]], [1.0, 0.0])
    """
    lines = read_lines(path)
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines or not lines[0].strip().lower().startswith("pathfiletype"):
        raise FormatError(f"{path}, line 1: expected PathFileType")
    if len(lines) <= _HEADER:
        raise FormatError(
            f"{path}: {len(lines)} lines; expected {_HEADER} of header and then the frames"
        )
    header = dict(zip(lines[1].lower().split(), lines[2].split(), strict=False))
    fields = ("datarate", "numframes", "nummarkers", "units")
    if missing := [name for name in fields if name not in header]:
        raise FormatError(f"{path}, lines 2 and 3: the header lacks {', '.join(missing)}")
    rate = number(header["datarate"], f"{path}, line 3")
    n_frames = whole_number(header["numframes"], f"{path}, line 3", "number of frames")
    whole_number(header["nummarkers"], f"{path}, line 3", "number of markers")
    labels = _labels(path, lines[3])
    check_room(path, n_frames, len(labels))
    points = _points(path, lines, n_frames, len(labels))
    unit = named_unit(header["units"], f"{path}, line 3")
    axis = header.get("upaxis", "").lower()
    if axis not in ("", *AXES):
        raise FormatError(
            f"{path}, line 3: expected the axis that points up, such as Y, got {shorten(axis)!r}"
        )
    up = axis or marker_axis([(labels, points)]) or "y"
    sequence = marker_sequence(
        path, "trc", labels, points, unit=unit, fps=rate if rate > 0 else None, up=up
    )
    return told([sequence], unit, up, unit_stated=True, up_stated=bool(axis))


def _labels(path: Path, line: str) -> list[str]:
    """The names of the markers; their count in the header is not used, since it may include unnamed
    points.
    """
    words = [word.strip() for word in line.split("\t")] if "\t" in line.strip() else line.split()
    labels = [word for word in words[2:] if word]
    if not labels:
        raise FormatError(
            f"{path}, line 4: no marker has a name, so the points cannot be identified; "
            "name the markers in the software that wrote the file"
        )
    if len(labels) > MAX_JOINTS:
        raise FormatError(f"{path}, line 4: more than {MAX_JOINTS} markers")
    return labels


def _points(path: Path, lines: list[str], n_frames: int, n_markers: int) -> np.ndarray:
    """Coordinates (T, M, 3) of the rows that are not blank."""
    rows = [(i, line) for i, line in enumerate(lines[_HEADER:], start=_HEADER + 1) if line.strip()]
    if len(rows) != n_frames or not rows:
        raise FormatError(
            f"{path}: the header states {n_frames} frames, but the file contains {len(rows)}"
        )
    points = np.empty((n_frames, n_markers, 3))
    for t, (i, line) in enumerate(rows):
        points[t] = _row(f"{path}, line {i}", line, 2 + 3 * n_markers)[2:].reshape(n_markers, 3)
    return points


def _row(where: str, line: str, width: int) -> np.ndarray:
    """The fields of the named markers; unnamed points that follow them, three fields each, are left
    out.
    """
    tabs = "\t" in line
    cells = [cell.strip() or "nan" for cell in line.split("\t")] if tabs else line.split()
    if tabs:  # writers differ in how many blanks end a row
        while len(cells) > width and cells[-1] == "nan":
            cells.pop()
        cells += ["nan"] * (width - len(cells))
    unnamed = cells[width:]
    if len(cells) < width or (unnamed and (not tabs or _broken(unnamed))):
        raise FormatError(f"{where}: expected {width} fields, got {len(cells)}")
    try:
        return np.array(cells[:width], dtype=np.float64)
    except ValueError:
        return np.array([number(cell, where) for cell in cells[:width]])


def _broken(cells: list[str]) -> bool:
    """Whether fields are incomplete points: a point has all three coordinates or none."""
    points = [cells[i : i + 3] for i in range(0, len(cells), 3)]
    return any(
        point.count("nan") > 0 or len(point) < 3 for point in points if set(point) != {"nan"}
    )


def write(sequences: Sequence[SkeletonSequence], path: Path) -> None:
    """Write one recording in metres; fields of missing joints stay blank."""
    if len(sequences) != 1:
        raise ParameterError(
            f"{path}: a TRC file can contain only one recording, got {len(sequences)}"
        )
    (sequence,) = sequences
    fps, T, J = sequence.fps or 30.0, sequence.n_frames, sequence.n_joints
    names = (sequence.layout or plain_layout(J)).joints
    missing = np.isnan(sequence.joints).any(axis=2)
    if sequence.confidence is not None:
        missing = missing | (sequence.confidence == 0)
    lines = [
        f"PathFileType\t4\t(X/Y/Z)\t{Path(path).name}",
        "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame"
        "\tOrigNumFrames\tUpAxis",
        f"{fps:g}\t{fps:g}\t{T}\t{J}\tm\t{fps:g}\t1\t{T}\tY",
        "Frame#\tTime\t" + "\t\t\t".join(names) + "\t\t",
        "\t\t" + "\t".join(f"{axis}{j + 1}" for j in range(J) for axis in "XYZ"),
        "",
    ]
    for t, frame in enumerate(sequence.joints):
        points = zip(frame, missing[t], strict=True)
        cells = ["\t\t" if gone else "\t".join(f"{v:.9g}" for v in point) for point, gone in points]
        lines.append("\t".join([str(t + 1), f"{t / fps:.6f}", *cells]))
    write_text(path, "\n".join(lines) + "\n")
