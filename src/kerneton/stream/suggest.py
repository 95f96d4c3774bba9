"""Which stretches of unlabelled recordings should be labelled next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kerneton.data.progress import Progress, silent
from kerneton.data.sequence import SkeletonSequence
from kerneton.stream.detection import Detection
from kerneton.stream.engine import Engine
from kerneton.stream.frames import raw_joints
from kerneton.stream.spotter import adapted, spotter_of

_CHUNK = 1024
_ROUND = 0.5  # log odds that count as equally unsure, among which labels take turns


@dataclass(frozen=True)
class Suggestion:
    """A stretch that the model is unsure about, with the label that it thinks of."""

    recording: int
    label: str
    start: int
    stop: int
    probability: float


def suggest(
    recognizer: Any,
    recordings: Sequence[SkeletonSequence],
    n: int,
    progress: Progress | None = None,
) -> list[Suggestion]:
    """The ``n`` stretches whose labels would teach most: those whose log odds are nearest to the
    threshold of a report, so that the model can hardly say whether the action is there; of
    overlapping ones the most unsure, and labels in turn.

    >>> from kerneton import make_actions, make_recognizer
    >>> takes = make_actions(["wave", "clap"], n_subjects=3, n_takes=1, uncut=True)
    >>> model = make_recognizer().fit_spotting(takes[:2])
    >>> len(suggest(model, [takes[2]], 3)) <= 3
    True
    """
    threshold = spotter_of(recognizer).threshold_
    unsure: list[tuple[float, int, Detection]] = []
    for i, recording in enumerate(
        (progress or silent)(recordings, total=len(recordings), desc="looking")
    ):
        engine = Engine(recognizer)
        engine.judged = []
        joints = raw_joints(adapted(recognizer, recording))
        for start in range(0, len(joints), _CHUNK):
            engine.push(joints[start : start + _CHUNK])
        engine.close()
        unsure += [
            (abs(d.score - threshold), i, d) for d in _best_of_each(engine.judged, threshold)
        ]
    seen: dict[str, int] = {}
    ranked = []
    for away, i, d in sorted(unsure, key=lambda item: (item[0], item[1], item[2].start)):
        turn = seen[d.label] = seen.get(d.label, 0) + 1
        ranked.append((int(away / _ROUND), turn, away, i, d))
    ranked.sort(key=lambda item: item[:4])
    return [
        Suggestion(i, d.label, d.start, d.stop, float(1 / (1 + np.exp(-d.score))))
        for *_, i, d in ranked[:n]
    ]


def _best_of_each(found: Sequence[Detection], threshold: float) -> list[Detection]:
    """Of overlapping candidates that with the largest odds; what is unsure beside a sure one is
    only its shifted copy.
    """
    kept: list[Detection] = []
    for d in sorted(found, key=lambda d: (-d.score, d.start)):
        if all(d.overlap(other) == 0 for other in kept):
            kept.append(d)
        if d.score < threshold - 10:
            break
    return kept
