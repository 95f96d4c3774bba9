"""Recordings of any length, number of joints and size, with gaps, standing still, doubled or
reversed, through the estimators.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kerneton import DCK, SCK, CenterNormalize, LinearSVM, Preprocess
from kerneton.data.checks import LARGEST_COORDINATE
from kerneton.exceptions import DataError

SMALL = {"n_pivots_joint": 3, "n_pivots_time": 3}
KERNELS = {
    "sck order 1": SCK(order=1, **SMALL),
    "sck order 2": SCK(order=2, signals=("position", "velocity"), joint_weight=0.4, **SMALL),
    "sck order 3": SCK(order=3, **SMALL),
    "sck hosvd": SCK(epn="hosvd", entry_power=0.8, **SMALL),
    "dck": DCK(joints=[0], **SMALL),
    "dck window": DCK(joints=[0], sigma_span=3.0, power=0.3, **SMALL),
}
MOST = 20_000  # joints times frames: the suite is run by people


@st.composite
def motions(draw):
    """One recording (T, J, 3): a walk of some size around some place, that may stand still."""
    n_frames = draw(st.sampled_from([1, 2, 3, 7, 8, 9, 40, 500, 5000]))
    n_joints = draw(st.sampled_from([j for j in (1, 2, 3, 15, 25, 200) if j * n_frames <= MOST]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["walk", "noise", "constant", "one joint moves"]))
    x = rng.normal(size=(n_frames, n_joints, 3))
    if kind == "walk":
        x = np.cumsum(x, 0) / np.sqrt(n_frames)
    elif kind == "constant":
        x[:] = x[:1]
    elif kind == "one joint moves":
        x[:, 1:] = x[:1, 1:]
    size = 10.0 ** draw(st.integers(-12, 6))
    return (x * size + draw(st.sampled_from([0.0, 1.0, 100.0])) * size).astype(
        draw(st.sampled_from(["f4", "f8"]))
    )


@st.composite
def gaps(draw, n_frames, n_joints):
    """Which joints of which frames are missing: a block, with something left."""
    first, count = draw(st.integers(0, n_frames - 1)), draw(st.integers(1, n_frames))
    missing = np.zeros((n_frames, n_joints), dtype=bool)
    missing[first : first + count, : draw(st.integers(1, n_joints))] = True
    return missing


quick = settings(max_examples=12, derandomize=True, deadline=None, database=None)


@pytest.mark.parametrize("name", KERNELS)
@quick
@given(x=motions())
@example(x=np.zeros((1, 1, 3)))
@example(x=np.full((5000, 2, 3), 1e-12))
@example(x=np.random.default_rng(0).normal(size=(4, 200, 3)) * 1e8)
def test_features_are_finite_and_do_not_depend_on_company(name, x):
    kernel = KERNELS[name]
    company = [x, x[::-1].copy(), x.copy(), x[: max(1, len(x) // 3)]]
    try:
        features = kernel.fit(company).transform(company)
    except DataError as error:
        assert name.startswith("dck")
        assert "are the coordinates in millimetres?" in str(error)  # noqa: PT017 (an error is allowed, not expected)
        return
    assert features.dtype == x.dtype
    assert np.isfinite(features).all()
    np.testing.assert_array_equal(features[0], features[2])
    # Alone, in another order, in other batches: the same to the bit.
    np.testing.assert_array_equal(kernel.transform([x])[0], features[0])
    np.testing.assert_array_equal(kernel.transform(company[::-1])[::-1], features)


@pytest.mark.filterwarnings("ignore:.*taken for padding:kerneton.exceptions.KernetonWarning")
@quick
@given(x=motions(), data=st.data())
def test_gaps_are_filled_or_told(x, data):
    missing = data.draw(gaps(*x.shape[:2]))
    holed = x.copy()
    holed[missing] = np.nan
    try:
        (filled,) = Preprocess(center=False, bones=None).fit_transform([holed])
    except DataError as error:
        said = str(error)
        assert re.search("recordings cannot be used|contains no pose|never contains", said)
        return
    assert np.isfinite(filled.joints).all()
    (again,) = Preprocess(center=False, bones=None).fit_transform([holed])
    np.testing.assert_array_equal(again.joints, filled.joints)
    for kernel in (KERNELS["sck order 2"], KERNELS["dck"]):
        if np.abs(filled.joints).max() <= 1e3 and filled.joints.any(axis=(1, 2)).all():
            assert np.isfinite(kernel.fit_transform([filled])).all()


@quick
@given(x=motions(), n=st.integers(2, 5))
def test_doubled_and_constant_recordings_can_be_learnt(x, n):
    """Equal recordings with different labels: an answer, none that depends on chance."""
    X = [x] * n + [x[::-1].copy()] * n
    y = [i % 2 for i in range(2 * n)]
    features = CenterNormalize().fit_transform(KERNELS["sck order 2"].fit_transform(X))
    scores = LinearSVM().fit(features, y).decision_function(features)
    assert np.isfinite(scores).all()
    np.testing.assert_array_equal(scores, LinearSVM().fit(features, y).decision_function(features))


@pytest.mark.parametrize("size", [1e9, 1e10, 1e12])
@pytest.mark.parametrize("kernel", [SCK(), DCK(), Preprocess()])
def test_coordinates_without_number_are_refused(kernel, size):
    x = np.ones((4, 3, 3)) * size
    if size > LARGEST_COORDINATE:
        with pytest.raises(DataError, match="which cannot be a coordinate"):
            kernel.fit([x])
    elif not isinstance(kernel, Preprocess):
        assert np.isfinite(kernel.fit([x]).transform([x])).all()
