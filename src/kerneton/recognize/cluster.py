"""Blocks of features on the workers of a Dask cluster; only weights, scores and sums are sent.

A block is a task that reads or receives its recordings and encodes them. If a worker dies, the
block is computed again on another one, since the recordings belong to the task. Sums are computed
in a tree, eight at a time.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from kerneton.data.progress import Progress
from kerneton.exceptions import ParameterError, import_extra
from kerneton.files.readers import Content, ReadAll, read_content
from kerneton.machine import dask_client
from kerneton.machine.blocks import Work
from kerneton.machine.dask_client import asked, check_workers, ended, translated
from kerneton.parallel.threads import one_blas_thread

_BRANCHES = 8  # of the tree of sums
_FILES = 64  # read by one task
_LOGGERS = (
    "distributed",
    "distributed.client",
    "distributed.gc",
    "tornado",
    "tornado.application",
    "asyncio",
)
_TOGETHER = 8  # blocks of one task, which must all fit into the worker's memory


def active() -> Any:
    """The active Dask client, or None; also None inside a task, where workers would wait for each
    other.
    """
    from distributed import get_client, get_worker

    with suppress(ValueError):
        get_worker()
        return None
    with suppress(ValueError):
        return get_client()
    return None


def connect(address: str, *, quiet: bool = False) -> Any:
    """A client of the scheduler at an address; ``quiet`` switches off distributed's log, since our
    errors say what happened.
    """
    # so that its loggers exist
    distributed = import_extra("distributed", extra="dask", purpose="A cluster")
    for name in _LOGGERS if quiet else ():
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        return distributed.Client(address, timeout=dask_client.PATIENCE)
    except (OSError, ValueError) as error:
        raise ParameterError(f"no Dask scheduler responds at {address!r}: {error}") from error


class ClusterBlocks:
    """Blocks that are tasks on a cluster; see `kerneton.machine.blocks.Blocks`."""

    like = np.zeros(0)

    def __init__(
        self, client: Any, blocks: Sequence[Any], sizes: Sequence[int], n_features: int, dtype: Any
    ) -> None:
        self.client, self.blocks, self.ends, self.dtype = (
            client,
            list(blocks),
            np.cumsum(sizes),
            dtype,
        )
        self.shape = int(self.ends[-1]), n_features

    def wait(self, progress: Progress) -> None:
        """Wait until all blocks are encoded; raises the first error."""
        for _ in progress(
            ended(self.client, self.blocks), total=len(self.blocks), desc="encoding blocks"
        ):
            pass

    def reduce(
        self, work: Work, *columns: np.ndarray, shared: Any = None
    ) -> tuple[Any, np.ndarray]:
        starts = [0, *self.ends[:-1]]
        # As a task: scattered data is lost if its worker dies.
        common = (
            None if shared is None else submitted(self.client, _same, shared.astype(self.dtype))
        )
        groups = self._groups()
        pairs = [
            submitted(
                self.client,
                _worked,
                work,
                [self.blocks[i] for i in group],
                [[c[..., starts[i] : self.ends[i]] for c in columns] for i in group],
                common,
            )
            for group in groups
        ]
        parts = [submitted(self.client, _first, pair) for pair in pairs]
        sums = [submitted(self.client, _second, pair) for pair in pairs]
        del pairs
        while len(sums) > 1:
            sums = [
                submitted(self.client, _added, sums[i : i + _BRANCHES])
                for i in range(0, len(sums), _BRANCHES)
            ]
        last = [*sums, *parts]
        total, *found = asked(self.client, lambda: self.client.gather(last), last)
        if found[0][0] is None:
            return None, total
        placed = {
            i: part
            for group, some in zip(groups, found, strict=True)
            for i, part in zip(group, some, strict=True)
        }
        return np.concatenate([placed[i] for i in range(len(placed))], axis=-1), total

    def _groups(self) -> list[list[int]]:
        """Groups of at most eight blocks on one worker; each group is one task that adds their
        terms there.
        """
        places = asked(self.client, lambda: self.client.who_has(self.blocks))
        by_worker: dict[str, list[int]] = {}
        for i, block in enumerate(self.blocks):
            workers = places.get(block.key) or ("",)
            by_worker.setdefault(sorted(workers)[0], []).append(i)
        return [
            some[i : i + _TOGETHER]
            for some in by_worker.values()
            for i in range(0, len(some), _TOGETHER)
        ]


def encoded_on(
    client: Any, model: Any, sequences: Sequence[Any], size: int, n_features: int
) -> ClusterBlocks:
    """Features of recordings, encoded and kept by workers; `ClusterBlocks.wait` waits for them."""
    parts = [list(sequences[i : i + size]) for i in range(0, len(sequences), size)]
    fitted = submitted(client, _same, _bare(model))
    blocks = [submitted(client, _encoded, fitted, part) for part in parts]
    sizes = [len(part) for part in parts]
    return ClusterBlocks(client, blocks, sizes, n_features, model.machine_.coef_.dtype)


def reader(client: Any) -> ReadAll:
    """Read files on the workers, where they must have the same paths: ``load_folder(path,
    read_all=reader(client))``.
    """
    check_workers(client)

    def read_all(paths: Sequence[Path], options: Mapping[str, Any]) -> Iterator[Content]:
        named = [(str(path), os.path.abspath(path)) for path in paths]
        parts = [named[i : i + _FILES] for i in range(0, len(named), _FILES)]
        for task in [submitted(client, _read, part, dict(options)) for part in parts]:
            contents, worker, unseen = asked(client, task.result, [task])
            for name, place in unseen:
                if os.path.exists(place):
                    raise ParameterError(
                        f"{name}: worker {worker} does not see this file at {place}; give the workers the same folder at the "
                        "same place, or read files here and send the recordings: --read-here (in Python, load_folder without "
                        "read_all)"
                    )
            yield from contents

    return read_all


def mapped(
    client: Any,
    work: Callable[..., Any],
    model: Any,
    sequences: Sequence[Any],
    progress: Progress | None = None,
    size: int = 256,
) -> list[Any]:
    """``work(model, recordings)`` of each block of recordings, in order, on the workers."""
    check_workers(client)
    fitted = submitted(client, _same, _bare(model))
    parts = [list(sequences[i : i + size]) for i in range(0, len(sequences), size)]
    tasks = [submitted(client, work, fitted, part) for part in parts]
    ticked = progress(tasks, total=len(tasks), desc="predicting") if progress else tasks
    return [asked(client, task.result, [task]) for task in ticked]


def _bare(model: Any) -> Any:
    """A copy of a fitted recogniser without data that only this process needs."""
    import copy

    bare = copy.copy(model)
    bare.progress, bare.n_jobs = None, 1
    return bare


def submitted(client: Any, work: Callable[..., Any], *arguments: Any, workers: Any = None) -> Any:
    """Submit a task with its recordings, so that it can run again if a worker dies.

    It runs on one of ``workers`` if any are given.
    """
    where = {"workers": list(workers), "allow_other_workers": True} if workers else {}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph")
        with translated():
            return client.submit(work, *arguments, pure=False, **where)


def _read(
    named: list[tuple[str, str]], options: dict[str, Any]
) -> tuple[list[Content], str, list[tuple[str, str]]]:
    """The contents of files, this worker's address, and the files that it cannot find."""
    from distributed import get_worker

    unseen = [pair for pair in named if not os.path.exists(pair[1])]
    contents = [read_content(Path(place), options) for _, place in named]
    for i, (name, place) in enumerate(named):  # so that errors name files as the user gave them
        if (error := contents[i].error) is not None:
            told = type(error)(str(error).replace(place, name))
            contents[i] = contents[i]._replace(error=told)
    return contents, get_worker().address, unseen


def _same(value: Any) -> Any:
    return value


def _encoded(model: Any, sequences: list[Any]) -> np.ndarray:
    return model.features(sequences)


def _worked(
    work: Work, blocks: list[np.ndarray], columns: list[list[np.ndarray]], shared: Any
) -> Any:
    parts, total = [], None
    with one_blas_thread():
        for block, some in zip(blocks, columns, strict=True):
            part, term = work(block, *some, shared=shared)
            parts.append(part)
            total = term.astype(np.float64) if total is None else np.add(total, term, out=total)
    return parts, total


def _first(pair: Any) -> Any:
    return pair[0]


def _second(pair: Any) -> Any:
    return pair[1]


def _added(terms: list[np.ndarray]) -> np.ndarray:
    total = terms[0].copy()
    for term in terms[1:]:
        total += term
    return total
