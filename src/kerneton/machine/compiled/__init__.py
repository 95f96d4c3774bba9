"""Optional versions of steps of the linear classifier, compiled by Numba; see `load`."""

from __future__ import annotations

import functools
import importlib
from types import ModuleType


@functools.cache
def load(module: str) -> ModuleType | None:
    """A module that needs Numba, imported when first used; None without Numba.

    >>> load("kerneton.machine.compiled.absent") is None
    True
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        return None
