from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from walks import walks

from kerneton import DCK, SCK
from kerneton.exceptions import DataError, ParameterError
from kerneton.machine.products import block_grams
from kerneton.machine.scaling import alignment_weights, fold_weights


@pytest.fixture
def labelled():
    """Three blocks of features: one that tells the labels, one of noise, one that never changes."""
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 6)
    told = np.eye(3)[np.repeat(range(3), 6)] + 0.2 * rng.normal(size=(18, 3))
    return (
        np.hstack([told, rng.normal(size=(18, 4)), np.full((18, 2), 5.0)]),
        np.array([3, 4, 2]),
        y,
    )


def test_block_grams(labelled):
    features, sizes, _ = labelled
    grams = block_grams(features, sizes)
    parts = np.split(features, [3, 7], axis=1)
    assert_allclose(grams, np.stack([p @ p.T for p in parts]), rtol=1e-12)
    assert_allclose(grams.sum(axis=0), features @ features.T, rtol=1e-12)


def test_plain_formula(labelled):
    features, sizes, y = labelled
    grams = block_grams(features, sizes)
    H = np.eye(18) - 1 / 18
    Y = H @ (y[:, None] == y) @ H
    raw = []
    for K in grams:
        C = H @ K @ H
        raw.append(max(0, (C * Y).sum() / np.linalg.norm(C) / np.linalg.norm(Y)) ** 2)
    raw[2] = 0  # it does not vary: what rounding leaves of it is not looked at
    weights = alignment_weights(grams, y)
    assert_allclose(weights, 3 * np.array(raw) / sum(raw), rtol=1e-9)
    assert weights[0] > 10 * weights[1]
    assert_allclose(weights.mean(), 1)


def test_scale_order_and_label_names_do_not_matter(labelled):
    features, sizes, y = labelled
    grams = block_grams(features, sizes)
    weights = alignment_weights(grams, y)
    assert_allclose(alignment_weights(grams * 1e-6, y), weights, rtol=1e-9)
    shuffle = np.random.default_rng(1).permutation(18)
    assert_allclose(
        alignment_weights(grams[:, shuffle][:, :, shuffle], y[shuffle]), weights, rtol=1e-9
    )
    renamed = np.select([y == "a", y == "b"], [7, 3], 5)
    assert_allclose(alignment_weights(grams, renamed), weights, rtol=1e-12)


def test_misleading_block_has_no_weight():
    y = np.array(["a", "a", "b", "b"])
    same, other = np.kron(np.eye(2), np.ones((2, 2))), np.kron(np.ones((2, 2)), np.eye(2))
    assert_allclose(alignment_weights(np.stack([same, other]), y), [2, 0])


@pytest.mark.parametrize("grams", [np.zeros((3, 4, 4)), np.ones((3, 4, 4))])
def test_nothing_varies(grams):
    assert_allclose(alignment_weights(grams, np.array(list("aabb"))), np.ones(3))


def test_one_label_or_all_different():
    grams = np.stack([np.eye(4), np.diag([1.0, 2, 3, 4])])
    assert_allclose(alignment_weights(grams, np.array(list("aaaa"))), [1, 1])
    assert np.isfinite(alignment_weights(grams, np.array(list("abcd")))).all()


@pytest.mark.parametrize("rows", [18, 25])
def test_several_training_sides_at_once(labelled, rows):
    """As blocks that were cut out for each side; rows beyond the labelled ones are not looked
    at.
    """
    features, sizes, y = labelled
    features = np.concatenate([features, np.random.default_rng(3).normal(size=(rows - 18, 9))])
    grams = block_grams(features, sizes)[:, :, :18]
    trains = [np.arange(18), np.arange(0, 18, 2), np.array([0, 1, 2]), np.array([3, 9, 17, 4])]
    answer = fold_weights(grams, y, trains)
    assert answer.shape == (4, 3)
    for weights, train in zip(answer, trains, strict=True):
        assert_allclose(
            weights,
            alignment_weights(grams[:, train][:, :, train], y[train]),
            rtol=1e-9,
            atol=1e-12,
        )


def test_nearly_parallel_features_lose_no_digits(labelled):
    """Features far from the origin, as those of SCK are: inner products are large, what varies in
    them is small.
    """
    features, sizes, y = labelled
    weights = alignment_weights(block_grams(features, sizes), y)
    far = alignment_weights(block_grams(features + 1e3, sizes), y)
    assert_allclose(far, weights, rtol=1e-6)


@pytest.mark.parametrize("kernel", [SCK(order=2), DCK(joints=[0, 1, 2], n_pivots_time=3)])
def test_weighted_kernels(kernel):
    """Features are √w times the plain ones; weights come from the training labels alone."""
    X, y = walks((9, 12, 8, 10), 4), np.array(list("abab"))
    plain = kernel.fit_transform(X)
    kernel.set_params(weighting="alignment")
    weighted = kernel.fit_transform(X, y)
    expected = alignment_weights(block_grams(plain, kernel.block_sizes_), y)
    assert_allclose(kernel.weights_, expected, rtol=1e-9)
    assert_allclose(weighted, plain * np.repeat(np.sqrt(expected), kernel.block_sizes_), rtol=1e-12)
    assert_allclose(kernel.fit(X, y).transform(X[::-1]), weighted[::-1], atol=1e-9 * weighted.max())
    out = np.empty((1, plain.shape[1]))
    assert kernel.transform(X[:1], out=out) is out
    assert_allclose(out, weighted[:1], atol=1e-9 * weighted.max())
    with pytest.raises(DataError, match="learns from labels: pass y"):
        kernel.fit(X)
    with pytest.raises(DataError, match="4 recordings but 2 labels"):
        kernel.fit(X, y[:2])
    with pytest.raises(
        ParameterError, match="weighting must be one of None, 'alignment', got 'best'"
    ):
        kernel.set_params(weighting="best").fit(X, y)
