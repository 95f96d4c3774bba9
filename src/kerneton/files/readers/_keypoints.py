"""What readers of pose estimators share: JSON within limits, one person among several, axes of
pictures.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kerneton.data.layouts import Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import FormatError
from kerneton.files.readers._values import FLOOR, check_values, read_bytes, valid_rate

LOG = logging.getLogger("kerneton.files.readers")
COPIES = (
    4  # of the coordinates, while one person is followed and turned upright: 71 bytes a keypoint
)
_JSON_LIMIT = 1 << 27  # bytes; as Python objects, JSON takes about ten times its size
_JSON_FACTOR = 16  # largest ratio of memory to text, in addition to the floor of the budget


def is_json(head: bytes) -> bool:
    """Whether a file starts like a JSON object or list."""
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")


def load_json(path: Path) -> Any:
    """The content of a JSON file; the error names the line."""
    content = read_bytes(path)
    if len(content) > _JSON_LIMIT:
        raise FormatError(
            f"{path}: {len(content) >> 20} MiB of JSON; at most {_JSON_LIMIT >> 20} are read"
        )
    cost = 64 * content.count(b"[") + 240 * content.count(b"{") + 32 * content.count(b",")
    if cost > FLOOR + _JSON_FACTOR * len(content):
        raise FormatError(
            f"{path}: {len(content)} bytes of JSON that would need {cost >> 20} MiB of memory; "
            "a recording contains numbers, but this file contains empty lists"
        )
    try:
        return json.loads(content)
    except json.JSONDecodeError as error:
        raise FormatError(f"{path}, line {error.lineno}: not JSON ({error.msg})") from None
    except (
        ValueError,
        RecursionError,
    ) as error:  # not text, numbers of many digits, thousands of brackets
        raise FormatError(f"{path}: not JSON ({type(error).__name__})") from None


def number_array(value: Any, where: str) -> np.ndarray:
    """A list of numbers, or of lists of numbers, as an array; null is NaN."""
    try:
        array = np.array(value, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        raise FormatError(f"{where}: expected a list of numbers") from None
    check_values(where, array, "keypoints")
    return array


def frame_rate(document: Any) -> float | None:
    """The frame rate that a JSON object states, if it does."""
    keys = ("fps", "frame_rate", "frameRate", "framerate") if isinstance(document, dict) else ()
    return next((rate for key in keys if (rate := valid_rate(document.get(key))) is not None), None)


def natural_order(name: str) -> list[tuple[int, int, str]]:
    """A sorting key by the numbers in a name: frame_9 before frame_10.

    >>> sorted(["f_10", "f_9", "e"], key=natural_order)
    ['e', 'f_9', 'f_10']
    """
    parts = re.split(r"([0-9]{1,18})", name)
    return [(1, int(part), "") if i % 2 else (0, 0, part) for i, part in enumerate(parts)]


def follow(people: Sequence[Sequence[np.ndarray]], n_joints: int) -> np.ndarray:
    """One person through frames with several, (T, J, 4): x, y, z, confidence; ``people`` are (J, 4)
    each.

    The most confident person of all frames is followed in both directions to the nearest person of
    the next frame. If the nearest is further away than the size of the body, the frame has nobody:
    NaN, confidence 0.

    >>> left = np.array([[0, 0, 0, 0.9], [0, 2, 0, 1]])
    >>> right = np.array([[9, 0, 0, 0.5], [9, 2, 0, 0.5]])
    >>> follow([[right, left], [left + 0.1], [right]], 2)[:, 0, 0]
    array([0. , 0.1, nan])
    """
    track = np.full((len(people), n_joints, 4), [np.nan] * 3 + [0])
    nobody = np.empty((0, n_joints, 4))  # shared by all frames without a person
    frames = [np.array(frame) if frame else nobody for frame in people]
    for frame in frames:
        frame[np.isnan(frame).any(axis=-1)] = [np.nan] * 3 + [0]
    scores = [frame[..., 3].mean(axis=1).max() if len(frame) else -1.0 for frame in frames]
    start = int(np.argmax(scores))
    if not len(frames[start]):
        return track
    first = frames[start][int(np.argmax(frames[start][..., 3].mean(axis=1)))]
    track[start] = first
    for numbers in (range(start + 1, len(frames)), range(start - 1, -1, -1)):
        last = first
        for t in numbers:
            nearest = _nearest(frames[t], last)
            if nearest is not None:
                track[t] = nearest
                last = np.where(nearest[:, 3:] > 0, nearest, last)  # where each joint was seen last
    return track


def _nearest(people: np.ndarray, last: np.ndarray) -> np.ndarray | None:
    seen = people[..., 3] > 0  # (P, J)
    known = last[last[:, 3] > 0, :3]
    if not len(known) or not seen.any():
        return None
    distances = np.full(len(people), np.inf)
    for i, person in enumerate(people):
        common = seen[i] & (last[:, 3] > 0)
        if common.any():
            distances[i] = np.linalg.norm(person[common, :3] - last[common, :3], axis=1).mean()
        elif seen[i].any():
            distances[i] = np.linalg.norm(person[seen[i], :3].mean(axis=0) - known.mean(axis=0))
    best = int(np.argmin(distances))
    return people[best] if distances[best] <= np.linalg.norm(np.ptp(known, axis=0)) else None


def picture_sequence(
    path: Path,
    keypoints: np.ndarray,
    layout: Layout,
    *,
    name: str | None = None,
    fps: float | None = None,
) -> SkeletonSequence:
    """A recording from keypoints (T, J, 4) in a picture's axes: x right, y down, z away, then
    confidence.

    A rotation by 180 degrees about z gives x left, y up, z away, which is right-handed. A keypoint
    without confidence is NaN.
    """
    missing = ~(keypoints[..., 3] > 0) | np.isnan(keypoints[..., :3]).any(axis=-1)
    joints = keypoints[..., :3] * [-1, -1, 1] + 0.0  # + 0.0 makes -0.0 plain
    joints[missing] = np.nan
    confidence = np.where(missing, 0, np.clip(keypoints[..., 3], 0, 1))
    if missing.all():
        raise FormatError(f"{path}: {len(keypoints)} frames, but no person in any of them")
    name = path.stem if name is None else name
    return SkeletonSequence(joints, confidence, layout=layout, name=name, fps=fps)
