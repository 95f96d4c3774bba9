"""The mechanics of selection: folds of subjects, Gram matrices of folds, and their scores."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, StratifiedKFold
from sklearn.pipeline import Pipeline

from kerneton.exceptions import DataError
from kerneton.machine.alignment import alignment_weights, block_grams
from kerneton.machine.folds import penalised_machines
from kerneton.machine.gram import center_normalize_gram, gram

log = logging.getLogger(__name__)

Folds = list[tuple[np.ndarray, np.ndarray]]
FoldGrams = list[tuple[np.ndarray, np.ndarray]]  # (train, train) and (validation, train), a pair a fold
# Variants in which a cue could not be computed, by cue and reason.
Failures = dict[tuple[str, str], list[str]]
_MAX_FOLDS = 10


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


def fold_grams(kernel: Any, poses: Sequence[Any], codes: np.ndarray, folds: Folds) -> FoldGrams:
    """Centred, normalised Gram matrices of each fold; joint weights learnt on the fold's training side alone."""
    weighted = kernel.weighting is not None
    encoder = clone(kernel).set_params(weighting=None)
    features = encoder.fit_transform(poses)
    if not np.isfinite(features).all():
        raise DataError("its features are not finite")
    blocks = block_grams(features, encoder.block_sizes_) if weighted else gram(features)[None]
    out = []
    for train, valid in folds:
        weights = np.ones(len(blocks))
        if weighted:
            weights = alignment_weights(blocks[:, train][:, :, train], codes[train])
        K = np.tensordot(weights, blocks, axes=1)
        inside, across = center_normalize_gram(K, train, valid)
        out.append((inside.astype(np.float32), across.astype(np.float32)))
    return out


def score_sum(
    parts: list[tuple[FoldGrams, float]],
    codes: np.ndarray,
    folds: Folds,
    Cs: Sequence[float],
    scatters: Sequence[float] = (0.0,),
) -> dict[tuple[float, float], tuple[float, float]]:
    """Accuracy on held-out recordings and its standard error over folds, for every (scatter, C)."""
    total = sum(weight for _, weight in parts)
    right = np.zeros((len(scatters), len(Cs), len(folds)))
    for f, (train, valid) in enumerate(folds):
        inside: Any = sum(part[f][0].astype(np.float64) * (weight / total) for part, weight in parts)
        across = sum(part[f][1].astype(np.float64) * (weight / total) for part, weight in parts)
        present, local = np.unique(codes[train], return_inverse=True)
        if len(present) == 1:
            right[:, :, f] = (codes[valid] == present[0]).sum()
            continue
        for s, scatter in enumerate(scatters):
            machines = penalised_machines(inside, local, Cs, scatter=scatter, tol=1e-4)
            for c, (duals, intercept) in enumerate(machines):
                scores = across @ duals.T + intercept
                guess = (scores[:, 0] > 0).astype(int) if len(present) == 2 else scores.argmax(axis=1)
                right[s, c, f] = (present[guess] == codes[valid]).sum()
    sizes = np.asarray([len(valid) for _, valid in folds])
    accuracy = right.sum(axis=2) / sizes.sum()
    spread = (right / sizes).std(axis=2) / np.sqrt(max(len(folds) - 1, 1))
    return {
        (scatter, C): (float(accuracy[s, c]), float(spread[s, c]))
        for s, scatter in enumerate(scatters)
        for c, C in enumerate(Cs)
    }


def tell_failures(failures: Failures, n_variants: int) -> None:
    """Log what could not be computed, a line for each cue and reason."""
    for (name, reason), where in failures.items():
        told = "" if len(where) == n_variants > 1 else f" ({'; '.join(where)})"
        log.warning("cue %s%s is left out: %s", name, told, reason)
