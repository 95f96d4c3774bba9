import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.utils.estimator_checks import parametrize_with_checks

from kerneton.exceptions import DataError
from kerneton.machine.arrays import combine, gram
from kerneton.machine.scaling import CenterNormalize, center_normalize_gram, unit_rows


@parametrize_with_checks([CenterNormalize(), CenterNormalize(center=False), CenterNormalize(norm=False)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture
def features():
    return np.random.default_rng(0).uniform(1, 2, (12, 5))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("norm", [True, False])
def test_plain_formula(features, dtype, center, norm):
    X = features.astype(dtype)
    before = X.copy()
    new = X[:3] + dtype(0.5)
    model = CenterNormalize(center=center, norm=norm).fit(X)
    expected = new.astype(float) - (X.astype(float).mean(0) if center else 0)
    if norm:
        expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    answer = model.transform(new)
    assert answer.dtype == dtype
    assert_allclose(answer, expected, rtol=2e-5 if dtype == np.float32 else 1e-12)
    assert_allclose(X, before, rtol=0)


def test_zero_rows_stay_zero():
    X = np.array([[0.0, 0.0], [3.0, 4.0]])
    assert_allclose(CenterNormalize(center=False).fit_transform(X), [[0, 0], [0.6, 0.8]])
    same = np.full((7, 3), 0.1)
    assert_allclose(CenterNormalize().fit_transform(same), np.zeros((7, 3)), atol=0)
    train, _ = center_normalize_gram(gram(same), np.arange(7))
    assert_allclose(train, np.zeros((7, 7)), atol=0)


def test_many_chunks(monkeypatch, features):
    whole = unit_rows(features.copy())
    monkeypatch.setattr("kerneton.machine.scaling._CHUNK_BYTES", 80)
    assert_allclose(unit_rows(features.copy()), whole, rtol=0)


def test_names_and_frames(features):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(features, columns=list("abcde"))
    model = CenterNormalize().set_output(transform="pandas").fit(frame)
    assert model.get_feature_names_out().tolist() == list("abcde")
    assert list(model.transform(frame).columns) == list("abcde")


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("norm", [True, False])
def test_on_the_gram_matrix(center, norm):
    rng = np.random.default_rng(1)
    X = 1 + 0.1 * rng.standard_normal((30, 200))
    train, test = np.arange(0, 30, 2), np.arange(1, 30, 2)
    model = CenterNormalize(center=center, norm=norm).fit(X[train])
    A, B = model.transform(X[train]), model.transform(X[test])
    K_train, K_test = center_normalize_gram(X @ X.T, train, test, center=center, norm=norm)
    assert_allclose(K_train, A @ A.T, atol=1e-10)
    assert_allclose(K_test, B @ A.T, atol=1e-10)
    assert center_normalize_gram(X @ X.T, train)[1] is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gram_and_combine(monkeypatch, dtype):
    rng = np.random.default_rng(2)
    X, Y, beta = rng.random((9, 21)).astype(dtype), rng.random((4, 21)).astype(dtype), rng.random((3, 9))
    monkeypatch.setattr("kerneton.machine.arrays.BLOCK_ROWS", 4)
    monkeypatch.setattr("kerneton.machine.arrays.BLOCK_FEATURES", 8)
    wide_X, wide_Y = X.astype(float), Y.astype(float)
    rtol = 1e-6 if dtype == np.float32 else 1e-13
    assert gram(X).dtype == np.float64
    assert_allclose(gram(X), wide_X @ wide_X.T, rtol=rtol)
    assert_allclose(gram(X, Y), wide_X @ wide_Y.T, rtol=rtol)
    assert combine(beta, X).dtype == dtype
    assert_allclose(combine(beta, X), beta @ wide_X, rtol=rtol)


def test_float32_gram_is_summed_in_double_precision():
    X = np.random.default_rng(3).uniform(0.9, 1.1, (3, 200_000)).astype(np.float32)
    exact = X.astype(float) @ X.astype(float).T
    assert_allclose(gram(X), exact, rtol=1e-6)


@pytest.mark.parametrize("center", [True, False])
def test_torch_equals_numpy(features, center):
    torch = pytest.importorskip("torch")
    model = CenterNormalize(center=center)
    expected = model.fit_transform(features)
    answer = model.fit(torch.as_tensor(features)).transform(torch.as_tensor(features))
    assert isinstance(answer, torch.Tensor)
    assert_allclose(answer.numpy(), expected, rtol=1e-12)
    K = features @ features.T
    for a, b in zip(
        center_normalize_gram(torch.as_tensor(K), [0, 1, 2], [4]),
        center_normalize_gram(K, [0, 1, 2], [4]),
        strict=True,
    ):
        assert_allclose(a.numpy(), b, rtol=1e-12)
    if center:
        with pytest.raises(DataError, match="fitted on Tensor, got ndarray"):
            model.transform(features)
    with pytest.raises(DataError, match="fitted on 5 features, got 4"):
        model.transform(torch.ones((2, 4), dtype=torch.float64))
    with pytest.raises(DataError, match="NaN or infinity"):
        model.fit(torch.full((2, 4), float("nan")))
    with pytest.raises(DataError, match="shape"):
        model.fit(torch.ones(3))


def test_torch_is_not_imported():
    assert "torch" in sys.modules or CenterNormalize().fit_transform(np.eye(3)) is not None
