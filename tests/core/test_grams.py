"""Gram matrices of blocks by the core equal the formulas, to the bit for any threads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference import linear

from kerneton.core.grams import alignment_sums, center_normalize, weighted_sums

PRECISIONS = [np.float32, np.float64]


def drawn(seed, n, n_blocks, n_sides, n_classes, dtype, scale=1.0):
    rng = np.random.default_rng(seed)
    features = scale * (1 + rng.normal(size=(n_blocks, n, 7)))
    blocks = (features @ features.swapaxes(1, 2)).astype(dtype)
    codes = np.unique(rng.integers(0, n_classes, n), return_inverse=True)[1]
    sides = (rng.random((n_sides, n)) < 0.8).astype(float)
    return blocks, codes, sides, sides * (sides @ (codes[:, None] == codes).astype(float))


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 70),
    st.integers(1, 9),
    st.integers(1, 11),
    st.sampled_from(PRECISIONS),
    st.sampled_from([1e-12, 1.0, 1e12]),
)
def test_sums_of_alignments(seed, n, n_sides, n_classes, dtype, scale):
    blocks, codes, sides, counts = drawn(seed, n, 3, n_sides, n_classes, dtype, scale)
    if dtype == np.float32:
        blocks = (blocks / np.float32(scale) ** 2 * np.float32(min(scale, 1e6))).astype(dtype)
    found = alignment_sums(blocks, codes, sides, counts)
    assert_array_equal(alignment_sums(blocks, codes, sides, counts, 3), found)
    for block, sums in zip(blocks, found, strict=True):
        expected = linear.alignment_sums(block, codes, sides, counts)
        size = np.abs(block.astype(float)).max()
        error = 1e-12 * n**3 * np.array([size, size**2, size, size**2, size, size])
        assert (np.abs(sums - expected) <= 1e-12 * np.abs(expected) + error).all()


def test_rows_beyond_the_labelled_ones_do_not_count():
    blocks, codes, sides, counts = drawn(0, 20, 2, 3, 4, np.float64)
    longer = np.concatenate([blocks, np.full((2, 5, 20), np.nan)], axis=1)
    found = alignment_sums(longer, codes, sides, counts)
    assert_array_equal(found, alignment_sums(blocks, codes, sides, counts))


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 20),
    st.integers(1, 12),
    st.integers(1, 900),
    st.sampled_from(PRECISIONS),
    st.integers(1, 5),
)
def test_sums_of_blocks(seed, n_blocks, n_sums, size, dtype, n_threads):
    rng = np.random.default_rng(seed)
    blocks, weights = (
        rng.normal(size=(n_blocks, size)).astype(dtype),
        rng.normal(size=(n_sums, n_blocks)),
    )
    found = weighted_sums(weights, blocks)
    assert_array_equal(weighted_sums(weights, blocks, n_threads), found)
    assert_allclose(found, weights @ blocks.astype(float), atol=1e-13 * n_blocks)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 80), st.booleans(), st.sampled_from([1e-9, 1.0, 1e9]))
def test_centring(seed, n, shuffled, scale):
    rng = np.random.default_rng(seed)
    X = scale * (3 + rng.normal(size=(n, 2 * n)))
    order = rng.permutation(n) if shuffled else np.arange(n)
    cut = int(rng.integers(2, n + 1))
    train, others = order[:cut], order[cut:]
    found = center_normalize(X @ X.T, train, others)
    assert_allclose(found, linear.center_normalize(X @ X.T, train, others), atol=1e-10)
    alone = center_normalize(X @ X.T, train, others[:1])
    # rows do not depend on their neighbours
    assert_array_equal(alone, found[: cut + len(others[:1])])


def test_arguments_that_do_not_fit():
    blocks, codes, sides, counts = drawn(0, 6, 2, 3, 2, np.float64)
    with pytest.raises(ValueError, match="do not fit"):
        alignment_sums(blocks[:, :5], codes, sides, counts)
    with pytest.raises(ValueError, match="codes must be 0 to 5"):
        alignment_sums(blocks, codes + 9, sides, counts)
    with pytest.raises(ValueError, match="3 weights for 2 blocks"):
        weighted_sums(np.ones((1, 3)), blocks)
    with pytest.raises(ValueError, match="positions in it"):
        center_normalize(np.eye(3), np.array([0, 3]), np.array([1]))
