"""Blocks of features at two bytes each, in memory or in a file that is whole or not there, and tells when it was changed."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kerneton.exceptions import DataError

_LARGEST = 32767


class Packed(NamedTuple):
    """Whole numbers (m, d) of 16 bits and the factor of each row (m,): an error of 1/65,534 of the row's largest feature."""

    numbers: np.ndarray
    factors: np.ndarray

    def features(self) -> np.ndarray:
        """(m, d) in float32."""
        out = self.numbers.astype(np.float32)
        out *= self.factors[:, None]
        return out


def pack(features: np.ndarray) -> Packed:
    """Features (m, d), packed.

    >>> pack(np.array([[1.0, -0.5], [0.0, 0.0]], dtype=np.float32)).features().round(4).tolist()
    [[1.0, -0.5], [0.0, 0.0]]
    """
    largest = np.maximum(np.abs(features).max(axis=1), np.finfo(np.float32).tiny)
    numbers = np.empty(features.shape, np.int16)
    for row, x, factor in zip(numbers, features, _LARGEST / largest, strict=True):
        np.rint(x * factor, out=row, casting="unsafe")
    return Packed(numbers, (largest / _LARGEST).astype(np.float32))


def write_packed(path: Path, block: Packed) -> None:
    """Write a block whole or not at all."""
    part = path.with_suffix(".part")
    try:
        with open(part, "wb") as file:
            for array in (block.numbers, block.factors, _sum(block)):
                file.write(np.ascontiguousarray(array).data)
        os.replace(part, path)
    except OSError as error:
        part.unlink(missing_ok=True)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DataError(
                f"{path.parent}: the disk is full; make room and fit again with the same scratch folder, "
                "whose blocks are kept, or name a folder on a larger disk"
            ) from error
        raise


def read_packed(path: Path, shape: tuple[int, int]) -> Packed:
    """A block as it was written; one that was changed since is refused."""
    m, d = shape
    numbers, factors, expected = np.empty((m, d), np.int16), np.empty(m, np.float32), np.empty(1, np.uint64)
    try:
        with open(path, "rb") as file:
            read = sum(file.readinto(array.reshape(-1).view(np.uint8).data) for array in (numbers, factors, expected))
            whole = read == 2 * m * d + 4 * m + 8 and not file.read(1)
    except OSError as error:
        raise DataError(f"{path}: the block cannot be read: {error.strerror}; fit again") from error
    block = Packed(numbers, factors)
    if not whole or _sum(block)[0] != expected[0]:
        raise DataError(f"{path}: the block was changed after it was written; delete it and fit again")
    return block


def _sum(block: Packed) -> np.ndarray:
    """A checksum as fast as memory: eight bytes at a time, XOR, and what is left over."""
    data = block.numbers.reshape(-1).view(np.uint8)
    whole = len(data) // 8 * 8
    total = int(np.bitwise_xor.reduce(data[:whole].view(np.uint64), initial=0))
    rest = int.from_bytes(data[whole:].tobytes() + block.factors.tobytes(), "little")
    return np.array([(total + rest) % (2**64 - 59)], np.uint64)
