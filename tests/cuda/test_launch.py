"""The CUDA kernels on the CPU, lane by lane: what they compute is tested where no GPU is."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from emulator import EmulatedGpu
from numpy.testing import assert_allclose, assert_array_equal
from reference.hosvd import reference_hosvd_power
from reference.powers import reference_power
from reference.sck import vectors
from walks import walks

from kerneton import DCK, SCK
from kerneton.cuda import launch
from kerneton.cuda.gpu import CannotError
from kerneton.data.sequence import SkeletonSequence
from kerneton.kernels.tensors import outer_power_sum
from kerneton.prepare.frames import Frames

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


@pytest.fixture(scope="module")
def gpu(tmp_path_factory):
    return EmulatedGpu(tmp_path_factory.mktemp("cuda"))


def power_of(gpu, A, power, **options):
    return launch.psd_power(gpu, torch.from_numpy(A), power, **options).numpy()


def errors(answer, expected):
    gap = np.linalg.norm((answer - expected).reshape(len(answer), -1), axis=1)
    scale = np.linalg.norm(expected.reshape(len(answer), -1), axis=1)
    return gap / np.where(scale > 0, scale, 1)


def side_by_side(X, dtype=None):
    """Frames of recordings and where each starts."""
    frames = Frames.of([SkeletonSequence(x) for x in X])
    starts = torch.from_numpy(frames.starts.astype(np.int32))
    return frames, starts


def matrices(n):
    """Rank one, zero, identity, definite, repeated eigenvalues, tiny, huge, rank two,
    indefinite.
    """
    rng = np.random.default_rng(n)
    Q, G, v = np.linalg.qr(rng.normal(size=(n, n)))[0], rng.normal(size=(n, n)), rng.normal(size=n)
    halves = np.where(np.arange(n) < n // 2, 1.0, 0.5)
    A = [np.outer(v, v), np.zeros((n, n)), np.eye(n), G @ G.T, (Q * halves) @ Q.T]
    A += [1e-20 * A[3], 1e20 * A[3], (Q[:, :2] @ Q[:, :2].T), (Q * np.linspace(-0.95, 1, n)) @ Q.T]
    return (np.array(A) + np.swapaxes(A, 1, 2)) / 2


@pytest.mark.parametrize("order", [3, 6, 21, 33])
@pytest.mark.parametrize(("dtype", "tol"), [(np.float64, 1e-10), (np.float32, 1e-6)])
def test_powers(gpu, order, dtype, tol):
    A = matrices(order).astype(dtype)
    expected = reference_power(A.astype(float), 0.36)
    assert errors(power_of(gpu, A, 0.36), expected).max() < tol


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_powers_of_nearly_singular_slices(gpu, dtype):
    """Rounded to single precision they have negative eigenvalues; 1e-5 is what λ^0.36 makes of
    1e-14.
    """
    table = SCK(n_pivots_joint=2, n_pivots_time=15).fit(walks((30,), 4))._map.table()
    x = walks((30,), 4)[0]
    v = np.stack([vectors(x[:, joint], table) for joint in range(4)])[None] / 30 ** (1 / 3)
    A = outer_power_sum(v, 3).reshape(-1, 21, 21)[:24].astype(dtype)
    assert np.linalg.eigvalsh(A.astype(float))[:, 0].min() < 1e-9
    expected = reference_power(A.astype(float), 0.36)
    assert errors(power_of(gpu, A, 0.36), expected).max() < 1e-5


def test_the_lower_triangle_is_read(gpu):
    A = matrices(6)[3:5].copy()
    expected = power_of(gpu, A, 0.5)
    i, j = np.triu_indices(6, 1)
    A[:, i, j] = 7
    assert_array_equal(power_of(gpu, A, 0.5), expected)


def test_a_bad_matrix_harms_no_other(gpu):
    A = matrices(6)
    expected = power_of(gpu, A, 0.5)
    A[2, 3, 1], A[4, 0, 0] = np.inf, np.nan
    answer = power_of(gpu, A, 0.5)
    bad = np.isin(np.arange(len(A)), [2, 4])
    assert np.isnan(answer[bad]).all()
    assert_array_equal(answer[~bad], expected[~bad])


@pytest.mark.parametrize("order", [6, 21])
def test_vectors(gpu, order):
    A = matrices(order)[3:5]
    U = power_of(gpu, A, 1.0, vectors=True)
    assert_allclose(U.swapaxes(1, 2) @ U, np.broadcast_to(np.eye(order), A.shape), atol=1e-13)
    turned = U.swapaxes(1, 2) @ A @ U
    assert np.abs(turned - turned * np.eye(order)).max() < 1e-12 * np.abs(A).max()


@pytest.mark.parametrize("entries", ["simplex", "upper", "slices"])
@pytest.mark.parametrize(("dtype", "tol"), [(np.float64, 1e-7), (np.float32, 2e-6)])
def test_sck(gpu, entries, dtype, tol):
    """Sums in double precision: single precision costs 1e-6 and not the 1e-3 of a rounded
    tensor.
    """
    X = walks((20, 1, 9), 2, dtype=dtype)
    kernel = SCK(
        signals=("position", "from_mean"),
        joint_weight=(0.4, 0.3),
        n_pivots_joint=(1, 2),
        n_pivots_time=3,
        pivot_margin=0.5,
        entries=entries,
    )
    expected = kernel.fit_transform([x.astype(float) for x in X]).reshape(3, 2, -1)
    frames, starts = side_by_side(X)
    table = kernel._map.table()
    assert table.shape == (4, 12)
    signals = torch.from_numpy(kernel._signal(frames))
    answer = launch.sck_features(gpu, signals, starts, table, kernel.power, entries).numpy()
    assert answer.dtype == dtype
    assert errors(answer, expected).max() < tol


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize(("dtype", "tol"), [(np.float64, 1e-7), (np.float32, 2e-5)])
def test_sck_order2(gpu, pairs, dtype, tol):
    """From signals of joints; pairs are subtracted, and directions made, inside."""
    X = walks((20, 1, 9), 3, dtype=dtype)
    kernel = SCK(
        signals=("direction", "velocity") if pairs else ("position", "velocity"),
        joint_weight=(0.4, 0.3),
        n_pivots_joint=(1, 2),
        n_pivots_time=3,
        order=2,
        power=0.3,
        pairs=pairs,
    )
    expected = kernel.fit_transform([x.astype(float) for x in X]).reshape(3, 3, -1)
    frames, starts = side_by_side(X)
    signals, rows, unit = kernel._inputs(frames)
    speed = signals[1] * dtype(kernel.scales_["velocity"])
    given = torch.from_numpy(np.concatenate([signals[0], speed], axis=2))
    table = kernel._map.table()
    answer = launch.sck_matrices(
        gpu, given, starts, rows, table, kernel.power, unit=sum(1 << k for k in unit)
    ).numpy()
    assert errors(answer, expected).max() < tol


def sums_of(gpu, X, kernel, **changed):
    frames, starts = side_by_side([x.astype(np.float32) for x in X])
    given = {
        "sigma": kernel.sigma_joint,
        "n_pivots": kernel.n_pivots_joint,
        "reach": kernel._reach(),
        "sigma_span": kernel.sigma_span,
        "sigma_time": kernel.sigma_time,
        "n_times": kernel.n_pivots_time,
        "reach_time": kernel.pivot_margin * kernel.sigma_time,
        "tol": 1e-5,
        **changed,
    }
    x = torch.from_numpy(np.ascontiguousarray(frames.joints[:, list(kernel.joints_)]))
    longest = int(frames.lengths.max())
    return launch.dck_sums(gpu, x, starts, longest, kernel._local_pairs, **given).numpy()


@pytest.mark.parametrize("sigma_span", [None, 2.5])
@pytest.mark.parametrize("same_joint", [True, False])
def test_dck(gpu, sigma_span, same_joint):
    X = [x + [0.3, 0.9, 2.5] for x in walks((30, 1, 12, 5, 2), 4)]
    kernel = DCK(
        joints=[0, 1, 3],
        same_joint=same_joint,
        sigma_span=sigma_span,
        power=1.0,
        pivot_margin=0.5,
        n_pivots_time=3,
    )
    expected = kernel.fit_transform(X)
    answer = sums_of(gpu, X, kernel).reshape(5, -1)[:, kernel._entries] * 2**0.5
    assert_allclose(answer[1], 0, atol=0)  # one frame makes no pair
    assert errors(answer, expected).max() < 2e-5


def test_what_the_sums_cannot_do_is_said(gpu):
    X = walks((30,), 2)
    kernel = DCK(n_pivots_time=3).fit(X)
    with pytest.raises(CannotError, match="more than 64 harmonics"):
        sums_of(gpu, [1000 * X[0]], kernel)
    with pytest.raises(CannotError, match="n_pivots_time=9"):
        sums_of(gpu, X, kernel, n_times=9)
    with pytest.raises(CannotError, match="sigma_span=200"):
        sums_of(gpu, walks((300,), 2), kernel, sigma_span=200.0)


@pytest.mark.parametrize("sides", [(15, 6, 6), (4, 7, 5)])
@pytest.mark.parametrize("entry_power", [1.0, 0.6])
def test_hosvd(gpu, sides, entry_power):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(11, *sides)).astype(np.float32)
    X[2], X[3], X[4, 1:] = 0, 1e-15 * X[3], 0
    expected = np.stack([reference_hosvd_power(x, 0.85, entry_power) for x in X.astype(float)])
    answer = launch.hosvd_power(gpu, torch.from_numpy(X), 0.85, entry_power).numpy()
    assert errors(answer, expected).max() < 2e-6
    X[5, 0, 1, 2] = np.nan
    answer = launch.hosvd_power(gpu, torch.from_numpy(X), 0.85, entry_power).numpy()
    assert np.isnan(answer).reshape(11, -1).all(1).tolist() == [i == 5 for i in range(11)]


def test_what_the_powers_cannot_do_is_said(gpu):
    with pytest.raises(CannotError, match="order 65, which is not 3 to 64"):
        power_of(gpu, np.eye(65)[None], 0.5)
    with pytest.raises(CannotError, match="double precision"):
        launch.hosvd_power(gpu, torch.ones((1, 3, 3, 3), dtype=torch.float64), 0.85, 1.0)
    with pytest.raises(CannotError, match="order 2 × 3 × 3"):
        launch.hosvd_power(gpu, torch.ones((1, 2, 3, 3)), 0.85, 1.0)
    with pytest.raises(CannotError, match="30 × 30 × 30 entries"):
        launch.hosvd_power(gpu, torch.ones((1, 30, 30, 30)), 0.85, 1.0)
