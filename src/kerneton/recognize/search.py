"""Choosing kernels, mirroring, view and C inside the training subjects, everything from cached Gram matrices."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils.validation import check_is_fitted

from kerneton.data.progress import Progress, silent
from kerneton.data.validation import check_choice, check_in, check_positive, check_sequences
from kerneton.exceptions import DataError, ParameterError
from kerneton.machine.folds import penalised_machines
from kerneton.machine.gram import combine, gram
from kerneton.machine.normalize import CenterNormalize
from kerneton.machine.svm import LinearSVM
from kerneton.recognize.selection import (
    Failures,
    FoldGrams,
    Folds,
    fold_grams,
    score_sum,
    subject_folds,
    tell_failures,
    with_parameters,
)


@dataclass(frozen=True)
class Trial:
    """One candidate as it was tried, and its accuracy on the held-out subjects."""

    variant: str
    cues: tuple[str, ...]
    C: float
    accuracy: float
    spread: float  # standard error over folds
    weights: tuple[float, ...] = ()  # one a cue
    scatter: float = 0.0


class KernelSearch(ClassifierMixin, BaseEstimator):
    """Pick the best kernels for these recordings by holding out training subjects.

    Every cue is a feature pipeline; a candidate is a sum of cues, each centred and normalised on the training
    side of a fold, with a C and a penalty of what differs between recordings of one class. Candidates are scored on
    held-out subjects from Gram matrices computed once a cue. The variant (mirroring, view) is chosen by the
    accuracy pooled over all candidates, which is steadier than a choice candidate by candidate; then the scores of
    the ``average`` best candidates are averaged, which guards against picking noise. A sum of linear machines is
    linear: the result, ``recognizer_``, is a plain pipeline.

    Parameters
    ----------
    cues : mapping of str to Pipeline
        Steps named "preprocess" and "kernel"; the kernel is an `SCK` or a `DCK`.
    sums : sequence of mappings of str to float, "all" or "leave-out", optional
        Cues and their weights in each candidate; by default each cue alone. "all" is one sum of every cue that
        these recordings allow, "leave-out" that sum and those with one cue fewer; with both, each cue alone is tried
        too, and has a say in the choice of the variant only.
    scout : mapping, optional
        Parameters set on every cue while searching only, such as ``{"kernel__order": 2}``: the choice is made with
        something cheaper than what is then fitted.
    variants : mapping of str to mapping, optional
        Parameters to set on every cue that has them, such as ``{"mirrored": {"kernel__mirror": True}}``.
    handicaps : mapping of str to float, optional
        Accuracy that a variant must make up for to be chosen.
    Cs : sequence of float
    scatters : sequence of float
        How strongly directions in which training recordings of one class differ count against a machine, relative to
        their mean spread: ``wᵀ(I + scatter S / t)w`` is penalised, S the scatter within classes, t its share of a
        recording. What differs between performances of one action is mostly the person. 0 for none.
    average : int
        How many of the best candidates speak together, and with them those that equal the last of these; 1 is the first
        of the best alone.
    progress : callable, optional
        Called like ``tqdm.tqdm``.

    Attributes
    ----------
    recognizer_ : Pipeline
        Fitted on all training recordings.
    trials_ : list of Trial
        Everything that was tried, in all variants, best first.
    variant_ : str
    variant_scores_ : dict of str to float
        Accuracy of each variant pooled over candidates.
    chosen_ : list of Trial
    branch_of_ : dict of str to str
        The branch of ``recognizer_`` that stands for each cue. Cues that the variant makes the same (one as the camera sees
        it and one turned to the front, once all are turned) are one branch, the first of them.
    classes_ : ndarray

    Examples
    --------
    >>> from kerneton import SCK, Preprocess, make_actions
    >>> data = make_actions(["wave", "clap"], n_subjects=3, n_takes=2)
    >>> cue = Pipeline([("preprocess", Preprocess()), ("kernel", SCK(order=2))])
    >>> search = KernelSearch({"order 2": cue}).fit(data, data.labels, groups=data.subjects)
    >>> search.predict(data[:1])
    array(['wave'], dtype='<U4')
    """

    def __init__(
        self,
        cues: Mapping[str, Pipeline],
        *,
        sums: Sequence[Mapping[str, float]] | str | None = None,
        scout: Mapping[str, Any] | None = None,
        variants: Mapping[str, Mapping[str, Any]] | None = None,
        handicaps: Mapping[str, float] | None = None,
        Cs: Sequence[float] = (1.0, 10.0, 100.0),
        scatters: Sequence[float] = (0.0,),
        average: int = 1,
        progress: Progress | None = None,
    ) -> None:
        self.cues = cues
        self.sums = sums
        self.scout = scout
        self.variants = variants
        self.handicaps = handicaps
        self.Cs = Cs
        self.scatters = scatters
        self.average = average
        self.progress = progress

    def fit(self, X: Iterable[Any], y: Any, groups: Any = None) -> KernelSearch:
        """Search on the training recordings; ``groups`` are their subjects."""
        check_positive("average", self.average, integer=True)
        if not len(self.Cs) or not len(self.scatters):
            raise ParameterError("KernelSearch needs at least one C and one scatter")
        for C in self.Cs:
            check_positive("C", C)
        for scatter in self.scatters:
            check_in("scatter", scatter, 0, 1e6)
        self._check_cues()
        sequences = check_sequences(X, allow_missing=True)
        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        if len(codes) != len(sequences):
            raise DataError(f"{len(sequences)} recordings but {len(codes)} labels")
        if len(self.classes_) < 2:
            raise DataError(f"KernelSearch needs at least two labels, got {self.classes_.tolist()} alone")
        folds = subject_folds(codes, groups)
        self._choose(self._trials(sequences, codes, folds))
        self.recognizer_ = self._final(sequences, np.asarray(y))
        return self

    def predict(self, X: Iterable[Any]) -> np.ndarray:
        check_is_fitted(self, "recognizer_")
        return self.recognizer_.predict(X)

    def decision_function(self, X: Iterable[Any]) -> np.ndarray:
        check_is_fitted(self, "recognizer_")
        return self.recognizer_.decision_function(X)

    def summary(self) -> str:
        """What was tried and why this was chosen, as text."""
        check_is_fitted(self, "recognizer_")
        pooled = ", ".join(
            f"{name or 'as given'} {score:.1%}" for name, score in self.variant_scores_.items()
        )
        lines = [
            f"{len(self.trials_)} trials on held-out training subjects",
            f"accuracy pooled over candidates: {pooled}; chosen: {self.variant_ or 'as given'}",
            f"{len(self.chosen_)} candidate(s) speak together:",
        ]
        lines += [
            f"  {t.accuracy:.1%} ± {t.spread:.1%}  C={t.C:g}  scatter={t.scatter:g}  {' + '.join(t.cues)}"
            for t in self.chosen_
        ]
        return "\n".join(lines)

    def _check_cues(self) -> None:
        if not self.cues:
            raise ParameterError("KernelSearch needs at least one cue")
        odd = sorted(name for name, cue in self.cues.items() if cue.steps[-1][0] != "kernel")
        if odd:
            raise ParameterError(f"a cue needs a last step named 'kernel', missing in {', '.join(odd)}")
        if isinstance(self.sums, str):
            check_choice("sums", self.sums, ["all", "leave-out"])
            return
        if self.sums is not None and not len(self.sums):
            raise ParameterError("sums is empty; leave it None for each cue alone")
        for s in self.sums or ():
            if not s:
                raise ParameterError("a sum names no cue")
            unknown = sorted(set(s) - set(self.cues))
            if unknown:
                raise ParameterError(f"sums name cues that do not exist: {', '.join(unknown)}")
            for name, weight in s.items():
                check_positive(f"weight of {name}", weight)

    def _candidates(self, available: Sequence[str]) -> list[dict[str, float]]:
        """The sums that these cues allow."""
        if self.sums is None:
            return [{name: 1.0} for name in available]
        if not isinstance(self.sums, str):
            return [dict(s) for s in self.sums if set(s) <= set(available)]
        n = len(available)
        sizes = [n, 1] if self.sums == "all" else [n, max(n - 1, 1), 1]
        return [
            dict.fromkeys(names, 1.0)
            for size in dict.fromkeys(sizes)
            for names in itertools.combinations(available, size)
        ]

    def _trials(self, sequences: Sequence[Any], codes: np.ndarray, folds: Folds) -> list[Trial]:
        grams, failures = self._grams(sequences, codes, folds)
        tell_failures(failures, len(self.variants or {"": {}}))
        trials = []
        for variant in (self.progress or silent)(list(self.variants or {"": {}}), desc="candidates"):
            available = [name for name in self.cues if (variant, name) in grams]
            for candidate in self._candidates(available) if available else []:
                parts = [(grams[variant, name], weight) for name, weight in candidate.items()]
                weights = tuple(candidate.values())
                trials += [
                    Trial(variant, tuple(candidate), C, *score, weights, scatter)
                    for (scatter, C), score in score_sum(parts, codes, folds, self.Cs, self.scatters).items()
                ]
        if not trials:
            raise DataError(f"no candidate could be computed on these recordings: {next(iter(failures))[1]}")
        return trials

    def _grams(
        self, sequences: Sequence[Any], codes: np.ndarray, folds: Folds
    ) -> tuple[dict[tuple[str, str], FoldGrams], Failures]:
        """Gram matrices of every cue in every variant, and what could not be computed."""
        variants = dict(self.variants or {"": {}})
        named = set(self.cues)
        if self.sums is not None and not isinstance(self.sums, str):
            named = {name for s in self.sums for name in s}
        jobs = [(variant, name) for variant in variants for name in self.cues if name in named]
        grams, poses = {}, {}
        failures: Failures = {}
        known: dict[str, FoldGrams] = {}
        for variant, name in (self.progress or silent)(jobs, total=len(jobs), desc="kernels"):
            try:
                cue = with_parameters(self.cues[name], {**variants[variant], **(self.scout or {})})
                whole = joblib.hash(cue.steps)
                if whole in known:
                    grams[variant, name] = known[whole]
                    continue
                before = cue[:-1]
                key = joblib.hash(before.steps)  # most cues share what comes before their kernel
                if key not in poses:
                    poses[key] = before.fit_transform(sequences) if len(before) else sequences
                grams[variant, name] = known[whole] = fold_grams(cue["kernel"], poses[key], codes, folds)
            except (DataError, ParameterError, np.linalg.LinAlgError) as error:
                failures.setdefault((name, str(error)), []).append(variant or "as given")
        return grams, failures

    def _choose(self, trials: list[Trial]) -> None:
        names = list(dict.fromkeys(t.variant for t in trials))
        # Only what every variant could compute: a variant must not win because its hard candidates failed.
        counts = Counter((t.cues, t.weights, t.C, t.scatter) for t in trials)
        common = [t for t in trials if counts[t.cues, t.weights, t.C, t.scatter] == len(names)] or trials
        self.variant_scores_ = {
            name: float(np.mean([t.accuracy for t in common if t.variant == name])) for name in names
        }
        handicaps = self.handicaps or {}
        self.variant_ = max(names, key=lambda name: self.variant_scores_[name] - handicaps.get(name, 0.0))
        own = [t for t in trials if t.variant == self.variant_]
        most = max(len(t.cues) for t in own)
        if isinstance(self.sums, str):  # single cues were asked about the variant
            own = [t for t in own if len(t.cues) >= min(2, most)]
        ranked = sorted(own, key=lambda t: -t.accuracy)  # stable: of equals the first comes first
        last = ranked[: self.average][-1].accuracy
        # Few held-out recordings make many equals, whose order means nothing.
        self.chosen_ = [t for t in ranked if t.accuracy >= last] if self.average > 1 else ranked[:1]
        self.trials_ = sorted(trials, key=lambda t: -t.accuracy)
        overrides = (self.variants or {"": {}})[self.variant_]
        keys = {name: joblib.hash(with_parameters(cue, overrides).steps) for name, cue in self.cues.items()}
        first = {key: name for name, key in reversed(keys.items())}
        self.branch_of_ = {name: first[key] for name, key in keys.items()}

    def branch_weights(self, trial: Trial) -> dict[str, float]:
        """Weight of each branch of ``recognizer_`` in a chosen candidate; together they are one."""
        out: dict[str, float] = {}
        for name, weight in zip(trial.cues, trial.weights, strict=True):
            branch = self.branch_of_[name]
            out[branch] = out.get(branch, 0.0) + weight / sum(trial.weights)
        return out

    def _final(self, sequences: Sequence[Any], y: np.ndarray) -> Pipeline:
        """The chosen candidates on all training recordings, their weight vectors averaged into one."""
        overrides = (self.variants or {"": {}})[self.variant_]
        weights = [self.branch_weights(t) for t in self.chosen_]
        used = [name for name in self.cues if any(name in w for w in weights)]
        branches, features, grams = [], {}, {}
        for name in used:
            cue = with_parameters(self.cues[name], overrides)
            branch = Pipeline([*cue.steps, ("scale", CenterNormalize())])
            features[name] = branch.fit_transform(sequences, y)
            grams[name] = gram(features[name])
            branches.append((name, branch))
        codes = np.searchsorted(self.classes_, y)
        duals: dict[str, Any] = dict.fromkeys(used, 0.0)
        intercept: Any = 0.0
        for trial, w in zip(self.chosen_, weights, strict=True):
            K = sum(grams[name] * weight for name, weight in w.items())
            ((beta, constant),) = penalised_machines(K, codes, [trial.C], scatter=trial.scatter)
            intercept = intercept + constant / len(weights)
            for name, weight in w.items():
                duals[name] = duals[name] + beta * (weight / len(weights))
        svm = LinearSVM()
        svm.coef_ = np.hstack([combine(duals[name], features[name]) for name in used])
        svm.intercept_ = intercept.astype(svm.coef_.dtype)
        svm.classes_, svm.n_features_in_, svm.n_iter_ = self.classes_, svm.coef_.shape[1], 1
        return Pipeline([("features", FeatureUnion(branches, n_jobs=1)), ("svm", svm)])
