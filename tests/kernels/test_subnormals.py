"""Numbers below the smallest normal one: dropped within a power, kept outside, and still right as input and result."""

import platform

import numpy as np
import pytest

numba = pytest.importorskip("numba")

from kerneton.kernels.compiled.epn import psd_power  # noqa: E402
from kerneton.kernels.compiled.subnormals import flush, restore  # noqa: E402


@numba.njit
def product(x, y, flushed):
    state = flush() if flushed else np.int32(0)
    for i in range(len(x)):
        x[i] *= y[i]
    if flushed:
        restore(state)


def small(flushed):
    x = np.full(64, 1e-30, np.float32)
    product(x, np.full(64, 1e-10, np.float32), flushed)
    return x


@pytest.mark.skipif(platform.machine().lower() not in ("x86_64", "amd64"), reason="x86 alone has this state")
def test_subnormal_results_are_zero_while_flushed_and_come_back():
    assert (small(False) > 0).all()
    assert (small(True) == 0).all()
    assert (small(False) > 0).all()


@pytest.mark.parametrize("power", [0.36, 1.0])
def test_a_power_leaves_the_state_alone_and_takes_subnormal_matrices(power):
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(20, 8, 20))
    grams = factors @ factors.transpose(0, 2, 1)
    tiny = (grams * 1e-40).astype(np.float32)
    out = np.empty_like(tiny)
    assert not psd_power(tiny, power, out).any()
    assert np.float32(1e-38) * np.float32(0.1) > 0  # in this thread, outside of the kernel
    values, vectors = np.linalg.eigh(tiny.astype(np.float64))
    assert values.min() > 1e-4 * values.max()
    exact = (vectors * values[:, None] ** power) @ vectors.transpose(0, 2, 1)
    assert np.abs(out - exact).max() <= 1e-5 * np.abs(exact).max()
