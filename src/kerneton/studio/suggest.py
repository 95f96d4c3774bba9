"""Labels that the present model suggests, the most informative recordings first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kerneton.data.sequence import SkeletonSequence
from kerneton.studio.live import DOUBT, LENGTHS

Say = Callable[[list[SkeletonSequence]], list[dict[str, Any]]]  # answers of a model

_LONG = 2.5  # times a typical training recording: longer ones are searched for segments
_OVERLAP = 6  # windows that begin within a typical training recording
_BATCH = 16  # windows that are asked about at once: live labels want their turn


def is_long(n_frames: int, figures: dict[str, Any]) -> bool:
    """Whether a recording is so long that it probably shows several actions."""
    return n_frames > _LONG * float(figures.get("frames", np.inf))


def segments(say: Say, sequence: SkeletonSequence, figures: dict[str, Any]) -> list[dict[str, Any]]:
    """Segments of a long recording: every moment takes the window around it that is most like something seen.

    Windows have the lengths of the live labels; neighbours with one label are joined.
    """
    typical = max(4, int(figures["frames"]))
    if sequence.fps and figures.get("fps"):
        typical = max(4, round(typical * sequence.fps / figures["fps"]))
    hop = max(1, typical // _OVERLAP)
    spans = [
        (start, start + length)
        for length in sorted({min(round(share * typical), sequence.n_frames) for share in LENGTHS})
        for start in range(0, sequence.n_frames - length + 1, hop)
    ]
    windows = [_cut(sequence, *span) for span in spans]
    found = [answer for i in range(0, len(windows), _BATCH) for answer in say(windows[i : i + _BATCH])]
    doubt = np.full(sequence.n_frames, np.inf)
    label = np.full(sequence.n_frames, -1)
    names = sorted({answer["label"] for answer in found})
    for (start, stop), answer in zip(spans, found, strict=True):
        better = doubt[start:stop] > answer["doubt"]
        doubt[start:stop][better] = answer["doubt"]
        label[start:stop][better] = names.index(answer["label"])
    label[doubt > DOUBT] = -1
    edges = np.flatnonzero(np.diff(label)) + 1
    out = []
    for start, stop in zip([0, *edges], [*edges, sequence.n_frames], strict=True):
        if label[start] >= 0 and stop - start >= typical // 3:
            sure = float(1 - doubt[start:stop].min())
            segment = {
                "start": int(start),
                "stop": int(stop),
                "label": names[label[start]],
                "probability": sure,
            }
            out.append(segment)
    return out


def _cut(sequence: SkeletonSequence, start: int, stop: int) -> SkeletonSequence:
    confidence = sequence.confidence
    return sequence.replace(
        joints=sequence.joints[start:stop], confidence=None if confidence is None else confidence[start:stop]
    )
