"""Linearised kernels tend to the exact ones as pivots grow, and every fast path equals the plain
formula.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference.displacement import reference_sums
from walks import walks

from kerneton import DCK, SCK, Preprocess
from kerneton.kernels.exact import dck_kernel, sck_kernel
from kerneton.kernels.tensors import gaussian_features, outer_power_sum

PIVOTS = (4, 6, 9, 14)


def error(features, exact):
    """Largest error of kernel values, relative to the geometric mean of the two
    self-similarities.
    """
    scale = np.sqrt(np.outer(np.diag(exact), np.diag(exact)))
    return float(np.abs((features @ features.T - exact) / scale).max())


def sck_errors(X, pivots=PIVOTS, entries="simplex", **parameters):
    options = {"sigma_joint": 0.6, "sigma_time": 0.5, "joint_weight": 0.6, **parameters}
    exact = sck_kernel(X, **options)
    errors = []
    for n in pivots:
        size = {"n_pivots_joint": n, "n_pivots_time": n, "pivot_margin": 2.0}
        errors.append(
            error(SCK(power=1.0, entries=entries, **size, **options).fit_transform(X), exact)
        )
    return errors


def dck_errors(X, pivots=PIVOTS, **parameters):
    options = {"sigma_joint": 0.6, "sigma_time": 0.5, **parameters}
    exact = dck_kernel(X, **options)
    errors = []
    for n in pivots:
        size = {"n_pivots_joint": n, "n_pivots_time": n, "pivot_margin": 2.0}
        kernel = DCK(power=1.0, same_joint=False, tol=1e-9, **size, **options)
        errors.append(error(kernel.fit_transform(X), exact))
    return errors


@pytest.mark.parametrize(
    ("order", "entries"), [(1, "simplex"), (2, "simplex"), (3, "simplex"), (3, "slices")]
)
def test_sck_tends_to_the_exact_kernel(order, entries):
    errors = sck_errors(walks((9, 14, 6), 4), order=order, entries=entries)
    assert all(b < a / 2 for a, b in itertools.pairwise(errors)), errors
    assert errors[-1] < 1e-3


@pytest.mark.parametrize("sigma_span", [None, 2.0])
def test_dck_tends_to_the_exact_kernel(sigma_span):
    X = walks((5, 7, 6), 3)
    errors = dck_errors(X, sigma_span=sigma_span)
    assert all(b < a / 2 for a, b in itertools.pairwise(errors)), errors
    assert errors[-1] < 2e-3


def test_the_papers_pivots_cut_the_tails():
    """Without a margin more pivots do not help: what lies at the ends of the interval is lost."""
    X = walks((9, 14, 6), 4)
    exact = sck_kernel(X)
    errors = [
        error(SCK(n_pivots_joint=n, n_pivots_time=n, power=1.0).fit_transform(X), exact)
        for n in (5, 10, 20)
    ]
    assert min(errors) > 0.05
    assert sck_errors(X, (14,), joint_weight=0.5)[0] < 1e-3


def test_one_percent_on_real_recordings(data_home):
    from kerneton.datasets import load_florence3d

    data = load_florence3d(data_home)
    poses = Preprocess().fit_transform(data[::30])
    X = [s.joints[:, [0, 5, 8, 11]] for s in poses]
    errors = sck_errors(X, (4, 6, 9))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.01
    # the exact kernel costs M² N² a pair of joints
    short = sorted(data, key=lambda s: s.n_frames)[:60:15]
    Y = [s.joints[:, [5, 8, 11]] for s in short]
    for sigma_span in (None, 3.0):
        errors = dck_errors(Y, (6, 9, 14), sigma_span=sigma_span)
        assert errors[0] > errors[1] > errors[2]
        assert errors[2] < 0.01


def test_dck_with_same_joint_pairs_adds_their_off_diagonal():
    """The paper's sizes add a joint with itself at two times: exactly those blocks, the others
    unchanged.
    """
    X = walks((5, 7), 3)
    with_same, strict = DCK(power=1.0), DCK(power=1.0, same_joint=False)
    a, b = with_same.fit_transform(X), strict.fit_transform(X)
    same = with_same.pairs_[:, 0] == with_same.pairs_[:, 1]
    mask = np.repeat(same, with_same.block_sizes_)
    assert_allclose(a[:, ~mask], b, rtol=1e-12)


def test_dck_of_a_joint_with_itself_against_the_exact_kernel():
    """Features hold p < q, √2-fold; with the diagonal p = q that they leave out they make the exact
    kernel.
    """
    X = walks((6, 8), 1)
    exact = dck_kernel(X, same_joint=True)
    size = {"n_pivots_joint": 14, "n_pivots_time": 14, "pivot_margin": 2.0}
    features = DCK(power=1.0, tol=1e-10, **size).fit_transform(X)
    diagonals = []
    for x in X:
        times = np.arange(1, len(x) + 1)[None] / len(x)
        z = gaussian_features(times, sigma=0.5, n_pivots=14, low=-1.0, high=2.0)
        same = {"sigma": 0.6, "n_pivots": 14, "sigma_span": None, "reach": 1 + 2 * 0.6}
        sums = reference_sums(x, z[0], np.array([[0, 0]]), **same)
        diagonals.append(np.einsum("nzpp->nzp", sums).ravel() / len(x))
    left_out = np.stack(diagonals)
    assert_allclose(features @ features.T + left_out @ left_out.T, exact, rtol=2e-3)


@pytest.mark.parametrize("order", [2, 3])
def test_sum_of_outer_powers_is_the_polynomial_kernel(order):
    """<Σ v⊗v⊗v, Σ w⊗w⊗w> = Σ (v·w)³: what the linearisation rests on."""
    v, w = np.random.default_rng(0).uniform(size=(2, 1, 1, 7, 5))
    inner = (outer_power_sum(v, order) * outer_power_sum(w, order)).sum()
    assert_allclose(inner, ((v[0, 0] @ w[0, 0].T) ** order).sum(), rtol=1e-12)


def test_gram_matrices_are_positive_semi_definite():
    X = walks((9, 14, 6, 1, 2, 30), 3)
    grams = [sck_kernel(X), sck_kernel(X, isotropic=True), dck_kernel(walks((4, 6, 5, 2), 3))]
    for kernel in (
        SCK(),
        SCK(entries="slices"),
        SCK(epn="hosvd"),
        DCK(),
        DCK(sigma_span=2.0, entry_power=0.5),
    ):
        features = kernel.fit_transform(X)
        grams.append(features @ features.T)
    for K in grams:
        lam = np.linalg.eigvalsh(K)
        assert lam[0] > -1e-10 * lam[-1]
