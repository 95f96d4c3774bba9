"""Requests to a Dask cluster: every wait ends with a result or with one clear error."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from functools import partial
from threading import Thread
from typing import Any

import kerneton
from kerneton.data.notes import logger
from kerneton.exceptions import KernetonError, ParameterError

PATIENCE = 10  # seconds in which a scheduler must respond
WORKERLESS = 60  # seconds that a cluster may have no workers if distributed's settings do not say
_LOOK = 1.0  # seconds between two checks of the workers
_END = object()

log = logger(__name__)


def check_workers(client: Any) -> None:
    """Check that every worker has this version of kerneton; waits for the first worker."""
    if not _has_workers(client):
        with translated():  # an adaptive cluster starts workers only for tasks
            probe = client.submit(int, pure=False)
        asked(client, probe.result, [probe])
    # The function must not need kerneton: a worker without it could not even unpickle it.
    question = "__import__('kerneton').__version__"
    found = asked(client, lambda: client.run(eval, question, on_error="return"))
    wrong = [f"{worker} {_has(it)}" for worker, it in found.items() if it != kerneton.__version__]
    if wrong:
        raise ParameterError(
            f"workers need kerneton {kerneton.__version__}, as here: {'; '.join(sorted(wrong)[:5])}; install it there"
        )


def _has(found: Any) -> str:
    if isinstance(found, OSError):
        return f"does not respond ({found})"
    return f"has {found if isinstance(found, str) else 'none'}"


def asked(client: Any, ask: Callable[[], Any], tasks: Sequence[Any] | None = ()) -> Any:
    """The result from the cluster; an error if the cluster has gone, or has had no workers for too
    long.

    An error of one of the ``tasks`` is raised unchanged; None if the tasks are not known.
    """
    answer: Future[Any] = Future()
    # In a daemon thread: a cluster that has gone may never answer.
    Thread(target=_answer, args=(answer, ask), daemon=True).start()
    seen, told = time.monotonic(), False
    while not wait([answer], _LOOK).done:
        if _has_workers(client):
            seen, told = time.monotonic(), False
        elif time.monotonic() - seen > (limit := patience()):
            raise ParameterError(
                f"the Dask cluster has had no workers for {limit:g} s; features in its memory are lost, files are kept. "
                "Start workers and begin again (distributed's setting scheduler.no-workers-timeout is the time to wait)"
            )
        elif not told:
            log.warning("the Dask cluster has no workers; they are waited for, %g s at most", limit)
            told = True
    with translated(tasks):
        return answer.result()


def in_turn(client: Any, results: Iterator[Any]) -> Iterator[Any]:
    """The items of an iterator; each is waited for as in `asked`."""
    while (found := asked(client, partial(next, results, _END), None)) is not _END:
        yield found


def ended(client: Any, tasks: Sequence[Any]) -> Iterator[Any]:
    """The tasks in the order in which they end; a failed task raises its error."""
    from distributed import as_completed

    ready = as_completed(tasks)
    for _ in tasks:
        task = asked(client, partial(next, ready))
        if task.status != "finished":
            asked(client, task.result, [task])
        yield task


@contextmanager
def translated(tasks: Sequence[Any] | None = ()) -> Iterator[None]:
    """Turn errors that mean that the cluster has gone into one sentence; those of ``tasks`` (None:
    any task) stay unchanged.
    """
    try:
        yield
    except KernetonError:
        raise
    except Exception as error:
        kind = type(error)
        own = tasks is None or any(task.status == "error" for task in tasks)
        cancelled = "Cancelled" in kind.__name__
        ours = cancelled or kind.__module__.startswith("distributed")
        if ours or (isinstance(error, (OSError, TimeoutError)) and not own):
            why = "" if cancelled else f" ({kind.__name__}: {error})"
            raise ParameterError(
                f"the Dask cluster stopped or lost its workers{why}; features in its memory are lost, files are kept. "
                "Start the cluster and begin again"
            ) from error
        if isinstance(error, OSError):  # a missing file or a full disk on the worker
            where = "on a worker of the Dask cluster"
            if error.errno is None:
                raise OSError(f"{error} ({where})") from error
            raise OSError(error.errno, f"{error.strerror} ({where})", error.filename) from error
        raise


def patience() -> float:
    """Seconds that a cluster may have no workers: distributed's own setting, if there is one."""
    import dask

    given = dask.config.get("distributed.scheduler.no-workers-timeout", None)
    return WORKERLESS if given is None else float(dask.utils.parse_timedelta(given))


def _has_workers(client: Any) -> bool:
    with suppress(Exception):  # a scheduler that does not respond has no settings
        return bool(client.sync(client.scheduler.ncores, callback_timeout=PATIENCE))
    return False


def _answer(answer: Future[Any], ask: Callable[[], Any]) -> None:
    try:
        answer.set_result(ask())
    except BaseException as error:
        answer.set_exception(error)
