"""What holds for any recording: symmetry, order, relabelling, round trips."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from reference.displacement import reference_peak, reference_sums

from kerneton import DCK, SCK, Preprocess
from kerneton.core.dck import Displacements
from kerneton.data.layouts import FLORENCE_15
from kerneton.data.sequence import SkeletonSequence
from kerneton.kernels.exact import dck_kernel, sck_kernel
from kerneton.kernels.tensors import unique_entries
from kerneton.prepare.poses import (
    bone_lengths,
    equal_bones,
    face_front,
    fill_gaps,
    mirror,
    resample,
    turn,
)

quick = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
seeds = st.integers(0, 2**32 - 1)
scales = st.sampled_from([1e-6, 0.05, 0.5, 1.0, 3.0])


@st.composite
def recordings(draw, n_joints=3, max_frames=12, n=3):
    """Recordings of unequal length, still, small or as large as a room."""
    rng, scale = np.random.default_rng(draw(seeds)), draw(scales)
    lengths = draw(st.lists(st.integers(1, max_frames), min_size=n, max_size=n))
    return [rng.uniform(-1, 1, size=(t, n_joints, 3)) * scale for t in lengths]


def kernels(**options):
    small = {"n_pivots_joint": 3, "n_pivots_time": 3, **options}
    return [
        SCK(**small),
        SCK(entries="slices", order=3, power=0.7, **small),
        SCK(order=2, epn="hosvd", **small),
        DCK(tol=1e-10, **small),
        DCK(sigma_span=2.0, same_joint=False, tol=1e-10, **small),
    ]


@quick
@given(recordings(max_frames=6, n=2))
def test_exact_kernels_are_symmetric_and_positive(X):
    for kernel in (sck_kernel, dck_kernel):
        K = kernel(X, X)
        assert_allclose(K, K.T, rtol=1e-10)
        assert_allclose(K, kernel(X), rtol=1e-10)
        assert np.linalg.eigvalsh(K)[0] >= -1e-10 * K.max()
        assert K[0, 1] ** 2 <= K[0, 0] * K[1, 1] * (1 + 1e-10)


@quick
@given(recordings())
def test_features_are_finite_and_their_gram_matrices_psd(X):
    for kernel in kernels():
        features = kernel.fit_transform(X)
        assert np.isfinite(features).all()
        lam = np.linalg.eigvalsh(features @ features.T)
        assert lam[0] >= -1e-9 * max(lam[-1], 1e-30)


@quick
@given(recordings(n=4), st.permutations(range(4)))
def test_order_of_recordings(X, order):
    for kernel in kernels(batch_size=2):
        whole = kernel.fit_transform(X)
        shuffled = kernel.transform([X[i] for i in order])
        assert_allclose(shuffled, whole[list(order)], atol=1e-7 * max(np.abs(whole).max(), 1e-30))


@quick
@given(recordings(n_joints=4), st.permutations(range(4)))
def test_joints_may_be_relabelled(X, order):
    """Renaming joints in every recording alike changes no kernel value."""
    relabelled = [x[:, list(order)] for x in X]
    assert_allclose(sck_kernel(relabelled), sck_kernel(X), rtol=1e-10)
    for kernel in kernels():
        a, b = kernel.fit_transform(X), kernel.fit_transform(relabelled)
        assert_allclose(b @ b.T, a @ a.T, rtol=1e-6, atol=1e-9 * np.abs(a @ a.T).max())
    assert_allclose(
        dck_kernel([x[:4] for x in relabelled]), dck_kernel([x[:4] for x in X]), rtol=1e-9
    )


@quick
@given(recordings(n_joints=4))
def test_choosing_joints_is_dropping_the_others(X):
    for kernel in kernels(joints=[3, 1]):
        chosen = kernel.fit_transform(X)
        kernel.set_params(joints=None)
        assert_allclose(kernel.fit_transform([x[:, [3, 1]] for x in X]), chosen, atol=1e-10)


@quick
@given(seeds)
def test_time_has_a_direction(seed):
    """A motion and its reverse differ: sitting down is not standing up."""
    x = np.random.default_rng(seed).uniform(-1, 1, size=(8, 2, 3))
    for kernel in kernels():
        forth, back = kernel.fit_transform([x, x[::-1]])
        assert np.linalg.norm(forth - back) > 1e-3 * np.linalg.norm(forth)


@quick
@given(recordings(n=1, max_frames=8), st.integers(1, 5))
def test_recording_every_frame_several_times(X, times):
    """SCK with order one averages over frames: z(s/T) aside, repetition changes nothing."""
    kernel = SCK(order=1, power=1.0, joint_weight=1.0)
    a = kernel.fit_transform(X)
    b = kernel.transform([np.repeat(X[0], times, axis=0)])
    assert_allclose(b, a, atol=1e-12)


@quick
@given(recordings(), st.tuples(*[st.floats(-5, 5)] * 3))
def test_dck_does_not_see_the_place(X, place):
    kernel = DCK(n_pivots_joint=3, n_pivots_time=3, tol=1e-8).fit(X)
    a, b = kernel.transform(X), kernel.transform([x + place for x in X])
    assert_allclose(b, a, atol=1e-6 * max(np.abs(a).max(), 1e-30))


@quick
@given(
    recordings(n=1, max_frames=40),
    st.sampled_from([None, 0.3, 2.0, 30.0]),
    st.sampled_from([0.15, 0.6, 2.0]),
    st.sampled_from([1e-3, 1e-6, 1e-9]),
)
def test_harmonics_keep_their_promise(X, sigma_span, sigma, tol):
    (x,), pairs = X, np.array([[0, 1], [2, 2]])
    z = np.random.default_rng(0).uniform(size=(len(x), 2))
    same = {"sigma": sigma, "n_pivots": 4, "sigma_span": sigma_span, "reach": 1.0}
    given_ = Displacements(x, [0], [len(x)], range(3), pairs, z, [0], tol=tol, **same)
    found = np.empty((1, *given_.shape))
    given_.sums(0, 1, found)
    gap = np.abs(found[0] * 3 * len(x) - reference_sums(x, z, pairs, **same))
    assert np.all(gap <= tol * reference_peak(z, **same) + 1e-13)


@quick
@given(seeds, st.integers(1, 8), st.integers(1, 3))
def test_unique_entries_keep_dot_products(seed, d, order):
    v = np.random.default_rng(seed).normal(size=(2, 5, d))
    T = np.einsum({1: "btx->bx", 2: "btx,bty->bxy", 3: "btx,bty,btz->bxyz"}[order], *[v] * order)
    full = T.reshape(2, -1) @ T.reshape(2, -1).T
    for entries in ("simplex", "slices"):
        kept = unique_entries(T, order, entries)
        assert_allclose(kept @ kept.T, full, rtol=1e-10, atol=1e-10 * np.abs(full).max())


def body(seed, n_frames=6):
    return np.random.default_rng(seed).uniform(-1, 1, size=(n_frames, 15, 3))


@quick
@given(seeds, st.floats(-10, 10))
def test_round_trips(seed, angle):
    x = body(seed)
    person = SkeletonSequence(x, layout=FLORENCE_15)
    assert_allclose(mirror(mirror(person)).joints, x, rtol=0)
    assert_allclose(turn(turn(x, angle), -angle), x, atol=1e-12)
    assert_allclose(
        resample(resample(x, 11), 6), x, atol=1e-12
    )  # 11 frames hold the old ones and those between
    lengths = bone_lengths(x[:1], FLORENCE_15)
    assert_allclose(equal_bones(x[:1], FLORENCE_15, lengths), x[:1], atol=1e-12)
    assert_allclose(fill_gaps(x, np.zeros((6, 15), dtype=bool)), x, rtol=0)


@quick
@given(seeds, st.floats(-3, 3), st.floats(0.3, 3), st.tuples(*[st.floats(-4, 4)] * 3))
def test_preprocessing_takes_size_place_and_facing_away(seed, angle, size, place):
    person = SkeletonSequence(body(seed), layout=FLORENCE_15)
    other = person.replace(joints=turn(person.joints * size, angle) + place)
    fitted = Preprocess(facing="frame").fit([person])
    a, b = fitted.transform([person, other])
    assert_allclose(a.joints, b.joints, atol=1e-6)


@quick
@given(seeds)
def test_mirroring_and_facing_go_together(seed):
    """Turning to the front and then mirroring is mirroring and then turning to the front."""
    person = SkeletonSequence(body(seed), layout=FLORENCE_15)
    front = person.replace(joints=face_front(person.joints, FLORENCE_15, per_frame=True))
    assert_allclose(
        face_front(mirror(person).joints, FLORENCE_15, per_frame=True),
        mirror(front).joints,
        atol=1e-9,
    )


@quick
@given(seeds, st.integers(0, 5), st.sampled_from(["fill", "drop"]))
def test_a_gap_is_never_seen_in_the_features(seed, frame, gaps):
    """What a lost frame or joint holds makes no difference."""
    kernel = SCK(order=1, joints="A")
    results = []
    for rubbish in (0.0, np.nan):
        x = body(seed)
        x[frame] = rubbish
        x[(frame + 1) % 6, 5] = np.nan
        poses = Preprocess(gaps=gaps).fit_transform([SkeletonSequence(x, layout=FLORENCE_15)])
        results.append(kernel.fit_transform(poses))
    assert np.isfinite(results[0]).all()
    assert_allclose(results[0], results[1], rtol=0)
