"""MediaPipe pose landmarks: JSON and CSV exports with 33 landmarks per frame.

MediaPipe itself writes no files, so exports differ. Two kinds are read. JSON: a list of frames, at
the top level or in ``frames``; a frame is a list of the 33 landmarks (objects with x, y, z,
visibility, or lists of numbers in that order) or an object that contains them as ``landmarks``,
``pose_landmarks``, ``worldLandmarks`` or similar. Tables: columns such as ``nose_x``,
``LEFT_HIP.visibility``, ``x12``, ``v12``, or ``frame, landmark, x, y, z, visibility``. World
landmarks are in metres from the middle of the hips and are preferred if a file contains both kinds;
the others are fractions of the picture's width and height, and their aspect ratio is corrected if
the file states ``width`` and ``height``. Visibility becomes confidence. Coordinates are rotated so
that x points left and y up. If there are several people, the first is read.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from kerneton.data.layouts import MEDIAPIPE_33
from kerneton.data.mapping import map_layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import FormatError
from kerneton.files.readers import csv_table
from kerneton.files.readers._keypoints import (
    COPIES,
    LOG,
    frame_rate,
    is_json,
    load_json,
    number_array,
    picture_sequence,
)
from kerneton.files.readers._names import joint_names
from kerneton.files.readers._text import first_row, rows
from kerneton.files.readers._values import check_room, read_bytes

STATES = {"up": "-y"}
_N = len(MEDIAPIPE_33.joints)
_WORLD = ("poseworldlandmarks", "worldlandmarks")
_POSE = (
    *_WORLD,
    *(
        "poselandmarks",
        "landmarks",
        "landmark",
        "keypoints3d",
        "keypoints",
        "pose",
        "poses",
        "points",
    ),
)
_FRAMES = ("frames", "data", "results", "sequence")
_DEPTH = 8  # objects and lists around the landmarks of one frame
_VISIBLE = re.compile(r"(.*[a-z0-9][_.:/\s-]*)?(visibility|vis|v)([_.:/\s-]*[0-9]+)?")
_AXIS = re.compile(r"(?:^|[_.:/\s-])(x|y|z|v|vis|visibility|presence)(?:[_.:/\s-]*[0-9]+)?$")
_WORLD_COLUMN = re.compile(
    r"(pose[_.:/\s-]*)?world[_.:/\s-]*(landmarks?[_.:/\s-]*)?", re.IGNORECASE
)
_IDS = {"landmark", "landmark_id", "landmark_index", "landmark_name", "landmarkid", "landmarkindex"}


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001
    """Whether JSON contains landmarks or visibility, or a table has 33 columns of visibility or a
    landmark per row.
    """
    if is_json(head):
        return b"andmark" in head or b'"visibility"' in head
    cells = [cell.strip().lower() for cell in first_row(head)]
    if _IDS & set(cells):
        return {"x", "y", "visibility"} <= set(cells)
    return sum(_VISIBLE.fullmatch(cell) is not None for cell in cells if len(cell) < 80) in (
        _N,
        2 * _N,
    )


def read(path: Path) -> list[SkeletonSequence]:
    """The recordings of a file of pose landmarks."""
    return _read_json(path) if is_json(read_bytes(path)[:1000]) else _read_table(path)


def _read_table(path: Path) -> list[SkeletonSequence]:
    _, header = next(rows(path), (1, [""]))
    names = []
    world = any("world" in cell.lower() for cell in header)
    for i, cell in enumerate(header):
        name = cell.strip().strip('"')
        axis = _AXIS.search(name.lower())
        if axis and (axis[1] == "presence" or (world and "world" not in name.lower())):
            name = f"unused {i} column"
        names.append("joint" if name.lower() in _IDS else _WORLD_COLUMN.sub("", name))
    sequences = []
    for table in csv_table.read(path, columns=names):
        if table.layout is not None and set(MEDIAPIPE_33.joints) <= set(table.layout.joints):
            table = map_layout(table, MEDIAPIPE_33)
        if table.n_joints != _N:
            raise FormatError(f"{path}: expected {_N} landmarks, got {table.n_joints}")
        seen = np.ones(table.joints.shape[:2]) if table.confidence is None else table.confidence
        values = np.concatenate([table.joints, seen[..., None]], axis=2)
        turned = picture_sequence(path, values, MEDIAPIPE_33)
        fields = {"joints": turned.joints, "confidence": turned.confidence, "layout": MEDIAPIPE_33}
        sequences.append(table.replace(**fields))
    return sequences


def _read_json(path: Path) -> list[SkeletonSequence]:
    document = load_json(path)
    frames = _frames(document)
    check_room(path, len(frames), _N, COPIES)
    landmarks = np.full((len(frames), _N, 4), np.nan)
    for t, frame in enumerate(frames):
        found = _pose(frame, f"{path}, frame {t}", _DEPTH)
        if found is not None:
            landmarks[t] = found
    if _in_picture(landmarks):
        width, height = _size(document)
        landmarks[..., :3] *= [width / height, 1, width / height]
        if width == height == 1:
            LOG.info(
                "%s: landmarks are fractions of a picture whose size the file does not state", path
            )
    return [picture_sequence(path, landmarks, MEDIAPIPE_33, fps=frame_rate(document))]


def _in_picture(landmarks: np.ndarray) -> bool:
    """Whether these are fractions of a picture: world landmarks lie on both sides of zero."""
    seen = landmarks[~np.isnan(landmarks[..., 0]), :2]
    return (
        bool(len(seen))
        and bool((np.median(seen, axis=0) > 0.1).all())
        and bool(np.median(seen) < 1.5)
    )


def _size(document: Any) -> tuple[float, float]:
    if isinstance(document, dict):
        for pair in (
            ("width", "height"),
            ("image_width", "image_height"),
            ("imageWidth", "imageHeight"),
        ):
            size = [document.get(key) for key in pair]
            if all(isinstance(side, (int, float)) and 1 <= side < 1e6 for side in size):
                return float(size[0]), float(size[1])  # type: ignore[arg-type]
    return 1.0, 1.0


def _plain(key: Any) -> str:
    return re.sub(r"[^a-z0-9]", "", str(key).lower())


def _frames(document: Any, depth: int = _DEPTH) -> list[Any]:
    """The frames of a document: a list, an object that contains them, or one whose keys are their
    numbers.
    """
    if isinstance(document, dict):
        keys = {_plain(key): key for key in document}
        inner = next((document[keys[k]] for k in (*_FRAMES, *_POSE) if k in keys), None)
        if isinstance(inner, (list, dict)) and inner and depth:
            return _frames(inner, depth - 1)
        if document and all(re.fullmatch("[0-9]{1,15}", str(key)) for key in document):
            return [document[key] for key in sorted(document, key=int)]
        return [document]
    if isinstance(document, list) and not (document and _is_point(document[0])):
        return document
    return [document]


def _is_point(value: Any) -> bool:
    if isinstance(value, dict):
        return "x" in value and "y" in value
    return (
        isinstance(value, list) and 2 <= len(value) <= 5 and not isinstance(value[0], (list, dict))
    )


def _pose(value: Any, where: str, depth: int) -> np.ndarray | None:
    """Landmarks (33, 4) of the first person of a frame, None if there is nobody."""
    if value is None or value in ([], {}):
        return None
    if depth == 0:
        raise FormatError(f"{where}: no landmarks within {_DEPTH} levels of nesting")
    if isinstance(value, dict):
        keys = {_plain(key): key for key in value}
        inner = next((value[keys[k]] for k in _POSE if k in keys and value[keys[k]]), None)
        if inner is not None:
            return _pose(inner, where, depth - 1)
        if any(k in keys for k in _POSE):
            return None
        names = dict(zip(joint_names([str(key) for key in value]), value.values(), strict=True))
        if set(MEDIAPIPE_33.joints) <= set(names):
            return _points([names[joint] for joint in MEDIAPIPE_33.joints], where)
        keys_found = ", ".join(map(repr, list(value)[:5]))
        raise FormatError(f"{where}: expected landmarks, got an object with {keys_found}")
    if not isinstance(value, list):
        raise FormatError(f"{where}: expected a list of {_N} landmarks, got {type(value).__name__}")
    if not isinstance(value[0], (list, dict)) and len(value) in (3 * _N, 4 * _N, 5 * _N):
        value = number_array(value, where).reshape(_N, -1).tolist()
    return _points(value, where) if _is_point(value[0]) else _pose(value[0], where, depth - 1)


def _visibility(point: dict[str, Any]) -> Any:
    return point.get("visibility", point.get("score", point.get("presence", 1.0)))


def _points(landmarks: list[Any], where: str) -> np.ndarray:
    """x, y, z, visibility of each landmark."""
    if len(landmarks) != _N:
        raise FormatError(f"{where}: expected {_N} landmarks, got {len(landmarks)}")
    if all(isinstance(point, dict) for point in landmarks):
        landmarks = [[p.get("x"), p.get("y"), p.get("z", 0.0), _visibility(p)] for p in landmarks]
    points = number_array(landmarks, where)
    if points.ndim != 2 or not 2 <= points.shape[1] <= 5:
        raise FormatError(f"{where}: expected x, y, z, visibility of each landmark")
    full = np.tile([np.nan, np.nan, 0.0, 1.0], (_N, 1))
    full[:, : points.shape[1]] = points[:, :4]
    return full
