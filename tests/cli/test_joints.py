"""Joints that recordings never contain, from the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest

import kerneton
from kerneton.cli import main
from kerneton.data.absence import in_pairs, never_seen, without_joints
from kerneton.data.layouts import COCO_17, KINECT_20
from kerneton.datasets.synthetic import make_actions
from kerneton.files import readers


def written(folder, *, everywhere=(), once=()):
    """Recordings below a folder; some joints are in none of them, some are missing in the first."""
    for i, r in enumerate(make_actions(["wave", "kick"], n_subjects=3, n_takes=1)):
        joints = r.joints.copy()
        for joint in (*everywhere, *(once if i == 0 else ())):
            joints[:, KINECT_20.index(joint)] = np.nan
        place = folder / r.label / r.subject
        place.mkdir(parents=True, exist_ok=True)
        readers.write([r.replace(joints=joints, label=None, subject=None)], place / f"{r.name}.npz")
    return folder


def test_joints_that_no_recording_contains_are_left_out(tmp_path, capsys):
    data = written(tmp_path / "data", everywhere=("left_foot", "right_foot"))
    assert main(["info", str(data)]) == 0
    shown = capsys.readouterr().out
    told = (
        "joints that recordings never contain: left_foot (6 recordings), right_foot (6 recordings)"
    )
    assert told in shown
    assert main(["fit", str(data), "-o", str(tmp_path / "model.kern")]) == 0
    told = "joints left_foot, right_foot: no recording contains them"
    assert f"note: left out: {told}" in capsys.readouterr().err
    assert main(["evaluate", str(data), "--html", str(tmp_path / "report.html"), "-q"]) == 0
    assert told in (tmp_path / "report.html").read_text()
    model = kerneton.load(tmp_path / "model.kern")
    assert "left_foot" not in model.layout_.joints
    whole = written(tmp_path / "whole")
    assert main(["predict", str(tmp_path / "model.kern"), str(whole), "--json", "-"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 6


@pytest.mark.filterwarnings("default")
def test_joints_that_some_recordings_never_contain_are_an_error_with_two_ways_out(tmp_path, capsys):
    data = written(tmp_path / "data", once=("right_foot",))
    model = str(tmp_path / "model.kern")
    assert main(["fit", str(data), "-o", model]) == 1
    told = capsys.readouterr().err
    assert "1 of 6 recordings cannot be used" in told
    assert (
        "never contains right_foot; --without left_foot,right_foot leaves these joints out" in told
    )
    assert "--skip-broken leaves these recordings out" in told
    assert "cue" not in told
    assert main(["fit", str(data), "-o", model, "--without", "left_foot,right_foot"]) == 0
    assert "right_foot" not in kerneton.load(model).layout_.joints
    assert main(["fit", str(data), "-o", model, "--skip-broken"]) == 0
    assert "1 of 6 recordings cannot be used" in capsys.readouterr().err
    assert main(["predict", model, str(data), "-q"]) == 1
    told = capsys.readouterr().err
    assert "1 of 6 recordings cannot be used" in told
    assert "--skip-broken" in told
    assert main(["predict", model, str(data), "--skip-broken", "--json", "-"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 5


@pytest.mark.parametrize("names", ["left_fot", ",".join(KINECT_20.joints)])
def test_joints_to_leave_out_must_exist_and_not_be_all(tmp_path, capsys, names):
    data = written(tmp_path / "data")
    assert main(["evaluate", str(data), "--without", names]) == 1
    assert (
        "no recording has a joint 'left_fot'" if names == "left_fot" else "no joint"
    ) in capsys.readouterr().err


def test_convert_keeps_joints_that_are_never_seen(tmp_path):
    data = written(tmp_path / "data", once=("right_foot",))
    assert main(["convert", str(data), str(tmp_path / "all.npz"), "--map", "kinect20"]) == 0
    assert sorted(
        joint for s in kerneton.read(tmp_path / "all.npz") for joint in never_seen(s)
    ) == ["right_foot"]


def test_both_people_lose_the_same_joints():
    wave = make_actions(["wave"], n_subjects=1, n_takes=1)[0]
    joints = wave.joints.copy()
    joints[:, KINECT_20.index("left_foot")] = np.nan
    both = kerneton.pair(wave.replace(joints=joints), wave)
    assert never_seen(both) == ["left_foot_1"]
    names = in_pairs(both.layout, never_seen(both))
    assert names == ["left_foot_1", "right_foot_1", "left_foot_2", "right_foot_2"]
    (rest,) = without_joints([both], names)
    assert [len(body) for body in rest.layout.bodies] == [18, 18]


def test_joints_that_are_left_out_leave_their_bones_to_the_next():
    (rest,) = without_joints(
        [kerneton.SkeletonSequence(np.ones((2, 17, 3)), layout=COCO_17)],
        ["left_elbow", "right_elbow"],
    )
    bones = {tuple(rest.layout.joints[j] for j in bone) for bone in rest.layout.bones}
    assert ("left_shoulder", "left_wrist") in bones
