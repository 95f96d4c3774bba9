from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from samples import SAMPLES

from kerneton import load_folder, make_actions
from kerneton.exceptions import MissingDataError, ParameterError
from kerneton.files.readers import read, write
from kerneton.files.summary import summarize
from kerneton.studio.demo import add_demo
from kerneton.studio.library import Library
from kerneton.studio.recording_info import THUMB_FRAMES, info_of, motion
from kerneton.studio.share import export
from kerneton.studio.trainer import read_folder
from kerneton.studio.uploads import staging_path, take_in
from kerneton.studio.warnings import warnings_of

WAVE = "wave/s1/s01_wave_t1.npz"


@pytest.fixture
def library(folder: Path) -> Library:
    found = Library(folder)
    found.scan()
    return found


def files(root: Path) -> dict[str, bytes]:
    return {
        p.relative_to(root).as_posix(): p.read_bytes()
        for p in root.rglob("*")
        if p.is_file() and not p.name.startswith(("journal", "edits", "clips"))
    }


def test_it_sees_what_the_command_line_sees(library, folder):
    data = load_folder(folder)
    assert sorted((r.label, r.subject) for r in library.records.values()) == sorted(
        zip(data.labels.tolist(), data.subjects.tolist(), strict=True)
    )


def test_labels_and_subjects_are_places_and_can_be_undone(library, folder):
    before = files(folder)
    moved = library.assign([WAVE, "wave/s2/s02_wave_t1.npz"], label="greet", subject="ann")
    assert set(moved.values()) == {"greet/ann/s01_wave_t1.npz", "greet/ann/s02_wave_t1.npz"}
    assert load_folder(folder).labels.tolist().count("greet") == 2
    library.assign([moved[WAVE]], label=None)
    assert len(load_folder(folder)) == 8  # without a label the command line does not see it
    assert library.record("__studio__/unlabelled/ann/s01_wave_t1.npz").label is None
    library.undo()
    library.undo()
    assert files(folder) == before
    assert library.undo() is None
    library.redo()
    assert "greet/ann/s01_wave_t1.npz" in library.records


def test_small_animations_show_frames_with_a_body():
    (take,) = make_actions(["wave"], n_subjects=1, n_takes=1)
    joints = take.joints.copy()
    joints[:30] = joints[-10:] = np.nan
    thumb = info_of(take.replace(joints=joints, confidence=None)).thumb
    frames = np.frombuffer(thumb, np.int8).reshape(THUMB_FRAMES, -1)
    assert (frames != -128).any(axis=1).all()
    nobody = info_of(take.replace(joints=np.full_like(joints, np.nan), confidence=None)).thumb
    assert len(nobody) == len(thumb)


def test_equal_names_are_numbered_not_overwritten(library, folder):
    write(
        make_actions(["bow"], n_subjects=1, n_takes=1), folder / "wave" / "s2" / "s01_wave_t1.npz"
    )
    library.scan()
    moved = library.assign([WAVE], subject="s2")
    assert moved == {WAVE: "wave/s2/s01_wave_t1_2.npz"}


def test_segments_become_files_for_the_command_line(library, folder):
    moved = library.annotate(
        WAVE,
        segments=[
            {"start": 10, "stop": 40, "label": "up"},
            {"start": 40, "stop": 60, "label": None},
        ],
    )
    source = moved[WAVE]
    assert source == "__studio__/unlabelled/s1/s01_wave_t1.npz"
    clip = folder / "up" / "s1" / "s01_wave_t1@10-40.npz"
    np.testing.assert_array_equal(read(clip)[0].joints, read(folder / source)[0].joints[10:40])
    assert load_folder(folder).labels.tolist().count("up") == 1
    library.annotate(source, segments=[{"start": 12, "stop": 40, "label": "up"}])
    assert not clip.exists()
    assert (folder / "up" / "s1" / "s01_wave_t1@12-40.npz").exists()
    library.undo()
    assert clip.exists()
    library.undo()
    assert not clip.exists()
    assert not (folder / "up").exists()
    assert (folder / WAVE).exists()


def test_a_segment_in_the_list_changes_its_segment(library, folder):
    source = library.annotate(WAVE, segments=[{"start": 0, "stop": 30, "label": "up"}])[WAVE]
    library.assign(["up/s1/s01_wave_t1@0-30.npz"], label="down")
    assert library.journal.edits[source]["segments"][0]["label"] == "down"
    assert (folder / "down" / "s1" / "s01_wave_t1@0-30.npz").exists()
    library.remove(["down/s1/s01_wave_t1@0-30.npz"])
    assert source not in library.journal.edits
    assert not (folder / "down").exists()


@pytest.mark.parametrize(
    "segments",
    [
        [{"start": 5, "stop": 5, "label": "a"}],
        [{"start": -1, "stop": 5, "label": "a"}],
        [{"start": 0, "stop": 100000, "label": "a"}],
        [{"start": 0.5, "stop": 5, "label": "a"}],
        [{"start": 0, "stop": 5, "label": "../a"}],
        ["a"],
        {"start": 0},
    ],
)
def test_wrong_segments_are_refused_and_change_nothing(library, folder, segments):
    before = files(folder)
    with pytest.raises(ParameterError):
        library.annotate(WAVE, segments=segments)
    assert files(folder) == before


@pytest.mark.parametrize(
    "label", ["../up", "a/b", "a\\b", ".hidden", "__x", "x" * 81, "a\x00b", "con:1", 7]
)
def test_labels_that_are_no_folder_names_are_refused(library, folder, label):
    before = files(folder)
    with pytest.raises(ParameterError, match="label"):
        library.assign([WAVE], label=label)
    assert files(folder) == before


@pytest.mark.parametrize(
    "id", ["../secret.npz", "/etc/passwd", "wave/../../x", "", "__studio__/journal.jsonl"]
)
def test_only_recordings_of_the_folder_have_ids(library, id):
    with pytest.raises(MissingDataError):
        library.sequence(id)


def test_links_out_of_the_folder_are_left_out(library, folder, tmp_path):
    outside = tmp_path / "outside.npz"
    write(make_actions(["bow"], n_subjects=1, n_takes=1), outside)
    (folder / "wave" / "link.npz").symlink_to(outside)
    library.scan()
    assert not any("link" in id for id in library.records)


def test_everything_is_there_after_a_restart(library, folder):
    library.annotate(WAVE, note="good ☺")
    library.assign([WAVE], label="greet")
    again = Library(folder)
    again.scan()
    assert again.journal.edits == {"greet/s1/s01_wave_t1.npz": {"note": "good ☺"}}
    assert again.journal.can == (True, False)
    again.undo()
    again.undo()
    assert again.journal.edits == {}
    assert WAVE in again.records


def test_a_change_that_a_crash_cut_short_is_completed(library, folder):
    """The line is in the journal, nothing was done: as after a kill between the two."""
    line = {
        "n": 1,
        "do": {"what": "label", "steps": [{"move": [WAVE, "greet/s1/s01_wave_t1.npz"]}]},
    }
    (folder / "__studio__").mkdir(exist_ok=True)
    with (folder / "__studio__" / "journal.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n" + '{"n": 2, "do": {"wha')
    again = Library(folder)
    again.scan()
    assert "greet/s1/s01_wave_t1.npz" in again.records
    assert WAVE not in again.records
    again.undo()
    assert WAVE in again.records


def test_what_is_added_while_the_folder_is_read_is_in_the_list(folder, monkeypatch):
    library = Library(folder)
    info = library.files.info
    late = folder / "__studio__" / "incoming" / "late.npz"
    write(make_actions(["bow"], n_subjects=1, n_takes=1), late)

    def while_reading(path):
        if late.exists():
            library.add([("__studio__/incoming/late.npz", "bow/ann/late.npz")])
        return info(path)

    monkeypatch.setattr(library.files, "info", while_reading)
    library.scan()
    assert "bow/ann/late.npz" in library.records
    assert len(library.records) == 10
    assert library.progress == (10, 10)


def test_changes_keep_the_list_as_a_new_reading_would_make_it(library, folder):
    library.assign([WAVE], label="a new one")
    library.assign(["kick/s2/s02_kick_t1.npz"], subject="zoe")
    library.annotate("clap/s1/s01_clap_t1.npz", segments=[{"start": 3, "stop": 20, "label": "up"}])
    library.assign(["clap/s3/s03_clap_t1.npz"], label=None)
    library.remove(["clap/s2/s02_clap_t1.npz"])
    library.undo()
    again = Library(folder)
    again.scan()
    assert list(again.records.items()) == list(library.records.items())


def test_notes_are_there_whether_they_were_brought_to_the_disk_or_not(library, folder):
    library.annotate(WAVE, note="first")
    library.journal.sync()
    assert json.loads((folder / "__studio__" / "edits.json").read_text())["number"] == 1
    moved = library.assign([WAVE], label="greet")[WAVE]
    library.annotate(moved, note="second")
    # somebody puts another one there
    write(make_actions(["bow"], n_subjects=1, n_takes=1), folder / WAVE)
    again = Library(folder)
    assert again.journal.edits == {moved: {"note": "second"}}
    assert (folder / WAVE).exists()  # an older move is not repeated on it
    assert (folder / moved).exists()


def test_files_in_millimetres_with_z_up_are_seen_as_the_command_line_sees_them(tmp_path):
    root = tmp_path / "tall"
    for s in make_actions(["wave", "kick"], n_subjects=2, n_takes=1):
        x, y, z = np.moveaxis(s.joints, -1, 0)
        tall = s.replace(joints=1000 * np.stack([x, -z, y], axis=-1))
        write([tall], root / str(s.label) / str(s.subject) / f"{s.name}.npz")
    theirs = load_folder(root)
    library = Library(root)
    library.scan()
    mine = [library.sequence(id) for id in library.records]
    trained = read_folder(root, [], lambda items, **_: items)
    for a, b, c in zip(mine, trained, theirs, strict=True):
        np.testing.assert_allclose(a.joints, c.joints, atol=1e-6)
        np.testing.assert_allclose(b.joints, c.joints, atol=1e-6)
    assert theirs.conversion is not None
    assert trained.conversion.to_dict() == theirs.conversion.to_dict()
    first = next(iter(library.records))
    library.annotate(first, segments=[{"start": 0, "stop": 30, "label": "up"}])
    cut = next(
        s for s in load_folder(root) if s.label == "up"
    )  # written in the convention, read beside others
    np.testing.assert_allclose(cut.joints, mine[0].joints[:30], atol=1e-6)


def test_a_journal_of_something_else_is_set_aside(library, folder):
    journal = folder / "__studio__" / "journal.jsonl"
    journal.write_text("hello\n")
    again = Library(folder)
    assert "line 1" in again.foreign
    with pytest.raises(ParameterError, match="line 1"):
        again.assign([WAVE], label="greet")
    again.take_over()
    assert (folder / "__studio__" / "set-aside" / "journal.jsonl").read_text() == "hello\n"
    assert again.assign([WAVE], label="greet")


def test_files_with_several_recordings_are_taken_apart_on_the_first_edit(folder):
    several = make_actions(["wave", "bow"], n_subjects=1, n_takes=1)
    write(several, folder / "all.npz")
    library = Library(folder)
    library.scan()
    assert {"all.npz#1", "all.npz#2"} < set(library.records)
    before = len(library.records)
    library.assign(["all.npz#2"], label="nod")
    assert len(library.records) == before
    assert not (folder / "all.npz").exists()
    assert (folder / "__studio__" / "originals" / "all.npz").exists()
    found = [r for r in library.records.values() if r.label == "nod"]
    np.testing.assert_array_equal(library.sequence(found[0].id).joints, several[1].joints)


def with_index(root: Path) -> dict[str, bytes]:
    """Files side by side, labels and subjects in an index; two of its files are not there."""
    data = make_actions(["wave", "clap"], n_subjects=2, n_takes=1)
    for sequence in data:
        write([sequence.replace(label=None, subject=None)], root / "all" / f"{sequence.name}.npz")
    lines = [f"all/{s.name}.npz,{s.label},p{s.subject}" for s in data]
    (root / "index.csv").write_text(
        "\n".join(["file,label,subject", *lines, "all/gone.npz,wave,p9", ""])
    )
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def test_a_folder_with_an_index_is_sorted_by_the_first_change_and_back(tmp_path):
    root = tmp_path / "indexed"
    before = with_index(root)
    library = Library(root)
    library.scan()
    one = library.record("all/s01_wave_t1.npz")
    assert (one.label, one.subject) == ("wave", "p1")
    assert len(library.records) == 4
    assert list(library.broken) == ["all/gone.npz"]
    # looking changes nothing
    assert {path: (root / path).read_bytes() for path in before} == before
    moved = library.assign(["all/s01_wave_t1.npz"], label="greet")
    assert moved == {"all/s01_wave_t1.npz": "greet/p1/s01_wave_t1.npz"}
    data = load_folder(root)
    assert sorted(zip(data.labels, data.subjects, strict=True)) == [
        ("clap", "p1"), ("clap", "p2"), ("greet", "p1"), ("wave", "p2"),
    ]  # fmt: skip
    library.undo()
    library.undo()
    assert {path: (root / path).read_bytes() for path in before} == before
    assert library.record("all/s01_wave_t1.npz").label == "wave"


def test_a_dropped_folder_with_an_index_brings_its_labels(tmp_path):
    library = Library(tmp_path / "new")
    upload(library, "batch0004", {f"moves/{p}": d for p, d in with_index(tmp_path / "old").items()})
    told = take_in(library, "batch0004")
    assert sorted(told["added"])[0] == "clap/p1/s01_clap_t1.npz"
    assert len(told["added"]) == 4
    assert len(told["broken"]) == 1
    assert "gone.npz" in told["broken"][0]


def test_broken_files_are_named(library, folder):
    (folder / "wave" / "bad.csv").write_text("nothing,of,this\nis,a,recording\n")
    library.scan()
    assert list(library.broken) == ["wave/bad.csv"]
    assert str(folder) not in library.broken["wave/bad.csv"]


def test_warnings_stand_beside_the_recordings_that_the_summary_names(folder):
    short = make_actions(["bow"], n_subjects=1, n_takes=1)[0]
    short = short.replace(joints=short.joints[:3], confidence=None)
    write([short], folder / "bow" / "s9" / "short.npz")
    first = read(folder / WAVE)[0]
    write([first], folder / "wave" / "s3" / "copy.npz")
    write(
        [first.replace(confidence=np.zeros(first.joints.shape[:2]))],
        folder / "clap" / "s3" / "gone.npz",
    )
    library = Library(folder)
    library.scan()
    found = warnings_of(library.records.values())
    told = " ".join(summarize(load_folder(folder)).warnings)
    for id, code, words in (
        ("bow/s9/short.npz", "short", "4 frames or fewer: bow/s9/"),
        ("bow/s9/short.npz", "few", "2 recordings or fewer: bow (1)"),
        ("bow/s9/short.npz", "one-label", "subjects with one label: s9"),
        ("bow/s9/short.npz", "one-subject", "labels with only one subject"),
        ("wave/s3/copy.npz", "twice", "the same recording"),
        ("clap/s3/gone.npz", "missing", "more than half of their joints missing: clap/s3/"),
    ):
        assert code in found[id]
        assert words in told


def upload(library: Library, batch: str, tree: dict[str, bytes]) -> None:
    for path, data in tree.items():
        library.place.write(staging_path(library, batch, path), data)


def test_a_dropped_folder_brings_its_labels(tmp_path, folder):
    library = Library(tmp_path / "new")
    upload(library, "batch0001", {f"moves/{p}": data for p, data in files(folder).items()})
    told = take_in(library, "batch0001")
    assert sorted(told["added"]) == sorted(files(folder))
    assert told["broken"] == []
    assert load_folder(tmp_path / "new").labels.tolist() == load_folder(folder).labels.tolist()
    assert not list((tmp_path / "new" / "__studio__" / "incoming").glob("*"))
    library.undo()
    assert not library.records


@pytest.mark.parametrize("kind", SAMPLES)
def test_every_format_can_be_dropped_seen_and_edited(tmp_path, kind):
    library = Library(tmp_path / "new")
    for number, sample in enumerate(SAMPLES[kind]):
        batch = f"batch{number:04d}"
        upload(
            library, batch, {f"take{number}/{name}": data for name, data in sample().files.items()}
        )
        told = take_in(library, batch)
        assert told["broken"] == []
        assert told["added"]
        for id in told["added"]:
            assert library.record(id).info.n_frames == motion(library.sequence(id))["frames"]
        # A recording with segments has its labels there: they are changed, not its own.
        whole = [
            id for id in told["added"] if not library.journal.edits.get(id, {}).get("segments")
        ]
        moved = library.assign(whole, label="greet", subject="ann")
        cut = [id for id in library.records if library.record(id).label not in (None, "greet")]
        moved |= library.assign(cut, label="greet")
        again = Library(library.root)
        again.scan()
        assert {again.record(moved.get(id, id)).label for id in (*whole, *cut)} == {"greet"}


def test_dropped_files_take_the_label_that_was_asked_for_and_say_what_is_wrong(tmp_path, folder):
    library = Library(tmp_path / "new")
    table = b"head_x,head_y,head_z\n0,1.7,2\n0,1.6,2\n"
    upload(
        library, "batch0002", {"nod.csv": table, "bad.csv": b"a,b\nc,d\n", "../../up.csv": table}
    )
    told = take_in(library, "batch0002", label="nod", subject="ann")
    assert sorted(told["added"]) == ["nod/ann/nod.csv", "nod/ann/up.csv"]
    assert len(told["broken"]) == 1
    assert told["broken"][0].startswith("bad.csv")
    assert not (tmp_path / "up.csv").exists()


def test_a_dropped_file_with_many_recordings_is_taken_apart(tmp_path):
    data = make_actions(["wave", "bow"], n_subjects=2, n_takes=1)
    library = Library(tmp_path / "new")
    write(data, tmp_path / "all.npz")
    upload(library, "batch0003", {"all.npz": (tmp_path / "all.npz").read_bytes()})
    told = take_in(library, "batch0003")
    assert len(told["added"]) == 4
    again = load_folder(tmp_path / "new")
    assert sorted(again.labels.tolist()) == sorted(data.labels.tolist())
    assert sorted(again.subjects.tolist()) == sorted(data.subjects.tolist())


@pytest.mark.parametrize("ending", ["npz", "pkl"])
def test_the_data_set_as_one_file(library, tmp_path, ending):
    path = tmp_path / f"all.{ending}"
    export(library, ending, path)
    again = read(path)
    assert sorted(str(s.label) for s in again) == sorted(
        str(r.label) for r in library.records.values()
    )


def test_the_data_set_as_tables(library, tmp_path):
    import zipfile

    export(library, "csv", tmp_path / "all.zip")
    with zipfile.ZipFile(tmp_path / "all.zip") as archive:
        archive.extractall(tmp_path / "out")
    assert sorted(load_folder(tmp_path / "out").labels) == sorted(load_folder(library.root).labels)


def test_the_demo_is_a_folder_that_trains(tmp_path):
    library = Library(tmp_path / "demo")
    add_demo(library)
    data = load_folder(tmp_path / "demo")
    assert len(data) == 15
    assert len(set(data.subjects)) == 5
    assert sum(r.label is None for r in library.records.values()) == 4
