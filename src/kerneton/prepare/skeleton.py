"""The skeleton of recordings that do not state it: bones are estimated from the data."""

from __future__ import annotations

import functools
import logging
from collections.abc import Sequence

import numpy as np
from scipy.sparse.csgraph import minimum_spanning_tree

from kerneton.data.layouts import Layout, plain_layout

log = logging.getLogger(__name__)
_MOST_DISTANCES = 4_000_000  # used to estimate bones
_LENGTH = 0.1  # weight of the length of a bone, relative to its spread


def find_bones(poses: Sequence[np.ndarray], layout: Layout) -> list[tuple[int, int]]:
    """Bones as the tree of joints whose distances change least; recordings (T, J, 3).

    The minimum spanning tree with the weights std(|x_i - x_j|) + 0.1 mean(|x_i - x_j|), equal on both sides of the body.

    >>> t = np.linspace(0, 3, 30)
    >>> elbow = np.stack([np.cos(t), np.sin(t), 0 * t], axis=1)
    >>> hand = elbow + np.stack([np.sin(2 * t), np.cos(2 * t), 0 * t], axis=1)
    >>> arm = np.stack([hand, elbow, 0 * elbow], axis=1)  # the shoulder rests
    >>> find_bones([arm], Layout("arm", ["hand", "elbow", "shoulder"]))
    [(0, 1), (1, 2)]
    """
    n_joints = len(layout.joints)
    frames = np.concatenate(poses).astype(np.float64)
    step = -(-len(frames) * n_joints**2 // _MOST_DISTANCES)
    frames = frames[::step]
    total, squares = np.zeros((n_joints, n_joints)), np.zeros((n_joints, n_joints))
    for frame in frames:
        apart = np.linalg.norm(frame[:, None] - frame[None], axis=2)
        total += apart
        squares += apart**2
    mean = total / len(frames)
    cost = np.sqrt(np.maximum(squares / len(frames) - mean**2, 0)) + _LENGTH * mean
    cost = cost + cost[np.ix_(layout.mirror, layout.mirror)]
    cost = 1 + cost / (cost.max() or 1.0)  # SciPy takes zeros for no edge; a constant changes no tree
    same = np.zeros((n_joints, n_joints), dtype=bool)
    for body in layout.bodies:
        same[np.ix_(body, body)] = True
    tree = minimum_spanning_tree(np.where(same & ~np.eye(n_joints, dtype=bool), cost, 0)).tocoo()
    return sorted((int(min(a, b)), int(max(a, b))) for a, b in zip(tree.row, tree.col, strict=True))


def complete_layout(layout: Layout | None, poses: Sequence[np.ndarray], n_joints: int) -> Layout:
    """The layout of recordings (T, J, 3), with numbered joints and estimated bones if it has none.

    What is missing is logged, once per layout.

    >>> complete_layout(None, [np.random.default_rng(0).normal(size=(9, 4, 3))], 4).joints
    ('joint_0', 'joint_1', 'joint_2', 'joint_3')
    """
    full = plain_layout(n_joints) if layout is None else layout
    if not full.bones and len(full.joints) > 1:
        # The few joints of a layout without bones are all key joints; that was derived, and is derived again.
        full = Layout(full.name, full.joints, find_bones(poses, full), full.root, full.sets)
        _warn(full.name, layout is None, bool(full.sides.any()))
    return full


@functools.cache  # once per layout is enough
def _warn(name: str, unknown: bool, sided: bool) -> None:
    missing = "the recordings have no layout: their joints are numbered"
    what = missing if unknown else f"layout {name!r} has no bones"
    sides = "" if sided else "; left and right are unknown"
    log.warning("%s; bones were estimated from joints that keep their distance%s", what, sides)
