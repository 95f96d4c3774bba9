"""Segments that other programs stored, read as on the command line, and written for them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from samples import write_segments

from kerneton import load_folder, make_actions
from kerneton.files.readers import write
from kerneton.files.segments import eaf_text, read_segments
from kerneton.studio.library import Library
from kerneton.studio.routes import _recordings
from kerneton.studio.server import Studio
from kerneton.studio.share import export
from kerneton.studio.trainer import read_folder
from kerneton.studio.uploads import staging_path, take_in


@pytest.fixture
def long():
    return make_actions(["wave", "kick"], n_subjects=1, n_takes=1, uncut=True)[0]


def stored(path, long):
    """Segments as another program stores them."""
    if path.name.endswith(".segments.csv"):
        write_segments(path, long.segments)
    elif path.suffix == ".eaf":
        path.write_text(eaf_text(long.segments, long.fps))
    elif path.suffix == ".TextGrid":
        items = [
            f'intervals [{i}]:\n xmin = {s.start / 30}\n xmax = {s.stop / 30}\n text = "{s.label}"\n'
            for i, s in enumerate(long.segments, start=1)
        ]
        head = 'File type = "ooTextFile"\nObject class = "TextGrid"\nxmin = 0\nxmax = 20\ntiers? <exists>\nsize = 1\n'
        tier = (
            'item []:\nitem [1]:\nclass = "IntervalTier"\nname = "actions"\nxmin = 0\nxmax = 20\n'
        )
        path.write_text(f"{head}{tier}intervals: size = {len(items)}\n{''.join(items)}")
    elif path.suffix == ".xml":  # CVAT, a track for each
        box = '<box frame="{}" outside="{}" keyframe="1" xtl="1" ytl="1" xbr="9" ybr="9"></box>'
        tracks = (
            f'<track id="{i}" label="{s.label}">{box.format(s.start, 0)}'
            f"{box.format(s.stop, 1)}</track>"
            for i, s in enumerate(long.segments)
        )
        path.write_text(f"<annotations><version>1.1</version>{''.join(tracks)}</annotations>")
    else:
        labels = [""] * long.n_frames
        for s in long.segments:
            labels[s.start : s.stop] = [s.label] * (s.stop - s.start)
        path.write_text(
            "frame,label\n" + "".join(f"{t},{label}\n" for t, label in enumerate(labels))
        )


def rows(library: Library) -> dict[str, list[tuple[str, int, int]]]:
    studio = Studio(library.root, eager=False)
    studio.library.scan()
    return {
        row["id"]: [(s["label"], s["start"], s["stop"]) for s in row["segments"]]
        for row in _recordings(studio, {})["recordings"]
        if row["segments"]
    }


@pytest.mark.parametrize(
    "ending", ["segments.csv", "eaf", "TextGrid", "labels.csv", "segments.xml"]
)
def test_stored_segments_are_those_of_the_command_line(tmp_path, long, ending):
    root = tmp_path / "moves"
    expected = [(s.label, s.start, s.stop) for s in long.segments]
    write([long.replace(segments=())], root / "ann" / "day.csv")
    stored(root / "ann" / f"day.{ending}", long)
    (theirs,) = load_folder(root)
    assert [(s.label, s.start, s.stop) for s in theirs.segments] == expected
    library = Library(root)
    library.scan()
    assert rows(library) == {"ann/day.csv": expected}
    record = library.record("ann/day.csv")
    assert (record.label, record.subject) == (None, theirs.subject)
    labels = [s.label for s in read_folder(root, [], lambda items, **_: items)]
    assert labels == [label for label, _, _ in expected]
    (root / "ann" / f"day.{ending}").unlink()
    library.scan()
    assert library.record("ann/day.csv").info.segments == ()


def test_a_dropped_recording_keeps_its_segments_and_they_can_be_edited(tmp_path, long):
    expected = [(s.label, s.start, s.stop) for s in long.segments]
    write([long.replace(segments=())], tmp_path / "day.csv")
    write_segments(tmp_path / "day.segments.csv", long.segments)
    library = Library(tmp_path / "new")
    for name in ("day.csv", "day.segments.csv"):
        library.place.write(
            staging_path(library, "batch0001", f"s/ann/{name}"), (tmp_path / name).read_bytes()
        )
    told = take_in(library, "batch0001")
    assert told["broken"] == []
    (id,) = told["added"]
    assert rows(library) == {id: expected}
    cuts = [r for r in library.records if "@" in r]
    assert len(cuts) == len(expected)
    np.testing.assert_allclose(
        library.sequence(sorted(cuts)[0]).joints.shape[1:], library.sequence(id).joints.shape[1:]
    )
    library.undo()
    assert not library.records


def test_segments_that_cannot_be_read_are_named(tmp_path, long):
    write([long.replace(segments=())], tmp_path / "moves" / "ann" / "day.csv")
    (tmp_path / "moves" / "ann" / "day.eaf").write_text("<ANNOTATION_DOCUMENT><")
    library = Library(tmp_path / "moves")
    library.scan()
    assert "day.eaf" in library.broken["ann/day.csv"]


def test_segments_are_exported_for_the_command_line(tmp_path, folder):
    library = Library(folder)
    library.scan()
    segments = [{"start": 3, "stop": 20, "label": "up"}, {"start": 20, "stop": 30, "label": "down"}]
    library.annotate("wave/s1/s01_wave_t1.npz", segments=segments)
    export(library, "segments", tmp_path / "segments.csv")
    found = read_segments(tmp_path / "segments.csv")
    assert [(s.label, s.start, s.stop) for s in found["s01_wave_t1"]] == [
        ("up", 3, 20),
        ("down", 20, 30),
    ]
    assert len(list(itertools.chain(*found.values()))) == 2
