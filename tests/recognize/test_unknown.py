"""None of these: recordings of classes that were not trained on."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from recognizers import sck, single
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from kerneton import load_dataset, make_actions
from kerneton.exceptions import ParameterError
from kerneton.recognize.calibration import (
    _area,
    class_groups,
    learn_threshold,
    learn_weights,
    likeness,
    novelty_features,
    rounds,
    usual_likeness,
)

KNOWN = ["wave", "clap", "bow", "drink", "sit down"]


@pytest.fixture(scope="module")
def actions():
    return make_actions([*KNOWN, "draw X"], n_subjects=5, n_takes=2)


@pytest.fixture(scope="module")
def known(actions):
    return actions.select(np.flatnonzero(actions.labels != "draw X"))


@pytest.fixture(scope="module")
def model(known):
    return single(sck(), calibrate=True).fit(known, known.labels)


# the parts


def test_likeness_is_the_product_with_the_unit_mean():
    rng = np.random.default_rng(0)
    X, Y, codes = (
        rng.normal(size=(9, 4)),
        rng.normal(size=(3, 4)),
        np.array([0, 0, 0, 2, 2, 2, 2, 0, 2]),
    )
    found = likeness(Y @ X.T, X @ X.T, codes, 3)
    for c in (0, 2):
        mean = X[codes == c].mean(axis=0)
        assert_allclose(found[:, c], Y @ mean / np.linalg.norm(mean))
    assert (found[:, 1] == -np.inf).all()


def test_usual_likeness_is_that_to_other_people():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(6, 4))
    codes, people = np.array([0, 0, 0, 0, 1, 1]), np.array(["a", "a", "b", "c", "a", "a"])
    values: list[list[float]] = [[], []]
    for i in range(6):
        others = (codes == codes[i]) & (people != people[i])
        if not others.any():  # class 1 is done by one person
            others = (codes == codes[i]) & (np.arange(6) != i)
        mean = X[others].mean(axis=0)
        values[codes[i]].append(X[i] @ mean / np.linalg.norm(mean))
    overall = np.mean(values[0] + values[1])
    expected = [(sum(v) + 3 * overall) / (len(v) + 3) for v in values]
    assert_allclose(usual_likeness(X @ X.T, codes, people, 2), expected)


def test_usual_likeness_of_classes_with_one_recording():
    assert usual_likeness(np.eye(2), np.array([0, 1]), np.array(["a", "b"]), 2).tolist() == [
        0.0,
        0.0,
    ]


def test_signs_ignore_absent_classes():
    decisions = np.array([[0.5, -np.inf, -0.25]])
    assert_allclose(
        novelty_features(decisions, np.array([[0.3, -np.inf, 0.1]]), np.zeros(3)), [[0.75, 0.3]]
    )


def test_weights_separate_known_from_unknown():
    rng = np.random.default_rng(2)
    known, unknown = (
        rng.normal([2, 0.5], 0.5, size=(200, 2)),
        rng.normal([0.5, 0.0], 0.5, size=(50, 2)),
    )
    weights = learn_weights(known, unknown)
    score = [expit(x @ weights[:2] + weights[2]) for x in (known, unknown)]
    assert (weights[:2] < 0).all()
    assert roc_auc_score(np.repeat([0, 1], [200, 50]), np.concatenate(score)) > 0.95
    assert score[0].mean() < 0.2 < 0.8 < score[1].mean()


def test_weights_without_any_unknown():
    known = np.random.default_rng(3).normal([2, 0.5], [0.5, 0.1], size=(400, 2))
    weights = learn_weights(known, np.empty((0, 2)))
    mean, spread = known.mean(axis=0), known.std(axis=0)
    assert_allclose((mean - 2 * spread) @ weights[:2] + weights[2], 0, atol=1e-9)
    assert_allclose(weights[:2] * spread, [-1, -1])


def test_threshold_follows_how_far_the_scores_of_each_person_reach():
    rng = np.random.default_rng(5)
    scores = {name: rng.exponential(size=n) for name, n in (("ann", 20), ("bob", 40), ("cid", 60))}
    people = np.repeat(list(scores), [20, 40, 60])
    every = np.concatenate(list(scores.values()))
    spread = 0.3 * np.sqrt(np.mean([x.var() for x in scores.values()]))
    expected = [
        np.sort(x)[-2:].mean() - spread * np.log(0.4 * 0.03 * len(x)) for x in scores.values()
    ]
    assert_allclose(learn_threshold(every, people, 0.03), np.mean(expected))
    rates = [0.0, 0.001, 0.01, 0.05, 0.0501, 0.2, 0.5, 0.9]
    found = [learn_threshold(every, people, rate) for rate in rates]
    assert found == sorted(found, reverse=True)
    assert found[3] - found[4] < 0.01
    assert every.max() < found[0] < np.inf
    few = people == "ann"
    assert learn_threshold(every[few], people[few], 0.1) == np.quantile(every[few], 0.9)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 7, 27])
def test_every_class_is_left_out_once_and_two_stay(n):
    groups = class_groups(n)
    assert sorted(c for g in groups for c in g) == (list(range(n)) if n > 2 else [])
    assert all(n - len(g) >= 2 for g in groups)
    for fold, group in rounds(3, groups):
        assert 0 <= fold < 3
        assert any(group is g for g in groups)


def test_area_under_the_curve():
    rng = np.random.default_rng(4)
    known, unknown = rng.normal(size=50).round(1), rng.normal(1, 1, size=30).round(1)
    expected = roc_auc_score(np.repeat([0, 1], [50, 30]), np.concatenate([known, unknown]))
    assert_allclose(_area(known, unknown), expected)
    assert _area(known, unknown[:0]) == 0.5


# the recogniser


def test_unknown_recordings_score_higher(model, actions):
    scores = model.unknown_score(actions)
    assert scores.min() >= 0
    assert scores.max() <= 1
    assert roc_auc_score(actions.labels == "draw X", scores) > 0.9
    assert model.calibration_.held_out_["unknown_auc"] > 0.7


def test_score_is_what_the_attributes_say(model, known):
    svm, features = model.calibration_, model.features(known[:3])
    decisions = features @ model.machine_.coef_.T + model.machine_.intercept_
    top, best = np.sort(decisions, axis=1), np.argmax(decisions, axis=1)
    alike = (features * svm.class_means_[best]).sum(axis=1) - svm.usual_likeness_[best]
    odds = svm.unknown_weights_[0] * (top[:, -1] - top[:, -2]) + svm.unknown_weights_[1] * alike
    assert_allclose(
        model.unknown_score(known[:3]), expit(odds + svm.unknown_weights_[2]), atol=1e-9
    )
    means = np.array(
        [model.features(known)[known.labels == c].mean(axis=0) for c in model.classes_]
    )
    assert_allclose(
        svm.class_means_, means / np.linalg.norm(means, axis=1, keepdims=True), atol=1e-3
    )


@pytest.mark.parametrize("reject", [False, True])
def test_only_those_who_ask_get_unknown(known, actions, reject):
    model = single(sck(), calibrate=True, reject=reject, false_alarm=0.1).fit(known, known.labels)
    labels, flagged = model.predict(actions), model.is_unknown(actions)
    assert flagged.any()
    assert ((labels == "unknown") == (flagged & reject)).all()
    assert set(labels[~flagged]) <= set(KNOWN)
    assert_array_equal(
        labels[~flagged], model.classes_[model.predict_proba(actions).argmax(axis=1)][~flagged]
    )


def test_false_alarms_are_rarer_with_a_smaller_share(known):
    thresholds = [
        single(sck(), calibrate=True, false_alarm=share)
        .fit(known, known.labels)
        .calibration_.threshold_
        for share in (0.0, 0.05, 0.3)
    ]
    assert thresholds == sorted(thresholds, reverse=True)
    assert thresholds[0] > thresholds[-1]


def test_name_of_the_unknown(known):
    named = single(
        sck(), calibrate=True, reject=True, unknown_label="none of these", false_alarm=0.5
    )
    assert "none of these" in named.fit(known, known.labels).predict(known)
    clash = single(sck(), calibrate=True, reject=True, unknown_label="wave")
    with pytest.raises(
        ParameterError, match="unknown_label='wave' is the label of some recordings"
    ):
        clash.fit(known, known.labels)
    # it will not be said
    single(sck(), calibrate=True, unknown_label="wave").fit(known, known.labels)


# the bar


def test_left_out_classes_of_utd_mhad(data_home):
    """Three of 27 classes left out of the training, five draws: the score tells them from the
    others.
    """
    data = load_dataset("utd_mhad", data_home)
    data = [s.replace(joints=s.joints.astype(np.float32)) for s in data]
    labels = sorted({s.label for s in data})
    train, test = ([s for s in data if int(s.subject) % 2 == odd] for odd in (1, 0))
    # Preprocessing and features of the test recordings are the same in every draw but for the
    # reference skeleton.
    kernel = sck(n_pivots_joint=5, n_pivots_time=8, sigma_time=0.25, joint_weight=0.7)
    areas, alarms = [], []
    for seed in range(5):
        gone = np.random.default_rng(seed).choice(labels, 3, replace=False)
        kept = [s for s in train if s.label not in gone]
        model = single(kernel, calibrate=True).fit(kept, [s.label for s in kept])
        strange = np.array([s.label in gone for s in test])
        scores = model.unknown_score(test)
        areas.append(roc_auc_score(strange, scores))
        alarms.append((scores > model.calibration_.threshold_)[~strange].mean())
    assert np.mean(areas) >= 0.8
    assert np.mean(alarms) < 0.1  # five per cent were asked for
