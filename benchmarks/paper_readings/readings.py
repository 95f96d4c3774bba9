"""Readings of the paper: possible meanings of its text where it is ambiguous, as changes of the
tables' method.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

from kerneton.core.dck import Displacements
from kerneton.data.sequence import SkeletonDataset, SkeletonSequence, missing_joints
from kerneton.kernels.dck import DCK
from kerneton.kernels.exact_features import ExactDCK, ExactSCK
from kerneton.kernels.power_norm import slice_power
from kerneton.kernels.sck import SCK
from kerneton.kernels.tensors import gaussian, gaussian_features, outer_power_sum, unique_entries
from kerneton.paper.choice import CS, Task, one_against_rest
from kerneton.paper.cues import Family
from kerneton.prepare.poses import fill_gaps

FOCAL_LENGTH = 285.63  # pixels of the depth camera at 320 x 240
# as the CVPR 2014 package resamples
SPLINE_FRAMES = {"florence3d": 35, "utkinect": 74, "msr_action3d": 76}


@dataclass(frozen=True)
class Reading:
    """A change of the tables' method; kernels that it does not name do not change.

    ``recordings`` changes the data, ``encoder`` the steps from recordings to features, ``levels``
    the levels of open points; ``choice`` is how C is chosen: as in the tables, freely in every
    split, or once for all splits of a cell.
    """

    title: str
    kernels: tuple[str, ...] = ("sck", "dck")
    data: tuple[str, ...] = ("florence3d", "utkinect", "msr_action3d")
    recordings: Callable[[SkeletonDataset], SkeletonDataset] | None = None
    encoder: Callable[[Pipeline], Pipeline] | None = None
    levels: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    machine: Callable[..., np.ndarray] = one_against_rest
    Cs: Sequence[float] = CS
    choice: str = "cautious"

    def task(self, task: Task) -> Task:
        """The recordings and machine of this reading."""
        data = task.data if self.recordings is None else self.recordings(task.data)
        return Task(data, task.splits, self.Cs, self.machine)

    def family(self, family: Family, kernel: str) -> Family:
        """The settings of one of the paper's kernels, sck or dck, under this reading."""
        if kernel not in self.kernels:
            return family
        factors = tuple(
            replace(f, levels=self.levels.get(f.name, f.levels)) for f in family.factors
        )
        build = (
            family.build
            if self.encoder is None
            else functools.partial(_changed, family.build, self.encoder)
        )
        return Family(factors, build)


def _changed(build: Any, change: Any, **levels: Any) -> Pipeline:
    return change(build(**levels))


def one_against_one(inside: Any, across: Any, codes: np.ndarray, Cs: Sequence[float]) -> np.ndarray:
    """Classes (n_C, n_test) by the votes of a machine per pair of classes, hinge loss and free
    intercept: LIBSVM.

    >>> one_against_one(np.eye(2), np.array([[0.9, 0.1]]), np.array([0, 1]), [1.0]).tolist()
    [[0]]
    """
    return np.array([SVC(kernel="precomputed", C=C).fit(inside, codes).predict(across) for C in Cs])


def _end_times(n_frames: int) -> np.ndarray:
    """Time from the first frame to the last, (s-1)/(T-1), (T,)."""
    return np.arange(n_frames) / max(n_frames - 1, 1)


class _SCKEnds(SCK):
    """Time from the first frame to the last; in NumPy, since the core's time is s/T."""

    def _features(self, frames: Any, out: Any = None) -> np.ndarray:
        signals, (place, pivots, inverse, amplitude) = self._signal(frames), self._map.table()
        found = []
        for x in frames.split(signals.astype(np.float64)):
            time = np.broadcast_to(_end_times(len(x))[:, None, None], (*x.shape[:2], 1))
            u = np.concatenate([x, time], axis=2)[:, :, place.astype(int)]  # -1 is time
            v = (amplitude * np.exp(-((u - pivots) ** 2) * inverse)).swapaxes(0, 1)[None]
            tensors = outer_power_sum(v, 3) / (len(x) * np.sqrt(x.shape[1]))
            found.append(unique_entries(slice_power(tensors, self.power), 3, self.entries).ravel())
        features = np.stack(found).astype(signals.dtype)
        if out is None:
            return features
        out[...] = features
        return out


class _DCKInNumpy(DCK):
    """Sums of its own, where the paper may mean others than those of the core."""

    def _recording(self, given: Displacements, b: int) -> tuple[np.ndarray, np.ndarray]:
        """x (T, J, 3) and z (T, Z₃) of a recording."""
        signal, _, joints, _, places, times = given._arrays
        start, n_frames, at = places[b]
        x = signal[start : start + n_frames, joints].astype(np.float64) * self.scale_
        return x, times[at : at + n_frames]


class _DCKEnds(DCK):
    def _times(self, n_frames: int) -> np.ndarray:
        times, sigma, n_pivots = _end_times(n_frames), self.sigma_time, self.n_pivots_time
        return gaussian_features(times, sigma=sigma, n_pivots=n_pivots, low=0.0, high=1.0)


class _DCKLater(_DCKInNumpy):
    """Displacements from a frame to later ones alone, summed lag by lag; the window is cut where it
    is below 1e-8.

    ::

        X[z,p,q] = Σ_lag G_σ4(lag) Σ_s φ_z(x_is - x_i'(s+lag)) z_p(s) z_q(s+lag)
    """

    first = 1

    def _sums(self, displacements: Displacements, first: int, last: int) -> np.ndarray:
        recordings = range(first, last)
        sums = [self._of_lags(*self._recording(displacements, b), self.first) for b in recordings]
        return np.stack(sums).astype(displacements.dtype)

    def _of_lags(self, x: np.ndarray, z: np.ndarray, first: int, stop: int | None = None) -> Any:
        """Sums over lags of a recording x (T, J, 3), z (T, Z₃); (n_pairs, 3Z, Z₃, Z₃)."""
        last = min(len(x) - 1, int(np.ceil(self._span() * np.sqrt(2 * np.log(1e8)))))
        lags = range(first, last + 1 if stop is None else stop)
        found = sum((self._at_lag(x, z, lag) for lag in lags), np.zeros(()))
        shape = len(self._local_pairs), 3 * self.n_pivots_joint, z.shape[1], z.shape[1]
        return np.broadcast_to(found / (len(self.joints_) * len(x)), shape)

    def _span(self) -> float:
        assert self.sigma_span is not None
        return self.sigma_span

    def _at_lag(self, x: np.ndarray, z: np.ndarray, lag: int) -> np.ndarray:
        T, P, (i, k) = len(x), z.shape[1], self._local_pairs.T
        steps = x[: T - lag, i] - x[lag:, k]  # (T - lag, n_pairs, 3)
        reach, Z = self._reach(), self.n_pivots_joint
        phi = gaussian_features(steps, sigma=self.sigma_joint, n_pivots=Z, low=-reach, high=reach)
        ends = z[: T - lag, :, None] * (z[lag:, None] * gaussian(lag, self._span()))
        sums = phi.reshape(T - lag, -1).T @ ends.reshape(T - lag, -1)
        return sums.reshape(len(i), 3 * Z, P, P)


class _DCKLaterOrSame(_DCKLater):
    first = 0


class _DCKAnyFrames(_DCKLater):
    """All pairs of frames, including s = s'."""

    def _sums(self, displacements: Displacements, first: int, last: int) -> np.ndarray:
        recordings = range(first, last)
        same = [self._of_lags(*self._recording(displacements, b), 0, 1) for b in recordings]
        return DCK._sums(self, displacements, first, last) + np.stack(same)


class _DCKPerRoot(_DCKInNumpy):
    """Λ = J² M N with the root of it at each recording, 1/(J √T) in place of 1/(J T)."""

    exponent = 0.5

    def _sums(self, displacements: Displacements, first: int, last: int) -> np.ndarray:
        lengths = [len(self._recording(displacements, b)[0]) for b in range(first, last)]
        factors = np.asarray(lengths, displacements.dtype) ** self.exponent
        sums = super()._sums(displacements, first, last)
        return sums * factors[:, None, None, None, None]


class _DCKPerJoints(_DCKPerRoot):
    """Λ = J², as the appendix prints it first."""

    exponent = 1.0


def _with(kinds: Mapping[str, Any], pipeline: Pipeline, **changes: Any) -> Pipeline:
    """Another kernel class instead of SCK or DCK, with the same parameters."""
    kernel = pipeline["kernel"]
    kind = kinds.get(type(kernel).__name__.lower(), type(kernel))
    given = {k: v for k, v in kernel.get_params().items() if k in kind._get_param_names()}
    return Pipeline([*pipeline.steps[:-1], ("kernel", kind(**{**given, **changes}))])


def _use(sck: Any = None, dck: Any = None, **changes: Any) -> Callable[[Pipeline], Pipeline]:
    kinds = {name: kind for name, kind in (("sck", sck), ("dck", dck)) if kind is not None}
    return functools.partial(_with, kinds, **changes)


def _in_units(size: Callable[[np.ndarray], float], pipeline: Pipeline) -> Pipeline:
    step = FunctionTransformer(functools.partial(_scaled, size))
    return Pipeline([*pipeline.steps[:-1], ("units", step), pipeline.steps[-1]])


def _scaled(
    size: Callable[[np.ndarray], float], sequences: Sequence[SkeletonSequence]
) -> list[SkeletonSequence]:
    return [s.replace(joints=s.joints / s.joints.dtype.type(size(s.joints))) for s in sequences]


def height(joints: np.ndarray) -> float:
    """Height of a body in a recording (T, J, 3): what its joints span upwards, in the tallest
    twentieth of the frames.
    """
    return float(np.quantile(np.ptp(joints[..., 1], axis=1), 0.95))


def half_span(joints: np.ndarray) -> float:
    """Half the largest extent of a recording along an axis: divided by it, its coordinates span
    [-1, 1].
    """
    return float(np.ptp(joints, axis=(0, 1)).max() / 2)


def splined(data: SkeletonDataset) -> SkeletonDataset:
    """Cubic splines resampled to one length, as the CVPR 2014 package does; gaps are filled before,
    lest splines overshoot.
    """
    from scipy.interpolate import CubicSpline

    n_frames, found = SPLINE_FRAMES.get(str(data.name), 35), []
    for s in data:
        joints = fill_gaps(s.joints, missing_joints(s)) if missing_joints(s).any() else s.joints
        curve = CubicSpline(np.arange(len(joints)), joints, axis=0)
        joints = curve(np.linspace(0, len(joints) - 1, n_frames)).astype(s.joints.dtype)
        found.append(s.replace(joints=joints, confidence=None))
    return SkeletonDataset(found, name=data.name)


def on_screen(data: SkeletonDataset) -> SkeletonDataset:
    """Screen coordinates: pixels through a pinhole, and depth; a unit is a metre at the recordings'
    median depth.
    """
    depth = float(np.median(np.concatenate([s.joints[..., 2][s.joints[..., 2] > 0] for s in data])))
    found = []
    for s in data:
        joints = fill_gaps(s.joints, missing_joints(s)) if missing_joints(s).any() else s.joints
        pixels = np.round(FOCAL_LENGTH * joints[..., :2] / np.maximum(joints[..., 2:], 0.5))
        joints = np.concatenate([pixels * depth / FOCAL_LENGTH, joints[..., 2:]], axis=-1)
        found.append(s.replace(joints=joints.astype(s.joints.dtype), confidence=None))
    return SkeletonDataset(found, name=data.name)


_ONE_POWER: dict[str, tuple[Any, ...]] = {  # fewer levels, since all pairs of frames are computed
    **{"root": (1.0,), "bones": (None,), "view": ("as recorded",), "sigma_span": (3.0,)}
}
_MANY_CS = tuple(float(C) for C in np.logspace(-2, 4, 13))

READINGS: dict[str, Reading] = {
    "printed": Reading("the tables' settings"),
    "time": Reading("time as (s - 1)/(N - 1)", encoder=_use(_SCKEnds, _DCKEnds)),
    "one-against-one": Reading("a machine per pair of classes (LIBSVM)", machine=one_against_one),
    "C-split": Reading("C of 13 values, chosen per split", Cs=_MANY_CS, choice="split"),
    "C-cell": Reading("C of 13 values, chosen per cell", Cs=_MANY_CS, choice="cell"),
    "screen": Reading("screen coordinates", data=("msr_action3d",), recordings=on_screen),
    "spline": Reading("splines resampled to one length (CVPR 2014)", recordings=splined),
    "other-joints": Reading("DCK over i < i' only", ("dck",), encoder=_use(same_joint=False)),
    "any-frames": Reading(
        "DCK over all s, s', s = s' too", ("dck",), encoder=_use(dck=_DCKAnyFrames)
    ),
    "later": Reading("DCK over s < s' only", ("dck",), encoder=_use(dck=_DCKLater)),
    "later-same": Reading("DCK over s ≤ s'", ("dck",), encoder=_use(dck=_DCKLaterOrSame)),
    "lambda-frames": Reading(
        "DCK, Λ = J²MN, its root at each side", ("dck",), encoder=_use(dck=_DCKPerRoot)
    ),
    "lambda-joints": Reading("DCK, Λ = J²", ("dck",), encoder=_use(dck=_DCKPerJoints)),
    "units-height": Reading(
        "DCK, body height 1", ("dck",), encoder=functools.partial(_in_units, height)
    ),
    "units-span": Reading(
        "DCK, recording in [-1, 1]", ("dck",), encoder=functools.partial(_in_units, half_span)
    ),
    "no-epn": Reading("EPN off, linearised", encoder=_use(power=1.0), levels=_ONE_POWER),
    "exact": Reading("EPN off, exact kernels", encoder=_use(ExactSCK, ExactDCK), levels=_ONE_POWER),
}
