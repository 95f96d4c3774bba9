"""Recordings end to end in compiled passes: the features of preprocessing and kernel recording by recording."""

from __future__ import annotations

import numpy as np
import pytest

from kerneton import make_actions, make_recognizer
from kerneton.data.layouts import FLORENCE_15
from kerneton.data.sequence import SkeletonSequence
from kerneton.recognize import branch, encoder
from kerneton.recognize.encoder import Encoder
from kerneton.recognize.presets import standard_cues
from kerneton.recognize.search import with_parameters

compiled = pytest.importorskip("kerneton.recognize.compiled")


def recordings(dtype=np.float64):
    """Of unlike lengths, one of a single frame, some with gaps, lost frames and confidence, one without depth."""
    rng = np.random.default_rng(4)
    made = []
    for i, n in enumerate((30, 1, 9, 17, 40, 9, 12, 3)):
        x = rng.normal(size=(1, 15, 3)) * 0.4 + rng.normal(size=(n, 15, 3)).cumsum(0) * 0.03
        confidence = None
        if i == 3:
            x[2:4], x[9, 4] = 0.0, np.nan
        if i == 4:
            confidence = np.ones((n, 15))
            confidence[5:8, 3] = 0
        if i == 6:
            x[..., 2] = 0
        fps = None if i % 2 else 30.0
        made.append(SkeletonSequence(x.astype(dtype), layout=FLORENCE_15, confidence=confidence, fps=fps))
    return made


@pytest.mark.parametrize("name", list(standard_cues()))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("facing", [None, "sequence"])
def test_equals_the_plain_path(monkeypatch, name, dtype, facing):
    data = recordings(dtype)
    cue = with_parameters(standard_cues()[name], {"preprocess__facing": facing})
    fast = Encoder(data, n_threads=2).encoded(cue)
    monkeypatch.setattr(encoder, "load", lambda module: None)
    plain = Encoder(data).encoded(cue)
    apart = np.linalg.norm(fast.features - plain.features, axis=1)
    assert (apart <= 1e-4 * np.linalg.norm(plain.features, axis=1)).all()
    assert fast.features.dtype == plain.features.dtype == np.float32
    np.testing.assert_allclose(fast.preprocess.reference_, plain.preprocess.reference_, rtol=1e-5)
    assert fast.preprocess.reference is None
    np.testing.assert_allclose(
        list(fast.kernel.scales_.values()), list(plain.kernel.scales_.values()), rtol=1e-5
    )


@pytest.mark.parametrize("mirror", [False, True])
def test_a_recogniser_answers_as_on_the_plain_path(monkeypatch, mirror):
    data = make_actions(["wave", "clap", "kick"], n_subjects=3, n_takes=1)
    model = make_recognizer(mirror=mirror, n_jobs=2).fit(data, data.labels)
    used = []
    together = compiled.encode_together
    monkeypatch.setattr(compiled, "encode_together", lambda *a: used.append(1) or together(*a))
    fast = model.decision_function(data)
    alone = np.concatenate([model.features([s]) for s in data])
    np.testing.assert_array_equal(model.features(data), alone)  # whatever stands beside a recording
    assert len(used) == 2 + len(data)
    monkeypatch.setattr(branch, "load", lambda module: None)
    np.testing.assert_allclose(model.decision_function(data), fast, atol=2e-5)


def test_what_it_does_not_know_takes_the_plain_path():
    data = recordings()
    cues = standard_cues()
    known = cues["pairs"]
    assert compiled.knows(known.preprocess, known.kernel, FLORENCE_15)
    for change in (
        {"kernel__order": 3},
        {"kernel__power": 1.0},
        {"kernel__signals": ("position", "travel")},
        {"preprocess__n_frames": 12},
        {"preprocess__bones": "reference"},
        {"preprocess__gaps": "drop"},
        {"preprocess__dtype": None},
        {"preprocess__facing": "frame"},
    ):
        changed = with_parameters(known, change)
        assert not compiled.knows(changed.preprocess, changed.kernel, FLORENCE_15), change
    assert compiled.frames_of([data[0], data[1].replace(layout=None)]) is None
    assert compiled.frames_of([data[0], data[1].replace(joints=data[1].joints.astype(np.float32))]) is None
