"""From signals to tensors.

The vector v of a joint in a frame holds Gaussian features (pivots) of its signals and of time, side
by side; tensors are sums of its outer products over frames; only unique entries are kept.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kerneton.data.parameters import check_choice, check_in, check_positive, check_width
from kerneton.exceptions import ParameterError
from kerneton.kernels.signals import SIGNALS


class Part(NamedTuple):
    """One signal in v: its name, σ₂, Z₂ and β₁."""

    name: str
    sigma: float
    n_pivots: int
    weight: float


class VectorMap(NamedTuple):
    """The definition of v: one `Part` per signal, σ₃ and Z₃ of time, and how many σ pivots reach
    beyond their interval.
    """

    parts: tuple[Part, ...]
    sigma_time: float
    n_pivots_time: int
    margin: float
    n_axes: int = 3  # 2 if z is zero throughout

    @property
    def size(self) -> int:
        """d, the length of v."""
        return sum(self.n_axes * part.n_pivots for part in self.parts) + self.n_pivots_time

    @property
    def time_weight(self) -> float:
        """β₂, one minus the weights of the signals."""
        return max(1 - sum(part.weight for part in self.parts), 0.0)

    def reach(self, part: Part) -> float:
        """The position of the outermost pivots of a signal."""
        return 1.0 + self.margin * part.sigma

    @functools.lru_cache(maxsize=64)  # noqa: B019 (of a tuple, which holds nothing alive)
    def table(self) -> np.ndarray:
        """The definition of each entry of v: position among the signals (-1 for time), pivot, 1/σ²,
        amplitude; (4, d).
        """
        rows = []
        for i, part in enumerate(self.parts):
            reach = self.reach(part)
            amplitude = part.weight**0.5 * pivot_scale(part.n_pivots, -reach, reach, part.sigma)
            for axis in range(self.n_axes):
                rows += [
                    (self.n_axes * i + axis, zeta, 1 / part.sigma**2, amplitude)
                    for zeta in pivots(part.n_pivots, -reach, reach)
                ]
        early = self.margin * self.sigma_time
        low, high = -early, 1.0 + early
        amplitude = self.time_weight**0.5 * pivot_scale(
            self.n_pivots_time, low, high, self.sigma_time
        )
        rows += [
            (-1, zeta, 1 / self.sigma_time**2, amplitude)
            for zeta in pivots(self.n_pivots_time, low, high)
        ]
        made = np.ascontiguousarray(np.asarray(rows).T)
        made.flags.writeable = False
        return made


def vector_map(
    signals: str | Sequence[str],
    sigma_joint: Any,
    n_pivots_joint: Any,
    joint_weight: Any,
    sigma_time: float,
    n_pivots_time: int,
    margin: float,
    n_axes: int = 3,
) -> VectorMap:
    """Checked parameters of v; each of the three joint parameters is one value, or one per signal.

    >>> vector_map(("position", "velocity"), 0.6, 5, (0.4, 0.35), 0.5, 6, 0.0).size
    36
    """
    names = (signals,) if isinstance(signals, str) else tuple(signals)
    if not names:
        raise ParameterError(f"signals is empty; choose from {', '.join(SIGNALS)}")
    for name in names:
        check_choice("signals", name, SIGNALS)
    columns = []
    given = {
        "sigma_joint": sigma_joint,
        "n_pivots_joint": n_pivots_joint,
        "joint_weight": joint_weight,
    }
    for parameter, value in given.items():
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
    check_width("sigma_time", sigma_time)
    check_positive("n_pivots_time", n_pivots_time, integer=True)
    check_in("pivot_margin", margin, 0, 10)
    if sum(columns[2]) > 1 + 1e-9:
        raise ParameterError(
            f"joint_weight must be less than 1 in total, to leave weight for time: its sum is {sum(columns[2])}"
        )
    parts = tuple(Part(*values) for values in zip(names, *columns, strict=True))
    return VectorMap(parts, sigma_time, n_pivots_time, margin, n_axes)


def pivots(n_pivots: int, low: float, high: float) -> np.ndarray:
    """Pivots ζ spaced evenly over an interval, ends included; a single one sits in the middle.

    >>> pivots(5, -1, 1).tolist()
    [-1.0, -0.5, 0.0, 0.5, 1.0]
    """
    if n_pivots == 1:
        return np.asarray([(low + high) / 2])
    return np.linspace(low, high, n_pivots)


def pivot_scale(n_pivots: int, low: float, high: float, sigma: float) -> float:
    """√c, c = Δ √(2/πσ²): with it the sum over pivots has the Gaussian's value, not only its shape.

    >>> round(pivot_scale(5, -1, 1, 0.6), 4)
    0.8154
    """
    spacing = (high - low) / max(n_pivots - 1, 1)
    return math.sqrt(spacing * math.sqrt(2 / (math.pi * sigma**2)))


def gaussian_features(
    u: np.ndarray, *, sigma: float, n_pivots: int, low: float = -1.0, high: float = 1.0
) -> np.ndarray:
    """φ(u)_z = √c exp(-(u-ζ_z)²/σ²), so that φ(u)·φ(v) ≈ exp(-(u-v)²/2σ²); (...,) → (..., Z).

    Inside the interval the error falls like exp(-π²σ²/2Δ²) with the spacing Δ; outside, φ fades to
    zero.

    >>> x = gaussian_features(np.array([0.1, 0.3]), sigma=0.5, n_pivots=20, low=-3, high=3)
    >>> bool(abs(x[0] @ x[1] - gaussian(0.2, 0.5)) < 1e-5)
    True
    """
    zeta = pivots(n_pivots, low, high).astype(u.dtype)
    scale = pivot_scale(n_pivots, low, high, sigma)
    return np.exp((u[..., None] - zeta) ** 2 * (-1 / sigma**2)) * scale


def gaussian(u: Any, sigma: float) -> Any:
    """The exact kernel G_σ(u) = exp(-u²/2σ²) of a difference u.

    >>> gaussian(0.0, 0.5)
    np.float64(1.0)
    """
    return np.exp(np.square(u) * (-0.5 / sigma**2))


def n_entries(d: int, order: int, entries: str) -> int:
    """How many entries `unique_entries` keeps of a tensor with side d.

    >>> n_entries(21, 3, "simplex"), n_entries(22, 3, "simplex"), n_entries(21, 3, "slices")
    (1771, 2024, 4851)
    """
    if entries == "slices" and order == 3:
        return d * d * (d + 1) // 2
    return math.comb(d + order - 1, order)


@functools.lru_cache(maxsize=32)
def entry_table(d: int, order: int, entries: str) -> tuple[np.ndarray, np.ndarray]:
    """Flat positions of the kept entries, (m, n_entries), to be averaged over m, and their weights
    (n_entries,).

    "simplex" keeps the entries k ≤ i ≤ j of the tensor's symmetric part, weighted by √(number of
    permutations): exact for super-symmetric tensors, and the nearest one for others. "upper" keeps
    as many, each from the slice that its largest index names: the paper's upper simplex of slices
    stacked along the third mode. "slices" keeps i ≤ j of every slice, weighted by √2 off the
    diagonal: exact also where slices differ, as after slice-wise EPN.
    """
    if order == 3 and entries == "slices":
        pairs = list(itertools.combinations_with_replacement(range(d), 2))
        kept = np.asarray([(k, i, j) for k in range(d) for i, j in pairs])
        weights = np.where(kept[:, 1] == kept[:, 2], 1.0, math.sqrt(2))
        orders = [[0, 1, 2]]
    else:
        kept = np.asarray(list(itertools.combinations_with_replacement(range(d), order)))
        repeats = [math.prod(math.factorial(c) for c in Counter(e).values()) for e in kept.tolist()]
        weights = np.sqrt(math.factorial(order) / np.asarray(repeats))
        # Each slice is symmetric by itself, so which index names the slice is all that differs.
        orders = [[2, 0, 1], [1, 0, 2], [0, 1, 2]] if order == 3 else [list(range(order))]
        if entries == "upper":
            orders = orders[:1]
    strides = d ** np.arange(order - 1, -1, -1)
    return np.stack([kept[:, o] @ strides for o in orders]), weights


def unique_entries(tensors: np.ndarray, order: int, entries: str = "simplex") -> np.ndarray:
    """The unique entries of a symmetric tensor, weighted by √multiplicity; (..., d, d, d) → (...,
    n_entries).

    >>> a, b = np.random.default_rng(0).normal(size=(2, 5))
    >>> A, B = (np.einsum("i,j,k->ijk", v, v, v) for v in (a, b))
    >>> bool(np.isclose(unique_entries(A, 3) @ unique_entries(B, 3), (A * B).sum()))
    True
    """
    d = tensors.shape[-1]
    positions, weights = entry_table(d, order, entries)
    flat = tensors.reshape(*tensors.shape[: tensors.ndim - order], d**order)
    kept = sum(flat[..., p] for p in positions)
    return kept * (weights / len(positions)).astype(tensors.dtype)


def outer_power_sum(v: np.ndarray, order: int) -> np.ndarray:
    """Σ_s v_s ⊗ ... ⊗ v_s, `order` times; (B, J, T, d) → (B, J, d, ...).

    For order 3 the sum over frames is one matrix product of v with its own row-wise products.

    >>> import numpy as np
    >>> v = np.random.default_rng(0).normal(size=(2, 3, 7, 4))
    >>> np.allclose(outer_power_sum(v, 3), np.einsum("bjtx,bjty,bjtz->bjxyz", v, v, v))
    True
    """
    if order == 1:
        return v.sum(2)
    transposed = v.swapaxes(-1, -2)
    if order == 2:
        return transposed @ v
    *lead, n_frames, d = v.shape
    # One recording at a time: its products fit into the processor's cache.
    out = np.empty((*lead, d, d * d), dtype=v.dtype)
    for recording, row in zip(v, out, strict=True):
        squares = (recording[..., :, None] * recording[..., None, :]).reshape(-1, n_frames, d * d)
        np.matmul(recording.swapaxes(-1, -2), squares, out=row)
    return out.reshape(*lead, d, d, d)
