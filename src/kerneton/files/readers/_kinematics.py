"""Positions of joints from the rotations of a hierarchy."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

_BLOCK = 2048  # frames whose rotations are held at once


@dataclass
class Joint:
    """A joint of the hierarchy: its rest offset from the parent and its channels, ("rotation", axis) each."""

    name: str
    parent: int  # -1 for a root
    offset: np.ndarray = field(default_factory=lambda: np.zeros(3))
    channels: list[tuple[str, int]] = field(default_factory=list)
    end: bool = False


def forward_kinematics(joints: list[Joint], values: np.ndarray) -> np.ndarray:
    """Positions (T, J, 3) of all joints from channel values (T, C), parents before children.

    >>> hip = Joint("hip", -1, np.zeros(3), [("position", 0), ("position", 1), ("position", 2), ("rotation", 2)])
    >>> knee = Joint("knee", 0, np.array([0.0, -1.0, 0.0]))
    >>> forward_kinematics([hip, knee], np.array([[0.0, 2.0, 0.0, 90.0]])).round(6) + 0
    array([[[0., 2., 0.], [1., 2., 0.]]])
    """
    positions = np.empty((len(values), len(joints), 3))
    for start in range(0, len(values), _BLOCK):
        _place(joints, values[start : start + _BLOCK], positions[start : start + _BLOCK])
    return positions


def _place(joints: list[Joint], values: np.ndarray, positions: np.ndarray) -> None:
    frames = len(values)
    unmoved = np.broadcast_to(np.eye(3), (frames, 3, 3))
    turns: dict[int, np.ndarray] = {-1: unmoved}  # rotations of the ancestors of the joint at hand
    column = 0
    for i, joint in enumerate(joints):
        for old in [k for k in turns if k > joint.parent]:
            del turns[old]  # hierarchies are written depth first, so these have no further children
        turn, origin = turns[joint.parent], positions[:, joint.parent] if joint.parent >= 0 else 0.0
        shift = np.broadcast_to(joint.offset, (frames, 3)).copy()
        for kind, axis in joint.channels:
            if kind == "position":
                shift[:, axis] = values[:, column]
            column += 1
        positions[:, i] = origin + np.einsum("tab,tb->ta", turn, shift)
        first = column - len(joint.channels)
        for k, (kind, axis) in enumerate(joint.channels):
            if kind == "rotation":
                turn = turn @ rotations(axis, np.deg2rad(values[:, first + k]))
        turns[i] = turn


def rotations(axis: int, angles: np.ndarray) -> np.ndarray:
    """Matrices (T, 3, 3) that turn by ``angles`` about the x, y or z axis (0, 1, 2), right-handed.

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
