from __future__ import annotations

import logging

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from recognizers import MODELS, branch, dck, sck, single, union
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from kerneton import Recognizer, Search, evaluate, load_dataset, make_actions, make_recognizer
from kerneton.exceptions import DataError, ParameterError
from kerneton.recognize.calibration import Machines, learn_sharpness
from kerneton.recognize.encoder import Encoder
from kerneton.recognize.training import machine_options
from kerneton.report.intervals import expected_calibration_error, reliability


@pytest.fixture(scope="module")
def actions():
    return make_actions(["wave", "clap", "bow", "drink"], n_subjects=4, n_takes=1)


@pytest.fixture(scope="module")
def model(actions):
    return single(sck(), calibrate=True).fit(actions, actions.labels, groups=actions.subjects)


def without(subject, data):
    """Recordings of the other subjects, and of this one."""
    mine = data.subjects == subject
    return data.select(np.flatnonzero(~mine)), data.select(np.flatnonzero(mine))


# the measure


def test_reliability_counts_by_probability():
    proba = np.array([[0.95, 0.05], [0.9, 0.1], [0.4, 0.6], [0.45, 0.55], [0.5, 0.5]])
    bins = reliability(proba, ["a", "b", "b", "a", "a"], ["a", "b"], n_bins=5)
    assert [b.count for b in bins] == [0, 0, 3, 0, 2]  # an edge belongs to the bin below it
    assert_allclose([bins[2].confidence, bins[2].accuracy], [(0.6 + 0.55 + 0.5) / 3, 2 / 3])
    assert_allclose([bins[4].confidence, bins[4].accuracy], [0.925, 0.5])
    assert (bins[0].low, bins[0].high, bins[4].high) == (0.0, 0.2, 1.0)
    error = (3 * abs(1.65 / 3 - 2 / 3) + 2 * 0.425) / 5
    assert_allclose(
        expected_calibration_error(proba, ["a", "b", "b", "a", "a"], ["a", "b"], n_bins=5), error
    )


def test_calibration_error_of_honest_and_of_vain_probabilities():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.5, 1, size=20_000)
    proba = np.stack([p, 1 - p], axis=1)
    honest = np.where(rng.uniform(size=len(p)) < p, "a", "b")
    assert expected_calibration_error(proba, honest, ["a", "b"]) < 0.02
    assert expected_calibration_error(proba, rng.choice(["a", "b"], len(p)), ["a", "b"]) > 0.2
    assert expected_calibration_error(np.eye(2), ["a", "b"], ["a", "b"]) == 0
    # neither was asked about
    assert expected_calibration_error(np.eye(2), ["c", "c"], ["a", "b"]) == 1


def test_calibration_error_says_what_is_wrong():
    with pytest.raises(DataError, match=r"need probabilities of shape \(1, 2\), got \(2, 2\)"):
        reliability(np.eye(2), ["a"], ["a", "b"])
    with pytest.raises(ParameterError, match="n_bins must be a positive whole number"):
        reliability(np.eye(2), ["a", "b"], ["a", "b"], n_bins=0)


@pytest.mark.parametrize("s", [0.5, 2.0, 8.0])
def test_sharpness_is_found_again(s):
    """Labels drawn with the probabilities of a known factor."""
    rng = np.random.default_rng(1)
    decisions = rng.normal(size=(4000, 5))
    p = np.exp(s * decisions)
    p /= p.sum(axis=1, keepdims=True)
    codes = np.array([rng.choice(5, p=row) for row in p])
    assert_allclose(learn_sharpness(decisions, codes), s, rtol=0.1)


def test_sharpness_of_few_recordings_is_modest():
    """All right, but three recordings only: no more than four in five."""
    decisions = np.where(np.eye(3) > 0, 1.0, -1.0)
    s = learn_sharpness(decisions, np.arange(3))
    p = np.exp(s * decisions[0])
    assert_allclose(p[0] / p.sum(), 4 / 5, atol=1e-3)


def test_sharpness_where_a_class_was_absent():
    decisions = np.array(
        [[1.0, -1.0, -np.inf], [-1.0, 1.0, -np.inf], [0.2, -1.0, 0.5], [0.1, 0.4, -1.0]]
    )
    codes = np.array([0, 1, 2, 0])
    # rows of a fold where all classes are present
    known = learn_sharpness(decisions[2:], codes[2:])
    assert 0.1 * known < learn_sharpness(decisions, codes) < 10 * known


# folds


def held_out(fitted, data, train, valid):
    """Decision values from Gram matrices, as calibration computes them."""
    _, codes = np.unique(data.labels, return_inverse=True)
    encoder = Encoder(list(data))
    grams = [encoder.grams(b).fold(codes, train, valid) for b in fitted.branches_.values()]
    inside, across = (np.stack([g[side] for g in grams]) for side in (0, 1))
    shares = [
        (np.array([m.shares.get(name, 0.0) for name in fitted.branches_]), m.C, m.penalty)
        for m in fitted.mixtures_
    ]
    machines = Machines(shares, machine_options(fitted.machine_, fitted.classes_))
    return machines.decide(inside, across, codes[train], len(fitted.classes_))


@pytest.mark.parametrize("name", MODELS)
def test_held_out_decisions_are_those_of_a_refit(name, actions):
    """From Gram matrices, and by fitting the whole recogniser without a subject."""
    fitted = MODELS[name]().fit(actions, actions.labels)
    known, unknown = without(actions.subjects[0], actions)
    again = clone(fitted)
    for key, b in fitted.branches_.items():  # the skeleton is shared: so does the refit
        again.set_params(**{f"{key}__preprocess__reference": b.preprocess_.reference_})
    again.fit(known, known.labels)
    mine = actions.subjects == actions.subjects[0]
    decisions = held_out(fitted, actions, np.flatnonzero(~mine), np.flatnonzero(mine))
    expected = again.decision_function(unknown)
    # A velocity's scale is shared as well, so that model is near and not equal.
    assert_allclose(decisions, expected, atol=0.2 if name == "both" else 2e-3)


def test_held_out_decisions_of_a_search(actions):
    search = Search(sums=[{"a": 1, "b": 2}, {"b": 1}], Cs=[1.0, 10.0], average=2)
    model = Recognizer([("a", branch(sck())), ("b", branch(dck()))], search=search)
    model.fit(actions, actions.labels)
    every = np.arange(len(actions))
    decisions = held_out(model, actions, every, every)  # nothing held out: the search's own machine
    assert_allclose(decisions, model.decision_function(actions), atol=2e-3)


def test_two_classes_and_absent_ones(actions):
    fitted = single(sck()).fit(actions, actions.labels)
    _, codes = np.unique(actions.labels, return_inverse=True)
    decisions = held_out(fitted, actions, np.flatnonzero(codes < 2), np.arange(16))
    assert (decisions[:, 2:] == -np.inf).all()
    assert_allclose(decisions[:, 0], -decisions[:, 1])


def test_class_weights_reach_the_folds(actions):
    plain, weighted = (
        single(sck(), calibrate=True)
        .set_params(machine__class_weight=w)
        .fit(actions, actions.labels)
        .calibration_
        for w in (None, {"wave": 20.0})
    )
    assert plain.sharpness_ != weighted.sharpness_


# the recogniser


def test_probabilities_agree_with_labels_and_sum_to_one(model, actions):
    proba = model.predict_proba(actions)
    assert_allclose(proba.sum(axis=1), 1)
    assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(actions))
    scores = model.decision_function(actions)
    s = model.calibration_.sharpness_
    assert_allclose(np.log(proba[:, 0] / proba[:, 1]), s * (scores[:, 0] - scores[:, 1]), atol=1e-6)


def test_decisions_are_those_of_the_recogniser_alone(model, actions):
    alone = single(sck()).fit(actions, actions.labels)
    assert_array_equal(model.decision_function(actions), alone.decision_function(actions))
    assert alone.calibration_ is None
    assert not hasattr(alone, "predict_proba")


def test_predictions_tell_all(model, actions):
    told = model.predictions(actions)
    assert [p.label for p in told] == model.predict(actions).tolist()
    assert_allclose([p.probability for p in told], model.predict_proba(actions).max(axis=1))
    assert_allclose([p.unknown_score for p in told], model.unknown_score(actions))
    assert [p.unknown for p in told] == model.is_unknown(actions).tolist()
    for p in told:
        assert list(p.probabilities) == sorted(p.probabilities, key=lambda k: -p.probabilities[k])
        assert p.probabilities[p.label] == p.probability == max(p.probabilities.values())


@pytest.mark.parametrize("name", MODELS)
def test_every_recogniser_can_be_calibrated(name, actions):
    model = MODELS[name](calibrate=True).fit(actions, actions.labels)
    assert_allclose(model.predict_proba(actions[:3]).sum(axis=1), 1)
    assert np.isfinite(model.unknown_score(actions[:3])).all()
    assert model.calibration_.held_out_["n_folds"] == 4
    assert 0 <= model.calibration_.held_out_["accuracy"] <= 1


def test_single_precision(actions):
    data = [s.replace(joints=s.joints.astype(np.float32)) for s in actions]
    model = single(sck(), calibrate=True).fit(data, actions.labels)
    assert model.decision_function(data).dtype == np.float32
    assert model.calibration_.class_means_.dtype == np.float32
    assert_allclose(model.predict_proba(data).sum(axis=1), 1)


def test_two_labels(actions):
    two = [s for s in actions if s.label in ("wave", "bow")]
    labels = [s.label for s in two]
    model = single(sck(), calibrate=True).fit(two, labels)
    proba = model.predict_proba(two)
    assert proba.shape == (8, 2)
    assert_allclose(proba.sum(axis=1), 1)
    assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(two))
    assert model.calibration_.held_out_["unknown_auc"] == 0.5  # there was no class to leave out
    assert np.isfinite(model.unknown_score(two)).all()


def test_subjects_are_those_of_the_recordings_unless_given(actions, model):
    own = single(sck(), calibrate=True).fit(actions, actions.labels)
    assert own.calibration_.held_out_ == model.calibration_.held_out_
    halves = np.where(np.isin(actions.subjects, np.unique(actions.subjects)[:2]), "x", "y")
    assert (
        single(sck(), calibrate=True)
        .fit(actions, actions.labels, groups=halves)
        .calibration_.held_out_["n_folds"]
        == 2
    )


def test_without_subjects_recordings_are_held_out(actions, caplog):
    data = [s.replace(subject=None) for s in actions]
    with caplog.at_level(logging.WARNING):
        model = single(sck(), calibrate=True).fit(data, actions.labels)
    assert "folds hold out recordings, not people" in caplog.text
    assert model.calibration_.held_out_["n_folds"] == 4


def test_a_class_that_one_person_does(actions):
    some = [s for s in actions if s.label != "drink" or s.subject == actions.subjects[0]]
    model = single(sck(), calibrate=True).fit(some, [s.label for s in some])
    assert model.predict_proba(some).shape == (13, 4)
    alone = [
        s
        for s in actions
        if (s.label, s.subject)
        in set(zip(actions.labels, sorted(set(actions.subjects)), strict=False))
    ]
    with pytest.raises(DataError, match="every label has only one subject"):
        single(sck(), calibrate=True).fit(alone, [s.label for s in alone])


def test_searches(actions):
    model = Recognizer([("a", branch(sck()))], search=Search(Cs=[1.0, 10.0]), calibrate=True)
    assert_allclose(model.fit(actions, actions.labels).predict_proba(actions).sum(axis=1), 1)
    grid = GridSearchCV(single(sck(), calibrate=True), {"machine__C": [1, 10]}, cv=2)
    assert_allclose(grid.fit(list(actions), actions.labels).predict_proba(actions).sum(axis=1), 1)


def test_scikit_learn_conventions(model, actions):
    copy = clone(model)
    assert not hasattr(copy, "machine_")
    assert copy.get_params()["machine__C"] == 10
    with pytest.raises(NotFittedError):
        copy.predict(actions)
    with pytest.raises(NotFittedError):
        copy.predict_proba(actions)
    assert model.score(actions, actions.labels) == (model.predict(actions) == actions.labels).mean()


def test_evaluation_sees_probabilities(actions):
    report = evaluate(single(sck(), calibrate=True), actions, "leave-one-subject-out")
    for split in report.splits:
        assert split.probabilities.shape == (4, 4)
        assert_allclose(split.probabilities.sum(axis=1), 1)


def test_explanation_tells_the_probability(model, actions):
    why = model.explain(actions[0], "bow")
    column = model.classes_.tolist().index("bow")
    assert_allclose(why.probability, model.predict_proba(actions[:1])[0, column])
    assert_allclose(why.value, model.decision_function(actions[:1])[0, column], atol=1e-9)
    assert "probability" in str(why)
    why.plot().draw_without_rendering()


def test_errors(actions):
    with pytest.raises(ParameterError, match=r"false_alarm must be a number in \[0, 1\)"):
        single(sck(), calibrate=True, false_alarm=1.0).fit(actions, actions.labels)
    model = single(sck(), calibrate=True)
    with pytest.raises(DataError, match=r"16 recordings but labels of shape \(3,\)"):
        model.fit(actions, ["a", "b", "c"])
    with pytest.raises(DataError, match="at least two labels"):
        model.fit(actions, ["a"] * 16)
    with pytest.raises(DataError, match="16 recordings but 2 subjects"):
        model.fit(actions, actions.labels, groups=["x", "y"])
    with pytest.raises(DataError, match="pass y"):
        model.fit(actions, None)
    with pytest.raises(ParameterError, match="need a LinearSVM, got LogisticRegression"):
        model.set_params(machine=LogisticRegression()).fit(actions, actions.labels)


# the bar


def test_probabilities_hold_for_people_not_seen(data_home):
    """UTD-MHAD, trained on the odd subjects, tested on the even ones."""
    data = load_dataset("utd_mhad", data_home)
    data = [s.replace(joints=s.joints.astype(np.float32)) for s in data]
    train, test = ([s for s in data if int(s.subject) % 2 == odd] for odd in (1, 0))
    kernel = sck(n_pivots_joint=5, n_pivots_time=8, sigma_time=0.25, joint_weight=0.7)
    model = single(kernel, calibrate=True).fit(train, [s.label for s in train])
    labels = np.array([s.label for s in test])
    proba = model.predict_proba(test)
    assert (model.classes_[proba.argmax(axis=1)] == labels).mean() > 0.9
    error = expected_calibration_error(proba, labels, model.classes_)
    assert error < 0.08
    vain = proba**4 / (proba**4).sum(axis=1, keepdims=True)
    assert expected_calibration_error(vain, labels, model.classes_) > error
    assert (
        abs(model.calibration_.held_out_["accuracy"] - (model.predict(test) == labels).mean())
        < 0.05
    )


def test_union_is_calibrated_from_both(actions):
    both = union(sck(), dck(), calibrate=True).fit(actions, actions.labels)
    means = both.calibration_.class_means_
    assert means.shape == both.machine_.coef_.shape
    assert_allclose(np.linalg.norm(means, axis=1), 1, atol=1e-3)


@pytest.mark.parametrize("name", MODELS)
def test_means_of_classes(name, actions):
    model = MODELS[name](calibrate=True).fit(actions, actions.labels)
    features = model.features(actions)
    means = np.array([features[actions.labels == c].mean(axis=0) for c in model.classes_])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    assert_allclose(model.calibration_.class_means_, means, atol=1e-3)


def test_choices_on_noise_are_not_taken_for_accuracy(actions):
    """With labels drawn by lot, the best of many candidates looks better than chance; without the
    tested subject it does not.
    """
    cues = [(f"a{i}", branch(sck(sigma_joint=0.2 + 0.2 * i))) for i in range(4)]
    found = []
    for seed in range(6):
        labels = np.random.default_rng(seed).permutation(actions.labels)
        model = Recognizer(cues, search=Search(Cs=[0.1, 1.0, 10.0]), calibrate=True)
        held_out = model.fit(actions, labels).calibration_.held_out_
        assert held_out["accuracy_low"] <= held_out["accuracy_nested"] <= held_out["accuracy_high"]
        found.append([held_out["accuracy"], held_out["accuracy_nested"]])
    chosen, nested = np.mean(found, axis=0)
    assert nested < chosen - 0.02
    assert nested < 0.35  # a quarter is chance


def test_what_one_person_alone_motivates_is_not_credited_to_that_person():
    """Of equals the first is chosen: without the one left-handed person nothing speaks for
    mirroring.
    """
    last = make_actions(["wave"], n_subjects=4, n_takes=1)[-1].subject
    data = [
        mirrored(s) if s.subject == last else s
        for s in make_actions(["wave", "kick", "bow"], n_subjects=4, n_takes=2)
    ]
    model = make_recognizer(calibrate=True).fit(data, [s.label for s in data])
    held_out = model.calibration_.held_out_
    assert "mirrored" in model.variant_
    assert held_out["accuracy"] == 1.0
    assert held_out["accuracy_nested"] < 1.0
    assert held_out["accuracy_low"] < 0.6  # as wide as people differ


def mirrored(s):
    names = [
        j.replace("left_", "@").replace("right_", "left_").replace("@", "right_")
        for j in s.layout.joints
    ]
    swapped = [s.layout.joints.index(name) for name in names]
    confidence = None if s.confidence is None else s.confidence[:, swapped]
    return s.replace(
        joints=(s.joints * np.array([-1, 1, 1], s.joints.dtype))[:, swapped], confidence=confidence
    )
