"""Kerneton: action recognition from skeleton recordings with tensor kernels (SCK and DCK).

Public names load when they are first used, so that importing the package costs next to nothing.

>>> import kerneton
>>> "SkeletonSequence" in dir(kerneton)
True
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what editors and type checkers see; _PUBLIC says the same at run time
    from kerneton.data.bodies import pair
    from kerneton.data.layouts import Layout
    from kerneton.data.mapping import map_layout
    from kerneton.data.segments import Segment
    from kerneton.data.sequence import Conversion, SkeletonDataset, SkeletonSequence
    from kerneton.datasets import load_dataset, make_actions
    from kerneton.datasets.protocols import get_protocol
    from kerneton.files.folder import load_folder
    from kerneton.files.readers import read, write
    from kerneton.kernels.dck import DCK
    from kerneton.kernels.exact import dck_kernel, sck_kernel
    from kerneton.kernels.exact_features import ExactDCK, ExactSCK
    from kerneton.kernels.sck import SCK
    from kerneton.machine.scaling import CenterNormalize
    from kerneton.machine.svm import LinearSVM
    from kerneton.prepare.preprocess import Preprocess
    from kerneton.recognize.answers import Prediction, Results
    from kerneton.recognize.branch import Branch
    from kerneton.recognize.calibration import Calibration
    from kerneton.recognize.contributions import explain
    from kerneton.recognize.model_file import save
    from kerneton.recognize.model_reader import load
    from kerneton.recognize.presets import make_recognizer, standard_cues
    from kerneton.recognize.recognizer import Recognizer
    from kerneton.recognize.search import Search, Trial
    from kerneton.report.evaluation import evaluate
    from kerneton.report.explanation import ClassImportance, Explanation
    from kerneton.report.results import Report
    from kerneton.stream.detection import Detection
    from kerneton.stream.evaluation import SpottingReport, evaluate_spotting
    from kerneton.stream.live import Event, LiveStream
    from kerneton.video.cameras import camera
    from kerneton.video.estimator import PoseEstimator, PoseOptions

    __version__: str

__all__ = [
    "DCK",
    "SCK",
    "Branch",
    "Calibration",
    "CenterNormalize",
    "ClassImportance",
    "Conversion",
    "Detection",
    "Event",
    "ExactDCK",
    "ExactSCK",
    "Explanation",
    "Layout",
    "LinearSVM",
    "LiveStream",
    "PoseEstimator",
    "PoseOptions",
    "Prediction",
    "Preprocess",
    "Recognizer",
    "Report",
    "Results",
    "Search",
    "Segment",
    "SkeletonDataset",
    "SkeletonSequence",
    "SpottingReport",
    "Trial",
    "__version__",
    "camera",
    "dck_kernel",
    "evaluate",
    "evaluate_spotting",
    "explain",
    "get_protocol",
    "load",
    "load_dataset",
    "load_folder",
    "make_actions",
    "make_recognizer",
    "map_layout",
    "pair",
    "read",
    "save",
    "sck_kernel",
    "standard_cues",
    "write",
]

_PUBLIC = {
    "Branch": "recognize.branch",
    "Calibration": "recognize.calibration",
    "CenterNormalize": "machine.scaling",
    "ClassImportance": "report.explanation",
    "Conversion": "data.sequence",
    "DCK": "kernels.dck",
    "Detection": "stream.detection",
    "Event": "stream.live",
    "ExactDCK": "kernels.exact_features",
    "ExactSCK": "kernels.exact_features",
    "Explanation": "report.explanation",
    "Layout": "data.layouts",
    "LinearSVM": "machine.svm",
    "LiveStream": "stream.live",
    "PoseEstimator": "video.estimator",
    "PoseOptions": "video.estimator",
    "Prediction": "recognize.answers",
    "Preprocess": "prepare.preprocess",
    "Recognizer": "recognize.recognizer",
    "Report": "report.results",
    "Results": "recognize.answers",
    "SCK": "kernels.sck",
    "Search": "recognize.search",
    "Segment": "data.segments",
    "SkeletonDataset": "data.sequence",
    "SkeletonSequence": "data.sequence",
    "SpottingReport": "stream.evaluation",
    "Trial": "recognize.search",
    "camera": "video.cameras",
    "dck_kernel": "kernels.exact",
    "evaluate": "report.evaluation",
    "evaluate_spotting": "stream.evaluation",
    "explain": "recognize.contributions",
    "get_protocol": "datasets.protocols",
    "load": "recognize.model_reader",
    "load_dataset": "datasets",
    "load_folder": "files.folder",
    "make_actions": "datasets",
    "make_recognizer": "recognize.presets",
    "map_layout": "data.mapping",
    "pair": "data.bodies",
    "read": "files.readers",
    "save": "recognize.model_file",
    "sck_kernel": "kernels.exact",
    "standard_cues": "recognize.presets",
    "write": "files.readers",
}
_PACKAGES = {
    "data",
    "datasets",
    "exceptions",
    "paper",
    "files",
    "kernels",
    "machine",
    "prepare",
    "recognize",
    "report",
    "runtime",
    "stream",
    "studio",
    "video",
}


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        value = getattr(importlib.import_module(f"kerneton.{_PUBLIC[name]}"), name)
    elif name in _PACKAGES:
        return importlib.import_module(f"kerneton.{name}")
    elif name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            value = version("kerneton")
        except PackageNotFoundError:  # run from a source tree
            value = "not installed"
    else:
        raise AttributeError(f"module 'kerneton' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_PACKAGES, *globals()})
