"""Fourteen actions as motions of a right-handed person; similar ones differ in how they move, not
where.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kerneton.datasets._body import ARM_AT_REST, Motion, keys


@dataclass(frozen=True)
class Style:
    """How one person does one action in one take."""

    amplitude: float  # 1 is the usual size
    habit: np.ndarray  # (3,) offset of the hand that is usual for this person, in arm lengths
    variant: float  # in [0, 1): the person's choice among variants of the action
    chance: np.random.Generator  # of this take


def _hand(
    style: Style, outwards: float, up: float, forwards: float, *, free: float = 1.0
) -> np.ndarray:
    """The position of a hand, moved by habit as far as the action allows."""
    return np.array([outwards, up, forwards]) + free * style.habit


def _reach(phase: np.ndarray, times: list[float], points: list[np.ndarray]) -> np.ndarray:
    """A path (T, 3) through key points on arcs around the shoulder, as arms swing."""
    at = np.asarray(points, dtype=float)
    far = np.linalg.norm(at, axis=1)
    way = at / far[:, None]
    k, ease = np.divmod(keys(phase, times, np.arange(len(at))), 1.0)
    a = k.astype(int)
    b = np.minimum(a + 1, len(at) - 1)
    angle = np.arccos(np.clip((way[a] * way[b]).sum(1), -1.0, 1.0)) + 1e-9
    near, next_ = np.sin((1 - ease) * angle) / np.sin(angle), np.sin(ease * angle) / np.sin(angle)
    towards = near[:, None] * way[a] + next_[:, None] * way[b]
    return towards * (far[a] + ease * (far[b] - far[a]))[:, None]


def _raised(phase: np.ndarray, path: np.ndarray, end: float) -> np.ndarray:
    """A path (T, 3) that the hand reaches from rest and leaves after phase ``end``."""
    shown = keys(phase, [0, 0.2, end, 1], [0, 1, 1, 0])[:, None]
    return ARM_AT_REST + shown * (path - ARM_AT_REST)


def _cycles(phase: np.ndarray, start: float, end: float, n: float) -> np.ndarray:
    """An angle that turns n times between two phases, speeding up and slowing down at the ends."""
    linear = np.clip((phase - start) / (end - start), 0.0, 1.0)
    return 2 * np.pi * n * (0.7 * linear + 0.3 * keys(phase, [start, end], [0.0, 1.0]))


def wave(phase: np.ndarray, style: Style) -> Motion:
    """Raise a hand and swing it from side to side."""
    motion = Motion(len(phase))
    hold = _hand(style, 0.3, 0.5, 0.3)
    motion.hands["right"] = _reach(phase, [0, 0.22, 0.8, 1], [ARM_AT_REST, hold, hold, ARM_AT_REST])
    n = int(style.chance.integers(2, 5))
    swing = keys(phase, [0.14, 0.24, 0.76, 0.86], [0, 1, 1, 0]) * np.sin(
        _cycles(phase, 0.16, 0.84, n)
    )
    motion.hands["right"] += 0.24 * style.amplitude * swing[:, None] * [1.0, -0.25, 0.0]
    motion.elbows["right"] = keys(phase, [0, 0.22, 0.8, 1], [0, 0.25, 0.25, 0])
    motion.roll = 0.03 * swing
    return motion


def _draw(phase: np.ndarray, style: Style, figure: np.ndarray) -> Motion:
    """Trace a figure (T, 2) on the plane in front of the chest, in units of its half size."""
    motion = Motion(len(phase))
    across, up = figure.T
    path = _hand(style, -0.15, 0.1, 0.62) + 0.32 * style.amplitude * np.stack(
        [across, up, 0.08 * up], axis=1
    )
    motion.hands["right"] = _raised(phase, path, 0.84)
    return motion


def draw_circle(phase: np.ndarray, style: Style) -> Motion:
    """Trace a circle in the air, either way round, from the top."""
    way = 1.0 if style.variant < 0.7 else -1.0
    angle = way * _cycles(phase, 0.17, 0.87, style.chance.choice([1.0, 1.0, 1.25]))
    return _draw(phase, style, np.stack([np.sin(angle), np.cos(angle)], axis=1))


def draw_x(phase: np.ndarray, style: Style) -> Motion:
    """Trace two crossing strokes in the air."""
    strokes = np.array([[-1.0, 1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, -1.0]]) * 0.9
    if style.variant > 0.6:
        strokes = strokes[[2, 3, 0, 1]]
    return _draw(phase, style, keys(phase, [0.2, 0.42, 0.6, 0.84], strokes))


def drink(phase: np.ndarray, style: Style) -> Motion:
    """Lift something to the mouth, lean the head back, put it down."""
    motion = Motion(len(phase))
    mouth = _hand(style, -0.24, 0.1, 0.34, free=0.5)
    tipped = mouth + [0.0, 0.07, -0.02]
    times = [0, 0.3, 0.42, 0.62, 0.72, 1]
    motion.hands["right"] = _reach(
        phase, times, [ARM_AT_REST, mouth, tipped, tipped, mouth, ARM_AT_REST]
    )
    motion.elbows["right"] = keys(phase, times, [0, 0.1, 0.35, 0.35, 0.1, 0])
    motion.nod = keys(phase, times, [0, 0.05, -0.25, -0.25, 0, 0]) * style.amplitude
    return motion


def answer_phone(phase: np.ndarray, style: Style) -> Motion:
    """Lift something to the ear, hold it there, put it down."""
    motion = Motion(len(phase))
    ear = _hand(style, -0.1, 0.1, 0.22, free=0.5)
    down = style.chance.uniform(0.68, 0.8)
    times = [0, 0.3, down, 1]
    motion.hands["right"] = _reach(phase, times, [ARM_AT_REST, ear, ear, ARM_AT_REST])
    motion.elbows["right"] = keys(phase, times, [0, 0.15, 0.15, 0])
    motion.tilt = keys(phase, times, [0, 0.12, 0.12, 0])
    return motion


def clap(phase: np.ndarray, style: Style) -> Motion:
    """Bring both hands together in front, several times."""
    motion = Motion(len(phase))
    n = int(style.chance.integers(2, 6))
    apart = 0.5 - 0.5 * np.cos(_cycles(phase, 0.2, 0.82, n))
    for side in ("left", "right"):
        together = _hand(style, -0.28, -0.25, 0.42)
        path = together + 0.38 * style.amplitude * apart[:, None] * [1.0, 0.0, -0.15]
        motion.hands[side] = _raised(phase, path, 0.82)
        motion.elbows[side] = 0.2 * keys(phase, [0, 0.2, 0.82, 1], [0, 1, 1, 0])
    return motion


def pass_over(phase: np.ndarray, style: Style) -> Motion:
    """Hand something from one hand to the other, and perhaps back."""
    motion = Motion(len(phase))
    n = 1 if style.variant < 0.5 else 2
    meeting = 0.5 - 0.5 * np.cos(_cycles(phase, 0.18, 0.84, n))
    for side in ("left", "right"):
        aside, middle = _hand(style, 0.08, -0.35, 0.38), _hand(style, -0.27, -0.28, 0.45)
        path = aside + meeting[:, None] * (middle - aside) * [style.amplitude**0.5, 1.0, 1.0]
        motion.hands[side] = _raised(phase, path, 0.82)
    motion.twist = 0.12 * np.sin(_cycles(phase, 0.18, 0.84, n))
    return motion


def punch(phase: np.ndarray, style: Style) -> Motion:
    """Strike forwards from a guard, once or twice."""
    motion = Motion(len(phase))
    guard, out = (
        _hand(style, -0.14, -0.06, 0.38),
        _hand(style, -0.2, 0.02, 0.62 + 0.3 * style.amplitude),
    )
    n = int(style.chance.integers(1, 3))
    strikes = np.linspace(0.25, 0.78, 2 * n + 1)
    path = [ARM_AT_REST, *([guard, out] * n), guard, ARM_AT_REST]
    motion.hands["right"] = keys(phase, [0, *strikes, 1], path)
    motion.hands["left"] = keys(phase, [0, 0.25, 0.78, 1], [ARM_AT_REST, guard, guard, ARM_AT_REST])
    motion.twist = style.amplitude * keys(
        phase, [0, *strikes, 1], [0, *([-0.15, 0.45] * n), -0.1, 0]
    )
    motion.pitch = keys(phase, [0, *strikes, 1], [0, *([0.03, 0.12] * n), 0.03, 0])
    return motion


def throw(phase: np.ndarray, style: Style) -> Motion:
    """Reach back over the shoulder and throw forwards."""
    motion = Motion(len(phase))
    back, release = _hand(style, 0.3, 0.42, -0.2), _hand(style, -0.1, 0.3, 0.8)
    front, after = _hand(style, 0.2, 0.05, 0.45), _hand(style, -0.35, -0.45, 0.5)
    times = [0, 0.38, 0.55, 0.7, 1]
    path = [ARM_AT_REST, front, back, release, after, ARM_AT_REST]
    motion.hands["right"] = _reach(phase, [0, 0.2, *times[1:]], path)
    motion.elbows["right"] = keys(phase, [0, 0.2, *times[1:]], [0, 0.3, 0.7, 0.3, 0.1, 0])
    balance = [ARM_AT_REST, [0.0, -0.35, 0.6], [0.15, -0.7, 0.2], ARM_AT_REST]
    motion.hands["left"] = keys(phase, [0, 0.38, 0.6, 1], balance)
    motion.twist = style.amplitude * keys(phase, times, [0, -0.55, 0.3, 0.45, 0])
    motion.pitch = style.amplitude * keys(phase, times, [0, -0.1, 0.1, 0.25, 0])
    motion.pelvis[:, 2] = keys(phase, times, [0, -0.05, 0.04, 0.08, 0])
    return motion


def kick(phase: np.ndarray, style: Style) -> Motion:
    """Swing one leg back and kick forwards."""
    motion = Motion(len(phase))
    times = [0, 0.3, 0.52, 0.75, 1]
    high = 0.32 * style.amplitude
    path = [[0, 0, 0], [0, 0.18, -0.3], [-0.05, high, 0.62], [0, 0.1, 0.1], [0, 0, 0]]
    motion.feet["right"] = keys(phase, times, path)
    motion.pitch = keys(phase, times, [0, 0.12, -0.15, 0, 0])
    motion.pelvis[:, 0] = keys(phase, [0, 0.2, 0.8, 1], [0, -0.06, -0.06, 0])
    spread = keys(phase, times, [0, 0.5, 1, 0.4, 0])[:, None] * style.amplitude
    motion.hands["right"] += spread * [0.25, 0.12, -0.2]
    motion.hands["left"] += spread * [0.25, 0.15, 0.3]
    motion.roll = keys(phase, [0, 0.3, 0.7, 1], [0, -0.06, -0.06, 0])
    return motion


def pick_up(phase: np.ndarray, style: Style) -> Motion:
    """Bend down, take something from the ground, rise."""
    motion = Motion(len(phase), arms_follow=0.25)
    down = style.chance.uniform(0.38, 0.5)
    times = [0, down, down + 0.1, 1]
    low = -0.42 - 0.16 * (style.variant - 0.5)  # some bend their knees, others their back
    motion.pelvis = keys(phase, times, [[0, 0, 0], [0, low, -0.25], [0, low, -0.25], [0, 0, 0]])
    lean = 1.15 + 0.3 * (style.variant - 0.5)
    motion.pitch = keys(phase, times, [0, lean, lean, 0.02])
    floor, held = _hand(style, -0.1, -0.92, 0.2), _hand(style, -0.05, -0.6, 0.3)
    motion.hands["right"] = keys(phase, times, [ARM_AT_REST, floor, floor, held])
    low_left = [0.0, -0.75, 0.25]
    motion.hands["left"] = keys(phase, times, [ARM_AT_REST, low_left, low_left, ARM_AT_REST])
    motion.nod = keys(phase, times, [0, -0.2, -0.2, 0])
    return motion


def bow(phase: np.ndarray, style: Style) -> Motion:
    """Lean forwards from the hips, pause, rise."""
    motion = Motion(len(phase), arms_follow=0.35 if style.variant < 0.6 else 0.9)
    times = [0, 0.4, style.chance.uniform(0.5, 0.65), 1]
    lean = 0.85 * style.amplitude
    motion.pitch = keys(phase, times, [0, lean, lean, 0])
    motion.nod = keys(phase, times, [0, 0.2, 0.2, 0])
    motion.pelvis = keys(phase, times, [[0, 0, 0], [0, -0.03, -0.16], [0, -0.03, -0.16], [0, 0, 0]])
    return motion


def sit_down(phase: np.ndarray, style: Style) -> Motion:
    """Lower oneself onto a seat."""
    motion = Motion(len(phase), arms_follow=0.6)
    times = [0, 0.55, 0.85, 1]
    seat = np.array([0.0, -0.47, -0.46])
    motion.pelvis = keys(phase, [0, 0.75], [0 * seat, seat])
    motion.pitch = keys(phase, times, [0, 0.6 * style.amplitude, 0.05, 0.05])
    motion.nod = keys(phase, times, [0, -0.15, 0, 0])
    lap = _hand(style, -0.1, -0.62, 0.42)
    for side in ("left", "right"):
        motion.hands[side] = keys(phase, times, [ARM_AT_REST, [0.05, -0.75, 0.45], lap, lap])
    return motion


def stand_up(phase: np.ndarray, style: Style) -> Motion:
    """Rise from a seat: sitting down played backwards, which only the order of poses shows."""
    return sit_down(1.0 - phase, style)


def wander(phase: np.ndarray, style: Style) -> Motion:
    """None of the actions: hands, trunk and feet go to random places, at rest at both ends."""
    motion, chance = Motion(len(phase)), style.chance
    n = int(chance.integers(2, 6))
    times = [0.0, *np.linspace(0.1, 0.9, n), 1.0]
    for side in ("left", "right"):
        if chance.uniform() < 0.75:
            places = chance.uniform([-0.3, -0.9, -0.2], [0.6, 0.5, 0.7], (n, 3))
            motion.hands[side] = keys(phase, times, [ARM_AT_REST, *places, ARM_AT_REST])
        if chance.uniform() < 0.3:
            steps = chance.uniform([-0.1, 0.0, -0.25], [0.15, 0.15, 0.25], (n, 3))
            motion.feet[side] = keys(phase, times, [np.zeros(3), *steps, np.zeros(3)])
    for name, most in (("pitch", 0.3), ("roll", 0.15), ("twist", 0.4), ("nod", 0.3), ("tilt", 0.2)):
        if chance.uniform() < 0.5:
            setattr(motion, name, keys(phase, times, [0.0, *chance.uniform(-most, most, n), 0.0]))
    return motion


def rest(phase: np.ndarray, style: Style) -> Motion:  # noqa: ARG001
    """Stand, arms hanging."""
    return Motion(len(phase))


ACTIONS: dict[
    str, tuple[Callable[[np.ndarray, Style], Motion], float]
] = {  # with their usual durations in seconds
    "wave": (wave, 2.7),
    "draw circle": (draw_circle, 2.6),
    "draw X": (draw_x, 2.6),
    "drink": (drink, 2.6),
    "answer phone": (answer_phone, 2.6),
    "clap": (clap, 2.2),
    "pass hand to hand": (pass_over, 2.3),
    "punch": (punch, 1.8),
    "throw": (throw, 2.0),
    "kick": (kick, 1.7),
    "pick up": (pick_up, 2.4),
    "bow": (bow, 2.2),
    "sit down": (sit_down, 2.0),
    "stand up": (stand_up, 1.9),
}
