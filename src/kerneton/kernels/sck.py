"""The sequence compatibility kernel, linearised: one third-order tensor a joint."""

from __future__ import annotations

import functools
import itertools
import logging
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from kerneton.data.arrays import as_dtype_of, asarray_like, index_like, is_torch, namespace_of
from kerneton.data.layouts import JointsLike
from kerneton.data.sequence import SkeletonSequence
from kerneton.data.validation import check_choice, check_feature_count, check_in, check_positive, check_width
from kerneton.exceptions import ParameterError
from kerneton.kernels.aggregate import outer_power_sum
from kerneton.kernels.blocks import BlockTransformer, resolve_joints
from kerneton.kernels.cuda import launch as _cuda
from kerneton.kernels.feature_maps import gaussian_features, pivot_scale, pivots
from kerneton.kernels.power_norm import hosvd_power, psd_power, slice_power
from kerneton.kernels.signals import SIGNALS, learn_scale, pair_signal
from kerneton.kernels.vectorize import entry_table, n_entries, permuted_entries, unique_entries

log = logging.getLogger(__name__)
_FAR = 0.9  # of the coordinates beyond the pivots: the kernel would see little but time


class SCK(BlockTransformer):
    """Sequence compatibility kernel as features: how each joint moves through space and time.

    ::

        v_is = [√β₁ φ(x_is); √β₂ z(s/T)]        T_i = 1/(T√J) Σ_s v_is ⊗ v_is ⊗ v_is

    followed by eigenvalue power normalisation of T_i and its unique entries, joint after joint. Without
    normalisation (``power=1``) dot products of features approximate `sck_kernel`.

    Parameters
    ----------
    signals : str or tuple of str
        What to look at, see `kerneton.kernels.signals.SIGNALS`; the paper uses "position". Several signals share one
        vector v, and the three parameters below may then be tuples.
    sigma_joint, n_pivots_joint, joint_weight : float, int, float or tuples
        σ₂, Z₂ and β₁ of the signals; time has the weight that β₁ leaves of one.
    sigma_time, n_pivots_time : float, int
        σ₃ and Z₃.
    pivot_margin : float
        How many σ the pivots reach beyond [-1, 1] and [0, 1]. The paper's 0 cuts the kernels' tails at the ends;
        with 2 or so kernel values converge to the exact ones as pivots grow.
    joints : joint set's name, joints' names or positions, optional
        The joints to use; all by default.
    pairs : bool
        Use all pairs of ``joints`` as pseudo-joints, x_i - x_j in place of x_i.
    order : {1, 2, 3}
        r.
    power, entry_power : float in (0, 1]
        γ of EPN, 1 for none; γ* of the entries, for ``epn="hosvd"`` only.
    epn : {"slices", "hosvd"}
        Powers of the slices, as the paper does for SCK, or of the core tensor of the HOSVD.
    entries : {"simplex", "upper", "slices"}
        Slice-wise EPN makes slices differ. Entries of the tensor's symmetric part; as many (the paper's sizes)
        from its upper simplex as it stands, i ≤ j ≤ slice; or all of every slice.
    mirror : bool
        Average the features of a recording and of its mirror image: left- and right-handed actions become one.
        Exact and without copies, since mirroring permutes joints and pivots.
    weighting : {"alignment", None}
        Weight each joint by how well it tells the training labels apart, see `alignment_weights`.
    batch_size, n_jobs, device
        Recordings encoded at a time; threads; "cuda" for the GPU. None of them changes an answer.

    Attributes
    ----------
    joints_ : tuple of int
    pairs_ : ndarray of shape (n_pairs, 2), where ``pairs``
    scales_ : dict of str to float
        Learnt size of the signals that have no natural one.
    block_sizes_ : ndarray of shape (n_blocks,)
        How many features each joint or pair has.
    weights_ : ndarray of shape (n_blocks,), where ``weighting``
    n_joints_in_ : int

    Examples
    --------
    >>> X = [np.random.default_rng(i).uniform(-1, 1, size=(20 + i, 15, 3)) for i in range(4)]
    >>> SCK().fit_transform(X).shape
    (4, 26565)
    """

    def __init__(
        self,
        *,
        signals: str | Sequence[str] = "position",
        sigma_joint: float | Sequence[float] = 0.6,
        n_pivots_joint: int | Sequence[int] = 5,
        joint_weight: float | Sequence[float] = 0.5,
        sigma_time: float = 0.5,
        n_pivots_time: int = 6,
        pivot_margin: float = 0.0,
        joints: JointsLike = None,
        pairs: bool = False,
        order: int = 3,
        power: float = 0.36,
        entry_power: float = 1.0,
        epn: str = "slices",
        entries: str = "simplex",
        mirror: bool = False,
        weighting: str | None = None,
        batch_size: int = 32,
        n_jobs: int | None = None,
        device: str | None = None,
    ) -> None:
        self.signals = signals
        self.sigma_joint = sigma_joint
        self.n_pivots_joint = n_pivots_joint
        self.joint_weight = joint_weight
        self.sigma_time = sigma_time
        self.n_pivots_time = n_pivots_time
        self.pivot_margin = pivot_margin
        self.joints = joints
        self.pairs = pairs
        self.order = order
        self.power = power
        self.entry_power = entry_power
        self.epn = epn
        self.entries = entries
        self.mirror = mirror
        self.weighting = weighting
        self.batch_size = batch_size
        self.n_jobs = n_jobs
        self.device = device

    def _prepare(self, sequences: list[SkeletonSequence]) -> None:
        blocks = self._parts = self._blocks()
        check_choice("order", self.order, [1, 2, 3])
        check_choice("epn", self.epn, ["slices", "hosvd"])
        check_choice("entries", self.entries, ["simplex", "upper", "slices"])
        check_in("power", self.power, 0, 1, closed="right")
        check_in("entry_power", self.entry_power, 0, 1, closed="right")
        check_in("pivot_margin", self.pivot_margin, 0, 10)
        self.joints_ = resolve_joints(self.joints, sequences[0])
        self._all_joints = self.joints_ == tuple(range(sequences[0].n_joints))
        if self.pairs:
            if len(self.joints_) < 2:
                raise ParameterError(f"pairs=True needs at least two joints, got {len(self.joints_)}")
            self.pairs_ = np.asarray(list(itertools.combinations(self.joints_, 2)))
        self.scales_ = {name: learn_scale(name, sequences, self.joints_) for name, *_ in blocks}
        for name, sigma, *_ in blocks:
            if name == "position":
                self._check_reach(sequences, 1 + (self.pivot_margin + 2) * sigma)
        d = sum(3 * n for _, _, n, _ in blocks) + self.n_pivots_time
        self._twins = self._mirror_table(sequences[0]) if self.mirror else None
        n_tokens = len(self.pairs_) if self.pairs else len(self.joints_)
        n_blocks = n_tokens if self._twins is None else len(self._twins[0])
        size = n_entries(d, self.order, self.entries)
        check_feature_count(
            n_blocks * size,
            f"{n_tokens} {'pairs' if self.pairs else 'joints'}, n_pivots_joint={self.n_pivots_joint}, "
            f"n_pivots_time={self.n_pivots_time} and order={self.order}",
        )
        self.block_sizes_ = np.full(n_blocks, size)

    def _check_reach(self, sequences: list[SkeletonSequence], reach: float) -> None:
        joints = [s.joints[:, self.joints_] for s in sequences]
        far = sum(int((np.abs(x) > reach).sum()) for x in joints) / sum(x.size for x in joints)
        if far > _FAR:
            log.warning(
                "%.0f%% of the coordinates lie more than %.3g from the origin, beyond the pivots: are they in "
                "millimetres, or not centred (Preprocess)? SCK expects metres around the body's root",
                100 * far,
                reach,
            )

    def _encode(self, signals: Any, n_frames: Any, n_threads: int = 1) -> Any:
        features = self._fused(signals, n_frames, n_threads)
        if features is None:
            v = self._vectors(signals, n_frames)  # (B, J, T, d)
            tensors = outer_power_sum(v, self.order)  # (B, J, d, d, d)
            tensors = self._power(tensors)
            if self._twins is not None and not self._symmetric_entries():
                tensors = self._symmetrize(tensors)
            features = unique_entries(tensors, self.order, self.entries)  # (B, J, n_entries)
        if self._twins is not None and self._symmetric_entries():
            features = self._symmetrize(features)
        return features.reshape(len(features), -1)

    def _fused(self, signals: Any, n_frames: Any, n_threads: int) -> Any | None:
        """Features (B, J, n_entries) in one kernel, where there is one and the steps are the paper's; else None."""
        if self.order == 2 and self.power < 1:
            return self._order2(signals, n_frames, n_threads)
        if self.order != 3 or self.epn != "slices" or self.power == 1:
            return None
        if is_torch(signals):
            if not signals.is_cuda or self._twins is not None:
                return None
            return _cuda.sck_features(signals, n_frames, self._vector_table(), self.power, self.entries)
        if (compiled := _compiled()) is None or (self._twins is not None and not self._symmetric_entries()):
            return None
        v = self._vectors(signals, n_frames)
        B, J, T, d = v.shape
        if not compiled.MIN_SIDE <= d <= compiled.MAX_SIDE:
            return None
        positions, weights = entry_table(d, 3, self.entries)
        v, weights = v.reshape(B * J, T, d), weights / len(positions)
        features, failed = compiled.features(v, self.power, positions, weights, n_threads)
        return None if failed.any() else features.reshape(B, J, -1)

    def _order2(self, signals: Any, n_frames: Any, n_threads: int) -> Any:
        """Features of order 2, in float64 up to the last step: the power would turn rounding of 1e-7 into 1e-2."""
        xp, table = namespace_of(signals), self._vector_table()
        compiled = _compiled_order2() if xp is np else None
        if compiled is not None and compiled.MIN_SIDE <= table.shape[1] <= compiled.MAX_SIDE:
            features, failed = compiled.features(signals, n_frames, table, self.power, n_threads)
            if not failed.any():
                return features
        double = signals.astype(np.float64) if xp is np else signals.to(xp.float64)
        if xp is np:  # one recording at a time, without its padding: no sum depends on the batch
            parts = [
                self._vectors(double[b : b + 1, :n], n_frames[b : b + 1]) for b, n in enumerate(n_frames)
            ]
        else:
            parts = [self._vectors(double, n_frames)]
        features = xp.concatenate(
            [unique_entries(psd_power(outer_power_sum(v, 2), self.power), 2) for v in parts]
        )
        return as_dtype_of(features, signals)

    def _symmetric_entries(self) -> bool:
        """Whether features are entries of a symmetric tensor, which mirroring permutes."""
        return self.order < 3 or self.entries == "simplex"

    def _vector_table(self) -> np.ndarray:
        """How each entry of v is made: place among the signals (-1 for time), pivot, 1/σ², amplitude; (4, d)."""
        rows = []
        for i, (_, sigma, n_pivots, weight) in enumerate(self._parts):
            reach = 1.0 + self.pivot_margin * sigma
            amplitude = weight**0.5 * pivot_scale(n_pivots, -reach, reach, sigma)
            for axis in range(3):
                rows += [
                    (3 * i + axis, zeta, 1 / sigma**2, amplitude) for zeta in pivots(n_pivots, -reach, reach)
                ]
        reach = self.pivot_margin * self.sigma_time
        low, high = -reach, 1.0 + reach
        amplitude = self._time_weight() ** 0.5 * pivot_scale(self.n_pivots_time, low, high, self.sigma_time)
        rows += [
            (-1, zeta, 1 / self.sigma_time**2, amplitude) for zeta in pivots(self.n_pivots_time, low, high)
        ]
        return np.asarray(rows).T

    def _time_weight(self) -> float:
        return max(1 - sum(weight for *_, weight in self._parts), 0.0)

    def _vectors(self, signals: Any, n_frames: Any) -> Any:
        """v_is = [√β₁ φ(x_is); √β₂ z(s/T)] scaled so that the outer products carry 1/(T√J); (B, J, T, d)."""
        xp = namespace_of(signals)
        B, T, J, _ = signals.shape
        blocks = self._parts
        frames = asarray_like(np.arange(1, T + 1), signals)
        lengths = as_dtype_of(n_frames, signals)
        time = frames / lengths[:, None]  # (B, T)
        reach = self.pivot_margin * self.sigma_time
        z = gaussian_features(
            time, sigma=self.sigma_time, n_pivots=self.n_pivots_time, low=-reach, high=1.0 + reach
        )
        parts = []
        for i, (_, sigma, n_pivots, weight) in enumerate(blocks):
            reach = 1.0 + self.pivot_margin * sigma
            signal = signals[..., 3 * i : 3 * i + 3]
            phi = gaussian_features(signal, sigma=sigma, n_pivots=n_pivots, low=-reach, high=reach)
            parts.append(phi.reshape(B, T, J, 3 * n_pivots) * weight**0.5)
        tail = (z * self._time_weight() ** 0.5)[:, :, None, :]
        parts.append(xp.broadcast_to(tail, (B, T, J, self.n_pivots_time)))
        v = xp.concatenate(parts, -1).swapaxes(1, 2)
        share = (time < 1 + 0.5 / T) / (lengths[:, None] * J**0.5)  # padded frames have no share
        return v * (share ** (1 / self.order))[:, None, :, None]

    def _power(self, tensors: Any) -> Any:
        if self.power == 1 and (self.entry_power == 1 or self.epn != "hosvd"):
            return tensors
        if self.order == 1:
            return tensors**self.power
        if self.order == 2:
            return psd_power(tensors, self.power)
        if self.epn == "hosvd":
            return hosvd_power(tensors, self.power, self.entry_power)
        return slice_power(tensors, self.power)

    def _symmetrize(self, found: Any) -> Any:
        """Average each joint's entries or tensor with its mirror image and keep one of each left-right pair, √2-fold."""
        assert self._twins is not None
        kept, twin, permutation, weight = self._twins
        flat = found.reshape(*found.shape[:2], -1)  # (B, J, n)
        both = flat[:, index_like(twin, found)]
        for signs in np.unique(permutation, axis=0):
            at = index_like(np.flatnonzero((permutation == signs).all(axis=1)), found)
            if self._symmetric_entries():
                moved = permuted_entries(signs, self.order)
            else:
                moved = (
                    np.arange(len(signs) ** 3).reshape((len(signs),) * 3)[np.ix_(signs, signs, signs)].ravel()
                )
            both[:, at] = both[:, at][..., index_like(moved, found)]
        mean = (flat[:, index_like(kept, found)] + both) * asarray_like(weight / 2, found)[:, None]
        return mean.reshape(len(mean), len(kept), *found.shape[2:])

    def _mirror_table(self, sequence: SkeletonSequence) -> tuple[np.ndarray, ...]:
        """Blocks to keep, their mirror images, where each pivot goes, and weights; a row a kept block."""
        if sequence.layout is None:
            raise ParameterError("mirror=True needs recordings with a layout that knows left and right")
        other = sequence.layout.mirror
        tokens = [tuple(p) for p in self.pairs_] if self.pairs else [(j,) for j in self.joints_]
        position = {t: i for i, t in enumerate(tokens)}
        reverse = [self._reversal(flipped) for flipped in (False, True)]
        rows = []
        for i, token in enumerate(tokens):
            image = tuple(int(other[j]) for j in token)
            flipped = image not in position and image[::-1] in position  # x_j - x_i in place of x_i - x_j
            if not flipped and image not in position:
                names = ", ".join(sequence.layout.joints[j] for j in image)
                raise ParameterError(f"mirror=True needs both sides: {names} is not among the joints")
            twin = position[image[::-1] if flipped else image]
            if twin >= i:
                rows.append((i, twin, reverse[flipped], 1.0 if twin == i else 2**0.5))
        kept, twins, permutations, weights = zip(*rows, strict=True)
        return np.asarray(kept), np.asarray(twins), np.asarray(permutations), np.asarray(weights)

    def _reversal(self, flipped: bool) -> np.ndarray:
        """Where each entry of v goes under x → -x, or (y, z) → -(y, z) for a pair that changes its order; (d,)."""
        moved, start = [], 0
        for _, _, n_pivots, _ in self._parts:
            for axis in range(3):
                index = np.arange(start, start + n_pivots)
                moved.append(index[::-1] if (axis == 0) != flipped else index)
                start += n_pivots
        moved.append(np.arange(start, start + self.n_pivots_time))
        return np.concatenate(moved)

    def _signal(self, sequence: SkeletonSequence) -> np.ndarray:
        """The chosen signals side by side, (T, J, 3 * n_signals)."""
        parts = []
        for name, *_ in self._parts:
            if self.pairs:
                signal = pair_signal(name, sequence, self.pairs_)
            else:
                signal = SIGNALS[name](sequence)
                if not self._all_joints:
                    signal = signal.take(self.joints_, axis=1)
            scale = self.scales_[name]
            parts.append(signal if scale == 1 else signal * signal.dtype.type(scale))
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=2)

    def _blocks(self) -> list[tuple[str, float, int, float]]:
        """(signal, σ, Z, β) of each signal, checked."""
        names = (self.signals,) if isinstance(self.signals, str) else tuple(self.signals)
        if not names:
            raise ParameterError(f"signals is empty; choose from {', '.join(SIGNALS)}")
        for name in names:
            check_choice("signals", name, SIGNALS)
        columns = []
        for parameter in ("sigma_joint", "n_pivots_joint", "joint_weight"):
            value = getattr(self, parameter)
            values = tuple(value) if isinstance(value, (tuple, list)) else (value,) * len(names)
            if len(values) != len(names):
                raise ParameterError(f"{parameter} has {len(values)} values for {len(names)} signals")
            for v in values:
                if parameter == "joint_weight":
                    check_in(parameter, v, 0, 1)
                elif parameter == "sigma_joint":
                    check_width(parameter, v)
                else:
                    check_positive(parameter, v, integer=True)
            columns.append(values)
        check_width("sigma_time", self.sigma_time)
        check_positive("n_pivots_time", self.n_pivots_time, integer=True)
        if sum(columns[2]) > 1 + 1e-9:
            raise ParameterError(f"joint_weight must leave a share for time: its sum is {sum(columns[2])}")
        return list(zip(names, *columns, strict=True))


@functools.cache
def _compiled_order2() -> ModuleType | None:
    """Matrices from signals to features, compiled, imported when first used; None without Numba."""
    try:
        from kerneton.kernels.compiled import sck_order2
    except ImportError:
        return None
    return sck_order2


@functools.cache
def _compiled() -> ModuleType | None:
    """All that follows the vectors, compiled, imported when first used; None without Numba."""
    try:
        from kerneton.kernels.compiled import sck_features as _sck_numba
    except ImportError:
        return None
    return _sck_numba
