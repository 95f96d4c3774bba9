"""Loaders: on generated files in the published formats, and on the real recordings where they are
at hand.
"""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.io import savemat

from kerneton import datasets
from kerneton.cli import main
from kerneton.data.layouts import FLORENCE_15, KINECT_20, MSR_20, UTD_20
from kerneton.datasets import (
    LOADERS,
    load_dataset,
    load_florence3d,
    load_msr_action3d,
    load_utd_mhad,
    load_utkinect,
)
from kerneton.datasets import florence3d as florence_module
from kerneton.datasets import msr_action3d as msr_module
from kerneton.datasets import utkinect as ut_module
from kerneton.exceptions import FormatError, MissingDataError, ParameterError
from kerneton.files.readers import joint_rows

real = pytest.mark.skipif(not os.environ.get("KERNETON_DATA"), reason="KERNETON_DATA is not set")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def florence_home(tmp_path, rng):
    video = np.minimum(np.arange(florence_module.N_FRAMES) // 18, florence_module.N_SEQUENCES - 1)
    ids = np.column_stack([video + 1, video % 10 + 1, video % 9 + 1])
    table = np.hstack([ids, rng.normal(0, 1000, (len(ids), 45)).round(2)])
    folder = tmp_path / "florence3d"
    folder.mkdir()
    np.savetxt(folder / florence_module.FILE, table, fmt=["%d"] * 3 + ["%.2f"] * 45)
    return tmp_path, table


@pytest.fixture
def ut_home(tmp_path, rng):
    folder = tmp_path / "utkinect" / "joints"
    folder.mkdir(parents=True)
    tables = {}
    for take in ut_module.TAKES:
        frames = np.arange(100, 184, 2)
        # frame 110 twice, the second with another skeleton
        frames = np.insert(frames, 5, frames[5])
        table = np.column_stack([frames, rng.normal(size=(len(frames), 60)).round(6)])
        np.savetxt(folder / f"joints_{take}.txt", table, fmt=["%d"] + ["%.6f"] * 60, delimiter="  ")
        tables[take] = table
    for kind, shift in (("actionLabel.txt", 0), ("actionLabel_modified.txt", 2)):
        lines = []
        for take in ut_module.TAKES:
            lines.append(take)
            for i, action in enumerate(ut_module.ACTIONS):
                window = f"{100 + 8 * i} {106 + 8 * i + shift} "
                lines.append(
                    f"{action}: {'NaN NaN' if (take, action) == ('s10_e02', 'carry') else window}"
                )
        (folder / kind).write_text("\n".join(lines) + "\n\n")
    return tmp_path, tables


@pytest.fixture
def msr_home(tmp_path, rng):
    folder = tmp_path / "msr_action3d" / "MSRAction3DSkeletonReal3D"
    folder.mkdir(parents=True)
    for i, stem in enumerate(msr_module.recording_names("all")):
        table = np.column_stack([rng.normal(size=(40, 3)), np.tile([1.0, 0.0, 0.25, 1.0], 10)])
        if i == 0:
            table[20:] = 0.0
        np.savetxt(folder / f"{stem}_skeleton3D.txt", table, fmt="%.6f")
    return tmp_path


@pytest.fixture
def utd_home(tmp_path, rng):
    folder = tmp_path / "utd_mhad" / "Skeleton"
    folder.mkdir(parents=True)
    grid = [(a, s, t) for a in range(1, 28) for s in range(1, 9) for t in range(1, 5)]
    for a, s, t in grid:
        if (a, s, t) not in ((8, 1, 4), (23, 6, 4), (27, 8, 4)):
            savemat(
                folder / f"a{a}_s{s}_t{t}_skeleton.mat", {"d_skel": rng.normal(size=(20, 3, 2 + t))}
            )
    return tmp_path


def test_florence_values_and_metadata(florence_home):
    home, table = florence_home
    data = load_florence3d(home)
    assert len(data) == 215
    assert data.layout is FLORENCE_15
    assert data[0].label == "wave"
    assert data[11].label == "answer phone"
    assert data[11].subject == "2"
    assert data[3].name == "video_004"
    assert data[3].joints.dtype == np.float64
    assert_allclose(data[3].joints, table[54:72, 3:].reshape(18, 15, 3) / 1000)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda lines: lines[:-1], "expected 215 videos with 4016 frames, got 215 with 4015"),
        (lambda lines: lines[:100], "got 6 with 100"),
        (
            lambda lines: lines[:9] + [lines[9][:40]] + lines[10:],
            r"line 10: expected 48 numbers .*, got \d",
        ),
        (
            lambda lines: lines[:7] + [lines[7].replace(" ", " oops ", 1)],
            "line 8: expected 48 numbers .*, got 49 words",
        ),
        (
            lambda lines: lines[:7] + ["oops" + lines[7][1:]],
            "line 8, column 1: expected a number, got 'oops'",
        ),
        (
            lambda lines: (
                [line.replace("1 1 1 ", "1 1 12 ", 1) for line in lines[:18]] + lines[18:]
            ),
            "video 1 has action 12, expected 1 to 9",
        ),
        (lambda lines: ["1 1.5 1" + lines[0][5:]] + lines[1:], "row 1: .*1.5"),
        (lambda lines: ["1 2 1" + lines[0][5:]] + lines[1:], "row 2: video 1 changes its actor"),
        (lambda lines: [" ", " "], "no numbers"),
    ],
)
def test_damaged_florence_names_the_line(florence_home, edit, message):
    home, _ = florence_home
    path = home / "florence3d" / florence_module.FILE
    path.write_text("\n".join(edit(path.read_text().splitlines())))
    with pytest.raises(FormatError, match=message) as caught:
        load_florence3d(home)
    assert str(path) in str(caught.value)


def test_binary_file_is_refused(florence_home):
    home, _ = florence_home
    (home / "florence3d" / florence_module.FILE).write_bytes(b"\xff\xfe\x00\x81" * 50)
    with pytest.raises(FormatError, match="line 1: expected 48 numbers"):
        load_florence3d(home)


def test_utkinect_cuts_and_keeps_the_first_of_two(ut_home):
    home, tables = ut_home
    data = load_utkinect(home)
    assert len(data) == 199
    assert data.layout is KINECT_20
    walk = data[0]
    assert (walk.label, walk.subject, walk.name, walk.fps) == ("walk", "1", "s01_e01_walk", None)
    sit = data[1]  # frames 108 to 116, 110 once
    table = tables["s01_e01"]
    rows = [4, 5, 7, 8, 9]
    assert_array_equal(table[rows, 0], [108, 110, 112, 114, 116])
    assert_allclose(sit.joints, table[rows, 1:].reshape(5, 20, 3))
    last = [s for s in data if s.name.startswith("s10_e02")]
    assert len(last) == 9
    assert all(s.label != "carry" for s in last)


def test_utkinect_original_labels(ut_home):
    home, _ = ut_home
    assert load_utkinect(home, labels="original")[2].n_frames == 4
    assert load_utkinect(home, labels="corrected")[2].n_frames == 5
    with pytest.raises(ParameterError, match="labels must be one of 'corrected', 'original'"):
        load_utkinect(home, labels="best")


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (
            lambda text: text.replace("walk: 100 108", "walk: 100", 1),
            "line 2: expected the first and last",
        ),
        (
            lambda text: text.replace("walk: 100 108", "jump: 100 108", 1),
            "line 2: expected an action",
        ),
        (lambda text: text.replace("s01_e02", "s11_e02", 1), "line 12: expected a take"),
        (lambda text: text[: text.index("s10_e01")], "no labels for s10_e01, s10_e02"),
        (
            lambda text: text.replace("clapHands: 172 180", "clapHands: 172 999", 1),
            "do not contain clapHands",
        ),
        (lambda text: text.replace("walk: 100 108", "walk: 1 9", 1), "do not contain walk"),
    ],
)
def test_damaged_utkinect_labels(ut_home, edit, message):
    home, _ = ut_home
    path = home / "utkinect" / "joints" / "actionLabel_modified.txt"
    path.write_text(edit(path.read_text()))
    with pytest.raises(FormatError, match=message):
        load_utkinect(home)


def test_msr_names_confidence_and_subset(msr_home):
    data = load_msr_action3d(msr_home)
    assert len(data) == 557
    assert len(load_msr_action3d(msr_home, subset="all")) == 567
    assert data.layout is MSR_20
    first = data[0]
    assert (first.label, first.subject, first.name, first.fps) == (
        "high arm wave",
        "1",
        "a01_s01_e01",
        15.0,
    )
    # an inferred joint is not a missing one; a frame of zeros is
    assert_allclose(first.confidence[0, :4], [1.0, joint_rows.INFERRED, 0.25, 1.0])
    assert_array_equal(first.confidence[1], np.zeros(20))
    assert_array_equal(first.joints[1], np.zeros((20, 3)))
    with pytest.raises(ParameterError, match="subset must be one of '557', 'all', got 557"):
        load_msr_action3d(msr_home, subset=557)


def test_one_missing_file_among_567(msr_home):
    folder = msr_home / "msr_action3d" / "MSRAction3DSkeletonReal3D"
    (folder / "a09_s05_e02_skeleton3D.txt").unlink()
    with pytest.raises(
        MissingDataError, match=r"1 of 567 files are not in .*a09_s05_e02_skeleton3D\.txt"
    ):
        load_msr_action3d(msr_home, subset="all")
    for path in sorted(folder.iterdir())[:7]:
        path.unlink()
    with pytest.raises(
        MissingDataError, match=r"8 of 557 .* and 5 more\. Download the skeleton data"
    ):
        load_msr_action3d(msr_home)


def test_truncated_msr_file(msr_home):
    path = msr_home / "msr_action3d" / "MSRAction3DSkeletonReal3D" / "a09_s05_e02_skeleton3D.txt"
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:-3]))
    with pytest.raises(
        FormatError, match=r"a09_s05_e02.*37 rows are not a multiple of the 20 joints"
    ):
        load_msr_action3d(msr_home)
    path.write_text("\n".join([*lines[:-1], lines[-1][:12]]))
    with pytest.raises(FormatError, match="line 40: expected 4 numbers"):
        load_msr_action3d(msr_home)


def test_utd_values_and_damage(utd_home):
    data = load_utd_mhad(utd_home)
    assert len(data) == 861
    assert data.layout is UTD_20
    assert (data[4].label, data[4].subject, data[4].name, data[4].fps) == (
        "swipe left",
        "2",
        "a1_s2_t1",
        30.0,
    )
    assert data[4].joints.shape == (3, 20, 3)
    assert data[4].joints.flags.c_contiguous
    path = utd_home / "utd_mhad" / "Skeleton" / "a1_s2_t1_skeleton.mat"
    whole = path.read_bytes()
    for content, message in (
        (whole[: len(whole) // 2], "not a readable MATLAB file"),
        (b"", "not a readable MATLAB file"),
    ):
        path.write_bytes(content)
        with pytest.raises(FormatError, match=f"a1_s2_t1_skeleton.mat: {message}"):
            load_utd_mhad(utd_home)
    savemat(path, {"other": np.ones(3)})
    with pytest.raises(FormatError, match="no variable d_skel"):
        load_utd_mhad(utd_home)
    savemat(path, {"d_skel": np.ones((19, 3, 4))})
    with pytest.raises(FormatError, match=r"20 x 3 x frames, got float64 19 x 3 x 4"):
        load_utd_mhad(utd_home)
    savemat(path, {"d_skel": np.ones((20, 3))})
    assert load_utd_mhad(utd_home)[4].n_frames == 1


@pytest.mark.parametrize(
    ("name", "publisher"),
    [
        ("florence3d", "University of Florence"),
        ("utkinect", "University of Texas at Austin"),
        ("msr_action3d", "Microsoft Research"),
        ("utd_mhad", "University of Texas at Dallas"),
    ],
)
def test_absent_data_says_what_to_download_and_where_to_put_it(
    name, publisher, tmp_path, monkeypatch
):
    monkeypatch.delenv("KERNETON_DATA", raising=False)
    with pytest.raises(MissingDataError, match=rf"set KERNETON_DATA\. Download .*{publisher}"):
        load_dataset(name)
    monkeypatch.setenv("KERNETON_DATA", str(tmp_path))
    with pytest.raises(
        MissingDataError, match=f"no folder {tmp_path}/{name}.*so that {tmp_path}/{name}/.*"
    ):
        load_dataset(name)
    with pytest.raises(FileNotFoundError, match="no folder elsewhere"):
        load_dataset(name, "elsewhere")


def test_unknown_name():
    with pytest.raises(ParameterError, match=r"data set must be one of 'florence3d'.*got 'ntu'"):
        load_dataset("ntu")


@real
@pytest.mark.parametrize(
    ("name", "options", "n", "n_actions", "n_subjects", "lengths"),
    [
        ("florence3d", {}, 215, 9, 10, (8, 18, 35)),
        ("utkinect", {}, 199, 10, 10, (5, 28, 110)),
        ("utkinect", {"labels": "original"}, 199, 10, 10, None),
        ("msr_action3d", {}, 557, 20, 10, (13, 39, 76)),
        ("msr_action3d", {"subset": "all"}, 567, 20, 10, None),
        ("utd_mhad", {}, 861, 27, 8, (41, 67, 125)),
    ],
)
def test_real_counts(name, options, n, n_actions, n_subjects, lengths):
    data = LOADERS[name](**options)
    assert len(data) == n
    assert len(set(data.labels)) == n_actions
    assert set(data.subjects) == {str(i) for i in range(1, n_subjects + 1)}
    assert len({s.name for s in data}) == n
    if lengths is not None:
        frames = [s.n_frames for s in data]
        assert (min(frames), np.median(frames), max(frames)) == lengths
    # metres, upright, in front of the camera, whatever the file's units and joint order
    joints = {j: np.median([s.joints[:, data.layout.index(j)].mean(0) for s in data], axis=0)
              for j in ("head", "left_shoulder", "right_shoulder", "left_ankle")}  # fmt: skip
    assert 1.0 < joints["head"][1] - joints["left_ankle"][1] < 2.0
    assert 1.0 < joints["head"][2] < 5.0
    assert 0.2 < joints["right_shoulder"][0] - joints["left_shoulder"][0] < 0.5


@real
def test_real_msr_names_are_the_published_list():
    listing = os.path.join(
        os.environ["KERNETON_DATA"], "msr_action3d", "files_used_in_cvpr12_paper.txt"
    )
    if not os.path.exists(listing):
        pytest.skip("the list of 557 names is not in the data home")
    with open(listing) as file:
        assert sorted(msr_module.recording_names()) == sorted(file.read().split())


@real
def test_real_msr_lost_frames_and_inferred_joints():
    data = load_msr_action3d()
    lost = [s.name for s in data if (s.confidence == 0).any()]
    assert len(lost) == 13
    for s in data:
        assert_array_equal((s.confidence == 0).any(1), (s.joints == 0).all((1, 2)))


@real
def test_real_utkinect_corrections_change_seven_recordings():
    both = zip(load_utkinect(), load_utkinect(labels="original"), strict=True)
    changed = [a.name for a, b in both if a.joints.shape != b.joints.shape]
    assert len(changed) == 7
    assert "s03_e01_push" in changed


def test_a_data_set_is_named_once(monkeypatch, capsys):
    """A module and its name in PUBLISHED are all that a data set needs; `kerneton info` lists
    it.
    """
    module = SimpleNamespace(
        SOURCE=florence_module.SOURCE, load_mine=lambda data_home=None: [data_home]
    )
    monkeypatch.setitem(sys.modules, "kerneton.datasets.mine", module)
    monkeypatch.setattr(datasets, "PUBLISHED", (*datasets.PUBLISHED, "mine"))
    assert datasets.load_mine("home") == ["home"]
    assert main(["info"]) == 0
    assert "mine" in capsys.readouterr().out.split()
