"""Shares of frames: against finite differences, sums written out, and the symmetries they must
have.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from recognizers import ARMS, branch, dck, sck
from reference.sck import vectors

from kerneton import DCK, SCK, make_actions, pair
from kerneton.data.sequence import SkeletonSequence
from kerneton.kernels.power_norm import psd_power
from kerneton.kernels.tensors import unique_entries
from kerneton.prepare.frames import Frames
from kerneton.prepare.poses import mirror
from kerneton.prepare.preprocess import Preprocess
from kerneton.recognize.moments import frame_shares


@pytest.fixture(scope="module")
def poses():
    data = make_actions(["wave", "bow"], n_subjects=2, n_takes=1)
    return Preprocess(n_frames=17, facing="sequence").fit_transform(data)


def weights_for(features, seed=0):
    return np.random.default_rng(seed).normal(size=features.shape[-1])


KERNELS = {
    "order 1": sck(order=1, power=0.4),
    "order 2": sck(),
    "order 2, power 1": sck(power=1.0),
    "order 2, two signals": sck(signals=("position", "velocity"), joint_weight=(0.4, 0.3)),
    "order 3": sck(order=3),
    "order 3, upper": sck(order=3, entries="upper"),
    "order 3, slices": sck(order=3, entries="slices"),
    "order 3, power 1": sck(order=3, power=1.0),
    "order 3, hosvd": sck(order=3, epn="hosvd", joints=ARMS, power=0.6),
    "order 3, hosvd, entries": sck(order=3, epn="hosvd", joints=ARMS, power=0.8, entry_power=0.7),
    "pairs": sck(pairs=True, joints=ARMS),
    "pairs, order 1": sck(pairs=True, joints=ARMS, order=1),
    "pairs, directions": sck(
        pairs=True, joints=ARMS, signals=("direction", "velocity"), joint_weight=(0.3, 0.3)
    ),
    "pairs, order 3": sck(pairs=True, joints=ARMS, order=3),
    "bones": sck(signals="bone"),
    "weighted": sck(weighting="alignment"),
    "dck": dck(tol=1e-9),
    "dck, window": dck(tol=1e-9, sigma_span=3.0, power=0.85, same_joint=False),
    "dck, power 1": dck(tol=1e-9, power=1.0),
    "dck, entries": dck(tol=1e-9, power=0.8, entry_power=0.9),
}


@pytest.mark.parametrize("mirrored", [False, True, "partly"])
@pytest.mark.parametrize("name", KERNELS)
def test_shares_sum_to_the_weighted_features(name, mirrored, poses):
    kernel = KERNELS[name].set_params(mirror=mirrored)
    kernel.fit(poses, ["wave", "bow"] * 2)
    features = kernel.transform(poses[:1])[0]
    weights = weights_for(features)
    shares = frame_shares(kernel, poses[0], weights)
    size = np.linalg.norm(weights) * np.linalg.norm(features)
    assert_allclose(
        sum(share.sum() for share, _ in shares.values()), weights @ features, atol=1e-8 * size
    )
    used = {joint for tokens in kernel.block_joints() for token in tokens for joint in token}
    assert {joint for token in shares for joint in token} == used
    for token, (share, division) in shares.items():
        assert share.shape == (17, len(token))
        assert_allclose(division.sum(), 1)


def vectors_of(kernel, recording):
    """v_s of each joint or pair, scaled so that their products carry 1/(T√J); (J, T, d)."""
    signal = np.float64(kernel._signal(Frames.of([recording])))
    T, J = signal.shape[:2]
    share = (1 / (T * np.sqrt(J))) ** (1 / kernel.order)
    return np.stack([vectors(signal[:, j], kernel._map.table()) * share for j in range(J)])


@pytest.mark.parametrize("name", ["order 2", "order 3", "order 3, slices", "order 1", "pairs"])
def test_the_share_of_a_frame_is_the_derivative_for_its_weight(name, poses):
    """Euler: of a homogeneous function of degree γ of Σ c_s v_s⊗v_s, the derivative for c_s is γ
    shares.
    """
    # Noise, whose matrices have full rank: differences cannot resolve powers of nearly zero.
    noise = poses[0].replace(joints=np.random.default_rng(0).uniform(-1, 1, (17, 20, 3)))
    kernel = KERNELS[name].set_params(mirror=False, n_pivots_joint=2, n_pivots_time=2).fit([noise])
    weights = weights_for(kernel.transform([noise])[0])
    shares = frame_shares(kernel, noise, weights)
    order = kernel.order
    v = vectors_of(kernel, noise)

    def power(tensors):
        if order == 1:
            return tensors**kernel.power
        return psd_power(tensors, kernel.power)  # of slices

    def value(counts):
        scaled = v * counts[:, None] ** (1 / order)
        letters = "abc"[:order]
        terms = ",".join(f"jt{letter}" for letter in letters)
        tensors = np.einsum(f"{terms}->j{letters}", *[scaled] * order)
        return unique_entries(power(tensors), order, kernel.entries).ravel() @ weights

    expected = []
    for s in range(17):
        step = np.where(np.arange(17) == s, 1e-4, 0.0)
        expected.append((value(1 + step) - value(1 - step)) / 2e-4 / kernel.power)
    by_frame = sum(share.sum(axis=1) for share, _ in shares.values())
    assert_allclose(by_frame, expected, atol=2e-6 * np.abs(expected).max())


def test_orders_without_power_are_sums_written_out(poses):
    kernel = sck(order=2, power=1.0, joints=["head"]).fit(poses)
    weights = weights_for(kernel.transform(poses[:1])[0])
    ((share, _),) = frame_shares(kernel, poses[0], weights).values()
    alone = [  # each frame by itself, at its time
        sum(
            weights[n] * (1.0 if a == b else np.sqrt(2)) * v[a] * v[b]
            for n, (a, b) in enumerate((a, b) for a in range(len(v)) for b in range(a, len(v)))
        )
        for v in vectors_of(kernel, poses[0])[0]
    ]
    assert_allclose(share[:, 0], alone, atol=1e-12)


def test_dck_without_power_is_the_sum_over_two_frames_written_out(poses):
    kernel = DCK(
        joints=["head", "left_wrist"], n_pivots_joint=2, n_pivots_time=2, power=1.0,
        same_joint=False, tol=1e-9, sigma_span=2.0,
    ).fit(poses)  # fmt: skip
    weights = weights_for(kernel.transform(poses[:1])[0])
    shares = frame_shares(kernel, poses[0], weights)
    head, wrist = (poses[0].layout.index(name) for name in ("head", "left_wrist"))
    ((token, (share, _)),) = shares.items()
    one, other = (poses[0].joints[:, j] for j in token)
    zeta, W = np.array([-1.0, 1.0]), weights.reshape(3, 2, 2, 2)
    amplitude = np.sqrt(2 * np.sqrt(2 / (np.pi * 0.6**2)))
    times, tau = np.arange(1, 18) / 17, np.array([0.0, 1.0])
    z = np.sqrt(np.sqrt(2 / (np.pi * 0.25))) * np.exp(-((times[:, None] - tau) ** 2) / 0.25)
    total = np.zeros((17, 17))
    for s in range(17):
        for t in range(17):
            if s != t:
                phi = amplitude * np.exp(
                    -((one[s, :, None] - other[t, :, None] - zeta) ** 2) / 0.36
                )
                near = np.exp(-((s - t) ** 2) / (2 * 2.0**2))
                total[s, t] = (
                    np.sqrt(2) / 34 * near * np.einsum("xk,xkpq,p,q->", phi, W, z[s], z[t])
                )
    assert {head, wrist} == set(token)
    assert_allclose(share.sum(), total.sum(), atol=1e-12)
    assert_allclose(weights @ kernel.transform(poses[:1])[0], total.sum(), atol=1e-9)
    # What a frame of either joint takes part in is divided, never lost.
    assert (np.abs(share[:, 0]) <= np.abs(total).sum(axis=1) + 1e-12).all()


@pytest.mark.parametrize("name", ["order 2", "order 3", "order 3, upper", "pairs", "dck", "bones"])
def test_mirrored_recordings_have_mirrored_shares(name, poses):
    kernel = KERNELS[name].set_params(mirror=True).fit(poses)
    twin = poses[0].layout.mirror
    weights = weights_for(kernel.transform(poses[:1])[0])
    table = [np.zeros((17, 20)) for _ in range(2)]
    for out, recording in zip(table, (poses[0], mirror(poses[0])), strict=True):
        for token, (share, _) in frame_shares(kernel, recording, weights).items():
            out[:, list(token)] += share
    size = np.abs(table[0]).max()
    assert size > 0
    assert_allclose(table[1][:, twin], table[0], atol=1e-6 * size)
    assert np.abs(table[1] - table[0]).max() > 0.1 * size  # the sides are told apart


def test_exchanged_people_have_exchanged_shares(poses):
    two = pair(
        poses[0], poses[1].replace(joints=poses[1].joints + [0.8, 0.0, 0.0], fps=poses[0].fps)
    )
    kernel = sck(mirror="bodies").fit([two])
    weights = weights_for(kernel.transform([two])[0])
    first, second = (list(body) for body in two.layout.bodies)
    other = two.joints.copy()
    other[:, first], other[:, second] = two.joints[:, second], two.joints[:, first]
    swapped = two.replace(joints=other * [-1.0, 1.0, -1.0])
    one, back = (frame_shares(kernel, s, weights) for s in (two, swapped))
    for a, b in zip(first, second, strict=True):
        assert_allclose(one[(a,)][0], back[(b,)][0], atol=1e-6)


def test_a_pair_belongs_to_the_joint_that_moves():
    steps = np.linspace(0, 3, 30)
    joints = np.zeros((30, 2, 3))
    joints[:, 0, 1], joints[:, 1, 0] = np.sin(steps), 0.3
    kernel = sck(pairs=True).fit([SkeletonSequence(joints, fps=30)])
    weights = weights_for(kernel.transform([SkeletonSequence(joints, fps=30)])[0])
    ((share, division),) = frame_shares(kernel, SkeletonSequence(joints, fps=30), weights).values()
    assert np.abs(share[:, 1]).max() < 1e-6 * np.abs(share[:, 0]).max()
    assert division[0] > 0.999


@pytest.mark.parametrize(
    "name", ["order 1", "order 2", "order 3", "pairs", "dck", "pairs, directions"]
)
def test_one_frame(name, poses):
    kernel = KERNELS[name].set_params(mirror=False).fit(poses)
    one = poses[0].replace(joints=poses[0].joints[:1])
    features = kernel.transform([one])[0]
    weights = weights_for(features)
    shares = frame_shares(kernel, one, weights)
    total = sum(share.sum() for share, _ in shares.values())
    assert_allclose(total, weights @ features, atol=1e-9 * (1 + np.linalg.norm(features)))


def test_joints_that_share_a_place_and_eigenvalues_that_repeat():
    same = np.ones((9, 3, 3)) * 0.2  # every frame equal: matrices of rank two, repeated eigenvalues
    kernel = sck(order=2).fit([SkeletonSequence(same)])
    features = kernel.transform([SkeletonSequence(same)])[0]
    weights = weights_for(features)
    shares = frame_shares(kernel, SkeletonSequence(same), weights)
    assert_allclose(sum(s.sum() for s, _ in shares.values()), weights @ features, rtol=1e-9)


def test_other_kernels_have_no_known_frames(poses):
    class Own(SCK):
        pass

    kernel = Own(order=2).fit(poses)
    assert frame_shares(kernel, poses[0], np.ones(int(kernel.block_sizes_.sum()))) is None
    assert branch(kernel).kernel is kernel
