from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference.dck import reference_features
from walks import people, walk, walks

from kerneton import DCK
from kerneton.exceptions import DataError, OutdatedWarning, ParameterError
from kerneton.kernels.signals import SIGNALS
from kerneton.prepare.poses import mirror

SHORT = (9, 14, 6)
SMALL = {"n_pivots_joint": 3, "n_pivots_time": 3}


def by_hand(x, *, margin=0.0, **options):
    """Features of one recording (T, J, 3) with 3 pivots of either kind, in feature order."""
    return reference_features(x, pivot_margin=margin, **options, **SMALL)


def all_by_hand(X, **options):
    return np.stack([reference_features(x, **options) for x in X])


@pytest.mark.parametrize(
    ("n_joints", "parameters", "size"),
    [
        (6, {}, 9_450),
        (8, {}, 16_920),
        (8, {"same_joint": False}, 15 * 36 * 28),
        (1, {}, 225),
        (3, {"n_pivots_joint": 4, "n_pivots_time": 2}, 12 * math.comb(6, 2)),
    ],
)
def test_sizes(n_joints, parameters, size):
    kernel = DCK(**parameters)
    assert kernel.fit_transform(walks((5, 8), n_joints)).shape == (2, size)
    assert kernel.block_sizes_.sum() == size
    assert len(kernel.pairs_) == len(kernel.block_sizes_)


@pytest.mark.parametrize(
    ("joints", "size"), [("D", 9_450), ("D_words", 9_450), ("E", 16_920), ("A", 990)]
)
def test_named_sets(joints, size):
    assert DCK(joints=joints).fit(people((4,))).block_sizes_.sum() == size


@pytest.mark.parametrize("sigma_span", [None, 2.0])
@pytest.mark.parametrize("same_joint", [True, False])
@pytest.mark.parametrize(("power", "entry_power"), [(1.0, 1.0), (0.85, 1.0), (0.7, 0.6)])
@pytest.mark.parametrize("margin", [0.0, 1.5])
def test_plain_formula(sigma_span, same_joint, power, entry_power, margin):
    X = walks(SHORT, 3)
    options = {
        "sigma_span": sigma_span,
        "same_joint": same_joint,
        "power": power,
        "entry_power": entry_power,
    }
    kernel = DCK(tol=1e-10, pivot_margin=margin, **options, **SMALL)
    expected = np.stack([by_hand(x, margin=margin, **options) for x in X])
    # Before γ*, which enlarges rounding near zero without bound; γ = 0.7 makes 1e-10 of ten
    # rounding errors.
    got, expected = (
        np.sign(f) * np.abs(f) ** (1 / entry_power) for f in (kernel.fit_transform(X), expected)
    )
    assert_allclose(got, expected, rtol=0, atol=1e-9 * expected.max())


@pytest.mark.parametrize("n_frames", [1, 2, 50, 200])
@pytest.mark.parametrize("sigma_span", [None, 3.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_features_are_those_of_the_formula(n_frames, sigma_span, dtype):
    X = [walk(n_frames, 3, dtype=dtype), walk(n_frames, 3, seed=1, dtype=dtype)]
    harmonics = DCK(sigma_span=sigma_span, **SMALL).fit_transform(X)
    direct = all_by_hand(X, sigma_span=sigma_span, **SMALL)
    assert harmonics.dtype == dtype
    norm = np.linalg.norm(direct)
    assert np.linalg.norm(harmonics.astype(float) - direct) <= 3e-5 * norm
    assert (norm == 0) == (n_frames == 1)


def test_tolerance_is_met():
    X = walks(SHORT, 3)
    direct = all_by_hand(X, power=1.0)
    errors = []
    for tol in (1e-2, 1e-5, 1e-8, 1e-11):
        harmonics = DCK(tol=tol, power=1.0).fit_transform(X)
        errors.append(np.linalg.norm(harmonics - direct) / np.linalg.norm(direct))
        assert errors[-1] <= tol
    assert errors[0] > 100 * errors[1] > 10_000 * errors[2]


def test_on_real_recordings(data_home):
    from kerneton.datasets import load_florence3d

    X = load_florence3d(data_home)[::24]
    for sigma_span in (None, 3.0):
        options = {"sigma_joint": 0.3, "sigma_time": 0.25, "sigma_span": sigma_span}
        harmonics = DCK(joints="D", **options).fit_transform(X)
        D = X[0].layout.indices("D")
        direct = all_by_hand([s.joints[:, D].astype(float) for s in X], **options)
        error = np.linalg.norm(harmonics - direct, axis=1) / np.linalg.norm(direct, axis=1)
        assert error.max() < 3e-5


@pytest.mark.parametrize("sigma_span", [None, 4.0])
@pytest.mark.parametrize("same_joint", [True, False])
@pytest.mark.parametrize(
    "parameters",
    [
        {"joints": "A"},
        {"joints": ["right_wrist", "head", "left_wrist"]},
        {"joints": ["head", "left_knee", "left_wrist", "right_wrist", "right_knee"], "power": 1.0},
        {"joints": "A", "signals": "velocity", "entry_power": 0.6},
        {"joints": "A", "pivot_margin": 1.0},
    ],
    ids=str,
)
def test_mirror_is_the_average_over_mirror_images(parameters, sigma_span, same_joint):
    X = people((8, 13, 5, 9), fps=25.0)
    options = {
        "sigma_span": sigma_span,
        "same_joint": same_joint,
        "tol": 1e-12,
        **SMALL,
        **parameters,
    }
    plain = DCK(**options).fit(X)
    mean = (plain.transform(X) + plain.transform([mirror(s) for s in X])) / 2
    symmetric = DCK(mirror=True, **options)
    features = symmetric.fit_transform(X)
    assert features.shape[1] == symmetric.block_sizes_.sum()
    assert_allclose(features @ features.T, mean @ mean.T, rtol=1e-6)
    seen = symmetric.transform([mirror(s) for s in X])
    assert_allclose(seen @ features.T, mean @ mean.T, rtol=1e-6)


def test_mirror_needs_both_sides():
    with pytest.raises(
        ParameterError, match="needs both sides: right_wrist is not among the joints"
    ):
        DCK(joints=["head", "left_wrist"], mirror=True).fit(people(SHORT))
    with pytest.raises(ParameterError, match="needs recordings with a layout"):
        DCK(mirror=True).fit(walks(SHORT))


def test_only_displacements_count():
    X = walks(SHORT, 3)
    kernel = DCK(**SMALL).fit(X)
    moved = [x + [5.0, -2.0, 3.0] for x in X]
    assert_allclose(kernel.transform(moved), kernel.transform(X), atol=1e-9)


def test_signal_and_its_scale():
    X = people(SHORT, fps=30.0)
    kernel = DCK(joints="A", signals="velocity", tol=1e-12, **SMALL)
    features = kernel.fit_transform(X)
    moved = [SIGNALS["velocity"](s)[:, [5, 8]] for s in X]
    fast = np.concatenate([np.abs(v).max(axis=(1, 2)) for v in moved])
    assert_allclose(kernel.scale_, 1 / np.quantile(fast, 0.9))
    expected = np.stack([by_hand(v * kernel.scale_) for v in moved])
    assert_allclose(features, expected, atol=1e-9)
    assert DCK(joints="A", signals="bone").fit(X).scale_ == 1


def test_pairs_and_names():
    kernel = DCK(joints=["right_wrist", "head"], **SMALL).fit(people(SHORT))
    assert kernel.joints_ == (8, 0)
    assert kernel.pairs_.tolist() == [[8, 8], [8, 0], [0, 0]]
    assert kernel.block_sizes_.tolist() == [27, 81, 27]
    names = kernel.get_feature_names_out()
    assert (names[0], names[27], names[-1]) == ("dck0_0", "dck1_0", "dck2_26")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("parameters", [{}, {"mirror": True}, {"sigma_span": 2.0}], ids=str)
def test_precision_is_kept(dtype, parameters):
    X = [s.replace(joints=s.joints.astype(dtype)) for s in people((9, 200))]
    features = DCK(joints="A", **parameters).fit_transform(X)
    assert features.dtype == dtype
    assert np.isfinite(features).all()
    wide = DCK(joints="A", **parameters).fit_transform(people((9, 200)))
    assert np.linalg.norm(features - wide) < (
        1e-4 if dtype == np.float32 else 1e-12
    ) * np.linalg.norm(wide)


@pytest.mark.parametrize("sigma_span", [None, 3.0])
def test_one_frame_has_no_pairs(sigma_span):
    kernel = DCK(sigma_span=sigma_span, entry_power=0.5, **SMALL)
    features = kernel.fit_transform(walks((1, 6), 3))
    assert_allclose(features[0], 0, atol=0)
    assert np.abs(features[1]).max() > 0


def test_stillness():
    X = [np.repeat(walk(1, 3), n, axis=0) for n in (2, 40)]
    assert np.isfinite(DCK().fit_transform(X)).all()
    point = [np.ones((5, 3, 3))]  # every joint in one place
    assert_allclose(DCK(tol=1e-10).fit_transform(point), all_by_hand(point), atol=1e-8)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"sigma_joint": -0.5}, "sigma_joint must be a positive number"),
        ({"sigma_time": 0.0}, "sigma_time must be a positive number"),
        ({"sigma_span": -3.0}, "sigma_span must be a positive number"),
        ({"n_pivots_joint": 0}, "n_pivots_joint must be a positive whole number"),
        ({"n_pivots_time": 0}, "n_pivots_time must be a positive whole number"),
        ({"power": 0}, r"power must be a number in \(0, 1\], got 0"),
        ({"entry_power": 2}, r"entry_power must be a number in \(0, 1\], got 2"),
        ({"pivot_margin": float("nan")}, r"pivot_margin must be a number in \[0, 10\]"),
        ({"tol": 0.0}, r"tol must be a number in \(0, 1\), got 0\.0"),
        ({"tol": 10.0}, r"tol must be a number in \(0, 1\), got 10\.0"),
        ({"method": "fft"}, "method must be one of None, 'harmonics', 'direct', got 'fft'"),
        ({"signals": "speed"}, "signals must be one of 'position'"),
        ({"joints": "Z"}, "no joint or joint set 'Z'"),
        ({"joints": [0], "same_joint": False}, "needs at least two joints, or same_joint=True"),
    ],
)
def test_parameters_are_checked_in_fit(parameters, message):
    kernel = DCK(**parameters)
    with pytest.raises(ParameterError, match=message):
        kernel.fit(people((3,)))


def test_tolerance_beyond_the_precision():
    single = walks(SHORT, 3, dtype=np.float32)
    kernel = DCK(tol=1e-7, **SMALL).fit(single)
    with pytest.raises(
        ParameterError, match=r"tol=1e-07 cannot be met in float32; ask for 4e-06 or more, or"
    ):
        kernel.transform(single)
    assert kernel.transform([x.astype(float) for x in single]).dtype == np.float64
    with pytest.raises(ParameterError, match="cannot be met in float64"):
        DCK(tol=1e-15).fit_transform(walks(SHORT, 3))


def test_the_method_of_earlier_versions_changes_nothing():
    X = walks(SHORT, 3)
    with pytest.warns(OutdatedWarning, match="method='direct' of DCK has no effect any more"):
        found = DCK(method="direct", **SMALL).fit_transform(X)
    assert_allclose(found, DCK(**SMALL).fit_transform(X), rtol=0, atol=0)


def test_millimetres():
    with pytest.raises(DataError, match=r"harmonics .*: are the coordinates in millimetres"):
        DCK().fit_transform([x * 1000 for x in walks(SHORT, 3)])
