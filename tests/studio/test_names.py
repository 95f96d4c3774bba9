"""Labels and people renamed, merged and split, and recordings trimmed: each one step for undo."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from kerneton import load_folder
from kerneton.exceptions import MissingDataError, ParameterError
from kerneton.files.readers import read
from kerneton.studio.library import Library

WAVE = "wave/s1/s01_wave_t1.npz"


@pytest.fixture
def library(folder: Path) -> Library:
    found = Library(folder)
    found.scan()
    return found


def labels(library: Library) -> Counter:
    return Counter(load_folder(library.root).labels.tolist())


def same(library: Library) -> bool:
    """Whether the list is as a new reading of the folder would make it."""
    fresh = Library(library.root)
    fresh.scan()
    return fresh.records == library.records and fresh.journal.edits == library.journal.edits


def test_a_label_is_renamed_wherever_it_occurs_as_one_change(library):
    moved = library.annotate(
        "kick/s1/s01_kick_t1.npz",
        segments=[
            {"start": 0, "stop": 20, "label": "wave"},
            {"start": 20, "stop": 40, "label": "kick"},
        ],
    )
    source = moved["kick/s1/s01_kick_t1.npz"]
    before = dict(library.records)
    assert labels(library) == {"wave": 4, "clap": 3, "kick": 3}
    moved = library.rename("label", "wave", "greet")
    assert moved[WAVE] == "greet/s1/s01_wave_t1.npz"
    assert labels(library) == {"greet": 4, "clap": 3, "kick": 3}
    assert [s["label"] for s in library.journal.edits[source]["segments"]] == ["greet", "kick"]
    assert same(library)
    library.undo()
    assert library.records == before
    assert labels(library) == {"wave": 4, "clap": 3, "kick": 3}


def test_labels_and_people_are_merged(library):
    library.rename("label", "wave", "clap")
    assert labels(library) == {"clap": 6, "kick": 3}
    library.rename("subject", "s1", "s2")
    assert Counter(load_folder(library.root).subjects.tolist()) == {"s2": 6, "s3": 3}
    assert len(library.records) == 9
    assert same(library)
    library.undo()
    library.undo()
    assert labels(library) == {"wave": 3, "clap": 3, "kick": 3}


def test_a_label_of_segments_of_another_program_is_renamed(library, folder):
    table = "start,stop,label\n5,20,nod\n30,40,bow\n"
    (folder / "kick" / "s1" / "s01_kick_t1.segments.csv").write_text(table)
    library.scan()
    assert library.record("kick/s1/s01_kick_t1.npz").info.segments[0][2] == "nod"
    library.rename("label", "nod", "yes")
    (record,) = [r for r in library.records.values() if r.id.endswith("s1/s01_kick_t1.npz")]
    assert [s["label"] for s in library.journal.edits[record.id]["segments"]] == ["yes", "bow"]
    assert labels(library)["yes"] == 1


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (("label", "wave", "a/b"), "contains '/'"),
        (("label", "wave", " "), "needs a new name"),
        (("label", "none", "x"), "no recording has the label"),
        (("note", "wave", "x"), "expected label or subject"),
    ],
)
def test_wrong_names_change_nothing(library, given, why):
    with pytest.raises((ParameterError, MissingDataError), match=why):
        library.rename(*given)
    assert not library.journal.done


def test_a_recording_is_trimmed_and_the_whole_one_comes_back(library, folder):
    library.annotate(WAVE, note="left hand")
    whole = read(folder / WAVE)[0]
    assert library.trim(WAVE, 10, 40) == {WAVE: WAVE}
    (cut,) = read(folder / WAVE)
    np.testing.assert_array_equal(cut.joints, whole.joints[10:40])
    assert (cut.fps, library.record(WAVE).info.n_frames) == (whole.fps, 30)
    assert library.journal.edits[WAVE] == {"note": "left hand"}
    assert same(library)
    library.undo()
    assert read(folder / WAVE)[0].n_frames == whole.n_frames
    assert library.record(WAVE).info.n_frames == whole.n_frames
    library.redo()
    assert library.record(WAVE).info.n_frames == 30
    assert same(library)


def test_segments_inside_are_kept_and_a_trimmed_segment_moves_its_edges(library):
    long = {"start": 10, "stop": 40, "label": "up"}, {"start": 50, "stop": 60, "label": "down"}
    source = library.annotate(WAVE, segments=list(long))[WAVE]
    library.trim(source, 20, 60)
    assert library.journal.edits[source]["segments"] == [
        {"start": 0, "stop": 20, "label": "up"},
        {"start": 30, "stop": 40, "label": "down"},
    ]
    assert library.record("up/s1/s01_wave_t1@0-20.npz").info.n_frames == 20
    library.trim("up/s1/s01_wave_t1@0-20.npz", 5, 15)
    assert library.journal.edits[source]["segments"][0] == {"start": 5, "stop": 15, "label": "up"}
    assert "up/s1/s01_wave_t1@5-15.npz" in library.records
    with pytest.raises(ParameterError, match="cannot be kept"):
        library.trim(source, 30, 41)


def test_the_page_asks_over_http(server):
    moved = server.post("rename", field="label", old="wave", new="greet")["moved"]
    assert moved[WAVE] == "greet/s1/s01_wave_t1.npz"
    assert server.post("undo")["what"] == "label wave → greet"
    assert server.post("trim", id=WAVE, start=3, stop=9)["moved"] == {WAVE: WAVE}
    assert server.ask("/api/trim", {"id": WAVE, "start": "3", "stop": 9})[0] == 400
    assert server.ask("/api/rename", {"field": "label", "old": "wave"})[0] == 400
