"""Writing recognisers to files of JSON and arrays, which cannot run code.
`kerneton.recognize.model_reader` reads them.

A file contains all that is needed to predict, to explain and to fit again with the same result to
the bit: parameters, learned values, skeleton layout, labels, and a summary of the training
recordings. Everything else is computed from these. Runtime parameters (``batch_size``, ``n_jobs``,
``device``) are not stored.

An object is ``{"class": name, "parameters": {...}, "state": {...}}``, the state is the result of
its ``get_state``. Arrays are ``{"array": number, "dtype": name}``. A file can name nothing else:
only listed classes can be created. The file is an uncompressed zip archive::

    model.json         what the model is made of
    arrays/0000.npy    its numbers, little-endian, in the narrowest of float16, float32, float64
                       that is exact
    SHA256SUMS         of the members above, in the format of sha256sum

The paper's recogniser of MSR-Action3D (20 labels, 52,340 features, float32) takes 4.4 MB,
calibrated 6.5 MB.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import math
import os
import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import sklearn

import kerneton
from kerneton.data.checks import check_sequences
from kerneton.data.layouts import Layout
from kerneton.data.sequence import SkeletonSequence, plain_text
from kerneton.data.units import find_conventions
from kerneton.exceptions import ParameterError
from kerneton.files.output import replacing
from kerneton.recognize.branch import RUNTIME_PARAMETERS
from kerneton.recognize.recognizer import Recognizer
from kerneton.recognize.training import check_fitted

FORMAT, VERSION = "kerneton model", 2
DESCRIPTION, SUMS = "model.json", "SHA256SUMS"
# the earliest time in an archive; a real one would make every file differ
_EPOCH = (1980, 1, 1, 0, 0, 0)
DTYPES = (np.dtype("<f2"), np.dtype("<f4"), np.dtype("<f8"))

_NOT_KEPT = (*RUNTIME_PARAMETERS, "progress")


def save(
    model: Recognizer,
    path: str | os.PathLike[str],
    *,
    data: Iterable[SkeletonSequence] | None = None,
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
    labels = [str(label) for label in model.classes_]
    if strange := [label for label in labels if plain_text(label) != label]:
        raise ParameterError(
            f"label {strange[0]!r} cannot be saved in a model file: it is not text"
        )
    training = getattr(model, "training_", None) if data is None else training_summary(data)
    writer = Writer()
    header = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": {
            "kerneton": kerneton.__version__,
            "numpy": np.__version__,
            "scikit-learn": sklearn.__version__,
        },
        "model": writer.object(model, learnt=True),
        "layouts": writer.layouts,
        "labels": labels,
        "training": training,
        "spots": [] if model.spotter_ is None else list(model.spotter_.classes_),
    }
    path = Path(path)
    write_archive(path, header, writer.arrays)
    return path


def training_summary(data: Iterable[SkeletonSequence]) -> dict[str, Any]:
    """Number of recordings per label and per subject, lengths, and today's date.

    >>> from kerneton import make_actions
    >>> training_summary(make_actions(["wave"], n_subjects=2, n_takes=3))["labels"]
    {'wave': 6}
    """
    sequences = check_sequences(data, allow_missing=True)
    frames = [s.n_frames for s in sequences]
    return {
        "name": plain_text(getattr(data, "name", "")),
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "recordings": len(sequences),
        "labels": dict(sorted(Counter(s.label for s in sequences if s.label is not None).items())),
        "subjects": dict(
            sorted(Counter(s.subject for s in sequences if s.subject is not None).items())
        ),
        "frames": {"min": min(frames), "median": float(np.median(frames)), "max": max(frames)},
    }


def recording_facts(recordings: Sequence[SkeletonSequence]) -> dict[str, Any]:
    """Frame rate, height and axes of training recordings, which a model stores to warn if others
    differ.

    >>> from kerneton.datasets.synthetic import make_actions
    >>> recording_facts(make_actions(["wave"], n_subjects=2, n_takes=1))
    {'fps': 30.0, 'height': 1.64..., 'up': 'y', 'mirrored': False}
    """
    rates = [r.fps for r in recordings if r.fps is not None]
    fps = float(np.median(rates)) if 2 * len(rates) > len(recordings) else None
    found = find_conventions(recordings)
    return {"fps": fps, "height": found.height, "up": found.up, "mirrored": found.mirrored}


class Writer:
    """Turns objects into plain data and collects their arrays and layouts."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self.layouts: list[dict[str, Any]] = []

    def object(self, step: Any, *, learnt: bool) -> dict[str, Any]:
        """An estimator with its parameters and, if wanted, its learned values."""
        if learnt and not hasattr(step, "get_state"):
            raise ParameterError(
                f"{type(step).__name__} cannot be saved in a model file: it has no get_state and set_state"
            )
        named = step.get_params(deep=False).items()
        parameters = {name: self.value(value) for name, value in named if name not in _NOT_KEPT}
        state = None
        if learnt:
            state = {
                name: self.value(value, learnt=True) for name, value in step.get_state().items()
            }
        return {"class": type(step).__name__, "parameters": parameters, "state": state}

    def value(self, value: Any, *, learnt: bool = False) -> Any:
        """A parameter or learned value in the form of JSON."""
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            if not math.isfinite(value):
                raise ParameterError(
                    f"a model with a parameter of {value} cannot be saved in a file"
                )
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
        raise ParameterError(
            f"a parameter of type {type(value).__name__} cannot be saved in a model file"
        )

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


def write_archive(
    path: str | os.PathLike[str], header: Mapping[str, Any], arrays: list[np.ndarray]
) -> None:
    """Write header and arrays, whole or not at all; the same content gives the same bytes.

    >>> import tempfile
    >>> from kerneton.recognize.model_archive import read_archive
    >>> file = Path(tempfile.mkdtemp()) / "any.kern"
    >>> write_archive(file, {"format": FORMAT, "version": VERSION}, [np.ones(2)])
    >>> header, arrays = read_archive(file)
    >>> arrays
    [array([1., 1.], dtype=float16)]
    """
    text = json.dumps(dict(header), sort_keys=True, allow_nan=False)
    members = {DESCRIPTION: text.encode("utf-8")}
    members |= {array_name(i): _npy(array) for i, array in enumerate(arrays)}
    sums = "".join(
        f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in members.items()
    )
    members[SUMS] = sums.encode("ascii")
    with (
        replacing(path) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive,
    ):
        for name, data in members.items():
            info = zipfile.ZipInfo(name, _EPOCH)
            info.create_system, info.external_attr = 3, 0o644 << 16
            archive.writestr(info, data)


def _npy(array: np.ndarray) -> bytes:
    """An array in NumPy's format 1.0; written here because the padding of the header depends on
    NumPy's version.
    """
    array = _narrowed(np.ascontiguousarray(array))
    described = (
        f"{{'descr': '{array.dtype.str}', 'fortran_order': False, 'shape': {array.shape}, }}"
    )
    padded = described + " " * (-(len(described) + 11) % 64) + "\n"
    return (
        b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded.encode() + array.tobytes()
    )


def _narrowed(array: np.ndarray) -> np.ndarray:
    """The same numbers in the narrowest type that represents them exactly, little-endian."""
    with np.errstate(all="ignore"):
        for dtype in DTYPES[:-1]:
            if np.array_equal(array.astype(dtype), array):
                return array.astype(dtype)
    return array.astype(DTYPES[-1])


def array_name(number: int) -> str:
    """The name of an array's member in the archive."""
    return f"arrays/{number:04d}.npy"
