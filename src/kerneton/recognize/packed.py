"""Files of blocks of features: complete or absent, protected by a checksum, and optionally rounded to 16 bits."""

from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kerneton.exceptions import DataError

_LARGEST = 32767
_LANES = 1021  # words of eight bytes; a prime, so that no multiple is a page of memory or a sector of a disk
_DIGEST = 16  # bytes
_LONGEST = 100  # bytes of the first line: types of numbers and factors, rows, columns
_KINDS = {kind.encode(): np.dtype(kind) for kind in ("<i2", "<f4", "<f8")}


class Packed(NamedTuple):
    """Numbers (m, d), 16-bit integers or the features themselves, and the factor of each row (m, 1)."""

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
    """Features (m, d); ``halved`` rounds them to 16 bits, with an error of at most 1/65,534 of the row's largest value.

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


class DamagedBlockError(DataError):
    """A block that was changed or belongs elsewhere."""


class FullDiskError(DataError):
    """The disk has no space for a block."""


def write_packed(path: Path, block: Packed) -> None:
    """Write a block completely or not at all."""
    part = path.with_suffix(".part")
    arrays: list[Any] = [np.ascontiguousarray(array) for array in block]
    head = f"{block.numbers.dtype.str} {block.factors.dtype.str} {len(arrays[0])} {arrays[0].shape[1]}\n".encode()
    try:
        with open(part, "wb") as file:
            for content in (head, *(array.data for array in arrays), _checksum(path, head, block)):
                file.write(content)
        os.replace(part, path)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise FullDiskError(
                f"{path.parent}: the disk is full; make room and fit again with the same scratch folder, "
                "whose blocks are kept, or name a folder on a larger disk"
            ) from error
        raise
    finally:  # also after Ctrl-C
        part.unlink(missing_ok=True)


def read_packed(path: Path) -> Packed:
    """Read the block with this name; a block that was changed or belongs elsewhere is refused."""
    try:
        with open(path, "rb") as file:
            head = file.readline(_LONGEST)
            *kinds, rows, columns = head.split()
            kind, of_factors = (_KINDS[found] for found in kinds)
            m, d = int(rows), int(columns)
            size = len(head) + m * d * kind.itemsize + m * of_factors.itemsize + _DIGEST
            if min(m, d) > 0 and size == os.fstat(file.fileno()).st_size:
                numbers = np.fromfile(file, kind, m * d).reshape(m, d)
                block = Packed(numbers, np.fromfile(file, of_factors, m).reshape(m, 1))
                if file.read() == _checksum(path, head, block):
                    return block
    except FileNotFoundError as error:
        raise DamagedBlockError(f"{path}: the block is missing; fit again") from error
    except (OSError, ValueError, KeyError):
        pass
    raise DamagedBlockError(
        f"{path}: the block was changed after it was written; fit again, and it is computed again"
    )


def _checksum(path: Path, head: bytes, block: Packed) -> bytes:
    """The checksum of a block, its name and its folder. Nearly as fast as memory: numbers that are `_LANES` apart are combined by XOR."""
    data = np.ascontiguousarray(block.numbers).reshape(-1).view(np.uint8)
    whole = len(data) // (8 * _LANES) * (8 * _LANES)
    lanes = np.bitwise_xor.reduce(data[:whole].view(np.uint64).reshape(-1, _LANES), axis=0, initial=0)
    found = hashlib.blake2b(f"{path.parent.name}/{path.name}\n".encode(), digest_size=_DIGEST)
    for part in (head, lanes.tobytes(), data[whole:].tobytes(), block.factors.tobytes()):
        found.update(part)
    return found.digest()
