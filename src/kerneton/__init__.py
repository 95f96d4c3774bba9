"""Kerneton: action recognition from skeleton recordings with tensor kernels (SCK and DCK).

Public names load when they are first used, so that importing the package costs next to nothing.

>>> import kerneton
>>> "SkeletonSequence" in dir(kerneton)
True
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what editors and type checkers see; _PUBLIC says the same at run time
    from kerneton.evaluate import evaluate
    from kerneton.layouts import Layout
    from kerneton.report import Report
    from kerneton.sequence import SkeletonDataset, SkeletonSequence

    __version__: str

__all__ = [
    "Layout",
    "Report",
    "SkeletonDataset",
    "SkeletonSequence",
    "__version__",
    "evaluate",
]

_PUBLIC = {
    "Layout": "layouts",
    "Report": "report",
    "SkeletonDataset": "sequence",
    "SkeletonSequence": "sequence",
    "evaluate": "evaluate",
}
_MODULES = {"datasets", "exceptions", "layouts"}


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        value = getattr(importlib.import_module(f"kerneton.{_PUBLIC[name]}"), name)
    elif name in _MODULES:
        return importlib.import_module(f"kerneton.{name}")
    elif name == "__version__":
        from importlib.metadata import version

        value = version("kerneton")
    else:
        raise AttributeError(f"module 'kerneton' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, *globals()})


class _Package(ModuleType):
    """Keeps a public function in sight when the module of the same name is imported.

    Importing ``kerneton.evaluate`` binds that module to the name ``evaluate`` of this package, where users
    expect the function. ``from kerneton.evaluate import evaluate`` is not touched by this.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _PUBLIC and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
