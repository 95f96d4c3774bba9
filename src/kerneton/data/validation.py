"""Validation: every public function passes recordings through `check_sequences`."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from kerneton.data.layouts import Layout
from kerneton.data.sequence import NOTHING, SkeletonDataset, SkeletonSequence
from kerneton.exceptions import DataError, ParameterError

_SHOWN = 5  # kinds of problems in a message
_EXAMPLES = 3  # names of recordings with the same problem
_VARIABLE = re.compile(r"'[^']*'|-?\d[\d.]*(?:e[+-]?\d+)?")  # may differ in problems of one kind
LARGEST_COORDINATE = 1e9  # beyond this, squares and rates of change overflow in single precision
NARROWEST = 1e-9  # a width whose square and its inverse are ordinary numbers in single precision
_TOGETHER = 256  # recordings that are checked together


def check_sequences(
    X: Iterable[Any],
    *,
    n_joints: int | None = None,
    layout: Layout | None = None,
    allow_missing: bool = False,
    values: bool = True,
) -> list[SkeletonSequence]:
    """Check recordings and return them as a list; every problem is collected into one error.

    ``X`` contains `SkeletonSequence` objects or arrays of shape (T, J, 3) with any T, the same J and the same layout.
    ``n_joints`` and ``layout`` are those of the training recordings. ``allow_missing`` allows NaN coordinates,
    all-zero frames and zero confidence, as preprocessing does. Without ``values``, only shapes are checked.

    >>> import numpy as np
    >>> [s.n_frames for s in check_sequences([np.ones((4, 2, 3)), np.ones((7, 2, 3))])]
    [4, 7]
    """
    if isinstance(X, SkeletonSequence) or (isinstance(X, np.ndarray) and X.ndim == 3):
        raise DataError("expected a list of recordings, got one recording; wrap it in a list: [recording]")
    if isinstance(X, (str, bytes)) or not isinstance(X, Iterable):
        raise DataError(f"expected a list of recordings, got {type(X).__name__}")
    sequences, problems, total = [], [], 0
    for i, item in enumerate(X):
        total += 1
        try:
            sequences.append(item if isinstance(item, SkeletonSequence) else SkeletonSequence(item))
        except DataError as error:
            problems.append((f"#{i}:", str(error)))
    if not sequences and not problems:
        raise DataError("expected at least one recording, got none")
    if not problems:
        problems = list(_problems(sequences, n_joints, layout, allow_missing, values))
    if problems:
        raise DataError(f"{len(problems)} of {many(total, 'recording')} cannot be used: {grouped(problems)}")
    return sequences


def as_dataset(data: Iterable[Any]) -> SkeletonDataset:
    """Recordings as a data set; gaps are allowed."""
    if isinstance(data, SkeletonDataset):
        return data
    return SkeletonDataset(check_sequences(data, allow_missing=True))


def many(n: int, word: str) -> str:
    """A number of things.

    >>> many(1, "frame"), many(2, "frame")
    ('1 frame', '2 frames')
    """
    return f"{n} {word}{'' if n == 1 else 's'}"


def grouped(problems: Iterable[tuple[str, str]]) -> str:
    """Problems as (who, what) in few words: one sentence per kind, with a count and three examples.

    Problems of one kind differ only in numbers, quoted words and what follows a semicolon.

    >>> grouped([("a.csv:", "line 3: expected 4 columns, got 5"), ("b.csv:", "no rows")])
    'a.csv: line 3: expected 4 columns, got 5; b.csv: no rows'
    >>> grouped([(f"{name}.csv:", f"line {i}: expected 4 columns, got 5") for i, name in enumerate("abcde")])
    'a.csv: line 0: expected 4 columns, got 5 (the same in 5: a.csv, b.csv, c.csv and 2 more)'
    >>> grouped([(f"{name}.txt:", f"no names; give --layout {name}") for name in "ab"])
    'a.txt: no names; give --layout a (the same in 2: a.txt, b.txt)'
    """
    kinds: dict[str, list[tuple[str, str]]] = {}
    for who, what in problems:
        kinds.setdefault(_VARIABLE.sub("*", what.partition("; ")[0]), []).append((who, what))
    sentences = []
    for members in kinds.values():
        sentence = " ".join(members[0])
        if len(members) > 1:
            names = [who.removeprefix("recording ").rstrip(":") for who, _ in members]
            sentence += f" (the same in {len(names)}: {few(names)})"
        sentences.append(sentence)
    more = len(sentences) - _SHOWN
    rest = f"; and {more} more kinds of problems" if more > 0 else ""
    return "; ".join(sentences[:_SHOWN]) + rest


def describe(sequence: SkeletonSequence, position: int) -> str:
    """How errors name a recording: by its name, or else by its position."""
    return f"recording {sequence.name!r}" if sequence.name else f"recording #{position}"


def joint_name(sequence: SkeletonSequence, joint: int) -> str:
    """The name of a joint if the layout is known, else its position."""
    return sequence.layout.joints[joint] if sequence.layout is not None else f"joint {joint}"


def common_layout(sequences: Iterable[SkeletonSequence]) -> Layout | None:
    """The layout that most recordings have, compared by joints; None if no recording has one."""
    counts: Counter[tuple[str, ...]] = Counter()
    first: dict[tuple[str, ...], Layout] = {}
    for sequence in sequences:
        if sequence.layout is not None:
            counts[sequence.layout.joints] += 1
            first.setdefault(sequence.layout.joints, sequence.layout)
    return first[counts.most_common(1)[0][0]] if counts else None


def few(names: list[str]) -> str:
    """The first names of a list, and how many more there are."""
    more = f" and {len(names) - _EXAMPLES} more" if len(names) > _EXAMPLES else ""
    return ", ".join(names[:_EXAMPLES]) + more


def _problems(
    sequences: list[SkeletonSequence],
    n_joints: int | None,
    layout: Layout | None,
    allow_missing: bool,
    values: bool,
) -> Iterator[tuple[str, str]]:
    layout = common_layout(sequences) if layout is None else layout
    sound = not values or _all_sound(sequences)
    if n_joints is None:
        n_joints = Counter(s.n_joints for s in sequences).most_common(1)[0][0]
        if layout is not None and sum(s.layout is not None for s in sequences) == len(sequences):
            n_joints = len(layout.joints)
    for i, sequence in enumerate(sequences):
        other = layout is not None and sequence.layout is not None and sequence.layout.joints != layout.joints
        if sound and not other and sequence.n_joints == n_joints:
            continue
        who = describe(sequence, i)
        difference = None
        if other and sequence.layout is not None and layout is not None and len(layout.joints) == n_joints:
            from kerneton.data.differences import layout_difference

            difference = layout_difference(sequence.layout, layout)
        if difference is not None:
            yield who, difference
        elif sequence.n_joints != n_joints:
            yield who, f"has {sequence.n_joints} joints, expected {n_joints}"
        elif not sound:
            yield from ((who, problem) for problem in _bad_values(sequence, allow_missing))


def _all_sound(sequences: list[SkeletonSequence]) -> bool:
    """Whether no recording can have bad values; checks many at once, ten times faster than one by one."""
    if len({(s.n_joints, s.joints.dtype) for s in sequences}) > 1:
        return False
    if not all(s.confidence is None or bool((s.confidence > 0).all()) for s in sequences):
        return False
    for i in range(0, len(sequences), _TOGETHER):
        poses = np.concatenate([s.joints for s in sequences[i : i + _TOGETHER]])
        poses = poses.reshape(len(poses), -1)
        squares = np.einsum("ij,ij->i", poses, poses)  # NaN and infinity stay what they are
        if not (squares.min() > 0 and squares.max() <= LARGEST_COORDINATE**2):
            return False
    return True


def _bad_values(sequence: SkeletonSequence, allow_missing: bool) -> Iterator[str]:
    """The first problem with the numbers of a recording, if there is one."""
    joints = sequence.joints
    fill = "(put kerneton.Preprocess before this step to fill gaps)"

    def where(bad: np.ndarray) -> str:
        frame, joint = np.argwhere(bad)[0][:2]
        return f"at frame {frame}, {joint_name(sequence, int(joint))}"

    if np.isinf(joints).any():
        yield f"is infinite {where(np.isinf(joints))}"
    elif (np.abs(joints) > LARGEST_COORDINATE).any():  # NaN compares as false
        bad = np.abs(joints) > LARGEST_COORDINATE
        yield f"is {joints[bad][0]:g} {where(bad)}, which cannot be a coordinate"
    elif allow_missing:
        return
    elif np.isnan(joints).any():
        yield f"is NaN {where(np.isnan(joints))} {fill}"
    elif sequence.confidence is not None and not (sequence.confidence > 0).all():
        yield f"has no confidence {where(~(sequence.confidence > 0))} {fill}"
    elif sequence.n_joints > 1 and not joints.any(axis=(1, 2)).all():
        yield f"has no pose at frame {int(np.argmin(joints.any(axis=(1, 2))))}: every joint is zero {fill}"


def missing_joints(sequence: SkeletonSequence) -> np.ndarray:
    """Which joints are missing, (T, J) bool: NaN, zero confidence, or part of an all-zero frame.

    A sensor that loses the body writes zeros for every joint.

    >>> walk = np.ones((3, 2, 3)); walk[1] = 0
    >>> missing_joints(SkeletonSequence(walk)).any(axis=1).tolist()
    [False, True, False]
    """
    poses = sequence.joints.reshape(sequence.n_frames, -1)
    trusted = sequence.confidence is None or bool((sequence.confidence > 0).all())
    if trusted and np.einsum("ij,ij->i", poses, poses).min() > 0:  # NaN compares as false
        return np.zeros(sequence.joints.shape[:2], dtype=bool)
    missing = np.isnan(sequence.joints).any(axis=2)
    if sequence.n_joints > 1:
        missing |= (sequence.joints == 0).all(axis=(1, 2))[:, None]
    if sequence.confidence is not None:
        missing |= ~(sequence.confidence > 0)
    return missing


def fill_gaps(joints: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """Fill missing joints linearly from their neighbours in time, (T, J, 3); the ends take the nearest.

    A joint that is missing throughout stays as it is.

    >>> track = np.array([0.0, np.nan, 2.0]).reshape(3, 1, 1).repeat(3, axis=2)
    >>> fill_gaps(track, np.isnan(track).any(axis=2))[:, 0, 0].tolist()
    [0.0, 1.0, 2.0]
    """
    filled = joints.copy()
    frames = np.arange(len(joints))
    for joint in np.flatnonzero(missing.any(axis=0) & ~missing.all(axis=0)):
        there = ~missing[:, joint]
        for axis in range(3):
            filled[:, joint, axis] = np.interp(frames, frames[there], joints[there, joint, axis])
    return filled


def check_in(name: str, value: Any, low: float, high: float, *, closed: str = "both") -> None:
    """Check that a number lies in an interval; ``closed`` is "both", "left", "right" or "neither"."""
    ok = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    ok = ok and (value > low or (closed in ("both", "left") and value == low))
    ok = ok and (value < high or (closed in ("both", "right") and value == high))
    if not ok:
        left, right = "[" if closed in ("both", "left") else "(", "]" if closed in ("both", "right") else ")"
        raise ParameterError(f"{name} must be a number in {left}{low}, {high}{right}, got {value!r}")


def check_positive(name: str, value: Any, *, integer: bool = False) -> None:
    """Check that a number is positive and, if ``integer``, whole."""
    kinds = (int, np.integer) if integer else (int, float, np.integer, np.floating)
    if not isinstance(value, kinds) or isinstance(value, bool) or not value > 0 or not np.isfinite(value):
        kind = "whole number" if integer else "number"
        raise ParameterError(f"{name} must be a positive {kind}, got {value!r}")


def check_width(name: str, value: Any) -> None:
    """Check that the square of a kernel width, or of another scale, neither overflows nor vanishes."""
    check_positive(name, value)
    check_in(name, value, NARROWEST, LARGEST_COORDINATE)


def absent(values: Iterable[Any]) -> list[int]:
    """Positions of labels or subjects that are not there: None, NaN, and what pandas has for them.

    >>> absent(["ann", None, float("nan"), 3])
    [1, 2]
    """
    return [i for i, v in enumerate(values) if str(v) in NOTHING - {v}]


def check_choice(name: str, value: Any, choices: Iterable[Any]) -> None:
    """Check that a value is one of several choices."""
    choices = list(choices)
    # In parameter grids, strings and whole numbers may be NumPy's; True is not 1, nor is 1.0.
    plain = isinstance(value, (str, int, np.integer)) and not isinstance(value, bool)
    if not any(value is c or (plain and value == c) for c in choices):
        raise ParameterError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")


class QuickParameters:
    """An estimator whose parameter names are read from its signature once, not at each of hundreds of copies."""

    @classmethod
    @functools.cache
    def _get_param_names(cls) -> list[str]:
        return super()._get_param_names()  # type: ignore[misc]


def all_timed(sequences: Iterable[SkeletonSequence]) -> bool | None:
    """Whether all recordings have a frame rate, or none; None for some."""
    timed = {s.fps is not None for s in sequences}
    return None if len(timed) > 1 else timed == {True}
