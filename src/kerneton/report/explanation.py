"""Explanations of decisions: numbers, and from them tables, text, JSON and a plot."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kerneton.data.sequence import SkeletonSequence
from kerneton.data.validation import check_choice
from kerneton.exceptions import import_extra
from kerneton.report.text import written

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

OCCLUSION = (
    "occlusion: how much the decision value falls if the body is hidden at this moment "
    "and its poses are interpolated"
)
_JOINTS = "a joint with its part of each of its pairs; the intercept and all joints sum to the decision value"
_SHOWN = 0.0005  # smaller values would be 0.000 in the text
_MOMENT = ("start", "stop", "start_seconds", "stop_seconds", "value")


@dataclass(frozen=True)
class Part:
    """Contribution of one block of features to the decision value.

    ``joints`` names the joint or the pair; with mirroring also its mirror image, or the same of the other person, with which
    it shares the block. ``cue`` is the kernel's name in the recogniser.
    """

    cue: str
    kind: str  # "joint" or "pair"
    joints: tuple[tuple[str, ...], ...]
    value: float

    def __str__(self) -> str:
        return " | ".join("–".join(token) for token in self.joints)


@dataclass(frozen=True)
class Moment:
    """Loss of decision value if the body is hidden from frame ``start`` up to, not including, ``stop``."""

    start: int
    stop: int
    value: float


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a recording has its decision value for a class; made by `explain`.

    Attributes
    ----------
    label, versus : str
        The class, and the one it is compared with, if any.
    value, intercept : float
        The decision value (or the difference of two), and its part that is the same for every recording.
    parts : tuple of Part
        Exact: they and the intercept sum to ``value``.
    joints : dict of str to float
        The same by joint, in the layout's order: the part of a pair, or of mirrored joints, is divided equally among
        its joints.
    moments : tuple of Moment
        Measured as ``moments_kind`` describes.
    probability : float or None
        Of ``label``, where the recogniser is calibrated.
    """

    sequence: SkeletonSequence
    label: str
    versus: str | None
    value: float
    intercept: float
    parts: tuple[Part, ...]
    joints: dict[str, float]
    moments: tuple[Moment, ...]
    probability: float | None = None
    moments_kind: str = OCCLUSION

    def joint_table(self) -> list[dict[str, Any]]:
        """Joint and value, the strongest first."""
        return _strongest_first({"joint": joint, "value": value} for joint, value in self.joints.items())

    def part_table(self, kind: str | None = None) -> list[dict[str, Any]]:
        """Cue, kind, joints and value of each part, or of each "joint" or "pair" part, the strongest first."""
        parts = [p for p in self.parts if kind in (None, p.kind)]
        return _strongest_first(
            {"cue": p.cue, "kind": p.kind, "joints": str(p), "value": p.value} for p in parts
        )

    def summed_table(self, kind: str | None = None) -> list[dict[str, Any]]:
        """Kind, joints and value of each joint or pair, its parts in all cues together, the strongest first."""
        total: defaultdict[tuple[str, str], float] = defaultdict(float)
        for p in self.parts:
            if kind in (None, p.kind):
                total[p.kind, str(p)] += p.value
        rows = ({"kind": k, "joints": joints, "value": value} for (k, joints), value in total.items())
        return _strongest_first(rows)

    def moment_table(self) -> list[dict[str, Any]]:
        """First frame, the frame after the last, both in seconds where the rate is known, and value."""
        fps, rows = self.sequence.fps, []
        for m in self.moments:
            seconds = [t / fps if fps else None for t in (m.start, m.stop)]
            rows.append(dict(zip(_MOMENT, (m.start, m.stop, *seconds, m.value), strict=True)))
        return rows

    def frame_values(self) -> np.ndarray:
        """(n_frames,) the mean value of the moments that contain a frame."""
        total, count = np.zeros(self.sequence.n_frames), np.zeros(self.sequence.n_frames)
        for m in self.moments:
            total[m.start : m.stop] += m.value
            count[m.start : m.stop] += 1
        return total / np.maximum(count, 1)

    def frame(self, kind: str = "joints") -> DataFrame:
        """A pandas table of ``kind`` "joints", "pairs" (over all cues), "parts" (of each cue) or "moments"."""
        tables: dict[str, tuple[list[dict[str, Any]], tuple[str, ...]]] = {
            "joints": (self.joint_table(), ("joint", "value")),
            "pairs": (self.summed_table("pair"), ("joints", "value")),
            "parts": (self.part_table(), ("cue", "kind", "joints", "value")),
            "moments": (self.moment_table(), _MOMENT),
        }
        check_choice("kind", kind, tables)
        pandas = import_extra("pandas", extra="frame", purpose="Explanation.frame")
        rows, columns = tables[kind]
        return pandas.DataFrame(rows, columns=list(columns))

    def plot(self) -> Figure:
        """Plot the skeleton with coloured joints, the strongest parts, and the moments over time."""
        from kerneton.report.explanation_plot import plot_explanation

        return plot_explanation(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON."""
        return {
            "recording": self.sequence.name,
            "label": self.label,
            "versus": self.versus,
            "probability": self.probability,
            "value": self.value,
            "intercept": self.intercept,
            "joints": self.joint_table(),
            "joints_kind": _JOINTS,
            "pairs": self.summed_table("pair"),
            "parts": self.part_table(),
            "moments": self.moment_table(),
            "moments_kind": self.moments_kind,
        }

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Everything as JSON; also written to ``path`` if given."""
        return written(json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n", path)

    @property
    def headline(self) -> str:
        """Recording, label, decision value and probability in a line."""
        chance = "" if self.probability is None else f", probability {self.probability:.1%}"
        against = "" if self.versus is None else f" rather than {self.versus}"
        name = self.sequence.name or "recording"
        return f"{name}: {self.label}{against}, decision value {self.value:+.3f}{chance}"

    def __str__(self) -> str:
        joints = self.joint_table()
        lines = [
            self.headline,
            f"  for      {_listed(r for r in joints if r['value'] > _SHOWN)}",
            f"  against  {_listed(r for r in joints if r['value'] < -_SHOWN)}",
            f"  intercept {self.intercept:+.3f}, the same for every recording",
        ]
        pairs = self.summed_table("pair")
        if pairs:
            rows = [{"joint": row["joints"], "value": row["value"]} for row in pairs]
            lines.insert(3, f"  pairs    {_listed(rows)}")
        if self.mirrored:
            lines.append(f"  {self.mirrored}")
        if self.moments:
            best = max(self.moments, key=lambda m: m.value)
            told = f"strongest {self._when(best)}: without it the value would be {best.value:.3f} lower"
            lines.append(f"  moments  {told if best.value > _SHOWN else 'none supports this label'}")
        lines.append(f"  {self.in_words}")
        return "\n".join(lines)

    @property
    def in_words(self) -> str:
        """Meaning of the decision value, in a sentence."""
        pairs = ", which contain the pairs" if any(p.kind == "pair" for p in self.parts) else ""
        total = f"the sum of the intercept and all joints{pairs}"
        if self.versus is None:
            return f"decision value: {total}; the label with the largest value is predicted"
        likelier = f"above zero, {self.label} is the likelier one"
        return f"decision value: that of {self.label} minus that of {self.versus}, {total}; {likelier}"

    @property
    def mirrored(self) -> str:
        """What a line between joints means, where an action is the same if mirrored, or with two people exchanged; else empty."""
        shared = [part.joints for part in self.parts if len(part.joints) > 1]
        layout = self.sequence.layout
        if not shared or layout is None:
            return ""
        sides = {joint: layout.joints[layout.mirror[j]] for j, joint in enumerate(layout.joints)}
        if all({sides.get(joint, joint) for joint in a} == {*b} for a, b, *_ in shared):
            return "a | b: a joint or pair and its mirror image, which have one value together"
        return "a | b: the same with the people exchanged, with one value together"

    def _when(self, moment: Moment) -> str:
        fps = self.sequence.fps
        if fps:
            return f"{moment.start / fps:.2f} to {moment.stop / fps:.2f} s"
        return f"frames {moment.start} to {moment.stop - 1}"


@dataclass(frozen=True, eq=False)
class ClassImportance:
    """Mean contribution of each joint to each class, (n_classes, n_joints); made by `class_importance`."""

    labels: tuple[str, ...]
    joints: tuple[str, ...]
    values: np.ndarray
    counts: tuple[int, ...]  # recordings of each class

    def top(self, label: str, n: int = 5) -> list[tuple[str, float]]:
        """The joints that support a class most."""
        check_choice("label", label, self.labels)
        row = self.values[self.labels.index(label)]
        return [(self.joints[j], float(row[j])) for j in np.argsort(-row, kind="stable")[:n]]

    def frame(self) -> DataFrame:
        """A pandas table, a row per class and a column per joint."""
        pandas = import_extra("pandas", extra="frame", purpose="ClassImportance.frame")
        return pandas.DataFrame(self.values, index=list(self.labels), columns=list(self.joints))

    def plot(self) -> Figure:
        """Plot classes by joints as a heat map."""
        from kerneton.report.explanation_plot import plot_importance

        return plot_importance(self)


def _strongest_first(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: -abs(row["value"]))


def _listed(rows: Iterable[dict[str, Any]], n: int = 5) -> str:
    return ", ".join(f"{row['joint']} {row['value']:+.3f}" for row in list(rows)[:n]) or "nothing"
