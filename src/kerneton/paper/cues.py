"""The paper's kernels with its printed parameters, and the settings that it leaves open."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from kerneton.data.sequence import SkeletonSequence
from kerneton.kernels.dck import DCK
from kerneton.kernels.sck import SCK
from kerneton.prepare.preprocess import Preprocess


@dataclass(frozen=True)
class Factor:
    """One open point and its levels.

    A ``cautious`` one has a default, its first level: another must be better by more than one
    standard error.
    """

    name: str
    levels: tuple[Any, ...]
    cautious: bool = False


ROOTS = (1.0, 0.5)  # γ*, a power of the features' entries


@dataclass(frozen=True)
class Family:
    """All settings of one kernel: a level of every factor, one of which is the root γ* of the
    features.
    """

    factors: tuple[Factor, ...]
    build: Callable[..., Pipeline]

    def settings(self) -> list[tuple[Any, ...]]:
        """Every combination of levels."""
        return list(itertools.product(*(factor.levels for factor in self.factors)))

    def encoders(self) -> Iterator[tuple[Pipeline, dict[float, tuple[Any, ...]]]]:
        """Pipelines from recordings to features, each with the settings, by root, that use these
        features.
        """
        names = [factor.name for factor in self.factors]
        at = names.index("root")
        for setting in itertools.product(*(f.levels for f in self.factors if f.name != "root")):
            chosen = dict(zip([*names[:at], *names[at + 1 :]], setting, strict=True))
            roots = self.factors[at].levels
            yield (
                self.build(**chosen),
                {root: (*setting[:at], root, *setting[at:]) for root in roots},
            )


def sck_family(n_joints: int) -> Family:
    """SCK with the paper's σ₂, σ₃, Z₂, Z₃, γ; Z₃ is 7 for twenty joints, as the printed size
    requires.

    >>> len(sck_family(15).settings())
    12
    """
    factors = (
        Factor("root", ROOTS, cautious=True),
        Factor("bones", ("reference", None)),
        Factor("joint_weight", (0.3, 0.5, 0.7)),
    )
    return Family(factors, functools.partial(_sck, n_pivots_time=6 if n_joints == 15 else 7))


def dck_family(joint_set: str) -> Family:
    """DCK with the paper's Z₂', Z₃', γ on one of its joint sets, by its numbers or by its words.

    >>> len(dck_family("E").settings())
    32
    """
    factors = (
        Factor("view", ("as recorded", "turned"), cautious=True),
        Factor("root", ROOTS),
        Factor("joints", (joint_set, f"{joint_set}_words")),
        Factor("sigma_joint", (0.2, 0.3)),
        Factor("sigma_span", (3.0, 6.0)),
    )
    return Family(factors, _dck)


def _sck(bones: str | None, joint_weight: float, n_pivots_time: int) -> Pipeline:
    kernel = SCK(
        sigma_joint=0.6,
        sigma_time=0.5,
        n_pivots_joint=5,
        n_pivots_time=n_pivots_time,
        joint_weight=joint_weight,
        power=0.36,
        entries="upper",
        n_jobs=-1,
    )
    return Pipeline([("preprocess", Preprocess(bones=bones)), ("kernel", kernel)])


def _dck(view: str, joints: str, sigma_joint: float, sigma_span: float) -> Pipeline:
    kernel = DCK(
        joints=joints,
        sigma_joint=sigma_joint,
        sigma_time=0.25,
        sigma_span=sigma_span,
        n_pivots_joint=5,
        n_pivots_time=6,
        power=0.85,
        n_jobs=-1,
    )
    steps: list[tuple[str, Any]] = [("preprocess", Preprocess(center=False, bones=None))]
    if view == "turned":
        steps += [
            ("place", FunctionTransformer(at_origin)),
            ("turn", Preprocess(center=False, bones=None, facing="frame")),
        ]
    return Pipeline([*steps, ("kernel", kernel)])


def at_origin(sequences: Sequence[SkeletonSequence]) -> list[SkeletonSequence]:
    """Each recording moved so that its root joint is at the origin on average; its movement is
    kept.

    >>> from kerneton import make_actions
    >>> moved = at_origin(make_actions(["wave"], n_subjects=1, n_takes=1))[0]
    >>> bool(abs(moved.joints[:, moved.layout.root].mean(axis=0)).max() < 1e-6)
    True
    """
    placed = []
    for sequence in sequences:
        assert sequence.layout is not None  # the published recordings have one
        assert sequence.layout.root is not None
        middle = sequence.joints[:, sequence.layout.root].mean(axis=0)
        placed.append(sequence.replace(joints=sequence.joints - middle))
    return placed


def signed_root(features: np.ndarray, power: float) -> np.ndarray:
    """sgn(x)|x|^γ* of every entry.

    >>> signed_root(np.array([4.0, -9.0]), 0.5).tolist()
    [2.0, -3.0]
    """
    return features if power == 1 else np.sign(features) * np.abs(features) ** power
