"""What SHREC'17 and DHG-14/28 share: gestures of one hand before a RealSense camera, 22 joints."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kerneton.data.layouts import Layout, chains
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import FormatError
from kerneton.files.readers import csv_table

_DIGITS = ("thumb", "index", "middle", "ring", "pinky")
_PARTS = ("mcp", "pip", "dip", "tip")
HAND_22 = Layout(
    "hand22",
    ["wrist", "palm", *(f"{digit}_{part}" for digit in _DIGITS for part in _PARTS)],
    chains(
        "palm wrist", *(" ".join(["palm", *(f"{digit}_{p}" for p in _PARTS)]) for digit in _DIGITS)
    ),
    "palm",
)
GESTURES = (
    *("grab", "tap", "expand", "pinch", "rotation clockwise", "rotation counter-clockwise"),
    *(
        "swipe right",
        "swipe left",
        "swipe up",
        "swipe down",
        "swipe X",
        "swipe +",
        "swipe V",
        "shake",
    ),
)
FINGERS = ("one finger", "whole hand")
FPS = 30.0


def label_of(gesture: int, finger: int, n_labels: int) -> str:
    """The label of a gesture, and with 28 labels of the fingers that make it.

    >>> label_of(2, 1, 14), label_of(2, 1, 28)
    ('tap', 'tap, one finger')
    """
    return GESTURES[gesture - 1] + (f", {FINGERS[finger - 1]}" if n_labels == 28 else "")


def read_gesture(path: Path) -> SkeletonSequence:
    """Rows of x, y, z of 22 joints in metres."""
    (found,) = csv_table.read(path, layout=HAND_22)
    return found.replace(joints=found.joints.astype(np.float32), confidence=None, fps=FPS)


def whole_numbers(path: Path, n: int, sizes: tuple[int, ...]) -> np.ndarray:
    """Rows of n whole numbers, (n_rows, n); the first of each row are from 1 to the given sizes."""
    rows = []
    for number, line in enumerate(
        path.read_text(encoding="utf-8", errors="replace").splitlines(), 1
    ):
        words = line.split()
        if not words:
            continue
        whole = len(words) == n and all(word.isdecimal() and len(word) < 10 for word in words)
        if not whole or not all(1 <= int(w) <= size for w, size in zip(words, sizes, strict=False)):
            shown = (
                f"{n} whole numbers, the first {len(sizes)} at most {', '.join(map(str, sizes))}"
            )
            raise FormatError(f"{path}, line {number}: expected {shown}, got {line.strip()[:60]!r}")
        rows.append([int(word) for word in words])
    return np.asarray(rows, dtype=int).reshape(-1, n)
