"""What a spotter reports: a segment with its score, its probability and when it was known."""

from __future__ import annotations

from dataclasses import dataclass

from kerneton.data.segments import Segment


@dataclass(frozen=True)
class Detection(Segment):
    """An action found in a long recording.

    >>> found = Detection("wave", 30, 90, score=1.5, probability=0.9, decided=102)
    >>> found.iou(Segment("wave", 30, 60)), found.delay
    (0.5, 12)
    """

    score: float = 0.0  # log odds that an action with this label is here
    probability: float | None = None  # that an action with this label is here
    decided: int | None = None  # frames that had been seen when it was reported
    decision: float | None = None  # the recogniser's decision value, which its explanation sums to

    @property
    def delay(self) -> int | None:
        """Frames from the end of the segment to its report."""
        return None if self.decided is None else self.decided - self.stop
