"""The most confused pairs: players of mistakes next to a recognised example."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kerneton.data.sequence import SkeletonDataset
from kerneton.data.wording import many
from kerneton.report.advice import named
from kerneton.report.page._cells import per_cent, signed
from kerneton.report.page._motion import Motion
from kerneton.report.page._predictions import Pair, Prediction, anchor

if TYPE_CHECKING:
    from kerneton.report.explanation import Explanation
    from kerneton.report.results import Report

_ROWS = 300
_SURE = 0.9  # probability from which a wrong answer gets a remark
_PICTURES, _PICTURE_HEIGHT = (
    30,
    180,
)  # of a film beside a skeleton: enough to see the action, small enough to send


def mistake_cards(
    data: SkeletonDataset,
    pairs: Sequence[Pair],
    reasons: Mapping[int, Explanation] | None = None,
    films: Mapping[str, Path] | None = None,
) -> dict[str, Any]:
    """Cards of pairs with players, and the motions that they play, coloured by their reasons, with
    pictures of the films that are given.
    """
    whys = reasons or {}
    found = {i: Motion.of(data[i], whys.get(i)) for pair in pairs for i in pair.recordings}
    drawn = {i: motion for i, motion in found.items() if motion is not None}
    number = {i: k for k, i in enumerate(drawn)}
    pictures = {
        i: _pictures((films or {})[data[i].name], m)
        for i, m in drawn.items()
        if data[i].name in (films or {})
    }

    def player(index: int, prediction: Prediction | None) -> dict[str, Any]:
        sequence, motion = data[index], drawn.get(index)
        name = sequence.name or f"recording {index}"
        return {
            "name": name,
            "source": name if sequence.subject is None else f"{name}, {named(sequence.subject)}",
            "label": sequence.label if prediction is None else prediction.label,
            "verdict": prediction,
            "said": None if prediction is None or prediction.value is None else _sure(prediction),
            "why": whys[index].words if index in whys else "",
            "remark": "" if prediction is None else remark(prediction),
            "motion": motion,
            "number": number.get(index),
            "filmed": index in pictures,
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
        "motions": [
            motion.to_dict() | ({"pictures": pictures[i]} if i in pictures else {})
            for i, motion in drawn.items()
        ],
        "sided": any(motion.body.sided for motion in drawn.values()),
        "spoken": any(motion.said is not None for motion in drawn.values()),
        "traced": any(motion.body.ends for motion in drawn.values()),
    }


def _pictures(film: Path, motion: Motion) -> list[str]:
    """Pictures of a film at equal steps of time, as addresses that contain them."""
    from kerneton.video.films import stills

    times = np.linspace(0, motion.seconds, min(len(motion.frames), _PICTURES)).tolist()
    found = stills(film, times, _PICTURE_HEIGHT)
    return [f"data:image/jpeg;base64,{base64.b64encode(picture).decode()}" for picture in found]


def mistake_list(report: Report, wrong: Sequence[Prediction]) -> dict[str, Any]:
    """Every mistaken recording, as a table."""
    kind = next((v.is_probability for v in wrong if v.value is not None), None)
    header = ["recording", "subject", "split", "label", "taken for"]
    header += [] if kind is None else ["probability" if kind else "decision value"]
    remarked = any(remark(v) for v in wrong)
    header += ["remark"] if remarked else []
    rows = []
    for v in wrong[:_ROWS]:
        subject = "–" if report.subjects is None else report.subjects[v.index]
        row = [
            report.recordings[v.index] or f"recording {v.index}",
            subject,
            v.split,
            v.label,
            v.predicted,
        ]
        if kind is not None:
            row.append("–" if v.value is None else _value(v, v.value))
        row += [remark(v)] if remarked else []
        rows.append(row)
    first = f"The first {_ROWS} of {len(wrong)} mistakes"
    title = first if len(wrong) > _ROWS else f"All mistakes ({len(wrong)})"
    return {"title": title, "header": header, "rows": rows}


def remark(prediction: Prediction) -> str:
    """What to think of a wrong answer that was given with a high probability.

    >>> remark(Prediction(0, "1", "bow", "wave", 0.997, 0.001, is_probability=True))
    'sure and wrong: look whether the recording shows wave, and its label bow is the mistake'
    """
    if not prediction.is_probability or prediction.value is None or prediction.value < _SURE:
        return ""
    return (
        f"sure and wrong: look whether the recording shows {prediction.predicted}, "
        f"and its label {prediction.label} is the mistake"
    )


def _sure(prediction: Prediction) -> str:
    """Probabilities or decision values of the prediction and of the true label."""
    values = [(prediction.predicted, prediction.value), (prediction.label, prediction.label_value)]
    listed = ", ".join(
        f"{label} {_value(prediction, value)}" for label, value in values if value is not None
    )
    return listed if prediction.is_probability else f"decision values: {listed}"


def _value(prediction: Prediction, value: float) -> str:
    return per_cent(value) if prediction.is_probability else signed(value, 2)
