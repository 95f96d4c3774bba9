"""Another folder without a restart."""

from __future__ import annotations

import shutil

import pytest
from studios import running

from kerneton.exceptions import MissingDataError, ParameterError
from kerneton.studio import origin
from kerneton.studio.server import Studio

WAVE = "wave/s1/s01_wave_t1.npz"


@pytest.fixture
def other(folder, tmp_path):
    path = tmp_path / "other moves"
    shutil.copytree(folder / "clap", path / "clap")
    return path


def test_the_pages_go_on_with_the_other_folder(server, folder, other):
    server.post("annotate", id=WAVE, note="left hand")
    before = server.get("state")["version"]
    server.post("folders", folder=str(other))
    state = server.get("state")
    assert (state["folder"], state["name"]) == (str(other), "other moves")
    server.studio.library.scan()
    rows = server.get("recordings")["recordings"]
    assert {row["label"] for row in rows} == {"clap"}
    assert (state["undo"], before >= 1) == (False, True)
    server.post("folders", folder=str(folder))
    server.studio.library.scan()
    (row,) = [r for r in server.get("recordings")["recordings"] if r["id"] == WAVE]
    assert row["note"] == "left hand"
    assert server.get("folders")["recent"][:2] == [str(folder), str(other)]


def test_what_is_no_folder_changes_nothing(server, folder):
    for wrong in ("", "/no/such/folder", str(folder / WAVE), 3, "a\0b"):
        assert server.ask("/api/folders", {"folder": wrong})[0] in (400, 404)
    assert server.get("state")["folder"] == str(folder)


def test_a_folder_that_another_studio_has_open_is_refused(folder, other):
    first, second = Studio(folder, hold=True), Studio(other, hold=True)
    try:
        with pytest.raises(ParameterError, match="another studio has this folder open"):
            second.open(folder)
        assert second.library.root == other
        first.close()
        second.open(folder)
        assert second.library.root == folder
        third = Studio(other, hold=True)  # the lock on the folder before is gone
        third.close()
        second.training.state = {"running": True}
        with pytest.raises(ParameterError, match="a training is running"):
            second.open(other)
        with pytest.raises(MissingDataError):
            second.open(folder / "none")
    finally:
        second.close()


def test_a_stranger_s_folder_waits_there_too(server, folder, tmp_path):
    server.post("annotate", id=WAVE, note="left hand")
    server.studio.library.journal.sync()
    shutil.copytree(folder, tmp_path / "copy")
    server.post("folders", folder=str(tmp_path / "copy"))
    assert server.get("state")["foreign"] is not None
    assert server.ask("/api/remove", {"ids": [WAVE]})[0] == 400


def test_a_moved_folder_can_be_left(folder, other):
    with running(Studio(folder, eager=False)) as server:
        server.studio.library.scan()
        folder.rename(folder.parent / "elsewhere")
        assert server.get("state")["trouble"]
        server.post("folders", folder=str(other))
        assert server.get("state")["trouble"] is None


def test_folders_that_are_gone_are_forgotten(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        origin.remember(tmp_path / name)
    (tmp_path / "b").rmdir()
    assert origin.recent()[0] == str(tmp_path / "a")
