"""Threads: BLAS runs on one thread, and ``n_jobs`` of our own threads share the work.

A BLAS thread that waits for the next product keeps a core busy. Products here are many and small,
and NumPy and SciPy each have their own BLAS: without a limit their threads compete for the cores,
and a fit takes five times as long. One BLAS thread also makes sums independent of the number of
cores.
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import scipy.linalg  # noqa: F401 (brings a BLAS of its own, which must be there to be found)
from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

from kerneton.exceptions import ParameterError

if TYPE_CHECKING:
    from kerneton.data.progress import Progress

Item = TypeVar("Item")
Result = TypeVar("Result")


class _Hold:
    """BLAS on one thread: a limit of the process, set by the first thread that enters and removed
    by the last that leaves.

    An OpenBLAS that uses OpenMP has a limit per thread instead: every thread sets and removes its
    own.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before: list[tuple[Any, int]] = []
        self._own = threading.local()
        self._known: tuple[list[Any], bool] | None = None

    def enter(self) -> None:
        depth = getattr(self._own, "depth", 0)
        self._own.depth = depth + 1
        if depth:
            return
        with self._lock:
            libraries = self._libraries()
            self._own.before = _limit([lib for lib in libraries if _per_thread(lib)])
            if self._inside == 0:
                self._before = _limit([lib for lib in libraries if not _per_thread(lib)])
            self._inside += 1

    def leave(self) -> None:
        self._own.depth -= 1
        if self._own.depth:
            return
        with self._lock:
            self._inside -= 1
            _restore(self._own.before)
            if self._inside == 0:
                _restore(self._before)

    def _libraries(self) -> list[Any]:
        """Every loaded BLAS. Finding them takes milliseconds, so it is repeated only after torch
        was imported.
        """
        torch = "torch" in sys.modules
        if self._known is None or self._known[1] != torch:
            self._known = ThreadpoolController().select(user_api="blas").lib_controllers, torch
        return self._known[0]


def _per_thread(library: Any) -> bool:
    return getattr(library, "threading_layer", None) == "openmp"


def _limit(libraries: list[Any]) -> list[tuple[Any, int]]:
    """Set each to one thread; returns the previous numbers."""
    before = [(library, library.get_num_threads()) for library in libraries]
    _restore([(library, 1) for library in libraries])
    return before


def _restore(counts: list[tuple[Any, int]]) -> None:
    for library, count in counts:
        # threadpoolctl 3.8 accepts only limits of the first thread that set one, until that thread
        # releases it.
        give_up = getattr(library, "clear_controlling_thread", None)
        if give_up is not None:
            give_up(force=True)
        library.set_num_threads(count)
        if give_up is not None:
            give_up(force=True)


_hold = _Hold()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread in this process; may be nested and entered by several threads, and
    takes microseconds.

    >>> import numpy as np
    >>> with one_blas_thread():
    ...     np.ones((2, 2)) @ np.ones((2, 2))
    array([[2., 2.],
           [2., 2.]])
    """
    _hold.enter()
    try:
        yield
    finally:
        _hold.leave()


def count_threads(n_jobs: int | None) -> int:
    """The number of threads that ``n_jobs`` means: None is one (or what ``joblib.parallel_config``
    says), -1 one per core.

    >>> count_threads(None), count_threads(3)
    (1, 3)
    """
    whole = isinstance(n_jobs, (int, np.integer)) and not isinstance(n_jobs, bool)
    if n_jobs is not None and not whole:
        raise ParameterError(f"n_jobs must be None or a whole number, got {n_jobs!r}")
    if n_jobs == 0:
        raise ParameterError("n_jobs must not be 0; None is one thread, -1 one for every core")
    return effective_n_jobs(n_jobs)


def ranges(n: int, n_parts: int) -> list[tuple[int, int]]:
    """At most ``n_parts`` ranges [first, last) of nearly equal length, which together are [0, n).

    >>> ranges(5, 2), ranges(1, 4), ranges(0, 4)
    ([(0, 2), (2, 5)], [(0, 1)], [])
    """
    n_parts = min(n_parts, n)
    return [(n * i // n_parts, n * (i + 1) // n_parts) for i in range(n_parts)]


def in_threads(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    n_threads: int,
    progress: Progress | None = None,
    desc: str = "",
) -> list[Result]:
    """``[work(item) for item in items]`` on several threads, including this one; BLAS has one
    thread meanwhile.

    The first error is raised, and work that has not begun is skipped.

    >>> in_threads(abs, [-1, 2, -3], 2)
    [1, 2, 3]
    """
    items = list(items)
    if progress is not None:
        with ticks(progress, len(items), desc) as tick:

            def told(item: Item) -> Result:
                tick()
                return work(item)

            return in_threads(told, items, n_threads)
    n_threads = max(1, min(n_threads, len(items)))
    if n_threads == 1:
        with one_blas_thread():
            return [work(item) for item in items]
    results: list[Any] = [None] * len(items)
    places, lock, stop = iter(range(len(items))), threading.Lock(), threading.Event()

    @one_blas_thread()
    def run() -> None:
        while not stop.is_set():
            with lock:
                place = next(places, None)
            if place is None:
                return
            try:
                results[place] = work(items[place])
            except BaseException:
                stop.set()
                raise

    # This thread works too: on a busy processor, a new thread may have to wait.
    with one_blas_thread(), ThreadPoolExecutor(n_threads - 1) as pool:
        try:
            others = [pool.submit(run) for _ in range(n_threads - 1)]
            run()
        finally:  # also when the user has stopped this thread between two items
            stop.set()
        for other in others:
            other.result()
    return results


@contextmanager
def ticks(progress: Progress | None, total: int | None, desc: str) -> Iterator[Callable[[], None]]:
    """A function to call when each piece of work begins, from any thread; for progress without an
    iterable.

    >>> with ticks(None, 2, "passes") as tick:
    ...     tick()
    """
    count, lock = itertools.count(), threading.Lock()
    shown = count if progress is None else iter(progress(count, total=total, desc=desc))

    def tick() -> None:
        with lock:
            next(shown)

    try:
        yield tick
    finally:
        if hasattr(shown, "close"):  # removes a bar that is not full
            shown.close()
