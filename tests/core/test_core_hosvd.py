"""Powers of tensors' cores by the core, against singular value decompositions from LAPACK."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.hosvd import reference_hosvd_power

from kerneton.core.hosvd import hosvd_power


def norms(X: np.ndarray) -> np.ndarray:
    return np.linalg.norm(X.reshape(len(X), -1).astype(float), axis=1)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 40),
    st.tuples(st.integers(1, 12), st.integers(1, 12), st.integers(1, 12)).filter(
        lambda s: np.prod(s) >= 16
    ),
    st.sampled_from(["float32", "float64"]),
    st.floats(-12, 12),
    st.floats(0.3, 1.0),
    st.integers(0, 99),
)
def test_any_batch_shape_scale_and_power(
    n_batch: int, shape: tuple[int, int, int], dtype: str, exponent: float, power: float, seed: int
) -> None:
    X = np.random.default_rng(seed).normal(size=(n_batch, *shape))
    X = (X * 10.0**exponent).astype(dtype)
    found, failed = hosvd_power(X, power, 1.0)
    assert found.dtype == dtype
    assert not failed.any()
    expected = np.stack([reference_hosvd_power(x, power) for x in X])
    # Core entries that should be zero are rounding errors, which the power enlarges.
    least = (2 * max(shape) * np.finfo(np.float64).eps) ** power * np.sqrt(np.prod(shape))
    assert np.all(
        norms(found - expected)
        <= (least + (1e-5 if dtype == "float32" else 1e-9)) * norms(expected)
    )


@pytest.mark.parametrize("power", [0.5, 0.85])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_no_tensor_depends_on_its_neighbours(dtype: str, power: float) -> None:
    X = np.random.default_rng(1).normal(size=(50, 15, 6, 6)).astype(dtype)
    X[7] = np.nan
    X[8] = 0
    X[9] *= 1e30
    together, failed = hosvd_power(X, power, 0.9)
    assert not failed.any()
    for i in (0, 6, 8, 9, 10, 49):
        np.testing.assert_array_equal(hosvd_power(X[i : i + 1], power, 0.9)[0][0], together[i])
    assert np.isnan(together[7]).all()
    assert np.isfinite(np.delete(together, 7, axis=0)).all()
    assert (together[8] == 0).all()


def test_too_few_sweeps_are_told() -> None:
    X = np.random.default_rng(2).normal(size=(20, 15, 6, 6))
    assert hosvd_power(X, 0.5, 1.0, max_sweeps=1)[1].all()
    assert not hosvd_power(X, 0.5, 1.0)[1].any()
