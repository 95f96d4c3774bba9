"""OpenPose keypoints: a folder with one ``*_keypoints.json`` per frame, or one JSON file.

The keypoints are **two-dimensional**: x and y are pixels and **z is zero** for every joint, unless
the files contain ``pose_keypoints_3d``. They are rotated by 180 degrees about z, so that x points
left and y up. BODY_25 and the COCO model are distinguished by their number of points, 25 or 18.
Keypoints that OpenPose did not find are NaN with confidence 0. If several people are in the
picture, the most confident one is tracked through the frames.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from kerneton.data.layouts import OPENPOSE_25, Layout, chains
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import FormatError, MissingDataError
from kerneton.files.readers import FRAME_ENDING
from kerneton.files.readers._keypoints import (
    COPIES,
    LOG,
    follow,
    frame_rate,
    is_json,
    load_json,
    natural_order,
    number_array,
    picture_sequence,
)
from kerneton.files.readers._values import check_room

OPENPOSE_18 = Layout(
    "openpose18",
    [joint for joint in OPENPOSE_25.joints if not joint.endswith(("hip_center", "toe", "heel"))],
    chains(
        "neck nose",
        "nose *_eye *_ear",
        "neck *_shoulder *_elbow *_wrist",
        "neck *_hip *_knee *_ankle",
    ),
    root="neck",
)
STATES = {"up": "-y"}
_LAYOUTS = {25: OPENPOSE_25, 18: OPENPOSE_18}


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001
    """Whether a JSON file contains people; folders are recognised before."""
    return is_json(head) and b'"people"' in head


def read(path: Path) -> list[SkeletonSequence]:
    """The recording of a folder or file of OpenPose keypoints; z is zero."""
    fps = None
    if path.is_dir():
        frames = [(file, load_json(file)) for file in _frame_files(path)]
        name = path.name
    else:
        document = load_json(path)
        name, fps = path.stem.removesuffix("_keypoints"), frame_rate(document)
        if isinstance(document, dict) and "people" not in document:
            document = document.get("frames")
        documents = document if isinstance(document, list) else [document]
        frames = [(path, frame) for frame in documents]
    people = [_people(frame, file, t) for t, (file, frame) in enumerate(frames)]
    sizes = {len(person) for frame in people for person in frame}
    if not sizes:
        raise FormatError(f"{path}: {len(people)} frames, but no person in any of them")
    if len(sizes) > 1:
        raise FormatError(
            f"{path}: people with {' and with '.join(map(str, sorted(sizes)))} keypoints"
        )
    (size,) = sizes
    check_room(path, len(people), size, COPIES)
    if not any(person[:, 2].any() for frame in people for person in frame):
        LOG.info("%s: OpenPose keypoints are two-dimensional, z is zero", path)
    if crowd := max(len(frame) for frame in people) - 1:
        LOG.info("%s: up to %d more people in the picture were left out", path, crowd)
    return [picture_sequence(path, follow(people, size), _LAYOUTS[size], name=name, fps=fps)]


def _frame_files(path: Path) -> list[Path]:
    try:
        files = [file for file in path.iterdir() if file.name.endswith(FRAME_ENDING)]
    except OSError as error:
        raise MissingDataError(f"{path}: cannot be read: {error.strerror}") from error
    if not files:
        raise FormatError(f"{path}: no *{FRAME_ENDING} in this folder")
    return sorted(files, key=lambda file: natural_order(file.name))


def _people(frame: Any, file: Path, t: int) -> list[np.ndarray]:
    """Keypoints (J, 4) of each person: x, y, z, confidence."""
    if isinstance(frame, dict) and frame.get("people") == []:
        return []
    where = f"{file}, frame {t}"
    if not isinstance(frame, dict) or not isinstance(frame.get("people"), list):
        raise FormatError(f"{where}: expected an object with a list 'people'")
    found = []
    for person in frame["people"]:
        if not isinstance(person, dict):
            raise FormatError(f"{where}: expected a person as an object")
        solid = person.get("pose_keypoints_3d") or []
        flat = person.get("pose_keypoints_2d", person.get("pose_keypoints", []))
        values = number_array(solid or flat, where)
        width = 4 if solid else 3
        if values.size == 0:
            continue  # a face or a hand without a body
        if values.ndim != 1 or values.size % width or values.size // width not in _LAYOUTS:
            expected = f"{width} x 25 or {width} x 18 numbers per person"
            raise FormatError(f"{where}: expected {expected}, got an array of shape {values.shape}")
        points = values.reshape(-1, width)
        if not solid:
            points = np.insert(points, 2, 0.0, axis=1)
        found.append(points)
    return found
