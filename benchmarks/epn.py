"""Eigenvalue power normalisation: our solvers against LAPACK, on slices like SCK's and tensors like
DCK's.

    python benchmarks/epn.py [--json FILE] [--orders 21 32] [--repeats 15]

One table, one core: µs per matrix, the median over alternating repeats, and the largest relative
error against `numpy.linalg.eigh` in float64 of the same input. Candidates:

- ``eigh``: `numpy.linalg.eigh` and the two products, in the precision of the data, the baseline;
- ``lapack``: the library by LAPACK, float64 inside;
- ``kerneton``: tridiagonal QL, many matrices at a time.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from kerneton import core
from kerneton.kernels import power_norm

POWER = 0.36


def sck_slices(order, n_joints=20, n_frames=50, seed=0):
    """Slices Σ_s v_s[k] v_s v_sᵀ of Gaussian features of smooth trajectories, (n_joints·order,
    order, order).
    """
    rng = np.random.default_rng(seed)
    n_time = {6: 3, 15: 6}.get(order, 6 + order % 3)
    time = np.arange(1, n_frames + 1)[:, None] / n_frames
    swing = (
        0.3
        * rng.standard_normal((n_joints, 1, 3))
        * np.sin(6 * time + rng.uniform(0, 6, (n_joints, 1, 3)))
    )
    x = (
        rng.uniform(-0.6, 0.6, (n_joints, 1, 3))
        + swing
        + 0.01 * rng.standard_normal((n_joints, n_frames, 3))
    )
    phi = np.exp(-((x[..., None] - np.linspace(-1, 1, (order - n_time) // 3)) ** 2) / 0.36)
    z = np.exp(-((time - np.linspace(0, 1, n_time)) ** 2) / 0.25)
    v = np.concatenate(
        [phi.reshape(n_joints, n_frames, -1), np.broadcast_to(z, (n_joints, n_frames, n_time))],
        axis=-1,
    )
    slices = np.einsum("jsa,jsb,jsc->jabc", v, v, v, optimize=True) / n_frames
    return slices.reshape(-1, order, order)


def dck_tensors(n_joints=8, n_frames=50, seed=0):
    """Σ φ(x_is - x_i's') ⊗ z(s) ⊗ z(s') for every pair of joints, (36, 15, 6, 6)."""
    rng = np.random.default_rng(seed)
    time = np.arange(1, n_frames + 1)[:, None] / n_frames
    x = rng.uniform(-0.6, 0.6, (n_joints, 1, 3)) + 0.3 * np.sin(
        6 * time + rng.uniform(0, 6, (n_joints, 1, 3))
    )
    z = np.exp(-((time - np.linspace(0, 1, 6)) ** 2) / 0.25)
    i, j = np.triu_indices(n_joints)
    u = x[i][:, :, None] - x[j][:, None]
    phi = np.exp(-((u[..., None] - np.linspace(-1, 1, 5)) ** 2) / 0.36).reshape(
        len(i), n_frames, n_frames, 15
    )
    return np.einsum("nstz,sp,tq->nzpq", phi, z, z, optimize=True) / n_frames


def eigh(A):
    lam, U = np.linalg.eigh(A)
    return (U * np.maximum(lam, 0)[:, None, :] ** POWER) @ U.swapaxes(1, 2)


def lapack(A):
    return power_norm._eigh_power(A, POWER)


def kerneton(A):
    return power_norm.psd_power(A, POWER)


def svd(X):
    return power_norm._svd_power(X, POWER, 1.0)


def kerneton_hosvd(X):
    return power_norm.hosvd_power(X, POWER)


def measure(candidates, A, repeats):
    """Median µs an item of each candidate, taking turns, and the results."""
    results = {name: f(A) for name, f in candidates.items()}
    times = {name: [] for name in candidates}
    for _ in range(repeats):
        for name, f in candidates.items():
            start = time.perf_counter()
            f(A)
            times[name].append(time.perf_counter() - start)
    return {name: float(np.median(t)) / len(A) * 1e6 for name, t in times.items()}, results


def row(problem, dtype, candidates, yardstick, truth, A, repeats):
    A = A.astype(dtype)
    micros, results = measure(candidates, A, repeats)
    expected = truth(np.float64(A)).reshape(len(A), -1)
    scale = np.linalg.norm(expected, axis=1)
    errors = {
        name: float((np.linalg.norm(r.reshape(len(A), -1) - expected, axis=1) / scale).max())
        for name, r in results.items()
    }
    ratios = {name: micros[yardstick] / t for name, t in micros.items()}
    print(f"{problem:10s} {np.dtype(dtype).name:8s}", end="")
    for name in candidates:
        print(
            f" | {name:8s} {micros[name]:8.2f} µs {ratios[name]:6.1f}x  {errors[name]:.0e}", end=""
        )
    print(flush=True)
    return {
        "problem": problem,
        "dtype": np.dtype(dtype).name,
        "micros": micros,
        "ratio": ratios,
        "error": errors,
    }


def main():
    parser = argparse.ArgumentParser(
        description="Compare solvers for eigenvalue power normalisation."
    )
    parser.add_argument("--orders", type=int, nargs="+", default=[6, 15, 21, 22, 32, 64])
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    rows = []
    with threadpool_limits(1):
        for order in options.orders:
            A = sck_slices(order)
            A = A[: max(64, min(len(A), 420 * 21**3 // order**3))]
            candidates = {"eigh": eigh, "lapack": lapack, "kerneton": kerneton}
            for dtype in (np.float32, np.float64):
                rows.append(
                    row(f"order {order}", dtype, candidates, "eigh", eigh, A, options.repeats)
                )
        tensors = np.concatenate([dck_tensors(seed=seed) for seed in range(8)])
        for dtype in (np.float32, np.float64):
            candidates = {"svd": svd, "kerneton": kerneton_hosvd}
            rows.append(row("15 x 6 x 6", dtype, candidates, "svd", svd, tensors, options.repeats))
    if options.json:
        options.json.write_text(
            json.dumps({"lanes": core.function("kn_lanes")(), "rows": rows}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
