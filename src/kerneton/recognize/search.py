"""Choosing kernels, mirroring, view, C and penalty inside the training subjects, from Gram
matrices.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from kerneton.data.notes import logger
from kerneton.data.parameters import check_choice, check_in, check_positive
from kerneton.exceptions import DataError, ParameterError
from kerneton.prepare.preprocess import skeleton_kind
from kerneton.recognize.branch import Branch, branch_key

if TYPE_CHECKING:
    from kerneton.data.sequence import SkeletonSequence
    from kerneton.recognize.encoder import Trials

log = logger(__name__)

_SAME_LOSS = 0.02  # variants whose losses differ by less are equally good

Failures = dict[tuple[str, str], list[str]]  # impossible variants, by branch and reason


@dataclass(frozen=True)
class Trial:
    """One candidate and its accuracy on held-out subjects.

    >>> Trial("free, mirrored", ("joints",), C=10, accuracy=0.95, spread=0.01).accuracy
    0.95
    """

    variant: str
    cues: tuple[str, ...]
    C: float
    accuracy: float
    spread: float  # standard error over folds
    weights: tuple[float, ...] = ()  # one per cue
    penalty: float = 0.0
    right: tuple[int, ...] = ()  # correctly recognised recordings of each fold
    losses: tuple[
        float, ...
    ] = ()  # squared hinge of the decision values of each fold, summed over its recordings


@dataclass(frozen=True)
class Mixture:
    """One of the averaged classifiers: the weight of each branch (the sum is one), C and the
    within-class penalty.
    """

    shares: dict[str, float]
    C: float
    penalty: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """The result of a search."""

    variant: str
    variant_scores: dict[str, float]  # accuracy of each variant, pooled over candidates
    trials: list[Trial]  # all candidates in the order of trying; of equals, the first is chosen
    chosen: list[Trial]
    mixtures: list[Mixture]  # the chosen variant, by branch
    branches: dict[str, Branch]  # the branches in use, with the parameters of the variant


class Search(BaseEstimator):
    """The search of a `Recognizer`, which makes choices on held-out training subjects.

    A candidate is a sum of branches (cues), each centred and normalised on the training side of a
    fold, with a C and a within-class penalty. Their accuracy on held-out subjects is computed from
    Gram matrices, one per branch. Of variants with the same required gain (mirroring) the one with
    the smallest squared hinge loss is chosen, which few subjects rank better than accuracy does;
    between those with different ones (view), the accuracy pooled over all candidates decides. Then
    the decision values of the ``average`` best candidates are averaged, which reduces the effect of
    chance.

    Parameters
    ----------
    sums : sequence of mappings of str to float, "all" or "leave-out", optional
        Branches and their weights in each candidate; by default each branch alone. "all" is the sum
        of all branches that are possible with these recordings, "leave-out" also the sums without
        one of them; with both, each branch alone is also tried, only for the choice of the variant.
    variants : mapping of str to mapping, optional
        Parameters to set on every branch that has them, such as ``{"mirrored": {"kernel__mirror":
        True}}``.
    required_gain : mapping of str to float, optional
        The gain in accuracy that is required to choose a variant.
    scout : mapping, optional
        Parameters set on every branch only during the search, such as ``{"kernel__order": 2}``, to
        choose with cheaper kernels.
    Cs, penalties : sequences of float
        Of the linear classifier, see `LinearSVM`.
    optional : sequence of str
        Branches that "all" and "leave-out" only use in one more sum, of all branches.
    average : int
        Number of top candidates that are averaged; ties with the last are included. 1 means only
        the first of the best.

    Examples
    --------
    >>> from kerneton import SCK, Branch, CenterNormalize, Preprocess, Recognizer, make_actions
    >>> data = make_actions(["wave", "clap"], n_subjects=3, n_takes=2)
    >>> cue = Branch(Preprocess(), SCK(order=2), CenterNormalize())
    >>> mirroring = {"plain": {}, "mirrored": {"kernel__mirror": True}}
    >>> model = Recognizer([("order 2", cue)], search=Search(variants=mirroring)).fit(
    ...     data, data.labels
    ... )
    >>> sorted(model.variant_scores_)
    ['mirrored', 'plain']
    """

    def __init__(
        self,
        *,
        sums: Sequence[Mapping[str, float]] | str | None = None,
        variants: Mapping[str, Mapping[str, Any]] | None = None,
        required_gain: Mapping[str, float] | None = None,
        scout: Mapping[str, Any] | None = None,
        Cs: Sequence[float] = (1.0, 10.0, 100.0),
        penalties: Sequence[float] = (0.0,),
        optional: Sequence[str] = (),
        average: int = 1,
    ) -> None:
        self.sums = sums
        self.variants = variants
        self.required_gain = required_gain
        self.scout = scout
        self.Cs = Cs
        self.penalties = penalties
        self.optional = optional
        self.average = average

    def check(self, names: Sequence[str]) -> None:
        """Check the parameters; ``names`` are those of the branches."""
        check_positive("average", self.average, integer=True)
        if not len(self.Cs) or not len(self.penalties):
            raise ParameterError("a search needs at least one C and one penalty")
        for C in self.Cs:
            check_positive("C", C)
        for penalty in self.penalties:
            check_in("penalty", penalty, 0, 1e6)
        if isinstance(self.sums, str):
            check_choice("sums", self.sums, ["all", "leave-out"])
            return
        if self.sums is not None and not len(self.sums):
            raise ParameterError("sums is empty; None tries each branch separately")
        for s in self.sums or ():
            if not s:
                raise ParameterError("a sum names no branch")
            if unknown := sorted(set(s) - set(names)):
                raise ParameterError(f"sums name branches that do not exist: {', '.join(unknown)}")
            for name, weight in s.items():
                check_positive(f"weight of {name}", weight)

    def run(
        self,
        branches: Mapping[str, Branch],
        trials: Trials,
    ) -> Outcome:
        """Search; ``trials`` tries candidates on the training recordings, in this process or on a
        cluster.
        """
        self.check(list(branches))
        variants = dict(self.variants or {"": {}})
        found, failures = self._fold_grams(branches, trials)
        if not found:
            reasons = dict.fromkeys(reason for _, reason in failures)
            raise DataError("; ".join(reasons))  # the same one for all cues, or nearly so
        for (name, reason), where in failures.items():  # one line for each branch and reason
            which = "" if len(where) == len(variants) > 1 else f" ({'; '.join(where)})"
            log.warning("cue %s%s is left out: %s", name, which, reason)
        there = {
            v: names
            for v in variants
            if (names := [name for name in branches if (v, name) in found])
        }
        candidates = [(v, c) for v, names in there.items() for c in self._candidates(names)]
        # Branches that are equal in two variants are scored once.
        sums = [
            tuple((id(found[variant, n]), w) for n, w in c.items()) for variant, c in candidates
        ]
        made = [[(found[variant, n], w) for n, w in c.items()] for variant, c in candidates]
        parts = dict(zip(sums, made, strict=True))
        scored = dict(
            zip(parts, trials.scores(list(parts.values()), self.Cs, self.penalties), strict=True)
        )
        tried = [
            Trial(variant, tuple(c), C, accuracy, spread, tuple(c.values()), penalty, right, losses)
            for (variant, c), key in zip(candidates, sums, strict=True)
            for (penalty, C), (accuracy, spread, right, losses) in scored[key].items()
        ]
        return self._choose(tried, branches)

    def _fold_grams(
        self, branches: Mapping[str, Branch], trials: Trials
    ) -> tuple[dict[tuple[str, str], Any], Failures]:
        """Gram matrices of every branch in every variant, and the impossible ones."""
        variants = dict(self.variants or {"": {}})
        named = set(branches)
        if self.sums is not None and not isinstance(self.sums, str):
            named = {name for s in self.sums for name in s}
        changed = {
            (variant, name): with_parameters(branches[name], {**overrides, **(self.scout or {})})
            for variant, overrides in variants.items()
            for name in branches
            if name in named
        }
        keys = {job: branch_key(branch) for job, branch in changed.items()}
        distinct: dict[Any, Branch] = {}
        # Those that share features, which may be too large to keep for all, one after the other.
        cues = list(branches)
        together = sorted(keys.items(), key=lambda job: (cues.index(job[0][1]), repr(job[1][0])))
        for job, key in together:
            distinct.setdefault(key, changed[job])
        known = dict(zip(distinct, trials.fold_grams(list(distinct.values())), strict=True))
        found: dict[tuple[str, str], Any] = {}
        failures: Failures = {}
        for (variant, name), key in keys.items():
            grams, reason = known[key]
            if grams is None:
                failures.setdefault((name, reason), []).append(variant or "as given")
            else:
                found[variant, name] = grams
        return found, failures

    def _candidates(self, available: Sequence[str]) -> list[dict[str, float]]:
        """The sums of branches to try."""
        if self.sums is None:
            return [{name: 1.0} for name in available]
        if not isinstance(self.sums, str):
            return [dict(s) for s in self.sums if set(s) <= set(available)]
        usual = [name for name in available if name not in self.optional] or list(available)
        n = len(usual)
        sizes = [n, 1] if self.sums == "all" else [n, max(n - 1, 1), 1]
        sums = [
            names for size in dict.fromkeys(sizes) for names in itertools.combinations(usual, size)
        ]
        if len(usual) < len(available):
            sums.insert(1, tuple(available))
        return [dict.fromkeys(names, 1.0) for names in sums]

    def best(self, trials: list[Trial]) -> tuple[str, dict[str, float], list[Trial]]:
        """The variant, the accuracy of each variant pooled over candidates, and the candidates that
        are averaged.
        """
        names = list(dict.fromkeys(t.variant for t in trials))
        # Only candidates that every variant could compute: a variant must not win because its hard
        # candidates failed.
        counts = Counter((t.cues, t.weights, t.C, t.penalty) for t in trials)
        common = [
            t for t in trials if counts[t.cues, t.weights, t.C, t.penalty] == len(names)
        ] or trials
        pooled = {
            name: float(np.mean([t.accuracy for t in common if t.variant == name]))
            for name in names
        }
        gains = {name: (self.required_gain or {}).get(name, 0.0) for name in names}
        losses = {name: sum(sum(t.losses) for t in common if t.variant == name) for name in names}
        alike = {gain: [name for name in names if gains[name] == gain] for gain in gains.values()}
        first = [_first_of_smallest(losses, group) for group in alike.values()]
        variant = max(first, key=lambda name: pooled[name] - gains[name])
        own = self._sums(trials, variant)
        ranked = sorted(
            own, key=lambda t: -t.accuracy
        )  # stable for equal accuracies, which are frequent with few recordings
        last = ranked[: self.average][-1].accuracy
        return (
            variant,
            pooled,
            [t for t in ranked if t.accuracy >= last] if self.average > 1 else ranked[:1],
        )

    def _sums(self, trials: list[Trial], variant: str) -> list[Trial]:
        """The trials of a variant that may be used; single branches only count for its accuracy."""
        own = [t for t in trials if t.variant == variant]
        if not isinstance(self.sums, str):
            return own
        most = max((len(t.cues) for t in own), default=0)
        return [t for t in own if len(t.cues) >= min(2, most)]

    def _choose(self, trials: list[Trial], branches: Mapping[str, Branch]) -> Outcome:
        variant, pooled, chosen = self.best(trials)
        overrides = (self.variants or {"": {}})[variant]
        changed = {name: with_parameters(branch, overrides) for name, branch in branches.items()}
        # Branches that the variant makes equal (all turned to the front) are merged into the first.
        keys = {name: branch_key(branch) for name, branch in changed.items()}
        first = {key: name for name, key in reversed(keys.items())}
        mixtures = [_mixture(t, {name: first[key] for name, key in keys.items()}) for t in chosen]
        used = [name for name in branches if any(name in m.shares for m in mixtures)]
        return Outcome(
            variant, pooled, trials, chosen, mixtures, {name: changed[name] for name in used}
        )


def _first_of_smallest(losses: Mapping[str, float], names: Sequence[str]) -> str:
    """The first of the names whose loss is nearly the smallest: later variants must be better than
    by chance.

    >>> _first_of_smallest(
    ...     {"plain": 1.01, "mirrored": 1.2, "partly": 1.0}, ["plain", "mirrored", "partly"]
    ... )
    'plain'
    """
    limit = min(losses[name] for name in names) * (1 + _SAME_LOSS)
    return next(name for name in names if losses[name] <= limit)


def fitting(
    model: Any, sequences: Sequence[SkeletonSequence]
) -> tuple[dict[str, Branch], Search | None]:
    """Fresh branches and search of a recogniser, adapted to the recordings if ``any_skeleton``."""
    named = {name: clone(branch) for name, branch in model.branches}
    if model.any_skeleton and (kind := skeleton_kind(sequences)).differs:
        from kerneton.recognize.other_skeletons import suited

        return suited(named, model.search, kind)
    return named, model.search


def _mixture(trial: Trial, branch_of: Mapping[str, str]) -> Mixture:
    shares: dict[str, float] = {}
    for name, weight in zip(trial.cues, trial.weights, strict=True):
        shares[branch_of[name]] = shares.get(branch_of[name], 0.0) + weight / sum(trial.weights)
    return Mixture(shares, float(trial.C), float(trial.penalty))


def with_parameters(branch: Branch, overrides: Mapping[str, Any]) -> Branch:
    """A fresh copy of a branch with those parameters set that it has.

    >>> from kerneton import SCK
    >>> with_parameters(Branch(None, SCK()), {"kernel__mirror": True, "absent__x": 1}).kernel.mirror
    True
    """
    known = (copy := clone(branch)).get_params()
    return copy.set_params(**{key: value for key, value in overrides.items() if key in known})
