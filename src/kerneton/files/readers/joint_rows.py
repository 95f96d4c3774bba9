"""Text with one joint per row: ``x y z``, or ``x y z confidence`` as in MSR-Action3D, and nothing else.

A frame has as many rows as there are joints, so the joints must be known: give a layout (``--layout kinect20``, or the
joint names in order, ``--layout head,neck,torso``). Without a layout, rows of four numbers are MSR-Action3D's twenty joints
in metres. Numbers are separated by spaces, commas, semicolons or tabs; blank lines and lines of one or two integers
(counts, frame numbers) between the frames are ignored. A frame of zeros is a lost frame and gets zero confidence. In rows
without confidence, a joint that is at the origin in some but not all frames gets zero confidence there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from kerneton.data.layouts import MSR_20, Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import FormatError
from kerneton.files.readers._text import are_numbers, at_origin, decode, lines, table

TAKES = ("layout",)
# The tracker marks inferred joints with 0, which here would mean missing; they get the least trust above it.
INFERRED = 0.01
_ROWS = 5  # rows of which the first of a file decide


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001
    """Whether the first rows are three numbers each, or four each, but for rows of counts."""
    rows = [_words(line) for line in decode(head).splitlines()[:50]]
    rows = [row for row in rows if row and not _is_count(row)][:_ROWS]
    return any(bool(rows) and all(are_numbers(row, width) for row in rows) for width in (3, 4))


def read(path: Path, *, layout: Layout | None = None) -> list[SkeletonSequence]:
    """The one recording of the file.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "a01_s01_e01_skeleton3D.txt"
    >>> _ = file.write_text("0.1 1.2 2.5 1.0\\n" * 40)
    >>> read(file)
    [SkeletonSequence(2 frames, 20 joints, msr20, name='a01_s01_e01_skeleton3D')]
    """
    rows = table(path, (3, 4), "x y z, or x y z confidence", _rows(path))
    if layout is None and rows.shape[1] == 3:
        raise FormatError(
            f"{path}: {len(rows)} rows of x y z, one joint per row; state the joints of a frame: "
            "--layout openni15, or their names in order, --layout head,neck,torso"
        )
    layout = layout or MSR_20
    n_joints = len(layout.joints)
    if len(rows) % n_joints:
        raise FormatError(
            f"{path}: {len(rows)} rows are not a whole number of frames; "
            f"the last has {len(rows) % n_joints} of the {n_joints} joints of layout {layout.name!r}"
        )
    values = rows.reshape(-1, n_joints, rows.shape[1])
    joints = np.ascontiguousarray(values[..., :3])
    confidence = None
    if rows.shape[1] == 4:
        confidence = np.clip(values[..., 3], INFERRED, 1.0)
        confidence[(joints == 0).all(axis=(1, 2))] = 0.0
    else:
        gone = at_origin(joints)
        confidence = (~gone).astype(float) if gone.any() else None
    return [SkeletonSequence(joints, confidence, layout=layout, name=path.stem)]


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    for line, text in lines(path):
        words = _words(text)
        if len(words) > 2 or (words and not _is_count(words)):
            yield line, words


def _words(text: str) -> list[str]:
    return text.replace(",", " ").replace(";", " ").split()


def _is_count(words: list[str]) -> bool:
    return len(words) <= 2 and all(word.isascii() and word.isdigit() for word in words)
