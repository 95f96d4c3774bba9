"""Graph networks beside Kerneton: what is written for them, and what is said if they cannot run."""

from __future__ import annotations

import sys

import gcn
import numpy as np
import pytest
from numpy.testing import assert_allclose

from kerneton import make_actions


def test_a_split_is_written_as_the_networks_read_it():
    data = make_actions(["wave", "bow", "clap"], n_subjects=3, n_takes=2)
    new = np.array([s == "3" for s in data.subjects])
    train, test = np.flatnonzero(~new), np.flatnonzero(new)
    content = gcn.split_content(data, train, test)
    names = content["split"]
    assert [len(names["train"]), len(names["test"])] == [len(train), len(test)]
    made = {a["frame_dir"]: a for a in content["annotations"]}
    assert sorted(made) == sorted([*names["train"], *names["test"]])  # each once, in one side
    classes = ["bow", "clap", "wave"]
    for side, rows in (("train", train), ("test", test)):
        for name, row in zip(names[side], rows, strict=True):
            one, recording = made[name], data[int(row)]
            assert classes[one["label"]] == recording.label
            assert one["total_frames"] == recording.n_frames
            keypoint = one["keypoint"]
            assert keypoint.dtype == np.float32
            assert keypoint.shape == (1, recording.n_frames, 20, 3)
            assert np.isfinite(keypoint).all()
            assert_allclose(keypoint[0, :, recording.layout.root], 0, atol=1e-6)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "--pyskl"),
        (["--pyskl", "{nowhere}"], "is no checkout of PYSKL: it has no tools/train.py"),
        (["moon", "--pyskl", "{pyskl}"], "unknown data set moon; choose from florence3d"),
        (["--pyskl", "{pyskl}", "--epochs", "0"], "--epochs 0: expected at least 1"),
        (["--pyskl", "{pyskl}", "--network", "x"], "invalid choice"),
        (["florence3d", "--pyskl", "{pyskl}"], "PYSKL needs torch and mmcv, which this Python"),
    ],
)
def test_what_cannot_run_is_said_before_anything_is_read(
    given, message, tmp_path, monkeypatch, capsys
):
    checkout = tmp_path / "pyskl"
    (checkout / "tools").mkdir(parents=True)
    (checkout / "tools" / "train.py").touch()
    monkeypatch.setattr(gcn, "find_spec", lambda name: None)
    places = {"pyskl": str(checkout), "nowhere": str(tmp_path)}
    monkeypatch.setattr(sys, "argv", ["gcn.py", *(word.format(**places) for word in given)])
    with pytest.raises(SystemExit) as refused:
        gcn.main()
    assert refused.value.code == 2
    assert message in " ".join(capsys.readouterr().err.split())
