from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kerneton.exceptions import DataError, ParameterError
from kerneton.power_norm import hosvd_power, psd_power, slice_power

POWER = 0.36


def relative_error(actual, expected):
    return np.linalg.norm(np.float64(actual) - expected) / np.linalg.norm(expected)


def orthogonal(rng, n):
    return np.linalg.qr(rng.standard_normal((n, n)))[0]


def with_spectrum(rng, spectrum):
    U = orthogonal(rng, len(spectrum))
    A = (U * spectrum) @ U.T
    return (A + A.T) / 2


def eigh_power(A, power):
    """The textbook: no floor but zero, float64."""
    lam, U = np.linalg.eigh(np.float64(A))
    return (U * np.clip(lam, 0, None)[..., None, :] ** power) @ np.swapaxes(U, -1, -2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 3, 6, 21, 32, 64])
def test_psd_power_equals_eigh(n, dtype):
    rng = np.random.default_rng(n)
    A = np.stack([with_spectrum(rng, rng.uniform(0.01, 1, n)) for _ in range(19)]).astype(dtype)
    result = psd_power(A, POWER)
    assert result.dtype == dtype
    assert result.shape == A.shape
    for actual, expected in zip(result, eigh_power(A, POWER), strict=True):
        assert relative_error(actual, expected) < (1e-5 if dtype == np.float32 else 1e-10)


def test_power_one_returns_the_input():
    A = np.eye(3)
    assert psd_power(A, 1.0) is A
    assert hosvd_power(np.ones((2, 2, 2)), 1.0, 1.0).sum() == 8


@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e20])
def test_psd_power_scales(scale):
    A = with_spectrum(np.random.default_rng(0), np.geomspace(1e-5, 1, 8))
    assert relative_error(psd_power(A * scale, POWER), eigh_power(A, POWER) * scale**POWER) < 1e-10


def test_zero_rank_one_repeated():
    u = orthogonal(np.random.default_rng(0), 7)[0]
    A = np.stack([np.zeros((7, 7)), np.outer(u, u) * 16, np.eye(7) * 16])
    expected = np.stack([A[0], A[1] / 4, A[2] / 4])
    assert_allclose(psd_power(A, 0.5), expected, atol=1e-12)


def test_negative_rounding_is_clipped():
    A = with_spectrum(np.random.default_rng(1), np.array([-1e-9, -1e-12, 0.5, 1.0]))
    B = psd_power(A, 0.5)
    assert_allclose(B @ B, A, atol=2e-9)
    assert np.linalg.eigvalsh(B)[0] > -1e-12


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_stays_in_its_matrix(bad):
    A = np.stack([np.eye(5)] * 11)
    A[4, 2, 1] = A[4, 1, 2] = bad
    result = psd_power(A, POWER)
    assert np.isnan(result[4]).all()
    assert_allclose(np.delete(result, 4, axis=0), np.delete(A, 4, axis=0), atol=1e-14)


def test_slice_power_is_psd_power_of_slices():
    rng = np.random.default_rng(2)
    V = rng.uniform(size=(2, 30, 6))
    T = np.einsum("bsi,bsj,bsk->bijk", V, V, V)
    result = slice_power(T, POWER)
    for b in range(2):
        for k in range(6):
            assert_allclose(result[b, k], eigh_power(T[b, k], POWER), rtol=1e-9)


def svd_hosvd(X, power):
    """One tensor at a time by the definition, with random signs of the singular vectors."""
    rng = np.random.default_rng(0)
    factors = []
    for mode in range(3):
        U = np.linalg.svd(np.moveaxis(X, mode, 0).reshape(X.shape[mode], -1))[0]
        factors.append(U * rng.choice([-1, 1], len(U)))
    core = np.einsum("ijk,ia,jb,kc->abc", X, *factors)
    core[np.abs(core) < 1e-14 * np.abs(core).max()] = 0  # the null space's rounding errors
    core = np.sign(core) * np.abs(core) ** power
    return np.einsum("abc,ia,jb,kc->ijk", core, *factors)


@pytest.mark.parametrize("entry_power", [0.5, 1.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(15, 6, 6), (2, 3, 4), (7, 2, 3), (1, 1, 1)])
def test_hosvd_power_equals_definition(shape, dtype, entry_power):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((5, *shape)).astype(dtype)
    result = hosvd_power(X, POWER, entry_power)
    assert result.dtype == dtype
    expected = np.stack([svd_hosvd(np.float64(x), POWER) for x in X])
    expected = np.sign(expected) * np.abs(expected) ** entry_power
    assert relative_error(result, expected) < (1e-5 if dtype == np.float32 else 1e-10)


def test_empty_batches():
    assert psd_power(np.zeros((0, 3, 3)), POWER).shape == (0, 3, 3)
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
