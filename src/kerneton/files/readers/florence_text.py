"""Florence3D-Actions text: a row ``video actor action x1 y1 z1 ... z15`` per frame, millimetres."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kerneton.data.layouts import FLORENCE_15
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import FormatError
from kerneton.files.readers._text import starts_with_numbers, table

STATES = {"unit": "mm", "up": "y"}
LAYOUT = FLORENCE_15
_WIDTH = 3 + 3 * len(LAYOUT.joints)


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001
    """Whether the first rows are 48 numbers each, the first three whole."""
    return starts_with_numbers(head, _WIDTH, n_whole=3)


def read(path: Path) -> list[SkeletonSequence]:
    """One recording per video, in metres; label and subject are the numbers of action and actor.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "florence.txt"
    >>> _ = file.write_text("".join(f"{v} 4 7 " + "100 " * 45 + "\\n" for v in (1, 1, 2)))
    >>> read(file)
    [SkeletonSequence(2 frames, 15 joints, florence15, label='7', subject='4', name='florence_1'),
     SkeletonSequence(1 frames, 15 joints, florence15, label='7', subject='4', name='florence_2')]
    """
    rows = table(path, [_WIDTH], "video actor action and 15 x y z")
    numbers = rows[:, :3]
    whole = ((numbers % 1 == 0) & (np.abs(numbers) < 1e9)).all(1)  # false for NaN
    if not whole.all():
        bad = int(np.argmin(whole))
        got = numbers[bad].tolist()
        raise FormatError(
            f"{path}, row {bad + 1}: video, actor and action must be whole numbers, got {got}"
        )
    ids = numbers.astype(np.int64)
    starts = np.flatnonzero(np.diff(ids[:, 0], prepend=ids[0, 0] - 1))
    mixed = (np.diff(ids[:, 0]) == 0) & (np.diff(ids[:, 1:], axis=0) != 0).any(1)
    if mixed.any():
        row = int(np.argmax(mixed)) + 1
        raise FormatError(f"{path}, row {row + 1}: video {ids[row, 0]} changes its actor or action")
    joints = rows[:, 3:].reshape(len(rows), -1, 3) / 1000.0
    return [
        SkeletonSequence(
            frames,
            layout=FLORENCE_15,
            label=str(action),
            subject=str(actor),
            name=f"{path.stem}_{video}",
        )
        for frames, (video, actor, action) in zip(
            np.split(joints, starts[1:]), ids[starts], strict=True
        )
    ]
