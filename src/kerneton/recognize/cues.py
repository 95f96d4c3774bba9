"""The cues of the default recogniser: five ways of looking at a recording, each an SCK with several signals."""

from __future__ import annotations

from typing import Any

from kerneton.kernels.sck import SCK
from kerneton.machine.normalize import CenterNormalize
from kerneton.prepare.preprocess import Preprocess
from kerneton.recognize.branch import Branch

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


def variants(view: str, mirror: str | bool) -> dict[str, dict[str, Any]]:
    """Parameters of each combination of view and mirroring that is to be tried.

    >>> variants("free", "auto")
    {'free': {'preprocess__facing': 'sequence', 'kernel__mirror': False},
     'free, mirrored': {'preprocess__facing': 'sequence', 'kernel__mirror': True}}
    """
    views = list(VIEWS) if view == "auto" else [view]
    sides = [False, True] if mirror == "auto" else [bool(mirror)]
    return {
        name + (", mirrored" if side else ""): {**VIEWS[name], "kernel__mirror": side}
        for name in views
        for side in sides
    }
