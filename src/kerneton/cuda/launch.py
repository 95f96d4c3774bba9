"""SCK, DCK and power normalisation by the kernels in ``*.cu``.

What a kernel cannot do, or where it does not converge (which has never been observed), is a
`CannotError`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kerneton.cuda.gpu import CannotError, Gpu
from kerneton.kernels.tensors import pivot_scale

_ORDERS = range(3, 65)
_THREADS = 128
_HOSVD_THREADS = 64
_DCK_THREADS = 192
_MAX_HARMONICS, _MAX_TIMES, _MAX_BAND = 64, 8, 256
_HOSVD_SHARED = 110_000  # bytes of a block: two fit on a multiprocessor
_ENTRIES = {"slices": 0, "simplex": 1, "upper": 2}
_REALS = {4: "float", 8: "double"}  # by size in bytes


def psd_power(gpu: Gpu, A: Any, power: float, *, vectors: bool = False) -> Any:
    """Power of a batch (B, n, n); with ``vectors`` its eigenvectors as columns, zero beyond the
    numerical rank.
    """
    n = A.shape[-1]
    _check_orders("matrices", n)
    matrices = _THREADS // 32 * _groups(n)
    name = f"psd_power<{n}, {_REALS[A.element_size()]}>"
    launch = gpu.kernel(("jacobi.cu", "psd_power.cu"), name, matrices * _room(n) * 8)
    A = A.contiguous()
    out, failed = A.new_empty(A.shape), _flag(gpu)
    launch(-(-len(A) // matrices), _THREADS, A, out, failed, len(A), float(power), int(vectors))
    return _converged(out, failed, name)


def sck_features(
    gpu: Gpu, signals: Any, starts: Any, table: np.ndarray, power: float, entries: str
) -> Any:
    """SCK of order 3 from signals (N, J, C) to features (B, J, n_entries); the tensors stay in
    shared memory.

    Recording b has frames ``starts[b]`` to ``starts[b + 1] - 1``. ``table`` (4, d) defines the
    vectors: for each entry its position among the signals (-1 for time), pivot, 1/σ² and amplitude.
    Their products are summed in double precision, so that no small eigenvalue is lost with float32.
    """
    (_, J, C), B, d = signals.shape, len(starts) - 1, table.shape[1]
    _check_orders("tensors", d)
    pairs, triples = d * (d + 1) // 2, d * (d + 1) * (d + 2) // 6
    shared = (
        triples * 8 + (_THREADS // 32 * _groups(d) * _room(d) + d * pairs) * signals.element_size()
    )
    name = f"sck_features<{d}, {_REALS[signals.element_size()]}>"
    launch = gpu.kernel(("jacobi.cu", "sck.cu"), name, shared)
    out = signals.new_empty((B, J, d * pairs if entries == "slices" else triples))
    failed = _flag(gpu)
    given = signals, starts, gpu.send(np.array(table))
    launch(B * J, _THREADS, *given, out, failed, J, C, float(power), _ENTRIES[entries])
    return _converged(out, failed, name)


def sck_matrices(
    gpu: Gpu,
    signals: Any,
    starts: Any,
    rows: np.ndarray,
    table: np.ndarray,
    power: float,
    *,
    unit: int = 0,
    axes: int = 3,
) -> Any:
    """SCK of order 2 from signals of joints (N, J, C) to features (B, n_rows, d(d+1)/2).

    ``rows`` (n_rows, 2) are joints, or pairs of joints whose signals are subtracted; -1 in second
    place for none. The bits of ``unit`` name the signals, of ``axes`` numbers each, that are scaled
    to unit length; ``starts`` and ``table`` as in `sck_features`.
    """
    (_, J, C), B, d = signals.shape, len(starts) - 1, table.shape[1]
    _check_orders("matrices", d)
    matrices = _THREADS // 32 * _groups(d)
    name = f"sck_matrices<{d}, {_REALS[signals.element_size()]}>"
    shared = matrices * _room(d) * signals.element_size()
    launch = gpu.kernel(("jacobi.cu", "sck_order2.cu"), name, shared)
    count = B * len(rows)
    out, failed = signals.new_empty((B, len(rows), d * (d + 1) // 2)), _flag(gpu)
    given = signals, starts, gpu.send(rows.astype(np.int32)), gpu.send(np.array(table))
    sizes = count, len(rows), J, C, unit, axes
    launch(-(-count // matrices), _THREADS, *given, out, failed, *sizes, float(power))
    return _converged(out, failed, name)


def dck_sums(
    gpu: Gpu,
    x: Any,
    starts: Any,
    longest: int,
    pairs: np.ndarray,
    *,
    sigma: float,
    n_pivots: int,
    reach: float,
    sigma_span: float | None,
    sigma_time: float,
    n_times: int,
    reach_time: float,
    tol: float,
) -> Any:
    """DCK's sums over pairs of frames, divided by J T; (N, J, 3) → (B, n_pairs, 3Z, Z₃, Z₃),
    float32.

    By harmonics, as in the core, or in short windows directly; each recording has its own plan, and
    ``longest`` frames at most.
    """
    (_, J, _), B = x.shape, len(starts) - 1
    # Frames on either side that the kernel uses.
    wide = 0.0 if sigma_span is None else 2 * math.sqrt(6 * math.log(1 / tol)) * sigma_span
    if x.element_size() != 4:
        raise CannotError("DCK in double precision")
    if min(longest, wide) > _MAX_BAND:
        raise CannotError(f"DCK in a window as wide as sigma_span={sigma_span:g}")
    if not 3 <= n_times <= _MAX_TIMES:
        raise CannotError(f"DCK with n_pivots_time={n_times}, which is not 3 to {_MAX_TIMES}")
    shared = 4 * max(
        longest * (J + n_times) + 2 * _MAX_HARMONICS * (n_pivots + J * n_times),
        longest * (J + n_times + 1),
    )
    name = f"dck_sums<{n_times}>"
    launch = gpu.kernel(("dck.cu",), name, shared)
    low, high = -reach_time, 1 + reach_time
    scale = pivot_scale(n_pivots, -reach, reach, sigma)
    scale_time = pivot_scale(n_times, low, high, sigma_time)
    plan = [sigma, reach, scale, sigma_span or 0, sigma_time, low, high, scale_time, tol]
    out, failed = x.new_empty((B, len(pairs), 3 * n_pivots, n_times, n_times)), _flag(gpu)
    given = x, starts, gpu.send(pairs.astype(np.int32)), gpu.send(np.asarray(plan, np.float64))
    launch(3 * B, _DCK_THREADS, *given, out, failed, longest, J, len(pairs), n_pivots)
    if bool(failed):
        raise CannotError(f"DCK of displacements that need more than {_MAX_HARMONICS} harmonics")
    return out


def hosvd_power(gpu: Gpu, X: Any, power: float, entry_power: float) -> Any:
    """EPN of a batch of small tensors (B, a, b, c) in float32 by higher-order singular value
    decomposition.

    Singular vectors are computed from Gram matrices, which lose values below 1e-8 of the largest:
    for powers of 0.5 and more.
    """
    sides = tuple(X.shape[1:])
    _check_orders("tensors", *sides)
    if X.element_size() != 4 or power < 0.5:
        raise CannotError(f"power={power:g} of the HOSVD, or double precision")
    tensors = 2 ** int(math.log2(32 // ((max(sides) + 1) // 2) or 1)) * (_HOSVD_THREADS // 32)
    shared = tensors * ((math.prod(sides) + sum(n * n for n in sides)) | 1) * 8
    name = f"hosvd_power<{', '.join(map(str, sides))}>"
    if shared > _HOSVD_SHARED:
        raise CannotError(f"the HOSVD of tensors of {' × '.join(map(str, sides))} entries")
    launch = gpu.kernel(("jacobi.cu", "hosvd.cu"), name, shared)
    X = X.contiguous()
    out, failed = X.new_empty(X.shape), _flag(gpu)
    blocks = -(-len(X) // tensors)
    launch(blocks, _HOSVD_THREADS, X, out, failed, len(X), float(power), float(entry_power))
    return _converged(out, failed, name)


def _check_orders(what: str, *orders: int) -> None:
    if any(n not in _ORDERS for n in orders):
        sides = " × ".join(map(str, orders))
        raise CannotError(f"{what} of order {sides}, which is not 3 to {_ORDERS[-1]}")


def _converged(out: Any, failed: Any, name: str) -> Any:
    if bool(failed):
        raise CannotError(f"{name}, which did not converge")
    return out


def _groups(n: int) -> int:
    """Matrices per warp."""
    return 32 // ((n + 1) // 2)


def _room(n: int) -> int:
    """Numbers that a matrix needs in shared memory."""
    return n * 2 * ((n + 1) // 2)


def _flag(gpu: Gpu) -> Any:
    return gpu.send(np.zeros(1, np.int32))
