"""Features of fitted branches on a GPU: poses and signals from the core, features from kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from kerneton.cuda import launch
from kerneton.cuda.gpu import CannotError, Gpu
from kerneton.data.checks import check_sequences
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError
from kerneton.kernels.dck import DCK
from kerneton.kernels.mirroring import Mirror
from kerneton.kernels.prepared import Prepared
from kerneton.kernels.sck import SCK
from kerneton.machine.scaling import CenterNormalize
from kerneton.parallel.threads import count_threads, in_threads
from kerneton.prepare.frames import Frames
from kerneton.prepare.preprocess import check_gaps

_BATCH = 2**28  # bytes of features that are computed at a time


class Fitted(Protocol):
    """A fitted branch."""

    preprocess_: Any
    kernel_: Any
    scale_: Any
    weight: float


def encode(
    branches: Sequence[Fitted],
    recordings: Sequence[SkeletonSequence] | Frames,
    gpu: Gpu,
    *,
    weights: np.ndarray | None = None,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Features of fitted branches side by side, (n, n_features), written into ``out`` if given;
    with ``weights`` (k, n_features) their products (n, k): features then stay on the GPU.

    Equal to the core's within 1e-3 of a feature vector's length in single precision. What no kernel
    can do is a `CannotError`.
    """
    check_branches(branches)
    n, dtype = len(recordings), _precision(branches, recordings)
    width = sum(int(branch.kernel_.block_sizes_.sum()) for branch in branches)
    if out is None:
        out = np.empty((n, width if weights is None else len(weights)), dtype)
    size = max(1, _BATCH // (width * np.dtype(dtype).itemsize))
    # All cores make poses, unless fewer are asked for: one cannot keep a GPU busy.
    n_jobs = getattr(branches[0].kernel_, "n_jobs", None)
    n_threads = count_threads(-1 if n_jobs is None else n_jobs)
    n_streams = min(gpu.n_streams, -(-n // size))
    factors = None if weights is None else gpu.send(np.ascontiguousarray(weights.T, dtype))

    def work(first: int, last: int) -> None:
        part = _part(recordings, first, last)
        try:
            with gpu.stream():
                found = _features(branches, part, gpu, max(1, n_threads // n_streams))
                if factors is not None:
                    found = found @ factors.to(found.dtype)
                gpu.fetch(found, out[first:last])
        except Exception as error:
            if not gpu.is_full(error):
                raise
            middle = (first + last) // 2
            if middle == first:
                frames = part.starts[-1] if isinstance(part, Frames) else part[0].n_frames
                raise DataError(
                    f"one recording of {frames} frames does not fit into the GPU's memory"
                ) from error
            work(first, middle)
            work(middle, last)

    try:
        parts = [(first, min(first + size, n)) for first in range(0, n, size)]
        in_threads(lambda part: work(*part), parts, n_streams)
    except DataError:
        if not isinstance(recordings, Frames):  # an error that knows the places among all
            check_gaps(check_sequences(recordings, allow_missing=True))
        raise
    return out


def check_branches(branches: Sequence[Fitted]) -> None:
    """Refuse what no kernel can compute."""
    for branch in branches:
        kernel = branch.kernel_
        name = f"{type(kernel).__name__} with"
        if type(kernel) is SCK:
            if kernel.order == 1 or kernel.power == 1:
                raise CannotError(f"{name} order={kernel.order} and power={kernel.power:g}")
            if kernel.order == 3 and kernel.epn != "slices":
                raise CannotError(f"{name} epn={kernel.epn!r}")
            if kernel._mirror is not None and not kernel._mirrors_features():
                raise CannotError(f"{name} mirrored entries={kernel.entries!r}")
        elif type(kernel) is DCK:
            if not 0.75 <= kernel.power < 1:
                raise CannotError(f"{name} power={kernel.power:g}")
        else:
            raise CannotError(type(kernel).__name__)
        if branch.scale_ is not None and type(branch.scale_) is not CenterNormalize:
            raise CannotError(type(branch.scale_).__name__)


def _precision(
    branches: Sequence[Fitted], recordings: Sequence[SkeletonSequence] | Frames
) -> np.dtype:
    """That of the features: a branch may change that of the recordings."""
    if isinstance(recordings, Frames):
        return recordings.joints.dtype
    given = np.result_type(*{s.joints.dtype for s in recordings})
    return np.result_type(*[getattr(b.preprocess_, "dtype", None) or given for b in branches])


def _part(recordings: Any, first: int, last: int) -> Any:
    """Some of the recordings, one after the other."""
    if isinstance(recordings, Frames):
        return recordings.part(first, last)
    return list(recordings[first:last])


def _features(branches: Sequence[Fitted], part: Any, gpu: Gpu, n_threads: int) -> Any:
    """Features of all branches on the GPU, (B, n_features)."""
    if isinstance(part, Frames):
        frames = [part for _ in branches]
    else:
        check_sequences(part, allow_missing=True)
        prepared = Prepared(part, n_threads)
        frames = [prepared.poses(branch.preprocess_, branch.kernel_) for branch in branches]
    columns = [_branch(b, poses, gpu) for b, poses in zip(branches, frames, strict=True)]
    return columns[0] if len(columns) == 1 else gpu.torch.cat(columns, 1)


def _branch(branch: Fitted, frames: Frames, gpu: Gpu) -> Any:
    """Features of one branch, (B, n_features), mirrored, weighted, centred and scaled."""
    kernel, torch = branch.kernel_, gpu.torch
    starts = gpu.send(frames.starts.astype(np.int32))
    features = (_sck if type(kernel) is SCK else _dck)(kernel, frames, starts, gpu)
    features = features.reshape(len(frames), -1)
    if kernel._mirror is not None:
        features = _averaged(kernel._mirror, features, gpu)

    def row(values: np.ndarray) -> Any:
        return gpu.send(np.asarray(values, str(features.dtype).removeprefix("torch.")))

    if kernel.weighting is not None:
        features *= row(np.repeat(np.sqrt(kernel.weights_), kernel.block_sizes_))
    scale = branch.scale_
    if scale is not None and scale.center:
        features -= row(scale.mean_)
    if scale is not None and scale.norm:
        norms = torch.linalg.vector_norm(features, dim=1, keepdim=True)
        features /= torch.where(norms > 0, norms, torch.ones_like(norms))
    return features if branch.weight == 1 else features * branch.weight


def _sck(kernel: SCK, frames: Frames, starts: Any, gpu: Gpu) -> Any:
    """Features (B, n_rows, n_entries) of SCK before mirroring."""
    table = kernel._map.table()
    if kernel.order == 3:
        signals = _sent(kernel._signal(frames), gpu)
        return launch.sck_features(gpu, signals, starts, table, kernel.power, kernel.entries)
    signals, rows, unit = kernel._inputs(frames)
    axes = kernel.n_axes_
    scales = [kernel.scales_[part.name] for part in kernel._map.parts]
    together = gpu.host("source", (*signals[0].shape[:2], axes * len(signals)), signals[0].dtype)
    for i, (signal, factor) in enumerate(zip(signals, scales, strict=True)):
        np.multiply(
            signal[..., :axes],
            signal.dtype.type(factor),
            out=together[..., axes * i : axes * (i + 1)],
        )
    bits = sum(1 << i for i in unit)
    given = gpu.send(together), starts, np.asarray(rows), table, kernel.power
    return launch.sck_matrices(gpu, *given, unit=bits, axes=axes)


def _dck(kernel: DCK, frames: Frames, starts: Any, gpu: Gpu) -> Any:
    """Features (B, n_entries) of DCK before mirroring."""
    x = _sent(kernel._signal(frames)[:, list(kernel.joints_)], gpu)
    sums = launch.dck_sums(
        gpu,
        x,
        starts,
        int(frames.lengths.max()),
        kernel._local_pairs,
        sigma=kernel.sigma_joint,
        n_pivots=kernel.n_pivots_joint,
        reach=kernel._reach(),
        sigma_span=kernel.sigma_span,
        sigma_time=kernel.sigma_time,
        n_times=kernel.n_pivots_time,
        reach_time=kernel.pivot_margin * kernel.sigma_time,
        tol=kernel._tolerance(np.dtype(np.float32)),
    )
    sums = sums[:, :, : kernel.n_axes_ * kernel.n_pivots_joint]  # z may be zero throughout
    tensors = sums.reshape(-1, *sums.shape[2:])
    powers = launch.hosvd_power(gpu, tensors, kernel.power, kernel.entry_power)
    return powers.reshape(len(frames), -1)[:, gpu.send(kernel._entries)] * 2**0.5


def _sent(values: np.ndarray, gpu: Gpu) -> Any:
    """A copy on the GPU by way of page-locked memory."""
    held = gpu.host("source", values.shape, values.dtype)
    np.copyto(held, values)
    return gpu.send(held)


def _averaged(mirror: Mirror, features: Any, gpu: Gpu) -> Any:
    """Features averaged with those of the mirror images, (B, all) → (B, kept)."""
    kind = str(features.dtype).removeprefix("torch.")
    own, other = (gpu.send(share.astype(kind)) for share in (mirror.own, mirror.other))
    columns, source = (gpu.send(np.asarray(i, np.int64)) for i in (mirror.columns, mirror.source))
    return features[:, columns] * own + features[:, source] * other
