"""A folder is a data set: labels from trees, names and indexes; broken files; the summary."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from numpy.testing import assert_allclose
from samples import SAMPLES, motion, openpose_files, sequence, write_segments

from kerneton.data.layouts import COCO_17, KINECT_20
from kerneton.data.segments import Segment
from kerneton.data.sequence import SkeletonDataset, SkeletonSequence
from kerneton.exceptions import DataError, FormatError, MissingDataError, ParameterError
from kerneton.files import readers
from kerneton.files.folder import load_folder
from kerneton.files.summary import summarize


def save(path, seed=0, suffix=".csv", **fields):
    path = path.with_name(path.name + suffix)
    path.parent.mkdir(parents=True, exist_ok=True)
    readers.write([SkeletonSequence(motion(seed=seed), layout=KINECT_20, **fields)], path)
    return path


def plain(data):
    return [(s.name, s.label, s.subject) for s in data]


def test_tree_of_labels_and_subjects(tmp_path):
    for i, name in enumerate(["wave/ann/1", "wave/bob/1", "bow/ann/1", "bow/ann/2"]):
        save(tmp_path / "lab" / name, i)
    data = load_folder(tmp_path / "lab")
    assert data.name == "lab"
    assert plain(data) == [
        ("bow/ann/1", "bow", "ann"),
        ("bow/ann/2", "bow", "ann"),
        ("wave/ann/1", "wave", "ann"),
        ("wave/bob/1", "wave", "bob"),
    ]
    assert_allclose(data[3].joints, motion(seed=1))
    assert data.layout is KINECT_20


def test_tree_of_labels_alone_and_no_tree(tmp_path):
    save(tmp_path / "wave" / "1")
    save(tmp_path / "2")
    assert plain(load_folder(tmp_path)) == [("2", None, None), ("wave/1", "wave", None)]


def test_the_folder_of_a_long_recording_is_its_subject(tmp_path):
    for name in ("ann/one", "bob/one", "day 1/cy/one"):
        write_segments(save(tmp_path / name).with_suffix(".segments.csv"), [Segment("wave", 2, 9)])
    save(tmp_path / "dee" / "one", segments=(Segment("bow", 2, 9),), subject="D", suffix=".npz")
    data = load_folder(tmp_path)
    assert plain(data) == [
        ("ann/one", None, "ann"),
        ("bob/one", None, "bob"),
        ("day 1/cy/one", None, "cy"),
        ("dee/one", None, "D"),
    ]
    assert "4 recordings, 2 labels, 4 subjects" in str(summarize(data))


def test_pattern_names_label_and_subject(tmp_path):
    save(tmp_path / "a01_s02_e03_skeleton3D")
    save(tmp_path / "deep" / "a04_s05_e06")
    data = load_folder(tmp_path, pattern="a{label}_s{subject}_e{take}")
    assert plain(data) == [("a01_s02_e03_skeleton3D", "01", "02"), ("deep/a04_s05_e06", "04", "05")]


def test_pattern_with_stars_and_paths(tmp_path):
    save(tmp_path / "wave" / "p7-take1")
    assert plain(load_folder(tmp_path, pattern="p{subject}-*")) == [("wave/p7-take1", "wave", "7")]
    data = load_folder(tmp_path, pattern="{label}/p{subject}-take{take}")
    assert plain(data) == [("wave/p7-take1", "wave", "7")]


def test_takes_that_a_pattern_counts_as_people_are_told(tmp_path, recwarn):
    """s01_t1 and s01_t2 as two people: every person would be trained on and tested."""
    for name in ("a01_s01_t1", "a01_s01_t2", "a02_s01_t1", "a02_s02_t1"):
        save(tmp_path / name)
    for pattern in ("a{label}_s{subject}_t{take}", "a{label}_s{subject}_*", "{take}_s{subject}_*"):
        load_folder(tmp_path, pattern=pattern)
    assert not recwarn
    told = r"pattern '\{label\}_s\{subject\}': 01_t1, 01_t2, 02_t1; if that is a person and a take, name the take"
    with pytest.warns(UserWarning, match=told):
        assert load_folder(tmp_path, pattern="{label}_s{subject}").subjects[0] == "01_t1"


def test_names_that_do_not_fit_are_listed_together(tmp_path):
    save(tmp_path / "wave_ann")
    save(tmp_path / "odd")
    save(tmp_path / "odder")
    with pytest.raises(
        DataError,
        match=r"2 of 3 files cannot be used: .*'odd' does not fit.*the same in 2: .*odder",
    ):
        load_folder(tmp_path, pattern="{label}_{subject}")


@pytest.mark.parametrize(
    "pattern", ["{take}", "{label}_{label}", "nothing", "{label}_{", "{label}}"]
)
def test_bad_patterns(tmp_path, pattern):
    save(tmp_path / "wave_ann")
    with pytest.raises(ParameterError, match="pattern"):
        load_folder(tmp_path, pattern=pattern)


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        (
            "{lable}_{subject}",
            r"no field {lable} \(did you mean {label}\?\); fields are {label}, {subject}, {take}",
        ),
        (
            "{label}_{camera}",
            r"no field {camera}; fields are {label}, {subject}, {take}, and \* fits anything else",
        ),
    ],
)
def test_unknown_fields_of_a_pattern(tmp_path, pattern, said):
    save(tmp_path / "wave_ann")
    with pytest.raises(ParameterError, match=said):
        load_folder(tmp_path, pattern=pattern)


@pytest.mark.parametrize("name", ["index.csv", "about/labels.csv"])
def test_index_decides_files_labels_and_subjects(tmp_path, name):
    save(tmp_path / "data" / "one")
    save(tmp_path / "data" / "two")
    save(tmp_path / "data" / "three")
    index = tmp_path / name
    index.parent.mkdir(exist_ok=True)
    index.write_text("File;label;subject;note\ndata/two.csv;wave;ann;x\ndata/one.csv;bow;;\n")
    data = load_folder(tmp_path, index=None if name == "index.csv" else index)
    assert plain(data) == [("data/two", "wave", "ann"), ("data/one", "bow", None)]
    assert len(load_folder(tmp_path, index=name)) == 2


def test_index_errors(tmp_path):
    save(tmp_path / "one")
    (tmp_path / "bad.csv").write_text("name,label\none.csv,wave\n")
    with pytest.raises(
        FormatError, match=r"bad.csv: expected the columns file, label and subject, found name"
    ):
        load_folder(tmp_path, index="bad.csv")
    (tmp_path / "gone.csv").write_text("file,label\none.csv,wave\nno.csv,bow\nnot.csv,bow\n")
    with pytest.raises(
        MissingDataError, match=r"2 files not found: line 3: no.csv, line 4: not.csv"
    ):
        load_folder(tmp_path, index="gone.csv")
    (tmp_path / "short.csv").write_text("file,label\none.csv\n")
    with pytest.raises(FormatError, match=r"short.csv, line 2: expected 2 columns, got 1"):
        load_folder(tmp_path, index="short.csv")
    with pytest.raises(MissingDataError, match="no such index file"):
        load_folder(tmp_path, index="none.csv")
    with pytest.raises(ParameterError, match="not both"):
        load_folder(tmp_path, index="gone.csv", pattern="{label}")


def test_broken_files_are_reported_together_or_skipped(tmp_path):
    save(tmp_path / "wave" / "good")
    (tmp_path / "wave" / "empty.npz").write_bytes(b"")
    (tmp_path / "wave" / "text.csv").write_text("head_x,head_y,head_z\n1,2,oops\n")
    with pytest.raises(DataError) as caught:
        load_folder(tmp_path)
    message = str(caught.value)
    assert message.startswith("2 of 3 files cannot be used:")
    assert "empty.npz: an empty file" in message
    assert "text.csv: line 2, column 3: expected a number, got 'oops'" in message
    with pytest.warns(UserWarning, match="2 of 3 files cannot be used"):
        data = load_folder(tmp_path, skip_broken=True)
    assert plain(data) == [("wave/good", "wave", None)]
    assert data.left_out == data[:1].left_out == (message,)


def test_skipping_everything_is_still_an_error(tmp_path):
    (tmp_path / "text.csv").write_text("head_x,head_y,head_z\n1,2,oops\n")
    with pytest.raises(DataError, match="1 of 1 file cannot"):
        load_folder(tmp_path, skip_broken=True)


def test_what_is_not_a_recording_is_passed_over(tmp_path):
    save(tmp_path / "wave" / "1")
    (tmp_path / "README.txt").write_text("read me")
    (tmp_path / "notes.md").write_text("x,y,z\n1,2,3\n")
    (tmp_path / "wave" / "1.mp4").write_bytes(
        b"\0\0\0\x18ftyp"
    )  # the film of a recording beside it
    (tmp_path / "photo.jpg").write_bytes(b"\xff\xd8\xff")
    (tmp_path / ".hidden.csv").write_text("no")
    (tmp_path / "__MACOSX").mkdir()
    (tmp_path / "__MACOSX" / "1.csv").write_text("no")
    assert [s.name for s in load_folder(tmp_path)] == ["wave/1"]


def test_files_that_no_reader_knows_are_counted_by_kind_with_what_to_do(tmp_path):
    """Fifteen of twenty-one files were once passed over without a word."""
    save(tmp_path / "wave" / "1")
    for i, name in enumerate(["a.fbx", "b.fbx", "c.7z", "take.foo", "wave/noise"]):
        (tmp_path / name).write_bytes(bytes([i]) + bytes(range(256)))
    (tmp_path / "c.7z").write_bytes(b"7z\xbc\xaf")
    told = (
        r"5 files are not read: 2 \.fbx \(an FBX file; export it as BVH or C3D\), "
        r"1 \.foo, 1 noise \(unknown format\), 1 \.7z \(an archive; unpack it first\)"
    )
    with pytest.warns(UserWarning, match=told):
        assert [s.name for s in load_folder(tmp_path)] == ["wave/1"]
    (tmp_path / "wave" / "1.csv").unlink()
    with pytest.raises(MissingDataError, match=rf"no recordings in this folder: {told}"):
        load_folder(tmp_path)


def test_missing_and_empty_folders(tmp_path):
    with pytest.raises(MissingDataError, match="no such file or folder"):
        load_folder(tmp_path / "none")
    with pytest.raises(MissingDataError, match="no recordings"):
        load_folder(tmp_path)


def test_a_folder_of_frames_is_one_recording(tmp_path):
    pytest.importorskip("kerneton.files.readers.openpose")
    for clip in ("wave/ann/clip1", "wave/ann/clip2"):
        (tmp_path / clip).mkdir(parents=True)
        for name, content in openpose_files().items():
            (tmp_path / clip / name).write_bytes(content)
    data = load_folder(tmp_path)
    assert [(s.label, s.subject, s.n_frames) for s in data] == [("wave", "ann", 4)] * 2


def test_files_of_many_labels_keep_them(tmp_path):
    place = tmp_path / "published"
    place.mkdir()
    readers.write(
        [sequence(label=k, subject="ann", name=k) for k in ("bow", "wave")], place / "all.npz"
    )
    assert plain(load_folder(tmp_path)) == [
        ("published/bow", "bow", "ann"),
        ("published/wave", "wave", "ann"),
    ]


def test_options_reach_every_file(tmp_path):
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", motion(n_joints=17))
    (tmp_path / "c.csv").write_text("p x,p y,p z\n" + "1,2,3\n" * 4)
    with pytest.raises(DataError, match=r"c.csv: recording 'c' with layout 'table' lacks nose"):
        load_folder(tmp_path, layout="coco17")
    (tmp_path / "c.csv").unlink()
    data = load_folder(tmp_path, layout="coco17", fps=25)
    assert all(s.layout is COCO_17 and s.fps == 25 for s in data)
    (tmp_path / "d.csv").write_text("LWX,LWY,LWZ\n1,2,3\n")
    names = {"LWX": "left_wrist_x", "LWY": "left_wrist_y", "LWZ": "left_wrist_z"}
    assert load_folder(tmp_path, columns=names)[2].layout.joints == ("left_wrist",)


def test_progress_sees_every_file(tmp_path):
    for i in range(3):
        save(tmp_path / str(i))
    seen = []

    def progress(iterable, *, total=None, desc=""):
        for item in iterable:
            seen.append((total, desc))
            yield item

    load_folder(tmp_path, progress=progress)
    assert seen == [(3, "reading")] * 3


def test_every_format_can_stand_in_a_folder(tmp_path):
    pytest.importorskip("c3d")
    expected = 0
    for format, makers in SAMPLES.items():
        for i, make in enumerate(makers):
            path = make().place(tmp_path / format / str(i))
            expected += len(readers.read(path))
    assert len(load_folder(tmp_path)) == expected


def test_links_in_circles_end(tmp_path):
    save(tmp_path / "wave" / "1")
    (tmp_path / "wave" / "again").symlink_to(tmp_path, target_is_directory=True)
    assert load_folder(tmp_path)[0].label == "wave"


def test_links_between_folders_do_not_multiply_recordings(tmp_path):
    """Folders that link to each other: every recording once, with the label of its own place."""
    names = "abcdef"
    for name in names:
        readers.write([sequence(label=None, subject=None)], tmp_path / name / "one.npz")
    for name in names:
        for other in names:
            (tmp_path / name / f"to_{other}").symlink_to(tmp_path / other, target_is_directory=True)
    assert sorted(s.label for s in load_folder(tmp_path)) == list(names)
    kept = tmp_path / ".kept" / "more"
    readers.write([sequence(label=None, subject=None)], kept / "two.npz")
    (tmp_path / "a" / "ann").symlink_to(kept, target_is_directory=True)  # not read in its own place
    assert [s.subject for s in load_folder(tmp_path) if s.label == "a"] == ["ann", None]


# The summary.


def recordings(pairs, **fields):
    return SkeletonDataset(
        [
            SkeletonSequence(
                motion(seed=i), layout=KINECT_20, label=k, subject=s, name=f"r{i}", fps=30, **fields
            )
            for i, (k, s) in enumerate(pairs)
        ],
        name="lab",
    )


def test_a_good_data_set_has_no_warnings():
    summary = summarize(recordings([(k, s) for k in ("bow", "wave") for s in ("a", "b", "c")]))
    assert summary.warnings == []
    assert summary.labels == {"bow": 3, "wave": 3}
    assert summary.subjects == {"a": 2, "b": 2, "c": 2}
    assert summary.n_frames == (6, 6.0, 6)
    assert summary.missing == 0
    assert "lab: 6 recordings, 2 labels, 3 subjects" in str(summary)
    assert json.loads(json.dumps(summary.to_dict()))["layouts"] == {"kinect20": 6}


def test_few_examples_lone_subjects_and_lone_labels():
    pairs = [("bow", "a"), ("bow", "b"), ("wave", "a"), ("wave", "b"), ("wave", "c"), ("clap", "b")]
    warnings = summarize(recordings(pairs)).warnings
    assert "labels with 2 recordings or fewer: bow (2), clap (1)" in warnings
    assert "subjects with one label: c (wave)" in warnings
    assert "labels with only one subject, which cannot be tested on others: clap (b)" in warnings


def test_labels_that_are_not_there():
    told = "no recording has a label: folders, a pattern of file names or an index give them"
    assert told in summarize(recordings([(None, None)] * 3)).warnings
    some = summarize(recordings([("bow", "a")] * 3 + [(None, "b")])).warnings
    assert "1 recording without label: r3" in some


def test_duplicates_are_found_by_content():
    data = list(recordings([("bow", "a"), ("bow", "b"), ("wave", "a"), ("wave", "b")]))
    again = [*data, data[0].replace(name="copy"), data[1].replace(name="other", label="wave")]
    warnings = summarize(again).warnings
    assert "the same recording 2 times: r0, copy" in warnings
    assert "the same recording 2 times: r1, other, with the labels bow, wave" in warnings
    nearly = [*data, data[0].replace(joints=data[0].joints + 1e-9)]
    assert not any("same recording" in w for w in summarize(nearly).warnings)


def test_mixed_layouts_and_rates():
    data = [*recordings([("bow", "a")] * 2), sequence(COCO_17, fps=25), sequence(None, fps=None)]
    warnings = "\n".join(summarize(data).warnings)
    assert (
        "2 of 4 recordings have different joints: recording 'wave_01' lacks hip_center" in warnings
    )
    assert "recording 'wave_01' has 20 joints without names" in warnings
    assert "mixed frame rates: 25 fps 1, 30 fps 2, unknown 1" in warnings


@pytest.mark.parametrize("people", [("p1", "p2", "p3"), ("Subject 1", "subject-2", "subject_10")])
def test_labels_and_subjects_that_changed_places(people):
    swapped = recordings([(p, a) for p in people for a in ("bow", "wave")] * 2)
    (warning,) = (w for w in summarize(swapped).warnings if "look like" in w)
    assert (
        f"labels look like people ({', '.join(sorted(people))}), subjects like actions (bow, wave)"
        in warning
    )
    assert "{subject}/{label}/*" in warning
    for right in (
        [(a, p) for p in people for a in ("bow", "wave")],
        [(p, p) for p in people],
        [("p1", None)],
    ):
        assert not any("look like" in w for w in summarize(recordings(right)).warnings)
    (warning,) = (
        w for w in summarize(recordings([(p, None) for p in people])).warnings if "look like" in w
    )
    assert warning.endswith(
        "); if they are subjects, name the folder above, with LABEL/SUBJECT/FILE"
    )


def test_rates_that_hardly_differ_are_no_mixture():
    data = [sequence(fps=fps, name=f"{fps}") for fps in (29.5, 29.9, 30.0, 30.2)]
    summary = summarize(data)
    assert not any("rates" in warning for warning in summary.warnings)
    assert "rate      29.5 to 30.2 fps" in str(summary)
    mixed = [*data, sequence(fps=15, name="slow")]
    assert "mixed frame rates: 15 to 30.2 fps; unlike most: slow" in summarize(mixed).warnings


def test_missing_joints_are_counted_however_they_are_marked():
    joints = motion(10)
    joints[:2] = 0  # lost frames
    joints[2, :10] = np.nan
    confidence = np.ones((10, 20))
    confidence[3, :5] = 0
    summary = summarize([SkeletonSequence(joints, confidence, name="gappy")])
    assert_allclose(summary.missing, (40 + 10 + 5) / 200)
    assert "27.5%" in str(summary)
    joints[:6] = 0
    warnings = summarize([SkeletonSequence(joints, name="gappy")]).warnings
    assert "recordings with more than half of their joints missing: gappy (60%)" in warnings


def test_short_recordings_and_long_lists():
    data = [SkeletonSequence(motion(3, seed=i), name=f"r{i}") for i in range(20)]
    warnings = summarize(data).warnings
    assert any("r11 (3) and 8 more" in w for w in warnings)
    twins = [s.replace(name=f"{s.name}{k}") for s in data for k in "ab"]
    assert (
        "20 recordings occur more than once: r0a, r1a, r2a and 17 more" in summarize(twins).warnings
    )


def test_an_empty_set_has_a_summary():
    assert "0 recordings" in str(summarize([]))


@pytest.mark.parametrize("way", ["link", "hard link", "index"])
def test_a_file_that_comes_twice_is_read_once(tmp_path, way):
    for take in "12":
        file = tmp_path / "wave" / "ann" / f"{take}.csv"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"head_x,head_y,head_z\n0,1.7,{take}\n0,1.6,2\n")
    again = tmp_path / "wave" / "ann" / "9.csv"
    if way == "link":
        again.symlink_to("1.csv")
    elif way == "hard link":
        os.link(tmp_path / "wave" / "ann" / "1.csv", again)
    else:
        rows = "".join(f"wave/ann/{name}.csv,wave,ann\n" for name in ("1", "2", "../ann/1"))
        (tmp_path / "index.csv").write_text(f"file,label,subject\n{rows}")
    with pytest.warns(UserWarning, match="1 of 3 files come twice, read once: .*(9|/ann/1).csv"):
        assert len(load_folder(tmp_path)) == 2


def test_one_file_with_two_labels_is_an_error(tmp_path):
    for label in ("bow", "wave"):
        (tmp_path / label).mkdir()
    (tmp_path / "bow" / "1.csv").write_text("head_x,head_y,head_z\n0,1.7,2\n0,1.6,2\n")
    (tmp_path / "wave" / "2.csv").symlink_to(tmp_path / "bow" / "1.csv")
    with pytest.raises(
        DataError,
        match=r"wave/2.csv: the same file as .*bow/1.csv, with label wave, subject None, not label bow",
    ):
        load_folder(tmp_path)


def test_warnings_of_many_files_are_grouped(tmp_path):
    for i in range(5):
        (tmp_path / f"{i}.csv").write_text("head_x,head_y,head_z\n0,1,2\n0,1,2\n0")
    with pytest.warns(UserWarning, match="0.csv: line 4: the file ends inside") as told:
        assert [s.n_frames for s in load_folder(tmp_path)] == [2] * 5
    (message,) = map(str, (warning.message for warning in told))
    assert "the same in 5: " in message
    assert message.endswith(" and 2 more)")
