from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from walks import people, walk, walks

from kerneton import Preprocess
from kerneton.data.layouts import FLORENCE_15, KINECT_20, MSR_20, Layout
from kerneton.data.sequence import SkeletonSequence, missing_joints
from kerneton.exceptions import DataError, ParameterError
from kerneton.prepare.poses import (
    bone_lengths,
    center,
    equal_bones,
    equal_size,
    face_front,
    facing,
    fill_gaps,
    mirror,
    resample,
    turn,
)

OFF = {"center": False, "bones": None}


def test_what_is_missing():
    x = walk(6)
    x[1] = 0  # a lost body
    x[2, 4, 1] = np.nan
    x[3, 5] = 0  # one joint at the origin is a joint
    confidence = np.ones((6, 15))
    confidence[4, 7] = 0
    confidence[5, 8] = np.nan
    missing = missing_joints(SkeletonSequence(x, confidence=confidence))
    expected = np.zeros((6, 15), dtype=bool)
    expected[1] = expected[2, 4] = expected[4, 7] = expected[5, 8] = True
    assert np.array_equal(missing, expected)
    assert not missing_joints(SkeletonSequence(np.zeros((3, 1, 3)))).any()


def test_fill_gaps():
    x = walk(7)
    missing = np.zeros((7, 15), dtype=bool)
    missing[2:4, 3] = missing[0, 5] = missing[6, 5] = True
    broken = np.where(missing[:, :, None], 1e6, x)
    filled = fill_gaps(broken, missing)
    assert_allclose(filled[~missing], x[~missing], rtol=0)
    assert_allclose(filled[2, 3], (2 * x[1, 3] + x[4, 3]) / 3)
    assert_allclose(filled[3, 3], (x[1, 3] + 2 * x[4, 3]) / 3)
    assert_allclose(filled[[0, 6], 5], x[[1, 5], 5])
    assert broken[2, 3, 0] == 1e6
    assert fill_gaps(x.astype(np.float32), missing).dtype == np.float32


@pytest.mark.parametrize("gaps", ["fill", "drop"])
def test_gaps_never_become_poses(gaps):
    x = walk(8)
    x[0] = x[3] = 0
    x[5, 6] = np.nan
    confidence = np.ones((8, 15))
    confidence[6, 2] = 0
    x[6, 2] = 1e6
    sequence = SkeletonSequence(x, confidence=confidence, label="bow", fps=30)
    (clean,) = Preprocess(gaps=gaps, **OFF).fit_transform([sequence])
    assert clean.n_frames == (8 if gaps == "fill" else 6)
    assert np.isfinite(clean.joints).all()
    assert np.abs(clean.joints).max() < 2
    assert clean.joints.any(axis=(1, 2)).all()
    assert clean.confidence is None
    assert clean.label == "bow"
    if gaps == "fill":
        assert_allclose(clean.joints[0], x[1])
        assert_allclose(clean.joints[3], (x[2] + x[4]) / 2)
    kept = {"fill": [1, 2, 4, 7], "drop": [0, 1, 2, 5]}[gaps]
    assert_allclose(clean.joints[kept], x[[1, 2, 4, 7]], rtol=0)
    assert_allclose(sequence.joints[0], 0)


def test_no_pose_or_a_joint_never_seen():
    lost = SkeletonSequence(np.zeros((5, 15, 3)), name="lost", layout=FLORENCE_15)
    x = walk(5)
    x[:, [4, 9]] = np.nan
    armless = SkeletonSequence(x, layout=FLORENCE_15)
    fitted = Preprocess().fit(people((5,)))
    with pytest.raises(
        DataError, match="recording 'lost' contains no pose: all 5 frames are missing or zero"
    ):
        fitted.transform([lost])
    with pytest.raises(DataError, match="recording #1 never contains left_elbow, left_hip"):
        fitted.transform([*people((5,)), armless])
    with pytest.raises(DataError, match="recording 'lost' contains no pose"):
        Preprocess().fit([lost])


def test_center():
    x = walk(5)
    assert_allclose(center(x, 2)[:, 2], 0)
    assert_allclose(np.diff(center(x, 2), axis=1), np.diff(x, axis=1))


@pytest.mark.parametrize("bones", ["reference", None])
@pytest.mark.parametrize(("joint", "place"), [(True, 2), ("head", 0), (5, 5), (0, 0)])
def test_centre_of_every_frame(bones, joint, place):
    out = Preprocess(center=joint, bones=bones).fit_transform(people((5, 7)))
    for sequence in out:
        assert_allclose(sequence.joints[:, place], 0, atol=1e-12)


def test_centre_without_a_layout():
    X = walks((4, 6), 5)
    assert_allclose(Preprocess(center=3, bones=None).fit_transform(X)[1].joints, center(X[1], 3))
    with pytest.raises(ParameterError, match="layout '5 joints' has no joint 'head'"):
        Preprocess(center="head", bones=None).fit_transform(X)
    for joint in (5, -1):
        with pytest.raises(ParameterError, match=f"has joints 0 to 4, got {joint}"):
            Preprocess(center=joint, bones=None).fit_transform(X)
    rootless = SkeletonSequence(walk(4, 3), layout=Layout("dots", "abc"), name="dots")
    (out,) = Preprocess(bones=None).fit_transform([rootless])
    middle = out.layout.root
    assert_allclose(out.joints, center(rootless.joints, middle))
    with pytest.raises(ParameterError, match="has no joint 'nose'"):
        Preprocess(center="nose").fit_transform(people((4,)))


def test_bones_get_their_reference_length_and_keep_their_direction():
    x, lengths = walk(6), np.linspace(0.1, 0.5, 14)
    out = equal_bones(x, FLORENCE_15, lengths)
    assert_allclose(out[:, FLORENCE_15.root], x[:, FLORENCE_15.root], rtol=0)
    for (parent, child), length in zip(FLORENCE_15.bones, lengths, strict=True):
        old, new = x[:, child] - x[:, parent], out[:, child] - out[:, parent]
        assert_allclose(np.linalg.norm(new, axis=1), length)
        assert_allclose(np.cross(old, new), 0, atol=1e-12)
        assert np.all((old * new).sum(axis=1) > 0)
    assert_allclose(equal_bones(out, FLORENCE_15, lengths), out, atol=1e-12)
    assert equal_bones(x.astype(np.float32), FLORENCE_15, lengths).dtype == np.float32


def test_bone_of_no_length():
    x = walk(3)
    parent, child = FLORENCE_15.bones[4]
    x[:, child] = x[:, parent]
    out = equal_bones(x, FLORENCE_15, np.full(14, 0.3))
    assert_allclose(out[:, child], out[:, parent])
    assert np.isfinite(out).all()


def test_reference_is_the_median_of_medians():
    X = people((5, 9, 4))
    fitted = Preprocess().fit(X)
    assert_allclose(
        fitted.reference_, np.median([bone_lengths(s.joints, FLORENCE_15) for s in X], axis=0)
    )
    new = fitted.transform(people((6,), seed=7))[0]
    assert_allclose(bone_lengths(new.joints, FLORENCE_15), fitted.reference_)
    given = Preprocess(reference=np.full(14, 0.25)).fit_transform(X)
    assert_allclose(bone_lengths(given[0].joints, FLORENCE_15), 0.25)
    with pytest.raises(
        ParameterError, match=r"reference must contain 14 bone lengths, got shape \(3,\)"
    ):
        Preprocess(reference=np.ones(3)).fit(X)
    assert not hasattr(Preprocess(bones=None).fit(X), "reference_")


def test_people_of_different_size_become_one():
    a = people((8,))[0]
    small = a.replace(joints=a.joints * 0.6 + [0.3, 0.1, 2.0])
    for bones in ("reference", "size"):
        fitted = Preprocess(bones=bones).fit([a])
        assert_allclose(
            fitted.transform([small])[0].joints, fitted.transform([a])[0].joints, atol=1e-12
        )


def test_equal_size_keeps_proportions_and_what_frames_do():
    a, b = people((8, 6))
    fitted = Preprocess(bones="size", center=False).fit([a, b])
    for s in (a, b):
        out = fitted.transform([s])[0].joints
        factor = out[0, 0, 0] / s.joints[0, 0, 0]
        assert_allclose(out, s.joints * factor, atol=1e-12)
        assert_allclose(bone_lengths(out, FLORENCE_15).sum(), fitted.reference_.sum())
    point = np.ones((4, 15, 3))
    assert (
        equal_size(point, FLORENCE_15, fitted.reference_) is point
    )  # a body without size has nothing to scale
    assert (
        equal_size(a.joints.astype(np.float32), FLORENCE_15, fitted.reference_).dtype == np.float32
    )


def test_mirror():
    confidence = np.random.default_rng(0).uniform(size=(5, 15))
    person = people((5,), confidence=confidence, label="wave")[0]
    seen = mirror(person)
    left, right = FLORENCE_15.index("left_wrist"), FLORENCE_15.index("right_wrist")
    assert_allclose(seen.joints[:, left], person.joints[:, right] * [-1, 1, 1])
    assert_allclose(seen.confidence[:, left], confidence[:, right])
    assert_allclose(seen.joints[:, 0], person.joints[:, 0] * [-1, 1, 1])
    assert seen.label == "wave"
    with pytest.raises(ParameterError, match="mirroring a recording needs a layout"):
        mirror(SkeletonSequence(walk(3)))
    assert (
        mirror(person.replace(joints=person.joints.astype(np.float32))).joints.dtype == np.float32
    )


@pytest.mark.parametrize("angle", [0.3, -2.0, np.pi])
def test_turn(angle):
    x = walk(4)
    turned = turn(x, angle)
    assert_allclose(turned[..., 1], x[..., 1])
    assert_allclose(np.hypot(turned[..., 0], turned[..., 2]), np.hypot(x[..., 0], x[..., 2]))
    assert_allclose(turn(turned, -angle), x, atol=1e-12)
    assert_allclose(turn(x, np.full(4, angle)), turned, atol=1e-12)
    assert turn(x.astype(np.float32), angle).dtype == np.float32


@pytest.mark.parametrize("layout", [FLORENCE_15, KINECT_20], ids=lambda layout: layout.name)
@pytest.mark.parametrize("per_frame", [False, True])
@pytest.mark.parametrize("angle", [0.4, -1.7, 3.0])
def test_facing_turns_with_the_body(layout, per_frame, angle):
    x = walk(9, len(layout.joints))
    before, after = (
        facing(x, layout, per_frame=per_frame),
        facing(turn(x, angle), layout, per_frame=per_frame),
    )
    assert np.shape(before) == ((9,) if per_frame else ())
    assert_allclose(np.exp(1j * (after - before)), np.exp(1j * angle), atol=1e-6)
    front = face_front(x, layout, per_frame=per_frame)
    assert_allclose(face_front(turn(x, angle), layout, per_frame=per_frame), front, atol=1e-6)
    assert_allclose(np.exp(1j * facing(front, layout, per_frame=per_frame)), 1, atol=1e-6)


def test_facing_of_a_frame_looks_front():
    x = face_front(walk(5), FLORENCE_15, per_frame=True)
    across = 0
    for part in ("hip", "shoulder"):
        line = x[:, FLORENCE_15.index(f"right_{part}")] - x[:, FLORENCE_15.index(f"left_{part}")]
        across = across + line[:, [0, 2]] / np.linalg.norm(line[:, [0, 2]], axis=1, keepdims=True)
    assert_allclose(across[:, 1], 0, atol=1e-12)
    assert np.all(across[:, 0] > 0)


def test_a_few_bad_frames_do_not_turn_the_body():
    x = np.repeat(walk(1), 20, axis=0)
    expected = facing(x, FLORENCE_15)
    x[[3, 11, 17]] = turn(x[[3, 11, 17]], 2.5)
    assert abs(facing(x, FLORENCE_15) - expected) < 0.02


def test_facing_without_hips_and_shoulders():
    wrists = Layout("arms", ["left_wrist", "right_wrist"])
    x = walk(3, 2)
    assert_allclose(
        facing(turn(x, 0.4), wrists, per_frame=True),
        facing(x, wrists, per_frame=True) + 0.4,
        atol=1e-12,
    )
    with pytest.raises(ParameterError, match="layout 'dots' has no left and right joints"):
        facing(x, Layout("dots", "ab"))
    assert_allclose(facing(np.ones((3, 15, 3)), FLORENCE_15), 0)  # no line at all: left as it is


@pytest.mark.parametrize("option", ["sequence", "frame", None])
def test_facing_of_recordings(option):
    person = people((9,))[0]
    turned = person.replace(joints=turn(person.joints, 1.1))
    fitted = Preprocess(facing=option).fit([person])
    a, b = fitted.transform([person, turned])
    if option is None:
        assert_allclose(turn(a.joints, 1.1), b.joints, atol=1e-9)
    else:
        assert_allclose(a.joints, b.joints, atol=1e-6)


@pytest.mark.parametrize("n_frames", [1, 2, 5, 9, 30])
@pytest.mark.parametrize("n_new", [1, 2, 9, 17])
def test_resample(n_frames, n_new):
    x = walk(n_frames)
    out = resample(x, n_new)
    at = np.linspace(0, n_frames - 1, n_new)
    expected = np.stack([np.interp(at, np.arange(n_frames), x[:, 3, a]) for a in range(3)], axis=1)
    assert_allclose(out[:, 3], expected, atol=1e-12)
    assert resample(x.astype(np.float32), n_new).dtype == np.float32
    if n_new == n_frames:
        assert_allclose(out, x)


def test_resampled_recordings_keep_their_speed():
    """A body that crosses the room at 2 m/s does so at any frame rate."""
    from kerneton.kernels.signals import SIGNALS

    x = np.zeros((61, 15, 3)) + np.arange(61)[:, None, None] * (2 / 30)
    (out,) = Preprocess(n_frames=31, **OFF).fit_transform([SkeletonSequence(x + 1, fps=30.0)])
    assert out.fps == 15.0
    assert_allclose(SIGNALS["velocity"](out)[5:-5], 2, rtol=1e-3)
    (unknown,) = Preprocess(n_frames=16, **OFF).fit_transform([SkeletonSequence(x + 1)])
    assert unknown.fps is None
    (still,) = Preprocess(n_frames=16, **OFF).fit_transform([SkeletonSequence(x[:1] + 1, fps=30.0)])
    assert still.fps == 30.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precision_is_kept(dtype):
    X = [s.replace(joints=s.joints.astype(dtype)) for s in people((5, 8))]
    X[0].joints[2, 3] = np.nan
    for options in (
        {},
        {"facing": "frame", "n_frames": 12},
        {"facing": "sequence", "gaps": "drop"},
    ):
        out = Preprocess(**options).fit_transform(X)
        assert {s.joints.dtype for s in out} == {np.dtype(dtype)}
        assert all(np.isfinite(s.joints).all() for s in out)


def test_one_frame():
    (out,) = Preprocess(facing="sequence", n_frames=4).fit_transform(people((1,)))
    assert out.n_frames == 4
    assert_allclose(out.joints, out.joints[:1].repeat(4, axis=0))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"gaps": "ignore"}, "gaps must be one of 'fill', 'drop', got 'ignore'"),
        ({"bones": "mine"}, "bones must be one of 'reference', 'size', None, got 'mine'"),
        ({"facing": True}, "facing must be one of 'sequence', 'frame', None, got True"),
        ({"n_frames": 0}, "n_frames must be a positive whole number, got 0"),
        ({"n_frames": 2.5}, "n_frames must be a positive whole number"),
    ],
)
def test_parameters(parameters, message):
    with pytest.raises(ParameterError, match=message):
        Preprocess(**parameters).fit(people((4,)))


def test_recordings_are_checked():
    fitted = Preprocess().fit([SkeletonSequence(walk(4, 20), layout=KINECT_20)])
    with pytest.raises(DataError, match=r"lacks hip_center, .* where .kinect20. was expected"):
        fitted.transform(people((4,)))
    with pytest.raises(DataError, match=r"another order .layout 'msr20', expected 'kinect20'"):
        fitted.transform([SkeletonSequence(walk(4, 20), layout=MSR_20)])
    with pytest.raises(DataError, match="is infinite at frame 0"):
        fitted.transform([SkeletonSequence(np.full((4, 20, 3), np.inf), layout=KINECT_20)])


def test_real_recordings(data_home):
    from kerneton.datasets import load_msr_action3d

    data = load_msr_action3d(data_home)
    lost = [s for s in data if missing_joints(s).any()]
    assert lost  # the published files have frames of zeros
    out = Preprocess(facing="sequence").fit(data[:100]).transform(lost)
    for sequence in out:
        assert np.isfinite(sequence.joints).all()
        assert np.abs(sequence.joints).max() < 3
