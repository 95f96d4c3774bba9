"""Choosing kernels, mirroring, view and C inside the training subjects, everything from cached Gram matrices."""

from __future__ import annotations

import logging
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import GroupKFold, StratifiedKFold
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils.validation import check_is_fitted

from kerneton._gram import center_normalize_gram, combine, gram
from kerneton._progress import Progress, silent
from kerneton._svm_folds import one_vs_rest
from kerneton._svm_solver import solve_gram
from kerneton._validation import check_positive, check_sequences
from kerneton.alignment import alignment_weights, block_grams
from kerneton.exceptions import DataError, ParameterError
from kerneton.normalize import CenterNormalize
from kerneton.svm import LinearSVM

log = logging.getLogger(__name__)

Folds = list[tuple[np.ndarray, np.ndarray]]
FoldGrams = list[tuple[np.ndarray, np.ndarray]]  # (train, train) and (validation, train), a pair a fold
_MAX_FOLDS = 10


@dataclass(frozen=True)
class Trial:
    """One candidate as it was tried: a variant, a sum of cues, a C and its accuracy on the held-out subjects."""

    variant: str
    cues: tuple[str, ...]
    C: float
    accuracy: float
    spread: float  # standard error over folds
    weights: tuple[float, ...] = ()  # one a cue


class KernelSearch(ClassifierMixin, BaseEstimator):
    """Pick the best kernels for these recordings by holding out training subjects.

    Every cue is a feature pipeline; a candidate is a sum of cues, each centred and normalised on the training
    side of a fold. Candidates are scored on held-out subjects for every C, from Gram matrices computed once a
    cue. The variant (mirroring, view) is chosen by the accuracy pooled over all candidates, which is steadier than
    a choice candidate by candidate; then the scores of the ``average`` best candidates are averaged, which guards
    against picking noise. A sum of linear machines is linear: the result, ``recognizer_``, is a plain pipeline.

    Parameters
    ----------
    cues : mapping of str to Pipeline
        Steps named "preprocess" and "kernel"; the kernel is an `SCK` or a `DCK`.
    sums : sequence of mappings of str to float, optional
        Cues and their weights in each candidate; by default each cue alone.
    variants : mapping of str to mapping, optional
        Parameters to set on every cue that has them, such as ``{"mirrored": {"kernel__mirror": True}}``.
    handicaps : mapping of str to float, optional
        Accuracy that a variant must make up for to be chosen.
    Cs : sequence of float
    average : int
        How many of the best candidates speak together.
    progress : callable, optional
        Called like ``tqdm.tqdm``.

    Attributes
    ----------
    recognizer_ : Pipeline
        Fitted on all training recordings.
    trials_ : list of Trial
        Everything that was tried in the chosen and the other variants, best first.
    variant_ : str
    variant_scores_ : dict of str to float
        Accuracy of each variant pooled over candidates.
    chosen_ : list of Trial
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
        sums: Sequence[Mapping[str, float]] | None = None,
        variants: Mapping[str, Mapping[str, Any]] | None = None,
        handicaps: Mapping[str, float] | None = None,
        Cs: Sequence[float] = (1.0, 10.0, 100.0),
        average: int = 1,
        progress: Progress | None = None,
    ) -> None:
        self.cues = cues
        self.sums = sums
        self.variants = variants
        self.handicaps = handicaps
        self.Cs = Cs
        self.average = average
        self.progress = progress

    def fit(self, X: Iterable[Any], y: Any, groups: Any = None) -> KernelSearch:
        """Search on the training recordings; ``groups`` are their subjects."""
        check_positive("average", self.average, integer=True)
        if not len(self.Cs):
            raise ParameterError("KernelSearch needs at least one C")
        for C in self.Cs:
            check_positive("C", C)
        self._candidates()
        sequences = check_sequences(X, allow_missing=True)
        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        if len(codes) != len(sequences):
            raise DataError(f"{len(sequences)} recordings but {len(codes)} labels")
        if len(self.classes_) < 2:
            raise DataError(f"KernelSearch needs at least two labels, got {self.classes_.tolist()} alone")
        folds = subject_folds(codes, groups)
        trials = self._trials(sequences, codes, folds)
        self._choose(trials)
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
            f"  {t.accuracy:.1%} ± {t.spread:.1%}  C={t.C:g}  {' + '.join(t.cues)}" for t in self.chosen_
        ]
        return "\n".join(lines)

    def _candidates(self) -> list[dict[str, float]]:
        if not self.cues:
            raise ParameterError("KernelSearch needs at least one cue")
        sums = [{name: 1.0} for name in self.cues] if self.sums is None else [dict(s) for s in self.sums]
        unknown = sorted({name for s in sums for name in s} - set(self.cues))
        if unknown:
            raise ParameterError(f"sums name cues that do not exist: {', '.join(unknown)}")
        for s in sums:
            if not s:
                raise ParameterError("a sum names no cue")
            for name, weight in s.items():
                check_positive(f"weight of {name}", weight)
        odd = sorted(name for name, cue in self.cues.items() if "kernel" not in cue.named_steps)
        if odd:
            raise ParameterError(f"a cue needs a step named 'kernel', missing in {', '.join(odd)}")
        return sums

    def _trials(self, sequences: Sequence[Any], codes: np.ndarray, folds: Folds) -> list[Trial]:
        variants = dict(self.variants or {"": {}})
        wanted = {name for candidate in self._candidates() for name in candidate}
        jobs = [(variant, name) for variant in variants for name in self.cues if name in wanted]
        progress = self.progress or silent
        grams: dict[tuple[str, str], FoldGrams] = {}
        for variant, name in progress(jobs, total=len(jobs), desc="kernels"):
            try:
                cue = with_parameters(self.cues[name], variants[variant])
                grams[variant, name] = _fold_grams(cue, sequences, codes, folds)
            except (DataError, ParameterError, np.linalg.LinAlgError) as error:
                log.warning("cue %s (%s) is left out: %s", name, variant or "as given", error)
        trials = []
        for variant in progress(list(variants), desc="candidates"):
            for candidate in self._candidates():
                parts = [(grams.get((variant, name)), weight) for name, weight in candidate.items()]
                if any(part is None for part, _ in parts):
                    continue
                scored = _score([(part, w) for part, w in parts if part is not None], codes, folds, self.Cs)
                trials += [
                    Trial(variant, tuple(candidate), C, *score, weights=tuple(candidate.values()))
                    for C, score in zip(self.Cs, scored, strict=True)
                ]
        if not trials:
            raise DataError("no candidate could be computed on these recordings; the log says why for each")
        return trials

    def _choose(self, trials: list[Trial]) -> None:
        best: dict[tuple[Any, ...], Trial] = {}
        for t in trials:  # the first, smallest C wins ties
            key = (t.variant, t.cues, t.weights)
            if key not in best or t.accuracy > best[key].accuracy:
                best[key] = t
        names = list(dict.fromkeys(t.variant for t in trials))
        # Only what every variant could compute: a variant must not win because its hard candidates failed.
        counts = Counter((t.cues, t.weights) for t in best.values())
        pooled = [t for t in best.values() if counts[t.cues, t.weights] == len(names)] or list(best.values())
        self.variant_scores_ = {
            name: float(np.mean([t.accuracy for t in pooled if t.variant == name])) for name in names
        }
        handicaps = self.handicaps or {}
        self.variant_ = max(names, key=lambda name: self.variant_scores_[name] - handicaps.get(name, 0.0))
        ranked = sorted((t for t in best.values() if t.variant == self.variant_), key=lambda t: -t.accuracy)
        self.chosen_ = ranked[: self.average]
        self.trials_ = sorted(trials, key=lambda t: -t.accuracy)

    def _final(self, sequences: Sequence[Any], y: np.ndarray) -> Pipeline:
        """The chosen candidates on all training recordings, their weight vectors averaged into one."""
        overrides = (self.variants or {"": {}})[self.variant_]
        weights = [dict(zip(t.cues, t.weights, strict=True)) for t in self.chosen_]
        used = [name for name in self.cues if any(name in w for w in weights)]
        branches, features, grams = [], {}, {}
        for name in used:
            cue = with_parameters(self.cues[name], overrides)
            branch = Pipeline([*cue.steps, ("scale", CenterNormalize())])
            features[name] = branch.fit_transform(sequences, y)
            grams[name] = gram(features[name])
            branches.append((name, branch))
        signs = one_vs_rest(np.searchsorted(self.classes_, y), len(self.classes_))
        duals = dict.fromkeys(used, 0.0)
        intercept: Any = 0.0
        for trial, w in zip(self.chosen_, weights, strict=True):
            total = sum(w.values())
            K = sum(grams[name] * (weight / total) for name, weight in w.items())
            beta = solve_gram(K + 1.0, signs, [trial.C]).coef[0] / len(weights)
            intercept = intercept + beta.sum(axis=1)
            for name, weight in w.items():
                duals[name] = duals[name] + beta * (weight / total)
        svm = LinearSVM()
        svm.coef_ = np.hstack([combine(duals[name], features[name]) for name in used])
        svm.intercept_ = intercept.astype(svm.coef_.dtype)
        svm.classes_, svm.n_features_in_, svm.n_iter_ = self.classes_, svm.coef_.shape[1], 1
        return Pipeline([("features", FeatureUnion(branches)), ("svm", svm)])


def subject_folds(codes: np.ndarray, groups: Any) -> Folds:
    """Leave one subject out, ten folds of subjects where there are many, or folds of recordings without subjects.

    >>> [valid.tolist() for _, valid in subject_folds(np.array([0, 1, 0, 1]), ["ann", "ann", "bob", "bob"])]
    [[0, 1], [2, 3]]
    """
    subjects = None if groups is None else np.asarray(groups).astype(str)
    if subjects is not None and len(subjects) != len(codes):
        raise DataError(f"{len(codes)} recordings but {len(subjects)} subjects")
    n_subjects = 0 if subjects is None else len(np.unique(subjects))
    if subjects is not None and n_subjects > 1:
        if n_subjects <= _MAX_FOLDS:
            return [
                (np.flatnonzero(subjects != s), np.flatnonzero(subjects == s)) for s in np.unique(subjects)
            ]
        return list(GroupKFold(_MAX_FOLDS).split(codes, codes, subjects))
    counts = np.bincount(codes)
    if counts.max() < 2:
        raise DataError(
            "every label has one recording only: there is none to hold out and none to compare with"
        )
    n_folds = max(2, min(5, int(counts.min())))
    log.warning("%s: folds hold out recordings, not people", "one subject" if n_subjects else "no subjects")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class smaller than the folds is in some of them only
        return list(StratifiedKFold(n_folds, shuffle=True, random_state=0).split(codes, codes))


def with_parameters(cue: Pipeline, overrides: Mapping[str, Any]) -> Pipeline:
    """A fresh copy of a cue with those of the parameters set that it has.

    >>> from kerneton import SCK
    >>> cue = Pipeline([("kernel", SCK())])
    >>> with_parameters(cue, {"kernel__mirror": True, "absent__x": 1})["kernel"].mirror
    True
    """
    copy = clone(cue)
    known = copy.get_params()
    return copy.set_params(**{key: value for key, value in overrides.items() if key in known})


def _fold_grams(cue: Pipeline, sequences: Sequence[Any], codes: np.ndarray, folds: Folds) -> FoldGrams:
    """Centred, normalised Gram matrices of each fold; joint weights learnt on the fold's training side alone."""
    weighted = cue["kernel"].weighting is not None
    encoder = clone(cue).set_params(kernel__weighting=None)
    features = encoder.fit_transform(sequences)
    if not np.isfinite(features).all():
        raise DataError("its features are not finite")
    blocks = block_grams(features, encoder["kernel"].block_sizes_) if weighted else gram(features)[None]
    out = []
    for train, valid in folds:
        weights = np.ones(len(blocks))
        if weighted:
            weights = alignment_weights(blocks[:, train][:, :, train], codes[train])
        K = np.tensordot(weights, blocks, axes=1)
        inside, across = center_normalize_gram(K, train, valid)
        out.append((inside.astype(np.float32), across.astype(np.float32)))
    return out


def _score(
    parts: list[tuple[FoldGrams, float]], codes: np.ndarray, folds: Folds, Cs: Sequence[float]
) -> list[tuple[float, float]]:
    """Accuracy on held-out recordings and its standard error over folds, for every C."""
    total = sum(weight for _, weight in parts)
    right = np.zeros((len(Cs), len(folds)))
    for f, (train, valid) in enumerate(folds):
        inside = sum(part[f][0].astype(np.float64) * (weight / total) for part, weight in parts)
        across = sum(part[f][1].astype(np.float64) * (weight / total) for part, weight in parts)
        present, local = np.unique(codes[train], return_inverse=True)
        if len(present) == 1:
            right[:, f] = (codes[valid] == present[0]).sum()
            continue
        betas = solve_gram(inside + 1.0, one_vs_rest(local, len(present)), Cs, tol=1e-4).coef
        for c, beta in enumerate(betas):
            scores = (across + 1.0) @ beta.T
            guess = (scores[:, 0] > 0).astype(int) if len(present) == 2 else scores.argmax(axis=1)
            right[c, f] = (present[guess] == codes[valid]).sum()
    sizes = np.asarray([len(valid) for _, valid in folds])
    accuracy = right.sum(axis=1) / sizes.sum()
    spread = (right / sizes).std(axis=1) / np.sqrt(max(len(folds) - 1, 1))
    return [(float(a), float(s)) for a, s in zip(accuracy, spread, strict=True)]
