"""Eigenvalue power normalisation (EPN): powers of symmetric matrices, tensor slices and tensor
cores.

Raising a spectrum to a power 0 < γ ≤ 1 reduces the effect of how often a pattern occurs, but keeps
whether it occurs. Every function takes NumPy arrays or torch tensors, one or a batch (leading
axes), and returns the same type and precision. The arithmetic is float64 also for float32 data: x^γ
turns an error ε in an eigenvalue near zero into ε^γ, so that float32 rounding (6e-8) would cost
2e-3 at γ = 0.36.

Numerical rank: an eigenvalue below 2√n·eps·max|λ| (eps of float64) counts as zero, since rounding
errors of the decomposition reach about half of that. Without this convention, no two methods would
agree on a singular matrix. Larger eigenvalues have errors of a few eps·max|λ| in any method, so
results agree only to (eps/λ)·λ^γ.

Matrices of order 4 to 128 in NumPy arrays are computed by the core, many at a time; others by
LAPACK. Torch tensors on a GPU are computed by our own kernels, see ``cuda/jacobi.cu``.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from kerneton.core import hosvd as core_hosvd
from kerneton.core import powers, sck
from kerneton.data.parameters import check_in
from kerneton.exceptions import DataError
from kerneton.kernels.cuda import launch as _cuda
from kerneton.machine.arrays import namespace_of
from kerneton.parallel.threads import one_blas_thread

EPS = float(np.finfo(np.float64).eps)
_MAX_BATCH = 16384  # cuSOLVER fails on batches of 100,000
_SMALLEST_POLE = 2e-15  # of the matrix's norm: above rounding errors
# Powers: below the first, rounding errors of eigenvalues would be visible, above the second those
# of the sum.
_LOWEST, _HIGHEST = 0.35, 0.5


def psd_power(A: Any, power: float, *, out: Any = None) -> Any:
    """Power of symmetric positive semi-definite matrices.

    ``A = U diag(λ) Uᵀ`` becomes ``U diag(max(λ, 0)^power) Uᵀ``; eigenvalues below 2√n·eps·max|λ|
    count as zero.

    Parameters
    ----------
    A : array of shape (..., n, n)
        Symmetric; only the lower triangle is read. Negative eigenvalues count as rounding errors.
    power : float in (0, 1]
        γ of the paper; 1 returns ``A`` itself.
    out : array like A, optional
        Where to write the result; may be ``A`` itself, which saves a tenth of the time for large
        batches.

    Returns
    -------
    array of shape (..., n, n)
        Type and precision of ``A``; a matrix that contains NaN or infinity gives NaN and does not
        affect the others.

    Examples
    --------
    >>> import numpy as np
    >>> psd_power(np.array([[5.0, 4.0], [4.0, 5.0]]), 0.5)
    array([[2., 1.],
           [1., 2.]])
    """
    check_in("power", power, 0, 1, closed="right")
    xp = namespace_of(A)
    A = _floating(xp, A)
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise DataError(
            f"expected square matrices of shape (..., n, n), got shape {tuple(A.shape)}"
        )
    if out is not None and (out.shape != A.shape or out.dtype != A.dtype):
        raise DataError(
            f"expected out of shape {tuple(A.shape)} and {A.dtype}, got {tuple(out.shape)} and {out.dtype}"
        )
    if power == 1 or 0 in A.shape:
        return _written(A, out)
    batch = A.reshape((-1, *A.shape[-2:]))
    in_place = xp is np and out is not None and out.flags.c_contiguous
    target = out.reshape(batch.shape) if in_place else None
    result = _power(xp, batch, power, target)
    return out if result is target else _written(result.reshape(A.shape), out)


def slice_power(T: Any, power: float, *, out: Any = None) -> Any:
    """Slice-wise EPN of third-order tensors: every slice ``T[..., k, :, :]`` to the given power.

    Sums of ``v⊗v⊗v`` are super-symmetric, so slicing along the first index is slicing along any.

    Parameters
    ----------
    T : array of shape (..., d, d, d)
        Super-symmetric, with positive semi-definite slices.
    power : float in (0, 1]
        γ of the paper; 1 returns ``T`` itself.
    out : array like T, optional
        Where to write the result; ``T`` itself is allowed.

    Examples
    --------
    >>> import numpy as np
    >>> v = np.array([1.0, 2.0])
    >>> slice_power(np.einsum("i,j,k->ijk", v, v, v), 0.5)
    array([[[0.4472136 , 0.89442719], [0.89442719, 1.78885438]],
           [[0.63245553, 1.26491106], [1.26491106, 2.52982213]]])
    """
    if T.ndim < 3 or not T.shape[-1] == T.shape[-2] == T.shape[-3]:
        raise DataError(
            f"expected cubic tensors of shape (..., d, d, d), got shape {tuple(T.shape)}"
        )
    return psd_power(T, power, out=out)


def hosvd_power(X: Any, power: float, entry_power: float = 1.0) -> Any:
    """EPN of third-order tensors by higher-order singular value decomposition.

    ``X = E ×₁A₁ ×₂A₂ ×₃A₃`` becomes ``V = sgn(E)|E|^power ×₁A₁ ×₂A₂ ×₃A₃`` and then
    ``sgn(V)|V|^entry_power``. The signs of singular vectors cancel because sgn(x)|x|^γ is odd. Core
    entries below max(a, b, c)·eps·max|E| count as zero. There are many small entries, and the power
    enlarges them: an error of 1e-7 in a DCK tensor (float32 rounding) changes the result by about
    5e-3, and one of 1e-5 by 0.1.

    Parameters
    ----------
    X : array of shape (..., a, b, c)
    power, entry_power : float in (0, 1]
        γ and γ* of the paper.

    Examples
    --------
    >>> import numpy as np
    >>> u, v, w = np.array([0.6, 0.8]), np.array([1.0, 0.0]), np.array([0.0, 1.0])
    >>> hosvd_power(16 * np.einsum("i,j,k->ijk", u, v, w), 0.5)[:, 0, 1]
    array([2.4, 3.2])
    """
    check_in("power", power, 0, 1, closed="right")
    check_in("entry_power", entry_power, 0, 1, closed="right")
    xp = namespace_of(X)
    X = _floating(xp, X)
    if X.ndim < 3:
        raise DataError(f"expected tensors of shape (..., a, b, c), got shape {tuple(X.shape)}")
    if 0 in X.shape or power == entry_power == 1:
        return X
    if power == 1:
        return xp.sign(X) * xp.abs(X) ** entry_power
    return _hosvd(xp, X.reshape((-1, *X.shape[-3:])), power, entry_power).reshape(X.shape)


@functools.lru_cache(maxsize=16)
@one_blas_thread()  # the same numbers on any number of cores
def resolvents(power: float, dtype: Any) -> np.ndarray | None:
    """x^γ ≈ Σ_k w_k x / (x + s_k) for matrices of norm 1: s_k and w_k s_k, (n, 2); None if not
    accurate enough.

    It is for float32 results alone. Best approximations of x^γ on [0, 1] have poles at
    -1/sinh²(v/2) with v about 2π²/(L - γv) apart; L is chosen so that there are as many poles as
    the core takes. Gauss-Newton steps move them to the least-squares solution, whose error is 3e-6.

    >>> s, ws = resolvents(0.5, np.dtype(np.float32)).T
    >>> round(float((ws / s * 0.25 / (0.25 + s)).sum()), 4)
    0.5
    """
    if dtype != np.float32 or not _LOWEST <= power <= _HIGHEST:
        return None
    n = sck.n_poles()
    rate, last = 4 * np.pi**2 * power, n + 0.5
    v = (np.sqrt(rate * last) - np.sqrt(rate * (last - np.arange(n) - 0.775 + power / 2))) / power
    v *= min(1, 2 * np.arcsinh(_SMALLEST_POLE**-0.5) / v[-1])
    s = 1 / np.sinh(v / 2) ** 2
    x = np.geomspace(1.5 * _SMALLEST_POLE, 1, 400)[:, None]
    weight, target = np.where(x > 0.3, 3, 1), x[:, 0] ** power  # where the largest eigenvalue is
    for _ in range(4):
        shares = x / (x + s)
        w = np.linalg.lstsq(shares * weight, target * weight[:, 0], rcond=None)[0]
        found = np.stack([s, w * s], axis=1)
        slopes = np.concatenate([shares, -w * s * shares / (x + s)], axis=1)
        step = np.linalg.lstsq(slopes * weight, (target - shares @ w) * weight[:, 0], rcond=1e-8)[
            0
        ][n:]
        s = np.maximum(s * np.exp(step), _SMALLEST_POLE)
    return found


def _power(xp: Any, A: Any, power: float, out: Any = None) -> Any:
    """Power of a batch (B, n, n), by the core into ``out`` if it takes the order, otherwise by the
    library's eigh.
    """
    if xp is np and powers.MIN_ORDER <= A.shape[-1] <= powers.MAX_ORDER:
        out = np.empty(A.shape, A.dtype) if out is None else out
        failed = powers.psd_power(A, power, out)
        if failed.any():
            out[failed] = _eigh_power(np, A[failed], power)
        return out
    if xp is not np and (result := _cuda.psd_power(A, power)) is not None:
        return result
    parts = [_eigh_power(xp, A[i : i + _MAX_BATCH], power) for i in range(0, len(A), _MAX_BATCH)]
    return parts[0] if len(parts) == 1 else xp.concatenate(parts)


def _eigh_power(xp: Any, A: Any, power: float) -> Any:
    B, scale, finite = _scaled(xp, A)
    lam, U = xp.linalg.eigh(B)  # (B, n), (B, n, n)
    floor = 2 * A.shape[-1] ** 0.5 * EPS * xp.amax(xp.abs(lam), axis=-1, keepdims=True)
    lam = xp.where(lam > floor, lam, xp.zeros_like(lam)) ** power
    return _restored(
        xp, (U * lam[..., None, :]) @ xp.swapaxes(U, -1, -2), scale**power, finite, A.dtype
    )


def _hosvd(xp: Any, X: Any, power: float, entry_power: float) -> Any:
    """EPN of a batch (B, a, b, c), by the core if it serves their size, otherwise by the library's
    svd.
    """
    if xp is np and core_hosvd.MIN_SIZE <= X[0].size <= core_hosvd.MAX_SIZE:
        found, failed = core_hosvd.hosvd_power(X, power, entry_power)
        if failed.any():
            found[failed] = _svd_power(np, X[failed], power, entry_power)
        return found
    if xp is not np and (result := _cuda.hosvd_power(X, power, entry_power)) is not None:
        return result
    return _svd_power(xp, X, power, entry_power)


def _svd_power(xp: Any, X: Any, power: float, entry_power: float) -> Any:
    E, scale, finite = _scaled(xp, X)
    _, a, b, c = E.shape
    unfolded = (
        E.reshape(-1, a, b * c),
        xp.swapaxes(E, 1, 2).reshape(-1, b, a * c),
        xp.swapaxes(E.reshape(-1, a * b, c), 1, 2),
    )
    single = X.dtype == xp.float32 and power >= 0.5
    A1, A2, A3 = (_left_vectors(xp, M, single=single) for M in unfolded)
    E = _multilinear(xp, E, *(xp.swapaxes(A, 1, 2) for A in (A1, A2, A3)))
    floor = max(a, b, c) * EPS * xp.amax(xp.abs(E), axis=(-3, -2, -1), keepdims=True)
    E = xp.where(xp.abs(E) > floor, xp.sign(E) * xp.abs(E) ** power, xp.zeros_like(E))
    V = _multilinear(xp, E, A1, A2, A3)
    V = xp.sign(V) * xp.abs(V) ** entry_power
    return _restored(xp, V, scale ** (power * entry_power), finite, X.dtype)


def _left_vectors(xp: Any, M: Any, *, single: bool) -> Any:
    """Left singular vectors of a batch (B, m, k) in float64, as columns.

    On a GPU and in single precision they are eigenvectors of M Mᵀ, if the power does not enlarge
    what squaring loses.
    """
    if single and xp is not np and M.is_cuda:
        vectors = _cuda.psd_power(M @ xp.swapaxes(M, 1, 2), 1.0, vectors=True)
        if vectors is not None:
            return vectors
    if (
        xp is not np and M.is_cuda and M.shape[1] < M.shape[2]
    ):  # cuSOLVER only has batches of small square matrices
        M = xp.swapaxes(xp.linalg.qr(xp.swapaxes(M, 1, 2), mode="r")[1], 1, 2)
    return xp.linalg.svd(M, full_matrices=False)[0]


def _multilinear(xp: Any, X: Any, A1: Any, A2: Any, A3: Any) -> Any:
    """``X ×₁A₁ ×₂A₂ ×₃A₃`` of a batch (B, a, b, c) as three matrix products."""
    n, a, b, c = X.shape
    X = (A1 @ X.reshape(n, a, b * c)).reshape(n, A1.shape[1], b, c)
    return A2[:, None] @ X @ xp.swapaxes(A3, 1, 2)[:, None]


def _written(result: Any, out: Any) -> Any:
    """The result, written into ``out`` if given."""
    if out is None:
        return result
    out[...] = result
    return out


def _scaled(xp: Any, A: Any) -> tuple[Any, Any, Any]:
    """Batch in float64 divided by a power of two near its largest entry; that scale; which are
    finite.

    Items with NaN or infinity become zero: LAPACK would fail on the whole batch for one of them.
    """
    axes = tuple(range(1, A.ndim))
    A = _as_float64(xp, A)
    largest = xp.amax(xp.abs(A), axis=axes, keepdims=True)
    finite = xp.isfinite(largest)
    usable = finite & (largest > 0)
    one = xp.ones_like(largest)
    scale = 2.0 ** xp.floor(xp.log2(xp.where(usable, largest, one)))
    return xp.where(usable, A, xp.zeros_like(A)) / scale, scale, finite


def _restored(xp: Any, A: Any, scale: Any, finite: Any, dtype: Any) -> Any:
    A = xp.where(finite, A * scale, xp.full_like(A, float("nan")))
    return A.astype(dtype, copy=False) if xp is np else A.to(dtype)


def _as_float64(xp: Any, A: Any) -> Any:
    return A.astype(np.float64, copy=False) if xp is np else A.to(xp.float64)


def _floating(xp: Any, A: Any) -> Any:
    """``A`` as an array of float32 or float64; integers become float64."""
    if xp is np:
        A = np.asarray(A)
        integer = A.dtype.kind in "iu"
    else:
        integer = not A.dtype.is_floating_point and not A.dtype.is_complex and A.dtype != xp.bool
    if integer:
        return _as_float64(xp, A)
    if A.dtype not in (xp.float32, xp.float64):
        raise DataError(f"expected float32 or float64, got {A.dtype}")
    return A
