"""Eigenvalue power normalisation (EPN): powers of symmetric matrices, tensor slices and tensor
cores.

Raising a spectrum to a power 0 < γ ≤ 1 reduces the effect of how often a pattern occurs, but keeps
whether it occurs. Every function takes an array, one or a batch (leading axes), and returns the
same precision. The arithmetic is float64 also for float32 data: x^γ
turns an error ε in an eigenvalue near zero into ε^γ, so that float32 rounding (6e-8) would cost
2e-3 at γ = 0.36.

Numerical rank: an eigenvalue below 2√n·eps·max|λ| (eps of float64) counts as zero, since rounding
errors of the decomposition reach about half of that. Without this convention, no two methods would
agree on a singular matrix. Larger eigenvalues have errors of a few eps·max|λ| in any method, so
results agree only to (eps/λ)·λ^γ.

Matrices of order 4 to 128 are computed by the core, many at a time; others by LAPACK.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from kerneton.core import hosvd as core_hosvd
from kerneton.core import powers, sck
from kerneton.data.parameters import check_in
from kerneton.exceptions import DataError
from kerneton.parallel.threads import one_blas_thread

EPS = float(np.finfo(np.float64).eps)
_SMALLEST_POLE = 2e-15  # of the matrix's norm: above rounding errors
# Powers: below the first, rounding errors of eigenvalues would be visible, above the second those
# of the sum.
_LOWEST, _HIGHEST = 0.35, 0.5


def psd_power(A: np.ndarray, power: float, *, out: np.ndarray | None = None) -> np.ndarray:
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
        Precision of ``A``; a matrix that contains NaN or infinity gives NaN and does not
        affect the others.

    Examples
    --------
    >>> import numpy as np
    >>> psd_power(np.array([[5.0, 4.0], [4.0, 5.0]]), 0.5)
    array([[2., 1.],
           [1., 2.]])
    """
    check_in("power", power, 0, 1, closed="right")
    A = _floating(A)
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
    if out is not None and out.flags.c_contiguous:
        _power(batch, power, out.reshape(batch.shape))
        return out
    return _written(_power(batch, power).reshape(A.shape), out)


def slice_power(T: np.ndarray, power: float, *, out: np.ndarray | None = None) -> np.ndarray:
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


def hosvd_power(X: np.ndarray, power: float, entry_power: float = 1.0) -> np.ndarray:
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
    X = _floating(X)
    if X.ndim < 3:
        raise DataError(f"expected tensors of shape (..., a, b, c), got shape {tuple(X.shape)}")
    if 0 in X.shape or power == entry_power == 1:
        return X
    if power == 1:
        return np.sign(X) * np.abs(X) ** entry_power
    return _hosvd(X.reshape((-1, *X.shape[-3:])), power, entry_power).reshape(X.shape)


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


def _power(A: np.ndarray, power: float, out: np.ndarray | None = None) -> np.ndarray:
    """Power of a batch (B, n, n), by the core into ``out`` if it takes the order, otherwise by
    LAPACK.
    """
    if not powers.MIN_ORDER <= A.shape[-1] <= powers.MAX_ORDER:
        return _written(_eigh_power(A, power), out)
    out = np.empty(A.shape, A.dtype) if out is None else out
    failed = powers.psd_power(A, power, out)
    if failed.any():
        out[failed] = _eigh_power(A[failed], power)
    return out


def _eigh_power(A: np.ndarray, power: float) -> np.ndarray:
    B, scale, finite = _scaled(A)
    lam, U = np.linalg.eigh(B)  # (B, n), (B, n, n)
    floor = 2 * A.shape[-1] ** 0.5 * EPS * np.abs(lam).max(axis=-1, keepdims=True)
    lam = np.where(lam > floor, lam, 0.0) ** power
    found = (U * lam[..., None, :]) @ np.swapaxes(U, -1, -2)
    return _restored(found, scale**power, finite, A.dtype)


def _hosvd(X: np.ndarray, power: float, entry_power: float) -> np.ndarray:
    """EPN of a batch (B, a, b, c), by the core if it serves their size, otherwise by LAPACK."""
    if not core_hosvd.MIN_SIZE <= X[0].size <= core_hosvd.MAX_SIZE:
        return _svd_power(X, power, entry_power)
    found, failed = core_hosvd.hosvd_power(X, power, entry_power)
    if failed.any():
        found[failed] = _svd_power(X[failed], power, entry_power)
    return found


def _svd_power(X: np.ndarray, power: float, entry_power: float) -> np.ndarray:
    E, scale, finite = _scaled(X)
    _, a, b, c = E.shape
    unfolded = (
        E.reshape(-1, a, b * c),
        np.swapaxes(E, 1, 2).reshape(-1, b, a * c),
        np.swapaxes(E.reshape(-1, a * b, c), 1, 2),
    )
    A1, A2, A3 = (np.linalg.svd(M, full_matrices=False)[0] for M in unfolded)
    E = _multilinear(E, *(np.swapaxes(A, 1, 2) for A in (A1, A2, A3)))
    floor = max(a, b, c) * EPS * np.abs(E).max(axis=(-3, -2, -1), keepdims=True)
    E = np.where(np.abs(E) > floor, np.sign(E) * np.abs(E) ** power, 0.0)
    V = _multilinear(E, A1, A2, A3)
    V = np.sign(V) * np.abs(V) ** entry_power
    return _restored(V, scale ** (power * entry_power), finite, X.dtype)


def _multilinear(X: np.ndarray, A1: np.ndarray, A2: np.ndarray, A3: np.ndarray) -> np.ndarray:
    """``X ×₁A₁ ×₂A₂ ×₃A₃`` of a batch (B, a, b, c) as three matrix products."""
    n, a, b, c = X.shape
    X = (A1 @ X.reshape(n, a, b * c)).reshape(n, A1.shape[1], b, c)
    return A2[:, None] @ X @ np.swapaxes(A3, 1, 2)[:, None]


def _written(result: np.ndarray, out: np.ndarray | None) -> np.ndarray:
    """The result, written into ``out`` if given."""
    if out is None:
        return result
    out[...] = result
    return out


def _scaled(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Batch in float64 divided by a power of two near its largest entry; that scale; which are
    finite.

    Items with NaN or infinity become zero: LAPACK would fail on the whole batch for one of them.
    """
    A = A.astype(np.float64, copy=False)
    largest = np.abs(A).max(axis=tuple(range(1, A.ndim)), keepdims=True)
    finite = np.isfinite(largest)
    usable = finite & (largest > 0)
    scale = 2.0 ** np.floor(np.log2(np.where(usable, largest, 1.0)))
    return np.where(usable, A, 0.0) / scale, scale, finite


def _restored(A: np.ndarray, scale: np.ndarray, finite: np.ndarray, dtype: Any) -> np.ndarray:
    return np.where(finite, A * scale, np.nan).astype(dtype, copy=False)


def _floating(A: np.ndarray) -> np.ndarray:
    """``A`` as an array of float32 or float64; integers become float64."""
    A = np.asarray(A)
    if A.dtype.kind in "iu":
        return A.astype(np.float64)
    if A.dtype not in (np.float32, np.float64):
        raise DataError(f"expected float32 or float64, got {A.dtype}")
    return A
