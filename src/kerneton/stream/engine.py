"""From the frames of one body to segments, in the same way for recordings and for streams.

A recording and a stream of its frames have the same candidates; only the time at which a segment is
reported differs.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from kerneton.data.arrays import padding
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import ParameterError
from kerneton.machine.solver import per_class
from kerneton.stream.detection import Detection
from kerneton.stream.frames import AHEAD
from kerneton.stream.proposals import CONTEXT
from kerneton.stream.proposer import BLOCK, Proposal, Proposer
from kerneton.stream.selection import Order, Paths
from kerneton.stream.verify import Candidates

SOONEST = AHEAD + BLOCK  # frames from the end of an action to the earliest report
_BATCH = 64  # candidates that are encoded together if no report is due
# share of the margin over the background that a longer window may lose if the action goes on
_GOES_ON = 0.3
# standard deviations above the mean log length up to which the end of an action is waited for
_USUAL = 0.25
_STRICTER = 0.25  # log odds above the threshold that are required if the delay is limited
_START = 0.3  # share of its length by which the start of a segment may move when it is reported
_MOST_OPEN = 200  # open candidates that a stream with a limited delay keeps


def frames_of_delay(delay_s: float | None, fps: float) -> int | None:
    """A delay of some seconds in frames, but at least as many as every report needs; None for no
    limit.

    >>> frames_of_delay(0.5, 30), frames_of_delay(0.0, 30), frames_of_delay(None, 30)
    (15, 7, None)
    """
    if delay_s is None:
        return None
    if not isinstance(delay_s, (int, float, np.floating)) or not 0 <= delay_s < math.inf:
        raise ParameterError(f"delay_s must be a number of seconds, got {delay_s!r}")
    return max(round(delay_s * fps), SOONEST)


class Engine:
    """Segments of one body, found by a recogniser with a spotter; ``delay`` in frames, None for as
    long as it takes.

    With an ``order`` the actions are expected in this order. With a ``delay``, segments are
    reported when they are due, and reported segments do not change, although the best sequence of
    all segments may.
    """

    def __init__(
        self, recognizer: Any, delay: int | None = None, order: Order | None = None
    ) -> None:
        s = self._spotter = recognizer.spotter_
        self._judged_by, self.delay = s.judge(recognizer), delay
        known = [str(c) for c in self._judged_by.classes_]
        self._columns = [known.index(c) for c in s.classes_]
        self._columns += [i for i in range(len(known)) if i not in self._columns]  # the background
        ahead = CONTEXT if delay is None else min(CONTEXT, max(0, delay - SOONEST))
        self._longest = int(s.scorer_.lengths[-1])
        keep = 0 if delay is None else delay + self._longest // 2
        self._windows = Proposer(s.features_, s.scorer_, s.floor_, ahead, keep)
        # all candidates with their log odds, if a list is put here
        self.judged: list[Detection] | None = None
        self._judged = 0  # windows that end here or earlier are verified
        self._waiting: list[Proposal] = []
        self._active: list[Detection] = []
        self._last: Detection | None = None  # the last final segment: none may start before its end
        self._told, self._label = 0, ""  # end and label of the last reported segment
        self._due = -1  # segments that end here or earlier were due
        self._peaks: dict[
            tuple[int, str], float
        ] = {}  # the best margin of each action whose end is waited for
        self._going: tuple[int, Detection | None] = 0, None
        self._order, self._threshold, self._slack = order, s.threshold_, 0.0
        if order is not None:  # which may make up for low odds
            self._threshold, self._slack = order.threshold, max(0.0, float(order.table.max()))
        if delay is not None:
            self._threshold += _STRICTER

    @property
    def n_frames(self) -> int:
        return self._windows.n_frames

    def push(self, joints: np.ndarray) -> list[Detection]:
        """(n, J, 3) the next frames, NaN where a joint is missing; returns the segments that have
        become final.
        """
        found: list[Detection] = []
        if len(joints):
            self._windows.push(joints)
            while (proposed := self._windows.next()) is not None:
                found += self._take(proposed)
        return found

    def close(self) -> list[Detection]:
        """End the stream: all open segments become final."""
        found: list[Detection] = []
        while (proposed := self._windows.next(final=True)) is not None:
            found += self._take(proposed)
        self._judge()
        return found + self._settle(final=True)

    def provisional(self) -> Detection | None:
        """The action that seems to go on: the last segment of the best sequence so far, if it ends
        close to now.
        """
        if self._going[0] != self._windows.done:  # once per block of frames
            last = self._chosen(self._paths())[-1:]
            now = [d for d in last if d.stop >= self._windows.scored - max(BLOCK, d.n_frames // 2)]
            self._going = self._windows.done, now[0] if now else None
        return self._going[1]

    def _take(self, proposed: list[Proposal]) -> list[Detection]:
        self._waiting += proposed
        if self.delay is not None or len(self._waiting) >= _BATCH:
            self._judge()
        return self._settle(final=False)

    def _judge(self) -> None:
        """Verify the waiting candidates, all in one call of the recogniser."""
        waiting, self._waiting = self._waiting, []
        self._judged = self._windows.scored
        if not waiting:
            return
        s = self._spotter
        found = Candidates(
            np.array([(p.start, p.stop) for p in waiting]),
            np.array([p.scores for p in waiting]),
            self._decisions([p.joints for p in waiting]),
        )
        odds, labels = s.verifier_.log_odds(found), found.labels()
        if self.judged is not None:
            self.judged += [
                Detection(s.classes_[labels[i]], p.start, p.stop, score=float(odds[i]))
                for i, p in enumerate(waiting)
            ]
        begin = 0 if self._last is None else self._last.stop
        for i in np.flatnonzero(odds > self._threshold - self._slack):
            if waiting[i].start >= begin:
                label, decision = s.classes_[labels[i]], float(found.deep[i, labels[i]])
                place = waiting[i].start, waiting[i].stop
                self._active.append(
                    Detection(label, *place, score=float(odds[i]), decision=decision)
                )

    def _decisions(self, windows: list[np.ndarray]) -> np.ndarray:
        """(n, n_classes + 1) decision values of the recogniser, the background last."""
        recordings = [
            SkeletonSequence(_held(joints), layout=self._spotter.features_.layout)
            for joints in windows
        ]
        return per_class(self._judged_by.decision_function(recordings)).astype(float)[
            :, self._columns
        ]

    def _paths(self) -> Paths:
        gains = [d.score - self._threshold for d in self._active]
        return Paths(self._active, gains, self._order, self._last)

    def _chosen(self, paths: Paths, way: list[int] | None = None) -> list[Detection]:
        """The segments of a path, by default the best one, with what each gains from the one before
        it.
        """
        chosen = []
        for i in paths.best() if way is None else way:
            d = self._active[paths.at[i]]
            score = d.score + float(paths.extra[i])
            probability = float(1 / (1 + np.exp(-score)))
            chosen.append(replace(d, score=score, probability=probability, decided=self.n_frames))
        return chosen

    def _settle(self, *, final: bool) -> list[Detection]:
        """Return segments that can no longer change, or that have waited for the whole delay."""
        if not self._active:
            return []
        if self.delay is not None:
            return self._report(final)
        paths = self._paths()
        if not final:
            return self._prune(paths, self._judged + 1 - self._longest)
        found, self._active = self._chosen(paths), []
        return found

    def _prune(self, paths: Paths, horizon: int) -> list[Detection]:
        """Make segments final that no window from this frame on can change; forget candidates that
        no longer matter.
        """
        way, matter = paths.sure(horizon)
        found = self._chosen(paths, way)
        self._active = [self._active[paths.at[i]] for i in sorted(matter - set(way))]
        self._last = found[-1] if found else self._last
        return found

    def _report(self, final: bool) -> list[Detection]:
        """Segments of the best sequence that have waited for the whole delay; segments not in it
        when they were due are dropped.
        """
        assert self.delay is not None
        due = self._windows.done + AHEAD - self.delay
        while True:
            paths = self._paths()
            chosen = self._chosen(paths)
            fresh = [d for d in chosen if d.stop > self._due and self._follows(d)]
            found = [d for d in fresh if final or d.stop <= due]
            if final or not any(self._wait(d, due) for d in found):
                break
        for i, d in enumerate(found):
            found[i] = self._with_best_start(replace(d, start=max(d.start, self._told)))
            self._told, self._label = d.stop, d.label
        self._due = due
        if len(paths.at) > _MOST_OPEN:
            self._last = next((d for d in reversed(chosen) if d.stop <= due), self._last)
            begin = due if self._last is None else self._last.stop
            self._active = [d for d in self._active if d.start >= begin]
        else:  # Future windows start at this frame or later, and end after all known ones.
            self._prune(paths, min(self._judged + 1 - self._longest, due))
        self._peaks = {key: peak for key, peak in self._peaks.items() if key[0] >= self._told}
        return found

    def _follows(self, d: Detection) -> bool:
        """Whether a segment comes after the last reported one; another action may begin a little
        before its end.
        """
        early = self._told - d.start
        return early <= 0 or (d.label != self._label and early <= _START * d.n_frames)

    def _wait(self, d: Detection, due: int) -> bool:
        """Whether an action that is due goes on, by the scores of longer windows; a longer window
        then replaces it.
        """
        s, scored = self._spotter, self._windows.scored
        label = s.classes_.index(d.label)
        mean, spread = s.verifier_.durations[label]
        if scored - d.start > min(self._longest, np.exp(mean + _USUAL * spread)):
            return False
        stops = np.arange(d.stop, scored + 1)
        margins = self._windows.margins(d.start, stops, label)
        peak = self._peaks[d.start, d.label] = max(
            self._peaks.get((d.start, d.label), -np.inf), margins[0]
        )
        stop = int(stops[margins >= peak - _GOES_ON][-1:].max(initial=0))
        if stop <= due:
            return False
        at = [(a.label, a.start, a.stop) for a in self._active].index((d.label, d.start, d.stop))
        self._active[at] = replace(self._active[at], stop=stop)
        return True

    def _with_best_start(self, d: Detection) -> Detection:
        """The segment with the best-scoring start near its own, but not before the end of the last
        reported one.
        """
        label, reach = self._spotter.classes_.index(d.label), int(_START * d.n_frames)
        starts = np.arange(max(self._told, d.start - reach), d.start + reach + 1)
        start = int(starts[self._windows.margins(starts, d.stop, label).argmax()])
        decision = float(self._decisions([self._windows.frames(start, d.stop)])[0, label])
        return replace(d, start=start, decision=decision)


def _held(joints: np.ndarray) -> np.ndarray:
    """A window whose ends were not seen, with the nearest frame that was: it keeps its length,
    while padding of recordings is left out.

    >>> _held(np.array([[[np.nan] * 3], [[1.0, 2, 3]], [[np.nan] * 3]]))[:, 0, 0]
    array([1., 1., 1.])
    """
    start, stop = padding(joints)
    if (start, stop) == (0, len(joints)):
        return joints
    return joints[np.clip(np.arange(len(joints)), start, stop - 1)]
