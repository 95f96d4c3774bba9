"""Sums over pairs of frames of Gaussians of displacements, the main part of DCK, computed by the
core.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from kerneton import core

MOST_HARMONICS = 256


class _Struct(ctypes.Structure):
    """kn_displacements of the header."""

    _fields_ = (
        ("coordinates", core.pointer),
        ("n_axes", core.int64),
        ("joint_step", core.int64),
        ("frame_step", core.int64),
        ("scale", core.double),
        ("joints", core.pointer),
        ("n_joints", core.int64),
        ("pairs", core.pointer),
        ("n_pairs", core.int64),
        ("places", core.pointer),
        ("n_recordings", core.int64),
        ("longest", core.int64),
        ("sigma", core.double),
        ("reach", core.double),
        ("n_pivots", core.int64),
        ("sigma_span", core.double),
        ("tol", core.double),
        ("times", core.pointer),
        ("n_times", core.int64),
    )


_room = core.function("kn_dck_room", core.pointer, result=core.int64)
_sums = core.function(
    "kn_dck_sums",
    *(core.int32, core.pointer, core.int64, core.int64, core.pointer, core.pointer, core.pointer),
)


class Displacements:
    """Which displacements are compared, of recordings whose frames lie one after the other.

    ::

        X[z,p,q] = 1/(J T) Σ_{s≠s'} G_σ4(s-s') φ_z(x_is - x_i's') z_p(s/T) z_q(s'/T)

    Parameters
    ----------
    signal : array of shape (N, joints, n_axes) or wider
    starts, lengths : arrays of shape (B,)
        First frame and number of frames of each recording.
    joints : sequence of int
        The joints that are used, J of them.
    pairs : array of shape (n_pairs, 2)
        Positions among these joints, each pair once.
    times : array of shape (n, P), and ``at`` of shape (B,)
        z of frames, and the row of each recording's first frame.
    sigma, n_pivots, reach : float, int, float
        Of φ; pivots lie evenly on [-reach, reach].
    sigma_span : float, optional
        σ₄ in frames; None for no window.
    tol : float
        Largest error, relative to the sum with every φ at its peak.
    scale : float
        A factor of the signal.

    Examples
    --------
    >>> x = np.random.default_rng(0).uniform(size=(9, 4, 3))
    >>> pairs = np.array([[0, 1], [2, 2]])
    >>> options = {"sigma": 0.6, "n_pivots": 5, "reach": 1.0, "sigma_span": 3.0, "tol": 1e-6}
    >>> given = Displacements(x, [0], [9], range(4), pairs, np.ones((9, 2)), [0], **options)
    >>> X = np.empty((1, 2, 15, 2, 2))
    >>> given.sums(0, 1, X)
    >>> bool((X > 0).all()), int(given.widest[0, 1])  # harmonics for displacements within 1
    (True, 9)
    """

    def __init__(
        self,
        signal: np.ndarray,
        starts: np.ndarray | Sequence[int],
        lengths: np.ndarray | Sequence[int],
        joints: Sequence[int],
        pairs: np.ndarray,
        times: np.ndarray,
        at: np.ndarray | Sequence[int],
        *,
        sigma: float,
        n_pivots: int,
        reach: float,
        sigma_span: float | None,
        tol: float,
        scale: float = 1.0,
        n_axes: int = 3,
    ) -> None:
        if signal.strides[2] != signal.itemsize or min(signal.strides) < 0:
            signal = np.ascontiguousarray(signal)
        self.dtype = signal.dtype
        frame_step, joint_step, _ = (stride // signal.itemsize for stride in signal.strides)
        first = signal.__array_interface__["data"][0]
        coordinates = first + np.arange(n_axes, dtype=np.int64) * signal.itemsize
        chosen = np.asarray(list(joints), np.int64)
        pairs = np.ascontiguousarray(pairs, np.int64).reshape(-1, 2)
        places = np.ascontiguousarray(np.stack([starts, lengths, at], axis=1), np.int64)
        times = np.ascontiguousarray(times, np.float64)
        assert (places[:, 0] + places[:, 1]).max() <= len(signal)
        assert (places[:, 2] + places[:, 1]).max() <= len(times)
        assert chosen.max() < signal.shape[1]
        assert pairs.max(initial=0) < len(chosen)
        self.shape = len(pairs), n_axes * n_pivots, times.shape[1], times.shape[1]
        # each recording's largest displacement, and its harmonics
        self.widest = np.zeros((len(places), 2))
        # what the addresses point to
        self._arrays = signal, coordinates, chosen, pairs, places, times
        self._struct = _Struct(
            core.address(coordinates),
            n_axes,
            joint_step,
            frame_step,
            scale,
            core.address(chosen),
            len(chosen),
            core.address(pairs),
            len(pairs),
            core.address(places),
            len(places),
            int(places[:, 1].max()),
            sigma,
            reach,
            n_pivots,
            0.0 if sigma_span is None else sigma_span,
            tol,
            core.address(times),
            times.shape[1],
        )
        self.pointer = ctypes.addressof(self._struct)

    def sums(self, first: int, last: int, out: np.ndarray) -> None:
        """X of recordings first..last-1 into ``out``, (last - first, n_pairs, n_axes · n_pivots, P,
        P).

        Recordings that would need more than MOST_HARMONICS are left out; ``widest`` tells.
        """
        assert out.dtype == self.dtype
        assert out.shape == (last - first, *self.shape)
        memory = core.room(_room(self.pointer))
        given = first, last, memory, core.address(out), core.address(self.widest)
        _sums(core.precision(self.dtype), self.pointer, *given)
