"""The recogniser: predicts labels and probabilities of recordings, explains them, and can be saved to a file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.metaestimators import _BaseComposition, available_if
from sklearn.utils.validation import check_is_fitted

from kerneton.data.layouts import Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.data.validation import all_timed, check_sequences
from kerneton.exceptions import ModelFileError
from kerneton.machine.folds import subject_folds
from kerneton.machine.svm import LinearSVM
from kerneton.machine.threads import count_threads, one_blas_thread
from kerneton.recognize import training
from kerneton.recognize.branch import Branch, encode_together, share_preprocessing, side_by_side
from kerneton.recognize.encoder import Encoder
from kerneton.recognize.search import Mixture, Search, fitting

if TYPE_CHECKING:
    from kerneton.data.progress import Progress
    from kerneton.data.segments import Segment
    from kerneton.recognize.answers import Prediction, Results
    from kerneton.recognize.calibration import Calibration
    from kerneton.report.explanation import ClassImportance, Explanation


class Recognizer(training.SpottingMixin, ClassifierMixin, _BaseComposition):
    """Branches of features and one linear classifier; every preset, search and model file is a `Recognizer`.

    Parameters
    ----------
    branches : list of (str, Branch)
        Each computes features of recordings: preprocessing, kernel, centring, weight.
    machine : classifier, optional
        A `LinearSVM` by default. Other classifiers with ``fit``, ``predict`` and ``decision_function`` work too, without search,
        calibration and explanation.
    search : Search, optional
        Choose mirroring, view, sums of branches, C and penalty inside the training subjects. Without it, the features of all branches are
        concatenated.
    any_skeleton : bool
        Adapt branches and search to recordings of hands, in 2D, of two persons, or of a skeleton without left and right, see
        `kerneton.recognize.other_skeletons.suited`; True in all presets.
    calibrate : bool
        Also learn probabilities and "none of these", on held-out training subjects and classes.
    false_alarm, reject : float in [0, 1), bool
        The share of recordings of known classes that may count as unknown, and whether `predict` returns ``unknown_label`` for unknown
        recordings.
    n_jobs, device, progress : int, str, callable, optional
        Threads, and "cuda" for the GPU (None keeps each kernel's own; neither changes the results); ``progress`` is called like
        ``tqdm.tqdm``.

    Attributes
    ----------
    branches_ : dict of str to Branch
        The fitted branches in use.
    machine_ : LinearSVM
        With the C and within-class penalty that were used (those of the best candidate if several are averaged).
    mixtures_ : list of Mixture
        The classifiers whose decision values are averaged: weights of branches, C and penalty of each.
    classes_ : ndarray
    variant_, variant_scores_, trials_, chosen_ : the result of the search and all candidates; see `Search`
    calibration_ : Calibration or None

    Examples
    --------
    >>> from kerneton import SCK, CenterNormalize, Preprocess, make_actions
    >>> data = make_actions(["wave", "clap", "bow"], n_subjects=3, n_takes=1)
    >>> poses = Branch(Preprocess(), SCK(order=2), CenterNormalize())
    >>> model = Recognizer([("poses", poses)], machine=LinearSVM(C=10), calibrate=True)
    >>> model.fit(data, data.labels).predictions(data[:1])[0].label
    'wave'
    """

    branches_: dict[str, Branch]
    machine_: Any
    mixtures_: list[Mixture]
    classes_: np.ndarray
    calibration_: Calibration | None
    training_: dict[str, Any]
    timed_: bool | None  # whether all or none of the training recordings have a frame rate; None for some

    def __init__(
        self,
        branches: Sequence[tuple[str, Branch]],
        *,
        machine: Any = None,
        search: Search | None = None,
        any_skeleton: bool = False,
        calibrate: bool = False,
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

    def fit(self, X: Iterable[Any], y: Any, groups: Any = None, **options: Any) -> Recognizer:
        """Train; ``groups`` are the subjects, by default the recordings' own; for options see `kerneton.recognize.growth`."""
        with one_blas_thread(), training.told_of_memory(), training.taken_when_done(self) as fresh:
            fresh._fit(X, y, groups, options)
        return self

    def add(self, X: Iterable[Any], y: Any, groups: Any = None) -> Recognizer:
        """Fit again with more recordings; only the new ones are encoded, see `kerneton.recognize.growth.add`."""
        from kerneton.recognize.growth import add

        with one_blas_thread(), training.told_of_memory():
            return add(self, X, y, groups)

    def _fit(self, X: Any, y: Any, groups: Any, options: Any = None, encoder: Any = None) -> Recognizer:
        training.check_recognizer(self)
        sequences, y, classes, codes = training.check_training(X, y, groups)
        groups = training.known_subjects(sequences, groups)
        large, keep = training.split_options(options)
        if options is not None and training.is_large(self, len(sequences), keep):
            return training.fit_large(self, sequences, y, groups, codes, **large)
        named, search = fitting(self, sequences)
        branches = {name: branch.run_on(**self._where()) for name, branch in named.items()}
        machine = LinearSVM() if self.machine is None else clone(self.machine)
        training.check_room(branches, sequences)
        encoder = encoder or Encoder(sequences, count_threads(self.n_jobs))
        self.kept_ = (encoder, y, groups) if keep else None
        folds = subject_folds(codes, groups) if search is not None or self.calibrate else []
        if search is None:
            tried, features = [], encoder.fit_all(branches, codes, self.progress)
            self.branches_, self.machine_ = branches, machine.fit(side_by_side([*features.values()]), y)
            strength = [float(getattr(machine, name, 0.0)) for name in ("C", "within_class_penalty")]
            self.mixtures_ = [Mixture(dict.fromkeys(branches, 1.0), *strength)]
        else:
            found = search.run(branches, encoder.trials(codes, folds, self.progress))
            self.variant_, self.variant_scores_ = found.variant, found.variant_scores
            tried, self.chosen_, self.search_ = found.trials, found.chosen, search
            self.trials_ = sorted(tried, key=lambda t: -t.accuracy)
            self.branches_, self.mixtures_ = found.branches, found.mixtures
            features = encoder.fit_all(self.branches_, codes, self.progress)
            inner = encoder.inner(self.branches_, codes, self.progress)
            self.machine_ = training.average_machines(
                machine, features, inner, self.mixtures_, classes, codes, encoder.n_threads, self.progress
            )
        self.classes_, self.calibration_, self.spotter_ = classes, None, None
        self.timed_ = all_timed(sequences)
        if self.calibrate:
            grams = [encoder.grams(branch) for branch in self.branches_.values()]
            self.calibration_ = training.calibrate_held_out(
                self, features, grams, codes, groups, folds, tried
            )
        return self

    def features(self, X: Iterable[Any]) -> np.ndarray:
        """(n, n_features), the input of the classifier: features of all branches, concatenated."""
        check_is_fitted(self)
        sequences = check_sequences(X, allow_missing=True)
        with one_blas_thread():
            branches = [branch.run_on(**self._where()) for branch in self.branches_.values()]
            if self.device is not None:
                from kerneton.recognize.on_device import features_on

                if (found := features_on(branches, sequences, self.device)) is not None:
                    return np.asarray(found)
            return side_by_side(encode_together(branches, sequences))

    def predict(self, X: Iterable[Any]) -> np.ndarray:
        """Labels; with ``reject``, ``unknown_label`` for recordings unlike all classes."""
        return self.results(X).labels

    def decision_function(self, X: Iterable[Any]) -> np.ndarray:
        """(n, n_classes), or (n,) for two classes, positive for ``classes_[1]``."""
        from kerneton.recognize.answers import decisions

        return decisions(self, X)

    @available_if(lambda self: self.calibrate)
    def predict_proba(self, X: Iterable[Any]) -> np.ndarray:
        """(n, n_classes) in the order of ``classes_``; rows sum to one, given that the recording belongs to one of the classes."""
        return np.asarray(self.results(X).probabilities)

    @available_if(lambda self: self.calibrate)
    def unknown_score(self, X: Iterable[Any]) -> np.ndarray:
        """(n,) in [0, 1], larger for recordings less like the training classes."""
        return np.asarray(self.results(X).unknown)

    @available_if(lambda self: self.calibrate)
    def is_unknown(self, X: Iterable[Any]) -> np.ndarray:
        """(n,) bool: whether the score of being unknown is above the threshold."""
        return self.unknown_score(X) > self.calibration_.threshold_  # type: ignore[union-attr]

    @available_if(lambda self: self.calibrate)
    def predictions(self, X: Iterable[Any]) -> list[Prediction]:
        """Label, probability and score of being unknown of each recording; features are computed once."""
        assert self.calibration_ is not None
        return self.results(X).predictions(self.classes_, self.calibration_.threshold_)

    def results(self, X: Iterable[Any]) -> Results:
        """Labels, decision values and, if calibrated, probabilities; features are computed once."""
        from kerneton.recognize.answers import results

        return results(self, X)

    def explain(self, sequence: Any, label: str | Segment | None = None, **options: Any) -> Explanation:
        """The contribution of each joint, pair and moment of a recording to a class; see `kerneton.explain`."""
        from kerneton.recognize.contributions import explain

        return explain(self, sequence, label, **options)

    def class_importance(self, X: Iterable[Any], y: Any = None) -> ClassImportance:
        """The mean contribution of each joint to each class, over its recordings."""
        from kerneton.recognize.contributions import class_importance

        return class_importance(self, X, y)

    def save(self, path: str | os.PathLike[str], *, data: Iterable[SkeletonSequence] | None = None) -> Path:
        """Write the recogniser to a file, completely or not at all; ``data`` are the training recordings, for a summary."""
        from kerneton.recognize.model_file import save

        return save(self, path, data=data)

    def adapt(self, X: Iterable[SkeletonSequence]) -> list[SkeletonSequence]:
        """Recordings with the joints, the precision and, if unknown, the frame rate that this recogniser needs."""
        from kerneton.recognize.sensors import adapt

        return adapt(self, X)

    def summary(self) -> str:
        """The result of the search, as text."""
        from kerneton.recognize.answers import described_choice

        check_is_fitted(self)
        variant, scores = getattr(self, "variant_", None), getattr(self, "variant_scores_", {})
        return described_choice(variant, scores, self.mixtures_)

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
        names = ("classes", "branches", "machine", "calibration", "spotter")
        state = {name: getattr(self, f"{name}_") for name in names}
        state["mixtures"] = [[m.shares, m.C, m.penalty] for m in self.mixtures_]
        state["timed"] = self.timed_
        searched = self.search is not None
        state["chosen"] = {"variant": self.variant_, "scores": self.variant_scores_} if searched else None
        return state

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore what ``get_state`` returned; values that do not fit are refused."""
        self.classes_, self.branches_, self.machine_ = (state[k] for k in ("classes", "branches", "machine"))
        share_preprocessing(self.branches_.values())
        self.mixtures_ = [Mixture(dict(shares), float(C), float(p)) for shares, C, p in state["mixtures"]]
        self.calibration_, self.timed_ = state["calibration"], state.get("timed")
        if state["chosen"] is not None:
            self.variant_, self.variant_scores_ = state["chosen"]["variant"], state["chosen"]["scores"]
        known = {name for name, _ in self.branches} | ({"travel"} if self.any_skeleton else set())
        used = set(self.branches_)
        if not used or not known >= used or len(self.machine_.classes_) != len(self.classes_):
            raise ModelFileError("branches or labels that are inconsistent")
        if any(not used >= set(m.shares) for m in self.mixtures_):
            raise ModelFileError("shares of branches that it does not have")
        self.take_spotter(state.get("spotter"))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; those of a branch as ``<branch>__<step>__<parameter>``."""
        return self._get_params("branches", deep=deep)

    def set_params(self, **parameters: Any) -> Recognizer:
        """Set parameters by name, or replace a whole branch by its name."""
        self._set_params("branches", **parameters)
        return self

    def _where(self) -> dict[str, Any]:
        return {"n_jobs": self.n_jobs, "device": self.device}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "machine_")
