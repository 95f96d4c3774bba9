"""Compiled kernels cached on disk, if there is a writable folder."""

from __future__ import annotations

import functools
import hashlib
import warnings

from numba import njit


def source_number(folder):
    """A hash of the source files of a folder.

    Numba's cache checks the file of the cached function and the values of its closure, but not
    the functions it calls. A kernel with this number in its closure is compiled again when any source file there changes.
    """
    sources = sorted(folder.glob("*.py"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources))
    return int.from_bytes(digest.digest()[:6], "big") + 1


def cached_jit(function):
    """Compile a kernel when it is first called, and cache it on disk if Numba can write there.

    Containers and service users often have no writable folder: every process then compiles the kernel again, with
    one warning.
    """
    options = {"nogil": True, "error_model": "numpy"}
    plain = njit(**options)(function)
    try:
        cached = njit(cache=True, **options)(function)
    except RuntimeError:  # "no locator available"
        _warn_about_cache()
        return plain

    @functools.wraps(function)
    def call(*arguments):
        try:
            return cached(*arguments)
        except OSError:  # the disk is full, the folder gone or another user's
            _warn_about_cache()
            return plain(*arguments)

    return call


@functools.cache
def _warn_about_cache():
    warnings.warn(
        "Numba cannot cache compiled code on disk, so every process compiles for some seconds: "
        "set NUMBA_CACHE_DIR to a writable folder",
        RuntimeWarning,
        stacklevel=2,
    )
