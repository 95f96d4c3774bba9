"""The most confused pairs: players of mistakes next to a recognised example."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kerneton.data.sequence import SkeletonDataset
from kerneton.data.validation import many
from kerneton.report.advice import named
from kerneton.report.page._cells import per_cent, signed
from kerneton.report.page._motion import Motion
from kerneton.report.page._predictions import Pair, Prediction, anchor

if TYPE_CHECKING:
    from kerneton.report.results import Report

_ROWS = 300


def mistake_cards(data: SkeletonDataset, pairs: Sequence[Pair]) -> dict[str, Any]:
    """Cards of pairs with players, and the motions that they play."""
    found = {i: Motion.of(data[i]) for pair in pairs for i in pair.recordings}
    drawn = {i: motion for i, motion in found.items() if motion is not None}
    number = {i: k for k, i in enumerate(drawn)}

    def player(index: int, prediction: Prediction | None) -> dict[str, Any]:
        sequence, motion = data[index], drawn.get(index)
        name = sequence.name or f"recording {index}"
        return {
            "name": name,
            "source": name if sequence.subject is None else f"{name}, {named(sequence.subject)}",
            "label": sequence.label if prediction is None else prediction.label,
            "verdict": prediction,
            "said": None if prediction is None or prediction.value is None else _sure(prediction),
            "motion": motion,
            "number": number.get(index),
            "length": f"{motion.seconds:.1f} s"
            if motion and motion.timed
            else many(sequence.n_frames, "frame"),
        }

    return {
        "cards": [
            {
                "id": anchor(k),
                "pair": pair,
                "players": [player(prediction.index, prediction) for prediction in pair.mistakes],
                "example": None if pair.example is None else player(pair.example, None),
            }
            for k, pair in enumerate(pairs, start=1)
        ],
        "motions": [motion.to_dict() for motion in drawn.values()],
        "sided": any(motion.body.sided for motion in drawn.values()),
        "traced": any(motion.body.ends for motion in drawn.values()),
    }


def mistake_list(report: Report, wrong: Sequence[Prediction]) -> dict[str, Any]:
    """Every mistaken recording, as a table."""
    kind = next((v.is_probability for v in wrong if v.value is not None), None)
    header = ["recording", "subject", "split", "label", "taken for"]
    header += [] if kind is None else ["probability" if kind else "decision value"]
    rows = []
    for v in wrong[:_ROWS]:
        subject = "–" if report.subjects is None else report.subjects[v.index]
        row = [report.recordings[v.index] or f"recording {v.index}", subject, v.split, v.label, v.predicted]
        if kind is not None:
            row.append("–" if v.value is None else _value(v, v.value))
        rows.append(row)
    first = f"The first {_ROWS} of {len(wrong)} mistakes"
    title = first if len(wrong) > _ROWS else f"All mistakes ({len(wrong)})"
    return {"title": title, "header": header, "rows": rows}


def _sure(prediction: Prediction) -> str:
    """Probabilities or decision values of the prediction and of the true label."""
    values = [(prediction.predicted, prediction.value), (prediction.label, prediction.label_value)]
    listed = ", ".join(f"{label} {_value(prediction, value)}" for label, value in values if value is not None)
    return listed if prediction.is_probability else f"decision values: {listed}"


def _value(prediction: Prediction, value: float) -> str:
    return per_cent(value) if prediction.is_probability else signed(value, 2)
