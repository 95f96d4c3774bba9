from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kerneton.kernels.tensors import gaussian, gaussian_features, pivot_scale, pivots


def test_pivots():
    assert_allclose(pivots(4, 0, 1), [0, 1 / 3, 2 / 3, 1])
    assert_allclose(pivots(1, 0, 1), [0.5])
    assert_allclose(pivots(6, -1, 1), -pivots(6, -1, 1)[::-1], atol=1e-15)  # mirroring relies on it


def test_plain_formula():
    u, sigma = np.array([[0.2, -0.7], [1.4, 0.0]]), 0.6
    zeta = np.linspace(-1, 1, 5)
    scale = math.sqrt(0.5 * math.sqrt(2 / (math.pi * sigma**2)))
    assert_allclose(pivot_scale(5, -1, 1, sigma), scale)
    expected = scale * np.exp(-((u[..., None] - zeta) ** 2) / sigma**2)
    assert_allclose(gaussian_features(u, sigma=sigma, n_pivots=5), expected)
    assert gaussian_features(u, sigma=sigma, n_pivots=1).shape == (2, 2, 1)


@pytest.mark.parametrize("sigma", [0.3, 0.6, 1.5])
def test_dot_products_have_the_value_of_the_kernel(sigma):
    u = np.linspace(-1, 1, 21)
    reach = 1 + 3 * sigma
    spacing = sigma / 2
    n_pivots = math.ceil(2 * reach / spacing) + 1
    phi = gaussian_features(u, sigma=sigma, n_pivots=n_pivots, low=-reach, high=reach)
    assert_allclose(phi @ phi.T, gaussian(u[:, None] - u, sigma), atol=1e-7)


def test_error_falls_as_the_spacing_promises():
    """Inside the interval the error is about 2 exp(-π²σ²/2Δ²)."""
    u, sigma = np.linspace(-0.5, 0.5, 41), 0.5
    errors = []
    for spacing in (0.75, 0.6, 0.5):
        reach = spacing * round(6 / spacing)
        n_pivots = round(2 * reach / spacing) + 1
        phi = gaussian_features(u, sigma=sigma, n_pivots=n_pivots, low=-reach, high=reach)
        errors.append(np.abs(phi @ phi.T - gaussian(u[:, None] - u, sigma)).max())
        assert_allclose(
            errors[-1], 2 * math.exp(-((math.pi * sigma / spacing) ** 2) / 2), rtol=0.01
        )
    assert errors[2] < errors[1] / 4 < errors[0] / 13


def test_precision_is_kept_and_the_far_fades_to_zero():
    u = np.array([0.0, 50.0, -50.0], dtype=np.float32)
    phi = gaussian_features(u, sigma=0.6, n_pivots=5)
    assert phi.dtype == np.float32
    assert_allclose(phi[1:], 0, atol=0)
    assert phi[0].max() > 0.8


def test_gaussian():
    assert_allclose(gaussian(np.array([0.0, 1.0, -2.0]), 0.5), np.exp([0, -2, -8]))
