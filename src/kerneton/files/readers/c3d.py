"""C3D motion capture, read through the package ``c3d`` (pip install 'kerneton[c3d]').

That package is pure Python: a damaged file can at worst raise an error in it, where a compiled reader can end the
interpreter. Labelled points become joints, with names in the package's vocabulary where they are recognised; unlabelled
points (``*12``) and the angles, forces, moments, powers and scalars that some suites store among the points are left
out. A point with residual -1, at NaN or exactly at the origin is missing: NaN with confidence 0. Coordinates become
metres. The vertical axis is POINT:Y_SCREEN's; without it, what the labels show, and without those z, as is usual.
Several bodies, told apart by ``name:`` before the labels, give several recordings.
"""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import FormatError, import_extra
from kerneton.files.readers._markers import marker_sequence, unit_in_metres
from kerneton.files.readers._names import MAX_JOINTS
from kerneton.files.readers._values import check_room, read_bytes

_NOT_POINTS = ("ANGLES", "FORCES", "MOMENTS", "POWERS", "SCALARS")
_BODY = 3  # labels that make a prefix a body of its own


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001
    """Whether the second byte is C3D's 0x50 and the parameters begin, with a processor type, where the first says."""
    start = 512 * (head[0] - 1) if head else 0
    return (
        len(head) > 512
        and head[1] == 0x50
        and start > 0
        and head[start + 3 : start + 4] in (b"T", b"U", b"V")
    )


def read(path: Path) -> list[SkeletonSequence]:
    """The recordings of a C3D file, one a body."""
    path = Path(path)
    c3d = import_extra("c3d", extra="c3d", purpose="reading C3D files")
    # In memory, because a read beyond the end of a real file first allocates what was asked for.
    handle = io.BytesIO(read_bytes(path))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # the library warns of every field that a file may leave out
        try:
            reader = c3d.Reader(handle)
            points = _points(path, reader)
            labels = _labels(reader, points.shape[1])
            unit, up, rate = _text(reader, "UNITS") or "mm", _up(reader), float(reader.point_rate)
        except FormatError:
            raise
        except Exception as error:  # the library meets damage with whatever error comes first
            raise FormatError(f"{path}: damaged, or not C3D ({type(error).__name__}: {error})") from error
    scale = unit_in_metres(unit, f"{path}, POINT:UNITS")
    fps = rate if 0 < rate < 1e6 else None
    bodies = _bodies(labels)
    sequences = []
    for body, members in bodies.items():
        if len(members) > MAX_JOINTS:
            raise FormatError(f"{path}: {len(members)} points, at most {MAX_JOINTS} are read")
        kept = [labels[i] for i in members]
        sequence = marker_sequence(
            path, "c3d", kept, points[:, members], unit=scale, fps=fps, up=up, usual_up="z"
        )
        if len(bodies) > 1:
            sequence = sequence.replace(name=f"{path.stem}-{body}", subject=body)
        sequences.append(sequence)
    return sequences


def _points(path: Path, reader: Any) -> np.ndarray:
    """Coordinates (T, M, 3), NaN where the residual says that the point was not seen."""
    n_frames, n_points = int(reader.last_frame) - int(reader.first_frame) + 1, int(reader.point_used)
    if n_frames < 1 or n_points < 1:
        raise FormatError(f"{path}: {n_points} points in {max(n_frames, 0)} frames; needs one of each")
    check_room(path, n_frames, n_points)
    points = np.full((n_frames, n_points, 3), np.nan)
    t = 0
    for _, frame, _ in reader.read_frames(copy=False):
        seen = frame[:, 3] >= 0
        points[t, seen] = frame[seen, :3]
        t += 1
    if t != n_frames:
        raise FormatError(f"{path}: the header promises {n_frames} frames, the file holds {t}")
    return points


def _labels(reader: Any, n_points: int) -> list[str]:
    """A label a point, empty for points that have none or are not points."""
    found: list[str] = []
    for name in ("LABELS", *(f"LABELS{i}" for i in range(2, 260))):  # one parameter holds at most 255
        parameter = reader.get(f"POINT:{name}")
        if parameter is None:
            break
        found += _words(parameter)
    quantities = {
        word
        for name in _NOT_POINTS
        if (parameter := reader.get(f"POINT:{name}"))
        for word in _words(parameter)
    }
    labels = ["" if label.startswith("*") or label in quantities else label for label in found[:n_points]]
    if not any(labels):
        return [f"point{i + 1}" for i in range(n_points)]
    return labels + [""] * (n_points - len(labels))


def _words(parameter: Any) -> list[str]:
    """The words of a text parameter, sliced from its bytes: its dimensions are not to be trusted."""
    length = parameter.dimensions[0] if parameter.dimensions else 0
    if length < 1:
        return []
    content = bytes(parameter.bytes)
    words = (content[i : i + length] for i in range(0, len(content), length))
    return [word.decode("utf-8", "replace").strip(" \0") for word in words]


def _text(reader: Any, name: str) -> str:
    parameter = reader.get(f"POINT:{name}")
    return "" if parameter is None else bytes(parameter.bytes).decode("utf-8", "replace").strip(" \0")


def _up(reader: Any) -> str | None:
    declared = _text(reader, "Y_SCREEN").lower().lstrip("+")
    return declared if declared in ("x", "-x", "y", "-y", "z", "-z") else None


def _bodies(labels: list[str]) -> dict[str, list[int]]:
    """Positions of the labelled points of each body; one body where prefixes do not part them."""
    prefixes: dict[str, list[int]] = {}
    for i, label in enumerate(labels):
        if label:
            prefixes.setdefault(label.rpartition(":")[0], []).append(i)
    bodies = {prefix: members for prefix, members in prefixes.items() if prefix and len(members) >= _BODY}
    return bodies if len(bodies) > 1 else {"": [i for i, label in enumerate(labels) if label]}
