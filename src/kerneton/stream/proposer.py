"""Candidate windows from the incoming frames of one body.

Frames are processed in blocks of four, counted from the first frame, however they arrive, so a
recording and a stream of its frames give the same candidates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kerneton.stream.frames import AHEAD, FrameFeatures
from kerneton.stream.proposals import CONTEXT, WindowScorer, overlaps

BLOCK = 4
_AT_ONCE = 64 * BLOCK  # frames whose features are computed together if so many have arrived
_SAME = 0.5  # overlap from which only the better of two candidates is kept


@dataclass(frozen=True)
class Proposal:
    """A candidate window, its scores by the window scorer, and its frames."""

    start: int
    stop: int
    scores: np.ndarray  # (n_classes + 1,)
    joints: np.ndarray  # (stop - start, J, 3)


class Proposer:
    """Turns frames of one body into candidate windows; keeps as many frames as the longest window
    needs.

    ``floor`` is the margin over the background below which a window is not proposed, ``ahead`` the
    frames after a window that are waited for, at most `CONTEXT`, ``keep`` the frames that are kept
    beyond those of the longest window.
    """

    def __init__(
        self,
        features: FrameFeatures,
        scorer: WindowScorer,
        floor: float,
        ahead: int = CONTEXT,
        keep: int = 0,
    ) -> None:
        self._features, self._scorer, self._floor, self._ahead = features, scorer, floor, ahead
        self._longest, self._keep = int(scorer.lengths[-1]), keep
        self._band = np.arange(len(scorer.lengths)) // 2
        self._cleaner = features.cleaner()
        self._joints = np.zeros((0, features.n_joints, 3))
        self._sizes = np.zeros(0)
        self._base = 0  # number of the first frame that is kept
        self._sums = np.zeros(
            (1, scorer.coef.shape[0] * scorer.coef.shape[1])
        )  # of projections, from there on
        self._recent: list[tuple[int, int, float]] = []
        self._encoded = 0  # frames whose projections are in the sums
        self.n_frames = 0
        self.done = 0  # frames whose features are known
        self.scored = 0  # windows that end here or earlier have been scored

    def push(self, joints: np.ndarray) -> None:
        """(n, J, 3) the next frames, NaN where a joint is missing."""
        cleaned, sizes = self._cleaner.clean(joints)
        self._joints = np.concatenate([self._joints, cleaned])
        self._sizes = np.concatenate([self._sizes, sizes])
        self.n_frames += len(joints)

    def next(self, *, final: bool = False) -> list[Proposal] | None:
        """Candidates that end in the next block; None until enough frames have arrived, and after
        the end.
        """
        if self.done == self.n_frames or (not final and self.done + BLOCK + AHEAD > self.n_frames):
            return None
        stop = min(self.done + BLOCK, self.n_frames)
        if stop > self._encoded:
            self._encode(stop, final)
        self.done = stop
        reach = stop if final and stop == self.n_frames else stop - self._ahead
        found = self._look(reach) if reach > self.scored else []
        self._forget()
        return found

    def _encode(self, stop: int, final: bool) -> None:
        """Add projections up to a frame at least, and of all whole blocks that have arrived."""
        known = self.n_frames if final else self.n_frames - AHEAD
        last = max(stop, min(known // BLOCK * BLOCK, self._encoded + _AT_ONCE))
        encoded = self._features.encode(
            self._joints, self._sizes, self._encoded - self._base, last - self._base
        )
        sums = self._sums[-1] + np.cumsum(self._scorer.project(encoded), axis=0, dtype=float)
        self._sums = np.concatenate([self._sums, sums])
        self._encoded = last

    def _known_sums(self) -> np.ndarray:
        """The sums up to the frames that are done; later ones must not matter yet."""
        return self._sums[: self.done - self._base + 1]

    def _look(self, reach: int) -> list[Proposal]:
        """Score the windows that end in (scored, reach] and propose the best of them."""
        lengths = self._scorer.lengths
        stops = np.arange(self.scored + 1, reach + 1)
        self.scored = reach
        grid = np.stack(
            np.broadcast_arrays(stops[:, None] - lengths, stops[:, None]), axis=-1
        ).reshape(-1, 2)
        inside = grid[:, 0] >= 0
        grid, band = grid[inside], np.tile(self._band, len(stops))[inside]
        if not len(grid):
            return []
        scores = self._scorer.score(self._known_sums(), grid - self._base)
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
            found.append(Proposal(start, stop, scores[i], self.frames(start, stop)))
        self._recent = [r for r in self._recent if r[1] > reach - self._longest]
        return found

    def margins(self, starts: Any, stops: Any, label: int) -> np.ndarray:
        """(n,) scores of a label minus those of the background, of windows from starts to stops,
        with the frames received so far.
        """
        windows = np.stack(np.broadcast_arrays(starts, stops), axis=-1) - self._base
        scores = self._scorer.score(self._known_sums(), windows)
        return scores[:, label] - scores[:, -1]

    def frames(self, start: int, stop: int) -> np.ndarray:
        """(stop - start, J, 3) of a window."""
        return self._joints[start - self._base : stop - self._base]

    def _forget(self) -> None:
        """Drop frames that no future window can contain."""
        keep = max(0, self.scored - self._longest - CONTEXT - 2 * AHEAD - BLOCK - self._keep)
        cut = keep - self._base
        if cut >= 256:  # seldom, so that little is copied
            self._joints, self._sizes = self._joints[cut:].copy(), self._sizes[cut:].copy()
            self._sums = self._sums[cut:] - self._sums[cut]
            self._base = keep
