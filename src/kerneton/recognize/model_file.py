"""Recognisers as files: one file, JSON and arrays, that cannot run code.

A file holds what a recogniser needs to predict, to be explained and to be fitted again: its steps, their parameters,
what they learnt, skeleton layout, labels, and a summary of the training recordings. What follows from these is computed
anew. Where it runs (``batch_size``, ``n_jobs``, ``device``) is not part of a model. `kerneton.files.model_archive` describes
the file.

The paper's recogniser of MSR-Action3D (20 labels, 52,340 features, float32) takes 4.4 MB, calibrated 6.5 MB.
"""

from __future__ import annotations

import datetime
import os
from collections import Counter
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from kerneton.data.sequence import SkeletonSequence
from kerneton.data.validation import check_sequences
from kerneton.exceptions import ModelFileError
from kerneton.files.model_archive import FORMAT, MAX_BYTES, VERSION, read_archive, refuse, write_archive
from kerneton.recognize.calibration import CalibratedRecognizer, CalibratedSVM
from kerneton.recognize.fitted import layout_of, plain_pipeline
from kerneton.recognize.model_reader import Reader, made_up
from kerneton.recognize.model_steps import Writer

__all__ = ["load", "model_info", "save", "training_summary"]


def save(model: Any, path: str | os.PathLike[str], *, data: Iterable[SkeletonSequence] | None = None) -> Path:
    """Write a fitted recogniser to a file, whole or not at all.

    Parameters
    ----------
    model : fitted recogniser
        A pipeline as `make_recognizer` makes it, or a `CalibratedRecognizer`. Of a `KernelSearch` or a grid search
        the pipeline that it found is kept.
    path : path
        By custom with the ending ``.kern``.
    data : recordings, optional
        What it was trained on, for the summary in the file.

    Examples
    --------
    >>> import tempfile
    >>> from kerneton import make_actions, make_recognizer
    >>> data = make_actions(["wave", "bow"], n_subjects=2, n_takes=1)
    >>> model = make_recognizer(kernel="sck").fit(data, data.labels)
    >>> file = save(model, Path(tempfile.mkdtemp()) / "two.kern", data=data)
    >>> load(file).predict(data[:2])
    array(['wave', 'bow'], dtype='<U4')
    """
    pipeline = plain_pipeline(model)
    layout_of(pipeline)  # says what is wrong with a pipeline of other parts
    kept = model if isinstance(model, CalibratedRecognizer) else pipeline
    training = getattr(model, "training_", None) if data is None else training_summary(data)
    writer = Writer()
    node = writer.step(kept)
    header = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": {name: version(name) for name in ("kerneton", "numpy", "scikit-learn")},
        "model": node,
        "layouts": writer.layouts,
        "labels": [str(label) for label in pipeline[-1].classes_],
        "training": training,
    }
    path = Path(path)
    write_archive(path, header, writer.arrays)
    return path


def load(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> Any:
    """Read a recogniser from a file; predictions are those of the one that was saved, to the bit.

    The file's summary of the training recordings becomes the attribute ``training_``. Anything but a sound model file
    of at most ``max_bytes`` is refused with a `ModelFileError`; see `save` for an example.

    >>> load("no-such.kern")
    Traceback (most recent call last):
    kerneton.exceptions.MissingDataError: no-such.kern: no such file
    """
    path = Path(path)
    header, arrays = read_archive(path, max_bytes)
    try:
        reader = Reader(header.get("layouts"), arrays)
        model = reader.step(header.get("model"), "model")
        reader.check_all_used()
        _try_out(model)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from error
    except Exception as error:  # whatever parts that do not fit together may stumble over
        raise ModelFileError(f"{path}: its parts do not make a model: {error}") from error
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
    if not isinstance(header.get("layouts"), list) or not isinstance(header.get("labels"), list):
        refuse(path, "it does not tell its layouts and labels")
    return {
        "labels": header["labels"],
        "layouts": [layout.get("name") for layout in header["layouts"] if isinstance(layout, dict)],
        "training": header.get("training"),
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


def _try_out(model: Any) -> None:
    """One made-up recording through the whole model: what is broken shall be so here and not at the first use."""
    pipeline = plain_pipeline(model)
    recording = made_up(*layout_of(pipeline))
    with np.errstate(all="ignore"):
        scores = [np.asarray(model.decision_function([recording]))]
        if isinstance(pipeline[-1], CalibratedSVM):
            features = pipeline[:-1].transform([recording])
            scores += [pipeline[-1].predict_proba(features), pipeline[-1].unknown_score(features)]
    if not all(np.isfinite(values).all() for values in scores):
        raise ModelFileError("its decision values are not finite")
