"""MSR-Action3D text: a row ``x y z confidence`` a joint, twenty rows a frame, metres."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kerneton.data.layouts import MSR_20
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import FormatError
from kerneton.files.readers._text import are_numbers, first_rows, table

# The tracker marks inferred joints with 0, which here would mean missing; they get the least trust above it.
INFERRED = 0.01


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001
    """Whether the first rows are four numbers each."""
    rows = first_rows(head, 5)
    return bool(rows) and all(are_numbers(row, 4) for row in rows)


def read(path: Path) -> list[SkeletonSequence]:
    """The one recording of the file; frames of zeros are lost frames and get zero confidence.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "a01_s01_e01_skeleton3D.txt"
    >>> _ = file.write_text("0.1 1.2 2.5 1.0\\n" * 40)
    >>> read(file)
    [SkeletonSequence(2 frames, 20 joints, msr20, name='a01_s01_e01_skeleton3D')]
    """
    rows = table(path, 4, "x y z confidence")
    n_joints = len(MSR_20.joints)
    if len(rows) % n_joints:
        raise FormatError(
            f"{path}: {len(rows)} rows are no whole number of frames; "
            f"the last has {len(rows) % n_joints} of {n_joints} joints"
        )
    joints, mark = np.split(rows.reshape(-1, n_joints, 4), [3], axis=2)
    confidence = np.clip(mark[:, :, 0], INFERRED, 1.0)
    confidence[(joints == 0).all((1, 2))] = 0.0
    return [SkeletonSequence(np.ascontiguousarray(joints), confidence, layout=MSR_20, name=path.stem)]
