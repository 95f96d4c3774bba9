"""Both kernels, both power normalisations and the vectorisations once more, in loops over the
paper's formulas.

Nothing of the package helps here: sums are ``math.fsum``, eigenvectors and singular vectors come
from Jacobi's rotations.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kerneton import DCK, SCK, dck_kernel, sck_kernel
from kerneton.kernels.power_norm import hosvd_power, psd_power, slice_power

EPS = 2.0**-52


def recording(n_frames, n_joints, seed):
    rng = np.random.default_rng([seed, n_frames, n_joints])
    return np.cumsum(rng.normal(scale=0.1, size=(n_frames, n_joints, 3)), 0) + rng.uniform(
        -0.8, 0.8, (n_joints, 3)
    )


# --- the formulas
# ------------------------------------------------------------------------------------------


def g(u, sigma):
    return math.exp(-(u**2) / (2 * sigma**2))


def g3(u, sigma):
    """The paper's Gaussian of a vector: a sum over its coordinates."""
    return math.fsum(g(c, sigma) for c in u)


def exact_sck(A, B, *, s2, s3, b1, r, s1=0.0):
    M, N, J = len(A), len(B), A.shape[1]
    terms = []
    for i, j in itertools.product(range(J), repeat=2):
        alike = float(i == j) if s1 == 0 else g(i - j, s1)
        for s, t in itertools.product(range(M), range(N)):
            place, time = g3(A[s, i] - B[t, j], s2), g((s + 1) / M - (t + 1) / N, s3)
            terms.append(alike * (b1 * place + (1 - b1) * time) ** r)
    return math.fsum(terms) / (J * M * N)


def exact_dck(A, B, *, s2, s3, s4):
    M, N, J = len(A), len(B), A.shape[1]
    terms = []
    for i, k in itertools.permutations(range(J), 2):
        for s, u in itertools.permutations(range(M), 2):
            for t, v in itertools.permutations(range(N), 2):
                value = g3((A[s, i] - A[u, k]) - (B[t, i] - B[v, k]), s2)
                value *= g((s + 1) / M - (t + 1) / N, s3) * g((u + 1) / M - (v + 1) / N, s3)
                terms.append(value * (1.0 if s4 is None else g(s - u, s4) * g(t - v, s4)))
    return math.fsum(terms) / (J**2 * M * N)


def pivot_map(u, sigma, n, low, high):
    """φ(u)_z = √c exp(-(u-ζ_z)²/σ²), c = Δ √(2/πσ²)."""
    step = (high - low) / (n - 1)
    root = math.sqrt(step * math.sqrt(2 / (math.pi * sigma**2)))
    return [root * math.exp(-((u - low - z * step) ** 2) / sigma**2) for z in range(n)]


def eigen(A):
    """Eigenvalues and eigenvectors (columns) of a symmetric matrix by Jacobi's rotations."""
    A, V = A.copy(), np.eye(len(A))
    for _ in range(60):
        if np.abs(A - np.diag(np.diag(A))).max() <= 1e-18 * np.abs(A).max():
            break
        for p, q in itertools.combinations(range(len(A)), 2):
            if A[p, q] == 0:
                continue
            theta = 0.5 * math.atan2(2 * A[p, q], A[q, q] - A[p, p])
            R = np.eye(len(A))
            R[p, p] = R[q, q] = math.cos(theta)
            R[p, q], R[q, p] = math.sin(theta), -math.sin(theta)
            A, V = R.T @ A @ R, V @ R
    return np.diag(A), V


def matrix_power(A, power):
    lam, V = eigen(A)
    floor = 2 * math.sqrt(len(A)) * EPS * np.abs(lam).max()
    return sum(
        max(v, 0) ** power * np.outer(x, x) for v, x in zip(lam, V.T, strict=True) if v > floor
    )


def left_vectors(M):
    """Left singular vectors (columns) by rotations of the rows of M until they are orthogonal: U =
    Rᵀ of R M = Σ Vᵀ.
    """
    M, R = M.copy(), np.eye(len(M))
    for _ in range(60):
        still = True
        for p, q in itertools.combinations(range(len(M)), 2):
            a, b, dot = M[p] @ M[p], M[q] @ M[q], M[p] @ M[q]
            if abs(dot) <= 1e-17 * math.sqrt(a * b):
                continue
            still = False
            theta = 0.5 * math.atan2(2 * dot, a - b)
            turn = np.array(
                [[math.cos(theta), math.sin(theta)], [-math.sin(theta), math.cos(theta)]]
            )
            M[[p, q]], R[[p, q]] = turn @ M[[p, q]], turn @ R[[p, q]]
        if still:
            break
    return R.T


def core_power(X, power, entry_power):
    U = [left_vectors(np.moveaxis(X, mode, 0).reshape(X.shape[mode], -1)) for mode in range(3)]
    E = np.einsum("abc,ai,bj,ck->ijk", X, *U)
    E[np.abs(E) <= max(X.shape) * EPS * np.abs(E).max()] = 0
    V = np.einsum("ijk,ai,bj,ck->abc", np.sign(E) * np.abs(E) ** power, *U)
    return np.sign(V) * np.abs(V) ** entry_power


def sck_tensors(x, *, s2, z2, s3, z3, b1, order):
    """T_i = 1/(T√J) Σ_s v⊗…⊗v, joint after joint."""
    T, J = x.shape[:2]
    tensors = []
    for i in range(J):
        total = 0.0
        for s in range(T):
            place = [
                math.sqrt(b1) * value for c in x[s, i] for value in pivot_map(c, s2, z2, -1, 1)
            ]
            time = [math.sqrt(1 - b1) * value for value in pivot_map((s + 1) / T, s3, z3, 0, 1)]
            v = np.array(place + time)
            total = total + (
                v
                if order == 1
                else np.multiply.outer(v, v)
                if order == 2
                else np.einsum("i,j,k", v, v, v)
            )
        tensors.append(total / (T * math.sqrt(J)))
    return tensors


def sck_features(x, power, entries, **parameters):
    features = []
    for X in sck_tensors(x, **parameters):
        d, order = len(X), X.ndim
        if order == 1:
            features += (X**power).tolist()
            continue
        if order == 2:
            V = matrix_power(X, power)
            features += [
                V[i, j] * math.sqrt(1 if i == j else 2) for i in range(d) for j in range(i, d)
            ]
            continue
        V = np.stack(
            [matrix_power(X[:, :, s], power) for s in range(d)], axis=2
        )  # slices along the third mode
        if entries == "slices":
            for k in range(d):
                features += [
                    V[i, j, k] * math.sqrt(1 if i == j else 2)
                    for i in range(d)
                    for j in range(i, d)
                ]
            continue
        for i, j, k in itertools.combinations_with_replacement(range(d), 3):
            orders = set(itertools.permutations((i, j, k)))
            value = (
                V[i, j, k] if entries == "upper" else math.fsum(V[o] for o in orders) / len(orders)
            )
            features.append(value * math.sqrt(len(orders)))
    return features


def dck_features(x, power, entry_power, *, s2, z2, s3, z3, s4):
    """X_ii' = 1/(JT) Σ_{s≠s'} G_σ4(s-s') φ(x_is - x_i's') ⊗ z(s/T) ⊗ z(s'/T), pairs i ≤ i'."""
    T, J = x.shape[:2]
    features = []
    for i, k in itertools.combinations_with_replacement(range(J), 2):
        X = np.zeros((3 * z2, z3, z3))
        for s, t in itertools.permutations(range(T), 2):
            phi = [value for c in x[s, i] - x[t, k] for value in pivot_map(c, s2, z2, -1, 1)]
            ends = (pivot_map((n + 1) / T, s3, z3, 0, 1) for n in (s, t))
            X += (1.0 if s4 is None else g(s - t, s4)) * np.einsum("i,j,k", phi, *ends)
        V = core_power(X / (J * T), power, entry_power)
        for z, p, q in itertools.product(range(3 * z2), range(z3), range(z3)):
            if i != k or p < q:  # a joint with itself: the other half says the same
                features.append(V[z, p, q] * math.sqrt(2))
    return features


# --- the package says the same
# -----------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("s1", [0.0, 0.7])
def test_exact_sck(order, s1):
    A, B = recording(5, 3, 0), recording(7, 3, 1)
    own = {"s2": 0.6, "s3": 0.4, "b1": 0.7, "r": order, "s1": s1}
    found = sck_kernel(
        [A], [B], sigma_joint=0.6, sigma_time=0.4, joint_weight=0.7, order=order, sigma_index=s1
    )
    assert_allclose(found, [[exact_sck(A, B, **own)]], rtol=1e-13)


@pytest.mark.parametrize("s4", [None, 1.5])
def test_exact_dck(s4):
    A, B = recording(4, 3, 0), recording(5, 3, 1)
    found = dck_kernel([A], [B], sigma_joint=0.6, sigma_time=0.4, sigma_span=s4)
    assert_allclose(found, [[exact_dck(A, B, s2=0.6, s3=0.4, s4=s4)]], rtol=1e-13)


@pytest.mark.parametrize("power", [0.1, 0.36, 0.85])
@pytest.mark.parametrize("rank", [3, 6, 9])
def test_power_of_matrices(power, rank):
    v = np.random.default_rng(rank).normal(size=(4, rank, 6))
    A = np.einsum("bri,brj->bij", v, v)
    expected = np.stack([matrix_power(a, power) for a in A])
    assert_allclose(psd_power(A, power), expected, rtol=1e-10, atol=1e-10)


def test_power_of_slices():
    v = np.abs(np.random.default_rng(0).normal(size=(20, 6)))
    X = np.einsum("si,sj,sk->ijk", v, v, v)
    expected = np.stack([matrix_power(X[:, :, s], 0.36) for s in range(6)])
    assert_allclose(slice_power(X, 0.36), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("power", "entry_power"), [(0.85, 1.0), (0.5, 0.7), (1.0, 0.5)])
@pytest.mark.parametrize("shape", [(6, 3, 3), (4, 4, 4), (3, 5, 2)])
def test_power_of_core_tensors(power, entry_power, shape):
    X = np.random.default_rng(0).normal(size=shape)
    assert_allclose(
        hosvd_power(X, power, entry_power), core_power(X, power, entry_power), rtol=1e-9, atol=1e-10
    )


@pytest.mark.parametrize(
    ("order", "entries"),
    [(1, "simplex"), (2, "simplex"), (3, "simplex"), (3, "upper"), (3, "slices")],
)
@pytest.mark.parametrize("power", [0.36, 1.0])
def test_linearised_sck(order, entries, power):
    X = [recording(30, 2, 0), recording(41, 2, 1)]
    kernel = SCK(
        sigma_joint=0.7, n_pivots_joint=2, joint_weight=0.6, sigma_time=0.5, n_pivots_time=3,
        order=order, entries=entries, power=power,
    )  # fmt: skip
    own = {"s2": 0.7, "z2": 2, "s3": 0.5, "z3": 3, "b1": 0.6, "order": order}
    expected = [sck_features(x, power, entries, **own) for x in X]
    assert_allclose(kernel.fit_transform(X), expected, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("s4", [None, 3.0])
@pytest.mark.parametrize(("power", "entry_power"), [(1.0, 1.0), (0.85, 1.0), (0.7, 0.8)])
def test_linearised_dck(s4, power, entry_power):
    X = [recording(12, 2, 0), recording(9, 2, 1)]
    kernel = DCK(
        sigma_joint=0.6, n_pivots_joint=3, sigma_time=0.5, n_pivots_time=3, sigma_span=s4,
        power=power, entry_power=entry_power, tol=1e-12,
    )  # fmt: skip
    expected = [dck_features(x, power, entry_power, s2=0.6, z2=3, s3=0.5, z3=3, s4=s4) for x in X]
    assert_allclose(kernel.fit_transform(X), expected, atol=1e-9 if power == 1 else 1e-6)
