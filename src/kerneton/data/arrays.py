"""Arrays that others use for recordings, as joints (T, J, 3): padded, with channels first, with a
confidence, of one or two persons, from PyTorch and xarray.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kerneton.exceptions import DataError

_AXES = (2, 3)  # numbers of coordinates
_PERSONS = (1, 2)
# xarray's names of dimensions, as the package movement and others use them.
_DIMENSIONS = {
    "time": ("time", "frame", "frames", "t"),
    "persons": ("individuals", "individual", "person", "persons"),
    "joints": ("keypoints", "keypoint", "joints", "joint", "bodyparts"),
    "space": ("space", "axis", "coords", "coordinates"),
}


class Positions(NamedTuple):
    """Joints (T, J, 3) of one person or two, their confidences, and names if the array has them."""

    persons: list[np.ndarray]
    confidence: np.ndarray | None = None
    names: tuple[str, ...] = ()


def positions(value: Any) -> Positions:
    """What an array means as the joints of a recording; an error says what to do if it is unclear.

    >>> flat, first = np.ones((9, 17, 2)), np.ones((3, 9, 17))
    >>> [positions(array).persons[0].shape for array in (flat, first, np.ones((3, 9, 25, 1)))]
    [(9, 17, 3), (9, 17, 3), (9, 25, 3)]
    """
    if hasattr(value, "columns") and hasattr(value, "iloc"):
        raise DataError("got a table: kerneton.read(table) makes recordings of a DataFrame")
    value = value.detach().cpu() if hasattr(value, "detach") else value  # of PyTorch
    if hasattr(value, "dims") and hasattr(value, "coords"):
        return _of_dimensions(value)
    try:
        array = np.asarray(value)
    except ValueError:
        raise DataError(
            "joints are not an array: frames differ in their numbers of joints"
        ) from None
    array = _real(array)
    if array.ndim == 4:
        return _of_persons(array)
    if array.ndim != 3 or 0 in array.shape:
        raise DataError(_expected(array))
    if array.shape[2] in _AXES:
        return Positions([_with_depth(array)])
    if array.shape[2] == 4:
        return _with_confidence(array)
    if array.shape[0] in _AXES and array.shape[1] not in _AXES:  # (C, T, V)
        return Positions([_with_depth(_solid(np.moveaxis(array, 0, 2)))])
    if array.shape[1] in _AXES and array.shape[0] not in _AXES:  # (T, space, keypoints)
        return Positions([_with_depth(_solid(np.moveaxis(array, 1, 2)))])
    raise DataError(_expected(array))


def _real(array: np.ndarray) -> np.ndarray:
    """An array of float32 or float64."""
    if array.dtype == np.float16:
        raise DataError("float16 is too coarse for coordinates; pass float32 or float64")
    if array.dtype in (np.float32, np.float64):
        return array
    try:
        if array.dtype.kind == "c":
            raise TypeError("complex numbers")
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"joints are not real numbers ({array.dtype})") from error


def _expected(array: np.ndarray) -> str:
    advice = ""
    if array.ndim == 2 and array.size and array.shape[1] % 3 == 0:
        advice = f"; rows of x, y, z of each joint: x.reshape(len(x), {array.shape[1] // 3}, 3)"
    elif array.ndim == 3 and array.shape[2] in (6, 9):
        advice = "; these may be rotations: compute positions of the joints first"
    return f"expected joints of shape (frames, joints, 3), got {array.shape}{advice}"


def _with_depth(array: np.ndarray) -> np.ndarray:
    """(T, J, 3), with z = 0 for two coordinates."""
    if array.shape[2] == 3:
        return array
    return np.concatenate([array, np.zeros_like(array[..., :1])], axis=2)


def _solid(array: np.ndarray) -> np.ndarray:
    """Coordinates, unless the third of them is the confidence of estimated points in a picture."""
    third = array[..., -1] if array.shape[-1] == 3 else np.array([-1.0])
    known = third[np.isfinite(third)]
    if known.size and known.min() >= 0 and known.max() <= 1 and known.max() > known.min():
        raise DataError(
            "the third coordinate lies between 0 and 1 everywhere: if it is a confidence, pass "
            "SkeletonSequence(xy, confidence=...) with joints (T, J, 2); if it is z, pass joints "
            "(T, J, 3) with the coordinates last"
        )
    return array


def _with_confidence(array: np.ndarray) -> Positions:
    """x, y, z, confidence; not quaternions."""
    known = array[np.isfinite(array).all(axis=2)]
    if len(known) and np.allclose(np.linalg.norm(known, axis=1), 1, atol=1e-3):
        raise DataError(
            "four numbers a joint whose squares sum to 1 are rotations (quaternions), not positions: "
            "compute positions of the joints first"
        )
    trust = known[:, 3]
    if len(known) and (trust.min() < 0 or trust.max() > 1):
        raise DataError(
            f"expected x, y, z and a confidence between 0 and 1 of each joint, got {array.shape} with "
            f"{trust.min():.3g} to {trust.max():.3g} as the fourth number; pass the first three"
        )
    return Positions([array[..., :3]], confidence=np.nan_to_num(array[..., 3]))


def _of_persons(array: np.ndarray) -> Positions:
    """(C, T, V, M) as ST-GCN has it, or (M, T, V, C) as PYSKL has it; M is one person or two."""
    first = array.shape[0] in _AXES and array.shape[3] in _PERSONS
    last = array.shape[3] in _AXES and array.shape[0] in _PERSONS
    if first == last:
        clear = "both" if first else "neither"
        raise DataError(
            f"expected joints of shape (frames, joints, 3), got {array.shape}, which is {clear} "
            "(coordinates, frames, joints, persons) and (persons, frames, joints, coordinates); "
            "pass a recording of one person as (frames, joints, 3), of two with kerneton.pair"
        )
    moved = np.moveaxis(array, (3, 0), (0, 3)) if first else array
    persons = [_with_depth(person) for person in (_solid(moved) if first else moved)]
    there = [person for person in persons if np.nan_to_num(person).any()]
    return Positions(there or persons[:1])


def _of_dimensions(value: Any) -> Positions:
    """An array of xarray, whose dimensions have names."""
    place = {}
    for i, name in enumerate(value.dims):
        meaning = next((m for m, names in _DIMENSIONS.items() if str(name).lower() in names), None)
        if meaning is None or meaning in place:
            found = ", ".join(map(str, value.dims))
            raise DataError(f"expected the dimensions time, space and keypoints, got {found}")
        place[meaning] = i
    if not {"time", "joints", "space"} <= place.keys():
        found = ", ".join(map(str, value.dims))
        raise DataError(f"expected the dimensions time, space and keypoints, got {found}")
    order = [place[m] for m in ("persons", "time", "joints", "space") if m in place]
    array = _real(np.asarray(value)).transpose(order)
    array = array if "persons" in place else array[None]
    if array.shape[0] not in _PERSONS or array.shape[3] not in _AXES:
        raise DataError(
            f"{array.shape[0]} individuals with {array.shape[3]} coordinates: a recording has one "
            "individual or two with x, y and perhaps z; select them with .sel(individuals=...)"
        )
    coordinate = value.coords.get(value.dims[place["joints"]])
    names = () if coordinate is None else tuple(str(name) for name in np.asarray(coordinate))
    return Positions([_with_depth(person) for person in array], names=names)


def padding(joints: np.ndarray, confidence: np.ndarray | None = None) -> tuple[int, int]:
    """The frames from the first to the last in which a joint was seen, as a slice; all if none was.

    >>> padding(np.concatenate([np.ones((4, 2, 3)), np.zeros((3, 2, 3))]))
    (0, 4)
    """
    nothing = np.logical_not(joints.any(axis=(1, 2)))
    gone = np.isnan(joints).any(axis=2) | nothing[:, None]
    if confidence is not None:
        gone |= ~(confidence > 0)
    seen: Sequence[int] = np.flatnonzero(~gone.all(axis=1)).tolist()
    return (seen[0], seen[-1] + 1) if seen else (0, len(joints))
