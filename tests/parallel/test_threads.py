import threading

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits
from walks import walks

from kerneton import SCK, LinearSVM
from kerneton.exceptions import ParameterError
from kerneton.machine import solver
from kerneton.machine.products import gram
from kerneton.parallel.threads import count_threads, in_threads, one_blas_thread

CONTROLLER = ThreadpoolController()


def blas_threads():
    """Threads that each loaded BLAS would use now."""
    return {lib["num_threads"] for lib in CONTROLLER.info() if lib["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def three_blas_threads():
    with threadpool_limits(3, user_api="blas"):
        if blas_threads() != {3}:
            pytest.skip("this BLAS knows one thread only")
        yield
        assert blas_threads() == {3}  # whatever happened, the user's setting is back


def test_held_and_given_back():
    with one_blas_thread():
        assert blas_threads() == {1}
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == {3}


def test_given_back_after_an_error():
    with pytest.raises(KeyError), one_blas_thread():
        raise KeyError
    assert blas_threads() == {3}


def test_the_last_of_several_threads_gives_back():
    """Two threads that enter and leave crosswise: A enters, B enters, A leaves, B leaves."""
    entered, leave = threading.Event(), threading.Event()

    def other():
        with one_blas_thread():
            entered.set()
            leave.wait(60)

    thread = threading.Thread(target=other)
    with one_blas_thread():
        thread.start()
        assert entered.wait(60)
    assert blas_threads() == {1}
    leave.set()
    thread.join(60)
    assert blas_threads() == {3}


def test_changes_between_two_uses_are_kept():
    with one_blas_thread():
        pass
    with threadpool_limits(2, user_api="blas"):
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {2}


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_work_is_shared_and_stays_in_order(n_threads):
    seen = []

    def work(x):
        seen.append((threading.get_ident(), frozenset(blas_threads())))
        return x * x

    assert in_threads(work, iter(range(20)), n_threads) == [x * x for x in range(20)]
    assert len({ident for ident, _ in seen}) <= n_threads
    assert {threads for _, threads in seen} == {frozenset({1})}


def test_this_thread_works_too():
    """Three tasks that wait for each other end on three threads, of which this one is one."""
    together = threading.Barrier(3)

    def work(_):
        together.wait(60)
        return threading.current_thread() is threading.main_thread()

    assert sorted(in_threads(work, range(3), 3)) == [False, False, True]


@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_error_stops_what_has_not_begun(n_threads):
    done = []

    def work(x):
        if x == 2:
            raise KeyError(x)
        done.append(x)

    with pytest.raises(KeyError):
        in_threads(work, range(10_000), n_threads)
    assert len(done) < 10_000


def test_nothing_to_do():
    assert in_threads(abs, [], 4) == []


def test_count():
    assert count_threads(-1) >= 1
    with pytest.raises(ParameterError, match="n_jobs must not be 0"):
        count_threads(0)


def test_solvers_use_one_blas_thread(monkeypatch):
    seen = set()
    real = solver.newton
    monkeypatch.setattr(
        solver, "newton", lambda *given: seen.update(blas_threads()) or real(*given)
    )
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 30)), np.arange(12) % 3
    LinearSVM().fit(X, y)
    assert seen == {1}
    seen.clear()
    solver.solve_gram(gram(X), np.where(y == 0, 1.0, -1.0)[None], [1.0])
    assert seen == {1}


def test_features_do_not_depend_on_threads():
    X = walks((4, 9, 6, 7), 3)
    one = SCK(batch_size=1).fit_transform(X)
    np.testing.assert_array_equal(SCK(batch_size=1, n_jobs=3).fit_transform(X), one)
