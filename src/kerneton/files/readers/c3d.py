"""C3D motion capture, of any processor type, with integers or floats.

Labelled points become joints; known labels are translated to the package's joint names. Unlabelled points
(``*12``) and the angles, forces, moments, powers and scalars that some programs store among the points are left out. A
point with residual -1, at NaN or exactly at the origin is missing: NaN with confidence 0. Coordinates become metres.
The vertical axis is that of POINT:Y_SCREEN; without it, it is detected from the labelled points, or else assumed to be z. Several
bodies, distinguished by ``name:`` before the labels, become several recordings. A last frame that is cut off is left out.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import FormatError
from kerneton.files.readers._c3d_file import C3dFile, parse
from kerneton.files.readers._markers import marker_axis, marker_sequence, named_unit, told
from kerneton.files.readers._text import MAX_JOINTS
from kerneton.files.readers._values import check_room, read_bytes, valid_rate

NAMES_JOINTS, STATES = True, {"unit": None, "up": None}
_NOT_POINTS = ("ANGLES", "FORCES", "MOMENTS", "POWERS", "SCALARS")
_BODY = 3  # labels that make a prefix a body of its own


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001
    """Whether the second byte is 0x50 and the parameters, at the place in the first byte, have a processor type."""
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
    bodies = _bodies(labels)
    points = [([labels[i] for i in members], file.points[:, members]) for members in bodies.values()]
    up = _up(file) or marker_axis(points) or "z"
    sequences = []
    for body, (kept, own) in zip(bodies, points, strict=True):
        if len(kept) > MAX_JOINTS:
            raise FormatError(f"{path}: {len(kept)} points, at most {MAX_JOINTS} are read")
        sequence = marker_sequence(path, "c3d", kept, own, unit=unit, fps=fps, up=up)
        if len(bodies) > 1:
            sequence = sequence.replace(name=f"{path.stem}-{body}", subject=body)
        sequences.append(sequence)
    return told(sequences, unit, up, unit_stated=bool(stated), up_stated=_up(file) is not None)


def _labels(file: C3dFile) -> list[str]:
    """A label per point, empty for points that have none or are not points."""
    n_points = file.points.shape[1]
    found: list[str] = []
    for name in ("LABELS", *(f"LABELS{i}" for i in range(2, 260))):  # one parameter holds at most 255
        if f"POINT:{name}" not in file.parameters:
            break
        found += file.words(f"POINT:{name}")
    quantities = {word for name in _NOT_POINTS for word in file.words(f"POINT:{name}")}
    labels = ["" if label.startswith("*") or label in quantities else label for label in found[:n_points]]
    if not any(labels):
        return [f"point{i + 1}" for i in range(n_points)]
    return labels + [""] * (n_points - len(labels))


def _up(file: C3dFile) -> str | None:
    declared = file.text("POINT:Y_SCREEN").lower().lstrip("+")
    return declared if declared in ("x", "-x", "y", "-y", "z", "-z") else None


def _bodies(labels: list[str]) -> dict[str, list[int]]:
    """Positions of the labelled points of each body; one body if prefixes do not separate them."""
    prefixes: dict[str, list[int]] = {}
    for i, label in enumerate(labels):
        if label:
            prefixes.setdefault(label.rpartition(":")[0], []).append(i)
    bodies = {prefix: members for prefix, members in prefixes.items() if prefix and len(members) >= _BODY}
    return bodies if len(bodies) > 1 else {"": [i for i, label in enumerate(labels) if label]}
