"""Bodies in JSON: Azure Kinect, ZED, ARKit and Vision Pro, and others with joints by name.

**Azure Kinect**: what ``offline_processor`` of the body tracking SDK writes (``frames``,
``bodies``, ``joint_positions``), in millimetres with y down. **ZED**: ``body_list`` or
``object_list`` with ``keypoint`` of 18, 34 or 38 points. **Others**, such as recorders for ARKit
and Vision Pro: a list of frames, at the top or in ``frames``, each with joints by name whose values
are ``[x, y, z]``, ``{"x": ..., "y": ..., "z": ...}`` or a transform of 4 × 4 numbers (columns, or
rows with the last 0 0 0 1), or with a list of joints that have a ``name`` and a ``position`` or
``transform``. Rotations are left out. Two bodies that share half of the frames become a pair.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kerneton.data.layouts import Layout
from kerneton.data.sequence import Conventions, SkeletonSequence
from kerneton.data.stated import Recordings
from kerneton.data.units import UNITS, turn_up
from kerneton.exceptions import FormatError
from kerneton.files.readers._keypoints import frame_rate, is_json, load_json, number_array
from kerneton.files.readers._names import joint_names, layout_of_names
from kerneton.files.readers._text import MAX_JOINTS, shorten
from kerneton.files.readers._values import check_room, file_budget

NAMES_JOINTS, STATES = True, {"unit": None, "up": None}
_FRAMES = ("frames", "data", "recording", "poses", "samples")
_BODIES = ("bodies", "body_list", "object_list", "persons", "skeletons")
_JOINTS = ("joints", "bodyjoints", "body_joints", "jointpositions", "joint_transforms", "skeleton",
           "body", "transforms")  # fmt: skip
_TIMES = {"timestamp_usec": 1e-6, "timestamp": None, "time": None, "t": None, "timestamp_ns": 1e-9}
_DEPTH = 6
_NOT_JOINTS = ("timestamp", "time", "frame", "id", "is_tracked", "confidence")
_LIMB = ("clavicle", "shoulder", "elbow", "wrist")
_LEG = ("hip", "knee", "ankle")


def _sides(parts: tuple[str, ...], sides: tuple[str, ...] = ("left", "right")) -> list[str]:
    return [f"{side}_{part}" for part in parts for side in sides]


_ZED = {
    18: ["nose", "neck", *(f"right_{p}" for p in _LIMB[1:]), *(f"left_{p}" for p in _LIMB[1:]),
         *(f"right_{p}" for p in _LEG), *(f"left_{p}" for p in _LEG),
         "right_eye", "left_eye", "right_ear", "left_ear"],
    34: ["pelvis", "naval_spine", "chest_spine", "neck",
         *(f"{s}_{p}" for s in ("left", "right") for p in (*_LIMB, "hand", "handtip", "thumb")),
         *(f"{s}_{p}" for s in ("left", "right") for p in (*_LEG, "foot")),
         "head", "nose", "left_eye", "left_ear", "right_eye", "right_ear", "left_heel", "right_heel"],
    38: ["pelvis", "spine_1", "spine_2", "spine_3", "neck", "nose",
         *_sides(("eye", "ear", *_LIMB, *_LEG, "big_toe", "small_toe", "heel")),
         *_sides(("hand_thumb_4", "hand_index_1", "hand_middle_4", "hand_pinky_1"))],
}  # fmt: skip


@dataclass
class _Body:
    """One body through the frames."""

    names: list[str]
    frames: list[int] = field(default_factory=list)
    points: list[np.ndarray] = field(default_factory=list)  # (J, 4)


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001
    """Whether a JSON file contains bodies or joints as one of the programs writes them."""
    if not is_json(head):
        return False
    small = head.lower()
    return any(
        mark in small
        for mark in (b'"joint_positions"', b'"body_list"', b'"object_list"', b'"joints"',
                     b'"bodyjoints"', b'"transform"', b'_joint"', b'"hips"', b'"joint_transforms"')
    )  # fmt: skip


def read(path: Path) -> list[SkeletonSequence]:
    """The recordings of a file, one per body or a pair.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "nod.json"
    >>> _ = file.write_text(
    ...     '[{"time": 0, "joints": {"head": [0, 1.7, 2], "root": [0, 1, 2]}},'
    ...     ' {"time": 0.1, "joints": {"head": [0, 1.6, 2], "root": [0, 1, 2]}}]'
    ... )
    >>> (nod,) = read(file)
    >>> nod.layout.joints, nod.fps
    (('head', 'hip_center'), 10.0)
    """
    from kerneton.files.readers.csv_table import joined_bodies, rate_of

    document = load_json(path)
    frames = list(_frames(document))
    azure = document.get("joint_names") if isinstance(document, dict) else None
    bodies: dict[str, _Body] = {}
    times, budget = [], file_budget(path)
    for t, frame in enumerate(frames):
        where = f"{path}, frame {t}"
        times.append(_time(frame))
        for key, names, points in _found(frame, azure, where):
            body = bodies.setdefault(key, _Body(names))
            budget.take(points.nbytes + 300)
            if names != body.names:
                points = _in_order(points, names, body.names)
            body.frames.append(t)
            body.points.append(points)
    if not bodies:
        raise FormatError(
            f"{path}: {len(frames)} frames, but no joints with positions in any of them"
        )
    taken = Conventions("mm", "-y", stated=("unit", "up")) if azure else None
    fps = frame_rate(document) or rate_of(np.array([np.nan if t is None else t for t in times]))
    made, at = {}, {}
    for key, body in bodies.items():
        points = np.array(body.points)
        check_room(path, len(points), points.shape[1], 3)
        joints = points[..., :3].copy()
        if taken is not None:
            joints = turn_up(joints, "-y") * UNITS["mm"]
        gone = np.isnan(joints).any(axis=2) | ~(points[..., 3] > 0)
        joints[gone] = np.nan
        trust = np.where(gone, 0.0, points[..., 3])
        made["", key] = SkeletonSequence(
            joints,
            None if (trust == 1).all() else np.clip(trust, 0, 1),
            layout=_layout(body.names),
            name=path.stem,
            fps=fps,
        )
        at["", key] = [str(t) for t in body.frames]
    found = list(joined_bodies(made, at, "body", path))
    return found if taken is None else Recordings(found, taken)


def _layout(names: list[str]) -> Layout:
    joints = joint_names([re.sub(r"(?i)_joint$", "", name) for name in names])
    return layout_of_names("named", joints, names)


def _frames(document: Any, depth: int = _DEPTH) -> Iterator[dict[str, Any]]:
    """The frames of a document: a list of objects, or the values of an object by time."""
    if isinstance(document, list):
        yield from (frame for frame in document if isinstance(frame, dict))
        return
    if not isinstance(document, dict) or not depth:
        return
    inner = next((document[k] for k in document if str(k).lower() in _FRAMES), None)
    if isinstance(inner, (list, dict)):
        yield from _frames(inner, depth - 1)
    elif (
        document and all(isinstance(v, dict) for v in document.values()) and not _is_frame(document)
    ):
        numbers = all(re.fullmatch(r"\d{1,20}(\.\d{1,20})?", str(key)) for key in document)
        yield from (document[key] for key in (sorted(document, key=float) if numbers else document))
    else:
        yield document


def _is_frame(value: dict[str, Any]) -> bool:
    return any(str(key).lower() in (*_BODIES, *_JOINTS) for key in value)


def _time(frame: dict[str, Any]) -> float | None:
    for key, unit in _TIMES.items():
        value = frame.get(key)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e20:
            return float(value) * (unit or 1.0)
    return None


def _found(
    frame: dict[str, Any], azure: Any, where: str
) -> Iterator[tuple[str, list[str], np.ndarray]]:
    """Name, joints and (J, 4) of each body of a frame."""
    lists = [frame[key] for key in frame if str(key).lower() in _BODIES]
    people = lists[0] if lists and isinstance(lists[0], list) else [frame]
    for i, person in enumerate(people):
        if not isinstance(person, dict):
            raise FormatError(f"{where}: expected a body as an object")
        key = str(person.get("body_id", person.get("id", person.get("unique_object_id", i))))
        if "joint_positions" in person:
            points = _positions(person["joint_positions"], where)
            names = [str(name) for name in azure] if isinstance(azure, list) else []
            yield key, names if len(names) == len(points) else _numbered(points), _trusted(points)
        elif "keypoint" in person:
            points = _positions(person["keypoint"], where)
            if not len(points):
                continue
            names = _ZED.get(len(points)) or _numbered(points)
            trust = person.get("keypoint_confidence")
            yield key, names, _trusted(points, trust, where, 100.0)
        elif (joints := _by_name(person)) is not None:
            named = list(_places(joints, where))
            if named:
                if len(named) > MAX_JOINTS:
                    raise FormatError(f"{where}: more than {MAX_JOINTS} joints")
                yield key, [name for name, _ in named], _trusted(np.array([p for _, p in named]))


def _numbered(points: np.ndarray) -> list[str]:
    return [f"joint_{i}" for i in range(len(points))]


def _positions(value: Any, where: str) -> np.ndarray:
    points = number_array(value, where)
    if points.ndim == 1 and points.size % 3 == 0:
        points = points.reshape(-1, 3)
    if points.ndim != 2 or points.shape[1] not in (2, 3) or len(points) > MAX_JOINTS:
        raise FormatError(f"{where}: expected x, y, z of each joint, got shape {points.shape}")
    return points if points.shape[1] == 3 else np.insert(points, 2, 0.0, axis=1)


def _trusted(
    points: np.ndarray, trust: Any = None, where: str = "", full: float = 1.0
) -> np.ndarray:
    """Points with a confidence in [0, 1]; ``full`` is the largest that the program gives."""
    if trust is None:
        return np.column_stack([points, np.ones(len(points))])
    given = number_array(trust, where)
    if given.shape != (len(points),):
        raise FormatError(f"{where}: {len(points)} joints, confidences of shape {given.shape}")
    largest = full if len(given) and np.nanmax(given, initial=0.0) > 1 else 1.0
    return np.column_stack([points, np.nan_to_num(np.clip(given / largest, 0, 1))])


def _by_name(person: dict[str, Any], depth: int = _DEPTH) -> Any:
    """What holds the joints of a body: an object by names, or a list of named joints."""
    inner = next((person[k] for k in person if str(k).lower() in _JOINTS), None)
    if isinstance(inner, dict) and depth and _is_frame(inner):
        return _by_name(inner, depth - 1)
    return inner if isinstance(inner, (dict, list)) else person


def _places(joints: Any, where: str) -> Iterator[tuple[str, np.ndarray]]:
    """Names and positions; what has none, such as times and rotations, is passed over."""
    if isinstance(joints, dict):
        pairs = list(joints.items())
    else:
        named = [joint for joint in joints if isinstance(joint, dict)]
        names = (joint.get("name", joint.get("joint", joint.get("jointName"))) for joint in named)
        pairs = [
            (name, joint) for name, joint in zip(names, named, strict=True) if name is not None
        ]
    for name, value in pairs:
        if str(name).lower() in _NOT_JOINTS:
            continue
        if (place := _place(value, f"{where}, {shorten(str(name))}")) is not None:
            yield str(name), place


def _place(value: Any, where: str, depth: int = _DEPTH) -> np.ndarray | None:
    """The position in a value: coordinates, or the translation of a transform."""
    if isinstance(value, dict):
        if {"x", "y", "z"} <= value.keys():
            if "w" in value:  # a quaternion
                return None
            return number_array([value["x"], value["y"], value["z"]], where)
        for key in ("position", "translation", "transform", "location", "world_position"):
            if key in value and depth:
                return _place(value[key], where, depth - 1)
        return None
    if not isinstance(value, list) or len(value) not in (3, 4, 16):
        return None
    if len(value) == 4 and not isinstance(value[0], list):  # a quaternion
        return None
    array = number_array(value, where)
    if array.shape == (16,):
        array = array.reshape(4, 4)  # by columns: the last is the translation
    if array.shape == (4, 4):
        rows = np.allclose(array[3], [0, 0, 0, 1]) and not np.allclose(array[:3, 3], 0)
        return array[:3, 3] if rows else array[3, :3]
    return array if array.shape == (3,) else None


def _in_order(points: np.ndarray, names: list[str], wanted: list[str]) -> np.ndarray:
    """Points in the order of the first frame; joints that a frame lacks are missing."""
    place = {name: i for i, name in enumerate(names)}
    out = np.full((len(wanted), 4), np.nan)
    out[:, 3] = 0
    for i, name in enumerate(wanted):
        if name in place:
            out[i] = points[place[name]]
    return out
