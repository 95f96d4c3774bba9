"""One body's frames in, segments out: the same machine for recordings and for streams.

Frames are worked on in blocks of four, counted from the first frame, however they arrive: a recording and a stream of
its frames give the same candidates. What differs is when a segment is settled.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from kerneton.data.sequence import SkeletonSequence
from kerneton.stream.detection import Detection
from kerneton.stream.frames import AHEAD
from kerneton.stream.proposals import CONTEXT, overlaps, running_sums
from kerneton.stream.selection import best_segments, components
from kerneton.stream.verify import Candidates

if TYPE_CHECKING:
    from kerneton.stream.spotter import Parts

BLOCK = 4
SOONEST = AHEAD + BLOCK  # frames from the end of an action to the earliest report
_BATCH = 64  # candidates that are encoded together where nobody waits for them
_SAME = 0.5  # overlap at which the better of two candidates stands for both


class Engine:
    """Candidates of one body; ``delay`` in frames, None for as long as it takes to be sure."""

    def __init__(self, parts: Parts, delay: int | None = None) -> None:
        self.parts, self.delay = parts, delay
        self._ahead = CONTEXT if delay is None else min(CONTEXT, max(0, delay - SOONEST))
        self._longest = int(parts.scorer.lengths[-1])
        self._cleaner = parts.features.cleaner()
        self._joints = np.zeros((0, parts.features.n_joints, 3))
        self._sizes = np.zeros(0)
        self._base = 0  # frame number of the first frame that is kept
        self._projected = np.zeros((0, parts.scorer.coef.shape[0] * parts.scorer.coef.shape[1]))
        self._done = 0  # frames whose features are known
        self._scored = 0  # windows that stop here or earlier have been looked at
        self._judged = 0  # and verified
        self._recent: list[tuple[int, int, float]] = []
        self._waiting: list[tuple[int, int, np.ndarray, np.ndarray]] = []
        self._active: list[Detection] = []
        self._settled = 0  # no segment that is reported may start before this frame
        self.n_frames = 0
        self.n_candidates = 0

    def push(self, joints: np.ndarray) -> list[Detection]:
        """(n, J, 3) the next frames, NaN where a joint is missing; what is settled by now."""
        if not len(joints):
            return []
        cleaned, sizes = self._cleaner.clean(joints)
        self._joints = np.concatenate([self._joints, cleaned])
        self._sizes = np.concatenate([self._sizes, sizes])
        self.n_frames += len(joints)
        found = []
        while self._done + BLOCK + AHEAD <= self.n_frames:
            found += self._block(self._done + BLOCK, final=False)
        return found

    def close(self) -> list[Detection]:
        """The end of the stream: everything that is still open is settled."""
        found: list[Detection] = []
        while self._done < self.n_frames:
            stop = min(self._done + BLOCK, self.n_frames)
            found += self._block(stop, final=stop == self.n_frames)
        if self._done and self._scored < self.n_frames:
            self._look(self.n_frames)
        self._judge()
        return found + self._settle(final=True)

    def provisional(self) -> Detection | None:
        """What seems to go on now: the last segment of the best reading so far, if it reaches close to now."""
        chosen = self._best()
        if not chosen or chosen[-1].stop < self._scored - max(BLOCK, chosen[-1].n_frames // 2):
            return None
        return replace(chosen[-1], decided=self.n_frames)

    def _block(self, stop: int, *, final: bool) -> list[Detection]:
        p = self.parts
        features = p.features.encode(self._joints, self._sizes, self._done - self._base, stop - self._base)
        self._projected = np.concatenate([self._projected, p.scorer.project(features)])
        self._done = stop
        reach = stop if final else stop - self._ahead
        if reach > self._scored:
            self._look(reach)
        if final or self.delay is not None or len(self._waiting) >= _BATCH:
            self._judge()
        found = self._settle(final=False)
        self._forget()
        return found

    def _look(self, reach: int) -> None:
        """Score the windows that stop in (scored, reach] and keep the best of them as candidates."""
        lengths = self.parts.scorer.lengths
        stops = np.arange(self._scored + 1, reach + 1)
        self._scored = reach
        grid = np.stack(np.broadcast_arrays(stops[:, None] - lengths, stops[:, None]), axis=-1).reshape(-1, 2)
        band = np.tile(np.arange(len(lengths)) // 2, len(stops))
        first = self._done - len(self._projected)
        inside = grid[:, 0] >= 0
        grid, band = grid[inside], band[inside]
        if not len(grid):
            return
        scores = self.parts.scorer.score(running_sums(self._projected), grid - first)
        margin = scores[:, :-1].max(axis=1) - scores[:, -1]
        order = np.lexsort((-margin, band))
        best = order[np.concatenate([[True], np.diff(band[order]) != 0])]
        best = best[margin[best] > self.parts.floor]
        for i in best[np.argsort(-margin[best], kind="stable")]:
            start, stop = int(grid[i, 0]), int(grid[i, 1])
            if self._recent:
                old = np.array([(a, b) for a, b, _ in self._recent])
                values = np.array([m for *_, m in self._recent])
                same = overlaps(grid[i : i + 1], old)[0] > _SAME
                if (same & (values >= margin[i])).any():
                    continue
            self._recent.append((start, stop, float(margin[i])))
            self._waiting.append(
                (start, stop, scores[i], self._joints[start - self._base : stop - self._base])
            )
        self._recent = [r for r in self._recent if r[1] > reach - self._longest]

    def _judge(self) -> None:
        """Verify the candidates that wait, all in one call of the recogniser."""
        waiting, self._waiting = self._waiting, []
        self._judged = self._scored
        if not waiting:
            return
        p = self.parts
        self.n_candidates += len(waiting)
        recordings = [SkeletonSequence(joints, layout=p.features.layout) for *_, joints in waiting]
        windows = np.array([(start, stop) for start, stop, *_ in waiting])
        light = np.array([scores for _, _, scores, _ in waiting])
        found = Candidates(windows, light, p.decisions(recordings))
        odds, labels = p.verifier.log_odds(found), found.labels()
        for i in np.flatnonzero(odds > p.threshold):
            start, stop = windows[i]
            if start >= self._settled:
                self._active.append(
                    Detection(
                        p.classes[labels[i]],
                        int(start),
                        int(stop),
                        score=float(odds[i]),
                        probability=float(1 / (1 + np.exp(-odds[i]))),
                        decision=float(found.deep[i, labels[i]]),
                    )
                )

    def _best(self, among: list[Detection] | None = None) -> list[Detection]:
        among = self._active if among is None else among
        return [among[i] for i in best_segments(among, [d.score - self.parts.threshold for d in among])]

    def _settle(self, *, final: bool) -> list[Detection]:
        """Take what can no longer change, or has waited for as long as it may."""
        if not self._active:
            return []
        if self.delay is None or final:
            horizon = self._judged + 1 - self._longest  # windows to come start here or later
            found, keep = [], []
            for group in components(self._active):
                members = [self._active[i] for i in group]
                if final or max(d.stop for d in members) <= horizon:
                    found += self._best(members)
                else:
                    keep += members
            self._active = keep
        else:
            due = self._done + AHEAD - self.delay
            found = [d for d in self._best() if d.stop <= due]
            self._settled = found[-1].stop if found else self._settled
            # What the best reading left out when it was due does not come back: the delay is a promise.
            self._active = [d for d in self._active if d.start >= self._settled and d.stop > due]
        return [replace(d, decided=self.n_frames) for d in found]

    def _forget(self) -> None:
        """Drop frames that no window to come can hold."""
        keep = max(0, self._scored - self._longest - CONTEXT - 2 * AHEAD - BLOCK)
        if keep - self._base >= 256:  # seldom, so that little is copied
            cut = keep - self._base
            self._joints, self._sizes = self._joints[cut:].copy(), self._sizes[cut:].copy()
            self._base = keep
            first = self._done - len(self._projected)
            self._projected = self._projected[keep - first :].copy()
