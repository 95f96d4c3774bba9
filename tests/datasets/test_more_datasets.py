"""Two persons, 2D and hands: loaders on made files, and on the real ones where they are."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from numpy.testing import assert_allclose
from samples import split_bodies

from kerneton import load_dataset
from kerneton.data.layouts import HAND_20, JHMDB_15, OPENNI_15
from kerneton.datasets.jhmdb import jhmdb_splits
from kerneton.datasets.sbu import ACTIONS, FOLDS, PAIRS
from kerneton.exceptions import FormatError, MissingDataError

real = pytest.mark.skipif(
    "KERNETON_DATA" not in os.environ, reason="needs the recordings (KERNETON_DATA)"
)


def test_folds_of_sbu_hold_every_pair_once():
    assert sorted(pair for fold in FOLDS for pair in fold) == sorted(PAIRS)


@pytest.fixture(scope="module")
def sbu_home(tmp_path_factory):
    """Two frames of each of 282 recordings, every number telling where it stands."""
    home = tmp_path_factory.mktemp("sbu")
    places = [(p, a, n) for n in range(1, 3) for p in PAIRS for a in range(1, 9)][:282]
    for pair, action, number in places:
        folder = home / "sbu" / pair / f"{action:02d}" / f"{number:03d}"
        folder.mkdir(parents=True)
        row = ",".join(f"{v:.3f}" for v in np.arange(90) / 100)
        (folder / "skeleton_pos.txt").write_text(f"7,{row}\n8,{row}\n")
    return home


def test_sbu(sbu_home):
    data = load_dataset("sbu", sbu_home)
    assert len(data) == 282
    first = data[0]
    assert (first.label, first.subject, first.name) == (ACTIONS[0], "s01s02", "s01s02_01_001")
    assert first.layout.joints[14:16] == ("right_foot_1", "head_2")
    one, two = split_bodies(first)
    assert one.layout == two.layout == OPENNI_15
    assert_allclose(one.joints[0, 0], [1.28, 0.96 - 1.92 * 0.01, 0.02 * 10 / 7.8125])
    assert_allclose(two.joints[1, 0, 0], 1.28 - 2.56 * 0.45)


def test_sbu_that_is_not_whole(sbu_home, tmp_path):
    with pytest.raises(MissingDataError, match="SBU-Kinect-Interaction: no folder"):
        load_dataset("sbu", tmp_path)
    path = sbu_home / "sbu/s07s03/08/001/skeleton_pos.txt"
    content = path.read_text()
    path.write_text("1,2,3\n")
    with pytest.raises(
        FormatError, match=r"skeleton_pos\.txt, line 1: 3 columns do not fit the 30 joints"
    ):
        load_dataset("sbu", sbu_home)
    path.write_text(content + "1,x\n")
    with pytest.raises(FormatError, match=r"skeleton_pos\.txt, line 3: expected 91 columns, got 2"):
        load_dataset("sbu", sbu_home)
    path.unlink()
    with pytest.raises(FormatError, match="expected 282 recordings, got 281"):
        load_dataset("sbu", sbu_home)
    path.write_text(content)


def npz(path, n, shape, name):
    path.parent.mkdir()
    rng = np.random.default_rng(0)
    fields = {}
    for i in range(n):
        fields[f"joints_{i}"] = rng.normal(size=shape).astype(np.float32)
        fields |= {f"label_{i}": "ab"[i % 2], f"name_{i}": name(i)}
    np.savez(path, **fields)
    return fields


def test_jhmdb(tmp_path):
    made = npz(tmp_path / "jhmdb" / "jhmdb_2d.npz", 609, (3, 15, 2), lambda i: f"{i:04d}")
    splits = tmp_path / "jhmdb" / "splits.json"
    table = {
        f"{side}_{k}": [k, k + 3] if side == "train" else [k + 6]
        for side in ("train", "test")
        for k in (1, 2, 3)
    }
    splits.write_text(json.dumps(table))
    data = load_dataset("jhmdb", tmp_path)
    assert data.layout == JHMDB_15
    assert_allclose(data[5].joints[..., :2], made["joints_5"] * [1, -1])  # y points up
    assert not data[5].joints[..., 2].any()
    assert [(a.tolist(), b.tolist()) for a, b in data.splits][2] == ([3, 6], [9])
    splits.write_text(json.dumps(table | {"test_2": [2]}))
    with pytest.raises(FormatError, match="repeated or beyond the 609"):
        jhmdb_splits(tmp_path)
    splits.write_text("{}")
    with pytest.raises(FormatError, match="expected lists of positions"):
        jhmdb_splits(tmp_path)


def test_sfinge3d(tmp_path):
    path = tmp_path / "hands" / "sfinge3d_takes_01_18.npz"
    fields = npz(path, 234, (3, 20, 3), lambda i: f"g{i // 18:02d}_t{i % 18 + 1:02d}")
    data = load_dataset("sfinge3d", tmp_path)
    assert (data.layout, data[0].fps) == (HAND_20, 20)
    # takes 3 6, 1 4, 2 5
    assert [test[:2].tolist() for _, test in data.splits] == [[2, 5], [0, 3], [1, 4]]
    np.savez(path, **fields | {"name_7": "nod"})
    with pytest.raises(FormatError, match="got 234, 233 of them with such names"):
        load_dataset("sfinge3d", tmp_path)


@real
def test_real_counts():
    sbu, jhmdb, hands = (load_dataset(name) for name in ("sbu", "jhmdb", "sfinge3d"))
    assert (len(sbu), len(set(sbu.labels)), len(set(sbu.subjects))) == (282, 8, 21)
    assert (len(jhmdb), len(set(jhmdb.labels))) == (609, 14)
    assert [len(set(jhmdb.labels[test])) for _, test in jhmdb_splits()] == [14] * 3
    assert [[len(test) for _, test in data.splits] for data in (sbu, jhmdb, hands)] == [
        [55, 52, 56, 54, 65],
        [176, 176, 175],
        [78, 78, 78],
    ]
    assert (len(hands), len(set(hands.labels))) == (234, 13)
    heads = np.stack([s.joints[0, s.layout.index("head_1"), 1] for s in sbu])
    feet = np.stack([s.joints[0, s.layout.index("left_foot_1"), 1] for s in sbu])
    assert np.median(heads - feet) == pytest.approx(1.4, abs=0.3)  # metres, y up
