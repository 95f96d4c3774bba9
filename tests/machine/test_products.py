"""Inner products and weighted sums of feature vectors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kerneton.machine.products import add_gram, combine, gram


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gram_and_combine(dtype):
    rng = np.random.default_rng(2)
    X, Y, beta = (
        rng.random((9, 21)).astype(dtype),
        rng.random((4, 21)).astype(dtype),
        rng.random((3, 9)),
    )
    wide_X, wide_Y = X.astype(float), Y.astype(float)
    rtol = 1e-6 if dtype == np.float32 else 1e-13
    for other, wide in ((None, wide_X), (Y, wide_Y)):
        out = np.zeros((9, len(wide)))
        add_gram(out, X, other, block_rows=4, block_features=8)
        assert_allclose(out, wide_X @ wide.T, rtol=rtol)
        assert gram(X, other).dtype == np.float64
        assert_allclose(gram(X, other), wide_X @ wide.T, rtol=rtol)
    assert combine(beta, X).dtype == dtype
    assert_allclose(combine(beta, X), beta @ wide_X, rtol=rtol)


def test_float32_gram_is_summed_in_double_precision():
    X = np.random.default_rng(3).uniform(0.9, 1.1, (3, 200_000)).astype(np.float32)
    exact = X.astype(float) @ X.astype(float).T
    assert_allclose(gram(X), exact, rtol=1e-6)
