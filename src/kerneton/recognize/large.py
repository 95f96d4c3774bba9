"""Fits of many recordings: choices are made on a sample, the final classifier uses all.

Up to 1,000 recordings, everything uses all of them. With more, a sample, spread over classes and
subjects with a fixed seed, determines view, mirroring, sums, C, penalty, weights of joints, the
mean for centring, and the calibration. The final classifier uses every recording: up to 3,000 it is
solved on their Gram matrix; with more, features are computed in blocks, kept in memory, on disk or
on a cluster, and `kerneton.machine.truncated_newton` passes over them. The numbers are `Limits` of
a recogniser.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from kerneton.data.checks import all_timed, check_sequences
from kerneton.data.progress import silent
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError, ParameterError
from kerneton.machine.blocks import Blocks
from kerneton.machine.products import gram
from kerneton.machine.sampling import sample_rows
from kerneton.machine.svm import class_weights
from kerneton.machine.truncated_newton import solve_blocks
from kerneton.parallel.threads import count_threads, in_threads
from kerneton.prepare.preprocess import check_gaps
from kerneton.recognize import storage
from kerneton.recognize.branch import encode_together, side_by_side
from kerneton.recognize.encoder import Encoder
from kerneton.recognize.training import (
    Data,
    Learned,
    average_machines,
    is_large,
    known_subjects,
    learn,
    learn_on,
    machine_options,
)

Widths = dict[str, int]  # the number of features of each branch


def learn_large(model: Any, data: Data, *, scratch: Any = None, client: Any = None) -> Learned:
    """What a recogniser learns from many recordings.

    ``client`` is a Dask client whose workers encode and keep the features, by default the active
    one if there is one; ``scratch`` is a folder on this machine in which features are kept, so that
    a later fit on the same recordings can resume.
    """
    sequences = data.sequences
    check_large(sequences, data.y, data.groups)
    if any(hasattr(branch.preprocess, "gaps") for _, branch in model.branches):
        check_gaps(sequences)  # before an hour of encoding
    client = client or active_client()
    if client is not None and not hasattr(client, "submit"):
        raise ParameterError(f"client must be a dask.distributed.Client, got {client!r}")
    rows = sample_rows(data.codes, data.groups, model.limits.sample)
    timing: dict[str, float] = {}
    start = time.perf_counter()

    def stop(step: str) -> None:
        nonlocal start
        timing[step], start = time.perf_counter() - start, time.perf_counter()

    with ExitStack() as until:
        folder = None if scratch is None else _kept_folder(model, data, scratch, until)
        learned, features = _choose(model, data.take(rows), folder, client)
        fitted = model.with_learned(learned)
        stop("selection_s")
        widths = widths_of(learned, sequences)
        if len(sequences) <= model.limits.gram:
            X = _all_features(fitted, sequences, rows, features)
            stop("encoding_s")
            machine = machine_from_features(fitted, X, data.codes, widths)
        else:
            blocks = _blocks(fitted, sequences, folder, client, sum(widths.values()), until)
            stop("encoding_s")
            machine = machine_from_blocks(fitted, blocks, data.codes, rows, features, widths)
        stop("solver_s")
    return replace(learned, machine=machine, timed=all_timed(sequences), timing=timing)


def _kept_folder(model: Any, data: Data, scratch: Any, until: ExitStack) -> Path:
    """The folder of a fit inside the user's folder, locked until the fit ends."""
    progress = model.progress or silent
    key = storage.fit_key(model, data.sequences, data.y, data.groups, model.limits.block, progress)
    folder = Path(scratch) / key
    folder.mkdir(parents=True, exist_ok=True)
    until.enter_context(storage.locked(folder))
    return folder


def _choose(
    model: Any, sample: Data, folder: Path | None, client: Any
) -> tuple[Learned, np.ndarray]:
    """What is learned from the sample, or what an interrupted fit stored; and the features (m, d)
    of the sample.
    """
    if folder is not None and (kept := storage.kept_choice(model, sample, folder)) is not None:
        return kept
    encoder = Encoder(sample.sequences, count_threads(model.n_jobs))
    if client is not None:
        from kerneton.recognize.cluster import check_workers
        from kerneton.recognize.cluster_trials import ClusterEncoder

        check_workers(client)
        encoder = ClusterEncoder(client, sample.sequences, count_threads(model.n_jobs))
    learned, found = learn_on(model, sample, encoder)
    del encoder  # frees the memory of the search
    features = side_by_side([*found.values()])
    if folder is not None:
        storage.keep_choice(model.with_learned(learned), features, folder)
    return learned, features


def learn_more(model: Any, X: Any, y: Any, groups: Any = None) -> Learned:
    """What a recogniser learns from the recordings of ``fit(..., keep=True)`` and new ones, which
    alone are encoded.

    Everything is chosen and learned again, except the reference skeleton, which stays that of the
    first fit.

    >>> from kerneton import make_actions, make_recognizer
    >>> data = make_actions(["wave", "bow"], n_subjects=4, n_takes=1)
    >>> model = make_recognizer().fit(data[:6], data.labels[:6], keep=True)
    >>> model.add(data[6:], data.labels[6:]).predict(data[:2]).tolist()
    ['wave', 'bow']
    """
    kept = model.learned_.kept
    if kept is None:
        raise ParameterError(
            f"the recogniser kept no training features: fit with keep=True, on up to {model.limits.gram:,} recordings"
        )
    encoder, labels, people = kept.encoder, kept.y, kept.groups
    first = encoder.sequences[0]
    sequences = check_sequences(X, n_joints=first.n_joints, layout=first.layout, allow_missing=True)
    y = [] if y is None else list(y)
    if len(y) != len(sequences):
        raise DataError(f"expected a label per recording, {len(sequences)} of them, got {len(y)}")
    groups = known_subjects(sequences, groups)
    if (groups is None) != (people is None):
        raise DataError(
            "either all recordings of the fit and the added ones need subjects, or none"
        )
    both = None if people is None else [*people, *groups]
    every = [*encoder.sequences, *sequences]
    # For so many, all are encoded again with the choices of a new sample.
    large = is_large(model, len(every), keep=True)
    larger = None if large else encoder.extended(sequences, model.progress)
    return learn(model, every, [*labels, *y], both, keep=True, encoder=larger)


def check_large(sequences: Sequence[Any], y: np.ndarray, groups: Any) -> None:
    """Refuse what is only allowed for few recordings: a class with one recording, subjects for some
    recordings.
    """
    classes, counts = np.unique(y, return_counts=True)
    problems = []
    if alone := classes[counts == 1].tolist():
        problems.append(
            f"{', '.join(map(repr, alone[:5]))}: a single recording among {len(y)}, so none can be held out; "
            "correct the label or leave it out"
        )
    nobody = [i for i, s in enumerate(sequences) if s.subject is None]
    if groups is None and 0 < len(nobody) < len(sequences):
        problems.append(
            f"{len(nobody)} of {len(sequences)} recordings have no subject, the first is number {nobody[0]} "
            f"({sequences[nobody[0]].name or 'without a name'}); give all of them one, or none"
        )
    if problems:
        raise DataError("; ".join(problems))


def _blocks(
    model: Any,
    sequences: Sequence[SkeletonSequence],
    folder: Path | None,
    client: Any,
    n_features: int,
    until: ExitStack,
) -> Any:
    """Blocks of features of all recordings, on a cluster or on this machine."""
    if client is not None:
        from kerneton.recognize.cluster import encoded_on

        blocks = encoded_on(client, model, sequences, model.limits.block, n_features)
        blocks.wait(model.progress or silent)
        return blocks
    return storage.local_blocks(model, sequences, folder, model.limits.block, until)


def active_client() -> Any:
    """The Dask client that is active in this process, if there is one."""
    if "distributed" not in sys.modules:
        return None
    from kerneton.recognize.cluster import active

    return active()


def _all_features(
    model: Any, sequences: Sequence[SkeletonSequence], rows: np.ndarray, features: np.ndarray
) -> np.ndarray:
    """Features (n, d) of all recordings; those of some rows are already known."""
    X = np.empty((len(sequences), features.shape[1]), features.dtype)
    X[rows] = features
    others = np.setdiff1d(np.arange(len(sequences)), rows)
    size = model.limits.block
    parts = [others[i : i + size] for i in range(0, len(others), size)]
    for part in (model.progress or silent)(parts, total=len(parts), desc="encoding blocks"):
        X[part] = model.features([sequences[i] for i in part])
    return X


def machine_from_features(model: Any, X: np.ndarray, codes: np.ndarray, widths: Widths) -> Any:
    """From features (n, d) of all recordings, solved on their Gram matrices; ``widths`` from
    `widths_of`.
    """
    ends = np.cumsum(list(widths.values()))
    features = dict(zip(model.branches_, np.split(X, ends[:-1], axis=1), strict=True))
    threads = count_threads(model.n_jobs)
    products = in_threads(gram, features.values(), threads, model.progress, "inner products")
    inner = dict(zip(features, products, strict=True))
    return average_machines(
        *(model.machine_, features, inner, model.mixtures_, model.classes_, codes, threads),
        model.progress,
    )


def machine_from_blocks(
    model: Any,
    blocks: Blocks,
    codes: np.ndarray,
    rows: np.ndarray,
    features: np.ndarray,
    widths: Widths,
) -> Any:
    """From blocks of features, by passes over them; ``rows`` are the positions of the sample,
    ``features`` those of the sample.
    """
    machine, classes = clone(model.machine_), model.classes_
    first = model.machine_.coef_, model.machine_.intercept_  # from the sample
    options = machine_options(machine, classes)
    weights = class_weights(codes, len(classes), options["class_weight"])
    coef: Any = 0.0
    intercept: Any = 0.0
    n_iter = 0
    for mixture in model.mixtures_:
        shares = np.concatenate(
            [np.full(size, mixture.shares.get(n, 0.0) ** 0.5) for n, size in widths.items()]
        )
        found = solve_blocks(
            blocks,
            codes,
            mixture.C,
            penalty=mixture.penalty,
            scaling=options["scaling"],
            weights=weights,
            tol=model.limits.tol,
            settled=model.limits.settled,
            max_iter=model.limits.steps,
            factors=shares,
            start=(first[0] / np.where(shares > 0, shares, 1.0), first[1]),
            sample=(rows, features * shares.astype(features.dtype)),
            progress=model.progress,
        )
        coef = coef + shares * found.coef / len(model.mixtures_)
        intercept = intercept + found.intercept / len(model.mixtures_)
        n_iter = max(n_iter, found.n_iter)
    dtype = first[0].dtype
    state = {"classes": classes, "coef": coef.astype(dtype), "intercept": intercept.astype(dtype)}
    machine.set_state(state | {"n_iter": n_iter})
    return machine


def widths_of(learned: Learned, sequences: Sequence[SkeletonSequence]) -> Widths:
    """The number of features of each branch, from one recording, since your own kernels need not
    state it.
    """
    features = encode_together(learned.branches.values(), list(sequences[:1]))
    return {name: X.shape[1] for name, X in zip(learned.branches, features, strict=True)}
