"""What each frame of a recording adds to a weighted sum of a kernel's features, exactly.

The features of a joint or pair are the entries of a power of a sum over frames, so what a
classifier reads from them is ``f(A) = ⟨W, A^γ⟩``, ``A = Σ_s v_s ⊗ v_s``. It is homogeneous of
degree γ, so by Euler's theorem

    f(A) = 1/γ ⟨∇f(A), A⟩ = Σ_s 1/γ ⟨∇f(A), v_s ⊗ v_s⟩

and the terms of this sum are the shares of the frames. With ``A = U diag(λ) Uᵀ`` the derivative
of a power is (Daleckii and Krein)

    ∇f(A) = U (K ∘ (Uᵀ W U)) Uᵀ,   K_ij = (λ_i^γ - λ_j^γ) / (λ_i - λ_j),   K_ii = γ λ_i^(γ-1)

Directions below the numerical rank are left out, as in the power itself. The slices of
third-order tensors are such matrices too, and the powers of order 1 are those of numbers.

Powers of the core of a HOSVD are homogeneous as well, but their derivative does not exist where
two singular values are equal. There, the singular vectors are held fixed, and each entry of the
core, raised to its power, is divided among the frames in proportion to what they brought to it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from kerneton.core.poses import motion
from kerneton.core.powers import power_gradient
from kerneton.data.sequence import SkeletonSequence
from kerneton.kernels.dck import DCK
from kerneton.kernels.exact import span_window
from kerneton.kernels.mirroring import Token
from kerneton.kernels.power_norm import EPS
from kerneton.kernels.sck import SCK
from kerneton.kernels.tensors import entry_table, gaussian_features
from kerneton.prepare.frames import Frames

# Of each joint or pair: the shares of its joints at each frame, (T, n), and how a part that belongs
# to no frame is divided between them, (n,).
Shares = dict[Token, tuple[np.ndarray, np.ndarray]]

_AT_ONCE = 64  # frames whose displacements to the others are in memory together
_TAIL = 1e-17  # of the window between two frames: what is below is not summed


def frame_shares(kernel: Any, poses: SkeletonSequence, weights: np.ndarray) -> Shares | None:
    """The shares of joints and frames in ⟨weights, features⟩, by joint or pair.

    ``weights`` are (n_features,), for the features as `kernel` returns them. Blocks of mirrored
    joints are taken apart: averaging features over mirror images is linear, so the weights can be
    averaged instead. The sum of a pair is exact; between its joints it is divided by how they move
    at that frame. None for kernels whose sums over frames are not known.

    >>> from kerneton import SCK
    >>> walk = SkeletonSequence(np.random.default_rng(0).normal(size=(9, 2, 3)))
    >>> kernel = SCK(order=2).fit([walk])
    >>> features = kernel.transform([walk])[0]
    >>> weights = np.linspace(-1, 1, len(features))
    >>> shares = frame_shares(kernel, walk, weights)
    >>> {token: share.shape for token, (share, _) in shares.items()}
    {(0,): (9, 1), (1,): (9, 1)}
    >>> bool(np.isclose(sum(share.sum() for share, _ in shares.values()), weights @ features))
    True
    """
    if type(kernel) not in (SCK, DCK):
        return None
    if kernel.weighting is not None:
        weights = weights * np.repeat(np.sqrt(kernel.weights_), kernel.block_sizes_)
    return (_sck_shares if type(kernel) is SCK else _dck_shares)(kernel, poses, weights)


def _unmirrored(kernel: Any, weights: np.ndarray, n_features: int) -> np.ndarray:
    """Weights of unmirrored features with the same sum, from those of mirrored ones."""
    mirror = kernel._mirror
    if mirror is None:
        return weights
    plain = np.bincount(mirror.columns, weights * mirror.own, n_features)
    return plain + np.bincount(mirror.source, weights * mirror.other, n_features)


def _division(*moved: np.ndarray) -> np.ndarray:
    """The share of each joint, (..., n): of a pair in proportion to their `motion`.

    A hand that moves past a head at rest is what the pair of both is about. Where neither moves,
    each has half.

    >>> _division(np.array([9.0, 1e-12]), np.array([1.0, 1e-12])).round(6).tolist()
    [[0.9, 0.1], [0.5, 0.5]]
    """
    if len(moved) == 1:
        return np.ones((*moved[0].shape, 1))
    one, other = moved
    first = one / (one + other)
    return np.stack([first, 1 - first], axis=-1)


# SCK


def _sck_shares(kernel: SCK, poses: SkeletonSequence, weights: np.ndarray) -> Shares:
    tokens = kernel._tokens()
    tensors = _tensor_weights(kernel, weights, len(tokens))
    vectors = _frame_vectors(kernel, poses, len(tokens))
    moved = motion(poses.joints, poses.fps)
    shares: Shares = {}
    for token, v, W in zip(tokens, vectors, tensors, strict=True):
        division = _division(*(moved[:, j] for j in token))
        share = _sck_share(kernel, v, W)[:, None]
        shares[token] = share * division, division.mean(axis=0)
    return shares


def _frame_vectors(kernel: SCK, poses: SkeletonSequence, n_tokens: int) -> np.ndarray:
    """v_s of each joint or pair, (n_tokens, T, d), in float64; asks the kernel for its signals."""
    where, pivots, inverse_squares, amplitudes = kernel._map.table()
    signals = np.asarray(kernel._signal(Frames.of([poses])), dtype=np.float64)
    n_frames = len(signals)
    time = np.arange(1, n_frames + 1) / n_frames
    times = np.broadcast_to(time[:, None, None], (n_frames, n_tokens, 1))
    inputs = np.concatenate([signals, times], axis=2)[:, :, where.astype(int)]  # -1 is time
    share = 1 / (n_frames * math.sqrt(n_tokens))
    v = amplitudes * np.exp(-((inputs - pivots) ** 2) * inverse_squares)
    return (v * share ** (1 / kernel.order)).swapaxes(0, 1)


def _tensor_weights(kernel: SCK, weights: np.ndarray, n_tokens: int) -> np.ndarray:
    """Weights of the entries of each joint's or pair's tensor; (n_tokens, d, ...)."""
    d, order = kernel._map.size, kernel.order
    if kernel._mirrors_features():
        weights = _unmirrored(kernel, weights, int(kernel._sizes().sum()))
    positions, multiplicity = entry_table(d, order, kernel.entries)
    weights = weights.reshape(-1, len(multiplicity)) * (multiplicity / len(positions))
    tensors = np.zeros((len(weights), d**order))
    for where in positions:  # no entry occurs twice in a row of positions
        tensors[:, where] += weights
    if not kernel._mirrors_features():
        tensors = _unmirrored(kernel, tensors.ravel(), n_tokens * d**order)
    return tensors.reshape(n_tokens, *(d,) * order)


def _sck_share(kernel: SCK, v: np.ndarray, W: np.ndarray) -> np.ndarray:
    """The share of each frame, (T,), in the weighted features of a joint's vectors v (T, d)."""
    if kernel.order == 1:
        total = v.sum(axis=0)
        return v @ (W * np.where(total > 0, total, 1.0) ** (kernel.power - 1))
    if kernel.order == 2:
        G = power_gradient(v.T @ v, W, kernel.power)
        return ((v @ G) * v).sum(axis=1)
    d = v.shape[1]
    squares = (v[:, :, None] * v[:, None, :]).reshape(-1, d * d)
    tensor = (v.T @ squares).reshape(d, d, d)
    if kernel.epn == "hosvd":
        G = _core_weights(tensor, W, kernel.power, kernel.entry_power)
    else:
        G = power_gradient(tensor, W, kernel.power)
    return ((v @ G.reshape(d, d * d)) * squares).sum(axis=1)


def _core_weights(
    X: np.ndarray, W: np.ndarray, power: float, entry_power: float = 1.0
) -> np.ndarray:
    """S with ``⟨S, X⟩ = ⟨W, V⟩``, V the HOSVD power of X, its singular vectors held; (a, b, c).

    >>> X = np.random.default_rng(0).normal(size=(3, 2, 2))
    >>> from kerneton.kernels.power_norm import hosvd_power
    >>> S = _core_weights(X, np.ones_like(X), 0.5)
    >>> bool(np.isclose((S * X).sum(), hosvd_power(X, 0.5).sum()))
    True
    """
    if power == 1:
        return W * _quotient(X, entry_power)
    axes = [
        np.linalg.svd(np.moveaxis(X, k, 0).reshape(n, -1), full_matrices=False)[0]
        for k, n in enumerate(X.shape)
    ]
    turned = partial(np.einsum, "abc,ai,bj,ck->ijk", optimize=True)
    back = [A.T for A in axes]
    core = turned(X, *axes)
    core[np.abs(core) <= max(X.shape) * EPS * np.abs(core).max()] = 0
    factors = _quotient(core, power)
    W = W * _quotient(turned(core * factors, *back), entry_power)
    return np.asarray(turned(turned(W, *axes) * factors, *back))


def _quotient(x: np.ndarray, power: float) -> np.ndarray:
    """sgn(x)|x|^power / x, and zero for zero."""
    size = np.abs(x)
    return np.where(size > 0, np.where(size > 0, size, 1.0) ** (power - 1), 0.0)


# DCK


def _dck_shares(kernel: DCK, poses: SkeletonSequence, weights: np.ndarray) -> Shares:
    """The term of two frames belongs to the first joint at the one and the second at the other."""
    tokens, pairs = kernel._tokens(), kernel._local_pairs
    x = np.asarray(kernel._signal(Frames.of([poses])), dtype=np.float64)[:, list(kernel.joints_)]
    moved = motion(poses.joints, poses.fps)[:, list(kernel.joints_)]
    n_frames, n_axes, n_times = len(x), kernel.n_axes_, kernel.n_pivots_time
    shape = n_axes * kernel.n_pivots_joint, n_times, n_times
    W = np.zeros((len(tokens), math.prod(shape)))
    plain = _unmirrored(kernel, weights, int(kernel._sizes().sum()))
    W.ravel()[kernel._entries] = plain * math.sqrt(2)
    z = kernel._times(n_frames)
    scale = (n_frames > 1) / (len(kernel.joints_) * n_frames)
    between = partial(np.einsum, optimize=True)
    shares: Shares = {}
    for token, (i, j), weight in zip(tokens, pairs, W.reshape(-1, *shape), strict=True):
        values = np.zeros((n_frames, 2))
        if scale and weight.any():
            X = np.zeros(shape)
            for s, t, phi in _terms(kernel, x, i, j):
                X += scale * between("stz,sp,tq->zpq", phi, z[s], z[t])
            S = scale * _core_weights(X, weight, kernel.power, kernel.entry_power)
            for s, t, phi in _terms(kernel, x, i, j):
                term = between("stz,zpq,sp,tq->st", phi, S, z[s], z[t])
                ours = term * _division(moved[s, None, i], moved[None, t, j])[..., 0]
                values[s, 0] += ours.sum(axis=1)
                values[t, 1] += (term - ours).sum(axis=0)
        if token[0] == token[1]:
            shares[token[:1]] = values.sum(axis=1, keepdims=True), np.ones(1)
        else:
            shares[token] = values, _division(moved[:, i], moved[:, j]).mean(axis=0)
    return shares


def _terms(kernel: DCK, x: np.ndarray, i: int, j: int) -> Iterator[tuple[slice, slice, np.ndarray]]:
    """Slices of frames s and t, and ``G_σ4(s-t) φ(x_is - x_jt)`` between them, (s, t, n_axes
    Z₂).
    """
    n_frames, span = len(x), kernel.sigma_span
    far = n_frames if span is None else math.ceil(span * math.sqrt(-2 * math.log(_TAIL)))
    window = span_window(min(n_frames, _AT_ONCE + 2 * far), span)
    for start in range(0, n_frames, _AT_ONCE):
        s = slice(start, min(start + _AT_ONCE, n_frames))
        t = slice(max(0, start - far), min(n_frames, s.stop + far))
        steps = x[s, None, i, : kernel.n_axes_] - x[None, t, j, : kernel.n_axes_]
        reach = kernel._reach()
        sigma, n_pivots = kernel.sigma_joint, kernel.n_pivots_joint
        phi = gaussian_features(steps, sigma=sigma, n_pivots=n_pivots, low=-reach, high=reach)
        near = window[s.start - t.start : s.stop - t.start, : t.stop - t.start]
        yield s, t, phi.reshape(*steps.shape[:2], -1) * near[..., None]
