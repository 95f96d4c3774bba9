from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kerneton.kernels.power_norm import slice_power
from kerneton.kernels.tensors import entry_table, n_entries, unique_entries


def tensors(n, d, order, seed=0):
    """Super-symmetric, of full rank."""
    v = np.random.default_rng(seed).uniform(size=(n, 4 * d, d))
    return np.einsum({1: "btx->bx", 2: "btx,bty->bxy", 3: "btx,bty,btz->bxyz"}[order], *[v] * order)


@pytest.mark.parametrize("d", [1, 2, 6, 21])
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("entries", ["simplex", "slices"])
def test_dot_products_of_super_symmetric_tensors(d, order, entries):
    T = tensors(5, d, order)
    flat = unique_entries(T, order, entries)
    assert flat.shape == (5, n_entries(d, order, entries))
    full = T.reshape(5, -1)
    assert_allclose(flat @ flat.T, full @ full.T, rtol=1e-10)


def test_sizes():
    for d in range(1, 9):
        assert n_entries(d, 3, "simplex") == math.comb(d + 2, 3)
        assert n_entries(d, 3, "slices") == d * d * (d + 1) // 2
        assert n_entries(d, 2, "slices") == n_entries(d, 2, "simplex") == d * (d + 1) // 2
        assert n_entries(d, 1, "slices") == d
        positions, weights = entry_table(d, 3, "simplex")
        assert positions.shape == (3, n_entries(d, 3, "simplex"))
        assert_allclose((weights**2).sum(), d**3)


def test_slices_keep_dot_products_after_slice_wise_powers():
    T = slice_power(tensors(4, 8, 3), 0.36)
    full = T.reshape(4, -1)
    kept = unique_entries(T, 3, "slices")
    assert_allclose(kept @ kept.T, full @ full.T, rtol=1e-10)
    simplex = unique_entries(T, 3, "simplex")
    assert np.abs((simplex @ simplex.T) / (full @ full.T) - 1).max() > 1e-3  # what simplex loses


def test_simplex_is_the_symmetric_part():
    T = slice_power(tensors(4, 6, 3), 0.36)
    orders = list(itertools.permutations((1, 2, 3)))
    symmetric = sum(T.transpose(0, *order) for order in orders) / len(orders)
    simplex = unique_entries(T, 3, "simplex")
    assert_allclose(
        simplex @ simplex.T, np.einsum("axyz,bxyz->ab", symmetric, symmetric), rtol=1e-10
    )
    assert_allclose(simplex, unique_entries(symmetric, 3, "simplex"), rtol=1e-10)


@pytest.mark.parametrize("entries", ["simplex", "slices"])
def test_single_precision_and_leading_axes(entries):
    T = tensors(6, 4, 3).astype(np.float32).reshape(2, 3, 4, 4, 4)
    flat = unique_entries(T, 3, entries)
    assert flat.dtype == np.float32
    assert flat.shape == (2, 3, n_entries(4, 3, entries))
    assert_allclose(flat[1, 2], unique_entries(T[1, 2], 3, entries), rtol=1e-6)


def test_upper_keeps_each_entry_from_the_slice_of_its_largest_index():
    tensor = np.random.default_rng(0).normal(size=(4, 4, 4))
    tensor = tensor + tensor.swapaxes(1, 2)  # symmetric slices that differ
    triples = list(itertools.combinations_with_replacement(range(4), 3))
    kept = unique_entries(tensor, 3, "upper")
    weights = [np.sqrt({1: 1, 2: 3, 3: 6}[len(set(t))]) for t in triples]
    assert_allclose(
        kept, [w * tensor[c, a, b] for w, (a, b, c) in zip(weights, triples, strict=True)]
    )
    assert kept.shape == (n_entries(4, 3, "upper"),)


def test_upper_equals_simplex_on_a_super_symmetric_tensor():
    v = np.random.default_rng(0).normal(size=5)
    tensor = np.einsum("i,j,k->ijk", v, v, v)
    assert_allclose(unique_entries(tensor, 3, "upper"), unique_entries(tensor, 3, "simplex"))
