from __future__ import annotations

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from samples import mean_pose
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, confusion_matrix
from sklearn.model_selection import GridSearchCV, GroupKFold, LeaveOneGroupOut, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

from kerneton import evaluate, make_actions, make_recognizer
from kerneton.data.sequence import SkeletonDataset
from kerneton.datasets.protocols import LeaveOneSubjectOut
from kerneton.exceptions import DataError, HeldOutError, KernetonError, ParameterError
from kerneton.files.summary import summarize


def by_hand(model, data, splitter):
    """The loop that evaluate replaces."""
    X, y = list(data), data.labels
    for train, test in splitter.split(X, y, data.subjects):
        fitted = sklearn.base.clone(model).fit([X[i] for i in train], y[train])
        yield test, y[test], fitted.predict([X[i] for i in test]), fitted


def test_equals_the_loop_by_hand(toy, toy_model):
    report = evaluate(toy_model, toy, LeaveOneGroupOut())
    expected = list(by_hand(toy_model, toy, LeaveOneGroupOut()))
    assert len(report.splits) == len(expected) == 4
    for split, (test, true, predicted, fitted) in zip(report.splits, expected, strict=True):
        X = [toy[int(i)] for i in test]
        assert_array_equal(split.indices, test)
        assert_array_equal(split.true, true)
        assert_array_equal(split.predicted, predicted)
        assert_allclose(split.scores, fitted.decision_function(X))
        assert_allclose(split.probabilities, fitted.predict_proba(X))
        assert split.model_classes == ("bow", "clap", "wave")
        assert split.n_train == 27
        assert split.n_test == 9
        assert split.fit_seconds > 0
        assert split.predict_seconds > 0
    accuracies = [accuracy_score(true, predicted) for _, true, predicted, _ in expected]
    assert_allclose(report.accuracies, accuracies)
    assert_allclose(report.accuracy, np.mean(accuracies))
    assert_allclose(report.accuracy_sd, np.std(accuracies, ddof=1))
    assert 0.5 < report.accuracy < 1, "the toy data must leave something to confuse"
    matrix = sum(confusion_matrix(true, predicted) for _, true, predicted, _ in expected)
    assert_array_equal(report.confusion, matrix)


def test_given_model_stays_unfitted(toy, toy_model):
    evaluate(toy_model, toy, LeaveOneGroupOut())
    assert not hasattr(toy_model[-1], "coef_")


def test_jobs_change_nothing(toy, toy_model):
    one, two = (evaluate(toy_model, toy, LeaveOneGroupOut(), n_jobs=n) for n in (None, 2))
    for a, b in zip(one.splits, two.splits, strict=True):
        assert_array_equal(a.predicted, b.predicted)
        assert_allclose(a.scores, b.scores)


@pytest.mark.parametrize(
    ("protocol", "name", "n_splits"),
    [
        (LeaveOneGroupOut(), "LeaveOneGroupOut()", 4),
        (3, "StratifiedKFold(n_splits=3, random_state=None, shuffle=False)", 3),
        (StratifiedKFold(2), "StratifiedKFold(n_splits=2, random_state=None, shuffle=False)", 2),
        ([(np.arange(0, 36, 2), np.arange(1, 36, 2))], "1 given split", 1),
        ([(np.arange(0, 36, 2), np.arange(1, 36, 2))] * 2, "2 given splits", 2),
    ],
)
def test_kinds_of_protocol(toy, toy_model, protocol, name, n_splits):
    report = evaluate(toy_model, toy, protocol)
    assert report.protocol == name
    assert len(report.splits) == n_splits


def test_splits_of_one_subject_bear_its_name(toy, toy_model):
    report = evaluate(toy_model, toy, LeaveOneGroupOut())
    assert [split.name for split in report.splits] == [
        "subject s1",
        "subject s2",
        "subject s3",
        "subject s4",
    ]


@pytest.mark.parametrize(
    ("protocol", "name", "splits"),
    [
        ("leave-one-subject-out", "leave-one-subject-out", 4),
        (None, "leave-one-subject-out", 4),
        ("half", "half", 6),
        (LeaveOneSubjectOut(), "leave-one-subject-out", 4),
    ],
)
def test_named_protocols(toy, toy_model, protocol, name, splits):
    report = evaluate(toy_model, toy, protocol)
    assert report.protocol == name
    assert len(report.splits) == splits


def test_unknown_protocol(toy, toy_model):
    with pytest.raises(ParameterError, match=r"protocol must be one of 'half', .* got 'thirds'"):
        evaluate(toy_model, toy, "thirds")


def test_progress_sees_every_split(toy, toy_model):
    seen = []

    def progress(iterable, *, total=None, desc=""):
        seen.append((total, desc))
        for item in iterable:
            seen.append(item.name)
            yield item

    evaluate(toy_model, toy, LeaveOneGroupOut(), progress=progress)
    assert seen == [(4, "splits"), *(f"subject s{i}" for i in range(1, 5))]


def test_plain_list_of_recordings(toy, toy_model):
    report = evaluate(toy_model, list(toy), LeaveOneGroupOut())
    assert_allclose(report.accuracy, evaluate(toy_model, toy, LeaveOneGroupOut()).accuracy)
    assert report.data["name"] == ""


def test_binary_scores_have_two_columns(toy):
    two = toy.select(i for i, s in enumerate(toy) if s.label != "wave")
    model = make_pipeline(FunctionTransformer(mean_pose), SVC(kernel="linear"))
    split = evaluate(model, two, LeaveOneGroupOut()).splits[0]
    assert split.scores.shape == (6, 2)
    assert_array_equal(np.array(split.model_classes)[split.scores.argmax(1)], split.predicted)
    assert split.probabilities is None


def test_scores_of_pairs_are_not_taken_for_scores_of_classes(toy):
    model = make_pipeline(
        FunctionTransformer(mean_pose), SVC(kernel="linear", decision_function_shape="ovo")
    )
    model_4 = SkeletonDataset([*toy, *(s.replace(label=f"{s.label} again") for s in toy)])
    assert evaluate(model, model_4, LeaveOneGroupOut()).splits[0].scores is None


class Witness(ClassifierMixin, BaseEstimator):
    """Remembers which groups it was given."""

    def fit(self, X, y, groups=None):
        self.classes_ = np.unique(y)
        self.said_ = "bow" if groups is None else f"trained on {' '.join(np.unique(groups))}"
        return self

    def predict(self, X):
        return np.full(len(X), self.said_, dtype=object)


@pytest.mark.parametrize(
    "wrap", [lambda m: m, lambda m: make_pipeline(FunctionTransformer(mean_pose), m)]
)
def test_groups_reach_a_fit_that_takes_them(toy, wrap):
    report = evaluate(wrap(Witness()), toy, LeaveOneGroupOut())
    assert [split.predicted[0] for split in report.splits] == [
        "trained on s2 s3 s4",
        "trained on s1 s3 s4",
        "trained on s1 s2 s4",
        "trained on s1 s2 s3",
    ]
    assert report.accuracy == 0
    assert set(report.classes) == {"bow", "clap", "wave", *(s.predicted[0] for s in report.splits)}


def test_groups_reach_a_routed_fit(toy):
    with sklearn.config_context(enable_metadata_routing=True):
        for requested, said in ((True, "trained on s2 s3 s4"), (False, "bow")):
            model = make_pipeline(
                FunctionTransformer(mean_pose), Witness().set_fit_request(groups=requested)
            )
            assert evaluate(model, toy, LeaveOneGroupOut()).splits[0].predicted[0] == said


def test_grid_search_inside_the_training_subjects(toy, toy_model):
    search = GridSearchCV(toy_model, {"logisticregression__C": [1e-4, 1.0]}, cv=LeaveOneGroupOut())
    report = evaluate(search, toy, GroupKFold(2))
    assert report.accuracy > 0.5
    assert report.splits[0].scores.shape == (18, 3)


class Counting(FunctionTransformer):
    """Says how many recordings its features were computed of."""

    seen = 0

    def transform(self, X):
        Counting.seen += len(X)
        return mean_pose(X)


def test_features_are_computed_once(toy):
    model = make_pipeline(Counting(), LogisticRegression())
    split = [(np.arange(0, 36, 2), np.arange(1, 36, 2))]
    Counting.seen = 0
    report = evaluate(model, toy, split)
    assert Counting.seen == 36
    assert report.splits[0].scores is not None
    search = GridSearchCV(
        model, {"logisticregression__C": [1.0]}, cv=[(np.arange(9), np.arange(9, 18))]
    )
    Counting.seen = 0
    searched = evaluate(search, toy, split)
    assert Counting.seen == 18 + 36  # once for the search, then as above
    assert_allclose(searched.splits[0].scores, report.splits[0].scores)


def test_without_subjects(toy, toy_model):
    nameless = SkeletonDataset([s.replace(subject=None) for s in toy])
    report = evaluate(toy_model, nameless, 3)
    assert report.subjects is None
    assert report.data["subjects"] == {}
    assert report.prediction_table()[0]["subject"] is None
    with pytest.raises(
        DataError, match=r"LeaveOneGroupOut\(\) splits by subject, and .*'bow-1-0' has none"
    ):
        evaluate(toy_model, nameless, LeaveOneGroupOut())


def test_without_labels(toy, toy_model):
    some = SkeletonDataset([toy[0].replace(label=None), *toy[1:]])
    with pytest.raises(DataError, match="1 of 36 recordings have no label, first bow-1-0"):
        evaluate(toy_model, some, 3)


def test_label_that_training_never_sees(toy, toy_model):
    lonely = SkeletonDataset([*toy, toy[0].replace(label="jump", subject="s1")])
    with pytest.raises(DataError, match="split 1 tests on jump without training on it"):
        evaluate(toy_model, lonely, LeaveOneGroupOut())
    with pytest.raises(DataError, match="without training on them: 'jump'"):
        evaluate(toy_model, lonely, LeaveOneSubjectOut())
    report = evaluate(toy_model, lonely, LeaveOneSubjectOut(allow_unseen=True))
    row = report.class_table()[2]
    assert (row["label"], row["precision"], row["recall"], row["support"]) == ("jump", None, 0, 1)
    assert row["recall_low"] == 0 < row["recall_high"] < 1


def test_split_that_tests_what_it_trains_on(toy, toy_model):
    with pytest.raises(DataError, match="split 1 tests on 2 recordings that it trains on"):
        evaluate(toy_model, toy, [(np.arange(34), np.arange(32, 36))])


def test_empty_splits(toy, toy_model):
    with pytest.raises(DataError, match="split 1 trains on 36 and tests on 0"):
        evaluate(toy_model, toy, [(np.arange(36), np.array([], dtype=int))])
    with pytest.raises(ParameterError, match="no split"):
        evaluate(toy_model, toy, [])
    with pytest.raises(KernetonError, match="got none"):
        evaluate(toy_model, SkeletonDataset([]), 3)


def test_other_errors_of_a_splitter_pass_through(toy, toy_model):
    with pytest.raises(ValueError, match="n_splits"):
        evaluate(toy_model, toy, StratifiedKFold(20))


@pytest.mark.parametrize(
    ("protocol", "tested"),
    [
        ("leave-one-subject-out", "of subject 1, which are tested"),
        ("by hand", "that split 1 tests"),
    ],
)
def test_a_split_that_leaves_too_few_to_hold_out_says_so(protocol, tested):
    """The data have two recordings of each label; what a split trains on has one."""
    data = make_actions(["wave", "bow"], n_subjects=2, n_takes=1)
    if protocol == "by hand":
        protocol = [(np.flatnonzero(data.subjects == "1"), np.arange(4)[data.subjects != "1"])]
        data = SkeletonDataset(s.replace(subject=None) for s in data)
    with pytest.raises(
        HeldOutError, match=f"only one recording: .*, not counting the recordings {tested}"
    ):
        evaluate(make_recognizer(), data, protocol)


def test_parameters_are_plain(toy, toy_model):
    parameters = evaluate(toy_model, toy, 3).parameters
    assert parameters["logisticregression__C"] == 0.3
    assert parameters["functiontransformer__func"] == "mean_pose"
    assert "logisticregression" not in parameters
    assert "steps" not in parameters


def test_odd_parameters_are_plain(toy):
    class Odd(DummyClassifier):
        def __init__(self, reference=None, weights=None, limit=None, kind=None):
            super().__init__()
            self.reference, self.weights, self.limit, self.kind = reference, weights, limit, kind

    model = Odd(np.zeros((15, 3)), (np.float32(0.5), {"a": 1}), float("inf"), toy[0].layout.name)
    assert evaluate(model, toy, 3).parameters == {
        "reference": "array of shape (15, 3)",
        "weights": [0.5, {"a": 1}],
        "limit": "inf",
        "kind": "florence15",
    }


def test_summary_of_the_data(toy):
    assert evaluate(DummyClassifier(), toy, 3).data == summarize(toy).to_dict()


def test_logistic_regression_without_pipeline_fails_like_itself(toy):
    with pytest.raises((TypeError, ValueError)):
        evaluate(LogisticRegression(), toy, 3)


def test_progress_moves_inside_a_split():
    data = make_actions(["wave", "clap"], n_subjects=3, n_takes=1, fps=10)
    told = []

    def progress(iterable, *, total=None, desc=""):
        told.append(desc)
        return iterable

    evaluate(make_recognizer(), data, progress=progress)
    steps = ("kernels", "candidates", "kernels", "features", "inner products", "machines")
    steps += ("calibration", "likeness")
    assert told == ["splits", *(f"split {k} of 3, {step}" for k in (1, 2, 3) for step in steps)]
    told.clear()
    evaluate(make_recognizer(), data, progress=progress, n_jobs=2)
    assert told == ["splits"]
