"""Newton's method by the core ends at the minimum that a general optimiser finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference import linear

from kerneton.core.newton import newton

PLAIN = {"tol": 1e-9, "n_iter": 0, "max_iter": 200}


def problem(seed, n, d, n_classes, scale=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * scale
    Y = np.where(rng.random((n_classes, n)) < 0.4, 1.0, -1.0)
    C = rng.choice([0.0, 0.3, 5.0], (n_classes, n)) / scale**2
    return X @ X.T + scale**2, Y, C


def solved(K, Y, C, shares=(1.0,), **options):
    coef, F = np.zeros(Y.shape), np.zeros(Y.shape)
    found = newton(K, Y, C, coef, F, shares=np.array(shares), **(PLAIN | options))
    return coef, F, *found


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 60),
    st.integers(1, 90),
    st.sampled_from([1e-6, 1.0, 1e6]),
    st.sampled_from([(1.0,), (1.0, 1.0, 0.45, 0.8)]),
)
def test_the_minimum(seed, n, d, scale, shares):
    K, Y, C = problem(seed, n, d, 3, scale)
    coef, F, steps, converged = solved(K, Y, C, shares)
    assert converged.all()
    assert (steps >= 1).all()
    assert_allclose(coef @ K, F, atol=1e-9)
    assert (coef[C == 0] == 0).all()
    for y, c, b, f in zip(Y, C, coef, F, strict=True):
        cost = 0.5 * b @ f + 0.5 * (c * np.maximum(0, 1 - y * f) ** 2).sum()
        assert cost <= (1 + 1e-9) * linear.least_cost(K, y, c)
        assert_allclose(
            b, c * np.maximum(0, 1 - y * f) * y, atol=1e-9 * abs(b).max() + 1e-300, rtol=1e-6
        )


def test_classes_do_not_depend_on_each_other():
    K, Y, C = problem(1, 90, 120, 7)
    coef, F, steps, _ = solved(K, Y, C)
    for k in range(7):
        alone = solved(K, Y[k : k + 1], C[k : k + 1])
        assert_array_equal(alone[0][0], coef[k])
        assert_array_equal(alone[1][0], F[k])
        assert alone[2][0] == steps[k]


def test_steps_run_out_and_singular_systems_are_told():
    K, Y, C = problem(2, 50, 60, 4)
    assert not solved(K, Y, 100 * C + 1, max_iter=1)[3].any()
    assert not solved(-np.eye(5), np.ones((1, 5)), np.full((1, 5), 2.0))[3].any()


def test_arguments_that_do_not_fit():
    K, Y, C = problem(3, 5, 4, 2)
    with pytest.raises(ValueError, match="do not fit"):
        solved(K[:4], Y, C)
