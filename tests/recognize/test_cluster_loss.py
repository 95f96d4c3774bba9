"""A Dask cluster whose workers or scheduler are not there, or leave: one error, in the time that is
stated.
"""

from __future__ import annotations

import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import joblib
import pytest
from large_fits import data, large, recognizer  # noqa: F401

from kerneton import Search, evaluate, make_actions
from kerneton.exceptions import DataError, ParameterError
from kerneton.machine import dask_client
from kerneton.recognize import cluster, cluster_trials

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of Dask, about ports and closing


@pytest.fixture
def made(monkeypatch):
    """A cluster in this process, whose worker has two threads: joblib runs splits for one thread
    here.
    """
    monkeypatch.setattr(dask_client, "PATIENCE", 1)
    monkeypatch.setattr(dask_client, "WORKERLESS", 0.3)
    monkeypatch.setattr(dask_client, "_LOOK", 0.1)
    options = {"processes": False, "protocol": "tcp", "dashboard_address": None, "silence_logs": 50}
    with distributed.LocalCluster(n_workers=1, threads_per_worker=2, **options) as made:
        yield made


@pytest.fixture
def client(made):
    with distributed.Client(made, timeout=1) as client:
        yield client


def without_workers(made, client):
    made.scale(0)
    while client.nthreads():
        time.sleep(0.01)


def on_call(monkeypatch, owner, name, act):
    """Before each call of a function something happens to the cluster."""
    work = getattr(owner, name)

    def acting(*arguments, **options):
        act()
        return work(*arguments, **options)

    monkeypatch.setattr(owner, name, acting)


def work(where, client, data):  # noqa: F811
    """What is being done, and the function of it before which the cluster changes."""
    if where == "predict":
        model = recognizer().fit(data[:10], data.labels[:10])
        predict = partial(cluster.mapped, client, type(model).predict, model, list(data))
        return predict, (cluster, "submitted")
    if where == "reading":
        read = cluster.reader(client)
        return lambda: list(read([Path(f"{i}.csv") for i in range(2)], {})), (cluster, "asked")
    if where == "evaluate":
        return partial(on_dask, client), (dask_client, "in_turn")
    searched = Search(variants={"plain": {}, "mirrored": {"kernel__mirror": True}})
    model = recognizer(search=searched if where == "choices" else None)
    steps = {
        "choices": (cluster_trials.ClusterTrials, "fold_grams"),
        "encoding": (cluster.ClusterBlocks, "wait"),
        "passes": (cluster.ClusterBlocks, "reduce"),
    }
    return partial(model.fit, data, data.labels, client=client), steps[where]


def on_dask(client, samples=None):
    samples = samples or make_actions(["wave", "bow"], n_subjects=2, n_takes=1)
    with joblib.parallel_config(backend="dask", client=client):
        return evaluate(recognizer(), samples, n_jobs=-1)


@pytest.mark.parametrize(
    "where", ["choices", "encoding", "passes", "reading", "predict", "evaluate"]
)
def test_workers_that_leave(where, large, data, made, client):  # noqa: F811
    ask, step = work(where, client, data)
    on_call(large, *step, partial(without_workers, made, client))
    with pytest.raises(
        ParameterError, match=r"has had no workers for 0\.3 s.*begin again"
    ) as found:
        ask()
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("where", ["choices", "passes", "reading", "predict", "evaluate"])
def test_a_scheduler_that_goes_away(where, large, data, made, client):  # noqa: F811
    ask, step = work(where, client, data)
    on_call(large, *step, made.close)
    with pytest.raises(ParameterError, match=r"the Dask cluster (stopped|has had no workers)"):
        ask()


def test_workers_that_never_come(made, client):
    without_workers(made, client)
    for ask in (partial(cluster.reader, client), partial(on_dask, client)):
        with pytest.raises(ParameterError, match=r"has had no workers for 0\.3 s"):
            ask()


def test_a_worker_that_comes_late(made, client, caplog, monkeypatch):
    monkeypatch.setattr(dask_client, "WORKERLESS", 60)
    without_workers(made, client)
    on_call(monkeypatch, dask_client.log, "warning", lambda: made.scale(1))
    cluster.reader(client)
    assert "no workers; they are waited for, 60 s at most" in caplog.text


def test_the_time_to_wait_is_that_of_distributed():
    import dask

    with dask.config.set({"distributed.scheduler.no-workers-timeout": "2 minutes"}):
        assert dask_client.patience() == 120
    assert dask_client.patience() == dask_client.WORKERLESS


def test_a_fit_that_is_a_task_itself_needs_no_other_worker(large, data, made):  # noqa: F811
    """Splits of an evaluation are such tasks: they would wait for each other."""
    with distributed.Client(made) as client:
        tasks = [client.submit(recognizer().fit, data, data.labels, pure=False) for _ in range(2)]
        assert len(client.gather(tasks, errors="raise")) == 2


@pytest.mark.parametrize(
    ("error", "kind", "told"),
    [
        (FileNotFoundError(2, "No such file or directory", "a.csv"), FileNotFoundError, "No such file.*'a.csv'"),
        (OSError(28, "No space left on device"), OSError, "No space left on device"),
        (OSError("768 requested and 0 written"), OSError, "768 requested and 0 written"),
        (DataError("joint 3 is missing"), DataError, "joint 3 is missing"),
        (ZeroDivisionError("0"), ZeroDivisionError, "0"),
    ],
)  # fmt: skip
def test_what_goes_wrong_on_a_worker_is_told_as_that(error, kind, told, client):
    with pytest.raises(kind, match=told) as found:
        cluster.mapped(client, partial(failing, error), Nobody(), ["recording"])
    assert ("on a worker of the Dask cluster" in str(found.value)) == isinstance(error, OSError)


class Nobody:
    pass


def failing(error, *_):
    raise error


def test_a_command_tells_it_in_one_sentence(made, client, tmp_path):
    """And not by what distributed logs of every connection that closes, also when the process
    ends.
    """
    without_workers(made, client)
    command = [
        sys.executable,
        "-m",
        "kerneton",
        "fit",
        str(tmp_path),
        "-o",
        str(tmp_path / "m.kern"),
    ]
    given = {"stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*command, "--scheduler", made.scheduler_address], **given) as process:
        assert "note: the Dask cluster has no workers" in process.stderr.readline()
        made.close()
        told = process.stderr.read()
    assert process.returncode == 1
    assert told.startswith("kerneton: error: the Dask cluster stopped")
    assert told.count("\n") == 1
