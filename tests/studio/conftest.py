"""Fixtures of the studio's tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the studio's extra is not installed")
pytest.importorskip("uvicorn", reason="the studio's extra is not installed")

from studios import Command, Server, running

from kerneton import make_actions
from kerneton.files.readers import write
from kerneton.studio.server import Studio


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three actions by three people, once each: LABEL/SUBJECT/FILE."""
    root = tmp_path / "moves"
    for sequence in make_actions(["wave", "clap", "kick"], n_subjects=3, n_takes=1):
        write(root / str(sequence.label) / f"s{sequence.subject}" / f"{sequence.name}.npz", [sequence])
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
