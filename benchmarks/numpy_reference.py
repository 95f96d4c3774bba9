"""SCK and DCK in plain NumPy, directly from the formulas: the baseline of ``python
benchmarks/bench.py``.

One recording at a time, vectorised, with batched LAPACK calls and matrix products where einsum
would be slow: as a good NumPy programmer would write it from the paper. It does not use the
library; a test checks that both give the same features. Recordings are (T, J, 3), float32 or
float64, and so is the arithmetic.
"""

from __future__ import annotations

import itertools
import math

import numpy as np


def gaussians(u: np.ndarray, sigma: float, n_pivots: int, low: float, high: float) -> np.ndarray:
    """√c exp(-(u-ζ)²/σ²) for pivots ζ spaced evenly on [low, high]; (...,) → (..., Z)."""
    pivots = np.linspace(low, high, n_pivots, dtype=u.dtype)
    spacing = (high - low) / (n_pivots - 1)
    scale = math.sqrt(spacing * math.sqrt(2 / (math.pi * sigma**2)))
    return scale * np.exp((u[..., None] - pivots) ** 2 * (-1 / sigma**2))


def times(n_frames: int, sigma: float, n_pivots: int, dtype: np.dtype) -> np.ndarray:
    """z(s/T), (T, Z₃)."""
    return gaussians(np.arange(1, n_frames + 1, dtype=dtype) / n_frames, sigma, n_pivots, 0.0, 1.0)


def sck_vectors(
    joints: np.ndarray,
    *,
    sigma_joint: float,
    n_pivots_joint: int,
    joint_weight: float,
    sigma_time: float,
    n_pivots_time: int,
) -> np.ndarray:
    """v_is = [√β₁ φ(x_is); √β₂ z(s/T)]; (T, J, 3) → (J, T, d)."""
    n_frames, n_joints, _ = joints.shape
    phi = gaussians(joints, sigma_joint, n_pivots_joint, -1.0, 1.0).reshape(n_frames, n_joints, -1)
    z = times(n_frames, sigma_time, n_pivots_time, joints.dtype)[:, None]
    z = np.broadcast_to(z, (n_frames, n_joints, n_pivots_time))
    v = np.concatenate([math.sqrt(joint_weight) * phi, math.sqrt(1 - joint_weight) * z], axis=-1)
    return v.swapaxes(0, 1)


def outer_cubes(v: np.ndarray) -> np.ndarray:
    """1/(T√J) Σ_s v⊗v⊗v; (J, T, d) → (J, d, d, d)."""
    n_joints, n_frames, d = v.shape
    squares = (v[..., :, None] * v[..., None, :]).reshape(n_joints, n_frames, d * d)
    return (v.swapaxes(1, 2) @ squares).reshape(n_joints, d, d, d) / (
        n_frames * math.sqrt(n_joints)
    )


def epn(matrices: np.ndarray, power: float) -> np.ndarray:
    """U max(λ, 0)^γ Uᵀ; (..., n, n) → (..., n, n)."""
    values, vectors = np.linalg.eigh(matrices)
    return (vectors * np.maximum(values, 0)[..., None, :] ** power) @ vectors.swapaxes(-1, -2)


def upper_simplex(tensors: np.ndarray) -> np.ndarray:
    """Entries i ≤ j ≤ k of slice k, weighted by √(number of permutations); (J, d, d, d) → (J,
    n_entries).
    """
    d = tensors.shape[-1]
    i, j, k = np.array(list(itertools.combinations_with_replacement(range(d), 3))).T
    same = (i == j).astype(int) + (j == k)
    weights = np.sqrt(np.array([6, 3, 1])[same]).astype(tensors.dtype)
    return tensors[:, k, i, j] * weights


def sck(joints: np.ndarray, *, power: float = 0.36, **parameters: float) -> np.ndarray:
    """Sequence compatibility kernel as features; (T, J, 3) → (n_features,)."""
    tensors = outer_cubes(sck_vectors(joints, **parameters))
    return upper_simplex(epn(tensors, power)).ravel()


def dck_sums(
    joints: np.ndarray,
    *,
    sigma_joint: float,
    n_pivots_joint: int,
    sigma_time: float,
    n_pivots_time: int,
    sigma_span: float | None,
) -> np.ndarray:
    """1/(J T) Σ_{s≠s'} G_σ4(s-s') φ(x_is - x_i's') z(s/T) z(s'/T), pairs i ≤ i'; (T, J, 3) →
    (n_pairs, 3Z₂, Z₃, Z₃).
    """
    n_frames, n_joints, _ = joints.shape
    z = times(n_frames, sigma_time, n_pivots_time, joints.dtype)
    steps = np.subtract.outer(np.arange(n_frames), np.arange(n_frames))
    window = (
        np.ones(steps.shape) if sigma_span is None else np.exp(-(steps**2) / (2 * sigma_span**2))
    )
    np.fill_diagonal(window, 0)
    window = window.astype(joints.dtype)
    x = np.ascontiguousarray(joints.transpose(1, 2, 0))  # (J, 3, T)
    sums = []
    for i, k in itertools.combinations_with_replacement(range(n_joints), 2):
        displacements = x[i][:, :, None] - x[k][:, None, :]  # (3, T, T)
        phi = np.moveaxis(gaussians(displacements, sigma_joint, n_pivots_joint, -1.0, 1.0), -1, 1)
        weighted = (phi * window).reshape(-1, n_frames, n_frames)
        sums.append(z.T @ (weighted @ z))
    return np.stack(sums) / (n_joints * n_frames)


def hosvd_epn(tensors: np.ndarray, power: float) -> np.ndarray:
    """sgn(E)|E|^γ of the core of the higher-order singular value decomposition; (n, a, b, c) → the
    same.
    """
    n = len(tensors)
    factors = []
    for mode in (1, 2, 3):
        unfolded = np.moveaxis(tensors, mode, 1).reshape(n, tensors.shape[mode], -1)
        factors.append(np.linalg.svd(unfolded, full_matrices=False)[0])
    core = multiply(tensors, *(factor.swapaxes(1, 2) for factor in factors))
    return multiply(np.sign(core) * np.abs(core) ** power, *factors)


def multiply(
    tensors: np.ndarray, first: np.ndarray, second: np.ndarray, third: np.ndarray
) -> np.ndarray:
    """X ×₁A ×₂B ×₃C."""
    n, a, b, c = tensors.shape
    tensors = (first @ tensors.reshape(n, a, b * c)).reshape(n, a, b, c)
    return second[:, None] @ tensors @ third.swapaxes(1, 2)[:, None]


def dck(joints: np.ndarray, *, power: float = 0.85, **parameters: float | None) -> np.ndarray:
    """Dynamics compatibility kernel of the given joints as features; (T, J, 3) → (n_features,)."""
    tensors = math.sqrt(2) * hosvd_epn(dck_sums(joints, **parameters), power)
    upper = np.triu_indices(tensors.shape[-1], 1)  # of a joint with itself one half: both are equal
    pairs = itertools.combinations_with_replacement(range(joints.shape[1]), 2)
    return np.concatenate(
        [
            (t[:, upper[0], upper[1]] if i == k else t).ravel()
            for t, (i, k) in zip(tensors, pairs, strict=True)
        ]
    )
