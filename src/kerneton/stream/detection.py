"""A detection of a spotter: a segment with its score, its probability and the time of its
report.
"""

from __future__ import annotations

from dataclasses import dataclass

from kerneton.data.segments import Segment


@dataclass(frozen=True)
class Detection(Segment):
    """An action found in a long recording.

    >>> found = Detection("wave", 30, 90, score=1.5, probability=0.9, decided=102)
    >>> found.iou(Segment("wave", 30, 60)), found.delay_frames
    (0.5, 12)
    """

    score: float = 0.0  # log odds that an action with this label is here
    probability: float | None = None  # probability of the same
    decided: int | None = None  # frames that had been received when it was reported
    decision: float | None = None  # the recogniser's decision value, the sum in its explanation

    @property
    def delay_frames(self) -> int | None:
        """Frames from the end of the segment to its report."""
        return None if self.decided is None else self.decided - self.stop
