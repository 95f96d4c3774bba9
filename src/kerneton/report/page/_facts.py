"""What the recordings are and how the numbers were made."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from kerneton.data.sequence import SkeletonDataset
from kerneton.report.page._charts import bar_list, length_chart
from kerneton.report.page._html import Html, details, join, per_cent, table, tag

if TYPE_CHECKING:
    from kerneton.report.results import Report

_ROWS, _COLUMNS = 100, 40  # of the table of labels and subjects


def data_section(report: Report, data: SkeletonDataset | None) -> Html:
    """Counts, lengths, gaps, and what may mislead."""
    facts = report.data
    shortest, median, longest = facts["n_frames"]
    rows: list[list[Any]] = [
        ["Recordings", facts["n_recordings"]],
        ["Length", f"{shortest} to {longest} frames, median {median:g}"],
        ["Joints", _counted(facts.get("layouts", {}))],
        ["Frame rate", _counted(facts.get("fps", {})) or "unknown"],
        [
            "Missing",
            "unknown" if facts.get("missing") is None else f"{per_cent(facts['missing'])} of joints",
        ],
    ]
    body = [_warnings(facts.get("warnings", []))]
    left = [table("In short", ["fact", "value"], rows, class_="facts")]
    if data is not None:
        left.append(
            tag(
                "figure",
                length_chart([s.n_frames for s in data]),
                tag("figcaption", "Lengths", class_="note"),
            )
        )
    body.append(tag("div", *(tag("div", part) for part in left), class_="beside"))
    body.append(_counts(facts, data))
    return join(body)


def making_section(report: Report, command: str | None) -> Html:
    """Protocol, command, model, parameters, versions and seconds: enough to do it again."""
    times = report.timings
    per = 1000 * times["predict_seconds_per_recording"]
    rows: list[list[Any]] = [
        ["Protocol", report.protocol],
        ["Splits", len(report.splits)],
        [
            "Training",
            f"{times['fit_seconds']:.3g} s in all, {times['fit_seconds'] / len(report.splits):.3g} s a split",
        ],
        ["Prediction", f"{times['predict_seconds']:.3g} s in all, {per:.3g} ms a recording"],
    ]
    rows += [
        [
            f"View and mirroring: {row['variant']}",
            f"chosen in {row['splits']} of {len(report.splits)} splits, {per_cent(row['validation'])} on held-out training subjects",
        ]
        for row in report.variant_table()
    ]
    parameters = [
        [tag("code", name), tag("code", _value(value))] for name, value in report.parameters.items()
    ]
    versions = [[name, tag("code", value)] for name, value in report.versions.items()]
    body = []
    if command:
        body.append(tag("pre", tag("code", command), aria_label="Command"))
    body.append(
        tag(
            "p",
            "A fresh copy of the model was trained on every split and tested on recordings it had not seen.",
        )
    )
    body.append(
        tag(
            "div",
            table("Evaluation", ["fact", "value"], rows, class_="facts"),
            table("Versions", ["package", "version"], versions, class_="facts"),
            class_="beside",
        )
    )
    if parameters:
        body.append(
            details(
                f"Parameters ({len(parameters)})",
                tag("p", tag("code", report.model)),
                table("Parameters", ["parameter", "value"], parameters, class_="facts"),
            )
        )
    else:
        body.append(tag("p", tag("code", report.model)))
    return join(body)


def _warnings(warnings: list[str]) -> Html:
    if not warnings:
        return tag("p", "Nothing in the recordings looks suspicious.", class_="note")
    told = "One thing" if len(warnings) == 1 else f"{len(warnings)} things"
    items = tag("ul", *(tag("li", warning) for warning in warnings))
    return tag(
        "div", tag("p", tag("strong", f"{told} in the recordings may mislead")), items, class_="warning"
    )


def _counts(facts: dict[str, Any], data: SkeletonDataset | None) -> Html:
    """Recordings of every label by every subject, or each on its own where the table would not fit."""
    labels, subjects = facts["labels"], facts.get("subjects") or {}
    if data is None or not subjects or len(labels) > _ROWS or len(subjects) > _COLUMNS:
        lists = [("labels", labels), ("subjects", subjects)]
        return tag("div", *(_count_list(name, counts) for name, counts in lists if counts), class_="beside")
    both = Counter((s.label, s.subject) for s in data)
    most = max(both.values())
    names = sorted(subjects, key=_natural)
    rows: list[list[Any]] = [
        [label, *(_heat(both[label, subject], most) for subject in names), labels[label]] for label in labels
    ]
    rows.append([tag("b", "all"), *(subjects[subject] for subject in names), sum(labels.values())])
    header = ["label", *names, "all"]
    return table(
        "Recordings of each label by each subject",
        header,
        rows,
        numeric=range(1, len(header)),
        class_="small heat",
    )


def _count_list(name: str, counts: dict[str, int]) -> Html:
    rows = sorted(counts.items(), key=lambda item: _natural(item[0]))[:_ROWS]
    more = len(counts) - len(rows)
    rest = tag("p", f"and {more} more", class_="note") if more else Html()
    return tag("div", tag("h3", f"{len(counts)} {name}"), bar_list(rows, largest=max(counts.values())), rest)


def _heat(count: int, most: int) -> Html:
    return tag("span", count or "·", class_="heat", style=f"--share:{count / most:.2f}")


def _natural(name: str) -> tuple[int, int, str]:
    """Numbers in their own order, before words."""
    return (0, int(name), name) if name.isdecimal() and len(name) < 19 else (1, 0, name)


def _counted(counts: dict[str, int]) -> str:
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{name} ({n})" for name, n in counts.items())


def _value(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)
