"""A jointed body: bone lengths, minimum-jerk curves, two-bone limbs, and the twenty joints they
give.

Body coordinates are those of a person who faces the camera: x to the person's right, y up, z
backwards, the ground at y = 0. They equal world coordinates up to a turn about y and a shift.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kerneton.data.layouts import KINECT_20

# from the shoulder: outwards, up, forwards, in arm lengths
ARM_AT_REST = np.array([0.07, -0.965, 0.06])


@dataclass(frozen=True)
class Body:
    """Lengths of one person; the defaults are in body heights, after the joints that depth cameras
    report.
    """

    ankle: float = 0.045  # above the ground
    shank: float = 0.235
    thigh: float = 0.235
    hip_drop: float = 0.04  # hip joints below the hip centre
    hip_width: float = 0.047  # half of it
    lower_back: float = 0.04  # hip centre to spine
    upper_back: float = 0.225  # spine to shoulder centre
    neck: float = 0.11  # shoulder centre to head
    shoulder_drop: float = 0.03
    shoulder_width: float = 0.105  # half of it
    upper_arm: float = 0.16
    forearm: float = 0.145
    hand: float = 0.045
    foot: float = 0.065

    @property
    def arm(self) -> float:
        return self.upper_arm + self.forearm

    @property
    def leg(self) -> float:
        return self.thigh + self.shank


@dataclass
class Motion:
    """What a body does over T frames, free of its size; every curve may be changed before it is
    posed.

    Hands are (T, 3) from their own shoulder, outwards, up and forwards, in arm lengths; feet
    likewise from where they stand, in leg lengths; the pelvis moves to the right, up and forwards
    in leg lengths. Angles are in radians.
    """

    n_frames: int
    # 1: arms turn with the trunk; 0: they hang and point as if it were upright
    arms_follow: float = 1.0
    hands: dict[str, np.ndarray] = field(init=False)
    # 0: elbow below the hand's line, 1: beside it
    elbows: dict[str, np.ndarray] = field(init=False)
    feet: dict[str, np.ndarray] = field(init=False)
    pelvis: np.ndarray = field(init=False)
    pitch: np.ndarray = field(init=False)  # trunk forwards
    roll: np.ndarray = field(init=False)  # trunk to the right
    twist: np.ndarray = field(init=False)  # right shoulder forwards
    nod: np.ndarray = field(init=False)  # head forwards
    tilt: np.ndarray = field(init=False)  # head to the right

    def __post_init__(self) -> None:
        n = self.n_frames
        self.hands = {side: np.tile(ARM_AT_REST, (n, 1)) for side in ("left", "right")}
        self.elbows = {side: np.zeros(n) for side in ("left", "right")}
        self.feet = {side: np.zeros((n, 3)) for side in ("left", "right")}
        self.pelvis = np.zeros((n, 3))
        self.pitch, self.roll, self.twist, self.nod, self.tilt = np.zeros((5, n))


def keys(phase: np.ndarray, times: list[float], values: object) -> np.ndarray:
    """Pass through key values at key times along minimum-jerk curves, at rest at each key.

    s ↦ 10 s³ - 15 s⁴ + 6 s⁵ between neighbours. ``phase`` is (T,), ``values`` (K,) or (K, d); the
    result is (T,) or (T, d).

    >>> keys(np.array([0.0, 0.5, 1.0, 2.0]), [0, 1], [0.0, 8.0])
    array([0., 4., 8., 8.])
    """
    knots, points = np.asarray(times, dtype=float), np.asarray(values, dtype=float)
    k = np.clip(np.searchsorted(knots, phase, side="right") - 1, 0, len(knots) - 2)
    s = np.clip((phase - knots[k]) / (knots[k + 1] - knots[k]), 0.0, 1.0)
    ease = s**3 * (10.0 + s * (6.0 * s - 15.0))
    ease = ease.reshape(-1, *(1,) * (points.ndim - 1))
    return points[k] + (points[k + 1] - points[k]) * ease


def bend(
    start: np.ndarray, target: np.ndarray, near: float, far: float, pole: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Middle and end of a two-bone limb that reaches for a target, bent towards the pole; all (T,
    3).

    A target out of reach is approached in its direction.

    >>> elbow, wrist = bend(
    ...     np.zeros((1, 3)), np.array([[0, 0, 9.0]]), 1.0, 1.0, np.array([[0, 1.0, 0]])
    ... )
    >>> wrist.round(2)
    array([[0., 0., 2.]])
    """
    reach = target - start
    length = np.linalg.norm(reach, axis=1, keepdims=True)
    along = reach / np.maximum(length, 1e-9)
    d = np.clip(length, abs(near - far) + 0.05 * near, 0.999 * (near + far))
    side = pole - (pole * along).sum(1, keepdims=True) * along
    side /= np.maximum(np.linalg.norm(side, axis=1, keepdims=True), 1e-9)
    cosine = (near**2 + d**2 - far**2) / (2 * near * d)
    middle = start + near * (cosine * along + np.sqrt(np.maximum(1 - cosine**2, 0)) * side)
    return middle, start + d * along


def pose(body: Body, motion: Motion) -> np.ndarray:
    """The joints of a body in motion, (T, 20, 3), in body coordinates."""
    n = motion.n_frames
    at: dict[str, np.ndarray] = {}
    stand = body.ankle + 0.985 * body.leg + body.hip_drop
    hip = np.array([0.0, stand, 0.0]) + body.leg * _world(motion.pelvis)
    at["hip_center"] = hip
    # The back bends over its length: the lower part turns half as far as the shoulders.
    lower = _turn(0.5 * motion.pitch, 0.5 * motion.roll, 0.3 * motion.twist)
    upper = _turn(motion.pitch, motion.roll, motion.twist)
    at["spine"] = hip + lower @ np.array([0.0, body.lower_back, 0.0])
    at["shoulder_center"] = at["spine"] + upper @ np.array([0.0, body.upper_back, 0.0])
    head = _turn(motion.pitch + motion.nod, motion.roll + motion.tilt, motion.twist)
    at["head"] = at["shoulder_center"] + head @ np.array([0.0, body.neck, -0.02])
    arms = _turn(motion.arms_follow * motion.pitch, motion.roll, motion.twist)
    hips = _turn(np.zeros(n), 0.3 * motion.roll, 0.2 * motion.twist)
    for side, sign in (("left", -1.0), ("right", 1.0)):
        _add_arm(at, body, motion, side, sign, upper, arms)
        _add_leg(at, body, motion, side, sign, hips)
    return np.stack([at[joint] for joint in KINECT_20.joints], axis=1)


def _add_arm(
    at: dict[str, np.ndarray],
    body: Body,
    motion: Motion,
    side: str,
    sign: float,
    upper: Any,
    arms: Any,
) -> None:
    """Add the joints of an arm; ``upper`` and ``arms`` are rotations (T, 3, 3) of the shoulders and
    of the arms.
    """
    socket = np.array([sign * body.shoulder_width, -body.shoulder_drop, 0.0])
    shoulder = at["shoulder_center"] + upper @ socket
    reach = body.arm * np.array([sign, 1.0, 1.0]) * _world(motion.hands[side])
    lift = motion.elbows[side]
    # the elbow of a hanging arm points backwards
    back = 0.5 * np.clip(-motion.hands[side][:, 1], 0.0, 1.0)
    pole = np.stack([sign * (0.35 + lift), lift - 1.0, back], axis=1)
    target = shoulder + np.einsum("tij,tj->ti", arms, reach)
    pole = np.einsum("tij,tj->ti", arms, pole)
    elbow, wrist = bend(shoulder, target, body.upper_arm, body.forearm, pole)
    at[f"{side}_shoulder"], at[f"{side}_elbow"], at[f"{side}_wrist"] = shoulder, elbow, wrist
    at[f"{side}_hand"] = wrist + body.hand / body.forearm * (wrist - elbow)


def _add_leg(
    at: dict[str, np.ndarray], body: Body, motion: Motion, side: str, sign: float, hips: np.ndarray
) -> None:
    hip = at["hip_center"] + hips @ np.array([sign * body.hip_width, -body.hip_drop, 0.0])
    stand = np.array([sign * 1.3 * body.hip_width, body.ankle, 0.0])
    target = stand + body.leg * np.array([sign, 1.0, 1.0]) * _world(motion.feet[side])
    pole = np.broadcast_to([0.15 * sign, 0.2, -1.0], hip.shape)
    knee, ankle = bend(hip, target, body.thigh, body.shank, pole)
    shin = (ankle - knee) / body.shank
    toes = np.array([0.2 * sign, 0.0, -1.0])
    toes = toes - (shin @ toes)[:, None] * shin
    toes /= np.linalg.norm(toes, axis=1, keepdims=True)
    at[f"{side}_hip"], at[f"{side}_knee"], at[f"{side}_ankle"] = hip, knee, ankle
    at[f"{side}_foot"] = ankle + body.foot * (0.9 * toes + 0.4 * shin)


def _world(vectors: np.ndarray) -> np.ndarray:
    """(right, up, forwards) to body coordinates, where z points backwards."""
    return vectors * np.array([1.0, 1.0, -1.0])


def _turn(pitch: np.ndarray, roll: np.ndarray, twist: np.ndarray) -> np.ndarray:
    """(T, 3, 3) rotations: lean forwards, then to the right, then bring the right shoulder
    forwards.
    """
    zero, one = np.zeros_like(pitch), np.ones_like(pitch)

    def matrix(*rows: list[np.ndarray]) -> np.ndarray:
        return np.moveaxis(np.array(rows), 2, 0)

    cp, sp, cr, sr, ct, st = (f(a) for a in (pitch, roll, twist) for f in (np.cos, np.sin))
    lean = matrix([one, zero, zero], [zero, cp, sp], [zero, -sp, cp])
    tip = matrix([cr, sr, zero], [-sr, cr, zero], [zero, zero, one])
    spin = matrix([ct, zero, st], [zero, one, zero], [-st, zero, ct])
    return spin @ tip @ lean
