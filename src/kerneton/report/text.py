"""A report's tables and lines as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kerneton.report.tables import percent

if TYPE_CHECKING:
    from kerneton.report.results import Report


def percent_of(report: Report) -> str:
    """Accuracy and its spread over splits."""
    if report.accuracy_sd is None:
        return f"{percent(report.accuracy)} %"
    spread = f"{percent(report.accuracy)} % ± {percent(report.accuracy_sd)}"
    return f"{spread} (sd over {len(report.splits)} splits)"


def describe_data(data: dict[str, Any]) -> str:
    """Sizes of the data set in a line."""
    shortest, _, longest = data["n_frames"]
    parts = [f"{data['n_recordings']} recordings", f"{len(data['labels'])} labels"]
    parts += [f"{len(data['subjects'])} subjects"] if data["subjects"] else []
    parts += [f"joints {' and '.join(data['layouts'])}", f"{shortest} to {longest} frames"]
    return (f"{data['name']}: " if data["name"] else "") + ", ".join(parts)


def class_rows(report: Report) -> list[list[str]]:
    """Precision, recall and F1 of each label."""
    header = ["label", "precision %", "recall %", "F1 %", "tested"]
    return [header] + [
        [row["label"], *(percent(row[k]) for k in ("precision", "recall", "f1")), str(row["support"])]
        for row in report.class_table()
    ]


def split_rows(report: Report) -> list[list[str]]:
    """Sizes, accuracy and seconds of each split."""
    header = ["split", "trained", "tested", "accuracy %", "fit s", "predict s"]
    return [header] + [
        [
            *(str(row[k]) for k in ("name", "n_train", "n_test")),
            percent(row["accuracy"]),
            *(f"{row[k]:.3g}" for k in ("fit_seconds", "predict_seconds")),
        ]
        for row in report.split_table()
    ]


def pair_rows(report: Report) -> list[list[str]]:
    """What is confused most."""
    return [["label", "taken for", "times", "of its recordings %"]] + [
        [pair["label"], pair["predicted"], str(pair["count"]), percent(pair["share"])]
        for pair in report.confused_pairs()
    ]


def variant_rows(report: Report) -> list[list[str]]:
    """What was chosen, and what the others would have given the training subjects."""
    header = ["view and mirroring", "chosen in splits", "on held-out training subjects %"]
    return [header] + [
        [row["variant"], str(row["splits"]), percent(row["validation"])] for row in report.variant_table()
    ]
