"""Training a recogniser from features and Gram matrices: checks, averaged machines, calibration."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from kerneton.data.sequence import SkeletonSequence
from kerneton.data.validation import absent, check_in, check_sequences, describe
from kerneton.exceptions import DataError, ParameterError
from kerneton.machine.arrays import combine
from kerneton.machine.folds import BlockGrams, Folds, machines
from kerneton.machine.svm import class_weights
from kerneton.machine.threads import in_threads
from kerneton.recognize.branch import check_branches
from kerneton.recognize.encoder import FAILURES, plain_kernel
from kerneton.recognize.search import Mixture, Search, Trial

if TYPE_CHECKING:
    from kerneton.data.progress import Progress
    from kerneton.recognize.branch import Branch
    from kerneton.stream.live import LiveStream
    from kerneton.stream.spotter import Detection, Spotter


class SpottingMixin:
    """The methods of a recogniser for long recordings and streams, see `kerneton.stream`."""

    spotter_: Spotter | None = None

    def fit_spotting(self, takes: Iterable[SkeletonSequence], **options: Any) -> Any:
        """Learn to find actions in long recordings with segments; see `kerneton.stream.training.fit_spotting`."""
        from kerneton.stream.training import fit_spotting

        with taken_when_done(self) as fresh:
            fresh.spotter_ = fit_spotting(fresh, takes, **options)
        return self

    def spot(
        self, recording: SkeletonSequence, *, in_order: bool = False, progress: Progress | None = None
    ) -> list[Detection]:
        """The actions of a long recording, without overlaps; ``in_order`` expects them in the order of the training recordings."""
        from kerneton.stream.spotter import spot

        return spot(self, recording, in_order=in_order, progress=progress)

    def stream(self, *, fps: float | None = None, delay: float | None = None, **options: Any) -> LiveStream:
        """A live stream of frames; final segments are reported ``delay`` seconds after their end, with None when nothing can change any
        more."""
        from kerneton.stream.live import LiveStream

        return LiveStream(cast("Any", self), fps=fps, delay=delay, **options)

    def take_spotter(self, spotter: Spotter | None) -> None:
        """Store a spotter from a file; a spotter of other actions or joints is refused."""
        if spotter is not None:
            spotter.check_fits(self)
        self.spotter_ = spotter


def check_fitted(model: Any) -> None:
    """Refuse anything but a fitted recogniser."""
    if not hasattr(model, "branches"):
        raise ParameterError(
            f"expected a Recognizer such as make_recognizer returns, got {type(model).__name__}"
        )
    check_is_fitted(model)


def check_training(
    X: Iterable[Any], y: Any, groups: Any = None
) -> tuple[list[SkeletonSequence], np.ndarray, np.ndarray, np.ndarray]:
    """Recordings, labels, classes, and each recording's class."""
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
        raise DataError(f"{len(y)} recordings but {' x '.join(map(str, there)) or 'no list of'} subjects")
    if len(classes) < 2:
        raise DataError(f"expected at least two labels, got only {classes.tolist()}")
    return sequences, y, classes, codes


def known_subjects(sequences: Sequence[SkeletonSequence], groups: Any = None) -> Any:
    """``groups``, none of which may be missing, or the recordings' own subjects if all have one.

    >>> known_subjects([SkeletonSequence(np.ones((1, 1, 3)), subject="ann")])
    ['ann']
    """
    if groups is None and all(s.subject is not None for s in sequences):
        return [s.subject for s in sequences]
    if groups is not None and (nobody := absent(groups)):
        first = describe(sequences[nobody[0]], nobody[0]) if nobody[0] < len(sequences) else nobody[0]
        raise DataError(
            f"{len(nobody)} of {len(groups)} recordings have no subject, the first is {first}; give all of them one, or none"
        )
    return groups


def check_recognizer(model: Any) -> None:
    """Check parameters that do not depend on recordings."""
    check_branches(model.branches)
    try:
        model._validate_names([name for name, _ in model.branches])
    except ValueError as error:
        raise ParameterError(str(error)) from error
    check_in("false_alarm", model.false_alarm, 0, 1, closed="left")
    linear = model.machine is None or "within_class_penalty" in model.machine.get_params(deep=False)
    if not linear and (model.search is not None or model.calibrate):
        raise ParameterError(f"search and calibration need a LinearSVM, got {type(model.machine).__name__}")


def check_room(branches: Mapping[str, Branch], sequences: Sequence[SkeletonSequence]) -> None:
    """Refuse a fit whose features (twice, for weighting) and Gram matrices of joints need more memory than there is."""
    if len(sequences) < _MANY:
        return
    from kerneton.machine.room import check_memory

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


@contextmanager
def taken_when_done(model: Any) -> Iterator[Any]:
    """An unfitted copy; what it learns is moved to the model only if the block ends without an error."""
    fresh = copy.copy(model)
    for name in [name for name in vars(fresh) if name.endswith("_")]:
        delattr(fresh, name)
    yield fresh
    model.__dict__ = fresh.__dict__  # a single step, so that an interrupt comes before or after it


_MANY = 100  # recordings below which memory is not checked
CHOICE_LIMIT = 1000  # recordings up to which a search uses all of them
GRAM_LIMIT = 3000  # recordings up to which the final classifier is solved on Gram matrices


def is_large(model: Any, n: int, keep: bool = False) -> bool:
    """Whether so many recordings are fitted by `kerneton.recognize.growth`; with kept features, choices use all up to 3,000."""
    linear = model.machine is None or getattr(model.machine, "loss", None) == "squared_hinge"
    return linear and n > (GRAM_LIMIT if model.search is None or keep else CHOICE_LIMIT)


def split_options(options: dict[str, Any] | None) -> tuple[dict[str, Any], bool]:
    """Options of ``fit`` for many recordings, and whether features are kept; unknown ones are refused.

    >>> split_options({"keep": True, "scratch": "blocks"})
    ({'scratch': 'blocks'}, True)
    """
    large = dict(options or {})
    keep = bool(large.pop("keep", False))
    if unknown := large.keys() - {"scratch", "client"}:
        raise ParameterError(f"fit takes keep, scratch and client, got {', '.join(sorted(unknown))}")
    return large, keep


def fit_large(*arguments: Any, **options: Any) -> Any:
    """`kerneton.recognize.growth.fit_large`, imported when it is needed."""
    from kerneton.recognize.growth import fit_large

    return fit_large(*arguments, **options)


def machine_options(machine: Any, classes: np.ndarray) -> dict[str, Any]:
    """Parameters of a `LinearSVM` as options for solving from Gram matrices."""
    factors = machine.class_weight
    if isinstance(factors, dict):
        factors = [factors.get(label, 1.0) for label in classes.tolist()]
    scaling = float(machine.intercept_scaling) ** 2 if machine.fit_intercept else 0.0
    return {
        "scaling": scaling,
        "loss": machine.loss,
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
    """A fitted `LinearSVM` whose decision values are the mean of those of the mixtures, from features and their inner products.

    Weights are averaged, since a mean of linear classifiers is linear. The parameters are those of the first mixture.
    """
    machine = clone(machine).set_params(C=mixtures[0].C, within_class_penalty=mixtures[0].penalty)
    options = machine_options(machine, classes)
    weights = class_weights(codes, len(classes), options.pop("class_weight"))
    duals: dict[str, Any] = dict.fromkeys(features, 0.0)
    intercept: Any = 0.0
    for mixture in progress(mixtures, total=len(mixtures), desc="machines") if progress else mixtures:
        K = sum(inner[name] * share for name, share in mixture.shares.items())
        solved = machines(
            K, codes, [mixture.C], penalty=mixture.penalty, weights=weights, tol=machine.tol, **options
        )
        ((beta, constant),) = solved
        intercept = intercept + constant / len(mixtures)
        for name, share in mixture.shares.items():
            duals[name] = duals[name] + beta * (share / len(mixtures))
    coef = np.hstack(in_threads(lambda name: combine(duals[name], features[name]), features, n_threads))
    machine.set_state(
        {"classes": classes, "coef": coef, "intercept": intercept.astype(coef.dtype), "n_iter": 1}
    )
    return machine


def calibrate_held_out(
    model: Any,
    features: dict[str, np.ndarray],
    grams: Sequence[BlockGrams],
    codes: np.ndarray,
    groups: Any,
    folds: Folds,
    tried: list[Trial],
) -> Any:
    """The calibration of a recogniser with fitted branches, mixtures and classifier."""
    from kerneton.recognize.calibration import Held, Machines, calibrate

    if model.reject and model.unknown_label in model.machine_.classes_.astype(str).tolist():
        raise ParameterError(f"unknown_label={model.unknown_label!r} is the label of some recordings")
    names = list(model.branches_)
    mixtures = [
        (np.array([m.shares.get(name, 0.0) for name in names]), m.C, m.penalty) for m in model.mixtures_
    ]
    options = machine_options(model.machine_, model.machine_.classes_)
    people = np.arange(len(codes)).astype(str) if groups is None else np.asarray(groups).astype(str)
    average = np.stack([(codes == c) / (codes == c).sum() for c in range(codes.max() + 1)])
    means = np.hstack([combine(average, block) for block in features.values()])
    gained = optimism(model.search_, tried, [len(valid) for _, valid in folds]) if tried else []
    held = Held(grams, Machines(mixtures, options), codes, people)
    return calibrate(held, means, folds, model.false_alarm, gained, model.progress)


def optimism(search: Search, trials: list[Trial], sizes: Sequence[int]) -> list[float]:
    """The part of each fold's accuracy that is due to choosing on the same held-out people.

    With p_f the accuracy on fold f of the candidate chosen on all folds, and q_f of the one chosen on the other folds, these are p_f - q_f;
    ``sizes`` are the recordings of the folds. ``trials`` are in the order of trying, since the first of equals is chosen.

    >>> tried = [Trial("", ("a",), 1.0, 0.75, 0.0, right=(2, 1)), Trial("", ("b",), 1.0, 0.5, 0.0, right=(0, 2))]
    >>> optimism(Search(), tried, [2, 2])  # without the first fold the other would be chosen, and fail there
    [1.0, 0.0]
    """
    n, everywhere, gained = sum(sizes), search.best(trials)[2], []
    for f, size in enumerate(sizes):
        rest = max(n - size, 1)
        elsewhere = search.best([replace(t, accuracy=(sum(t.right) - t.right[f]) / rest) for t in trials])[2]
        here, there = (np.mean([t.right[f] for t in chosen]) for chosen in (everywhere, elsewhere))
        gained.append(float(here - there) / max(size, 1))
    return gained
