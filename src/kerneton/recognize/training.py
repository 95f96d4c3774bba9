"""Training a recogniser, one step after the other: checks, choices, the averaged machine, its
calibration.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from kerneton.data.checks import all_timed, check_sequences, describe
from kerneton.data.parameters import check_choice, check_in
from kerneton.data.sequence import SkeletonSequence, absent
from kerneton.exceptions import DataError, HeldOutError, NoProbabilitiesWarning, ParameterError
from kerneton.kernels.engine import find_gpu
from kerneton.machine.folds import Folds, machines, subject_folds
from kerneton.machine.products import combine
from kerneton.machine.svm import LinearSVM, class_weights
from kerneton.parallel.memory import check_memory
from kerneton.parallel.threads import count_threads, in_threads
from kerneton.recognize.branch import check_branches, side_by_side
from kerneton.recognize.calibration import Calibration, Held, Machines, calibrate
from kerneton.recognize.encoder import FAILURES, Encoder, plain_kernel
from kerneton.recognize.search import Mixture, Search, Trial, fitting

if TYPE_CHECKING:
    from kerneton.data.progress import Progress
    from kerneton.recognize.branch import Branch
    from kerneton.stream.spotter import Spotter

AUTO = "auto"  # of ``calibrate``: probabilities if people can be held out, else a warning
_MANY = 100  # recordings below which memory is not checked


@dataclass(frozen=True)
class Limits:
    """Numbers of recordings at which a fit changes its way, and how exactly many are solved."""

    choice: int = 1000  # up to which a search uses all recordings
    gram: int = 3000  # up to which the final classifier is solved on Gram matrices
    sample: int = 1000  # of the sample on which choices are made otherwise
    block: int = 256  # of a block of features
    settled: float = 0.1  # change of the training scores in the last Newton step; a margin is 1
    steps: int = 3  # Newton steps at most
    tol: float = 1e-5  # of the gradient, relative to that at zero


@dataclass(frozen=True, eq=False)
class Data:
    """Checked training recordings: labels, sorted classes, the class and the subject of each."""

    sequences: list[SkeletonSequence]
    y: np.ndarray
    classes: np.ndarray
    codes: np.ndarray
    groups: Any

    def take(self, rows: np.ndarray) -> Data:
        """Some of the recordings, which have all classes."""
        groups = None if self.groups is None else np.asarray(self.groups)[rows]
        return Data(
            [self.sequences[i] for i in rows], self.y[rows], self.classes, self.codes[rows], groups
        )


@dataclass(frozen=True, eq=False)
class Kept:
    """What `Recognizer.add` needs of the fit before."""

    encoder: Encoder
    y: np.ndarray
    groups: Any


@dataclass(frozen=True, eq=False)
class Learned:
    """All that a fit learns. A recogniser takes it in one step, so that an error or an interrupt
    changes nothing.
    """

    branches: dict[str, Branch]
    machine: Any
    mixtures: list[Mixture]
    classes: np.ndarray
    timed: bool | None
    calibration: Calibration | None = None
    spotter: Spotter | None = None
    # Of the search, if there was one; files hold the variant and its scores.
    variant: str | None = None
    variant_scores: dict[str, float] = field(default_factory=dict)
    trials: list[Trial] = field(default_factory=list)  # in the order of trying
    chosen: list[Trial] = field(default_factory=list)
    search: Search | None = None
    kept: Kept | None = None
    timing: dict[str, float] = field(default_factory=dict)  # seconds of the steps of a large fit


def learn(
    model: Any,
    X: Iterable[Any],
    y: Any,
    groups: Any = None,
    *,
    keep: bool = False,
    scratch: Any = None,
    client: Any = None,
    encoder: Encoder | None = None,
) -> Learned:
    """What a recogniser with the parameters of ``model`` learns; ``encoder`` knows the recordings
    already.
    """
    check_recognizer(model)
    data = check_training(X, y, groups)
    if is_large(model, len(data.sequences), keep=keep):
        from kerneton.recognize.large import learn_large

        return learn_large(model, data, scratch=scratch, client=client)
    encoder = encoder or Encoder(data.sequences, count_threads(model.n_jobs))
    learned, _ = learn_on(model, data, encoder)
    return replace(learned, kept=Kept(encoder, data.y, data.groups)) if keep else learned


def learn_on(model: Any, data: Data, encoder: Encoder) -> tuple[Learned, dict[str, np.ndarray]]:
    """All steps of a fit with Gram matrices; also the features of every branch in use."""
    named, search = fitting(model, data.sequences)
    branches = {
        name: branch.run_on(n_jobs=model.n_jobs, device=model.device)
        for name, branch in named.items()
    }
    check_room(branches, data.sequences)
    folds = _folds(model, data, search)
    machine = LinearSVM() if model.machine is None else clone(model.machine)
    timed = all_timed(data.sequences)
    if search is None:
        features = encoder.fit_all(branches, data.codes, model.progress)
        machine.fit(side_by_side([*features.values()]), data.y)
        strength = [float(getattr(machine, name, 0.0)) for name in ("C", "within_class_penalty")]
        mixtures = [Mixture(dict.fromkeys(branches, 1.0), *strength)]
        learned = Learned(branches, machine, mixtures, data.classes, timed)
    else:
        found = search.run(branches, encoder.trials(data.codes, folds or [], model.progress))
        features = encoder.fit_all(found.branches, data.codes, model.progress)
        inner = encoder.inner(found.branches, data.codes, model.progress)
        machine = average_machines(
            machine,
            features,
            inner,
            found.mixtures,
            data.classes,
            data.codes,
            encoder.n_threads,
            model.progress,
        )
        learned = Learned(
            found.branches,
            machine,
            found.mixtures,
            data.classes,
            timed,
            variant=found.variant,
            variant_scores=found.variant_scores,
            trials=found.trials,
            chosen=found.chosen,
            search=search,
        )
    if model.calibrate and folds is not None:
        learned = replace(
            learned, calibration=_calibrated(model, learned, features, encoder, data, folds)
        )
    return learned, features


def _folds(model: Any, data: Data, search: Search | None) -> Folds | None:
    """Folds of subjects for the search and the calibration; None if there are none and none are
    needed.
    """
    if search is None and not model.calibrate:
        return None
    try:
        return subject_folds(data.codes, data.groups)
    except HeldOutError as error:
        if search is None and model.calibrate == AUTO:
            _without_probabilities(error)
            return None
        raise


def _calibrated(
    model: Any,
    learned: Learned,
    features: Mapping[str, np.ndarray],
    encoder: Encoder,
    data: Data,
    folds: Folds,
) -> Calibration | None:
    """The calibration on held-out people; None if none can be held out and probabilities are not
    required.
    """
    if model.reject and model.unknown_label in data.classes.astype(str).tolist():
        raise ParameterError(
            f"unknown_label={model.unknown_label!r} is the label of some recordings"
        )
    names, codes = list(learned.branches), data.codes
    mixtures = [
        (np.array([m.shares.get(name, 0.0) for name in names]), m.C, m.penalty)
        for m in learned.mixtures
    ]
    machines_ = Machines(mixtures, machine_options(learned.machine, learned.classes))
    people = (
        np.arange(len(codes)).astype(str)
        if data.groups is None
        else np.asarray(data.groups).astype(str)
    )
    average = np.stack([(codes == c) / (codes == c).sum() for c in range(codes.max() + 1)])
    means = np.hstack([combine(average, block) for block in features.values()])
    sizes = [len(valid) for _, valid in folds]
    gained = [] if learned.search is None else optimism(learned.search, learned.trials, sizes)
    grams = [encoder.grams(branch) for branch in learned.branches.values()]
    held = Held(grams, machines_, codes, people)
    try:
        return calibrate(held, means, folds, model.false_alarm, gained, model.progress)
    except HeldOutError as error:
        if model.calibrate != AUTO:
            raise
        _without_probabilities(error)
        return None


def _without_probabilities(error: HeldOutError) -> None:
    warnings.warn(
        f"the model gives no probabilities: {error}", NoProbabilitiesWarning, stacklevel=2
    )


def check_fitted(model: Any) -> None:
    """Refuse anything but a fitted recogniser."""
    if not hasattr(model, "branches"):
        raise ParameterError(
            f"expected a Recognizer such as make_recognizer returns, got {type(model).__name__}"
        )
    check_is_fitted(model)


def check_training(X: Iterable[Any], y: Any, groups: Any = None) -> Data:
    """Checked recordings, labels and subjects."""
    sequences = check_sequences(X, allow_missing=True)
    if y is None:
        raise DataError("a recogniser learns from labels: pass y, such as data.labels")
    try:
        y = np.asarray(y)
    except ValueError as error:  # lists of different lengths
        raise DataError("labels must be text or whole numbers, one for each recording") from error
    if y.shape != (len(sequences),):
        raise DataError(f"{len(sequences)} recordings but labels of shape {y.shape}")
    try:
        classes, codes = np.unique(y, return_inverse=True)
    except TypeError as error:
        kinds = ", ".join(sorted({type(label).__name__ for label in y.tolist()}))
        raise DataError(f"labels must be of one type, got {kinds}") from error
    if groups is not None and (there := np.shape(groups)) != y.shape:
        raise DataError(
            f"{len(y)} recordings but {' x '.join(map(str, there)) or 'no list of'} subjects"
        )
    if len(classes) < 2:
        raise DataError(f"expected at least two labels, got only {classes.tolist()}")
    return Data(sequences, y, classes, codes, known_subjects(sequences, groups))


def known_subjects(sequences: Sequence[SkeletonSequence], groups: Any = None) -> Any:
    """``groups``, none of which may be missing, or the recordings' own subjects if all have one.

    >>> known_subjects([SkeletonSequence(np.ones((1, 1, 3)), subject="ann")])
    ['ann']
    """
    if groups is None and all(s.subject is not None for s in sequences):
        return [s.subject for s in sequences]
    if groups is not None and (nobody := absent(groups)):
        first = (
            describe(sequences[nobody[0]], nobody[0]) if nobody[0] < len(sequences) else nobody[0]
        )
        raise DataError(
            f"{len(nobody)} of {len(groups)} recordings have no subject, the first is {first}; give all of them one, or none"
        )
    return groups


def check_recognizer(model: Any) -> None:
    """Check parameters that do not depend on recordings."""
    check_branches(model.branches)
    find_gpu(model.device)  # an error if there is none
    try:
        model._validate_names([name for name, _ in model.branches])
    except ValueError as error:
        raise ParameterError(str(error)) from error
    check_in("false_alarm", model.false_alarm, 0, 1, closed="left")
    linear = model.machine is None or isinstance(model.machine, LinearSVM)
    if not linear and (model.search is not None or model.calibrate):
        raise ParameterError(
            f"search and calibration need a LinearSVM, got {type(model.machine).__name__}"
        )
    check_choice("calibrate", model.calibrate, [True, False, AUTO])


def check_room(branches: Mapping[str, Branch], sequences: Sequence[SkeletonSequence]) -> None:
    """Refuse a fit whose features (twice, for weighting) and Gram matrices of joints need more
    memory than there is.
    """
    if len(sequences) < _MANY:
        return
    n_features, n_weighted, size = 0, 0, 0
    for branch in branches.values():
        if not hasattr(branch.kernel, "block_joints"):
            continue  # a kernel of your own, whose size is not known
        try:
            step, kernel = branch.preprocess, plain_kernel(branch.kernel)
            poses = [*clone(step).fit_transform(sequences[:1])] if step else sequences[:1]
            blocks = kernel.fit(poses).block_sizes_
            n_features, size = n_features + int(blocks.sum()), poses[0].joints.itemsize
            n_weighted += len(blocks) if branch.kernel.weighting else 0
        except FAILURES:
            continue  # the fit reports it
    check_memory(
        2.0 * len(sequences) * (size * n_features + 4 * n_weighted * len(sequences)),
        f"a fit of {len(sequences):,} recordings with {n_features:,} features each",
        "use fewer recordings, pivots or joints, or a lower order of the kernels",
    )


@contextmanager
def told_of_memory() -> Iterator[None]:
    """Turn a `MemoryError` into one clear error."""
    try:
        yield
    except MemoryError as error:
        raise DataError(
            f"the memory is not enough ({error}): use fewer recordings, pivots or joints, or a lower order of the kernels"
        ) from error


def is_large(model: Any, n: int, *, keep: bool = False) -> bool:
    """Whether a fit of so many recordings goes the way of `kerneton.recognize.large`.

    With kept features, choices use all recordings as long as Gram matrices can hold them.
    """
    linear = model.machine is None or isinstance(model.machine, LinearSVM)
    all_choose = model.search is None or keep
    return linear and n > (model.limits.gram if all_choose else model.limits.choice)


def machine_options(machine: Any, classes: np.ndarray) -> dict[str, Any]:
    """Parameters of a `LinearSVM` as options for solving from Gram matrices."""
    factors = machine.class_weight
    if isinstance(factors, dict):
        factors = [factors.get(label, 1.0) for label in classes.tolist()]
    scaling = float(machine.intercept_scaling) ** 2 if machine.fit_intercept else 0.0
    return {
        "scaling": scaling,
        "class_weight": factors,
        "max_iter": machine.max_iter,
    }


def average_machines(
    machine: Any,
    features: dict[str, np.ndarray],
    inner: Mapping[str, np.ndarray],
    mixtures: Sequence[Mixture],
    classes: np.ndarray,
    codes: np.ndarray,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> Any:
    """A fitted `LinearSVM` whose decision values are the mean of those of the mixtures, from
    features and their inner products.

    Weights are averaged, since a mean of linear classifiers is linear. The parameters are those of
    the first mixture.
    """
    machine = clone(machine).set_params(C=mixtures[0].C, within_class_penalty=mixtures[0].penalty)
    options = machine_options(machine, classes)
    weights = class_weights(codes, len(classes), options.pop("class_weight"))
    duals: dict[str, Any] = dict.fromkeys(features, 0.0)
    intercept: Any = 0.0
    for mixture in (
        progress(mixtures, total=len(mixtures), desc="machines") if progress else mixtures
    ):
        K: Any = sum(inner[name] * share for name, share in mixture.shares.items())
        solved = machines(
            K,
            codes,
            [mixture.C],
            penalty=mixture.penalty,
            weights=weights,
            tol=machine.tol,
            **options,
        )
        ((beta, constant),) = solved
        intercept = intercept + constant / len(mixtures)
        for name, share in mixture.shares.items():
            duals[name] = duals[name] + beta * (share / len(mixtures))
    coef = np.hstack(
        in_threads(lambda name: combine(duals[name], features[name]), features, n_threads)
    )
    machine.set_state(
        {"classes": classes, "coef": coef, "intercept": intercept.astype(coef.dtype), "n_iter": 1}
    )
    return machine


def optimism(search: Search, trials: list[Trial], sizes: Sequence[int]) -> list[float]:
    """The part of each fold's accuracy that is due to choosing on the same held-out people.

    With p_f the accuracy on fold f of the candidate chosen on all folds, and q_f of the one chosen
    on the other folds, these are p_f - q_f; ``sizes`` are the recordings of the folds. ``trials``
    are in the order of trying, since the first of equals is chosen.

    >>> tried = [
    ...     Trial("", ("a",), 1.0, 0.75, 0.0, right=(2, 1)),
    ...     Trial("", ("b",), 1.0, 0.5, 0.0, right=(0, 2)),
    ... ]
    >>> optimism(
    ...     Search(), tried, [2, 2]
    ... )  # without the first fold the other would be chosen, and fail there
    [1.0, 0.0]
    """
    n, everywhere, gained = sum(sizes), search.best(trials)[2], []
    for f, size in enumerate(sizes):
        elsewhere = search.best([_on_other_folds(trial, f, max(n - size, 1)) for trial in trials])[
            2
        ]
        here, there = (np.mean([t.right[f] for t in chosen]) for chosen in (everywhere, elsewhere))
        gained.append(float(here - there) / max(size, 1))
    return gained


def _on_other_folds(trial: Trial, f: int, n: int) -> Trial:
    """A candidate as it is known without fold f, with n recordings in the others."""
    losses = tuple(loss for i, loss in enumerate(trial.losses) if i != f)
    return replace(trial, accuracy=(sum(trial.right) - trial.right[f]) / n, losses=losses)
