"""Eigenvalue power normalisation (EPN) compared with ``numpy.linalg.eigh`` and two products, on
SCK's slices.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy_reference

from bench_parts._timing import Settings, compared, median_seconds
from bench_parts.workloads import parameters, prepared
from kerneton.kernels.power_norm import psd_power

POWER = 0.36
KEYS = {"float32": "epn_vs_eigh_f32", "float64": "epn_vs_eigh_f64"}


def measure(settings: Settings) -> dict[str, Any]:
    """Seconds per slice of order 21 (6 pivots in time) and 22 (7), in both precisions, and the
    largest error.
    """
    plain = numpy_reference
    given = prepared(1 if settings.quick else 4, settings.data_home)
    same = parameters(given.sck)
    del same["power"]
    found: dict[str, Any] = {"recordings": given.source, "power": POWER, "comparisons": {}}
    for n_pivots in (6, 7):
        vectors = [
            plain.sck_vectors(s.joints, **(same | {"n_pivots_time": n_pivots}))
            for s in given.for_sck
        ]
        order = vectors[0].shape[-1]
        slices = np.concatenate([plain.outer_cubes(v).reshape(-1, order, order) for v in vectors])
        for name, key in KEYS.items():
            row = _row(plain, slices.astype(name), settings)
            found[f"order_{order}_{name}"] = row
            if n_pivots == 6:
                found["comparisons"][key] = compared(
                    row["ours_s"], row["eigh_s"], row["ratio"], "s"
                )
    return found


def _row(plain: Any, slices: np.ndarray, settings: Settings) -> dict[str, Any]:
    calls = {"ours_s": lambda: psd_power(slices, POWER), "eigh_s": lambda: plain.epn(slices, POWER)}
    desc = f"EPN, order {slices.shape[-1]}, {slices.dtype.name}"
    seconds = {
        key: value / len(slices) for key, value in median_seconds(calls, settings, desc).items()
    }
    expected = plain.epn(slices.astype(float), POWER)
    scale = np.linalg.norm(expected, axis=(1, 2))
    errors = np.linalg.norm(calls["ours_s"]() - expected, axis=(1, 2)) / np.where(
        scale > 0, scale, 1
    )
    return seconds | {
        "ratio": seconds["eigh_s"] / seconds["ours_s"],
        "error": float(errors.max()),
        "n_slices": len(slices),
    }
