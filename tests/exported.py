"""A model to export, recordings of all kinds, and what Python answers for them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from runtimes import Model

from kerneton import SkeletonSequence, make_actions, make_recognizer

CLOSE = 1e-4
ACTIONS = ["wave", "clap", "sit down"]


def expected(model: Any, sequence: SkeletonSequence) -> dict[str, Any]:
    # what the runtimes are given
    sequence = sequence.replace(joints=sequence.joints.astype(np.float32))
    results = model.results([sequence])
    why = model.explain(sequence)
    return {
        "label": str(model.predict([sequence])[0]),
        "decisions": np.asarray(results.scores, float)[0],
        "probabilities": None if results.probabilities is None else results.probabilities[0],
        "unknown": None if results.unknown is None else float(results.unknown[0]),
        "contributions": np.array(list(why.joints.values())),
        "intercept": why.intercept,
    }


def asked(opened: Model, sequence: SkeletonSequence) -> dict[str, Any]:
    """What the C library says of a recording, and why."""
    found = opened.predict(sequence.joints, sequence.fps)
    label = opened.labels.index(found["label"])
    joints, intercept = opened.explain(sequence.joints, sequence.fps, label)
    return {**found, "contributions": joints, "intercept": intercept}


def assert_same(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert found["label"] == wanted["label"]
    np.testing.assert_allclose(found["decisions"], wanted["decisions"], atol=CLOSE)
    if wanted["probabilities"] is not None:
        np.testing.assert_allclose(found["probabilities"], wanted["probabilities"], atol=CLOSE)
        assert abs(found["unknown"] - wanted["unknown"]) <= CLOSE
    np.testing.assert_allclose(found["contributions"], wanted["contributions"], atol=CLOSE)
    assert abs(found["intercept"] - wanted["intercept"]) <= CLOSE


@cache
def body() -> tuple[Any, list[SkeletonSequence]]:
    """A calibrated default model of generated actions, and recordings of a person it has not
    seen.
    """
    data = make_actions(ACTIONS, n_subjects=5, n_takes=2)
    train = [s for s in data if s.subject != data[-1].subject]
    model = make_recognizer(calibrate=True).fit(train, [s.label for s in train])
    return model, [s for s in data if s.subject == data[-1].subject]


def varied(sequences: list[SkeletonSequence]) -> list[SkeletonSequence]:
    """The recordings, and some of 1, 2, 7 and 500 frames, with gaps and lost frames."""
    first = sequences[0]
    long = np.concatenate([first.joints] * (500 // first.n_frames + 1))[:500]
    gaps = first.joints.copy()
    gaps[3:9, 5] = np.nan
    gaps[20] = 0
    gaps[:4, 7] = np.nan
    made = [first.replace(joints=x, confidence=None) for x in (first.joints[:1], first.joints[:2])]
    made += [first.replace(joints=x, confidence=None) for x in (first.joints[:7], long, gaps)]
    return [*sequences, *made]
