"""The comparison past the paper: its rows are those of the presets, and nothing of a test subject
is used.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

import kerneton.paper.presets as module
from kerneton import SkeletonDataset, evaluate, make_actions, make_recognizer
from kerneton.cli import main
from kerneton.exceptions import ParameterError
from kerneton.paper.presets import Task, ablations, beyond, confused, errors, turned_copies
from kerneton.paper.presets_markdown import to_markdown
from kerneton.paper.split_grams import SplitGrams
from kerneton.recognize.presets import standard_cues
from kerneton.recognize.search import with_parameters

# The rows of the comparison, with matrices throughout.
ROWS = {
    "tensor": (None, "fixed"),
    "auto": (None, "fixed"),
    "free": (None, "free"),
    "default": (None, "fixed"),
}


@pytest.fixture(scope="module")
def data():
    """Actions that are alike, so that some are confused."""
    return make_actions(["draw X", "draw circle", "wave"], n_subjects=4, n_takes=2, noise=0.05)


@pytest.fixture
def split(data):
    return split_of(data, data.labels)


def split_of(data, labels):
    train, test = [np.flatnonzero(np.isin(data.subjects, who)) for who in (["1", "3"], ["2", "4"])]
    return SplitGrams(
        list(data.select(train)),
        labels[train],
        data.subjects[train],
        {"test": list(data.select(test))},
    )


def cheap(preset, **options):
    """A search with three of the cues."""
    model = make_recognizer(preset, **options)
    cues = standard_cues()
    return model.set_params(
        branches=[(name, cues[name]) for name in ("joints", "pairs", "bones_front")]
    )


def chosen(split, model):
    """What a split's Gram matrices choose, and the labels that they predict."""
    found = split.choose(model.search, dict(model.branches))
    return found, split.predict(found.mixtures, found.branches)["test"].tolist()


@pytest.mark.parametrize("preset", [None, "auto"])
@pytest.mark.parametrize("view", ["fixed", "free", "auto"])
def test_a_split_answers_as_the_recogniser_does(data, split, preset, view):
    model = cheap(preset, view=view)
    found, labels = chosen(split, model)
    model.fit(split.train, split.labels)
    assert found.variant == model.variant_
    ranked = sorted(found.trials, key=lambda t: -t.accuracy)
    assert_allclose([t.accuracy for t in ranked], [t.accuracy for t in model.trials_], atol=1e-12)
    assert [t.cues for t in found.chosen] == [t.cues for t in model.chosen_]
    assert labels == model.predict(split.tests["test"]).tolist()


def test_labels_of_test_subjects_change_nothing(data):
    poisoned = np.where(np.isin(data.subjects, ["2", "4"]), "wave", data.labels)
    (first, labels), (second, again) = (
        chosen(split_of(data, y), cheap("auto")) for y in (data.labels, poisoned)
    )
    assert first.trials == second.trials
    assert labels == again


@pytest.mark.parametrize(("grown", "same"), [(["2", "4"], True), (["1"], False)])
def test_the_skeleton_is_learnt_from_the_training_recordings(data, split, grown, same):
    """Other proportions of the people who are tested change nothing in training; of those who are
    trained, they do.
    """
    legs = np.where(data[0].joints[:1, :, 1:2] < np.median(data[0].joints[0, :, 1]), 3.0, 1.0)
    other = SkeletonDataset(
        [s.replace(joints=s.joints * legs) if s.subject in grown else s for s in data]
    )
    every = np.arange(len(split.codes))
    found, expected = (
        some.grams(standard_cues()["joints"]).fold(split.codes, every, every)[0]
        for some in (split_of(other, data.labels), split)
    )
    assert np.array_equal(found, expected) == same


def test_cues_are_encoded_once(split):
    cue = with_parameters(standard_cues()["bones_front"], {"preprocess__facing": None})
    weighted = split.grams(cue)
    plain = split.grams(with_parameters(cue, {"kernel__weighting": None}))
    assert split.encoder.n_encoded == 1
    assert cue.kernel.weighting == "alignment"
    every = np.arange(len(split.codes))
    assert not np.allclose(
        weighted.fold(split.codes, every, every)[0], plain.fold(split.codes, every, every)[0]
    )
    split.grams(with_parameters(cue, {"kernel__mirror": True}))
    assert split.encoder.n_encoded == 1
    split.grams(standard_cues()["bones_front"])
    # the same by another name
    split.grams(with_parameters(cue, {"preprocess__facing": "sequence"}))
    assert split.encoder.n_encoded == 2


def test_two_classes(data):
    two = data.select(np.flatnonzero(data.labels != "wave"))
    split = split_of(two, two.labels)
    model = cheap(None, view="fixed")
    _, labels = chosen(split, model)
    model.fit(split.train, split.labels)
    assert labels == model.predict(split.tests["test"]).tolist()


def test_turned_copies(data):
    once, again, other = turned_copies(data), turned_copies(data), turned_copies(data, seed=1)
    angles = []
    for i, s in enumerate(data):
        assert_allclose(once[i].joints, again[i].joints)
        assert_allclose(once[i].joints[..., 1], s.joints[..., 1])
        assert (once[i].label, once[i].subject) == (s.label, s.subject)
        before, after = (x.joints[0, 4] - x.joints[0, 0] for x in (s, once[i]))
        assert_allclose(np.linalg.norm(before), np.linalg.norm(after))
        turn = np.arctan2(after[0], after[2]) - np.arctan2(before[0], before[2])
        angles.append(np.rad2deg((turn + np.pi) % (2 * np.pi) - np.pi))
    assert max(np.abs(angles)) <= 60
    assert min(angles) < -10
    assert max(angles) > 10
    assert not np.allclose(once[0].joints, other[0].joints)


def test_ablations_change_one_thing():
    every = ablations(mirror=True)
    cues = every["nothing"]
    assert all(cue.kernel.mirror and cue.kernel.order == 2 for cue in cues.values())
    for name in standard_cues():
        assert set(every[name]) == set(cues) - {name}
    for name, cue in every["pairs of joints"].items():
        assert not cue.kernel.pairs, name
    assert not any(
        {"bone", "direction"} & set(c.kernel.signals) for c in every["directions"].values()
    )
    for name, cue in every["velocity"].items():
        assert "velocity" not in cue.kernel.signals
        assert_allclose(sum(cue.kernel.joint_weight), sum(cues[name].kernel.joint_weight))
    assert {c.kernel.weighting for c in every["joint weights"].values()} == {None}
    assert {c.preprocess.bones for c in every["equal size"].values()} == {None}
    assert {c.preprocess.bones for c in every["equal size, each bone instead"].values()} == {
        "reference"
    }
    assert {c.kernel.power for c in every["power normalisation"].values()} == {1.0}
    assert {c.kernel.mirror for c in every["mirroring, never"].values()} == {False}
    assert {c.kernel.mirror for c in every["mirroring, always"].values()} == {True}
    assert {c.kernel.weighting for c in cues.values()} == {"alignment"}


@pytest.fixture(scope="module")
def done(data, tmp_path_factory):
    """All of it on generated actions in place of UTKinect, in order 2."""
    output = tmp_path_factory.mktemp("beyond")
    bars = []

    def progress(iterable, *, total=None, desc=""):
        bars.append((desc, total))
        return iterable

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "ROWS", ROWS)
        patch.setattr(module, "TASKS", {"utkinect": ("synthetic", "odd-even", 0.982)})
        patch.setattr(module, "load_dataset", lambda name, home: data)
        result = beyond(output=output, progress=progress, n_jobs=None)
    return result, output, bars


def test_rows(done, data):
    part = done[0]["beyond"]["utkinect"]
    assert part["paper_printed"] == 0.982
    rows = ["paper", "default", "tensor", "auto", "free", "free_turned", "fixed_turned"]
    assert all(0 <= part[row] <= 1 for row in rows)
    report = evaluate(make_recognizer(view="fixed"), data, "odd-even")
    assert_allclose(part["default"], report.accuracy)
    assert part["interval"]["default"] == str(report.interval())
    assert_allclose(part["ablation"]["nothing"]["test"], part["default"])
    assert_allclose(part["ablation"]["nothing"]["validation"], part["validation"]["default"])
    assert abs(part["free_turned"] - part["free"]) <= 0.1
    assert sum(part["choices"]["auto"].values()) == 1
    errors = part["errors"]
    assert errors["tested"] == 12
    assert (
        errors["wrong"]
        == sum(count for *_, count in errors["pairs"])
        == sum(errors["subjects"].values())
    )
    assert_allclose(1 - errors["wrong"] / errors["tested"], part["auto"])


def test_files_and_progress(done):
    result, output, bars = done
    assert json.loads((output / "beyond.json").read_text(encoding="utf-8")) == result
    assert (output / "beyond.md").read_text(encoding="utf-8") == to_markdown(result) + "\n"
    assert (output / "confusion_utkinect.png").stat().st_size > 1000
    assert ("utkinect", 5) in bars


def test_markdown_names_every_part(done):
    text = to_markdown(done[0])
    for words in (
        "the paper, SCK+DCK | 98.20",
        f"({done[0]['beyond']['utkinect']['interval']['auto']})",
        "tensor, free view, turned",
        "| joint weights |",
        "Choices",
        "Mistakes",
    ):
        assert words in text


def test_confused_recordings_come_with_examples(data):
    task = Task(data, "odd-even")
    ((_, test),) = task.splits
    wrong = data.labels[test].copy()
    wrong[0] = "wave" if wrong[0] != "wave" else "draw X"
    task.predictions["auto"] = [wrong]
    report = task.report("auto")
    (rows,) = confused(report, data)
    true = data.labels[test[0]]
    assert rows[0] is data[int(test[0])]
    assert [s.label for s in rows] == [true, true, wrong[0]]
    assert errors(report)["pairs"] == [[true, wrong[0], 1]]
    counts = report.confusion
    assert counts.sum() == len(test)
    assert np.trace(counts) == len(test) - 1


def test_unknown_data_set():
    with pytest.raises(ParameterError, match="data set"):
        beyond(only=["kinetics"])


def test_command(data, done, monkeypatch, capsys, tmp_path):
    """What is asked for, of what is found under the folder that is named, as the library call gives
    it.
    """
    homes = []
    monkeypatch.setattr(module, "ROWS", ROWS)
    tasks = {
        "utkinect": ("synthetic", "odd-even", 0.982),
        "florence3d": ("synthetic", "odd-even", 0.9523),
    }
    monkeypatch.setattr(module, "TASKS", tasks)
    monkeypatch.setattr(module, "load_dataset", lambda name, home: homes.append(home) or data)
    argv = [
        "reproduce",
        "beyond",
        "--only",
        "utkinect",
        "--data-home",
        "/data",
        "-o",
        str(tmp_path),
    ]
    assert main([*argv, "--json", str(tmp_path / "r.json")]) == 0
    result = json.loads((tmp_path / "r.json").read_text())
    assert set(homes) == {"/data"}
    assert list(result["beyond"]) == ["utkinect"]
    for row in ("default", "tensor", "auto", "free"):
        assert result["beyond"]["utkinect"][row] == done[0]["beyond"]["utkinect"][row]
    assert capsys.readouterr().out == f"{to_markdown(result)}\nwrote {tmp_path / 'r.json'}\n"
    assert main(["reproduce", "tables", "--only", "utkinect"]) != 0
    assert "--only goes with beyond" in capsys.readouterr().err
