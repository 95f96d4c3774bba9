"""Storage for features of many recordings on one machine: in memory, on disk or not at all; and resuming fits from disk."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import pickle
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import joblib
import numpy as np

import kerneton
from kerneton.data.progress import Progress, silent
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError, ModelFileError, ParameterError
from kerneton.files.output import lock, write_text
from kerneton.machine.blocks import Blocks, LocalBlocks
from kerneton.machine.room import free_memory
from kerneton.machine.threads import count_threads
from kerneton.recognize.branch import RUNTIME_PARAMETERS
from kerneton.recognize.packed import DamagedBlockError, FullDiskError, pack, read_packed, write_packed
from kerneton.recognize.search import Trial, fitting

log = logging.getLogger(__name__)

MEMORY = 2**30  # bytes of features that stay in memory; more go to disk
HALVE = 2**33  # bytes of features beyond which those on disk are rounded to 16 bits
_PREFIX = "kerneton-features-"
_CHOICE, _TRIALS, _SAMPLE = "choice.kern", "trials.json", "sample.features"


def fit_key(
    model: Any,
    sequences: Sequence[SkeletonSequence],
    y: np.ndarray,
    groups: Any,
    size: int,
    progress: Progress,
) -> str:
    """The name of a fit: a hash of everything that affects its choices and its blocks of ``size``, but not of runtime parameters."""
    people, labels = None if groups is None else _words(groups), _words(y)
    try:
        known = joblib.hash((kerneton.__version__, size, _settings(model), labels, people))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ParameterError(
            f"features can be kept in a folder only for a recogniser whose parameters can be written down: {error}"
        ) from error
    found = hashlib.blake2b(known.encode(), digest_size=16)
    layouts: dict[int, str] = {}
    for s in progress(sequences, total=len(sequences), desc="comparing recordings"):
        if id(s.layout) not in layouts:
            layouts[id(s.layout)] = repr(s.layout)
        found.update(repr((s.joints.shape, s.joints.dtype.str, s.fps, layouts[id(s.layout)])).encode())
        for array in (s.joints, np.zeros(0) if s.confidence is None else s.confidence):
            found.update(np.ascontiguousarray(array).data)
            found.update(b"|")
    return found.hexdigest()


def _words(labels: Any) -> tuple[str, list[str]]:
    """Labels or subjects as text, and their kind: numbers are sorted otherwise than their digits."""
    values = np.asarray(labels).tolist()
    return np.asarray(values).dtype.kind, [str(value) for value in values]


def _settings(model: Any) -> list[Any]:
    """Parameters of a recogniser and its parts; an object is represented by its class, since its parameters are listed separately."""
    passing = {*RUNTIME_PARAMETERS, "progress", "branches"}
    named = {k: v for k, v in model.get_params().items() if k.rpartition("__")[2] not in passing}
    plain = {k: type(v).__qualname__ if hasattr(v, "get_params") else v for k, v in named.items()}
    return [[name for name, _ in model.branches], sorted(plain), [plain[k] for k in sorted(plain)]]


def keep_choice(model: Any, features: np.ndarray, folder: Path) -> None:
    """Write the choices and learned values of a fit on a sample, and the features (m, d) of the sample."""
    write_packed(folder / _SAMPLE, pack(features, halved=False))
    trials = getattr(model, "trials_", [])
    chosen = [trials.index(trial) for trial in getattr(model, "chosen_", [])]
    write_text(
        folder / _TRIALS, json.dumps({"trials": [asdict(t) for t in trials], "chosen": chosen}, default=float)
    )
    with suppress(ParameterError):  # a model that cannot be saved is chosen again
        model.save(folder / _CHOICE)


def kept_choice(model: Any, sample: Sequence[SkeletonSequence], y: np.ndarray, folder: Path) -> Any:
    """Features (m, d) of the sample; restores the recogniser fitted on it. None if it must be fitted (again)."""
    from kerneton.recognize.model_reader import load

    own = [type(v) for v in model.get_params().values() if hasattr(v, "get_params")]
    try:
        learnt = load(folder / _CHOICE, classes=own)
        told = json.loads((folder / _TRIALS).read_text("utf-8"))
        trials = [_trial(fields) for fields in told["trials"]]
        chosen = [trials[i] for i in told["chosen"]]
        features = read_packed(folder / _SAMPLE).features()
    except (OSError, ModelFileError, DamagedBlockError, ValueError, TypeError, LookupError):
        return None
    branches, search = fitting(model, sample)
    for name, branch in learnt.branches_.items():
        given = branches[name].kernel.get_params(deep=False)
        branch.run_on(**{k: v for k, v in given.items() if k in RUNTIME_PARAMETERS}).run_on(**model._where())
    model.__dict__ |= {k: v for k, v in vars(learnt).items() if k.endswith("_") and k != "training_"}
    model.classes_, model.kept_ = np.unique(y), None
    if search is not None:
        model.trials_, model.chosen_, model.search_ = trials, chosen, search
    return features


def _trial(fields: dict[str, Any]) -> Trial:
    given: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()}
    return Trial(**given)


@contextmanager
def locked(folder: Path, *, trusted: bool = True) -> Iterator[None]:
    """Lock a folder against other fits; ``trusted`` file systems may not support locks."""
    if os.name == "nt":  # a system on which folders cannot be locked
        if not trusted:
            raise DataError(f"{folder}: cannot be locked on this system")
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if not lock(descriptor, trusted=trusted):
            raise DataError(
                f"{folder}: another fit uses this folder; wait until it has ended, or name another one"
            )
        yield
    finally:
        os.close(descriptor)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder that is removed at the end; leftovers of killed fits are removed first."""
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError, DataError), locked(left, trusted=False):
            shutil.rmtree(left, ignore_errors=True)
    made = Path(tempfile.mkdtemp(prefix="kerneton-"))
    with locked(made):
        folder = made.rename(made.with_name(_PREFIX + made.name.removeprefix("kerneton-")))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def local_blocks(
    model: Any, sequences: Sequence[SkeletonSequence], scratch: Path | None, size: int, until: ExitStack
) -> Blocks:
    """Blocks of ``size`` recordings in memory, or on disk if there are many; computed again in every pass if that is faster or the disk is
    too small. They are kept in the folder ``scratch``, or in a temporary folder until the end of ``until``.
    """
    parts = [sequences[i : i + size] for i in range(0, len(sequences), size)]
    progress, first = model.progress or silent, model.features(sequences[:1])
    n_features, whole = first.shape[1], len(sequences) * first.nbytes
    halved = whole > HALVE

    def made(load: Callable[[int], np.ndarray], n_threads: int = count_threads(model.n_jobs)) -> Blocks:
        return LocalBlocks([len(p) for p in parts], n_features, load, n_threads)

    if whole <= MEMORY and scratch is None:
        arrays = [model.features(p) for p in progress(parts, total=len(parts), desc="encoding blocks")]
        return made(lambda i: arrays[i])
    disk = _Disk(lambda i: pack(model.features(parts[i]), halved=halved), len(parts))
    disk.fill(scratch, 2 * whole // first.itemsize if halved else whole, progress, until)
    # Blocks that are computed in every pass use all threads, one block after the other.
    return made(disk.load) if len(disk.files) == len(parts) else made(disk.load, 1)


class _Disk:
    """Blocks in files, as long as it is faster and there is space; ``made(i)`` computes the others in every pass, with the same result."""

    def __init__(self, made: Callable[[int], Any], n_blocks: int) -> None:
        self.made, self.n_blocks = made, n_blocks
        self.files: dict[int, Path] = {}  # of existing blocks
        self.old: set[int] = set()  # blocks of an earlier fit that were not read yet

    def fill(self, scratch: Path | None, whole: int, progress: Progress, until: ExitStack) -> None:
        """Write the missing blocks; ``whole`` is the size of all blocks in bytes."""
        place = Path(tempfile.gettempdir()) if scratch is None else scratch
        files = [] if scratch is None else self._files(scratch)
        self.old = {i for i, file in enumerate(files) if file.exists()}
        missing = [i for i in range(self.n_blocks) if i not in self.old]
        needed, free = whole * len(missing) // self.n_blocks, shutil.disk_usage(place).free
        if needed > free and scratch is None:
            return _tell_room(place, whole, f"has {free / 1e9:.3g} GB left")
        if needed > free:
            raise DataError(
                f"{place.parent}: the features need {needed / 1e9:.3g} GB but the disk has {free / 1e9:.3g} GB left; "
                "give a folder on a larger disk, or none: features are then computed again in every pass"
            )
        files = files or self._files(until.enter_context(temporary_folder()))
        self.files = {i: files[i] for i in self.old}
        for i in progress(missing, total=len(missing), desc="encoding blocks"):
            start = time.perf_counter()
            block = self.made(i)
            seconds = time.perf_counter() - start
            try:
                write_packed(files[i], block)
            except FullDiskError:
                if scratch is not None:
                    raise
                return _tell_room(place, whole, "is full")
            if scratch is None and i == 0 and seconds_to_read(files[0], whole) > seconds:
                return None
            self.files[i] = files[i]
        return None

    def load(self, i: int) -> np.ndarray:
        """Features of a block."""
        if i not in self.files:
            return self.made(i).features()
        try:
            return read_packed(self.files[i]).features()
        except DamagedBlockError:
            if i not in self.old:  # valid earlier in this fit: changed by another program, or a failing disk
                raise
            log.warning("%s: the block was changed after it was written; it is computed again", self.files[i])
            write_packed(self.files[i], self.made(i))
            return read_packed(self.files[i]).features()
        finally:
            self.old.discard(i)

    def _files(self, folder: Path) -> list[Path]:
        return [folder / f"{i:06d}.block" for i in range(self.n_blocks)]


def seconds_to_read(file: Path, whole: int) -> float:
    """Seconds to read a block, from the disk itself if memory cannot cache ``whole`` bytes."""
    if whole > (free_memory() or 0) / 2 and hasattr(os, "posix_fadvise"):
        with open(file, "rb") as stream:
            os.fsync(stream.fileno())
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    start = time.perf_counter()
    read_packed(file).features()
    return time.perf_counter() - start


def _tell_room(place: Path, whole: int, state: str) -> None:
    log.warning(
        "%s %s, the features need %.3g GB: those without room are computed again in every pass, which takes longer; "
        "name a scratch folder on a larger disk: --scratch FOLDER",
        *(place, state, whole / 1e9),
    )
