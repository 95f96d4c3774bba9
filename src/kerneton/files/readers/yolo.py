"""YOLO's pose labels: a folder with a text file per frame, ``film_1.txt``, ``film_2.txt`` and so
on.

A row is a person: class, box (x, y, width, height) and 17 points of COCO with x, y and visibility
or confidence, as fractions of the picture, perhaps with the number of a track at the end. Frames
without a file are frames without a person. The points are **two-dimensional**: z is zero; they are
rotated so that x points left and y up. One person is kept: the track that is seen best, else the
most confident person, followed through the frames. Fractions of width and height have different
units: state neither; all recordings should have pictures of one shape.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from kerneton.data.layouts import COCO_17
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import FormatError, MissingDataError
from kerneton.files.readers._keypoints import COPIES, follow, picture_sequence
from kerneton.files.readers._text import are_numbers, first_rows, lines, numbers, read_head
from kerneton.files.readers._values import check_room

STATES = {"up": "-y"}
_N = len(COCO_17.joints)
_WIDTHS = (5 + 3 * _N, 6 + 3 * _N)  # without and with a track
_FRAME = re.compile(r"(.*?)[_-]?(\d{1,9})\.txt", re.IGNORECASE)
_MOST = 1_000_000  # frames


def sniff(head: bytes, path: Path) -> bool:
    """Whether a folder has such files, or a text file such rows."""
    if path.is_dir():
        first = next(
            (file for file in sorted(path.glob("*.txt"))[:3] if _FRAME.fullmatch(file.name)), None
        )
        return first is not None and _is_label(read_head(first, 1 << 14))
    return path.suffix.lower() == ".txt" and _is_label(head)


def _is_label(head: bytes) -> bool:
    row = (first_rows(head) or [[]])[0]
    if len(row) not in _WIDTHS or not are_numbers(row, len(row), 1):
        return False
    return all(0 <= float(word) <= 1 for word in row[1:5])


def read(path: Path) -> list[SkeletonSequence]:
    """The recording of a folder of labels; z is zero."""
    if not path.is_dir():
        raise FormatError(
            f"{path}: one frame of YOLO's pose; a recording is a folder with such a file per frame"
        )
    try:
        files = {int(f[2]): file for file in path.iterdir() if (f := _FRAME.fullmatch(file.name))}
    except OSError as error:
        raise MissingDataError(f"{path}: cannot be read: {error.strerror}") from error
    first, n_frames = min(files), max(files) - min(files) + 1
    if n_frames > min(_MOST, 100 * len(files)):
        raise FormatError(f"{path}: frames {first} to {max(files)}, but only {len(files)} files")
    check_room(path, n_frames, _N, COPIES)
    people: list[list[np.ndarray]] = [[] for _ in range(n_frames)]
    tracks: list[list[float]] = [[] for _ in range(n_frames)]
    for frame, file in sorted(files.items()):
        for line, text in lines(file):
            words = text.split()
            if len(words) not in _WIDTHS:
                expected = f"{_WIDTHS[0]} numbers (class, box, {_N} points)"
                raise FormatError(
                    f"{file}, line {line}: expected {expected}, got {len(words)} words"
                )
            values = numbers(words, file, line)
            points = np.array(values[5 : _WIDTHS[0]]).reshape(_N, 3)
            points = np.insert(points, 2, 0.0, axis=1)
            points[(points[:, :2] == 0).all(axis=1), 3] = 0  # not found
            people[frame - first].append(points)
            tracks[frame - first].append(values[_WIDTHS[0]] if len(words) == _WIDTHS[1] else -1.0)
    keypoints = follow(_best_track(people, tracks), _N)
    visible = np.isin(keypoints[..., 3], (0, 1, 2)).all() and (keypoints[..., 3] == 2).any()
    keypoints[..., 3] = np.clip(keypoints[..., 3] / (2 if visible else 1), 0, 1)
    return [picture_sequence(path, keypoints, COCO_17, name=path.name)]


def _best_track(
    people: list[list[np.ndarray]], tracks: list[list[float]]
) -> list[list[np.ndarray]]:
    """The people of the track that is seen best; all where no one has a track."""
    score: dict[float, float] = {}
    for frame, own in zip(people, tracks, strict=True):
        for points, track in zip(frame, own, strict=True):
            score[track] = score.get(track, 0.0) + float(points[:, 3].sum())
    score.pop(-1.0, None)
    if not score:
        return people
    best = max(score, key=lambda track: score[track])
    return [
        [points for points, track in zip(frame, own, strict=True) if track == best]
        for frame, own in zip(people, tracks, strict=True)
    ]
