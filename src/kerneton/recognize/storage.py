"""Storage for features of many recordings on one machine: in memory, on disk or not at all; and
resuming fits from disk.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import pickle
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np

import kerneton
from kerneton.data.notes import logger
from kerneton.data.progress import Progress, silent
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError, ModelFileError, ParameterError
from kerneton.files.output import lock, write_text
from kerneton.kernels.engine import find_gpu
from kerneton.machine.blocks import Blocks, LocalBlocks
from kerneton.parallel.memory import free_memory
from kerneton.parallel.threads import count_threads
from kerneton.recognize.branch import RUNTIME_PARAMETERS
from kerneton.recognize.search import Trial, fitting
from kerneton.recognize.training import Data, Learned

log = logger(__name__)

MEMORY = 2**30  # bytes of features that stay in memory; more go to disk
HALVE = 2**33  # bytes of features beyond which those on disk are rounded to 16 bits
_ON_GPU = 32  # blocks that a GPU encodes at once
_LARGEST = 32767
# words of eight bytes; a prime, so that no multiple is a page of memory or a sector of a disk
_LANES = 1021
_DIGEST = 16  # bytes
_LONGEST = 100  # bytes of the first line: types of numbers and factors, rows, columns
_KINDS = {kind.encode(): np.dtype(kind) for kind in ("<i2", "<f4", "<f8")}
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
    """The name of a fit: a hash of everything that affects its choices and its blocks of ``size``,
    but not of runtime parameters.
    """
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
        found.update(
            repr((s.joints.shape, s.joints.dtype.str, s.fps, layouts[id(s.layout)])).encode()
        )
        for array in (s.joints, np.zeros(0) if s.confidence is None else s.confidence):
            found.update(np.ascontiguousarray(array).data)
            found.update(b"|")
    return found.hexdigest()


def _words(labels: Any) -> tuple[str, list[str]]:
    """Labels or subjects as text, and their kind: numbers are sorted otherwise than their
    digits.
    """
    values = np.asarray(labels).tolist()
    return np.asarray(values).dtype.kind, [str(value) for value in values]


def _settings(model: Any) -> list[Any]:
    """Parameters of a recogniser and its parts; an object is represented by its class, since its
    parameters are listed separately.
    """
    passing = {*RUNTIME_PARAMETERS, "progress", "branches"}
    named = {k: v for k, v in model.get_params().items() if k.rpartition("__")[2] not in passing}
    plain = {k: type(v).__qualname__ if hasattr(v, "get_params") else v for k, v in named.items()}
    return [[name for name, _ in model.branches], sorted(plain), [plain[k] for k in sorted(plain)]]


def keep_choice(model: Any, features: np.ndarray, folder: Path) -> None:
    """Write what a recogniser learned from a sample, and the features (m, d) of the sample."""
    write_packed(folder / _SAMPLE, pack(features, halved=False))
    learned = model.learned_
    chosen = [learned.trials.index(trial) for trial in learned.chosen]
    trials = [asdict(trial) for trial in learned.trials]
    write_text(folder / _TRIALS, json.dumps({"trials": trials, "chosen": chosen}, default=float))
    with suppress(ParameterError):  # a model that cannot be saved is chosen again
        model.save(folder / _CHOICE)


def kept_choice(model: Any, sample: Data, folder: Path) -> tuple[Learned, np.ndarray] | None:
    """What was learned from the sample, and its features (m, d); None if it must be learned
    (again).
    """
    from kerneton.recognize.model_reader import load

    own = [type(v) for v in model.get_params().values() if hasattr(v, "get_params")]
    try:
        learned = load(folder / _CHOICE, classes=own).learned_
        told = json.loads((folder / _TRIALS).read_text("utf-8"))
        trials = [_trial(fields) for fields in told["trials"]]
        chosen = [trials[i] for i in told["chosen"]]
        features = read_packed(folder / _SAMPLE).features()
    except (OSError, ModelFileError, DamagedBlockError, ValueError, TypeError, LookupError):
        return None
    branches, search = fitting(model, sample.sequences)
    for name, branch in learned.branches.items():
        given = branches[name].kernel.get_params(deep=False)
        branch.run_on(**{k: v for k, v in given.items() if k in RUNTIME_PARAMETERS})
        branch.run_on(n_jobs=model.n_jobs, device=model.device)
    found = replace(learned, classes=sample.classes, trials=trials, chosen=chosen, search=search)
    return found, features


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
    model: Any,
    sequences: Sequence[SkeletonSequence],
    scratch: Path | None,
    size: int,
    until: ExitStack,
) -> Blocks:
    """Blocks of ``size`` recordings in memory, or on disk if there are many; computed again in
    every pass if that is faster or the disk is too small. They are kept in the folder ``scratch``,
    or in a temporary folder until the end of ``until``.
    """
    parts = [sequences[i : i + size] for i in range(0, len(sequences), size)]
    progress, first = model.progress or silent, model.features(sequences[:1])
    n_features, whole = first.shape[1], len(sequences) * first.nbytes
    halved = whole > HALVE

    def made(
        load: Callable[[int], np.ndarray], n_threads: int = count_threads(model.n_jobs)
    ) -> Blocks:
        return LocalBlocks([len(p) for p in parts], n_features, load, n_threads)

    # What a GPU computes faster than a disk reads stays in memory as long as there is room.
    gpu = find_gpu(model.device) is not None
    room = max(MEMORY, (free_memory() or 0) // 2) if gpu else MEMORY
    if whole <= room and scratch is None:
        at_once = size * (_ON_GPU if gpu else 1)
        arrays: list[np.ndarray] = []
        starts = range(0, len(sequences), at_once)
        for start in progress(starts, total=len(starts), desc="encoding blocks"):
            X = model.features(sequences[start : start + at_once])
            arrays += [X[i : i + size] for i in range(0, len(X), size)]
        return made(lambda i: arrays[i])
    disk = _Disk(lambda i: pack(model.features(parts[i]), halved=halved), len(parts))
    disk.fill(scratch, 2 * whole // first.itemsize if halved else whole, progress, until)
    # Blocks that are computed in every pass use all threads, one block after the other.
    return made(disk.load) if len(disk.files) == len(parts) else made(disk.load, 1)


class _Disk:
    """Blocks in files, as long as it is faster and there is space; ``made(i)`` computes the others
    in every pass, with the same result.
    """

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
            _tell_room(place, whole, f"has {free / 1e9:.3g} GB left")
            return
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
                _tell_room(place, whole, "is full")
                return
            if scratch is None and i == 0 and seconds_to_read(files[0], whole) > seconds:
                return
            self.files[i] = files[i]

    def load(self, i: int) -> np.ndarray:
        """Features of a block."""
        if i not in self.files:
            return self.made(i).features()
        try:
            return read_packed(self.files[i]).features()
        except DamagedBlockError:
            # valid earlier in this fit: changed by another program, or a failing disk
            if i not in self.old:
                raise
            log.warning(
                "%s: the block was changed after it was written; it is computed again",
                self.files[i],
            )
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


class Packed(NamedTuple):
    """Numbers (m, d), 16-bit integers or the features themselves, and the factor of each row (m,
    1).
    """

    numbers: np.ndarray
    factors: np.ndarray

    def features(self) -> np.ndarray:
        """(m, d)."""
        if self.numbers.dtype != np.int16:
            return self.numbers
        out = self.numbers.astype(self.factors.dtype)
        out *= self.factors
        return out


def pack(features: np.ndarray, *, halved: bool = True) -> Packed:
    """Features (m, d); ``halved`` rounds them to 16 bits, with an error of at most 1/65,534 of the
    row's largest value.

    >>> pack(np.array([[1.0, -0.5], [0.0, 0.0]], dtype=np.float32)).features().round(4).tolist()
    [[1.0, -0.5], [0.0, 0.0]]
    """
    largest = np.maximum(np.abs(features).max(axis=1, keepdims=True), features.dtype.type(1e-30))
    if not halved:
        return Packed(np.ascontiguousarray(features), largest)
    numbers = np.empty(features.shape, np.int16)
    for row, x, factor in zip(numbers, features, _LARGEST / largest, strict=True):
        np.rint(x * factor, out=row, casting="unsafe")
    return Packed(numbers, largest / features.dtype.type(_LARGEST))


class DamagedBlockError(DataError):
    """A block that was changed or belongs elsewhere."""


class FullDiskError(DataError):
    """The disk has no space for a block."""


def write_packed(path: Path, block: Packed) -> None:
    """Write a block completely or not at all."""
    part = path.with_suffix(".part")
    arrays: list[Any] = [np.ascontiguousarray(array) for array in block]
    head = f"{block.numbers.dtype.str} {block.factors.dtype.str} {len(arrays[0])} {arrays[0].shape[1]}\n".encode()
    try:
        with open(part, "wb") as file:
            for content in (head, *(array.data for array in arrays), _checksum(path, head, block)):
                file.write(content)
        os.replace(part, path)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise FullDiskError(
                f"{path.parent}: the disk is full; make room and fit again with the same scratch folder, "
                "whose blocks are kept, or name a folder on a larger disk"
            ) from error
        raise
    finally:  # also after Ctrl-C
        part.unlink(missing_ok=True)


def read_packed(path: Path) -> Packed:
    """Read the block with this name; a block that was changed or belongs elsewhere is refused."""
    try:
        with open(path, "rb") as file:
            head = file.readline(_LONGEST)
            *kinds, rows, columns = head.split()
            kind, of_factors = (_KINDS[found] for found in kinds)
            m, d = int(rows), int(columns)
            size = len(head) + m * d * kind.itemsize + m * of_factors.itemsize + _DIGEST
            if min(m, d) > 0 and size == os.fstat(file.fileno()).st_size:
                numbers = np.fromfile(file, kind, m * d).reshape(m, d)
                block = Packed(numbers, np.fromfile(file, of_factors, m).reshape(m, 1))
                if file.read() == _checksum(path, head, block):
                    return block
    except FileNotFoundError as error:
        raise DamagedBlockError(f"{path}: the block is missing; fit again") from error
    except (OSError, ValueError, KeyError):
        pass
    raise DamagedBlockError(
        f"{path}: the block was changed after it was written; fit again, and it is computed again"
    )


def _checksum(path: Path, head: bytes, block: Packed) -> bytes:
    """The checksum of a block, its name and its folder. Nearly as fast as memory: numbers that are
    `_LANES` apart are combined by XOR.
    """
    data = np.ascontiguousarray(block.numbers).reshape(-1).view(np.uint8)
    whole = len(data) // (8 * _LANES) * (8 * _LANES)
    lanes = np.bitwise_xor.reduce(
        data[:whole].view(np.uint64).reshape(-1, _LANES), axis=0, initial=0
    )
    found = hashlib.blake2b(f"{path.parent.name}/{path.name}\n".encode(), digest_size=_DIGEST)
    for part in (head, lanes.tobytes(), data[whole:].tobytes(), block.factors.tobytes()):
        found.update(part)
    return found.digest()
