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
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.utils import estimator_checks
from sklearn.utils.validation import check_is_fitted
from walks import people, walks

from kerneton import DCK, SCK, CenterNormalize, LinearSVM, Preprocess, make_recognizer
from kerneton.exceptions import ParameterError
from kerneton.recognize.search import KernelSearch

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
    "sck": {"sck__joints": "A", "sck__order": 2},
    "dck": {"dck__joints": "A", "dck__n_pivots_time": 3},
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
        clone(estimator).fit(X).transform(X)


@pytest.mark.parametrize("kernel", ["sck", "dck", "sck+dck"])
def test_the_papers_recogniser(toy, kernel):
    model = make_recognizer("paper", kernel=kernel)
    assert isinstance(model, Pipeline)
    small = {k: v for name in kernel.split("+") for k, v in SMALL[name].items()}
    if kernel == "sck+dck":
        assert isinstance(model["features"], FeatureUnion)
        small = {f"features__{k.partition('_')[0]}__{k}": v for k, v in small.items()}
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
    sck = model.get_params()["features__sck__sck"]
    dck = model.get_params()["features__dck__dck"]
    assert (sck.sigma_joint, sck.sigma_time, sck.n_pivots_joint, sck.n_pivots_time, sck.power) == (
        0.6,
        0.5,
        5,
        6,
        0.36,
    )
    assert (dck.joints, dck.n_pivots_joint, dck.n_pivots_time, dck.power) == ("E", 5, 6, 0.85)
    assert (sck.order, sck.entries, dck.same_joint, sck.n_jobs, dck.n_jobs) == (3, "upper", True, 2, 2)
    X = people((5, 7))
    sizes = [len(b[1].fit(X).transform(X)[0]) for b in model["features"].transformer_list]
    assert sizes == [26_565, 16_920]
    assert model["features"].fit(X).transform(X).shape == (2, 43_485)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"preset": "mine"}, "preset must be one of 'fast', 'default', 'auto', 'paper'.*got 'mine'"),
        ({"kernel": "rbf"}, "kernel must be one of 'sck', 'dck', 'sck\\+dck', got 'rbf'"),
    ],
)
def test_unknown_presets(options, message):
    with pytest.raises(ParameterError, match=message):
        make_recognizer(**options)


def pipeline(**options):
    return make_pipeline(Preprocess(), SCK(joints="A", order=1, **options), CenterNormalize(), LinearSVM())


def test_grid_search_with_groups(toy):
    grid = {
        "sck__order": np.array([1, 2]),
        "sck__entries": np.array(["simplex", "slices"]),
        "linearsvm__C": [1, 10],
    }
    search = GridSearchCV(pipeline(), grid, cv=GroupKFold(2)).fit(list(toy), toy.labels, groups=toy.subjects)
    assert len(search.cv_results_["params"]) == 8
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert set(search.predict(toy[:3])) <= set(toy.labels)


def test_cross_validation_takes_data_sets(toy):
    scores = cross_validate(pipeline(), toy, toy.labels, groups=toy.subjects, cv=GroupKFold(4))
    assert len(scores["test_score"]) == 4
    again = cross_val_score(pipeline(n_jobs=2), list(toy), toy.labels, groups=toy.subjects, cv=GroupKFold(4))
    assert_allclose(scores["test_score"], again)


def test_weighting_sees_the_training_labels_of_each_fold(toy):
    scores = cross_val_score(
        pipeline(weighting="alignment"), list(toy), toy.labels, groups=toy.subjects, cv=GroupKFold(2)
    )
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("kernel", ["sck", "sck+dck"])
def test_tables_come_out(kernel):
    pandas = pytest.importorskip("pandas")
    X, y = people((5, 7, 6, 8)), list("abab")
    model = make_recognizer(kernel=kernel)
    arrays = clone(model).fit(X, y)[:-1].transform(X)
    frame = model.set_output(transform="pandas").fit(X, y)[:-1].transform(X)
    assert isinstance(frame, pandas.DataFrame)
    assert_allclose(frame.to_numpy(), arrays, atol=1e-12)
    first = "sck0_0" if kernel == "sck" else "sck__sck0_0"
    assert frame.columns[0] == first
    assert list(model.predict(X)) == list(clone(model).fit(X, y).predict(X))


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


def test_parameters_reach_through_the_pipeline():
    model = make_recognizer(kernel="sck")
    copy = clone(model).set_params(sck__power=0.5, preprocess__facing="sequence", svm__C=3)
    assert (copy["sck"].power, copy["preprocess"].facing, copy["svm"].C) == (0.5, "sequence", 3)
    assert model["sck"].power == 0.36
    with pytest.raises(ValueError, match="Invalid parameter 'gamma'"):
        model.set_params(sck__gamma=1)


def test_pickled_recogniser(toy):
    model = pipeline().fit(list(toy), toy.labels)
    revived = pickle.loads(pickle.dumps(model))
    assert_allclose(revived.decision_function(toy), model.decision_function(toy), rtol=0)


def test_search_is_a_classifier():
    from sklearn.base import is_classifier

    search = KernelSearch({"one": Pipeline([("kernel", SCK(order=1))])})
    assert is_classifier(search)
    assert is_classifier(make_recognizer())
    estimator_checks.check_mixin_order("KernelSearch", search)
    estimator_checks.check_no_attributes_set_in_init("KernelSearch", search)
    estimator_checks.check_valid_tag_types("KernelSearch", search)
