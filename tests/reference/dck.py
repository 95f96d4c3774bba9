"""DCK's features of one recording, from the formulas."""

from __future__ import annotations

import numpy as np
from reference.displacement import reference_sums
from reference.hosvd import reference_hosvd_power


def reference_features(
    x: np.ndarray,
    *,
    sigma_joint: float = 0.6,
    n_pivots_joint: int = 5,
    sigma_time: float = 0.5,
    n_pivots_time: int = 6,
    sigma_span: float | None = None,
    power: float = 0.85,
    entry_power: float = 1.0,
    same_joint: bool = True,
    pivot_margin: float = 0.0,
) -> np.ndarray:
    """Entries of all pairs of joints, p < q for a joint with itself, times √2; (T, J, 3) → (n,)."""
    T, J, _ = x.shape
    early = pivot_margin * sigma_time
    zeta = np.linspace(-early, 1 + early, n_pivots_time)
    spacing = (1 + 2 * early) / max(n_pivots_time - 1, 1)
    z = np.exp(-((np.arange(1, T + 1)[:, None] / T - zeta) ** 2) / sigma_time**2)
    z *= np.sqrt(spacing * np.sqrt(2 / np.pi) / sigma_time)
    pairs = [(i, k) for i in range(J) for k in range(i if same_joint else i + 1, J)]
    options = {"sigma": sigma_joint, "n_pivots": n_pivots_joint, "sigma_span": sigma_span}
    sums = reference_sums(
        x, z, np.array(pairs), reach=1 + pivot_margin * sigma_joint, **options
    ) / (J * T)
    rows, columns = np.triu_indices(n_pivots_time, 1)
    features = []
    for (i, k), X in zip(pairs, sums, strict=True):
        if power < 1:
            X = reference_hosvd_power(X, power, entry_power)
        else:
            X = np.sign(X) * np.abs(X) ** entry_power
        features.append((X[:, rows, columns] if i == k else X).ravel() * np.sqrt(2))
    return np.concatenate(features)
