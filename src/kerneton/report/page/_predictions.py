"""The prediction for each recording, and the choice of mistakes to show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from kerneton.data.sequence import SkeletonDataset

if TYPE_CHECKING:
    from kerneton.report.results import Report, Split

_PAIRS, _EACH, _MOTIONS = 6, 3, 12  # pairs shown, mistakes of each, and recordings in all


@dataclass(frozen=True)
class Prediction:
    """The prediction for one recording in one split."""

    index: int  # of the recording
    split: str
    label: str
    predicted: str
    value: float | None  # probability of the predicted label, or its decision value
    label_value: float | None  # the same of the true label
    is_probability: bool  # whether these are probabilities

    @property
    def correct(self) -> bool:
        return self.label == self.predicted

    @property
    def margin(self) -> float:
        """How clear the prediction was: its value, or for a mistake the difference from the value
        of the label.
        """
        if self.value is None:
            return 0.0
        return (
            self.value
            if self.correct or self.label_value is None
            else self.value - self.label_value
        )


@dataclass
class Pair:
    """A label, the label predicted instead, mistakes to show, and an example of the predicted
    label.
    """

    label: str
    predicted: str
    count: int
    tested: int  # recordings of the label, in all splits
    mistakes: list[Prediction] = field(default_factory=list)
    example: int | None = None

    @property
    def recordings(self) -> list[int]:
        """Mistakes, then the example."""
        return [v.index for v in self.mistakes] + ([] if self.example is None else [self.example])


def all_predictions(report: Report) -> list[Prediction]:
    """Every recording in every split in which it was tested."""
    return [_prediction(split, i) for split in report.splits for i in range(split.n_test)]


def best_examples(predictions: Sequence[Prediction], data: SkeletonDataset) -> dict[str, int]:
    """For each label the recording that was recognised most clearly, otherwise the first one of the
    label.
    """
    found: dict[str, int] = {}
    for p in sorted((p for p in predictions if p.correct), key=lambda p: -p.margin):
        found.setdefault(p.label, p.index)
    for i, sequence in enumerate(data):
        if sequence.label is not None:
            found.setdefault(sequence.label, i)
    return found


def choose(
    report: Report, predictions: Sequence[Prediction], examples: dict[str, int]
) -> list[Pair]:
    """The most confused pairs and, up to the limits of the page, the clearest mistakes of each."""
    support = {row["label"]: row["support"] for row in report.class_table()}
    pairs = [
        Pair(p["label"], p["predicted"], p["count"], support[p["label"]])
        for p in report.confused_pairs(_PAIRS)
    ]
    wrong: dict[tuple[str, str], dict[int, Prediction]] = {}
    for p in sorted((p for p in predictions if not p.correct), key=lambda p: -p.margin):
        wrong.setdefault((p.label, p.predicted), {}).setdefault(p.index, p)
    used: set[int] = set()
    for turn in range(_EACH):
        for pair in pairs:
            chosen = list(wrong[pair.label, pair.predicted].values())[turn : turn + 1]
            example = examples.get(pair.predicted)
            new = {v.index for v in chosen} | (set() if example is None else {example})
            if chosen and len(used | new) <= _MOTIONS:
                pair.mistakes += chosen
                pair.example = example
                used |= new
    return pairs


def anchor(number: int) -> str:
    """The id of a pair in the page."""
    return f"pair-{number}"


def _prediction(split: Split, i: int) -> Prediction:
    values = split.scores if split.probabilities is None else split.probabilities
    label, predicted = str(split.true[i]), str(split.predicted[i])

    def of(name: str) -> float | None:
        if values is None or name not in split.model_classes:
            return None
        value = float(values[i, split.model_classes.index(name)])
        return value if np.isfinite(value) else None

    return Prediction(
        index=int(split.indices[i]),
        split=split.name,
        label=label,
        predicted=predicted,
        value=of(predicted),
        label_value=of(label),
        is_probability=split.probabilities is not None,
    )
