"""Kernels compiled by Numba; importing a module of this package fails if Numba is missing or its compiler is switched off."""

from numba import config

if getattr(config, "DISABLE_JIT", False):  # vectors exist only in compiled code
    raise ImportError("NUMBA_DISABLE_JIT is set: Kerneton runs without compiled kernels")
