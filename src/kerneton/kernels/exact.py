"""The exact kernels, slow and simple: the reference with which all faster versions are compared in
tests.
"""

from __future__ import annotations

import functools
import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from kerneton.data.checks import check_sequences
from kerneton.data.parameters import check_choice, check_in, check_width
from kerneton.data.progress import Progress, silent
from kerneton.data.wording import many
from kerneton.exceptions import KernetonWarning
from kerneton.kernels.tensors import gaussian

_LONG = 60.0  # seconds from which a kernel says beforehand how long it will take


def sck_kernel(
    X: Iterable[Any],
    Y: Iterable[Any] | None = None,
    *,
    sigma_joint: float = 0.6,
    sigma_time: float = 0.5,
    joint_weight: float = 0.5,
    order: int = 3,
    sigma_index: float = 0.0,
    isotropic: bool = False,
    progress: Progress | None = None,
) -> np.ndarray:
    """Exact sequence compatibility kernel between recordings, (n_X, n_Y).

    ::

        K_S(A, B) = 1/(J M N) Σ_is Σ_jt G_σ1(i-j) (β₁ G_σ2(x_is - y_jt) + β₂ G_σ3(s/M - t/N))^r

    G_σ2 of a vector is the sum of three one-dimensional Gaussians, as the paper computes it, or the
    isotropic Gaussian. ``sigma_joint`` is σ₂, ``sigma_time`` σ₃, ``joint_weight`` β₁ = 1 - β₂,
    ``order`` r, and ``sigma_index`` is σ₁, with which a joint is also compared with its neighbours
    in the list; 0 compares each joint only with itself. ``progress`` is called like ``tqdm.tqdm``.

    >>> A = np.random.default_rng(0).uniform(-1, 1, size=(6, 4, 3))
    >>> sck_kernel([A, A[:3]]).shape
    (2, 2)
    """
    pair = sck_pair(
        sigma_joint=sigma_joint,
        sigma_time=sigma_time,
        joint_weight=joint_weight,
        order=order,
        sigma_index=sigma_index,
        isotropic=isotropic,
    )
    return _gram("sck_kernel", pair, X, Y, 1, progress)


def sck_pair(
    *,
    sigma_joint: float,
    sigma_time: float,
    joint_weight: float,
    order: int,
    sigma_index: float = 0.0,
    isotropic: bool = False,
) -> Callable[[np.ndarray, np.ndarray], float]:
    """The kernel of `sck_kernel` as a function of two recordings (M, J, 3) and (N, J, 3);
    parameters are checked.

    >>> pair = sck_pair(sigma_joint=0.6, sigma_time=0.5, joint_weight=0.5, order=3)
    >>> pair(np.zeros((1, 1, 3)), np.zeros((1, 1, 3)))  # (3/2 + 1/2)³
    8.0
    """
    check_width("sigma_joint", sigma_joint)
    check_width("sigma_time", sigma_time)
    check_in("joint_weight", joint_weight, 0, 1)
    check_choice("order", order, [1, 2, 3])
    check_in("sigma_index", sigma_index, 0, np.inf, closed="left")
    if sigma_index:
        check_width("sigma_index", sigma_index)

    def pair(a: np.ndarray, b: np.ndarray) -> float:
        n_joints = a.shape[1]
        in_time = gaussian(_times(len(a))[:, None] - _times(len(b)), sigma_time)  # (M, N)
        total = 0.0
        for i in range(n_joints):
            for j in range(n_joints) if sigma_index else (i,):
                alike = 1.0 if sigma_index == 0 else gaussian(float(i - j), sigma_index)
                steps = a.T[:, i, :, None] - b.T[:, j, None, :]  # (3, M, N)
                both = joint_weight * _gaussian3(steps, sigma_joint, isotropic, axis=0)
                both += (1 - joint_weight) * in_time
                # several times faster than **
                power = functools.reduce(np.multiply, [both] * order)
                total += alike * power.sum()
        return float(total / (n_joints * len(a) * len(b)))

    return pair


def dck_kernel(
    X: Iterable[Any],
    Y: Iterable[Any] | None = None,
    *,
    sigma_joint: float = 0.6,
    sigma_time: float = 0.5,
    sigma_span: float | None = None,
    sigma_index: float = 0.0,
    same_joint: bool = False,
    isotropic: bool = False,
    progress: Progress | None = None,
) -> np.ndarray:
    """Exact dynamics compatibility kernel between recordings, (n_X, n_Y).

    ::

        K_D(A, B) = 1/(J² M N) Σ_{i≠i', s≠s'} Σ_{j≠j', t≠t'} G_σ1(i-j) G_σ1(i'-j')
                    G_σ2((x_is - x_i's') - (y_jt - y_j't')) G_σ3(s/M - t/N) G_σ3(s'/M - t'/N)
                    G_σ4(s-s') G_σ4(t-t')

    ``sigma_span`` is σ₄ in frames, None for no window; ``sigma_index`` is σ₁, 0 compares each pair
    of joints only with itself; ``same_joint`` adds the pairs i = i'. ``progress`` is called like
    ``tqdm.tqdm``. The cost is O(J² M² N²): for short recordings and few joints; a warning says if
    it will take minutes.

    >>> A = np.random.default_rng(0).uniform(-1, 1, size=(5, 3, 3))
    >>> dck_kernel([A, A[:4]], sigma_span=3.0).shape
    (2, 2)
    """
    check_width("sigma_joint", sigma_joint)
    check_width("sigma_time", sigma_time)
    if sigma_span is not None:
        check_width("sigma_span", sigma_span)
    check_in("sigma_index", sigma_index, 0, np.inf, closed="left")
    if sigma_index:
        check_width("sigma_index", sigma_index)

    def pair(a: np.ndarray, b: np.ndarray) -> float:
        n_joints = a.shape[1]
        in_time = gaussian(_times(len(a))[:, None] - _times(len(b)), sigma_time)
        # Axes (s, s', t, t') of the sum over frames.
        ends = in_time[:, None, :, None] * in_time[None, :, None, :]
        ends = (
            ends
            * span_window(len(a), sigma_span)[:, :, None, None]
            * span_window(len(b), sigma_span)
        )
        pairs = [(i, k) for i in range(n_joints) for k in range(n_joints) if same_joint or i != k]
        total = 0.0
        for i, k in pairs:
            steps_a = a[:, None, i] - a[None, :, k]  # (M, M, 3)
            for j, m in pairs if sigma_index else [(i, k)]:
                alike = (
                    gaussian(float(i - j), sigma_index) * gaussian(float(k - m), sigma_index)
                    if sigma_index
                    else 1.0
                )
                steps_b = b[:, None, j] - b[None, :, m]  # (N, N, 3)
                in_space = _gaussian3(steps_a[:, :, None, None] - steps_b, sigma_joint, isotropic)
                total += alike * (in_space * ends).sum()
        return total / (n_joints**2 * len(a) * len(b))

    return _gram("dck_kernel", pair, X, Y, 2, progress)


def _gaussian3(
    differences: np.ndarray, sigma: float, isotropic: bool, axis: int = -1
) -> np.ndarray:
    parts = gaussian(differences, sigma)
    return parts.prod(axis=axis) if isotropic else parts.sum(axis=axis)


def _times(n_frames: int) -> np.ndarray:
    """Relative times s/T, s = 1..T."""
    return np.arange(1, n_frames + 1) / n_frames


def _gram(
    name: str,
    pair: Callable[[np.ndarray, np.ndarray], float],
    X: Iterable[Any],
    Y: Iterable[Any] | None,
    power: int,
    progress: Progress | None,
) -> np.ndarray:
    """The kernel of all pairs; one pair costs (M N)^power. Says so if it will take long."""
    checked = check_sequences(X)
    left = [s.joints.astype(np.float64) for s in checked]
    right = left
    if Y is not None:
        others = check_sequences(Y, n_joints=checked[0].n_joints, layout=checked[0].layout)
        right = [s.joints.astype(np.float64) for s in others]
    K = np.empty((len(left), len(right)))
    pairs = [
        (i, j) for i in range(len(left)) for j in range(len(right) if Y is not None else i + 1)
    ]
    # The most expensive first: what it takes tells what all take.
    costs = {(i, j): float(len(left[i]) * len(right[j])) ** power for i, j in pairs}
    pairs.sort(key=lambda ij: -costs[ij])
    start = time.perf_counter()
    for k, (i, j) in enumerate((progress or silent)(pairs, total=len(pairs), desc=name)):
        K[i, j] = pair(left[i], right[j])
        if Y is None:
            K[j, i] = K[i, j]
        if k == 0:
            seconds = (time.perf_counter() - start) * sum(costs.values()) / costs[pairs[0]]
            if seconds > _LONG:
                warnings.warn(_foreseen(name, len(pairs), seconds), KernetonWarning, stacklevel=3)
    return K


def _foreseen(name: str, n_pairs: int, seconds: float) -> str:
    """What is said before a long computation.

    >>> _foreseen("dck_kernel", 1770, 9000.0)[:66]
    'dck_kernel of 1770 pairs of recordings takes about 2.5 hours: the '
    """
    minutes = seconds / 60
    took = many(round(minutes), "minute") if minutes < 90 else f"{minutes / 60:.1f} hours"
    return (
        f"{name} of {n_pairs} pairs of recordings takes about {took}: the exact kernel is for short "
        f"recordings and few joints; {name[:3].upper()}(...) gives features that approximate it in "
        "a fraction of the time"
    )


def span_window(n_frames: int, sigma_span: float | None) -> np.ndarray:
    """B = G_σ4(s-s') without its diagonal, (T, T); ones without a window.

    >>> span_window(2, None).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    steps = np.subtract.outer(np.arange(n_frames), np.arange(n_frames)).astype(float)
    window = np.ones_like(steps) if sigma_span is None else gaussian(steps, sigma_span)
    np.fill_diagonal(window, 0)
    return window
