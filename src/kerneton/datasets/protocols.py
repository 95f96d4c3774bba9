"""Training and test recordings: the published splits by name, and folds for your own recordings.

Every splitter can be the ``cv`` of scikit-learn. Groups are subjects; if ``groups`` (or ``y``) is
not given, it is read from the recordings, so ``GridSearchCV(model, grid, cv=LeaveOneSubjectOut())``
splits by subject.
"""

from __future__ import annotations

import math
import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kerneton.data.parameters import check_choice, check_positive
from kerneton.data.sequence import SkeletonSequence
from kerneton.datasets._splitter import Indices, Protocol, field_of
from kerneton.datasets.msr_action3d import ACTION_SETS
from kerneton.datasets.msr_action3d import ACTIONS as MSR_ACTIONS
from kerneton.exceptions import DataError, ParameterError

# Training subjects of the ten splits that came with Vemulapalli, Arrate and Chellappa, CVPR 2014.
HALF_SPLITS: dict[str, tuple[tuple[int, ...], ...]] = {
    "florence3d": (
        *((3, 4, 5, 6, 10), (1, 3, 5, 9, 10), (1, 2, 4, 6, 9), (2, 3, 6, 8, 10), (3, 4, 6, 7, 9)),
        *((1, 2, 6, 8, 10), (1, 2, 6, 7, 10), (1, 3, 5, 6, 8), (2, 3, 6, 9, 10), (1, 2, 6, 9, 10)),
    ),
    "utkinect": (
        *((2, 5, 7, 8, 9), (2, 3, 8, 9, 10), (2, 3, 6, 7, 8), (3, 5, 6, 8, 9), (2, 4, 5, 6, 10)),
        *((3, 6, 7, 8, 9), (1, 2, 4, 6, 7), (2, 7, 8, 9, 10), (1, 3, 6, 9, 10), (1, 6, 8, 9, 10)),
    ),
    "msr_action3d": (
        *((1, 2, 3, 5, 10), (2, 3, 4, 5, 10), (2, 3, 5, 6, 7), (2, 3, 5, 6, 8), (2, 3, 5, 6, 9)),
        *((2, 3, 5, 6, 10), (2, 3, 5, 7, 8), (2, 3, 5, 7, 9), (2, 3, 5, 8, 10), (2, 3, 5, 9, 10)),
    ),
}


@dataclass(frozen=True, kw_only=True)
class LeaveOneSubjectOut(Protocol):
    """Each subject in turn is tested on the model of all others.

    >>> cv = LeaveOneSubjectOut()
    >>> for train, test in cv.split(
    ...     range(4), ["sit", "bow", "sit", "bow"], ["ann", "ann", "bob", "bob"]
    ... ):
    ...     print(train, test)
    [2 3] [0 1]
    [0 1] [2 3]
    """

    name = "leave-one-subject-out"

    def _sides(self, X: Any, labels: np.ndarray | None, groups: Any) -> Iterator[Indices]:  # noqa: ARG002
        subjects = self._subjects(X, groups)
        for subject in _in_order(subjects):
            yield np.flatnonzero(subjects != subject), np.flatnonzero(subjects == subject)


@dataclass(frozen=True, kw_only=True)
class HalfSplits(Protocol):
    """Half of the subjects trains, the other half is tested, several times over.

    ``train_subjects`` lists the training subjects of each split; `HalfSplits.published` gives the
    ten of Florence3D, UTKinect and MSR-Action3D (R. Vemulapalli, F. Arrate, R. Chellappa, "Human
    Action Recognition by Representing 3D Human Skeletons as Points in a Lie Group", CVPR 2014).
    Without it, ``n_splits`` different halves are drawn, or all if there are fewer.

    >>> HalfSplits.published("florence3d").train_subjects[0]
    ('3', '4', '5', '6', '10')
    >>> HalfSplits(n_splits=3).get_n_splits(range(6), groups=list("aabbcc"))
    3
    """

    name = "half"
    train_subjects: Sequence[Collection[str]] | None = None
    n_splits: int = 10
    random_state: int = 0

    @classmethod
    def published(cls, dataset: str) -> HalfSplits:
        """The ten splits over which published results on a data set are averaged."""
        check_choice("data set", dataset, HALF_SPLITS)
        subjects = tuple(tuple(map(str, split)) for split in HALF_SPLITS[dataset])
        return cls(train_subjects=subjects, n_splits=len(subjects))

    def _sides(self, X: Any, labels: np.ndarray | None, groups: Any) -> Iterator[Indices]:  # noqa: ARG002
        subjects = self._subjects(X, groups)
        for chosen in (
            self._halves(subjects) if self.train_subjects is None else self.train_subjects
        ):
            train = np.isin(subjects, [str(subject) for subject in chosen])
            yield np.flatnonzero(train), np.flatnonzero(~train)

    def _halves(self, subjects: np.ndarray) -> list[tuple[str, ...]]:
        check_positive("n_splits", self.n_splits, integer=True)
        known = _in_order(subjects)
        rng = np.random.default_rng(self.random_state)
        n_splits = min(self.n_splits, math.comb(len(known), len(known) // 2))
        halves: dict[tuple[str, ...], None] = {}  # in the order drawn
        while len(halves) < n_splits:
            drawn = sorted(rng.permutation(len(known))[: len(known) // 2])
            halves[tuple(known[i] for i in drawn)] = None
        return list(halves)


@dataclass(frozen=True, kw_only=True)
class OddEven(Protocol):
    """Subjects with odd numbers train, those with even numbers are tested: the protocol of UTD-MHAD
    (ICIP 2015).

    >>> list(OddEven().split(range(4), list("abab"), [1, 2, 2, 3]))
    [(array([0, 3]), array([1, 2]))]
    """

    name = "odd-even"

    def _sides(self, X: Any, labels: np.ndarray | None, groups: Any) -> Iterator[Indices]:  # noqa: ARG002
        subjects = self._subjects(X, groups)
        odd = _odd(subjects, self.name)
        yield np.flatnonzero(odd), np.flatnonzero(~odd)


@dataclass(frozen=True, kw_only=True)
class Wang(OddEven):
    """MSR-Action3D, all twenty actions: subjects 1, 3, 5, 7, 9 train, 2, 4, 6, 8, 10 are tested.

    J. Wang, Z. Liu, Y. Wu, J. Yuan, "Mining Actionlet Ensemble", CVPR 2012.
    """

    name = "wang"


@dataclass(frozen=True, kw_only=True)
class Li(Protocol):
    """MSR-Action3D in three sets of eight actions, AS1 to AS3; the mean of the three accuracies is
    reported.

    Within each set, subjects 1, 3, 5, 7, 9 train and 2, 4, 6, 8, 10 are tested. Actions are found
    by name. W. Li, Z. Zhang, Z. Liu, "Action Recognition Based on a Bag of 3D Points", CVPR4HB
    2010.

    >>> Li.action_sets()["AS1"][:3]
    ('horizontal arm wave', 'hammer', 'forward punch')
    """

    name = "li"

    @staticmethod
    def action_sets() -> dict[str, tuple[str, ...]]:
        """The labels in each of the three sets."""
        return {
            key: tuple(MSR_ACTIONS[i - 1] for i in numbers) for key, numbers in ACTION_SETS.items()
        }

    def _sides(self, X: Any, labels: np.ndarray | None, groups: Any) -> Iterator[Indices]:
        if labels is None:
            raise DataError(
                "protocol 'li' splits by action, but no labels are known: each recording needs one"
            )
        odd = _odd(self._subjects(X, groups), self.name)
        for key, actions in self.action_sets().items():
            inside = np.isin(labels, actions)
            if not inside.any():
                raise DataError(
                    f"protocol 'li': no recording is of {key}, which has {', '.join(actions)}"
                )
            yield np.flatnonzero(inside & odd), np.flatnonzero(inside & ~odd)


@dataclass(frozen=True, kw_only=True)
class SubjectKFold(Protocol):
    """Subjects distributed over k folds with balanced labels; no subject is on both sides.

    >>> SubjectKFold(n_splits=2).get_n_splits(range(4), list("abab"), ["ann", "ann", "bob", "bob"])
    2
    """

    name = "k-fold"
    n_splits: int = 5
    random_state: int = 0

    def _sides(self, X: Any, labels: np.ndarray | None, groups: Any) -> Iterator[Indices]:
        from sklearn.model_selection import StratifiedGroupKFold

        n_splits = _check_n_splits(self.n_splits)
        subjects = self._subjects(X, groups)
        n_subjects = len(set(subjects))
        if n_subjects < n_splits:
            raise DataError(
                f"protocol 'k-fold': {n_splits} folds need as many subjects, got {n_subjects}"
            )
        if labels is None or max(Counter(labels.tolist()).values()) < n_splits:
            labels = np.zeros(len(subjects), dtype=int)  # nothing to balance
        folds = StratifiedGroupKFold(n_splits, shuffle=True, random_state=self.random_state)
        with warnings.catch_warnings():  # of rare labels, which the check on every split names
            warnings.simplefilter("ignore", UserWarning)
            sides = list(folds.split(subjects, labels, subjects))
        yield from sides


@dataclass(frozen=True, kw_only=True)
class RecordingKFold(Protocol):
    """Recordings distributed over k folds with balanced labels, for recordings whose subjects are
    not known.

    The same person may be on both sides, so the accuracy is that for people in the training
    recordings.

    >>> [test.tolist() for _, test in RecordingKFold(n_splits=2).split(range(4), list("aabb"))]
    [[0, 2], [1, 3]]
    """

    name = "k-fold"
    n_splits: int = 5
    random_state: int = 0

    def _sides(self, X: Any, labels: np.ndarray | None, groups: Any) -> Iterator[Indices]:  # noqa: ARG002
        n_splits = _check_n_splits(self.n_splits)
        if labels is None:
            labels = np.zeros(len(X), dtype=int)
        if len(labels) < n_splits:
            raise DataError(
                f"protocol 'k-fold': {n_splits} folds need as many recordings, got {len(labels)}; record more"
            )
        order = np.random.default_rng(self.random_state).permutation(len(labels))
        # Shuffled, sorted by label, and dealt out in turn: every fold gets its share of every
        # label.
        order = order[np.argsort(labels[order], kind="stable")]
        fold = np.empty(len(labels), dtype=int)
        fold[order] = np.arange(len(labels)) % n_splits
        for k in range(n_splits):
            yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)


@dataclass(frozen=True, kw_only=True)
class PublishedSplits(Protocol):
    """The published splits of a data set, as positions in its recordings: SBU, JHMDB and SFINGE 3D
    have some.

    >>> list(PublishedSplits(splits=[([0, 1], [2])]).split(range(3), list("aba")))
    [(array([0, 1]), array([2]))]
    """

    name = "published"
    splits: Sequence[tuple[Any, Any]] = ()

    def _sides(self, X: Any, labels: np.ndarray | None, groups: Any) -> Iterator[Indices]:  # noqa: ARG002
        yield from ((np.asarray(train), np.asarray(test)) for train, test in self.splits)


# Training subjects of NTU RGB+D 120; those up to 40 are the training subjects of NTU RGB+D.
XSUB = frozenset(
    [1, 2, 4, 5, 8, 9, *range(13, 20), 25, 27, 28, 31, 34, 35, 38, 45, 46, 47, 49, 50]
    + [*range(52, 60), 70, 74, 78, *range(80, 87), 89, *range(91, 96), 97, 98, 100, 103]
)


@dataclass(frozen=True, kw_only=True)
class CrossSubject(Protocol):
    """NTU RGB+D and NTU RGB+D 120: 20 of 40 or 53 of 106 people train, the others are tested.

    >>> list(CrossSubject().split(range(3), list("aba"), ["P001", "P002", "P003"]))
    [(array([0, 1]), array([2]))]
    """

    name = "xsub"

    def _sides(self, X: Any, labels: np.ndarray | None, groups: Any) -> Iterator[Indices]:  # noqa: ARG002
        subjects = [s.removeprefix("P") for s in self._subjects(X, groups).tolist()]
        _odd(np.asarray(subjects), self.name)  # all are numbers
        train = np.asarray([int(subject) in XSUB for subject in subjects])
        yield np.flatnonzero(train), np.flatnonzero(~train)


@dataclass(frozen=True, kw_only=True)
class CrossView(Protocol):
    """Cameras, by the names of recordings: NTU RGB+D trains on 2 and 3 and tests on 1, NW-UCLA
    trains on 1 and 2 and tests on 3.

    >>> from kerneton.data.sequence import SkeletonSequence
    >>> names = [f"S001C{c:03d}P001R001A001" for c in (1, 2, 3)]
    >>> X = [SkeletonSequence(np.ones((2, 3, 3)), name=name, label="a") for name in names]
    >>> [(train.tolist(), test.tolist()) for train, test in CrossView().split(X)]
    [([1, 2], [0])]
    """

    name = "xview"

    def _sides(self, X: Any, labels: np.ndarray | None, groups: Any) -> Iterator[Indices]:  # noqa: ARG002
        ntu, ucla = (
            _numbers(X, pattern) for pattern in (r"S\d{3}C(\d{3})P", r"a\d\d_s\d\d_e\d\d_v(\d\d)")
        )
        if ntu is None and ucla is None:
            raise DataError(
                f"protocol {self.name!r} finds the camera in names such as S001C002P003R002A013 or a01_s01_e00_v01"
            )
        test = ntu == 1 if ntu is not None else ucla == 3
        yield np.flatnonzero(~test), np.flatnonzero(test)


@dataclass(frozen=True, kw_only=True)
class CrossSetup(Protocol):
    """NTU RGB+D 120: recordings with even numbers of the setup train, those with odd ones are
    tested.
    """

    name = "xset"

    def _sides(self, X: Any, labels: np.ndarray | None, groups: Any) -> Iterator[Indices]:  # noqa: ARG002
        setup = _numbers(X, r"S(\d{3})C\d{3}P")
        if setup is None:
            raise DataError(
                f"protocol {self.name!r} finds the setup in names such as S001C002P003R002A013"
            )
        yield np.flatnonzero(setup % 2 == 0), np.flatnonzero(setup % 2 == 1)


def _numbers(X: Any, pattern: str) -> np.ndarray | None:
    """A number in the names of all recordings; None if one of them has none."""
    found = [re.match(pattern, str(getattr(x, "name", ""))) for x in X]
    return np.asarray([int(match[1]) for match in found if match]) if all(found) else None


PROTOCOLS: dict[str, type[Protocol]] = {
    kind.name: kind
    for kind in (
        *(HalfSplits, LeaveOneSubjectOut, OddEven, Wang, Li, SubjectKFold, PublishedSplits),
        *(CrossSubject, CrossView, CrossSetup),
    )
}
_DEFAULTS = {
    **{"florence3d": "half", "utkinect": "half", "msr_action3d": "wang", "utd_mhad": "odd-even"},
    **{"ntu60": "xsub", "ntu120": "xsub", "nw_ucla": "xview"},
}


def get_protocol(name: str | Any | None, data: Sequence[SkeletonSequence]) -> Any:
    """A protocol by name for a data set; None means the one that its published results use.

    Names: half, leave-one-subject-out, odd-even, wang, li, k-fold, published, xsub, xview, xset.
    Without a published protocol it is leave-one-subject-out, or k-fold over recordings where there
    are fewer than two subjects. A splitter object is returned as it is.

    >>> import numpy as np
    >>> from kerneton.data.sequence import SkeletonDataset, SkeletonSequence
    >>> data = SkeletonDataset(
    ...     [SkeletonSequence(np.ones((5, 20, 3)), subject=s) for s in "1122"], name="own"
    ... )
    >>> get_protocol(None, data)
    LeaveOneSubjectOut(allow_unseen=False)
    """
    if name is not None and not isinstance(name, str):
        if not hasattr(name, "split"):
            raise ParameterError(f"protocol must be a name or a splitter, got {name!r}")
        return name
    subjects = field_of(data, None, "subject")
    n_subjects = 0 if subjects is None else len(set(subjects))
    dataset, splits = getattr(data, "name", ""), getattr(data, "splits", ())
    if name is None and splits:
        name = "published"
    if name is None:
        name = _DEFAULTS.get(dataset, "leave-one-subject-out" if n_subjects > 1 else "k-fold")
    check_choice("protocol", name, PROTOCOLS)
    if name == "published":
        if not splits:
            known = "sbu, jhmdb, sfinge3d, hdm05, shrec17"
            raise ParameterError(
                f"protocol 'published' needs a data set with published splits: {known}"
            )
        return PublishedSplits(splits=splits)
    if name == "half" and dataset in HALF_SPLITS:
        return HalfSplits.published(dataset)
    if name == "k-fold":
        return SubjectKFold(n_splits=min(5, n_subjects)) if n_subjects > 1 else RecordingKFold()
    return PROTOCOLS[name]()


def _in_order(subjects: np.ndarray) -> list[str]:
    """Subjects once each, numbers in numerical order, then names."""
    return sorted(
        set(subjects.tolist()), key=lambda s: (0, int(s), s) if s.isdecimal() else (1, 0, s)
    )


def _odd(subjects: np.ndarray, name: str) -> np.ndarray:
    words = sorted({s for s in subjects.tolist() if not s.isdecimal()})
    if words:
        raise DataError(
            f"protocol {name!r} needs subjects that are whole numbers, got {words[0]!r}"
        )
    return subjects.astype(int) % 2 == 1


def _check_n_splits(n_splits: int) -> int:
    check_positive("n_splits", n_splits, integer=True)
    if n_splits < 2:
        raise ParameterError(f"n_splits must be 2 or more, got {n_splits}")
    return n_splits
