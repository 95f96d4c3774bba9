"""Train and test a model by a protocol, and report the results."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from joblib.parallel import get_active_backend
from sklearn import get_config
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from kerneton.data.checks import as_dataset, describe
from kerneton.data.progress import Progress, silent
from kerneton.data.sequence import SkeletonDataset, SkeletonSequence
from kerneton.data.wording import many
from kerneton.datasets.protocols import get_protocol
from kerneton.exceptions import DataError, HeldOutError, KernetonError, ParameterError
from kerneton.files.summary import summarize
from kerneton.machine.solver import per_class
from kerneton.report.explanation import ClassImportance, Explanation
from kerneton.report.results import Report, Split, versions

_EACH_LABEL = 8  # recordings of a label in a split, from which the importance of joints is measured
_MISTAKES = 30  # of a split that are explained, the clearest

Indices = tuple[np.ndarray, np.ndarray]  # positions to train on, positions to test on


def evaluate(
    model: Any,
    data: Iterable[SkeletonSequence],
    protocol: Any = None,
    *,
    progress: Progress | None = None,
    n_jobs: int | None = None,
    importance: bool = False,
    scratch: str | os.PathLike[str] | None = None,
) -> Report:
    """Train and test a fresh copy of ``model`` on every split of ``protocol``.

    ``data`` are recordings with labels (and subjects, where the protocol splits by them).
    ``protocol`` is a name (see `kerneton.datasets.protocols.get_protocol`), None for what the data
    set's published results use, a scikit-learn splitter, a number of folds, or a list of (train,
    test) positions. A `Recognizer` finds the subjects in its recordings; another model whose
    ``fit`` takes ``groups`` is given the training subjects. ``progress`` is called like
    ``tqdm.tqdm``; ``n_jobs`` splits run at once, with the same result. ``importance`` also measures
    which joints matter for each class, on the tested recordings of every split, if the model
    supports it. ``scratch`` is a folder for the features of fits of many recordings: an interrupted
    evaluation of a `Recognizer` continues with them.

    >>> from sklearn.dummy import DummyClassifier
    >>> from kerneton import SkeletonDataset, SkeletonSequence
    >>> data = SkeletonDataset(
    ...     SkeletonSequence(np.ones((5, 3, 3)), label=k, subject=s) for s in "123" for k in "aab"
    ... )
    >>> evaluate(DummyClassifier(), data, [([0, 1, 2], [3, 4, 5])])
    Report(unnamed, 1 given split, 66.7 %)
    """
    if n_jobs == 0:
        raise ParameterError(
            "n_jobs must not be 0; 1 is one split at a time, -1 one for every core"
        )
    if scratch is not None and not hasattr(model, "branches"):
        raise ParameterError(f"scratch is for recognisers, got {type(model).__name__}")
    data = _checked(data)
    labels = data.labels
    subjects = None if any(s.subject is None for s in data) else data.subjects
    name, splits = _splits(protocol, data, labels, subjects)
    client = _cluster()
    # Else splits would draw their progress bars over each other.
    alone = n_jobs in (None, 1) and client is None
    tasks = (
        delayed(_run)(
            _shown(model, progress if alone else None, f"split {number} of {len(splits)}, "),
            *(data, labels, subjects, split, number, importance, scratch),
        )
        for number, split in enumerate(splits, start=1)
    )
    results = Parallel(n_jobs=n_jobs, return_as="generator")(tasks)
    if client is not None:
        from kerneton.machine.dask_client import in_turn

        results = in_turn(client, results)
    done = tuple((progress or silent)(results, total=len(splits), desc="splits"))
    found = {str(label) for split in done for label in (*split.true, *split.predicted)}
    return Report(
        splits=done,
        classes=tuple(sorted(found)),
        recordings=tuple(s.name for s in data),
        subjects=None if subjects is None else tuple(subjects.tolist()),
        protocol=name,
        model=" ".join(repr(model).split()),
        parameters=_parameters(model),
        data=summarize(data).to_dict(),
        versions=versions(),
    )


def _cluster() -> Any:
    """The client of joblib's Dask backend, if it will run the splits; checks its workers."""
    client = getattr(get_active_backend()[0], "client", None)
    if client is None:
        return None
    from kerneton.machine.dask_client import check_workers

    check_workers(client)
    # for one thread joblib runs them here
    return client if sum(client.nthreads().values()) > 1 else None


def _shown(model: Any, progress: Progress | None, prefix: str) -> Any:
    """A fresh copy of the model; one that shows its own progress does so within the split."""
    copy = clone(model)
    if progress is None or "progress" not in getattr(model, "get_params", dict)():
        return copy

    def inside(
        iterable: Iterable[Any], *, total: int | None = None, desc: str = ""
    ) -> Iterable[Any]:
        return progress(iterable, total=total, desc=prefix + desc)

    return copy.set_params(progress=inside)


def _checked(data: Iterable[SkeletonSequence]) -> SkeletonDataset:
    recordings = as_dataset(data)
    if not len(recordings):
        raise DataError("expected at least two recordings to train and test on, got none")
    return recordings


def _splits(
    protocol: Any, data: SkeletonDataset, labels: np.ndarray, subjects: np.ndarray | None
) -> tuple[str, list[Indices]]:
    """The protocol's name, and the positions that each of its splits trains and tests on."""
    if protocol is None or isinstance(protocol, str):
        protocol = get_protocol(protocol, data)
    splitter = check_cv(protocol, labels, classifier=True)
    try:
        with warnings.catch_warnings():  # subjects are offered to every splitter; some need none
            warnings.filterwarnings("ignore", "The groups parameter is ignored")
            pairs = list(splitter.split(data, labels, subjects))
    except ValueError as error:
        if subjects is None and "'groups' parameter should not be None" in str(error):
            missing = next(i for i, s in enumerate(data) if s.subject is None)
            raise DataError(
                f"{splitter} splits by subject, and {describe(data[missing], missing)} has none"
            ) from error
        raise
    splits = [(np.asarray(train), np.asarray(test)) for train, test in pairs]
    _check_splits(splits, labels, allow_unseen=getattr(splitter, "allow_unseen", False))
    if splitter is protocol or isinstance(protocol, int):
        return getattr(splitter, "name", None) or str(splitter), splits
    return f"{many(len(splits), 'given split')}", splits


def _check_splits(splits: Sequence[Indices], labels: np.ndarray, *, allow_unseen: bool) -> None:
    if not splits:
        raise ParameterError("the protocol gives no split")
    problems = []
    for i, (train, test) in enumerate(splits, start=1):
        if not len(train) or not len(test):
            problems.append(
                f"split {i} trains on {len(train)} and tests on {many(len(test), 'recording')}"
            )
        elif twice := np.intersect1d(train, test).size:
            problems.append(f"split {i} tests on {many(twice, 'recording')} that it trains on")
        elif not allow_unseen and (
            unseen := sorted({*labels[test].tolist()} - {*labels[train].tolist()})
        ):
            problems.append(f"split {i} tests on {', '.join(unseen)} without training on it")
    if problems:
        raise DataError(
            "; ".join(problems) + "; leave out such recordings, or choose another protocol"
        )


def _name(number: int, tested: np.ndarray | None) -> str:
    """A split of one subject is called after the subject, another by its number."""
    if tested is not None and len(set(tested.tolist())) == 1:
        return f"subject {tested[0]}"
    return str(number)


def _run(
    model: Any,
    data: SkeletonDataset,
    labels: np.ndarray,
    subjects: np.ndarray | None,
    split: Indices,
    number: int,
    importance: bool,
    scratch: str | os.PathLike[str] | None,
) -> Split:
    train, test = split
    kept = {} if scratch is None else {"scratch": Path(scratch) / f"split-{number}"}
    known, unknown = list(data.select(train)), list(data.select(test))
    groups = None if subjects is None else subjects[train]
    name = _name(number, None if subjects is None else subjects[test])
    start = time.perf_counter()
    try:
        model.fit(known, labels[train], **_fit_params(model, groups), **kept)
    except HeldOutError as error:
        tested = (
            f"of {name}, which are tested" if name != str(number) else f"that split {number} tests"
        )
        raise HeldOutError(f"{error}, not counting the recordings {tested}") from error
    fitted = time.perf_counter()
    model = getattr(model, "best_estimator_", model)  # of a grid search
    given: Any = unknown
    if isinstance(model, Pipeline) and len(model.steps) > 1:
        model, given = (
            model[-1],
            model[:-1].transform(unknown),
        )  # features are computed once for labels and scores
    found = model.results(given) if hasattr(model, "results") else None
    predicted = model.predict(given) if found is None else found.labels
    predicted_at = time.perf_counter()
    classes = tuple(str(label) for label in getattr(model, "classes_", ()))
    if found is None:
        scores = _by_class(model, "decision_function", given, classes)
        probabilities = _by_class(model, "predict_proba", given, classes)
    else:
        scores, probabilities = found.scores, found.probabilities
    return Split(
        name=name,
        n_train=len(train),
        indices=test,
        true=labels[test],
        predicted=np.asarray(predicted, dtype=str),
        fit_seconds=fitted - start,
        predict_seconds=predicted_at - fitted,
        model_classes=classes,
        scores=scores,
        probabilities=probabilities,
        importance=_importance(model, unknown, labels[test]) if importance else None,
        reasons=_reasons(model, unknown, test, labels[test], predicted, scores)
        if importance
        else {},
        variant=getattr(model, "variant_", None),
        variant_scores=getattr(model, "variant_scores_", None),
    )


def _importance(
    model: Any, X: list[SkeletonSequence], labels: np.ndarray
) -> ClassImportance | None:
    """Of a sample of the recordings, the first of each label: each costs a few predictions."""
    if not hasattr(model, "class_importance"):
        return None
    each = [np.flatnonzero(labels == c)[:_EACH_LABEL] for c in np.unique(labels)]
    chosen = np.sort(np.concatenate(each))
    try:
        return model.class_importance([X[i] for i in chosen], labels[chosen])
    except KernetonError:  # not a model whose features belong to joints
        return None


def _reasons(
    model: Any,
    X: list[SkeletonSequence],
    indices: np.ndarray,
    true: np.ndarray,
    predicted: np.ndarray,
    scores: np.ndarray | None,
) -> dict[int, Explanation]:
    """Why the clearest mistakes were not their label, and the clearest right answer of each
    label.
    """
    sure = np.zeros(len(X)) if scores is None else scores.max(axis=1)
    order = np.argsort(-sure, kind="stable").tolist()
    wrong = [i for i in order if true[i] != predicted[i]][:_MISTAKES]
    right: dict[str, int] = {}
    for i in order:
        if true[i] == predicted[i]:
            right.setdefault(str(true[i]), i)
    known = {str(c) for c in getattr(model, "classes_", ())}
    reasons = {}
    for i in (*wrong, *right.values()):
        label, other = str(predicted[i]), str(true[i])
        try:
            if label in known and other in known:
                versus = other if other != label else None
                reasons[int(indices[i])] = model.explain(X[i], label, versus=versus)
        except (KernetonError, AttributeError):  # a model without such explanations
            return {}
    return reasons


def _by_class(classifier: Any, method: str, X: Any, classes: tuple[str, ...]) -> np.ndarray | None:
    """(n_sequences, n_classes) values of a method that the classifier may have."""
    if not hasattr(classifier, method):
        return None
    values = per_class(np.asarray(getattr(classifier, method)(X)))
    return values if values.shape[1:] == (len(classes),) else None


def _fit_params(model: Any, groups: np.ndarray | None) -> dict[str, Any]:
    """The subjects of the training recordings, under the name by which the model's ``fit`` takes
    them.
    """
    if groups is None:
        return {}
    if get_config()["enable_metadata_routing"]:
        return (
            {"groups": groups} if get_routing_for_object(model).consumes("fit", ["groups"]) else {}
        )
    if _takes_groups(model):
        return {"groups": groups}
    if isinstance(model, Pipeline):
        return {f"{name}__groups": groups for name, step in model.steps if _takes_groups(step)}
    return {}


def _takes_groups(estimator: Any) -> bool:
    # scikit-learn's searches take groups among free keyword arguments, for their splitter.
    if isinstance(estimator, (GridSearchCV, RandomizedSearchCV)):
        return True
    return hasattr(estimator, "fit") and has_fit_parameter(estimator, "groups")


def _parameters(model: Any) -> dict[str, Any]:
    """Parameters that are values and not steps themselves, in a form that JSON can hold."""
    if not hasattr(model, "get_params"):
        return {}
    return {
        name: _plain(value)
        for name, value in model.get_params().items()
        if not isinstance(value, BaseEstimator)
        and name.split("__")[-1] not in ("steps", "transformer_list")
    }


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else str(value)
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}"
    return getattr(value, "__qualname__", None) or " ".join(repr(value).split())
