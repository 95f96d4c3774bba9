"""The spotter of a recogniser, which finds actions in long recordings."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from kerneton.data import mapping
from kerneton.data.checks import check_sequences
from kerneton.data.progress import Progress, silent
from kerneton.data.segments import Segment
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError, ModelFileError, ParameterError
from kerneton.stream.detection import Detection
from kerneton.stream.engine import Engine
from kerneton.stream.frames import FrameFeatures, raw_joints
from kerneton.stream.proposals import CELLS, WindowScorer
from kerneton.stream.selection import Order
from kerneton.stream.verify import Verifier

BACKGROUND = "background"
_CHUNK = 1024  # frames that are passed at a time
_LONGEST = 100_000  # longest window in a file, in frames


class Spotter(BaseEstimator):
    """What `Recognizer.fit_spotting` learns: candidate windows, their verification, and the
    threshold of a report.

    Attributes
    ----------
    classes_ : tuple of str
        The actions; the recogniser has one more class, the background.
    features_, scorer_ : FrameFeatures, WindowScorer
        Propose windows.
    verifier_ : Verifier
        From the scores of window and recogniser to log odds.
    floor_, threshold_ : float
        The margin below which a window is no candidate, and the log odds below which nothing is
        reported.
    order_ : Order or None
        Which action follows which in the training recordings; None if these were cut recordings.
    fps_ : float or None
        Frames per second of the training recordings.
    before_points_ : dict of str to int
        Of actions whose truth were points, the frames of the window that ends there.
    held_out_ : dict of str to float
        Precision, recall, F1 and false alarms per hour on training people who were held out.
    judge_ : Recognizer or None
        The recogniser of actions and background; None if it is the one that has this spotter.
    """

    classes_: tuple[str, ...]
    features_: FrameFeatures
    scorer_: WindowScorer
    verifier_: Verifier
    floor_: float
    threshold_: float
    order_: Order | None = None
    fps_: float | None
    held_out_: dict[str, float]
    before_points_: dict[str, int]
    judge_: Any = None

    def get_state(self) -> dict[str, Any]:
        """The learned values, for a file."""
        return {
            "classes": list(self.classes_),
            "layout": self.features_.layout,
            "n_joints": self.features_.n_joints,
            "features": self.features_.get_state(),
            "scorer": self.scorer_.get_state(),
            "verifier": self.verifier_.get_state(),
            "floor": max(self.floor_, -1e9),
            "threshold": self.threshold_,
            "order": None if self.order_ is None else self.order_.get_state(),
            "fps": self.fps_,
            "held_out": self.held_out_,
            "before_points": self.before_points_,
            "judge": self.judge_,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore what ``get_state`` returned; values that do not fit are refused."""
        self.classes_ = tuple(str(c) for c in state["classes"])
        self.features_ = FrameFeatures(state["layout"], state["n_joints"]).set_state(
            state["features"]
        )
        self.scorer_, self.verifier_ = (
            WindowScorer(**state["scorer"]),
            Verifier(**state["verifier"]),
        )
        self.floor_, self.threshold_ = float(state["floor"]), float(state["threshold"])
        self.order_ = None if state.get("order") is None else Order(self.classes_, **state["order"])
        self.fps_ = None if state["fps"] is None else float(state["fps"])
        self.held_out_ = {str(k): float(v) for k, v in state["held_out"].items()}
        given = state.get("before_points") or {}
        self.before_points_ = {str(k): int(v) for k, v in given.items()}
        self.judge_ = state.get("judge")
        self.scorer_.lengths = np.asarray(self.scorer_.lengths, dtype=int)
        k, lengths = len(self.classes_) + 1, self.scorer_.lengths
        if np.shape(self.scorer_.coef) != (k, CELLS + 2, self.features_.n_features):
            raise ModelFileError("scores of windows for other features or actions")
        if np.shape(self.scorer_.intercept) != (k,) or not self.verifier_.fits(k - 1):
            raise ModelFileError("odds of other actions")
        if self.order_ is not None and np.shape(self.order_.table) != (k, k - 1):
            raise ModelFileError("an order of other actions")
        if lengths.ndim != 1 or not len(lengths) or (np.diff(lengths) <= 0).any():
            raise ModelFileError("lengths of windows that do not increase")
        if not 0 < lengths[0] <= lengths[-1] <= _LONGEST or (
            self.fps_ is not None and not self.fps_ > 0
        ):
            raise ModelFileError("implausible windows or frame rate")

    def judge(self, recognizer: Any) -> Any:
        """The recogniser of actions and background, for a recogniser that has this spotter."""
        return recognizer if self.judge_ is None else self.judge_

    def check_fits(self, recognizer: Any) -> None:
        """Refuse a recogniser of other actions or joints."""
        judge = self.judge(recognizer)
        if self.judge_ is not None:
            if getattr(judge, "spotter_", self) is not None:
                raise ModelFileError("a spotter whose recogniser has none, or has a spotter, too")
            if {str(c) for c in recognizer.classes_} != set(self.classes_):
                raise ModelFileError("a spotter of other actions")
        known = {str(c) for c in judge.classes_}
        joints = {self.features_.n_joints, judge.n_joints_in_, recognizer.n_joints_in_}
        if known != {*self.classes_, BACKGROUND} or len(joints) > 1:
            raise ModelFileError("a spotter of other actions or joints")


def spotter_of(recognizer: Any) -> Spotter:
    """The spotter of a recogniser; an error if it has none."""
    found = getattr(recognizer, "spotter_", None)
    if found is None:
        raise ParameterError(
            "this recogniser was not trained to find actions in long recordings: use fit_spotting"
        )
    return found


def order_of(recognizer: Any, wanted: bool = True) -> Order | None:
    """The learned order of actions, if it is wanted."""
    if not wanted:
        return None
    order = spotter_of(recognizer).order_
    if order is None:
        raise ParameterError(
            "no order of actions was learned: training needs long recordings with segments"
        )
    return order


def spot(
    recognizer: Any,
    recording: SkeletonSequence,
    *,
    in_order: bool = False,
    progress: Progress | None = None,
) -> list[Detection]:
    """The actions of a recording, in order of time and without overlaps; see `Recognizer.spot`.

    >>> from kerneton import make_actions, make_recognizer
    >>> takes = make_actions(["wave", "clap", "kick"], n_subjects=3, n_takes=1, uncut=True)
    >>> model = make_recognizer().fit_spotting(takes[:2])
    >>> [d.label for d in spot(model, takes[2])]  # doctest: +SKIP
    ['kick', 'wave', 'clap']
    """
    (recording,) = check_sequences([adapted(recognizer, recording)], allow_missing=True, whole=True)
    engine, joints = Engine(recognizer, order=order_of(recognizer, in_order)), raw_joints(recording)
    chunks = range(0, len(joints), _CHUNK)
    found: list[Detection] = []
    for start in (progress or silent)(chunks, total=len(chunks), desc="spotting"):
        found += engine.push(joints[start : start + _CHUNK])
    return sorted([*found, *engine.close()], key=lambda d: d.start)


def judged_frames(recognizer: Any, recording: SkeletonSequence, found: Segment) -> SkeletonSequence:
    """The frames of a detection as the recogniser used them for its decision value, with gaps
    held.
    """
    whole = recording.cut(0, min(found.stop, recording.n_frames))
    return held(recognizer, whole).cut(found.start, found.stop, name=recording.name)


def held(recognizer: Any, recording: SkeletonSequence) -> SkeletonSequence:
    """A recording as the recogniser sees it: its joints, and gaps held."""
    features = spotter_of(recognizer).features_
    joints, _ = features.cleaner().clean(raw_joints(adapted(recognizer, recording)))
    return SkeletonSequence(joints, layout=features.layout, name=recording.name)


def adapted(recognizer: Any, recording: SkeletonSequence) -> SkeletonSequence:
    """A recording with the joints that the recogniser was trained on."""
    features = spotter_of(recognizer).features_
    if None in (features.layout, recording.layout) and recording.n_joints != features.n_joints:
        raise DataError(
            f"recording {recording.name!r} has {recording.n_joints} joints, "
            f"the recogniser was trained with {features.n_joints}"
        )
    return mapping.adapted(recording, features.layout, features.n_joints, recording.joints.dtype)
