"""Cues and search for hands, 2D, two persons and skeletons without left and right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.base import clone

from kerneton.machine.scaling import CenterNormalize
from kerneton.prepare.preprocess import SkeletonKind
from kerneton.recognize.branch import Branch
from kerneton.recognize.search import Search

REACH = 0.9  # for poses that are not bodies in metres: reach of an adult from the hips


def suited(
    branches: Mapping[str, Branch], search: Search | None, kind: SkeletonKind
) -> tuple[dict[str, Branch], Search | None]:
    """Branches and search of a preset, changed for these recordings; unchanged for one body in
    space.

    Hands, objects, bodies whose left and right are unknown, and 2D: poses are scaled to the reach
    of a body, are turned to the frame of the palm or not at all, and one more cue uses the path in
    space, which centring removes. A single joint only has this cue. Two bodies: where mirroring is
    tried, exchanging them is tried too, and partial mirroring is not.

    >>> from kerneton import standard_cues
    >>> names, _ = suited(
    ...     standard_cues(), None, SkeletonKind(n_joints=21, turns="full", sides=False)
    ... )
    >>> list(names)
    ['joints', 'pairs', 'pairs_force', 'bones_front', 'directions_front', 'travel']
    """
    out = dict(branches)
    if kind.flat or not kind.sides:
        out = {name: _anywhere(branch, kind) for name, branch in branches.items()}
    if (
        kind.turns != "yaw" and "joints" in out
    ):  # only the default's signals; the paper's kernels do not change
        kernel = clone(out["joints"].kernel).set_params(signals=("travel", "velocity"))
        poses = clone(out["joints"].preprocess).set_params(center=False, path=False, reach=None)
        travel = {"travel": Branch(poses, kernel, CenterNormalize())}
        out = {**out, **travel} if kind.n_joints > 1 else travel
        if kind.n_joints > 1 and kind.root is not None and search is not None:
            out["path"] = Branch(
                clone(poses), clone(kernel).set_params(joints=[kind.root]), CenterNormalize()
            )
            search = clone(search).set_params(optional=("path",))
    if search is not None and search.variants:
        tried = {name: dict(overrides) for name, overrides in search.variants.items()}
        if not kind.turns:
            tried = _unturned(tried)
        gain = dict(search.required_gain or {})
        if kind.bodies == 2:
            asked = [name for name, o in tried.items() if o.get("kernel__mirror") != "partly"]
            # to exchange them is tried instead
            tried = {name: tried[name] for name in asked} or tried
            gain = {name: value for name, value in gain.items() if name in tried}
            for name, (like, overrides) in _exchanged(tried).items():
                tried[name] = overrides
                if like in gain:
                    gain[name] = gain[like]
        search = clone(search).set_params(variants=tried, required_gain=gain)
    return out, search


def _anywhere(branch: Branch, kind: SkeletonKind) -> Branch:
    """A branch whose poses are scaled to a body's reach, and turned only if there is a front."""
    branch = clone(branch)
    if kind.n_joints == 1:  # a single joint has no size, and is its own root
        changed = {
            "preprocess__center": False,
            "preprocess__path": False,
            "kernel__signals": "travel",
        }
        return branch.set_params(**changed)
    facing = branch.preprocess.facing if kind.turns else None
    bones = branch.preprocess.bones or "size"
    return branch.set_params(
        preprocess__bones=bones, preprocess__reach=REACH, preprocess__facing=facing
    )


def _unturned(tried: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The variants without a choice of view, each once, with suitable names."""
    out: dict[str, dict[str, Any]] = {}
    for name, overrides in tried.items():
        rest = {key: value for key, value in overrides.items() if key != "preprocess__facing"}
        if rest not in out.values():
            out["".join(["not turned", *name.partition(", ")[1:]])] = rest
    return out


def _exchanged(tried: dict[str, dict[str, Any]]) -> dict[str, tuple[str, dict[str, Any]]]:
    """For each view in which mirroring is tried: that variant, and a variant with the two persons
    exchanged.
    """
    out = {}
    for name, overrides in tried.items():
        plain = {**overrides, "kernel__mirror": False}
        if overrides.get("kernel__mirror") is True and plain in tried.values():
            out[name.replace("mirrored", "either order")] = (
                name,
                {**overrides, "kernel__mirror": "bodies"},
            )
    return out
