"""The exact kernels as features of few recordings: inner products with the training recordings are
kernel values.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kerneton.core.dck import MOST_HARMONICS, Displacements
from kerneton.data.checks import check_sequences
from kerneton.data.layouts import JointsLike
from kerneton.data.parameters import check_width
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError, ModelFileError, ParameterError
from kerneton.kernels.blocks import resolve_joints, still_recording
from kerneton.kernels.exact import sck_pair
from kerneton.kernels.tensors import gaussian, gaussian_features
from kerneton.parallel.threads import count_threads, in_threads

MOST_RECORDINGS = 1000
MOST_COMPARISONS = 4 * 10**10  # joints × (frames of all recordings)²
_MOST_DENSE = 2 * 10**5  # numbers of dense features per pair of joints
_CACHED = 2**16  # pairs of frames at a time
_CHUNK = 2**25  # numbers of dense features at a time
_LEAST = 1e-6  # singular value, as a share of the largest
_SPACING, _MARGIN = 0.6, 2.5  # of dense pivots, in σ: the error of the sum is 1e-5


class ExactKernel(TransformerMixin, BaseEstimator):
    """Recordings to features (n, r + 1) whose inner products with the training recordings are
    kernel values.

    ::

        K = U diag(λ) Uᵀ        f(x) = [k_x U λ^(-1/2); √(k(x, x) - ‖k_x U λ^(-1/2)‖²)]

    K (n, n) holds the values between the n training recordings, k_x (n,) those of x with them, r is
    the rank of K. The last feature is zero for training recordings; it gives any other recording
    its true length, so that centring, unit norm (`CenterNormalize`) and a linear classifier give
    the same results as with the Gram matrix. The training recordings are stored. Time and memory
    grow with the square of their number: more than MOST_RECORDINGS, or MOST_COMPARISONS of their
    frames, are refused. A subclass has ``_prepare(sequence)``, which checks the parameters,
    ``_kernel(A, B)`` and ``_squares(A)``.
    """

    joints: JointsLike
    joints_: tuple[int, ...]

    def fit(self, X: Iterable[Any], y: Any = None) -> Any:
        """Compute all kernel values between the training recordings."""
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Iterable[Any], y: Any = None) -> np.ndarray:  # noqa: ARG002
        """Fit, and the features of the training recordings."""
        sequences = check_sequences(X)
        self.n_joints_in_, self.layout_ = sequences[0].n_joints, sequences[0].layout
        self._prepare(sequences[0])
        n_frames = sum(s.n_frames for s in sequences)
        if len(sequences) > MOST_RECORDINGS or len(self.joints_) * n_frames**2 > MOST_COMPARISONS:
            raise DataError(
                f"{len(sequences)} recordings with {n_frames} frames of {len(self.joints_)} joints are too many for an exact "
                f"kernel, which compares all frames with all frames: at most {MOST_RECORDINGS} recordings, and joints "
                f"times frames² up to {MOST_COMPARISONS:.0e}; SCK and DCK, the linearised kernels, have no such limit"
            )
        self.poses_ = self._poses(sequences)
        K = self._kernel(self.poses_, None)
        values, vectors = np.linalg.eigh(K)
        held = values > len(K) * np.finfo(float).eps * max(values[-1], 0)
        self.basis_ = vectors[:, held] / np.sqrt(values[held])
        return np.pad(K @ self.basis_, ((0, 0), (0, 1))).astype(sequences[0].joints.dtype)

    def transform(self, X: Iterable[Any]) -> np.ndarray:
        """Features, (n, r + 1)."""
        check_is_fitted(self, "basis_")
        sequences = check_sequences(X, n_joints=self.n_joints_in_, layout=self.layout_)
        poses = self._poses(sequences)
        known = self._kernel(poses, self.poses_) @ self.basis_
        squares = self._squares(poses)
        rest = squares - np.square(known).sum(axis=1)
        rest[rest < 1e-12 * squares] = 0  # a training recording, up to rounding
        return np.column_stack([known, np.sqrt(rest)]).astype(sequences[0].joints.dtype)

    def get_state(self) -> dict[str, Any]:
        """The training recordings and what was computed from them, for a file."""
        return {
            "n_joints": self.n_joints_in_,
            "layout": self.layout_,
            "frames": np.concatenate(self.poses_),
            "lengths": [len(x) for x in self.poses_],
            "basis": self.basis_,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore what ``get_state`` returned; values that do not fit are refused."""
        self.n_joints_in_, self.layout_ = state["n_joints"], state["layout"]
        self._prepare(still_recording(self.layout_, self.n_joints_in_))
        frames, lengths, basis = (
            np.asarray(state["frames"]),
            state["lengths"],
            np.asarray(state["basis"]),
        )
        sound = all(type(n) is int and n > 0 for n in lengths) and sum(lengths) == len(frames)
        if (
            not sound
            or frames.shape[1:] != (len(self.joints_), 3)
            or not 0 < basis.shape[-1] <= len(lengths)
            or basis.shape != (len(lengths), basis.shape[-1])
        ):
            raise ModelFileError(
                f"{len(lengths)} recordings of frames {frames.shape} with a basis {basis.shape} are inconsistent"
            )
        self.poses_, self.basis_ = np.split(frames, np.cumsum(lengths)[:-1]), basis

    def _poses(self, sequences: Sequence[SkeletonSequence]) -> list[np.ndarray]:
        return [s.joints[:, self.joints_].astype(np.float64) for s in sequences]

    def _prepare(self, sequence: SkeletonSequence) -> None:
        raise NotImplementedError

    def _kernel(self, A: list[np.ndarray], B: list[np.ndarray] | None) -> np.ndarray:
        raise NotImplementedError

    def _squares(self, A: list[np.ndarray]) -> np.ndarray:
        raise NotImplementedError

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "basis_")


class ExactSCK(ExactKernel):
    """SCK without linearisation and without power normalisation.

    See `sck_kernel` for the formula, and `ExactKernel`.

    Parameters
    ----------
    sigma_joint, sigma_time, joint_weight, order : float, float, float, int
        σ₂, σ₃, β₁ and r, as in `SCK`.
    joints : joint set's name, joints' names or positions, optional; all by default
    n_jobs : int, optional
        Threads.

    Examples
    --------
    >>> from kerneton import sck_kernel
    >>> X = [np.random.default_rng(i).uniform(-1, 1, size=(5 + i, 4, 3)) for i in range(3)]
    >>> kernel = ExactSCK().fit(X[:2])
    >>> features = kernel.transform(X)
    >>> np.allclose(features @ features[:2].T, sck_kernel(X, X[:2]))
    True
    """

    def __init__(
        self,
        *,
        sigma_joint: float = 0.6,
        sigma_time: float = 0.5,
        joint_weight: float = 0.5,
        order: int = 3,
        joints: JointsLike = None,
        n_jobs: int | None = None,
    ) -> None:
        self.sigma_joint = sigma_joint
        self.sigma_time = sigma_time
        self.joint_weight = joint_weight
        self.order = order
        self.joints = joints
        self.n_jobs = n_jobs

    def _prepare(self, sequence: SkeletonSequence) -> None:
        self.joints_ = resolve_joints(self.joints, sequence)
        names = ("sigma_joint", "sigma_time", "joint_weight", "order")
        sck_pair(**{name: getattr(self, name) for name in names})  # checks the parameters

    def _kernel(self, A: list[np.ndarray], B: list[np.ndarray] | None) -> np.ndarray:
        others = A if B is None else B
        frames, lengths = np.concatenate(others), np.array([len(b) for b in others])
        ends = np.cumsum(lengths)

        def row(i: int) -> np.ndarray:
            n = i + 1 if B is None else len(B)
            return self._row(A[i], frames[: ends[n - 1]], lengths[:n])

        rows = in_threads(row, range(len(A)), count_threads(self.n_jobs))
        if B is not None:
            return np.array(rows)
        K = np.empty((len(A), len(A)))
        for i, values in enumerate(rows):
            K[i, : i + 1] = K[: i + 1, i] = values
        return K

    def _row(self, a: np.ndarray, frames: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """Kernel values of one recording (M, J, 3) with others, whose frames (F, J, 3) are
        concatenated.
        """
        times = np.concatenate([np.arange(1, n + 1) / n for n in lengths])
        sums = np.zeros(len(frames))
        size = max(1, _CACHED // len(a))
        for part in (slice(start, start + size) for start in range(0, len(frames), size)):
            in_time = gaussian(
                (np.arange(1, len(a) + 1) / len(a))[:, None] - times[part], self.sigma_time
            )
            other = frames[part].transpose(1, 2, 0)
            for x, y in zip(a.transpose(1, 2, 0), other, strict=True):  # (3, M), (3, F)
                alike = sum(gaussian(x[i][:, None] - y[i], self.sigma_joint) for i in range(3))
                both = self.joint_weight * alike + (1 - self.joint_weight) * in_time
                sums[part] += functools.reduce(np.multiply, [both] * self.order).sum(axis=0)
        return np.add.reduceat(sums, np.cumsum(lengths) - lengths) / (a.shape[1] * len(a) * lengths)

    def _squares(self, A: list[np.ndarray]) -> np.ndarray:
        return np.concatenate([self._row(a, a, np.array([len(a)])) for a in A])


class ExactDCK(ExactKernel):
    """DCK without power normalisation, with Gaussians accurate to 1e-4.

    See `dck_kernel` for the formula, and `ExactKernel`.

    Computed directly, the sum over pairs of frames of both recordings takes T⁴ steps. Here each
    Gaussian is a sum over pivots so dense that the approximation error is negligible, and only
    products of tensors remain.

    Parameters
    ----------
    joints : joint set's name, joints' names or positions, optional; all by default
    sigma_joint, sigma_time, sigma_span : float, float, float or None
        σ₂', σ₃', σ₄', as in `DCK`.
    same_joint : bool
        Also pair a joint with itself at two times.

    Examples
    --------
    >>> from kerneton import dck_kernel
    >>> X = [np.random.default_rng(i).uniform(-1, 1, size=(5 + i, 3, 3)) for i in range(3)]
    >>> kernel = ExactDCK(sigma_span=3.0).fit(X[:2])
    >>> features = kernel.transform(X)
    >>> np.allclose(
    ...     features @ features[:2].T,
    ...     dck_kernel(X, X[:2], sigma_span=3.0, same_joint=True),
    ...     rtol=1e-4,
    ... )
    True
    """

    def __init__(
        self,
        *,
        joints: JointsLike = None,
        sigma_joint: float = 0.6,
        sigma_time: float = 0.5,
        sigma_span: float | None = None,
        same_joint: bool = True,
    ) -> None:
        self.joints = joints
        self.sigma_joint = sigma_joint
        self.sigma_time = sigma_time
        self.sigma_span = sigma_span
        self.same_joint = same_joint

    def _prepare(self, sequence: SkeletonSequence) -> None:
        self.joints_ = resolve_joints(self.joints, sequence)
        for name in ("sigma_joint", "sigma_time"):
            check_width(name, getattr(self, name))
        if self.sigma_span is not None:
            check_width("sigma_span", self.sigma_span)
        if len(self.joints_) < 2 and not self.same_joint:
            raise ParameterError("ExactDCK needs at least two joints, or same_joint=True")
        choose = (
            itertools.combinations_with_replacement if self.same_joint else itertools.combinations
        )
        self._pairs = np.asarray(list(choose(range(len(self.joints_)), 2)))

    def _kernel(self, A: list[np.ndarray], B: list[np.ndarray] | None) -> np.ndarray:
        every = A if B is None else [*A, *B]
        K = np.zeros((len(A), len(every) if B is None else len(B)))
        for features in self._dense(every):
            left = features[: len(A)]
            K += left @ (left if B is None else features[len(A) :]).T
        return K

    def _squares(self, A: list[np.ndarray]) -> np.ndarray:
        return np.asarray(sum(np.square(features).sum(axis=1) for features in self._dense(A)))

    def _dense(self, poses: list[np.ndarray]) -> Iterable[np.ndarray]:
        """Tensors of all recordings with dense pivots, some pairs of joints at a time; (n,
        n_entries).
        """
        extents = [float(np.ptp(x, axis=(0, 1)).max()) for x in poses]
        reach = np.ceil(4 * max(extents)) / 4 + _MARGIN * self.sigma_joint
        n_pivots = 1 + int(np.ceil(2 * reach / (_SPACING * self.sigma_joint)))
        early = _MARGIN * self.sigma_time
        n_times = 1 + int(np.ceil((1 + 2 * early) / (_SPACING * self.sigma_time)))
        if 3 * n_pivots * n_times**2 > _MOST_DENSE:
            raise DataError(
                f"displacements of up to {max(extents):g} with sigma_joint={self.sigma_joint:g} and "
                f"sigma_time={self.sigma_time:g} need {3 * n_pivots * n_times**2} numbers per pair of joints (at most "
                f"{_MOST_DENSE}): are the coordinates in millimetres? ExactDCK expects metres"
            )
        times: Any = {
            "sigma": self.sigma_time,
            "n_pivots": n_times,
            "low": -early,
            "high": 1 + early,
        }
        # Dense pivots of time are projected on fewer coordinates; inner products stay the same up
        # to the tolerance.
        grid = gaussian_features(np.linspace(0, 1, 500), **times)
        _, values, turn = np.linalg.svd(grid, full_matrices=False)
        turn = turn[values > _LEAST * values[0]].T
        chunk = max(1, _CHUNK // (len(poses) * 3 * n_pivots * turn.shape[1] ** 2))
        same: Any = {"sigma": self.sigma_joint, "n_pivots": n_pivots, "sigma_span": self.sigma_span}
        lengths = np.array([len(x) for x in poses])
        starts = np.cumsum(lengths) - lengths
        z = np.concatenate(
            [gaussian_features(np.arange(1, n + 1) / n, **times) @ turn for n in lengths]
        )
        given = np.concatenate(poses), starts, lengths, range(len(self.joints_))
        for start in range(0, len(self._pairs), chunk):
            pairs = self._pairs[start : start + chunk]
            displacements = Displacements(*given, pairs, z, starts, reach=reach, tol=1e-9, **same)
            features = np.empty((len(poses), *displacements.shape))
            displacements.sums(0, len(poses), features)
            if displacements.widest[:, 1].max() > MOST_HARMONICS:
                raise DataError(
                    f"displacements of up to {max(extents):g} are too far for sigma_joint={self.sigma_joint:g}: are "
                    "the coordinates in millimetres? ExactDCK expects metres"
                )
            # Each pair of two joints counts for two.
            features *= np.sqrt(2.0 - (pairs[:, 0] == pairs[:, 1]))[:, None, None, None]
            yield features.reshape(len(features), -1)
