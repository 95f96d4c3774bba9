"""Base class of SCK and DCK: one block of features per joint or pair, optionally weighted by
labels.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kerneton.data.checks import check_sequences
from kerneton.data.layouts import JointsLike, Layout
from kerneton.data.parameters import QuickParameters, check_choice
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError, ModelFileError, ParameterError
from kerneton.kernels.engine import features_on_gpu
from kerneton.kernels.mirroring import MIRRORS, Mirror, Token, image_share, partly_mirrored_grams
from kerneton.machine.products import block_grams
from kerneton.machine.scaling import alignment_weights
from kerneton.parallel.threads import count_threads
from kerneton.prepare.frames import Frames, as_frames
from kerneton.prepare.preprocess import is_flat

_MOST_FEATURES = 20_000_000  # per recording
_TOGETHER = 512  # recordings whose signals are in memory at a time


class _Alone(NamedTuple):
    """A kernel as a branch of nothing else."""

    kernel_: Any
    preprocess_: None = None
    scale_: None = None
    weight: float = 1.0


class BlockKernel(QuickParameters, TransformerMixin, BaseEstimator):
    """Recordings to features in blocks; subclasses define the preparation and the features.

    A subclass has the parameters ``mirror``, ``weighting``, ``batch_size``, ``n_jobs`` and
    ``device``, and defines ``_prepare(frames)`` (check the parameters, learn scales),
    ``_features(frames, out)`` (features of frames by the core, before weights), ``_tokens()`` (the
    joint or pair of each block), ``_sizes()`` (features per block) and ``_make_mirror(sizes)``.
    """

    block_sizes_: np.ndarray
    n_joints_in_: int
    n_axes_: int = 3  # 2 if z is zero throughout the training recordings
    layout_: Layout | None
    weights_: np.ndarray
    _mirror: Mirror | None

    def fit(self, X: Iterable[Any], y: Any = None) -> Any:
        """Check the parameters and learn from the training recordings, with ``weighting`` also from
        their labels.
        """
        if self.weighting is None:
            self._fit(X)
        else:
            self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Iterable[Any], y: Any = None) -> np.ndarray:
        """Fit and return the features of the training recordings, encoded once."""
        frames = self._fit(X)
        features = self._computed(frames)
        if self.weighting is not None:
            if y is None:
                raise DataError('weighting="alignment" learns from labels: pass y')
            if len(y) != len(frames):
                raise DataError(f"{len(frames)} recordings but {len(y)} labels")
            grams = block_grams(features, self.block_sizes_)
            self.weigh(features, alignment_weights(grams, np.asarray(y)))
        return features

    def transform(self, X: Iterable[Any] | Frames, out: np.ndarray | None = None) -> np.ndarray:
        """Features, (n_sequences, sum of block_sizes_), written into ``out`` (such as a memory map)
        if given.
        """
        features = self.unweighted(X, out)
        return features if self.weighting is None else self.weigh(features, self.weights_)

    def unweighted(self, X: Iterable[Any] | Frames, out: np.ndarray | None = None) -> np.ndarray:
        """`transform` before the weights of blocks."""
        check_is_fitted(self, "block_sizes_")
        if not isinstance(X, Frames):
            X = check_sequences(X, n_joints=self.n_joints_in_, layout=self.layout_)
        return self._computed(X, out)

    def weigh(self, features: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Store block weights (n_blocks,) and apply them to features, in place."""
        self.weights_ = weights
        factors = np.repeat(np.sqrt(weights), self.block_sizes_).astype(features.dtype)
        for row in features:  # a row at a time: features may be a memory map larger than memory
            row *= factors
        return features

    def mirrored(
        self, features: np.ndarray, mirror: bool | str = True
    ) -> tuple[Any, np.ndarray] | None:
        """This fitted kernel with ``mirror``, and its features computed from the unmirrored ones;
        None if that is impossible.

        >>> from kerneton import SCK
        >>> from kerneton.data.layouts import FLORENCE_15
        >>> poses = [still_recording(FLORENCE_15, 15)]
        >>> plain = SCK(order=2).fit(poses)
        >>> twin, features = plain.mirrored(plain.transform(poses))
        >>> bool(np.array_equal(features, SCK(order=2, mirror=True).fit_transform(poses)))
        True
        """
        if not self._mirrors_features():
            return None
        twin = copy.copy(self).set_params(mirror=mirror)
        twin._set_mirror()
        assert twin._mirror is not None
        return twin, twin._mirror.average(features, count_threads(self.n_jobs))

    def partly_mirrored(self, plain: np.ndarray, mirrored: np.ndarray) -> np.ndarray:
        """Inner products of partly mirrored features by block, (n_blocks, n, n), or of all blocks
        together, (1, n, n), from those of unmirrored and of fully mirrored features.
        """
        if len(plain) == len(mirrored) == 1:  # the sum over blocks of the others
            share = image_share("partly")
            own = plain.dtype.type((1 - 2 * share) ** 2)
            return own * plain + (1 - own) * mirrored
        sizes = self._sizes()
        twins = [copy.copy(self).set_params(mirror=mirror) for mirror in ("partly", True)]
        return partly_mirrored_grams(plain, mirrored, *(t._make_mirror(sizes) for t in twins))

    def block_joints(self) -> list[tuple[Token, ...]]:
        """The joint or pair of each block, by position, with its mirror image if they share the
        block.

        >>> from kerneton import SCK
        >>> SCK(joints=[4, 2], order=2).fit([np.ones((3, 5, 3))]).block_joints()
        [((4,),), ((2,),)]
        """
        check_is_fitted(self, "block_sizes_")
        tokens = self._tokens()
        # three quarters of a block are its own joint's
        if self._mirror is None or self.mirror == "partly":
            return [(token,) for token in tokens]
        pairs = zip(self._mirror.kept.tolist(), self._mirror.image.tolist(), strict=True)
        return [(tokens[i],) if i == twin else (tokens[i], tokens[twin]) for i, twin in pairs]

    def get_state(self) -> dict[str, Any]:
        """The learned values, for a file; all else is computed from these and the parameters."""
        weights = self.weights_ if self.weighting is not None else None
        return {
            "n_joints": self.n_joints_in_,
            "n_axes": self.n_axes_,
            "layout": self.layout_,
            "weights": weights,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore what ``get_state`` returned; values that do not fit are refused."""
        self.n_joints_in_, self.layout_ = state["n_joints"], state["layout"]
        self.n_axes_ = state["n_axes"]
        if self.n_axes_ not in (2, 3):
            raise ModelFileError(f"a kernel of {self.n_axes_!r} axes, expected 2 or 3")
        check_choice("weighting", self.weighting, [None, "alignment"])
        self._prepare(Frames.of([still_recording(self.layout_, self.n_joints_in_)]))
        self._set_mirror()
        if self.weighting is not None:
            weights = np.asarray(state["weights"])
            if weights.shape != self.block_sizes_.shape or (weights < 0).any():
                raise ModelFileError(
                    f"weights of shape {weights.shape} for {len(self.block_sizes_)} blocks"
                )
            self.weights_ = weights

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:  # noqa: ARG002
        """<kernel><block>_<entry>, in feature order."""
        check_is_fitted(self, "block_sizes_")
        kernel = type(self).__name__.lower()
        names = [
            f"{kernel}{b}_{e}" for b, size in enumerate(self.block_sizes_) for e in range(size)
        ]
        return np.asarray(names, dtype=object)

    def _fit(self, X: Iterable[Any] | Frames) -> Frames:
        check_choice("weighting", self.weighting, [None, "alignment"])
        frames = as_frames(X, n_threads=count_threads(self.n_jobs))
        self.n_joints_in_, self.layout_ = frames.n_joints, frames.layout
        self.n_axes_ = 2 if is_flat(frames.joints) else 3
        self._prepare(frames)
        self._set_mirror()
        return frames

    def _set_mirror(self) -> None:
        check_choice("mirror", self.mirror, MIRRORS)
        sizes = self._sizes()
        self._mirror = self._make_mirror(sizes) if self.mirror else None
        self.block_sizes_ = sizes if self._mirror is None else sizes[self._mirror.kept]

    def _mirrors_features(self) -> bool:
        """Whether mirrored features can be computed from unmirrored ones."""
        return True

    def _features(self, frames: Frames, out: np.ndarray | None = None) -> np.ndarray:
        """Features of frames without weights by the core, into ``out`` if given."""
        raise NotImplementedError

    def _computed(
        self, X: list[SkeletonSequence] | Frames, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Features of checked recordings without weights, into ``out`` if given."""
        plain = copy.copy(self)
        plain.weighting = None
        found = features_on_gpu([_Alone(plain)], X, out=out)
        if found is not None:
            return found
        if isinstance(X, Frames):
            return self._features(X, out)
        n_threads = count_threads(self.n_jobs)
        if len(X) <= _TOGETHER:
            return self._features(Frames.of(X, n_threads), out)
        dtype = np.result_type(*{s.joints.dtype for s in X})
        out = check_out(out, (len(X), int(self.block_sizes_.sum())), dtype)
        # Some hundred at a time, so that the signals of all need not be in memory.
        for i in range(0, len(X), _TOGETHER):
            self._features(Frames.of(X[i : i + _TOGETHER], n_threads), out[i : i + _TOGETHER])
        return out

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "block_sizes_")


def still_recording(layout: Layout | None, n_joints: int) -> SkeletonSequence:
    """A fixed recording without meaning, always the same, one metre from end to end.

    >>> still_recording(None, 3)
    SkeletonSequence(4 frames, 3 joints)
    """
    t, joint, axis = np.meshgrid(np.arange(4), np.arange(n_joints), np.arange(3), indexing="ij")
    return SkeletonSequence(np.cos(1.0 + 1.7 * joint + 0.9 * axis + 0.2 * t) / 2, layout=layout)


def resolve_joints(joints: JointsLike, sequence: SkeletonSequence | Frames) -> tuple[int, ...]:
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
        raise ParameterError(f"joints={joints!r}: a joint is listed twice")
    return tuple(int(j) for j in chosen)


def _as_tuple(joints: int | Iterable[str | int]) -> tuple[str | int, ...]:
    chosen = tuple(joints) if isinstance(joints, Iterable) else (joints,)
    odd = [j for j in chosen if isinstance(j, bool) or not isinstance(j, (str, int, np.integer))]
    if odd:
        raise ParameterError(f"joints must be names or whole numbers, got {odd[0]!r}")
    if not chosen:
        raise ParameterError("joints is empty; leave it None for all joints")
    return chosen


def check_out(out: np.ndarray | None, shape: tuple[int, int], dtype: Any) -> np.ndarray:
    """Where features go: a new array, or ``out`` if they fit into it.

    >>> check_out(None, (2, 3), np.float32).shape
    (2, 3)
    """
    if out is None:
        return np.empty(shape, dtype)
    if out.shape != shape:
        raise DataError(f"out must have shape {shape}, got {out.shape}")
    if not np.can_cast(dtype, out.dtype, "same_kind"):
        raise DataError(f"out must contain floating-point numbers, got {out.dtype}")
    return out


def check_feature_count(count: int, because: str) -> None:
    """Refuse too many features per recording, before they are allocated."""
    if count > _MOST_FEATURES:
        raise ParameterError(
            f"{because} make {count:.3g} features per recording, at most {_MOST_FEATURES:.0e} are possible: "
            "use fewer pivots or joints"
        )
