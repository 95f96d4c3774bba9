from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.ndimage import gaussian_filter1d
from walks import people, walk

from kerneton.data.layouts import FLORENCE_15, Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError
from kerneton.kernels import signals
from kerneton.kernels.signals import SIGNALS, Signal
from kerneton.prepare.frames import Frames
from kerneton.prepare.poses import mirror


def learn_scale(name, sequences, joints):
    return signals.learn_scale(name, Frames.of(sequences), joints)


def pair_signal(name, sequence, pairs):
    return signals.pair_signal(name, Frames.of([sequence]), pairs)


def relative(sequence, pairs):
    pseudo = signals.relative(Frames.of([sequence]), pairs)
    return SkeletonSequence(pseudo.joints, fps=sequence.fps, layout=pseudo.layout)


@pytest.fixture
def person():
    return people((12,), fps=30.0)[0]


def test_plain_formulas(person):
    x = person.joints
    assert SIGNALS["position"](person) is x
    # Derivatives of a Gaussian one frame wide, cut at four; beyond the ends the first and last pose
    # stand still.
    k = np.arange(-4, 5)
    weights = np.exp(-(k**2) / 2) / np.exp(-(k**2) / 2).sum()
    padded = np.pad(x - x[0], ((4, 4), (0, 0), (0, 0)), mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 9, axis=0)  # (T, J, 3, 9)
    velocity, acceleration = windows @ (weights * k), windows @ (weights * (k**2 - 1))
    assert_allclose(SIGNALS["velocity"](person), 30 * velocity, atol=1e-12)
    assert_allclose(SIGNALS["velocity"](person.replace(fps=None)), velocity, atol=1e-12)
    assert_allclose(SIGNALS["acceleration"](person), 900 * acceleration, atol=1e-10)
    assert_allclose(SIGNALS["from_first"](person), x - x[0])
    assert_allclose(SIGNALS["from_mean"](person), x - x.mean(axis=0))
    assert_allclose(SIGNALS["travel"](person), x - x.mean(axis=(0, 1)))
    norm = np.linalg.norm(x, axis=2, keepdims=True)
    assert_allclose(SIGNALS["direction"](person) * norm, x, atol=1e-12)
    assert_allclose(SIGNALS["direction"](person.replace(joints=np.zeros_like(x))), 0)
    bone = SIGNALS["bone"](person)
    assert_allclose(bone[:, FLORENCE_15.root], 0)
    for parent, child in FLORENCE_15.bones:
        length = np.linalg.norm(x[:, child] - x[:, parent], axis=1, keepdims=True)
        assert_allclose(bone[:, child] * length, x[:, child] - x[:, parent], atol=1e-12)


@pytest.mark.parametrize("name", SIGNALS)
@pytest.mark.parametrize("n_frames", [1, 2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_few_frames_and_precision(name, n_frames, dtype):
    sequence = SkeletonSequence(walk(n_frames, dtype=dtype), layout=FLORENCE_15, fps=30)
    signal = SIGNALS[name](sequence)
    assert signal.shape == (n_frames, 15, 3)
    assert signal.dtype == dtype
    assert np.isfinite(signal).all()
    if n_frames == 1 and name not in ("position", "bone", "direction", "travel"):
        assert_allclose(signal, 0)


@pytest.mark.parametrize("name", ["velocity", "acceleration"])
def test_change_does_not_depend_on_the_place(person, name):
    signal = SIGNALS[name](person)
    assert_allclose(
        SIGNALS[name](person.replace(joints=person.joints + [1, -2, 5])), signal, atol=1e-9
    )
    still = SkeletonSequence(np.full((9, 2, 3), 3.3), fps=30)
    assert_allclose(SIGNALS[name](still), 0, atol=0)
    assert learn_scale(name, [still], [0, 1]) == 1


@pytest.mark.parametrize("name", SIGNALS)
def test_mirror_images(person, name):
    """Each signal of the mirror image is the mirror image of the signal, which SCK's mirroring
    relies on.
    """
    seen = SIGNALS[name](mirror(person))
    expected = SIGNALS[name](person)[:, FLORENCE_15.mirror] * [-1, 1, 1]
    assert_allclose(seen, expected, atol=1e-12)


def test_bone_of_no_length_has_no_direction(person):
    x = person.joints.copy()
    parent, child = FLORENCE_15.bones[3]
    x[:, child] = x[:, parent]
    assert_allclose(SIGNALS["bone"](person.replace(joints=x))[:, child], 0)


@pytest.mark.parametrize(("layout", "name"), [(None, "none"), (Layout("dots", "abc"), "dots")])
def test_bones_need_a_layout(layout, name):
    sequence = SkeletonSequence(walk(3, 3), layout=layout)
    with pytest.raises(DataError, match=f"bone directions need a layout with bones.* is {name}"):
        SIGNALS["bone"](sequence)


def test_scale():
    ramp = np.arange(200.0).reshape(200, 1, 1).repeat(3, 2)
    slow, fast = (SkeletonSequence(ramp * v) for v in (1, 4))
    assert all(
        SIGNALS[name].scaled or learn_scale(name, [slow, fast], [0]) == 1 for name in SIGNALS
    )
    assert_allclose(learn_scale("velocity", [slow], [0]), 1, rtol=1e-3)
    assert_allclose(learn_scale("velocity", [slow, fast], [0]), 1 / 4, rtol=1e-3)
    rarely = [slow] * 19 + [fast]  # the fast twentieth does not count
    assert_allclose(learn_scale("velocity", rarely, [0]), 1, rtol=1e-3)
    still = SkeletonSequence(np.ones((5, 2, 3)))
    assert_allclose(learn_scale("velocity", [still], [0]), 1)


def test_scale_looks_at_the_chosen_joints():
    x = np.arange(200.0)[:, None, None] * np.array([1, 5])[:, None] * np.ones(3)
    assert_allclose(learn_scale("velocity", [SkeletonSequence(x)], [0]), 1, rtol=1e-3)
    assert_allclose(learn_scale("velocity", [SkeletonSequence(x)], [1]), 1 / 5, rtol=1e-3)


def test_relative(person):
    pairs = np.array([[2, 5], [7, 1]])
    pseudo = relative(person, pairs)
    assert_allclose(pseudo.joints[:, 1], person.joints[:, 7] - person.joints[:, 1])
    assert (pseudo.layout, pseudo.fps, pseudo.n_joints) == (None, 30.0, 2)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("n_frames", [2, 5, 9, 63, 64, 65, 130, 200])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_derivatives_are_those_of_the_filter(n_frames, order, dtype):
    x = walk(n_frames, dtype=dtype)
    expected = gaussian_filter1d(np.float64(x - x[:1]), 1.0, axis=0, order=order, mode="nearest")
    answer = SIGNALS["velocity" if order == 1 else "acceleration"](SkeletonSequence(x))
    assert_allclose(
        answer, expected, rtol=0, atol=8 * np.finfo(dtype).eps * np.abs(x - x[:1]).max()
    )


@pytest.mark.parametrize("name", sorted(set(SIGNALS) - {"bone"}))
def test_signals_of_pairs_are_those_of_the_difference(person, name):
    pairs = np.array([[0, 1], [4, 2], [3, 14]])
    assert_allclose(
        pair_signal(name, person, pairs), SIGNALS[name](relative(person, pairs)), rtol=0, atol=1e-11
    )


def test_pairs_compare_the_directions_of_their_bones(person):
    bones = SIGNALS["bone"](person)
    assert_allclose(
        pair_signal("bone", person, np.array([[4, 2]]))[:, 0], bones[:, 4] - bones[:, 2]
    )


@pytest.mark.parametrize("name", SIGNALS)
def test_recordings_side_by_side_are_those_alone(name):
    X = [
        s.replace(fps=rate)
        for s, rate in zip(people((12, 1, 5, 30)), (30.0, None, 10.0, 25.0), strict=True)
    ]
    together = Frames.of(X, n_threads=3)
    for found, alone in zip(together.split(SIGNALS[name](together)), X, strict=True):
        np.testing.assert_array_equal(found, SIGNALS[name](alone))


def test_a_new_signal_is_one_entry(monkeypatch):
    from kerneton import SCK

    monkeypatch.setitem(
        SIGNALS, "speed", Signal(lambda frames: np.abs(SIGNALS["velocity"](frames)), scaled=True)
    )
    X = people((12, 9))
    for pairs in (False, True):
        kernel = SCK(signals=("position", "speed"), order=2, joints=[1, 5, 7], pairs=pairs).fit(X)
        assert kernel.scales_["speed"] > 0
        assert np.isfinite(kernel.transform(X)).all()
