"""Whole files and large blocks of numbers, within limits, with errors that name the line."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kerneton.exceptions import FormatError
from kerneton.files.readers._text import MAX_BYTES, check_regular, read_head, shorten

FLOOR = 1 << 26  # bytes of memory that any file may need
FACTOR = 100  # and so many times its own size in addition
_LARGEST = 1e9  # of a value in a recording


class Budget:
    """The memory that a file of ``size`` bytes may need: 64 MiB and a hundred times its size.

    Readers take from it before they allocate more than the bytes of the file: what a header
    promises, what is unpacked, and what is repeated by reference.

    >>> budget = Budget(1000, "walk.npz")
    >>> budget.take(1 << 20)
    >>> budget.take(1 << 30)
    Traceback (most recent call last):
    ...
    kerneton.exceptions.FormatError: walk.npz: 1000 bytes that would need more than 64 MiB of memory
    """

    def __init__(self, size: int, where: str) -> None:
        self.size, self.where = size, where
        self.room = self.total = FLOOR + FACTOR * size

    def take(self, n_bytes: int) -> None:
        """Count bytes; an error if the file would need more than it may."""
        self.room -= n_bytes
        if self.room < 0:
            needed = f"more than {self.total >> 20} MiB of memory"
            raise FormatError(f"{self.where}: {self.size} bytes that would need {needed}")


def file_budget(path: Path) -> Budget:
    """The budget of a file, or of all files in a folder."""
    if path.is_dir():
        return Budget(
            sum(file.stat().st_size for file in path.iterdir() if file.is_file()), str(path)
        )
    return Budget(path.stat().st_size, str(path))


def read_bytes(path: Path) -> bytes:
    """The content of a plain file of at most ``MAX_BYTES`` bytes."""
    size = check_regular(path)
    if size > MAX_BYTES:
        raise FormatError(
            f"{path}: {size >> 20} MiB in one file; at most {MAX_BYTES >> 20} are read"
        )
    return read_head(path, size)


def read_lines(path: Path) -> list[str]:
    """The lines of a file: UTF-8 with or without byte order mark, else Latin-1, in which every byte
    is a letter.
    """
    content = read_bytes(path)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def check_room(path: Path, n_frames: int, n_joints: int, copies: int = 2) -> None:
    """Refuse a recording whose coordinates, held ``copies`` times, would need too much memory,
    before they are allocated.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "long.bvh"
    >>> _ = file.write_text("HIERARCHY")
    >>> check_room(file, 10**4, 1000)
    Traceback (most recent call last):
    ...
    kerneton.exceptions.FormatError: ...: 10000 frames of 1000 joints need 228 MiB, too much for a
    file of 9 bytes
    """
    needed = 24 * n_frames * n_joints
    problem = f"{path}: {n_frames} frames of {n_joints} joints need {needed >> 20} MiB"
    if needed > MAX_BYTES // 2:  # the other half is for a copy when axes or units are converted
        raise FormatError(f"{problem}; at most {MAX_BYTES >> 21} are read")
    budget = file_budget(path)
    if needed > budget.total // copies:
        raise FormatError(f"{problem}, too much for a file of {budget.size} bytes")


def number_block(path: Path, lines: Sequence[str], first_line: int) -> np.ndarray:
    """All numbers of some lines, separated by white space; the error names the first line with
    another word.
    """
    text = " ".join(lines)
    if not text or text.isspace():  # for which NumPy returns [-1.]
        return np.empty(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # older NumPy only warns of what is not a number
            return np.fromstring(text, dtype=np.float64, sep=" ")
    except (ValueError, DeprecationWarning):
        for i, line in enumerate(lines, start=first_line):
            for word in line.split():
                number(word, f"{path}, line {i}")
        raise FormatError(f"{path}, line {first_line} or later: not a number") from None


def number(word: str, where: str) -> float:
    """One number; NaN is allowed, infinite and absurd values are not."""
    try:
        if not word.isascii() or "_" in word:  # which Python allows in numbers
            raise ValueError
        value = float(word)
    except ValueError:
        raise FormatError(f"{where}: expected a number, got {shorten(word)!r}") from None
    if abs(value) > _LARGEST:
        raise FormatError(f"{where}: {shorten(word)} is implausibly large for a recording")
    return value


def check_values(where: Path | str, values: np.ndarray, what: str) -> None:
    """Refuse infinite and absurd values; NaN means missing and is allowed."""
    absurd = np.abs(values) > _LARGEST
    if absurd.any():
        value = f"{values[absurd][0]:g}"
        raise FormatError(f"{where}: the {what} contain {value}, implausibly large for a recording")


def valid_rate(value: Any) -> float | None:
    """A frame rate as a float; None for anything else.

    >>> valid_rate(25), valid_rate("fast"), valid_rate(0)
    (25.0, None, None)
    """
    return float(value) if isinstance(value, (int, float)) and 0 < value < 1e6 else None


def whole_number(word: str, where: str, what: str) -> int:
    """One whole number that is not negative."""
    if not (word.isascii() and word.isdigit()) or len(word) > 18:
        raise FormatError(f"{where}: expected the {what}, got {shorten(word)!r}")
    return int(word)
