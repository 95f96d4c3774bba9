"""One body's frames in, segments out: the same machine for recordings and for streams.

Frames are worked on in blocks of four, counted from the first frame, however they arrive: a recording and a stream of
its frames give the same candidates. What differs is when a segment is settled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kerneton.data.sequence import SkeletonSequence
from kerneton.machine.classes import per_class
from kerneton.stream.detection import Detection
from kerneton.stream.frames import AHEAD, FrameFeatures
from kerneton.stream.proposals import CONTEXT, WindowScorer, overlaps
from kerneton.stream.selection import Order, Paths
from kerneton.stream.verify import Candidates

BLOCK = 4
SOONEST = AHEAD + BLOCK  # frames from the end of an action to the earliest report
_BATCH = 64  # candidates that are encoded together where nobody waits for them
_SAME = 0.5  # overlap at which the better of two candidates stands for both


@dataclass(frozen=True)
class Proposal:
    """A window that may be an action, the scores of the window scorer, and its frames."""

    start: int
    stop: int
    scores: np.ndarray  # (n_classes + 1,)
    joints: np.ndarray  # (stop - start, J, 3)


class Proposer:
    """Frames of one body in, windows that may be actions out; keeps as many frames as the longest window needs.

    ``floor`` is the margin over the background below which a window is not proposed, ``ahead`` the frames after a window
    that are waited for, at most `CONTEXT`.
    """

    def __init__(
        self, features: FrameFeatures, scorer: WindowScorer, floor: float, ahead: int = CONTEXT
    ) -> None:
        self._features, self._scorer, self._floor, self._ahead = features, scorer, floor, ahead
        self._longest = int(scorer.lengths[-1])
        self._band = np.arange(len(scorer.lengths)) // 2
        self._cleaner = features.cleaner()
        self._joints = np.zeros((0, features.n_joints, 3))
        self._sizes = np.zeros(0)
        self._base = 0  # frame number of the first frame that is kept
        self._sums = np.zeros(
            (1, scorer.coef.shape[0] * scorer.coef.shape[1])
        )  # of projections, from there on
        self._recent: list[tuple[int, int, float]] = []
        self.n_frames = 0
        self.done = 0  # frames whose features are known
        self.scored = 0  # windows that stop here or earlier have been looked at

    def push(self, joints: np.ndarray) -> None:
        """(n, J, 3) the next frames, NaN where a joint is missing."""
        cleaned, sizes = self._cleaner.clean(joints)
        self._joints = np.concatenate([self._joints, cleaned])
        self._sizes = np.concatenate([self._sizes, sizes])
        self.n_frames += len(joints)

    def next(self, *, final: bool = False) -> list[Proposal] | None:
        """Windows that stop in the next block; None until enough frames are there, or when the end is reached."""
        if self.done == self.n_frames or (not final and self.done + BLOCK + AHEAD > self.n_frames):
            return None
        stop = min(self.done + BLOCK, self.n_frames)
        encoded = self._features.encode(self._joints, self._sizes, self.done - self._base, stop - self._base)
        sums = self._sums[-1] + np.cumsum(self._scorer.project(encoded), axis=0)
        self._sums = np.concatenate([self._sums, sums])
        self.done = stop
        reach = stop if final and stop == self.n_frames else stop - self._ahead
        found = self._look(reach) if reach > self.scored else []
        self._forget()
        return found

    def _look(self, reach: int) -> list[Proposal]:
        """Score the windows that stop in (scored, reach] and propose the best of them."""
        lengths = self._scorer.lengths
        stops = np.arange(self.scored + 1, reach + 1)
        self.scored = reach
        grid = np.stack(np.broadcast_arrays(stops[:, None] - lengths, stops[:, None]), axis=-1).reshape(-1, 2)
        inside = grid[:, 0] >= 0
        grid, band = grid[inside], np.tile(self._band, len(stops))[inside]
        if not len(grid):
            return []
        scores = self._scorer.score(self._sums, grid - self._base)
        margin = scores[:, :-1].max(axis=1) - scores[:, -1]
        order = np.lexsort((-margin, band))
        best = order[np.concatenate([[True], np.diff(band[order]) != 0])]
        best = best[margin[best] > self._floor]
        found = []
        for i in best[np.argsort(-margin[best], kind="stable")]:
            if self._recent:
                old = np.array([(a, b) for a, b, _ in self._recent])
                values = np.array([m for *_, m in self._recent])
                same = overlaps(grid[i : i + 1], old)[0] > _SAME
                if (same & (values >= margin[i])).any():
                    continue
            start, stop = int(grid[i, 0]), int(grid[i, 1])
            self._recent.append((start, stop, float(margin[i])))
            frames = self._joints[start - self._base : stop - self._base]
            found.append(Proposal(start, stop, scores[i], frames))
        self._recent = [r for r in self._recent if r[1] > reach - self._longest]
        return found

    def _forget(self) -> None:
        """Drop frames that no window to come can hold."""
        keep = max(0, self.scored - self._longest - CONTEXT - 2 * AHEAD - BLOCK)
        cut = keep - self._base
        if cut >= 256:  # seldom, so that little is copied
            self._joints, self._sizes = self._joints[cut:].copy(), self._sizes[cut:].copy()
            self._sums = self._sums[cut:] - self._sums[cut]
            self._base = keep


class Engine:
    """Segments of one body, found by a recogniser with a spotter; ``delay`` in frames, None for as long as it takes.

    With an ``order`` the actions are expected in it.
    """

    def __init__(self, recognizer: Any, delay: int | None = None, order: Order | None = None) -> None:
        self._recognizer, self._spotter, self.delay = recognizer, recognizer.spotter_, delay
        s = self._spotter
        known = [str(c) for c in recognizer.classes_]
        self._columns = [known.index(c) for c in s.classes_]
        self._columns += [i for i in range(len(known)) if i not in self._columns]  # the background
        ahead = CONTEXT if delay is None else min(CONTEXT, max(0, delay - SOONEST))
        self._windows = Proposer(s.features_, s.scorer_, s.floor_, ahead)
        self._longest = int(s.scorer_.lengths[-1])
        self._judged = 0  # windows that stop here or earlier are verified
        self._waiting: list[Proposal] = []
        self._active: list[Detection] = []
        self._last: Detection | None = None  # the last that was reported: none may start before it ends
        self._order, self._threshold, self._slack = order, s.threshold_, 0.0
        if order is not None and delay is None:  # the order may make up for low odds
            self._threshold, self._slack = order.threshold, max(0.0, float(order.table.max()))
        elif order is not None:  # who cannot wait for the best of what is expected takes none on trust
            self._order = replace(order, table=np.minimum(order.table, 0.0))

    @property
    def n_frames(self) -> int:
        return self._windows.n_frames

    def push(self, joints: np.ndarray) -> list[Detection]:
        """(n, J, 3) the next frames, NaN where a joint is missing; what is settled by now."""
        found: list[Detection] = []
        if len(joints):
            self._windows.push(joints)
            while (proposed := self._windows.next()) is not None:
                found += self._take(proposed)
        return found

    def close(self) -> list[Detection]:
        """The end of the stream: everything that is still open is settled."""
        found: list[Detection] = []
        while (proposed := self._windows.next(final=True)) is not None:
            found += self._take(proposed)
        self._judge()
        return found + self._settle(final=True)

    def provisional(self) -> Detection | None:
        """What seems to go on now: the last segment of the best reading so far, if it reaches close to now."""
        chosen = self._chosen(self._paths())
        if not chosen or chosen[-1].stop < self._windows.scored - max(BLOCK, chosen[-1].n_frames // 2):
            return None
        return chosen[-1]

    def _take(self, proposed: list[Proposal]) -> list[Detection]:
        self._waiting += proposed
        if self.delay is not None or len(self._waiting) >= _BATCH:
            self._judge()
        return self._settle(final=False)

    def _judge(self) -> None:
        """Verify the candidates that wait, all in one call of the recogniser."""
        waiting, self._waiting = self._waiting, []
        self._judged = self._windows.scored
        if not waiting:
            return
        s = self._spotter
        recordings = [SkeletonSequence(p.joints, layout=s.features_.layout) for p in waiting]
        found = Candidates(
            np.array([(p.start, p.stop) for p in waiting]),
            np.array([p.scores for p in waiting]),
            per_class(self._recognizer.decision_function(recordings)).astype(float)[:, self._columns],
        )
        odds, labels = s.verifier_.log_odds(found), found.labels()
        begin = 0 if self._last is None else self._last.stop
        for i in np.flatnonzero(odds > self._threshold - self._slack):
            if waiting[i].start >= begin:
                label, decision = s.classes_[labels[i]], float(found.deep[i, labels[i]])
                place = waiting[i].start, waiting[i].stop
                self._active.append(Detection(label, *place, score=float(odds[i]), decision=decision))

    def _paths(self) -> Paths:
        gains = [d.score - self._threshold for d in self._active]
        return Paths(self._active, gains, self._order, self._last)

    def _chosen(self, paths: Paths, way: list[int] | None = None) -> list[Detection]:
        """A way, by default the best, as it is reported: with what each segment gains from the one before it."""
        chosen = []
        for i in paths.best() if way is None else way:
            d = self._active[paths.at[i]]
            score = d.score + float(paths.extra[i])
            probability = float(1 / (1 + np.exp(-score)))
            chosen.append(replace(d, score=score, probability=probability, decided=self.n_frames))
        return chosen

    def _settle(self, *, final: bool) -> list[Detection]:
        """Take what can no longer change, or has waited for as long as it may."""
        if not self._active:
            return []
        paths = self._paths()
        if final:
            found, self._active = self._chosen(paths), []
        elif self.delay is None:
            # Windows to come start at this frame or later, and stop after all that are known.
            way, matter = paths.sure(self._judged + 1 - self._longest)
            found = self._chosen(paths, way)
            self._active = [self._active[paths.at[i]] for i in sorted(matter - set(way))]
        else:
            due = self._windows.done + AHEAD - self.delay
            found = [d for d in self._chosen(paths) if d.stop <= due]
            # What the best reading left out when it was due does not come back: the delay is a promise.
            begin = found[-1].stop if found else 0
            self._active = [d for d in self._active if d.start >= begin and d.stop > due]
        self._last = found[-1] if found else self._last
        return found
