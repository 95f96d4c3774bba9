"""Parameters and inputs far outside of what anybody means: one clear error before any work, or a
finite answer.
"""

from __future__ import annotations

import numpy as np
import pytest
from walks import walks

from kerneton import (
    DCK,
    SCK,
    Branch,
    LinearSVM,
    Preprocess,
    Recognizer,
    SkeletonSequence,
    dck_kernel,
    sck_kernel,
)
from kerneton.exceptions import DataError, ParameterError

X = walks((9, 12, 7, 8), 5)
F = np.random.default_rng(0).normal(size=(4, 6))
LABELS = list("aabb")


@pytest.mark.parametrize(
    "sigma", [1e-300, 1e-10, 1e10, 1e300, np.inf, np.nan, 0, -1, "wide", True, None]
)
@pytest.mark.parametrize("kernel", [SCK, DCK, sck_kernel, dck_kernel])
@pytest.mark.parametrize("name", ["sigma_joint", "sigma_time"])
def test_widths_without_a_square(kernel, name, sigma):
    with pytest.raises(ParameterError, match=f"{name} must be a .*number.*, got"):
        kernel(**{name: sigma}).fit(X) if isinstance(kernel, type) else kernel(X, **{name: sigma})


@pytest.mark.parametrize("sigma", [1e-300, 1e300, 0])
def test_windows_without_a_square(sigma):
    for call in (lambda: DCK(sigma_span=sigma).fit(X), lambda: dck_kernel(X, sigma_span=sigma)):
        with pytest.raises(ParameterError, match=r"sigma_span must be a .*number"):
            call()
    if sigma:
        with pytest.raises(ParameterError, match="sigma_index must be a number in"):
            sck_kernel(X, sigma_index=sigma)


@pytest.mark.parametrize("sigma", [1e-9, 1e9])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_narrowest_and_widest_kernels_give_finite_features(sigma, dtype):
    recordings = [x.astype(dtype) for x in X]
    for kernel in (
        SCK(sigma_joint=sigma, sigma_time=sigma),
        SCK(sigma_joint=sigma, order=2, pivot_margin=2),
        DCK(sigma_joint=max(sigma, 0.1), sigma_time=sigma),
        DCK(sigma_joint=max(sigma, 0.1), sigma_span=3.0),
        DCK(sigma_span=sigma),
    ):
        assert np.isfinite(kernel.fit_transform(recordings)).all()


@pytest.mark.parametrize("name", ["n_pivots_joint", "n_pivots_time"])
@pytest.mark.parametrize("kernel", [SCK(), SCK(order=2), SCK(pairs=True, mirror=False), DCK()])
@pytest.mark.parametrize("count", [1_000_000, 10**18])
def test_pivots_without_number(kernel, name, count):
    with pytest.raises(
        ParameterError, match=rf"{name}={count}.* features per recording, at most 2e\+07"
    ):
        type(kernel)(**{**kernel.get_params(), name: count}).fit(X)


@pytest.mark.parametrize("factor", [-1, np.nan, np.inf, "x", None, True])
def test_class_weights(factor):
    with pytest.raises(
        ParameterError, match=r"class_weight of 'a' must be a number in \[0, 1e\+100\], got"
    ):
        LinearSVM(class_weight={"a": factor}).fit(F, LABELS)


def test_features_and_labels_that_are_none():
    with pytest.raises(DataError, match="requires y to be passed, but the target y is None"):
        LinearSVM().fit(F, None)
    with pytest.raises(DataError, match=r"expected features of shape \(n, d\), got a generator"):
        LinearSVM().fit((row for row in F), LABELS)
    fitted = LinearSVM().fit(F, LABELS)
    with pytest.raises(DataError, match="got a generator; make an array of it"):
        fitted.predict(row for row in F)
    for wrong, said in (
        (F[0], "Reshape"),
        (F * np.nan, "NaN"),
        (F[:, :3], "3 features"),
        (F * 1j, "Complex"),
    ):
        with pytest.raises(DataError, match=said):
            fitted.predict(wrong)


@pytest.mark.parametrize("branch", [None, Branch(Preprocess(), None), "sck"])
def test_branches_without_a_kernel(branch):
    with pytest.raises(ParameterError, match="no kernel in sck"):
        Recognizer([("sck", branch)]).fit(X, LABELS)


PLAIN = Branch(None, SCK())


@pytest.mark.parametrize("branches", [None, [], "abc", 3, [("a",)], [(1, PLAIN)], {"a": PLAIN}])
def test_branches_that_are_no_pairs(branches):
    with pytest.raises(
        ParameterError, match=r"at least one branch: expected a list of pairs .*, got"
    ):
        Recognizer(branches).fit(X, LABELS)


@pytest.mark.parametrize(
    ("branches", "said"),
    [
        ([("a", PLAIN), ("a", PLAIN)], "not unique"),
        ([("a__b", PLAIN)], "must not contain __"),
        ([("a", Branch(None, SCK))], "no kernel in a"),
    ],
)
def test_branches_with_broken_names_or_kernels(branches, said):
    with pytest.raises(ParameterError, match=said):
        Recognizer(branches).fit(X, LABELS)


@pytest.mark.parametrize("fps", [0, -1, np.nan, np.inf, "fast", 1j, [30]])
def test_frame_rates_that_are_none(fps):
    with pytest.raises(
        DataError, match="sequence 'wave': expected a positive number of frames per second, got"
    ):
        SkeletonSequence(np.ones((2, 3, 3)), name="wave", fps=fps)


def test_labels_of_different_lengths():
    with pytest.raises(DataError, match="labels must be text or whole numbers"):
        Recognizer([("a", PLAIN)]).fit(X, [(), (), (1,), (1,)])


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ([10**5000, 10**5000, 1, 2], "label"),
        (
            ["a", 1, None, 2],
            "labels must be of one kind to be sorted, got NoneType and int and str",
        ),
        ([0.1, 0.2, 0.3, 0.4], "continuous"),
        (["a", "b"], "inconsistent numbers"),
        ([["a", "b"]] * 4, "1d array"),
    ],
)
def test_labels_that_are_none(labels, said):
    with pytest.raises(DataError, match=said):
        LinearSVM().fit(F, labels)


def test_kernels_take_generators():
    for kernel in (SCK(), DCK()):
        expected = kernel.fit(X).transform(X)
        np.testing.assert_array_equal(kernel.fit(x for x in X).transform(x for x in X), expected)


@pytest.mark.parametrize("n_jobs", ["x", 1.5, True])
def test_threads_that_cannot_be_counted(n_jobs):
    with pytest.raises(ParameterError, match="n_jobs must be None or a whole number, got"):
        SCK(n_jobs=n_jobs).fit_transform(X)
