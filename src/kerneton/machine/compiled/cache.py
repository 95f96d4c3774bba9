"""Compiled kernels kept on the disk, where there is a place for them."""

from __future__ import annotations

import functools
import hashlib
import warnings

from numba import njit


def source_number(folder):
    """A number that stands for the source files of a folder.

    Numba's cache on disk looks at the file of the function it keeps and at the values that this closes over, not at
    the functions it calls. A kernel that closes over this number is compiled anew when anything there changes.
    """
    sources = sorted(folder.glob("*.py"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources))
    return int.from_bytes(digest.digest()[:6], "big") + 1


def cached_jit(function):
    """Compile a kernel when it is first called, and keep it on the disk where Numba may write.

    Containers and service users often have no such place: the kernel is then compiled anew by every process, and
    one warning says so.
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
        "Numba cannot keep compiled code on the disk, so that every process compiles for some seconds: "
        "set NUMBA_CACHE_DIR to a folder that is writable",
        RuntimeWarning,
        stacklevel=2,
    )
