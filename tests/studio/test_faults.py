"""What goes wrong is shown, and nothing stays stuck or is lost after it."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import time

import numpy as np
import pytest
from studios import TOKEN
from websockets.sync.client import connect

from kerneton import make_actions
from kerneton.exceptions import ParameterError
from kerneton.files.readers import read, write
from kerneton.studio.folders import look_alike
from kerneton.studio.journal import Journal
from kerneton.studio.library import Library
from kerneton.studio.place import Place

WAVE = "wave/s1/s01_wave_t1.npz"
DAY = "__studio__/unlabelled/s1/day.npz"
CUT = [{"start": 0, "stop": 10, "label": "wave"}]


@pytest.fixture
def library(folder):
    (folder / DAY).parent.mkdir(parents=True)
    shutil.copy(folder / WAVE, folder / DAY)
    found = Library(folder)
    found.take_over()
    return found


def until(test, tries=1000):
    for _ in range(tries):
        if test():
            return
        time.sleep(0.02)
    raise AssertionError("it did not come about")


@contextlib.contextmanager
def full_disk():
    """No file of this process can grow, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


# names


@pytest.mark.parametrize(
    "label",
    [
        "語" * 80,
        "wave\u2028x",
        "wave\u202etxt",
        "a\u200bb",
        "con",
        "nul.x",
        "a\tb",
        "\ud800",
        "\ufeff",
    ],
)
def test_names_that_no_folder_can_have_change_nothing(library, label):
    before = Journal(library.place).number
    for change in (
        lambda: library.assign([WAVE], label=label),
        lambda: library.assign([WAVE], subject=label),
        lambda: library.annotate(DAY, segments=[{"start": 0, "stop": 9, "label": label}]),
    ):
        with pytest.raises(ParameterError, match=r"label|subject"):
            change()
    assert Journal(library.place).number == before
    library.scan()
    assert len(library.records) == 10
    assert library.fault is None


def test_folders_with_odd_names_are_listed_and_can_be_cut(folder, library):
    shutil.copytree(folder / "wave", folder / "wave\u2028x")
    stem = "d" * 240
    (folder / "__studio__" / "unlabelled" / "s\u2028").mkdir()
    shutil.copy(folder / WAVE, folder / "__studio__" / "unlabelled" / "s\u2028" / f"{stem}.npz")
    library.scan()
    assert "wave\u2028x/s1/s01_wave_t1.npz" in library.records
    library.annotate(f"__studio__/unlabelled/s\u2028/{stem}.npz", segments=CUT)
    again = Library(folder)
    again.scan()
    assert (again.foreign, again.fault, again.broken) == (None, None, {})
    cut = [id for id in again.records if "@0-10" in id]
    assert len(cut) == 1
    again.undo()
    assert not (folder / cut[0]).exists()


def test_names_that_look_alike_are_told(server):
    told = server.post("assign", ids=[WAVE], label="Clap")
    assert told["alike"] == [["Clap", "clap"]]
    assert server.post("assign", ids=["Clap/s1/s01_wave_t1.npz"], label="bow")["alike"] == []
    assert look_alike("wаvе", ["clap", "wave"]) == "wave"  # with two Cyrillic letters


# the folder


@contextlib.contextmanager
def bound_by_permissions(root):
    """Permissions do not bind the superuser: if this is one, it becomes nobody for a while."""
    if os.geteuid() != 0:
        yield
        return
    for path in (root, *root.rglob("*")):
        os.chown(path, 65534, -1)
    above = [(path, path.stat().st_mode) for path in root.parents if path.stat().st_uid == 0]
    for path, mode in above:
        path.chmod(mode | 0o755)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
        for path, mode in above:
            path.chmod(mode)


def test_a_subfolder_without_permission_is_named_and_the_others_are_listed(folder, library):
    (folder / "clap" / "s2").chmod(0)
    try:
        with bound_by_permissions(folder):
            library.scan()
        assert len(library.records) == 9
        assert library.broken == {"clap/s2": "clap/s2: cannot be read: Permission denied"}
    finally:
        (folder / "clap" / "s2").chmod(0o755)


def test_a_folder_that_is_moved_is_an_error_and_is_not_made_anew(server, folder):
    before = len(server.get("recordings")["recordings"])
    moved = folder.rename(folder.with_name("elsewhere"))
    for path, body in (
        ("recordings", None),
        ("assign", {"ids": [WAVE], "label": "x"}),
        ("demo", {}),
        ("train", {}),
    ):
        status, answer, _ = server.ask(f"/api/{path}", body)
        assert status == 400
        assert "was moved or removed" in answer["error"]
    assert server.ask("/api/uploads/batch0001?path=a.csv", b"x", method="PUT")[0] == 400
    assert "was moved or removed" in server.get("state")["trouble"]
    assert not folder.exists()
    moved.rename(folder)
    until(lambda: server.get("state")["trouble"] is None)
    assert len(server.get("recordings")["recordings"]) == before


def test_files_of_other_programs_appear_and_go_by_themselves(server, folder):
    new = folder / "bow" / "s7" / "new.npz"
    with connect(f"ws://127.0.0.1:{server.port}/api/events?token={TOKEN}") as news:
        version = json.loads(news.recv(timeout=10))["version"]
        write(make_actions(["bow"], n_subjects=1, n_takes=1), new)
        while json.loads(news.recv(timeout=20))["version"] == version:
            pass
        until(lambda: "bow/s7/new.npz" in server.studio.library.records)
        (new.parent / "bad.csv").write_text("no,recording\n1,2\n")
        until(lambda: "bow/s7/bad.csv" in server.studio.library.broken)
        shutil.rmtree(new.parent)
        until(lambda: "bow/s7/new.npz" not in server.studio.library.records)
        assert server.studio.library.broken == {}


def test_a_full_disk_is_told_and_forgotten_when_there_is_room(server):
    with connect(f"ws://127.0.0.1:{server.port}/api/events?token={TOKEN}") as news:
        news.recv(timeout=10)
        with full_disk():
            status, answer, _ = server.ask("/api/annotate", {"id": WAVE, "note": "lost"})
            assert status == 500
            assert answer["error"]
        server.post("annotate", id=WAVE, note="kept")
        with full_disk():
            until(lambda: "cannot be brought to the disk" in (server.get("state")["trouble"] or ""))
        until(lambda: server.get("state")["trouble"] is None)
        server.post("annotate", id=WAVE, note="kept, too")
        told = [json.loads(news.recv(timeout=10))]
        while not told[-1]["undo"] or told[-1]["trouble"] is not None:
            told.append(json.loads(news.recv(timeout=10)))
    assert Journal(Place(server.folder)).edits == {WAVE: {"note": "kept, too"}}
    assert len(Journal(Place(server.folder)).done) == 2


# segments


def test_a_segment_overwrites_no_file_of_the_user(folder, library):
    mine = folder / "wave" / "s1" / "day@0-10.npz"
    write(make_actions(["bow"], n_subjects=1, n_takes=1), mine)
    before = mine.read_bytes()
    library.scan()
    library.annotate(DAY, segments=CUT)
    assert mine.read_bytes() == before
    assert "there is another file" in library.broken["wave/s1/day@0-10.npz"]
    library.annotate(DAY, segments=[])
    assert mine.read_bytes() == before
    assert not library.broken


def test_a_file_that_replaced_a_segment_is_moved_to_the_trash_and_not_deleted(folder, library):
    library.annotate(DAY, segments=CUT)
    clip = folder / "wave" / "s1" / "day@0-10.npz"
    write(make_actions(["bow"], n_subjects=1, n_takes=1), clip)
    theirs = clip.read_bytes()
    library.undo()
    assert not clip.exists()
    assert (folder / "__studio__" / "trash" / "day@0-10.npz").read_bytes() == theirs


def test_two_recordings_of_one_name_have_segments_of_their_own(folder, library):
    other = DAY.replace("npz", "csv")
    write(
        [s.replace(name="day") for s in make_actions(["bow"], n_subjects=1, n_takes=1)],
        folder / other,
    )
    library.scan()
    library.annotate(DAY, segments=CUT)
    library.annotate(other, segments=CUT)
    cuts = {id for id in library.records if "@0-10" in id}
    assert len(cuts) == 2
    joints = [library.sequence(id).joints for id in sorted(cuts)]
    assert not np.allclose(joints[0], joints[1], equal_nan=True)
    for source in (DAY, other):
        assert any(
            np.allclose(j, library.sequence(source).joints[:10], equal_nan=True, atol=1e-5)
            for j in joints
        )
    moved = library.assign(cuts, label="bow")
    assert len(moved) == 2
    assert {
        s["label"] for source in (DAY, other) for s in library.journal.edits[source]["segments"]
    } == {"bow"}


# uploads


def test_what_uploads_left_is_cleared_and_a_recording_of_the_camera_is_rescued(folder, library):
    from kerneton.studio.uploads import clean, staging_path, take_in

    table = b"head_x,head_y,head_z\n0,1.7,2\n0,1.6,2\n"
    library.place.write(staging_path(library, "batch0001", "kept.csv"), table)
    take_in(library, "batch0001", label="nod")
    library.undo()  # redo needs the file
    library.place.write(staging_path(library, "batch0002", "never/finished.csv"), table)
    library.place.write_recordings("__studio__/incoming/recorded/me.npz", read(folder / WAVE))
    clean(library)
    incoming = folder / "__studio__" / "incoming"
    assert [p.name for p in incoming.rglob("*") if p.is_file()] == ["kept.csv"]
    assert "__studio__/unlabelled/me.npz" in library.records


# training


def test_a_training_that_is_killed_says_so_and_the_next_one_runs(server):
    server.post("train")
    server.studio.training._process.kill()
    until(lambda: not server.get("state")["training"]["running"])
    assert "was killed" in server.get("state")["training"]["error"]
    assert not list((server.folder / "__studio__" / "models").iterdir())
    server.post("train")
    server.post("train/stop")
    until(lambda: not server.get("state")["training"]["running"])
