"""Batches of recordings of similar length: padded, and computed on several cores or on a device,
with the same results.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kerneton.data.parameters import check_positive
from kerneton.exceptions import DataError, MissingExtraError, ParameterError
from kerneton.kernels.blocks import check_out
from kerneton.machine.arrays import to_numpy
from kerneton.parallel.threads import count_threads, in_threads

# (padded signals (B, T, ...), lengths (B,), threads that it may use) → features (B, n_features)
Encode = Callable[[Any, Any, int], Any]

_PINNED_BYTES = 2**28  # of page-locked memory per stream; limits the size of its batches
_STREAMS = 3  # one computes while the others copy data


def map_batches(
    encode: Encode,
    signals: Sequence[np.ndarray],
    n_features: int,
    *,
    batch_size: int,
    n_jobs: int | None = None,
    device: str | None = None,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Features of every recording, (n_sequences, n_features), written into ``out`` if given.

    Each signal is (T, ...) with any T. At most ``batch_size`` recordings of similar length are
    padded to the same length and encoded together. If there are fewer batches than threads,
    ``encode`` may use several threads itself.

    >>> total = lambda x, n, n_threads: x.sum((1, 2))[:, None]
    >>> map_batches(total, [np.ones((4, 2)), np.ones((7, 2))], 1, batch_size=2).tolist()
    [[8.0], [14.0]]
    """
    check_positive("batch_size", batch_size, integer=True)
    n_jobs = count_threads(n_jobs)
    if len(signals) == 1 and device is None and out is None:  # without a copy
        signal = signals[0]
        return encode(signal[None], np.array([len(signal)]), n_jobs)
    dtype = np.result_type(*{s.dtype for s in signals})
    out = check_out(out, (len(signals), n_features), dtype)
    on_gpu = device is not None and torch_for(device).device(device).type == "cuda"
    n_threads = _STREAMS if on_gpu else n_jobs if device is None else 1
    if on_gpu:
        batch_size = min(
            batch_size, max(1, _PINNED_BYTES // (n_features * np.dtype(dtype).itemsize))
        )
    groups = group_by_length([len(s) for s in signals], batch_size)
    if on_gpu:
        assert device is not None
        work = _gpu_work(encode, signals, out, dtype, device)
    else:
        own_threads = max(1, n_threads // len(groups))

        def work(rows: np.ndarray) -> None:
            padded, n_frames = pad([signals[i] for i in rows], dtype)
            out[rows] = to_numpy(_on_device(encode, padded, n_frames, device, own_threads))

    in_threads(work, groups, n_threads)  # threads: the heavy parts release the interpreter's lock
    return out


def group_by_length(lengths: Sequence[int], batch_size: int) -> list[np.ndarray]:
    """Positions in groups of at most ``batch_size`` of similar length.

    >>> [g.tolist() for g in group_by_length([9, 2, 8, 3], 2)]
    [[1, 3], [2, 0]]
    """
    order = np.argsort(lengths, kind="stable")
    return [order[i : i + batch_size] for i in range(0, len(order), batch_size)]


def pad(
    signals: Sequence[np.ndarray], dtype: Any, make: Callable[..., np.ndarray] = np.empty
) -> tuple[np.ndarray, np.ndarray]:
    """Stack (T_b, ...) arrays into (B, max T, ...) followed by zeros, and their lengths (B,).

    >>> padded, lengths = pad([np.ones((2, 1)), np.ones((3, 1))], float)
    >>> padded[:, :, 0].tolist(), lengths.tolist()
    ([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]], [2, 3])
    """
    lengths = np.asarray([len(s) for s in signals])
    padded = make((len(signals), lengths.max(), *signals[0].shape[1:]), dtype=dtype)
    if (lengths == lengths[0]).all():
        np.stack(signals, out=padded, casting="same_kind")
        return padded, lengths
    for row, signal in zip(padded, signals, strict=True):
        row[: len(signal)] = signal
        row[len(signal) :] = 0
    return padded, lengths


def _gpu_work(
    encode: Encode, signals: Sequence[np.ndarray], out: np.ndarray, dtype: Any, device: str
) -> Callable[[np.ndarray], None]:
    """Encode some rows on the thread's own stream, through page-locked memory: only copies from and
    to it overlap with computing.

    A result in page-locked memory, ``torch.empty(shape, pin_memory=True).numpy()``, is written
    directly.
    """
    torch = torch_for(device)
    # torch does not load its solvers in a thread-safe way
    torch.linalg.eigh(torch.eye(2, device=device))
    own = threading.local()
    plain = type(out) is np.ndarray and out.flags.c_contiguous and out.flags.writeable
    pinned = plain and out.dtype == dtype and torch.from_numpy(out).is_pinned()

    def buffer(name: str, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        held = getattr(own, name, None)
        if held is None or len(held) < size:
            held = torch.empty(size, dtype=torch.uint8, pin_memory=True)
            setattr(own, name, held)
        return held.numpy()[:size].view(dtype).reshape(shape)

    def work(rows: np.ndarray) -> None:
        if not hasattr(own, "stream"):
            own.stream = torch.cuda.Stream(device)
        with torch.cuda.device(own.stream.device), torch.cuda.stream(own.stream):
            padded, lengths = pad(
                [signals[i] for i in rows],
                dtype,
                lambda shape, dtype: buffer("source", shape, dtype),
            )
            features = _on_device(encode, padded, lengths, device)
            together = bool((np.diff(rows) == 1).all())
            target: Any = slice(rows[0], rows[-1] + 1) if together else rows
            direct = pinned and together
            held = out[target] if direct else buffer("target", tuple(features.shape), dtype)
            torch.from_numpy(held).copy_(features, non_blocking=True)
            own.stream.synchronize()
        if not direct:
            out[target] = held

    return work


def _on_device(
    encode: Encode, padded: np.ndarray, lengths: np.ndarray, device: str | None, n_threads: int = 1
) -> Any:
    if device is None:
        return encode(padded, lengths, n_threads)
    torch = torch_for(device)
    where = torch.device(device)
    try:
        # Asynchronous only from page-locked memory; a copy from ordinary memory waits.
        x = torch.from_numpy(padded).to(where, non_blocking=True)
        return encode(x, torch.as_tensor(lengths, device=where), 1)
    except torch.cuda.OutOfMemoryError:
        torch.cuda.empty_cache()
        if len(padded) == 1:
            raise DataError(
                f"one recording of {padded.shape[1]} frames does not fit into the GPU's memory"
            ) from None
    half = len(padded) // 2  # too large for the device: two halves give the same result
    return torch.cat(
        [
            _on_device(encode, padded[part, : lengths[part].max()], lengths[part], device)
            for part in (slice(None, half), slice(half, None))
        ]
    )


def torch_for(device: str) -> Any:
    """The module torch, or an error if it is not installed or lacks the device.

    >>> torch_for("abacus")
    Traceback (most recent call last):
    kerneton.exceptions...
    """
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError(
            f"device={device!r} needs PyTorch: pip install 'kerneton[torch]'"
        ) from error
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
