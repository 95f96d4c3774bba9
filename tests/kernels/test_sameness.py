"""One answer: whatever the batch, the path, the precision and the size of the numbers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from reference.dck import reference_features
from walks import walks

from kerneton import DCK, SCK
from kerneton.kernels.power_norm import hosvd_power, psd_power


def gap(found, expected):
    """Largest difference, as a part of the largest feature."""
    return float(np.abs(np.float64(found) - expected).max() / np.abs(expected).max())


def parts_and_roundings(found, expected, dtype):
    """Largest difference, as a part of each entry, beside one unit of the smallest number there
    is.
    """
    unit = float(np.finfo(dtype).smallest_subnormal)
    return float(
        (
            np.maximum(np.abs(np.float64(found) - expected) - 2 * unit, 0) / np.abs(expected).max()
        ).max()
    )


@pytest.mark.parametrize("power", [0.1, 0.36])
@pytest.mark.parametrize(
    "kernel", [SCK(order=1), SCK(order=2), SCK(), SCK(epn="hosvd"), DCK(), DCK(sigma_span=4.0)]
)
def test_batches(kernel, power):
    X = walks((20, 35, 3), 4)
    kernel.set_params(power=power)
    expected = kernel.set_params(batch_size=32).fit_transform(X)
    for size in (1, 2):
        assert (
            gap(kernel.set_params(batch_size=size).fit_transform(X), expected)
            <= 1e-3 * (power == 0.1) + 1e-6
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sigma_span", [None, 4.0, 40.0])
def test_a_displacement_kernel_sees_no_company(sigma_span, dtype):
    X = walks((60, 53, 30, 11, 4), 5, dtype=dtype)
    kernel = DCK(power=0.3, sigma_span=sigma_span)
    expected = kernel.set_params(batch_size=32).fit_transform(X)
    for size in (1, 2, 7):
        assert_array_equal(kernel.set_params(batch_size=size).fit_transform(X), expected)


@pytest.mark.parametrize("sigma_span", [None, 4.0, 40.0])
@pytest.mark.parametrize(("power", "bar"), [(0.3, 1e-4), (0.5, 1e-6), (0.85, 1e-6), (1.0, 1e-5)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_harmonics_and_the_sum_as_it_is_written(sigma_span, power, bar, dtype):
    X = walks((20, 35, 50, 90), 4, dtype=dtype)
    options = {"power": power, "sigma_span": sigma_span}
    direct = np.stack([reference_features(x, **options) for x in X])
    assert gap(DCK(**options).fit_transform(X), direct) <= (
        bar if dtype == np.float64 or power < 0.75 else 1e-4
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("power", [0.36, 0.9, 0.999])
@pytest.mark.parametrize("n", [3, 4, 8, 21])
def test_matrices_next_to_nothing(dtype, power, n):
    """Numbers that have lost digits, and results that lose them: no more is lost than that."""
    v = np.random.default_rng(n).normal(size=(n, 2 * n))
    tiny = float(np.finfo(dtype).smallest_normal)
    for size in (1e3 * tiny, tiny, tiny / 1e2, tiny / 1e4):
        A = (v @ v.T / n * size).astype(dtype)
        exponent = np.floor(np.log2(np.float64(A.max())))
        expected = psd_power(np.ldexp(np.float64(A), -int(exponent)), power) * 2.0 ** (
            exponent * power
        )
        loose = 1e-6 if dtype == np.float32 else 1e-13
        beside = np.stack([np.eye(n, dtype=dtype), A])
        assert parts_and_roundings(psd_power(A, power), expected, dtype) < loose
        assert_array_equal(psd_power(beside, power)[1], psd_power(A, power))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("power", "entry_power"), [(0.36, 1.0), (0.97, 0.99), (0.999, 1.0)])
def test_tensors_next_to_nothing(dtype, power, entry_power):
    X = np.random.default_rng(0).normal(size=(6, 4, 4))
    tiny = float(np.finfo(dtype).smallest_normal)
    for size in (1e3 * tiny, tiny, tiny / 1e2, tiny / 1e4):
        Y = (X * size).astype(dtype)
        exponent = np.floor(np.log2(np.float64(np.abs(Y).max())))
        expected = hosvd_power(np.ldexp(np.float64(Y), -int(exponent)), power, entry_power)
        expected = expected * 2.0 ** (exponent * power * entry_power)
        found = hosvd_power(Y, power, entry_power)
        assert parts_and_roundings(found, expected, dtype) < (
            1e-6 if dtype == np.float32 else 1e-12
        )
