"""Long training recordings from short ones: actions in a row, with pauses, beginnings of actions
and transitions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kerneton.data.segments import Segment
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError
from kerneton.stream.frames import Cleaner, raw_joints


def compose_takes(
    recordings: Sequence[SkeletonSequence], *, seed: int = 0
) -> list[SkeletonSequence]:
    """Two long recordings per person from their cut recordings; each action occurs once, the rest
    is background.

    Between actions there is a transition from the last pose to the next, often a pause in which the
    body hardly moves, and often a part of some action (a quarter to two fifths of it): its
    beginning, middle or end.

    >>> from kerneton import make_actions
    >>> data = make_actions(["wave", "clap"], n_subjects=2, n_takes=2)
    >>> takes = compose_takes(data)
    >>> len(takes), [s.label for s in takes[0].segments].count("wave")
    (4, 1)
    """
    bare = [r.name or f"#{i}" for i, r in enumerate(recordings) if r.label is None]
    if bare:
        raise DataError(
            f"{len(bare)} of {len(recordings)} recordings have neither segments nor a label, first {bare[0]}"
        )
    chance = np.random.default_rng(seed)
    people: dict[str, list[SkeletonSequence]] = {}
    for r in recordings:
        people.setdefault(r.subject if r.subject is not None else "somebody", []).append(r)
    takes = []
    for person, own in people.items():
        for part in range(2 if len(own) > 1 else 1):
            chosen = own[part::2] if len(own) > 1 else own
            takes.append(
                _compose([chosen[i] for i in chance.permutation(len(chosen))], own, person, chance)
            )
    return takes


def _compose(
    actions: Sequence[SkeletonSequence],
    material: Sequence[SkeletonSequence],
    person: str,
    chance: np.random.Generator,
) -> SkeletonSequence:
    pieces: list[np.ndarray] = []
    segments: list[Segment] = []
    length = 0

    def add(piece: np.ndarray) -> None:
        nonlocal length
        if pieces:
            bridge = _blend(pieces[-1][-1], piece[0], int(chance.integers(2, 12)))
            pieces.append(bridge)
            length += len(bridge)
        pieces.append(piece)
        length += len(piece)

    for action in actions:
        if chance.uniform() < 0.7:
            add(_part(_filled(material[int(chance.integers(len(material)))]), chance))
        if chance.uniform() < 0.6 and pieces:
            add(_pause(pieces[-1][-1], int(chance.integers(8, 40)), chance))
        joints = _filled(action)
        add(joints)
        segments.append(Segment(str(action.label), length - len(joints), length))
    add(_pause(pieces[-1][-1], int(chance.integers(8, 40)), chance))
    first = actions[0]
    return SkeletonSequence(
        np.concatenate(pieces),
        layout=first.layout,
        subject=person,
        name=f"composed of {person}",
        fps=first.fps,
        segments=tuple(segments),
    )


def _filled(recording: SkeletonSequence) -> np.ndarray:
    """Frames without gaps, relative to the position of the first pose, so that takes of one person
    join without a jump.
    """
    layout, joints = recording.layout, raw_joints(recording)
    root = 0 if layout is None or layout.root is None else layout.root
    seen = np.nan_to_num(np.nanmean(np.where(np.isfinite(joints), joints, np.nan), axis=0))
    filled, _ = Cleaner(seen - seen[root], () if layout is None else layout.bones, root).clean(
        joints
    )
    return filled - filled[0, root]


def _part(joints: np.ndarray, chance: np.random.Generator) -> np.ndarray:
    n = max(2, round(len(joints) * chance.uniform(0.25, 0.4)))
    n = min(n, len(joints))
    start = int(chance.choice([0, (len(joints) - n) // 2, len(joints) - n]))
    return joints[start : start + n]


def _pause(pose: np.ndarray, n: int, chance: np.random.Generator) -> np.ndarray:
    """The pose held still, with a slow sway of about a centimetre for an adult."""
    size = np.linalg.norm(pose - pose.mean(axis=0), axis=1).mean()
    phase = np.linspace(0, 1, n)[:, None, None] * np.pi
    sway = np.sin(phase * chance.uniform(0.5, 2, (1, *pose.shape))) * chance.normal(
        0, 0.02 * size, (1, *pose.shape)
    )
    return pose + sway


def _blend(before: np.ndarray, after: np.ndarray, n: int) -> np.ndarray:
    s = np.linspace(0, 1, n + 2)[1:-1, None, None]
    return before + (after - before) * (s**3 * (10 + s * (6 * s - 15)))
