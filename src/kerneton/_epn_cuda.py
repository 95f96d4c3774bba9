"""Power normalisation on a GPU: our kernels in ``_epn.cu``, compiled when first used.

Where they cannot run (no NVRTC, an order beyond `MAX_ORDER`, not enough shared memory) `available` says so, and the
callers take ``torch.linalg.eigh``.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from importlib.resources import files
from typing import Any

from kerneton._nvrtc import compile_kernel

MIN_ORDER, MAX_ORDER = 3, 64
_THREADS = 128
_ENTRIES = {"slices": 0, "simplex": 1, "upper": 2}

log = logging.getLogger(__name__)


def available(x: Any, order: int, *, kernel: str = "psd_power") -> bool:
    """Whether a kernel for matrices of this order can run where the tensor lives; compiles it when asked first."""
    if not x.is_cuda or not MIN_ORDER <= order <= MAX_ORDER:
        return False
    return _compiled(kernel, order, str(x.dtype), x.device.index or 0) is not None


def psd_power(A: Any, power: float, *, vectors: bool = False) -> Any | None:
    """Power of a batch (B, n, n); with ``vectors`` its eigenvectors as columns, zero beyond the numerical rank.

    None where a matrix did not converge, which has not been seen.
    """
    A = A.contiguous()
    out, failed = A.new_empty(A.shape), _flag(A)
    n = A.shape[-1]
    a_block = _THREADS // 32 * _groups(n)
    _run("psd_power", A, n, -(-len(A) // a_block), out, failed, len(A), float(power), int(vectors))
    return None if bool(failed) else out


def sck_features(v: Any, power: float, entries: str) -> Any | None:
    """Σ_s v⊗v⊗v, its slices to a power, their unique entries; (B, J, T, d) → (B, J, n_entries).

    The tensors never leave the chip. Sums are taken in double precision, so that float32 costs no eigenvalue. None
    where a slice did not converge.
    """
    v = v.contiguous()
    B, J, T, d = v.shape
    n = d * (d + 1) // 2 * d if entries == "slices" else d * (d + 1) * (d + 2) // 6
    out, failed = v.new_empty((B, J, n)), _flag(v)
    _run("sck_features", v, d, B * J, out, failed, T, float(power), _ENTRIES[entries])
    return None if bool(failed) else out


def _flag(x: Any) -> Any:
    import torch

    return torch.zeros(1, dtype=torch.int32, device=x.device)


def _run(kernel: str, source: Any, order: int, blocks: int, *arguments: Any) -> None:
    import torch

    with torch.cuda.device(source.device):
        launch = _compiled(kernel, order, str(source.dtype), source.device.index or 0)
        assert launch is not None
        launch(blocks, _THREADS, source, *arguments)


def _groups(n: int) -> int:
    """Matrices a warp."""
    return 32 // ((n + 1) // 2)


def _shared_bytes(kernel: str, n: int, itemsize: int) -> int:
    work = _THREADS // 32 * _groups(n) * n * 2 * ((n + 1) // 2) * 8
    if kernel == "psd_power":
        return work
    pairs = n * (n + 1) // 2
    return pairs * (n + 2) // 3 * 8 + work + n * pairs * itemsize


@functools.cache
def _compiled(kernel: str, order: int, dtype: str, device: int) -> Callable[..., None] | None:
    import torch

    real, itemsize = {"torch.float32": ("float", 4), "torch.float64": ("double", 8)}[dtype]
    shared = _shared_bytes(kernel, order, itemsize)
    limit = getattr(torch.cuda.get_device_properties(device), "shared_memory_per_block_optin", 49152)
    if shared > limit:
        return None
    source = files("kerneton").joinpath("_epn.cu").read_text(encoding="utf-8")
    try:
        with torch.cuda.device(device):
            return compile_kernel(source, f"{kernel}<{order}, {real}>", shared=shared)
    except RuntimeError as error:
        log.warning("power normalisation falls back to torch.linalg.eigh, far slower: %s", error)
        return None
