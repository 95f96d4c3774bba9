"""Compiled kernels kept on the disk, where there is a place for them."""

from __future__ import annotations

import functools
import warnings

from numba import njit


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
