"""NumPy's array format, read without NumPy's evaluator or pickle: a header of three fields, then the numbers."""

from __future__ import annotations

import math
import re
from typing import IO

import numpy as np

from kerneton.exceptions import FormatError
from kerneton.files.readers._arrays import is_text
from kerneton.files.readers._text import MAX_BYTES, shorten

MAGIC = b"\x93NUMPY"
_MAX_HEADER = 1 << 16
_DESCR = re.compile(r"""['"]descr['"]\s*:\s*['"]([<>|=]?)([?bBhHiIlLqQfdUSiu])(\d{0,9})['"]""")
_ORDER = re.compile(r"""['"]fortran_order['"]\s*:\s*(True|False)""")
_SHAPE = re.compile(r"""['"]shape['"]\s*:\s*\(([\d\s,L]*)\)""")
_MAX_DIMENSIONS = 8
_BLOCK = 1 << 20


def read_array(file: IO[bytes], size: int, where: str) -> np.ndarray:
    """An array from ``file``, which holds ``size`` bytes in all; numbers, booleans and strings alone.

    >>> import io
    >>> file = io.BytesIO()
    >>> np.save(file, np.arange(6.0).reshape(2, 3))
    >>> size = file.tell()
    >>> _ = file.seek(0)
    >>> read_array(file, size, "grid.npy")
    array([[0., 1., 2.], [3., 4., 5.]])
    """
    start = file.read(8)
    if start[:6] != MAGIC or len(start) < 8:
        raise FormatError(f"{where}: not a NumPy array")
    width = 2 if start[6] == 1 else 4
    length = int.from_bytes(file.read(width), "little")
    if start[6] not in (1, 2, 3) or length > _MAX_HEADER:
        raise FormatError(f"{where}: NumPy format {start[6]} with a header of {length} bytes is not known")
    header = file.read(length).decode("latin-1")
    dtype, shape, fortran = _parse_header(header, where)
    count = math.prod(shape)
    needed, left = count * dtype.itemsize, size - 8 - width - length
    extent = math.prod(n for n in (*shape, dtype.itemsize) if n)  # NumPy wants a size even of what is empty
    if needed > left or max(needed, extent) > MAX_BYTES:
        raise FormatError(
            f"{where}: an array of shape {shape} and type {dtype} needs {needed} bytes, "
            f"the file holds {left} and {MAX_BYTES} are read at most"
        )
    data = bytearray(needed)  # writable, and without memory of its own until it is filled
    filled = 0
    while filled < needed and (block := file.read(min(_BLOCK, needed - filled))):
        data[filled : filled + len(block)] = block
        filled += len(block)
    if filled < needed:
        raise FormatError(f"{where}: cut off, {filled} of {needed} bytes")
    if dtype.itemsize == 0 or count == 0:
        return np.zeros(shape, dtype)
    array = np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C")
    if not is_text(array):
        raise FormatError(f"{where}: strings of an unknown encoding")
    return array.astype(dtype.newbyteorder("="), order="C", copy=False)


def _parse_header(header: str, where: str) -> tuple[np.dtype, tuple[int, ...], bool]:
    descr, order, shape = (pattern.search(header) for pattern in (_DESCR, _ORDER, _SHAPE))
    if descr is None and "descr" in header:
        got = shorten(header.strip(), 80)
        raise FormatError(f"{where}: only plain numbers and strings are read, not {got}")
    if descr is None or order is None or shape is None:
        raise FormatError(f"{where}: damaged header {shorten(header, 80)!r}")
    words = [word.strip().removesuffix("L") for word in shape[1].split(",")]
    if not all(word.isascii() and word.isdigit() and len(word) < 19 for word in words if word):
        raise FormatError(f"{where}: damaged shape ({shorten(shape[1])})")
    sizes = tuple(int(word) for word in words if word)
    if len(sizes) > _MAX_DIMENSIONS:
        raise FormatError(f"{where}: an array of {len(sizes)} dimensions")
    try:
        dtype = np.dtype("".join(descr.groups()))
    except (TypeError, ValueError) as error:
        raise FormatError(f"{where}: no such type as {''.join(descr.groups())!r}") from error
    return dtype, sizes, order[1] == "True"
