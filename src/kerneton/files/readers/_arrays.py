"""Arrays in files: NumPy's format, read without its evaluator or pickle, as joints and confidences
within limits; layouts as text.
"""

from __future__ import annotations

import json
import math
import re
import sys
from typing import IO

import numpy as np

from kerneton.data.layouts import LAYOUTS, Layout
from kerneton.exceptions import FormatError, KernetonError
from kerneton.files.readers._text import LARGEST, MAX_BYTES, MAX_JOINTS, shorten
from kerneton.files.readers._values import Budget

MAGIC = b"\x93NUMPY"
_MAX_HEADER = 1 << 16
_DESCR = re.compile(r"""['"]descr['"]\s*:\s*['"]([<>|=]?)([?bBhHiIlLqQfdUSiu])(\d{0,9})['"]""")
_ORDER = re.compile(r"""['"]fortran_order['"]\s*:\s*(True|False)""")
_SHAPE = re.compile(r"""['"]shape['"]\s*:\s*\(([\d\s,L]*)\)""")
_MAX_DIMENSIONS = 8
_BLOCK = 1 << 20


def coordinates(array: np.ndarray, where: str, budget: Budget) -> np.ndarray:
    """Joints as (..., T, J, 3) floats: whole numbers become float64, float16 float32, two
    coordinates three.

    >>> coordinates(np.ones((4, 2, 2), np.float16), "wave.npy", Budget(128, "wave.npy")).shape
    (4, 2, 3)
    """
    if array.dtype.kind not in "fiu" or array.ndim not in (3, 4) or array.shape[-1] not in (2, 3):
        got = f"{array.dtype} of shape {array.shape}"
        flat = (
            "; reshape rows of numbers to joints"
            if array.ndim == 2 and array.dtype.kind in "fiu"
            else ""
        )
        raise FormatError(
            f"{where}: expected numbers of shape (frames, joints, 3), got {got}{flat}"
        )
    if array.size == 0 or array.shape[-2] > MAX_JOINTS:
        raise FormatError(
            f"{where}: expected frames and 1 to {MAX_JOINTS} joints, got shape {array.shape}"
        )
    dtype = np.float32 if array.dtype in (np.float16, np.float32) else np.float64
    needed = array.size // array.shape[-1] * 3 * np.dtype(dtype).itemsize
    if needed > MAX_BYTES:
        raise FormatError(f"{where}: shape {array.shape} needs more than {MAX_BYTES >> 20} MiB")
    budget.take(2 * max(needed - array.nbytes, 0))  # once more where recordings are taken apart
    with np.errstate(all="ignore"):  # infinite values are refused below
        if array.shape[-1] == 2:
            joints = np.zeros((*array.shape[:-1], 3), dtype)
            joints[..., :2] = array
        else:
            joints = array.astype(dtype, copy=False)
        missing = np.isnan(joints)
        if missing.any():  # signalling NaN would warn at every use
            joints = joints if joints.flags.writeable else joints.copy()
            joints[missing] = np.nan
        largest = max(np.fmax.reduce(joints, axis=None), -np.fmin.reduce(joints, axis=None))
    if largest > LARGEST:
        raise FormatError(f"{where}: a coordinate of {largest:.3g} is too large")
    return joints


def with_trust(array: np.ndarray, where: str) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates and confidences of an array whose last side is x, y, z, confidence; rotations are
    refused.
    """
    known = array[np.isfinite(array).all(axis=-1)].astype(np.float64)
    with np.errstate(all="ignore"):
        lengths = np.linalg.norm(known, axis=-1)
    if len(known) and np.allclose(lengths, 1, atol=1e-3):
        raise FormatError(
            f"{where}: four numbers a joint whose squares sum to 1 are rotations (quaternions), not "
            "positions: compute positions of the joints first"
        )
    if len(known) and (known[:, 3].min() < 0 or known[:, 3].max() > 1):
        raise FormatError(
            f"{where}: expected x, y, z and a confidence between 0 and 1 of each joint, got numbers "
            f"from {known[:, 3].min():.3g} to {known[:, 3].max():.3g} as the fourth; keep the first three"
        )
    return array[..., :3], array[..., 3]


def trust(array: np.ndarray, shape: tuple[int, ...], where: str, budget: Budget) -> np.ndarray:
    """Confidences as floats in [0, 1] of the joints' shape; NaN is no confidence.

    >>> trust(np.array([[0.5, 2, np.nan]]), (1, 3), "wave.npy", Budget(128, "wave.npy"))
    array([[0.5, 1. , 0. ]])
    """
    if array.shape == (*shape, 1):
        array = array[..., 0]
    if array.dtype.kind not in "fiub" or array.shape != shape:
        got = f"{array.dtype} of shape {array.shape}"
        raise FormatError(f"{where}: expected confidences of shape {shape}, got {got}")
    dtype = np.float32 if array.dtype in (np.float16, np.float32) else np.float64
    needed = array.size * np.dtype(dtype).itemsize
    if needed > MAX_BYTES:
        raise FormatError(f"{where}: confidences need more than {MAX_BYTES >> 20} MiB")
    budget.take(2 * max(needed - array.nbytes, 0))
    with np.errstate(all="ignore"):
        return np.nan_to_num(np.clip(array.astype(dtype), 0, 1))


def is_text(array: np.ndarray) -> bool:
    """Whether an array of strings contains only valid characters, which NumPy does not check.

    >>> is_text(np.array(["wave"])), is_text(np.array([0x110000], np.uint32).view("U1"))
    (True, False)
    """
    if array.dtype.kind != "U" or not array.size or not array.itemsize:
        return True
    native = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
    return bool((native.reshape(-1).view(np.uint32) <= sys.maxunicode).all())


def read_array(file: IO[bytes], size: int, where: str) -> np.ndarray:
    """An array from ``file``, which holds ``size`` bytes in all; numbers, booleans and strings
    alone.

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
        raise FormatError(
            f"{where}: NumPy format {start[6]} with a header of {length} bytes is not known"
        )
    header = file.read(length).decode("latin-1")
    dtype, shape, fortran = _parse_header(header, where)
    count = math.prod(shape)
    needed, left = count * dtype.itemsize, size - 8 - width - length
    extent = math.prod(
        n for n in (*shape, dtype.itemsize) if n
    )  # NumPy needs a size even for empty arrays
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


def layout_text(layout: Layout) -> str:
    """A layout as text for a file: its name where it is known, else JSON.

    >>> two = json.loads(layout_text(Layout("two", ["a", "b"])))
    >>> layout_text(LAYOUTS["kinect20"]), two["joints"]
    ('kinect20', ['a', 'b'])
    """
    if LAYOUTS.get(layout.name) == layout:
        return layout.name
    fields = ("name", "joints", "bones", "root", "sets")
    return json.dumps({field: getattr(layout, field) for field in fields})


def layout_from_text(text: str, where: str) -> Layout:
    """The layout that `layout_text` wrote."""
    if text in LAYOUTS:
        return LAYOUTS[text]
    try:
        fields = json.loads(text)
        if len(fields["joints"]) > MAX_JOINTS or len(fields["bones"]) > MAX_JOINTS:
            raise FormatError(f"a layout of {len(fields['joints'])} joints")
        bones = [(int(a), int(b)) for a, b in fields["bones"]]
        root = None if fields["root"] is None else int(fields["root"])
        sets = {str(key): [int(j) for j in joints] for key, joints in fields["sets"].items()}
        return Layout(
            str(fields["name"]), [str(joint) for joint in fields["joints"]], bones, root, sets
        )
    except KernetonError as error:
        raise FormatError(f"{where}: {error}") from error
    except (
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as error:
        raise FormatError(
            f"{where}: unknown layout {shorten(text)!r}; known layouts are {', '.join(LAYOUTS)}"
        ) from error
