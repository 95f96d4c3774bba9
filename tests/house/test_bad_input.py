"""Every kind of bad input, as a user meets it: one clear error that names what is wrong, or the
documented treatment.
"""

from __future__ import annotations

import logging
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.pipeline import Pipeline
from walks import people, walk, walks

from kerneton import (
    DCK,
    SCK,
    Branch,
    CenterNormalize,
    LinearSVM,
    Preprocess,
    Recognizer,
    Search,
    SkeletonSequence,
    dck_kernel,
    make_recognizer,
    sck_kernel,
)
from kerneton.data.layouts import FLORENCE_15, KINECT_20, MSR_20
from kerneton.exceptions import DataError, KernetonError, ParameterError

LABELS = list("aabb")
CUE = Branch(Preprocess(), SCK(order=1), CenterNormalize())


def searching(**options):
    return Recognizer([("one", CUE)], search=Search(**options))


def recogniser(**options):
    return Pipeline(
        [
            ("preprocess", Preprocess()),
            ("sck", SCK(order=1, **options)),
            ("scale", CenterNormalize()),
            ("svm", LinearSVM()),
        ]
    )


def four(change=None):
    """Four people, the third one changed."""
    X = people((6, 8, 7, 9))
    if change is not None:
        x = X[2].joints.copy()
        change(x)
        X[2] = X[2].replace(joints=x, name="take 3")
    return X


def put(where, value):
    def change(x):
        x[where] = value

    return change


# Coordinates


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_coordinates_are_refused_everywhere(value):
    X = four(put((4, 5, 1), value))
    for call in (
        lambda: recogniser().fit(X, LABELS),
        lambda: Preprocess().fit(X),
        lambda: SCK().fit(X),
        lambda: DCK().fit(X),
        lambda: sck_kernel(X),
        lambda: dck_kernel(X),
        lambda: recogniser().fit(four(), LABELS).predict(X),
    ):
        with pytest.raises(
            DataError, match="recording 'take 3' is infinite at frame 4, left_wrist"
        ):
            call()


def test_nan_is_filled_by_preprocessing_and_refused_after_it():
    X = four(put((4, 5), np.nan))
    assert len(recogniser().fit(X, LABELS).predict(X)) == 4
    for step in (SCK(), DCK()):
        with pytest.raises(
            DataError, match=r"'take 3' is NaN at frame 4, left_wrist .*Preprocess before"
        ):
            step.fit(X)
        with pytest.raises(DataError, match="is NaN"):
            step.fit(four()).transform(X)


def test_a_frame_of_zeros_is_filled_by_preprocessing_and_refused_after_it():
    X = four(put(4, 0.0))
    (clean,) = Preprocess(center=False, bones=None).fit_transform(X[2:3])
    assert_allclose(clean.joints[4], (X[2].joints[3] + X[2].joints[5]) / 2)
    assert len(recogniser().fit(X, LABELS).predict(X)) == 4
    for step in (SCK(), DCK()):
        with pytest.raises(DataError, match="'take 3' has no pose at frame 4: every joint is zero"):
            step.fit(X)


def test_nothing_but_zeros():
    with pytest.raises(
        DataError, match="recording 'take 3' contains no pose: all 7 frames are missing or zero"
    ):
        recogniser().fit(four(put(slice(None), 0.0)), LABELS)


def test_absurd_coordinates():
    with pytest.raises(
        DataError, match=r"'take 3' is 1e\+30 at frame 0, head, which cannot be a coordinate"
    ):
        recogniser().fit(four(put((0, 0, 0), 1e30)), LABELS)


@pytest.mark.parametrize("size", [1e-30, 1e-8, 1e3, 1e8])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sizes_far_from_a_body_give_finite_features(size, dtype):
    X = [SkeletonSequence((s.joints * size).astype(dtype), layout=FLORENCE_15) for s in four()]
    for kernel in (SCK(), SCK(signals="velocity"), SCK(epn="hosvd"), DCK(joints="A")):
        if isinstance(kernel, DCK) and size > 1:
            with pytest.raises(DataError, match="are the coordinates in millimetres"):
                kernel.fit_transform(X)
            continue
        features = kernel.fit_transform(X)
        assert features.dtype == dtype
        assert np.isfinite(features).all()


# Shapes


def test_empty_sequences_and_empty_lists():
    with pytest.raises(DataError, match="it has 0 frames and 15 joints; needs one of each"):
        SkeletonSequence(np.empty((0, 15, 3)))
    with pytest.raises(DataError, match=r"1 of 2 recordings cannot be used: #1: .*0 frames"):
        SCK().fit([walk(4), np.empty((0, 15, 3))])
    for model in (recogniser(), searching(), SCK(), DCK()):
        with pytest.raises(KernetonError, match="at least one recording, got none"):
            model.fit([], [])


@pytest.mark.parametrize("shape", [(4, 15), (4, 15, 5), (4,), (5, 4, 15, 3)])
def test_wrong_number_of_coordinates(shape):
    with pytest.raises(DataError, match=r"expected joints of shape \(frames, joints, 3\), got \("):
        SCK().fit([np.ones(shape)])


def test_wrong_number_of_joints():
    with pytest.raises(DataError, match="recording #1 has 14 joints, expected 15"):
        SCK().fit([walk(4), walk(4, 14)])
    with pytest.raises(DataError, match="recording #0 has 14 joints, expected 15"):
        SCK().fit([walk(4)]).transform([walk(4, 14)])
    with pytest.raises(DataError, match="layout 'florence15' has 15 joints, the recording has 20"):
        SkeletonSequence(walk(4, 20), layout=FLORENCE_15)


def test_mixed_layouts():
    kinect = SkeletonSequence(walk(5, 20), layout=KINECT_20)
    msr = SkeletonSequence(walk(6, 20), layout=MSR_20, name="msr 1")
    for step in (Preprocess(), SCK(), DCK()):
        with pytest.raises(DataError, match="'msr 1' has the same 20 joints in another order"):
            step.fit([kinect, msr])
        with pytest.raises(DataError, match="'msr 1' has the same 20 joints in another order"):
            step.fit([kinect]).transform([msr])


def test_one_frame():
    """SCK sees a pose; DCK sees no pair of frames and answers zero."""
    X = people((1, 1, 1, 1))
    assert np.isfinite(recogniser().fit(X, LABELS).decision_function(X)).all()
    features = DCK(joints="A").fit_transform(X)
    assert_allclose(features, 0, atol=0)
    model = make_recognizer(kernel="dck").set_params(dck__kernel__joints="A").fit(X, LABELS)
    assert np.isfinite(model.decision_function(X)).all()


def test_one_joint():
    X = walks((5, 7, 6, 8), 1)
    assert SCK().fit_transform(X).shape == (4, 1771)
    assert DCK().fit_transform(X).shape == (4, 225)
    with pytest.raises(ParameterError, match="DCK needs at least two joints, or same_joint=True"):
        DCK(same_joint=False).fit(X)
    with pytest.raises(ParameterError, match="pairs=True needs at least two joints"):
        SCK(pairs=True).fit(X)


def test_unknown_joints():
    X = four()
    for step in (
        SCK(joints=["left_wing"]),
        DCK(joints=["left_wing"]),
        Preprocess(center="left_wing"),
    ):
        with pytest.raises(
            ParameterError, match="layout 'florence15' has no joint 'left_wing'; it has head, neck"
        ):
            step.fit(X).transform(X)
    with pytest.raises(
        ParameterError, match=r"no joint or joint set 'wings'; sets: A, B, .*; joints: head"
    ):
        DCK(joints="wings").fit(X)


# Parameters


@pytest.mark.parametrize("kernel", [SCK, DCK])
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("sigma_joint", -0.6, r"sigma_joint must be a positive number, got -0\.6"),
        ("sigma_time", -0.5, r"sigma_time must be a positive number, got -0\.5"),
        ("power", 0.0, r"power must be a number in \(0, 1\], got 0\.0"),
        ("power", 1.5, r"power must be a number in \(0, 1\], got 1\.5"),
        ("power", -0.36, r"power must be a number in \(0, 1\]"),
        ("power", np.nan, r"power must be a number in \(0, 1\]"),
        ("entry_power", 0, r"entry_power must be a number in \(0, 1\]"),
        ("n_pivots_joint", 0, "n_pivots_joint must be a positive whole number, got 0"),
        ("n_pivots_time", 0, "n_pivots_time must be a positive whole number, got 0"),
        ("n_pivots_time", -3, "n_pivots_time must be a positive whole number, got -3"),
        ("batch_size", 0, "batch_size must be a positive whole number, got 0"),
    ],
)
def test_parameters_out_of_range(kernel, name, value, message):
    with pytest.raises(ParameterError, match=message):
        kernel(**{name: value}).fit_transform(four())


def test_the_error_is_a_value_error_too():
    with pytest.raises(ValueError, match="power"):
        SCK(power=2).fit(four())
    with pytest.raises(ValueError, match="joints"):
        SCK().fit([walk(3), walk(3, 4)])


# Labels


def test_a_class_with_one_example():
    X = four()
    model = recogniser().fit(X, list("aaab"))
    assert set(model.predict(X)) <= {"a", "b"}
    weighted = recogniser(weighting="alignment").fit(X, list("aaab"))
    assert np.isfinite(weighted.decision_function(X)).all()


def test_one_class_or_too_few_labels():
    with pytest.raises(DataError, match="needs at least two classes, got one class"):
        recogniser().fit(four(), list("aaaa"))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        recogniser().fit(four(), list("aab"))


# The fast core


def test_a_tolerance_that_single_precision_cannot_meet():
    X = [x.astype(np.float32) for x in walks((5, 6), 3)]
    with pytest.raises(
        ParameterError, match=r"tol=1e-08 cannot be met in float32; .*float64 recordings"
    ):
        DCK(tol=1e-8).fit_transform(X)
    assert DCK(tol=1e-8).fit_transform([x.astype(float) for x in X]).dtype == np.float64


def test_coordinates_in_millimetres():
    X = [s.replace(joints=s.joints * 1000) for s in four()]
    with pytest.raises(
        DataError, match=r"would need \d+ harmonics \(at most 256\): are the coordinates in mill"
    ):
        DCK().fit_transform(X)
    with pytest.raises(DataError, match="DCK expects metres"):
        DCK().fit(four()).transform([*four(), X[0]])


def test_sck_tells_when_it_sees_nothing(caplog):
    with caplog.at_level(logging.WARNING, logger="kerneton"):
        SCK(order=1).fit(four())
        SCK(order=1).fit([s.replace(joints=s.joints + [0.5, 0.8, 3.0]) for s in four()])
        assert not caplog.messages
        SCK(order=1).fit([s.replace(joints=s.joints * 1000) for s in four()])
    assert len(caplog.messages) == 1
    assert "% of the coordinates are more than 2.2 from the origin" in caplog.messages[0]
    assert "millimetres" in caplog.messages[0]


def test_nothing_is_warned_about():
    """Degenerate recordings take documented ways; none of them divides by zero on the quiet."""
    odd = [
        people((1, 1)),
        [s.replace(joints=np.repeat(s.joints[:1], 9, axis=0)) for s in people((1, 1))],
        [SkeletonSequence(np.ones((6, 15, 3)), layout=FLORENCE_15)] * 2,
        people((2, 300)),
    ]
    signals = ("position", "velocity", "acceleration", "bone")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for X in odd:
            for kernel in (
                SCK(signals=signals, joint_weight=0.2, n_pivots_joint=2, mirror=True),
                SCK(epn="hosvd", entry_power=0.5, n_pivots_joint=2),
                DCK(joints="A", sigma_span=2.0, entry_power=0.5, mirror=True),
                DCK(joints="A", sigma_span=1e-3, signals="velocity"),
            ):
                assert np.isfinite(kernel.fit_transform(X)).all()


def test_one_subject_is_told(caplog):
    with caplog.at_level(logging.WARNING, logger="kerneton"):
        searching(Cs=[1.0]).fit(four(), LABELS, groups=["ann"] * 4)
    assert caplog.messages == ["one subject: folds hold out recordings, not people"]
