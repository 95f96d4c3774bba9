from __future__ import annotations

import functools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference.hosvd import reference_hosvd_power

from kerneton.core import hosvd as core_hosvd
from kerneton.exceptions import DataError, ParameterError
from kerneton.kernels import power_norm
from kerneton.kernels.power_norm import hosvd_power, psd_power, slice_power

POWER = 0.36
EPS = np.finfo(np.float64).eps


@pytest.fixture(params=["core", "lapack"])
def path(request, monkeypatch):
    """Every answer must hold by the core and by LAPACK."""
    if request.param == "lapack":
        monkeypatch.setattr(power_norm.powers, "MAX_ORDER", 0)
    return request.param


def bar(dtype):
    return 1e-5 if dtype == np.float32 else 1e-10


def relative_errors(actual, expected):
    actual, expected = np.float64(actual), np.float64(expected)
    top = np.abs(expected).max(axis=(-2, -1), keepdims=True)
    top = np.where(top > 0, top, 1)
    norms = np.linalg.norm(expected / top, axis=(-2, -1))
    return np.linalg.norm((actual - expected) / top, axis=(-2, -1)) / np.where(norms > 0, norms, 1)


def orthogonal(rng, n):
    return np.linalg.qr(rng.standard_normal((n, n)))[0]


def with_spectrum(rng, spectrum):
    U = orthogonal(rng, len(spectrum))
    A = (U * spectrum) @ U.T
    return (A + A.T) / 2


def eigh_power(A, power):
    """The textbook in float64, negative eigenvalues clipped and nothing else."""
    lam, U = np.linalg.eigh(np.float64(A))
    return (U * np.clip(lam, 0, None)[..., None, :] ** power) @ np.swapaxes(U, -1, -2)


def sck_slices(d, n_frames=50, n_joints=3, seed=0):
    """Slices of Σ v⊗v⊗v over smooth Gaussian features: spectra that fall by ten decades and
    more.
    """
    rng = np.random.default_rng(seed)
    time = np.linspace(0, 1, n_frames)[:, None]
    x = rng.uniform(-0.5, 0.5, (n_joints, 1, 3)) + 0.4 * np.sin(
        6 * time + rng.uniform(0, 6, (n_joints, 1, 3))
    )
    phi = [
        np.exp(-((x[..., i, None] - np.linspace(-1, 1, (d - 6) // 3)) ** 2) / 0.36)
        for i in range(3)
    ]
    z = np.exp(-((time - np.linspace(0, 1, d - 3 * ((d - 6) // 3))) ** 2) / 0.25)
    v = np.concatenate([*phi, np.broadcast_to(z, (n_joints, *z.shape))], axis=-1)
    return np.einsum("jsa,jsb,jsc->jabc", v, v, v, optimize=True) / n_frames


FAMILIES = {
    "well conditioned": lambda rng, n: with_spectrum(rng, rng.uniform(0.01, 1, n)),
    "nearly singular": lambda rng, n: with_spectrum(
        rng, np.r_[np.full(2, 1e-8), rng.uniform(0.1, 1, n - 2)]
    ),
    "graded": lambda rng, n: with_spectrum(rng, np.geomspace(1e-8, 1, n)),
    "repeated": lambda rng, n: with_spectrum(rng, rng.choice([0.25, 0.5, 1.0], n)),
    "nearly repeated": lambda rng, n: with_spectrum(rng, 0.5 + 1e-13 * np.arange(n)),
    "identity": lambda rng, n: np.eye(n) * rng.uniform(1, 4),
    "diagonal": lambda rng, n: np.diag(rng.uniform(0.1, 1, n)),
    "blocks": lambda rng, n: np.kron(np.eye(n), [[2.0, 1.0], [1.0, 2.0]])[:n, :n],
    "tridiagonal": lambda rng, n: np.diag(np.full(n, 2.5)) + np.eye(n, k=1) + np.eye(n, k=-1),
    "hardly coupled": lambda rng, n: np.diag(np.arange(1.0, n + 1)) + 1e-14 * np.ones((n, n)),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7, 15, 21, 22, 32, 64])
def test_psd_power_equals_eigh(n, dtype, path):
    rng = np.random.default_rng(n)
    A = np.stack([make(rng, n) for make in list(FAMILIES.values()) * 2]).astype(dtype)
    before = A.copy()
    result = psd_power(A, POWER)
    assert result.dtype == dtype
    assert result.shape == A.shape
    assert_array_equal(A, before)
    errors = relative_errors(result, eigh_power(A, POWER))
    assert dict(zip(list(FAMILIES) * 2, errors > bar(dtype), strict=True)) == dict.fromkeys(
        FAMILIES, False
    )
    assert_allclose(result, result.swapaxes(1, 2), atol=1e-14 * n)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("power", [0.36, 0.5, 0.99])
def test_rank_deficient_has_no_noise(dtype, power, path):
    """Small integers, so that the products are exact and the true rank is that of the matrix
    given.
    """
    rng = np.random.default_rng(0)
    V = rng.integers(-3, 4, (20, 21, 2)).astype(dtype)
    V[:7, :, 1] = 0
    V[3] = 0
    A = V @ V.swapaxes(1, 2)
    small = V.swapaxes(1, 2).astype(np.float64) @ V  # same nonzero eigenvalues, order 2
    lam, U = np.linalg.eigh(small)
    lam = np.where(lam > 1e-12 * (lam[:, -1:] + (lam[:, -1:] == 0)), lam, np.inf)
    W = V @ (U * lam[:, None] ** (0.5 * (power - 1)))  # V U λ^-½ are the eigenvectors
    assert relative_errors(psd_power(A, power), W @ W.swapaxes(1, 2)).max() < bar(dtype) / (
        1 if dtype == np.float32 else 100
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_float32_slices_agree_with_float64_arithmetic(dtype, path):
    """Real spectra: 1e-5 for the float32 matrix as given; in float64 the noise floor is the
    limit.
    """
    for d in (21, 22):
        A = sck_slices(d).astype(dtype)
        errors = relative_errors(slice_power(A, POWER), eigh_power(A, POWER))
        assert errors.max() < (1e-5 if dtype == np.float32 else (d * EPS) ** POWER)


@pytest.mark.parametrize("n", [6, 21, 64])
def test_the_floor_costs_less_than_float32_promises(n, path):
    """A diagonal matrix is the one kind whose tiny eigenvalues float32 can hold."""
    A = np.diag(np.geomspace(1e-20, 1, n)).astype(np.float32)
    assert relative_errors(psd_power(A, POWER), eigh_power(A, POWER)) < 1e-5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("exponent", [-20, 0, 20])
def test_scales(exponent, dtype, path):
    rng = np.random.default_rng(1)
    A = np.stack([with_spectrum(rng, np.geomspace(1e-6, 1, 8)) for _ in range(5)])
    A = (A * 10.0**exponent).astype(dtype)
    assert relative_errors(psd_power(A, POWER), eigh_power(A, POWER)).max() < bar(dtype)


@pytest.mark.parametrize("exponent", [-1060, -1020, -700, 700, 1020])
def test_extreme_scales_are_exact_powers_of_two(exponent, path):
    A = with_spectrum(np.random.default_rng(2), np.geomspace(1e-3, 1, 6))
    expected = psd_power(A, 0.5) * 2.0 ** (exponent // 2)
    both = psd_power(np.stack([np.ldexp(A, exponent), A]), 0.5)
    # subnormal entries
    assert relative_errors(both[0], expected) < (1e-12 if exponent > -1000 else 1e-3)
    assert_array_equal(both[1], psd_power(A, 0.5))


def longdouble_power(A, power):
    """Cyclic Jacobi in extended precision: the truth about one ill-conditioned matrix."""
    A, n = np.longdouble(A), len(A)
    U = np.eye(n, dtype=np.longdouble)
    for _ in range(12):
        for p in range(n - 1):
            for q in range(p + 1, n):
                if A[p, q] != 0:
                    zeta = (A[q, q] - A[p, p]) / (2 * A[p, q])
                    t = (1 if zeta >= 0 else -1) / (abs(zeta) + np.sqrt(1 + zeta**2))
                    c = 1 / np.sqrt(1 + t**2)
                    J = np.array([[c, t * c], [-t * c, c]])
                    A[:, [p, q]] = A[:, [p, q]] @ J
                    A[[p, q]] = J.T @ A[[p, q]]
                    U[:, [p, q]] = U[:, [p, q]] @ J
    return np.float64((U * np.clip(np.diag(A), 0, None) ** np.longdouble(power)) @ U.T)


@pytest.mark.skipif(
    np.finfo(np.longdouble).eps > 1e-18, reason="no extended precision on this machine"
)
@pytest.mark.parametrize("smallest", [1e-12, 1e-14, 1e-16])
def test_ambiguous_eigenvalues_stay_within_the_holder_bound(smallest, path):
    """|(λ+δ)^γ - λ^γ| ≤ |δ|^γ: what an error δ = n·eps in an eigenvalue may do, and no method can
    do better.
    """
    rng = np.random.default_rng(3)
    A = np.stack([with_spectrum(rng, np.geomspace(smallest, 1, 8)) for _ in range(4)])
    truth = np.stack([longdouble_power(a, POWER) for a in A])
    assert np.linalg.norm(psd_power(A, POWER) - truth, axis=(1, 2)).max() < (8 * EPS) ** POWER


def test_order_one(path):
    assert_allclose(psd_power(np.array([[[4.0]], [[0.0]], [[-1.0]]]), 0.5).ravel(), [2, 0, 0])


def test_power_one_returns_the_input():
    A = np.eye(3)
    assert psd_power(A, 1.0) is A
    X = np.ones((2, 2, 2))
    assert hosvd_power(X, 1.0) is X


def test_negative_rounding_is_clipped(path):
    A = with_spectrum(np.random.default_rng(1), np.array([-1e-9, -1e-12, 0.2, 0.5, 1.0]))
    B = psd_power(A, 0.5)
    assert_allclose(B @ B, A, atol=2e-9)
    assert np.linalg.eigvalsh(B)[0] > -1e-12


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_stays_in_its_matrix(bad, dtype, path):
    A = np.stack(
        [with_spectrum(np.random.default_rng(i), np.linspace(0.1, 1, 5)) for i in range(21)]
    ).astype(dtype)
    clean = psd_power(A, POWER)
    A[4, 2, 1] = A[4, 1, 2] = A[18, 0, 0] = bad
    result = psd_power(A, POWER)
    assert np.isnan(result[[4, 18]]).all()
    assert_array_equal(np.delete(result, [4, 18], axis=0), np.delete(clean, [4, 18], axis=0))


@pytest.mark.parametrize("n_batch", [1, 15, 16, 17, 40])
def test_a_matrix_does_not_depend_on_its_neighbours(n_batch):
    rng = np.random.default_rng(4)
    A = np.stack([make(rng, 9) for make in FAMILIES.values() for _ in range(4)])[:n_batch]
    result = psd_power(A, POWER)
    shuffled = rng.permutation(n_batch)
    assert_array_equal(psd_power(A[shuffled], POWER), result[shuffled])
    assert_array_equal(psd_power(A[:1], POWER), result[:1])


def test_layouts_and_leading_axes(path):
    rng = np.random.default_rng(5)
    A = np.stack([with_spectrum(rng, rng.uniform(0.1, 1, 6)) for _ in range(24)]).reshape(
        2, 3, 4, 6, 6
    )
    result = psd_power(A, POWER)
    assert_array_equal(psd_power(np.asfortranarray(A), POWER), result)
    assert_array_equal(psd_power(A[:, ::2], POWER), result[:, ::2])
    assert_array_equal(psd_power(A[0, 0, 0], POWER), result[0, 0, 0])


def test_without_convergence_lapack_steps_in(monkeypatch):
    A = np.stack(
        [with_spectrum(np.random.default_rng(i), np.linspace(0.1, 1, 12)) for i in range(20)]
    )
    A[5] = np.eye(12)
    powers, expected = power_norm.powers.psd_power, eigh_power(A, POWER)

    def failing(A, power, out):
        failed = powers(A, power, out)
        failed[3:9] = True
        out[3:9] = A[3:9]
        return failed

    monkeypatch.setattr(power_norm.powers, "psd_power", failing)
    assert relative_errors(psd_power(A, POWER), expected).max() < 1e-13


@pytest.mark.parametrize("n", [3, 8])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_out(n, dtype, path):
    rng = np.random.default_rng(10)
    A = (
        np.stack([with_spectrum(rng, rng.uniform(0.1, 1, n)) for _ in range(38)])
        .reshape(2, 19, n, n)
        .astype(dtype)
    )
    expected = psd_power(A, POWER)
    for out in (
        np.empty_like(A),
        np.empty_like(A, order="F"),
        np.empty((2, 38, n, n), dtype)[:, ::2],
        A.copy(),
    ):
        assert psd_power(A, POWER, out=out) is out
        assert_array_equal(out, expected)
    assert psd_power(A, 1.0, out=out) is out
    assert_array_equal(out, A)
    assert psd_power(A, POWER, out=A) is A
    assert_array_equal(A, expected)
    T = sck_slices(9)
    expected = slice_power(T, POWER)
    assert slice_power(T, POWER, out=T) is T
    assert_array_equal(T, expected)
    with pytest.raises(DataError, match=r"out of shape \(2, 19, .*, got \(2,\)"):
        psd_power(A, POWER, out=A[:, 0, 0, 0])
    with pytest.raises(DataError, match=r"and float.., got .* and int64"):
        psd_power(A, POWER, out=A.astype(np.int64))


def test_threads_do_not_share_state(path):
    A = sck_slices(12).reshape(-1, 12, 12)
    expected = psd_power(A, POWER)
    with ThreadPoolExecutor(4) as pool:
        for result in pool.map(lambda _: psd_power(A, POWER), range(8)):
            assert_array_equal(result, expected)


def test_slice_power_is_psd_power_of_slices(path):
    T = sck_slices(9)
    result = slice_power(T, POWER)
    assert result.shape == T.shape
    for j in range(3):
        for k in range(9):
            assert_array_equal(result[j, k], psd_power(T[j, k], POWER))


def dck_tensors(n_joints=4, n_frames=40, seed=0):
    """Σ φ(x_is - x_i's') ⊗ z(s) ⊗ z(s') of smooth trajectories, (pairs, 15, 6, 6)."""
    rng = np.random.default_rng(seed)
    time = np.linspace(0, 1, n_frames)[:, None]
    x = rng.uniform(-0.5, 0.5, (n_joints, 1, 3)) + 0.4 * np.sin(
        6 * time + rng.uniform(0, 6, (n_joints, 1, 3))
    )
    z = np.exp(-((time - np.linspace(0, 1, 6)) ** 2) / 0.25)
    i, j = np.triu_indices(n_joints)
    u = x[i][:, :, None] - x[j][:, None]
    phi = np.exp(-((u[..., None] - np.linspace(-1, 1, 5)) ** 2) / 0.36).reshape(
        len(i), n_frames, n_frames, 15
    )
    return np.einsum("nstz,sp,tq->nzpq", phi, z, z, optimize=True) / n_frames


@pytest.mark.parametrize("entry_power", [0.5, 1.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "shape", [(15, 6, 6), (2, 3, 4), (2, 2, 9), (9, 2, 2), (5, 5, 5), (1, 1, 1)]
)
def test_hosvd_power_equals_definition(shape, dtype, entry_power):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((5, *shape)).astype(dtype)
    result = hosvd_power(X, POWER, entry_power)
    assert result.dtype == dtype
    expected = np.stack([reference_hosvd_power(x, POWER) for x in X])
    expected = np.sign(expected) * np.abs(expected) ** entry_power
    assert_allclose(result, expected, atol=bar(dtype) * np.abs(expected).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_hosvd_power_of_dck_tensors(dtype):
    """Singular values down to 1e-12: what eigenvectors of M Mᵀ would get wrong by 1e-3."""
    X = dck_tensors().astype(dtype)
    expected = np.stack([reference_hosvd_power(x, POWER) for x in X])
    errors = np.linalg.norm((hosvd_power(X, POWER) - expected).reshape(len(X), -1), axis=1)
    assert (errors / np.linalg.norm(expected.reshape(len(X), -1), axis=1)).max() < 1e-5


@pytest.mark.parametrize("power", [0.75, 0.85])
def test_hosvd_power_of_float32_by_larger_powers(power):
    """There the compiled factors are eigenvectors of M Mᵀ, without singular values under 1e-8 of
    the largest.
    """
    X = np.concatenate([dck_tensors(seed=s) for s in range(3)]).astype(np.float32)
    X[0] = 0
    X[0, :4, :3, :2] = np.random.default_rng(0).standard_normal((4, 3, 2))  # singular in every mode
    expected = np.stack([reference_hosvd_power(x, power) for x in X])
    errors = np.linalg.norm((hosvd_power(X, power) - expected).reshape(len(X), -1), axis=1)
    assert (errors / np.linalg.norm(expected.reshape(len(X), -1), axis=1)).max() < 1e-5


def test_hosvd_power_of_a_matrix():
    """Zeros of the core come out as rounding errors about the floor: the Hölder bound is what can
    be promised.
    """
    X = np.random.default_rng(9).standard_normal((3, 17))
    U, sigma, Vt = np.linalg.svd(X, full_matrices=False)
    expected = (U * sigma**POWER) @ Vt
    assert_allclose(
        hosvd_power(X[..., None], POWER)[..., 0], expected, atol=6 * (17 * EPS) ** POWER
    )


def test_hosvd_of_equal_singular_values():
    X = np.zeros((4, 4, 4))
    X[np.arange(4), np.arange(4), np.arange(4)] = [4.0, 4.0, -4.0, 0.0]
    assert_allclose(hosvd_power(X, 0.5), np.sign(X) * np.abs(X) ** 0.5, atol=1e-14)
    assert_allclose(hosvd_power(X, 0.5, 0.5), np.sign(X) * np.abs(X) ** 0.25, atol=1e-6)
    assert_array_equal(hosvd_power(X * 0, 0.5, 0.5), X * 0)


def test_a_tensor_does_not_depend_on_its_neighbours():
    rng = np.random.default_rng(6)
    X = np.concatenate([dck_tensors(seed=s) for s in range(3)])
    X[5] = X[6] = 0
    X[6, 0, 0, 0] = X[6, 1, 1, 1] = 1
    X[7] += X[7].swapaxes(1, 2)  # symmetric: two factors have equal singular values
    result = hosvd_power(X, POWER, 0.9)
    shuffled = rng.permutation(len(X))
    assert_array_equal(hosvd_power(X[shuffled], POWER, 0.9), result[shuffled])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_hosvd_scales_and_nan(dtype):
    X = np.random.default_rng(7).standard_normal((20, 3, 4, 5)).astype(dtype)
    scales = np.array([1e-30, 1e30, 1.0, 1e-12] * 5, dtype)[:, None, None, None]
    expected = hosvd_power(X, 0.5, 0.8) * scales ** dtype(0.4)
    scaled = X * scales
    scaled[3, 1, 2, 3], scaled[17, 0, 0, 0] = np.nan, np.inf
    result = hosvd_power(scaled, 0.5, 0.8)
    assert np.isnan(result[[3, 17]]).all()
    kept = np.delete(np.arange(20), [3, 17])
    assert_allclose(result[kept], expected[kept], rtol=1e-3 if dtype == np.float32 else 1e-9)


def test_hosvd_power_one_is_entrywise():
    X = np.random.default_rng(8).standard_normal((2, 3, 4, 5))
    assert_array_equal(hosvd_power(X, 1.0, 0.5), np.sign(X) * np.abs(X) ** 0.5)


def test_without_convergence_svd_steps_in(monkeypatch):
    X = dck_tensors()
    few = functools.partial(core_hosvd.hosvd_power, max_sweeps=1)
    assert few(X, POWER, 1.0)[1].all()
    monkeypatch.setattr(core_hosvd, "hosvd_power", few)
    assert_array_equal(hosvd_power(X, POWER, 0.9), power_norm._svd_power(X, POWER, 0.9))


def test_empty_batches():
    assert psd_power(np.zeros((0, 3, 3)), POWER).shape == (0, 3, 3)
    assert psd_power(np.zeros((0, 8, 8)), POWER).shape == (0, 8, 8)
    assert hosvd_power(np.zeros((2, 0, 3, 3)), POWER).shape == (2, 0, 3, 3)


def test_integers_become_float64():
    result = psd_power(np.diag([4, 9]), 0.5)
    assert result.dtype == np.float64
    assert_allclose(result, np.diag([2.0, 3.0]), rtol=1e-14)


@pytest.mark.parametrize("power", [0, -1, 1.5, "half", True, np.nan])
def test_bad_power(power):
    with pytest.raises(ParameterError, match=r"power must be a number in \(0, 1\]"):
        psd_power(np.eye(2), power)


def test_bad_arrays():
    with pytest.raises(DataError, match=r"square matrices .* got shape \(2, 3\)"):
        psd_power(np.ones((2, 3)), POWER)
    with pytest.raises(DataError, match=r"cubic tensors .* got shape \(2, 3, 3\)"):
        slice_power(np.ones((2, 3, 3)), POWER)
    with pytest.raises(DataError, match=r"\(\.\.\., a, b, c\), got shape \(2, 2\)"):
        hosvd_power(np.ones((2, 2)), POWER)
    with pytest.raises(DataError, match="float16"):
        psd_power(np.eye(2, dtype=np.float16), POWER)
