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
class Verdict:
    """The prediction for one recording in one split."""

    index: int  # of the recording
    split: str
    label: str
    predicted: str
    said: float | None  # probability of the predicted label, or its decision value
    own: float | None  # the same of the true label
    probable: bool  # whether these are probabilities

    @property
    def correct(self) -> bool:
        return self.label == self.predicted

    @property
    def sureness(self) -> float:
        """How clear the prediction was: its value, or for a mistake the difference from the value of the label."""
        if self.said is None:
            return 0.0
        return self.said if self.correct or self.own is None else self.said - self.own


@dataclass
class Pair:
    """A label, the label predicted instead, mistakes to show, and an example of the predicted label."""

    label: str
    predicted: str
    count: int
    tested: int  # recordings of the label, in all splits
    mistakes: list[Verdict] = field(default_factory=list)
    example: int | None = None

    @property
    def recordings(self) -> list[int]:
        """Mistakes, then the example."""
        return [v.index for v in self.mistakes] + ([] if self.example is None else [self.example])


def all_verdicts(report: Report) -> list[Verdict]:
    """Every recording in every split in which it was tested."""
    return [_verdict(split, i) for split in report.splits for i in range(split.n_test)]


def best_examples(verdicts: Sequence[Verdict], data: SkeletonDataset) -> dict[str, int]:
    """For each label the recording that was recognised most clearly, otherwise the first one of the label."""
    found: dict[str, int] = {}
    for verdict in sorted((v for v in verdicts if v.correct), key=lambda v: -v.sureness):
        found.setdefault(verdict.label, verdict.index)
    for i, sequence in enumerate(data):
        if sequence.label is not None:
            found.setdefault(sequence.label, i)
    return found


def choose(report: Report, verdicts: Sequence[Verdict], examples: dict[str, int]) -> list[Pair]:
    """The most confused pairs and, up to the limits of the page, the clearest mistakes of each."""
    support = {row["label"]: row["support"] for row in report.class_table()}
    pairs = [
        Pair(p["label"], p["predicted"], p["count"], support[p["label"]])
        for p in report.confused_pairs(_PAIRS)
    ]
    wrong: dict[tuple[str, str], dict[int, Verdict]] = {}
    for verdict in sorted((v for v in verdicts if not v.correct), key=lambda v: -v.sureness):
        wrong.setdefault((verdict.label, verdict.predicted), {}).setdefault(verdict.index, verdict)
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


def _verdict(split: Split, i: int) -> Verdict:
    values = split.scores if split.probabilities is None else split.probabilities
    label, predicted = str(split.true[i]), str(split.predicted[i])

    def of(name: str) -> float | None:
        if values is None or name not in split.model_classes:
            return None
        value = float(values[i, split.model_classes.index(name)])
        return value if np.isfinite(value) else None

    return Verdict(
        index=int(split.indices[i]),
        split=split.name,
        label=label,
        predicted=predicted,
        said=of(predicted),
        own=of(label),
        probable=split.probabilities is not None,
    )
