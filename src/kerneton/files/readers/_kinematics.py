"""Positions of joints from the rotations of a hierarchy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

_BLOCK = 2048  # frames whose rotations are in memory at once

Moves = Callable[[slice], Iterable[tuple[np.ndarray, np.ndarray]]]


def forward_kinematics(parents: Sequence[int], moves: Moves, n_frames: int) -> np.ndarray:
    """Positions (T, J, 3) of joints: A_j = A_p R_j and x_j = x_p + A_p t_j, with p the parent.

    ``parents`` come before their children, depth first; -1 is a root. ``moves`` gives, for a slice
    of t frames, the shift t_j (t, 3) and the rotation R_j (t, 3, 3) of each joint.

    >>> def moves(frames):
    ...     yield np.array([[0.0, 2.0, 0.0]]), rotations(2, np.array([np.pi / 2]))
    ...     yield np.array([[0.0, -1.0, 0.0]]), np.eye(3)[None]
    >>> forward_kinematics([-1, 0], moves, 1).round(6) + 0
    array([[[0., 2., 0.], [1., 2., 0.]]])
    """
    positions = np.empty((n_frames, len(parents), 3))
    for start in range(0, n_frames, _BLOCK):
        block = positions[start : start + _BLOCK]
        # Rotations of the ancestors of the current joint.
        turns = {-1: np.broadcast_to(np.eye(3), (len(block), 3, 3))}
        for j, (shift, rotation) in enumerate(moves(slice(start, start + _BLOCK))):
            for old in [k for k in turns if k > parents[j]]:
                del turns[old]  # depth first: these have no further children
            turn, origin = turns[parents[j]], block[:, parents[j]] if parents[j] >= 0 else 0.0
            block[:, j] = origin + np.einsum("tab,tb->ta", turn, shift)
            turns[j] = turn @ rotation
    return positions


def rest_size(parents: Sequence[int], offsets: Sequence[np.ndarray]) -> float:
    """The largest extent of the rest pose along an axis, wherever its root is."""
    rest = np.zeros((len(parents), 3))
    for j, parent in enumerate(parents):
        if parent >= 0:
            rest[j] = rest[parent] + offsets[j]
    return float(np.ptp(rest, axis=0).max())


def rotations(axis: int, angles: np.ndarray) -> np.ndarray:
    """Matrices (T, 3, 3) that rotate by ``angles`` about the x, y or z axis (0, 1, 2),
    right-handed.

    >>> rotations(2, np.array([np.pi / 2])).round(6) + 0
    array([[[ 0., -1.,  0.], [ 1.,  0.,  0.], [ 0.,  0.,  1.]]])
    """
    b, c = (axis + 1) % 3, (axis + 2) % 3
    matrices = np.zeros((len(angles), 3, 3))
    matrices[:, axis, axis] = 1
    matrices[:, b, b] = matrices[:, c, c] = np.cos(angles)
    matrices[:, c, b] = np.sin(angles)
    matrices[:, b, c] = -matrices[:, c, b]
    return matrices
