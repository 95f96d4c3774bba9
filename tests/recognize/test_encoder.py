"""Inner products of partly mirrored features, derived from those of plain and mirrored ones."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kerneton import (
    DCK,
    SCK,
    Branch,
    CenterNormalize,
    Preprocess,
    make_actions,
    make_recognizer,
)
from kerneton.machine.folds import BlockGrams
from kerneton.recognize.branch import block_sizes
from kerneton.recognize.encoder import Encoder

FEW = {"n_pivots_joint": 2, "n_pivots_time": 3}
KERNELS = [
    SCK(order=2, weighting="alignment", **FEW),
    SCK(order=2, **FEW),
    SCK(order=2, pairs=True, joints="A", weighting="alignment", **FEW),
    DCK(joints="A", weighting="alignment", **FEW),
    DCK(joints="A", **FEW),
]


@pytest.fixture(scope="module")
def data():
    return list(make_actions(["wave", "bow"], n_subjects=3, n_takes=1, fps=10))


def branch(kernel, mirror):
    kernel = kernel.set_params(mirror=mirror)
    return Branch(Preprocess(dtype="float32"), kernel, CenterNormalize(), weight=0.5)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_partly_mirrored_inner_products_are_derived(kernel, data):
    direct = Encoder(data).encoded(branch(kernel, "partly"))
    sizes, weighted = block_sizes(direct.kernel), kernel.weighting is not None
    expected = BlockGrams.of(direct.features, sizes, weighted=weighted, factor=0.25)
    encoder = Encoder(data)
    for mirror in (False, True):
        encoder.grams(branch(kernel, mirror))
    found = encoder.grams(branch(kernel, "partly"))
    assert sorted(e.kernel.mirror for e in encoder._encoded.values()) == [False, True]  # no third
    assert found.blocks.shape == expected.blocks.shape
    size = np.abs(expected.blocks).max(axis=(1, 2), keepdims=True)
    assert_allclose(found.blocks / size, expected.blocks / size, atol=3e-6)
    codes, train = np.array([s.label == "bow" for s in data]).astype(int), np.arange(4)
    for a, b in zip(
        found.fold(codes, train, np.array([4, 5])),
        expected.fold(codes, train, np.array([4, 5])),
        strict=True,
    ):
        assert_allclose(a, b, atol=2e-5)


def test_without_the_others_they_are_computed(data):
    encoder = Encoder(data)
    found = encoder.grams(branch(KERNELS[0], "partly"))
    encoder = Encoder(data)
    encoder.grams(branch(KERNELS[0], False))
    assert_allclose(encoder.grams(branch(KERNELS[0], "partly")).blocks, found.blocks, rtol=1e-6)


def test_features_that_are_not_kept_are_computed_again(data, monkeypatch):
    first, second = branch(KERNELS[0], False), branch(KERNELS[2], False)
    one, other = (Encoder(data).encoded(each).features for each in (first, second))
    monkeypatch.setattr("kerneton.recognize.encoder._KEPT", one.nbytes + other.nbytes - 1)
    encoder = Encoder(data)
    for each, expected in ((first, one), (second, other), (first, one)):
        assert_allclose(encoder.encoded(each).features, expected)
        assert len(encoder._encoded) == 1
    assert encoder.n_encoded == 3
    monkeypatch.setattr("kerneton.recognize.encoder._KEPT", one.nbytes + other.nbytes)
    for each in (second, first):
        encoder.encoded(each)
    assert [len(encoder._encoded), encoder.n_encoded] == [2, 4]


def test_a_search_chooses_alike_whatever_is_kept(monkeypatch):
    data = make_actions(["wave", "bow"], n_subjects=3, n_takes=1, fps=10)
    usual = make_recognizer(n_jobs=2).fit(data, data.labels)
    monkeypatch.setattr("kerneton.recognize.encoder._KEPT", 0)
    bare = make_recognizer(n_jobs=2).fit(data, data.labels)
    for one, other in zip(bare.trials_, usual.trials_, strict=True):
        assert [one.variant, one.cues] == [other.variant, other.cues]
        assert_allclose(one.losses, other.losses, rtol=1e-4)
    assert_allclose(bare.decision_function(data), usual.decision_function(data), atol=1e-5)
