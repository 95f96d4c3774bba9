"""What to do next, computed from the results: the most useful step first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from kerneton.report.tables import percent

if TYPE_CHECKING:
    from kerneton.report.results import Report

_EACH = 3  # steps of one kind
# recall below which a label needs more recordings, and accuracy from which a model is useful
_FOUND = 0.9
_WIDE = 0.1  # width of an interval above which more people are needed


@dataclass(frozen=True)
class Step:
    """One thing to do: ``kind`` is "data", "confusion", "label", "person", "people" or "use"."""

    kind: str
    text: str


def next_steps(report: Report) -> list[Step]:
    """Confusions to look at, labels to record more of, people to look at and to add.

    >>> from sklearn.dummy import DummyClassifier
    >>> from kerneton import evaluate, make_actions
    >>> data = make_actions(["wave", "bow"], n_subjects=3, n_takes=2)
    >>> for step in next_steps(evaluate(DummyClassifier(), data, "leave-one-subject-out")):
    ...     print(step.kind, "|", step.text.partition(". ")[0])
    confusion | Look at wave and bow side by side: they were confused 6 times in 12 tests
    label | Record more of wave (0 of 6 right).
    people | Add people: with 3 tested, the accuracy for new people is only known to be ...
    """
    found = [
        *_data(report),
        *_confusions(report),
        *_labels(report),
        *_persons(report),
        *_people(report),
    ]
    if report.accuracy >= _FOUND:
        text = "Train on all recordings (kerneton fit), and try the model on new people and in new places."
        found.append(Step("use", text))
    return found


def _data(report: Report) -> Iterator[Step]:
    warnings = report.data.get("warnings") or []
    if warnings:
        more = f", and {len(warnings) - 1} more" if len(warnings) > 1 else ""
        yield Step("data", f"Check the recordings first: {warnings[0]}{more}.")


def _confusions(report: Report) -> Iterator[Step]:
    """Pairs of labels that are confused more than once, in both directions together."""
    support = {row["label"]: row["support"] for row in report.class_table()}
    count = {
        (pair["label"], pair["predicted"]): pair["count"] for pair in report.confused_pairs(None)
    }
    total: Counter[tuple[str, ...]] = Counter()
    for pair, n in count.items():
        total[tuple(sorted(pair))] += n
    often = [(pair, n) for pair, n in total.most_common(_EACH) if n > 1]
    for (a, b), n in often:
        # First the label that was tested, and mistaken for the other more often.
        one, other = (a, b) if count.get((a, b), 0) >= count.get((b, a), 0) else (b, a)
        tests = support[a] + support[b]
        text = f"Look at {one} and {other} side by side: they were confused {n} times in {tests} tests."
        if not support[other]:
            text = f"Look at {one}: {n} of {tests} tests were predicted as {other}."
        elif (a, b) == often[0][0]:
            text += " If their joints move in the same way, record them from another side, or merge the labels."
        yield Step("confusion", text)


def _labels(report: Report) -> Iterator[Step]:
    """Labels that are seldom found, and labels with far fewer recordings than the others."""
    rows = [row for row in report.class_table() if row["support"]]
    poor = sorted((row for row in rows if row["recall"] < _FOUND), key=lambda row: row["recall"])[
        :_EACH
    ]
    if poor:
        found = [
            f"{r['label']} ({round(r['recall'] * r['support'])} of {r['support']} right)"
            for r in poor
        ]
        yield Step("label", f"Record more of {', '.join(found)}.")
    counts = report.data["labels"]
    usual = median(counts.values())
    rare = [
        label
        for label, n in counts.items()
        if n < usual / 2 and label not in {r["label"] for r in poor}
    ]
    if rare:
        listed = ", ".join(f"{label} ({counts[label]})" for label in rare[:_EACH])
        text = f"Record more of {listed}: half of the labels have {int(usual)} or more."
        yield Step("label", text)


def _persons(report: Report) -> Iterator[Step]:
    """People who are recognised clearly worse than all others together."""
    rows = report.subject_table()
    tests, right = sum(r["n_test"] for r in rows), sum(r["n_test"] * r["accuracy"] for r in rows)
    for row in rows[:_EACH]:
        rest = tests - row["n_test"]
        others = (right - row["n_test"] * row["accuracy"]) / rest if rest else 0.0
        mistakes = round(row["n_test"] * (1 - row["accuracy"]))
        if mistakes > 1 and row["accuracy_high"] < others:
            text = f"Look at {named(row['subject'])}: {percent(row['accuracy'])} % right against {percent(others)} % "
            text += "for the others. Check left and right, camera and labels; or add people who move in a similar way."
            yield Step("person", text)


def named(subject: str) -> str:
    """A subject in a sentence; many names already contain the word.

    >>> named("3"), named("subject-3")
    ('subject 3', 'subject-3')
    """
    return subject if subject.lower().startswith(("subject", "person")) else f"subject {subject}"


def _people(report: Report) -> Iterator[Step]:
    if report.subjects is None:
        text = "Give the subject of each recording (LABEL/SUBJECT/FILE): only then can the accuracy for new people be measured."
        yield Step("people", text)
        return
    if len(set(report.subjects)) < 2:
        text = f"Add people: only {named(report.subjects[0])} was recorded, so nothing is known about the accuracy for new people. "
        text += "At least two people are needed to measure it, better five."
        yield Step("people", text)
        return
    known = report.interval()
    if known.high - known.low > _WIDE:
        text = f"Add people: with {len(report.subject_table())} tested, the accuracy for new people is only known to be {known} %. "
        text += "A new person gives more information than more recordings of the same people."
        yield Step("people", text)
