"""Recordings as small animations: few frames, whole numbers, and a still image for printing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from kerneton.data.layouts import Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.report.body import Body
from kerneton.report.scene import (
    ELEVATION,
    YAW,
    camera,
    facing,
    ground,
    is_flat,
    seen,
    view,
    without_strays,
)

if TYPE_CHECKING:
    from kerneton.report.explanation import Explanation

WIDTH, HEIGHT, _EDGE = 800, 880, 50  # the picture's units
_LARGEST, _SPOKE = 34, 12  # radius of a dot, and per cent from which it is drawn; as in players.js
_POINTS, _FRAMES = 3000, 90  # most joints in all frames of a motion, and most frames


@dataclass(frozen=True, eq=False)
class Motion:
    """A recording in units of the picture: right of the body's axis, up, and towards the viewer."""

    frames: np.ndarray  # (n, J, 3) whole numbers; NaN where missing
    body: Body
    seconds: float
    timed: bool  # whether the times are in seconds, or frame numbers
    still: int  # the most characteristic frame
    radius: float  # of the floor
    ground: int  # vertical position of the floor's centre in the picture
    flat: bool
    said: np.ndarray | None = None  # (n, J) what each joint contributed, in per cent of the largest

    @classmethod
    def of(cls, sequence: SkeletonSequence, why: Explanation | None = None) -> Motion | None:
        """Choose frames, turn them to the viewer and scale them; None if no joint was measured."""
        joints, flat, fps = seen(sequence), is_flat(sequence), sequence.fps
        if np.isnan(joints).all():
            return None
        front = camera(sequence) if flat else view(facing(sequence))
        kept = thinned(sequence.n_frames, sequence.n_joints)
        chosen = joints[kept] @ front.T
        said = None
        if why is not None and why.by_frame.shape == joints.shape[:2]:
            said = why.shown_frames()[kept]
        points, radius, height = _fit(chosen, sequence.layout, flat=flat)
        return cls(
            frames=points,
            body=Body.of(sequence),
            seconds=(sequence.n_frames - 1) / fps if fps else float(sequence.n_frames - 1),
            timed=bool(fps),
            still=_characteristic(points),
            radius=radius,
            ground=height,
            flat=flat,
            said=said,
        )

    @property
    def angles(self) -> dict[str, float]:
        """Position of the camera until the reader turns it."""
        return {"yaw": 0.0, "elevation": 0.0} if self.flat else {"yaw": YAW, "elevation": ELEVATION}

    def to_dict(self) -> dict[str, Any]:
        """What the script needs, only numbers."""
        rows = self.frames.reshape(len(self.frames), -1)
        return {
            "said": None if self.said is None else self.said.tolist(),
            "frames": [[None if np.isnan(v) else int(v) for v in row] for row in rows],
            "bones": [list(bone) for bone in self.body.lines],
            "heads": self.body.heads,
            "loose": self.body.loose,
            "ends": self.body.ends,
            "bodies": [joints for _, joints in self.body.numbered],
            "seconds": round(self.seconds, 3),
            "timed": self.timed,
            "still": self.still,
            "ground": self.ground,
            "middle": WIDTH // 2,
            "turns": not self.flat,
            **self.angles,
        }

    def view(self, frame: int | None = None) -> np.ndarray:
        """Joints of a frame, by default of the still, in the picture; (J, 2)."""
        points = (
            self.frames[self.still if frame is None else frame]
            @ view(np.eye(3)[2], **self.angles).T
        )
        return np.stack([WIDTH / 2 + points[..., 0], self.ground - points[..., 1]], axis=-1)

    def stage(self, *, quiet: bool = False) -> dict[str, Any]:
        """What is drawn of the still; ``quiet`` is a body without paths, for marks to be drawn on
        it.
        """
        pose, sides = self.view(), self.body.sides
        ends = [] if quiet else self.body.ends
        tilt = float(np.sin(self.angles["elevation"]))
        ways = np.stack([self.view(t) for t in range(len(self.frames))], axis=1)
        return {
            "width": WIDTH,
            "height": HEIGHT,
            "quiet": quiet,
            "floor": (WIDTH // 2, self.ground, round(self.radius), round(self.radius * tilt)),
            "ways": [(sides[j], _way(ways[j])) for j in ends],
            "bones": [(self.body.side(line), _place(pose[list(line)])) for line in self.body.lines],
            "heads": [(self._head_size(j), _place(pose[j])) for j in self.body.heads],
            "dots": [_place(pose[j]) for j in self.body.loose],
            "numbers": [(number, _above(pose[joints])) for number, joints in self.body.numbered],
            "marks": []
            if self.said is None or quiet
            else [
                (_place(place), *_mark(value))
                for place, value in zip(pose, self.said[self.still].tolist(), strict=True)
            ],
        }

    def _head_size(self, head: int) -> int:
        near = [a if b == head else b for a, b in self.body.bones if head in (a, b)]
        lengths = [
            np.linalg.norm(self.frames[:, head] - self.frames[:, j], axis=1) for j in near[:1]
        ]
        if not lengths or np.isnan(lengths).all():
            return 24
        return int(np.clip(0.45 * np.nanmedian(lengths), 14, 48))


def _mark(value: int) -> tuple[float, str]:
    """Radius and kind of the dot on a joint that contributed ``value`` per cent of the largest.

    >>> _mark(100), _mark(-4)
    ((34.0, 'for'), (0.0, 'against'))
    """
    size = round(_LARGEST * (abs(value) / 100) ** 0.5, 1) if abs(value) >= _SPOKE else 0.0
    return size, "for" if value >= 0 else "against"


def thinned(n_frames: int, n_joints: int) -> np.ndarray:
    """Positions of the frames that are kept, the first and the last among them.

    >>> thinned(5, 20).tolist(), len(thinned(1000, 20)), len(thinned(1000, 100))
    ([0, 1, 2, 3, 4], 90, 30)
    """
    n = min(n_frames, max(8, min(_FRAMES, _POINTS // n_joints)))
    return np.linspace(0, n_frames - 1, n).round().astype(int)


def _fit(points: np.ndarray, layout: Layout | None, *, flat: bool) -> tuple[np.ndarray, float, int]:
    """Points scaled so that the body stays in the picture at any angle, the floor's radius, and its
    height.
    """
    known = without_strays(points)
    low, high = known.min(axis=0), known.max(axis=0)
    middle = (low + high) / 2
    reach = float(np.hypot(*(known - middle)[:, [0, 2]].T).max())
    floor = ground(points, layout)
    tilt = 0.0 if flat else ELEVATION
    tall = (high[1] - floor) * np.cos(tilt) + reach * np.sin(tilt)
    deep = max((floor - low[1]) * np.cos(tilt), 0.0) + reach * np.sin(tilt)
    size = max(2 * reach / (WIDTH - 2 * _EDGE), (tall + deep) / (HEIGHT - 2 * _EDGE), 1e-12)
    scaled = (points - [middle[0], floor, middle[2]]) / size
    spare = HEIGHT - 2 * _EDGE - (tall + deep) / size
    height = HEIGHT - _EDGE - deep / size - spare / 2
    return np.clip(np.round(scaled), -2000, 2000) + 0.0, reach / size, round(height)


def _characteristic(points: np.ndarray) -> int:
    """The frame whose pose differs most from the first and the last one: many actions begin and end
    at rest.
    """
    there = ~np.isnan(points[..., 0])
    # gaps make a poor picture
    frames = np.flatnonzero(there.sum(axis=1) == there.sum(axis=1).max())
    poses = points[frames] - np.nanmedian(points[frames], axis=1, keepdims=True)
    away = [np.nansum(np.abs(poses - poses[end]), axis=(1, 2)) for end in (0, -1)]
    return int(frames[np.minimum(*away).argmax()])


def _place(points: np.ndarray) -> list[int] | None:
    """Whole coordinates; None if a joint is missing."""
    return None if np.isnan(points).any() else [round(v) for v in points.ravel().tolist()]


def _above(points: np.ndarray) -> list[int] | None:
    """The position of a body's number, above its highest joint; None if the body is missing."""
    known = points[~np.isnan(points).any(axis=1)]
    return _place(known[known[:, 1].argmin()] - [0, 50]) if len(known) else None


def _way(places: np.ndarray) -> Markup:
    """An SVG path that stops where a joint is missing."""
    letters, broken = [], True
    for place in places:
        here = _place(place)
        if here is not None:
            letters.append(f"{'M' if broken else 'L'}{here[0]} {here[1]}")
        broken = here is None
    return Markup("".join(letters))
