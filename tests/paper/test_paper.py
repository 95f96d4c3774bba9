"""The paper's experiments on small stand-ins for the published recordings: structure, choice,
files, errors.
"""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kerneton import (
    Branch,
    CenterNormalize,
    LinearSVM,
    Preprocess,
    Recognizer,
    Search,
    make_actions,
)
from kerneton.data.layouts import FLORENCE_15, KINECT_20, MSR_20
from kerneton.data.sequence import SkeletonDataset, SkeletonSequence
from kerneton.datasets import protocols
from kerneton.datasets.msr_action3d import ACTIONS
from kerneton.exceptions import MissingDataError, ParameterError
from kerneton.paper import complexity as _complexity
from kerneton.paper import figures as _figures
from kerneton.paper import printed as _printed
from kerneton.paper import tables as _tables
from kerneton.paper import timing as _timing
from kerneton.paper.choice import CS, Grams, Task, choose
from kerneton.paper.cues import Factor, dck_family, sck_family
from kerneton.paper.markdown import to_markdown


def people(layout, labels, n_subjects, name, n_takes=1):
    """Random motions whose labels shift one coordinate, so that some are recognised and some are
    not.
    """
    rng = np.random.default_rng(0)
    data = []
    for subject in range(1, n_subjects + 1):
        for code, label in enumerate(labels):
            for _ in range(n_takes):
                joints = rng.normal(
                    scale=0.3, size=(int(rng.integers(6, 9)), len(layout.joints), 3)
                )
                joints[..., 1] += 0.15 * code
                data.append(
                    SkeletonSequence(joints, layout=layout, label=label, subject=str(subject))
                )
    return SkeletonDataset(data, name=name)


@pytest.fixture(scope="module")
def task():
    data = make_actions(["wave", "clap", "draw X"], n_subjects=4, n_takes=1, dropout=0.0)
    return Task.of(data, "odd-even")


@pytest.fixture
def stand_ins(monkeypatch):
    """Loaders of small sets under the published names, two splits in place of ten, fewer
    settings.
    """
    florence = people(FLORENCE_15, ["bow", "clap", "wave"], 4, "florence3d")
    utkinect = people(KINECT_20, ["pull", "push", "walk"], 4, "utkinect")
    msr = people(MSR_20, ACTIONS, 4, "msr_action3d")
    monkeypatch.setitem(protocols.HALF_SPLITS, "florence3d", ((1, 2), (3, 4)))
    monkeypatch.setitem(protocols.HALF_SPLITS, "utkinect", ((1, 3), (2, 4)))

    def narrow(family):
        factors = tuple(
            f if f.name == "root" else replace(f, levels=f.levels[-1:]) for f in family.factors
        )
        return replace(family, factors=factors)

    monkeypatch.setattr(_tables, "sck_family", lambda n: narrow(sck_family(n)))
    monkeypatch.setattr(_tables, "dck_family", lambda joints: narrow(dck_family(joints)))
    for module in (_tables, _figures, _timing):
        for name, data in (("florence3d", florence), ("utkinect", utkinect), ("msr_action3d", msr)):
            if hasattr(module, f"load_{name}"):
                monkeypatch.setattr(module, f"load_{name}", lambda home, data=data: data)


# choosing


def test_choice_pools_over_what_is_still_open():
    factors = [Factor("letter", ("a", "b")), Factor("number", (1, 2))]
    # the best one is an outlier
    accuracy = {("a", 1): 0.9, ("a", 2): 0.1, ("b", 1): 0.6, ("b", 2): 0.7}
    assert choose({k: np.array([v, 0, 0, 0]) for k, v in accuracy.items()}, factors, n=10) == (
        ("b", 2),
        0,
    )


@pytest.mark.parametrize(("gain", "expected"), [(0.02, "a"), (0.05, "b")])
def test_cautious_factor_leaves_its_default_for_more_than_a_standard_error(gain, expected):
    accuracy = {("a",): np.array([0.9, 0, 0, 0]), ("b",): np.array([0.9 + gain, 0, 0, 0])}
    (level,), _ = choose(accuracy, [Factor("letter", ("a", "b"), cautious=True)], n=100)
    assert level == expected


@pytest.mark.parametrize(("second", "position"), [(0.92, 0), (0.95, 1)])
def test_c_stays_at_its_default_within_a_standard_error(second, position):
    assert choose({(): np.array([0.9, second, 0.5, 0.5])}, [], n=100) == ((), position)


def test_ties_go_to_the_first_level():
    accuracy = {(level,): np.full(4, 0.5) for level in "ab"}
    assert choose(accuracy, [Factor("letter", ("a", "b"))], n=10) == (("a",), 0)


def test_validation_is_that_of_a_search(task):
    family = sck_family(20)
    encoder, _ = next(family.encoders())
    split = task.splits[0]
    train = task.data.select(split[0])
    features = encoder.fit(train).transform(task.data)
    K = features.astype(np.float64) @ features.T.astype(np.float64)
    branch = Branch(encoder["preprocess"], encoder["kernel"], CenterNormalize())
    search = Recognizer([("sck", branch)], search=Search(Cs=sorted(CS)))
    search.fit(train, train.labels)
    found = {trial.C: trial.accuracy for trial in search.trials_}
    assert_allclose(task.validation([(K, 1.0)], split), [found[C] for C in CS])


def test_recognition_is_that_of_the_pipeline(task):
    encoder, _ = list(sck_family(20).encoders())[-1]
    train, test = task.splits[0]
    features = encoder.fit(task.data.select(train)).transform(task.data)
    scale = CenterNormalize().fit(features[train])
    machine = LinearSVM(C=CS[0]).fit(scale.transform(features[train]), task.data.labels[train])
    expected = machine.predict(scale.transform(features[test])) == task.data.labels[test]
    K = features.astype(np.float64) @ features.T.astype(np.float64)
    assert np.array_equal(task.recognized([(K, 3.0)], (train, test))[0], expected)


def test_features_that_learn_are_computed_for_every_split():
    data = people(FLORENCE_15, ["bow", "clap"], 4, "own")
    task = Task(data, [(np.arange(4), np.arange(4, 8)), (np.arange(4, 8), np.arange(4))])
    grams = Grams(sck_family(15), task)
    learning, fixed = (1.0, "reference", 0.3), (1.0, None, 0.3)
    assert not np.allclose(grams.of(learning, 0), grams.of(learning, 1))
    assert grams.of(fixed, 0) is grams.of(fixed, 1)
    assert grams.n_features == 26_565


def test_settings_and_encoders_agree():
    for family in (sck_family(15), dck_family("D")):
        reached = [setting for _, settings in family.encoders() for setting in settings.values()]
        assert sorted(map(repr, reached)) == sorted(map(repr, family.settings()))


def test_printed_parameters():
    sck = next(sck_family(15).encoders())[0]["kernel"]
    assert (sck.sigma_joint, sck.sigma_time, sck.n_pivots_joint, sck.n_pivots_time) == (
        0.6,
        0.5,
        5,
        6,
    )
    assert (sck.power, sck.order, sck.mirror, sck.weighting) == (0.36, 3, False, None)
    dck = next(dck_family("E").encoders())[0]["kernel"]
    assert (dck.n_pivots_joint, dck.n_pivots_time, dck.power, dck.joints) == (5, 6, 0.85, "E")
    assert (dck.mirror, dck.weighting) == (False, None)


# tables


def test_tables(stand_ins, tmp_path):
    seen = []

    def progress(iterable, *, total=None, desc=""):
        seen.append(desc)
        return iterable

    result = _tables.tables(output=tmp_path, progress=progress)
    assert list(result) == ["tables"]
    tables = result["tables"]
    assert list(tables["florence3d"]) == ["sck", "dck_d", "dck_e", "sck+dck"]
    assert list(tables["utkinect"]) == ["sck", "dck", "sck+dck"]
    assert [list(tables["msr_action3d"][p]) for p in ("wang", "li")] == [
        ["sck", "dck", "sck+dck"]
    ] * 2
    for _, _, cell in _tables.cells_of(tables):
        assert 0 <= cell["low"] <= cell["accuracy"] <= cell["high"] <= 1
        assert cell["size"] == cell["paper_size"]
        assert_allclose(cell["accuracy"], np.mean([split["accuracy"] for split in cell["splits"]]))
    assert tables["florence3d"]["sck+dck"]["size"] == 43_485
    assert tables["msr_action3d"]["li"]["sck+dck"]["size"] == 57_400
    assert [len(tables["msr_action3d"][p]["sck"]["splits"]) for p in ("wang", "li")] == [1, 3]
    assert tables["florence3d"]["dck_d"]["splits"][0]["joints"] == "D_words"
    assert tables["utkinect"]["dck"]["splits"][0]["view"] == "turned"
    assert tables["utkinect"]["sck+dck"]["splits"][0]["sck_share"] in (0.3, 0.5, 0.7)
    json.dumps(result, allow_nan=False)
    assert "Florence3D, SCK features" in seen
    with open(tmp_path / "tables.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 13
    assert rows[0]["kernel"] == "sck"
    assert (tmp_path / "tables.md").read_text(encoding="utf-8") == to_markdown(result) + "\n"


def test_tables_markdown_shows_both_figures():
    cell = {
        "accuracy": 0.9119,
        "low": 0.86,
        "high": 0.9501,
        "spread": 0.0388,
        "size": 26565,
        "paper_accuracy": 0.9298,
        "paper_size": 26565,
    }
    text = to_markdown(
        {"tables": {"florence3d": {"sck": cell}, "msr_action3d": {"li": {"dck": cell}}}}
    )
    assert (
        "| Florence3D | SCK | 92.98 | 91.19 | 86.0 to 95.0 | 3.88 | -1.79 | 26,565 | 26,565 |"
        in text
    )
    assert "| MSR Li | DCK |" in text


def test_printed_tables_are_the_papers():
    assert _printed.TABLES["florence3d"]["sck+dck"] == (0.9523, 43_485)
    assert _printed.TABLES["utkinect"] == {
        "sck": (0.9608, 40_480),
        "dck": (0.975, 16_920),
        "sck+dck": (0.982, 57_400),
    }


# figures


def test_figures(stand_ins, tmp_path, monkeypatch):
    sweeps = {
        "sck_power": _figures.Sweep("sck", "power", (0.36, 1.0), "power", "γ"),
        "sck_sigma_time": _figures.Sweep("sck", "sigma_time", (0.5, 4.0), "time", "σ₃", log=True),
        "dck_joints": _figures.Sweep("dck", "joints", ("A", "B"), "sets", "joints"),
    }
    monkeypatch.setattr(_figures, "SWEEPS", sweeps)
    result = _figures.figures(output=tmp_path)
    power = result["figures"]["sck_power"]
    assert power["paper"] == [0.9298, 0.887]
    assert_allclose(power["gain"], power["test"][0] - power["test"][1])
    assert result["figures"]["dck_joints"]["paper"] == [0.8832, None]
    json.dumps(result, allow_nan=False)
    for name in sweeps:
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    rows = (tmp_path / "dck_joints.csv").read_text(encoding="utf-8").splitlines()
    assert rows[0] == "joints,validation,test,spread,paper"
    assert rows[1].endswith(",0.8832")
    assert rows[2].endswith(",")
    text = to_markdown(result)
    assert "### sets" in text
    assert "88.32 |" in text


def test_figures_without_output_write_nothing(stand_ins, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sweep = _figures.Sweep("dck", "power", (0.85, 1.0), "power", "γ")
    monkeypatch.setattr(_figures, "SWEEPS", {"dck_power": sweep})
    _figures.figures()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", _figures.SWEEPS)
def test_sweeps_hold_the_papers_points(name):
    assert set(_printed.POINTS[name]) <= set(_figures.SWEEPS[name].values)


# timing and complexity


def test_timing(stand_ins, tmp_path, monkeypatch):
    monkeypatch.setattr(_timing, "N_ALONE", 2)
    result = _timing.timing(output=tmp_path)
    timing = result["timing"]
    assert timing["sck"]["paper_seconds"] == 0.2
    assert timing["dck"]["paper_seconds"] == 1.2
    assert 0 < timing["sck"]["seconds"] < 5
    assert_allclose(
        60 * timing["msr_action3d"]["minutes"],
        sum(timing["msr_action3d"]["stages_seconds"].values()),
    )
    assert timing["msr_action3d"]["paper_minutes"] == 13
    assert timing["msr_action3d"]["sequences"] == 80
    text = (tmp_path / "timing.md").read_text(encoding="utf-8")
    assert "| DCK, a sequence | 1.2 s |" in text
    assert "| 13 min |" in text


@pytest.fixture
def small_sizes(monkeypatch):
    sizes = dict.fromkeys(_complexity.SIZES, (4, 6, 8))
    monkeypatch.setattr(_complexity, "SIZES", sizes)
    monkeypatch.setattr(_complexity, "LARGEST_EXACT", dict.fromkeys(sizes, 6))


def test_complexity_needs_no_data(small_sizes, tmp_path, monkeypatch):
    monkeypatch.delenv("KERNETON_DATA", raising=False)
    result = _complexity.complexity(output=tmp_path)
    sweeps, ratios = result["complexity"]["sweeps"], result["complexity"]["ratios"]
    assert set(sweeps) == {"sck_frames", "sck_sequences", "dck_frames", "dck_sequences"}
    assert sweeps["sck_frames"]["exact_seconds"][2] is None
    assert all(seconds > 0 for seconds in sweeps["dck_frames"]["linear_seconds"])
    assert [(r["kernel"], r["sequences"], r["paper"]) for r in ratios] == [
        ("sck", 557, 3.5),
        ("sck", 5000, 32.0),
        ("dck", 557, 11_000.0),
    ]
    assert ratios[2]["ours"] > 1
    assert ratios[2]["extrapolated"]
    json.dumps(result, allow_nan=False)
    assert len(list(tmp_path.glob("complexity_*.png"))) == 4
    rows = (tmp_path / "complexity.csv").read_text(encoding="utf-8").splitlines()
    assert rows[0] == "kernel,what grows,n,exact seconds,linearised seconds"
    assert len(rows) == 13
    text = to_markdown(result)
    assert "| DCK | 557 | 50 | 11,000 |" in text


def test_growth_ignores_what_is_constant():
    n = np.array([1, 2, 4, 8, 16, 32])
    assert_allclose(_complexity.growth(n, 3.0 * n**2), 2)
    assert _complexity.growth(n, 0.1 + 3.0 * n**2) > 1.9


def test_times_between_and_beyond_measured_sizes():
    assert_allclose(_complexity._at(20, [10, 40], [1.0, 16.0], 2.0), 4.0)
    assert_allclose(_complexity._at(80, [10, 40], [1.0, 16.0], 2.0), 64.0)


# errors


@pytest.mark.parametrize("experiment", [_tables.tables, _figures.figures, _timing.timing])
def test_without_data_the_error_says_what_to_download(experiment, tmp_path):
    with pytest.raises(MissingDataError, match=r"florence3d|msr_action3d"):
        experiment(data_home=tmp_path)


def test_markdown_of_something_else():
    with pytest.raises(
        ParameterError, match="expected one of tables, figures, timing, complexity, got accuracy"
    ):
        to_markdown({"accuracy": 1})
    with pytest.raises(ParameterError, match="got nothing"):
        to_markdown({})


def test_turned_recordings_keep_their_movement():
    from kerneton.paper.cues import at_origin

    data = Preprocess(center=False, bones=None).fit_transform(
        make_actions(["kick"], n_subjects=1, n_takes=1)
    )
    (placed,) = at_origin(data)
    assert_allclose(np.diff(placed.joints, axis=0), np.diff(data[0].joints, axis=0), atol=1e-6)
