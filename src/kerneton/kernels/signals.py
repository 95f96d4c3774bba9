"""What SCK and DCK look at: signals of a recording, each a function of its joints.

A new cue is one function here and one line in `SIGNALS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.ndimage import gaussian_filter1d

from kerneton.data.layouts import Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError


def position(sequence: SkeletonSequence) -> np.ndarray:
    """The joints as they are, (T, J, 3)."""
    return sequence.joints


def velocity(sequence: SkeletonSequence) -> np.ndarray:
    """Change a second, or a frame where the rate is unknown, (T, J, 3).

    The derivative of a Gaussian one frame wide: differences of single frames mostly show a sensor's jitter.
    """
    return _derivative(sequence, 1)


def acceleration(sequence: SkeletonSequence) -> np.ndarray:
    """Change of the velocity, (T, J, 3)."""
    return _derivative(sequence, 2)


def _derivative(sequence: SkeletonSequence, order: int) -> np.ndarray:
    if sequence.n_frames == 1:
        return np.zeros_like(sequence.joints)
    # From the first pose on: the filter's weights, cut at four frames, do not quite sum to zero.
    moved = sequence.joints - sequence.joints[:1]
    slope = gaussian_filter1d(moved, 1.0, axis=0, order=order, mode="nearest")
    return slope * sequence.joints.dtype.type((sequence.fps or 1.0) ** order)


def bone(sequence: SkeletonSequence) -> np.ndarray:
    """Unit vector along the bone that ends in each joint, (T, J, 3); zero for the root."""
    layout = layout_with_bones(sequence)
    out = np.zeros_like(sequence.joints)
    parents, children = np.asarray(layout.bones).T
    vectors = sequence.joints[:, children] - sequence.joints[:, parents]
    norm = np.linalg.norm(vectors, axis=2, keepdims=True)
    out[:, children] = np.divide(vectors, norm, out=np.zeros_like(vectors), where=norm > 0)
    return out


def direction(sequence: SkeletonSequence) -> np.ndarray:
    """Unit vector from the origin to each joint, or from one joint of a pair to the other, (T, J, 3).

    Distance is dropped. Between joints that are close to each other a few centimetres change it much: a hand at the mouth
    and one at the ear.
    """
    norm = np.linalg.norm(sequence.joints, axis=2, keepdims=True)
    return np.divide(sequence.joints, norm, out=np.zeros_like(sequence.joints), where=norm > 0)


def from_first(sequence: SkeletonSequence) -> np.ndarray:
    """Displacement from the first pose, (T, J, 3)."""
    return sequence.joints - sequence.joints[:1]


def from_mean(sequence: SkeletonSequence) -> np.ndarray:
    """Displacement from the mean pose, (T, J, 3)."""
    return sequence.joints - sequence.joints.mean(axis=0, keepdims=True)


SIGNALS: dict[str, Callable[[SkeletonSequence], np.ndarray]] = {
    "position": position,
    "velocity": velocity,
    "acceleration": acceleration,
    "bone": bone,
    "direction": direction,
    "from_first": from_first,
    "from_mean": from_mean,
}

# Metres and unit vectors fit the pivots' interval as they are; the size of a velocity depends on the frame rate
# and the action, so its scale is learnt from the training recordings.
SCALED = frozenset({"velocity", "acceleration"})


def learn_scale(name: str, sequences: Sequence[SkeletonSequence], joints: Sequence[int]) -> float:
    """1, or for signals without a natural size what brings the fast tenth of the training motion to ±1.

    >>> walk = SkeletonSequence(np.arange(300.0).reshape(100, 1, 3))
    >>> learn_scale("position", [walk], [0]), round(learn_scale("velocity", [walk], [0]), 3)
    (1.0, 0.333)
    """
    if name not in SCALED:
        return 1.0
    sizes = [np.abs(SIGNALS[name](s)[:, joints]).max(axis=(1, 2)) for s in sequences]
    size = float(np.quantile(np.concatenate(sizes), 0.9))
    return 1 / size if size > 0 else 1.0


def relative(sequence: SkeletonSequence, pairs: np.ndarray) -> SkeletonSequence:
    """Pairs of joints as pseudo-joints: x_i - x_j, (T, n_pairs, 3).

    >>> walk = SkeletonSequence(np.arange(12.0).reshape(1, 4, 3))
    >>> relative(walk, np.array([[3, 0]])).joints.tolist()
    [[[9.0, 9.0, 9.0]]]
    """
    joints = sequence.joints[:, pairs[:, 0]] - sequence.joints[:, pairs[:, 1]]
    return sequence.replace(joints=joints, confidence=None, layout=None)


def layout_with_bones(sequence: SkeletonSequence) -> Layout:
    """The recording's layout, or an error where it has no bones."""
    if sequence.layout is None or not sequence.layout.bones:
        name = sequence.layout.name if sequence.layout is not None else "none"
        raise DataError(f"bone directions need a layout with bones; this recording's layout is {name}")
    return sequence.layout
