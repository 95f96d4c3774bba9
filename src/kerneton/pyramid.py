"""A temporal pyramid: a recording as a whole, and its overlapping parts, each encoded by the same kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from kerneton._blocks import BlockTransformer
from kerneton._validation import check_in, check_positive
from kerneton.exceptions import ParameterError
from kerneton.sequence import SkeletonSequence


def parts(n_parts: int, overlap: float) -> list[tuple[float, float]]:
    """Start and end of equally long parts of the unit interval, neighbours sharing ``overlap`` of their length.

    >>> parts(3, 0.5)
    [(0.0, 0.5), (0.25, 0.75), (0.5, 1.0)]
    """
    length = 1 / (1 + (n_parts - 1) * (1 - overlap))
    starts = [i * length * (1 - overlap) for i in range(n_parts)]
    return [(start, start + length) for start in starts]


def cut(sequence: SkeletonSequence, start: float, end: float) -> SkeletonSequence:
    """The frames between two moments, given as shares of the duration; at least one.

    >>> cut(SkeletonSequence(np.ones((8, 2, 3))), 0.25, 0.75).n_frames
    4
    """
    first = min(round(start * sequence.n_frames), sequence.n_frames - 1)
    frames = slice(first, max(round(end * sequence.n_frames), first + 1))
    confidence = None if sequence.confidence is None else sequence.confidence[frames]
    return sequence.replace(joints=sequence.joints[frames], confidence=confidence)


class Pyramid(BlockTransformer):
    """Features of the whole recording and of its parts, one after another, by one kernel.

    ::

        φ(x) = [φ_l(x)]_l,   φ_l(x) = 1/√n_l [k(x_1); ...; k(x_{n_l})]     for n_l parts at level l

    so that every level has the same weight in dot products. It takes the place of the kernel in a pipeline, and
    what the kernel learns (scales of velocities) it learns from whole recordings.

    Parameters
    ----------
    kernel : SCK or DCK
        Without weights of joints of its own.
    levels : sequence of int
        In how many parts to cut the recording at each level; 1 is the whole.
    overlap : float in [0, 1)
        Which share of its length a part has in common with the next.
    weighting : {"alignment", None}
        Weight each joint of each part by how well it tells the training labels apart, see `alignment_weights`.

    Attributes
    ----------
    kernel_ : the fitted kernel
    block_sizes_ : ndarray of shape (n_parts * n_blocks,)
        How many features each joint of each part has.
    weights_ : ndarray, where ``weighting``
    n_joints_in_ : int

    Examples
    --------
    >>> from kerneton import SCK
    >>> X = [np.random.default_rng(i).uniform(-1, 1, size=(20 + i, 15, 3)) for i in range(4)]
    >>> Pyramid(SCK(order=2), levels=(1, 3)).fit_transform(X).shape
    (4, 13860)
    """

    def __init__(
        self,
        kernel: Any,
        *,
        levels: Sequence[int] = (1, 3),
        overlap: float = 0.5,
        weighting: str | None = None,
    ) -> None:
        self.kernel = kernel
        self.levels = levels
        self.overlap = overlap
        self.weighting = weighting

    def _prepare(self, sequences: list[SkeletonSequence]) -> None:
        if not len(self.levels):
            raise ParameterError("levels is empty; (1,) is the whole recording alone")
        for level in self.levels:
            check_positive("level", level, integer=True)
        check_in("overlap", self.overlap, 0, 1, closed="left")
        if self.kernel.weighting is not None:
            raise ParameterError(
                "the kernel of a Pyramid has no weighting of its own: Pyramid(SCK(), weighting='alignment')"
            )
        self.kernel_ = clone(self.kernel).fit(sequences)
        self.block_sizes_ = np.tile(self.kernel_.block_sizes_, sum(self.levels))

    def _features(
        self, sequences: list[SkeletonSequence], out: np.ndarray | None = None, check: Any = None
    ) -> np.ndarray:
        del check  # what needs one goes to a device, and a pyramid has none of its own
        width = int(self.kernel_.block_sizes_.sum())
        column = 0
        for level in self.levels:
            for start, end in parts(level, self.overlap):
                encoded = self.kernel_.transform([cut(s, start, end) for s in sequences])
                if out is None:
                    out = np.empty((len(sequences), width * sum(self.levels)), dtype=encoded.dtype)
                out[:, column : column + width] = encoded / encoded.dtype.type(level**0.5)
                column += width
        assert out is not None
        return out
