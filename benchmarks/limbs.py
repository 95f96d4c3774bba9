"""Limbs for `nested.py`: their joints, how much each moves, and copies of recordings in which an
idle arm moves like another person's.
"""

from __future__ import annotations

import re

import numpy as np

from kerneton import Layout, SkeletonSequence
from kerneton.machine.folds import BlockGrams
from kerneton.prepare.poses import facing, fill_gaps, turn
from kerneton.prepare.preprocess import is_flat

PARTS = {"arm": ("shoulder", "elbow", "wrist", "hand"), "leg": ("hip", "knee", "ankle", "foot")}
IDLE = 0.5  # share of the other arm's speed below which an arm is idle
SHARPNESS = 3.0  # of the competition


def limbs(layout: Layout) -> dict[str, list[int]]:
    """Joints of each limb, by name; the rest of each body is one of them. Empty without arms.

    >>> limbs(Layout("arm", ["head", "left_shoulder", "left_elbow"]))
    {'rest': [0], 'left arm': [1, 2]}
    """
    out: dict[str, list[int]] = {}
    for joint, name in enumerate(layout.joints):
        side, part, body = re.fullmatch(r"(?:(left|right)_)?(.*?)(_[12])?", name).groups()
        kind = next((limb for limb, parts in PARTS.items() if side and part in parts), None)
        out.setdefault((f"{side} {kind}" if kind else "rest") + (body or ""), []).append(joint)
    return out if any("arm" in name for name in out) else {}


def activity(poses: SkeletonSequence, groups: dict[str, list[int]]) -> np.ndarray:
    """How much each joint's limb moves: (1 + share) / 2, share of the limbs' speeds, 1 for their
    mean; (J,).
    """
    change = np.diff(poses.joints.astype(np.float64), axis=0)
    speeds = [np.sqrt(np.square(change[:, joints]).sum(axis=2).mean()) if len(change) else 1.0
              for joints in groups.values()]  # fmt: skip
    out = np.ones(poses.n_joints)
    for joints, speed in zip(groups.values(), speeds, strict=True):
        out[joints] = (1 + (speed / np.mean(speeds) if np.mean(speeds) > 0 else 1.0)) / 2
    return out


def active(poses: list[SkeletonSequence], kernel, features: np.ndarray) -> np.ndarray:
    """Features of an unmirrored kernel, the blocks of each recording weighted by the activity of
    their limbs.
    """
    groups = limbs(poses[0].layout)
    moved = np.stack([activity(one, groups) for one in poses])  # (n, J)
    weights = np.stack(
        [moved[:, list(token)].mean(axis=1) for (token,) in kernel.block_joints()], axis=1
    )
    return features * np.sqrt(np.repeat(weights, kernel.block_sizes_, axis=1)).astype(
        features.dtype
    )


def blocks_of(kernel, layout: Layout) -> list[np.ndarray]:
    """Blocks of each limb or pair of limbs, a mirrored block among those of both sides."""
    names = {joint: name for name, joints in limbs(layout).items() for joint in joints}
    keys = [frozenset(frozenset(names[joint] for joint in token) for token in block)
            for block in kernel.block_joints()]  # fmt: skip
    return [np.flatnonzero([key == other for other in keys]) for key in dict.fromkeys(keys)]


def each_by_itself(
    grams: BlockGrams, parts: list[np.ndarray], compete: bool, codes, train, rows
) -> tuple:
    """Gram matrices of a fold with every limb centred and normalised separately, weighted by its
    share in the sum of all.
    """
    weights = grams.weights(codes, [train])[0]
    found, shares = [], []
    whole = BlockGrams(grams.blocks, grams.squares, True, norm=False).fold(
        codes, train, rows, weights=weights
    )
    for part in parts:
        blocks = grams.blocks[part], grams.squares[part], True
        plain = BlockGrams(*blocks, norm=False).fold(codes, train, rows, weights=weights[part])
        shares.append((plain[0].diagonal() / whole[0].diagonal()).mean())
        own = BlockGrams(*blocks).fold(codes, train, rows, weights=weights[part])
        found.append([np.expm1(SHARPNESS * k) / np.expm1(SHARPNESS) if compete else k for k in own])
    return tuple(
        sum(s * pair[side] for s, pair in zip(shares, found, strict=True)) / sum(shares)
        for side in (0, 1)
    )


class Arm:
    """One arm of a recording, relative to its shoulder: (T, joints, 3), and how fast it is."""

    def __init__(self, joints: np.ndarray, groups: dict[str, list[int]], name: str) -> None:
        self.joints = groups[name]
        self.relative = joints[:, self.joints] - joints[:, self.joints[:1]]
        change = np.diff(self.relative, axis=0)
        self.speed = float(np.sqrt(np.square(change).sum(axis=2).mean())) if len(change) else 0.0


def borrowed(
    known: list[SkeletonSequence], people: list, n_copies: int = 2
) -> list[tuple[SkeletonSequence, int, set[int]]]:
    """Copies in which an idle arm moves like another person's idle arm, with the positions of the
    recording and of those it borrows from."""
    groups, rng = limbs(known[0].layout), np.random.default_rng(0)
    if not groups:
        return []
    layout = known[0].layout
    joints = [fill_gaps(s.joints, np.isnan(s.joints).any(axis=2)) for s in known]
    sides = [name for name in groups if "arm" in name]
    for name in sides:  # the shoulder first
        groups[name].sort(key=lambda j: "shoulder" not in layout.joints[j])
    arms = [{name: Arm(x, groups, name) for name in sides} for x in joints]
    idle = {
        name: [i for i, own in enumerate(arms) if own[name].speed < IDLE * own[_other(name)].speed]
        for name in sides
    }
    flat = is_flat(joints[0])
    yaw = [0.0 if flat else float(facing(x, layout)) for x in joints]
    size = [
        np.sqrt(np.square(x - x.mean(axis=1, keepdims=True)).sum(axis=2).mean()) for x in joints
    ]
    who = [str(i) if p is None else p for i, p in enumerate(people)]
    out = []
    for i, one in enumerate(known):
        for wanted in _lenders(
            who, i, {name: idle[name] for name in sides if i in idle[name]}, rng, n_copies
        ):
            x = joints[i].copy()
            for name, j in wanted.items():
                moved = turn(_resampled(arms[j][name].relative, len(x)), yaw[i] - yaw[j]) * (
                    size[i] / size[j]
                )
                x[:, groups[name]] = x[:, groups[name][:1]] + moved
            out.append((one.replace(joints=x.astype(one.joints.dtype)), i, set(wanted.values())))
    return out


def _other(name: str) -> str:
    return name.replace("left", "right") if "left" in name else name.replace("right", "left")


def _lenders(
    who: list, i: int, idle: dict[str, list[int]], rng: np.random.Generator, n_copies: int
):
    """For each copy the recording of another person per idle arm, with different people in
    different copies.
    """
    taken = {who[i]}
    for _ in range(n_copies if idle else 0):
        wanted = {}
        for name, lenders in idle.items():
            free = [j for j in lenders if who[j] not in taken]
            if not free:
                return
            wanted[name] = int(rng.choice(free))
        taken |= {who[j] for j in wanted.values()}
        yield wanted


def _resampled(x: np.ndarray, n: int) -> np.ndarray:
    at = np.linspace(0, len(x) - 1, n)
    low = np.floor(at).astype(int)
    high = np.minimum(low + 1, len(x) - 1)
    share = (at - low)[:, None, None]
    return x[low] * (1 - share) + x[high] * share
