"""How long an action takes of which only the end is known.

The truth is a point per action, where it is complete. For each of some lengths, windows of this
length that end in the points are taken for the actions, and the scorer of windows is learnt without
the people of each fold. The length of a class is the one with which its points are found best among
the people held out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.ndimage import maximum_filter1d

from kerneton.parallel.threads import in_threads
from kerneton.stream.examples import Take
from kerneton.stream.mining import Miner
from kerneton.stream.proposals import CONTEXT, WindowScorer, running_sums

_SHORTEST, _LONGEST = 0.3, 4.0  # seconds of the windows that are tried
_RATIO = 1.3  # between neighbouring lengths
_AS_GOOD = 0.01  # average precision by which lengths count as equally good
_CHUNK = 4096


def frames_before_points(
    takes: Sequence[Take],
    groups: np.ndarray,
    classes: tuple[str, ...],
    basis: np.ndarray,
    fps: float | None,
    n_threads: int,
    kept: Callable[[str, Callable[[], list[np.ndarray]]], list[np.ndarray]],
) -> dict[str, int]:
    """Frames of the window before the points of each class that has points: those of its segments
    with a start, if there are any, else what finds points of held-out people best. ``kept`` keeps
    results for a fit that is interrupted.
    """
    wanted, known = set(), {}
    for k, label in enumerate(classes):
        spans = [
            b - a
            for t in takes
            for (a, b), c, p in zip(t.windows, t.codes, t.points, strict=True)
            if c == k and not p
        ]
        if any((t.points & (t.codes == k)).any() for t in takes):
            wanted.add(k)
            if spans:
                known[label] = int(np.median(spans))
    open_ones = [k for k in sorted(wanted) if classes[k] not in known]
    if not open_ones:
        return known
    lengths = _lengths(takes, fps or 30.0)

    def tried() -> list[np.ndarray]:
        rows = [_found(takes, groups, len(classes), basis, int(n), n_threads) for n in lengths]
        return [np.array(rows)]

    (quality,) = kept("windows-before-points", tried)
    for k in open_ones:
        smooth = np.convolve(np.pad(quality[:, k], 1, "edge"), np.ones(3) / 3, "valid")
        good = lengths[smooth >= smooth.max() - _AS_GOOD]
        known[classes[k]] = round(float(np.exp(np.mean(np.log(good)))))
    return known


def _lengths(takes: Sequence[Take], fps: float) -> np.ndarray:
    """Lengths to try, up to the usual distance between two points."""
    gaps = [np.diff(np.sort(t.windows[t.points, 1])) for t in takes if t.points.sum() > 1]
    usual = float(np.median(np.concatenate(gaps))) if gaps else _LONGEST * fps
    low = max(4.0, _SHORTEST * fps)
    high = max(low, min(_LONGEST * fps, usual))
    n = int(np.floor(np.log(high / low) / np.log(_RATIO)))
    return np.unique(np.round(low * _RATIO ** np.arange(n + 1)).astype(int))


def _found(
    takes: Sequence[Take],
    groups: np.ndarray,
    n_classes: int,
    basis: np.ndarray,
    length: int,
    n_threads: int,
) -> np.ndarray:
    """(n_classes,) average precision of points of held-out people, with windows of one length."""
    before = [t.windows for t in takes]
    for t in takes:
        start = np.maximum(t.windows[:, 1] - length, 0)
        t.windows = np.stack([np.where(t.points, start, t.windows[:, 0]), t.windows[:, 1]], axis=1)
    try:
        miner = Miner(takes, groups, basis, n_classes, np.array([length]), n_threads)
        miner.start()
        miner.add_background(miner.mine())
        scorers = miner.reduced()

        def fired(i: int) -> list[tuple[np.ndarray, np.ndarray]]:
            return _firings(scorers[groups[i]], takes[i], n_classes)

        every = in_threads(fired, range(len(takes)), n_threads)
    finally:
        for t, windows in zip(takes, before, strict=True):
            t.windows = windows
    return np.array([_precision(takes, [found[k] for found in every], k) for k in range(n_classes)])


def _firings(
    scorer: WindowScorer, take: Take, n_classes: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Of each class, the ends of windows that score better than those within the tolerance, and
    their margins over the background.
    """
    n_frames, n = len(take.features), int(scorer.lengths[0])
    margins = np.full((n_frames + 1, n_classes), -np.inf)
    for first in range(0, n_frames, _CHUNK):
        last = min(first + _CHUNK, n_frames)
        low, high = max(0, first - CONTEXT), min(n_frames, last + n + CONTEXT)
        sums = running_sums(scorer.project(take.features[low:high]).astype(float))
        scores = scorer.grid(sums, first - low, last - low)[:, 0]
        stop = min(last, n_frames - n + 1)
        if stop > first:
            found = scores[: stop - first]
            margins[first + n : stop + n] = found[:, :-1] - found[:, -1:]
    best = maximum_filter1d(margins, 2 * int(take.certainty.tolerance) + 1, axis=0, mode="nearest")
    out = []
    for k in range(n_classes):
        at = np.flatnonzero((margins[:, k] == best[:, k]) & np.isfinite(margins[:, k]))
        out.append((at, margins[at, k]))
    return out


def _precision(
    takes: Sequence[Take], found: Sequence[tuple[np.ndarray, np.ndarray]], k: int
) -> float:
    """Average precision of the points of a class."""
    hits, margins, n_true = [], [], 0
    for take, (at, margin) in zip(takes, found, strict=True):
        mine = take.windows[take.points & (take.codes == k), 1]
        n_true += len(mine)
        free = np.ones(len(mine), dtype=bool)
        right = np.zeros(len(at), dtype=bool)
        for i in np.argsort(-margin, kind="stable"):
            away = np.abs(mine - at[i]) + np.where(free, 0, np.inf)
            if len(mine) and away.min() <= take.certainty.tolerance:
                free[away.argmin()] = False
                right[i] = True
        hits.append(right)
        margins.append(margin)
    order = np.argsort(-np.concatenate(margins), kind="stable")
    right = np.concatenate(hits)[order]
    if not n_true or not len(right):
        return 0.0
    precision = np.cumsum(right) / np.arange(1, len(right) + 1)
    return float(precision[right].sum() / n_true)
