"""Branches encoded many recordings at a time, by torch: on the CPU here, with torch's own
operations.
"""

from __future__ import annotations

import numpy as np
import pytest
from bench_parts.scale import labelled

from kerneton import Recognizer, make_recognizer
from kerneton.exceptions import DataError
from kerneton.recognize import on_device, recognizer
from kerneton.recognize.training import Limits

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def recordings():
    return [s for s in labelled(80) if s.label in ("class 0", "class 1")]


@pytest.mark.parametrize(("view", "mirror"), [("free", True), ("fixed", False)])
def test_features_are_those_of_the_cpu(recordings, view, mirror):
    labels = [s.label for s in recordings]
    model = make_recognizer(view=view, mirror=mirror).fit(recordings, labels)
    expected, decisions = model.features(recordings), model.decision_function(recordings)
    model.set_params(device="cpu")
    assert np.linalg.norm(model.features(recordings) - expected, axis=1).max() < 1e-4
    np.testing.assert_allclose(model.decision_function(recordings), decisions, atol=1e-3)


@pytest.mark.parametrize(
    "changed", [{}, {"kernel__mirror": True}, {"preprocess__facing": "sequence"}]
)
def test_the_papers_features_are_those_of_the_cpu(recordings, changed):
    model = make_recognizer("paper")
    for _, branch in model.branches:
        branch.set_params(**changed)
    model.fit(recordings, [s.label for s in recordings])
    expected = model.features(recordings)
    assert on_device.can_encode(list(model.branches_.values()), recordings)
    found = model.set_params(device="cpu").features(recordings)
    assert found.dtype == expected.dtype
    assert np.linalg.norm(found - expected, axis=1).max() < 1e-4


@pytest.mark.parametrize("preset", [None, "paper"])
@pytest.mark.parametrize("classes", [2, 3])
def test_answers_leave_features_on_the_device(classes, preset, monkeypatch):
    data = [s for s in labelled(90) if s.label in {f"class {i}" for i in range(classes)}]
    model = make_recognizer(preset, calibrate=True).fit(data, [s.label for s in data])
    decisions, expected = model.decision_function(data), model.results(data)
    model.set_params(device="cpu")
    monkeypatch.setattr(type(model), "features", None)  # would bring them to the host
    np.testing.assert_allclose(model.decision_function(data), decisions, atol=1e-3)
    found = model.results(data)
    assert list(found.labels) == list(expected.labels)
    for name in ("scores", "probabilities", "unknown"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), atol=5e-3, err_msg=name
        )


def test_recordings_that_a_device_cannot_take_are_answered_or_refused_as_on_the_host(recordings):
    model = make_recognizer(view="free", mirror=True).fit(recordings, [s.label for s in recordings])
    torn = recordings[0].joints.copy()
    torn[2] = np.nan
    asked = [recordings[0].replace(joints=torn), recordings[1]]
    expected = model.predict(asked)
    model.set_params(device="cpu")
    assert list(model.predict(s for s in asked)) == list(expected)
    infinite = recordings[0].joints.copy()
    infinite[2, 1] = np.inf
    for wrong in (infinite, recordings[0].joints[:, 1:]):
        with pytest.raises(DataError, match="recording"):
            model.decision_function([recordings[1], wrong])


@pytest.fixture
def torn(recordings):
    """Lost joints, lost frames and joints without confidence, each in one recording among whole
    ones.
    """
    joints, frames = recordings[0].joints.copy(), recordings[1].joints.copy()
    joints[3, 5] = np.nan
    frames[[0, 4, 5]] = 0
    trust = np.ones(recordings[3].joints.shape[:2])
    whole = recordings[3].replace(confidence=trust.copy())
    trust[7, 2] = 0
    torn = [recordings[0].replace(joints=joints), recordings[1].replace(joints=frames)]
    return [*torn, recordings[2], recordings[3].replace(confidence=trust), whole, *recordings[4:8]]


@pytest.mark.parametrize("lost", ["fill", "drop"])
def test_gaps_are_filled_and_all_else_stays_on_the_device(recordings, torn, lost, monkeypatch):
    model = make_recognizer(view="free", mirror=True).fit(recordings, [s.label for s in recordings])
    for branch in model.branches_.values():
        branch.preprocess_.set_params(gaps=lost)
    expected, decisions = model.features(torn), model.decision_function(torn)
    model.set_params(device="cpu")
    monkeypatch.setattr(recognizer, "encode_together", None)  # would encode on the host
    assert np.linalg.norm(model.features(torn) - expected, axis=1).max() < 1e-4
    np.testing.assert_allclose(model.decision_function(torn), decisions, atol=1e-3)


def test_a_recording_that_cannot_be_filled_is_named_by_its_place(recordings, torn):
    model = make_recognizer(view="free", mirror=True).fit(recordings, [s.label for s in recordings])
    model.set_params(device="cpu")
    for value, told in ((np.inf, "infinite"), (np.nan, "never contains")):
        joints = recordings[0].joints.copy()
        joints[:, 5] = value
        asked = [*torn, recordings[0].replace(joints=joints, name="")]
        with pytest.raises(DataError, match=rf"recording #{len(torn)} .*{told}"):
            model.decision_function(asked)


def test_a_large_fit_on_a_device_is_that_of_the_host(recordings, monkeypatch):
    limits = Limits(choice=10, gram=10, block=7, settled=0.0, steps=100, tol=1e-7)
    monkeypatch.setattr(Recognizer, "limits", limits)
    labels = [s.label for s in recordings]
    model = make_recognizer(view="free", mirror=True)
    expected = model.fit(recordings, labels).machine_
    found = model.set_params(device="cpu").fit(recordings, labels).machine_
    assert found.coef_.dtype == expected.coef_.dtype
    assert np.linalg.norm(found.coef_ - expected.coef_) < 1e-3 * np.linalg.norm(expected.coef_)
    np.testing.assert_allclose(found.intercept_, expected.intercept_, atol=1e-3)
