"""All of MSR-Action3D, from loaded recordings to test predictions, against MultiRocketHydra and MiniRocket of aeon.

Wang's split of the 557 recordings, two cores. Ours is ``make_recognizer("paper")``, preprocessing, fit and prediction; the
others get hip-centred poses resampled to 40 frames, about the average, ready made: that is not in their time. All are
warmed up on a few recordings first, so that nobody compiles on the clock.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from kerneton.data.sequence import SkeletonDataset
from kerneton.datasets import load_msr_action3d
from kerneton.datasets.protocols import get_protocol
from kerneton.exceptions import MissingDataError
from kerneton.experiments.bench._timing import Settings, compared
from kerneton.prepare.poses import resample
from kerneton.prepare.preprocess import Preprocess
from kerneton.recognize.presets import make_recognizer

KEYS = {"multirockethydra": "msr_vs_multirockethydra", "minirocket": "msr_vs_minirocket"}
N_FRAMES = 40
N_CORES = 2


def measure(settings: Settings) -> dict[str, Any]:
    """Wall seconds and accuracies; null ratios without the recordings or without aeon."""
    nothing: dict[str, Any] = {"comparisons": dict.fromkeys(KEYS.values())}
    try:
        data = load_msr_action3d(settings.data_home)
    except MissingDataError:
        return nothing | {
            "note": "MSR-Action3D is not here: name its folder with --data-home or KERNETON_DATA"
        }
    (train, test), *_ = get_protocol("wang", data).split(data, data.labels, data.subjects)
    if settings.quick:
        train, test = train[::4], test[::4]
    known, unknown = data.select(train), data.select(test)
    found: dict[str, Any] = {"n_train": len(train), "n_test": len(test), "cores": N_CORES}
    X_known, X_unknown = as_arrays(known, unknown)
    models: dict[str, tuple[Callable[[], Any], Any, Any]] = {
        "ours": (lambda: make_recognizer("paper", n_jobs=N_CORES), known, unknown)
    }
    others = aeon_classifiers()
    models |= {name: (make, X_known, X_unknown) for name, make in others.items()}
    few = np.arange(0, len(known), max(1, len(known) // 24))
    for name, (make, given, asked) in settings.progress(
        list(models.items()), total=len(models), desc="MSR-Action3D"
    ):
        warm = given.select(few) if name == "ours" else given[few]
        fit_predict(make, warm, known.labels[few], warm)
        repeats = settings.repeats if name == "ours" else 1
        runs = [fit_predict(make, given, known.labels, asked) for _ in range(repeats)]
        found[name] = {
            "seconds": float(np.median([run["fit_s"] + run["predict_s"] for run in runs])),
            "fit_s": float(np.median([run["fit_s"] for run in runs])),
            "accuracy": float(np.mean(runs[0]["labels"] == unknown.labels)),
        }
    lines: dict[str, Any] = dict.fromkeys(KEYS.values())
    for name in others:
        ours, theirs = found["ours"]["seconds"], found[name]["seconds"]
        lines[KEYS[name]] = compared(ours, theirs, ours / theirs, "s")
    accuracies = [f"{name} {100 * found[name]['accuracy']:.1f} %" for name in models]
    note = f"accuracy on MSR-Action3D, Wang's split: {', '.join(accuracies)}"
    if len(others) < len(KEYS):
        note += "; to compare with aeon: pip install 'kerneton[bench]'"
    return found | {"comparisons": lines, "note": note}


def as_arrays(known: SkeletonDataset, unknown: SkeletonDataset) -> tuple[np.ndarray, np.ndarray]:
    """What the others get: hip-centred poses resampled to as many frames each, (n, 3 J, frames)."""
    poses = Preprocess(bones=None).fit(known)
    first, second = (
        np.stack([resample(s.joints, N_FRAMES).reshape(N_FRAMES, -1).T for s in poses.transform(part)])
        for part in (known, unknown)
    )
    return first, second


def aeon_classifiers() -> dict[str, Callable[[], Any]]:
    """The classifiers to compare with; none where aeon is not installed."""
    try:
        from aeon.classification.convolution_based import MiniRocketClassifier, MultiRocketHydraClassifier
    except ImportError:
        return {}
    makers: dict[str, Callable[[], Any]] = {
        "multirockethydra": lambda: MultiRocketHydraClassifier(n_jobs=N_CORES, random_state=0),
        "minirocket": lambda: MiniRocketClassifier(n_jobs=N_CORES, random_state=0),
    }
    found = {}
    for name, make in makers.items():
        try:
            make()  # the first needs torch besides
        except ImportError:
            continue
        found[name] = make
    return found


def fit_predict(make: Callable[[], Any], X: Any, y: np.ndarray, asked: Any) -> dict[str, Any]:
    """Seconds of a fit and of a prediction, and the labels."""
    model = make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of others
        start = time.perf_counter()
        model.fit(X, y)
        fitted = time.perf_counter()
        labels = model.predict(asked)
    return {"fit_s": fitted - start, "predict_s": time.perf_counter() - fitted, "labels": labels}
