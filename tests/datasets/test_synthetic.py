"""Generated actions: bodies that hold together, people who differ, sensors that err, and a task
worth its name.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from kerneton.data.layouts import KINECT_20
from kerneton.data.segments import segment_problems
from kerneton.datasets import load_dataset, make_actions
from kerneton.datasets._body import bend, keys
from kerneton.datasets.protocols import LeaveOneSubjectOut
from kerneton.datasets.synthetic import ACTIONS, make_background, make_subject, sense
from kerneton.exceptions import ParameterError

JOINT = {name: i for i, name in enumerate(KINECT_20.joints)}


@pytest.fixture(scope="module")
def clean():
    data = make_actions(noise=0, dropout=0, n_subjects=6, n_takes=2)
    for sequence in data:
        sequence.joints.setflags(write=False)
    return data


@pytest.fixture(scope="module")
def seen():
    return make_actions()


def of(data, label):
    return [s for s in data if s.label == label]


def test_what_is_made(seen):
    assert len(seen) == 14 * 8 * 3
    assert len(ACTIONS) >= 10
    assert {"draw circle", "draw X", "sit down", "bow", "drink", "answer phone"} <= set(ACTIONS)
    assert set(seen.labels) == set(ACTIONS)
    assert set(seen.subjects) == set("12345678")
    assert len({s.name for s in seen}) == len(seen)
    assert seen.name == "synthetic"
    assert seen.layout is KINECT_20
    assert seen[0].fps == 30
    assert seen[0].joints.dtype == np.float64
    assert len({s.n_frames for s in seen}) > 30
    assert len(make_actions(["bow"], n_subjects=1, n_takes=1)) == 1
    assert len(load_dataset("synthetic", n_subjects=1, n_takes=1)) == 14


def test_bones_keep_their_length(clean):
    for sequence in clean:
        parents, children = np.array(KINECT_20.bones).T
        lengths = np.linalg.norm(sequence.joints[:, children] - sequence.joints[:, parents], axis=2)
        assert_allclose(lengths, lengths[:1].repeat(len(lengths), 0), rtol=1e-9)
        assert lengths.min() > 0.02


def test_people_are_upright_metric_and_in_front_of_the_camera(clean):
    for sequence in of(clean, "wave"):
        first = sequence.joints[0]
        ankles = first[[JOINT["left_ankle"], JOINT["right_ankle"]], 1].mean()
        assert 1.1 < first[JOINT["head"], 1] - ankles < 1.9
        assert 1.5 < first[0, 2] < 3.5
        assert abs(first[0, 0]) < 1
        # facing the camera: the left is at smaller x, toes nearer than heels
        assert first[JOINT["left_shoulder"], 0] < first[JOINT["right_shoulder"], 0]
        assert first[JOINT["left_foot"], 2] < first[JOINT["left_ankle"], 2]


def test_motion_is_smooth(clean):
    for sequence in clean:
        speed = np.linalg.norm(np.diff(sequence.joints, axis=0), axis=2) * sequence.fps
        assert speed.max() < 14, sequence.name  # metres a second: a throwing hand
    # at eight times the rate steps are an eighth as long: no jumps hide between frames
    fine = make_actions(
        ["throw", "answer phone", "draw X"], noise=0, dropout=0, n_subjects=6, fps=240
    )
    for sequence in fine:
        assert np.linalg.norm(np.diff(sequence.joints, axis=0), axis=2).max() < 14 / 200, (
            sequence.name
        )


def test_feet_stay_on_the_ground(clean):
    for sequence in clean:
        ankles = sequence.joints[:, [JOINT["left_ankle"], JOINT["right_ankle"]]]
        if sequence.label == "kick":
            assert ankles[..., 1].max() - ankles[0, :, 1].max() > 0.1
        else:
            assert np.ptp(ankles, axis=0).max() < 0.06


def test_actions_do_what_their_names_say(clean):
    def nearest(sequence, a, b):
        return np.linalg.norm(sequence.joints[:, JOINT[a]] - sequence.joints[:, JOINT[b]], axis=1)

    for label in ("drink", "answer phone"):
        for s in of(clean, label):
            assert (
                min(nearest(s, "left_hand", "head").min(), nearest(s, "right_hand", "head").min())
                < 0.32
            )
    for label in ("clap", "pass hand to hand"):
        for s in of(clean, label):
            assert nearest(s, "left_hand", "right_hand").min() < 0.3
    for s in of(clean, "sit down"):
        assert s.joints[0, 0, 1] - s.joints[-1, 0, 1] > 0.25
    for s in of(clean, "stand up"):
        assert s.joints[-1, 0, 1] - s.joints[0, 0, 1] > 0.25
    for s in of(clean, "bow"):
        head = s.joints[:, JOINT["head"], 1]
        assert head[0] - head.min() > 0.08
        assert np.ptp(s.joints[:, 0, 1]) < 0.1
    for s in of(clean, "pick up"):
        hands = s.joints[:, [JOINT["left_hand"], JOINT["right_hand"]], 1]
        assert hands.min() < s.joints[0, JOINT["left_knee"], 1]
    for s in of(clean, "wave"):
        hands = s.joints[:, [JOINT["left_hand"], JOINT["right_hand"]], 1]
        assert hands.max() > s.joints[0, JOINT["shoulder_center"], 1]


def test_people_differ():
    people = [make_subject(np.random.default_rng([0, i])) for i in range(40)]
    assert 0.05 < np.mean([p.left_handed for p in people]) < 0.5
    for values in (
        [p.body.arm for p in people],
        [p.body.leg / p.body.arm for p in people],
        [p.tempo for p in people],
        [p.amplitude for p in people],
    ):
        assert np.std(values) > 0.02 * np.mean(values)
    assert np.ptp([p.facing for p in people]) > np.deg2rad(40)
    # the hand that moves most: both kinds of people are among the recordings
    data = make_actions(["throw"], n_subjects=16, n_takes=1, noise=0, dropout=0)
    swing = [
        np.ptp(s.joints[:, [JOINT["left_hand"], JOINT["right_hand"]]], axis=0).max(-1) for s in data
    ]
    assert set(np.argmax(swing, axis=1)) == {0, 1}


def test_seed():
    one = make_actions(["wave", "kick"], n_subjects=2, n_takes=2, random_state=3)
    same = make_actions(["wave", "kick"], n_subjects=2, n_takes=2, random_state=3)
    other = make_actions(["wave", "kick"], n_subjects=2, n_takes=2, random_state=4)
    for a, b in zip(one, same, strict=True):
        assert_array_equal(a.joints, b.joints)
        assert_array_equal(a.confidence, b.confidence)
    assert any(a.joints.shape != b.joints.shape for a, b in zip(one, other, strict=True))
    # asking for more, or for other actions, leaves a recording as it was
    more = {s.name: s for s in make_actions(n_subjects=3, n_takes=3, random_state=3)}
    for a in one:
        assert_array_equal(a.joints, more[a.name].joints)
    drawn = make_actions(["wave"], n_subjects=1, random_state=np.random.default_rng(5))
    again = make_actions(["wave"], n_subjects=1, random_state=np.random.default_rng(5))
    assert_array_equal(drawn[0].joints, again[0].joints)
    fresh = [make_actions(["wave"], n_subjects=1, random_state=None)[0].joints for _ in range(2)]
    assert not np.array_equal(*fresh)


def test_takes_of_one_person_are_alike_but_not_equal(clean):
    a, b = of(clean, "draw X")[:2]
    assert a.subject == b.subject
    assert a.joints.shape != b.joints.shape or not np.allclose(a.joints, b.joints)


@pytest.mark.parametrize("noise", [0.0, 0.005, 0.03])
def test_noise_is_as_asked(noise):
    still = np.zeros((400, 20, 3))
    seen = sense(still, noise, 0.0, 30.0, np.random.default_rng(0))
    assert seen.confidence is None
    joints = seen.joints
    assert_allclose(joints.std(), noise, rtol=0.05)
    if noise:
        lag = np.mean(joints[1:] * joints[:-1]) / np.mean(joints**2)
        assert 0.3 < lag < 0.5  # part of it lasts


@pytest.mark.parametrize("dropout", [0.01, 0.1])
def test_dropouts_are_nan_with_no_confidence(dropout):
    data = make_actions(n_subjects=4, dropout=dropout)
    lost = [np.isnan(s.joints).any(2) for s in data]
    for s, gone in zip(data, lost, strict=True):
        assert_array_equal(gone, s.confidence == 0)
        assert_array_equal(gone, np.isnan(s.joints).all(2))
        assert not gone.all(0).any()  # every joint is seen at some time
    share = np.concatenate(lost).mean()
    assert 0.6 * dropout < share < 1.2 * dropout
    assert all(s.confidence is None for s in make_actions(["bow"], n_subjects=1, dropout=0))


def test_the_mean_pose_is_not_enough(seen):
    """A linear SVM on the time-averaged pose is far above chance and far from done, across
    subjects.
    """
    poses = np.stack([np.nanmean(s.joints - s.joints[:, :1], axis=0).ravel() for s in seen])
    model = make_pipeline(StandardScaler(), LinearSVC(C=0.1, max_iter=20000))
    told = cross_val_predict(
        model, poses, seen.labels, groups=seen.subjects, cv=LeaveOneSubjectOut()
    )
    accuracy = np.mean(told == seen.labels)
    assert 0.4 < accuracy < 0.85  # chance is 0.07
    # the pairs meant to be mistaken for each other are
    pairs = [("draw circle", "draw X"), ("sit down", "stand up"), ("drink", "answer phone")]
    for a, b in pairs:
        mistaken = ((seen.labels == a) & (told == b)) | ((seen.labels == b) & (told == a))
        assert mistaken.sum() >= 3, (a, b)


def test_time_helps(seen):
    """Eight frames in order tell more than their mean, so there is motion to learn."""

    def frames(sequence):
        x = sequence.joints - np.nanmean(sequence.joints[:, :1], axis=0)
        x = np.where(np.isnan(x), np.nanmean(x, axis=0), x)
        return x[np.linspace(0, len(x) - 1, 8).astype(int)].ravel()

    model = make_pipeline(StandardScaler(), LinearSVC(C=0.01, max_iter=20000))
    features = np.stack([frames(s) for s in seen])
    told = cross_val_predict(
        model, features, seen.labels, groups=seen.subjects, cv=LeaveOneSubjectOut()
    )
    assert np.mean(told == seen.labels) > 0.75


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"actions": ["wave", "fly"]}, "action must be one of .*got 'fly'"),
        ({"actions": "wave"}, "a list of names, got the text 'wave'"),
        ({"actions": []}, "at least one action"),
        ({"actions": ["wave", "wave"]}, "none twice"),
        ({"n_subjects": 0}, "n_subjects must be a positive whole number, got 0"),
        ({"n_takes": 1.5}, "n_takes must be a positive whole number"),
        ({"noise": -0.1}, "noise must be a number in"),
        ({"dropout": 0.9}, "dropout must be a number in"),
        ({"fps": 0}, "fps must be a positive number"),
        ({"random_state": -1}, "random_state must be"),
        ({"random_state": "a"}, "random_state must be"),
    ],
)
def test_wrong_parameters(options, message):
    with pytest.raises(ParameterError, match=message):
        make_actions(**options)


def test_minimum_jerk_passes_its_keys_at_rest():
    phase = np.linspace(0, 1, 1001)
    curve = keys(phase, [0.0, 0.4, 1.0], [[0.0, 1.0], [2.0, 1.0], [-1.0, 0.0]])
    assert_allclose(curve[[0, 400, 1000]], [[0, 1], [2, 1], [-1, 0]], atol=1e-12)
    speed = np.gradient(curve, phase, axis=0)
    assert_allclose(speed[[0, 400, 1000]], 0, atol=0.02)


def test_limbs_reach_what_they_can():
    rng = np.random.default_rng(0)
    start, target = rng.normal(size=(2, 50, 3))
    pole = rng.normal(size=(50, 3))
    middle, end = bend(start, target, 0.8, 0.6, pole)
    assert_allclose(np.linalg.norm(middle - start, axis=1), 0.8)
    assert_allclose(np.linalg.norm(end - middle, axis=1), 0.6)
    distance = np.linalg.norm(target - start, axis=1)
    within = (distance < 1.39) & (distance > 0.3)
    assert within.sum() > 5
    assert_allclose(end[within], target[within])
    along = (end - start) / np.linalg.norm(end - start, axis=1, keepdims=True)
    aside = middle - start - ((middle - start) * along).sum(1, keepdims=True) * along
    assert np.all((aside * pole).sum(1) > 0)


def test_uncut_recordings_hold_each_action_once_and_background():
    takes = make_actions(
        ["wave", "kick", "bow"], n_subjects=2, n_takes=2, uncut=True, random_state=3
    )
    assert len(takes) == 4
    for take in takes:
        assert sorted(s.label for s in take.segments) == ["bow", "kick", "wave"]
        assert segment_problems(take.segments, take.n_frames) == []
        share = sum(s.n_frames for s in take.segments) / take.n_frames
        assert 0.2 < share < 0.7
        steps = np.linalg.norm(np.diff(take.joints, axis=0), axis=2)
        assert np.nanmax(steps) < 0.6  # metres per frame: no leaps where pieces join
    assert [s.label for s in takes[0].segments] != [s.label for s in takes[1].segments]


def test_asking_for_more_uncut_recordings_leaves_the_others_as_they_are():
    few = make_actions(["wave", "kick"], n_subjects=1, n_takes=1, uncut=True)
    more = make_actions(["wave", "kick"], n_subjects=2, n_takes=2, uncut=True)
    np.testing.assert_array_equal(few[0].joints, more[0].joints)
    assert few[0].segments == more[0].segments


def test_background_has_the_length_that_was_asked_for():
    quiet = make_background(120.0, n_subjects=2)
    total = sum(take.duration for take in quiet)
    assert 80 < total < 170
    assert all(take.segments == () for take in quiet)
