"""SCK of order 2 of one recording, from the formulas, in float64."""

from __future__ import annotations

import numpy as np
from reference.powers import reference_power


def vectors(signal: np.ndarray, table: np.ndarray) -> np.ndarray:
    """v_s = [√β₁ φ(x_s); √β₂ z(s/T)] of every frame of a row's coordinates (T, W), (T, d)."""
    times = np.arange(1, len(signal) + 1) / len(signal)
    columns = []
    for place, pivot, inverse, amplitude in table.T:
        u = times if place < 0 else signal[:, int(place)]
        columns.append(amplitude * np.exp(-((u - pivot) ** 2) * inverse))
    return np.stack(columns, axis=1)


def order2(signals: np.ndarray, table: np.ndarray, power: float) -> np.ndarray:
    """Unique entries of (1/(T√J) Σ_s v_s v_sᵀ)^γ, times √2 off the diagonal; (T, J, W) → (J,
    d(d+1)/2).
    """
    T, J, _ = signals.shape
    i, j = np.triu_indices(table.shape[1])
    out = []
    for row in range(J):
        v = vectors(np.asarray(signals[:, row], np.float64), table)
        A = v.T @ v / (T * np.sqrt(J))
        A = A if power == 1 else reference_power(A, power)
        out.append(A[i, j] * np.where(i == j, 1, np.sqrt(2)))
    return np.stack(out)


def order3(signals: np.ndarray, table: np.ndarray, power: float, entries: str) -> np.ndarray:
    """Entries of T = 1/(T√J) Σ_s v_s ⊗ v_s ⊗ v_s with slices to the power; (T, J, W) → (J,
    n_entries).

    "slices": the upper triangle of every slice; "upper": entries i ≤ j ≤ k, slice k; "simplex":
    those of the mean over which index names the slice. Weighted by √(number of permutations).
    """
    n_frames, n_joints, _ = signals.shape
    d = table.shape[1]
    out = []
    for row in range(n_joints):
        v = vectors(np.asarray(signals[:, row], np.float64), table)
        T = np.einsum("si,sj,sk->ijk", v, v, v) / (n_frames * np.sqrt(n_joints))
        T = T if power == 1 else reference_power(T, power)  # T[k] is slice k
        if entries == "simplex":
            T = (T + T.transpose(1, 0, 2) + T.transpose(1, 2, 0)) / 3
        row_of = []
        for a in range(d):
            for b in range(a, d):
                if entries == "slices":
                    row_of.append(T[:, a, b] * (1 if a == b else np.sqrt(2)))
                    continue
                for c in range(b, d):
                    weight = np.sqrt({1: 1, 2: 3, 3: 6}[len({a, b, c})])
                    row_of.append([T[c, a, b] * weight])
        out.append(
            np.stack(row_of, axis=1).ravel() if entries == "slices" else np.concatenate(row_of)
        )
    return np.stack(out)


def order1(signals: np.ndarray, table: np.ndarray, power: float) -> np.ndarray:
    """(1/(T√J) Σ_s v_s)^γ; (T, J, W) → (J, d)."""
    T, J, _ = signals.shape
    rows = [vectors(np.asarray(signals[:, j], np.float64), table).sum(axis=0) for j in range(J)]
    return (np.stack(rows) / (T * np.sqrt(J))) ** power
