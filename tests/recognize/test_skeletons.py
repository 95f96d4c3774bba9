"""Ready-made recognisers on every skeleton: each built-in layout, 2D, two bodies, markers, one
joint, none at all.
"""

from __future__ import annotations

import dataclasses
import logging

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from samples import split_bodies

import kerneton
from kerneton import SCK, SkeletonSequence, make_actions, make_recognizer, pair
from kerneton.data.layouts import COCO_17, HAND_21, KINECT_20, LAYOUTS, Layout
from kerneton.exceptions import ParameterError
from kerneton.prepare import skeleton
from kerneton.prepare.preprocess import SkeletonKind
from kerneton.recognize.other_skeletons import suited
from kerneton.recognize.presets import _search, standard_cues, variants

MARKERS = [f"{side}{n:02d}" for n in range(18) for side in "LR"] + ["C7", "T10", "CLAV"]
FIVE = ["joints", "pairs", "pairs_force", "bones_front", "directions_front"]


def recordings(n_joints, layout=None, *, scale=1.0, flat=False, bodies=1, n_takes=2):
    """Two actions of three subjects: in one the last joint goes round, in the other it goes to and
    fro.
    """
    out = []
    rest = np.random.default_rng(0).uniform(-0.6, 0.6, size=(n_joints, 3))
    for subject in range(3):
        for take in range(n_takes):
            for label in ("round", "fro"):
                rng = np.random.default_rng([subject, take, len(label)])
                t = np.linspace(0, 2 * np.pi, 14 + take)
                path = np.stack([np.sin(t), np.cos(t) * (label == "round"), 0 * t], axis=1)
                x = rest + rng.normal(scale=0.02, size=(len(t), n_joints, 3))
                x[:, -1] += 0.4 * path
                depth = np.asarray([1, 1, 0 if flat else 1]) * scale
                x = x + [0.3, 1.0, 2.5]
                one = SkeletonSequence(
                    x * depth, layout=layout, label=label, subject=f"s{subject}", fps=30
                )
                other = one.replace(joints=(x[::-1] * [-1, 1, 1] + [1.0, 0, 0.5]) * depth)
                out.append(one if bodies == 1 else pair(one, other))
    return out


CASES = {
    **{
        name: {"n_joints": len(layout.joints), "layout": layout} for name, layout in LAYOUTS.items()
    },
    "2D in pixels": {"n_joints": 17, "layout": COCO_17, "flat": True, "scale": 320.0},
    "39 markers without bones": {"n_joints": 39, "layout": Layout("vicon", MARKERS)},
    "39 points without names": {"n_joints": 39},
    "joint names alone": {"n_joints": 5, "layout": Layout("mine", ["a", "b", "c", "d", "e"])},
    "one joint": {"n_joints": 1, "layout": Layout("one", ["pen"])},
    "one joint without a layout, in pixels": {"n_joints": 1, "scale": 640.0, "flat": True},
    "two bodies": {"n_joints": 15, "layout": LAYOUTS["openni15"], "bodies": 2},
    "two hands in millimetres": {"n_joints": 21, "layout": HAND_21, "bodies": 2, "scale": 100.0},
    "two bodies in 2D": {"n_joints": 17, "layout": COCO_17, "bodies": 2, "flat": True},
}


@pytest.mark.parametrize("preset", [None, "paper"])
@pytest.mark.parametrize("case", CASES)
def test_every_skeleton(case, preset, tmp_path):
    data = recordings(**CASES[case])
    labels = np.asarray([s.label for s in data])
    model = make_recognizer(preset).fit(data[4:], labels[4:])  # the first subject is new
    found = model.predict(data[:4])
    assert_array_equal(found, labels[:4])
    if preset is None:
        used = set(model.branches_)
        assert used == ({"travel"} if "one joint" in case else {*FIVE} | (used & {"travel"}))
    back = kerneton.load(model.save(tmp_path / "model.kern"))
    assert_array_equal(back.decision_function(data[:4]), model.decision_function(data[:4]))


@pytest.mark.parametrize("preset", [None, "paper"])
def test_nothing_is_spent_on_depth_in_2d(preset):
    flat, deep = (recordings(17, COCO_17, flat=flat) for flat in (True, False))
    models = [
        make_recognizer(preset, mirror=False).fit(data, [s.label for s in data])
        for data in (flat, deep)
    ]
    for name, branch in models[0].branches_.items():
        assert branch.kernel_.n_axes_ == 2
        if name in models[1].branches_:
            assert models[1].branches_[name].kernel_.n_axes_ == 3
            assert (
                branch.kernel_.block_sizes_.sum()
                < models[1].branches_[name].kernel_.block_sizes_.sum()
            )
    if preset is None:
        # there is one way to look at a picture
        assert list(models[0].variant_scores_) == ["not turned"]
        assert "travel" in models[0].branches_
        assert "travel" not in models[1].branches_


def test_flat_features_are_those_of_all_axes_less_the_constant_ones():
    """With a linear kernel the z pivots add a constant: dot products differ by it alone."""
    flat = recordings(6, Layout("mine", list("abcdef")), flat=True)
    # as good as flat, and not known to be
    deep = [s.replace(joints=s.joints + [0, 0, 1e-30]) for s in flat]
    options = {"order": 1, "power": 1.0, "joint_weight": 0.5}
    a, b = (SCK(**options).fit(X) for X in (flat, deep))
    assert (a.n_axes_, b.n_axes_) == (2, 3)
    inside, outside = (k.transform(flat).astype(float) for k in (a, b))
    apart = outside @ outside.T - inside @ inside.T
    assert_allclose(apart, apart[0, 0], rtol=1e-9)


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("flat", [False, True])
def test_persons_in_either_order(pairs, order, flat):
    """Features with mirror="bodies" do not tell who comes first, as long as recordings are turned
    by the line.
    """
    data = recordings(15, LAYOUTS["openni15"], bodies=2, flat=flat)[:4]
    other = [pair(*split_bodies(s)[::-1]) for s in data]
    facing = None if flat else "sequence"
    pose = kerneton.Preprocess(bones="size", facing=facing).fit(data)
    options = {"order": order, "pairs": pairs, "joints": "key", "signals": ("position", "velocity")}
    options |= {"n_pivots_joint": 3, "joint_weight": 0.3, "power": 0.5}
    kept, either = (
        SCK(**options).fit(pose.transform(data)),
        SCK(**options, mirror="bodies").fit(pose.transform(data)),
    )
    X, Z = (pose.transform(part) for part in (data, other))
    if flat:  # there is no turning: half a turn shows as x in the other direction
        Z = [s.replace(joints=s.joints * [-1, 1, 1]) for s in Z]
    a, b = either.transform(X), either.transform(Z)
    assert_allclose(a, b, atol=1e-6 * np.abs(a).max())
    assert np.abs(kept.transform(X) - kept.transform(Z)).max() > 1e-3 * np.abs(a).max()


def test_exchanging_needs_two_like_bodies():
    hand = recordings(21, HAND_21)
    with pytest.raises(
        ParameterError, match="mirror='bodies' needs two bodies with the same joints"
    ):
        SCK(order=2, mirror="bodies").fit(hand)
    with pytest.raises(
        ParameterError, match="mirror must be one of False, True, 'bodies', 'partly'"
    ):
        SCK(order=2, mirror="left").fit(hand)


def test_what_is_tried_on_two_persons():
    _, search = suited(standard_cues(), _search(None, "auto", "auto"), SkeletonKind(30, bodies=2))
    assert [
        (name, v["kernel__mirror"])
        for name, v in search.variants.items()
        if name.startswith("free")
    ] == [
        ("free", False),
        ("free, mirrored", True),
        ("free, either order", "bodies"),
    ]
    assert len(search.variants) == 6
    assert set(search.required_gain) == {
        name for name in search.variants if name.startswith("fixed")
    }
    _, search = suited(standard_cues(), _search(None, "free", False), SkeletonKind(30, bodies=2))
    assert list(search.variants) == ["free"]
    hand = SkeletonKind(21, turns="")
    _, search = suited(standard_cues(), _search(None, "auto", "auto"), hand)
    assert search.variants == {
        "not turned": {"kernel__mirror": False},
        "not turned, mirrored": {"kernel__mirror": True},
        "not turned, partly mirrored": {"kernel__mirror": "partly"},
    }
    assert (
        suited(standard_cues(), search, hand)[1].variants == search.variants
    )  # as a chosen variant comes again
    assert variants("fixed", "bodies") == {"fixed, either order": {"kernel__mirror": "bodies"}}


def test_one_body_in_space_is_left_as_it_is():
    cues, search = standard_cues(), _search(None, "auto", "auto")
    branches, same = suited(cues, search, SkeletonKind(20))
    assert branches == cues
    assert same.variants == search.variants


def test_bones_in_another_order_change_nothing():
    data = make_actions(["wave", "kick"], n_subjects=3, n_takes=1)
    bones = [(a, b) for a, b in reversed(KINECT_20.bones)]
    shuffled = Layout("mine", KINECT_20.joints, bones, "hip_center", {"key": KINECT_20.sets["key"]})
    other = [s.replace(layout=shuffled) for s in data]
    a, b = (make_recognizer(view="free", mirror=False).fit(X, data.labels) for X in (data, other))
    assert_allclose(b.decision_function(other), a.decision_function(data), atol=1e-3)


def test_layouts_without_bones(caplog):
    """Bones are found, which is told once, and no cue is left out."""
    skeleton._warn.cache_clear()
    data = make_actions(["wave", "clap", "kick"], n_subjects=3, n_takes=2)
    layout = dataclasses.replace(data[0].layout, name="dots", bones=())
    dots = [s.replace(layout=layout) for s in data]
    model = make_recognizer(view="free", mirror=False)
    with caplog.at_level(logging.WARNING):
        model.fit(dots, data.labels, groups=data.subjects)
    assert list(model.branches_) == FIVE
    assert caplog.messages == [
        "layout 'dots' has no bones; bones were estimated from joints that keep their distance"
    ]
    assert model.predict(dots[:2]).shape == (2,)
