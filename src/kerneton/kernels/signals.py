"""The inputs of SCK and DCK: signals of recordings, each a function of their joints.

A new signal is one entry of `SIGNALS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kerneton.core import poses
from kerneton.data.notes import logger
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError
from kerneton.prepare.frames import Frames

log = logger(__name__)
_FAR = 0.9  # of the coordinates beyond the pivots: the kernel would depend on little but time
FAST = 0.9  # of the values are below the one that is scaled to 1


@dataclass(frozen=True)
class Signal:
    """A signal and what is known of it.

    ``of`` computes it from frames of recordings side by side, (N, J, 3) → (N, J, 3). The size of a
    ``scaled`` signal depends on the frame rate or the action, so its scale is learned from the
    training recordings. A ``linear`` signal of x_i - x_j is the difference of those of x_i and
    x_j, so it is computed per joint, not per pair. A ``unit`` signal is the direction of x.
    """

    of: Callable[[Frames], np.ndarray]
    scaled: bool = False
    linear: bool = False
    unit: bool = False

    def __call__(self, recording: SkeletonSequence | Frames) -> np.ndarray:
        """The signal of one recording, (T, J, 3), or of many side by side, (N, J, 3)."""
        return self.of(recording if isinstance(recording, Frames) else Frames.of([recording]))


def position(frames: Frames) -> np.ndarray:
    """Positions of the joints."""
    return frames.joints


def velocity(frames: Frames) -> np.ndarray:
    """Change per second, or per frame if the rate is unknown.

    By the derivative of a Gaussian one frame wide: differences of single frames mostly show the
    jitter of the sensor.
    """
    return _derivative(frames, 1)


def acceleration(frames: Frames) -> np.ndarray:
    """Change of the velocity."""
    return _derivative(frames, 2)


def bone(frames: Frames) -> np.ndarray:
    """Unit vector along the bone that ends in each joint; zero for the root."""
    layout = frames.layout
    if layout is None or not layout.bones:
        name = layout.name if layout is not None else "none"
        raise DataError(
            f"bone directions need a layout with bones; this recording's layout is {name}"
        )
    return poses.directions(frames.joints, layout.parents)


def direction(frames: Frames) -> np.ndarray:
    """Unit vector from the origin to each joint, or from one joint of a pair to the other.

    It does not depend on the distance. Between joints close to each other it is sensitive to a
    few centimetres: a hand at the mouth or at the ear.
    """
    return poses.directions(frames.joints)


def from_first(frames: Frames) -> np.ndarray:
    """Displacement from the first pose."""
    return _displacement(frames, poses.FROM_FIRST)


def from_mean(frames: Frames) -> np.ndarray:
    """Displacement from the mean pose."""
    return _displacement(frames, poses.FROM_MEAN)


def travel(frames: Frames) -> np.ndarray:
    """Positions in space relative to the mean of the whole recording; for poses that are not
    centred.
    """
    return _displacement(frames, poses.FROM_MIDDLE)


# Metres and unit vectors fit the pivots' interval. The size of velocities depends on the frame
# rate and the action, and that of paths on what moves.
SIGNALS: dict[str, Signal] = {
    "position": Signal(position, linear=True),
    "velocity": Signal(velocity, linear=True, scaled=True),
    "acceleration": Signal(acceleration, linear=True, scaled=True),
    "bone": Signal(bone, linear=True),
    "direction": Signal(direction, unit=True),
    "from_first": Signal(from_first, linear=True),
    "from_mean": Signal(from_mean, linear=True),
    "travel": Signal(travel, scaled=True),
}


def signal_of(name: str, frames: Frames) -> np.ndarray:
    """A signal of recordings side by side, (N, J, 3), computed once.

    >>> frames = Frames.of([SkeletonSequence(np.ones((4, 2, 3)))])
    >>> signal_of("velocity", frames) is signal_of("velocity", frames)
    True
    """
    return frames.once(name, lambda: SIGNALS[name].of(frames))


def learn_scale(name: str, frames: Frames, joints: Sequence[int]) -> float:
    """1, or for signals without a natural size what scales the 90 % quantile over frames to 1.

    >>> frames = Frames.of([SkeletonSequence(np.arange(300.0).reshape(100, 1, 3))])
    >>> learn_scale("position", frames, [0]), round(learn_scale("velocity", frames, [0]), 3)
    (1.0, 0.333)
    """
    if not SIGNALS[name].scaled:
        return 1.0
    signal = signal_of(name, frames)
    if tuple(joints) != tuple(range(frames.n_joints)):
        signal = signal.take(joints, axis=1)
    size = float(np.quantile(np.abs(signal).max(axis=(1, 2)), FAST))
    return 1 / size if size > 0 else 1.0


def relative(frames: Frames, pairs: np.ndarray) -> Frames:
    """Pairs of joints as pseudo-joints: x_i - x_j, (N, n_pairs, 3).

    >>> frames = Frames.of([SkeletonSequence(np.arange(12.0).reshape(1, 4, 3))])
    >>> relative(frames, np.array([[3, 0]])).joints.tolist()
    [[[9.0, 9.0, 9.0]]]
    """
    return frames.with_joints(_apart(frames.joints, pairs), None)


def pair_signal(name: str, frames: Frames, pairs: np.ndarray) -> np.ndarray:
    """A signal of pairs of joints, (N, n_pairs, 3); bones are compared by direction.

    >>> frames = Frames.of([SkeletonSequence(np.arange(12.0).reshape(1, 4, 3))])
    >>> pair_signal("position", frames, np.array([[3, 0]])).tolist()
    [[[9.0, 9.0, 9.0]]]
    """
    if SIGNALS[name].linear:
        return _apart(signal_of(name, frames), pairs)
    return SIGNALS[name].of(relative(frames, pairs))


def warn_of_far_joints(frames: Frames, joints: Sequence[int], reach: float) -> None:
    """Warn if nearly all coordinates lie beyond the pivots, as those in millimetres do."""
    chosen = frames.joints[:, joints]
    far = float((np.abs(chosen) > reach).mean())
    if far > _FAR:
        log.warning(
            "%.0f%% of the coordinates are more than %.3g from the origin: are they in millimetres, or not centred? "
            "Kernels expect metres around the root of the body",
            100 * far,
            reach,
        )


def _apart(x: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    return x.take(pairs[:, 0], axis=1) - x.take(pairs[:, 1], axis=1)


def _derivative(frames: Frames, order: int) -> np.ndarray:
    out, rates = np.empty_like(frames.joints), frames.rates**order
    given = frames.joints, frames.starts, order, rates
    frames.each(lambda first, last: poses.derivative(*given, first, last, out))
    return out


def _displacement(frames: Frames, origin: int) -> np.ndarray:
    out = np.empty_like(frames.joints)
    given = frames.joints, frames.starts, origin
    frames.each(lambda first, last: poses.displacement(*given, first, last, out))
    return out
