"""Generated long recordings: actions with rests, unknown motions and transitions between them, or background alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kerneton.data.sequence import SkeletonDataset, SkeletonSequence
from kerneton.data.validation import check_positive
from kerneton.datasets._actions import ACTIONS, rest, wander
from kerneton.datasets._body import keys
from kerneton.datasets.synthetic import _seed, make_style, make_subject, play, sense


def make_long(
    actions: Sequence[str],
    s: int,
    take: int,
    seed: int,
    noise: float,
    dropout: float,
    fps: float,
    *,
    n_unknown: int = -1,
) -> SkeletonSequence:
    """One long recording of subject ``s``: each action once, with rests, unknown motions and transitions."""
    subject = make_subject(np.random.default_rng([seed, s]))
    chance = np.random.default_rng([seed, s, 0, take + 1])
    plan: list[str | None] = [actions[i] for i in chance.permutation(len(actions))]
    for _ in range(round(0.6 * len(actions)) if n_unknown < 0 else n_unknown):
        plan.insert(int(chance.integers(len(plan) + 1)), None)
    pieces: list[np.ndarray] = []
    segments = []
    length = 0
    for action in plan:
        for script, usual, label in (
            (rest, chance.uniform(0.4, 2.0), None),
            (*ACTIONS[action], action) if action else (wander, chance.uniform(1.2, 4.0), None),
        ):
            number = 1 + list(ACTIONS).index(label) if label else 0
            style = make_style([seed, s, number], subject, chance)
            joints, start, stop = play(script, usual, subject, style, fps)
            if pieces:
                n = max(2, round(chance.uniform(0.2, 0.5) * fps))
                ease = keys(np.linspace(0, 1, n + 2)[1:-1], [0, 1], [0.0, 1.0])[:, None, None]
                pieces.append(pieces[-1][-1] + (joints[0] - pieces[-1][-1]) * ease)
                length += n
            if label is not None:
                segments.append((label, length + start, length + stop))
            pieces.append(joints)
            length += len(joints)
    recording = sense(np.concatenate(pieces), noise, dropout, fps, chance)
    return recording.replace(subject=str(s + 1), name=f"s{s + 1:02d}_long_t{take + 1}", segments=segments)


def make_background(
    seconds: float,
    *,
    n_subjects: int = 1,
    noise: float = 0.01,
    dropout: float = 0.01,
    fps: float = 30.0,
    random_state: int | np.random.Generator | None = 0,
) -> SkeletonDataset:
    """Generate recordings in which none of the actions happens: rests and random motions.

    >>> quiet = make_background(20.0, n_subjects=2)
    >>> len(quiet), quiet[0].segments, quiet[0].duration > 5
    (2, (), True)
    """
    check_positive("seconds", seconds)
    check_positive("n_subjects", n_subjects, integer=True)
    seed = _seed(random_state)
    n = max(1, round(seconds / n_subjects / 4.5))  # a rest and a motion last about 4.5 seconds
    takes = [make_long([], s, 0, seed, noise, dropout, fps, n_unknown=n) for s in range(n_subjects)]
    return SkeletonDataset(takes, name="background")
