"""What SCK and DCK share: features in blocks, one a joint or a pair, that training labels may weight."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kerneton.data.layouts import JointsLike, Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.data.validation import check_choice, check_sequences
from kerneton.exceptions import DataError, ParameterError
from kerneton.kernels.batches import map_batches
from kerneton.machine.alignment import alignment_weights, block_grams


class BlockTransformer(TransformerMixin, BaseEstimator):
    """Recordings to features in blocks; the kernel says how to prepare, take signals and encode."""

    block_sizes_: np.ndarray
    n_joints_in_: int
    layout_: Layout | None
    device: str | None = None

    def fit(self, X: Iterable[Any], y: Any = None) -> Any:
        """Check the parameters and learn from the training recordings; with ``weighting`` from labels too."""
        if self.weighting is None:
            self._fit(X)
        else:
            self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Iterable[Any], y: Any = None) -> np.ndarray:
        """Fit and return the features of the training recordings, encoded once."""
        sequences = self._fit(X)
        features = self._features(sequences)
        if self.weighting is not None:
            if y is None:
                raise DataError('weighting="alignment" learns from labels: pass y')
            if len(y) != len(sequences):
                raise DataError(f"{len(sequences)} recordings but {len(y)} labels")
            grams = block_grams(features, self.block_sizes_)
            self.weights_ = alignment_weights(grams, np.asarray(y))
            self._weight(features)
        return features

    def transform(self, X: Iterable[Any], out: np.ndarray | None = None) -> np.ndarray:
        """Features, (n_sequences, sum of block_sizes_), into ``out`` (a memory map, say) where it is given."""
        check_is_fitted(self, "block_sizes_")
        fitted: dict[str, Any] = {"n_joints": self.n_joints_in_, "layout": self.layout_}
        sequences = check_sequences(X, values=False, **fitted)

        def check() -> None:
            check_sequences(sequences, **fitted)

        # What goes to a device as it is can be looked at there, in no time.
        first, sure = sequences[0], all(s.confidence is None for s in sequences)
        if self.device is not None and sure and self._signal(first) is first.joints:
            features = self._features(sequences, out, check)
        else:
            check()
            features = self._features(sequences, out)
        if self.weighting is not None:
            self._weight(features)
        return features

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:  # noqa: ARG002
        """<kernel><block>_<entry>, in feature order."""
        check_is_fitted(self, "block_sizes_")
        kernel = type(self).__name__.lower()
        names = [f"{kernel}{b}_{e}" for b, size in enumerate(self.block_sizes_) for e in range(size)]
        return np.asarray(names, dtype=object)

    def _fit(self, X: Iterable[Any]) -> list[SkeletonSequence]:
        check_choice("weighting", self.weighting, [None, "alignment"])
        sequences = check_sequences(X)
        self.n_joints_in_ = sequences[0].n_joints
        self.layout_ = sequences[0].layout
        self._prepare(sequences)
        return sequences

    def _features(
        self,
        sequences: list[SkeletonSequence],
        out: np.ndarray | None = None,
        check: Callable[[], None] | None = None,
    ) -> np.ndarray:
        return map_batches(
            self._encode,
            _Signals(sequences, self._signal),
            int(self.block_sizes_.sum()),
            batch_size=self.batch_size,
            n_jobs=self.n_jobs,
            device=self.device,
            out=out,
            check=check,
            lengths=[s.n_frames for s in sequences],
            dtype=np.result_type(*{s.joints.dtype for s in sequences}),
        )

    def _weight(self, features: np.ndarray) -> None:
        factors = np.repeat(np.sqrt(self.weights_), self.block_sizes_).astype(features.dtype)
        for row in features:  # a row at a time: features may be a memory map larger than memory
            row *= factors

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "block_sizes_")


class _Signals(Sequence[np.ndarray]):
    """Signals of recordings, computed when they are asked for."""

    def __init__(
        self, sequences: list[SkeletonSequence], signal: Callable[[SkeletonSequence], np.ndarray]
    ) -> None:
        self._sequences, self._signal = sequences, signal

    def __len__(self) -> int:
        return len(self._sequences)

    def __getitem__(self, i: Any) -> Any:
        return self._signal(self._sequences[i])


def resolve_joints(joints: JointsLike, sequence: SkeletonSequence) -> tuple[int, ...]:
    """Positions of the chosen joints in a recording, with or without a layout.

    >>> resolve_joints([2, 0], SkeletonSequence(np.ones((1, 4, 3))))
    (2, 0)
    """
    chosen: str | tuple[str | int, ...] | None = None
    if joints is not None:
        chosen = joints if isinstance(joints, str) else _as_tuple(joints)
    if sequence.layout is not None:
        return sequence.layout.indices(chosen)
    if chosen is None:
        return tuple(range(sequence.n_joints))
    if any(isinstance(j, str) or not 0 <= j < sequence.n_joints for j in chosen):
        raise ParameterError(
            f"joints={joints!r}: recordings without a layout have joints 0 to {sequence.n_joints - 1}"
        )
    if len(set(chosen)) != len(chosen):
        raise ParameterError(f"joints={joints!r}: a joint is chosen twice")
    return tuple(int(j) for j in chosen)


def _as_tuple(joints: int | Iterable[str | int]) -> tuple[str | int, ...]:
    chosen = tuple(joints) if isinstance(joints, Iterable) else (joints,)
    odd = [j for j in chosen if isinstance(j, bool) or not isinstance(j, (str, int, np.integer))]
    if odd:
        raise ParameterError(f"joints must be names or whole numbers, got {odd[0]!r}")
    if not chosen:
        raise ParameterError("joints is empty; leave it None for all joints")
    return chosen
