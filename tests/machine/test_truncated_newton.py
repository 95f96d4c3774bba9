"""The solver over blocks gives the machine of the Gram path."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kerneton.exceptions import DataError, ParameterError
from kerneton.machine.blocks import in_memory
from kerneton.machine.folds import machines
from kerneton.machine.products import combine, gram
from kerneton.machine.truncated_newton import Sample, _Problem, solve_blocks


def problem(n=90, d=140, k=5, seed=0, dtype=np.float64):
    """Classes that overlap, unit rows as branches give them."""
    rng = np.random.default_rng(seed)
    codes = np.append(np.arange(k), rng.integers(k, size=n - k))
    X = rng.normal(size=(k, d))[codes] + 1.5 * rng.normal(size=(n, d)) * np.linspace(0.1, 2, d)
    X -= X.mean(axis=0)
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(dtype), codes


def cut(X, size):
    return in_memory([X[i : i + size] for i in range(0, len(X), size)])


def scale_of(blocks, codes, exact=512):
    ones = np.ones(blocks.shape[1])
    problem = _Problem(blocks, ones, codes, 1.0, 1.0, None, 0.0, None, lambda: None)
    problem.regularise(3.0, None, 0, exact)
    return problem.scale


def by_gram(X, codes, C, penalty, scaling):
    ((duals, intercept),) = machines(
        gram(X), codes, [C], penalty=penalty, scaling=scaling, tol=1e-9
    )
    return combine(duals, X), intercept


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("penalty", [0.0, 3.0])
@pytest.mark.parametrize(("k", "C", "scaling"), [(5, 10.0, 1.0), (2, 1.0, 4.0), (3, 100.0, 1.0)])
def test_equals_the_gram_path(k, C, scaling, penalty, dtype):
    X, codes = problem(k=k, dtype=dtype)
    expected, constants = by_gram(X, codes, C, penalty, scaling)
    answer = solve_blocks(cut(X, 17), codes, C, penalty=penalty, scaling=scaling, tol=1e-8)
    assert answer.converged
    assert answer.coef.shape == expected.shape
    errors = np.linalg.norm(answer.coef - expected, axis=1) / np.linalg.norm(expected, axis=1)
    assert errors.max() < 1e-4
    assert_allclose(answer.intercept, constants, atol=1e-4 * np.abs(X @ expected.T).max())


@pytest.mark.parametrize("size", [1, 7, 90, 1000])
def test_blocks_of_any_size_and_more_rows_than_features(size):
    X, codes = problem(n=90, d=12)
    expected, _ = by_gram(X, codes, 10.0, 3.0, 1.0)
    answer = solve_blocks(cut(X, size), codes, 10.0, penalty=3.0, tol=1e-7)
    errors = np.linalg.norm(answer.coef - expected, axis=1) / np.linalg.norm(expected, axis=1)
    assert errors.max() < 1e-4


def test_scale_from_probes_is_near_the_exact_one():
    X, codes = problem(n=300, d=60)
    exact = scale_of(cut(X, 64), codes)
    probed = scale_of(cut(X, 64), codes, 0)
    assert probed != exact
    assert_allclose(probed, exact, rtol=0.15)
    assert scale_of(cut(X, 64), codes, 0) == probed  # seeded


def test_a_known_scale_is_taken():
    X, codes = problem()
    own = solve_blocks(cut(X, 30), codes, 10.0, penalty=3.0)
    exact = scale_of(cut(X, 30), codes)
    given = solve_blocks(cut(X, 30), codes, 10.0, penalty=3.0, scale=exact)
    assert_allclose(given.coef, own.coef, rtol=1e-6, atol=1e-9)


def test_recordings_alike_within_classes_have_no_penalty():
    X = np.repeat(np.eye(3), 4, axis=0)
    codes = np.repeat(np.arange(3), 4)
    plain = solve_blocks(cut(X, 5), codes, 1.0)
    assert_allclose(solve_blocks(cut(X, 5), codes, 1.0, penalty=5.0).coef, plain.coef)


def test_steps_run_out():
    X, codes = problem()
    assert not solve_blocks(cut(X, 30), codes, 100.0, max_iter=1).converged


def test_errors():
    X, codes = problem()
    with pytest.raises(DataError, match="the blocks have 60 rows in all, expected 90"):
        solve_blocks(cut(X[:60], 30), codes, 1.0)
    with pytest.raises(DataError, match="the blocks have 90 rows in all, expected 60"):
        solve_blocks(cut(X, 25), codes[:60], 1.0)
    with pytest.raises(ParameterError, match="C must be a positive number"):
        solve_blocks(cut(X, 30), codes, 0.0)
    with pytest.raises(ParameterError, match="penalty must be a number"):
        solve_blocks(cut(X, 30), codes, 1.0, penalty=-1)


def falling(n=900, d=400, k=5):
    """Variances that fall with the number of the direction, as those of real features do; every
    third recording is the sample.
    """
    rng = np.random.default_rng(0)
    codes = np.append(np.arange(k), rng.integers(k, size=n - k))
    X = (rng.normal(size=(k, d))[codes] + 1.5 * rng.normal(size=(n, d))) * np.arange(
        1, d + 1
    ) ** -0.5
    X -= X.mean(axis=0)
    return X / np.linalg.norm(X, axis=1, keepdims=True), codes, np.arange(0, n, 3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_sample_preconditions(dtype):
    """Fewer passes to the same machine; few passes to nearly its scores."""
    X, codes, rows = falling()
    X = X.astype(dtype)
    options = {"penalty": 3.0, "scale": 5.0}
    plain = solve_blocks(cut(X, 64), codes, 10.0, tol=1e-6, **options)
    options["sample"] = rows, X[rows]
    exact = solve_blocks(cut(X, 64), codes, 10.0, tol=1e-6, **options)
    assert exact.n_passes < 0.7 * plain.n_passes
    assert_allclose(exact.coef, plain.coef, atol=1e-3 * np.abs(plain.coef).max())
    early = solve_blocks(cut(X, 64), codes, 10.0, settled=0.1, max_iter=3, **options)
    assert early.converged
    assert early.n_passes <= 2 + 3 * 5
    scores = [X @ machine.coef.T + machine.intercept for machine in (exact, early)]
    assert np.sqrt(np.square(scores[0] - scores[1]).mean()) < 0.1  # margins are 1


def test_the_inverse_of_the_sample_s_hessian():
    X, codes = problem(n=40, d=30, k=3)
    c, share, rho, n = 5.0, 0.7, 1.5, 100
    curvature = np.linspace(0, 3, 40)
    members = np.equal.outer(np.arange(3), codes).astype(float)
    A = np.eye(40) - members.T @ np.diag(1 / members.sum(1)) @ members
    T = n / 40 * (share * A + np.diag(curvature))
    long = np.hstack([X, np.full((40, 1), rho)])
    sample = Sample(X, np.arange(40), codes, n)
    floor = 1 / c + (share + curvature.mean()) * sample.outside
    M = np.diag([floor] * 30 + [1.0]) + long.T @ T @ long
    V = np.random.default_rng(1).normal(size=(4, 31))
    found = sample.inverse(c=c, share=share, curvature=curvature, rho=rho)(V)
    assert_allclose(found, np.linalg.solve(M, V.T).T, atol=1e-9)


def test_the_scale_of_few_preconditioned_products():
    """Within a tenth of the exact one, which needs many without a sample."""
    X, codes, rows = falling()
    found = []
    for settled, sample in ((0.0, False), (0.1, True)):
        blocks = cut(X, 64)
        known = Sample(X[rows], rows, codes[rows], len(X)) if sample else None
        ones = np.ones(X.shape[1])
        made = _Problem(blocks, ones, codes, 1.0, 1.0, None, settled, known, lambda: None)
        made.regularise(3.0, None, 0, 512)
        found.append((made.scale, made.n_passes))
    assert found[1][1] == 4 < found[0][1]
    assert_allclose(found[1][0], found[0][0], rtol=0.1)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_threads_change_nothing(n_threads):
    X, codes = problem(n=90, d=20)
    arrays = [X[i : i + 4] for i in range(0, 90, 4)]
    plain = solve_blocks(in_memory(arrays), codes, 1.0, penalty=3.0)
    np.testing.assert_array_equal(
        solve_blocks(in_memory(arrays, n_threads), codes, 1.0, penalty=3.0).coef, plain.coef
    )


@pytest.mark.parametrize("penalty", [0.0, 3.0])
def test_factors_of_features_are_those_of_multiplied_features(penalty):
    X, codes = problem()
    factors = np.linspace(0.0, 2.0, X.shape[1])
    start = np.full((5, X.shape[1]), 0.1), np.full(5, 0.2)
    options = {"penalty": penalty, "tol": 1e-8, "start": start}
    expected = solve_blocks(cut(X * factors, 30), codes, 10.0, **options)
    answer = solve_blocks(cut(X, 30), codes, 10.0, factors=factors, **options)
    assert_allclose(answer.coef, expected.coef, atol=1e-5)
    assert_allclose(answer.intercept, expected.intercept, atol=1e-5)
