"""The dynamics compatibility kernel, linearised: one third-order tensor per pair of joints."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from kerneton.core.dck import MOST_HARMONICS, Displacements
from kerneton.data.layouts import JointsLike
from kerneton.data.parameters import (
    check_choice,
    check_in,
    check_positive,
    check_width,
    renamed,
)
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError, ModelFileError, OutdatedWarning, ParameterError
from kerneton.kernels.blocks import BlockKernel, check_feature_count, check_out, resolve_joints
from kerneton.kernels.mirroring import (
    Mirror,
    Token,
    image_joints,
    image_share,
    mirror_blocks,
    moved_entries,
)
from kerneton.kernels.power_norm import hosvd_power
from kerneton.kernels.signals import SIGNALS, learn_scale, signal_of
from kerneton.kernels.tensors import gaussian_features
from kerneton.prepare.frames import Frames

_LIFTING = 0.75  # below this power, single precision of the sums would be visible in the features


class DCK(BlockKernel):
    """Dynamics compatibility kernel as features: how joints move with respect to each other.

    ::

        X_ii'[z,p,q] = 1/(J T) Σ_{s≠s'} G_σ4(s-s') φ_z(x_is - x_i's') z_p(s/T) z_q(s'/T)

    followed by power normalisation of the HOSVD of each tensor. Without normalisation (``power=1``)
    and with ``same_joint=False``, dot products of features approximate `dck_kernel`.

    Parameters
    ----------
    joints : joint set's name, joints' names or positions, optional
        The joints to pair, by default all; the paper's sets are "A" to "I".
    signals : str, or a tuple of one
        The signal whose displacements are used, see `kerneton.kernels.signals.SIGNALS`; the paper
        uses "position". Unlike `SCK` it takes only one.
    sigma_joint, n_pivots_joint, sigma_time, n_pivots_time : float, int, float, int
        σ₂', Z₂', σ₃', Z₃'.
    pivot_margin : float, how many σ the pivots reach beyond [-1, 1] and [0, 1], see `SCK`
    sigma_span : float, optional
        σ₄' in frames: how far apart two frames may be; None for any distance.
    power, entry_power : float in (0, 1], γ of the core tensor and γ* of the entries; 1 for none
    same_joint : bool
        Also pair a joint with itself at two times. The paper's sizes include these pairs, its sum
        does not.
    mirror : {False, True, "partly", "bodies"}
        Average the features of a recording and of its mirror image, or over the two orders of two
        persons.
    weighting : {"alignment", None}
        Weight each pair by how well it separates the training labels, see `alignment_weights`.
    tol : float
        Largest error of the harmonics, relative to the sum with every φ at its peak. Powers turn an
        error ε into ε^power, so the sums are computed to tol^(1/power), or as exactly as the
        precision allows.
    batch_size, n_jobs, device
        Recordings encoded at a time; threads; "cuda" for the GPU. None of them changes the results.
    method
        Of earlier versions; without effect.

    Attributes
    ----------
    joints_ : tuple of int
    pairs_ : ndarray of shape (n_pairs, 2)
    block_sizes_ : ndarray of shape (n_pairs,), features per pair
    weights_ : ndarray of shape (n_pairs,), where ``weighting``
    n_joints_in_ : int

    Examples
    --------
    >>> X = [np.random.default_rng(i).uniform(-1, 1, size=(20 + i, 15, 3)) for i in range(4)]
    >>> DCK(joints=[3, 5, 6, 8, 10, 11, 13, 14]).fit_transform(X).shape
    (4, 16920)
    """

    @renamed(signal="signals")
    def __init__(
        self,
        *,
        joints: JointsLike = None,
        signals: str | Sequence[str] = "position",
        sigma_joint: float = 0.6,
        n_pivots_joint: int = 5,
        sigma_time: float = 0.5,
        n_pivots_time: int = 6,
        pivot_margin: float = 0.0,
        sigma_span: float | None = None,
        power: float = 0.85,
        entry_power: float = 1.0,
        same_joint: bool = True,
        mirror: bool | str = False,
        weighting: str | None = None,
        method: str | None = None,
        tol: float = 1e-5,
        batch_size: int = 32,
        n_jobs: int | None = None,
        device: str | None = None,
    ) -> None:
        self.joints = joints
        self.signals = signals
        self.sigma_joint = sigma_joint
        self.n_pivots_joint = n_pivots_joint
        self.sigma_time = sigma_time
        self.n_pivots_time = n_pivots_time
        self.pivot_margin = pivot_margin
        self.sigma_span = sigma_span
        self.power = power
        self.entry_power = entry_power
        self.same_joint = same_joint
        self.mirror = mirror
        self.weighting = weighting
        self.method = method
        self.tol = tol
        self.batch_size = batch_size
        self.n_jobs = n_jobs
        self.device = device

    def _prepare(self, frames: Frames) -> None:
        self._check_parameters()
        self.joints_ = resolve_joints(self.joints, frames)
        n = len(self.joints_)
        if n < 2 and not self.same_joint:
            raise ParameterError("DCK needs at least two joints, or same_joint=True")
        check_feature_count(
            n * (n + 1) // 2 * 3 * self.n_pivots_joint * self.n_pivots_time**2,
            f"{n} joints, n_pivots_joint={self.n_pivots_joint} and n_pivots_time={self.n_pivots_time}",
        )
        self.scale_ = learn_scale(self.signal_name, frames, self.joints_)
        choose = (
            itertools.combinations_with_replacement if self.same_joint else itertools.combinations
        )
        self._local_pairs = np.asarray(list(choose(range(n), 2)))
        self._entries = self._entry_table()

    @property
    def pairs_(self) -> np.ndarray:
        """Pairs of joints in feature order, as positions in the recording; (n_pairs, 2)."""
        pairs = np.asarray(self.joints_)[self._local_pairs]
        return pairs if self._mirror is None else pairs[self._mirror.kept]

    def _tokens(self) -> list[Token]:
        return [tuple(pair) for pair in np.asarray(self.joints_)[self._local_pairs].tolist()]

    def _sizes(self) -> np.ndarray:
        z2, z3 = self.n_axes_ * self.n_pivots_joint, self.n_pivots_time
        return np.where(self._same(), z2 * z3 * (z3 - 1) // 2, z2 * z3**2)

    def _same(self) -> np.ndarray:
        """Which pairs are of a joint with itself."""
        return self._local_pairs[:, 0] == self._local_pairs[:, 1]

    def _make_mirror(self, sizes: np.ndarray) -> Mirror:
        masks, at = [self._entry_mask(s) for s in (False, True)], self._same().astype(int).tolist()
        image_of, axes = image_joints(self.layout_, self.mirror)
        share = image_share(self.mirror)
        moved = [
            [moved_entries(mask, flip, axes, self.n_axes_) for flip in (False, True)]
            for mask in masks
        ]
        tokens = self._tokens()
        return mirror_blocks(
            self.layout_, image_of, tokens, sizes, lambda b, flip: moved[at[b]][flip], share
        )

    def _features(self, frames: Frames, out: np.ndarray | None = None) -> np.ndarray:
        signal = signal_of(self.signal_name, frames)
        out = check_out(out, (len(frames), int(self.block_sizes_.sum())), signal.dtype)
        if self.power < _LIFTING:
            signal = signal.astype(np.float64)
        check_positive("batch_size", self.batch_size, integer=True)
        displacements = self._displacements(signal, frames)

        def work(first: int, last: int) -> None:
            for start in range(first, last, self.batch_size):
                stop = min(start + self.batch_size, last)
                tensors = self._sums(displacements, start, stop)
                features = self._entries_of(hosvd_power(tensors, self.power, self.entry_power))
                out[start:stop] = (
                    features if self._mirror is None else self._mirror.average(features)
                )

        frames.each(work)
        return out

    def _sums(self, displacements: Displacements, first: int, last: int) -> np.ndarray:
        """Tensors of some recordings before power normalisation, (B, n_pairs, Z, Z₃, Z₃)."""
        tensors = np.empty((last - first, *displacements.shape), displacements.dtype)
        displacements.sums(first, last, tensors)
        self._check_widths(displacements.widest[first:last])
        return tensors

    def _times(self, n_frames: int) -> np.ndarray:
        """z(s/T) of the frames of a recording, (T, Z₃)."""
        early = self.pivot_margin * self.sigma_time
        return gaussian_features(
            np.arange(1, n_frames + 1) / n_frames,
            sigma=self.sigma_time,
            n_pivots=self.n_pivots_time,
            low=-early,
            high=1.0 + early,
        )

    def _displacements(self, signal: np.ndarray, frames: Frames) -> Displacements:
        lengths, which = np.unique(frames.lengths, return_inverse=True)
        times = np.concatenate([self._times(int(n)) for n in lengths])
        return Displacements(
            signal,
            frames.starts[:-1],
            frames.lengths,
            self.joints_,
            self._local_pairs,
            times,
            (np.cumsum(lengths) - lengths)[which],
            sigma=self.sigma_joint,
            n_pivots=self.n_pivots_joint,
            reach=self._reach(),
            sigma_span=self.sigma_span,
            tol=self._tolerance(signal.dtype),
            scale=self.scale_,
            n_axes=self.n_axes_,
        )

    def _check_widths(self, widest: np.ndarray) -> None:
        extent, n_harmonics = widest[widest[:, 1].argmax()]
        if n_harmonics > MOST_HARMONICS:
            raise DataError(
                f"displacements of up to {extent:g} with sigma_joint={self.sigma_joint:g} would need "
                f"{n_harmonics:.0f} harmonics (at most {MOST_HARMONICS}): are the coordinates in millimetres? "
                "DCK expects metres"
            )

    def _entries_of(self, tensors: np.ndarray) -> np.ndarray:
        features = tensors.reshape(len(tensors), -1).take(self._entries, axis=1)
        features *= 2**0.5
        return features

    def _tolerance(self, dtype: np.dtype) -> float:
        """The tolerance of the sums that gives features within ``tol``, limited by the
        precision.
        """
        eps = float(np.finfo(dtype).eps)
        if self.tol < 32 * eps:
            raise ParameterError(
                f"tol={self.tol:g} cannot be met in {dtype}; ask for {32 * eps:.0e} or more, "
                "or use float64 recordings"
            )
        return max(self.tol ** (1 / self.power), 32 * eps)

    def _entry_mask(self, same: bool) -> np.ndarray:
        """Which entries are kept: p < q for a joint with itself, else all; (3Z₂, Z₃, Z₃)."""
        z2, z3 = self.n_axes_ * self.n_pivots_joint, self.n_pivots_time
        return np.broadcast_to(
            np.triu(np.ones((z3, z3), dtype=bool), 1 if same else -z3), (z2, z3, z3)
        )

    def _entry_table(self) -> np.ndarray:
        """Flat positions of the kept entries of all pairs, and their weights: √2 for an entry that
        represents two.
        """
        return np.flatnonzero(np.stack([self._entry_mask(bool(same)) for same in self._same()]))

    def _signal(self, frames: Frames) -> np.ndarray:
        x = signal_of(self.signal_name, frames)
        return x if self.scale_ == 1 else x * x.dtype.type(self.scale_)

    def get_state(self) -> dict[str, Any]:
        return {**super().get_state(), "scale": self.scale_}

    def set_state(self, state: dict[str, Any]) -> None:
        super().set_state(state)
        if not 0 < state["scale"] < np.inf:
            raise ModelFileError(f"a scale of {state['scale']!r}, expected a positive one")
        self.scale_ = float(state["scale"])

    def size_bound(self, sequence: SkeletonSequence) -> int:
        """An upper bound of the number of features of recordings like this one, without allocating
        anything of that size.
        """
        self._check_parameters()
        n = len(resolve_joints(self.joints, sequence))
        return n * (n + 1) // 2 * 3 * self.n_pivots_joint * self.n_pivots_time**2

    @property
    def signal_name(self) -> str:
        """The one signal."""
        if isinstance(self.signals, str):
            return self.signals
        if len(self.signals) != 1:
            raise ParameterError(
                f"DCK takes one signal, got signals={self.signals!r}: use a DCK for each"
            )
        return self.signals[0]

    def _reach(self) -> float:
        """The position of the outermost pivots of displacements."""
        return 1.0 + self.pivot_margin * self.sigma_joint

    def _check_parameters(self) -> None:
        check_choice("signals", self.signal_name, SIGNALS)
        check_choice("method", self.method, [None, "harmonics", "direct"])
        if self.method == "direct":
            warnings.warn(
                "method='direct' of DCK has no effect any more and will be an error in the next version: "
                "sums over frames are always computed to within tol",
                OutdatedWarning,
                stacklevel=4,
            )
        for name in ("sigma_joint", "sigma_time"):
            check_width(name, getattr(self, name))
        check_in("tol", self.tol, 0, 1, closed="neither")
        for name in ("n_pivots_joint", "n_pivots_time"):
            check_positive(name, getattr(self, name), integer=True)
        if self.sigma_span is not None:
            check_width("sigma_span", self.sigma_span)
        check_in("power", self.power, 0, 1, closed="right")
        check_in("entry_power", self.entry_power, 0, 1, closed="right")
        check_in("pivot_margin", self.pivot_margin, 0, 10)
