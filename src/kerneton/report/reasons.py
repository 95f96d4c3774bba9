"""Reasons in words: which joints spoke for a label, when, and how they moved.

Directions are those of the person: `kerneton.report.scene.facing` finds where the body faces.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from kerneton.data.layouts import Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.prepare.poses import fill_gaps
from kerneton.report.body import part, spaced
from kerneton.report.scene import facing, is_flat, seen, view

if TYPE_CHECKING:
    from kerneton.report.explanation import Explanation

_NAMED = 2  # joints for a label, and as many against it
_MUCH = 0.3  # of the strongest joint's contribution, from which another is named too
_MOST = 0.8  # of a joint's contribution that lies in the time that is stated
_ALL = 0.85  # of the recording: a longer time is "throughout"
_STILL = 0.08  # of the body's size: a joint that moves less stays where it is
_WAY = 0.5  # of the longest way along an axis, from which another axis is named
_EXTENT = 0.25  # of the largest extent, which it must have too: a long way may be noise
_BEFORE = 0.15  # of the recording before that time, in which the joint came to where it spoke
_SMOOTH = 5  # frames over which a path is averaged before its directions are judged
_PARTS = ("start", "middle", "end")


def reasons(why: Explanation) -> str:
    """The reasons of an explanation in a sentence.

    >>> from kerneton import make_actions, make_recognizer
    >>> data = make_actions(["wave", "kick", "bow"], n_subjects=3, n_takes=1)
    >>> model = make_recognizer(kernel="sck").fit(data, data.labels)
    >>> reasons(model.explain(data[0])).partition(" because ")[0]
    'wave,'
    """
    than = "" if why.versus is None else f" rather than {why.versus}"
    for_, against = (_said(why, sign) for sign in (1, -1))
    if not for_ and not against:
        return f"{why.label}{than}: nothing in the recording speaks for or against it"
    because = f"because {' and '.join(for_)}" if for_ else "although nothing speaks for it"
    but = f"; against it: {' and '.join(against)}" if against else ""
    return f"{why.label}{than}, {because}{but}"


def looked_for(label: str, joints: Sequence[str], values: np.ndarray, phases: np.ndarray) -> str:
    """What a model looks for in a class; ``values`` are (n_joints,), ``phases`` (n_phases,
    n_joints).

    >>> looked_for("wave", ["left_hand", "head"], np.array([1.0, 0.1]), np.eye(10)[:, 4:6])
    'wave: the left hand, in the middle'
    """
    order = [j for j in np.argsort(-values, kind="stable") if values[j] > 0]
    named = [j for j in order if values[j] >= _MUCH * values[order[0]]][:3]
    if not named:
        return f"{label}: no joint speaks for it on average"
    when = np.clip(phases[:, named], 0, None).sum(axis=1)
    span = _span(when)
    where = ""
    if span is not None and span[1] - span[0] < _ALL * len(when):
        thirds = [min(int(3 * at / len(when)), 2) for at in (span[0], span[1] - 1)]
        a, b = (_PARTS[third] for third in thirds)
        where = f", {_phase(a, b)}"
    words = [the(joints[j]) for j in named]
    listed = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
    return f"{label}: {listed}{where}"


def _phase(a: str, b: str) -> str:
    if a == b:
        return {"start": "at the start", "middle": "in the middle", "end": "at the end"}[a]
    if (a, b) == ("start", "end"):
        return "throughout"
    return f"from the {a} to the {b}" if a == "start" else "from the middle to the end"


def the(joint: str) -> str:
    """A joint's name with its article, and the number of its body.

    >>> the("right_hand"), the("left_hip_2"), the("joint 3")
    ('the right hand', 'the left hip of person 2', 'joint 3')
    """
    if joint.startswith("joint "):
        return joint
    name = part(joint)
    number = f" of person {joint[len(name) + 1 :]}" if name != joint else ""
    return f"the {spaced(name)}{number}"


def _said(why: Explanation, sign: int) -> list[str]:
    """What the strongest joints for (1) or against (-1) a label did; at most two clauses."""
    values = sign * (why.baseline + why.by_frame.sum(axis=0))
    largest = float(np.abs(why.baseline + why.by_frame.sum(axis=0)).max(initial=0.0))
    layout = why.sequence.layout
    named: list[int] = []
    for j in np.argsort(-values, kind="stable").tolist():
        enough = (
            values[j] > 1e-9 and values[j] >= _MUCH * values[named[0]]
            if named
            else (values[j] > 0.1 * largest)
        )
        if not enough or len(named) == _NAMED:
            break
        if not any(_same_limb(layout, j, other) for other in named):
            named.append(j)
    told = [_told(why, j, sign) for j in named]
    if len(told) == 2 and told[0] == told[1]:
        both = " and ".join(the(why.joint_names[j]) for j in named)
        verb = told[0].replace("it was", "they were")
        return [f"{both} {'were' + verb[3:] if verb.startswith('was ') else verb}"]
    return [f"{the(why.joint_names[j])} {text}" for j, text in zip(named, told, strict=True)]


def _told(why: Explanation, joint: int, sign: int) -> str:
    """How a joint moved while it contributed, and when."""
    by_time = np.clip(sign * why.by_frame[:, joint], 0, None)
    mostly = sign * why.by_frame[:, joint].sum() > 0.5 * sign * why.baseline[joint]
    span = _span(by_time) if mostly else None
    if why.sequence.n_frames == 1:
        return "was where it was"
    path = _path(why.sequence, joint)
    if path is None:
        return "was hardly seen"
    how = _movement(path, span, why.sequence)
    if span is None:
        return how
    start, stop = span
    if stop - start > _ALL * why.sequence.n_frames:
        return f"{how} throughout"
    fps = why.sequence.fps
    start, stop = why.first_frame + start, why.first_frame + stop
    if fps:
        return f"{how} at {start / fps:.1f} to {stop / fps:.1f} s"
    return f"{how} in frames {start} to {stop - 1}"


def _span(values: np.ndarray) -> tuple[int, int] | None:
    """The shortest run of frames with most of a sum of values that are not negative.

    >>> _span(np.array([0.0, 0.1, 3.0, 4.0, 0.5, 0.0]))
    (2, 4)
    """
    total = np.concatenate([[0.0], np.cumsum(values)])
    if total[-1] <= 0:
        return None
    wanted = _MOST * total[-1]
    stops = np.searchsorted(total, total[:-1] + wanted * (1 - 1e-12))
    lengths = np.where(stops < len(total), stops - np.arange(len(values)), len(total))
    start = int(lengths.argmin())
    return start, int(stops[start])


def _path(sequence: SkeletonSequence, joint: int) -> np.ndarray | None:
    """(T, 3) to the person's right, up and forwards; horizontally from the root, upwards from the
    floor.
    """
    joints = seen(sequence)
    missing = np.isnan(joints).any(axis=2)
    if missing[:, joint].all():
        return None
    joints = fill_gaps(np.nan_to_num(joints), missing)
    layout = sequence.layout
    usable = ~missing.all(axis=0)
    root = joints[:, usable].mean(axis=1)
    if layout is not None:
        body = next((b for b in layout.bodies if joint in b), range(len(layout.joints)))
        middle = next((r for r in layout.roots if r in body), None)
        if middle is not None and usable[middle]:
            root = joints[:, middle]
    if np.array_equal(root, joints[:, joint]):  # its own way through space
        root = root[:1]
    front = np.array([0.0, 0.0, -1.0]) if is_flat(sequence) else facing(sequence)
    path = (joints[:, joint] - root * [1, 0, 1]) @ view(front).T
    return np.asarray(path * [-1, 1, 1])  # the picture's right is the person's left


def _size(sequence: SkeletonSequence) -> float:
    """The diagonal of the box around the body, median over frames."""
    joints = seen(sequence)
    joints = joints[~np.isnan(joints).all(axis=(1, 2))]
    spans = np.nanmax(joints, axis=1) - np.nanmin(joints, axis=1)
    return float(np.median(np.linalg.norm(spans, axis=1)))


def _movement(path: np.ndarray, span: tuple[int, int] | None, sequence: SkeletonSequence) -> str:
    """How a joint moved along a path (T, 3) in a span of frames, and shortly before it."""
    start, stop = span or (0, len(path))
    before = round(_BEFORE * len(path)) if span else 0
    smooth = _smooth(path[max(0, start - before) : stop])
    words = _directions(sequence)
    still = _STILL * _size(sequence)
    if (extent := np.ptp(smooth, axis=0)).max() >= still:
        way = np.abs(np.diff(smooth, axis=0)).sum(axis=0) * (extent >= _EXTENT * extent.max())
        order = [k for k in np.argsort(-way) if way[k] >= _WAY * way.max()][:2]
        directions = [words[k][_way(smooth[:, k])] for k in order]
        directions.sort(key=lambda word: " and " not in word)
        several = " and " in directions[0] and len(directions) > 1
        return f"moved {(', ' if several else ' and ').join(directions)}"
    rest = np.delete(path, np.s_[start:stop], axis=0)
    if len(rest):
        away = path[start:stop].mean(axis=0) - rest.mean(axis=0)
        axis = int(np.abs(away).argmax())
        if abs(away[axis]) >= still:
            return f"was held {words[axis][int(away[axis] < 0)]}"
    return "stayed where it was"


def _directions(sequence: SkeletonSequence) -> tuple[tuple[str, str, str], ...]:
    """Words for each axis of a path: for rising, falling, and both."""
    sided = sequence.layout is not None and bool(sequence.layout.sides.any())
    return (
        ("to the right", "to the left", "from side to side") if sided else ("sideways",) * 3,
        ("up", "down", "up and down"),
        ("forwards", "backwards", "back and forth") if sided else ("in depth",) * 3,
    )


def _smooth(path: np.ndarray) -> np.ndarray:
    """Means of a few frames of a path (T, 3)."""
    width = min(_SMOOTH, len(path))
    steps = np.ones(width) / width
    return np.stack([np.convolve(axis, steps, mode="valid") for axis in path.T], axis=1)


def _way(values: np.ndarray) -> int:
    """0 if values mostly rise, 1 if they mostly fall, 2 if they do both."""
    rise = float((values - np.minimum.accumulate(values)).max())
    fall = float((np.maximum.accumulate(values) - values).max())
    return 0 if rise > 2 * fall else 1 if fall > 2 * rise else 2


def _same_limb(layout: Layout | None, a: int, b: int) -> bool:
    """Whether one of two joints of a side, or of the trunk, follows the other along bones."""
    if layout is None or layout.sides[a] != layout.sides[b]:
        return False
    parents = layout.parents.tolist()
    for low, high in ((a, b), (b, a)):
        while low >= 0:
            if low == high:
                return True
            low = parents[low]
    return False
