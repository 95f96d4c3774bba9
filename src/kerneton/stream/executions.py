"""Executions of a movement: its repetitions one by one, and two executions aligned in time."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kerneton.data.layouts import Layout
from kerneton.data.mapping import sub_layout
from kerneton.data.sequence import SkeletonSequence, missing_joints
from kerneton.exceptions import DataError
from kerneton.prepare.preprocess import Preprocess
from kerneton.stream.frames import raw_joints
from kerneton.stream.repetitions import repetition_spans

_MOST_FRAMES = 2000  # of an execution that is aligned
_MOST_COMPARED = 300  # repetitions, with one of them
_STILL = 5.0  # degrees: smaller ranges have no symmetry
# Between which neighbours the angle of a joint is measured, as in clinics; the first that exists.
_ENDS = {
    "shoulder": (("hip",), ("elbow",)),
    "elbow": (("shoulder",), ("wrist", "hand")),
    "hip": (("shoulder",), ("knee",)),
    "knee": (("hip",), ("ankle", "foot")),
    "ankle": (("knee",), ("foot_index", "toe", "foot")),
}


@dataclass(frozen=True)
class Repetition:
    """One repetition: frames from ``start`` up to ``stop``, and the range of every angle."""

    start: int
    stop: int
    seconds: float
    ranges: dict[str, float] = field(default_factory=dict)  # degrees

    def symmetry(self, angle: str) -> float | None:
        """The smaller range of the left and the right angle divided by the larger; None without
        such a pair, or if both hardly move.

        >>> ranges = {"left_knee": 80.0, "right_knee": 100.0}
        >>> Repetition(0, 30, 1.0, ranges).symmetry("right_knee")
        0.8
        """
        side, _, rest = angle.partition("_")
        left, right = (self.ranges.get(f"{one}_{rest}") for one in ("left", "right"))
        if side not in ("left", "right") or left is None or right is None:
            return None
        most = max(left, right)
        return None if most < _STILL else round(min(left, right) / most, 3)


@functools.lru_cache(maxsize=64)
def angles_of(layout: Layout) -> dict[str, tuple[int, int, int]]:
    """The angles of a body by the name of their joint: a neighbour, the joint, the other neighbour.

    Shoulders are measured from hip to elbow, hips from shoulder to knee; in other bodies, such as
    hands, every joint between two bones has an angle.

    >>> from kerneton.data.layouts import KINECT_20
    >>> found = angles_of(KINECT_20)
    >>> [KINECT_20.joints[j] for j in found["left_knee"]]
    ['left_hip', 'left_knee', 'left_ankle']
    """
    at = {name: j for j, name in enumerate(layout.joints)}
    found: dict[str, tuple[int, int, int]] = {}
    for side in ("left", "right"):
        for joint, ends in _ENDS.items():
            places = [
                next((at[f"{side}_{end}"] for end in some if f"{side}_{end}" in at), None)
                for some in (ends[0], (joint,), ends[1])
            ]
            if None not in places:
                found[f"{side}_{joint}"] = tuple(places)  # type: ignore[assignment]
    if found:
        return found
    beside: dict[int, list[int]] = {}
    for a, b in layout.bones:
        beside.setdefault(a, []).append(b)
        beside.setdefault(b, []).append(a)
    return {
        layout.joints[j]: (some[0], j, some[1])
        for j, some in sorted(beside.items())
        if len(some) == 2
    }


def angles(sequence: SkeletonSequence) -> dict[str, np.ndarray]:
    """Degrees at each frame, (T,) by the names of `angles_of`; NaN where a joint is missing.

    >>> from kerneton import make_actions
    >>> found = angles(make_actions(["wave"], n_subjects=1, n_takes=1)[0])
    >>> sorted(found)[:3], bool(max(map(np.nanmax, found.values())) <= 180)
    (['left_ankle', 'left_elbow', 'left_hip'], True)
    """
    if sequence.layout is None:
        return {}
    joints = raw_joints(sequence)
    out = {}
    for name, (a, j, b) in angles_of(sequence.layout).items():
        u, v = joints[:, a] - joints[:, j], joints[:, b] - joints[:, j]
        lengths = np.linalg.norm(u, axis=1) * np.linalg.norm(v, axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            cosine = (u * v).sum(axis=1) / lengths
        out[name] = np.degrees(np.arccos(np.clip(cosine, -1, 1)))
    return out


def repetitions(sequence: SkeletonSequence) -> list[Repetition]:
    """Every repetition of the movement in a recording; see `kerneton.stream.repetitions`.

    >>> from kerneton import make_actions
    >>> found = repetitions(make_actions(["clap"], n_subjects=1, n_takes=1)[0])
    >>> len(found) >= 1, all(r.seconds > 0 for r in found)
    (True, True)
    """
    fps = sequence.fps or 30.0
    moving = angles(sequence)
    out = []
    for start, stop in repetition_spans(raw_joints(sequence), fps):
        ranges = {
            name: round(float(np.nanmax(some) - np.nanmin(some)), 1)
            for name, values in moving.items()
            if np.isfinite(some := values[start:stop]).any()
        }
        out.append(Repetition(start, stop, round((stop - start) / fps, 3), ranges))
    return out


def leading_angle(found: Sequence[Repetition]) -> str | None:
    """The angle that moves most, by the median over the repetitions.

    >>> leading_angle([Repetition(0, 9, 1.0, {"left_knee": 20.0, "right_elbow": 90.0})])
    'right_elbow'
    """
    names = sorted({name for r in found for name in r.ranges})
    if not names:
        return None
    return max(names, key=lambda name: float(np.median([r.ranges.get(name, 0.0) for r in found])))


@dataclass(frozen=True)
class Alignment:
    """Two executions aligned in time: pairs of frames (n, 2), and how far each joint is from its
    place in the other at each pair, (n, J) metres for a body of the mean size.
    """

    pairs: np.ndarray
    distances: np.ndarray
    joints: tuple[str, ...]

    @property
    def mean(self) -> float:
        """The mean distance of all joints, in metres."""
        return float(self.distances.mean())

    def by_joint(self) -> dict[str, float]:
        """The mean distance of each joint, in metres."""
        return dict(zip(self.joints, self.distances.mean(axis=0).tolist(), strict=True))

    def by_frame(self) -> tuple[np.ndarray, np.ndarray]:
        """For every frame of the first execution: the frame of the second, and the distances
        (T, J).
        """
        n = int(self.pairs[-1, 0]) + 1
        first = np.searchsorted(self.pairs[:, 0], np.arange(n))
        last = np.searchsorted(self.pairs[:, 0], np.arange(n), side="right")
        middle = (first + last - 1) // 2
        return self.pairs[middle, 1], self.distances[middle]


def align(first: SkeletonSequence, second: SkeletonSequence) -> Alignment:
    r"""Dynamic time warping of two executions, each centred, turned to the front and of the same
    bone lengths.

    The pairs of frames :math:`(s_k, t_k)` begin and end with both executions, move on by one frame
    in one or both, and minimise :math:`\sum_k d(s_k, t_k)`, the mean distance of the joints.

    >>> from kerneton import make_actions
    >>> one, other = make_actions(["kick"], n_subjects=2, n_takes=1)
    >>> align(one, one).mean < 1e-6 < align(one, other).mean
    True
    """
    if first.n_joints != second.n_joints or first.layout != second.layout:
        raise DataError("two executions can be compared only if they have the same joints")
    for one in (first, second):
        if one.n_frames > _MOST_FRAMES:
            raise DataError(
                f"{one.name or 'an execution'}: {one.n_frames} frames; at most {_MOST_FRAMES} are "
                "compared: trim it, or take one of its repetitions"
            )
    seen = [
        j
        for j in range(first.n_joints)
        if all((~missing_joints(s))[:, j].any() for s in (first, second))
    ]
    if len(seen) < 2:
        raise DataError("the two executions have fewer than two joints that are seen in both")
    pair = [_with_joints(s, seen) for s in (first, second)]
    flat = not all(np.nan_to_num(s.joints[..., 2]).any() for s in pair)
    place = Preprocess(facing=None if flat else "sequence", bones="size" if flat else "reference")
    a, b = (s.joints.astype(float) for s in place.fit_transform(pair))
    cost = np.zeros((len(a), len(b)))
    for j in range(a.shape[1]):
        cost += np.linalg.norm(a[:, None, j] - b[None, :, j], axis=-1)
    pairs = warped(cost / a.shape[1])
    distances = np.linalg.norm(a[pairs[:, 0]] - b[pairs[:, 1]], axis=-1)
    layout = pair[0].layout
    names = [f"joint {j + 1}" for j in seen] if layout is None else layout.joints
    return Alignment(pairs, distances, tuple(names))


def _with_joints(sequence: SkeletonSequence, kept: list[int]) -> SkeletonSequence:
    if len(kept) == sequence.n_joints:
        return sequence
    confidence = None if sequence.confidence is None else sequence.confidence[:, kept]
    layout = None if sequence.layout is None else sub_layout(sequence.layout, kept)
    return sequence.replace(joints=sequence.joints[:, kept], confidence=confidence, layout=layout)


def warped(cost: np.ndarray) -> np.ndarray:
    """The cheapest way (n, 2) through a table of costs (S, T) from its first to its last entry.

    >>> warped(np.array([[0.0, 9, 9], [0, 9, 9], [9, 0, 0]])).tolist()
    [[0, 0], [1, 0], [2, 1], [2, 2]]
    """
    n, m = cost.shape
    total = np.full((n + 1, m + 1), np.inf)
    total[0, 0] = 0.0
    for k in range(2, n + m + 1):  # along the diagonals, whose entries do not depend on each other
        i = np.arange(max(1, k - m), min(n, k - 1) + 1)
        j = k - i
        before = np.minimum(total[i - 1, j - 1], np.minimum(total[i - 1, j], total[i, j - 1]))
        total[i, j] = cost[i - 1, j - 1] + before
    way = [(n, m)]
    while way[-1] != (1, 1):
        i, j = way[-1]
        steps = [(i - 1, j - 1), (i - 1, j), (i, j - 1)]
        way.append(min(steps, key=lambda step: total[step]))
    return np.array(way[::-1]) - 1


def told(
    found: Sequence[Repetition], sequence: SkeletonSequence, chosen: int | None
) -> dict[str, Any]:
    """Repetitions for JSON, in frames of the recording; with ``chosen``, how far each is from that
    one, in metres.
    """
    if chosen is not None and len(found) > _MOST_COMPARED:
        raise DataError(
            f"{len(found)} repetitions; at most {_MOST_COMPARED} are compared: trim the recording"
        )
    angle = leading_angle(found)
    cuts = [sequence.cut(r.start, r.stop) for r in found] if chosen is not None else []
    rows = []
    for k, r in enumerate(found):
        row: dict[str, Any] = {"start": r.start, "stop": r.stop, "seconds": r.seconds}
        if angle is not None:
            side, _, rest = angle.partition("_")
            row |= {"range": r.ranges.get(angle), "symmetry": r.symmetry(angle)}
            if side in ("left", "right"):
                row |= {s: r.ranges.get(f"{s}_{rest}") for s in ("left", "right")}
        if chosen is not None:
            row["distance"] = 0.0 if k == chosen else align(cuts[chosen], cuts[k]).mean
        rows.append(row)
    return {"angle": angle, "repetitions": rows}
