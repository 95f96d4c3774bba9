"""How well it does: the headline, the confusion matrix, the class table, and whether probabilities can be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from kerneton.report.page._charts import confusion_chart, meter, reliability_chart, spread_chart
from kerneton.report.page._html import Html, details, join, per_cent, scrolling, table, tag
from kerneton.report.reliability import expected_calibration_error, reliability
from kerneton.report.tables import percent

if TYPE_CHECKING:
    from kerneton.report.results import Report

_TILT = 0.02  # how far it may be too sure or too modest before the page says so
_FIRST = 8  # mistakes beside the matrix
_ROWS = 200  # of a table; more are counted, not listed


def result_section(report: Report) -> Html:
    """Accuracy with its spread, in numbers, in words and as a picture."""
    matrix = report.confusion
    right, tested = int(np.trace(matrix)), int(matrix.sum())
    sd, n = report.accuracy_sd, len(report.splits)
    figure = [tag("span", percent(report.accuracy), tag("small", " %"), class_="big")]
    if sd is not None:
        figure.append(tag("span", f"± {percent(sd)}", class_="sd"))
    chart = Html() if sd is None else spread_chart(
        report.accuracies.tolist(), [_split_name(s.name) for s in report.splits], report.accuracy, sd
    )  # fmt: skip
    how = _interval(right, tested) if sd is None else f"mean and standard deviation over {n} splits"
    words = [
        tag("p", tag("strong", f"{right} of {tested}"), f" tests were right. {_chance(report)}"),
        tag("p", *_in_words(report)),
    ]
    rows = [
        [
            _split_name(row["name"]), row["n_train"], row["n_test"], meter(row["accuracy"]),
            f"{row['fit_seconds']:.3g}", f"{row['predict_seconds']:.3g}",
        ]
        for row in report.split_table()[:_ROWS]
    ]  # fmt: skip
    header = ["split", "trained on", "tested on", "accuracy %", "fit, s", "predict, s"]
    return tag(
        "div",
        tag(
            "div",
            tag("div", tag("p", *figure, class_="headline"), tag("p", f"accuracy, {how}", class_="note")),
            tag("div", chart, class_="grow"),
            class_="hero",
        ),
        *words,
        details(
            f"Every split ({n})" if n <= _ROWS else f"The first {_ROWS} of {n} splits",
            table("Splits", header, rows, numeric=range(1, 6)),
        ),
    )


def confusion_section(report: Report, links: Mapping[tuple[str, str], str]) -> Html:
    """The matrix, and every mistake in a table."""
    place = {label: i for i, label in enumerate(report.classes)}
    by_cell = {(place[a], place[b]): link for (a, b), link in links.items()}
    pairs = report.confused_pairs(None)
    rows = [[p["label"], p["predicted"], p["count"], meter(p["share"])] for p in pairs[:_ROWS]]
    note = (
        "Rows are what was done, columns what the model said. Cells count tests and are coloured by their share of the "
        "row: blue on the diagonal is right, red beside it is wrong."
    )
    if links:
        note += " Framed cells lead to the recordings."
    chart = scrolling(confusion_chart(report.confusion, report.classes, by_cell), "Confusion matrix")
    if not pairs:
        return join([tag("p", note), chart])
    header = ["label", "taken for", "times", "of its tests %"]
    first = table("Most frequent mistakes", header, rows[:_FIRST], numeric=[2, 3])
    body = [tag("p", note), tag("div", chart, first, class_="beside matrix")]
    if len(pairs) > _FIRST:
        title = f"All {len(pairs)} kinds of mistakes"
        if len(pairs) > _ROWS:
            title = f"The {_ROWS} most frequent of {len(pairs)} kinds of mistakes"
        body.append(details(title, table("Kinds of mistakes", header, rows, numeric=[2, 3])))
    return join(body)


def class_section(report: Report) -> Html:
    """Precision, recall and F1 of every class."""
    taken: dict[str, str] = {}
    for pair in report.confused_pairs(None):
        taken.setdefault(pair["label"], f"{pair['predicted']} ({pair['count']})")
    rows = [
        [
            row["label"], row["support"],
            *((meter(row[k]), -1 if row[k] is None else round(row[k], 6)) for k in ("precision", "recall", "f1")),
            taken.get(row["label"], "–"),
        ]
        for row in report.class_table()
    ]  # fmt: skip
    header = ["label", "tested", "precision %", "recall %", "F1 %", "most often taken for"]
    note = (
        "Precision: how often it is right when it says the label. Recall: how many recordings of the label it finds. "
        "F1: the harmonic mean of both. Splits are pooled."
    )
    return join([tag("p", note), table("Classes", header, rows, numeric=range(1, 5), sortable=True)])


def _split_name(name: str) -> str:
    return f"split {name}" if name.isdigit() else name


def _interval(right: int, tested: int) -> str:
    """What one split can say of the spread: Wilson's interval, as if recordings were independent of each other."""
    z, share = 1.96, right / tested
    middle = (share + z * z / (2 * tested)) / (1 + z * z / tested)
    half = z * np.sqrt(share * (1 - share) / tested + z * z / (4 * tested**2)) / (1 + z * z / tested)
    low, high = percent(max(middle - half, 0.0)), per_cent(min(middle + half, 1.0))
    return f"one split; 95\xa0% interval {low} to {high}, were its recordings independent"


def _chance(report: Report) -> str:
    """What a model that has learnt nothing would reach, to compare with."""
    support = report.confusion.sum(axis=1)
    return (
        f"Always saying the most frequent label would be right in {per_cent(support.max() / support.sum())}."
    )


def _in_words(report: Report) -> list[Any]:
    pairs = report.confused_pairs(1)
    if not pairs:
        return ["There was no mistake."]
    worst = min((r for r in report.class_table() if r["recall"] is not None), key=lambda r: r["recall"])
    pair = pairs[0]
    words: list[Any] = [
        "The most frequent mistake is ", tag("strong", pair["label"]), " taken for ", tag("strong", pair["predicted"]),
        f" ({_times(pair['count'])}, {per_cent(pair['share'])} of its tests). The label found least often is ",
        tag("strong", worst["label"]), f", with a recall of {per_cent(worst['recall'])}.",
    ]  # fmt: skip
    return words


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def tile_list(report: Report) -> Html:
    """The size of it all, in four numbers."""
    data = report.data
    subjects = data.get("subjects") or {}
    shortest, _, longest = data["n_frames"]
    tiles: list[tuple[str, str]] = [
        (f"{data['n_recordings']:,}", "recording" if data["n_recordings"] == 1 else "recordings"),
        (f"{len(data['labels']):,}", "label" if len(data["labels"]) == 1 else "labels"),
        (f"{len(subjects):,}" if subjects else "–", "subject" if len(subjects) == 1 else "subjects"),
        (f"{shortest}–{longest}" if shortest != longest else str(longest), "frames each"),
    ]
    return tag(
        "dl", *(tag("div", tag("dt", name), tag("dd", value)) for value, name in tiles), class_="tiles"
    )


def calibration_section(report: Report) -> Html:
    """Reliability diagram and expected calibration error, where the model gives probabilities."""
    pooled = _probabilities(report)
    if pooled is None:
        return tag(
            "p",
            "The model gives no probabilities, so there is nothing to check. Wrap it in ",
            tag("code", "CalibratedRecognizer"),
            " to get them.",
            class_="note",
        )
    bins = [each for each in reliability(*pooled) if each.count]
    tested = sum(each.count for each in bins)
    said = sum(each.count * each.confidence for each in bins) / tested
    right = sum(each.count * each.accuracy for each in bins) / tested
    kind = "about as often as it says"
    if abs(said - right) >= _TILT:
        kind = "less often than it says: it is too sure" if said > right else "more often: it is too modest"
    rows = [
        [f"{100 * b.low:.0f} to {100 * b.high:.0f}", percent(b.confidence), percent(b.accuracy), b.count]
        for b in bins
    ]
    what = (
        " expected calibration error: how far, on average over the tests, what the model says lies from how often it is "
        "right. Zero would be perfect."
    )
    text = [
        tag("p", tag("strong", f"{expected_calibration_error(*pooled):.3f}"), what),
        tag("p", f"It says {per_cent(said)} on average and is right in {per_cent(right)}, {kind}."),
        table("Reliability", ["bin, %", "said, %", "right, %", "tests"], rows, numeric=range(1, 4)),
    ]
    return tag("div", tag("div", reliability_chart(bins)), tag("div", *text, class_="grow"), class_="beside")


def _probabilities(report: Report) -> tuple[np.ndarray, np.ndarray, list[str]] | None:
    """(n_tests, n_classes) of all splits, the true labels, and the classes; a class a split did not know has none."""
    splits = [split for split in report.splits if split.probabilities is not None]
    if not splits:
        return None
    classes = sorted({label for split in splits for label in split.model_classes})
    pooled = []
    for split in splits:
        rows = np.zeros((split.n_test, len(classes)))
        rows[:, [classes.index(label) for label in split.model_classes]] = split.probabilities
        pooled.append(rows)
    return np.concatenate(pooled), np.concatenate([split.true for split in splits]), classes
