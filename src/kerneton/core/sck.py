"""Vectors v of the frames of recordings and their sums, computed by the core: SCK of every
order.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import math
from collections.abc import Sequence

import numpy as np

from kerneton import core

_FAR = 700.0  # farther out φ is zero; up to there the factor from pivot to pivot must be finite


class _Struct(ctypes.Structure):
    """kn_vectors of the header."""

    _fields_ = (
        ("coordinates", core.pointer),
        ("scales", core.pointer),
        ("n_coordinates", core.int64),
        ("joint_step", core.int64),
        ("frame_step", core.int64),
        ("places", core.pointer),
        ("n_recordings", core.int64),
        ("rows", core.pointer),
        ("n_rows", core.int64),
        ("unit", ctypes.c_uint64),
        ("n_axes", core.int64),
        ("runs", core.pointer),
        ("factors", core.pointer),
        ("n_runs", core.int64),
        ("n_factors", core.int64),
        ("times", core.pointer),
        ("n_times", core.int64),
        ("size", core.int64),
    )


class _EntriesStruct(ctypes.Structure):
    """kn_entries of the header."""

    _fields_ = (
        *((name, core.pointer) for name in ("sources", "targets", "begins", "weights")),
        ("n_entries", core.int64),
    )


class Entries:
    """Which entries of the tensors of order 3, (d, d, d), become features: sums of entries,
    weighted.

    Parameters
    ----------
    size : int, d
    positions : array of shape (m, n_entries)
        Flat positions; m entries are summed for a feature. The first index names the slice.
    weights : array of shape (n_entries,)

    Examples
    --------
    >>> Entries(2, np.array([[0, 1, 7]]), np.ones(3)).n_entries
    3
    """

    def __init__(self, size: int, positions: np.ndarray, weights: np.ndarray) -> None:
        self.n_entries = positions.shape[1]
        slices, inside = np.divmod(positions.ravel(), size * size)
        i, j = np.divmod(inside, size)
        high, low = np.maximum(i, j), np.minimum(i, j)
        entry = np.broadcast_to(np.arange(self.n_entries), positions.shape).ravel()
        order = np.lexsort((entry, slices))
        self._arrays = tuple(
            np.ascontiguousarray(values)
            for values in (
                (high * (high + 1) // 2 + low)[order],
                entry[order],
                np.searchsorted(slices[order], np.arange(size + 1)),
                np.broadcast_to(np.asarray(weights, np.float64), positions.shape).ravel()[order],
            )
        )
        self._struct = _EntriesStruct(*map(core.address, self._arrays), self.n_entries)
        self.pointer = ctypes.addressof(self._struct)


class Vectors:
    """Which vectors v are made of signals of recordings whose frames lie one after the other.

    Parameters
    ----------
    signals : arrays of shape (N, J, n_axes) or wider
        Alike in precision and in memory, such as parts of one array.
    starts, lengths : arrays of shape (B,)
        First frame and number of frames of each recording.
    rows : array of shape (P, 2)
        Joint i minus joint j, or joint i alone if j < 0.
    scales : sequence of float
        A factor for each signal.
    table : array of shape (4, d)
        Of each entry of v: position among the coordinates of all signals (-1 for time, which
        comes last), pivot, 1/σ², amplitude.
    n_axes : int
    unit : sequence of int
        Signals that are scaled to unit length.

    Examples
    --------
    >>> table = np.array([[0, 1, 2, -1], [0, 0, 0, 0.5], [1, 1, 1, 1], [1, 1, 1, 1]], float)
    >>> given = Vectors([np.zeros((5, 1, 3))], [0], [5], [(0, -1)], [1], table)
    >>> features = np.empty(10)
    >>> bool(given.order2(1.0, None, 0, given.n_groups, features).any())
    False
    >>> features[:4].round(3).tolist()  # of [1, 1, 1, z], the mean over frames of products
    [1.0, 1.414, 1.414, 1.297]
    """

    def __init__(
        self,
        signals: Sequence[np.ndarray],
        starts: np.ndarray | Sequence[int],
        lengths: np.ndarray | Sequence[int],
        rows: np.ndarray | Sequence[tuple[int, int]],
        scales: np.ndarray | Sequence[float],
        table: np.ndarray,
        n_axes: int = 3,
        unit: Sequence[int] = (),
    ) -> None:
        signals = _alike(signals)
        self.dtype, self.size = signals[0].dtype, table.shape[1]
        frame_step, joint_step, step = (
            stride // self.dtype.itemsize for stride in signals[0].strides
        )
        assert step == 1
        addresses = [signal.__array_interface__["data"][0] for signal in signals]
        axes = np.arange(n_axes) * self.dtype.itemsize
        coordinates = np.add.outer(np.array(addresses, np.int64), axes).reshape(-1)
        factors_of = np.repeat(np.asarray(scales, self.dtype), n_axes)
        rows = np.ascontiguousarray(rows, np.int64).reshape(-1, 2)
        runs, factors, n_signal = runs_of(table)
        order = np.argsort(lengths, kind="stable")  # recordings of similar length share a group
        lengths = np.asarray(lengths, np.int64)[order]
        times, at = _times(lengths.tobytes(), table[:, n_signal:].tobytes())
        places = np.stack([np.asarray(starts, np.int64)[order], lengths, at, order], axis=1)
        self.n_recordings, self.n_rows, self.places = len(places), len(rows), places
        # What the addresses point to.
        self._arrays = signals, coordinates, factors_of, rows, runs, factors, times
        self._struct = _Struct(
            core.address(coordinates),
            core.address(factors_of),
            len(coordinates),
            joint_step,
            frame_step,
            core.address(places),
            len(places),
            core.address(rows),
            len(rows),
            sum(1 << k for k in unit),
            n_axes,
            core.address(runs),
            core.address(factors),
            *factors.shape,
            core.address(times),
            times.shape[1],
            self.size,
        )
        self.pointer = ctypes.addressof(self._struct)

    @property
    def n_groups(self) -> int:
        """Groups of rows that are computed at the same time."""
        return -(-self.n_recordings * self.n_rows // core.lanes())

    def order2(
        self, power: float, poles: np.ndarray | None, first: int, last: int, out: np.ndarray
    ) -> np.ndarray:
        """Features of order 2 of groups first..last-1 into ``out``, of B · P · d(d+1)/2 numbers.

        Returns which of these groups did not converge, in practice none.
        """
        kind, failed = core.precision(self.dtype), np.zeros(last - first, np.bool_)
        room = core.room(_order2_room(kind, self.pointer))
        given = core.address(poles), first, last, room, core.address(out), core.address(failed)
        _order2(kind, self.pointer, power, *given)
        return failed

    def order3(
        self,
        power: float,
        poles: np.ndarray | None,
        entries: Entries,
        first: int,
        last: int,
        out: np.ndarray,
    ) -> np.ndarray:
        """Features of order 3 of rows first..last-1 into ``out``, of B · P · n_entries numbers.

        Returns the numbers of the recordings in which a power was not found, in practice none.
        """
        kind, failed = core.precision(self.dtype), np.zeros(last - first, np.bool_)
        room = core.room(_order3_room(kind, self.pointer, entries.n_entries))
        given = poles if poles is None else core.address(poles), entries.pointer, first, last, room
        _order3(kind, self.pointer, power, *given, core.address(out), core.address(failed))
        return self.places[np.unique((first + np.flatnonzero(failed)) // self.n_rows), 3]

    def order1(self, power: float, first: int, last: int, out: np.ndarray) -> None:
        """Features of order 1 of rows first..last-1 into ``out``, of B · P · d numbers."""
        kind = core.precision(self.dtype)
        room = core.room(_order3_room(kind, self.pointer, self.size))
        _order1(kind, self.pointer, power, first, last, room, core.address(out))

    def members(self, group: int) -> np.ndarray:
        """Numbers of the recordings that have rows in a group."""
        first = group * core.lanes()
        last = min(first + core.lanes(), self.n_recordings * self.n_rows) - 1
        return self.places[first // self.n_rows : last // self.n_rows + 1, 3]


_order2_room = core.function("kn_sck2_room", core.int32, core.pointer, result=core.int64)
_order2 = core.function(
    "kn_sck2",
    *(core.int32, core.pointer, core.double, core.pointer, core.int64, core.int64),
    *(core.pointer, core.pointer, core.pointer),
)


_order3_room = core.function(
    "kn_sck3_room", core.int32, core.pointer, core.int64, result=core.int64
)
_order3 = core.function(
    "kn_sck3",
    *(core.int32, core.pointer, core.double, core.pointer, core.pointer, core.int64, core.int64),
    *(core.pointer, core.pointer, core.pointer),
)
_order1 = core.function(
    "kn_sck1",
    *(core.int32, core.pointer, core.double, core.int64, core.int64, core.pointer, core.pointer),
)


n_poles = core.function("kn_sck_poles")


def _alike(signals: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Signals with the same steps in memory; copies if they are not."""
    steps = {signal.strides for signal in signals}
    together = len(steps) == 1 and signals[0].strides[2] == signals[0].itemsize
    return [signal if together else np.ascontiguousarray(signal) for signal in signals]


def runs_of(table: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Runs of entries of v that share a coordinate, as in kn_vectors, and how many are not of time.

    >>> runs_of(np.array([[0, 0, -1], [-1, 1, 0.5], [1, 1, 1], [1, 1, 1]], float))[0].tolist()
    [[0, 2, 0]]
    """
    return _runs(np.ascontiguousarray(table).tobytes(), table.shape[1])


@functools.lru_cache(maxsize=32)
def _runs(table: bytes, d: int) -> tuple[np.ndarray, np.ndarray, int]:
    place, pivot, inverse, amplitude = np.frombuffer(table).reshape(4, d)
    n_signal = int((place >= 0).sum())
    starts = [0, *(np.flatnonzero(np.diff(place[:n_signal])) + 1).tolist(), n_signal]
    runs, factors = [], np.zeros((len(starts) - 1, 4 + d))
    for r, (a, b) in enumerate(itertools.pairwise(starts)):
        spacing = pivot[a + 1] - pivot[a] if b - a > 1 else 0.0
        farthest = np.abs(pivot[a:b]).max() + math.sqrt(_FAR / inverse[a])
        direct = 2 * farthest * spacing * inverse[a] > _FAR / max(b - a, 1)
        runs.append((int(place[a]), b - a, int(direct)))
        factors[r, :4] = pivot[a], spacing, inverse[a], amplitude[a]
        if not direct:
            factors[r, 4 : 4 + b - a - 1] = np.exp(-np.diff(pivot[a:b] ** 2) * inverse[a])
    return np.asarray(runs, np.int64).reshape(-1, 3), factors, n_signal


@functools.lru_cache(maxsize=16)  # the same for all cues
def _times(lengths: bytes, table: bytes) -> tuple[np.ndarray, np.ndarray]:
    """z(s/T) of every frame of recordings of some lengths, (N, Z₃), and where each starts, (B,)."""
    each = np.frombuffer(lengths, np.int64)
    _, pivot, inverse, amplitude = np.frombuffer(table).reshape(4, -1)
    sizes, which = np.unique(each, return_inverse=True)
    time = np.concatenate([np.arange(1, n + 1) / n for n in sizes])
    z = np.exp((time[:, None] - pivot) ** 2 * -inverse) * amplitude
    return z, (np.cumsum(sizes) - sizes)[which]
