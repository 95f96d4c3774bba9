"""What pose estimators' files share: JSON within limits, one person among several, picture axes to ours."""

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
from kerneton.files.readers._values import FLOOR, check_values, read_bytes

LOG = logging.getLogger("kerneton.files.readers")
_JSON_LIMIT = 1 << 27  # bytes; as Python objects JSON takes about ten times its size
_JSON_FACTOR = 16  # and no more than this, beside the budget's floor


def is_json(head: bytes) -> bool:
    """Whether a file opens like a JSON object or list.

    >>> is_json(b' {"people": []}'), is_json(b"x,y")
    (True, False)
    """
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")


def load_json(path: Path) -> Any:
    """The content of a JSON file; the error names the line."""
    content = read_bytes(path)
    if len(content) > _JSON_LIMIT:
        raise FormatError(f"{path}: {len(content) >> 20} MiB of JSON; at most {_JSON_LIMIT >> 20} are read")
    _check_objects(content, path)
    try:
        return json.loads(content)
    except json.JSONDecodeError as error:
        raise FormatError(f"{path}, line {error.lineno}: not JSON ({error.msg})") from None
    except (ValueError, RecursionError) as error:  # not text, numbers of many digits, thousands of brackets
        raise FormatError(f"{path}: not JSON ({type(error).__name__})") from None


def _check_objects(content: bytes, path: Path) -> None:
    """Refuse JSON whose lists and objects would take far more memory than its text."""
    cost = 64 * content.count(b"[") + 240 * content.count(b"{") + 32 * content.count(b",")
    if cost > FLOOR + _JSON_FACTOR * len(content):
        raise FormatError(
            f"{path}: {len(content)} bytes of JSON that would need {cost >> 20} MiB of memory; "
            "a recording contains numbers, but this file contains empty lists"
        )


def number_array(value: Any, where: str) -> np.ndarray:
    """A list of numbers, or of lists of numbers, as an array; null is NaN.

    >>> number_array([[1, 2.5], [None, 0]], "a.json")
    array([[1. , 2.5], [nan, 0. ]])
    """
    try:
        array = np.array(value, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        raise FormatError(f"{where}: expected a list of numbers") from None
    check_values(where, array, "keypoints")
    return array


def frame_rate(document: Any) -> float | None:
    """The frame rate that a JSON object states, if it does.

    >>> frame_rate({"fps": 25}), frame_rate({"fps": "fast"}), frame_rate([])
    (25.0, None, None)
    """
    if isinstance(document, dict):
        for key in ("fps", "frame_rate", "frameRate", "framerate"):
            value = document.get(key)
            if isinstance(value, (int, float)) and 0 < value < 1e6:
                return float(value)
    return None


def natural_order(name: str) -> list[tuple[int, int, str]]:
    """A sorting key that counts: frame_9 before frame_10.

    >>> sorted(["f_10", "f_9", "e"], key=natural_order)
    ['e', 'f_9', 'f_10']
    """
    parts = re.split(r"([0-9]{1,18})", name)
    return [(1, int(part), "") if i % 2 else (0, 0, part) for i, part in enumerate(parts)]


def follow(people: Sequence[np.ndarray]) -> np.ndarray:
    """One person through frames of several, (T, J, 4) from arrays (P_t, J, 4) of x, y, z, confidence.

    The most confident person of all frames is followed in both directions to the nearest person of the next frame;
    one who is further away than the body is large is somebody else, and the frame has nobody: NaN, confidence 0.

    >>> left, right = np.array([[[0, 0, 0, 0.9], [0, 2, 0, 1]]]), np.array([[[9, 0, 0, 0.5], [9, 2, 0, 0.5]]])
    >>> follow([np.concatenate([right, left]), left + 0.1, right])[:, 0, 0]
    array([0. , 0.1, nan])
    """
    shape = next((p.shape[1:] for p in people if len(p)), (1, 4))
    track = np.full((len(people), *shape), np.nan)
    track[..., 3] = 0
    people = [
        np.where(np.isnan(p).any(axis=-1, keepdims=True), [np.nan] * 3 + [0], p) if len(p) else p
        for p in people
    ]
    scores = [p[..., 3].mean(axis=1).max() if len(p) else -1.0 for p in people]
    start = int(np.argmax(scores))
    if not len(people[start]):
        return track
    first = people[start][int(np.argmax(people[start][..., 3].mean(axis=1)))]
    track[start] = first
    for frames in (range(start + 1, len(people)), range(start - 1, -1, -1)):
        last = first
        for t in frames:
            if len(people[t]):
                nearest = _nearest(people[t], last)
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
    path: Path, keypoints: np.ndarray, layout: Layout, *, name: str | None = None, fps: float | None = None
) -> SkeletonSequence:
    """A recording from keypoints (T, J, 4) in a picture's axes: x right, y down, z away, then confidence.

    Half a turn about z gives x left, y up, z away, which is right-handed and keeps left and right. A keypoint
    without confidence is NaN.
    """
    missing = ~(keypoints[..., 3] > 0) | np.isnan(keypoints[..., :3]).any(axis=-1)
    joints = keypoints[..., :3] * [-1, -1, 1] + 0.0  # + 0.0 makes -0.0 plain
    joints[missing] = np.nan
    confidence = np.where(missing, 0, np.clip(keypoints[..., 3], 0, 1))
    if missing.all():
        raise FormatError(f"{path}: {len(keypoints)} frames, but no person in any of them")
    return SkeletonSequence(
        joints, confidence=confidence, layout=layout, name=path.stem if name is None else name, fps=fps
    )
