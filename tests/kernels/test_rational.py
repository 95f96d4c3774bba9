"""Powers by resolvents, which float32 features of SCK take: equal to those by eigenvalues."""

from __future__ import annotations

import numpy as np
import pytest
from walks import walks

from kerneton import SCK
from kerneton.kernels.power_norm import resolvents

POWERS = (0.35, 0.36, 0.5)


@pytest.mark.parametrize("power", POWERS)
def test_the_sum_of_fractions_is_the_power(power):
    s, c = resolvents(power, np.dtype(np.float32)).T
    x = np.geomspace(2e-15, 1, 4000)[:, None]
    assert np.abs((c / s * x / (x + s)).sum(1) - x[:, 0] ** power).max() < 4e-6
    assert s.min() >= 2e-15
    assert c.min() > 0


@pytest.mark.parametrize(
    ("power", "dtype"), [(0.3, np.float32), (0.6, np.float32), (0.36, np.float64)]
)
def test_no_poles_where_they_would_not_do(power, dtype):
    assert resolvents(power, np.dtype(dtype)) is None


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("n_pivots", [1, 5, 9])
def test_float32_agrees_with_eigenvalues(n_pivots, power, order):
    """Recordings of a few frames, whose matrices are singular, among them; and one that leaves only
    time.
    """
    X = [x.astype(np.float32) for x in walks((1, 2, 5, 9, 21, 40, 170), 3)]
    X.append(X[-1] + np.float32(1e3))
    kernel = SCK(order=order, power=power, n_pivots_joint=n_pivots, n_pivots_time=5).fit(X)
    found, expected = kernel.transform(X), kernel.transform([x.astype(np.float64) for x in X])
    errors = np.linalg.norm(found - expected, axis=1) / np.linalg.norm(expected, axis=1)
    assert errors.max() < 1e-5
