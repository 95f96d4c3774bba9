"""The cost of stopping the solver early: accuracy on held-out people, compared with the exact
classifier on the same features.

Fits are forced to go block by block, with a third of the recordings in the sample. Of published
sets only the training subjects of their protocol take part, each held out in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bench_parts._timing import Settings
from kerneton.data.layouts import KINECT_20
from kerneton.data.sequence import SkeletonDataset, SkeletonSequence
from kerneton.datasets import load_dataset
from kerneton.exceptions import MissingDataError
from kerneton.machine.solver import per_class
from kerneton.recognize.large import machine_from_features, widths_of
from kerneton.recognize.presets import make_recognizer
from kerneton.recognize.training import Limits

N, QUICK = 4_000, 400
TRAINING_SUBJECTS = {"msr_action3d": {"1", "3", "5", "7", "9"}, "utd_mhad": {"1", "3", "5", "7"}}


def measure(settings: Settings) -> dict[str, Any]:
    """Accuracy of both machines, how often they agree, and how much their scores differ, by data
    set.
    """
    made = alike_actions(QUICK if settings.quick else N)
    people = sorted({str(s.subject) for s in made})
    jobs: list[tuple[str, list[SkeletonSequence], Sequence[str]]] = [
        ("generated", list(made), people[::4])
    ]
    for name, trained in () if settings.quick else TRAINING_SUBJECTS.items():
        try:
            data = load_dataset(name, settings.data_home)
        except MissingDataError:
            continue
        some = [s for s in data if s.subject in trained]
        jobs += [(name, some, [who]) for who in sorted({str(s.subject) for s in some})]
    found: dict[str, list[np.ndarray]] = {}
    for name, recordings, out in settings.progress(jobs, total=len(jobs), desc="held-out people"):
        found.setdefault(name, []).append(_compare(recordings, out))
    return {name: _summary(np.concatenate(rows)) for name, rows in found.items()}


def _summary(rows: np.ndarray) -> dict[str, float]:
    exact, early, same, square = rows.mean(axis=0).tolist()
    return {
        "recordings": len(rows),
        "accuracy_exact": exact,
        "accuracy_early": early,
        "same_label": same,
        "score_rms": square**0.5,
    }


def _compare(recordings: list[SkeletonSequence], out: Sequence[str]) -> np.ndarray:
    """For each recording of held-out people: whether the exact and the early classifier are right,
    whether they agree, and the squared difference."""
    train = [s for s in recordings if s.subject not in out]
    test = [s for s in recordings if s.subject in out]
    model = make_recognizer(n_jobs=-1, calibrate=False)
    third = len(train) // 3
    model.limits = Limits(choice=third, gram=third, sample=third)
    model.fit(train, [s.label for s in train])
    codes = np.searchsorted(model.classes_, np.array([s.label for s in train]))
    exact = machine_from_features(
        model, model.features(train), codes, widths_of(model.learned_, train)
    )
    X = model.features(test)
    scores = [per_class(X @ m.coef_.T + m.intercept_) for m in (exact, model.machine_)]
    labels = [model.classes_[s.argmax(axis=1)] for s in scores]
    truth = np.array([s.label for s in test])
    square = np.square(scores[0] - scores[1]).mean(axis=1)
    return np.stack(
        [labels[0] == truth, labels[1] == truth, labels[0] == labels[1], square], axis=1
    ).astype(float)


def alike_actions(n: int, seed: int = 0, *, classes: int = 20, people: int = 40) -> SkeletonDataset:
    """Recordings like those of `labelled`, but hard: classes share most of their motion, and each
    person moves differently.

    >>> data = alike_actions(40)
    >>> len(data), len(set(data.labels)), len(set(data.subjects))
    (40, 20, 2)
    """
    rng = np.random.default_rng(seed)
    n_joints = len(KINECT_20.joints)
    body = rng.uniform(-0.6, 0.6, size=(n_joints, 3))
    swing = 0.85 * rng.normal(scale=0.15, size=(2, n_joints, 3))
    swing = swing + 0.15 * rng.normal(scale=0.15, size=(classes, 2, n_joints, 3))
    person = rng.normal(scale=0.05, size=(people, n_joints, 3))
    way = rng.normal(scale=0.09, size=(people, 2, n_joints, 3))
    made = []
    for i in range(n):
        action, subject = i % classes, i // classes % people
        time = np.linspace(0, 1, int(rng.integers(40, 81)))[:, None, None]
        turns = rng.uniform(0.8, 1.2) * 2 * np.pi * time + rng.uniform(0, 0.5)
        first, second = swing[action] + way[subject] * (1 + 0.5 * rng.normal(size=(2, 1, 1)))
        x = body + person[subject] + first * np.sin(turns) + second * np.sin(2 * turns)
        x = x + rng.normal(scale=0.03, size=x.shape)
        made.append(
            SkeletonSequence(
                x.astype(np.float32),
                layout=KINECT_20,
                label=f"class {action}",
                subject=f"person {subject}",
                fps=30,
            )
        )
    return SkeletonDataset(made, name="generated classes that are alike")
