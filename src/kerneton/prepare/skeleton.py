"""The skeleton of recordings that do not state it: bones are estimated from the data."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
from scipy.sparse.csgraph import minimum_spanning_tree

from kerneton.data.layouts import (
    Bone,
    Layout,
    key_joints,
    layout_words,
    loose_joints,
    ordered_bones,
    plain_layout,
)
from kerneton.data.notes import logger

log = logger(__name__)
_MOST_DISTANCES = 4_000_000  # used to estimate bones
_LENGTH = 0.1  # weight of the length of a bone, relative to its spread


def find_bones(poses: Sequence[np.ndarray], layout: Layout) -> list[tuple[int, int]]:
    """Bones as the tree of joints whose distances change least; recordings (T, J, 3).

    The minimum spanning tree with the weights std(|x_i - x_j|) + 0.1 mean(|x_i - x_j|), equal on
    both sides of the body. Bones of the layout are kept; bones between left and right come last.

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
    # legs without motion also keep their distance
    across = np.outer(layout.sides, layout.sides) < 0
    cost = np.where(across, cost + cost.max(), cost)
    # SciPy takes zeros for no edge; a constant changes no tree
    cost = 1 + cost / (cost.max() or 1.0)
    for bone in layout.bones:
        cost[bone] = cost[bone[::-1]] = 0.5  # less than any other
    same = np.zeros((n_joints, n_joints), dtype=bool)
    for body in layout.bodies:
        same[np.ix_(body, body)] = True
    tree = minimum_spanning_tree(np.where(same & ~np.eye(n_joints, dtype=bool), cost, 0)).tocoo()
    return sorted((int(min(a, b)), int(max(a, b))) for a, b in zip(tree.row, tree.col, strict=True))


def complete_layout(layout: Layout | None, poses: Sequence[np.ndarray], n_joints: int) -> Layout:
    """The layout of recordings (T, J, 3), with numbered joints if it has none, and estimated bones
    where joints have none.

    What is missing is logged, once per layout.

    >>> complete_layout(None, [np.random.default_rng(0).normal(size=(9, 4, 3))], 4).joints
    ('joint_0', 'joint_1', 'joint_2', 'joint_3')
    """
    full = plain_layout(n_joints) if layout is None else layout
    loose = loose_joints(full)
    if not loose:
        return full
    names = tuple(full.written.get(full.joints[joint], full.joints[joint]) for joint in loose)
    _warn(full.name, layout is None, bool(full.sides.any()), names if full.bones else ())
    return _with_bones(full, find_bones(poses, full))


def _with_bones(layout: Layout, bones: Sequence[Bone]) -> Layout:
    """A layout with more bones. The root stays if most joints hung from it; sets that follow from
    bones follow again.
    """
    roots, parents = layout.roots, layout.parents
    ordered: list[Bone] = []
    kept = None
    for body in layout.bodies:
        hung = {
            root: sum(_top(joint, parents) == root for joint in body)
            for root in roots
            if root in body
        }
        root = next((root for root, count in hung.items() if 2 * count > len(body)), None)
        ordered += ordered_bones([bone for bone in bones if bone[0] in body], root)[0]
        kept = root if len(layout.bodies) == 1 else None
    sets = dict(layout.sets)
    derived = _keys(layout, layout.bones)
    for key in ("key", "E"):
        if layout.bones and set(sets.get(key, ())) == derived:
            sets[key] = tuple(sorted(_keys(layout, ordered)))
    full = Layout(layout.name, layout.joints, ordered, kept if layout.bones else layout.root, sets)
    full.written.update(layout.written)
    return full


def _top(joint: int, parents: np.ndarray) -> int:
    while parents[joint] >= 0:
        joint = int(parents[joint])
    return joint


def _keys(layout: Layout, bones: Sequence[Bone]) -> set[int]:
    """The key joints of each body."""
    mirror = layout.mirror.tolist()
    found = (
        key_joints([bone for bone in bones if bone[0] in body], mirror) for body in layout.bodies
    )
    return {joint for keys in found for joint in keys}


@functools.cache  # once per layout is enough
def _warn(name: str, unknown: bool, sided: bool, loose: tuple[str, ...] = ()) -> None:
    if loose:
        names = "name" if len(loose) == 1 else "names"
        some = ", ".join(loose[:4]) + (f" and {len(loose) - 4} more" if len(loose) > 4 else "")
        log.warning(
            "no bones are known for the joint %s %s; they were estimated from joints that keep their distance",
            names,
            some,
        )
        return
    missing = "the recordings have no layout: their joints are numbered"
    named = (
        f"layout {name!r} has no bones"
        if layout_words(name) == name
        else "no bones are known for these joints"
    )
    what = missing if unknown else named
    sides = "" if sided else "; left and right are unknown"
    log.warning("%s; bones were estimated from joints that keep their distance%s", what, sides)
