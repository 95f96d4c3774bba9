import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.utils.estimator_checks import parametrize_with_checks

from kerneton.machine.products import gram
from kerneton.machine.scaling import CenterNormalize, center_normalize_gram, unit_rows


@parametrize_with_checks(
    [CenterNormalize(), CenterNormalize(center=False), CenterNormalize(norm=False)]
)
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


def test_many_chunks(features):
    whole = unit_rows(features.copy())
    assert_allclose(unit_rows(features.copy(), chunk_bytes=80), whole, rtol=0)


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


def test_torch_is_not_imported():
    assert "torch" in sys.modules or CenterNormalize().fit_transform(np.eye(3)) is not None
