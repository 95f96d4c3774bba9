"""Steps of a recogniser as plain data: which classes a model file may hold, and what of each.

A step is ``{"class": name, "parameters": {...}, ...}`` with what it learnt beside. Arrays are ``{"array": number, "dtype": name}``.
There is no way to name anything else: a class that is not listed here does not exist for a file.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.pipeline import FeatureUnion, Pipeline

from kerneton.data.arrays import to_numpy
from kerneton.data.layouts import Layout
from kerneton.exceptions import ParameterError
from kerneton.kernels.blocks import BlockTransformer
from kerneton.kernels.dck import DCK
from kerneton.kernels.sck import SCK
from kerneton.machine.normalize import CenterNormalize
from kerneton.machine.svm import LinearSVM
from kerneton.prepare.preprocess import Preprocess
from kerneton.recognize.calibrated_svm import CalibratedSVM
from kerneton.recognize.calibration import CalibratedRecognizer

PLAIN: dict[str, Any] = {
    kind.__name__: kind for kind in (Preprocess, SCK, DCK, CenterNormalize, LinearSVM, CalibratedSVM)
}
ELSEWHERE = ("batch_size", "n_jobs", "device")  # where it runs, which changes no answer


class Writer:
    """Turns steps into plain data and collects their arrays and layouts."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self.layouts: list[dict[str, Any]] = []

    def step(self, step: Any) -> dict[str, Any]:
        """One step, with those inside it."""
        kind = type(step).__name__
        if type(step) is Pipeline:
            return {"class": kind, "steps": [[name, self.step(inner)] for name, inner in step.steps]}
        if type(step) is FeatureUnion:
            steps = [[name, self.step(inner)] for name, inner in step.transformer_list]
            return {"class": kind, "steps": steps, "weights": self._table(step.transformer_weights)}
        if type(step) is CalibratedRecognizer:
            chosen = {k: v for k, v in step.get_params(deep=False).items() if k != "estimator"}
            return {
                "class": kind,
                "parameters": self._table(chosen),
                "held_out": self._table(step.held_out_),
                "recognizer": self.step(step.recognizer_),
            }
        if PLAIN.get(kind) is not type(step):
            raise ParameterError(f"a step of type {kind} cannot be kept in a model file")
        chosen = {k: v for k, v in step.get_params(deep=False).items() if k not in ELSEWHERE}
        return {"class": kind, "parameters": self._table(chosen), **self._learnt(step)}

    def value(self, value: Any) -> Any:
        """A parameter or learnt value as JSON has it."""
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            if not math.isfinite(value):
                raise ParameterError(f"a model with a parameter of {value} cannot be kept in a file")
            return value
        if isinstance(value, np.ndarray):
            value = value if value.dtype == np.float32 else value.astype(np.float64)
            self.arrays.append(value)
            return {"array": len(self.arrays) - 1, "dtype": value.dtype.name}
        if isinstance(value, (list, tuple)):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {"items": [[self.value(k), self.value(v)] for k, v in value.items()]}
        raise ParameterError(f"a parameter of type {type(value).__name__} cannot be kept in a model file")

    def _table(self, table: dict[str, Any] | None) -> dict[str, Any] | None:
        return None if table is None else {str(name): self.value(value) for name, value in table.items()}

    def _learnt(self, step: Any) -> dict[str, Any]:
        out: dict[str, Any] = {}
        if isinstance(step, (Preprocess, BlockTransformer)):
            out = {"n_joints": step.n_joints_in_, "layout": self._layout(step.layout_)}
        if isinstance(step, SCK):
            out["scales"] = self._table(step.scales_)
        if isinstance(step, DCK):
            out["scale"] = self.value(step.scale_)
        if isinstance(step, BlockTransformer):
            out["weights"] = self.value(getattr(step, "weights_", None))
        if isinstance(step, Preprocess):
            out["reference"] = self.value(step.reference_) if step.bones and len(step.reference_) else None
        if isinstance(step, CenterNormalize):
            out["mean"] = None if step.mean_ is None else self.value(to_numpy(step.mean_))
            out["n_features"] = step.n_features_in_
        if isinstance(step, LinearSVM):
            out = {**_classes(step.classes_), "n_iter": step.n_iter_}
            out |= {name: self.value(to_numpy(getattr(step, f"{name}_"))) for name in ("coef", "intercept")}
        if isinstance(step, CalibratedSVM):
            names = ("sharpness", "class_means", "usual_likeness", "unknown_weights", "threshold")
            out |= {name: self.value(getattr(step, f"{name}_")) for name in names}
        return out

    def _layout(self, layout: Layout | None) -> int | None:
        if layout is None:
            return None
        found = {
            "name": layout.name,
            "joints": list(layout.joints),
            "bones": [list(bone) for bone in layout.bones],
            "root": layout.root,
            "sets": {name: list(joints) for name, joints in layout.sets.items()},
        }
        if found not in self.layouts:
            self.layouts.append(found)
        return self.layouts.index(found)


def _classes(classes: np.ndarray) -> dict[str, Any]:
    if classes.dtype.kind == "O" and all(isinstance(c, str) for c in classes):
        classes = classes.astype(str)
    if classes.dtype.kind not in "Uiu":
        raise ParameterError(f"labels of type {classes.dtype} cannot be kept in a model file; use strings")
    return {"classes": classes.tolist(), "classes_type": classes.dtype.newbyteorder("<").str}
