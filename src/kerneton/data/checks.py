"""Recordings are checked where they come in: every public function passes them through
`check_sequences`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from kerneton.data.arrays import padding
from kerneton.data.layouts import Layout
from kerneton.data.notes import warn
from kerneton.data.sequence import SkeletonDataset, SkeletonSequence
from kerneton.data.wording import grouped, many
from kerneton.exceptions import DataError

LARGEST_COORDINATE = 1e9  # beyond this, squares and rates of change overflow in single precision
_TOGETHER = 256  # recordings that are checked together


def check_sequences(
    X: Iterable[Any],
    *,
    n_joints: int | None = None,
    layout: Layout | None = None,
    allow_missing: bool = False,
    values: bool = True,
    whole: bool = False,
) -> list[SkeletonSequence]:
    """Check recordings and return them as a list; every problem is collected into one error.

    ``X`` contains `SkeletonSequence` objects or arrays of shape (T, J, 3) with any T, the same J
    and the same layout. ``n_joints`` and ``layout`` are those of the training recordings.
    ``allow_missing`` allows NaN coordinates, all-zero frames and zero confidence, as preprocessing
    does; frames without any joint at the ends are then padding, and left out with a warning.
    Recordings with segments keep them, with ``whole`` all that are no arrays. Without ``values``,
    only shapes are checked.

    >>> import numpy as np
    >>> [s.n_frames for s in check_sequences([np.ones((4, 2, 3)), np.ones((7, 2, 3))])]
    [4, 7]
    """
    if isinstance(X, SkeletonSequence) or getattr(X, "ndim", 0) == 3:
        raise DataError(
            "expected a list of recordings, got one recording; wrap it in a list: [recording]"
        )
    if isinstance(X, (str, bytes)) or not isinstance(X, Iterable):
        raise DataError(f"expected a list of recordings, got {type(X).__name__}")
    if hasattr(X, "columns") and hasattr(X, "iloc"):
        raise DataError("got a table: kerneton.read(table) makes recordings of a DataFrame")
    sequences, problems, total, padded = [], [], 0, 0
    for i, item in enumerate(X):
        total += 1
        try:
            sequence = item if isinstance(item, SkeletonSequence) else SkeletonSequence(item)
        except DataError as error:
            problems.append((f"#{i}:", str(error)))
            continue
        kept = sequence is item and (whole or bool(sequence.segments))
        if allow_missing and not kept:
            cut = without_padding(sequence)
            padded += cut is not sequence
            sequence = cut
        sequences.append(sequence)
    if padded:
        _warn_of_padding(padded, total)
    if not sequences and not problems:
        raise DataError("expected at least one recording, got none")
    if not problems:
        problems = list(_problems(sequences, n_joints, layout, allow_missing, values))
    if problems:
        raise DataError(
            f"{len(problems)} of {many(total, 'recording')} cannot be used: {grouped(problems)}"
        )
    return sequences


def without_padding(sequence: SkeletonSequence) -> SkeletonSequence:
    """The frames from the first to the last in which a joint was seen; itself if these are all.

    >>> import numpy as np
    >>> x = np.concatenate([np.ones((4, 2, 3)), np.zeros((3, 2, 3))])
    >>> without_padding(SkeletonSequence(x)).n_frames
    4
    """
    ends = sequence.joints[[0, -1]]  # nearly always enough to look at
    sure = sequence.confidence is None and bool(np.all(ends.any(axis=(1, 2))))
    if sure and np.isfinite(ends).all(axis=2).any(axis=1).all():
        return sequence
    where = padding(sequence.joints, sequence.confidence)
    return sequence if where == (0, sequence.n_frames) else sequence.cut(*where)


def as_dataset(data: Iterable[Any], *, told: bool = True) -> SkeletonDataset:
    """Recordings as a data set; gaps are allowed, and frames without any joint at the ends are left
    out, with a warning if that is to be ``told``.
    """
    if not isinstance(data, SkeletonDataset):
        return SkeletonDataset(check_sequences(data, allow_missing=True))
    cut = [s if s.segments else without_padding(s) for s in data]
    padded = sum(a is not b for a, b in zip(cut, data, strict=True))
    if not padded:
        return data
    if told:
        _warn_of_padding(padded, len(cut))
    return SkeletonDataset(
        cut,
        name=data.name,
        conversion=data.conversion,
        splits=data.splits,
        left_out=data.left_out,
    )


def _warn_of_padding(padded: int, total: int) -> None:
    warn(
        f"{padded} of {many(total, 'recording')}: frames without any joint at the ends are taken "
        "for padding and left out"
    )


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
        other = (
            layout is not None
            and sequence.layout is not None
            and sequence.layout.joints != layout.joints
        )
        if sound and not other and sequence.n_joints == n_joints:
            continue
        who = describe(sequence, i)
        difference = None
        if (
            other
            and sequence.layout is not None
            and layout is not None
            and len(layout.joints) == n_joints
        ):
            from kerneton.data.differences import layout_difference

            difference = layout_difference(sequence.layout, layout)
        if difference is not None:
            yield who, difference
        elif sequence.n_joints != n_joints:
            yield who, f"has {sequence.n_joints} joints, expected {n_joints}"
        elif not sound:
            yield from ((who, problem) for problem in _bad_values(sequence, allow_missing))


def _all_sound(sequences: list[SkeletonSequence]) -> bool:
    """Whether no recording can have bad values; checks many at once, ten times faster than one by
    one.
    """
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


def common_layout(sequences: Iterable[SkeletonSequence]) -> Layout | None:
    """The layout that most recordings have, compared by joints; None if no recording has one."""
    counts: Counter[tuple[str, ...]] = Counter()
    first: dict[tuple[str, ...], Layout] = {}
    for sequence in sequences:
        if sequence.layout is not None:
            counts[sequence.layout.joints] += 1
            first.setdefault(sequence.layout.joints, sequence.layout)
    return first[counts.most_common(1)[0][0]] if counts else None


def all_timed(sequences: Iterable[SkeletonSequence]) -> bool | None:
    """Whether all recordings have a frame rate, or none; None for some."""
    timed = {s.fps is not None for s in sequences}
    return None if len(timed) > 1 else timed == {True}


def describe(sequence: SkeletonSequence, position: int) -> str:
    """How errors name a recording: by its name, or else by its position."""
    return f"recording {sequence.name!r}" if sequence.name else f"recording #{position}"


def joint_name(sequence: SkeletonSequence, joint: int) -> str:
    """The name of a joint if the layout is known, else its position."""
    return sequence.layout.joints[joint] if sequence.layout is not None else f"joint {joint}"
