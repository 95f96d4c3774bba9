"""Folders from strangers, opened by the studio: nothing outside is touched, nothing inside is
lost.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from studios import running

from kerneton.studio.library import Library
from kerneton.studio.server import Studio

WAVE = "wave/s1/s01_wave_t1.npz"
LONG = "__studio__/unlabelled/s1/day.npz"


@pytest.fixture
def stranger(folder: Path) -> Path:
    """A folder with a long recording, as an archive may bring it; beside it files of the user."""
    (folder / LONG).parent.mkdir(parents=True)
    shutil.copy(folder / WAVE, folder / LONG)
    victim = folder.parent / "victim"
    (victim / "empty").mkdir(parents=True)
    (victim / "thesis.txt").write_text("years of work")
    return folder


def use(folder: Path) -> Library:
    """What a user does with it: look, take over where that is asked for, undo, change."""
    library = Library(folder)
    library.scan()
    if getattr(library, "foreign", None) is not None:
        library.take_over()
    library.scan()
    library.undo()
    return library


def unharmed(folder: Path) -> bool:
    victim = folder.parent / "victim"
    names = sorted(p.relative_to(victim).as_posix() for p in victim.rglob("*"))
    return (
        names == ["empty", "thesis.txt"] and (victim / "thesis.txt").read_text() == "years of work"
    )


def journal(folder: Path, *steps: object, number: int = 1) -> None:
    line = {"n": number, "do": {"what": "x", "steps": steps}}
    (folder / "__studio__" / "journal.jsonl").write_text(json.dumps(line) + "\n")


@pytest.mark.parametrize(
    "path", ["../victim/thesis.txt", "{victim}/thesis.txt", "../victim/empty/x@1-2.npz"]
)
@pytest.mark.parametrize("name", ["clips.txt", "clips.json"])
def test_a_list_of_segments_removes_nothing_outside(stranger, path, name):
    path = path.format(victim=stranger.parent / "victim")
    text = f"{path}\n" if name == "clips.txt" else json.dumps([path])
    (stranger / "__studio__" / name).write_text(text)
    use(stranger)
    assert unharmed(stranger)


def test_a_list_of_segments_removes_none_of_the_recordings(stranger):
    shutil.copy(stranger / WAVE, stranger / "wave" / "s1" / "day@0-10.npz")
    for name in ("clips.txt", "clips.json"):
        (stranger / "__studio__" / name).write_text(json.dumps(["wave/s1/day@0-10.npz"]) if "json" in name else "wave/s1/day@0-10.npz\n")  # fmt: skip
    use(stranger)
    assert (stranger / "wave" / "s1" / "day@0-10.npz").exists()


@pytest.mark.parametrize(
    "move",
    [
        [WAVE, "../victim/planted.npz"],
        [WAVE, "{victim}/planted.npz"],
        ["../victim/thesis.txt", "wave/s1/stolen.txt"],
        ["../victim/empty", "wave/stolen"],
    ],
)
def test_a_journal_moves_nothing_out_or_in(stranger, move):
    journal(stranger, {"move": [path.format(victim=stranger.parent / "victim") for path in move]})
    Library(stranger).scan()
    assert unharmed(stranger)
    library = use(stranger)
    assert unharmed(stranger)
    assert (stranger / WAVE).exists()
    assert WAVE in library.records


@pytest.mark.parametrize("field", ["segments", "note"])
def test_a_label_of_a_segment_writes_nothing_outside(stranger, field):
    value = [{"start": 0, "stop": 10, "label": "../victim"}] if field == "segments" else "kept"
    edits = {
        LONG: {"segments": [{"start": 0, "stop": 10, "label": "../victim"}]},
        WAVE: {"note": "kept"},
    }
    (stranger / "__studio__" / "edits.json").write_text(json.dumps({"number": 0, "edits": edits}))
    if field == "segments":
        journal(stranger, {"edit": [LONG, "segments", None, value]})
    use(stranger)
    assert unharmed(stranger)


@pytest.mark.parametrize(
    "name", ["lock", "journal.jsonl", "edits.json", "clips.txt", "clips.json", "id"]
)
def test_links_in_the_studio_s_own_files_are_not_followed(stranger, name):
    (stranger / "__studio__" / name).symlink_to("../../victim/thesis.txt")
    command = subprocess.Popen(
        [sys.executable, "-m", "kerneton", "studio", str(stranger), "--no-browser"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert command.stdout is not None
    command.stdout.readline()  # it listens, and has opened all it needs
    command.terminate()
    command.communicate(timeout=20)
    assert unharmed(stranger)
    library = use(stranger)
    library.assign([WAVE], label="greet")
    assert unharmed(stranger)


def test_a_studio_folder_that_is_a_link_is_refused(stranger):
    shutil.move(stranger / "__studio__", stranger.parent / "elsewhere")
    (stranger / "__studio__").symlink_to(stranger.parent / "elsewhere")
    before = sorted(os.listdir(stranger.parent / "elsewhere"))
    with pytest.raises(Exception, match="link"):
        Library(stranger)
    assert sorted(os.listdir(stranger.parent / "elsewhere")) == before


@pytest.mark.parametrize("name", ["incoming", "trash", "originals", "unlabelled"])
def test_links_in_place_of_folders_are_not_followed(stranger, name):
    shutil.rmtree(stranger / "__studio__" / name, ignore_errors=True)
    (stranger / "__studio__" / name).symlink_to("../../victim")
    with running(Studio(stranger, eager=False)) as server:
        server.ask("/api/takeover", {})
        server.studio.library.scan()
        server.ask(
            "/api/uploads/batch0001?path=a.csv",
            b"head_x,head_y,head_z\n0,1,2\n0,1,2\n",
            method="PUT",
        )
        server.ask("/api/uploads/commit", {"batch": "batch0001"})
        server.ask("/api/assign", {"ids": [WAVE], "label": None})
        server.ask("/api/remove", {"ids": ["kick/s1/s01_kick_t1.npz"]})
    assert unharmed(stranger)
    assert not (stranger / "kick" / "s1" / "s01_kick_t1.npz").exists()  # and it works


def test_a_label_that_is_a_link_is_not_followed(stranger):
    library = use(stranger)
    (stranger / "greet").symlink_to("../victim")
    with pytest.raises(Exception, match=r"link|outside"):
        library.assign([WAVE], label="greet")
    assert unharmed(stranger)
    assert (stranger / WAVE).exists()


@pytest.mark.parametrize("file", ["model.kern", "report.html"])
def test_a_model_that_is_a_link_is_not_served(stranger, file):
    home = stranger / "__studio__" / "models" / "2026-01-31_154500"
    home.mkdir(parents=True)
    (home / "model.kern").write_bytes(b"model")
    (home / "figures.json").write_text(json.dumps({"labels": {"wave": 2}}))
    (home / file).unlink(missing_ok=True)
    (home / file).symlink_to("../../../../victim/thesis.txt")
    with running(Studio(stranger, eager=False)) as server:
        server.ask("/api/takeover", {})
        status, answer, _ = server.ask(f"/api/models/2026-01-31_154500/{file}")
    assert (status, answer == b"years of work") == (404, False)


def test_models_that_are_a_link_are_not_written_to(stranger):
    (stranger / "__studio__" / "models").symlink_to("../../victim")
    with running(Studio(stranger, eager=False)) as server:
        server.ask("/api/takeover", {})
        server.ask("/api/models/present", {"name": None})
        server.ask("/api/train", {})
        server.ask("/api/train/stop", {})
    assert unharmed(stranger)


def test_an_index_of_a_drop_takes_no_other_file(stranger):
    with running(Studio(stranger, eager=False)) as server:
        server.ask("/api/takeover", {})
        index = f"file,label,subject\n../../../{WAVE},stolen,x\n{stranger / WAVE},stolen,y\n"
        server.ask("/api/uploads/batch0001?path=index.csv", index.encode(), method="PUT")
        server.ask("/api/uploads/commit", {"batch": "batch0001"})
    assert (stranger / WAVE).exists()
    assert not (stranger / "stolen").exists()


def test_a_copied_folder_is_read_only_until_it_is_taken_over(stranger):
    """Its notes and segments are kept, its history is set aside."""
    first = use(stranger)
    first.annotate(LONG, segments=[{"start": 5, "stop": 20, "label": "bow"}], note="long one")
    first.assign([WAVE], label="greet")
    first.journal.sync()
    copy = stranger.parent / "copy"
    shutil.copytree(stranger, copy)
    before = sorted(p.relative_to(copy).as_posix() for p in copy.rglob("*"))
    with running(Studio(copy, eager=False)) as server:
        server.studio.library.scan()
        assert "not made by the studio on this machine" in server.get("state")["foreign"]
        assert not server.get("state")["undo"]
        moved = "greet/s1/s01_wave_t1.npz"
        for path, body in (
            ("assign", {"ids": [moved], "label": "x"}), ("annotate", {"id": moved, "note": "x"}), ("remove", {"ids": [moved]}),
            ("undo", {}), ("redo", {}), ("demo", {}), ("train", {}), ("models/present", {"name": None}),
            ("recorded", {"joints": [[[0, 0, 0, 1]] * 33] * 9, "times": list(range(9))}), ("uploads/commit", {"batch": "batch0001"}),
        ):  # fmt: skip
            status, answer, _ = server.ask(f"/api/{path}", body)
            assert (status, "take it over" in answer["error"]) == (400, True), path
        assert server.ask("/api/uploads/batch0001?path=a.csv", b"x", method="PUT")[0] == 400
        assert sorted(p.relative_to(copy).as_posix() for p in copy.rglob("*")) == before
        assert server.post("takeover") == {"wrong": []}
        rows = {row["id"]: row for row in server.get("recordings")["recordings"]}
        assert rows[LONG]["note"] == "long one"
        assert rows["bow/s1/day@5-20.npz"]["source"] == LONG
        assert server.get("state")["foreign"] is None
        assert server.post("assign", ids=[moved], label="wave")["moved"] == {moved: WAVE}
    assert (copy / "__studio__" / "set-aside" / "journal.jsonl").exists()
    again = Library(copy)
    assert again.foreign is None  # and stays ours
    assert Library(stranger).foreign is None


def test_a_folder_that_was_only_moved_is_ours(stranger):
    use(stranger).annotate(WAVE, note="mine")
    moved = stranger.rename(stranger.parent / "renamed")
    assert Library(moved).foreign is None
    assert Library(moved).journal.edits == {WAVE: {"note": "mine"}}


def test_some_hundred_damaged_folders(tmp_path):
    """``python tests/studio_fuzz.py 10000`` tries ten thousand."""
    from studio_fuzz import try_folders

    outcomes = try_folders(range(150), tmp_path)
    assert set(outcomes) == {"ours", "taken over", "refused"}
    assert outcomes["taken over"] > 50
