"""Arrays from files as joints and confidences: checked, with three coordinates, within limits."""

from __future__ import annotations

import sys

import numpy as np

from kerneton.exceptions import FormatError
from kerneton.files.readers._text import LARGEST, MAX_BYTES, MAX_JOINTS


def coordinates(array: np.ndarray, where: str) -> np.ndarray:
    """Joints as (..., T, J, 3) floats: whole numbers become float64, float16 float32, two coordinates three.

    >>> coordinates(np.ones((4, 2, 2), np.float16), "wave.npy").shape
    (4, 2, 3)
    """
    if array.dtype.kind not in "fiu" or array.ndim not in (3, 4) or array.shape[-1] not in (2, 3):
        got = f"{array.dtype} of shape {array.shape}"
        raise FormatError(f"{where}: expected numbers of shape (frames, joints, 3), got {got}")
    if array.size == 0 or array.shape[-2] > MAX_JOINTS:
        raise FormatError(f"{where}: expected frames and 1 to {MAX_JOINTS} joints, got shape {array.shape}")
    dtype = np.float32 if array.dtype in (np.float16, np.float32) else np.float64
    if array.size // array.shape[-1] * 3 * np.dtype(dtype).itemsize > MAX_BYTES:
        raise FormatError(f"{where}: shape {array.shape} needs more than {MAX_BYTES >> 20} MiB")
    with np.errstate(all="ignore"):  # what overflows is refused just below
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


def trust(array: np.ndarray, shape: tuple[int, ...], where: str) -> np.ndarray:
    """Confidences as floats in [0, 1] of the joints' shape; NaN is no confidence.

    >>> trust(np.array([[0.5, 2, np.nan]]), (1, 3), "wave.npy")
    array([[0.5, 1. , 0. ]])
    """
    if array.shape == (*shape, 1):
        array = array[..., 0]
    if array.dtype.kind not in "fiub" or array.shape != shape:
        got = f"{array.dtype} of shape {array.shape}"
        raise FormatError(f"{where}: expected confidences of shape {shape}, got {got}")
    dtype = np.float32 if array.dtype in (np.float16, np.float32) else np.float64
    if array.size * np.dtype(dtype).itemsize > MAX_BYTES:
        raise FormatError(f"{where}: confidences need more than {MAX_BYTES >> 20} MiB")
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
