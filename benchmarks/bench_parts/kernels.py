"""SCK and DCK (set E) of MSR-Action3D's recordings against the plain NumPy formulas, on one core.

The kernels of ``make_recognizer("paper")``, from prepared poses to features. Ours takes all
recordings together, as in normal use, the formulas one after another. Both have the same precision:
the ratio with a target is that of float32, in which all experiments run; that of float64 is also
given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy_reference

from bench_parts._timing import Settings, compared, median_seconds
from bench_parts.workloads import Prepared, parameters, prepared


def measure(settings: Settings) -> dict[str, Any]:
    """Seconds per sequence in both precisions, also one by one, and the difference of the
    features.
    """
    given = prepared(4 if settings.quick else 48, settings.data_home)
    found: dict[str, Any] = {
        name: _precision(given.to(name), settings) for name in ("float32", "float64")
    }
    n_frames = float(np.mean([s.n_frames for s in given.for_sck]))
    return found | {
        "recordings": given.source,
        "n_sequences": len(given.for_sck),
        "n_frames": n_frames,
        "comparisons": {
            "sck_dck_vs_numpy": _both(found["float32"]),
            "sck_dck_vs_numpy_f64": _both(found["float64"]),
        },
        "note": f"a sequence: {given.source}, {n_frames:.0f} frames on average; the same precision on both sides",
    }


def _both(rows: dict[str, Any]) -> dict[str, Any]:
    ours, plain = (rows["sck"][side] + rows["dck"][side] for side in ("ours_s", "numpy_s"))
    return compared(ours, plain, plain / ours, "s")


def _precision(given: Prepared, settings: Settings) -> dict[str, Any]:
    plain = numpy_reference
    dtype = given.for_sck[0].joints.dtype.name
    chosen = {
        "sck": (given.sck, given.for_sck, plain.sck, [s.joints for s in given.for_sck]),
        "dck": (
            given.dck,
            given.for_dck,
            plain.dck,
            [s.joints[:, given.dck.joints_] for s in given.for_dck],
        ),
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
        rows[name] = row | {
            "ratio": row["numpy_s"] / row["ours_s"],
            "features_differ_by": float(apart.max()),
        }
    return rows


def _each(function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    return [function(item) for item in items]
