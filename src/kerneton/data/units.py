"""Unit, vertical axis and handedness of coordinates: detected or stated, and converted to one
convention.

The convention is metres, y up, right-handed axes. The body itself shows what a recording uses: its
height shows the unit, the direction from the feet to the head the vertical axis, and the side of
the left joints, seen in the direction of nose and toes, the handedness. Drawings (z = 0 throughout)
show only whether y points up or down; other recordings whose points lie in one plane show none of
this.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from kerneton.data.layouts import FORWARD, HIGH, HIPS, LOW, SIDES
from kerneton.data.sequence import Conventions, Conversion, SkeletonSequence
from kerneton.exceptions import ParameterError

UNITS = {"m": 1.0, "cm": 0.01, "mm": 0.001, "in": 0.0254, "ft": 0.3048}
AXES = ("y", "z", "x", "-y", "-z", "-x")
# Metres from the feet (or hips) to the head or shoulders: of a person, of one whose inches or feet
# are recognised, least in cm.
_TALL = (0.4, 2.6), (1.2, 2.1), 0.82
_TORSO = (0.2, 1.2), (0.45, 0.8), 0.32
_CLEAR, _SHARE = 0.3, 0.9  # smallest cosine of a vote on handedness, smallest share of equal votes


def find_conventions(recordings: Iterable[SkeletonSequence]) -> Conventions:
    """Unit, vertical axis and handedness that the bodies in recordings show together.

    >>> from kerneton.datasets.synthetic import make_actions
    >>> find_conventions(make_actions(["wave"], n_subjects=2, n_takes=1))
    Conventions(unit='m', up='y', mirrored=False, height=1.64...)
    """
    recordings = list(recordings)
    if len(recordings) > 1000:  # a sample, drawn with a fixed seed, is enough
        recordings = [
            recordings[i] for i in np.random.default_rng(0).permutation(len(recordings))[:1000]
        ]
    for low in (LOW, HIPS):  # without feet, the upper body
        solid = [
            (recording, trunk)
            for recording in recordings
            if (trunk := _trunk(recording, low)) is not None
        ]
        if solid:
            break
    trunks = [trunk for _, trunk in solid]
    picture = ""
    if (
        not trunks
        or abs(np.nanmean(np.sign(solid[0][0].joints[..., :2]), axis=(0, 1))).min() > 0.95
    ):
        from kerneton.data.pictures import drawn_up, picture_unit

        picture = picture_unit(recordings)
        if not trunks:
            return Conventions(up=drawn_up(recordings), picture=picture)
    unit, height = _unit(_length(trunks), _TALL if low is LOW else _TORSO), None
    if low is LOW:
        height = _length(
            [t for r, _ in solid if (t := _trunk(r, LOW, ("head",))) is not None] or trunks
        )
    if picture:
        unit = height = None
    votes = Counter(axis_of(np.median(trunk, axis=0)) for trunk in trunks)
    up, count = votes.most_common(1)[0]
    if up is None or count < 0.6 * len(trunks):
        return Conventions(unit, None, None, height, picture)
    return Conventions(
        unit, up, _mirrored([recording for recording, _ in solid], up), height, picture
    )


def to_convention(
    recordings: Sequence[SkeletonSequence],
    *,
    unit: str | None = None,
    up: str | None = None,
    flip: bool | None = None,
    find: bool = True,
    kept: Conventions | None = None,
) -> tuple[list[SkeletonSequence], Conversion]:
    """Recordings in metres, y up and right-handed, and their conversion.

    ``unit`` is one of m, cm, mm, in, ft, or a word for it; ``up`` the axis that points up, such as
    z or -y; ``flip`` whether axes are left-handed, or left and right exchanged. What is not stated
    is detected, or stays without ``find``. ``kept`` are the conventions of the training recordings
    of a model: axes if none are stated, the unit if the data show none.

    >>> from kerneton.datasets.synthetic import make_actions
    >>> wave = make_actions(["wave"], n_subjects=1, n_takes=1)[0]
    >>> x, y, z = np.moveaxis(wave.joints, -1, 0)
    >>> tall = wave.replace(joints=1000 * np.stack([x, -z, y], axis=-1))
    >>> (same,), done = to_convention([tall])
    >>> done.unit, done.up, np.allclose(same.joints, wave.joints, equal_nan=True)
    ('mm', 'z', True)
    """
    unit = check_convention(unit, up)
    said = tuple(n for n, v in (("unit", unit), ("up", up), ("flip", flip)) if v is not None)
    found = find_conventions(recordings) if find else Conventions()
    kept = kept or Conventions()
    up = up or kept.up or found.up
    if up != (kept.up or up):  # the user states other axes
        kept = dataclasses.replace(kept, mirrored=None)
    flip = kept.mirrored if flip is None else flip
    taken = tuple(
        n for n, v in (("up", kept.up), ("flip", kept.mirrored)) if v is not None and n not in said
    )
    taken += ("unit",) if kept.unit and not unit and not found.unit and not found.picture else ()
    unit = unit or found.unit or (None if found.picture else kept.unit)
    if (
        flip is None and find and up is not None and found.up in (None, up)
    ):  # lying bodies do not show it
        flip = found.mirrored if up == found.up else _mirrored(list(recordings), up)
    factor = UNITS[unit or "m"]
    height = None if found.height is None else found.height * factor
    votes = _votes(recordings, up) if flip and up and "flip" not in (*said, *taken) else None
    done = Conversion(unit, up, bool(flip), said, taken, height, len(recordings), votes=votes)
    if factor == 1.0 and up in (None, "y") and not flip:
        return list(recordings), done
    return [converted(r, factor, up or "y", bool(flip)) for r in recordings], done


def check_convention(unit: str | None, up: str | None) -> str | None:
    """The unit as it is written here; unknown units and axes are refused."""
    if up is not None and up not in AXES:
        raise ParameterError(
            f"the axis that points up must be one of {', '.join(AXES)}, got {up!r}"
        )
    if unit is None:
        return None
    from kerneton.data.stated import unit_named

    if (name := unit_named(unit)) is None:
        raise ParameterError(
            f"unit must be one of {', '.join(UNITS)}, or a word such as feet, got {unit!r}"
        )
    return name


def turn_up(points: np.ndarray, up: str) -> np.ndarray:
    """Rotate points so that the named axis points up; left stays left.

    >>> point = np.array([[[1, 2, 3]]])
    >>> turn_up(point, "z").tolist(), turn_up(point, "-y").tolist()
    ([[[1, 3, -2]]], [[[-1, -2, 3]]])
    """
    if up == "y":
        return points
    x, y, z = np.moveaxis(points, -1, 0)
    turned = {
        "x": (-y, x, z),
        "-x": (y, -x, z),
        "-y": (-x, -y, z),
        "z": (x, z, -y),
        "-z": (x, -z, y),
    }[up]
    return np.stack(turned, axis=-1)


def converted(recording: SkeletonSequence, factor: float, up: str, flip: bool) -> SkeletonSequence:
    """A recording scaled, with another axis up, and mirrored if ``flip``."""
    joints = turn_up(recording.joints, up) * recording.joints.dtype.type(factor)
    if flip:
        joints = joints * np.array([-1, 1, 1], joints.dtype)
    return recording.replace(joints=joints)


def seen(
    recording: SkeletonSequence, *, drawn: bool = False
) -> tuple[np.ndarray, list[str]] | None:
    """Joints (T, J, 3) of the first body, NaN where missing, and their names; None for unnamed
    bodies.

    ``drawn``: of drawings, which have z = 0 throughout, else of all others.
    """
    layout = recording.layout
    if layout is None or drawn == bool((np.nan_to_num(recording.joints[..., 2]) != 0).any()):
        return None
    gone = (recording.joints == 0).all(axis=-1)
    if recording.confidence is not None:
        gone |= recording.confidence == 0
    body, number = list(layout.bodies[0]), "_1" if len(layout.bodies) > 1 else ""
    names = [layout.joints[joint].removesuffix(number) for joint in body]
    return np.where(gone[..., None], np.nan, recording.joints)[:, body], names


def _length(trunks: Sequence[np.ndarray]) -> float:
    return float(np.median([np.percentile(np.linalg.norm(trunk, axis=1), 95) for trunk in trunks]))


def _trunk(
    recording: SkeletonSequence, low: Sequence[str], high: Sequence[str] = HIGH
) -> np.ndarray | None:
    """`trunks_of` the first body; None for flat or unnamed bodies."""
    if (one := seen(recording)) is None or (trunk := trunks_of(*one, low, high)) is None:
        return None
    return None if _is_flat(one[0]) else trunk


def _is_flat(points: np.ndarray) -> bool:
    """Whether all points lie in one plane: a drawing, not a body in space."""
    known = points[np.isfinite(points).all(axis=-1)].astype(np.float64)
    spread = np.linalg.eigvalsh(np.cov(known, rowvar=False))
    return bool(spread[0] <= 1e-6 * spread[-1])


def trunks_of(
    points: np.ndarray,
    names: Sequence[str],
    lowest: Sequence[str] = LOW,
    highest: Sequence[str] = HIGH,
) -> np.ndarray | None:
    """(T, 3) from the mean of joints at the feet to that of joints around the head of points (T, M,
    3), in the frames with both.
    """
    high, low = (
        [i for i, name in enumerate(names) if name in wanted] for wanted in (highest, lowest)
    )
    if not high or not low:
        return None
    way = points[:, high].mean(axis=1) - points[:, low].mean(axis=1)
    way = way[~np.isnan(way).any(axis=1)]
    return way if len(way) else None


def axis_of(trunk: np.ndarray) -> str | None:
    """The axis nearly parallel to a vector; None if there is none."""
    axis = int(np.argmax(sizes := np.abs(trunk)))
    if not sizes[axis] > 2 * np.delete(sizes, axis).max():
        return None
    return ("" if trunk[axis] > 0 else "-") + "xyz"[axis]


def _unit(
    length: float, sizes: tuple[tuple[float, float], tuple[float, float], float]
) -> str | None:
    usual, adult, child = sizes
    unit = next((u for u in ("m", "cm", "mm") if usual[0] <= length * UNITS[u] <= usual[1]), None)
    if unit is None or (unit == "cm" and length * UNITS["cm"] < child):
        return next((u for u in ("in", "ft") if adult[0] <= length * UNITS[u] <= adult[1]), unit)
    return unit


def _mirrored(recordings: Sequence[SkeletonSequence], up: str) -> bool | None:
    """Whether left joints are on the right of the facing direction; None if too few recordings show
    it.
    """
    wrong, n = _votes(recordings, up)
    if not n or n < 0.2 * len(recordings):
        return None
    return True if wrong >= _SHARE * n else False if wrong <= (1 - _SHARE) * n else None


def _votes(recordings: Sequence[SkeletonSequence], up: str) -> tuple[int, int]:
    """In how many recordings left joints are clearly on the right, and how many show either side
    clearly.
    """
    votes = [vote for r in recordings if (vote := _side(r, up)) is not None and abs(vote) > _CLEAR]
    return sum(vote < 0 for vote in votes), len(votes)


def _side(recording: SkeletonSequence, up: str) -> float | None:
    """Cosine between the vector from right to left joints and up × forward; median over frames."""
    if (one := seen(recording)) is None:
        return None
    points, names = turn_up(one[0], up), one[1]
    forward, across = _mean_of(points, names, FORWARD), _mean_of(points, names, SIDES)
    if forward is None or across is None:
        return None
    left = np.stack([forward[:, 2], -forward[:, 0]], axis=1)  # (up × forward) in x and z
    across = across[:, [0, 2]]
    sizes = np.linalg.norm(left, axis=1) * np.linalg.norm(across, axis=1)
    good = sizes > 0  # false for NaN
    if not good.any():
        return None
    return float(np.median((left * across).sum(axis=1)[good] / sizes[good]))


def _mean_of(
    points: np.ndarray, names: Sequence[str], pairs: Iterable[tuple[str, ...]]
) -> np.ndarray | None:
    """(T, 3) the mean of the vectors between pairs of joints that are among the names."""
    place = {joint: i for i, joint in enumerate(names)}
    ways = [
        points[:, place[a]] - points[:, place[b]] for a, b in pairs if a in place and b in place
    ]
    return None if not ways else np.mean(ways, axis=0)


def settle(
    found: Sequence[tuple[str, Conventions | None, SkeletonSequence]],
    *,
    unit: str | None = None,
    up: str | None = None,
    flip: bool | None = None,
    kept: Conventions | None = None,
) -> tuple[list[SkeletonSequence], Conversion]:
    """Recordings of files in metres, y up and right-handed, and their conversion.

    ``found`` are the format, the unit and axis that its reader assumed (None if it did not
    convert), and the recording. Recordings of one format, joints and size are converted together: a
    lying person must not be judged alone, and metres must not be scaled because there are
    millimetres in the same folder. ``kept`` is as in `to_convention`.
    """
    sequences, done = [sequence for *_, sequence in found], []
    said: dict[str, Any] = {"unit": unit, "up": up, "flip": flip}
    for members, taken in _kinds(found):
        some = [sequences[i] for i in members]
        own = kept if kept and bool(kept.stated) == (taken is not None) else None
        if taken is not None:
            from kerneton.data.stated import alike, restate

            some, taken = alike(some, [found[i][1] or taken for i in members])
            turned, conversion = restate(some, taken, **said, kept=own)
        else:
            turned, conversion = to_convention(some, **said, kept=own)
        done.append((conversion, tuple(members)))
        for i, sequence in zip(members, turned, strict=True):
            sequences[i] = sequence
    done.sort(key=lambda kind: -kind[0].count)
    first, others = done[0][0], tuple(conversion for conversion, _ in done[1:])
    if len({(c.unit, c.up, c.flip) for c, _ in done}) == 1:
        first, others = dataclasses.replace(first, count=len(sequences)), ()
    return sequences, dataclasses.replace(
        first, others=others, kinds=tuple(members for _, members in done)
    )


def _kinds(
    found: Sequence[tuple[str, Conventions | None, SkeletonSequence]],
) -> list[tuple[list[int], Any]]:
    """Positions of recordings of one kind, and what their reader took for their convention, without
    an axis that no file states.
    """
    groups: dict[Any, list[int]] = {}
    for i, (name, taken, sequence) in enumerate(found):
        joints = None if sequence.layout is None else sequence.layout.joints
        if taken is not None and "up" not in taken.stated:  # what one file shows is only a vote
            taken = dataclasses.replace(taken, up=None)
        groups.setdefault((name, taken, joints), []).append(i)
    kinds: list[tuple[list[int], Any]] = [
        (members, key[1]) for key, members in groups.items() if key[1]
    ]
    for members in (members for key, members in groups.items() if not key[1]):
        units = {i: find_conventions([found[i][2]]).unit for i in members}
        common = Counter(unit for unit in units.values() if unit is not None).most_common(1)
        by_unit: dict[str | None, list[int]] = {}
        for i in members:
            by_unit.setdefault(units[i] or (common[0][0] if common else None), []).append(i)
        kinds += [(some, None) for some in by_unit.values()]
    return kinds
