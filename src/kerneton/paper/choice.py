"""Choosing parameters that the paper does not state, inside the training subjects, from Gram
matrices.

Folds, normalisation and classifier are those of `kerneton.Recognizer`. Two things differ. Features
are computed once for all splits of a protocol unless they learn from training recordings. A setting
is chosen one open point after another, by the accuracy pooled over all points still open, and a
default is left only for a gain of more than one standard error: with a hundred recordings of five
people, the accuracy of one setting is known to about three points, so the best of many such figures
is mostly chance. In splits of ten people into halves it is worse, because a setting that by chance
suits one half suits the other less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kerneton.data.progress import Progress, silent
from kerneton.data.sequence import SkeletonDataset
from kerneton.datasets.protocols import get_protocol
from kerneton.machine.folds import held_out_scores, subject_folds
from kerneton.machine.products import gram
from kerneton.machine.scaling import center_normalize_gram
from kerneton.paper.cues import Factor, Family, signed_root

Split = tuple[np.ndarray, np.ndarray]
# Gram matrices of all recordings, and their weights in a sum
Parts = Sequence[tuple[np.ndarray, float]]
Setting = tuple[Any, ...]

CS = (10.0, 1.0, 100.0, 1000.0)


def one_against_rest(
    inside: Any, across: Any, codes: np.ndarray, Cs: Sequence[float]
) -> np.ndarray:
    """Classes (n_C, n_test) by the largest decision value, from Gram matrices of training and of
    test recordings.
    """
    return held_out_scores(inside, across, codes, int(codes.max()) + 1, Cs).argmax(-1)


@dataclass
class Task:
    """Recordings in single precision, splits into training and test, the values of C to try, and
    the classifier.
    """

    data: SkeletonDataset
    splits: list[Split]
    Cs: Sequence[float] = CS
    machine: Callable[..., np.ndarray] = one_against_rest
    codes: np.ndarray = field(init=False)
    subjects: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.data = SkeletonDataset(
            [s.replace(joints=s.joints.astype(np.float32)) for s in self.data], name=self.data.name
        )
        self.codes = np.unique(self.data.labels, return_inverse=True)[1]
        self.subjects = self.data.subjects

    @classmethod
    def of(cls, data: SkeletonDataset, protocol: str | None = None) -> Task:
        """A protocol by name, or the one that published results on the data set use."""
        return cls(data, list(get_protocol(protocol, data).split(data, data.labels, data.subjects)))

    def recognized(self, parts: Parts, split: Split) -> np.ndarray:
        """Which test recordings are recognised from a weighted sum of kernels, for every C; (n_C,
        n_test) bool.

        Each kernel is centred and normalised on the training recordings.
        """
        train, test = split
        total = sum(weight for _, weight in parts)
        inside: Any = 0.0
        across: Any = 0.0
        for K, weight in parts:
            own_inside, own_across = center_normalize_gram(K, train, test)
            inside = inside + own_inside * (weight / total)
            across = across + own_across * (weight / total)
        return self.machine(inside, across, self.codes[train], self.Cs) == self.codes[test]

    def validation(self, parts: Parts, split: Split) -> np.ndarray:
        """Accuracy on the training subjects of a split, each held out in turn, for every C;
        (n_C,).
        """
        train = split[0]
        right = [
            self.recognized(parts, (train[inner], train[held]))
            for inner, held in subject_folds(self.codes[train], self.subjects[train])
        ]
        return np.concatenate(right, axis=1).mean(axis=1)

    def outcome(
        self, candidates: Mapping[Setting, Parts], factors: Sequence[Factor], split: Split
    ) -> Outcome:
        """Choose among candidates inside the training subjects of a split, and test the chosen
        one.
        """
        accuracy = {setting: self.validation(parts, split) for setting, parts in candidates.items()}
        setting, c = choose(accuracy, factors, n=len(split[0]))
        right = self.recognized(candidates[setting], split)[c]
        validation, test = float(accuracy[setting][c]), float(right.mean())
        return Outcome(setting, self.Cs[c], validation, test, split[1], right, self.subjects)


@dataclass(frozen=True)
class Outcome:
    """What was chosen in one split, its accuracy on held-out training subjects and on the test
    subjects.
    """

    setting: Setting
    C: float
    validation: float
    accuracy: float
    tested: np.ndarray  # (n_test,) positions of the test recordings
    right: np.ndarray  # (n_test,) bool
    subjects: np.ndarray  # of all recordings

    def as_dict(self, factors: Sequence[Factor]) -> dict[str, Any]:
        """Plain data, with the names of the open points."""
        chosen = {factor.name: level for factor, level in zip(factors, self.setting, strict=True)}
        return {"accuracy": self.accuracy, "validation": self.validation, "C": self.C, **chosen}


class Grams:
    """Inner products between recordings for every setting of a kernel and every split, (n, n) each.

    ``n_features`` is the number of features of a recording.
    """

    def __init__(
        self, family: Family, task: Task, progress: Progress = silent, desc: str = ""
    ) -> None:
        self.n_features = 0
        self._known: dict[tuple[Setting, int | None], np.ndarray] = {}
        encoders = list(family.encoders())
        for encoder, settings in progress(encoders, total=len(encoders), desc=desc):
            learns = encoder["preprocess"].bones is not None
            every = np.arange(len(task.data))
            for number, (train, test) in (
                enumerate(task.splits) if learns else [(None, (every, every))]
            ):
                rows = np.union1d(train, test)
                features = encoder.fit(task.data.select(train)).transform(task.data.select(rows))
                self.n_features = features.shape[1]
                for root, setting in settings.items():
                    K = np.zeros((len(task.data), len(task.data)))
                    K[np.ix_(rows, rows)] = gram(signed_root(features, root))
                    self._known[setting, number] = K

    def of(self, setting: Setting, number: int) -> np.ndarray:
        """The Gram matrix of a setting in a split; recordings that the split leaves out may have
        zeros.
        """
        K = self._known.get((setting, number))
        return self._known[setting, None] if K is None else K


def choose(
    accuracy: Mapping[Setting, np.ndarray],
    factors: Iterable[Factor],
    n: int,
    *,
    cautious_C: bool = True,
) -> tuple[Setting, int]:
    """The setting and the position of its C, from the accuracy (n_C,) of every setting on n
    recordings.

    First C, then one factor after another, by the mean over everything that is still open. A
    cautious factor, and C where ``cautious_C``, leave their first level only for one that is better
    by more than a standard error, √(a (1-a) / n). Earlier levels win ties.

    >>> accuracy = {
    ...     ("a",): np.array([0.90, 0.5, 0.5, 0.5]),
    ...     ("b",): np.array([0.92, 0.5, 0.5, 0.5]),
    ... }
    >>> choose(accuracy, [Factor("letter", ("a", "b"))], n=100)
    (('b',), 0)
    >>> choose(accuracy, [Factor("letter", ("a", "b"), cautious=True)], n=100)
    (('a',), 0)
    """
    still = {(c, *setting): a for setting, scores in accuracy.items() for c, a in enumerate(scores)}
    n_C = len(next(iter(accuracy.values())))
    positions = Factor("C", tuple(range(n_C)), cautious=cautious_C)
    for at, factor in enumerate([positions, *factors]):
        pooled = ([a for s, a in still.items() if s[at] == level] for level in factor.levels)
        means = np.array([np.mean(accuracies) for accuracies in pooled])
        if factor.cautious:
            means[1:] -= np.sqrt(means[0] * (1 - means[0]) / n)
        best = factor.levels[int(means.argmax())]
        still = {setting: a for setting, a in still.items() if setting[at] == best}
    ((c, *setting),) = still
    return tuple(setting), c
