from __future__ import annotations

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from walks import assert_rows_close, walks

from kerneton import DCK, SCK, SkeletonSequence
from kerneton.exceptions import DataError, MissingExtraError, ParameterError
from kerneton.kernels.batches import group_by_length, map_batches, pad, torch_for

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


def test_groups():
    lengths = np.random.default_rng(0).integers(1, 50, 40)
    groups = group_by_length(lengths, 6)
    assert sorted(np.concatenate(groups)) == list(range(40))
    assert [len(g) for g in groups] == [6] * 6 + [4]
    assert np.all(np.diff(lengths[np.concatenate(groups)]) >= 0)


def test_pad():
    padded, lengths = pad(walks((3, 5), 2), np.float32)
    assert (padded.shape, padded.dtype, lengths.tolist()) == ((2, 5, 2, 3), np.float32, [3, 5])
    assert_allclose(padded[0, 3:], 0)
    assert_allclose(padded[1], walks((3, 5), 2)[1], rtol=1e-6)


def test_encode_sees_at_most_a_batch():
    seen = []

    def encode(x, n, n_threads):
        seen.append(x.shape[0])
        return x.sum((1, 2, 3))[:, None]

    X = walks(LENGTHS, 2)
    answer = map_batches(encode, X, 1, batch_size=4)
    assert_allclose(answer[:, 0], [x.sum() for x in X], rtol=1e-12)
    assert max(seen) <= 4
    assert sum(seen) == len(X)


def test_no_threads():
    with pytest.raises(ParameterError, match="n_jobs must not be 0; None is one thread"):
        SCK(n_jobs=0).fit_transform(walks((4,), 3))


@pytest.mark.parametrize(
    ("batch_size", "threads"), [(2, {1}), (len(LENGTHS), {7}), (len(LENGTHS) // 2 + 1, {3})]
)
def test_few_batches_have_several_threads_each(batch_size, threads):
    seen = set()

    def encode(x, n, n_threads):
        seen.add(n_threads)
        return x.sum((1, 2, 3))[:, None]

    map_batches(encode, walks(LENGTHS, 2), 1, batch_size=batch_size, n_jobs=7)
    assert seen == threads


def test_an_error_in_a_thread_is_raised():
    def encode(x, n, n_threads):
        raise DataError("no")

    with pytest.raises(DataError, match="no"):
        map_batches(encode, walks(LENGTHS, 2), 1, batch_size=2, n_jobs=2)


def test_torch_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(
        MissingExtraError, match=r"device='cpu' needs PyTorch: pip install 'kerneton\[torch\]'"
    ):
        SCK(device="cpu").fit_transform(walks((4,), 3))


def test_device_is_checked():
    torch = pytest.importorskip("torch")
    with pytest.raises(ParameterError, match="such as 'cpu' or 'cuda', got 'abacus'"):
        torch_for("abacus")
    if not torch.cuda.is_available():
        with pytest.raises(
            ParameterError, match="device='cuda', but PyTorch sees no GPU here; leave device=None"
        ):
            SCK(device="cuda").fit_transform(walks((4,), 3))


def test_a_batch_too_large_for_the_device_is_halved(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    seen = []

    def encode(x, n, n_threads):
        seen.append(tuple(x.shape[:2]))
        if x.shape[0] > 3:
            raise torch.cuda.OutOfMemoryError("too large")
        return x.sum((1, 2, 3))[:, None]

    X = walks(LENGTHS, 2)
    answer = map_batches(encode, X, 1, batch_size=len(X), device="cpu")
    assert_allclose(answer[:, 0], [x.sum() for x in X], rtol=1e-12)
    assert max(n for n, _ in seen[1:]) < len(X)
    assert min(t for _, t in seen) < 170  # each half is padded to its own longest

    def never(x, n, n_threads):
        raise torch.cuda.OutOfMemoryError("too large")

    with pytest.raises(
        DataError, match="one recording of 7 frames does not fit into the GPU's memory"
    ):
        map_batches(never, X[:1], 1, batch_size=1, device="cpu")


@pytest.mark.parametrize(
    "kernel", [SCK(), SCK(joints=[0, 1]), SCK(signals="velocity"), DCK()], ids=repr
)
@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1e12, "zero", "unsure"])
def test_bad_numbers_are_told_the_same_on_a_device(kernel, wrong):
    """On a device they are found while it computes; the error is that of the CPU."""
    pytest.importorskip("torch")
    X = [SkeletonSequence(x) for x in walks((9, 4, 7, 5), 3)]
    fitted = {
        device: clone(kernel).set_params(device=device, batch_size=2).fit(X)
        for device in (None, "cpu")
    }
    bad, confidence = X[2].joints.copy(), None
    if wrong == "unsure":
        confidence = np.ones((7, 3))
        confidence[3, 1] = 0
    else:
        bad[3, slice(None) if wrong == "zero" else 2] = 0 if wrong == "zero" else wrong
    X[2] = X[2].replace(joints=bad, confidence=confidence)
    messages = []
    for model in fitted.values():
        with pytest.raises(
            DataError, match=r"1 of 4 recordings cannot be used: recording #2 .*frame 3"
        ) as told:
            model.transform(X)
        messages.append(str(told.value))
    assert messages[0] == messages[1]
