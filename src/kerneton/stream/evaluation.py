"""Accuracy of a spotter on new people: all customary figures, per class, and timelines."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from kerneton.data.checks import check_sequences
from kerneton.data.parameters import warn_renamed
from kerneton.data.progress import Progress, silent
from kerneton.data.segments import Segment
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError
from kerneton.report.tables import aligned
from kerneton.stream.detection import Detection
from kerneton.stream.engine import Engine, frames_of_delay
from kerneton.stream.frames import raw_joints
from kerneton.stream.metrics import (
    ACTION_POINT_SECONDS,
    THRESHOLDS,
    TOLERANCE,
    action_point_f1,
    action_points,
    frame_scores,
    latencies,
    mean_average_precision,
    segment_counts,
)
from kerneton.stream.shrec import shrec_scores
from kerneton.stream.spotter import adapted, order_of, spotter_of

_BY_OVERLAP = ("f1", "precision", "recall", "map")


@dataclass
class SpottingReport:
    """Truth and detections of test recordings, and the figures computed from them.

    >>> true, hit = Segment("wave", 0, 30), Detection("wave", 3, 30)
    >>> SpottingReport(["take"], [(true,)], [[hit]], [90], fps=30).figures()["f1_50"]
    1.0
    """

    names: list[str]
    truth: list[tuple[Segment, ...]]
    found: list[list[Detection]]
    n_frames: list[int]
    fps: float | None
    n_splits: int = 1
    notes: list[str] = field(default_factory=list)
    # the tested recordings
    recordings: list[SkeletonSequence] = field(default_factory=list, repr=False)
    # the fitted recogniser of each split
    models: list[Any] = field(default_factory=list, repr=False)

    def figures(self) -> dict[str, float | None]:
        """Segments, points, frames, false alarms and latency; None if the frame rate is needed and
        unknown.
        """
        whole, found = self._with_extent()
        out: dict[str, float | None] = {}
        names = [
            *(f"{kind}_{round(100 * t):d}" for t in THRESHOLDS for kind in _BY_OVERLAP),
            *("frame_accuracy", "frame_f1", "detection_rate", "false_positives", "jaccard"),
        ]
        if not any(whole):  # points alone
            out |= dict.fromkeys(names)
        else:
            for t in THRESHOLDS:
                counts = segment_counts(whole, found, t)
                best = mean_average_precision(whole, found, t)
                values = counts.f1, counts.precision, counts.recall, best
                out |= {
                    f"{k}_{round(100 * t):d}": v for k, v in zip(_BY_OVERLAP, values, strict=True)
                }
            out["frame_accuracy"], out["frame_f1"] = frame_scores(whole, found, self.n_frames)
            shrec = shrec_scores(whole, found)
            out |= {
                "detection_rate": shrec.detection_rate,
                "false_positives": shrec.false_positives,
                "jaccard": shrec.jaccard,
            }
        if self.fps is None:
            return out | dict.fromkeys(
                ("action_point_f1", "false_alarms_per_hour", "delay_ms", "delay_from_start_ms")
            )
        points = [[(s.label, s.stop / self.fps) for s in true] for true in self.truth]
        fired = [[(d.label, d.stop / self.fps) for d in found] for found in self.found]
        out["action_point_f1"] = action_point_f1(action_points(points, fired))
        counts = segment_counts(self.truth, self.found, tolerance=self._tolerance)
        out["false_alarms_per_hour"] = (counts.found - counts.right) / (
            sum(self.n_frames) / self.fps / 3600
        )
        from_start, from_stop = latencies(self.truth, self.found, tolerance=self._tolerance)
        for name, delays in (("delay_ms", from_stop), ("delay_from_start_ms", from_start)):
            out[name] = 1000 * float(np.mean(delays)) / self.fps if len(delays) else None
        return out

    @property
    def _tolerance(self) -> float:
        """Frames around a point."""
        return TOLERANCE if self.fps is None else ACTION_POINT_SECONDS * self.fps

    def _with_extent(self) -> tuple[list[list[Segment]], list[list[Detection]]]:
        """Truth and detections without the labels whose truth are points."""
        points = {s.label for true in self.truth for s in true if s.is_point}
        truth = [[s for s in true if s.label not in points] for true in self.truth]
        return truth, [[d for d in found if d.label not in points] for found in self.found]

    def per_class(self) -> list[dict[str, Any]]:
        """Counts and F1 at an overlap of one half, or at points, per label."""
        labels = sorted({s.label for true in self.truth for s in true})
        rows = []
        for label in labels:
            c = segment_counts(self.truth, self.found, 0.5, label, self._tolerance)
            rows.append(
                {"label": label, "true": c.true, "found": c.found, "right": c.right, "f1": c.f1}
            )
        return rows

    def to_html(
        self, path: str | os.PathLike[str], title: str = "Actions in long recordings"
    ) -> Path:
        """Write a page: figures, timelines of truth and detections, and mistakes that can be
        played.
        """
        from kerneton.stream.page import write_page

        rows = list(zip(self.names, self.truth, self.found, strict=True))
        facts: dict[str, Any] = {
            "figures": self.figures(),
            "classes": self.per_class(),
            "recordings": self.recordings,
        }
        return write_page(path, title, rows, self.n_frames, fps=self.fps, **facts)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        takes = [
            {
                "name": name,
                "frames": n,
                "truth": [[s.label, s.start, s.stop] for s in true],
                "found": [[d.label, d.start, d.stop, d.probability] for d in found],
            }
            for name, n, true, found in zip(
                self.names, self.n_frames, self.truth, self.found, strict=True
            )
        ]
        return {
            "figures": self.figures(),
            "per_class": self.per_class(),
            "recordings": takes,
            "notes": self.notes,
        }

    def __str__(self) -> str:
        rows = [["figure", "value"]]
        rows += [
            [name, "unknown" if v is None else f"{v:.3f}"] for name, v in self.figures().items()
        ]
        classes = [["label", "true", "found", "right", "F1"]]
        classes += [
            [str(r["label"]), str(r["true"]), str(r["found"]), str(r["right"]), f"{r['f1']:.2f}"]
            for r in self.per_class()
        ]
        return f"{aligned(rows)}\n\n{aligned(classes)}"


def evaluate_spotting(
    model: Any,
    recordings: Sequence[SkeletonSequence],
    protocol: Any = None,
    *,
    training: Any = None,
    delay_s: float | None = None,
    in_order: bool = False,
    fps: float | None = None,
    unlabelled: Iterable[SkeletonSequence] = (),
    false_alarms_per_hour: float | None = None,
    partial: bool = False,
    uncertain_s: float = 0.0,
    progress: Progress | None = None,
    delay: int | None = None,
) -> SpottingReport:
    """Train on some people and spot in the recordings of others, for every split of a protocol.

    Parameters
    ----------
    model : Recognizer
        A copy is trained by `fit_spotting` for each split; without ``protocol``, the model must
        already be trained. A list contains one trained model per split, such as another report's
        ``models``.
    recordings : long recordings with segments
    protocol : splitter, optional
        As in scikit-learn: ``split(X, y, groups)``; subjects are the recordings' own.
    training : callable, optional
        A function from the training recordings of a split to the recordings that are fitted, such
        as their cut actions.
    delay_s : float, optional
        Seconds from the end of an action to its report, at most; by default segments are final when
        nothing can change any more.
    in_order : bool
        Expect the actions in the order of the training recordings.
    fps : float, optional
        For recordings without a frame rate.
    unlabelled, false_alarms_per_hour, partial, uncertain_s
        As in `fit_spotting`, for every training.
    delay : int
        The delay in frames, as in 0.2.0.

    Examples
    --------
    >>> from kerneton import evaluate_spotting, get_protocol, make_actions, make_recognizer
    >>> takes = make_actions(["wave", "kick"], n_subjects=4, n_takes=1, uncut=True)
    >>> report = evaluate_spotting(
    ...     make_recognizer(), takes, get_protocol("leave-one-subject-out")
    ... )  # doctest: +SKIP
    >>> report.to_html("report.html")  # doctest: +SKIP
    """
    if delay is not None:
        warn_renamed("delay= in frames", "delay_s= in seconds")
    takes = check_sequences(recordings, allow_missing=True, whole=True)
    if not all(t.segments for t in takes):
        raise DataError("evaluation needs recordings that all have segments")
    subjects = np.asarray([t.subject or "" for t in takes])
    if protocol is None:
        splits: list[Any] = [(None, range(len(takes)))]
    else:
        splits = list(protocol.split(takes, None, subjects))
    rates = {t.fps for t in takes if t.fps is not None}
    report = SpottingReport(
        [], [], [], [], fps or (rates.pop() if len(rates) == 1 else None), len(splits)
    )
    for number, (train, test) in enumerate(
        (progress or silent)(splits, total=len(splits), desc="splits")
    ):
        fitted = model[number] if isinstance(model, list) else model
        if train is not None and not isinstance(model, list):
            chosen = [takes[i] for i in train]
            fitted = clone(model).fit_spotting(
                chosen if training is None else training(chosen),
                unlabelled=unlabelled,
                false_alarms_per_hour=false_alarms_per_hour,
                partial=partial,
                uncertain_s=uncertain_s,
            )
        report.models.append(fitted)
        within = delay or frames_of_delay(delay_s, spotter_of(fitted).fps_ or report.fps or 30.0)
        for i in test:
            engine = Engine(fitted, within, order_of(fitted, in_order))
            joints = raw_joints(adapted(fitted, takes[i]))
            # One frame at a time, like a camera, so that the time of each report is known.
            found = [
                d for t in range(len(joints)) for d in engine.push(joints[t : t + 1])
            ] + engine.close()
            report.recordings.append(takes[i])
            report.names.append(takes[i].name)
            report.truth.append(takes[i].segments)
            report.found.append(sorted(found, key=lambda d: d.start))
            report.n_frames.append(takes[i].n_frames)
    return report
