"""Learning the scorer of windows from recordings of any length.

The scorer is a ridge regression, so examples enter only by sums of products (`Equations`): memory
does not grow with the recordings, and a scorer without some people is the difference of two sums.
Features per frame are reduced to their main directions, and kept in single precision.

Near misses are mined over rounds. In each round every recording is searched by the scorer learnt
without its own people, and what is most like an action there is added as background. So examples
are mistakes that new people would cause, and one pass serves the scorers of all folds at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from kerneton.data.progress import Progress
from kerneton.parallel.threads import in_threads
from kerneton.stream.examples import Take
from kerneton.stream.frames import FrameFeatures
from kerneton.stream.proposals import (
    CELLS,
    CONTEXT,
    WindowScorer,
    cell_means,
    overlaps,
    running_sums,
)

DIRECTIONS = 320  # main directions of the features per frame that are used
_SAMPLED = 8192  # frames from which these are found
_LAMBDA = 3e-3
_NEAR, _FAR = 0.75, 0.4  # overlap of examples of an action (at least) and of background (at most)
_ACTION_WEIGHT = 3.0
_CHUNK = 2048  # starts of windows that are scored together; a multiple of _CELL
_CELL, _SIZES = 4, 3  # starts and lengths of which the best near miss is taken
_AT_ONCE = 1024  # windows whose features are in memory

Folds = list[tuple[list[int], list[int]]]


class Equations:
    """Sums over examples from which a ridge regression follows, for features (n, d) and targets
    (n, k).

    >>> a, b = Equations(1, 1), Equations(1, 1)
    >>> a.add(np.array([[0.0], [1.0]]), np.array([[1.0], [3.0]]), np.ones(2))
    >>> b.add(np.array([[2.0]]), np.array([[9.0]]), np.ones(1))
    >>> [part.round(2).tolist() for part in a.solve(1e-9)]
    [[[2.0]], [1.0]]
    >>> (a + b - b).solve(1e-9)[0].round(2).tolist()
    [[2.0]]
    """

    def __init__(self, d: int, k: int) -> None:
        self.n = 0
        self.products = np.zeros((d + 1, d + 1 + k))  # of features and 1 with features, 1, targets

    def add(self, X: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> None:
        """Add examples."""
        left = np.concatenate([X, np.ones((len(X), 1), X.dtype)], axis=1)
        right = np.concatenate([left, targets.astype(X.dtype)], axis=1)
        self.products += (left * weights[:, None].astype(X.dtype)).T @ right
        self.n += len(X)

    def __add__(self, other: Equations) -> Equations:
        return self._with(self.products + other.products, self.n + other.n)

    def __sub__(self, other: Equations) -> Equations:
        return self._with(self.products - other.products, self.n - other.n)

    def _with(self, products: np.ndarray, n: int) -> Equations:
        out = Equations.__new__(Equations)
        out.products, out.n = products, n
        return out

    def solve(self, strength: float) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients (d, k) and intercepts (k,), which are not penalised."""
        d = len(self.products) - 1
        total = self.products[d, d]
        mean, level = self.products[d, :d] / total, self.products[d, d + 1 :] / total
        A = self.products[:d, :d] - total * np.outer(mean, mean)
        A[np.diag_indices(d)] += strength * self.n
        coef = np.linalg.solve(A, self.products[:d, d + 1 :] - total * np.outer(mean, level))
        return coef, level - mean @ coef


def main_directions(features: FrameFeatures, takes: Sequence[Take]) -> np.ndarray:
    """(D, d) the directions in which features of frames are largest, from a sample of frames."""
    step = max(1, sum(len(t.joints) for t in takes) // _SAMPLED)
    total = np.zeros((features.n_features, features.n_features))
    first = 0
    for take in takes:
        for low, some in encoded(features, take):
            at = np.arange(-(low + first) % step, len(some), step)
            total += some[at].T @ some[at]
        first += len(take.joints)
    return np.linalg.eigh(total)[1][:, ::-1][:, :DIRECTIONS].astype(np.float32)


def encoded(features: FrameFeatures, take: Take) -> Iterator[tuple[int, np.ndarray]]:
    """Features of a recording in blocks, with the number of each block's first frame."""
    n = len(take.joints)
    for low in range(0, n, _CHUNK):
        high = min(low + _CHUNK, n)
        yield low, features.encode(take.joints, take.sizes, low, high)


class Miner:
    """Examples of windows in training recordings, summed by fold, and the scorers learnt from them.

    ``groups`` are the folds in which recordings are held out.
    """

    def __init__(
        self,
        takes: Sequence[Take],
        groups: Sequence[int] | np.ndarray,
        basis: np.ndarray,
        n_classes: int,
        lengths: np.ndarray,
        n_threads: int = 1,
    ) -> None:
        self._takes, self._groups, self._basis = takes, np.asarray(groups), basis
        self._k, self._lengths, self._n_threads = n_classes, lengths, n_threads
        d = (CELLS + 2) * basis.shape[1]
        self._sums = [Equations(d, n_classes + 1) for _ in range(max(groups) + 1)]

    def start(self, seed: int = 0) -> list[np.ndarray]:
        """Add the actions, windows near them, and background at random places; returns the
        background.
        """
        chance = np.random.default_rng(seed)
        quiet = []
        for i, take in enumerate(self._takes):
            n_frames = len(take.joints)
            windows, codes = [take.windows], [take.codes]
            for (a, b), code in zip(take.windows, take.codes, strict=True):
                near = _nearby(int(a), int(b), self._lengths, n_frames)
                good = near[overlaps(near, np.array([[a, b]]), take.certainty.edge)[:, 0] > _NEAR]
                chosen = good[chance.permutation(len(good))[:3]]
                windows.append(chosen)
                codes.append(np.full(len(chosen), code))
            self._add(i, np.concatenate(windows), np.concatenate(codes))
            wanted = max(80, n_frames // 8)
            starts = chance.integers(0, max(1, n_frames - self._lengths[0] + 1), 2 * wanted)
            n = self._lengths[chance.integers(0, len(self._lengths), 2 * wanted)]
            some = np.stack([starts, starts + n], axis=1)[starts + n <= n_frames]
            # most of what is unknown is background, but near misses are not looked for there
            quiet.append(some[take.is_background(some, _FAR, perhaps=True)][:wanted])
        self.add_background(quiet)
        return quiet

    def add_background(self, windows: Sequence[np.ndarray]) -> None:
        """Add windows of each recording as background."""
        for i, some in enumerate(windows):
            self._add(i, some, np.full(len(some), self._k))

    def mine(self, progress: Progress | None = None, desc: str = "") -> list[np.ndarray]:
        """Background windows of each recording that the scorer without its people takes for
        actions.
        """
        scorers = [self._solved(self._without(g)) for g in range(len(self._sums))]

        def search(i: int) -> np.ndarray:
            return near_misses(scorers[self._groups[i]], self._takes[i])

        rows = range(len(self._takes))
        return in_threads(search, rows, self._n_threads, progress, desc)

    def held_out(self) -> list[WindowScorer]:
        """The scorer without the people of each fold."""
        return [
            self._solved(self._without(g)).seen_through(self._basis) for g in range(len(self._sums))
        ]

    def scorer(self) -> WindowScorer:
        """The scorer of everybody."""
        return self._solved(self._total()).seen_through(self._basis)

    def reduced(self) -> list[WindowScorer]:
        """As `held_out`, for reduced features."""
        return [self._solved(self._without(g)) for g in range(len(self._sums))]

    def _total(self) -> Equations:
        total = self._sums[0]
        for part in self._sums[1:]:
            total = total + part
        return total

    def _without(self, group: int) -> Equations:
        return self._total() - self._sums[group] if len(self._sums) > 1 else self._total()

    def _solved(self, equations: Equations) -> WindowScorer:
        coef, intercept = equations.solve(_LAMBDA)
        shape = self._k + 1, CELLS + 2, self._basis.shape[1]
        return WindowScorer(coef.T.reshape(shape), intercept, self._lengths)

    def _add(self, i: int, windows: np.ndarray, codes: np.ndarray) -> None:
        take = self._takes[i]
        order = np.argsort(windows[:, 0], kind="stable")
        # Windows of one batch are near each other: it needs the sums of all frames between them.
        place = windows[order, 0] // _CHUNK
        new = np.flatnonzero((np.diff(place) > 0) | (np.arange(1, len(order)) % _AT_ONCE == 0))
        for rows in np.split(order, new + 1) if len(order) else []:
            w = windows[rows]
            first = max(0, int(w[:, 0].min()) - CONTEXT)
            last = min(len(take.features), int(w[:, 1].max()) + CONTEXT)
            sums = running_sums(take.features[first:last].astype(np.float64))
            X = cell_means(sums, w - first).astype(np.float32)
            targets = np.where(codes[rows, None] == np.arange(self._k + 1), 1.0, -1.0)
            if take.overlapping:  # several labels at once
                near = overlaps(w, take.windows, take.certainty.edge) > _NEAR
                for at, other in zip(*np.nonzero(near), strict=True):
                    targets[at, take.codes[other]] = 1.0
            weights = np.where(codes[rows] < self._k, _ACTION_WEIGHT, 1.0)
            self._sums[self._groups[i]].add(X, targets, weights)


def near_misses(scorer: WindowScorer, take: Take) -> np.ndarray:
    """Background windows that are most like actions, one per four starts and three lengths."""
    n_frames, longest = len(take.features), int(scorer.lengths[-1])
    found, margins = [np.zeros((0, 2), dtype=int)], [np.zeros(0)]
    n_sizes = -(-len(scorer.lengths) // _SIZES)
    for first in range(0, n_frames, _CHUNK):
        last = min(first + _CHUNK, n_frames)
        low, high = max(0, first - CONTEXT), min(n_frames, last + longest + CONTEXT)
        sums = running_sums(scorer.project(take.features[low:high]).astype(np.float64))
        scores = scorer.grid(sums, first - low, last - low)
        margin = scores[..., :-1].max(axis=2) - np.maximum(scores[..., -1], -1e9)
        margin[~take.background_grid(first, last, scorer.lengths, _FAR)] = -np.inf
        cells = -(-(last - first) // _CELL)
        padded = np.full((cells * _CELL, n_sizes * _SIZES), -np.inf)
        padded[: last - first, : len(scorer.lengths)] = margin
        blocks = padded.reshape(cells, _CELL, n_sizes, _SIZES).transpose(0, 2, 1, 3)
        flat = blocks.reshape(cells, n_sizes, -1)
        best, value = flat.argmax(axis=2), flat.max(axis=2)
        at, size = np.nonzero(value > -1)
        start = first + at * _CELL + best[at, size] // _SIZES
        length = scorer.lengths[size * _SIZES + best[at, size] % _SIZES]
        found.append(np.stack([start, start + length], axis=1))
        margins.append(value[at, size])
    windows, value = np.concatenate(found), np.concatenate(margins)
    return windows[np.argsort(-value, kind="stable")[: max(20, n_frames // 12)]]


def _nearby(a: int, b: int, lengths: np.ndarray, n_frames: int) -> np.ndarray:
    """Windows of these lengths that overlap a segment by more than half of it."""
    starts = np.arange(max(0, a - (b - a) // 2), a + (b - a) // 2 + 1)
    grid = np.stack(np.broadcast_arrays(starts[:, None], starts[:, None] + lengths), axis=-1)
    grid = grid.reshape(-1, 2)
    return grid[grid[:, 1] <= n_frames]
