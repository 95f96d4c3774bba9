"""Predictions, segments and explanations of a model, as plain data for the page."""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from kerneton.data.sequence import SkeletonSequence


def segments(model: Any, sequence: SkeletonSequence, fps: float | None) -> list[dict[str, Any]]:
    """Segments that the model finds, in frames of the recording; ``fps`` is the frame rate of
    training.
    """
    rate = (sequence.fps or 30.0) / fps if fps else 1.0
    at = np.minimum(
        np.round(np.arange(0, sequence.n_frames, rate)).astype(int), sequence.n_frames - 1
    )
    confidence = None if sequence.confidence is None else sequence.confidence[at]
    even = sequence.replace(joints=sequence.joints[at], confidence=confidence, fps=fps)
    return [
        {
            "label": found.label,
            "start": int(at[found.start]),
            "stop": int(at[found.stop - 1]) + 1,
            "probability": found.probability,
        }
        for found in model.spot(even)
    ]


def answers(model: Any, sequences: list[SkeletonSequence]) -> list[dict[str, Any]]:
    """Label, probability, score of being unknown and the likeliest labels of each recording, for
    JSON.
    """
    adapted = model.adapt(sequences)
    if not hasattr(model, "predictions"):  # not calibrated
        nothing: dict[str, Any] = {
            "probability": None,
            "unknown": False,
            "doubt": 0.0,
            "ranked": [],
            "margin": 0.0,
        }
        return [{"label": str(label), **nothing} for label in model.predict(adapted)]
    out = []
    for found in model.predictions(adapted):
        ranked = list(found.probabilities.items())  # of at least two labels, the likeliest first
        out.append(
            {
                "label": found.label,
                "probability": found.probability,
                "unknown": found.unknown,
                "doubt": found.unknown_score,
                "ranked": ranked[:4],
                "margin": ranked[0][1] - ranked[1][1],
            }
        )
    return out


def contributions(model: Any, sequence: SkeletonSequence, label: str) -> dict[str, float]:
    """Contribution of each joint to the decision for a label, the largest scaled to 1 or -1."""
    (sequence,) = model.adapt([sequence])
    parts = model.explain(sequence, label).joints
    most = max((abs(value) for value in parts.values()), default=0.0) or 1.0
    return {joint: round(value / most, 3) for joint, value in parts.items()}


def reasons(model: Any, sequence: SkeletonSequence, label: str) -> dict[str, Any]:
    """The same at every frame, with the reasons in words, for JSON.

    ``moments`` has a row per frame and a column per joint of ``names``, in per cent of the largest.
    """
    (sequence,) = model.adapt([sequence])
    why = model.explain(sequence, label)
    most = max((abs(value) for value in why.joints.values()), default=0.0) or 1.0
    return {
        "words": why.words,
        "joints": {joint: round(value / most, 3) for joint, value in why.joints.items()},
        "names": list(why.joint_names),
        "moments": why.shown_frames().tolist(),
    }


def page(model: Any, path: Path) -> None:
    """A web page that runs the model, as a zip."""
    from kerneton.runtime import export  # only here

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "page")
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for written in export(model, folder, "web"):
                archive.write(written, written.relative_to(name))
