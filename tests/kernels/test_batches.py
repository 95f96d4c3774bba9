from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from walks import assert_rows_close, walks

from kerneton import DCK, SCK
from kerneton.exceptions import DataError, ParameterError

LENGTHS = (7, 1, 30, 12, 7, 2, 170, 13, 9, 30, 5)


def kernels():
    return [
        SCK(),
        SCK(
            signals=("position", "velocity"),
            joint_weight=(0.4, 0.3),
            n_pivots_joint=(4, 3),
            order=2,
        ),
        SCK(epn="hosvd", entries="slices", n_pivots_joint=3),
        DCK(joints=[0, 1, 3]),
        DCK(joints=[0, 1, 3], sigma_span=3.0, signals="velocity"),
        DCK(joints=[0, 1], sigma_span=3.0),
    ]


@pytest.mark.parametrize("kernel", kernels(), ids=repr)
def test_answers_do_not_depend_on_how_recordings_are_grouped(kernel):
    X = [x + [0.3, 0.9, 2.5] for x in walks(LENGTHS, 4)]  # as far from the camera as people stand
    expected = np.concatenate([kernel.fit(X).transform([x]) for x in X])
    for batch_size, n_jobs in [(1, None), (3, 1), (3, 2), (64, None), (4, -1)]:
        kernel.set_params(batch_size=batch_size, n_jobs=n_jobs)
        assert_rows_close(kernel.fit_transform(X), expected)
    order = np.random.default_rng(0).permutation(len(X))
    assert_rows_close(kernel.transform([X[i] for i in order]), expected[order])


@pytest.mark.parametrize("kernel", [SCK(order=2), DCK(joints=[0, 1])], ids=repr)
def test_two_runs_agree_to_the_last_bit(kernel):
    X = walks(LENGTHS, 4)
    kernel.set_params(batch_size=4, n_jobs=2)
    assert_allclose(kernel.fit_transform(X), kernel.fit_transform(X), rtol=0)


@pytest.mark.parametrize("where", [(0.0, 0.0, 0.0), (40.0, -3.0, 900.0)])
def test_a_distant_body_among_others(where):
    """Zero padding and other recordings lie far from this one; neither may widen the harmonics'
    period.
    """
    X = walks((5, 20, 40), 4)
    for x in X:
        x[0, 0], x[0, 1] = -1, 1.1  # one extent, so that they share a batch
    kernel = DCK(joints=[0, 1, 3], power=1.0).fit(X)
    expected = kernel.transform(X)
    moved = [X[0] + where, X[1], X[2] - where]
    assert_allclose(kernel.transform(moved), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", [SCK(order=2), DCK(joints=[0, 1])], ids=repr)
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_out_may_be_a_memory_map(tmp_path, kernel, dtype, n_jobs):
    X = walks(LENGTHS, 4, dtype=dtype)
    expected = kernel.set_params(batch_size=3, n_jobs=n_jobs).fit_transform(X)
    assert expected.dtype == dtype
    path = tmp_path / "features.npy"
    out = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=expected.shape)
    assert kernel.transform(X, out=out) is out
    out.flush()
    assert_allclose(np.load(path), expected, rtol=0)


def test_out_is_checked():
    X, kernel = walks((4, 5), 4), SCK(order=1)
    kernel.fit(X)
    with pytest.raises(DataError, match=r"out must have shape \(2, 84\), got \(2, 3\)"):
        kernel.transform(X, out=np.empty((2, 3)))
    with pytest.raises(DataError, match="out must contain floating-point numbers, got int64"):
        kernel.transform(X, out=np.empty((2, 84), dtype=np.int64))
    assert kernel.transform(X, out=np.empty((2, 84), dtype=np.float32)).dtype == np.float32


def test_mixed_precision_is_double():
    X = [walks((4,), 3, dtype=np.float32)[0], walks((5,), 3)[0]]
    assert SCK(order=1).fit_transform(X).dtype == np.float64


@pytest.mark.parametrize("batch_size", [0, -1, 2.5, "all"])
def test_batch_size(batch_size):
    with pytest.raises(ParameterError, match="batch_size must be a positive whole number"):
        SCK(batch_size=batch_size).fit_transform(walks((4, 5), 3))


def test_no_threads():
    with pytest.raises(ParameterError, match="n_jobs must not be 0; None is one thread"):
        SCK(n_jobs=0).fit_transform(walks((4,), 3))
