"""Results of a recogniser for recordings, and the text about its search."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kerneton.data.checks import check_sequences
from kerneton.data.progress import silent
from kerneton.exceptions import DataError
from kerneton.kernels.engine import features_on_gpu, find_gpu
from kerneton.machine.solver import per_class
from kerneton.prepare.preprocess import check_gaps

Item = TypeVar("Item")

# recordings that are predicted together, by the core and on a GPU
BLOCK, GPU_BLOCK = 256, 20_000


@dataclass(frozen=True)
class Prediction:
    """The prediction of a calibrated recogniser for one recording.

    >>> Prediction("bow", 0.8, False, 0.1, {"bow": 0.8, "wave": 0.2}).label
    'bow'
    """

    label: str
    probability: float
    # whether it is unlike all training recordings; the label is then only the nearest
    unknown: bool
    unknown_score: float
    probabilities: dict[str, float]  # of every label, the most likely first


@dataclass(frozen=True)
class Results:
    """All results for some recordings; features are computed once.

    >>> Results(np.array(["bow", "wave"])).labels.tolist()
    ['bow', 'wave']
    """

    labels: np.ndarray  # (n,)
    scores: np.ndarray | None = None  # (n, n_classes) decision values
    probabilities: np.ndarray | None = None  # (n, n_classes), if calibrated
    unknown: np.ndarray | None = None  # (n,) scores, if calibrated

    @classmethod
    def joined(cls, parts: Sequence[Results]) -> Results:
        """The results of several blocks of recordings, one after the other."""

        def together(arrays: Sequence[np.ndarray | None]) -> Any:
            return None if arrays[0] is None else np.concatenate(arrays)  # type: ignore[arg-type]

        return cls(
            together([part.labels for part in parts]),
            together([part.scores for part in parts]),
            together([part.probabilities for part in parts]),
            together([part.unknown for part in parts]),
        )

    def predictions(self, classes: np.ndarray, threshold: float) -> list[Prediction]:
        """A prediction per recording, for these classes and this threshold of unknown recordings;
        needs calibration.

        >>> found = Results(np.array(["bow"]), None, np.array([[0.8, 0.2]]), np.array([0.1]))
        >>> found.predictions(np.array(["bow", "wave"]), 0.5)[0].probabilities
        {'bow': 0.8, 'wave': 0.2}
        """
        assert self.probabilities is not None
        assert self.unknown is not None
        names, out = [str(c) for c in classes], []
        for row, score in zip(self.probabilities, self.unknown, strict=True):
            order = np.argsort(-row, kind="stable")
            ranked = {names[k]: float(row[k]) for k in order}
            label = names[order[0]]
            out.append(
                Prediction(label, ranked[label], bool(score > threshold), float(score), ranked)
            )
        return out


def described_choice(
    variant: str | None, scores: Mapping[str, float], mixtures: Sequence[Any]
) -> str:
    """The result of a search as text: the variant (None without a search), accuracies of all
    variants, and the classifiers in use.
    """
    lines = []
    if variant is not None:
        pooled = ", ".join(f"{name or 'as given'} {score:.1%}" for name, score in scores.items())
        lines.append(f"accuracy on held-out training recordings, pooled over candidates: {pooled}")
        lines.append(f"chosen: {variant or 'as given'}")
    lines.append(f"{len(mixtures)} candidates averaged:" if len(mixtures) > 1 else "machine:")
    lines += [f"  C={m.C:g}  penalty={m.penalty:g}  {' + '.join(m.shares)}" for m in mixtures]
    return "\n".join(lines)


def results(model: Any, X: Iterable[Any]) -> Results:
    """Results for recordings, computed in blocks; with a GPU, features stay there."""

    def answer(X: Iterable[Any]) -> Results:
        X, found = _from_gpu(model, X)
        return from_features(model, model.features(X)) if found is None else _answer(model, *found)

    return Results.joined(_in_blocks(model, X, answer))


def decisions(model: Any, X: Iterable[Any]) -> np.ndarray:
    """Decision values of recordings."""

    def answer(X: Iterable[Any]) -> np.ndarray:
        X, found = _from_gpu(model, X)
        return model.machine_.decision_function(model.features(X)) if found is None else found[0]

    return np.concatenate(_in_blocks(model, X, answer))


def _in_blocks(model: Any, X: Iterable[Any], answer: Callable[[Iterable[Any]], Item]) -> list[Item]:
    """Results of blocks of recordings, so that features of all need not be in memory and progress
    is shown.
    """
    check_is_fitted(model)
    size = BLOCK if find_gpu(model.device) is None else GPU_BLOCK
    if isinstance(X, Sized) and len(X) <= size:
        return [answer(X)]
    sequences = check_sequences(X, allow_missing=True, values=size == BLOCK)
    parts = [sequences[i : i + size] for i in range(0, len(sequences), size)]
    shown = (model.progress or silent)(parts, total=len(parts), desc="predicting")
    try:
        return [answer(part) for part in shown]
    except DataError:
        check_gaps(sequences)  # whose error knows all positions
        raise


def from_features(model: Any, features: np.ndarray) -> Results:
    """Results for features (n, n_features)."""
    machine, calibration = model.machine_, model.calibration_
    if not hasattr(machine, "decision_function"):
        return Results(machine.predict(features), None, None, None)
    alike = None if calibration is None else calibration.likeness(features)
    # labels from the decision values, without a second product
    linear = hasattr(machine, "labels_of")
    return _answer(
        model,
        machine.decision_function(features),
        alike,
        None if linear else machine.predict(features),
    )


def _from_gpu(model: Any, X: Iterable[Any]) -> tuple[Iterable[Any], Any]:
    """The recordings; with a GPU also decision values and likeness to the classes, from features
    that stay there.
    """
    check_is_fitted(model)
    machine, calibration = model.machine_, model.calibration_
    if find_gpu(model.device) is None or not hasattr(machine, "labels_of"):
        return X, None
    # Values are checked by the threads that prepare them.
    known = {"n_joints": model.n_joints_in_, "layout": model.layout_}
    sequences = check_sequences(X, allow_missing=True, values=False, **known)
    where = {"n_jobs": model.n_jobs, "device": model.device}
    branches = [branch.run_on(**where) for branch in model.branches_.values()]
    rows = [machine.coef_] if calibration is None else [machine.coef_, calibration.class_means_]
    products = features_on_gpu(branches, sequences, weights=np.concatenate(rows))
    if products is None:
        return sequences, None
    n = len(machine.coef_)
    decisions = products[:, :n] + machine.intercept_.astype(products.dtype)
    alike = None if calibration is None else products[:, n:].astype(np.float64)
    return sequences, (decisions[:, 0] if n == 1 else decisions, alike)


def _answer(
    model: Any, decisions: np.ndarray, alike: np.ndarray | None, labels: np.ndarray | None = None
) -> Results:
    calibration = model.calibration_
    labels = model.machine_.labels_of(decisions) if labels is None else labels
    if calibration is None or alike is None:
        return Results(labels, per_class(decisions), None, None)
    unknown = calibration.unknown_score(decisions, alike)
    if model.reject:
        labels = np.where(unknown > calibration.threshold_, model.unknown_label, labels.astype(str))
    return Results(labels, per_class(decisions), calibration.probabilities(decisions), unknown)
