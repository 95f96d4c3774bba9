"""Powers of symmetric matrices by the core, against eigenvalues from LAPACK."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.moments import reference_gradient
from reference.powers import reference_power

from kerneton.core.powers import power_gradient, psd_power

TOLERANCE = {"float32": 2e-6, "float64": 1e-12}


def matrices(n_batch: int, n: int, rank: int, scale: float, dtype: str, seed: int) -> np.ndarray:
    V = np.abs(np.random.default_rng(seed).normal(size=(n_batch, rank, n))) * np.sqrt(scale)
    return (np.swapaxes(V, 1, 2) @ V).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [4, 5, 15, 16, 17, 21, 33, 64, 128])
def test_powers_are_those_of_the_eigenvalues(n: int, dtype: str) -> None:
    A = matrices(19, n, 2 * n, 1.0, dtype, n)
    out = np.empty_like(A)
    assert not psd_power(A, 0.36, out).any()
    expected = reference_power(A, 0.36)
    np.testing.assert_allclose(out, expected, atol=TOLERANCE[dtype] * np.abs(expected).max())


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 40),
    st.integers(4, 30),
    st.sampled_from(["float32", "float64"]),
    st.floats(-12, 12),
    st.floats(0.05, 1.0),
    st.integers(0, 99),
)
def test_any_batch_order_scale_and_power(
    n_batch: int, n: int, dtype: str, exponent: float, power: float, seed: int
) -> None:
    A = matrices(n_batch, n, 2 * n, 10.0**exponent, dtype, seed)
    out = np.empty_like(A)
    assert not psd_power(A, power, out).any()
    expected = reference_power(A, power)
    size = np.abs(expected).max(axis=(1, 2), keepdims=True)
    # Small eigenvalues are known to rounding errors of the largest, which the power enlarges.
    error = TOLERANCE[dtype] if dtype == "float64" else 1e-5
    error = max(error, (10 * n * np.finfo(dtype).eps) ** power)
    assert np.all(np.abs(out - expected) <= error * size)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_no_matrix_depends_on_its_neighbours(dtype: str) -> None:
    A = matrices(50, 21, 40, 1.0, dtype, 1)
    A[7] = np.nan
    A[8] = 0
    A[9] *= 1e30
    psd_power(A, 0.36, together := np.empty_like(A))
    for k in range(50):
        psd_power(A[k : k + 1], 0.36, alone := np.empty_like(A[:1]))
        np.testing.assert_array_equal(together[k], alone[0])
    assert np.isnan(together[7]).all()
    assert not together[8].any()


def test_in_place() -> None:
    A = matrices(20, 12, 20, 1.0, "float64", 2)
    psd_power(A, 0.5, out := np.empty_like(A))
    psd_power(A, 0.5, A)
    np.testing.assert_array_equal(A, out)


@pytest.mark.parametrize("power", [0.1, 0.36, 0.9, 1.0])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 16, 21, 32, 61])
def test_gradients_are_those_of_the_eigenvalues(n: int, power: float) -> None:
    A, W = (
        matrices(19, n, 3 * n, 1.0, "float64", n),
        np.random.default_rng(n).normal(size=(19, n, n)),
    )
    A[3], A[4], A[5] = 0.0, np.eye(n), np.eye(n) + 1e-9 * np.diag(np.arange(n))
    A[6], A[7] = A[6] * 1e150, A[7] * 1e-150
    found, wanted = power_gradient(A, W, power), reference_gradient(A, W, power)
    size = np.abs(wanted).max(axis=(1, 2), keepdims=True)
    assert np.all(np.abs(found - wanted) <= 1e-9 * size)


def test_a_gradient_sums_to_the_weighted_power() -> None:
    """Euler: f is homogeneous, also where the rank is lower than the order."""
    A, W = matrices(9, 21, 6, 1.0, "float64", 0), np.random.default_rng(1).normal(size=(9, 21, 21))
    raised = np.empty_like(A)
    assert not psd_power(A, 0.4, raised).any()
    sums = (power_gradient(A, W, 0.4) * A).sum(axis=(1, 2))
    np.testing.assert_allclose(sums, (W * raised).sum(axis=(1, 2)), atol=1e-6)
