"""Exact kernels as features: their products are kernel values, a recogniser on them is the kernel
machine.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from walks import walks

from kerneton import evaluate, load, make_actions, make_recognizer
from kerneton.data.sequence import SkeletonDataset
from kerneton.exceptions import DataError, ModelFileError, ParameterError
from kerneton.kernels import exact_features
from kerneton.kernels.exact import dck_kernel, sck_kernel
from kerneton.kernels.exact_features import ExactDCK, ExactSCK
from kerneton.machine.folds import held_out_scores
from kerneton.machine.scaling import center_normalize_gram


@pytest.fixture(scope="module")
def data():
    whole = make_actions(["wave", "bow"], n_subjects=4, n_takes=1, dropout=0.0)
    return SkeletonDataset([s.replace(joints=s.joints[::4], confidence=None) for s in whole])


CASES = [
    (
        ExactSCK(order=2, joint_weight=0.3),
        lambda X, Y: sck_kernel(X, Y, order=2, joint_weight=0.3),
        1e-9,
    ),
    (ExactSCK(), sck_kernel, 1e-9),
    (ExactDCK(), lambda X, Y: dck_kernel(X, Y, same_joint=True), 1e-4),
    (
        ExactDCK(same_joint=False, sigma_joint=0.3, sigma_time=0.25, sigma_span=2.0),
        lambda X, Y: dck_kernel(X, Y, sigma_joint=0.3, sigma_time=0.25, sigma_span=2.0),
        1e-4,
    ),
]


@pytest.mark.parametrize(("kernel", "reference", "tol"), CASES)
def test_products_with_training_recordings_are_kernel_values(kernel, reference, tol):
    X = walks((4, 5, 6, 7, 5), n_joints=3)
    training = kernel.fit_transform(X[:3])
    features = kernel.transform(X)
    assert_allclose(features[:3], training, atol=1e-5 * abs(training).max())
    K = reference(X, X)
    assert_allclose(features @ training.T, K[:, :3], rtol=tol)
    assert_allclose(
        np.square(features).sum(axis=1), np.diag(K), rtol=tol
    )  # lengths too, which centring needs


def test_a_recogniser_on_them_is_the_machine_on_the_gram_matrix(data):
    train, test = np.arange(4), np.arange(4, 8)
    model = make_recognizer("exact", kernel="sck").fit([data[i] for i in train], data.labels[train])
    poses = model.branches_["sck"].preprocess_.transform(data)
    K = sck_kernel(poses, joint_weight=0.3)
    codes = np.unique(data.labels, return_inverse=True)[1]
    inside, across = center_normalize_gram(K, train, test)
    scores = held_out_scores(inside, across, codes[train], 2, [model.machine_.C], tol=1e-8)[0]
    found = model.decision_function([data[i] for i in test])
    assert_allclose(found, scores[:, 1], atol=1e-3)


def test_fit_predict_evaluate_and_save(data, tmp_path):
    model = make_recognizer("exact").fit(data, data.labels)
    answers = model.decision_function(data)
    model.save(tmp_path / "model.kern")
    assert_allclose(load(tmp_path / "model.kern").decision_function(data), answers, atol=1e-6)
    assert (
        evaluate(make_recognizer("exact", kernel="sck"), data, "leave-one-subject-out").accuracy
        > 0.8
    )


def test_too_many_are_refused_before_the_work(data, monkeypatch):
    monkeypatch.setattr(exact_features, "MOST_RECORDINGS", 7)
    with pytest.raises(
        DataError, match=r"8 recordings with \d+ frames of 20 joints are too many .* at most 7"
    ):
        make_recognizer("exact", kernel="sck").fit(data, data.labels)
    monkeypatch.undo()
    long = [np.ones((60_000, 15, 3))]
    with pytest.raises(DataError, match=r"joints times frames² up to 4e\+10; SCK and DCK"):
        ExactSCK().fit(long)


def test_millimetres_are_refused():
    with pytest.raises(DataError, match="millimetres"):
        ExactDCK().fit([1000 * x for x in walks((5, 6), n_joints=3)])


def test_parameters_are_checked():
    X = walks((5, 6), n_joints=3)
    with pytest.raises(ParameterError, match="sigma_joint"):
        ExactSCK(sigma_joint=0).fit(X)
    with pytest.raises(ParameterError, match="sigma_span"):
        ExactDCK(sigma_span=-1.0).fit(X)
    with pytest.raises(ParameterError, match="two joints"):
        ExactDCK(joints=[0], same_joint=False).fit(X)
    with pytest.raises(ParameterError, match="preset='paper' or preset='exact'"):
        make_recognizer("auto", kernel="sck")


@pytest.mark.parametrize(
    "change", [{"lengths": [3, 4]}, {"basis": np.ones((3, 2))}, {"frames": np.ones((9, 2, 3))}]
)
def test_a_state_that_does_not_fit_is_refused(change):
    kernel = ExactSCK().fit(walks((5, 6)))
    state = {**kernel.get_state(), **change}
    with pytest.raises(ModelFileError, match="are inconsistent"):
        ExactSCK().set_state(state)
