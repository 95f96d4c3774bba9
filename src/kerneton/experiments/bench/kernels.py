"""SCK and DCK (set E) of MSR-Action3D's recordings against the plain NumPy formulas, on one core.

The paper's kernels as ``make_recognizer("paper")`` has them, from prepared poses to features. Ours takes the recordings
together, as it is used, the formulas one after another. Both sides have the same precision: the ratio with a bar is that of
float32, in which all experiments run; that of float64 stands beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from kerneton.experiments.bench._timing import Settings, compared, median_seconds
from kerneton.experiments.bench.workloads import Prepared, numpy_reference, parameters, prepared


def measure(settings: Settings) -> dict[str, Any]:
    """Seconds a sequence in both precisions, alone too, and how far the features of both lie apart."""
    n = 4 if settings.quick else 48
    found: dict[str, Any] = {}
    given = prepared(n, settings.data_home)
    for name in ("float32", "float64"):
        found[name] = _precision(given.to(name), settings)
    found |= {"recordings": given.source, "n_sequences": len(given.for_sck)}
    found["n_frames"] = float(np.mean([s.n_frames for s in given.for_sck]))
    found["comparisons"] = {
        key: _both(found[name])
        for key, name in (("sck_dck_vs_numpy", "float32"), ("sck_dck_vs_numpy_f64", "float64"))
    }
    found["note"] = (
        f"a sequence: {given.source}, {found['n_frames']:.0f} frames on average; the same precision on both sides"
    )
    return found


def _both(rows: dict[str, Any]) -> dict[str, Any]:
    ours, yardstick = (rows["sck"][side] + rows["dck"][side] for side in ("ours_s", "numpy_s"))
    return compared(ours, yardstick, yardstick / ours, "s")


def _precision(given: Prepared, settings: Settings) -> dict[str, Any]:
    plain = numpy_reference()
    dtype = given.for_sck[0].joints.dtype.name
    chosen = {
        "sck": (given.sck, given.for_sck, plain.sck, [s.joints for s in given.for_sck]),
        "dck": (given.dck, given.for_dck, plain.dck, [s.joints[:, given.dck.joints_] for s in given.for_dck]),
    }
    rows = {}
    for name, (kernel, sequences, formula, arrays) in chosen.items():
        same = parameters(kernel)
        calls: dict[str, Callable[[], Any]] = {
            "ours_s": partial(kernel.transform, sequences),
            "ours_alone_s": partial(_each, kernel.transform, [[s] for s in sequences]),
            "numpy_s": partial(_each, partial(formula, **same), arrays),
        }
        seconds = median_seconds(calls, settings, f"{name.upper()}, {dtype}")
        row = {key: value / len(sequences) for key, value in seconds.items()}
        features, expected = calls["ours_s"](), np.stack(calls["numpy_s"]())
        apart = np.linalg.norm(features - expected, axis=1) / np.linalg.norm(expected, axis=1)
        rows[name] = row | {"ratio": row["numpy_s"] / row["ours_s"], "features_differ_by": float(apart.max())}
    return rows


def _each(function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    return [function(item) for item in items]
