"""The most confused pairs, with the recordings that were mistaken, to be played beside one that was not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kerneton.data.sequence import SkeletonDataset, SkeletonSequence
from kerneton.report.page._html import Html, data_block, details, join, per_cent, table, tag
from kerneton.report.page._motion import Motion
from kerneton.report.page._verdicts import Pair, Verdict, anchor

if TYPE_CHECKING:
    from kerneton.report.results import Report

_ROWS = 300


def mistake_section(
    report: Report, data: SkeletonDataset | None, verdicts: Sequence[Verdict], pairs: Sequence[Pair]
) -> Html:
    """Cards of pairs with players, and a list of every mistaken recording."""
    wrong = [v for v in verdicts if not v.correct]
    if not wrong:
        return tag("p", "There was no mistake to show.", class_="note")
    if data is None:
        told = "The recordings were not given to this page, so mistakes are listed and not shown."
        return join([tag("p", told, class_="note"), _list_of(report, wrong)])
    shown = [pair for pair in pairs if pair.mistakes]
    motions = {i: Motion.of(data[i]) for pair in shown for i in pair.recordings}
    drawn = [motion for motion in motions.values() if motion is not None]
    number = {i: k for k, i in enumerate(i for i, motion in motions.items() if motion is not None)}

    def player(index: int, verdict: Verdict | None) -> Html:
        return _player(data[index], index, motions[index], number.get(index), verdict)

    cards = [_card(pair, k, player) for k, pair in enumerate(shown, start=1)]
    return join(
        [
            _how_to_read(drawn),
            tag("div", *cards, class_="cards"),
            data_block("motions", [motion.to_dict() for motion in drawn]),
            _list_of(report, wrong),
        ]
    )


def _how_to_read(motions: Sequence[Motion]) -> Html:
    words: list[Any] = [
        "The pairs that are confused most often: recordings that were mistaken, underlined in red, and beside them one "
        "of the label they were taken for. "
    ]
    if any(motion.sided for motion in motions):
        left, right = tag("span", "left", class_="key l"), tag("span", "right", class_="key r")
        words += ["Colours tell ", left, " from ", right, " limbs. "]
    if any(motion.ends for motion in motions):
        words.append("Thin lines are the ways of hands and feet. ")
    turn = "Drag a picture, or use the arrow keys on it, to turn it; space plays."
    return tag("p", *words, tag("span", turn, class_="scripted"))


def _card(pair: Pair, number: int, player: Callable[[int, Verdict | None], Html]) -> Html:
    figures = [player(verdict.index, verdict) for verdict in pair.mistakes]
    if pair.example is not None:
        figures.append(player(pair.example, None))
    else:
        figures.append(tag("p", f"No recording has the label {pair.predicted}.", class_="note"))
    head = [
        tag("h3", tag("b", pair.label), " taken for ", tag("b", pair.predicted)),
        tag("p", f"{pair.count} of {pair.tested} tests, {per_cent(pair.count / pair.tested)}", class_="note"),
        tag("button", "Play all", type="button", class_="all scripted"),
    ]
    return tag(
        "article",
        tag("header", *head),
        tag("div", *figures, class_="players"),
        class_="card wide" if len(figures) > 2 else "card",
        id=anchor(number),
    )


def _player(
    sequence: SkeletonSequence, index: int, motion: Motion | None, number: int | None, verdict: Verdict | None
) -> Html:
    """A picture with its controls, and what is known of the recording; an example where there is no verdict."""
    name = sequence.name or f"recording {index}"
    source = name if sequence.subject is None else f"{name}, subject {sequence.subject}"
    if verdict is None:
        told = ["an example of ", tag("b", sequence.label)]
    else:
        told = ["a mistaken ", tag("b", verdict.label)]
    lines = [tag("span", *told, class_="told"), tag("span", source, class_="source", title=source)]
    if verdict is not None and verdict.said is not None:
        lines.append(tag("span", _sure(verdict), class_="source"))
    if motion is None:
        picture = tag("p", "No joint of this recording was measured.", class_="note")
    else:
        length = f"{motion.seconds:.1f} s" if motion.timed else f"{sequence.n_frames} frames"
        last = len(motion.frames) - 1
        controls = [
            tag("button", type="button", class_="play", aria_label=f"Play {name}", aria_pressed="false"),
            tag(
                "input",
                type="range",
                min=0,
                max=last,
                step="any",
                value=motion.still,
                aria_label=f"Time in {name}",
            ),
            tag("output", length),
        ]
        stage = motion.stage(label=f"{name}, {length}", tabindex=0)
        picture = join([stage, tag("div", *controls, class_="controls scripted")])
    role = "example" if verdict is None else "mistake"
    return tag("figure", picture, tag("figcaption", *lines), class_=f"player {role}", data_motion=number)


def _sure(verdict: Verdict) -> str:
    """How sure the model was of what it said, and of the truth."""
    values = [(verdict.predicted, verdict.said), (verdict.label, verdict.own)]
    told = ", ".join(f"{label} {_value(verdict, value)}" for label, value in values if value is not None)
    return told if verdict.probable else f"decision values: {told}"


def _value(verdict: Verdict, value: float) -> str:
    return per_cent(value) if verdict.probable else f"{value:+.2f}".replace("-", "−")


def _list_of(report: Report, wrong: Sequence[Verdict]) -> Html:
    kind = next((v.probable for v in wrong if v.said is not None), None)
    header = ["recording", "subject", "split", "label", "taken for"]
    header += [] if kind is None else ["probability" if kind else "decision value"]
    rows = []
    for v in wrong[:_ROWS]:
        subject = "–" if report.subjects is None else report.subjects[v.index]
        row = [report.recordings[v.index] or f"recording {v.index}", subject, v.split, v.label, v.predicted]
        if kind is not None:
            row.append("–" if v.said is None else _value(v, v.said))
        rows.append(row)
    title = f"Every mistaken recording ({len(wrong)})"
    if len(wrong) > _ROWS:
        title = f"The first {_ROWS} of {len(wrong)} mistaken recordings"
    return details(title, table("Mistaken recordings", header, rows, numeric=[5] if kind is not None else []))
