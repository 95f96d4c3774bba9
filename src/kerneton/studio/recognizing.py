"""The few things that the studio asks of a recogniser, in one place."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from kerneton.data.sequence import SkeletonDataset, SkeletonSequence
from kerneton.exceptions import DataError


def new_model() -> Any:
    """The default recogniser, for a test on people held out."""
    from kerneton.recognize.presets import make_recognizer

    return make_recognizer()


def fit_model(data: SkeletonDataset, notes: list[str]) -> Any:
    """A model with probabilities where there is enough to learn them from, as ``kerneton fit`` makes it."""
    try:
        return new_model().set_params(calibrate=True).fit(data, data.labels)
    except DataError as error:
        notes.append(f"the model gives no probabilities: {error}")
        return new_model().fit(data, data.labels)


def save_model(model: Any, path: Path, data: SkeletonDataset) -> None:
    """Write the model's file, with what ``kerneton fit`` keeps of its training recordings."""
    from kerneton.data.conventions import recording_facts
    from kerneton.recognize.model_file import save, training_summary

    done = None if data.conversion is None else data.conversion.to_dict()
    model.training_ = training_summary(data) | {"conventions": recording_facts(data) | {"conversion": done}}
    save(model, path)


def load_model(path: Path) -> Any:
    """Read a model's file."""
    from kerneton.recognize.model_file import load

    return load(path)


def fit_spotter(data: SkeletonDataset, progress: Any) -> Any:
    """What finds the actions in long recordings and streams, trained on the same clips."""
    return new_model().set_params(progress=progress).fit_spotting(data)


def segments(spotter: Any, sequence: SkeletonSequence, fps: float | None) -> list[dict[str, Any]]:
    """What the spotter finds in a recording, in its own frames; ``fps`` is the rate of training."""
    rate = (sequence.fps or 30.0) / fps if fps else 1.0
    at = np.minimum(np.round(np.arange(0, sequence.n_frames, rate)).astype(int), sequence.n_frames - 1)
    confidence = None if sequence.confidence is None else sequence.confidence[at]
    even = sequence.replace(joints=sequence.joints[at], confidence=confidence, fps=fps)
    return [
        {
            "label": found.label,
            "start": int(at[found.start]),
            "stop": int(at[found.stop - 1]) + 1,
            "probability": found.probability,
        }
        for found in spotter.spot(even)
    ]


def adapt(model: Any, sequences: list[SkeletonSequence]) -> list[SkeletonSequence]:
    """Recordings with the joints and the precision of the model."""
    return model.adapt(sequences)


def answers(model: Any, sequences: list[SkeletonSequence]) -> list[dict[str, Any]]:
    """Label, probability, doubt and the likeliest labels of each recording, for JSON."""
    adapted = adapt(model, sequences)
    if not hasattr(model, "predictions"):
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
        ranked = list(found.probabilities.items())
        second = ranked[1][1] if len(ranked) > 1 else 0.0
        out.append(
            {
                "label": found.label,
                "probability": found.probability,
                "unknown": found.unknown,
                "doubt": found.unknown_score,
                "ranked": ranked[:4],
                "margin": ranked[0][1] - second,
            }
        )
    return out


def contributions(model: Any, sequence: SkeletonSequence, label: str) -> dict[str, float]:
    """What each joint adds to the decision for a label, the largest scaled to 1 or -1."""
    from kerneton.recognize.contributions import explain

    (sequence,) = adapt(model, [sequence])
    parts = explain(model, sequence, label, moments=False).joints
    most = max((abs(value) for value in parts.values()), default=0.0) or 1.0
    return {joint: round(value / most, 3) for joint, value in parts.items()}


def warm_up() -> None:
    """Import and compile what training and recognising need, on four short recordings."""
    import kerneton.report.page  # noqa: F401
    from kerneton.datasets import make_actions

    data = make_actions(["wave", "bow"], n_subjects=2, n_takes=1)
    small = SkeletonDataset(s.replace(joints=s.joints[:30].astype("float32"), confidence=None) for s in data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit_model(small, [])
        contributions(model, small[0], answers(model, [small[0]])[0]["label"])
