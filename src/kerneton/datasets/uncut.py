"""Generated long recordings: actions in a row with rests, unknown motions and transitions, or background alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kerneton.data.layouts import KINECT_20
from kerneton.data.sequence import SkeletonDataset, SkeletonSequence
from kerneton.data.validation import check_positive
from kerneton.datasets._actions import ACTIONS, Style, rest, wander
from kerneton.datasets._body import keys
from kerneton.datasets.synthetic import _seed, make_subject, play, sense


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
    """One long recording of subject ``s``: each action once, rests, unknown motions, transitions; or these alone."""
    subject = make_subject(np.random.default_rng([seed, s]))
    chance = np.random.default_rng([seed, s, 0, take + 1])
    plan: list[str | None] = [actions[i] for i in chance.permutation(len(actions))]
    n_unknown = round(0.6 * len(actions)) if n_unknown < 0 else n_unknown
    for _ in range(n_unknown):
        plan.insert(int(chance.integers(len(plan) + 1)), None)
    pieces: list[np.ndarray] = []
    segments = []
    length = 0
    for action in plan:
        for script, usual, label in (
            (rest, chance.uniform(0.4, 2.0), None),
            (ACTIONS[action][0], ACTIONS[action][1], action)
            if action
            else (wander, chance.uniform(1.2, 4.0), None),
        ):
            habits = np.random.default_rng([seed, s, 1 + list(ACTIONS).index(label) if label else 0])
            style = Style(
                subject.amplitude * chance.lognormal(0, 0.08),
                habits.normal(0, 0.05, 3),
                habits.uniform(),
                chance,
            )
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
    seen, confidence = sense(np.concatenate(pieces), noise, dropout, chance)
    return SkeletonSequence(
        seen,
        confidence,
        layout=KINECT_20,
        subject=str(s + 1),
        name=f"s{s + 1:02d}_long_t{take + 1}",
        fps=fps,
        segments=tuple(segments),  # type: ignore[arg-type]
    )


def make_background(
    seconds: float,
    *,
    n_subjects: int = 1,
    noise: float = 0.01,
    dropout: float = 0.01,
    fps: float = 30.0,
    random_state: int | np.random.Generator | None = 0,
) -> SkeletonDataset:
    """Generate recordings in which none of the actions happens: rests and motions of chance.

    >>> quiet = make_background(20.0, n_subjects=2)
    >>> len(quiet), quiet[0].segments, quiet[0].duration > 5
    (2, (), True)
    """
    check_positive("seconds", seconds)
    check_positive("n_subjects", n_subjects, integer=True)
    seed = _seed(random_state)
    n = max(1, round(seconds / n_subjects / 4.5))  # a rest and a motion take about as long
    takes = [make_long([], s, 0, seed, noise, dropout, fps, n_unknown=n) for s in range(n_subjects)]
    return SkeletonDataset(takes, name="background")
