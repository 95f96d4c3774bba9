"""Power normalisation on a GPU: our kernels, ``*.cu`` beside this file, compiled when first used.

Every function answers None where its kernel cannot run (no NVRTC, an order it is not made for, not enough shared
memory) or did not converge, which has not been seen; the callers then take ``torch.linalg``.
"""

from __future__ import annotations

import functools
import logging
import math
from collections.abc import Callable
from importlib.resources import files
from typing import Any

from kerneton._nvrtc import compile_kernel

_ORDERS = range(3, 65)
_THREADS = 128
_HOSVD_THREADS = 64
_HOSVD_SHARED = 110_000  # bytes of a block: two fit on a multiprocessor
_ENTRIES = {"slices": 0, "simplex": 1, "upper": 2}

log = logging.getLogger(__name__)


def psd_power(A: Any, power: float, *, vectors: bool = False) -> Any | None:
    """Power of a batch (B, n, n); with ``vectors`` its eigenvectors as columns, zero beyond the numerical rank."""
    n = A.shape[-1]
    matrices = _THREADS // 32 * _groups(n)
    launch = _kernel(A, "_psd_power.cu", "psd_power", (n,), matrices * _room(n) * 8)
    if launch is None:
        return None
    A = A.contiguous()
    out, failed = A.new_empty(A.shape), _flag(A)
    launch(-(-len(A) // matrices), _THREADS, A, out, failed, len(A), float(power), int(vectors))
    return None if bool(failed) else out


def sck_features(v: Any, power: float, entries: str) -> Any | None:
    """Σ_s v⊗v⊗v, its slices to a power, their unique entries; (B, J, T, d) → (B, J, n_entries).

    The tensors never leave the chip. Sums are taken in double precision, so that float32 costs no eigenvalue.
    """
    B, J, T, d = v.shape
    pairs, triples = d * (d + 1) // 2, d * (d + 1) * (d + 2) // 6
    shared = triples * 8 + (_THREADS // 32 * _groups(d) * _room(d) + d * pairs) * v.element_size()
    launch = _kernel(v, "_sck.cu", "sck_features", (d,), shared)
    if launch is None:
        return None
    v = v.contiguous()
    out, failed = v.new_empty((B, J, d * pairs if entries == "slices" else triples)), _flag(v)
    launch(B * J, _THREADS, v, out, failed, T, float(power), _ENTRIES[entries])
    return None if bool(failed) else out


def hosvd_power(X: Any, power: float, entry_power: float) -> Any | None:
    """EPN of a batch of small tensors (B, a, b, c) in float32 by higher-order singular value decomposition.

    Its singular vectors come from squares, which lose what lies 1e-8 below the largest: for powers of 0.5 and more.
    """
    if str(X.dtype) != "torch.float32" or power < 0.5:
        return None
    sides = tuple(X.shape[1:])
    tensors = 2 ** int(math.log2(32 // ((max(sides) + 1) // 2) or 1)) * (_HOSVD_THREADS // 32)
    shared = tensors * ((math.prod(sides) + sum(n * n for n in sides)) | 1) * 8
    if shared > _HOSVD_SHARED:
        return None
    launch = _kernel(X, "_hosvd.cu", "hosvd_power", sides, shared)
    if launch is None:
        return None
    X = X.contiguous()
    out, failed = X.new_empty(X.shape), _flag(X)
    blocks = -(-len(X) // tensors)
    launch(blocks, _HOSVD_THREADS, X, out, failed, len(X), float(power), float(entry_power))
    return None if bool(failed) else out


def _groups(n: int) -> int:
    """Matrices a warp."""
    return 32 // ((n + 1) // 2)


def _room(n: int) -> int:
    """Numbers that a matrix needs in shared memory."""
    return n * 2 * ((n + 1) // 2)


def _flag(x: Any) -> Any:
    import torch

    return torch.zeros(1, dtype=torch.int32, device=x.device)


def _kernel(x: Any, file: str, name: str, orders: tuple[int, ...], shared: int) -> Callable[..., None] | None:
    """The kernel for some orders and the tensor's precision, where it lives."""
    if not x.is_cuda or any(n not in _ORDERS for n in orders):
        return None
    return _compiled(file, name, orders, str(x.dtype), shared, x.device.index)


@functools.cache
def _compiled(
    file: str, name: str, orders: tuple[int, ...], dtype: str, shared: int, device: int
) -> Callable[..., None] | None:
    import torch

    real = {"torch.float32": "float", "torch.float64": "double"}[dtype]
    arguments = ", ".join([*map(str, orders), *([] if len(orders) > 1 else [real])])
    limit = getattr(torch.cuda.get_device_properties(device), "shared_memory_per_block_optin", 49152)
    if shared > limit:
        return None
    source = "".join(
        files("kerneton").joinpath(part).read_text(encoding="utf-8") for part in ("_jacobi.cu", file)
    )
    try:
        with torch.cuda.device(device):
            return compile_kernel(source, f"{name}<{arguments}>", shared=shared)
    except RuntimeError as error:
        log.warning("power normalisation falls back to torch.linalg, far slower: %s", error)
        return None
