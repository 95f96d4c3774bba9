from __future__ import annotations

import dataclasses
import json
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import precision_recall_fscore_support

from kerneton import Report, evaluate
from kerneton.exceptions import MissingExtraError, ParameterError
from kerneton.report.results import Split, versions

TRUE = np.array(list("aaaabbbbcc"))
FIRST = np.array(list("aaabbbbacb"))
SECOND = np.array(list("aabbbbbbbb"))


def split(name, predicted, **more):
    return Split(name, 20, np.arange(10), TRUE, predicted, fit_seconds=2.0, predict_seconds=0.5, **more)


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
    assert row == {"label": "c", "precision": None, "recall": 0.0, "f1": 0.0, "support": 2}
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
        splits=(split("one", FIRST, model_classes=("a", "b"), scores=scores, probabilities=scores / 100),),
    )
    rows = scored.prediction_table()
    assert (rows[0]["predicted"], rows[0]["score"], rows[0]["probability"]) == ("a", 0.0, 0.0)
    assert (rows[3]["predicted"], rows[3]["score"]) == ("b", 7.0)
    assert_allclose(rows[3]["probability"], 0.07)
    assert (rows[8]["predicted"], rows[8]["score"]) == ("c", None)  # a label that the model has no score for
    assert "score" not in report.prediction_table()[0]


def test_frames(report):
    assert list(report.frame().columns) == ["label", "precision", "recall", "f1", "support"]
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
    assert text.startswith("# letters, by hand\n\nAccuracy **65.0 % ± 7.1 (sd over 2 splits)**.\n")
    assert "| a | 83.3 | 62.5 | 71.4 | 8 |" in text
    assert "| two | 20 | 10 | 60.0 | 2 | 0.5 |" in text
    assert "| c | b | 3 | 75.0 |" in text
    assert "| `sck__power` | `0.36` |" in text
    perfect = dataclasses.replace(report, splits=(split("one", TRUE),))
    assert "No mistakes." in perfect.to_markdown()


def test_text(report):
    assert str(report) == (
        "letters: 10 recordings, 3 labels, 2 subjects, joints florence15, 5 to 9 frames\n"
        "by hand: accuracy 65.0 % ± 7.1 (sd over 2 splits)\n"
        "\n"
        "label  precision %  recall %  F1 %  tested\n"
        "a             83.3      62.5  71.4       8\n"
        "b             53.8      87.5  66.7       8\n"
        "c            100.0      25.0  40.0       4\n"
        "\n"
        "label  taken for  times  of its recordings %\n"
        "c      b              3                 75.0\n"
        "a      b              3                 37.5\n"
        "b      a              1                 12.5\n"
        "\n"
        "fit 2 s a split, predict 50 ms a recording"
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
        split("three", SECOND, variant="fixed", variant_scores={"fixed": 0.6}),  # free could not be computed
    )
    some = dataclasses.replace(report, splits=chosen)
    rows = some.variant_table()
    assert [(row["variant"], row["splits"]) for row in rows] == [("free", 1), ("fixed", 2)]
    assert_allclose([row["validation"] for row in rows], [0.8, 0.8])
    assert "free                               1                             80.0" in str(some)
    assert "| fixed | 2 | 80.0 |" in some.to_markdown()
    assert json.loads(some.to_json())["variants"] == rows


def test_report_is_frozen(report):
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.protocol = "another"


def test_versions():
    assert versions()["numpy"] == np.__version__
    assert versions()["python"] == ".".join(map(str, sys.version_info[:3]))


def test_evaluation_survives_json(toy, toy_model):
    report = evaluate(toy_model, toy, 3)
    read = json.loads(report.to_json())
    assert_allclose(read["accuracy"], report.accuracy)
    assert {row["recording"] for row in read["predictions"]} == {s.name for s in toy}
    assert 0 <= read["predictions"][0]["probability"] <= 1
    assert read["versions"]["numpy"] == np.__version__
