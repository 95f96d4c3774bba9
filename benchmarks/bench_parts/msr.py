"""All of MSR-Action3D, from loaded recordings to test predictions, against MultiRocketHydra and
MiniRocket of aeon.

Wang's split of the 557 recordings, two cores. Ours is ``make_recognizer("paper")``: preprocessing,
fit and prediction. The others get hip-centred poses resampled to 40 frames, about the average;
preparing these is not in their time. A warm-up on a few recordings comes first, so that compiling
is not counted.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from bench_parts._timing import Settings, compared
from kerneton.data.sequence import SkeletonDataset
from kerneton.datasets import load_msr_action3d
from kerneton.datasets.protocols import get_protocol
from kerneton.exceptions import MissingDataError
from kerneton.prepare.poses import resample
from kerneton.prepare.preprocess import Preprocess
from kerneton.recognize.presets import make_recognizer

KEYS = {"multirockethydra": "msr_vs_multirockethydra", "minirocket": "msr_vs_minirocket"}
N_FRAMES = 40
N_CORES = 2
Models = dict[str, tuple[Callable[[], Any], Any, Any]]  # how to make it, training data, test data


def measure(settings: Settings) -> dict[str, Any]:
    """Wall seconds and accuracies; null ratios without the recordings or without aeon."""
    lines: dict[str, Any] = dict.fromkeys(KEYS.values())
    split = load_split(settings, every=4)
    if split is None:
        note = "MSR-Action3D is not here: name its folder with --data-home or KERNETON_DATA"
        return {"comparisons": lines, "note": note}
    others, arrays = aeon_classifiers(), as_arrays(*split)
    models: Models = {
        "ours": (lambda: make_recognizer("paper", n_jobs=N_CORES, calibrate=False), *split)
    }
    models |= {name: (make, *arrays) for name, make in others.items()}
    found = compare(
        models, *split, ["ours"] * settings.repeats + list(others), settings, "MSR-Action3D"
    )
    for name in others:
        ours, theirs = found["ours"]["seconds"], found[name]["seconds"]
        lines[KEYS[name]] = compared(ours, theirs, ours / theirs, "s")
    accuracies = [f"{name} {100 * found[name]['accuracy']:.1f} %" for name in models]
    note = f"accuracy on MSR-Action3D, Wang's split: {', '.join(accuracies)}"
    if len(others) < len(KEYS):
        note += "; to compare with aeon: pip install 'kerneton[bench]'"
    sizes = {"n_train": len(split[0]), "n_test": len(split[1]), "cores": N_CORES}
    return sizes | found | {"comparisons": lines, "note": note}


def load_split(settings: Settings, *, every: int) -> tuple[SkeletonDataset, SkeletonDataset] | None:
    """Training and test recordings of Wang's split, if they are here; a quick run takes one of
    ``every`` few.
    """
    try:
        data = load_msr_action3d(settings.data_home)
    except MissingDataError:
        return None
    (train, test), *_ = get_protocol("wang", data).split(data, data.labels, data.subjects)
    step = every if settings.quick else 1
    return data.select(train[::step]), data.select(test[::step])


def compare(
    models: Models,
    train: SkeletonDataset,
    test: SkeletonDataset,
    order: list[str],
    settings: Settings,
    desc: str,
) -> dict[str, Any]:
    """Median seconds and the accuracy of each model; after a warm-up they run in this order."""
    few = np.arange(0, len(train), max(1, min(4, len(train) // 24)))
    for make, X_train, _ in models.values():
        some = X_train.select(few) if X_train is train else X_train[few]
        fit_predict(make, some, train.labels[few], some)
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in models}
    for name in settings.progress(order, total=len(order), desc=desc):
        make, X_train, X_test = models[name]
        runs[name].append(fit_predict(make, X_train, train.labels, X_test))
    return {
        name: {
            "seconds": float(np.median([run["fit_s"] + run["predict_s"] for run in some])),
            "fit_s": float(np.median([run["fit_s"] for run in some])),
            "accuracy": float(np.mean(some[0]["labels"] == test.labels)),
        }
        for name, some in runs.items()
    }


def as_arrays(known: SkeletonDataset, unknown: SkeletonDataset) -> tuple[np.ndarray, np.ndarray]:
    """Input of the others: hip-centred poses resampled to 40 frames, (n, 3 J, frames)."""
    poses = Preprocess(bones=None).fit(known)
    first, second = (
        np.stack(
            [resample(s.joints, N_FRAMES).reshape(N_FRAMES, -1).T for s in poses.transform(part)]
        )
        for part in (known, unknown)
    )
    return first, second


def aeon_classifiers() -> dict[str, Callable[[], Any]]:
    """The classifiers to compare with; none where aeon is not installed."""
    try:
        from aeon.classification.convolution_based import (
            MiniRocketClassifier,
            MultiRocketHydraClassifier,
        )
    except ImportError:
        return {}
    makers: dict[str, Callable[[], Any]] = {
        "multirockethydra": lambda: MultiRocketHydraClassifier(n_jobs=N_CORES, random_state=0),
        "minirocket": lambda: MiniRocketClassifier(n_jobs=N_CORES, random_state=0),
    }
    found = {}
    for name, make in makers.items():
        try:
            make()  # the first also needs torch
        except ImportError:
            continue
        found[name] = make
    return found


def fit_predict(make: Callable[[], Any], X: Any, y: np.ndarray, X_test: Any) -> dict[str, Any]:
    """Seconds of a fit and of a prediction, and the labels."""
    model = make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of other packages
        start = time.perf_counter()
        model.fit(X, y)
        fitted = time.perf_counter()
        labels = model.predict(X_test)
    return {"fit_s": fitted - start, "predict_s": time.perf_counter() - fitted, "labels": labels}
