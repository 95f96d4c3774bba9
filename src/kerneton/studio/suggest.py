"""Labels that the present model suggests, the most informative recordings first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kerneton.data.sequence import SkeletonSequence

Say = Callable[[list[SkeletonSequence]], list[dict[str, Any]]]  # answers of a model

_LONG = 2.5  # times a typical training recording: longer ones are searched for segments
_OVERLAP = 4  # windows per window length
_BATCH = 16  # windows that are asked about at once: live labels want their turn
_SURE = 0.5  # probability that a segment needs


def is_long(n_frames: int, figures: dict[str, Any]) -> bool:
    """Whether a recording is so long that it probably shows several actions."""
    return n_frames > _LONG * float(figures.get("frames", np.inf))


def segments(say: Say, sequence: SkeletonSequence, figures: dict[str, Any]) -> list[dict[str, Any]]:
    """Segments of a long recording: windows as long as a typical training recording, equal neighbours joined."""
    length = max(4, int(figures["frames"]))
    if sequence.fps and figures.get("fps"):
        length = max(4, round(length * sequence.fps / figures["fps"]))
    hop = max(1, length // _OVERLAP)
    starts = list(range(0, max(1, sequence.n_frames - length + 1), hop))
    windows = [_cut(sequence, start, min(start + length, sequence.n_frames)) for start in starts]
    found = [answer for i in range(0, len(windows), _BATCH) for answer in say(windows[i : i + _BATCH])]
    # Every moment takes the surest window around it.
    best: dict[int, tuple[float, str | None]] = {}
    for start, said in zip(starts, found, strict=True):
        sure = said["probability"] if said["probability"] is not None else 1.0
        label = None if said["unknown"] or sure < _SURE else said["label"]
        for cell in range(start // hop, (start + length) // hop):
            score = sure if label is not None else 0.0
            if cell not in best or score > best[cell][0]:
                best[cell] = (score, label)
    out: list[dict[str, Any]] = []
    for cell in sorted(best):
        score, label = best[cell]
        if label is None:
            continue
        start, stop = cell * hop, min((cell + 1) * hop, sequence.n_frames)
        if out and out[-1]["label"] == label and out[-1]["stop"] >= start:
            out[-1]["stop"], out[-1]["probability"] = stop, max(out[-1]["probability"], score)
        elif start < stop:
            out.append({"start": start, "stop": stop, "label": label, "probability": score})
    return [s for s in out if s["stop"] - s["start"] >= length // 3]


def _cut(sequence: SkeletonSequence, start: int, stop: int) -> SkeletonSequence:
    confidence = sequence.confidence
    return sequence.replace(
        joints=sequence.joints[start:stop], confidence=None if confidence is None else confidence[start:stop]
    )
