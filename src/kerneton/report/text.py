"""A report's tables and lines as text."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from kerneton.data.wording import many
from kerneton.files.output import write_text
from kerneton.report.tables import aligned, inline, markdown, percent

if TYPE_CHECKING:
    from kerneton.report.results import Report

_VARIANTS = {
    "free": "every body is turned to the front",
    "fixed": "bodies stay as the camera saw them",
    "not turned": "these recordings show no front and are looked at as they were recorded",
    "mirrored": "an action and its mirror image are the same",
    "partly mirrored": "they are similar, for people of either hand where the side also matters",
    "either order": "it does not matter who of two is the first",
}


def written(text: str, path: str | os.PathLike[str] | None) -> str:
    """The text itself; also written to ``path`` if given."""
    if path is not None:
        write_text(path, text)
    return text


def percent_of(report: Report) -> str:
    """Accuracy and its spread over splits."""
    if report.accuracy_sd is None:
        return f"{percent(report.accuracy)} %"
    spread = f"{percent(report.accuracy)} % ± {percent(report.accuracy_sd)}"
    return f"{spread} (sd over {len(report.splits)} splits)"


def describe_data(data: dict[str, Any]) -> str:
    """Sizes of the data set in a line."""
    shortest, _, longest = data["n_frames"]
    parts = [many(data["n_recordings"], "recording"), many(len(data["labels"]), "label")]
    parts += [many(len(data["subjects"]), "subject")] if data["subjects"] else []
    parts += [f"joints {' and '.join(data['layouts'])}", f"{shortest} to {many(longest, 'frame')}"]
    return (f"{data['name']}: " if data["name"] else "") + ", ".join(parts)


def accuracy_line(report: Report) -> str:
    """Accuracy, its spread over splits and its confidence interval."""
    known = report.interval()
    over = f", over {known.n_subjects} subjects" if known.n_subjects else ""
    return f"{percent_of(report)}, 95 % interval {known}{over}"


def report_text(report: Report) -> str:
    """A report for the screen."""
    times = report.timings
    lines = [describe_data(report.data), f"{report.protocol}: accuracy {accuracy_line(report)}"]
    for rows in (class_rows(report), pair_rows(report), variant_rows(report)):
        if len(rows) > 1:
            lines += ["", aligned(rows)]
    if note := variant_note(report):
        lines.append(note)
    lines += ["", "what to do next", *(f"- {step['text']}" for step in report.next_steps())]
    lines += [
        "",
        f"fit {times['fit_seconds'] / len(report.splits):.3g} s per split, "
        f"predict {1000 * times['predict_seconds_per_recording']:.3g} ms per recording",
    ]
    return "\n".join(lines)


def report_markdown(report: Report) -> str:
    """A report as a page of tables in Markdown."""
    facts = {**report.parameters, **report.versions}
    parts = [
        "# " + inline(f"{report.data.get('name') or 'Recordings'}, {report.protocol}"),
        f"Accuracy **{percent_of(report)}**, 95 % interval {report.interval()}.",
        inline(describe_data(report.data)) + ".",
        *(f"Left out: {inline(each)}" for each in report.data.get("left_out", [])),
        markdown(class_rows(report)),
        "## What to do next",
        "\n".join(f"- {inline(step['text'])}" for step in report.next_steps()),
        "## Splits",
        markdown(split_rows(report)),
        "## Most confused",
        markdown(pair_rows(report)) if report.confused_pairs() else "No mistakes.",
        *(
            ["## View and mirroring", markdown(variant_rows(report)), variant_note(report)]
            if report.variant_table()
            else []
        ),
        "## Parameters and versions",
        markdown([["", "value"], *([f"`{name}`", f"`{value}`"] for name, value in facts.items())]),
    ]
    return "\n\n".join(parts) + "\n"


def class_rows(report: Report) -> list[list[str]]:
    """Precision, recall and F1 of each label."""
    header = ["label", "tested", "precision %", "F1 %", "recall %", "95 % interval"]
    return [header] + [
        [
            row["label"],
            str(row["support"]),
            *(percent(row[k]) for k in ("precision", "f1", "recall")),
            between(row["recall_low"], row["recall_high"]),
        ]
        for row in report.class_table()
    ]


def split_rows(report: Report) -> list[list[str]]:
    """Sizes, accuracy and seconds of each split."""
    header = ["split", "trained", "tested", "accuracy %", "95 % interval", "fit s", "predict s"]
    return [header] + [
        [
            *(str(row[k]) for k in ("name", "n_train", "n_test")),
            percent(row["accuracy"]),
            between(row["accuracy_low"], row["accuracy_high"]),
            *(f"{row[k]:.3g}" for k in ("fit_seconds", "predict_seconds")),
        ]
        for row in report.split_table()
    ]


def pair_rows(report: Report) -> list[list[str]]:
    """The most frequent mistakes."""
    return [["label", "taken for", "times", "of its recordings %"]] + [
        [pair["label"], pair["predicted"], str(pair["count"]), percent(pair["share"])]
        for pair in report.confused_pairs()
    ]


def variant_rows(report: Report) -> list[list[str]]:
    """How often each variant was chosen, and its accuracy on held-out training recordings."""
    return [["view and mirroring", "chosen in splits", "accuracy %", "95 % interval"]] + [
        [
            row["variant"],
            str(row["splits"]),
            percent(row["validation"]),
            between(row["validation_low"], row["validation_high"]),
        ]
        for row in report.variant_table()
    ]


def variant_note(report: Report) -> str:
    """What the columns and the names of `variant_rows` mean; empty if the model did not choose."""
    names = " ".join(row["variant"] for row in report.variant_table())
    if not names:
        return ""
    words = "; ".join(f"{name}: {meaning}" for name, meaning in _VARIANTS.items() if name in names)
    chosen = (
        "In every split, the model chose one of these on recordings held out of the training data, "
        "the view by accuracy and mirroring by the squared hinge loss"
    )
    return f"{chosen}; the interval takes these as independent." + (f" {words}." if words else "")


def between(low: float | None, high: float | None) -> str:
    """An interval in per cent.

    >>> between(0.722, 1.0), between(None, None)
    ('72.2 to 100.0', '-')
    """
    return "-" if low is None else f"{percent(low)} to {percent(high)}"


def protocol_words(report: Report) -> str:
    """Who was trained on and who was tested, in a sentence.

    >>> import numpy as np
    >>> from kerneton import SkeletonDataset, SkeletonSequence, evaluate
    >>> from sklearn.dummy import DummyClassifier
    >>> data = SkeletonDataset(
    ...     SkeletonSequence(np.ones((5, 3, 3)), label=k, subject=s) for s in "123" for k in "aab"
    ... )
    >>> protocol_words(evaluate(DummyClassifier(), data, "leave-one-subject-out"))
    'Each of 3 people in turn was tested with a model that was trained on the others.'
    >>> protocol_words(evaluate(DummyClassifier(), data, [(range(6), range(6, 9))]))
    'A model that was trained on 2 people was tested on another person.'
    """
    n, total = len(report.splits), len(report.recordings)
    if report.subjects is None:
        tested = many(sum(split.n_test for split in report.splits), "test")
        return (
            f"A model that was trained on {many(report.splits[0].n_train, 'recording')} was tested "
            f"on {many(report.splits[0].n_test, 'other recording')}."
            if n == 1
            else f"{n} times, a model was trained on a part of the recordings and tested on others "
            f"({tested}); nothing is known of the people."
        )
    sides = []  # how many people are trained on and tested, where everyone else was trained on
    for split in report.splits:
        inside = set(split.indices.tolist())
        who = {report.subjects[i] for i in inside}
        others = {person for i, person in enumerate(report.subjects) if i not in inside}
        if split.n_train + split.n_test != total or who & others:
            times = "once" if n == 1 else f"{n} times"
            return f"A model was trained on some of the recordings and tested on others, {times}."
        sides.append((len(others), who))
    everyone = set().union(*(who for _, who in sides))
    if n == len(everyone) == len(set(report.subjects)) and all(len(who) == 1 for _, who in sides):
        return f"Each of {n} people in turn was tested with a model that was trained on the others."
    (known, first), rest = sides[0], sides[1:]
    if not rest:
        tested = "another person" if len(first) == 1 else f"{len(first)} others"
        people = "one person" if known == 1 else f"{known} people"
        return f"A model that was trained on {people} was tested on {tested}."
    return (
        f"{n} times, a model was trained on some of the {len(set(report.subjects))} people "
        "and tested on the others."
    )
