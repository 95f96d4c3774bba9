"""Poses and signals of one recording (T, J, 3), from the formulas, in float64."""

from __future__ import annotations

import numpy as np


def filled(x: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """Each missing joint on the line between its neighbours in time."""
    x, frames = x.copy(), np.arange(len(x))
    for j in range(x.shape[1]):
        there = ~missing[:, j]
        if there.any():
            for c in range(3):
                x[:, j, c] = np.interp(frames, frames[there], x[there, j, c])
    return x


def bone_lengths(x: np.ndarray, bones: list[tuple[int, int]]) -> np.ndarray:
    return np.array([np.median(np.linalg.norm(x[:, j] - x[:, i], axis=1)) for i, j in bones])


def equal_bones(x: np.ndarray, bones: list[tuple[int, int]], lengths: np.ndarray) -> np.ndarray:
    """Every bone of its length and in its direction, outwards from the root."""
    out = x.copy()
    for s in range(len(x)):
        for (i, j), length in zip(bones, lengths, strict=True):
            bone = x[s, j] - x[s, i]
            norm = np.linalg.norm(bone)
            out[s, j] = out[s, i] + (bone * length / norm if norm > 0 else 0)
    return out


def geometric_median(points: np.ndarray) -> np.ndarray:
    """Twenty steps of Weiszfeld's iteration from the mean."""
    middle = points.mean(axis=0)
    for _ in range(20):
        pull = 1 / np.maximum(np.linalg.norm(points - middle, axis=1), 1e-6)
        middle = (points * pull[:, None]).sum(axis=0) / pull.sum()
    return middle


def unit(v: np.ndarray) -> np.ndarray:
    norm = np.linalg.norm(v, axis=-1, keepdims=True)
    return np.divide(v, norm, out=np.zeros_like(v), where=norm > 0)


def yaw_front(
    x: np.ndarray,
    across: list[tuple[int, int]],
    along: list[tuple[int, int]] = (),
    *,
    each_frame: bool = False,
) -> np.ndarray:
    """Turned about the vertical, so that the lines from left to right point along x."""
    right = sum((unit((x[:, j] - x[:, i])[:, [0, 2]]) for i, j in across), np.zeros((len(x), 2)))
    for i, j in along:
        look = x[:, j] - x[:, i]
        right = right + unit(np.stack([-look[:, 2], look[:, 0]], axis=1))
    if not each_frame:
        right = np.tile(geometric_median(right), (len(x), 1))
    out = x.copy()
    for s, (p, q) in enumerate(right):
        angle = np.arctan2(q, p)
        c, d = np.cos(angle), np.sin(angle)
        out[s] = x[s] @ np.array([[c, 0, d], [0, 1, 0], [-d, 0, c]]).T
    return out


def full_front(
    x: np.ndarray,
    across: list[tuple[int, int]],
    along: list[tuple[int, int]],
    *,
    each_frame: bool = False,
) -> np.ndarray:
    """Turned so that the mean of the lines along points to y and that of the lines across to z."""
    both = [
        unit(np.mean([x[:, j] - x[:, i] for i, j in lines], axis=0)) for lines in (along, across)
    ]
    points = np.concatenate(both, axis=1)
    if not each_frame:
        points = np.tile(geometric_median(points), (len(x), 1))
    out = x.copy()
    for s, point in enumerate(points):
        y = point[:3] / np.linalg.norm(point[:3])
        z = point[3:] - point[3:] @ y * y
        z = z / np.linalg.norm(z)
        out[s] = x[s] @ np.stack([np.cross(y, z), y, z]).T
    return out


def derivative(x: np.ndarray, order: int, rate: float) -> np.ndarray:
    """By the derivative of a Gaussian one frame wide, cut at four; the first and last pose stand
    still.
    """
    k = np.arange(-4, 5)
    weights = np.exp(-(k**2) / 2) / np.exp(-(k**2) / 2).sum() * (k if order == 1 else k**2 - 1)
    moved = np.pad(x - x[:1], ((4, 4), (0, 0), (0, 0)), mode="edge")
    return rate * sum(w * moved[i : i + len(x)] for i, w in enumerate(weights))
