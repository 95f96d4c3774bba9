"""The most confused pairs, with the recordings that were mistaken, to be played beside one that was not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from kerneton._tables import percent
from kerneton.page._html import Html, data_block, details, join, per_cent, table, tag
from kerneton.page._motion import Motion
from kerneton.sequence import SkeletonDataset, SkeletonSequence

if TYPE_CHECKING:
    from kerneton.report import Report, Split

_PAIRS, _EACH, _MOTIONS = 6, 3, 12  # pairs shown, mistakes of each, and recordings in all
_ROWS = 300


@dataclass(frozen=True)
class Verdict:
    """What was said of one recording in one split."""

    index: int  # of the recording
    split: str
    label: str
    predicted: str
    said: float | None  # probability of what was said, or its decision value
    own: float | None  # the same of the recording's label
    probable: bool  # which of the two it is

    @property
    def correct(self) -> bool:
        return self.label == self.predicted

    @property
    def sureness(self) -> float:
        """How much more was said for the prediction than for the label; the prediction's value where right."""
        if self.said is None:
            return 0.0
        return self.said if self.correct or self.own is None else self.said - self.own


@dataclass
class Pair:
    """A label, what it was taken for, mistakes to show, and an example of what it was taken for."""

    label: str
    predicted: str
    count: int
    share: float
    mistakes: list[Verdict] = field(default_factory=list)
    example: int | None = None


def all_verdicts(report: Report) -> list[Verdict]:
    """Every recording in every split in which it was tested."""
    return [_verdict(split, i) for split in report.splits for i in range(split.n_test)]


def best_examples(tests: Sequence[Verdict], data: SkeletonDataset) -> dict[str, int]:
    """For each label the recording that was recognised most clearly, else the first one that has the label."""
    best: dict[str, Verdict] = {}
    for test in tests:
        if test.correct and (test.label not in best or test.sureness > best[test.label].sureness):
            best[test.label] = test
    found = {label: test.index for label, test in best.items()}
    for i, sequence in enumerate(data):
        if sequence.label is not None:
            found.setdefault(sequence.label, i)
    return found


def choose(report: Report, tests: Sequence[Verdict], examples: dict[str, int]) -> list[Pair]:
    """The most confused pairs and, as far as the page has room, the clearest mistakes of each."""
    pairs = [Pair(p["label"], p["predicted"], p["count"], p["share"]) for p in report.confused_pairs(_PAIRS)]
    wrong: dict[tuple[str, str], dict[int, Verdict]] = {}
    for test in sorted((t for t in tests if not t.correct), key=lambda t: -t.sureness):
        wrong.setdefault((test.label, test.predicted), {}).setdefault(test.index, test)
    used: set[int] = set()
    for turn in range(_EACH):
        for pair in pairs:
            chosen = list(wrong[pair.label, pair.predicted].values())[turn : turn + 1]
            example = examples.get(pair.predicted)
            new = {t.index for t in chosen} | (set() if example is None else {example})
            if chosen and len(used | new) <= _MOTIONS:
                pair.mistakes += chosen
                pair.example = example
                used |= new
    return pairs


def anchor(number: int) -> str:
    """Where a pair stands in the page."""
    return f"pair-{number}"


def mistake_section(
    report: Report, data: SkeletonDataset | None, tests: Sequence[Verdict], pairs: Sequence[Pair]
) -> Html:
    """Cards of pairs with players, and a list of every mistaken recording."""
    wrong = [t for t in tests if not t.correct]
    if not wrong:
        return tag("p", "There was no mistake to show.", class_="note")
    body: list[Any] = []
    if data is None:
        body.append(
            tag(
                "p",
                "The recordings were not given to this page, so mistakes are listed and not shown.",
                class_="note",
            )
        )
    else:
        body += _cards(report, data, pairs)
    body.append(_list_of(report, wrong))
    return join(body)


def _cards(report: Report, data: SkeletonDataset, pairs: Sequence[Pair]) -> list[Html]:
    shown = [pair for pair in pairs if pair.mistakes]
    wanted = dict.fromkeys(
        i
        for p in shown
        for i in (*(t.index for t in p.mistakes), *(() if p.example is None else (p.example,)))
    )
    motions = {i: Motion.of(data[i]) for i in wanted}
    number = {i: k for k, i in enumerate(i for i in wanted if motions[i] is not None)}
    sided = any(m is not None and any(m._side(b) != "m" for _, b in m.bones) for m in motions.values())
    legend = join(
        [tag("span", "left", class_="key l"), " and ", tag("span", "right", class_="key r"), " limbs; "]
    )
    cards = [
        tag(
            "p",
            "The pairs that are confused most often: recordings that were mistaken and, beside them, one of the label "
            "they were taken for. ",
            legend if sided else "",
            "thin lines are the ways of hands and feet. ",
            tag(
                "span",
                "Drag a picture, or use the arrow keys on it, to turn it; space plays.",
                class_="scripted",
            ),
        )
    ]
    for k, pair in enumerate(shown, start=1):
        figures = [
            _player(report, data[t.index], t.index, motions[t.index], number.get(t.index), test=t)
            for t in pair.mistakes
        ]
        if pair.example is not None:
            example = data[pair.example]
            figures.append(
                _player(
                    report, example, pair.example, motions[pair.example], number.get(pair.example), test=None
                )
            )
        else:
            figures.append(tag("p", f"No recording has the label {pair.predicted}.", class_="note"))
        title = join([tag("b", pair.label), " taken for ", tag("b", pair.predicted)])
        head = [
            tag("h3", title),
            tag(
                "p",
                f"{pair.count} of {round(pair.count / pair.share)} tests, {per_cent(pair.share)}",
                class_="note",
            ),
            tag("button", "Play all", type="button", class_="all scripted"),
        ]
        cards.append(
            tag(
                "article",
                tag("header", *head),
                tag("div", *figures, class_="players"),
                class_="card",
                id=anchor(k),
            )
        )
    cards.append(data_block("motions", [motions[i].to_dict() for i in number]))  # type: ignore[union-attr]
    return cards


def _player(
    report: Report,
    sequence: SkeletonSequence,
    index: int,
    motion: Motion | None,
    number: int | None,
    *,
    test: Verdict | None,
) -> Html:
    """A picture with its controls, and what is known of the recording."""
    name = report.recordings[index] or f"recording {index}"
    subject = [] if sequence.subject is None else [f"subject {sequence.subject}"]
    if test is None:
        role, told = "example", join(["an example of ", tag("b", sequence.label)])
    else:
        role, told = "mistake", join([tag("b", test.label), ", taken for ", tag("b", test.predicted)])
    lines = [
        tag("span", told, class_="told"),
        tag("span", ", ".join([name, *subject]), class_="source", title=name),
    ]
    if test is not None and (sure := _sure(test)):
        lines.append(tag("span", sure, class_="source"))
    if motion is None:
        picture = tag("p", "No joint of this recording was measured.", class_="note")
    else:
        length = f"{motion.seconds:.1f} s" if motion.timed else f"{sequence.n_frames} frames"
        picture = join(
            [
                motion.stage(label=f"{name}, {length}", tabindex=0),
                tag(
                    "div",
                    tag("button", type="button", class_="play", aria_label=f"Play {name}", aria_pressed="false"),
                    tag("input", type="range", min=0, max=len(motion.frames) - 1, step="any", value=motion.still,
                        aria_label=f"Time in {name}"),
                    tag("output", length),
                    class_="controls scripted",
                ),
            ]
        )  # fmt: skip
    return tag("figure", picture, tag("figcaption", *lines), class_=f"player {role}", data_motion=number)


def _sure(test: Verdict) -> str | None:
    if test.said is None:
        return None
    if test.probable:
        own = "" if test.own is None else f", {test.label} {per_cent(test.own)}"
        return f"{test.predicted} {per_cent(test.said)}{own}"
    own = "" if test.own is None else f", {test.label} {test.own:+.2f}"
    return f"{test.predicted} {test.said:+.2f}{own}"


def _list_of(report: Report, wrong: Sequence[Verdict]) -> Html:
    kind = next((t.probable for t in wrong if t.said is not None), None)
    header = ["recording", "subject", "split", "label", "taken for"]
    header += [] if kind is None else ["probability %" if kind else "decision value"]
    rows = []
    for t in wrong[:_ROWS]:
        subject = "–" if report.subjects is None else report.subjects[t.index]
        row = [report.recordings[t.index] or f"recording {t.index}", subject, t.split, t.label, t.predicted]
        if kind is not None:
            row.append("–" if t.said is None else percent(t.said) if t.probable else f"{t.said:+.2f}")
        rows.append(row)
    title = f"Every mistaken recording ({len(wrong)})"
    if len(wrong) > _ROWS:
        title = f"The first {_ROWS} of {len(wrong)} mistaken recordings"
    return details(title, table("Mistaken recordings", header, rows, numeric=[5] if kind is not None else []))


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
