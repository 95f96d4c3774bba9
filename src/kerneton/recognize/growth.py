"""Fits of many recordings: choices on a sample of them, the machine on all.

Up to 1,000 recordings all of them take part in everything. Beyond, a sample of `SAMPLE` recordings, spread over classes and
subjects with a fixed seed, decides what is decided once: view, mirroring, sums, C, penalty, weights of joints, the mean on which
features are centred, and the calibration. The final machine sees every recording: up to 3,000 it is solved on their Gram
matrices; beyond, features are computed in blocks of `BLOCK` recordings, kept in memory, on disk or on a cluster, and
`kerneton.machine.primal` passes over them.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from kerneton.data.progress import silent
from kerneton.data.sequence import SkeletonSequence
from kerneton.data.validation import check_sequences
from kerneton.exceptions import DataError, ParameterError
from kerneton.machine.blocks import Blocks, LocalBlocks
from kerneton.machine.threads import count_threads
from kerneton.recognize import training
from kerneton.recognize.branch import side_by_side
from kerneton.recognize.final_machine import machine_from_blocks, machine_from_features
from kerneton.recognize.packed import pack, read_packed, write_packed
from kerneton.recognize.sample import check_large, sample_rows

SAMPLE = 1000  # recordings of the sample
BLOCK = 256  # recordings per block
MEMORY = 2**30  # bytes of features that stay in memory; more go to disk
HALVE = 2**33  # bytes of features beyond which those on disk are rounded to 16 bits


def add(model: Any, X: Any, y: Any, groups: Any = None) -> Any:
    """Fit a recogniser again, on the recordings of ``fit(..., keep=True)`` and on these, of which only these are encoded.

    Everything is chosen and learnt again, but for the reference skeleton, which stays that of the first fit.

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
    # Beyond Gram matrices all are encoded by what a new sample chooses: features that were kept are of no use.
    larger = None if training.is_large(model, len(every), True) else encoder.extended(sequences)
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
    folder for features on this machine, with which a later fit on the same recordings goes on.
    """
    check_large(sequences, y, groups)
    rows = sample_rows(codes, groups, SAMPLE)
    some = None if groups is None else np.asarray(groups)[rows]
    key = (
        None if scratch is None else joblib.hash((model.get_params(), [s.joints for s in sequences], y, some))
    )
    timing = model.timing_ = {}
    start = time.perf_counter()
    sample, encoder, client = [sequences[i] for i in rows], None, client or active_client()
    if client is not None:
        from kerneton.recognize.cluster import check_workers, encoded_on
        from kerneton.recognize.cluster_trials import ClusterEncoder

        check_workers(client)
        encoder = ClusterEncoder(client, sample, count_threads(model.n_jobs))
    kept = None if scratch is None else Path(scratch) / f"{key}.kern"
    if kept is not None and kept.exists():
        from kerneton.recognize.model_reader import load

        model.__dict__ |= {k: v for k, v in load(kept).__dict__.items() if k.endswith("_")}
    else:
        model._fit(sample, y[rows], some, encoder=encoder)
        if kept is not None:
            kept.parent.mkdir(parents=True, exist_ok=True)
            model.save(kept)
    timing["selection_s"] = time.perf_counter() - start
    start = time.perf_counter()
    if len(sequences) <= training.GRAM_LIMIT:
        parts = [sequences[i : i + BLOCK] for i in range(0, len(sequences), BLOCK)]
        shown = (model.progress or silent)(parts, total=len(parts), desc="encoding blocks")
        X = np.concatenate([model.features(part) for part in shown])
        timing["encoding_s"] = time.perf_counter() - start
        start = time.perf_counter()
        model.machine_ = machine_from_features(model, X, codes)
        timing["solver_s"] = time.perf_counter() - start
        return model
    blocks: Any
    folder: Path | None
    if client is not None:
        blocks, folder = encoded_on(client, model, sequences, BLOCK), None
    else:
        blocks, folder = _on_device(model, sequences, scratch), None
        if blocks is None:
            blocks, folder = _local(model, sequences, scratch, key)
    try:
        found = encoder.fitted if encoder is not None else {}
        features = side_by_side([*found.values()]) if found else model.features(sample)
        if client is not None:
            blocks.wait(model.progress or silent)
        timing["encoding_s"] = time.perf_counter() - start
        start = time.perf_counter()
        model.machine_ = machine_from_blocks(model, blocks, codes, rows, features)
        timing["solver_s"] = time.perf_counter() - start
    finally:
        if folder is not None and scratch is None:
            shutil.rmtree(folder, ignore_errors=True)
    return model


def active_client() -> Any:
    """The Dask client that is active in this process, if there is one."""
    if "distributed" not in sys.modules:
        return None
    from kerneton.recognize.cluster import active

    return active()


def _on_device(model: Any, sequences: Sequence[SkeletonSequence], scratch: Any) -> Any:
    """Blocks where the model computes, None where that is the host."""
    if model.device is None or scratch is not None:
        return None
    from kerneton.recognize.on_device import blocks_on

    branches = [branch.run_on(**model._where()) for branch in model.branches_.values()]
    return blocks_on(branches, sequences, model.device, model.progress or silent)


def _local(
    model: Any, sequences: Sequence[SkeletonSequence], scratch: Any, key: Any
) -> tuple[Blocks, Path | None]:
    """Blocks in memory, or on disk if there are many; computed again in every pass if that is faster or the disk is too small."""
    starts = range(0, len(sequences), BLOCK)
    parts = [sequences[i : i + BLOCK] for i in starts]
    threads = count_threads(model.n_jobs)
    n_features = sum(int(b.kernel_.block_sizes_.sum()) for b in model.branches_.values())
    progress = model.progress or silent
    width = model.features(sequences[:1]).dtype.itemsize * n_features
    halved = len(sequences) * width > HALVE

    def made(load: Callable[[int], np.ndarray]) -> Blocks:
        return LocalBlocks([len(p) for p in parts], n_features, load, threads)

    if len(sequences) * width <= MEMORY and scratch is None:
        arrays = [model.features(p) for p in progress(parts, total=len(parts), desc="encoding blocks")]
        return made(lambda i: arrays[i]), None
    folder = Path(tempfile.mkdtemp(prefix="kerneton-")) if scratch is None else Path(scratch) / str(key)
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{i:06d}.block" for i in range(len(parts))]
    missing = [i for i, file in enumerate(files) if not file.exists()]
    needed, free = (
        len(missing) * BLOCK * (2 * n_features if halved else width),
        shutil.disk_usage(folder).free,
    )
    if needed > free and scratch is not None:
        raise DataError(
            f"{scratch}: the features need {needed / 1e9:.3g} GB but the disk has {free / 1e9:.3g} GB left; give a folder "
            "on a larger disk, or none: features are then computed again in every pass"
        )
    try:
        if needed <= free:
            for i in progress(missing, total=len(missing), desc="encoding blocks"):
                write_packed(files[i], pack(model.features(parts[i]), halved=halved))
            return made(lambda i: read_packed(files[i]).features()), folder
    except BaseException:
        if scratch is None:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    shutil.rmtree(folder, ignore_errors=True)
    return made(lambda i: model.features(parts[i])), None
