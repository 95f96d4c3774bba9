"""Mirrored features by the core are those of the plain formula."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import linear

from kerneton.core.mirror import average


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("n", "n_all", "n_kept"), [(1, 3, 2), (7, 40, 23), (130, 1000, 700), (0, 3, 2)]
)
@pytest.mark.parametrize("n_threads", [1, 3])
def test_the_formula(dtype, n, n_all, n_kept, n_threads):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, n_all)).astype(dtype)
    columns, source = rng.integers(0, n_all, (2, n_kept))
    own, other = rng.choice([0.5, 0.5**0.5, 1.0], (2, n_kept))
    found = average(X, columns, source, own, other, n_threads)
    assert found.dtype == dtype
    expected = linear.mirrored(X, columns, source, own.astype(dtype), other.astype(dtype))
    assert_allclose(found, expected, atol=8 * np.finfo(dtype).eps)
    assert_array_equal(found[:3], average(X[:3], columns, source, own, other))
    with pytest.raises(ValueError, match="columns"):
        average(X, columns, source[1:], own, other)
