"""Recognisers as files: one file, JSON and arrays, that cannot run code.

A file holds what a recogniser needs to predict, to be explained and to be fitted again to the bit: every parameter, what
was learnt, skeleton layout, labels, and a summary of the training recordings. What follows from these is computed anew.
Where it runs (``batch_size``, ``n_jobs``, ``device``) is not part of a model.

An object is ``{"class": name, "parameters": {...}, "state": {...}}``, the state what its ``get_state`` gives. Arrays are
``{"array": number, "dtype": name}``, in the archive that `kerneton.files.model_archive` describes. There is no way to name
anything else: a class that is not listed does not exist for a file.

The paper's recogniser of MSR-Action3D (20 labels, 52,340 features, float32) takes 4.4 MB, calibrated 6.5 MB.
"""

from __future__ import annotations

import datetime
import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from kerneton.data.layouts import Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.data.units import find_conventions
from kerneton.data.validation import check_sequences
from kerneton.exceptions import ModelFileError, ParameterError
from kerneton.files.model_archive import FORMAT, MAX_BYTES, VERSION, read_archive, refuse, write_archive
from kerneton.recognize.branch import RUNTIME_PARAMETERS
from kerneton.recognize.recognizer import Recognizer
from kerneton.recognize.training import check_fitted

_NOT_KEPT = (*RUNTIME_PARAMETERS, "progress")


def save(
    model: Recognizer, path: str | os.PathLike[str], *, data: Iterable[SkeletonSequence] | None = None
) -> Path:
    """Write a fitted recogniser to a file, whole or not at all.

    Parameters
    ----------
    model : Recognizer
        Fitted.
    path : path
        By custom with the ending ``.kern``.
    data : recordings, optional
        What it was trained on, for the summary in the file.

    Examples
    --------
    >>> import tempfile
    >>> from kerneton import load, make_actions, make_recognizer
    >>> data = make_actions(["wave", "bow"], n_subjects=2, n_takes=1)
    >>> model = make_recognizer(kernel="sck").fit(data, data.labels)
    >>> file = save(model, Path(tempfile.mkdtemp()) / "two.kern", data=data)
    >>> load(file).predict(data[:2])
    array(['wave', 'bow'], dtype='<U4')
    """
    check_fitted(model)
    if model.classes_.dtype.kind not in "UiuO":
        raise ParameterError(
            f"labels of type {model.classes_.dtype} cannot be saved in a model file; use strings"
        )
    training = getattr(model, "training_", None) if data is None else training_summary(data)
    writer = Writer()
    header = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": {name: version(name) for name in ("kerneton", "numpy", "scikit-learn")},
        "model": writer.object(model, learnt=True),
        "layouts": writer.layouts,
        "labels": [str(label) for label in model.classes_],
        "training": training,
        "spots": [] if model.spotter_ is None else list(model.spotter_.classes_),
    }
    path = Path(path)
    write_archive(path, header, writer.arrays)
    return path


def load(
    path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES, classes: Sequence[type] = ()
) -> Recognizer:
    """Read a recogniser from a file; predictions are those of the one that was saved, to the bit.

    ``classes`` are kernels and classifiers of your own that the file may hold. The file's summary of the training
    recordings becomes the attribute ``training_``. Anything but a sound model file of at most ``max_bytes`` is refused
    with a `ModelFileError`; see `save` for an example.

    >>> load("no-such.kern")
    Traceback (most recent call last):
    kerneton.exceptions.MissingDataError: no-such.kern: no such file
    """
    from kerneton.recognize.model_reader import Reader, try_out

    path = Path(path)
    header, arrays = read_archive(path, max_bytes)
    _check_facts(path, header)
    try:
        reader = Reader(header.get("layouts"), arrays, classes)
        model = reader.object(header.get("model"), "model")
        reader.check_all_used()
        try_out(model)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from error
    except Exception as error:  # whatever parts that do not fit together may stumble over
        raise ModelFileError(f"{path}: its parts are inconsistent: {error}") from error
    if header.get("training") is not None:
        model.training_ = header["training"]
    return model


def model_info(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a model file says about itself, without the model: labels, layout, training recordings, versions.

    >>> import tempfile
    >>> from kerneton import make_actions, make_recognizer
    >>> data = make_actions(["wave", "bow"], n_subjects=2, n_takes=1)
    >>> file = save(make_recognizer(kernel="sck").fit(data, data.labels), Path(tempfile.mkdtemp()) / "two.kern")
    >>> model_info(file)["labels"]
    ['bow', 'wave']
    """
    path = Path(path)
    header, arrays = read_archive(path)
    _check_facts(path, header)
    labels, layouts = header.get("labels"), header.get("layouts")
    if (
        not isinstance(layouts, list)
        or not isinstance(labels, list)
        or not all(isinstance(x, str) for x in [*labels, *(header.get("spots") or [])])
    ):
        refuse(path, "its layouts and labels are missing")
    return {
        "labels": labels,
        "layouts": [layout.get("name") for layout in layouts if isinstance(layout, dict)],
        "training": header.get("training"),
        "spots": header.get("spots") or [],
        "written_by": header.get("written_by"),
        "version": header["version"],
        "bytes": path.stat().st_size,
        "numbers": int(sum(array.size for array in arrays)),
    }


def training_summary(data: Iterable[SkeletonSequence]) -> dict[str, Any]:
    """Numbers of recordings by label and by subject, lengths, and today's date.

    >>> from kerneton import make_actions
    >>> training_summary(make_actions(["wave"], n_subjects=2, n_takes=3))["labels"]
    {'wave': 6}
    """
    sequences = check_sequences(data, allow_missing=True)
    frames = [s.n_frames for s in sequences]
    return {
        "name": getattr(data, "name", ""),
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "recordings": len(sequences),
        "labels": dict(sorted(Counter(s.label for s in sequences if s.label is not None).items())),
        "subjects": dict(sorted(Counter(s.subject for s in sequences if s.subject is not None).items())),
        "frames": {"min": min(frames), "median": float(np.median(frames)), "max": max(frames)},
    }


def _check_facts(path: Path, header: dict[str, Any]) -> None:
    """What a file tells of its making is shown to people: it must be what `save` writes, and text that can be printed."""

    def table(value: Any, kind: Any) -> bool:
        return isinstance(value, dict) and all(type(v) in kind for v in value.values())

    told, made = header.get("training"), header.get("written_by")
    sound = (made is None or table(made, (str,))) and isinstance(header.get("spots", []), list)
    if told is not None:
        sound = sound and isinstance(told, dict) and type(told.get("recordings")) is int
        sound = sound and all(type(told.get(name)) is str for name in ("name", "date"))
        sound = sound and all(table(told.get(name), (int,)) for name in ("labels", "subjects"))
        sound = sound and table(told.get("frames"), (int, float))
    try:
        json.dumps(
            [told, made, *(header.get(k) for k in ("labels", "layouts", "spots"))], ensure_ascii=False
        ).encode()
    except UnicodeEncodeError:
        sound = False
    if not sound:
        refuse(path, "its description of the training or of the writing program is invalid")


class Writer:
    """Turns objects into plain data and collects their arrays and layouts."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self.layouts: list[dict[str, Any]] = []

    def object(self, step: Any, *, learnt: bool) -> dict[str, Any]:
        """An estimator with its parameters and, where asked for, what it learnt."""
        if learnt and not hasattr(step, "get_state"):
            raise ParameterError(
                f"{type(step).__name__} cannot be saved in a model file: it has no get_state and set_state"
            )
        named = step.get_params(deep=False).items()
        parameters = {name: self.value(value) for name, value in named if name not in _NOT_KEPT}
        state = None
        if learnt:
            state = {name: self.value(value, learnt=True) for name, value in step.get_state().items()}
        return {"class": type(step).__name__, "parameters": parameters, "state": state}

    def value(self, value: Any, *, learnt: bool = False) -> Any:
        """A parameter or learnt value as JSON has it."""
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            if not math.isfinite(value):
                raise ParameterError(f"a model with a parameter of {value} cannot be saved in a file")
            return value
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, (list, tuple)):
            return [self.value(item, learnt=learnt) for item in value]
        if isinstance(value, dict):
            pairs = [[self.value(k), self.value(v, learnt=learnt)] for k, v in value.items()]
            return {"items": pairs}
        if isinstance(value, Layout):
            return {"layout": self._layout(value)}
        if hasattr(value, "get_params"):
            return {"object": self.object(value, learnt=learnt)}
        raise ParameterError(f"a parameter of type {type(value).__name__} cannot be saved in a model file")

    def _array(self, value: np.ndarray) -> dict[str, Any]:
        if value.dtype.kind == "O" and all(isinstance(c, str) for c in value):
            value = value.astype(str)
        if value.dtype.kind in "Uiu":
            return {"labels": value.tolist(), "dtype": value.dtype.newbyteorder("<").str}
        if value.dtype.kind != "f":
            raise ParameterError(f"an array of type {value.dtype} cannot be saved in a model file")
        value = value if value.dtype == np.float32 else value.astype(np.float64)
        self.arrays.append(value)
        return {"array": len(self.arrays) - 1, "dtype": value.dtype.name}

    def _layout(self, layout: Layout) -> int:
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


def recording_facts(recordings: Sequence[SkeletonSequence]) -> dict[str, Any]:
    """Frame rate, height and axes of training recordings, which a model stores to warn if others differ.

    >>> from kerneton.datasets.synthetic import make_actions
    >>> recording_facts(make_actions(["wave"], n_subjects=2, n_takes=1))
    {'fps': 30.0, 'height': 1.48..., 'up': 'y', 'mirrored': False}
    """
    rates = [r.fps for r in recordings if r.fps is not None]
    fps = float(np.median(rates)) if 2 * len(rates) > len(recordings) else None
    found = find_conventions(recordings)
    return {"fps": fps, "height": found.height, "up": found.up, "mirrored": found.mirrored}
