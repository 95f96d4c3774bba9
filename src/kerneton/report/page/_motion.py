"""Recordings as pictures that can be played: few frames, whole numbers, and a still for paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kerneton.data.layouts import Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.prepare.poses import missing_joints
from kerneton.report.page._html import Html, number, tag
from kerneton.report.scene import facing

WIDTH, HEIGHT, _EDGE = 800, 880, 50  # the picture's units
YAW, ELEVATION = np.deg2rad(25), np.deg2rad(12)  # where the camera stands until somebody turns it
_POINTS, _FRAMES = 3000, 90  # most joints in all frames of a motion, and most frames


@dataclass(frozen=True, eq=False)
class Motion:
    """A recording in units of the picture: right of the body's axis, up, and towards the viewer."""

    frames: np.ndarray  # (n, J, 3) whole numbers; NaN where missing
    layout: Layout | None
    seconds: float
    timed: bool  # whether the seconds are known, or one a frame
    still: int  # the frame that tells most
    radius: float  # of the floor
    ground: int  # of the picture, where the floor's middle lies
    flat: bool

    @classmethod
    def of(cls, sequence: SkeletonSequence) -> Motion | None:
        """Thin, turn to the viewer and scale; None where no joint was measured."""
        joints = np.array(sequence.joints, dtype=float)
        joints[missing_joints(sequence) | ~np.isfinite(joints).all(axis=2)] = np.nan
        if np.isnan(joints).all():
            return None
        flat = not np.nan_to_num(joints[..., 2]).any()
        joints = joints[thinned(len(joints), joints.shape[1])]
        up, front = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, -1.0]) if flat else facing(sequence)
        points = joints @ np.stack([np.cross(up, front), up, front]).T
        points, radius, ground = _fit(points, flat=flat)
        fps = sequence.fps
        return cls(
            frames=points,
            layout=sequence.layout,
            seconds=(sequence.n_frames - 1) / fps if fps else float(sequence.n_frames - 1),
            timed=bool(fps),
            still=_telling(points),
            radius=radius,
            ground=ground,
            flat=flat,
        )

    @property
    def bones(self) -> tuple[tuple[int, int], ...]:
        return self.layout.bones if self.layout is not None else ()

    @property
    def head(self) -> int | None:
        return self.layout.index("head") if self.layout is not None and "head" in self.layout.joints else None

    @property
    def loose(self) -> list[int]:
        """Joints without bones, shown as dots."""
        tied = {joint for bone in self.bones for joint in bone} | {self.head}
        return [j for j in range(self.frames.shape[1]) if j not in tied]

    @property
    def ends(self) -> list[int]:
        """Ends of limbs, whose ways are drawn: hands and feet, and fingers and toes stand for them."""
        if self.layout is None:
            return []
        parents = {parent for parent, _ in self.bones}
        tips = [child for _, child in self.bones if child not in parents and child != self.head]
        return [j for j in tips if _side(self.layout.joints[j]) != "m"][:8]

    @property
    def sided(self) -> bool:
        """Whether any bone belongs to a side."""
        return any(self._side(joint) != "m" for _, joint in self.bones)

    def to_dict(self) -> dict[str, Any]:
        """What the script needs, numbers alone."""
        rows = self.frames.reshape(len(self.frames), -1)
        return {
            "frames": [[None if np.isnan(v) else int(v) for v in row] for row in rows],
            "bones": [list(bone) for bone in self.bones],
            "head": self.head,
            "loose": self.loose,
            "ends": self.ends,
            "seconds": round(self.seconds, 3),
            "timed": self.timed,
            "still": self.still,
            "ground": self.ground,
            "turns": not self.flat,
        }

    def view(self, frame: int | None = None) -> np.ndarray:
        """Joints of a frame, by default of the still, in the picture; (J, 2) or, for a slice, (n, J, 2)."""
        x, y, z = np.moveaxis(self.frames[self.still if frame is None else frame], -1, 0)
        yaw, elevation = (0.0, 0.0) if self.flat else (YAW, ELEVATION)
        right = x * np.cos(yaw) - z * np.sin(yaw)
        near = x * np.sin(yaw) + z * np.cos(yaw)
        height = y * np.cos(elevation) - near * np.sin(elevation)
        return np.stack([WIDTH / 2 + right, self.ground - height], axis=-1)

    def stage(self, *over: Html, label: str, quiet: bool = False, **attributes: Any) -> Html:
        """The still as a picture; ``quiet`` draws a grey body, for something ``over`` it to stand out."""
        pose = self.view()
        floor = tag(
            "ellipse",
            class_="floor",
            cx=WIDTH / 2,
            cy=self.ground,
            rx=self.radius,
            ry=0.0 if self.flat else self.radius * np.sin(ELEVATION),
        )
        parts = [floor]
        if not quiet:
            ways = np.stack([self.view(t) for t in range(len(self.frames))])
            parts += [tag("path", class_=f"way {self._side(j)}", d=_way(ways[:, j])) for j in self.ends]
        parts += [
            tag("line", class_=f"bone {'m' if quiet else self._side(b)}", **_segment(pose[a], pose[b]))
            for a, b in self.bones
        ]
        if self.head is not None:
            parts.append(tag("circle", class_="head", r=self._head_size(), **_point(pose[self.head])))
        parts += [tag("circle", class_="dot", r=7, **_point(pose[j])) for j in self.loose]
        names = f"stage{' quiet' if quiet else ''}"
        box = f"0 0 {WIDTH} {HEIGHT}"
        return tag(
            "svg", *parts, *over, viewBox=box, class_=names, role="img", aria_label=label, **attributes
        )

    def _side(self, joint: int) -> str:
        return "m" if self.layout is None else _side(self.layout.joints[joint])

    def _head_size(self) -> float:
        near = [a if b == self.head else b for a, b in self.bones if self.head in (a, b)]
        if not near:
            return 24.0
        lengths = np.linalg.norm(self.frames[:, self.head] - self.frames[:, near[0]], axis=1)
        return 24.0 if np.isnan(lengths).all() else float(np.clip(0.45 * np.nanmedian(lengths), 14, 48))


def thinned(n_frames: int, n_joints: int) -> np.ndarray:
    """Positions of the frames that are kept, the first and the last among them.

    >>> thinned(5, 20).tolist(), len(thinned(1000, 20)), len(thinned(1000, 100))
    ([0, 1, 2, 3, 4], 90, 30)
    """
    n = min(n_frames, max(8, min(_FRAMES, _POINTS // n_joints)))
    return np.linspace(0, n_frames - 1, n).round().astype(int)


def _fit(points: np.ndarray, *, flat: bool) -> tuple[np.ndarray, float, int]:
    """Scale so that the body stays in the picture however it is turned; floor's radius, and where it lies."""
    known = points[~np.isnan(points).any(axis=2)]
    low, high = np.percentile(known, [0.5, 99.5], axis=0)  # a few joints gone astray must not shrink the rest
    slack = 0.15 * (high - low).max()
    known = np.clip(known, low - slack, high + slack)
    low, high = known.min(axis=0), known.max(axis=0)
    middle = (low + high) / 2
    reach = float(np.hypot(*(known - middle)[:, [0, 2]].T).max())
    lowest = np.nanmin(np.where(np.isnan(points[..., 1]), np.inf, points[..., 1]), axis=1)
    floor = float(np.median(lowest[np.isfinite(lowest)]))
    tilt = 0.0 if flat else ELEVATION
    tall = (high[1] - floor) * np.cos(tilt) + reach * np.sin(tilt)
    deep = max((floor - low[1]) * np.cos(tilt), 0.0) + reach * np.sin(tilt)
    size = max(2 * reach / (WIDTH - 2 * _EDGE), (tall + deep) / (HEIGHT - 2 * _EDGE), 1e-12)
    scaled = (points - [middle[0], floor, middle[2]]) / size
    spare = HEIGHT - 2 * _EDGE - (tall + deep) / size
    ground = HEIGHT - _EDGE - deep / size - spare / 2
    return np.clip(np.round(scaled), -2000, 2000) + 0.0, reach / size, round(ground)


def _telling(points: np.ndarray) -> int:
    """The frame whose pose is farthest from those at the start and at the end, for many actions begin and end at rest."""
    there = ~np.isnan(points[..., 0])
    frames = np.flatnonzero(there.sum(axis=1) == there.sum(axis=1).max())  # gaps make a poor picture
    poses = points[frames] - np.nanmedian(points[frames], axis=1, keepdims=True)
    away = [np.nansum(np.abs(poses - poses[end]), axis=(1, 2)) for end in (0, -1)]
    return int(frames[np.minimum(*away).argmax()])


def _side(joint: str) -> str:
    return {"left": "l", "right": "r"}.get(joint.partition("_")[0], "m")


def _segment(start: np.ndarray, stop: np.ndarray) -> dict[str, Any]:
    if np.isnan([start, stop]).any():
        return {"visibility": "hidden"}
    return {"x1": round(start[0]), "y1": round(start[1]), "x2": round(stop[0]), "y2": round(stop[1])}


def _point(place: np.ndarray) -> dict[str, Any]:
    return (
        {"visibility": "hidden"} if np.isnan(place).any() else {"cx": round(place[0]), "cy": round(place[1])}
    )


def _way(places: np.ndarray) -> Html:
    """A path that stops where a joint is missing."""
    letters, broken = [], True
    for place in places:
        if np.isnan(place).any():
            broken = True
            continue
        letters.append(f"{'M' if broken else 'L'}{number(place[0], 0)} {number(place[1], 0)}")
        broken = False
    return Html("".join(letters))
