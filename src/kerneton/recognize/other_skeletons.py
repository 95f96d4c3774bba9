"""Cues and search as hands, 2D, two persons or a skeleton without left and right need them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.base import clone

from kerneton.machine.scaling import CenterNormalize
from kerneton.prepare.preprocess import SkeletonKind
from kerneton.recognize.branch import Branch
from kerneton.recognize.search import Search

REACH = 0.9  # of poses that are no bodies in metres: what a grown body reaches from its hips


def suited(
    branches: Mapping[str, Branch], search: Search | None, kind: SkeletonKind
) -> tuple[dict[str, Branch], Search | None]:
    """Branches and search of a preset as these recordings allow them; for one body in space they stay as they are.

    Hands, things, bodies whose left and right are unknown, and 2D: units are chosen so that poses reach as far as a body
    does, nothing is turned to the front, and beside the poses one cue looks at where they go in space, which centring
    takes away. One joint has nothing but that. Two bodies: where mirroring is tried, so is exchanging them.

    >>> from kerneton import standard_cues
    >>> names, _ = suited(standard_cues(), None, SkeletonKind(n_joints=21, turns=False, sides=False))
    >>> list(names)
    ['joints', 'pairs', 'pairs_force', 'bones_front', 'directions_front', 'travel']
    """
    out = dict(branches)
    if kind.flat or not kind.sides:
        out = {name: _anywhere(branch, kind) for name, branch in branches.items()}
    if not kind.turns and "joints" in out:  # the default's; the paper's kernels stay what they are
        kernel = clone(out["joints"].kernel).set_params(signals=("travel", "velocity"))
        poses = clone(out["joints"].preprocess).set_params(center=False, reach=None)
        travel = {"travel": Branch(poses, kernel, CenterNormalize())}
        out = {**out, **travel} if kind.n_joints > 1 else travel
    if search is not None and search.variants:
        tried = {name: dict(overrides) for name, overrides in search.variants.items()}
        if not kind.turns:
            tried = _unturned(tried)
        gain = dict(search.required_gain or {})
        if kind.bodies == 2:
            for name, (like, overrides) in _exchanged(tried).items():
                tried[name] = overrides
                if like in gain:
                    gain[name] = gain[like]
        search = clone(search).set_params(variants=tried, required_gain=gain)
    return out, search


def _anywhere(branch: Branch, kind: SkeletonKind) -> Branch:
    """A branch whose poses are scaled to a body's reach, and turned only where there is a front."""
    branch = clone(branch)
    if kind.n_joints == 1:  # it has no size, and is its own root
        signal = "signals" if hasattr(branch.kernel, "signals") else "signal"
        return branch.set_params(preprocess__center=False, **{f"kernel__{signal}": "travel"})
    facing = branch.preprocess.facing if kind.turns else None
    bones = branch.preprocess.bones or "size"
    return branch.set_params(preprocess__bones=bones, preprocess__reach=REACH, preprocess__facing=facing)


def _unturned(tried: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Variants without the view, once each, and named so."""
    out: dict[str, dict[str, Any]] = {}
    for name, overrides in tried.items():
        rest = {key: value for key, value in overrides.items() if key != "preprocess__facing"}
        if rest not in out.values():
            out["".join(["not turned", *name.partition(", ")[1:]])] = rest
    return out


def _exchanged(tried: dict[str, dict[str, Any]]) -> dict[str, tuple[str, dict[str, Any]]]:
    """For each view in which mirroring is tried, that variant's name, and the same with the two persons exchanged."""
    out = {}
    for name, overrides in tried.items():
        plain = {**overrides, "kernel__mirror": False}
        if overrides.get("kernel__mirror") is True and plain in tried.values():
            out[name.replace("mirrored", "either order")] = name, {**overrides, "kernel__mirror": "bodies"}
    return out
