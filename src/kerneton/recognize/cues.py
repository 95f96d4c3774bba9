"""The cues of the default recogniser: five ways of looking at a recording, each an SCK with several signals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.base import clone

from kerneton.kernels.sck import SCK
from kerneton.machine.normalize import CenterNormalize
from kerneton.prepare.preprocess import Preprocess
from kerneton.prepare.skeleton import SkeletonKind
from kerneton.recognize.branch import Branch
from kerneton.recognize.search import Search

# (σ, pivots, share of the kernel) of each signal, with two signals beside time and with three.
_TWO: dict[str, Any] = {"sigma_joint": (0.5, 0.7), "n_pivots_joint": (5, 4), "joint_weight": (0.4, 0.35)}
_THREE: dict[str, Any] = {
    "sigma_joint": (0.6, 0.7, 0.7),
    "n_pivots_joint": (3, 3, 3),
    "joint_weight": (0.3, 0.25, 0.2),
}
_MOVE: tuple[str, ...] = ("position", "velocity")
_PAIRS: dict[str, Any] = {"pairs": True, "joints": "key"}

# The machine of the default recogniser: C and the within-class penalty. Accuracy changes little from a third of either
# to three times it.
STANDARD_C = 10.0
STANDARD_PENALTY = 3.0


def standard_cues(*, order: int = 2) -> dict[str, Branch]:
    """The five cues of the default recogniser, by name; order 3 for third-order tensors.

    Joints and pairs of joints, where they are and how they move, pairs also with acceleration; directions of bones and
    from joint to joint, the body turned to the front. Every joint is weighted by its alignment with the training
    labels.

    >>> list(standard_cues())
    ['joints', 'pairs', 'pairs_force', 'bones_front', 'directions_front']
    """

    def cue(signals: tuple[str, ...], facing: str | None = None, **parameters: Any) -> Branch:
        kernel = SCK(
            signals=signals,
            sigma_time=0.3,
            n_pivots_time=5,
            power=0.3,
            order=order,
            weighting="alignment",
            **parameters,
        )
        return Branch(Preprocess(bones="size", facing=facing, dtype="float32"), kernel, CenterNormalize())

    return {
        "joints": cue(_MOVE, **_TWO),
        "pairs": cue(_MOVE, **_TWO, **_PAIRS),
        "pairs_force": cue((*_MOVE, "acceleration"), **_THREE, **_PAIRS),
        "bones_front": cue(("bone", "velocity"), facing="sequence", **_TWO),
        "directions_front": cue(("direction", "velocity"), facing="sequence", **_TWO, **_PAIRS),
    }


VIEWS: dict[str, dict[str, Any]] = {
    "free": {"preprocess__facing": "sequence"},  # every recording turned to the front
    "fixed": {},  # as the camera saw it
}


REACH = 0.9  # of poses that are no bodies in metres: what a grown body reaches from its hips


def suited(
    branches: Mapping[str, Branch], search: Search | None, kind: SkeletonKind
) -> tuple[dict[str, Branch], Search | None]:
    """Branches and search of a preset as these recordings allow them; for one body in space they stay as they are.

    Hands, things, bodies whose left and right are unknown, and 2D: units are chosen so that poses reach as far as a body
    does, nothing is turned to the front, and beside the poses one cue looks at where they go in space, which centring
    takes away. One joint has nothing but that. Two bodies: where mirroring is tried, so is exchanging them.

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
    """Variants without the view, once each."""
    out: dict[str, dict[str, Any]] = {}
    for name, overrides in tried.items():
        rest = {key: value for key, value in overrides.items() if key != "preprocess__facing"}
        if rest not in out.values():
            out[name] = rest
    return out


def _exchanged(tried: dict[str, dict[str, Any]]) -> dict[str, tuple[str, dict[str, Any]]]:
    """For each view in which mirroring is tried, that variant's name, and the same with the two persons exchanged."""
    out = {}
    for name, overrides in tried.items():
        plain = {**overrides, "kernel__mirror": False}
        if overrides.get("kernel__mirror") is True and plain in tried.values():
            out[name.replace("mirrored", "either order")] = name, {**overrides, "kernel__mirror": "bodies"}
    return out


def variants(view: str, mirror: str | bool) -> dict[str, dict[str, Any]]:
    """Parameters of each combination of view and mirroring that is to be tried.

    >>> variants("free", "auto")
    {'free': {'preprocess__facing': 'sequence', 'kernel__mirror': False},
     'free, mirrored': {'preprocess__facing': 'sequence', 'kernel__mirror': True}}
    """
    views = list(VIEWS) if view == "auto" else [view]
    sides = [False, True] if mirror == "auto" else [mirror]
    told = {False: "", True: ", mirrored", "bodies": ", either order"}
    return {name + told[side]: {**VIEWS[name], "kernel__mirror": side} for name in views for side in sides}
