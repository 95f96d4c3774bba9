"""Fits of many recordings: choices are made on a sample, the final classifier uses all.

Up to 1,000 recordings, everything uses all of them. With more, a sample of `SAMPLE` recordings, spread over classes and subjects with a
fixed seed, determines view, mirroring, sums, C, penalty, weights of joints, the mean for centring, and the calibration. The final
classifier uses every recording: up to 3,000 it is solved on their Gram matrix; with more, features are computed in blocks of `BLOCK`
recordings, kept in memory, on disk or on a cluster, and `kerneton.machine.primal` passes over them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from kerneton.data.progress import silent
from kerneton.data.sequence import SkeletonSequence
from kerneton.data.validation import all_timed, check_sequences
from kerneton.exceptions import DataError, ParameterError
from kerneton.machine.threads import count_threads
from kerneton.prepare.preprocess import check_gaps
from kerneton.recognize import storage, training
from kerneton.recognize.branch import side_by_side
from kerneton.recognize.encoder import Encoder
from kerneton.recognize.final_machine import machine_from_blocks, machine_from_features, widths_of
from kerneton.recognize.sample import check_large, sample_rows

SAMPLE = 1000  # recordings of the sample
BLOCK = 256  # recordings per block


def add(model: Any, X: Any, y: Any, groups: Any = None) -> Any:
    """Fit a recogniser again on the recordings of ``fit(..., keep=True)`` and on new ones; only the new ones are encoded.

    Everything is chosen and learned again, except the reference skeleton, which stays that of the first fit.

    >>> from kerneton import make_actions, make_recognizer
    >>> data = make_actions(["wave", "bow"], n_subjects=4, n_takes=1)
    >>> model = make_recognizer().fit(data[:6], data.labels[:6], keep=True)
    >>> model.add(data[6:], data.labels[6:]).predict(data[:2]).tolist()
    ['wave', 'bow']
    """
    if getattr(model, "kept_", None) is None:
        raise ParameterError(
            f"the recogniser kept no training features: fit with keep=True, on up to {training.GRAM_LIMIT:,} recordings"
        )
    encoder, labels, people = model.kept_
    first = encoder.sequences[0]
    sequences = check_sequences(X, n_joints=first.n_joints, layout=first.layout, allow_missing=True)
    y = [] if y is None else list(y)
    if len(y) != len(sequences):
        raise DataError(f"expected a label per recording, {len(sequences)} of them, got {len(y)}")
    groups = training.known_subjects(sequences, groups)
    if (groups is None) != (people is None):
        raise DataError("either all recordings of the fit and the added ones need subjects, or none")
    both = None if people is None else [*people, *groups]
    every = [*encoder.sequences, *sequences]
    # For so many, all are encoded again with the choices of a new sample.
    larger = (
        None if training.is_large(model, len(every), True) else encoder.extended(sequences, model.progress)
    )
    with training.taken_when_done(model) as fresh:
        fresh._fit(every, [*labels, *y], both, {"keep": True}, larger)
    return model


def fit_large(
    model: Any,
    sequences: Sequence[SkeletonSequence],
    y: np.ndarray,
    groups: Any,
    codes: np.ndarray,
    *,
    scratch: Any = None,
    client: Any = None,
) -> Any:
    """Fit a recogniser on many recordings and return it.

    ``client`` is a Dask client whose workers encode and keep the features, by default the active one if there is one; ``scratch`` is a
    folder on this machine in which features are kept, so that a later fit on the same recordings can resume.
    """
    check_large(sequences, y, groups)
    if any(hasattr(branch.preprocess, "gaps") for _, branch in model.branches):
        check_gaps(sequences)  # before an hour of encoding
    client = client or active_client()
    if client is not None and not hasattr(client, "submit"):
        raise ParameterError(f"client must be a dask.distributed.Client, got {client!r}")
    rows = sample_rows(codes, groups, SAMPLE)
    timing = model.timing_ = {}
    start = time.perf_counter()
    with ExitStack() as until:
        folder = None if scratch is None else _kept_folder(model, sequences, y, groups, scratch, until)
        features = _choose(model, [sequences[i] for i in rows], y, rows, groups, folder, client)
        model.timed_ = all_timed(sequences)  # not of the sample alone
        timing["selection_s"] = time.perf_counter() - start
        start = time.perf_counter()
        widths = widths_of(model, sequences)
        if len(sequences) <= training.GRAM_LIMIT:
            X = _all_features(model, sequences, rows, features)
            timing["encoding_s"] = time.perf_counter() - start
            start = time.perf_counter()
            model.machine_ = machine_from_features(model, X, codes, widths)
        else:
            blocks = _blocks(model, sequences, folder, client, sum(widths.values()), until)
            timing["encoding_s"] = time.perf_counter() - start
            start = time.perf_counter()
            model.machine_ = machine_from_blocks(model, blocks, codes, rows, features, widths)
        timing["solver_s"] = time.perf_counter() - start
    return model


def _kept_folder(
    model: Any, sequences: Sequence[SkeletonSequence], y: Any, groups: Any, scratch: Any, until: ExitStack
) -> Path:
    """The folder of a fit inside the user's folder, locked until the fit ends."""
    key = storage.fit_key(model, sequences, y, groups, BLOCK, model.progress or silent)
    folder = Path(scratch) / key
    folder.mkdir(parents=True, exist_ok=True)
    until.enter_context(storage.locked(folder))
    return folder


def _choose(
    model: Any,
    sample: list[SkeletonSequence],
    y: np.ndarray,
    rows: np.ndarray,
    groups: Any,
    folder: Path | None,
    client: Any,
) -> np.ndarray:
    """Fit on the sample, or load what an interrupted fit stored; returns the features (m, d) of the sample."""
    if folder is not None and (kept := storage.kept_choice(model, sample, y, folder)) is not None:
        return kept
    encoder = Encoder(sample, count_threads(model.n_jobs))
    if client is not None:
        from kerneton.recognize.cluster import check_workers
        from kerneton.recognize.cluster_trials import ClusterEncoder

        check_workers(client)
        encoder = ClusterEncoder(client, sample, count_threads(model.n_jobs))
    encoder.fitted = {}
    model._fit(sample, y[rows], None if groups is None else np.asarray(groups)[rows], encoder=encoder)
    fitted = encoder.fitted
    del encoder  # frees the memory of the search
    features = side_by_side([*fitted.values()])
    if folder is not None:
        storage.keep_choice(model, features, folder)
    return features


def _blocks(
    model: Any,
    sequences: Sequence[SkeletonSequence],
    folder: Path | None,
    client: Any,
    n_features: int,
    until: ExitStack,
) -> Any:
    """Blocks of features of all recordings on a cluster, on the device of the model, or on this machine."""
    if client is not None:
        from kerneton.recognize.cluster import encoded_on

        blocks = encoded_on(client, model, sequences, BLOCK, n_features)
        blocks.wait(model.progress or silent)
        return blocks
    on_device = None if model.device is None or folder is not None else _on_device(model, sequences)
    return on_device or storage.local_blocks(model, sequences, folder, BLOCK, until)


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
    parts = [others[i : i + BLOCK] for i in range(0, len(others), BLOCK)]
    for part in (model.progress or silent)(parts, total=len(parts), desc="encoding blocks"):
        X[part] = model.features([sequences[i] for i in part])
    return X


def _on_device(model: Any, sequences: Sequence[SkeletonSequence]) -> Any:
    """Blocks on the device of the model; None if the host must encode."""
    from kerneton.recognize.on_device import blocks_on

    branches = [branch.run_on(**model._where()) for branch in model.branches_.values()]
    return blocks_on(branches, sequences, model.device, model.progress or silent)
