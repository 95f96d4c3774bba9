"""Gram matrices of blocks and the linear classifier, written from the formulas."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize


def alignment_sums(block, codes, sides, counts):
    """Σ r_i, Σ r_i², Σ r_i c_i, Σ K_ij², Σ K_ij [code_i = code_j] and Σ K_ii of every side,
    (n_sides, 6).
    """
    K = block[: len(codes)].astype(float)
    K = K - K.mean()
    same = codes[:, None] == codes
    out = []
    for side, count in zip(sides, counts, strict=True):
        inside = np.outer(side, side)
        r = (K * inside).sum(axis=1)
        sums = (K**2 * inside).sum(), (K * same * inside).sum(), (K.diagonal() * side).sum()
        out.append([r.sum(), (r**2).sum(), (r * count).sum(), *sums])
    return np.array(out)


def center_normalize(K, train, others):
    """Products of features less the mean of ``train`` and of unit length, from those of all
    features.
    """
    H = np.eye(len(K))
    H[:, train] -= 1 / len(train)
    C = H @ K @ H.T
    length = np.sqrt(np.maximum(C.diagonal(), 0))
    rows = np.concatenate([train, others])
    return C[np.ix_(rows, train)] / np.outer(length[rows], length[train])


def mirrored(features, columns, source, own, other):
    return features[:, columns] * own + features[:, source] * other


def least_cost(K, y, c):
    """The minimum of ½ βKβ + ½ Σ_i c_i max(0, 1 - y_i f_i)² with f = βK, by a general optimiser."""
    L = np.linalg.cholesky(K + 1e-12 * np.trace(K) / len(K) * np.eye(len(K)))  # f = L u

    def cost(u):
        gap = np.maximum(0, 1 - y * (L @ u))
        return 0.5 * u @ u + 0.5 * (c * gap**2).sum(), u - L.T @ (c * gap * y)

    return minimize(cost, np.zeros(len(y)), jac=True, method="L-BFGS-B").fun
