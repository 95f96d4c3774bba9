"""SCK and DCK (set E) of MSR-Action3D's recordings against the plain NumPy formulas, on one core.

The paper's kernels as ``make_recognizer("paper")`` has them, from prepared poses to features. Ours takes the recordings
together, as it is used, the formulas one after another. Both sides have the same precision: the ratio with a bar is that
of float64, in which the recordings come.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from kerneton.bench._timing import Settings, compared, median_seconds
from kerneton.bench.workloads import Prepared, numpy_reference, parameters, prepared


def measure(settings: Settings) -> dict[str, Any]:
    """Seconds a sequence in both precisions, alone too, and how far the features of both lie apart."""
    n = 4 if settings.quick else 48
    found: dict[str, Any] = {}
    for dtype in (np.float64, np.float32):
        given = prepared(n, settings.data_home, dtype)
        found[np.dtype(dtype).name] = _precision(given, settings)
    found |= {"recordings": given.source, "n_sequences": len(given.for_sck)}
    found["n_frames"] = float(np.mean([s.n_frames for s in given.for_sck]))
    seconds = found["float64"]
    ours, yardstick = (seconds["sck"][side] + seconds["dck"][side] for side in ("ours_s", "numpy_s"))
    found["comparisons"] = {"sck_dck_vs_numpy": compared(ours, yardstick, yardstick / ours, "s")}
    found["note"] = (
        f"a sequence: {given.source}, {found['n_frames']:.0f} frames on average, float64 on both sides"
    )
    return found


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
