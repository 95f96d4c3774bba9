"""Ready-made recognisers, and that every part of them is a scikit-learn estimator to the letter."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks
from sklearn.utils.validation import check_is_fitted
from walks import people, walks

from kerneton import (
    DCK,
    SCK,
    Branch,
    CenterNormalize,
    LinearSVM,
    Preprocess,
    Recognizer,
    Search,
    load,
    make_actions,
    make_recognizer,
)
from kerneton.exceptions import DataError, ParameterError

WITHOUT_DATA = [
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_estimators_unfitted",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
]
SMALL = {
    "sck": {"sck__kernel__joints": "A", "sck__kernel__order": 2},
    "dck": {"dck__kernel__joints": "A", "dck__kernel__n_pivots_time": 3},
}


@pytest.mark.parametrize("name", WITHOUT_DATA)
@pytest.mark.parametrize("estimator", [Preprocess(), SCK(), DCK()], ids=repr)
def test_scikit_learn_checks(estimator, name):
    check = getattr(estimator_checks, name, None)
    if check is None:
        pytest.skip(f"this scikit-learn has no {name}")
    check(type(estimator).__name__, estimator)


@pytest.mark.parametrize(
    "estimator", [Preprocess(), SCK(order=1), DCK(joints="A", n_pivots_time=2)], ids=repr
)
class TestSequenceContract:
    """What scikit-learn's own checks ask of tables, asked of recordings."""

    def test_fit_returns_self_and_leaves_parameters_alone(self, estimator):
        estimator = clone(estimator)
        before = dict(estimator.get_params())
        assert estimator.fit(people((4, 6))) is estimator
        assert estimator.get_params() == before
        assert estimator.n_joints_in_ == 15
        check_is_fitted(estimator)
        check_is_fitted(make_pipeline(estimator))

    def test_unfitted(self, estimator):
        with pytest.raises(NotFittedError, match=type(estimator).__name__):
            clone(estimator).transform(people((4,)))
        with pytest.raises(NotFittedError):
            check_is_fitted(clone(estimator))

    def test_learnt_state_ends_in_an_underscore(self, estimator):
        fitted = clone(estimator).fit(people((4, 6)))
        new = set(vars(fitted)) - set(vars(clone(estimator)))
        assert all(name.endswith("_") or name.startswith("_") for name in new)

    def test_fit_transform_is_fit_and_transform(self, estimator):
        X = people((4, 6, 9))
        a, b = clone(estimator).fit_transform(X), clone(estimator).fit(X).transform(X)
        for left, right in zip(a, b, strict=True):
            left, right = (getattr(v, "joints", v) for v in (left, right))
            assert_allclose(left, right, rtol=0)

    def test_fit_twice_is_fit_once(self, estimator):
        X = people((4, 6, 9))
        estimator = clone(estimator).fit(people((5, 7), seed=5))
        again, once = estimator.fit(X).transform(X), clone(estimator).fit(X).transform(X)
        for left, right in zip(again, once, strict=True):
            left, right = (getattr(v, "joints", v) for v in (left, right))
            assert_allclose(left, right, rtol=0)

    def test_pickle(self, estimator):
        X = people((4, 6))
        fitted = clone(estimator).fit(X)
        revived = pickle.loads(pickle.dumps(fitted))
        for left, right in zip(fitted.transform(X), revived.transform(X), strict=True):
            left, right = (getattr(v, "joints", v) for v in (left, right))
            assert_allclose(left, right, rtol=0)

    def test_a_subset_gives_the_subset(self, estimator):
        X = people((4, 6, 9))
        fitted = clone(estimator).fit(X)
        whole, part = fitted.transform(X), fitted.transform(X[1:2])
        left, right = (getattr(v, "joints", v) for v in (whole[1], part[0]))
        assert_allclose(left, right, atol=1e-9)

    def test_other_recordings_may_be_longer(self, estimator):
        assert len(clone(estimator).fit(people((4, 6))).transform(people((30, 1), seed=3))) == 2

    def test_arrays_and_read_only_memory(self, estimator):
        x = people((5,))[0].joints
        x.setflags(write=False)
        X = [person.replace(joints=x) for person in people((5,))]
        features = clone(estimator).fit(X).transform(X)
        x = people((5,))[0].joints
        again = (
            clone(estimator).fit(X).transform([person.replace(joints=x) for person in people((5,))])
        )
        for one, other in zip(features, again, strict=True):
            assert_allclose(getattr(one, "joints", one), getattr(other, "joints", other), rtol=0)


@pytest.mark.parametrize("kernel", ["sck", "dck", "sck+dck"])
def test_the_papers_recogniser(toy, kernel):
    model = make_recognizer("paper", kernel=kernel)
    assert isinstance(model, Recognizer)
    assert [name for name, _ in model.branches] == kernel.split("+")
    small = {k: v for name in kernel.split("+") for k, v in SMALL[name].items()}
    model.set_params(**small)
    X, y = list(toy), toy.labels
    for x in X:
        x.joints[...] *= 0.3  # to a body's size
    model.fit(X[::2], y[::2])
    assert set(model.predict(X[1::2])) <= set(y)
    assert model.decision_function(X[1::2]).shape == (18, 3)
    assert model.score(X[::2], y[::2]) > 0.9


def test_parameters_of_the_paper():
    model = make_recognizer("paper", n_jobs=2)
    sck, dck = (branch.kernel for _, branch in model.branches)
    assert (sck.sigma_joint, sck.sigma_time, sck.n_pivots_joint, sck.n_pivots_time, sck.power) == (
        0.6,
        0.5,
        5,
        6,
        0.36,
    )
    assert (dck.joints, dck.n_pivots_joint, dck.n_pivots_time, dck.power) == ("E", 5, 6, 0.85)
    assert (sck.order, sck.entries, dck.same_joint) == (3, "upper", True)
    X = people((5, 7))
    model.fit(X, ["a", "b"])
    assert [branch.kernel_.n_jobs for branch in model.branches_.values()] == [2, 2]
    assert [branch.transform(X).shape[1] for branch in model.branches_.values()] == [26_565, 16_920]
    assert model.features(X).shape == (2, 43_485)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"preset": "mine"},
            "preset must be one of 'default', 'tensor', 'auto', 'paper'.*got 'mine'",
        ),
        ({"kernel": "rbf"}, "kernel must be one of 'sck', 'dck', 'sck\\+dck', got 'rbf'"),
    ],
)
def test_unknown_presets(options, message):
    with pytest.raises(ParameterError, match=message):
        make_recognizer(**options)


def small(**options):
    branch = Branch(Preprocess(), SCK(joints="A", order=1, **options), CenterNormalize())
    return Recognizer([("sck", branch)], machine=LinearSVM())


def test_grid_search_with_groups(toy):
    grid = {
        "sck__kernel__order": np.array([1, 2]),
        "sck__kernel__entries": np.array(["simplex", "slices"]),
        "machine__C": [1, 10],
    }
    search = GridSearchCV(small(), grid, cv=GroupKFold(2)).fit(
        list(toy), toy.labels, groups=toy.subjects
    )
    assert len(search.cv_results_["params"]) == 8
    best = small().set_params(**search.best_params_)
    scores = cross_val_score(best, list(toy), toy.labels, groups=toy.subjects, cv=GroupKFold(2))
    assert_allclose(search.cv_results_["mean_test_score"][search.best_index_], scores.mean())
    assert set(search.predict(toy[:3])) <= set(toy.labels)


def test_cross_validation_takes_data_sets(toy):
    scores = cross_validate(small(), toy, toy.labels, groups=toy.subjects, cv=GroupKFold(4))
    assert len(scores["test_score"]) == 4
    again = cross_val_score(
        small(n_jobs=2), list(toy), toy.labels, groups=toy.subjects, cv=GroupKFold(4)
    )
    assert_allclose(scores["test_score"], again)


def test_weighting_sees_the_training_labels_of_each_fold(toy):
    """Labels of the held-out subjects, however wrong, change no weight and no decision."""
    X, y = list(toy), toy.labels
    train, test = next(GroupKFold(2).split(X, y, toy.subjects))
    poisoned = y.copy()
    poisoned[test] = np.roll(y[test], 1)
    models = [
        cross_validate(
            small(weighting="alignment"), X, labels, cv=[(train, test)], return_estimator=True
        )
        for labels in (y, poisoned)
    ]
    honest, other = (m["estimator"][0] for m in models)
    assert_allclose(
        honest.branches_["sck"].kernel_.weights_, other.branches_["sck"].kernel_.weights_, rtol=0
    )
    assert_allclose(honest.decision_function(X), other.decision_function(X), rtol=0)
    swapped = y.copy()
    swapped[train] = np.roll(y[train], 5)  # these labels were for training
    third = small(weighting="alignment").fit([X[i] for i in train], swapped[train])
    assert not np.allclose(
        honest.branches_["sck"].kernel_.weights_, third.branches_["sck"].kernel_.weights_
    )


def test_set_output_of_one_step():
    pytest.importorskip("pandas")
    kernel = DCK(joints=[0, 1], n_pivots_joint=1, n_pivots_time=2).set_output(transform="pandas")
    frame = kernel.fit_transform(walks((4, 6), 3))
    assert list(frame.columns) == list(kernel.get_feature_names_out())
    assert list(frame.columns[:2]) == ["dck0_0", "dck0_1"]
    with sklearn.config_context(transform_output="pandas"):
        for poses in (Preprocess(), Preprocess().set_output(transform="pandas")):
            assert poses.fit_transform(people((4,)))[0].n_frames == 4
    assert list(poses.get_feature_names_out()[:3]) == ["head_x", "head_y", "head_z"]
    bare = Preprocess(center=False, bones=None).fit(walks((4,), 2))
    assert list(bare.get_feature_names_out()) == [
        "joint_0_x",
        "joint_0_y",
        "joint_0_z",
        "joint_1_x",
        "joint_1_y",
        "joint_1_z",
    ]


def test_parameters_reach_through_the_small():
    model = make_recognizer(kernel="sck")
    copy = clone(model).set_params(
        sck__kernel__power=0.5, sck__preprocess__facing="sequence", machine__C=3
    )
    branch = dict(copy.branches)["sck"]
    assert (branch.kernel.power, branch.preprocess.facing, copy.machine.C) == (0.5, "sequence", 3)
    assert dict(model.branches)["sck"].kernel.power == 0.36
    with pytest.raises(ValueError, match="Invalid parameter 'gamma'"):
        model.set_params(sck__kernel__gamma=1)


def test_pickled_recogniser(toy):
    model = small().fit(list(toy), toy.labels)
    revived = pickle.loads(pickle.dumps(model))
    assert_allclose(revived.decision_function(toy), model.decision_function(toy), rtol=0)


def test_search_is_a_classifier():
    from sklearn.base import is_classifier

    search = Recognizer([("one", Branch(None, SCK(order=1)))], search=Search())
    for model in (search, make_recognizer(), make_recognizer("paper")):
        assert is_classifier(model)
        estimator_checks.check_mixin_order("Recognizer", model)
        estimator_checks.check_no_attributes_set_in_init("Recognizer", model)
        estimator_checks.check_valid_tag_types("Recognizer", model)
        estimator_checks.check_get_params_invariance("Recognizer", model)
        estimator_checks.check_estimator_cloneable("Recognizer", model)


@pytest.mark.parametrize("preset", [None, "auto", "paper"])
def test_a_fit_encodes_each_cue_once(preset, monkeypatch):
    """Selection, final machine and calibration share features; mirrored ones come from those that
    are not.
    """
    encoded = []
    real = SCK._features

    def count(self, frames, *rest):
        encoded.append((self.signals, self.pairs, self.mirror, len(frames)))
        return real(self, frames, *rest)

    monkeypatch.setattr(SCK, "_features", count)
    data = make_actions(["wave", "clap", "bow"], n_subjects=3, n_takes=1)
    make_recognizer(preset, calibrate=True).fit(data, data.labels)
    # Five cues; three of them as the camera sees them and turned to the front; never mirrored by
    # themselves.
    assert len(encoded) == (1 if preset == "paper" else 8)
    assert not any(mirror for _, _, mirror, _ in encoded)


@pytest.mark.parametrize(
    ("preset", "calibrate"),
    [(p, True) for p in (None, "tensor", "auto", "paper", "exact")]
    + [(p, False) for p in (None, "paper", "exact")],
)
def test_a_loaded_recogniser_repeats_its_training_to_the_bit(preset, calibrate, tmp_path):
    data = make_actions(["wave", "clap", "bow"], n_subjects=3, n_takes=1)
    model = make_recognizer(preset, calibrate=calibrate).fit(data, data.labels)
    back = load(model.save(tmp_path / "model.kern"))
    assert np.array_equal(back.decision_function(data), model.decision_function(data))
    assert (back.mixtures_, back.machine_.C) == (model.mixtures_, model.machine_.C)
    assert back.machine_.within_class_penalty == (
        0.0 if preset in ("paper", "exact") else model.mixtures_[0].penalty
    )
    again = clone(back).fit(data, data.labels)
    assert np.array_equal(again.decision_function(data), model.decision_function(data))
    assert again.mixtures_ == model.mixtures_
    if calibrate:
        assert np.array_equal(again.predict_proba(data), model.predict_proba(data))
        assert np.array_equal(again.unknown_score(data), model.unknown_score(data))
    assert (
        again.save(tmp_path / "again.kern").read_bytes() == (tmp_path / "model.kern").read_bytes()
    )


def test_labels_and_subjects_are_checked():
    data = make_actions(["wave", "clap"], n_subjects=2, n_takes=1)
    model = make_recognizer(kernel="sck")
    with pytest.raises(DataError, match="labels must be of one type, got int, str"):
        model.fit(data, np.array(["a", 1, "b", 2], dtype=object))
    for groups, count in (
        (["ann"], "1"),
        (np.zeros((4, 2)), "4 x 2"),
        ("anne", "no list of"),
        (iter("anne"), "no list of"),
    ):
        with pytest.raises(DataError, match=f"4 recordings but {count} subjects"):
            model.fit(data, data.labels, groups=groups)


def test_subjects_come_from_the_recordings():
    data = make_actions(["wave", "clap"], n_subjects=3, n_takes=2)
    own, given = make_recognizer(), make_recognizer()
    own.fit(data, data.labels)
    given.fit([s.replace(subject=None) for s in data], data.labels, groups=data.subjects)
    assert own.trials_ == given.trials_
    assert np.array_equal(own.decision_function(data), given.decision_function(data))
