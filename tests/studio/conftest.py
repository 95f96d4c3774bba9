"""Fixtures of the studio's tests."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the studio's extra is not installed")
pytest.importorskip("uvicorn", reason="the studio's extra is not installed")

from studios import Command, Server, running, train

from kerneton import make_actions
from kerneton.files.readers import write
from kerneton.studio.server import Studio


@pytest.fixture(scope="session", autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The user's state folder, for these tests alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        patch.setenv("LOCALAPPDATA", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three actions by three people, once each: LABEL/SUBJECT/FILE."""
    root = tmp_path / "moves"
    for sequence in make_actions(["wave", "clap", "kick"], n_subjects=3, n_takes=1):
        write(
            [sequence], root / str(sequence.label) / f"s{sequence.subject}" / f"{sequence.name}.npz"
        )
    return root


@pytest.fixture
def server(folder: Path) -> Iterator[Server]:
    studio = Studio(folder, max_upload=1 << 20, eager=False)
    studio.library.scan()
    with running(studio) as found:
        yield found


@pytest.fixture
def command(folder: Path) -> Iterator[Command]:
    found = Command(folder)
    yield found
    found.close()


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Server]:
    """A studio on a folder that is not there yet."""
    with running(Studio(tmp_path / "studio", eager=False)) as found:
        yield found


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The generated actions with a model, for tests that leave them as they were; trained once for
    all processes.
    """
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "trained"
    news = shared / "told.json"
    try:
        shared.mkdir()
    except FileExistsError:
        while not news.exists():
            time.sleep(0.1)
    else:
        told: list[object] = []
        try:
            with running(Studio(shared / "demo", eager=False)) as first:
                first.post("demo")
                told = train(first)
        finally:
            news.with_suffix(".part").write_text(json.dumps(told))
            news.with_suffix(".part").rename(news)
    own = tmp_path_factory.mktemp("trained") / "demo"
    shutil.copytree(shared / "demo", own)
    studio = Studio(own, eager=False)
    studio.library.take_over()  # it is a copy
    with running(studio) as found:
        found.told = json.loads(news.read_text())
        yield found
