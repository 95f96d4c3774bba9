"""The sequence compatibility kernel, linearised: one tensor per joint."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kerneton.core.sck import Entries, Vectors
from kerneton.data.layouts import JointsLike
from kerneton.data.parameters import check_choice, check_in, check_positive
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import ModelFileError, ParameterError
from kerneton.kernels.blocks import BlockKernel, check_feature_count, check_out, resolve_joints
from kerneton.kernels.mirroring import (
    Mirror,
    image_joints,
    image_share,
    mirror_blocks,
    permuted_entries,
    reversed_pivots,
)
from kerneton.kernels.power_norm import hosvd_power, psd_power, resolvents, slice_power
from kerneton.kernels.signals import (
    SIGNALS,
    learn_scale,
    pair_signal,
    signal_of,
    warn_of_far_joints,
)
from kerneton.kernels.tensors import (
    VectorMap,
    entry_table,
    n_entries,
    unique_entries,
    vector_map,
)
from kerneton.parallel.threads import in_threads
from kerneton.prepare.frames import Frames

_FEWEST_ROWS = 4  # for which another thread is worth it
_LONGEST_VECTOR = 256  # largest d of a model file; tensors have d³ entries


class SCK(BlockKernel):
    """Sequence compatibility kernel as features: how each joint moves through space and time.

    ::

        v_is = [√β₁ φ(x_is); √β₂ z(s/T)]        T_i = 1/(T√J) Σ_s v_is ⊗ v_is ⊗ v_is

    followed by eigenvalue power normalisation of T_i and its unique entries, joint after joint.
    Without normalisation (``power=1``) dot products of features approximate `sck_kernel`.

    Parameters
    ----------
    signals : str or tuple of str
        What is compared, see `kerneton.kernels.signals.SIGNALS`; the paper uses "position". Several
        signals share one vector v; the three parameters below may then be tuples.
    sigma_joint, n_pivots_joint, joint_weight : float, int, float or tuples
        σ₂, Z₂ and β₁ of the signals; the weight of time is 1 - β₁.
    sigma_time, n_pivots_time : float, int
        σ₃ and Z₃.
    pivot_margin : float
        How many σ the pivots reach beyond [-1, 1] and [0, 1]. The paper's 0 cuts off the tails;
        with about 2, kernel values converge to the exact ones with the number of pivots.
    joints : joint set's name, joints' names or positions, optional; all by default
    pairs : bool
        Use all pairs of ``joints`` as pseudo-joints, x_i - x_j instead of x_i.
    order : {1, 2, 3}, r
    power, entry_power : float in (0, 1]
        γ of EPN, 1 for none; γ* of the entries, for ``epn="hosvd"`` only.
    epn : {"slices", "hosvd"}
        Powers of the slices, as the paper does for SCK, or of the core tensor of the HOSVD.
    entries : {"simplex", "upper", "slices"}
        After slice-wise EPN the tensor is no longer symmetric. "simplex": unique entries of its
        symmetric part; "upper": as many (the paper's sizes), from its upper simplex i ≤ j ≤ slice;
        "slices": all of every slice.
    mirror : {False, True, "partly", "bodies"}
        True averages the features of a recording and of its mirror image: left- and right-handed
        actions count as the same. "partly" adds only a quarter of the mirror image to three
        quarters of the recording: like a sum of both kernels, it sees sides, and that some people
        use the other one. "bodies" averages over the two orders of two persons. All are exact and
        need no mirrored copies, since they permute joints and pivots.
    weighting : {"alignment", None}
        Weight each joint by how well it separates the training labels, see `alignment_weights`.
    batch_size, n_jobs, device
        Recordings encoded at a time; threads; "cuda" for the GPU. None of them changes the results.

    Attributes
    ----------
    joints_ : tuple of int
    pairs_ : ndarray of shape (n_pairs, 2), with ``pairs``
    scales_ : dict of str to float, learned size of the signals that have no natural one
    block_sizes_ : ndarray of shape (n_blocks,), features per joint or pair
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
        mirror: bool | str = False,
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

    def _prepare(self, frames: Frames) -> None:
        self._map = self._vector_map()
        check_choice("order", self.order, [1, 2, 3])
        check_choice("epn", self.epn, ["slices", "hosvd"])
        check_choice("entries", self.entries, ["simplex", "upper", "slices"])
        check_in("power", self.power, 0, 1, closed="right")
        check_in("entry_power", self.entry_power, 0, 1, closed="right")
        self.joints_ = resolve_joints(self.joints, frames)
        if self.pairs:
            if len(self.joints_) < 2:
                raise ParameterError(
                    f"pairs=True needs at least two joints, got {len(self.joints_)}"
                )
            self.pairs_ = np.asarray(list(itertools.combinations(self.joints_, 2)))
        self.scales_ = {
            part.name: learn_scale(part.name, frames, self.joints_) for part in self._map.parts
        }
        for part in self._map.parts:
            if part.name == "position":
                warn_of_far_joints(frames, self.joints_, 1 + (self.pivot_margin + 2) * part.sigma)

        check_feature_count(
            len(self._tokens()) * n_entries(self._map.size, self.order, self.entries),
            f"{len(self._tokens())} {'pairs' if self.pairs else 'joints'}, n_pivots_joint={self.n_pivots_joint}, "
            f"n_pivots_time={self.n_pivots_time} and order={self.order}",
        )

    def _vector_map(self) -> VectorMap:
        joint = self.sigma_joint, self.n_pivots_joint, self.joint_weight
        time = self.sigma_time, self.n_pivots_time
        return vector_map(self.signals, *joint, *time, self.pivot_margin, self.n_axes_)

    def _tokens(self) -> list[tuple[int, ...]]:
        return (
            [tuple(pair) for pair in self.pairs_.tolist()]
            if self.pairs
            else [(int(j),) for j in self.joints_]
        )

    def _sizes(self) -> np.ndarray:
        return np.full(len(self._tokens()), n_entries(self._map.size, self.order, self.entries))

    def _make_mirror(self, sizes: np.ndarray) -> Mirror:
        """The `Mirror` of the features, or of whole tensors if the features lack what mirroring
        needs.
        """
        entries = self.entries
        if not self._mirrors_features():
            entries, sizes = "all", np.full(len(sizes), self._map.size**3)
        counts = [part.n_pivots for part in self._map.parts]
        n_axes = self._map.n_axes
        time = np.arange(n_axes * sum(counts), self._map.size)
        image_of, axes = image_joints(self.layout_, self.mirror)
        share = image_share(self.mirror)
        permutations = [
            np.append(reversed_pivots(counts, flipped, axes, n_axes), time)
            for flipped in (False, True)
        ]
        moved = [permuted_entries(permutation, self.order, entries) for permutation in permutations]
        return mirror_blocks(
            self.layout_, image_of, self._tokens(), sizes, lambda _, flipped: moved[flipped], share
        )

    def _mirrors_features(self) -> bool:
        return self.order < 3 or self.entries != "upper"

    def _features(self, frames: Frames, out: np.ndarray | None = None) -> np.ndarray:
        signals, rows, unit = self._inputs(frames)
        out = check_out(out, (len(frames), int(self.block_sizes_.sum())), signals[0].dtype)
        if self._is_hosvd():  # in float64: the power would turn rounding errors of 1e-7 into 1e-2
            signals = [signal.astype(np.float64) for signal in signals]
        scales, table = [self.scales_[part.name] for part in self._map.parts], self._map.table()
        check_positive("batch_size", self.batch_size, integer=True)
        whole = out.flags.c_contiguous and out.dtype == signals[0].dtype
        for first in range(0, len(frames), self.batch_size):
            part = slice(first, first + self.batch_size)
            starts, lengths = frames.starts[:-1][part], frames.lengths[part]
            vectors = Vectors(signals, starts, lengths, rows, scales, table, self.n_axes_, unit)
            if whole and self.order == 2 and self._mirror is None:
                order2_features(vectors, self.power, frames.n_threads, out[part])
            else:
                out[part] = self._mirrored(vectors, frames.n_threads)
        return out

    def _inputs(self, frames: Frames) -> tuple[list[np.ndarray], np.ndarray, list[int]]:
        """Signals, the joints or pairs whose vectors are summed, and the signals that become unit
        vectors there.
        """
        names = [part.name for part in self._map.parts]
        if self.pairs and not all(SIGNALS[name].linear or SIGNALS[name].unit for name in names):
            signals = [pair_signal(name, frames, self.pairs_) for name in names]
            return signals, np.array([(p, -1) for p in range(len(self.pairs_))]), []
        signals = [
            frames.joints if SIGNALS[name].unit else signal_of(name, frames) for name in names
        ]
        rows = self.pairs_ if self.pairs else np.array([(j, -1) for j in self.joints_])
        return signals, rows, [k for k, name in enumerate(names) if SIGNALS[name].unit]

    def _mirrored(self, vectors: Vectors, n_threads: int) -> np.ndarray:
        """Features of some recordings."""
        if self._mirror is None:
            return self._unmirrored(vectors, self.entries, n_threads)
        if self._mirrors_features():
            return self._mirror.average(
                self._unmirrored(vectors, self.entries, n_threads), n_threads
            )
        tensors = self._mirror.average(self._unmirrored(vectors, "all", n_threads), n_threads)
        d = vectors.size
        return unique_entries(tensors.reshape(len(tensors), -1, d, d, d), 3, self.entries).reshape(
            len(tensors), -1
        )

    def _unmirrored(self, vectors: Vectors, entries: str, n_threads: int) -> np.ndarray:
        if self.order == 1:
            return order1_features(vectors, self.power, n_threads)
        if self.order == 2:
            return order2_features(vectors, self.power, n_threads)
        if not self._is_hosvd():
            return order3_features(vectors, self.power, entries, n_threads)
        d = vectors.size
        tensors = order3_features(vectors, 1.0, "all", n_threads).reshape(-1, d, d, d)
        tensors = hosvd_power(tensors, self.power, self.entry_power)
        if entries != "all":
            tensors = unique_entries(tensors, 3, entries)
        return tensors.reshape(vectors.n_recordings, -1)

    def _is_hosvd(self) -> bool:
        return self.order == 3 and self.epn == "hosvd" and not self.power == self.entry_power == 1

    def _signal(self, frames: Frames) -> np.ndarray:
        """The chosen signals side by side, (N, J, n_axes * n_signals)."""
        columns = []
        for name in (part.name for part in self._map.parts):
            if self.pairs:
                signal = pair_signal(name, frames, self.pairs_)
            else:
                signal = signal_of(name, frames)
                if self.joints_ != tuple(range(frames.n_joints)):
                    signal = signal.take(self.joints_, axis=1)
            scale = self.scales_[name]
            signal = signal[..., : self.n_axes_]
            columns.append(signal if scale == 1 else signal * signal.dtype.type(scale))
        return columns[0] if len(columns) == 1 else np.concatenate(columns, axis=2)

    def get_state(self) -> dict[str, Any]:
        return {**super().get_state(), "scales": dict(self.scales_)}

    def set_state(self, state: dict[str, Any]) -> None:
        super().set_state(state)
        scales = state["scales"]
        if set(scales) != set(self.scales_) or not all(
            0 < scale < np.inf for scale in scales.values()
        ):
            raise ModelFileError(
                f"scales {scales!r}, expected positive ones of {', '.join(self.scales_)}"
            )
        self.scales_ = {name: float(scales[name]) for name in self.scales_}

    def size_bound(self, sequence: SkeletonSequence) -> int:
        """An upper bound of the number of features of recordings like this one, without allocating
        anything of that size.
        """
        vectors = self._vector_map()
        n = len(resolve_joints(self.joints, sequence))
        if vectors.size > _LONGEST_VECTOR:
            raise ModelFileError(f"{vectors.size} pivots in all, more than {_LONGEST_VECTOR}")
        check_choice("order", self.order, [1, 2, 3])
        return (n * (n - 1) // 2 if self.pairs else n) * n_entries(
            vectors.size, self.order, self.entries
        )


def order1_features(vectors: Vectors, power: float, n_threads: int) -> np.ndarray:
    """Features of order 1, (B, P · d), on several threads."""
    features = np.empty((vectors.n_recordings, vectors.n_rows * vectors.size), vectors.dtype)
    _in_parts(
        lambda a, b: vectors.order1(power, a, b, features),
        vectors.n_recordings * vectors.n_rows,
        n_threads,
    )
    return features


def order2_features(
    vectors: Vectors, power: float, n_threads: int, out: np.ndarray | None = None
) -> np.ndarray:
    """Features of order 2, (B, P · d(d+1)/2), on several threads, into ``out`` if
    given.
    """
    B, d = vectors.n_recordings, vectors.size
    features = out
    if features is None:
        features = np.empty((B, vectors.n_rows * (d * (d + 1) // 2)), vectors.dtype)
    poles, failed = resolvents(power, vectors.dtype), np.zeros(B, np.bool_)

    def work(first: int, last: int) -> None:
        for group in np.flatnonzero(vectors.order2(power, poles, first, last, features)):
            failed[vectors.members(first + int(group))] = True

    _in_parts(work, vectors.n_groups, n_threads)
    if failed.any():  # has not been seen; LAPACK's powers of the same sums
        sums = np.empty_like(features)
        vectors.order2(1.0, None, 0, vectors.n_groups, sums)
        i, j = np.triu_indices(d)
        A = np.empty((failed.sum(), vectors.n_rows, d, d), np.float64)
        A[..., i, j] = A[..., j, i] = sums[failed].reshape(len(A), -1, len(i)) / np.where(
            i == j, 1, math.sqrt(2)
        )
        features[failed] = unique_entries(psd_power(A, power), 2).reshape(len(A), -1)
    return features


def order3_features(vectors: Vectors, power: float, entries: str, n_threads: int) -> np.ndarray:
    """Features of order 3, (B, P · n_entries), on several threads; ``entries`` "all" is the whole
    tensor.
    """
    d, kept = vectors.size, _entries(vectors.size, entries)
    features = np.empty((vectors.n_recordings, vectors.n_rows * kept.n_entries), vectors.dtype)
    poles, failed = resolvents(power, vectors.dtype), set()

    def work(first: int, last: int) -> None:
        failed.update(vectors.order3(power, poles, kept, first, last, features).tolist())

    n_rows = vectors.n_recordings * vectors.n_rows
    _in_parts(work, n_rows, min(n_threads, max(1, n_rows // _FEWEST_ROWS)))
    if failed:  # has not been seen; LAPACK's powers of the same sums
        sums = order3_features(vectors, 1.0, "all", 1).reshape(-1, vectors.n_rows, d, d, d)[
            sorted(failed)
        ]
        tensors = slice_power(sums.astype(np.float64), power)
        found = tensors if entries == "all" else unique_entries(tensors, 3, entries)
        features[sorted(failed)] = found.reshape(len(failed), -1)
    return features


@functools.lru_cache(maxsize=16)
def _entries(d: int, kind: str) -> Entries:
    """How the core collects features of order 3."""
    if kind == "all":
        return Entries(d, np.arange(d**3)[None], np.ones(d**3))
    positions, weights = entry_table(d, 3, kind)
    return Entries(d, positions, weights / len(positions))


def _in_parts(work: Callable[[int, int], None], n: int, n_threads: int) -> None:
    """``work(first, last)`` for n items, in as many parts as threads."""
    n_threads = max(1, min(n_threads, n))
    bounds = [n * i // n_threads for i in range(n_threads + 1)]
    if n_threads == 1:
        work(0, n)
    else:
        in_threads(lambda part: work(*part), itertools.pairwise(bounds), n_threads)
