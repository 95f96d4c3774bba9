from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kerneton.kernels.tensors import outer_power_sum

SUMS = {1: "bjtx->bjx", 2: "bjtx,bjty->bjxy", 3: "bjtx,bjty,bjtz->bjxyz"}


@pytest.mark.parametrize("order", SUMS)
@pytest.mark.parametrize("shape", [(3, 2, 9, 4), (1, 1, 1, 1), (2, 5, 1, 3), (1, 3, 40, 21)])
def test_plain_formula(order, shape):
    v = np.random.default_rng(0).uniform(size=shape)
    before = v.copy()
    answer = outer_power_sum(v, order)
    assert_allclose(answer, np.einsum(SUMS[order], *[v] * order), rtol=1e-12)
    assert_allclose(v, before, rtol=0)


@pytest.mark.parametrize("order", SUMS)
def test_views_and_single_precision(order):
    v = np.random.default_rng(0).uniform(size=(2, 9, 3, 4)).astype(np.float32).swapaxes(1, 2)
    answer = outer_power_sum(v, order)
    assert answer.dtype == np.float32
    assert_allclose(answer, np.einsum(SUMS[order], *[v.astype(float)] * order), rtol=1e-5)


@pytest.mark.parametrize("order", SUMS)
def test_frames_of_zeros_add_nothing(order):
    v = np.random.default_rng(0).uniform(size=(1, 2, 6, 5))
    padded = np.concatenate([v, np.zeros((1, 2, 7, 5))], axis=2)
    assert_allclose(outer_power_sum(padded, order), outer_power_sum(v, order), rtol=1e-14)


def test_order_three_is_super_symmetric():
    T = outer_power_sum(np.random.default_rng(1).normal(size=(1, 1, 8, 5)), 3)[0, 0]
    for axes in [(0, 2, 1), (1, 0, 2), (2, 1, 0), (1, 2, 0)]:
        assert_allclose(T, T.transpose(axes), atol=1e-13)
