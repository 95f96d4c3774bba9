"""Splitters: who is on which side, what they refuse, and that scikit-learn takes them as cv=."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from kerneton.data.sequence import SkeletonDataset, SkeletonSequence
from kerneton.datasets import load_dataset
from kerneton.datasets.protocols import (
    HALF_SPLITS,
    PROTOCOLS,
    HalfSplits,
    LeaveOneSubjectOut,
    Li,
    OddEven,
    PublishedSplits,
    RecordingKFold,
    SubjectKFold,
    Wang,
    get_protocol,
)
from kerneton.exceptions import DataError, ParameterError

real = pytest.mark.skipif(not os.environ.get("KERNETON_DATA"), reason="KERNETON_DATA is not set")


def recordings(n_subjects=4, labels="abc", n_takes=2, name="own"):
    rng = np.random.default_rng(0)
    return SkeletonDataset(
        [
            SkeletonSequence(rng.normal(i, 0.1, (5, 20, 3)), label=label, subject=str(subject + 1))
            for subject in range(n_subjects)
            for i, label in enumerate(labels)
            for _ in range(n_takes)
        ],
        name=name,
    )


def test_subjects_in_lists_are_refused():
    with pytest.raises(
        DataError, match=r"expected one subject for each.*got \['a'\] for recording #0"
    ):
        list(LeaveOneSubjectOut().split(range(2), ["x", "y"], [["a"], ["b"]]))


@pytest.mark.parametrize("name", ["half", "leave-one-subject-out", "odd-even", "k-fold"])
def test_no_subject_is_on_both_sides_and_every_recording_on_one(name):
    data = recordings()
    cv = get_protocol(name, data)
    splits = list(cv.split(data))
    assert len(splits) == cv.get_n_splits(data)
    for train, test in splits:
        assert not set(data.subjects[train]) & set(data.subjects[test])
        assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(len(data)))
    # bare arrays with y and groups split the same way
    bare = list(cv.split(np.zeros((len(data), 2)), data.labels, data.subjects))
    for (train, test), (train2, test2) in zip(splits, bare, strict=True):
        assert_array_equal(train, train2)
        assert_array_equal(test, test2)


def test_leave_one_subject_out_counts_up():
    groups = [10, 2, 1, 10, 2, 1]
    tested = [
        groups[test[0]] for _, test in LeaveOneSubjectOut().split(range(6), list("aaaaaa"), groups)
    ]
    assert tested == [1, 2, 10]


def test_half_splits_by_hand():
    data = recordings(4)
    cv = HalfSplits(train_subjects=[["1", "4"], ["2"]])
    sides = [sorted(set(data.subjects[train])) for train, _ in cv.split(data)]
    assert sides == [["1", "4"], ["2"]]


def test_drawn_halves_differ_and_are_seeded():
    data = recordings(10)
    halves = [tuple(train) for train, _ in HalfSplits().split(data)]
    assert len(set(halves)) == 10
    assert halves == [tuple(train) for train, _ in HalfSplits().split(data)]
    assert halves != [tuple(train) for train, _ in HalfSplits(random_state=1).split(data)]
    # there are only six halves of four
    assert HalfSplits(n_splits=10).get_n_splits(recordings(4)) == 6


def test_published_halves_are_of_half_the_subjects():
    assert set(HALF_SPLITS) == {"florence3d", "utkinect", "msr_action3d"}
    for splits in HALF_SPLITS.values():
        assert len(set(splits)) == 10
        assert all(len(set(split)) == 5 and set(split) <= set(range(1, 11)) for split in splits)
    with pytest.raises(ParameterError, match="data set must be one of"):
        HalfSplits.published("utd_mhad")


def test_li_keeps_to_its_action_sets():
    sets = Li.action_sets()
    labels = sorted({a for actions in sets.values() for a in actions})
    data = recordings(10, labels, 1)
    splits = list(Li().split(data))
    assert Li().get_n_splits(data) == len(splits) == 3
    for (train, test), actions in zip(splits, sets.values(), strict=True):
        assert set(data.labels[train]) == set(data.labels[test]) == set(actions)
        assert set(data.subjects[train]) == {"1", "3", "5", "7", "9"}
        assert set(data.subjects[test]) == {"2", "4", "6", "8", "10"}
    with pytest.raises(
        DataError, match="'li': no recording is of AS1, which has horizontal arm wave"
    ):
        list(Li().split(recordings()))
    with pytest.raises(DataError, match="no labels are known"):
        list(Li().split(np.zeros((4, 2)), None, [1, 2, 3, 4]))


def test_subject_folds_are_seeded_and_even():
    data = recordings(12, "ab")
    folds = [set(data.subjects[test]) for _, test in SubjectKFold(n_splits=4).split(data)]
    assert [len(fold) for fold in folds] == [3] * 4
    assert set().union(*folds) == set(data.subjects)
    again = [set(data.subjects[test]) for _, test in SubjectKFold(n_splits=4).split(data)]
    other = [set(data.subjects[t]) for _, t in SubjectKFold(n_splits=4, random_state=3).split(data)]
    assert folds == again != other


def test_recording_folds_hold_every_label_and_are_seeded():
    labels = np.repeat(list("abc"), [10, 7, 5])
    tests = [test for _, test in RecordingKFold().split(np.zeros((22, 1)), labels)]
    assert_array_equal(np.sort(np.concatenate(tests)), np.arange(22))
    for test in tests:
        assert set(labels[test]) == set("abc")
    again = [test for _, test in RecordingKFold().split(np.zeros((22, 1)), labels)]
    other = [test for _, test in RecordingKFold(random_state=1).split(np.zeros((22, 1)), labels)]
    assert all(np.array_equal(a, b) for a, b in zip(tests, again, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(tests, other, strict=True))


@pytest.mark.parametrize(
    "cv", [LeaveOneSubjectOut(), HalfSplits(), OddEven(), Wang(), SubjectKFold(n_splits=2)]
)
def test_missing_subjects(cv):
    with pytest.raises(
        DataError, match=r"splits by subject, but no subjects are known: each recording needs one"
    ):
        list(cv.split(np.zeros((4, 2)), list("abab")))
    with pytest.raises(DataError, match="no subjects are known"):
        cv.get_n_splits()
    with pytest.raises(
        DataError, match="1 of 4 recordings have no subject, the first is recording #2; give all"
    ):
        list(cv.split(np.zeros((4, 2)), list("abab"), ["1", "2", None, "1"]))
    recordings = [
        SkeletonSequence(np.ones((1, 1, 3)), name=f"r{i}", label=label, subject=subject)
        for i, (label, subject) in enumerate(zip("abab", ["1", "2", None, "1"], strict=True))
    ]
    with pytest.raises(
        DataError, match="1 of 4 recordings have no subject, the first is recording 'r2'; give"
    ):
        list(cv.split(recordings))
    with pytest.raises(DataError, match="a subject for each of 4 recordings, got 3"):
        list(cv.split(np.zeros((4, 2)), list("abab"), ["1", "2", "1"]))
    with pytest.raises(DataError, match="a label for each of 4 recordings, got 3"):
        list(cv.split(np.zeros((4, 2)), list("aba"), ["1", "2", "1", "2"]))


@pytest.mark.parametrize(
    ("cv", "subjects", "message"),
    [
        (OddEven(), [2, 4, 2, 4], "'odd-even' leaves nothing to train on"),
        (Wang(), [1, 3, 1, 3], "'wang' leaves nothing to test on"),
        (LeaveOneSubjectOut(), [1, 1, 1, 1], "leaves nothing to train on"),
        (HalfSplits.published("florence3d"), list("abcd"), "'half' leaves nothing to train on"),
        (HalfSplits(), [1, 1, 1, 1], "leaves nothing to train on"),
        (OddEven(), ["1", "2", "ann", "2"], "subjects that are whole numbers, got 'ann'"),
        (SubjectKFold(n_splits=3), [1, 2, 1, 2], "3 folds need as many subjects, got 2"),
    ],
)
def test_splits_with_an_empty_side(cv, subjects, message):
    with pytest.raises(DataError, match=message):
        list(cv.split(np.zeros((4, 2)), list("aaaa"), subjects))


def test_labels_on_one_side_only():
    labels, subjects = ["a", "a", "b", "a"], [1, 2, 2, 3]
    with pytest.raises(DataError, match=r"without training on them: 'b' \(1 in all\)"):
        list(OddEven().split(np.zeros((4, 2)), labels, subjects))
    assert len(list(OddEven(allow_unseen=True).split(np.zeros((4, 2)), labels, subjects))) == 1
    # a label that is only trained on is no error: others may still be told from it
    assert len(list(OddEven().split(np.zeros((4, 2)), labels, [1, 2, 3, 2]))) == 1


@pytest.mark.parametrize(
    "cv", [LeaveOneSubjectOut(), RecordingKFold(n_splits=2), SubjectKFold(n_splits=2)]
)
def test_a_class_with_one_example_is_named(cv):
    labels = ["a", "a", "a", "lonely"]
    with pytest.raises(DataError, match=r"'lonely' \(1 in all\)"):
        list(cv.split(np.zeros((4, 2)), labels, [1, 2, 1, 2]))


@pytest.mark.parametrize("kind", [SubjectKFold, RecordingKFold])
@pytest.mark.parametrize("n_splits", [0, 1, -2, 2.5])
def test_wrong_number_of_folds(kind, n_splits):
    with pytest.raises(ParameterError, match="n_splits must be"):
        list(kind(n_splits=n_splits).split(recordings()))


def test_too_few_recordings_for_the_folds():
    with pytest.raises(DataError, match="5 folds need as many recordings, got 4"):
        list(RecordingKFold().split(np.zeros((4, 2)), list("aabb")))


def test_get_protocol_defaults_and_names():
    for dataset, kind in (
        ("florence3d", HalfSplits),
        ("utkinect", HalfSplits),
        ("msr_action3d", Wang),
    ):
        assert type(get_protocol(None, recordings(name=dataset))) is kind
    assert type(get_protocol(None, recordings(name="utd_mhad"))) is OddEven
    assert type(get_protocol(None, recordings())) is LeaveOneSubjectOut
    assert type(get_protocol(None, recordings(1))) is RecordingKFold
    assert type(get_protocol("k-fold", recordings(1))) is RecordingKFold
    assert get_protocol("k-fold", recordings(3)) == SubjectKFold(n_splits=3)
    assert get_protocol("k-fold", recordings(9)) == SubjectKFold(n_splits=5)
    assert get_protocol("half", recordings(name="utkinect")) == HalfSplits.published("utkinect")
    assert get_protocol("half", recordings()).train_subjects is None
    for name, kind in PROTOCOLS.items():
        if name != "published":
            assert isinstance(get_protocol(name, recordings()), kind)
    with pytest.raises(
        ParameterError, match="needs a data set with published splits: sbu, jhmdb, sfinge3d"
    ):
        get_protocol("published", recordings())
    splits = [(np.array([0, 1]), np.array([2, 3]))]
    brought = SkeletonDataset(recordings(), splits=splits)
    assert (
        get_protocol(None, brought)
        == get_protocol("published", brought)
        == PublishedSplits(splits=tuple(splits))
    )
    assert not brought.select([0, 1]).splits
    own = Wang()
    assert get_protocol(own, recordings()) is own
    with pytest.raises(ParameterError, match=r"protocol must be one of 'half'.*got 'loso'"):
        get_protocol("loso", recordings())
    with pytest.raises(ParameterError, match="a name or a splitter, got 3"):
        get_protocol(3, recordings())
    unknown = SkeletonDataset([SkeletonSequence(np.ones((4, 2, 3)), label=k) for k in "aabb"])
    assert type(get_protocol(None, unknown)) is RecordingKFold


def mean_pose(X):
    return np.stack([s.joints.mean(0).ravel() for s in X])


@pytest.mark.parametrize("name", ["half", "leave-one-subject-out", "odd-even", "k-fold"])
def test_scikit_learn_takes_them_as_cv(name):
    data = recordings()
    model = make_pipeline(FunctionTransformer(mean_pose), NearestCentroid())
    cv = get_protocol(name, data)
    scores = cross_val_score(model, data, data.labels, cv=cv)
    assert_allclose(scores, np.ones(cv.get_n_splits(data)))
    search = GridSearchCV(model, {"nearestcentroid__shrink_threshold": [None, 0.1]}, cv=cv)
    clone(search).fit(list(data), data.labels)
    features = mean_pose(data)
    assert len(
        cross_val_score(DummyClassifier(), features, data.labels, groups=data.subjects, cv=cv)
    )


@real
@pytest.mark.parametrize(
    ("dataset", "protocol", "sizes"),
    [("msr_action3d", "wang", (284, 273)), ("utd_mhad", "odd-even", (431, 430))],
)
def test_real_fixed_splits(dataset, protocol, sizes):
    data = load_dataset(dataset)
    ((train, test),) = get_protocol(protocol, data).split(data)
    assert (len(train), len(test)) == sizes


@real
@pytest.mark.parametrize("dataset", ["florence3d", "utkinect", "msr_action3d"])
def test_real_half_splits_are_the_published_ones(dataset):
    data = load_dataset(dataset)
    splits = list(HalfSplits.published(dataset).split(data))
    assert len(splits) == 10
    listing = Path(os.environ["KERNETON_DATA"], "cvpr14_half_splits.json")
    if not listing.exists():
        pytest.skip("the published splits are not in the data home")
    published = json.loads(listing.read_text())["splits"][dataset]
    assert [list(split) for split in HALF_SPLITS[dataset]] == published
    for (train, test), subjects in zip(splits, published, strict=True):
        assert set(data.subjects[train].astype(int)) == set(subjects)
        assert len(train) + len(test) == len(data)


@real
def test_real_li_splits():
    data = load_dataset("msr_action3d")
    for train, test in get_protocol("li", data).split(data):
        assert len(set(data.labels[train])) == len(set(data.labels[test])) == 8
        assert abs(len(train) - len(test)) < 20
