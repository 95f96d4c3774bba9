"""Every setting on the test subjects, and readings of the paper, on small stand-ins."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from paper_readings import oracle as _oracle
from paper_readings import readings as _readings
from paper_readings.readings import READINGS
from paper_readings.strips import SEEN

from kerneton.data.layouts import FLORENCE_15
from kerneton.data.sequence import SkeletonDataset, SkeletonSequence
from kerneton.datasets import protocols
from kerneton.exceptions import ParameterError
from kerneton.kernels.dck import DCK
from kerneton.kernels.tensors import gaussian, gaussian_features
from kerneton.paper import printed as _printed
from kerneton.paper import tables as _tables
from kerneton.paper.choice import Task
from kerneton.paper.cues import dck_family, sck_family
from kerneton.prepare.frames import Frames


def people(layout, labels, n_subjects, name):
    """Random motions whose labels shift one coordinate, so that some are recognised and some are
    not.
    """
    rng = np.random.default_rng(0)
    data = []
    for subject in range(1, n_subjects + 1):
        for code, label in enumerate(labels):
            joints = rng.normal(scale=0.3, size=(int(rng.integers(6, 9)), len(layout.joints), 3))
            joints[..., 1] += 0.15 * code
            data.append(SkeletonSequence(joints, layout=layout, label=label, subject=str(subject)))
    return SkeletonDataset(data, name=name)


def narrow(family):
    factors = tuple(
        f if f.name == "root" else replace(f, levels=f.levels[-1:]) for f in family.factors
    )
    return replace(family, factors=factors)


@pytest.fixture
def small(monkeypatch):
    """Florence3D under its name: few recordings, two splits in place of ten, fewer settings."""
    data = people(FLORENCE_15, ["bow", "clap", "wave"], 4, "florence3d")
    monkeypatch.setitem(protocols.HALF_SPLITS, "florence3d", ((1, 2), (3, 4)))
    monkeypatch.setattr(_tables, "sck_family", lambda n: narrow(sck_family(n)))
    monkeypatch.setattr(_tables, "dck_family", lambda joints: narrow(dck_family(joints)))
    monkeypatch.setattr(_oracle, "load_florence3d", lambda home: data)
    return Task.of(data)


def test_strips(small, tmp_path):
    found = _oracle.oracle(only=["florence3d"], cache=tmp_path / "done", output=tmp_path)["oracle"]
    assert found["note"] == SEEN == "seen on test: not a result"
    assert [cell["kernel"] for cell in found["cells"]] == ["sck", "dck_d", "dck_e", "sck+dck"]
    tables = _tables.table(small, _printed.TABLES["florence3d"])
    for cell in found["cells"]:
        seen = cell[SEEN]
        assert seen["median"] <= seen["best_setting"] <= seen["best_per_split"]
        assert_allclose(seen["percentiles"][-1], seen["best_setting"], atol=1e-4)
        assert cell["chosen"] <= seen["best_per_split"]
        # ours is the tables' figure
        assert_allclose(cell["chosen"], tables[cell["kernel"]]["accuracy"])
        assert cell["paper"] == tables[cell["kernel"]]["paper_accuracy"]
        assert set(cell) == {
            "data",
            "kernel",
            "reading",
            "paper",
            "chosen",
            "settings",
            "settings_of",
            SEEN,
        }
    assert found["cells"][0]["settings"] == 2 * 4  # roots and Cs of the narrowed grid
    text = (tmp_path / "oracle.md").read_text(encoding="utf-8")
    assert text.splitlines()[0].count(SEEN) == 3
    assert (tmp_path / "oracle.png").read_bytes().startswith(b"\x89PNG")


def test_a_run_goes_on_where_it_stopped(small, tmp_path, monkeypatch):
    first = _oracle.oracle(only=["florence3d"], cache=tmp_path)
    monkeypatch.setattr(_oracle, "_measure", None)
    assert _oracle.oracle(only=["florence3d"], cache=tmp_path) == first
    assert (
        _oracle.oracle(readings=["done"], cache=tmp_path) == first
    )  # the other data sets and readings are not in it


@pytest.mark.parametrize("key", [key for key in READINGS if key not in ("printed", "screen")])
def test_every_reading_runs(small, monkeypatch, key):
    cells = _oracle.oracle(only=["florence3d"], readings=[key])["oracle"]["cells"]
    assert {cell["kernel"] for cell in cells} >= {"dck_e", "sck+dck"}
    assert ("sck" in {cell["kernel"] for cell in cells}) == ("sck" in READINGS[key].kernels)
    json.dumps(cells, allow_nan=False)


def features(pipeline, data):
    return pipeline.fit(data).transform(data)


def test_readings_differ_from_the_tables_way_and_sums_agree_with_the_formula(small):
    data = small.data.select(np.arange(2))
    for kernel, family in (("sck", sck_family(15)), ("dck", dck_family("E"))):
        plain = features(next(family.encoders())[0], data)
        for key, reading in READINGS.items():
            if reading.encoder is not None and kernel in reading.kernels and key not in ("exact",):
                other = features(next(reading.family(family, kernel).encoders())[0], data)
                assert other.shape != plain.shape or not np.allclose(other, plain, rtol=1e-3), key
    kernel = DCK(joints="A", sigma_span=3.0)
    all_frames = _readings._DCKAnyFrames(joints="A", sigma_span=3.0, power=1.0).fit_transform(data)
    parts = [
        kind(joints="A", sigma_span=3.0, power=1.0).fit_transform(data)
        for kind in (_readings._DCKLater, _readings._DCKLaterOrSame)
    ]
    without = kernel.set_params(power=1.0).fit_transform(data)
    # s ≠ s' is all less s = s', and s = s' is what s ≤ s' has more than s < s'
    assert_allclose(all_frames - (parts[1] - parts[0]), without, atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "allowed"),
    [
        (_readings._DCKLater, np.less),
        (_readings._DCKLaterOrSame, np.less_equal),
        (_readings._DCKAnyFrames, lambda s, t: True),
    ],
)
def test_sums_over_some_frames_are_the_plain_ones(small, kind, allowed):
    recording = small.data[0]
    kernel = kind(joints="A", sigma_span=0.5).fit([recording])
    n = recording.n_frames  # more than the window reaches
    x = recording.joints[:, kernel.joints_].astype(np.float64)
    z, (i, k) = kernel._times(n), kernel._local_pairs.T
    expected = np.zeros((len(i), 15, 6, 6))
    for s, t in itertools.product(range(n), range(n)):
        if allowed(s, t):
            phi = gaussian_features(x[s, i] - x[t, k], sigma=kernel.sigma_joint, n_pivots=5)
            ends = gaussian(s - t, 0.5) * np.outer(z[s], z[t]) / (len(kernel.joints_) * n)
            expected += phi.reshape(-1, 15, 1, 1) * ends
    given = kernel._displacements(recording.joints, Frames.of([recording]))
    assert_allclose(kernel._sums(given, 0, 1)[0], expected, atol=1e-6)


def test_one_against_one_votes():
    codes = np.array([0, 0, 1, 1, 2, 2])
    X = np.eye(3)[codes] + 0.01 * np.arange(6)[:, None]
    assert (
        _readings.one_against_one(X @ X.T, X @ X.T, codes, [1.0, 10.0]).tolist()
        == [codes.tolist()] * 2
    )


def test_screen_coordinates_shrink_with_distance():
    data = people(FLORENCE_15, ["bow"], 1, "own")
    near, far = (
        _readings.on_screen(type(data)([s.replace(joints=s.joints + [0, 0, z]) for s in data]))
        for z in (2, 4)
    )
    sizes = [np.ptp(d[0].joints[..., 0]) / d[0].joints[..., 2].mean() for d in (near, far)]
    assert_allclose(sizes[0] / sizes[1], 2, rtol=0.5)


def test_splines_go_through_what_is_valid():
    data = people(FLORENCE_15, ["bow"], 1, "florence3d")
    joints = data[0].joints.copy()
    joints[2] = 0
    gap = type(data)([data[0].replace(joints=joints)], name="florence3d")
    out = _readings.splined(gap)[0].joints
    assert len(out) == 35
    assert_allclose(out[[0, -1]], joints[[0, -1]], atol=1e-6)
    assert abs(out).min(axis=(1, 2)).shape == (35,)
    assert (abs(out).max(axis=(1, 2)) > 0.1).all()


def test_c_is_chosen_per_cell():
    data = people(FLORENCE_15, ["bow", "clap"], 4, "own")
    task = Task(
        data, [(np.arange(4), np.arange(4, 8)), (np.arange(4, 8), np.arange(4))], (1.0, 10.0)
    )
    validation = np.array(
        [[[0.5, 0.6], [0.6, 0.55]]]
    )  # the second C is better on average, not in the second split
    test = np.array([[[0.1, 0.2], [0.3, 0.4]]])
    for choice, expected in (("split", [0.3, 0.2]), ("cell", [0.3, 0.4])):
        found = _oracle._choose([("a",)], [], validation, test, task, choice)
        assert [accuracy for *_, accuracy in found] == expected


def test_unknown_names():
    with pytest.raises(ParameterError, match="no-such: expected data sets florence3d"):
        _oracle.oracle(readings=["no-such"])
