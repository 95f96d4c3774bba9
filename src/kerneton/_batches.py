"""Recordings of unequal length in batches: grouped by length, padded, spread over cores, any answer unchanged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kerneton._array import to_numpy
from kerneton._validation import check_positive
from kerneton.exceptions import DataError, MissingExtraError, ParameterError

Encode = Callable[[Any, Any], Any]  # padded signals (B, T, ...) and lengths (B,) → features (B, n_features)


def map_batches(
    encode: Encode,
    signals: Sequence[np.ndarray],
    n_features: int,
    *,
    batch_size: int,
    n_jobs: int | None = None,
    device: str | None = None,
    out: np.ndarray | None = None,
    keys: Sequence[float] | None = None,
) -> np.ndarray:
    """Features of every recording, (n_sequences, n_features), written into ``out`` where it is given.

    Each signal is (T, ...), T free. At most ``batch_size`` recordings of similar length are padded to a common
    one and encoded together, never two with different ``keys``, so memory beside the result does not grow with the number of recordings.

    >>> total = lambda x, n: x.sum((1, 2))[:, None]
    >>> map_batches(total, [np.ones((4, 2)), np.ones((7, 2))], 1, batch_size=2).tolist()
    [[8.0], [14.0]]
    """
    check_positive("batch_size", batch_size, integer=True)
    dtype = np.result_type(*{s.dtype for s in signals})
    if out is None:
        out = np.empty((len(signals), n_features), dtype=dtype)
    elif out.shape != (len(signals), n_features):
        raise DataError(f"out must have shape {(len(signals), n_features)}, got {out.shape}")
    elif not np.can_cast(dtype, out.dtype, "same_kind"):
        raise DataError(f"out must hold floating-point numbers, got {out.dtype}")
    groups = group_by_length([len(s) for s in signals], batch_size, keys)

    def work(rows: np.ndarray) -> None:
        padded, lengths = pad([signals[i] for i in rows], dtype)
        out[rows] = to_numpy(_on_device(encode, padded, lengths, device))

    if device is not None or len(groups) == 1 or n_jobs in (None, 1):
        for rows in groups:
            work(rows)
    else:
        # Threads: the heavy parts release the interpreter's lock. Each uses one BLAS thread, or they fight.
        from joblib import Parallel, delayed
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1):
            Parallel(n_jobs=n_jobs, prefer="threads")(delayed(work)(rows) for rows in groups)
    return out


def group_by_length(
    lengths: Sequence[int], batch_size: int, keys: Sequence[float] | None = None
) -> list[np.ndarray]:
    """Positions in groups of at most ``batch_size`` with equal key and similar length.

    >>> [g.tolist() for g in group_by_length([9, 2, 8, 3], 2)]
    [[1, 3], [2, 0]]
    """
    keys = [0.0] * len(lengths) if keys is None else keys
    order = np.lexsort((lengths, keys))
    cuts = np.flatnonzero(np.diff(np.asarray(keys)[order])) + 1
    return [
        same[i : i + batch_size] for same in np.split(order, cuts) for i in range(0, len(same), batch_size)
    ]


def pad(signals: Sequence[np.ndarray], dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """Stack (T_b, ...) arrays into (B, max T, ...) followed by zeros, and their lengths (B,).

    >>> padded, lengths = pad([np.ones((2, 1)), np.ones((3, 1))], float)
    >>> padded[:, :, 0].tolist(), lengths.tolist()
    ([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]], [2, 3])
    """
    lengths = np.asarray([len(s) for s in signals])
    padded = np.zeros((len(signals), lengths.max(), *signals[0].shape[1:]), dtype=dtype)
    for row, signal in zip(padded, signals, strict=True):
        row[: len(signal)] = signal
    return padded, lengths


def _on_device(encode: Encode, padded: np.ndarray, lengths: np.ndarray, device: str | None) -> Any:
    if device is None:
        return encode(padded, lengths)
    torch = torch_for(device)
    where = torch.device(device)
    try:
        return encode(torch.as_tensor(padded, device=where), torch.as_tensor(lengths, device=where))
    except torch.cuda.OutOfMemoryError:
        torch.cuda.empty_cache()
        if len(padded) == 1:
            raise DataError(
                f"one recording of {padded.shape[1]} frames does not fit into the GPU's memory"
            ) from None
    half = len(padded) // 2  # a batch too large for the device gives the same answer in two halves
    return torch.cat(
        [
            _on_device(encode, padded[part, : lengths[part].max()], lengths[part], device)
            for part in (slice(None, half), slice(half, None))
        ]
    )


def torch_for(device: str) -> Any:
    """torch, once it is clear that it is installed and has the device.

    >>> torch_for("abacus")
    Traceback (most recent call last):
    kerneton.exceptions...
    """
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError(f"device={device!r} needs PyTorch: pip install 'kerneton[torch]'") from error
    try:
        kind = torch.device(device).type
    except RuntimeError as error:
        raise ParameterError(
            f"device must name a PyTorch device such as 'cpu' or 'cuda', got {device!r}"
        ) from error
    if kind == "cuda" and not torch.cuda.is_available():
        raise ParameterError(
            f"device={device!r}, but PyTorch sees no GPU here; leave device=None for the CPU"
        )
    return torch
