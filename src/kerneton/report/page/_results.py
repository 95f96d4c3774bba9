"""The accuracy, the confusion matrix, the class table, and the calibration of the probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from kerneton.report import measures
from kerneton.report.page import _charts
from kerneton.report.page._cells import Cell, meter
from kerneton.report.tables import percent
from kerneton.report.text import between

if TYPE_CHECKING:
    from kerneton.report.results import Report

_ROWS = 200  # of a table; more are counted, not listed


def result_facts(report: Report) -> dict[str, Any]:
    """Accuracy with its spread and interval, in numbers, in words and as a chart."""
    matrix, interval, n = report.confusion, report.interval(), len(report.splits)
    pairs, rows = report.confused_pairs(2), report.class_table()
    names = [_split_name(split.name) for split in report.splits]
    recalls = sorted(r["recall"] for r in rows if r["recall"] is not None)
    ends = (interval.low, interval.high)
    return {
        "interval": interval,
        "right": int(np.trace(matrix)),
        "tests": int(matrix.sum()),
        "chance": float(matrix.sum(axis=1).max() / matrix.sum()),
        "spread": _charts.spread(report.accuracies.tolist(), names, report.accuracy, ends) if n > 1 else None,
        "worst_pair": pairs[0] if pairs else None,
        "tied": (len(pairs) > 1 and pairs[1]["count"] == pairs[0]["count"], recalls[:1] == recalls[1:2]),
        "worst_class": min((r for r in rows if r["recall"] is not None), key=lambda r: r["recall"]),
        "splits": {
            "title": f"Every split ({n})" if n <= _ROWS else f"The first {_ROWS} of {n} splits",
            "rows": [
                [
                    _split_name(row["name"]), row["n_train"], row["n_test"], meter(row["accuracy"]),
                    _between(row, "accuracy"),
                    f"{row['fit_seconds']:.3g}", f"{row['predict_seconds']:.3g}",
                ]
                for row in report.split_table()[:_ROWS]
            ],
        },
        "subjects": [
            [row["subject"], row["n_test"], meter(row["accuracy"]), _between(row, "accuracy")]
            for row in report.subject_table()[:_ROWS]
        ],
    }  # fmt: skip


def confusion_facts(report: Report, links: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    """The matrix, and every mistake in a table."""
    pairs = report.confused_pairs(None)
    most = f"The {_ROWS} most frequent of {len(pairs)} kinds of mistakes"
    title = most if len(pairs) > _ROWS else f"All kinds of mistakes ({len(pairs)})"
    return {
        "links": links,
        "confusion": _charts.confusion(report.confusion, report.classes, links),
        "mistakes": {
            "title": title,
            "rows": [
                [p["label"], p["predicted"], p["count"], meter(p["share"])] for p in pairs[:_ROWS]
            ],
        },
    }


def class_rows(report: Report) -> list[list[Any]]:
    """Precision, recall with its interval and F1 of every class, and its most frequent mistake."""
    taken: dict[str, str] = {}
    for pair in report.confused_pairs(None):
        taken.setdefault(pair["label"], f"{pair['predicted']} ({pair['count']})")
    return [
        [
            row["label"], row["support"], meter(row["precision"]), meter(row["recall"]), _between(row, "recall"),
            meter(row["f1"]), taken.get(row["label"], "–"),
        ]
        for row in report.class_table()
    ]  # fmt: skip


def calibration_facts(report: Report) -> dict[str, Any]:
    """Calibration of the probabilities, where the model gives any."""
    found = measures.calibration_of(report)
    if found is None:
        return {"calibration": None}
    return {
        "calibration": found,
        "reliability": _charts.reliability(found.bins),
        "bins": [
            [
                f"{100 * b.low:.0f} to {100 * b.high:.0f}",
                percent(b.confidence),
                percent(b.accuracy),
                b.count,
            ]
            for b in found.bins
        ],
    }


def _between(row: dict[str, Any], name: str) -> Cell:
    """An interval that sorts by its lower end."""
    low = row[f"{name}_low"]
    return Cell(
        between(low, row[f"{name}_high"]), -1 if low is None else round(low, 6), kind="range"
    )


def _split_name(name: str) -> str:
    return f"split {name}" if name.isdigit() else name
