"""The figures of the SHREC 2022 contest on online gestures: detection rate, false positives,
Jaccard index, delay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kerneton.data.segments import Segment
from kerneton.exceptions import DataError, FormatError
from kerneton.stream.detection import Detection


@dataclass(frozen=True)
class ShrecScores:
    """Means over classes."""

    detection_rate: float
    false_positives: float
    jaccard: float
    # of right detections: last frame used - detected start; NaN if reports do not state it
    delay_frames: float


def shrec_scores(
    truth: Sequence[Sequence[Segment]], found: Sequence[Sequence[Detection]]
) -> ShrecScores:
    """Detection rate, false positives, Jaccard index and delay, each per class, then averaged.

    In order of report, a detection is right if a true gesture of its label is not matched yet, is
    at least half covered by it, and is at least half as long. With n true gestures of a class, c
    right and f other detections: rate = c/n, false positives = f/n, Jaccard = c / (n + f). Every
    detection that is not right counts as false.

    >>> truth = [[Segment("ONE", 10, 30), Segment("WAVE", 50, 80)]]
    >>> shrec_scores(
    ...     truth, [[Detection("ONE", 12, 28, decided=22), Detection("ONE", 52, 70, decided=60)]]
    ... )
    ShrecScores(detection_rate=0.5, false_positives=0.5, jaccard=0.25, delay_frames=10.0)
    """
    if len(truth) != len(found):
        raise DataError(f"truth of {len(truth)} recordings, detections of {len(found)}")
    labels = sorted({s.label for true in truth for s in true})
    if not labels:
        raise DataError("no true gestures: the figures are undefined")
    total, right, false = (dict.fromkeys(labels, 0) for _ in range(3))
    delays: dict[str, list[int]] = {}
    for true, detected in zip(truth, found, strict=True):
        free = list(true)
        for s in true:
            total[s.label] += 1
        for d in detected:
            match = next((s for s in free if _is_right(d, s)), None)
            if match is not None:
                free.remove(match)
                right[d.label] += 1
                if d.decided is not None:
                    delays.setdefault(d.label, []).append(d.decided - d.start)
            elif d.label in false:
                false[d.label] += 1
    return ShrecScores(
        detection_rate=float(np.mean([right[k] / total[k] for k in labels])),
        false_positives=float(np.mean([false[k] / total[k] for k in labels])),
        jaccard=float(np.mean([right[k] / (total[k] + false[k]) for k in labels])),
        delay_frames=float(np.mean([np.mean(v) for v in delays.values()]))
        if delays
        else float("nan"),
    )


def _is_right(d: Detection, s: Segment) -> bool:
    return d.label == s.label and d.n_frames <= 2 * s.n_frames and d.overlap(s) >= 0.5 * s.n_frames


def read_shrec(path: Path) -> dict[int, list[Detection]]:
    """Gestures by sequence number, from lines ``number;LABEL;first;last[;last frame used];...``.

    The contest's truth has two numbers per gesture, submissions have three; this is detected from
    the line.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "truth.txt"
    >>> _ = file.write_text("7;CIRCLE;124;158;ONE;207;232;\\n")
    >>> [(d.label, d.start, d.stop) for d in read_shrec(file)[7]]
    [('CIRCLE', 124, 158), ('ONE', 207, 232)]
    """
    gestures: dict[int, list[Detection]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        words = [word.strip() for word in line.strip().rstrip(";").split(";")]
        if words == [""]:
            continue
        try:
            sequence = int(words[0])
            starts = [i for i, word in enumerate(words) if i and not word.lstrip("-").isdigit()]
            for i, end in zip(starts, [*starts[1:], len(words)], strict=True):
                first, last, *used = (int(word) for word in words[i + 1 : end])
                decided = used[0] if used else None
                gestures.setdefault(sequence, []).append(
                    Detection(words[i], first, last, decided=decided)
                )
            gestures.setdefault(sequence, [])
        except (ValueError, DataError) as error:
            raise FormatError(
                f"{path}, line {number}: expected number;LABEL;first;last;... ({error})"
            ) from error
    return gestures
