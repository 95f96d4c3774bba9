"""The file of an exported model: a table of arrays that libkerneton reads in place, see
core/model.cpp.

::

    header   magic "KERNETON", version, number of arrays, size, checksum of all that follows
    table    of each array: four letters, a number, its type, where it begins, how many numbers
    arrays   one after the other, each at a multiple of 64 bytes
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from kerneton.core import poses as core_poses
from kerneton.core.sck import runs_of
from kerneton.exceptions import ParameterError
from kerneton.kernels.power_norm import resolvents
from kerneton.kernels.sck import SCK
from kerneton.machine.svm import LinearSVM
from kerneton.prepare.preprocess import Preprocess

MAGIC, VERSION = b"KERNETON", 1
_ALIGNED = 64
_KINDS = {"uint8": 0, "int32": 1, "int64": 2, "float32": 3, "float64": 4}
_GROUP = 128  # numbers that share a factor
_BITS = {"coef": 12, "mean": 16, "cmns": 11}
_SIGNALS = {
    "position": 0,
    "velocity": 1,
    "acceleration": 2,
    "bone": 3,
    "direction": 0,  # from positions, scaled to unit length
    "from_first": 4,
    "from_mean": 5,
    "travel": 6,
}
_BONES = {None: 0, "reference": 1, "size": 2}


def model_bytes(model: Any) -> bytes:
    """A fitted recogniser as the bytes of a .knx file; what cannot be exported is refused with the
    reason.

    >>> from kerneton import make_actions, make_recognizer
    >>> data = make_actions(["wave", "clap"], n_subjects=3, n_takes=1)
    >>> model_bytes(make_recognizer(view="free", mirror=True).fit(data, data.labels))[:8]
    b'KERNETON'
    """
    check_exportable(model)
    arrays = {("meta", 0): None, **_shared_arrays(model)}
    steps: list[Preprocess] = []
    start = 0
    for number, branch in enumerate(model.branches_.values()):
        step, kernel = branch.preprocess_, branch.kernel_
        if not any(step is other for other in steps):
            arrays |= _step_arrays(step, len(steps))
            steps.append(step)
        place = next(k for k, other in enumerate(steps) if other is step)
        width = int(np.sum(kernel.block_sizes_))
        columns = slice(start, start + width)
        arrays |= _cue_arrays(branch, number, place, model, columns)
        start += width
    n_labels, machines = len(model.classes_), len(np.atleast_2d(model.machine_.coef_))
    arrays["meta", 0] = np.array(
        [
            n_labels,
            model.n_joints_in_,
            model.calibration_ is not None,
            model.timed_ is True,
            len(steps),
            len(model.branches_),
            machines,
        ],
        np.int64,
    )
    return _file(arrays)


def check_exportable(model: Any) -> None:
    """Refuse what libkerneton cannot compute, before any work."""
    problems = []
    if not isinstance(getattr(model, "machine_", None), LinearSVM):
        problems.append(f"its classifier is {type(model.machine_).__name__}, expected LinearSVM")
    for name, branch in model.branches_.items():
        kernel, step = branch.kernel_, branch.preprocess_
        if type(kernel) is not SCK:
            problems.append(
                f"its cue {name!r} is a {type(kernel).__name__}, and only SCK is exported"
            )
        elif kernel.order != 2:
            problems.append(
                f"its cue {name!r} has tensors of order {kernel.order}, and only order 2 is exported"
            )
        elif unknown := {part.name for part in kernel._map.parts} - set(_SIGNALS):
            problems.append(f"its cue {name!r} uses the signal {', '.join(sorted(unknown))}")
        if type(step) is not Preprocess or step.n_frames or step.gaps != "fill":
            problems.append(
                f"the poses of its cue {name!r} are not made by Preprocess with gaps='fill'"
            )
    if problems:
        raise ParameterError(
            f"this model cannot be exported: {'; '.join(problems)}. The default recogniser, "
            "make_recognizer(), and preset 'auto' can"
        )


def _shared_arrays(model: Any) -> dict[tuple[str, int], np.ndarray]:
    layout = model.branches_[next(iter(model.branches_))].preprocess_.layout_
    written = layout.joints
    calibration = model.calibration_
    training = getattr(model, "training_", None) or {}
    frames = float((training.get("frames") or {}).get("median") or 60.0)
    rate = (training.get("conventions") or {}).get("fps") or 30.0
    numbers = [1.0, 0.0, 0.0, 0.0, 1.0]
    if calibration is not None:
        numbers = [calibration.sharpness_, *calibration.unknown_weights_, calibration.threshold_]
    parents = np.full(len(layout.joints), -1, np.int64)
    for parent, child in layout.bones:
        parents[child] = parent
    found = {
        ("labl", 0): _texts([str(label) for label in model.classes_]),
        ("jnts", 0): _texts(list(written)),
        ("bone", 0): np.asarray(layout.bones, np.int64).reshape(-1),
        ("prnt", 0): parents,
        ("taps", 0): np.stack([core_poses.taps(order) for order in (1, 2)]),
        ("icpt", 0): np.asarray(model.machine_.intercept_, np.float64).reshape(-1),
        ("nmbr", 0): np.array([*numbers, frames / rate if model.timed_ else frames], np.float64),
    }
    if calibration is not None:
        found["usul", 0] = np.asarray(calibration.usual_likeness_, np.float64)
    return found


def _step_arrays(step: Preprocess, number: int) -> dict[tuple[str, int], np.ndarray]:
    placing = step.placing(step.facing)
    facts = [_BONES[step.bones], placing.turn, placing.each_frame, placing.path]
    lengths = step.reference_ if step.bones else np.empty(0)
    return {
        ("step", number): np.array(facts, np.int64),
        ("root", number): np.asarray(placing.roots, np.int64),
        ("acro", number): np.asarray(placing.across, np.int64).reshape(-1),
        ("alon", number): np.asarray(placing.along, np.int64).reshape(-1),
        ("refr", number): np.asarray(lengths, np.float64),
    }


def _cue_arrays(
    branch: Any, number: int, step: int, model: Any, columns: slice
) -> dict[tuple[str, int], np.ndarray]:
    kernel, scale, calibration = branch.kernel_, branch.scale_, model.calibration_
    table, n_axes = kernel._map.table(), kernel.n_axes_
    parts = [part.name for part in kernel._map.parts]
    runs, factors, n_signal = runs_of(table)
    d = table.shape[1]
    n_entries = d * (d + 1) // 2
    rows = kernel.pairs_ if kernel.pairs else np.array([(j, -1) for j in kernel.joints_])
    mirror, permutations = kernel._mirror, None
    kept = np.stack([np.arange(len(rows))] * 2 + [np.zeros(len(rows), int)], axis=1)
    if mirror is not None:
        # Where entries of a block come from in the image's block: in one of two orders.
        moved = (
            mirror.source.reshape(len(mirror.kept), n_entries) - mirror.image[:, None] * n_entries
        )
        permutations, flipped = np.unique(moved, axis=0, return_inverse=True)
        permutations = np.resize(permutations, (2, n_entries))
        kept = np.stack([mirror.kept, mirror.image, flipped.reshape(-1)], axis=1)
    weights = np.ones(len(kept)) if kernel.weighting is None else np.sqrt(kernel.weights_)
    sides = np.stack([np.ones(len(kept)), np.zeros(len(kept))], axis=1)
    if mirror is not None:  # how much the recording and its mirror image count
        sides = np.stack([mirror.own[::n_entries], mirror.other[::n_entries]], axis=1)
    # Blocks of weight zero are nothing but their mean, which is zero as well.
    used = weights > 0 if (weights > 0).any() else np.ones(len(kept), bool)
    by_block = np.repeat(used, n_entries)
    mean = None if scale is None or scale.mean_ is None else np.asarray(scale.mean_, np.float32)
    floor = 0.0
    if mean is not None:
        floor = 4 * float(np.finfo(np.float32).eps) * float(np.linalg.norm(scale.mean_))
    unit = sum(1 << k for k, name in enumerate(parts) if name == "direction")
    present = np.unique(kept[used][:, :2])
    renamed = np.zeros(len(rows), int)
    renamed[present] = np.arange(len(present))
    kept = np.column_stack([renamed[kept[used][:, :2]], kept[used][:, 2]])
    # The core divides sums by √J; fewer rows are another J.
    weights = weights * (len(present) / len(rows)) ** (kernel.power / 2)
    poles = resolvents(kernel.power, np.dtype(np.float32)) if kernel.power < 1 else None
    norm = scale is not None and scale.norm
    facts = [
        *(step, len(parts), len(present), d, d - n_signal, len(runs), factors.shape[1], unit),
        *(mirror is not None, len(kept), n_axes, mean is not None, norm, poles is not None),
    ]
    found = {
        ("cue ", number): np.array(facts, np.int64),
        ("sgnl", number): np.array([_SIGNALS[name] for name in parts], np.int64),
        ("rows", number): np.asarray(rows, np.int64)[present].reshape(-1),
        ("runs", number): np.asarray(runs, np.int64).reshape(-1),
        ("scal", number): np.repeat([kernel.scales_[name] for name in parts], n_axes).astype(
            np.float32
        ),
        ("fact", number): np.asarray(factors, np.float64).reshape(-1),
        ("time", number): np.ascontiguousarray(table[1:, n_signal:]).reshape(-1),
        ("numb", number): np.array([kernel.power, branch.weight, floor]),
        ("kept", number): kept.astype(np.int32).reshape(-1),
        ("wght", number): (sides * weights[:, None])[used].astype(np.float32).reshape(-1),
    }
    coefficients = np.atleast_2d(model.machine_.coef_)[:, columns][:, by_block]
    found["coef", number], found["cfac", number] = packed(coefficients, _BITS["coef"])
    if poles is not None:
        found["pole", number] = np.asarray(poles, np.float64).reshape(-1)
    if permutations is not None:
        found["perm", number] = permutations.astype(np.int32).reshape(-1)
    if mean is not None:
        found["mean", number], found["nfac", number] = packed(mean[by_block], _BITS["mean"])
    if calibration is not None:
        means = calibration.class_means_[:, columns][:, by_block]
        found["cmns", number], found["mfac", number] = packed(means, _BITS["cmns"])
    return found


def packed(values: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers rounded to a few bits, as bytes, and the factor of each group of 128.

    Errors are below half a step, of which a group's largest number has ``2^(bits - 1) - 1``, and
    cancel out in sums of many.

    >>> whole, factors = packed(np.array([1.0, -2.0, 0.5]), 12)
    >>> round((int(whole[0]) + 256 * int(whole[1])) % 4096 * float(factors[0]), 3)
    1.0
    """
    flat = np.asarray(values, np.float64).ravel()
    groups = np.r_[flat, np.zeros(-len(flat) % _GROUP)].reshape(-1, _GROUP)
    most = 2 ** (bits - 1) - 1
    factors = (np.abs(groups).max(axis=1) / most).astype(np.float32)
    exact = groups / np.where(factors > 0, factors, 1)[:, None]
    whole = np.rint(exact).clip(-most, most).astype(np.int16).ravel()[: len(flat)]
    digits = ((whole[:, None] >> np.arange(bits)) & 1).astype(np.uint8)
    return np.r_[np.packbits(digits, bitorder="little"), np.zeros(2, np.uint8)], factors


def _texts(names: list[str]) -> np.ndarray:
    return np.frombuffer(b"".join(name.encode() + b"\0" for name in names), np.uint8)


def _file(arrays: dict[tuple[str, int], Any]) -> bytes:
    table, body = bytearray(), bytearray()
    first = 32 + 32 * len(arrays)
    for (tag, number), array in arrays.items():
        array = np.ascontiguousarray(array)
        body += bytes(-(first + len(body)) % _ALIGNED)
        kind = _KINDS[array.dtype.name]
        table += struct.pack(
            "<4sIIIQQ", tag.encode(), number, kind, 0, first + len(body), array.size
        )
        body += array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    rest = bytes(table + body)
    return (
        struct.pack("<8sIIQQ", MAGIC, VERSION, len(arrays), 32 + len(rest), checksum(rest)) + rest
    )


def checksum(rest: bytes) -> int:
    """FNV-1a over words of eight bytes, as in core/model.cpp.

    >>> checksum(b"Kerneton") == checksum(b"kerneton")
    False
    """
    total, mask = 14695981039346656037, (1 << 64) - 1
    whole = len(rest) // 8 * 8
    for word in np.frombuffer(rest[:whole], "<u8").tolist():
        total = (total ^ word) * 1099511628211 & mask
        total ^= total >> 29
    for byte in rest[whole:]:
        total = (total ^ byte) * 1099511628211 & mask
    return total
