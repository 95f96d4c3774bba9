"""The branches of a recogniser on a GPU: recordings are copied there once, features are streamed
back.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kerneton.core.poses import taps
from kerneton.data.checks import check_sequences
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError
from kerneton.kernels.batches import group_by_length, pad, torch_for
from kerneton.kernels.cuda import launch
from kerneton.kernels.dck import DCK
from kerneton.kernels.sck import SCK
from kerneton.kernels.signals import SIGNALS
from kerneton.machine.arrays import asarray_like, index_like, namespace_of
from kerneton.machine.scaling import CenterNormalize
from kerneton.parallel.threads import in_threads
from kerneton.prepare.on_device import can_prepare, derivative, gaps, prepare
from kerneton.prepare.preprocess import without_gaps
from kerneton.recognize.branch import Branch

_KNOWN = {"position", "velocity", "acceleration", "bone", "direction"}
_STREAMS = 3  # one computes while the others copy data


def can_encode(branches: Sequence[Branch], sequences: Sequence[SkeletonSequence]) -> bool:
    """Whether all steps of these branches can run on a device, from recordings to features."""
    for branch in branches:
        kernel = branch.kernel_
        if (
            type(kernel) not in (SCK, DCK)
            or kernel.n_axes_ != 3
            or not set(_scales(kernel)) <= _KNOWN
        ):
            return False
        if not can_prepare(branch.preprocess_) or type(branch.scale_) is not CenterNormalize:
            return False
    alike = len({branch.preprocess_.gaps for branch in branches}) == 1
    return alike and all(s.joints.dtype == np.float32 for s in sequences)


def _scales(kernel: SCK | DCK) -> dict[str, float]:
    """The signals of a kernel, and by what each is multiplied."""
    return kernel.scales_ if type(kernel) is SCK else {kernel.signal_name: kernel.scale_}


def encode_on(
    branches: Sequence[Branch],
    sequences: Sequence[SkeletonSequence],
    device: str,
    use: Callable[[np.ndarray, Any], None],
    batch_bytes: int = 2**29,
) -> None:
    """Call ``use(positions, features)`` for every batch, with features (B, n_features) on the
    device; gaps are filled on the host.

    Three threads, each with its own stream and page-locked memory: one pads and copies while
    another computes.
    """
    torch = torch_for(device)
    on_gpu = torch.device(device).type == "cuda"
    width = 4 * sum(int(branch.kernel_.block_sizes_.sum()) for branch in branches)
    groups = group_by_length([s.n_frames for s in sequences], max(1, batch_bytes // width))
    own, lost = threading.local(), branches[0].preprocess_.gaps

    def empty(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        size = int(np.prod(shape))
        if not hasattr(own, "source") or len(own.source) < size:
            own.source = torch.empty(size, dtype=torch.float32, pin_memory=on_gpu)
        return own.source[:size].numpy().reshape(shape).view(dtype)

    def work(rows: np.ndarray) -> None:
        some = [sequences[i] for i in rows]
        padded, lengths = pad([s.joints for s in some], np.float32, empty)
        x = torch.from_numpy(padded).to(device, non_blocking=True)
        torn = gaps(x, index_like(np.arange(x.shape[1]), x) < index_like(lengths, x)[:, None])
        untrusted = [
            i
            for i, s in enumerate(some)
            if s.confidence is not None and not (s.confidence > 0).all()
        ]
        torn = np.union1d(torn, untrusted).astype(int)
        if len(torn):
            _fill(padded, lengths, torn, rows, sequences, lost)
            x[index_like(torn, x)] = torch.from_numpy(padded[torn]).to(device)
        use(rows, encode_batch(branches, x, index_like(lengths, x), [s.fps or 1.0 for s in some]))

    def on_stream(rows: np.ndarray) -> None:
        if not hasattr(own, "stream"):
            own.stream = torch.cuda.Stream(device)
        with torch.cuda.device(own.stream.device), torch.cuda.stream(own.stream):
            work(rows)
            own.stream.synchronize()

    in_threads(on_stream if on_gpu else work, groups, _STREAMS if on_gpu else 1)


def _fill(
    padded: np.ndarray,
    lengths: np.ndarray,
    torn: np.ndarray,
    rows: np.ndarray,
    sequences: Sequence[SkeletonSequence],
    lost: str,
) -> None:
    """Fill gaps in some recordings of a padded batch; impossible values are an error."""
    try:
        check_sequences([sequences[i] for i in rows[torn]], allow_missing=True)
    except DataError:
        check_sequences(sequences, allow_missing=True)  # whose error knows all positions
        raise
    for b in torn:
        joints = without_gaps(sequences[rows[b]], lost, int(rows[b]))
        lengths[b] = len(joints)
        padded[b, : len(joints)] = joints
        padded[b, len(joints) :] = 0


def features_on(
    branches: Sequence[Branch], sequences: Sequence[SkeletonSequence], device: str, out: Any = None
) -> Any:
    """Features (n, n_features) on the host, computed on a device; None if the host must encode.
    ``out`` may be page-locked.
    """
    torch = torch_for(device)
    if not can_encode(branches, sequences):
        return None
    if out is None:
        out = np.empty(
            (len(sequences), sum(int(b.kernel_.block_sizes_.sum()) for b in branches)), np.float32
        )
    pinned = torch.from_numpy(out).is_pinned()

    def use(rows: np.ndarray, found: Any) -> None:
        if pinned and (np.diff(rows) == 1).all():
            torch.from_numpy(out[rows[0] : rows[-1] + 1]).copy_(found, non_blocking=True)
        else:
            out[rows] = found.cpu().numpy()

    encode_on(branches, sequences, device, use)
    return out


def decide_on(
    model: Any, sequences: Sequence[SkeletonSequence]
) -> tuple[np.ndarray, np.ndarray | None] | None:
    """Decision values and, if calibrated, likeness to the classes; features stay on the device.

    None if the host must encode.
    """
    branches = [branch.run_on(device=model.device) for branch in model.branches_.values()]
    if not can_encode(branches, sequences):
        return None
    machine, calibration = model.machine_, model.calibration_
    rows = [machine.coef_] if calibration is None else [machine.coef_, calibration.class_means_]
    weights = torch_for(model.device).as_tensor(
        np.concatenate(rows).astype(np.float32), device=model.device
    )
    products = np.empty((len(sequences), len(weights)))

    def use(positions: np.ndarray, found: Any) -> None:
        products[positions] = (found @ weights.T).cpu().numpy()

    encode_on(branches, sequences, model.device, use)
    n = len(machine.coef_)
    decisions = (products[:, :n] + machine.intercept_).astype(np.float32)
    alike = None if calibration is None else products[:, n:]
    return decisions[:, 0] if n == 1 else decisions, alike


def encode_batch(branches: Sequence[Branch], x: Any, lengths: Any, fps: Sequence[float]) -> Any:
    """Features (B, n_features) of all branches, of padded recordings (B, T, J, 3) without gaps.

    Equal to `Recognizer.features` within 1e-3 of a feature vector's length, in single precision.
    """
    xp = namespace_of(x)
    poses: dict[int, dict[str, Any]] = {}
    rate = asarray_like(fps, x)
    features = []
    for branch in branches:
        step = branch.preprocess_
        known = poses.setdefault(id(step), {})
        if not known:
            known["position"] = prepare(step, x, lengths)
        features.append(_branch(branch, known, lengths, rate))
    return xp.cat(features, 1)


def _branch(branch: Branch, known: dict[str, Any], lengths: Any, rate: Any) -> Any:
    """Features of one branch from signals of joints, which are stored in ``known``."""
    kernel = branch.kernel_
    xp = namespace_of(lengths)
    scales = _scales(kernel)
    # Directions are computed from differences of positions.
    apart = type(kernel) is SCK and kernel.pairs
    unit = sum(1 << i for i, name in enumerate(scales) if apart and SIGNALS[name].unit)
    columns = []
    for i, (name, factor) in enumerate(scales.items()):
        name = "position" if unit >> i & 1 else name
        if name not in known:
            known[name] = _signal(
                name, known["position"], lengths, rate, branch.preprocess_.layout_
            )
        columns.append(known[name] if factor == 1 else known[name] * factor)
    features = _encode(kernel, xp.cat(columns, 3), lengths, unit)
    if kernel.weighting is not None:
        features *= asarray_like(np.repeat(np.sqrt(kernel.weights_), kernel.block_sizes_), features)
    scale = branch.scale_
    if scale.center:
        features -= asarray_like(scale.mean_, features)
    if scale.norm:
        norms = xp.linalg.vector_norm(features, dim=1, keepdim=True)
        features /= xp.where(norms > 0, norms, xp.ones_like(norms))
    return features if branch.weight == 1 else features * branch.weight


def _encode(kernel: SCK | DCK, signals: Any, lengths: Any, unit: int) -> Any:
    """Features (B, n_features) of a kernel before weights, from signals (B, T, J, C) of all
    joints.
    """
    if type(kernel) is not SCK:
        return kernel._encode_mirrored(signals, lengths)
    rows = kernel.pairs_ if kernel.pairs else np.array([(j, -1) for j in kernel.joints_])
    if kernel.order == 2 and kernel.power < 1:
        made = launch.sck_matrices(
            signals, lengths, rows, kernel._map.table(), kernel.power, unit=unit
        )
        if made is not None:
            made = made.reshape(len(signals), -1)
            return made if kernel._mirror is None else kernel._mirror.average(made)
    return kernel._encode_mirrored(_spread(signals, rows, unit), lengths)


def _signal(name: str, x: Any, lengths: Any, rate: Any, layout: Any) -> Any:
    """A signal of poses (B, T, J, 3); see `kerneton.kernels.signals`."""
    if name in ("velocity", "acceleration"):
        order = 1 if name == "velocity" else 2
        return derivative(x, lengths, taps(order), rate**order)
    if name == "direction":
        return _units(x)
    parents, children = index_like(np.asarray(layout.bones).T, x)
    out = namespace_of(x).zeros_like(x)
    out[:, :, children] = _units(x[:, :, children] - x[:, :, parents])
    return out


def _units(x: Any) -> Any:
    xp = namespace_of(x)
    norm = xp.linalg.vector_norm(x, dim=-1, keepdim=True)
    return xp.where(norm > 0, x / norm, xp.zeros_like(x))


def _spread(signals: Any, rows: np.ndarray, unit: int) -> Any:
    """Signals of rows, (B, T, n_rows, C), if no kernel subtracts pairs itself."""
    xp = namespace_of(signals)
    first, second = index_like(rows.T, signals)
    x = signals[:, :, first]
    if (rows[:, 1] >= 0).all():
        x = x - signals[:, :, second]
    parts = [x[..., 3 * i : 3 * i + 3] for i in range(x.shape[3] // 3)]
    return xp.cat([_units(part) if unit >> i & 1 else part for i, part in enumerate(parts)], 3)
