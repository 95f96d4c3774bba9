"""The solver over blocks gives the machine of the Gram path."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kerneton.exceptions import DataError, ParameterError
from kerneton.machine.blocks import in_memory
from kerneton.machine.folds import machines
from kerneton.machine.gram import combine, gram
from kerneton.machine.primal import _Problem, solve_blocks


def problem(n=90, d=140, k=5, seed=0, dtype=np.float64):
    """Classes that overlap, unit rows as branches give them."""
    rng = np.random.default_rng(seed)
    codes = np.append(np.arange(k), rng.integers(k, size=n - k))
    X = rng.normal(size=(k, d))[codes] + 1.5 * rng.normal(size=(n, d)) * np.linspace(0.1, 2, d)
    X -= X.mean(axis=0)
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(dtype), codes


def cut(X, size):
    return in_memory([X[i : i + size] for i in range(0, len(X), size)])


def scale_of(blocks, codes):
    found = _Problem(blocks, codes, 1.0, 1.0, None, None)
    found.regularise(3.0, None, 0)
    return found.scale


def by_gram(X, codes, C, penalty, scaling):
    ((duals, intercept),) = machines(gram(X), codes, [C], penalty=penalty, scaling=scaling, tol=1e-9)
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


def test_scale_from_probes_is_near_the_exact_one(monkeypatch):
    X, codes = problem(n=300, d=60)
    exact = scale_of(cut(X, 64), codes)
    monkeypatch.setattr("kerneton.machine.primal._EXACT", 0)
    probed = scale_of(cut(X, 64), codes)
    assert probed != exact
    assert_allclose(probed, exact, rtol=0.15)
    assert scale_of(cut(X, 64), codes) == probed  # seeded


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


def test_few_passes_give_nearly_the_scores():
    X, codes = problem(n=400, d=300)
    exact = solve_blocks(cut(X, 64), codes, 10.0, penalty=3.0, tol=1e-7)
    early = solve_blocks(cut(X, 64), codes, 10.0, penalty=3.0, tol=1e-7, max_passes=24)
    assert early.n_passes < 24 + 10 < exact.n_passes
    scores = [X @ machine.coef.T + machine.intercept for machine in (exact, early)]
    assert np.sqrt(np.square(scores[0] - scores[1]).mean()) < 0.1  # margins are 1


@pytest.mark.parametrize("n_threads", [1, 3])
def test_threads_change_nothing(n_threads):
    X, codes = problem(n=90, d=20)
    arrays = [X[i : i + 4] for i in range(0, 90, 4)]
    plain = solve_blocks(in_memory(arrays), codes, 1.0, penalty=3.0)
    np.testing.assert_array_equal(
        solve_blocks(in_memory(arrays, n_threads), codes, 1.0, penalty=3.0).coef, plain.coef
    )
