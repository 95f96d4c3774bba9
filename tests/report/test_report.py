from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import precision_recall_fscore_support

from kerneton import Report, evaluate
from kerneton.exceptions import MissingExtraError, ParameterError
from kerneton.report.intervals import calibration, interval, wilson
from kerneton.report.results import Split, versions

TRUE = np.array(list("aaaabbbbcc"))
FIRST = np.array(list("aaabbbbacb"))
SECOND = np.array(list("aabbbbbbbb"))


def split(name, predicted, **more):
    return Split(
        name, 20, np.arange(10), TRUE, predicted, fit_seconds=2.0, predict_seconds=0.5, **more
    )


@pytest.fixture
def report():
    return Report(
        splits=(split("one", FIRST), split("two", SECOND)),
        classes=("a", "b", "c"),
        recordings=tuple(f"r{i}" for i in range(10)),
        subjects=tuple("xxxxxyyyyy"),
        protocol="by hand",
        model="Model()",
        parameters={"sck__power": 0.36},
        data={
            "name": "letters",
            "n_recordings": 10,
            "labels": {"a": 4, "b": 4, "c": 2},
            "subjects": {"x": 5, "y": 5},
            "n_frames": (5, 7.0, 9),
            "layouts": {"florence15": 10},
        },
        versions={"python": "3"},
    )


def test_accuracy_and_spread(report):
    assert_allclose(report.accuracies, [0.7, 0.6])
    assert_allclose(report.accuracy, 0.65)
    assert_allclose(report.accuracy_sd, np.std([0.7, 0.6], ddof=1))


def test_one_split_has_no_spread(report):
    one = dataclasses.replace(report, splits=report.splits[:1])
    assert one.accuracy_sd is None
    assert "±" not in str(one)
    assert json.loads(one.to_json())["accuracy_sd"] is None


def test_confusion_pools_the_splits(report):
    assert_array_equal(report.confusion, [[5, 3, 0], [1, 7, 0], [0, 3, 1]])


def test_class_table_equals_scikit_learn(report):
    true, predicted = np.tile(TRUE, 2), np.concatenate([FIRST, SECOND])
    expected = precision_recall_fscore_support(true, predicted, labels=list("abc"))
    table = report.class_table()
    for key, values in zip(("precision", "recall", "f1", "support"), expected, strict=True):
        assert_allclose([row[key] for row in table], values)


def test_class_that_is_never_predicted_has_no_precision(report):
    never = dataclasses.replace(report, splits=report.splits[1:])
    row = never.class_table()[2]
    assert {k: row[k] for k in ("label", "precision", "recall", "f1", "support")} == {
        "label": "c", "precision": None, "recall": 0.0, "f1": 0.0, "support": 2
    }  # fmt: skip
    assert row["recall_low"] == 0.0
    assert 0.5 < row["recall_high"] < 0.8
    assert json.loads(never.to_json())["classes"][2]["precision"] is None
    assert " - " in str(never)


def test_confused_pairs(report):
    pairs = report.confused_pairs()
    assert [(p["label"], p["predicted"], p["count"]) for p in pairs] == [
        ("c", "b", 3),
        ("a", "b", 3),
        ("b", "a", 1),
    ]
    assert_allclose([p["share"] for p in pairs], [3 / 4, 3 / 8, 1 / 8])
    assert len(report.confused_pairs(1)) == 1
    assert len(report.confused_pairs(None)) == 3


def test_timings(report):
    assert report.timings == {
        "fit_seconds": 4.0,
        "predict_seconds": 1.0,
        "predict_seconds_per_recording": 0.05,
    }


def test_scores_of_what_was_said(report):
    scores = np.arange(20.0).reshape(10, 2)
    scored = dataclasses.replace(
        report,
        splits=(
            split(
                "one", FIRST, model_classes=("a", "b"), scores=scores, probabilities=scores / 100
            ),
        ),
    )
    rows = scored.prediction_table()
    assert (rows[0]["predicted"], rows[0]["score"], rows[0]["probability"]) == ("a", 0.0, 0.0)
    assert (rows[3]["predicted"], rows[3]["score"]) == ("b", 7.0)
    assert_allclose(rows[3]["probability"], 0.07)
    # a label that the model has no score for
    assert (rows[8]["predicted"], rows[8]["score"]) == ("c", None)
    assert "score" not in report.prediction_table()[0]


def test_frames(report):
    columns = ["label", "precision", "recall", "f1", "support", "recall_low", "recall_high"]
    assert list(report.frame().columns) == columns
    assert list(report.frame("splits")["n_test"]) == [10, 10]
    assert report.frame("confusion").loc["c", "b"] == 3
    predictions = report.frame("predictions")
    assert list(predictions.columns) == [
        "split",
        "index",
        "recording",
        "subject",
        "label",
        "predicted",
        "correct",
    ]
    assert len(predictions) == 20
    assert_allclose(predictions.groupby("split")["correct"].mean(), [0.7, 0.6])
    with pytest.raises(ParameterError, match="kind must be one of 'classes', 'splits'"):
        report.frame("colours")


def test_frame_without_pandas(report, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(
        MissingExtraError, match=r"Report.frame needs pandas: pip install 'kerneton\[frame\]'"
    ):
        report.frame()


def test_plot_without_matplotlib(report, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'kerneton\[plot\]'"):
        report.plot()


def test_plot(report):
    figure = report.plot()
    assert figure.axes[0].get_title(loc="left").startswith("letters, by hand: 65.0 %")
    assert report.plot(title="mine").axes[0].get_title(loc="left") == "mine"


def test_json_round_trip(report, tmp_path):
    path = tmp_path / "deep" / "report.json"
    text = report.to_json(path)
    assert path.read_text(encoding="utf-8") == text == report.to_json()
    read = json.loads(text)
    assert_allclose(read["accuracy"], 0.65)
    assert read["confusion"] == {"labels": ["a", "b", "c"], "counts": report.confusion.tolist()}
    assert read["parameters"] == {"sck__power": 0.36}
    assert len(read["predictions"]) == 20
    assert [file.name for file in path.parent.iterdir()] == ["report.json"]


def test_failed_write_leaves_the_old_file(report, tmp_path):
    path = tmp_path / "report.json"
    path.write_text("old")
    broken = dataclasses.replace(report, parameters={"power": float("nan")})
    with pytest.raises(ValueError, match="JSON"):
        broken.to_json(path)
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_markdown(report, tmp_path):
    text = report.to_markdown(tmp_path / "report.md")
    assert (tmp_path / "report.md").read_text(encoding="utf-8") == text
    head = "# letters, by hand\n\nAccuracy **65.0 % ± 7.1 (sd over 2 splits)**, 95 % interval 35.4 to 86.3.\n"
    assert text.startswith(head)
    assert "| a | 8 | 83.3 | 71.4 | 62.5 | 21.9 to 90.8 |" in text
    assert "| two | 20 | 10 | 60.0 | 31.3 to 83.2 | 2 | 0.5 |" in text
    assert "## What to do next\n\n- Look at a and b side by side" in text
    assert "| c | b | 3 | 75.0 |" in text
    assert "| `sck__power` | `0.36` |" in text
    perfect = dataclasses.replace(report, splits=(split("one", TRUE),))
    assert "No mistakes." in perfect.to_markdown()


def test_labels_stay_text_in_markdown(report):
    name = "<img src=x> [a](b)" + r" \[c](d) https://e.org www.e.org"
    bad = dataclasses.replace(
        report,
        splits=(dataclasses.replace(report.splits[0], predicted=np.array([name] * 10)),),
        classes=("a", "b", "c", name),
        protocol=name,
        data={**report.data, "name": name},
    )
    text = bad.to_markdown()
    assert "<img" not in text
    assert " [a]" not in text
    assert r" \\\[c]" in text  # a backslash and a bracket, each as itself
    assert "https://" not in text
    assert "www." not in text
    assert text.count("&lt;img") >= 5


def test_text(report):
    assert str(report) == (
        "letters: 10 recordings, 3 labels, 2 subjects, joints florence15, 5 to 9 frames\n"
        "by hand: accuracy 65.0 % ± 7.1 (sd over 2 splits), 95 % interval 35.4 to 86.3\n"
        "\n"
        "label  tested  precision %  F1 %  recall %  95 % interval\n"
        "a           8         83.3  71.4      62.5  21.9 to 90.8\n"
        "b           8         53.8  66.7      87.5  39.6 to 98.7\n"
        "c           4        100.0  40.0      25.0  2.7 to 80.2\n"
        "\n"
        "label  taken for  times  of its recordings %\n"
        "c      b              3                 75.0\n"
        "a      b              3                 37.5\n"
        "b      a              1                 12.5\n"
        "\n"
        "what to do next\n"
        "- Look at a and b side by side: they were confused 4 times in 16 tests. If their joints move in the same way, record "
        "them from another side, or merge the labels.\n"
        "- Look at c and b side by side: they were confused 3 times in 12 tests.\n"
        "- Record more of c (1 of 4 right), a (5 of 8 right), b (7 of 8 right).\n"
        "- Add people: with 2 tested, the accuracy for new people is only known to be 35.4 to 86.3 %. A new person gives more information than "
        "more recordings of the same people.\n"
        "\n"
        "fit 2 s per split, predict 50 ms per recording"
    )
    assert repr(report) == "Report(letters, by hand, 65.0 % ± 7.1 (sd over 2 splits))"


def test_view_and_mirroring_that_were_chosen(report):
    """The report says which was used and what the others would have given."""
    assert report.variant_table() == []
    assert "mirroring" not in str(report)
    assert "mirroring" not in report.to_markdown()
    chosen = (
        split("one", FIRST, variant="free", variant_scores={"free": 0.9, "fixed": 0.8}),
        split("two", SECOND, variant="fixed", variant_scores={"free": 0.7, "fixed": 1.0}),
        # free could not be computed
        split("three", SECOND, variant="fixed", variant_scores={"fixed": 0.6}),
    )
    some = dataclasses.replace(report, splits=chosen)
    rows = some.variant_table()
    assert [(row["variant"], row["splits"]) for row in rows] == [("free", 1), ("fixed", 2)]
    assert_allclose([row["validation"] for row in rows], [0.8, 0.8])
    n = max(s.n_train for s in chosen)
    assert_allclose(
        [[row["validation_low"], row["validation_high"]] for row in rows], [wilson(0.8, n)] * 2
    )
    between = " to ".join(f"{100 * x:.1f}" for x in wilson(0.8, n))
    assert f"free                               1        80.0  {between}\n" in str(some)
    assert f"| fixed | 2 | 80.0 | {between} |" in some.to_markdown()
    for text in (str(some), some.to_markdown()):
        assert (
            "free: every body is turned to the front; fixed: bodies stay as the camera saw them."
            in text
        )
    assert "mirrored:" not in str(some)
    assert json.loads(some.to_json())["variants"] == rows


# how well it is known


@pytest.mark.parametrize(("right", "n"), [(0, 5), (3, 7), (50, 60), (9, 9)])
def test_wilson_solves_its_equation(right, n):
    """The bounds are the shares from which the one seen lies exactly 1.96 standard errors away."""
    share = right / n
    for bound in wilson(share, n):
        if bound not in (0.0, 1.0):
            assert_allclose(
                abs(share - bound), 1.959964 * np.sqrt(bound * (1 - bound) / n), rtol=1e-6
            )


def test_interval_covers_as_often_as_it_says():
    """People differ; 95 % of the intervals over people hold the accuracy of all people, those over
    recordings far fewer.
    """
    rng = np.random.default_rng(0)
    a, b = 4.0, 1.0  # accuracies of people: mean 0.8, spread 0.16
    hits = {"people": 0, "recordings": 0}
    who = np.repeat(np.arange(12), 20)
    for _ in range(400):
        right = rng.uniform(size=240) < rng.beta(a, b, size=12)[who]
        for kind, subjects in (("people", who), ("recordings", None)):
            found = interval(right, subjects)
            hits[kind] += found.low <= a / (a + b) <= found.high
    assert 0.92 < hits["people"] / 400 <= 1
    assert hits["recordings"] / 400 < 0.8


def test_interval_over_people_is_no_narrower_than_over_recordings():
    right, who = np.ones(30), np.repeat(list("abcdef"), 5)
    assert interval(right, who).low < interval(right).low < 1.0
    assert interval(right, who).n_subjects == 6
    # two people show no spread
    assert interval(right, np.repeat(["a", "b"], 15)) == interval(right)


def test_a_recording_tested_twice_counts_once(report):
    assert report.interval().n_tests == 10
    assert report.interval("c").n_tests == 2
    read = json.loads(report.to_json())
    assert read["accuracy_interval"]["method"] == "Wilson"
    assert read["accuracy_interval"]["low"] < read["accuracy"] < read["accuracy_interval"]["high"]
    assert [row["n_test"] for row in read["subjects"]] == [5, 5]
    assert_allclose([row["accuracy"] for row in report.subject_table()], [0.6, 0.7])


def test_subjects_that_are_not_known(report):
    nobody = dataclasses.replace(report, subjects=None, data={**report.data, "subjects": {}})
    assert nobody.subject_table() == []
    assert nobody.next_steps()[-1]["text"].startswith("Give the subject of each recording")


def test_one_person_says_nothing_about_new_people(report):
    """However narrow the interval: nobody was tested who took no part in the training."""
    alone = dataclasses.replace(
        report, subjects=("ann",) * 10, data={**report.data, "subjects": {"ann": 10}}
    )
    (people,) = [step["text"] for step in alone.next_steps() if step["kind"] == "people"]
    assert people == (
        "Add people: only subject ann was recorded, so nothing is known about the accuracy for new people. "
        "At least two people are needed to measure it, better five."
    )


def test_next_steps_name_the_person_who_differs(report):
    """Nine people are recognised and one is not."""
    true = np.array(list("ab") * 100)
    predicted = true.copy()
    predicted[180:] = true[181:].tolist() + ["a"]
    one = Split("1", 5, np.arange(200), true, predicted, fit_seconds=1.0, predict_seconds=1.0)
    names = tuple(f"p{i // 20}" for i in range(200))
    odd = dataclasses.replace(
        report, splits=(one,), classes=("a", "b"), recordings=names, subjects=names,
        data={**report.data, "labels": {"a": 100, "b": 100}, "subjects": dict.fromkeys(names, 20)},
    )  # fmt: skip
    (person,) = [step["text"] for step in odd.next_steps() if step["kind"] == "person"]
    assert person.startswith("Look at subject p9: 0.0 % right against 100.0 % for the others.")


def test_one_mistake_of_a_person_is_no_reason_to_look(report):
    true = np.array(list("ab") * 120)
    predicted = true.copy()
    predicted[-1] = "a"
    one = Split("1", 5, np.arange(240), true, predicted, fit_seconds=1.0, predict_seconds=1.0)
    names = tuple(f"p{i // 12}" for i in range(240))
    data = {**report.data, "labels": {"a": 120, "b": 120}, "subjects": dict.fromkeys(names, 12)}
    report = dataclasses.replace(
        report, splits=(one,), classes=("a", "b"), recordings=names, subjects=names, data=data
    )
    assert [step for step in report.next_steps() if step["kind"] == "person"] == []


def test_next_steps_of_a_perfect_result(report):
    warned = {
        **report.data,
        "warnings": ["label c has 2 recordings"],
        "labels": {"a": 40, "b": 40, "c": 2},
    }
    steps = dataclasses.replace(report, splits=(split("one", TRUE),), data=warned).next_steps()
    assert [step["kind"] for step in steps] == ["data", "label", "people", "use"]
    assert steps[1]["text"] == "Record more of c (2): half of the labels have 40 or more."


def test_next_steps_of_recordings_that_were_refused(report):
    said = np.array(["none of these"] * 3 + list("abbbbcc"))
    refused = dataclasses.replace(
        report, splits=(split("one", said),), classes=("a", "b", "c", "none of these")
    )
    assert (
        refused.next_steps()[0]["text"]
        == "Look at a: 3 of 4 tests were predicted as none of these."
    )


def test_verdict_on_probabilities_needs_tests_enough():
    rng = np.random.default_rng(0)
    said = rng.uniform(0.6, 1.0, 4000)
    proba, true = (
        np.stack([said, 1 - said], axis=1),
        np.where(rng.uniform(size=4000) < said, "a", "b"),
    )
    honest = calibration(proba, true, ["a", "b"])
    assert honest.verdict == "as sure as right"
    assert honest.error < 2 * honest.error_by_chance
    assert calibration(proba[:40], true[:40], ["a", "b"]).verdict is None
    boasting = np.stack([np.sqrt(said), 1 - np.sqrt(said)], axis=1)
    assert calibration(boasting, true, ["a", "b"]).verdict == "too sure"
    modest = np.stack([0.5 + (said - 0.5) / 2, 0.5 - (said - 0.5) / 2], axis=1)
    assert calibration(modest, true, ["a", "b"]).verdict == "too modest"
    assert honest.margin < calibration(proba[:40], true[:40], ["a", "b"]).margin


def test_error_by_chance_is_that_of_honest_probabilities():
    rng = np.random.default_rng(1)
    said = rng.uniform(0.5, 1.0, 60)
    proba = np.stack([said, 1 - said], axis=1)
    errors = []
    for _ in range(300):
        true = np.where(rng.uniform(size=60) < said, "a", "b")
        found = calibration(proba, true, ["a", "b"])
        errors.append(found.error)
    assert_allclose(np.mean(errors), found.error_by_chance, rtol=0.08)


def test_report_is_frozen(report):
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.protocol = "another"


def test_versions():
    assert versions()["numpy"] == np.__version__
    assert versions()["python"] == ".".join(map(str, sys.version_info[:3]))


def test_versions_without_installed_metadata(tmp_path):
    """From a source tree: no metadata must cost neither the figures nor the model."""
    import kerneton

    source = Path(kerneton.__file__).parent
    (tmp_path / "kerneton").symlink_to(source)
    program = (
        "import sys; sys.path[:0] = [sys.argv[1]]\n"
        "import importlib.metadata as m\n"
        "all_found = m.MetadataPathFinder.find_distributions\n"
        "ours_hidden = lambda cls, context: iter(()) if context.name == 'kerneton' else all_found(context)\n"
        "m.MetadataPathFinder.find_distributions = classmethod(ours_hidden)\n"
        "from kerneton.report.results import versions; print(versions()['kerneton'])\n"
        "from kerneton import SCK, Branch, Preprocess, Recognizer, __version__, load, make_actions\n"
        "data = make_actions(['wave', 'bow'], n_subjects=2, n_takes=1)\n"
        "model = Recognizer([('sck', Branch(Preprocess(), SCK(order=2)))]).fit(data, data.labels)\n"
        "model.save(sys.argv[1] + '/m.kern')\n"
        "print(__version__, len(load(sys.argv[1] + '/m.kern').classes_))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "not installed\nnot installed 2\n"


def test_evaluation_survives_json(toy, toy_model):
    report = evaluate(toy_model, toy, 3)
    read = json.loads(report.to_json())
    assert_allclose(read["accuracy"], report.accuracy)
    assert {row["recording"] for row in read["predictions"]} == {s.name for s in toy}
    assert 0 <= read["predictions"][0]["probability"] <= 1
    assert read["versions"]["numpy"] == np.__version__
