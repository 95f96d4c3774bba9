from __future__ import annotations

import logging
import pickle

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, LeaveOneGroupOut, cross_validate
from walks import people

from kerneton import (
    DCK,
    SCK,
    Branch,
    CenterNormalize,
    LinearSVM,
    Preprocess,
    Recognizer,
    make_actions,
    make_recognizer,
)
from kerneton.exceptions import DataError, ParameterError
from kerneton.machine.folds import subject_folds
from kerneton.machine.solver import penalised_gram
from kerneton.recognize.encoder import Encoder, LocalTrials, fold_grams
from kerneton.recognize.search import Search, Trial, with_parameters


def cue(kernel, **options):
    return Branch(Preprocess(**options), kernel, CenterNormalize())


def searching(cues, *, calibrate=False, progress=None, **options):
    return Recognizer(
        list(cues.items()), search=Search(**options), calibrate=calibrate, progress=progress
    )


def plain(branches, C):
    """What anyone would write by hand: branches side by side and one machine."""
    return Recognizer(branches, machine=LinearSVM(C=C))


def cues():
    return {
        "poses": cue(SCK(order=1, joints="key")),
        "pairs": cue(SCK(order=1, joints="key", pairs=True, joint_weight=0.9)),
        "dynamics": cue(
            DCK(joints="A", n_pivots_joint=3, n_pivots_time=3), center=False, bones=None
        ),
    }


@pytest.fixture(scope="module")
def data():
    return make_actions(["draw circle", "draw X", "clap"], n_subjects=4, n_takes=2, random_state=1)


@pytest.fixture(scope="module")
def fitted(data):
    search = searching(cues(), variants={"plain": {}, "mirrored": {"kernel__mirror": True}})
    return search.fit(data, data.labels, groups=data.subjects)


def test_result_is_what_one_would_write_by_hand(fitted, data):
    """With one candidate the decision is that of the chosen branch and machine, fitted without a
    search.
    """
    (chosen,) = fitted.chosen_
    override = {"kernel__mirror": True} if fitted.variant_ == "mirrored" else {}
    name = chosen.cues[0]
    by_hand = plain([(name, with_parameters(cues()[name], override))], chosen.C).fit(
        data, data.labels
    )
    assert_allclose(fitted.decision_function(data), by_hand.decision_function(data), atol=1e-5)
    assert np.array_equal(fitted.predict(data), by_hand.predict(data))
    assert_allclose(fitted.score(data, data.labels), by_hand.score(data, data.labels))
    assert fitted.machine_.C == chosen.C
    assert fitted.mixtures_[0].shares == {name: 1.0}


@pytest.mark.parametrize("weighting", [None, "alignment"])
@pytest.mark.parametrize("labels", [("draw circle", "draw X", "clap"), ("draw X", "clap")])
def test_weighted_joints_and_two_labels(data, weighting, labels):
    part = data.select(np.flatnonzero(np.isin(data.labels, labels)))
    single = cue(SCK(order=1, joints="key", weighting=weighting))
    search = searching({"one": single}, Cs=[3.0]).fit(part, part.labels, groups=part.subjects)
    by_hand = plain([("one", single)], 3.0).fit(part, part.labels)
    assert_allclose(search.decision_function(part), by_hand.decision_function(part), atol=1e-5)
    assert search.machine_.coef_.shape == by_hand.machine_.coef_.shape


def test_sums_keep_their_weights(data):
    """A weight of three is three times in the kernel; two sums of the same cues are two
    candidates.
    """
    sums = [{"poses": 1.0, "dynamics": 1.0}, {"poses": 3.0, "dynamics": 1.0}]
    search = searching(cues(), sums=sums, Cs=[1.0], average=2)
    search.fit(data, data.labels, groups=data.subjects)
    assert {t.weights for t in search.chosen_} == {(1.0, 1.0), (3.0, 1.0)}
    expected = 0
    for weights in sums:
        factors = {name: np.sqrt(w / sum(weights.values())) for name, w in weights.items()}
        branches = [
            (name, cues()[name].set_params(weight=factor)) for name, factor in factors.items()
        ]
        by_hand = plain(branches, 1.0).fit(data, data.labels)
        expected = expected + by_hand.decision_function(data) / 2
    assert_allclose(search.decision_function(data), expected, atol=1e-5)
    only = searching(cues(), sums=sums[1:], Cs=[1.0]).fit(data, data.labels, groups=data.subjects)
    assert_allclose(only.decision_function(data), by_hand.decision_function(data), atol=1e-5)


def penalised(X, y, scatter, C):
    """Weights of the plain formula: features changed by (I + scatter S / t)^-1/2, then an ordinary
    machine.
    """
    within = X - np.stack([X[y == label].mean(axis=0) for label in y])
    S = within.T @ within
    metric = np.eye(X.shape[1]) + scatter * S / (np.trace(S) / len(X))
    lam, U = np.linalg.eigh(metric)
    root = (U / np.sqrt(lam)) @ U.T
    Z = X @ root
    Z_scale = np.sqrt((X**2).sum() / (Z**2).sum())
    svm = LinearSVM(C=C).fit(Z * Z_scale, y)
    return Z_scale * svm.coef_ @ root, svm.intercept_


@pytest.mark.parametrize("scatter", [0.0, 0.5, 4.0])
def test_the_penalty_of_scatter_is_its_formula(data, scatter):
    single = cue(SCK(order=1, joints="A", n_pivots_joint=3, weighting=None))
    search = searching({"one": single}, Cs=[3.0], penalties=[scatter])
    search.fit(data, data.labels, groups=data.subjects)
    features = clone(single).fit_transform(data, data.labels)
    coef, intercept = penalised(features, data.labels, scatter, 3.0)
    assert_allclose(search.machine_.coef_, coef, atol=1e-5 * np.abs(coef).max())
    assert_allclose(search.machine_.intercept_, intercept, atol=1e-5)
    assert search.chosen_[0].penalty == scatter


def test_scatter_of_lonely_recordings_is_nothing():
    """Where no class has two recordings nothing differs within one."""
    K = np.diag([1.0, 2.0, 3.0])
    same, duals = penalised_gram(K, np.array([0, 1, 2]), 5.0)
    assert_allclose(same, K, rtol=0)
    assert_allclose(duals(np.eye(3)), np.eye(3), rtol=0)


def test_single_cues_have_a_say_in_the_variant_only(data):
    for sums, sizes in (("all", {3}), ("leave-out", {2, 3})):
        search = searching(cues(), sums=sums, Cs=[1.0], average=9, variants={"a": {}, "b": {}})
        search.fit(data, data.labels, groups=data.subjects)
        assert {len(t.cues) for t in search.chosen_} == sizes
        assert {len(t.cues) for t in search.trials_} == sizes | {1}
        for variant, score in search.variant_scores_.items():
            assert_allclose(
                score, np.mean([t.accuracy for t in search.trials_ if t.variant == variant])
            )
    two = searching(
        {k: v for k, v in cues().items() if k != "pairs"}, sums="leave-out", Cs=[1.0], average=9
    )
    assert [len(t.cues) for t in two.fit(data, data.labels, groups=data.subjects).chosen_] == [2]
    one = searching({"poses": cues()["poses"]}, sums="all", Cs=[1.0])
    assert len(one.fit(data, data.labels, groups=data.subjects).chosen_) == 1


def test_cues_that_a_variant_makes_the_same_are_one_branch(data):
    """Bones of the camera and from the front: one branch of twice the weight, and the decision of
    two.
    """
    seen, turned = cues()["poses"], cue(SCK(order=1, joints="key"), facing="sequence")
    other = cues()["pairs"]
    free = {"free": {"preprocess__facing": "sequence"}}
    names = {"seen": seen, "turned": turned, "other": other}
    search = searching(
        names, sums=[dict.fromkeys(names, 1.0)], variants=free, Cs=[3.0], penalties=[1.0]
    )
    search.fit(data, data.labels, groups=data.subjects)
    assert list(search.branches_) == ["seen", "other"]
    assert_allclose(list(search.mixtures_[0].shares.values()), [2 / 3, 1 / 3])
    fewer = {"seen": seen, "other": other}
    twice = searching(
        fewer, sums=[{"seen": 2.0, "other": 1.0}], variants=free, Cs=[3.0], penalties=[1.0]
    )
    twice.fit(data, data.labels, groups=data.subjects)
    assert_allclose(search.decision_function(data), twice.decision_function(data), atol=1e-9)
    assert_allclose(search.chosen_[0].accuracy, twice.chosen_[0].accuracy)
    for model in (search, twice):
        model.set_params(calibrate=True).fit(data, data.labels)
    assert_allclose(search.predict_proba(data), twice.predict_proba(data), atol=1e-6)


def test_scores_are_those_of_cross_validation(data):
    """Trials report what holding out subjects gives for the plain pipeline."""
    Cs = [0.1, 10.0]
    single = cue(SCK(order=1, joints="key", weighting="alignment"))
    search = searching({"one": single}, Cs=Cs).fit(data, data.labels, groups=data.subjects)
    for trial in search.trials_:
        by_hand = plain([("one", single)], trial.C)
        # The reference skeleton is learned from all training subjects, labels and joint weights
        # fold by fold.
        by_hand.set_params(one__preprocess__reference=clone(single.preprocess).fit(data).reference_)
        scores = cross_validate(
            by_hand, list(data), data.labels, groups=data.subjects, cv=LeaveOneGroupOut()
        )
        # subjects are equally large
        assert_allclose(trial.accuracy, scores["test_score"].mean(), atol=1e-12)
        assert_allclose(trial.spread, scores["test_score"].std() / np.sqrt(3), atol=1e-12)


def test_what_was_tried(fitted):
    assert len(fitted.trials_) == 3 * 3 * 2
    assert {t.variant for t in fitted.trials_} == {"plain", "mirrored"}
    accuracies = [t.accuracy for t in fitted.trials_]
    assert accuracies == sorted(accuracies, reverse=True)
    for variant, score in fitted.variant_scores_.items():
        assert_allclose(
            score, np.mean([t.accuracy for t in fitted.trials_ if t.variant == variant])
        )
    own = [t for t in fitted.trials_ if t.variant == fitted.variant_]
    assert fitted.chosen_ == own[:1]
    assert (
        min(t.C for t in own if t.accuracy == own[0].accuracy and t.cues == own[0].cues)
        == fitted.chosen_[0].C
    )
    text = fitted.summary()
    assert "machine:" in text
    assert f"chosen: {fitted.variant_}" in text
    assert fitted.classes_.tolist() == ["clap", "draw X", "draw circle"]


def test_equals_of_the_last_speak_too(data):
    options = {"variants": None, "Cs": [1.0, 1.0, 10.0], "sums": [{"poses": 1.0}, {"pairs": 1.0}]}
    many = searching(cues(), average=2, **options).fit(data, data.labels, groups=data.subjects)
    ranked = sorted((t.accuracy for t in many.trials_), reverse=True)
    assert {t.accuracy for t in many.chosen_} == {a for a in ranked if a >= ranked[1]}
    assert len(many.chosen_) == sum(a >= ranked[1] for a in ranked)
    single = searching(cues(), average=1, **options).fit(data, data.labels, groups=data.subjects)
    assert single.chosen_ == many.chosen_[:1]


def test_optional_cues_are_in_one_more_sum():
    search = Search(sums="all", optional=["c"])
    assert search._candidates(["a", "b", "c"]) == [
        {"a": 1.0, "b": 1.0},
        {"a": 1.0, "b": 1.0, "c": 1.0},
        {"a": 1.0},
        {"b": 1.0},
    ]
    assert search._candidates(["a", "b"]) == [{"a": 1.0, "b": 1.0}, {"a": 1.0}, {"b": 1.0}]
    assert search._candidates(["c"]) == [{"c": 1.0}]


def test_handicap_turns_the_choice(data):
    for better, worse in (("a", "b"), ("b", "a")):
        search = searching(
            {"poses": cues()["poses"]},
            variants={"a": {}, "b": {}},
            required_gain={worse: 0.1},
            Cs=[1.0],
        )
        search.fit(data, data.labels, groups=data.subjects)
        assert search.variant_ == better
        assert_allclose(search.variant_scores_["a"], search.variant_scores_["b"])


def test_variants_of_the_same_gain_are_ranked_by_loss():
    """Of equal accuracies the smaller loss counts; of nearly equal losses the first; gains are
    between accuracies.
    """

    def trial(variant, accuracy, loss):
        return Trial(variant, ("a",), 1.0, accuracy, 0.0, (1.0,), losses=(loss, loss))

    sides = [trial("plain", 0.9, 1.01), trial("mirrored", 0.9, 1.5), trial("partly", 0.8, 1.0)]
    assert Search().best(sides)[0] == "plain"
    sides = [trial("plain", 0.9, 1.03), *sides[1:]]
    assert Search().best(sides)[0] == "partly"
    views = [*sides, trial("fixed", 0.85, 0.1)]
    assert Search(required_gain={"fixed": 0.06}).best(views)[0] == "partly"
    assert Search(required_gain={"fixed": 0.04}).best(views)[0] == "fixed"


def test_the_losses_of_trials_are_those_of_decision_values(data):
    model = searching({"poses": cues()["poses"]}, variants=None, Cs=[1.0])
    model.fit(data, data.labels, groups=data.subjects)
    (trial,) = model.trials_
    folds = subject_folds(np.unique(data.labels, return_inverse=True)[1], data.subjects)
    for (train, valid), loss in zip(folds, trial.losses, strict=True):
        known = data.select(train)
        alone = plain([("poses", cues()["poses"])], 1.0).fit(known, data.labels[train])
        signs = np.where(data.labels[valid][:, None] == alone.classes_, 1, -1)
        margins = signs * alone.decision_function(data.select(valid))
        assert_allclose((np.maximum(0, 1 - margins) ** 2).mean(axis=1).sum(), loss, rtol=1e-2)


def test_test_subjects_cannot_speak(data):
    """Wrong labels of the held-out subjects change nothing that is chosen, nor any decision."""
    X, y, groups = list(data), data.labels, data.subjects
    splits = list(GroupKFold(2).split(X, y, groups))
    search = searching(
        cues(), variants={"plain": {}, "mirrored": {"kernel__mirror": True}}, average=2
    )
    for train, test in splits[:1]:
        poisoned = y.copy()
        poisoned[test] = np.roll(np.unique(y), 1)[np.searchsorted(np.unique(y), y[test])]
        runs = [
            cross_validate(
                search,
                X,
                labels,
                cv=[(train, test)],
                params={"groups": groups},
                return_estimator=True,
            )["estimator"][0]
            for labels in (y, poisoned)
        ]
        assert runs[0].chosen_ == runs[1].chosen_
        assert runs[0].trials_ == runs[1].trials_
        assert runs[0].variant_scores_ == runs[1].variant_scores_
        held_out = data.select(test)
        assert_allclose(
            runs[0].decision_function(held_out), runs[1].decision_function(held_out), rtol=0
        )


def test_joint_weights_of_a_fold_do_not_see_its_held_out_labels(data):
    codes = np.unique(data.labels, return_inverse=True)[1]
    folds = subject_folds(codes, data.subjects)
    single = SCK(order=1, joints="key", weighting="alignment")
    poses = Preprocess().fit_transform(data)
    grams = Encoder(poses).grams(Branch(None, single, CenterNormalize()))
    expected = fold_grams(grams, codes, folds)
    for f, (train, valid) in enumerate(folds):
        poisoned = codes.copy()
        poisoned[valid] = (codes[valid] + 1) % 3
        answer = fold_grams(grams, poisoned, folds)
        for a, b in zip(answer[f], expected[f], strict=True):
            assert_allclose(a, b, rtol=0)
        assert (
            np.abs(answer[f - 1][0] - expected[f - 1][0]).max() > 1e-3
        )  # there these labels were for training
        assert expected[f][0].shape == (len(train), len(train))


@pytest.mark.parametrize("routing", [False, True])
def test_nests_in_cross_validation(data, routing):
    X, y, groups = list(data), data.labels, data.subjects
    search = searching({"poses": cues()["poses"]}, Cs=[1.0, 10.0])
    with sklearn.config_context(enable_metadata_routing=routing):
        if routing:
            search.set_fit_request(groups=True)
            scores = cross_validate(
                search, X, y, cv=GroupKFold(2), params={"groups": groups}, return_estimator=True
            )
        else:
            scores = cross_validate(
                search,
                X,
                y,
                groups=groups,
                cv=GroupKFold(2),
                params={"groups": groups},
                return_estimator=True,
            )
    splits = GroupKFold(2).split(X, y, groups)
    for (train, test), inner, score in zip(
        splits, scores["estimator"], scores["test_score"], strict=True
    ):
        by_hand = clone(search).fit([X[i] for i in train], y[train], groups=groups[train])
        assert inner.trials_ == by_hand.trials_
        assert score == by_hand.score([X[i] for i in test], y[test])


def test_folds_of_subjects():
    codes = np.tile([0, 1], 12)
    few = subject_folds(codes, np.repeat(list("abc"), 8))
    assert [v.tolist() for _, v in few] == [list(range(8)), list(range(8, 16)), list(range(16, 24))]
    many = subject_folds(codes, np.arange(24) // 2)
    assert len(many) == 10
    for train, valid in many:
        assert not set(np.asarray(train) // 2) & set(np.asarray(valid) // 2)
    assert sorted(np.concatenate([v for _, v in many])) == list(range(24))
    with pytest.raises(DataError, match="24 recordings but 3 subjects"):
        subject_folds(codes, ["a", "b", "c"])


@pytest.mark.parametrize(("groups", "what"), [(None, "no subjects"), (["ann"] * 12, "one subject")])
def test_without_subjects_recordings_are_held_out(caplog, groups, what):
    codes = np.repeat([0, 1, 2], 4)
    with caplog.at_level(logging.WARNING, logger="kerneton.machine.folds"):
        folds = subject_folds(codes, groups)
    assert caplog.messages == [f"{what}: folds hold out recordings, not people"]
    assert len(folds) == 4
    for train, valid in folds:
        assert np.array_equal(np.bincount(codes[valid]), [1, 1, 1])
        assert len(train) == 9
    again = subject_folds(codes, groups)
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(folds, again, strict=True))


def test_class_smaller_than_the_folds(data):
    rare = np.flatnonzero(data.labels == "clap")[1:]
    part = data.select(np.setdiff1d(np.arange(len(data)), rare))
    for groups in (None, part.subjects):
        search = searching({"poses": cues()["poses"]}, Cs=[1.0]).fit(
            part, part.labels, groups=groups
        )
        assert search.classes_.tolist() == ["clap", "draw X", "draw circle"]
        assert set(search.predict(part)) <= set(search.classes_)
        assert 0 < search.chosen_[0].accuracy < 1


def test_a_subject_with_one_label_only():
    """Folds whose training side misses a label, or knows only one, count as what they are."""
    X = people((5, 6, 7, 8))
    search = searching({"one": cue(SCK(order=1))}, Cs=[1.0])
    search.fit(X, list("aabb"), groups=["s", "s", "t", "t"])
    assert search.chosen_[0].accuracy == 0  # each fold knows the other label alone
    search.fit(X, list("aabc"), groups=["s", "s", "t", "u"])
    assert 0 <= search.chosen_[0].accuracy <= 0.5


def test_a_joint_that_one_recording_lacks_is_told_with_the_way_out(caplog):
    data = make_actions(["bow", "wave"], n_subjects=3, n_takes=1)
    joints = data[1].joints.copy()
    joints[:, 5] = np.nan
    recordings = [s.replace(joints=joints) if i == 1 else s for i, s in enumerate(data)]
    told = f"recording '{data[1].name}' never contains left_elbow; leave the recording out, or the joint"
    with pytest.raises(DataError, match=told):
        make_recognizer().fit(recordings, data.labels)
    assert not caplog.records


def test_failing_candidates_are_skipped_and_told(caplog, data):
    bad = {
        "wings": cue(SCK(order=1, joints=["left_wing"])),
        "fine": cue(DCK(joints="A", sigma_joint=1e-4)),
    }
    sums = [{"poses": 1.0}, {"wings": 1.0}, {"poses": 1.0, "fine": 1.0}]
    search = searching({**cues(), **bad}, sums=sums, Cs=[1.0], average=3)
    with caplog.at_level(logging.WARNING, logger="kerneton.recognize.search"):
        search.fit(data, data.labels, groups=data.subjects)
    assert [t.cues for t in search.chosen_] == [("poses",)]
    assert {t.cues for t in search.trials_} == {("poses",)}
    told = "\n".join(caplog.messages)
    assert "cue wings (as given) is left out: layout 'kinect20' has no joint 'left_wing'" in told
    assert "cue fine (as given) is left out: displacements of up to" in told
    with pytest.raises(
        DataError,
        match=r"^layout 'kinect20' has no joint",
    ):
        searching(bad).fit(data, data.labels, groups=data.subjects)


def test_a_variant_does_not_win_by_failing(data):
    """Pooled accuracies compare the candidates that every variant could compute."""
    names = {
        "good": cues()["poses"],
        "poor": cue(SCK(order=1, joints=["left_foot"], joint_weight=0.01)),
    }
    # "poor" has no right foot to mirror
    variants = {"plain": {}, "mirrored": {"kernel__mirror": True}}
    search = searching(names, variants=variants, Cs=[1.0]).fit(
        data, data.labels, groups=data.subjects
    )
    alone = searching({"good": names["good"]}, variants=variants, Cs=[1.0])
    alone.fit(data, data.labels, groups=data.subjects)
    assert search.variant_scores_ == alone.variant_scores_


def test_features_that_are_not_finite(caplog, data, monkeypatch):
    real = SCK.fit_transform

    def broken(self, X, y=None):
        features = real(self, X, y)
        features[0, 0] = np.nan
        return features

    monkeypatch.setattr(SCK, "fit_transform", broken)
    search = searching({k: v for k, v in cues().items() if k != "pairs"}, Cs=[1.0])
    search.fit(data, data.labels, groups=data.subjects)
    assert search.chosen_[0].cues == ("dynamics",)
    assert "cue poses (as given) is left out: its features are not finite" in caplog.messages


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"cues": {}}, ParameterError, "at least one branch"),
        ({"sums": []}, ParameterError, "sums is empty; None tries"),
        (
            {"sums": [{"poses": 1.0, "sound": 1.0}]},
            ParameterError,
            "branches that do not exist: sound",
        ),
        ({"sums": [{}]}, ParameterError, "a sum names no branch"),
        ({"sums": [{"poses": 0.0}]}, ParameterError, "weight of poses must be a positive number"),
        ({"Cs": []}, ParameterError, "at least one C"),
        ({"penalties": ()}, ParameterError, "at least one C and one penalty"),
        (
            {"penalties": [-1.0]},
            ParameterError,
            r"penalty must be a number in \[0, 1000000\.0\], got -1\.0",
        ),
        ({"Cs": [1.0, -1.0]}, ParameterError, r"C must be a positive number, got -1\.0"),
        ({"average": 0}, ParameterError, "average must be a positive whole number"),
    ],
)
def test_parameters(options, error, message):
    search = searching(**{"cues": cues(), **options})
    with pytest.raises(error, match=message):
        search.fit(people((5, 6, 7, 8)), list("aabb"))


def test_labels_are_checked():
    X, search = people((5, 6, 7, 8)), searching({"one": cue(SCK(order=1))})
    with pytest.raises(DataError, match=r"at least two labels, got only \['a'\]"):
        search.fit(X, list("aaaa"))
    with pytest.raises(DataError, match=r"4 recordings but labels of shape \(3,\)"):
        search.fit(X, list("aab"))
    with pytest.raises(DataError, match="every label has only one recording"):
        search.fit(X, list("abcd"))
    with pytest.raises(DataError, match="4 recordings but 2 subjects"):
        search.fit(X, list("aabb"), groups=["s", "t"])


def test_copies(fitted, data):
    copy = clone(fitted)
    assert not hasattr(copy, "machine_")
    assert set(copy.get_params(deep=False)) == set(fitted.get_params(deep=False))
    revived = pickle.loads(pickle.dumps(fitted))
    assert_allclose(revived.decision_function(data), fitted.decision_function(data), rtol=0)
    with pytest.raises(sklearn.exceptions.NotFittedError):
        copy.predict(data)


def test_progress_is_reported(data):
    seen = []

    def progress(items, **options):
        seen.append(options.get("desc"))
        return items

    search = searching({"poses": cues()["poses"]}, Cs=[1.0], progress=progress)
    search.fit(data, data.labels, groups=data.subjects)
    assert seen == ["kernels", "candidates", "kernels", "features", "inner products", "machines"]


def test_with_parameters_leaves_the_cue_alone():
    original = cues()["poses"]
    changed = with_parameters(original, {"kernel__mirror": True, "kernel__absent": 3})
    assert changed.kernel.mirror
    assert not original.kernel.mirror


def test_candidates_are_told_as_they_are_tried():
    events = []

    class Grams(list):
        def __getitem__(self, fold):
            events.append("tried")
            return super().__getitem__(fold)

    def shown(iterable, *, total=None, desc=""):
        for item in iterable:
            events.append((desc, total))
            yield item

    K = np.eye(4)
    folds = [(np.array([0, 1]), np.array([2, 3]))]
    grams = Grams([(K[:2, :2], K[2:, :2])])
    trials = LocalTrials(None, np.array([0, 1, 0, 1]), folds, shown)
    trials.scores([[(grams, 1.0)], [(grams, 1.0)]], [1.0], [0.0])
    assert [events[0], *events[1:3], events[3]] == [
        ("candidates", 2),
        "tried",
        "tried",
        ("candidates", 2),
    ]
