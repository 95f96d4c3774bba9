"""Blocks of features in files that are whole or not there, that tell when they were changed, and may be rounded to 16 bits."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kerneton.exceptions import DataError

_LARGEST = 32767


class Packed(NamedTuple):
    """Numbers (m, d), whole ones of 16 bits or features as they are, and the factor of each row (m, 1)."""

    numbers: np.ndarray
    factors: np.ndarray

    def features(self) -> np.ndarray:
        """(m, d)."""
        if self.numbers.dtype != np.int16:
            return self.numbers
        out = self.numbers.astype(self.factors.dtype)
        out *= self.factors
        return out


def pack(features: np.ndarray, *, halved: bool = True) -> Packed:
    """Features (m, d); ``halved`` rounds them to 16 bits, an error of 1/65,534 of the row's largest at most.

    >>> pack(np.array([[1.0, -0.5], [0.0, 0.0]], dtype=np.float32)).features().round(4).tolist()
    [[1.0, -0.5], [0.0, 0.0]]
    """
    largest = np.maximum(np.abs(features).max(axis=1, keepdims=True), features.dtype.type(1e-30))
    if not halved:
        return Packed(np.ascontiguousarray(features), largest)
    numbers = np.empty(features.shape, np.int16)
    for row, x, factor in zip(numbers, features, _LARGEST / largest, strict=True):
        np.rint(x * factor, out=row, casting="unsafe")
    return Packed(numbers, largest / features.dtype.type(_LARGEST))


def write_packed(path: Path, block: Packed) -> None:
    """Write a block whole or not at all."""
    part = path.with_suffix(".part")
    try:
        with open(part, "wb") as file:
            for array in (*block, _checksum(block)):
                np.save(file, array, allow_pickle=False)
        os.replace(part, path)
    except OSError as error:
        part.unlink(missing_ok=True)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DataError(
                f"{path.parent}: the disk is full; make room and fit again with the same scratch folder, "
                "whose blocks are kept, or name a folder on a larger disk"
            ) from error
        raise


def read_packed(path: Path) -> Packed:
    """A block as it was written; one that was changed since is refused."""
    try:
        with open(path, "rb") as file:
            numbers, factors, expected = (np.load(file, allow_pickle=False) for _ in range(3))
        block = Packed(numbers, factors)
        whole = bool(_checksum(block)[0] == expected[0])
    except FileNotFoundError as error:
        raise DataError(f"{path}: the block is missing; fit again") from error
    except (OSError, ValueError, EOFError, TypeError, IndexError) as error:
        raise DataError(
            f"{path}: the block was changed after it was written; delete it and fit again"
        ) from error
    if not whole:
        raise DataError(f"{path}: the block was changed after it was written; delete it and fit again")
    return block


def _checksum(block: Packed) -> np.ndarray:
    """As fast as memory: eight bytes at a time, by XOR, and what is left over."""
    data = block.numbers.reshape(-1).view(np.uint8)
    whole = len(data) // 8 * 8
    total = int(np.bitwise_xor.reduce(data[:whole].view(np.uint64), initial=0))
    rest = int.from_bytes(data[whole:].tobytes() + block.factors.tobytes(), "little")
    return np.array([(total + rest) % (2**64 - 59)], np.uint64)
