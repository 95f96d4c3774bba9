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
    from kerneton.augment import TrainOnCopies
    from kerneton.calibrate import CalibratedRecognizer
    from kerneton.cues import standard_cues
    from kerneton.datasets import load_dataset, make_actions
    from kerneton.dck import DCK
    from kerneton.evaluate import evaluate
    from kerneton.explain import explain
    from kerneton.folder import load_folder
    from kerneton.kernels import dck_kernel, sck_kernel
    from kerneton.layouts import Layout
    from kerneton.mapping import map_layout
    from kerneton.normalize import CenterNormalize
    from kerneton.persist import load, save
    from kerneton.preprocess import Preprocess
    from kerneton.protocols import get_protocol
    from kerneton.pyramid import Pyramid
    from kerneton.readers import read, write
    from kerneton.recognizer import make_recognizer
    from kerneton.report import Report
    from kerneton.sck import SCK
    from kerneton.select import KernelSearch
    from kerneton.sequence import SkeletonDataset, SkeletonSequence
    from kerneton.svm import LinearSVM

    __version__: str

__all__ = [
    "DCK",
    "SCK",
    "CalibratedRecognizer",
    "CenterNormalize",
    "KernelSearch",
    "Layout",
    "LinearSVM",
    "Preprocess",
    "Pyramid",
    "Report",
    "SkeletonDataset",
    "SkeletonSequence",
    "TrainOnCopies",
    "__version__",
    "dck_kernel",
    "evaluate",
    "explain",
    "get_protocol",
    "load",
    "load_dataset",
    "load_folder",
    "make_actions",
    "make_recognizer",
    "map_layout",
    "read",
    "save",
    "sck_kernel",
    "standard_cues",
    "write",
]

_PUBLIC = {
    "CalibratedRecognizer": "calibrate",
    "CenterNormalize": "normalize",
    "DCK": "dck",
    "KernelSearch": "select",
    "Layout": "layouts",
    "LinearSVM": "svm",
    "Preprocess": "preprocess",
    "Pyramid": "pyramid",
    "Report": "report",
    "SCK": "sck",
    "SkeletonDataset": "sequence",
    "SkeletonSequence": "sequence",
    "TrainOnCopies": "augment",
    "dck_kernel": "kernels",
    "evaluate": "evaluate",
    "explain": "explain",
    "get_protocol": "protocols",
    "load": "persist",
    "load_dataset": "datasets",
    "load_folder": "folder",
    "make_actions": "datasets",
    "make_recognizer": "recognizer",
    "map_layout": "mapping",
    "read": "readers",
    "save": "persist",
    "sck_kernel": "kernels",
    "standard_cues": "cues",
    "write": "readers",
}
_MODULES = {"datasets", "exceptions", "kernels", "layouts", "plot", "protocols", "readers", "sequence"}


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
