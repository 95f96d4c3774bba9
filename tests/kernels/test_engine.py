"""The choice of what computes: the CPU, or a GPU that must be there."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from walks import people, walks

from kerneton import DCK, SCK, make_recognizer
from kerneton.exceptions import MissingExtraError, ParameterError
from kerneton.kernels.engine import find_gpu

KERNELS = [SCK(device="cuda"), DCK(device="cuda:1")]


def test_the_cpu_needs_no_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    X = walks((7, 5), 3)
    expected = SCK(order=2).fit_transform(X)
    np.testing.assert_array_equal(SCK(order=2, device="cpu").fit_transform(X), expected)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_without_torch(kernel, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"needs PyTorch: pip install 'kerneton\[cuda\]'"):
        kernel.fit_transform(walks((4,), 3))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_without_a_gpu(kernel, monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ParameterError, match=r"PyTorch sees no .*GPU here; leave device=None"):
        kernel.fit_transform(walks((4,), 3))


@pytest.mark.parametrize("name", ["abacus", "gpu", "cuda:x", 0])
def test_names(name):
    with pytest.raises(ParameterError, match=f"device must be 'cuda' .*got '?{name}"):
        find_gpu(name)


def test_a_fit_says_it_before_its_search(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match="device='cuda' needs PyTorch"):
        make_recognizer(device="cuda").fit(people((5, 6, 7, 8)), list("abab"))


def test_a_fitted_model_moves(monkeypatch):
    X = people((5, 6, 7, 8))
    model = make_recognizer("paper").fit(X, list("abab"))
    before = model.decision_function(X)
    np.testing.assert_array_equal(model.set_params(device="cpu").decision_function(X), before)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match="needs PyTorch"):
        model.set_params(device="cuda").predict(X)
