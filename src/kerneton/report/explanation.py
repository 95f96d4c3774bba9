"""Explanations of decisions: numbers, and from them words, tables, JSON and a plot."""

from __future__ import annotations

import itertools
import json
import os
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.ndimage import uniform_filter1d

from kerneton.data.parameters import check_choice
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import import_extra
from kerneton.report.text import written

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

PHASES = 10  # equal parts of recordings of any length, in which classes are compared
_JOINTS = "a joint with its part of each of its pairs; the intercept and all joints sum to the decision value"
_FRAMES = (
    "frames × joints; a joint is its baseline, which belongs to no frame, and the sum of its frames"
)
_SHOWN = 0.0005  # smaller values would be 0.000 in the text
_MOMENTS = 12  # into which a recording is divided
_BLUR, _USUAL_RATE = 0.25, 30.0  # seconds, and frames per second where the rate is not known
_MOMENT = ("start", "stop", "start_seconds", "stop_seconds", "value")


@dataclass(frozen=True)
class Part:
    """Contribution of a joint or pair to the decision value; ``cue`` is the kernel's name."""

    cue: str
    kind: str  # "joint" or "pair"
    joints: tuple[str, ...]
    value: float

    def __str__(self) -> str:
        return "–".join(self.joints)


@dataclass(frozen=True)
class Moment:
    """Contribution of the frames from ``start`` up to, not including, ``stop``."""

    start: int
    stop: int
    value: float


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a recording has its decision value for a class; made by `explain`.

    Attributes
    ----------
    sequence : SkeletonSequence
        The explained frames.
    label, versus : str
        The class, and the one it is compared with, if any.
    value, intercept : float
        The decision value (or the difference of two), and its part that is the same for every
        recording.
    parts : tuple of Part
        By joint and pair; they and the intercept sum to ``value``.
    by_frame : ndarray of shape (n_frames, n_joints)
        What each joint contributes at each frame.
    baseline : ndarray of shape (n_joints,)
        What belongs to no frame: above all the share of the training recordings' mean. It, all of
        ``by_frame`` and the intercept sum to ``value``.
    probability : float or None
        Of ``label``, where the recogniser is calibrated.
    first_frame : int
        Where the explained frames begin, if they are a segment of a longer recording.

    Examples
    --------
    >>> from kerneton import make_actions, make_recognizer
    >>> data = make_actions(["wave", "bow"], n_subjects=3, n_takes=1)
    >>> why = make_recognizer().fit(data, data.labels).explain(data[0], "wave")
    >>> total = why.intercept + why.baseline.sum() + why.by_frame.sum()
    >>> bool(np.isclose(total, why.value))
    True
    """

    sequence: SkeletonSequence
    label: str
    versus: str | None
    value: float
    intercept: float
    parts: tuple[Part, ...]
    by_frame: np.ndarray
    baseline: np.ndarray
    probability: float | None = None
    first_frame: int = 0

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The joints, in the order of the columns of ``by_frame``."""
        layout = self.sequence.layout
        if layout is not None:
            return tuple(layout.joints)
        return tuple(f"joint {j}" for j in range(self.sequence.n_joints))

    @property
    def joints(self) -> dict[str, float]:
        """The contribution of each joint: its baseline and the sum of its frames."""
        total = self.baseline + self.by_frame.sum(axis=0)
        return dict(zip(self.joint_names, total.tolist(), strict=True))

    @property
    def moments(self) -> tuple[Moment, ...]:
        """The contribution of each twelfth of the recording; their sum is that of ``by_frame``."""
        n_frames = len(self.by_frame)
        edges = np.linspace(0, n_frames, min(_MOMENTS, n_frames) + 1).round().astype(int).tolist()
        values = self.by_frame.sum(axis=1)
        return tuple(Moment(a, b, float(values[a:b].sum())) for a, b in itertools.pairwise(edges))

    @property
    def strongest(self) -> Moment:
        """The sixth of the recording that contributes most.

        Its middle is the frame at which the body is drawn.
        """
        n_frames = len(self.by_frame)
        length = max(1, round(n_frames / 6))
        total = np.concatenate([[0.0], self.by_frame.sum(axis=1).cumsum()])
        sums = total[length:] - total[:-length]
        start = int(sums.argmax())
        return Moment(start, start + length, float(sums[start]))

    def shown_frames(self) -> np.ndarray:
        """``by_frame`` for a player: means over a quarter of a second, the largest 100 or -100."""
        width = max(1, round(_BLUR * (self.sequence.fps or _USUAL_RATE)))
        smooth = uniform_filter1d(self.by_frame, width, axis=0, mode="nearest")
        largest = float(np.abs(smooth).max(initial=0.0)) or 1.0
        return np.rint(100 * smooth / largest).astype(int)

    def joint_table(self) -> list[dict[str, Any]]:
        """Joint and value, the strongest first."""
        return _strongest_first({"joint": j, "value": value} for j, value in self.joints.items())

    def part_table(self, kind: str | None = None) -> list[dict[str, Any]]:
        """Cue, kind, joints and value of each part, or of each "joint" or "pair" part.

        The strongest are first.
        """
        parts = [p for p in self.parts if kind in (None, p.kind)]
        return _strongest_first(
            {"cue": p.cue, "kind": p.kind, "joints": str(p), "value": p.value} for p in parts
        )

    def summed_table(self, kind: str | None = None) -> list[dict[str, Any]]:
        """Kind, joints and value of each joint or pair, its parts in all cues together."""
        total: defaultdict[tuple[str, str], float] = defaultdict(float)
        for p in self.parts:
            if kind in (None, p.kind):
                total[p.kind, str(p)] += p.value
        rows = ({"kind": k, "joints": j, "value": value} for (k, j), value in total.items())
        return _strongest_first(rows)

    def moment_table(self) -> list[dict[str, Any]]:
        """First frame, the frame after the last, both in seconds if the rate is known, and value.

        Frames are those of the whole recording.
        """
        fps, rows = self.sequence.fps, []
        for m in self.moments:
            frames = [self.first_frame + t for t in (m.start, m.stop)]
            seconds = [t / fps if fps else None for t in frames]
            rows.append(dict(zip(_MOMENT, (*frames, *seconds, m.value), strict=True)))
        return rows

    def frame(self, kind: str = "joints") -> DataFrame:
        """A pandas table of ``kind``, the strongest first except for times.

        "joints", "pairs" (over all cues), "parts" (of each cue), "moments", or "frames", a row
        per frame and a column per joint.
        """
        pairs = self.summed_table("pair")
        tables: dict[str, tuple[Any, tuple[str, ...]]] = {
            "joints": (self.joint_table(), ("joint", "value")),
            "pairs": (pairs, ("joints", "value")),
            "parts": (self.part_table(), ("cue", "kind", "joints", "value")),
            "moments": (self.moment_table(), _MOMENT),
            "frames": (self.by_frame, self.joint_names),
        }
        check_choice("kind", kind, tables)
        pandas = import_extra("pandas", extra="frame", purpose="Explanation.frame")
        rows, columns = tables[kind]
        return pandas.DataFrame(rows, columns=list(columns))

    def plot(self, *, dark: bool = False) -> Figure:
        """Plot the body at the moment that counts most, and the joints' contributions over time."""
        from kerneton.report.explanation_plot import plot_explanation

        return plot_explanation(self, dark=dark)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON."""
        return {
            "recording": self.sequence.name,
            "label": self.label,
            "versus": self.versus,
            "words": self.words,
            "probability": self.probability,
            "value": self.value,
            "intercept": self.intercept,
            "joints": self.joint_table(),
            "joints_kind": _JOINTS,
            "pairs": self.summed_table("pair"),
            "parts": self.part_table(),
            "moments": self.moment_table(),
            "frames": {
                "kind": _FRAMES,
                "first": self.first_frame,
                "joints": list(self.joint_names),
                "baseline": self.baseline.tolist(),
                "values": self.by_frame.tolist(),
            },
        }

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Everything as JSON; also written to ``path`` if given."""
        return written(json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n", path)

    @property
    def words(self) -> str:
        """The reasons in a sentence: the label, which joints spoke for it, when and how they
        moved.
        """
        from kerneton.report.reasons import reasons

        return reasons(self)

    @property
    def numbers(self) -> str:
        """Decision value and probability."""
        chance = "" if self.probability is None else f", probability {self.probability:.1%}"
        return f"decision value {self.value:+.3f}{chance}"

    def __str__(self) -> str:
        joints = self.joint_table()
        lines = [
            f"{self.sequence.name or 'recording'}: {self.words}",
            f"  {self.numbers}",
            f"  for      {_listed(r for r in joints if r['value'] > _SHOWN)}",
            f"  against  {_listed(r for r in joints if r['value'] < -_SHOWN)}",
        ]
        pairs = self.summed_table("pair")
        if pairs:
            rows = [{"joint": row["joints"], "value": row["value"]} for row in pairs]
            lines.append(f"  pairs    {_listed(rows)}")
        best = self.strongest
        if best.value > _SHOWN:
            lines.append(f"  moments  strongest {self.time(best)}: {best.value:+.3f}")
        else:
            lines.append("  moments  none supports this label")
        lines.append(f"  intercept {self.intercept:+.3f}, the same for every recording")
        lines.append(f"  {self.sums}")
        return "\n".join(lines)

    @property
    def sums(self) -> str:
        """Meaning of the decision value, in a sentence."""
        pairs = ", which contain the pairs" if any(p.kind == "pair" for p in self.parts) else ""
        total = f"the sum of the intercept and all joints{pairs}"
        if self.versus is None:
            return f"decision value: {total}; the label with the largest value is predicted"
        likelier = f"above zero, {self.label} is the likelier one"
        return (
            f"decision value: that of {self.label} minus that of {self.versus}, {total}; {likelier}"
        )

    def time(self, moment: Moment) -> str:
        """The time of a moment in the whole recording, or its frames where the rate is unknown."""
        fps = self.sequence.fps
        start, stop = (self.first_frame + t for t in (moment.start, moment.stop))
        if fps:
            return f"{start / fps:.2f} to {stop / fps:.2f} s"
        return f"frames {start} to {stop - 1}"


@dataclass(frozen=True, eq=False)
class ClassImportance:
    """Mean contribution of each joint to each class; made by `class_importance`.

    Attributes
    ----------
    values : ndarray of shape (n_classes, n_joints)
    phases : ndarray of shape (n_classes, n_phases, n_joints)
        The same by tenths of the recordings, without what belongs to no frame.
    counts : tuple of int, recordings of each class

    Examples
    --------
    >>> values, phases = np.array([[0.5, 0.1], [0.0, 0.4]]), np.zeros((2, 10, 2))
    >>> both = ClassImportance(("wave", "bow"), ("hand", "head"), values, phases, (3, 3))
    >>> both.top("bow", 1)
    [('head', 0.4)]
    """

    labels: tuple[str, ...]
    joints: tuple[str, ...]
    values: np.ndarray
    phases: np.ndarray
    counts: tuple[int, ...]

    def top(self, label: str, n: int = 5) -> list[tuple[str, float]]:
        """The joints that support a class most."""
        row = self.values[self._row(label)]
        return [(self.joints[j], float(row[j])) for j in np.argsort(-row, kind="stable")[:n]]

    def words(self, label: str) -> str:
        """What the model looks for in a class, in a sentence: joints, and the phase of the
        action.
        """
        from kerneton.report.reasons import looked_for

        row = self._row(label)
        return looked_for(label, self.joints, self.values[row], self.phases[row])

    def frame(self) -> DataFrame:
        """A pandas table, a row per class and a column per joint."""
        pandas = import_extra("pandas", extra="frame", purpose="ClassImportance.frame")
        return pandas.DataFrame(self.values, index=list(self.labels), columns=list(self.joints))

    def plot(self) -> Figure:
        """Plot classes by joints as a heat map."""
        from kerneton.report.explanation_plot import plot_importance

        return plot_importance(self)

    def _row(self, label: str) -> int:
        check_choice("label", label, self.labels)
        return self.labels.index(label)


def _strongest_first(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: -abs(row["value"]))


def _listed(rows: Iterable[dict[str, Any]], n: int = 5) -> str:
    return ", ".join(f"{row['joint']} {row['value']:+.3f}" for row in list(rows)[:n]) or "nothing"
