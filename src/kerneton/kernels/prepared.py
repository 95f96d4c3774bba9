"""Recordings as kernels need them: checked, placed, side by side."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from kerneton.data.checks import check_sequences
from kerneton.data.sequence import SkeletonSequence
from kerneton.kernels.blocks import BlockKernel
from kerneton.prepare.frames import Frames, gapless
from kerneton.prepare.preprocess import Preprocess


class Prepared:
    """Checked recordings as the kernels of some branches need them; each form is computed once.

    Kernels of this package compute on frames side by side, your own on recordings.

    >>> from kerneton import SCK, Preprocess, make_actions
    >>> prepared = Prepared(list(make_actions(["wave"], n_subjects=1, n_takes=2)))
    >>> step = prepared.fit(Preprocess())
    >>> prepared.poses(step, SCK()) is prepared.poses(step, SCK(order=2))
    True
    """

    def __init__(self, sequences: list[SkeletonSequence], n_threads: int = 1) -> None:
        self.sequences, self.n_threads = sequences, n_threads
        self._known: dict[Any, Any] = {}

    def fit(self, preprocess: Any) -> Any:
        """A fitted copy of a preprocessing; None without one."""
        if preprocess is None:
            return None
        step = clone(preprocess)
        return step.fit(self._whole(step.gaps) if type(step) is Preprocess else self.sequences)

    def poses(self, step: Any, kernel: Any) -> Any:
        """What a kernel computes on: `Frames`, or a list of recordings, after a fitted
        preprocessing.
        """
        together = isinstance(kernel, BlockKernel)
        key = id(step), together
        if key not in self._known:
            self._known[key] = self._frames(step, kernel) if together else self._recordings(step)
        return self._known[key]

    def _frames(self, step: Any, kernel: BlockKernel) -> Frames:
        if type(step) is Preprocess:
            step.check(self.sequences, values=False)
            return step.place(self._whole(step.gaps))
        fitted = hasattr(kernel, "block_sizes_")
        n_joints, layout = (kernel.n_joints_in_, kernel.layout_) if fitted else (None, None)
        sequences = check_sequences(self._recordings(step), n_joints=n_joints, layout=layout)
        return Frames.of(sequences, self.n_threads)

    def _recordings(self, step: Any) -> Any:
        return self.sequences if step is None else step.transform(self.sequences)

    def _whole(self, gaps: str) -> Frames:
        if gaps not in self._known:
            self._known[gaps] = gapless(self.sequences, gaps, self.n_threads)
        return self._known[gaps]
