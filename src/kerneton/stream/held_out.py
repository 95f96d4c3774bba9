"""What a spotter's recogniser says of training people whom its machine has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kerneton.data.progress import Progress
from kerneton.data.sequence import SkeletonSequence
from kerneton.machine.folds import machines
from kerneton.recognize.presets import STANDARD_C, STANDARD_PENALTY
from kerneton.stream.spotter import BACKGROUND
from kerneton.stream.verify import Candidates


@dataclass
class Take:
    """A training recording with what is derived from it."""

    joints: np.ndarray  # (T, J, 3) cleaned
    features: np.ndarray  # (T, D)
    windows: np.ndarray  # (n, 2) true segments
    codes: np.ndarray  # (n,) their classes
    person: str
    recording: SkeletonSequence

    def cut(self, windows: np.ndarray) -> list[SkeletonSequence]:
        """Recordings of these frames, as the engine cuts them."""
        subject, layout = self.person, self.recording.layout
        return [SkeletonSequence(self.joints[a:b], layout=layout, subject=subject) for a, b in windows]


@dataclass
class Examples:
    """What the recogniser is trained on."""

    recordings: list[SkeletonSequence]
    labels: list[str]
    takes: list[int]  # which training recording each was cut from

    def add(self, i: int, take: Take, windows: np.ndarray, labels: Sequence[str]) -> None:
        """Windows of one take with their labels."""
        self.recordings += take.cut(windows)
        self.labels += labels
        self.takes += [i] * len(windows)


def held_out_scores(
    model: Any,
    examples: Examples,
    proposed: dict[int, Candidates],
    takes: Sequence[Take],
    classes: tuple[str, ...],
    folds: Sequence[tuple[list[int], list[int]]],
    show: Progress,
) -> None:
    """Put decision values of people who were held out into ``proposed``.

    Features are computed once, by the recogniser of all training people; the linear machine is fitted again for each
    fold. Joint weights and centring have therefore seen the people who are held out, the machine has not.
    """
    order = [*classes, BACKGROUND]
    codes, of_take = np.array([order.index(k) for k in examples.labels]), np.array(examples.takes)
    F = model.features(examples.recordings)
    scale = float(np.mean(np.einsum("ij,ij->i", F, F))) or 1.0
    K = (F @ F.T).astype(float) / scale
    across = {
        i: (model.features(takes[i].cut(c.windows)) @ F.T).astype(float) / scale
        for i, c in show(proposed.items(), total=len(proposed), desc="candidates")
        if len(c.windows)
    }
    for inside, outside in folds:
        rows = np.flatnonzero(np.isin(of_take, inside))
        present, local = np.unique(codes[rows], return_inverse=True)
        ((duals, intercept),) = machines(
            K[np.ix_(rows, rows)], local, [STANDARD_C], penalty=STANDARD_PENALTY, tol=1e-3
        )
        for i in outside:
            if i not in across:
                continue
            values = across[i][:, rows] @ duals.T + intercept
            if len(present) == 2:
                values = np.hstack([-values, values])
            proposed[i].deep = np.full((len(values), len(order)), -1.0)  # a class nobody else showed
            proposed[i].deep[:, present] = values
