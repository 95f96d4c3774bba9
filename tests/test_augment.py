"""Training on mirrored and turned copies."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline

from kerneton import SCK, KernelSearch, LinearSVM, Preprocess, TrainOnCopies, make_actions
from kerneton.augment import copies
from kerneton.exceptions import DataError, ParameterError
from kerneton.poses import mirror, turn


@pytest.fixture(scope="module")
def data():
    return make_actions(["wave", "clap", "kick"], n_subjects=3, n_takes=2)


class Witness(ClassifierMixin, BaseEstimator):
    """Remembers what it was trained on."""

    def fit(self, X, y, groups=None):
        self.seen_ = list(X), np.asarray(y), groups
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.repeat(self.classes_[:1], len(X))


def small():
    return Pipeline(
        [("preprocess", Preprocess()), ("kernel", SCK(order=2, joints="A")), ("svm", LinearSVM(C=10))]
    )


def test_copies_keep_label_and_subject(data):
    model = TrainOnCopies(Witness(), mirror=True, angles=(-40, 25)).fit(
        data, data.labels, groups=data.subjects
    )
    X, y, groups = model.estimator_.seen_
    assert len(X) == 6 * len(data)
    assert y.tolist() == np.repeat(data.labels, 6).tolist()
    assert groups.tolist() == np.repeat(data.subjects, 6).tolist()
    assert [s.label for s in X] == y.tolist()
    assert [s.subject for s in X] == groups.tolist()
    first = data[0]
    assert_allclose(X[0].joints, first.joints)
    assert_allclose(X[1].joints, mirror(first).joints)
    assert_allclose(X[2].joints, turn(first.joints, np.deg2rad(-40)))
    assert_allclose(X[3].joints, turn(mirror(first).joints, np.deg2rad(-40)))
    assert_allclose(X[4].joints, turn(first.joints, np.deg2rad(25)))


@pytest.mark.parametrize(("mirrored", "angles", "n"), [(False, (), 1), (True, (), 2), (False, (90,), 2)])
def test_number_of_copies(data, mirrored, angles, n):
    assert len(copies(data[0], mirrored=mirrored, angles=angles)) == n


def test_without_copies_nothing_changes(data):
    plain = small().fit(data, data.labels)
    model = TrainOnCopies(small()).fit(data, data.labels)
    assert_allclose(model.decision_function(data), plain.decision_function(data))
    assert model.classes_.tolist() == plain.classes_.tolist()
    assert model.predict(data).tolist() == plain.predict(data).tolist()


def test_turned_copies_help_with_turned_recordings(data):
    turned = [s.replace(joints=turn(s.joints, np.deg2rad(90))) for s in data]
    plain = small().fit(data, data.labels)
    model = TrainOnCopies(small(), angles=(90,)).fit(data, data.labels)

    def own_score(recognizer):
        rows = np.arange(len(data)), np.searchsorted(recognizer.classes_, data.labels)
        return recognizer.decision_function(turned)[rows].mean()

    assert own_score(model) > own_score(plain) + 0.1
    assert model.score(turned, data.labels) == 1


def test_mirrored_copies_and_the_mirrored_kernel_agree_on_mirror_images(data):
    """Scores of a recording and of its mirror image: equal with the kernel, close after training on copies."""
    images = [mirror(s) for s in data]
    model = TrainOnCopies(small(), mirror=True).fit(data, data.labels)
    assert model.predict(images).tolist() == model.predict(data).tolist()


def test_a_search_holds_copies_out_with_their_recording(data):
    search = KernelSearch({"poses": Pipeline(small().steps[:2])}, Cs=[10.0])
    model = TrainOnCopies(search, mirror=True).fit(data, data.labels, groups=data.subjects)
    assert model.predict(data[:2]).shape == (2,)
    assert len(model.estimator_.trials_) == 1


def test_subjects_go_only_to_recognisers_that_take_them(data):
    model = TrainOnCopies(DummyClassifier(), angles=(10,)).fit(data, data.labels, groups=data.subjects)
    assert not hasattr(model, "decision_function")
    assert model.predict(data[:1]).shape == (1,)


def test_bad_input(data):
    with pytest.raises(NotFittedError):
        TrainOnCopies(small()).predict(data)
    with pytest.raises(DataError, match="18 recordings but 2 labels"):
        TrainOnCopies(small()).fit(data, ["a", "b"])
    with pytest.raises(DataError, match="18 recordings but 1 subjects"):
        TrainOnCopies(small()).fit(data, data.labels, groups=["a"])
    with pytest.raises(ParameterError, match="angle"):
        TrainOnCopies(small(), angles=(720,)).fit(data, data.labels)
    with pytest.raises(ParameterError, match="mirror"):
        TrainOnCopies(small(), mirror="yes").fit(data, data.labels)
    with pytest.raises(ParameterError, match="needs a layout with left and right"):
        TrainOnCopies(small(), mirror=True).fit([s.replace(layout=None) for s in data], data.labels)


def test_parameters_reach_the_recogniser():
    model = clone(TrainOnCopies(small(), angles=(5,)).set_params(estimator__kernel__power=0.5))
    assert model.estimator["kernel"].power == 0.5
    assert model.angles == (5,)
