"""Coordinates of pictures: drawings without depth, pixels, and fractions of width and height."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from kerneton.data.layouts import HIPS, LOW
from kerneton.data.sequence import SkeletonSequence
from kerneton.data.units import axis_of, seen, trunks_of

_FRACTION, _PIXELS = 1.3, 10.0  # the largest coordinate of fractions; pixels are larger than this
_THIN = 0.01  # of the body's length: less depth is no depth in the same unit


def drawn_up(recordings: Sequence[SkeletonSequence]) -> str | None:
    """Whether y points up or down (-y) in drawings, which have z = 0 throughout; None if they do
    not show it.
    """
    drawings = [one for r in recordings if (one := seen(r, drawn=True)) is not None]
    ways = (t if (t := trunks_of(*one)) is not None else trunks_of(*one, HIPS) for one in drawings)
    trunks = [way for way in ways if way is not None]
    votes = Counter(axis_of(np.median(trunk, axis=0)) for trunk in trunks)
    up, count = votes.most_common(1)[0] if votes else (None, 0)
    return up if up in ("y", "-y") and count >= 0.6 * len(trunks) else None


def picture_unit(recordings: Sequence[SkeletonSequence]) -> str:
    """The unit of coordinates in a picture, in words; empty for coordinates in space, and if the
    data do not show it.

    In a picture, x and y begin at a corner: all have one sign, and the head is nearer to the corner
    than the feet.

    >>> from kerneton.datasets.synthetic import make_actions
    >>> wave = make_actions(["wave"], n_subjects=1, n_takes=1)[0]
    >>> filmed = wave.replace(joints=wave.joints * [-0.2, -0.2, 1] + [0.5, 0.5, 0])
    >>> picture_unit([wave]), picture_unit([filmed])
    ('', 'fractions of the picture')
    """
    votes = Counter(_picture(r) for r in recordings if seen(r) or seen(r, drawn=True))
    unit, count = votes.most_common(1)[0] if votes else ("", 0)
    return unit if count >= 0.9 * votes.total() else ""


def _picture(recording: SkeletonSequence) -> str:
    one = seen(recording)
    points, names = one or seen(recording, drawn=True) or (np.empty((0, 0, 3)), [])
    way = trunks_of(points, names, LOW)
    way = way if way is not None else trunks_of(points, names, HIPS)
    known = points[np.isfinite(points).all(axis=-1)][:, :2]
    if way is None or not len(known):
        return ""
    low, high = np.quantile(known, [0.01, 0.99], axis=0)
    size, tall = float(np.maximum(-low, high).max()), abs(float(np.median(way[:, 1])))
    if not ((low >= -0.05 * size) | (high <= 0.05 * size)).all() or (np.median(way[:, 1]) > 0) == (
        high[1] > 0.05 * size
    ):
        return ""  # both signs, or the head is farther from the corner than the feet
    if size <= _FRACTION and tall < 1:
        return "fractions of the picture"
    points = points[np.isfinite(points).any(axis=(1, 2))]
    thin = one is None or float(np.nanmedian(np.nanstd(points[..., 2], axis=1))) < _THIN * tall
    return "pixels" if thin and size > _PIXELS else ""
