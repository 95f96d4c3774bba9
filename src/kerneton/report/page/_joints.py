"""Which joints matter for each class: a skeleton with coloured joints, and the strongest ones in
numbers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kerneton.data.sequence import SkeletonDataset
from kerneton.report.body import spaced
from kerneton.report.page._cells import Cell, signed
from kerneton.report.page._motion import Motion

if TYPE_CHECKING:
    from kerneton.report.explanation import ClassImportance

_TOP = 5  # joints that are named for each class
_CLASSES = 60  # with pictures; the others are in a table


def joint_cards(
    importance: ClassImportance | None, data: SkeletonDataset | None, examples: Mapping[str, int]
) -> dict[str, Any] | None:
    """A card for each class and a table of all; None if nothing was measured."""
    if importance is None:
        return None
    labels, values = importance.labels, importance.values
    return {
        "cards": [
            _card(
                importance,
                row,
                None if data is None or label not in examples else data[examples[label]],
            )
            for row, label in enumerate(labels[:_CLASSES])
        ],
        "header": ["label", *map(spaced, importance.joints)],
        "rows": [
            [label, *(Cell(signed(v), float(v), kind="range") for v in row)]
            for label, row in zip(labels, values, strict=True)
        ],
    }


def pooled(found: Sequence[ClassImportance]) -> ClassImportance | None:
    """The mean over splits, each class weighted by its recordings; None if there is nothing.

    >>> import numpy as np
    >>> from kerneton.report.explanation import ClassImportance
    >>> one = ClassImportance(("a",), ("head",), np.array([[1.0]]), np.ones((1, 10, 1)), (1,))
    >>> values = np.array([[4.0], [5.0]])
    >>> two = ClassImportance(("a", "b"), ("head",), values, np.ones((2, 10, 1)), (2, 1))
    >>> both = pooled([one, two])
    >>> both.labels, both.values.ravel().tolist(), both.counts
    (('a', 'b'), [3.0, 5.0], (3, 1))
    """
    if not found or any(each.joints != found[0].joints for each in found):
        return None
    total: dict[str, Any] = defaultdict(float)
    phases: dict[str, Any] = defaultdict(float)
    counts: Counter[str] = Counter()
    for each in found:
        for row, (label, count) in enumerate(zip(each.labels, each.counts, strict=True)):
            total[label] += count * each.values[row]
            phases[label] += count * each.phases[row]
            counts[label] += count
    labels = tuple(sorted(total))
    values, when = (
        np.stack([x[label] / counts[label] for label in labels]) for x in (total, phases)
    )
    numbers = tuple(counts[label] for label in labels)
    return type(found[0])(labels, found[0].joints, values, when, numbers)


def _card(importance: ClassImportance, row: int, example: Any) -> dict[str, Any]:
    values, names = importance.values[row], [spaced(joint) for joint in importance.joints]
    share = np.abs(values) / (float(np.abs(values).max()) or 1.0)
    phases = importance.phases[row]
    most = float(np.abs(phases).max()) or 1.0
    strongest = np.argsort(-share, kind="stable")[:_TOP].tolist()
    motion = None if example is None or example.n_joints != len(values) else Motion.of(example)
    return {
        "label": importance.labels[row],
        "named": ", ".join(f"{names[j]} {signed(values[j])}" for j in strongest),
        "words": importance.words(importance.labels[row]).partition(": ")[2],
        "rows": [
            (
                names[j],
                Cell(signed(values[j]), share=share[j], kind=f"meter {_kind(values[j])}"),
                [(_kind(v), round(abs(v) / most, 2)) for v in phases[:, j].tolist()],
            )
            for j in strongest
        ],
        "stage": None if motion is None else motion.stage(quiet=True),
        "sided": motion is not None and motion.body.sided,
        "marks": [] if motion is None else [
            {"kind": _kind(values[j]), "x": round(x), "y": round(y), "r": round(6 + 38 * float(np.sqrt(share[j])), 1),
             "title": f"{names[j]} {signed(values[j])}"}
            for j in np.argsort(share, kind="stable").tolist()  # the strongest on top
            for x, y in [motion.view()[j]] if not np.isnan([x, y]).any()
        ],
    }  # fmt: skip


def _kind(value: float) -> str:
    return "for" if value >= 0 else "against"
