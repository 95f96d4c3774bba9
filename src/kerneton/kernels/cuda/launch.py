"""SCK, DCK and power normalisation on a GPU: our kernels, ``*.cu`` beside this file, compiled when
first used.

Every function returns None if its kernel cannot run (no NVRTC, an order that is not supported, not
enough shared memory) or does not converge, which has never been observed; the caller then uses
``torch.linalg``.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import numpy as np

from kerneton.data.notes import logger
from kerneton.kernels.cuda.nvrtc import compile_kernel
from kerneton.kernels.tensors import pivot_scale

_ORDERS = range(3, 65)
_THREADS = 128
_HOSVD_THREADS = 64
_DCK_THREADS = 192
_MAX_HARMONICS, _MAX_TIMES, _MAX_BAND = 64, 8, 256
_HOSVD_SHARED = 110_000  # bytes of a block: two fit on a multiprocessor
_ENTRIES = {"slices": 0, "simplex": 1, "upper": 2}

log = logger(__name__)


def psd_power(A: Any, power: float, *, vectors: bool = False) -> Any | None:
    """Power of a batch (B, n, n); with ``vectors`` its eigenvectors as columns, zero beyond the
    numerical rank.
    """
    n = A.shape[-1]
    matrices = _THREADS // 32 * _groups(n)
    launch = _kernel(A, ("jacobi.cu", "psd_power.cu"), "psd_power", (n,), matrices * _room(n) * 8)
    if launch is None:
        return None
    A = A.contiguous()
    out, failed = A.new_empty(A.shape), _flag(A)
    launch(-(-len(A) // matrices), _THREADS, A, out, failed, len(A), float(power), int(vectors))
    return None if bool(failed) else out


def sck_features(
    signals: Any, lengths: Any, table: np.ndarray, power: float, entries: str
) -> Any | None:
    """SCK of order 3 from signals (B, T, J, C) to features (B, J, n_entries); the tensors stay in
    shared memory.

    ``table`` (4, d) defines the vectors: for each entry its position among the signals (-1 for
    time), pivot, 1/σ² and amplitude. Their products are summed in double precision, so that no
    small eigenvalue is lost with float32.
    """
    (B, T, J, C), d = signals.shape, table.shape[1]
    pairs, triples = d * (d + 1) // 2, d * (d + 1) * (d + 2) // 6
    shared = (
        triples * 8 + (_THREADS // 32 * _groups(d) * _room(d) + d * pairs) * signals.element_size()
    )
    launch = _kernel(signals, ("jacobi.cu", "sck.cu"), "sck_features", (d,), shared)
    if launch is None:
        return None
    out = signals.new_empty((B, J, d * pairs if entries == "slices" else triples))
    failed, given = _flag(signals), (signals.contiguous(), lengths.int(), _on(signals, table))
    launch(B * J, _THREADS, *given, out, failed, T, J, C, float(power), _ENTRIES[entries])
    return None if bool(failed) else out


def sck_matrices(
    signals: Any,
    lengths: Any,
    rows: np.ndarray,
    table: np.ndarray,
    power: float,
    *,
    unit: int = 0,
    axes: int = 3,
) -> Any | None:
    """SCK of order 2 from signals of joints (B, T, J, C) to features (B, n_rows, d(d+1)/2).

    ``rows`` (n_rows, 2) are joints, or pairs of joints whose signals are subtracted; -1 in second
    place for none. The bits of ``unit`` name the signals, of ``axes`` numbers each, that are scaled
    to unit length; ``table`` as in `sck_features`.
    """
    (B, T, J, C), d = signals.shape, table.shape[1]
    matrices = _THREADS // 32 * _groups(d)
    shared = matrices * _room(d) * signals.element_size()
    launch = _kernel(signals, ("jacobi.cu", "sck_order2.cu"), "sck_matrices", (d,), shared)
    if launch is None:
        return None
    count = B * len(rows)
    out, failed = signals.new_empty((B, len(rows), d * (d + 1) // 2)), _flag(signals)
    given = (
        signals.contiguous(),
        lengths.int(),
        _on(signals, rows.astype(np.int32)),
        _on(signals, table),
    )
    sizes = (count, len(rows), T, J, C, unit, axes)
    launch(-(-count // matrices), _THREADS, *given, out, failed, *sizes, float(power))
    return None if bool(failed) else out


def dck_sums(
    x: Any,
    lengths: Any,
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
) -> Any | None:
    """DCK's sums over pairs of frames, divided by J T; (B, T, J, 3) → (B, n_pairs, 3Z, Z₃, Z₃),
    float32.

    As `kerneton.kernels.displacement.harmonic_sums`, for short windows or none; each recording has
    its own plan.
    """
    B, T, J, _ = x.shape
    # Frames on either side that the kernel uses.
    wide = (
        sigma_span is not None
        and min(T, 2 * math.sqrt(6 * math.log(1 / tol)) * sigma_span) > _MAX_BAND
    )
    if str(x.dtype) != "torch.float32" or wide or n_times > _MAX_TIMES:
        return None
    shared = 4 * (T * (J + n_times) + 2 * _MAX_HARMONICS * (n_pivots + J * n_times))
    launch = _kernel(
        x, ("dck.cu",), "dck_sums", (n_times,), max(shared, 4 * (T * (J + n_times + 1)))
    )
    if launch is None:
        return None
    low, high = -reach_time, 1 + reach_time
    scale, scale_time = (
        pivot_scale(n_pivots, -reach, reach, sigma),
        pivot_scale(n_times, low, high, sigma_time),
    )
    plan = np.asarray(
        [sigma, reach, scale, sigma_span or 0, sigma_time, low, high, scale_time, tol]
    )
    out, failed = x.new_empty((B, len(pairs), 3 * n_pivots, n_times, n_times)), _flag(x)
    given = (x.contiguous(), lengths.int(), _on(x, pairs.astype(np.int32)), _on(x, plan))
    launch(3 * B, _DCK_THREADS, *given, out, failed, T, J, len(pairs), n_pivots)
    return None if bool(failed) else out


def hosvd_power(X: Any, power: float, entry_power: float) -> Any | None:
    """EPN of a batch of small tensors (B, a, b, c) in float32 by higher-order singular value
    decomposition.

    Singular vectors are computed from Gram matrices, which lose values below 1e-8 of the largest:
    for powers of 0.5 and more.
    """
    if str(X.dtype) != "torch.float32" or power < 0.5:
        return None
    sides = tuple(X.shape[1:])
    tensors = 2 ** int(math.log2(32 // ((max(sides) + 1) // 2) or 1)) * (_HOSVD_THREADS // 32)
    shared = tensors * ((math.prod(sides) + sum(n * n for n in sides)) | 1) * 8
    if shared > _HOSVD_SHARED:
        return None
    launch = _kernel(X, ("jacobi.cu", "hosvd.cu"), "hosvd_power", sides, shared)
    if launch is None:
        return None
    X = X.contiguous()
    out, failed = X.new_empty(X.shape), _flag(X)
    blocks = -(-len(X) // tensors)
    launch(blocks, _HOSVD_THREADS, X, out, failed, len(X), float(power), float(entry_power))
    return None if bool(failed) else out


def _groups(n: int) -> int:
    """Matrices per warp."""
    return 32 // ((n + 1) // 2)


def _room(n: int) -> int:
    """Numbers that a matrix needs in shared memory."""
    return n * 2 * ((n + 1) // 2)


def _flag(x: Any) -> Any:
    import torch

    return torch.zeros(1, dtype=torch.int32, device=x.device)


def _on(x: Any, values: np.ndarray) -> Any:
    """An array on the device of a tensor."""
    import torch

    return torch.as_tensor(np.array(values), device=x.device)


def _kernel(
    x: Any, sources: tuple[str, ...], name: str, orders: tuple[int, ...], shared: int
) -> Callable[..., None] | None:
    """The kernel for some orders and the tensor's precision, on its device."""
    if not x.is_cuda or any(n not in _ORDERS for n in orders):
        return None
    real = {"torch.float32": "float", "torch.float64": "double"}[str(x.dtype)]
    arguments = [
        *map(str, orders),
        *([real] if name in ("psd_power", "sck_features", "sck_matrices") else []),
    ]
    return _compiled(sources, f"{name}<{', '.join(arguments)}>", shared, x.device.index)


@functools.cache
def _compiled(
    sources: tuple[str, ...], name: str, shared: int, device: int
) -> Callable[..., None] | None:
    import torch

    limit = getattr(
        torch.cuda.get_device_properties(device), "shared_memory_per_block_optin", 49152
    )
    if shared > limit:
        return None
    source = "".join(
        files("kerneton.kernels.cuda").joinpath(part).read_text(encoding="utf-8")
        for part in sources
    )
    try:
        with torch.cuda.device(device):
            return compile_kernel(source, name, shared=shared)
    except RuntimeError as error:
        log.warning("%s cannot run; torch is used instead, which is much slower: %s", name, error)
        return None
