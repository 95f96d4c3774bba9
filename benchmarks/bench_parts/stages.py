"""Time of each stage of SCK and DCK on one core, and its share of the core's peak speed.

Peaks are measured: products of large matrices for operations, copies of large arrays for bytes.
Operations are counted from the formulas with their symmetries; an exponential counts as twenty, an
eigenproblem of order n as 9n³, as in textbooks, and the product after it as n³. ``limit_s`` is the
time that all operations would take at the peak.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy_reference
from sklearn.base import clone

from bench_parts._timing import Settings, median_seconds
from bench_parts.workloads import Prepared, parameters, prepared
from kerneton.kernels.dck import DCK
from kerneton.kernels.power_norm import hosvd_power, psd_power
from kerneton.kernels.sck import SCK
from kerneton.paper.stopwatch import repeated
from kerneton.prepare.frames import Frames

_EXP = 20  # operations of an exponential
_BAND = 18  # frames on either side that a window of σ = 3 reaches


def measure(settings: Settings) -> dict[str, Any]:
    """Seconds per sequence of each stage in both precisions, operations, and share of the measured
    peak.
    """
    n = 4 if settings.quick else 32
    found: dict[str, Any] = {"peaks": peaks(256 if settings.quick else 1024)}
    given = prepared(n, settings.data_home)
    for name in ("float32", "float64"):
        found[name] = _rows(given.to(name), found["peaks"][f"{name}_flops"], settings)
    found["recordings"] = given.source
    return found


def peaks(side: int) -> dict[str, float]:
    """Operations and bytes per second of the core."""
    found = {}
    rng = np.random.default_rng(0)
    for name in ("float32", "float64"):
        a, b = rng.standard_normal((2, side, side)).astype(name)
        found[f"{name}_flops"] = 2 * side**3 / min(repeated(partial(np.matmul, a, b), 9))
    source, target = np.ones(32 * side**2, np.float32), np.empty(32 * side**2, np.float32)
    found["copy_bytes"] = 2 * source.nbytes / min(repeated(partial(np.copyto, target, source), 9))
    return found


def _rows(given: Prepared, peak: float, settings: Settings) -> dict[str, Any]:
    """SCK's and DCK's stages on frames side by side, as the classes run them."""
    dtype = given.for_sck[0].joints.dtype
    x, y = Frames.of(given.for_sck), Frames.of(given.for_dck)
    vectors = clone(given.sck).set_params(order=1, power=1.0).fit(x)  # their sums
    displacements = given.dck._displacements(y.joints, y)
    slices, tensors = _slices(given), np.empty((len(y), *displacements.shape), dtype)
    displacements.sums(0, len(y), tensors)
    calls = {
        "sck": partial(given.sck.unweighted, x),
        "sck_vectors": partial(vectors.unweighted, x),
        "epn_alone": partial(psd_power, slices, given.sck.power),
        "dck_sums": partial(displacements.sums, 0, len(y), np.empty_like(tensors)),
        "dck_hosvd": partial(hosvd_power, tensors, given.dck.power),
    }
    seconds = median_seconds(calls, settings, f"stages, {dtype.name}")
    seconds = {name: value / len(x) for name, value in seconds.items()}
    alone = seconds.pop("epn_alone")
    seconds["sck_sums_epn_entries"] = seconds.pop("sck") - seconds["sck_vectors"]  # one kernel
    operations = _operations(given, float(np.mean(x.lengths)), slices.shape[-1])
    rows: dict[str, Any] = {
        name: {
            "seconds": seconds[name],
            "flop": count,
            "share_of_peak": count / peak / seconds[name],
        }
        for name, count in operations.items()
    }
    limit = sum(operations.values()) / peak
    return rows | {"epn_alone_s": alone, "total_s": sum(seconds.values()), "limit_s": limit}


def _slices(given: Prepared) -> np.ndarray:
    """The slices of all recordings, (n_recordings · n_joints · d, d, d)."""
    plain, same = numpy_reference, parameters(given.sck)
    del same["power"]
    cubes = [plain.outer_cubes(plain.sck_vectors(s.joints, **same)) for s in given.for_sck]
    return np.concatenate([c.reshape(-1, *c.shape[2:]) for c in cubes])


def _operations(given: Prepared, n_frames: float, d: int) -> dict[str, float]:
    sck: SCK = given.sck
    dck: DCK = given.dck
    n_joints, n_pairs = len(sck.joints_), len(dck.pairs_)
    z2, z3 = 3 * dck.n_pivots_joint, dck.n_pivots_time
    near = min(2 * _BAND, n_frames - 1)
    unfold = 2 * z2 * z3 * z3 * (z2 + 2 * z3)
    return {
        "sck_vectors": n_joints * n_frames * d * (_EXP + 4),
        "sck_sums_epn_entries": n_joints
        * (n_frames * d * (d + 1) * (d + 2) / 6 * 2 + d * 10 * d**3),
        "dck_sums": n_pairs
        * n_frames
        * (near * (3 * (_EXP + 4) + z2 * (2 + 2 * z3)) + z2 * 2 * z3 * z3),
        # Gram matrices or bidiagonals, eigenvectors, and products there and back
        "dck_hosvd": n_pairs * (3 * unfold + 9 * (z2**3 + 2 * z3**3)),
    }
