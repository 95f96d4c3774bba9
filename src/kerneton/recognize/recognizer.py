"""The recogniser: predicts labels and probabilities of recordings, explains them, and can be saved
to a file.
"""

from __future__ import annotations

import copy
import functools
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from types import MethodType
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import _BaseComposition

from kerneton.data.checks import check_sequences
from kerneton.data.layouts import Layout
from kerneton.data.parameters import renamed
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import ModelFileError, ParameterError
from kerneton.kernels.engine import features_on_gpu
from kerneton.parallel.threads import one_blas_thread
from kerneton.recognize import training
from kerneton.recognize.branch import Branch, encode_together, share_preprocessing, side_by_side
from kerneton.recognize.search import Mixture, Search, Trial
from kerneton.recognize.training import Learned, Limits

if TYPE_CHECKING:
    from kerneton.data.progress import Progress
    from kerneton.data.segments import Segment
    from kerneton.recognize.answers import Prediction, Results
    from kerneton.recognize.calibration import Calibration
    from kerneton.report.explanation import ClassImportance, Explanation
    from kerneton.stream.live import LiveStream
    from kerneton.stream.spotter import Detection, Spotter


class _Calibrated:
    """A method that only a calibrated recogniser has, as scikit-learn asks; others say how to get
    it.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method
        functools.update_wrapper(self, method)  # type: ignore[arg-type]

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        if model is None:
            return self.method
        learned = model.__sklearn_is_fitted__()
        if not (model.calibration_ is not None if learned else model.calibrate):
            raise AttributeError(
                f"this recogniser gives no probabilities, so it has no {self.method.__name__}: "
                "fit it with calibrate=True"
            )
        return MethodType(self.method, model)


class Recognizer(ClassifierMixin, _BaseComposition):
    """Branches of features and one linear classifier.

    Every preset, search and model file is a `Recognizer`.

    Parameters
    ----------
    branches : list of (str, Branch)
        Each computes features of recordings: preprocessing, kernel, centring, weight.
    machine : classifier, optional
        A `LinearSVM` by default. Other classifiers with ``fit``, ``predict`` and
        ``decision_function`` work too, without search, calibration and explanation.
    search : Search, optional
        Choose mirroring, view, sums of branches, C and penalty inside the training subjects.
        Without it, the features of all branches are concatenated.
    any_skeleton : bool
        Adapt branches and search to recordings of hands, in 2D, of two persons, or of a skeleton
        without left and right, see `kerneton.recognize.other_skeletons.suited`; True in all
        presets.
    calibrate : bool or "auto"
        Also learn probabilities and "none of these", on held-out training subjects and classes.
        Where nobody can be held out, True is an error, "auto" a warning.
    false_alarm, reject : float in [0, 1), bool
        The share of recordings of known classes that may count as unknown, and whether `predict`
        returns ``unknown_label`` for unknown recordings.
    n_jobs, device, progress : int, str, callable, optional
        Threads, and "cuda" for the GPU (None keeps each kernel's own; neither changes the results);
        ``progress`` is called like ``tqdm.tqdm``.

    Attributes
    ----------
    branches_ : dict of str to Branch
        The fitted branches in use.
    machine_ : LinearSVM
        With the C and within-class penalty that were used (those of the best candidate if several
        are averaged).
    mixtures_ : list of Mixture
        The classifiers whose decision values are averaged: weights of branches, C and penalty of
        each.
    classes_ : ndarray
    variant_, variant_scores_, trials_, chosen_ : see `Search`
        The result of the search, and all candidates.
    calibration_ : Calibration or None

    Examples
    --------
    >>> from kerneton import SCK, CenterNormalize, LinearSVM, Preprocess, make_actions
    >>> data = make_actions(["wave", "clap", "bow"], n_subjects=3, n_takes=1)
    >>> poses = Branch(Preprocess(), SCK(order=2), CenterNormalize())
    >>> model = Recognizer([("poses", poses)], machine=LinearSVM(C=10), calibrate=True)
    >>> model.fit(data, data.labels).predictions(data[:1])[0].label
    'wave'
    """

    limits = Limits()  # of fits with many recordings
    training_: dict[str, Any] | None = None  # what a file tells about the training recordings
    _learned: Learned | None = None

    def __init__(
        self,
        branches: Sequence[tuple[str, Branch]],
        *,
        machine: Any = None,
        search: Search | None = None,
        any_skeleton: bool = False,
        calibrate: bool | str = False,
        false_alarm: float = 0.05,
        reject: bool = False,
        unknown_label: str = "unknown",
        n_jobs: int | None = None,
        device: str | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.branches = branches
        self.machine = machine
        self.search = search
        self.any_skeleton = any_skeleton
        self.calibrate = calibrate
        self.false_alarm = false_alarm
        self.reject = reject
        self.unknown_label = unknown_label
        self.n_jobs = n_jobs
        self.device = device
        self.progress = progress

    def fit(
        self,
        X: Iterable[Any],
        y: Any,
        groups: Any = None,
        *,
        keep: bool = False,
        scratch: str | os.PathLike[str] | None = None,
        client: Any = None,
    ) -> Recognizer:
        """Train.

        Parameters
        ----------
        groups : sequence, optional
            The subjects, by default the recordings' own.
        keep : bool
            Keep features, for `add`; choices then use all recordings, up to 3,000.
        scratch : path, optional
            A folder for features of many recordings, from which an interrupted fit resumes.
        client : dask.distributed.Client, optional
            Whose workers encode many recordings; by default the active client, if there is one.
        """
        with one_blas_thread(), training.told_of_memory():
            self._learned = training.learn(
                self, X, y, groups, keep=keep, scratch=scratch, client=client
            )
        return self

    def add(self, X: Iterable[Any], y: Any, groups: Any = None) -> Recognizer:
        """Fit again on the recordings of ``fit(..., keep=True)`` and on new ones; only the new ones
        are encoded.

        Everything is chosen and learned again, except the reference skeleton, which stays that of
        the first fit.

        >>> from kerneton import make_actions, make_recognizer
        >>> data = make_actions(["wave", "bow"], n_subjects=4, n_takes=1)
        >>> model = make_recognizer().fit(data[:6], data.labels[:6], keep=True)
        >>> model.add(data[6:], data.labels[6:]).predict(data[:2]).tolist()
        ['wave', 'bow']
        """
        from kerneton.recognize.large import learn_more

        with one_blas_thread(), training.told_of_memory():
            self._learned = learn_more(self, X, y, groups)
        return self

    def with_learned(self, learned: Learned) -> Recognizer:
        """A recogniser with the same parameters that has learned this; this one is not changed."""
        out = copy.copy(self)
        out._learned = learned
        return out

    @property
    def learned_(self) -> Learned:
        """All that was learned."""
        if self._learned is None:
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet: call fit first")
        return self._learned

    @property
    def branches_(self) -> dict[str, Branch]:
        return self.learned_.branches

    @property
    def machine_(self) -> Any:
        return self.learned_.machine

    @property
    def mixtures_(self) -> list[Mixture]:
        return self.learned_.mixtures

    @property
    def classes_(self) -> np.ndarray:
        return self.learned_.classes

    @property
    def calibration_(self) -> Calibration | None:
        return self.learned_.calibration

    @property
    def spotter_(self) -> Spotter | None:
        return self.learned_.spotter

    @property
    def timed_(self) -> bool | None:
        """Whether all or none of the training recordings have a frame rate; None for some."""
        return self.learned_.timed

    @property
    def variant_(self) -> str | None:
        """The chosen variant; None without a search."""
        return self.learned_.variant

    @property
    def variant_scores_(self) -> dict[str, float]:
        return self.learned_.variant_scores

    @property
    def trials_(self) -> list[Trial]:
        """All candidates, the best first."""
        return sorted(self.learned_.trials, key=lambda trial: -trial.accuracy)

    @property
    def chosen_(self) -> list[Trial]:
        return self.learned_.chosen

    @property
    def search_(self) -> Search | None:
        """The search, adapted to the recordings."""
        return self.learned_.search

    @property
    def timing_(self) -> dict[str, float]:
        """Seconds of the steps of a fit on many recordings."""
        return self.learned_.timing

    def features(self, X: Iterable[Any]) -> np.ndarray:
        """(n, n_features), the input of the classifier: features of all branches, concatenated."""
        where = {"n_jobs": self.n_jobs, "device": self.device}
        branches = [branch.run_on(**where) for branch in self.branches_.values()]
        sequences = check_sequences(X, allow_missing=True)
        with one_blas_thread():
            found = features_on_gpu(branches, sequences)
            return side_by_side(encode_together(branches, sequences)) if found is None else found

    def predict(self, X: Iterable[Any]) -> np.ndarray:
        """Labels; with ``reject``, ``unknown_label`` for recordings unlike all classes."""
        return self.results(X).labels

    def decision_function(self, X: Iterable[Any]) -> np.ndarray:
        """(n, n_classes), or (n,) for two classes, positive for ``classes_[1]``."""
        from kerneton.recognize.answers import decisions

        return decisions(self, X)

    @_Calibrated
    def predict_proba(self, X: Iterable[Any]) -> np.ndarray:
        """(n, n_classes) in the order of ``classes_``; rows sum to one, given that the recording
        belongs to one of the classes.
        """
        return np.asarray(self.results(X).probabilities)

    @_Calibrated
    def unknown_score(self, X: Iterable[Any]) -> np.ndarray:
        """(n,) in [0, 1], larger for recordings less like the training classes."""
        return np.asarray(self.results(X).unknown)

    @_Calibrated
    def is_unknown(self, X: Iterable[Any]) -> np.ndarray:
        """(n,) bool: whether the score of being unknown is above the threshold."""
        return self.unknown_score(X) > self.calibration_.threshold_  # type: ignore[union-attr]

    @_Calibrated
    def predictions(self, X: Iterable[Any]) -> list[Prediction]:
        """Label, probability and score of being unknown of each recording; features are computed
        once.
        """
        assert self.calibration_ is not None
        return self.results(X).predictions(self.classes_, self.calibration_.threshold_)

    def results(self, X: Iterable[Any]) -> Results:
        """Labels, decision values and, if calibrated, probabilities; features are computed once."""
        from kerneton.recognize.answers import results

        return results(self, X)

    def explain(
        self, sequence: Any, label: str | Segment | None = None, *, versus: str | None = None
    ) -> Explanation:
        """The contribution of each joint at each frame to a class; see `kerneton.explain`."""
        from kerneton.recognize.contributions import explain

        return explain(self, sequence, label, versus=versus)

    def class_importance(self, X: Iterable[Any], y: Any = None) -> ClassImportance:
        """The mean contribution of each joint to each class, over its recordings."""
        from kerneton.recognize.contributions import class_importance

        return class_importance(self, X, y)

    @renamed(false_alarms="false_alarms_per_hour")
    def fit_spotting(
        self,
        takes: Iterable[SkeletonSequence],
        *,
        unlabelled: Iterable[SkeletonSequence] = (),
        false_alarms_per_hour: float | None = None,
        partial: bool = False,
        uncertain_s: float = 0.0,
        scratch: str | os.PathLike[str] | None = None,
    ) -> Recognizer:
        """Learn to find actions in long recordings with segments or points; see
        `kerneton.recognize.spotting.fit_spotting`.
        """
        from kerneton.recognize.spotting import fit_spotting

        fitted, spotter = fit_spotting(
            self,
            takes,
            unlabelled=unlabelled,
            false_alarms_per_hour=false_alarms_per_hour,
            partial=partial,
            uncertain_s=uncertain_s,
            scratch=scratch,
        )
        self._learned = replace(fitted.learned_, spotter=spotter)
        return self

    def with_spotter(self, other: Recognizer) -> Recognizer:
        """A recogniser that answers as this one, and finds actions in long recordings as another.

        So one model, and one file, does both; this one is not changed.

        >>> from kerneton import make_actions, make_recognizer
        >>> data = make_actions(["wave", "kick"], n_subjects=3, n_takes=1)
        >>> spotting = make_recognizer().fit_spotting(data)
        >>> both = make_recognizer().fit(data, data.labels).with_spotter(spotting)
        >>> both.classes_.tolist(), both.spotter_.judge_.classes_.tolist()
        (['kick', 'wave'], ['background', 'kick', 'wave'])
        """
        from kerneton.stream.spotter import spotter_of

        spotter = copy.copy(spotter_of(other))
        judge = spotter.judge(other)
        spotter.judge_ = judge.with_learned(replace(judge.learned_, spotter=None))
        try:
            spotter.check_fits(self)
        except ModelFileError as error:
            raise ParameterError(f"these two recognisers do not belong together: {error}") from None
        return self.with_learned(replace(self.learned_, spotter=spotter))

    def spot(
        self,
        recording: SkeletonSequence,
        *,
        in_order: bool = False,
        progress: Progress | None = None,
    ) -> list[Detection]:
        """The actions of a long recording, without overlaps; ``in_order`` expects them in the order
        of training.
        """
        from kerneton.stream.spotter import spot

        return spot(self, recording, in_order=in_order, progress=progress)

    @renamed(delay="delay_s")
    def stream(
        self,
        *,
        fps: float | None = None,
        delay_s: float | None = None,
        repetitions: bool = False,
        in_order: bool = False,
    ) -> LiveStream:
        """A live stream of frames, see `kerneton.stream.live.LiveStream`.

        Final segments are reported ``delay_s`` seconds after their end, with None when nothing can
        change any more.
        """
        from kerneton.stream.live import LiveStream

        return LiveStream(
            self, fps=fps, delay_s=delay_s, repetitions=repetitions, in_order=in_order
        )

    def save(
        self, path: str | os.PathLike[str], *, data: Iterable[SkeletonSequence] | None = None
    ) -> Path:
        """Write the recogniser to a file, completely or not at all; ``data`` are the training
        recordings, for a summary.
        """
        from kerneton.recognize.model_file import save

        return save(self, path, data=data)

    def export(
        self,
        folder: str | os.PathLike[str],
        *,
        to: str = "js",
        pose: str | os.PathLike[str] | None = None,
        demo: Sequence[SkeletonSequence] | None = None,
    ) -> list[Path]:
        """Write the recogniser and what runs it without Python into a folder, see
        `kerneton.runtime.export`.
        """
        from kerneton.runtime import export

        training.check_fitted(self)
        return export(self, folder, to, pose=pose, demo=demo)

    def adapt(self, X: Iterable[SkeletonSequence]) -> list[SkeletonSequence]:
        """Recordings with the joints, the precision and, if unknown, the frame rate that this
        recogniser needs.
        """
        from kerneton.recognize.sensors import adapt

        return adapt(self, X)

    def summary(self) -> str:
        """The result of the search, as text."""
        from kerneton.recognize.answers import described_choice

        return described_choice(self.variant_, self.variant_scores_, self.mixtures_)

    @property
    def layout_(self) -> Layout | None:
        """The skeleton layout of the training recordings."""
        return next(iter(self.branches_.values())).kernel_.layout_

    @property
    def n_joints_in_(self) -> int:
        """The number of joints of a recording."""
        return next(iter(self.branches_.values())).kernel_.n_joints_in_

    def get_state(self) -> dict[str, Any]:
        """The learned values, for a file."""
        learned = self.learned_
        return {
            "classes": learned.classes,
            "branches": learned.branches,
            "machine": learned.machine,
            "calibration": learned.calibration,
            "spotter": learned.spotter,
            "mixtures": [[m.shares, m.C, m.penalty] for m in learned.mixtures],
            "timed": learned.timed,
            "chosen": None
            if self.search is None
            else {"variant": learned.variant, "scores": learned.variant_scores},
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore what ``get_state`` returned; values that do not fit are refused."""
        chosen = state["chosen"]
        learned = Learned(
            branches=state["branches"],
            machine=state["machine"],
            mixtures=[
                Mixture(dict(shares), float(C), float(p)) for shares, C, p in state["mixtures"]
            ],
            classes=state["classes"],
            timed=state.get("timed"),
            calibration=state["calibration"],
            spotter=state.get("spotter"),
            variant=None if chosen is None else chosen["variant"],
            variant_scores={} if chosen is None else chosen["scores"],
        )
        share_preprocessing(learned.branches.values())
        known = {name for name, _ in self.branches} | (
            {"travel", "path"} if self.any_skeleton else set()
        )
        used = set(learned.branches)
        if not used or not known >= used or len(learned.machine.classes_) != len(learned.classes):
            raise ModelFileError("branches or labels that are inconsistent")
        if any(not used >= set(m.shares) for m in learned.mixtures):
            raise ModelFileError("shares of branches that it does not have")
        if learned.spotter is not None:
            learned.spotter.check_fits(self.with_learned(learned))
        self._learned = learned

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; those of a branch as ``<branch>__<step>__<parameter>``."""
        return self._get_params("branches", deep=deep)

    def set_params(self, **parameters: Any) -> Recognizer:
        """Set parameters by name, or replace a whole branch by its name."""
        self._set_params("branches", **parameters)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return self._learned is not None
