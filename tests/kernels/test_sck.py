from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference.sck import order3
from sklearn.base import clone
from walks import people, walk, walks

from kerneton import SCK
from kerneton.core.sck import Vectors
from kerneton.data.layouts import FLORENCE_15, Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import ParameterError
from kerneton.kernels.power_norm import hosvd_power
from kerneton.kernels.signals import SIGNALS
from kerneton.kernels.tensors import gaussian_features
from kerneton.prepare.poses import mirror

SHORT = (9, 14, 6)


def by_hand(signal, blocks, *, sigma_time=0.5, n_pivots_time=6, order=3, power=0.36, margin=0.0):
    """Tensors of one recording as the formulas say, (J, d, ...), EPN by plain
    eigendecompositions.
    """
    T, J, _ = signal.shape
    reach = margin * sigma_time
    z = gaussian_features(
        np.arange(1, T + 1) / T,
        sigma=sigma_time,
        n_pivots=n_pivots_time,
        low=-reach,
        high=1 + reach,
    )
    tensors = []
    for j in range(J):
        parts = []
        for i, (sigma, n_pivots, weight) in enumerate(blocks):
            reach = 1 + margin * sigma
            x = signal[:, j, 3 * i : 3 * i + 3]
            phi = gaussian_features(x, sigma=sigma, n_pivots=n_pivots, low=-reach, high=reach)
            parts.append(math.sqrt(weight) * phi.reshape(T, -1))
        parts.append(math.sqrt(1 - sum(w for *_, w in blocks)) * z)
        v = np.hstack(parts)
        tensor = sum(
            (v[s] if order == 1 else np.multiply.outer(v[s], v[s]))
            if order < 3
            else np.einsum("i,j,k->ijk", v[s], v[s], v[s])
            for s in range(T)
        )
        tensors.append(tensor / (T * math.sqrt(J)))
    if order == 1:
        return np.stack(tensors) ** power
    lam, U = np.linalg.eigh(np.stack(tensors))
    lam = np.where(lam > 1e-14 * lam[..., -1:], lam, 0) ** power
    return (U * lam[..., None, :]) @ U.swapaxes(-1, -2)


def dots(tensors):
    """Gram matrix of recordings whose tensors are given."""
    flat = np.stack([t.ravel() for t in tensors])
    return flat @ flat.T


@pytest.mark.parametrize(
    ("n_joints", "parameters", "size"),
    [
        (15, {}, 26_565),
        (20, {"n_pivots_time": 7}, 40_480),
        (15, {"entries": "slices"}, 15 * 21 * 231),
        (15, {"order": 2}, 15 * 231),
        (15, {"order": 1}, 15 * 21),
        (15, {"joints": [2, 4, 7]}, 3 * 1771),
        (5, {"pairs": True}, 10 * 1771),
        (
            4,
            {"signals": ("position", "bone"), "joint_weight": 0.4, "n_pivots_joint": (5, 3)},
            4 * 4960,
        ),
    ],
)
def test_sizes(n_joints, parameters, size):
    layout = Layout(
        "chain", [f"j{i}" for i in range(n_joints)], bones=[(i, i + 1) for i in range(n_joints - 1)]
    )
    X = [SkeletonSequence(walk(3, n_joints), layout=layout)]
    kernel = SCK(**parameters)
    features = kernel.fit_transform(X)
    assert features.shape == (1, size)
    assert kernel.block_sizes_.sum() == size
    assert len(set(kernel.block_sizes_)) == 1


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("power", [1.0, 0.36])
@pytest.mark.parametrize("margin", [0.0, 1.5])
def test_plain_formula(order, power, margin):
    X = walks(SHORT, 3)
    kernel = SCK(
        sigma_joint=0.7,
        n_pivots_joint=2,
        joint_weight=0.6,
        sigma_time=0.3,
        n_pivots_time=3,
        order=order,
        power=power,
        pivot_margin=margin,
        entries="slices",
    )
    features = kernel.fit_transform(X)
    expected = dots(
        by_hand(
            x,
            [(0.7, 2, 0.6)],
            sigma_time=0.3,
            n_pivots_time=3,
            order=order,
            power=power,
            margin=margin,
        )
        for x in X
    )
    assert_allclose(features @ features.T, expected, rtol=1e-6)


def test_several_signals_share_one_vector():
    X = people(SHORT, fps=30.0)
    kernel = SCK(
        signals=("bone", "velocity"),
        sigma_joint=(0.5, 0.8),
        n_pivots_joint=(3, 2),
        joint_weight=(0.5, 0.2),
        joints="A",
        order=2,
    )
    features = kernel.fit_transform(X)
    assert set(kernel.scales_) == {"bone", "velocity"}
    assert kernel.scales_["bone"] == 1
    fast = np.concatenate([np.abs(SIGNALS["velocity"](s)[:, [5, 8]]).max(axis=(1, 2)) for s in X])
    assert_allclose(kernel.scales_["velocity"], 1 / np.quantile(fast, 0.9))
    signals = [
        np.concatenate(
            [SIGNALS["bone"](s), SIGNALS["velocity"](s) * kernel.scales_["velocity"]], axis=2
        )[:, [5, 8]]
        for s in X
    ]
    expected = dots(by_hand(s, [(0.5, 3, 0.5), (0.8, 2, 0.2)], order=2) for s in signals)
    assert_allclose(features @ features.T, expected, rtol=1e-6)


@pytest.mark.parametrize("signal", ["position", "bone", "velocity"])
def test_pairs_are_pseudo_joints(signal):
    X = people(SHORT, fps=30.0)
    kernel = SCK(joints=["head", "left_wrist", "right_knee"], pairs=True, signals=signal, order=2)
    features = kernel.fit_transform(X)
    assert kernel.pairs_.tolist() == [[0, 5], [0, 13], [5, 13]]
    values = [SIGNALS[signal](s) * kernel.scales_[signal] for s in X]
    pseudo = [x[:, kernel.pairs_[:, 0]] - x[:, kernel.pairs_[:, 1]] for x in values]
    assert_allclose(
        features @ features.T, dots(by_hand(p, [(0.6, 5, 0.5)], order=2) for p in pseudo), rtol=1e-6
    )


@pytest.mark.parametrize(("power", "entry_power"), [(0.5, 1.0), (1.0, 0.7), (0.5, 0.7)])
def test_powers_of_the_core(power, entry_power):
    X = walks(SHORT, 2)
    options = {"n_pivots_joint": 2, "n_pivots_time": 3}
    raw = [by_hand(x, [(0.6, 2, 0.5)], n_pivots_time=3, power=1.0) for x in X]
    features = SCK(epn="hosvd", power=power, entry_power=entry_power, **options).fit_transform(X)
    expected = dots(hosvd_power(T, power, entry_power) for T in raw)
    assert_allclose(features @ features.T, expected, rtol=1e-6)
    with_slices = SCK(power=power, entry_power=entry_power, **options).fit_transform(X)
    # γ* belongs to "hosvd" alone
    assert_allclose(with_slices, SCK(power=power, **options).fit_transform(X))


def test_power_evens_out():
    """EPN keeps scale only as its power: T^γ of 16 T is 16^γ as large; here through repeated
    joints.
    """
    X = walks(SHORT, 1)
    alone = SCK().fit_transform(X)
    joined = SCK().fit_transform([np.repeat(x, 4, axis=1) for x in X])  # 1/√J is 1/2
    assert_allclose(joined[:, : alone.shape[1]], alone * 0.5**0.36, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"entries": "slices"},
        {"order": 2},
        {"order": 1},
        {"epn": "hosvd", "n_pivots_joint": 3, "n_pivots_time": 3},
        {"power": 1.0, "pivot_margin": 1.0},
        {"joints": "E"},
        {"joints": ["right_wrist", "head", "left_wrist"]},
        {"joints": ["head", "right_wrist", "left_wrist", "left_knee", "right_knee"], "pairs": True},
        {
            "joints": ["neck", "left_wrist", "right_wrist"],
            "pairs": True,
            "signals": ("position", "velocity", "bone"),
            "joint_weight": 0.25,
            "n_pivots_joint": (3, 2, 4),
            "order": 2,
        },
        {
            "signals": ("from_mean", "acceleration", "from_first"),
            "joint_weight": 0.2,
            "n_pivots_joint": 2,
        },
    ],
    ids=str,
)
def test_mirror_is_the_average_over_mirror_images(parameters):
    X = people((8, 13, 5, 9), fps=25.0)
    plain = SCK(**parameters).fit(X)
    mean = (plain.transform(X) + plain.transform([mirror(s) for s in X])) / 2
    symmetric = SCK(mirror=True, **parameters)
    features = symmetric.fit_transform(X)
    assert features.shape[1] == symmetric.block_sizes_.sum() < mean.shape[1]
    assert_allclose(features @ features.T, mean @ mean.T, rtol=1e-7)
    seen = symmetric.transform([mirror(s) for s in X])
    assert_allclose(seen @ features.T, mean @ mean.T, rtol=1e-7)


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_partly_mirrored_is_a_sum_of_both_kernels(order, pairs):
    """Five eighths of K(x, y), and three eighths of K(x, the mirror image of y)."""
    X = people(SHORT)
    options = {"order": order, "pairs": pairs, "entries": "slices", "n_pivots_joint": 3}
    plain, partly = (SCK(mirror=mirror, **options).fit(X) for mirror in (False, "partly"))
    a, b, c = plain.transform(X), plain.transform([mirror(s) for s in X]), partly.transform(X)
    assert c.shape == a.shape
    assert_allclose(c @ c.T, 5 / 8 * a @ a.T + 3 / 8 * a @ b.T, rtol=1e-6, atol=1e-9)
    assert partly.block_joints() == plain.block_joints()
    assert_allclose(plain.mirrored(a, "partly")[1], c, atol=1e-12)


def test_mirror_needs_both_sides():
    X = people(SHORT)
    with pytest.raises(
        ParameterError, match="needs both sides: right_wrist is not among the joints"
    ):
        SCK(joints=["head", "left_wrist"], mirror=True).fit(X)
    with pytest.raises(ParameterError, match="needs recordings with a layout"):
        SCK(mirror=True).fit(walks(SHORT))
    with pytest.raises(ParameterError, match="needs both sides"):
        SCK(joints=["head", "left_wrist"], pairs=True, mirror=True).fit(X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "parameters", [{}, {"mirror": True}, {"order": 1}, {"epn": "hosvd"}], ids=str
)
def test_precision_is_kept(dtype, parameters):
    X = [s.replace(joints=s.joints.astype(dtype)) for s in people(SHORT)]
    features = SCK(
        joints="A", signals=("position", "velocity"), joint_weight=0.3, **parameters
    ).fit_transform(X)
    assert features.dtype == dtype
    assert np.isfinite(features).all()


def test_single_precision_is_close():
    X = walks(SHORT, 4)
    single = [x.astype(np.float32) for x in X]
    for power, tol in [(1.0, 1e-6), (0.36, 5e-3)]:  # γ turns rounding of 1e-7 into (1e-7)^γ
        a, b = SCK(power=power).fit_transform(X), SCK(power=power).fit_transform(single)
        assert np.linalg.norm(a - b) < tol * np.linalg.norm(a)


def test_input_is_left_alone():
    X = people(SHORT)
    before = [s.joints.copy() for s in X]
    SCK(mirror=True, signals=("velocity", "position"), joint_weight=0.3, order=2).fit_transform(X)
    for s, joints in zip(X, before, strict=True):
        assert_allclose(s.joints, joints, rtol=0)


def test_one_frame_one_joint_and_stillness():
    frame = walks((1, 1), 3)
    features = SCK(power=1.0).fit_transform(frame)
    repeated = SCK(power=1.0).fit_transform([np.repeat(x, 7, axis=0) for x in frame])
    assert np.isfinite(features).all()
    assert np.isfinite(repeated).all()
    assert SCK().fit_transform(walks(SHORT, 1)).shape == (3, 1771)
    moving = SCK(signals="velocity").fit_transform(frame)  # no motion: every joint at the origin
    assert_allclose(moving[0], moving[1])
    assert SCK(n_pivots_joint=1, n_pivots_time=1).fit_transform(frame).shape == (2, 3 * 20)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"sigma_joint": -1.0}, r"sigma_joint must be a positive number, got -1\.0"),
        ({"sigma_joint": (0.5, 0.5)}, "sigma_joint has 2 values for 1 signals"),
        ({"sigma_time": 0}, "sigma_time must be a positive number, got 0"),
        ({"n_pivots_joint": 0}, "n_pivots_joint must be a positive whole number, got 0"),
        ({"n_pivots_time": 2.5}, r"n_pivots_time must be a positive whole number, got 2\.5"),
        ({"joint_weight": 1.2}, r"joint_weight must be a number in \[0, 1\], got 1\.2"),
        (
            {"signals": ("position", "bone"), "joint_weight": 0.7},
            r"to leave weight for time: its sum is 1\.4",
        ),
        ({"signals": "speed"}, "signals must be one of 'position', .*got 'speed'"),
        ({"signals": ()}, "signals is empty; choose from position"),
        ({"power": 0.0}, r"power must be a number in \(0, 1\], got 0\.0"),
        ({"power": 1.1}, r"power must be a number in \(0, 1\]"),
        ({"entry_power": -0.1}, r"entry_power must be a number in \(0, 1\]"),
        ({"pivot_margin": -1}, r"pivot_margin must be a number in \[0, 10\]"),
        ({"order": 4}, "order must be one of 1, 2, 3, got 4"),
        ({"epn": "svd"}, "epn must be one of 'slices', 'hosvd', got 'svd'"),
        ({"entries": "all"}, "entries must be one of 'simplex', 'upper', 'slices', got 'all'"),
        ({"joints": "wings"}, "no joint or joint set 'wings'; sets: A, B"),
        ({"joints": ["nose"]}, "has no joint 'nose'; it has head, neck"),
        ({"joints": [15]}, "has joints 0 to 14, got 15"),
        ({"joints": []}, "joints is empty"),
        ({"joints": [1.5]}, r"joints must be names or whole numbers, got 1\.5"),
        ({"joints": [3, 3]}, "a joint is listed twice"),
        ({"joints": [3], "pairs": True}, "pairs=True needs at least two joints, got 1"),
    ],
)
def test_parameters_are_checked_in_fit(parameters, message):
    kernel = SCK(**parameters)  # the constructor stores whatever it is given
    with pytest.raises(ParameterError, match=message):
        kernel.fit(people((3,)))


def test_joints_without_a_layout():
    X = walks((3,), 6)
    assert SCK(joints=(4, 2)).fit(X).joints_ == (4, 2)
    assert SCK(joints=np.array([4, 2])).fit(X).joints_ == (4, 2)
    assert SCK(joints=5).fit(X).joints_ == (5,)
    for joints, message in [
        ("A", "without a layout have joints 0 to 5"),
        ([6], "joints 0 to 5"),
        ([-1], "joints 0 to 5"),
        ([1, 1], "listed twice"),
        ([True], "names or whole numbers"),
        (2.5, "names or whole numbers"),
    ]:
        with pytest.raises(ParameterError, match=message):
            SCK(joints=joints).fit(X)


def test_names_of_joints_and_their_order():
    X = people(SHORT)
    by_name = SCK(joints=["right_wrist", "head"]).fit_transform(X)
    by_place = SCK(joints=[8, 0]).fit_transform(X)
    assert_allclose(by_name, by_place, rtol=0)
    turned = SCK(joints=[0, 8]).fit_transform(X)
    assert_allclose(np.roll(by_place, 1771, axis=1), turned, rtol=0)


def test_feature_names():
    kernel = SCK(joints="A", order=2).fit(people(SHORT))
    names = kernel.get_feature_names_out()
    assert list(names[:2]) == ["sck0_0", "sck0_1"]
    assert names[-1] == "sck1_230"
    assert len(set(names)) == 462


def test_fit_again_forgets():
    X = people(SHORT, fps=30.0)
    kernel = SCK(signals="velocity", joints="A", order=2)
    first = kernel.fit_transform(X)
    kernel.set_params(pairs=True).fit(X)
    assert len(kernel.block_sizes_) == 1
    kernel.set_params(pairs=False)
    assert_allclose(kernel.fit_transform(X), first, rtol=0)
    slow = [s.replace(joints=s.joints / 3) for s in X]
    assert_allclose(
        kernel.fit(slow).scales_["velocity"], 3 * clone(kernel).fit(X).scales_["velocity"]
    )


def test_scale_is_learnt_from_the_training_recordings():
    X = people(SHORT, fps=30.0)
    kernel = SCK(signals="velocity", order=1).fit(X[:1])
    scale = kernel.scales_["velocity"]
    kernel.transform(X)
    assert kernel.scales_["velocity"] == scale


def test_every_joint_has_its_own_block():
    """Features of one joint do not depend on where the others are."""
    a, b = people((9, 9))
    mixed = b.joints.copy()
    mixed[:, 3] = a.joints[:, 3]
    f, g = SCK().fit_transform([a, SkeletonSequence(mixed, layout=FLORENCE_15)]).reshape(2, 15, -1)
    assert_allclose(f[3], g[3], atol=1e-12)
    for j in itertools.chain(range(3), range(4, 15)):
        assert np.abs(f[j] - g[j]).max() > 1e-3


# by the core


def plain(kernel, x, entries):
    """Features of one recording by the reference."""
    return order3(x, kernel._map.table(), kernel.power, entries).ravel()


@pytest.mark.parametrize("entries", ["simplex", "upper", "slices"])
@pytest.mark.parametrize(("n_pivots", "n_pivots_time"), [(5, 6), (5, 7), (1, 2), (1, 1), (16, 2)])
def test_the_core_equals_the_reference(entries, n_pivots, n_pivots_time):
    X = walks((3, 17, 40), 5)
    kernel = SCK(entries=entries, n_pivots_joint=n_pivots, n_pivots_time=n_pivots_time).fit(X)
    expected = np.stack([plain(kernel, x, entries) for x in X])
    for dtype in (np.float64, np.float32):
        answer = kernel.transform([x.astype(dtype) for x in X])
        assert answer.dtype == dtype
        errors = np.linalg.norm(answer - expected, axis=1) / np.linalg.norm(expected, axis=1)
        assert_allclose(errors, 0, atol=1e-5)


@pytest.mark.parametrize("entries", ["simplex", "slices"])
def test_mirrored_features_are_means_of_mirrored_recordings(entries):
    X = [SkeletonSequence(x, layout=FLORENCE_15) for x in walks((3, 17, 40), 15)]
    kernel, symmetric = SCK(entries=entries).fit(X), SCK(entries=entries, mirror=True).fit(X)
    mean = (kernel.transform(X) + kernel.transform([mirror(s) for s in X])) / 2
    single = [s.replace(joints=s.joints.astype(np.float32)) for s in X]
    for answer in (symmetric.transform(X), symmetric.transform(single)):
        assert_allclose(answer @ answer.T, mean @ mean.T, rtol=1e-4)


def test_the_same_answer_in_any_company():
    X = walks((9, 9, 9, 9, 9), 7)
    kernel = SCK().fit(X)
    assert_allclose(kernel.transform(X)[3], kernel.transform(X[3:4])[0], rtol=0, atol=0)


def test_directions_of_pairs_are_those_of_the_difference():
    """Positions that are unit vectors already, given as joints of their own, are the same
    signal.
    """
    X = walks((9, 12), 4)
    pairs = list(itertools.combinations(range(4), 2))
    apart = [np.stack([x[:, i] - x[:, j] for i, j in pairs], axis=1) for x in X]
    units = [x / np.linalg.norm(x, axis=2, keepdims=True) for x in apart]
    assert_allclose(
        SCK(signals="direction", pairs=True).fit_transform(X),
        SCK().fit_transform(units),
        rtol=1e-7,  # the power lifts what rounding leaves
        atol=1e-10,
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_joints", [1, 3, 7, 15, 16, 17, 25])
def test_threads_and_shared_lanes_change_nothing(n_joints, dtype):
    """Joints that leave vectors half empty, alone and split over threads, against many recordings
    together.
    """
    # every joint in a full group of lanes
    X = [x.astype(dtype) for x in walks((9,) * 16, n_joints)]
    kernel = SCK(n_pivots_time=5).fit(X)
    whole = kernel.transform(X)
    for n_jobs in (1, 2, 3):
        alone = kernel.set_params(n_jobs=n_jobs).transform(X[5:6])
        assert_allclose(alone[0], whole[5], rtol=0, atol=0)


@pytest.mark.parametrize("order", [2, 3])
def test_what_does_not_converge_takes_the_powers_of_lapack(order, monkeypatch):
    X = walks((9, 12, 7), 5)
    kernel = SCK(order=order).fit(X)
    expected, name = kernel.transform(X), f"order{order}"
    found = getattr(Vectors, name)

    def failing(vectors, power, *given):
        failed = found(vectors, power, *given)
        if power == 1:
            return failed
        given[-1][:2] = np.nan
        return np.array([0, 1]) if order == 3 else np.ones_like(failed)

    monkeypatch.setattr(Vectors, name, failing)
    assert_allclose(kernel.transform(X), expected, rtol=1e-6, atol=1e-9)
