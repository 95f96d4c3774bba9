"""The kernels compiled by Numba; importing a module of this package fails where Numba is missing or told not to compile."""

from numba import config

if getattr(config, "DISABLE_JIT", False):  # vectors exist in compiled code only
    raise ImportError("NUMBA_DISABLE_JIT is set: Kerneton runs without compiled kernels")
