"""A Dask cluster gives the machine of this process, with a worker that dies too."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pytest
from large_fits import data, difference, large, recognizer  # noqa: F401
from sklearn.base import clone

from kerneton import Recognizer, Search, evaluate, load, load_folder, make_actions
from kerneton.cli import main
from kerneton.exceptions import DataError, ParameterError
from kerneton.files import readers
from kerneton.files.output import write_text
from kerneton.machine import dask_client
from kerneton.recognize import cluster
from kerneton.recognize import large as fits_of_many

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of Dask, about ports and closing


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(dask_client, "PATIENCE", 1)  # where no scheduler is, none will come


def workers(n):
    return distributed.LocalCluster(
        n_workers=n, threads_per_worker=1, dashboard_address=None, silence_logs=50, memory_limit=0
    )


@pytest.fixture(scope="module")
def client():
    with workers(2) as made, distributed.Client(made) as client:
        yield client


@pytest.fixture
def local(large, data):  # noqa: F811
    """What this process computes."""
    with large.context() as patch:
        patch.setattr(fits_of_many, "active_client", lambda: None)
        return recognizer().fit(data, data.labels)


def test_equals_the_local_path(large, data, client, local):  # noqa: F811
    model = recognizer().fit(data, data.labels, client=client)
    assert difference(model, local) < 1e-5
    assert type(model) is type(local)
    active = recognizer().fit(data, data.labels)  # the active client is used without asking
    np.testing.assert_allclose(active.machine_.coef_, model.machine_.coef_, atol=1e-6)
    labels = cluster.mapped(client, type(model).predict, model, list(data), size=10)
    np.testing.assert_array_equal(np.concatenate(labels), model.predict(data))


def test_a_search_tries_its_candidates_on_the_workers(large, data, client, caplog):  # noqa: F811
    """The same accuracies, choice and machine; what cannot be computed there is left out as
    here.
    """
    cues = {name: clone(recognizer().branches[0][1]) for name in ("hands", "nobody")}
    cues["nobody"].set_params(kernel__joints=["left_hand", "no_such_joint"])
    mirroring = {"plain": {}, "mirrored": {"kernel__mirror": True}}
    search = Search(sums="all", variants=mirroring, Cs=(1.0, 10.0), penalties=(3.0,))
    model = Recognizer([*cues.items()], search=search, calibrate=True)
    with large.context() as patch:
        patch.setattr(fits_of_many, "active_client", lambda: None)
        local = clone(model).fit(data, data.labels)
        told = [
            record.getMessage() for record in caplog.records if "left out" in record.getMessage()
        ]
    caplog.clear()
    there = clone(model).fit(data, data.labels, client=client)
    assert there.trials_ == local.trials_
    assert difference(there, local) < 1e-5
    assert there.calibration_.held_out_ == local.calibration_.held_out_
    again = [record.getMessage() for record in caplog.records if "left out" in record.getMessage()]
    assert again == told
    assert "no_such_joint" in told[0]


def test_a_sum_over_more_workers_is_the_same(large, data, local):  # noqa: F811
    options = {"processes": False, "protocol": "tcp", "dashboard_address": None, "silence_logs": 50}
    with (
        distributed.LocalCluster(n_workers=4, threads_per_worker=1, **options) as made,
        distributed.Client(made) as more,
    ):
        assert difference(recognizer().fit(data, data.labels, client=more), local) < 1e-5


def test_a_worker_that_dies_is_survived(large, data, client, local):  # noqa: F811
    """Another one takes its place, also for the tests that follow."""
    reduce, passes = cluster.ClusterBlocks.reduce, []

    def killing(self, *arguments, **options):
        passes.append(1)
        if len(passes) == 2:
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        return reduce(self, *arguments, **options)

    large.setattr(cluster.ClusterBlocks, "reduce", killing)
    model = recognizer().fit(data, data.labels, client=client)
    assert len(passes) > 2
    assert difference(model, local) < 1e-5
    client.wait_for_workers(2, timeout=60)


def test_workers_of_another_version(large, data, client):  # noqa: F811
    large.setattr(dask_client.kerneton, "__version__", "99.0")
    with pytest.raises(
        ParameterError, match=r"workers need kerneton 99\.0, as here: tcp.* has \d.*; install it"
    ):
        recognizer().fit(data, data.labels, client=client)


def test_workers_without_kerneton(large, data, tmp_path):  # noqa: F811
    """A worker of its own, for which another module comes first that cannot be imported."""
    (tmp_path / "kerneton.py").write_text("raise ImportError('not installed')\n")
    with workers(0) as made, distributed.Client(made) as client:
        command = [
            sys.executable,
            "-m",
            "distributed.cli.dask_worker",
            made.scheduler_address,
            "--no-dashboard",
        ]
        environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
        with subprocess.Popen(
            [*command, "--no-nanny"], env=environment, stderr=subprocess.DEVNULL, cwd=tmp_path
        ) as process:
            try:
                client.wait_for_workers(1, timeout=60)
                told = r"workers need kerneton .* has none; install it there"
                with pytest.raises(ParameterError, match=told):
                    recognizer().fit(data, data.labels, client=client)
                on_dask = joblib.parallel_config(backend="dask", client=client)
                with on_dask, pytest.raises(ParameterError, match=told):
                    evaluate(recognizer(), data, n_jobs=-1)
            finally:
                process.terminate()


def test_splits_of_an_evaluation_run_on_the_cluster(client):
    """By joblib's backend, without a word of ours about it."""
    samples = make_actions(["wave", "bow"], n_subjects=3, n_takes=1)
    model = recognizer()
    expected = evaluate(model, samples)
    with joblib.parallel_config(backend="dask", client=client):
        report = evaluate(model, samples, n_jobs=-1)
    assert [split.predicted.tolist() for split in report.splits] == [
        split.predicted.tolist() for split in expected.splits
    ]


def test_an_address_without_a_scheduler():
    with pytest.raises(
        ParameterError, match=r"no Dask scheduler responds at 'tcp://127\.0\.0\.1:1'"
    ):
        cluster.connect("tcp://127.0.0.1:1")


@pytest.fixture
def folder(tmp_path):
    for i, sequence in enumerate(make_actions(["wave", "bow"], n_subjects=2, n_takes=1)):
        path = tmp_path / "data" / str(sequence.label) / str(sequence.subject) / f"{i}.csv"
        names = [f"{joint}_{axis}" for joint in sequence.layout.joints for axis in "xyz"]
        rows = [",".join(f"{1000 * x:.2f}" for x in frame.ravel()) for frame in sequence.joints]
        write_text(path, "\n".join([",".join(names), *rows]) + "\n")
    return tmp_path / "data"


def test_the_command_computes_on_a_cluster(client, folder, tmp_path, capsys, monkeypatch):
    """Files are read there and nowhere else; models and answers are those of this process."""
    address = client.scheduler.address
    model = tmp_path / "m.kern"
    assert main(["fit", str(folder), "-o", str(tmp_path / "here.kern"), "-q"]) == 0
    there = [str(model), str(folder), "--csv", "-"]
    with monkeypatch.context() as patch:
        patch.setattr(readers, "read", None)
        assert main(["fit", str(folder), "-o", str(model), "--scheduler", address, "-q"]) == 0
    weights = [load(path).machine_.coef_ for path in (tmp_path / "here.kern", model)]
    np.testing.assert_array_equal(*weights)
    capsys.readouterr()
    assert main(["predict", *there]) == 0
    expected = capsys.readouterr().out
    with monkeypatch.context() as patch:
        patch.setattr(readers, "read", None)
        assert main(["predict", *there, "--scheduler", address]) == 0
    assert capsys.readouterr().out == expected
    assert main(["predict", *there, "--scheduler", "tcp://127.0.0.1:1"]) == 1
    assert "no Dask scheduler responds" in capsys.readouterr().err


def test_what_is_wrong_with_files_that_workers_read(client, folder, capsys):
    broken = folder / "wave" / "broken.csv"
    broken.write_text("head_x,head_y,head_z\n1,2,x\n")
    with pytest.raises(DataError, match=r"broken\.csv") as expected:
        load_folder(folder)
    with pytest.raises(DataError) as found:
        load_folder(folder, read_all=cluster.reader(client))
    assert str(found.value) == str(expected.value)
    address = client.scheduler.address
    assert (
        main(["fit", str(folder / "nothing"), "--scheduler", address, "-o", str(folder / "m.kern")])
        == 1
    )
    assert "neither a folder nor a data set" in capsys.readouterr().err


@pytest.mark.skipif(
    not Path("/proc/self/cwd").exists(),
    reason="needs a path that means another place in another process",
)
def test_a_worker_that_does_not_see_the_files(client, folder, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(folder.parent)
    command = [
        "fit",
        "/proc/self/cwd/data",
        "--scheduler",
        client.scheduler.address,
        "-q",
        "-o",
        str(tmp_path / "m.kern"),
    ]
    assert main(command) == 1
    told = capsys.readouterr().err
    assert "csv: worker tcp://127.0.0.1:" in told
    assert "does not see this file at /proc/self/cwd/data/" in told
    assert "--read-here" in told
    assert main([*command, "--read-here"]) == 0
