"""The compiled core: loading its library and calling its functions, see core/kerneton_core.h.

The library of the highest level that this processor has is loaded when the first function is
called. The environment variable KERNETON_CORE names another level (v2, v3, v4, v8).
"""

from __future__ import annotations

import ctypes
import functools
import json
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np

from kerneton.exceptions import CoreError

_PRECISIONS = {np.dtype(np.float32): 0, np.dtype(np.float64): 1}
VERSION = 1  # of the interface, KN_VERSION of the header
NOT_CONVERGED, BAD_ARGUMENT = 1, 2
_FOLDER = Path(__file__).parent
_LEVELS = {"v2": 2, "v3": 3, "v4": 4, "v8": 1}  # what kn_processor_level must say
_ADVICE = "install Kerneton again (from a checkout: pip install -e ., or python core/build.py)"

int32, int64, double, pointer = ctypes.c_int32, ctypes.c_int64, ctypes.c_double, ctypes.c_void_p


def available_levels() -> list[str]:
    """Levels of the installed library that this processor has, lowest first.

    >>> len(available_levels()) >= 1
    True
    """
    known = _manifest()["libraries"]
    first = min(known, key=lambda level: _LEVELS[level])
    can = _open(first).kn_processor_level()
    return sorted(
        (level for level in known if _LEVELS[level] <= can), key=lambda level: _LEVELS[level]
    )


@functools.cache
def library() -> ctypes.CDLL:
    """The library of the level that KERNETON_CORE names, by default the highest that this processor
    has.
    """
    levels, wanted = available_levels(), os.environ.get("KERNETON_CORE")
    if not levels:
        raise CoreError(
            "this processor is older than x86-64-v2 (SSE4.2), which Kerneton's core needs"
        )
    if wanted is not None and wanted not in levels:
        raise CoreError(
            f"KERNETON_CORE={wanted}: this processor and this installation have the levels {', '.join(levels)}"
        )
    return _open(wanted or levels[-1])


def function(name: str, *arguments: Any, result: Any = int32) -> Any:
    """A function of the core by its name, with the types of its arguments; the library is loaded
    when it is called.
    """

    @functools.cache
    def bound() -> Any:
        found = library()[name]
        found.argtypes, found.restype = arguments, result
        return found

    def call(*given: Any) -> Any:
        return bound()(*given)

    return call


def address(array: np.ndarray | None) -> int | None:
    """Where a contiguous array begins, for a pointer argument; None is the null pointer."""
    if array is None:
        return None
    assert array.flags.c_contiguous
    return array.__array_interface__["data"][0]


def precision(dtype: Any) -> int:
    """KN_FLOAT32 or KN_FLOAT64."""
    return _PRECISIONS[np.dtype(dtype)]


def lanes() -> int:
    """Problems that the library computes at the same time."""
    return _lanes()


_lanes = functools.cache(function("kn_lanes"))
_rooms = threading.local()


def room(n_bytes: int) -> int:
    """Address of at least so many bytes of this thread's working memory, on a cache line; valid
    until the next call.
    """
    kept = getattr(_rooms, "memory", None)
    if kept is None or len(kept) < n_bytes + 64:
        try:
            kept = np.empty(n_bytes + 64, np.uint8)
        except MemoryError:
            raise MemoryError(
                f"the core needs {n_bytes / 2**20:.0f} MiB of working memory"
            ) from None
        if n_bytes <= 2**25:
            _rooms.memory = kept
        else:
            _rooms.once = kept
    at = kept.__array_interface__["data"][0]
    return at + -at % 64


@functools.cache
def _manifest() -> dict[str, Any]:
    try:
        return json.loads((_FOLDER / "libraries.json").read_text())
    except (OSError, ValueError) as error:
        raise CoreError(f"Kerneton's compiled core is not installed ({error}): {_ADVICE}") from None


@functools.cache
def _open(level: str) -> ctypes.CDLL:
    listed = _manifest()["libraries"][level]
    path = _FOLDER / listed["file"]
    try:
        size = path.stat().st_size
        if size != listed["size"]:  # the system's loader may crash on a truncated library
            raise CoreError(
                f"{path} is damaged: {size} bytes, expected {listed['size']}; {_ADVICE}"
            )
        opened = ctypes.CDLL(str(path))
    except OSError as error:
        raise CoreError(f"Kerneton's compiled core cannot be loaded: {error}; {_ADVICE}") from None
    version = opened.kn_version()
    if version != VERSION:
        raise CoreError(f"{path} is of version {version}, expected {VERSION}; {_ADVICE}")
    return opened
