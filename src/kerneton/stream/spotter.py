"""Find what happens in long recordings, and when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kerneton.data.progress import Progress
from kerneton.data.sequence import SkeletonSequence
from kerneton.data.validation import check_positive, check_sequences
from kerneton.exceptions import DataError, ParameterError
from kerneton.stream.detection import Detection
from kerneton.stream.engine import Engine
from kerneton.stream.frames import FrameFeatures, raw_joints
from kerneton.stream.proposals import WindowScorer
from kerneton.stream.verify import Verifier

BACKGROUND = "background"
_CHUNK = 1024  # frames that are handed over at a time


@dataclass
class Parts:
    """What a fitted spotter consists of; one object for all of its streams."""

    classes: tuple[str, ...]
    features: FrameFeatures
    scorer: WindowScorer
    recognizer: Any  # knows the classes, and the background
    verifier: Verifier
    floor: float  # margin of the window scorer below which a window is no candidate
    threshold: float  # log odds below which a candidate is no detection
    fps: float | None = None

    def decisions(self, recordings: Sequence[SkeletonSequence]) -> np.ndarray:
        """(n, n_classes + 1) decision values of the recogniser, the background last."""
        return class_scores(self.recognizer, recordings, self.classes)


def class_scores(model: Any, recordings: Sequence[SkeletonSequence], classes: Sequence[str]) -> np.ndarray:
    """Decision values in the order of ``classes``, the background last; of two classes one is minus the other."""
    values = np.asarray(model.decision_function(list(recordings)), dtype=float)
    if values.ndim == 1:
        values = np.stack([-values, values], axis=1)
    known = [str(c) for c in model.classes_]
    return values[:, [known.index(c) for c in [*classes, BACKGROUND]]]


class Spotter:
    """Finds non-overlapping actions in long recordings and in streams.

    A linear model scores all windows of many lengths, the recogniser judges the best of them against a background class
    that was learnt from what lies between the actions, near misses first, and a regression on held-out training people
    turns scores and durations into probabilities. Of overlapping candidates those with the largest total stay.

    Parameters
    ----------
    recognizer : recogniser, optional
        Not fitted; `make_recognizer()` by default.
    false_alarms : float, optional
        False alarms per hour at which the threshold is set, on held-out training people; by default the threshold with
        the best F1 there.
    n_jobs : int, optional
        Threads of the default recogniser.
    progress : callable, optional
        Called like ``tqdm.tqdm``.

    Attributes
    ----------
    parts_ : Parts
    classes_ : ndarray of str
    held_out_ : dict
        Precision, recall and F1 on training people who were held out, and the number of false alarms per hour there.

    Examples
    --------
    >>> from kerneton import make_actions
    >>> takes = make_actions(["wave", "clap", "kick"], n_subjects=3, n_takes=1, uncut=True)
    >>> spotter = Spotter().fit(takes[:2])
    >>> [d.label for d in spotter.spot(takes[2])]  # doctest: +SKIP
    ['kick', 'wave', 'clap']
    """

    parts_: Parts
    held_out_: dict[str, float]

    def __init__(
        self,
        recognizer: Any = None,
        *,
        false_alarms: float | None = None,
        n_jobs: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.recognizer = recognizer
        self.false_alarms = false_alarms
        self.n_jobs = n_jobs
        self.progress = progress

    def fit(self, takes: Sequence[SkeletonSequence], unlabelled: Sequence[SkeletonSequence] = ()) -> Spotter:
        """Train from long recordings with segments, or from cut recordings with labels.

        From cut recordings alone, long ones are composed: actions in a row with pauses, parts of actions and
        transitions between them. ``unlabelled`` are long recordings of background in which none of the actions happens.
        """
        from kerneton.stream.compose import compose_takes
        from kerneton.stream.training import train

        recordings = check_sequences(takes, allow_missing=True)
        if self.false_alarms is not None:
            check_positive("false_alarms", self.false_alarms)
        if not any(r.segments for r in recordings):
            recordings = compose_takes(recordings)
        bare = [r.name or f"#{i}" for i, r in enumerate(recordings) if not r.segments]
        if bare:
            raise DataError(f"{len(bare)} of {len(recordings)} recordings have no segments, first {bare[0]}")
        extra = check_sequences(unlabelled, allow_missing=True) if len(unlabelled) else []
        self.parts_, self.held_out_ = train(
            [*recordings, *(r.replace(segments=()) for r in extra)],
            self.recognizer,
            false_alarms=self.false_alarms,
            n_jobs=self.n_jobs,
            progress=self.progress,
        )
        return self

    @property
    def classes_(self) -> np.ndarray:
        return np.asarray(self.parts_.classes)

    def spot(self, recording: SkeletonSequence, *, progress: Progress | None = None) -> list[Detection]:
        """The actions of a recording, in order of time, none overlapping another."""
        (recording,) = check_sequences([self._fitting(recording)], allow_missing=True)
        engine, joints = Engine(self.parts_), raw_joints(recording)
        chunks: Any = range(0, len(joints), _CHUNK)
        found: list[Detection] = []
        for start in chunks if progress is None else progress(chunks, total=len(chunks), desc="spotting"):
            found += engine.push(joints[start : start + _CHUNK])
        return sorted([*found, *engine.close()], key=lambda d: d.start)

    def stream(self, *, fps: float | None = None, delay: float | None = None, **options: Any) -> Any:
        """A live stream of frames, see `kerneton.stream.live.LiveStream`; ``delay`` in seconds, None for unbounded."""
        from kerneton.stream.live import LiveStream

        return LiveStream(self, fps=fps, delay=delay, **options)

    def explain(self, recording: SkeletonSequence, detection: Detection) -> Any:
        """Why these frames have this label: contributions that sum to ``detection.decision``."""
        return self.parts_.recognizer.explain(self.cut(recording, detection), label=detection.label)

    def cut(self, recording: SkeletonSequence, detection: Detection) -> SkeletonSequence:
        """The frames of a detection as the recogniser saw them, gaps held."""
        joints, _ = self.parts_.features.cleaner().clean(raw_joints(self._fitting(recording)))
        return SkeletonSequence(joints[detection.start : detection.stop], layout=self.parts_.features.layout)

    def _fitting(self, recording: SkeletonSequence) -> SkeletonSequence:
        if not hasattr(self, "parts_"):
            raise ParameterError("this Spotter is not fitted yet: call fit with long recordings first")
        layout = self.parts_.features.layout
        if layout is not None and recording.layout is not None and recording.layout.joints != layout.joints:
            from kerneton.data.mapping import map_layout

            return map_layout(recording, layout)
        if recording.n_joints != self.parts_.features.n_joints:
            raise DataError(
                f"recording {recording.name!r} has {recording.n_joints} joints, "
                f"the spotter was trained with {self.parts_.features.n_joints}"
            )
        return recording
