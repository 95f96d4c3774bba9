"""Figures and tables of a report, computed from the predictions of every split: the methods of
`Report`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from kerneton.report import intervals
from kerneton.report.intervals import Calibration, Interval

if TYPE_CHECKING:
    from kerneton.report.results import Report, Split


def interval(report: Report, label: str | None = None) -> Interval:
    """95 % confidence interval of the accuracy, or of the recall of one label.

    It is taken over people where at least three were tested, else over recordings as if they were
    independent. A recording that was tested several times counts once, with the share of its tests
    that were right.
    """
    tested, right = _shares(report, label)
    subjects = None if report.subjects is None else np.array(report.subjects)[tested]
    return intervals.interval(right, subjects, report.accuracy if label is None else None)


def _shares(report: Report, label: str | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Positions (n,) of the tested recordings, of one label if given, and the share of their tests
    that was right.
    """
    index, true, predicted = (
        np.concatenate([getattr(split, name) for split in report.splits])
        for name in ("indices", "true", "predicted")
    )
    own = np.ones(len(true), bool) if label is None else true == label
    return intervals.per_recording(index[own], (true == predicted)[own])


def subject_table(report: Report) -> list[dict[str, Any]]:
    """Accuracy and number of tests of each subject, the worst first; empty where subjects are not
    known.
    """
    if report.subjects is None:
        return []
    tested, right = _shares(report)
    who = np.array(report.subjects)[tested]
    rows = []
    for subject in np.unique(who).tolist():
        own = right[who == subject]
        found = {"accuracy": float(own.mean()), "n_test": len(own)}
        rows.append({"subject": subject, **found, **_bounds("accuracy", intervals.interval(own))})
    return sorted(rows, key=lambda row: (row["accuracy"], row["subject"]))


def class_table(report: Report) -> list[dict[str, Any]]:
    """Label, precision, recall with its interval, F1 and support of each class; None if nothing was
    tested.
    """
    matrix = report.confusion
    hits, support, predicted = np.diag(matrix), matrix.sum(1), matrix.sum(0)
    return [
        {
            "label": label,
            "precision": _ratio(hits[i], predicted[i]),
            "recall": _ratio(hits[i], support[i]),
            "f1": _ratio(2 * hits[i], support[i] + predicted[i]),
            "support": int(support[i]),
            **_bounds("recall", report.interval(label) if support[i] else None),
        }
        for i, label in enumerate(report.classes)
    ]


def split_table(report: Report) -> list[dict[str, Any]]:
    """Sizes, accuracy with its interval, and seconds of each split."""
    fields = ("name", "n_train", "n_test", "accuracy", "fit_seconds", "predict_seconds")
    return [
        {field: getattr(split, field) for field in fields}
        | _bounds("accuracy", intervals.interval(split.true == split.predicted))
        for split in report.splits
    ]


def confused_pairs(report: Report, n: int | None = 5) -> list[dict[str, Any]]:
    """The most frequent mistakes: label, predicted label, how often, and as a share of the
    label.
    """
    matrix = report.confusion
    support = matrix.sum(1)
    pairs = [
        {
            "label": report.classes[i],
            "predicted": report.classes[j],
            "count": int(matrix[i, j]),
            "share": float(matrix[i, j] / support[i]),
        }
        for i, j in np.argwhere(matrix)
        if i != j
    ]
    return sorted(pairs, key=lambda pair: (-pair["count"], -pair["share"], pair["label"]))[:n]


def variant_table(report: Report) -> list[dict[str, Any]]:
    """Views and mirroring that the model chose from: how often chosen, and their accuracy on
    training subjects.

    Empty for a model that does not choose. ``validation`` is the mean over splits of the accuracy
    on training recordings held out in turn, pooled over everything that was tried; its interval
    takes the recordings of the largest split as independent.
    """
    found = [
        (split.variant_scores, split.n_train) for split in report.splits if split.variant_scores
    ]
    names = dict.fromkeys(name for scores, _ in found for name in scores)
    rows = []
    for name in names:
        share = float(np.mean([scores[name] for scores, _ in found if name in scores]))
        n = max(n for scores, n in found if name in scores)
        row = {
            "variant": name or "as given",
            "splits": sum(split.variant == name for split in report.splits),
        }
        bounds = _bounds("validation", Interval(*intervals.wilson(share, n), n_tests=n))
        rows.append({**row, "validation": share, **bounds})
    return rows


def calibration_of(report: Report) -> Calibration | None:
    """Whether the probabilities are calibrated, all splits together; None if there are none."""
    splits = [split for split in report.splits if split.probabilities is not None]
    classes = sorted({label for split in splits for label in split.model_classes})
    pooled = []
    for split in splits:  # a class that a split did not know has no probability there
        rows = np.zeros((split.n_test, len(classes)))
        rows[:, [classes.index(label) for label in split.model_classes]] = split.probabilities
        pooled.append(rows)
    if not pooled:
        return None
    true = np.concatenate([split.true for split in splits])
    return intervals.calibration(np.concatenate(pooled), true, classes)


def prediction_table(report: Report) -> list[dict[str, Any]]:
    """The prediction for each recording in each split, with its score and probability."""
    return [row for split in report.splits for row in _rows(report, split)]


def _rows(report: Report, split: Split) -> Iterator[dict[str, Any]]:
    column = {label: i for i, label in enumerate(split.model_classes)}
    for i, index in enumerate(split.indices):
        predicted = str(split.predicted[i])
        row = {
            "split": split.name,
            "index": int(index),
            "recording": report.recordings[index],
            "subject": None if report.subjects is None else report.subjects[index],
            "label": str(split.true[i]),
            "predicted": predicted,
            "correct": bool(split.true[i] == predicted),
        }
        for name, values in (("score", split.scores), ("probability", split.probabilities)):
            if values is not None:
                row[name] = float(values[i, column[predicted]]) if predicted in column else None
        yield row


def _bounds(name: str, found: Interval | None) -> dict[str, float | None]:
    low, high = (None, None) if found is None else (found.low, found.high)
    return {f"{name}_low": low, f"{name}_high": high}


def _ratio(part: int, whole: int) -> float | None:
    return float(part / whole) if whole else None
