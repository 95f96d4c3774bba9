"""Recordings side by side: the features of preprocessing and kernel recording by recording."""

from __future__ import annotations

import numpy as np
import pytest

from kerneton import Branch, CenterNormalize, Preprocess, make_actions, make_recognizer
from kerneton.data.layouts import FLORENCE_15, HAND_21, Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError
from kerneton.recognize.encoder import Encoder
from kerneton.recognize.presets import standard_cues
from kerneton.recognize.search import with_parameters

CHANGES = {
    "as it is": {},
    "to the front": {"preprocess__facing": "sequence"},
    "each frame to the front": {"preprocess__facing": "frame"},
    "of order 3": {"kernel__order": 3, "kernel__n_pivots_joint": 3},
    "without power": {"kernel__power": 1.0},
    "with travel": {"kernel__signals": ("position", "travel")},
    "resampled": {"preprocess__n_frames": 12},
    "equal bones": {"preprocess__bones": "reference"},
    "without lost frames": {"preprocess__gaps": "drop"},
    "own precision": {"preprocess__dtype": None},
    "where it is": {"preprocess__center": False},
    "with reach": {"preprocess__reach": 1.0},
}


def recordings(dtype=np.float64, layout=FLORENCE_15):
    """Of unlike lengths, one of a single frame, some with gaps, lost frames and confidence, one
    without depth.
    """
    rng, J = np.random.default_rng(4), len(layout.joints)
    made = []
    for i, n in enumerate((30, 1, 9, 17, 40, 9, 12, 3)):
        x = rng.normal(size=(1, J, 3)) * 0.4 + rng.normal(size=(n, J, 3)).cumsum(0) * 0.03
        confidence = None
        if i == 3:
            x[2:4], x[9, 2] = 0.0, np.nan
        if i == 4:
            confidence = np.ones((n, J))
            confidence[5:8, 3] = 0
        if i == 6:
            x[..., 2] = 0
        fps = None if i % 2 else 30.0
        made.append(
            SkeletonSequence(x.astype(dtype), layout=layout, confidence=confidence, fps=fps)
        )
    return made


@pytest.mark.parametrize("name", list(standard_cues()))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("change", CHANGES)
def test_equals_recording_by_recording(name, dtype, change):
    if change == "with travel" and name == "pairs_force":
        pytest.skip("a cue of three signals")
    data = recordings(dtype)
    cue = with_parameters(standard_cues()[name], CHANGES[change])
    together = Encoder(data, n_threads=2).encoded(cue)
    step = together.preprocess
    alone = [step.transform([s])[0] for s in data]
    features = np.concatenate([together.kernel.transform([s]) for s in alone])
    gap = np.linalg.norm(together.features - features, axis=1)
    assert (gap <= 1e-5 * np.linalg.norm(features, axis=1)).all()
    assert together.features.dtype == (dtype if change == "own precision" else np.float32)


@pytest.mark.parametrize("mirror", [False, True])
def test_a_recording_does_not_depend_on_its_company(mirror):
    data = make_actions(["wave", "clap", "kick"], n_subjects=3, n_takes=1)
    model = make_recognizer(mirror=mirror, n_jobs=2).fit(data, data.labels)
    alone = np.concatenate([model.features([s]) for s in data])
    np.testing.assert_array_equal(model.features(data), alone)


def test_a_body_of_two_and_a_hand():
    pair = Layout(
        "pair",
        ["a_root", "a_hand", "b_root", "b_hand"],
        bones=[(0, 1), (2, 3)],
    )
    for layout in (pair, HAND_21):
        cue = with_parameters(standard_cues()["joints"], {"preprocess__facing": "sequence"})
        data = recordings(np.float64, layout)
        together = Encoder(data).encoded(cue)
        alone = np.concatenate(
            [together.kernel.transform(together.preprocess.transform([s])) for s in data]
        )
        np.testing.assert_allclose(together.features, alone, atol=1e-6)


class Doubled:
    """A preprocessing of one's own, without Frames."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return [s.replace(joints=s.joints * 2) for s in X]

    def get_params(self, deep=True):
        return {}


class Means:
    """A kernel of one's own, which wants recordings."""

    n_joints_in_, layout_ = 15, FLORENCE_15

    def fit_transform(self, X, y=None):
        return self.transform(X)

    def transform(self, X):
        assert all(isinstance(s, SkeletonSequence) for s in X)
        return np.stack([s.joints.mean(0).ravel() for s in X])

    def get_params(self, deep=True):
        return {}


def test_steps_of_ones_own():
    data = [s for s in recordings() if s.confidence is None and (s.joints.any(axis=(1, 2))).all()]
    own = Branch(Preprocess(), Means(), CenterNormalize())
    assert own.fit_transform(data).shape == (len(data), 45)
    assert own.transform(data).shape == (len(data), 45)
    plain, doubled = (
        Branch(step, standard_cues()["joints"].kernel.set_params(weighting=None))
        for step in (None, Doubled())
    )
    found = doubled.fit_transform(data)
    twice = [s.replace(joints=s.joints * 2) for s in data]
    np.testing.assert_array_equal(found, plain.fit_transform(twice))
    np.testing.assert_array_equal(doubled.transform(data), found)


def test_another_skeleton_is_refused():
    data = recordings()
    other = SkeletonSequence(np.ones((4, 21, 3)), layout=HAND_21, name="hand")
    for branch in (standard_cues()["joints"], Branch(None, standard_cues()["joints"].kernel)):
        sound = [data[0], data[1]]
        fitted = (
            Branch(branch.preprocess, branch.kernel).set_params(kernel__weighting=None).fit(sound)
        )
        with pytest.raises(DataError, match="recording 'hand'"):
            fitted.transform([data[0], other])


def test_a_gap_without_preprocessing_is_an_error():
    branch = Branch(None, standard_cues()["joints"].kernel.set_params(weighting=None))
    with pytest.raises(DataError, match=r"put kerneton\.Preprocess before this step"):
        branch.fit(recordings())
