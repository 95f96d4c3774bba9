"""The CUDA kernels run on the CPU by a few lines of C++, lane by lane: what they compute is tested
where no GPU is.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from walks import walks

import kerneton
from kerneton import DCK, SCK
from kerneton.data.sequence import SkeletonSequence
from kerneton.kernels.batches import pad
from kerneton.kernels.cuda.nvrtc import halves
from kerneton.kernels.power_norm import _eigh_power, _svd_power
from kerneton.kernels.signals import SIGNALS
from kerneton.kernels.tensors import outer_power_sum, pivot_scale
from kerneton.prepare.frames import Frames

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Some of the kernels for an order or for tensor sides as a library, compiled once for each."""
    folder, made = tmp_path_factory.mktemp("cuda"), {}

    def compile(part, size):
        if (part, size) not in made:
            library = folder / f"kernels{len(made)}.so"
            defined = [
                f"-DPART_{part}",
                f"-DORDER={size}",
                f"-DSIDES={size}",
                "-DTIMES=3",
                f"-DFOLDER={Path(kerneton.__file__).parent / 'kernels' / 'cuda'}",
            ]
            # Without the check of jumps, which may not leave a stack.
            how = ["-std=c++17", "-O1", "-U_FORTIFY_SOURCE", "-shared", "-fPIC"]
            source = Path(__file__).parent / "cuda" / "epn.cpp"
            subprocess.run(["g++", *how, *defined, "-o", str(library), str(source)], check=True)
            made[part, size] = ctypes.CDLL(str(library))
        return made[part, size]

    return compile


def pointer(array):
    p = array.ctypes.data_as(ctypes.c_void_p)
    p.array = array  # lives as long
    return p


def call(function, source, target, *arguments):
    """Run a kernel on arrays; everything must be written and everything must converge."""
    assert function(pointer(source), pointer(target), *arguments) == 0
    return target


def power_of(library, A, power, vectors=False):
    function = library.power_float if A.dtype == np.float32 else library.power_double
    return call(function, A, np.full_like(A, 99), len(A), *halves(power), int(vectors))


def errors(answer, expected):
    gap = np.linalg.norm((answer - expected).reshape(len(answer), -1), axis=1)
    scale = np.linalg.norm(expected.reshape(len(answer), -1), axis=1)
    return gap / np.where(scale > 0, scale, 1)


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
def test_powers(compiled, order, dtype, tol):
    A = matrices(order).astype(dtype)
    expected = _eigh_power(np, A.astype(float), 0.36)
    assert errors(power_of(compiled("power", order), A, 0.36), expected).max() < tol


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_powers_of_nearly_singular_slices(compiled, dtype):
    """Rounded to single precision they have negative eigenvalues; 1e-5 is what λ^0.36 makes of
    1e-14.
    """
    v = (
        SCK(n_pivots_joint=2, n_pivots_time=15)
        .fit(walks((30,), 4))
        ._map.vectors(np.stack(walks((30,), 4)), np.array([30]), 3)
    )
    A = outer_power_sum(v, 3).reshape(-1, 21, 21)[:24].astype(dtype)
    assert np.linalg.eigvalsh(A.astype(float))[:, 0].min() < 1e-9
    expected = _eigh_power(np, A.astype(float), 0.36)
    assert errors(power_of(compiled("power", 21), A, 0.36), expected).max() < 1e-5


def test_the_lower_triangle_is_read(compiled):
    A = matrices(6)[3:5].copy()
    expected = power_of(compiled("power", 6), A, 0.5)
    i, j = np.triu_indices(6, 1)
    A[:, i, j] = 7
    assert_array_equal(power_of(compiled("power", 6), A, 0.5), expected)


def test_a_bad_matrix_harms_no_other(compiled):
    A = matrices(6)
    expected = power_of(compiled("power", 6), A, 0.5)
    A[2, 3, 1], A[4, 0, 0] = np.inf, np.nan
    answer = power_of(compiled("power", 6), A, 0.5)
    bad = np.isin(np.arange(len(A)), [2, 4])
    assert np.isnan(answer[bad]).all()
    assert_array_equal(answer[~bad], expected[~bad])


@pytest.mark.parametrize("order", [6, 21])
def test_vectors(compiled, order):
    A = matrices(order)[3:5]
    U = power_of(compiled("power", order), A, 1.0, vectors=True)
    assert_allclose(U.swapaxes(1, 2) @ U, np.broadcast_to(np.eye(order), A.shape), atol=1e-13)
    turned = U.swapaxes(1, 2) @ A @ U
    assert np.abs(turned - turned * np.eye(order)).max() < 1e-12 * np.abs(A).max()


@pytest.mark.parametrize("entries", ["simplex", "upper", "slices"])
@pytest.mark.parametrize(("dtype", "tol"), [(np.float64, 1e-7), (np.float32, 2e-6)])
def test_sck(compiled, entries, dtype, tol):
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
    padded, lengths = pad([kernel._signal(Frames.of([SkeletonSequence(x)])) for x in X], dtype)
    table = np.ascontiguousarray(kernel._map.table())
    assert table.shape == (4, 12)
    library = compiled("sck", 12)
    function = library.sck_float if dtype == np.float32 else library.sck_double
    answer = call(
        function,
        padded,
        np.full(expected.shape, 99, dtype),
        pointer(lengths.astype(np.int32)),
        pointer(table),
        *(3, 20, 2, 6, *halves(kernel.power)),
        ["slices", "simplex", "upper"].index(entries),
    )
    assert errors(answer, expected).max() < tol


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize(("dtype", "tol"), [(np.float64, 1e-7), (np.float32, 2e-5)])
def test_sck_order2(compiled, pairs, dtype, tol):
    """From signals of joints; pairs are subtracted, and directions made, inside."""
    X = walks((20, 1, 9), 3, dtype=dtype)
    signals = ("direction", "velocity") if pairs else ("position", "velocity")
    kernel = SCK(
        signals=signals,
        joint_weight=(0.4, 0.3),
        n_pivots_joint=(1, 2),
        n_pivots_time=3,
        order=2,
        power=0.3,
        pairs=pairs,
    )
    expected = kernel.fit_transform([x.astype(float) for x in X]).reshape(3, 3, -1)
    given = []
    for x in X:
        s = SkeletonSequence(x)
        speed = SIGNALS["velocity"](s) * kernel.scales_["velocity"]
        given.append(np.concatenate([x, speed], axis=2).astype(dtype))
    padded, lengths = pad(given, dtype)
    rows = kernel.pairs_ if pairs else np.array([[0, -1], [1, -1], [2, -1]])
    library = compiled("sck", 12)
    function = library.order2_float if dtype == np.float32 else library.order2_double
    answer = call(
        function,
        padded,
        np.full(expected.shape, 99, dtype),
        pointer(lengths.astype(np.int32)),
        pointer(np.ascontiguousarray(rows, np.int32)),
        pointer(np.ascontiguousarray(kernel._map.table())),
        *(9, 3, 20, 3, 6, int(pairs), *halves(kernel.power)),
    )
    assert errors(answer, expected).max() < tol


@pytest.mark.parametrize("sigma_span", [None, 2.5])
@pytest.mark.parametrize("same_joint", [True, False])
def test_dck(compiled, sigma_span, same_joint):
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
    padded, lengths = pad([x[:, [0, 1, 3]] for x in X], np.float32)
    pairs = kernel._local_pairs
    low, high = -0.25, 1.25
    plan = np.array(
        [0.6, 1.3, pivot_scale(5, -1.3, 1.3, 0.6), sigma_span or 0]
        + [0.5, low, high, pivot_scale(3, low, high, 0.5), 1e-5]
    )
    tensors = call(
        compiled("sck", 12).dck,
        padded,
        np.full((5, len(pairs), 15, 3, 3), 99, np.float32),
        *(pointer(lengths.astype(np.int32)), pointer(pairs.astype(np.int32)), pointer(plan)),
        *(5, 30, 3, len(pairs), 5),
    )
    answer = tensors.reshape(5, -1)[:, kernel._entries] * 2**0.5
    assert_allclose(answer[1], 0, atol=0)  # one frame makes no pair
    assert errors(answer, expected).max() < 2e-5


def test_dck_gives_up_on_millimetres(compiled):
    x = 1000 * np.stack(walks((30,), 2, dtype=np.float32))
    plan = np.array([0.6, 1.0, 1.0, 0, 0.5, 0, 1, 1, 1e-5])
    given = [pointer(np.array(v, np.int32)) for v in ([30], [[0, 1]])]
    out = np.zeros((1, 1, 15, 3, 3), np.float32)
    assert (
        compiled("sck", 12).dck(pointer(x), pointer(out), *given, pointer(plan), 1, 30, 2, 1, 5)
        == 1
    )


@pytest.mark.parametrize("sides", ["15,6,6", "4,7,5"])
@pytest.mark.parametrize("entry_power", [1.0, 0.6])
def test_hosvd(compiled, sides, entry_power):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(11, *map(int, sides.split(",")))).astype(np.float32)
    X[2], X[3], X[4, 1:] = 0, 1e-15 * X[3], 0
    expected = _svd_power(np, X, 0.85, entry_power)
    answer = call(
        compiled("hosvd", sides).hosvd,
        X,
        np.full_like(X, 99),
        11,
        *halves(0.85),
        *halves(entry_power),
    )
    assert errors(answer, expected).max() < 2e-6
    X[5, 0, 1, 2] = np.nan
    answer = call(
        compiled("hosvd", sides).hosvd,
        X,
        np.full_like(X, 99),
        11,
        *halves(0.85),
        *halves(entry_power),
    )
    assert np.isnan(answer).reshape(11, -1).all(1).tolist() == [i == 5 for i in range(11)]
