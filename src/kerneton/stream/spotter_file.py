"""Spotters as files: a model file of the recogniser, with what the spotter learnt besides."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from kerneton.data.layouts import Layout
from kerneton.exceptions import KernetonError, ModelFileError
from kerneton.files.model_archive import read_archive, write_archive
from kerneton.stream.frames import FrameFeatures
from kerneton.stream.proposals import CELLS, WindowScorer
from kerneton.stream.spotter import BACKGROUND, Parts, Spotter
from kerneton.stream.verify import Verifier

_KEY = "spotter"


def save_spotter(spotter: Spotter, path: str | os.PathLike[str]) -> Path:
    """Write a fitted spotter to one file, whole or not at all; it holds JSON and arrays, no code.

    >>> save_spotter(spotter, "actions.kern")  # doctest: +SKIP
    """
    p = spotter.parts_
    with tempfile.TemporaryDirectory() as folder:
        inner = Path(folder) / "recognizer.kern"
        p.recognizer.save(inner)
        header, arrays = read_archive(inner)
    states = {
        "features": p.features.get_state(),
        "scorer": p.scorer.get_state(),
        "verifier": p.verifier.get_state(),
    }
    places: dict[str, int] = {}
    for part, state in states.items():
        for name, value in state.items():
            places[f"{part}.{name}"] = len(arrays)
            arrays.append(np.asarray(value, dtype=float))
    layout = p.features.layout
    header[_KEY] = {
        "classes": list(p.classes),
        "floor": float(max(p.floor, -1e9)),
        "threshold": float(p.threshold),
        "fps": p.fps,
        "n_joints": p.features.n_joints,
        "n_arrays": len(arrays) - len(places),
        "arrays": places,
        "held_out": {k: float(v) for k, v in spotter.held_out_.items()},
        "layout": None
        if layout is None
        else {
            "name": layout.name,
            "joints": list(layout.joints),
            "bones": [[int(a), int(b)] for a, b in layout.bones],
            "root": layout.root,
            "sets": {k: [int(j) for j in v] for k, v in layout.sets.items()},
        },
    }
    path = Path(path)
    write_archive(path, header, arrays)
    return path


def is_spotter(path: str | os.PathLike[str]) -> bool:
    """Whether a model file holds a spotter."""
    return _KEY in read_archive(path)[0]


def load_spotter(path: str | os.PathLike[str]) -> Spotter:
    """Read a spotter from a file; it finds what the one that was saved finds."""
    path = Path(path)
    header, arrays = read_archive(path)
    if _KEY not in header:
        raise ModelFileError(f"{path}: holds a recogniser, but no spotter; kerneton fit --spot makes one")
    info = header.pop(_KEY)
    from kerneton.recognize.model_file import load

    with tempfile.TemporaryDirectory() as folder:
        inner = Path(folder) / "recognizer.kern"
        try:
            write_archive(inner, header, arrays[: info["n_arrays"]])
            recognizer = load(inner)
            parts = _parts(info, arrays, recognizer)
        except KernetonError as error:
            raise ModelFileError(f"{path}: {str(error).replace(str(inner), 'its recogniser')}") from error
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise ModelFileError(
                f"{path}: what it says of its spotter does not fit together: {error}"
            ) from error
    spotter = Spotter()
    spotter.parts_ = parts
    spotter.held_out_ = {str(k): float(v) for k, v in info["held_out"].items()}
    return spotter


def _parts(info: dict[str, Any], arrays: list[np.ndarray], recognizer: Any) -> Parts:
    state: dict[str, dict[str, np.ndarray]] = {"features": {}, "scorer": {}, "verifier": {}}
    for name, place in info["arrays"].items():
        part, _, field = name.partition(".")
        state[part][field] = arrays[place].astype(float)
    given = info["layout"]
    layout = None
    if given is not None:
        bones = [(int(a), int(b)) for a, b in given["bones"]]
        layout = Layout(given["name"], given["joints"], bones, given["root"], given["sets"])
    features = FrameFeatures(layout, int(info["n_joints"])).set_state(state["features"])
    classes = tuple(str(c) for c in info["classes"])
    known = {str(c) for c in recognizer.classes_}
    if known != {*classes, BACKGROUND}:
        raise ValueError("the recogniser knows other classes")
    scorer = WindowScorer(**state["scorer"])
    scorer.lengths = scorer.lengths.astype(int)
    k = len(classes) + 1
    if scorer.coef.shape[:2] != (k, CELLS + 2) or scorer.intercept.shape != (k,) or not len(scorer.lengths):
        raise ValueError("the window scorer has another shape")
    if not 0 < scorer.lengths[0] <= scorer.lengths[-1] < 1_000_000:
        raise ValueError("windows of impossible lengths")
    verifier = Verifier(
        **{k: v for k, v in state["verifier"].items() if k != "intercept"},
        intercept=float(np.ravel(state["verifier"]["intercept"])[0]),
    )
    if verifier.durations.shape != (len(classes), 2):
        raise ValueError("durations of other classes")
    fps = None if info["fps"] is None else float(info["fps"])
    return Parts(
        classes, features, scorer, recognizer, verifier, float(info["floor"]), float(info["threshold"]), fps
    )
