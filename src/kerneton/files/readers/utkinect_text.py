"""UTKinect-Action3D text: one row ``frame x1 y1 z1 ... z20`` per frame, metres."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kerneton.data.layouts import KINECT_20
from kerneton.data.sequence import SkeletonSequence
from kerneton.files.readers._text import starts_with_numbers, table

STATES = {"unit": "m", "up": "y"}
LAYOUT = KINECT_20
_WIDTH = 1 + 3 * len(LAYOUT.joints)


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001
    """Whether the first rows are 61 numbers each, the first whole."""
    return starts_with_numbers(head, _WIDTH, n_whole=1)


def read(path: Path) -> list[SkeletonSequence]:
    """The one recording of the file, without label: the bounds of its actions are in another file.

    Frame numbers increase irregularly in the published files; of a repeated number, the first row
    is kept.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "joints_s01_e01.txt"
    >>> _ = file.write_text("".join(f"{frame} " + "0.5 " * 60 + "\\n" for frame in (190, 190, 192)))
    >>> read(file)
    [SkeletonSequence(2 frames, 20 joints, kinect20, name='joints_s01_e01')]
    """
    _, joints = read_frames(path)
    return [SkeletonSequence(joints, layout=KINECT_20, name=path.stem)]


def read_frames(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """The frame numbers (T,), each once, and the joints (T, 20, 3)."""
    rows = table(path, [_WIDTH], "frame and 20 x y z")
    again = np.concatenate(([False], rows[1:, 0] == rows[:-1, 0]))
    rows = rows[~again]
    return rows[:, 0], rows[:, 1:].reshape(len(rows), -1, 3)
