"""Numbers below the smallest normal one: dropped within a power, kept outside, and still right as
input and result.
"""

import numpy as np
import pytest

from kerneton.core.powers import psd_power


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
