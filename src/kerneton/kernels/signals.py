"""The inputs of SCK and DCK: signals of a recording, each a function of its joints.

A new signal is one function here and one line in `SIGNALS`.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Sequence

import numpy as np
from scipy.ndimage import gaussian_filter1d

from kerneton.data.layouts import Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError
from kerneton.machine.threads import one_blas_thread

log = logging.getLogger(__name__)
_FAR = 0.9  # of the coordinates beyond the pivots: the kernel would depend on little but time

_TAPS = 4  # frames on either side that a derivative uses
_FRAMES = 64  # differentiated by one matrix product


def position(sequence: SkeletonSequence) -> np.ndarray:
    """Positions of the joints, (T, J, 3)."""
    return sequence.joints


def velocity(sequence: SkeletonSequence) -> np.ndarray:
    """Change per second, or per frame if the rate is unknown, (T, J, 3).

    By the derivative of a Gaussian one frame wide: differences of single frames mostly show the jitter of the sensor.
    """
    return _derivative(sequence, 1)


def acceleration(sequence: SkeletonSequence) -> np.ndarray:
    """Change of the velocity, (T, J, 3)."""
    return _derivative(sequence, 2)


def _derivative(sequence: SkeletonSequence, order: int) -> np.ndarray:
    if sequence.n_frames == 1:
        return np.zeros_like(sequence.joints)
    # Relative to the first pose: the filter is cut off at four frames, so its weights do not exactly sum to zero.
    moved = sequence.joints - sequence.joints[:1]
    return _filtered(moved, order) * moved.dtype.type((sequence.fps or 1.0) ** order)


def _filtered(x: np.ndarray, order: int) -> np.ndarray:
    """``gaussian_filter1d(x, 1.0, axis=0, order=order, mode="nearest")`` as products with a band matrix: the same, faster."""
    n = len(x)
    at = np.clip(np.arange(-_TAPS, n + _TAPS), 0, n - 1)
    padded = x.reshape(n, -1).take(at, axis=0).astype(np.float64)
    band = _band(order)
    out = np.empty((n, padded.shape[1]), x.dtype)
    with one_blas_thread():
        for start in range(0, n, _FRAMES):
            m = min(_FRAMES, n - start)
            out[start : start + m] = band[:m, : m + 2 * _TAPS] @ padded[start : start + m + 2 * _TAPS]
    return out.reshape(x.shape)


@functools.cache
def _band(order: int) -> np.ndarray:
    """Weights of frames s - `_TAPS`, ..., s + `_TAPS` in the derivative at frame s, (`_FRAMES`, `_FRAMES` + 2 `_TAPS`)."""
    impulses = np.eye(_FRAMES + 2 * _TAPS)
    return gaussian_filter1d(impulses, 1.0, axis=0, order=order, mode="constant")[_TAPS:-_TAPS].copy()


def bone(sequence: SkeletonSequence) -> np.ndarray:
    """Unit vector along the bone that ends in each joint, (T, J, 3); zero for the root."""
    parents, children = _ends(layout_with_bones(sequence).bones)
    out = np.zeros_like(sequence.joints)
    out[:, children] = _units(sequence.joints.take(children, axis=1) - sequence.joints.take(parents, axis=1))
    return out


@functools.lru_cache(maxsize=64)
def _ends(bones: tuple[tuple[int, int], ...]) -> np.ndarray:
    """Parents and children, (2, n_bones)."""
    return np.asarray(bones).T


def _units(vectors: np.ndarray) -> np.ndarray:
    """Vectors (T, J, 3) scaled to unit length; zero stays zero."""
    norm = np.sqrt(np.einsum("tjk,tjk->tj", vectors, vectors))[:, :, None]
    return np.divide(vectors, norm, out=np.zeros_like(vectors), where=norm > 0)


def direction(sequence: SkeletonSequence) -> np.ndarray:
    """Unit vector from the origin to each joint, or from one joint of a pair to the other, (T, J, 3).

    It does not depend on the distance. Between joints close to each other it is sensitive to a few centimetres: a hand at the mouth or at
    the ear.
    """
    return _units(sequence.joints)


def from_first(sequence: SkeletonSequence) -> np.ndarray:
    """Displacement from the first pose, (T, J, 3)."""
    return sequence.joints - sequence.joints[:1]


def from_mean(sequence: SkeletonSequence) -> np.ndarray:
    """Displacement from the mean pose, (T, J, 3)."""
    return sequence.joints - sequence.joints.mean(axis=0, keepdims=True)


def travel(sequence: SkeletonSequence) -> np.ndarray:
    """Positions in space relative to the mean of the whole recording, (T, J, 3); for poses that are not centred."""
    return sequence.joints - sequence.joints.mean(axis=(0, 1), keepdims=True)


SIGNALS: dict[str, Callable[[SkeletonSequence], np.ndarray]] = {
    "position": position,
    "velocity": velocity,
    "acceleration": acceleration,
    "bone": bone,
    "direction": direction,
    "from_first": from_first,
    "from_mean": from_mean,
    "travel": travel,
}

# Metres and unit vectors fit the pivots' interval. The size of velocities depends on the frame rate and the
# action, and that of paths on what moves, so their scale is learned from the training recordings.
SCALED = frozenset({"velocity", "acceleration", "travel"})
FAST = 0.9  # of the values are below the one that is scaled to 1

# Linear signals: that of x_i - x_j is the difference of those of x_i and x_j, so they are computed per joint, not per pair.
DIFFERENCES = frozenset({"position", "velocity", "acceleration", "from_first", "from_mean", "bone"})


def signal_of(name: str, sequence: SkeletonSequence) -> np.ndarray:
    """A signal of a recording, (T, J, 3); stored signals are used if there are any (`keeping_signals`)."""
    kept = sequence.__dict__.get("_signals")
    if kept is None:
        return SIGNALS[name](sequence)
    if name not in kept:
        kept[name] = SIGNALS[name](sequence)
    return kept[name]


def keeping_signals(sequence: SkeletonSequence) -> SkeletonSequence:
    """A recording that stores its signals for several kernels that use the same poses; they must not be modified.

    >>> walk = keeping_signals(SkeletonSequence(np.ones((4, 2, 3))))
    >>> signal_of("velocity", walk) is signal_of("velocity", walk)
    True
    """
    copy = sequence.replace()
    copy.__dict__["_signals"] = {}
    return copy


def learn_scale(name: str, sequences: Sequence[SkeletonSequence], joints: Sequence[int]) -> float:
    """1, or for signals without a natural size the factor that scales the 90 % quantile of the training values to 1.

    >>> walk = SkeletonSequence(np.arange(300.0).reshape(100, 1, 3))
    >>> learn_scale("position", [walk], [0]), round(learn_scale("velocity", [walk], [0]), 3)
    (1.0, 0.333)
    """
    if name not in SCALED:
        return 1.0
    sizes = [np.abs(signal_of(name, s).take(joints, axis=1)).max(axis=(1, 2)) for s in sequences]
    size = float(np.quantile(np.concatenate(sizes), FAST))
    return 1 / size if size > 0 else 1.0


def relative(sequence: SkeletonSequence, pairs: np.ndarray) -> SkeletonSequence:
    """Pairs of joints as pseudo-joints: x_i - x_j, (T, n_pairs, 3).

    >>> walk = SkeletonSequence(np.arange(12.0).reshape(1, 4, 3))
    >>> relative(walk, np.array([[3, 0]])).joints.tolist()
    [[[9.0, 9.0, 9.0]]]
    """
    return sequence.replace(joints=_apart(sequence.joints, pairs), confidence=None, layout=None)


def pair_signal(name: str, sequence: SkeletonSequence, pairs: np.ndarray) -> np.ndarray:
    """A signal of pairs of joints, (T, n_pairs, 3); bones are compared by direction.

    >>> walk = SkeletonSequence(np.arange(12.0).reshape(1, 4, 3))
    >>> pair_signal("position", walk, np.array([[3, 0]])).tolist()
    [[[9.0, 9.0, 9.0]]]
    """
    if name in DIFFERENCES:
        return _apart(signal_of(name, sequence), pairs)
    return SIGNALS[name](relative(sequence, pairs))


def _apart(x: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    return x.take(pairs[:, 0], axis=1) - x.take(pairs[:, 1], axis=1)


def layout_with_bones(sequence: SkeletonSequence) -> Layout:
    """The recording's layout; an error if it has no bones."""
    if sequence.layout is None or not sequence.layout.bones:
        name = sequence.layout.name if sequence.layout is not None else "none"
        raise DataError(f"bone directions need a layout with bones; this recording's layout is {name}")
    return sequence.layout


def warn_of_far_joints(sequences: Sequence[SkeletonSequence], joints: Sequence[int], reach: float) -> None:
    """Warn if nearly all coordinates lie beyond the pivots, as those in millimetres do."""
    chosen = [s.joints[:, joints] for s in sequences]
    far = sum(int((np.abs(x) > reach).sum()) for x in chosen) / sum(x.size for x in chosen)
    if far > _FAR:
        log.warning(
            "%.0f%% of the coordinates are more than %.3g from the origin: are they in millimetres, or not centred? "
            "Kernels expect metres around the root of the body",
            100 * far,
            reach,
        )
