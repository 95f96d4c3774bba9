"""What all protocols share: labels and subjects of recordings, and checks of both sides of every
split.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kerneton.data.sequence import absent
from kerneton.exceptions import DataError

Indices = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """Base of the splitters: reads labels and subjects, checks both sides of every split.

    ``allow_unseen`` admits test recordings of a label that the training side lacks.
    """

    name: ClassVar[str] = ""
    allow_unseen: bool = False

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Indices]:
        """Yield (train, test) positions into X."""
        labels = field_of(X, y, "label")
        for train, test in self._sides(X, labels, groups):
            self._check(train, test, labels)
            yield train, test

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """The number of splits."""
        return sum(1 for _ in self._sides(X, field_of(X, y, "label"), groups))

    def _sides(self, X: Any, labels: np.ndarray | None, groups: Any) -> Iterator[Indices]:
        raise NotImplementedError

    def _subjects(self, X: Any, groups: Any) -> np.ndarray:
        subjects = field_of(X, groups, "subject")
        if subjects is None:
            wanted = "each recording needs one, as in folders LABEL/SUBJECT/FILE"
            raise DataError(
                f"protocol {self.name!r} splits by subject, but no subjects are known: {wanted}"
            )
        return subjects

    def _check(self, train: np.ndarray, test: np.ndarray, labels: np.ndarray | None) -> None:
        for side, indices in (("train", train), ("test", test)):
            if not len(indices):
                raise DataError(f"protocol {self.name!r} leaves nothing to {side} on")
        if labels is None or self.allow_unseen:
            return
        counts = Counter(labels.tolist())
        unseen = sorted(set(labels[test].tolist()) - set(labels[train].tolist()))
        if unseen:
            named = ", ".join(f"{u!r} ({counts[u]} in all)" for u in unseen)
            raise DataError(
                f"protocol {self.name!r} tests on labels without training on them: {named}; "
                "record more of them, with other people, or leave these labels out"
            )


def field_of(X: Any, given: Any, field: str) -> np.ndarray | None:
    """Labels or subjects as strings: as given, else from the recordings, else None."""
    values: list[Any]
    if given is not None:
        values = list(given)
        if X is not None and len(values) != len(X):
            raise DataError(
                f"expected a {field} for each of {len(X)} recordings, got {len(values)}"
            )
    elif isinstance(X, Iterable) and not (isinstance(X, np.ndarray) and X.dtype != object):
        values = [getattr(x, field, None) for x in X]
    else:
        return None
    odd = [
        i
        for i, value in enumerate(values)
        if isinstance(value, (list, tuple, set, dict, np.ndarray))
    ]
    if odd:
        got = f"got {values[odd[0]]!r} for recording #{odd[0]}"
        raise DataError(
            f"expected one {field} for each recording, a text or a number; {got}: pass a flat list"
        )
    missing = absent(values)
    if len(missing) == len(values) and given is None:
        return None
    if missing:
        first = missing[0]
        name = getattr(X[first], "name", "") if X is not None else ""
        who = f"recording {name!r}" if name else f"recording #{first}"
        raise DataError(
            f"{len(missing)} of {len(values)} recordings have no {field}, the first is {who}; give all of them one, or none"
        )
    return np.asarray([str(value) for value in values])
