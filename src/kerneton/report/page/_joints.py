"""Which joints matter for each class: a skeleton with its joints coloured, and the strongest ones in numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kerneton.data.sequence import SkeletonDataset
from kerneton.report.page._html import Html, details, join, table, tag
from kerneton.report.page._motion import Motion

if TYPE_CHECKING:
    from kerneton.report.explanation import ClassImportance
    from kerneton.report.results import Report

_TOP = 5  # joints that are named for each class
_MANY = 12  # classes from which on cards are small
_CLASSES = 60  # with pictures; a table says the rest


def joint_section(report: Report, data: SkeletonDataset | None, examples: Mapping[str, int]) -> Html:
    """Cards of classes, or why there are none."""
    importance = pooled([split.importance for split in report.splits if split.importance is not None])
    if importance is None:
        return tag(
            "p",
            "Not measured. ",
            tag("code", "evaluate(…, importance=True)"),
            " measures it for recognisers that are linear in their features.",
            class_="note",
        )
    note = (
        "How much each joint adds to the decision value of the class, the mean over recordings of the class that the "
        "model was not trained on. Joints in "
    )
    keys = [tag("span", "green", class_="key for"), " speak for the class, those in "]
    keys += [tag("span", "purple", class_="key against"), " against it; sizes compare within a class."]
    cards = [
        _card(importance, row, None if data is None or label not in examples else data[examples[label]])
        for row, label in enumerate(importance.labels[:_CLASSES])
    ]
    rows = [
        [label, *((_signed(v), float(v)) for v in values)]
        for label, values in zip(importance.labels, importance.values, strict=True)
    ]
    header = ["label", *map(_spaced, importance.joints)]
    everything = table(
        "Parts of joints", header, rows, numeric=range(1, len(header)), sortable=True, class_="small upright"
    )
    return join(
        [
            tag("p", note, *keys),
            tag("div", *cards, class_="classes many" if len(cards) > _MANY else "classes"),
            details("Every joint, as a table", everything),
        ]
    )


def pooled(found: Sequence[ClassImportance]) -> ClassImportance | None:
    """The mean over splits, each class weighted by its recordings; None where there is nothing.

    >>> import numpy as np
    >>> from kerneton.report.explanation import ClassImportance
    >>> one = ClassImportance(("a",), ("head",), np.array([[1.0]]), (1,))
    >>> two = ClassImportance(("a", "b"), ("head",), np.array([[4.0], [5.0]]), (2, 1))
    >>> both = pooled([one, two])
    >>> both.labels, both.values.ravel().tolist(), both.counts
    (('a', 'b'), [3.0, 5.0], (3, 1))
    """
    if not found or any(each.joints != found[0].joints for each in found):
        return None
    total: dict[str, np.ndarray] = {}
    counts: dict[str, int] = {}
    for each in found:
        for label, row, count in zip(each.labels, each.values, each.counts, strict=True):
            total[label] = total.get(label, 0.0) + count * row
            counts[label] = counts.get(label, 0) + count
    labels = tuple(sorted(total))
    values = np.stack([total[label] / counts[label] for label in labels])
    return type(found[0])(labels, found[0].joints, values, tuple(counts[label] for label in labels))


def _card(importance: ClassImportance, row: int, example: Any) -> Html:
    label, values = importance.labels[row], importance.values[row]
    largest = float(np.abs(values).max()) or 1.0
    strongest = np.argsort(-np.abs(values), kind="stable")[:_TOP]
    items = [
        tag(
            "li", tag("span", _spaced(importance.joints[j]), class_="name"),
            tag("span", _signed(values[j]), class_=f"meter {_kind(values[j])}",
                style=f"--share:{abs(values[j]) / largest:.3f}"),
        )
        for j in strongest
    ]  # fmt: skip
    motion = None if example is None else Motion.of(example)
    picture = Html()
    if motion is not None and motion.frames.shape[1] == len(values):
        named = ", ".join(f"{_spaced(importance.joints[j])} {_signed(values[j])}" for j in strongest)
        picture = motion.stage(
            *_marks(motion, values, importance.joints, largest), label=f"{label}: {named}", quiet=True
        )
    return tag("article", tag("h3", label), picture, tag("ul", *items, class_="bars"), class_="class")


def _marks(motion: Motion, values: np.ndarray, joints: Sequence[str], largest: float) -> list[Html]:
    """Discs on the joints, the strongest on top."""
    pose = motion.view()
    return [
        tag(
            "circle", tag("title", f"{_spaced(joints[j])} {_signed(values[j])}"), class_=f"mark {_kind(values[j])}",
            cx=round(pose[j, 0]), cy=round(pose[j, 1]), r=6 + 38 * float(np.sqrt(abs(values[j]) / largest)),
        )
        for j in np.argsort(np.abs(values), kind="stable")
        if not np.isnan(pose[j]).any()
    ]  # fmt: skip


def _kind(value: float) -> str:
    return "for" if value >= 0 else "against"


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")


def _spaced(joint: str) -> str:
    return joint.replace("_", " ")
