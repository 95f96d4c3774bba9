"""Names of version 0.2.0 still work, with one warning each."""

from __future__ import annotations

import numpy as np
import pytest

import kerneton
from kerneton.data.parameters import renamed
from kerneton.exceptions import OutdatedWarning, ParameterError


def test_old_names_are_passed_on_with_a_warning():
    @renamed(delay="delay_s")
    def stream(delay_s=None):
        return delay_s

    with pytest.warns(OutdatedWarning, match="delay= is now delay_s=") as told:
        assert stream(delay=2) == 2
    assert len(told) == 1
    assert told[0].filename == __file__, "the warning points at the caller"
    with pytest.raises(ParameterError, match="give only delay_s"):
        stream(delay=1, delay_s=2)


def test_write_takes_the_order_of_before(tmp_path):
    wave = kerneton.SkeletonSequence(np.ones((4, 20, 3)), name="wave")
    with pytest.warns(OutdatedWarning, match="now write\\(sequences, path\\)"):
        kerneton.write(tmp_path / "wave.npz", [wave])
    assert kerneton.read(tmp_path / "wave.npz")[0].n_frames == 4


def test_dck_takes_signal():
    with pytest.warns(OutdatedWarning, match="signal= is now signals="):
        old = kerneton.DCK(signal="velocity")
    assert old.get_params() == kerneton.DCK(signals="velocity").get_params()


@pytest.mark.parametrize("signals", ["velocity", ("velocity",)])
def test_dck_takes_one_signal(signals):
    joints = np.random.default_rng(0).normal(size=(2, 12, 3, 3))
    features = kerneton.DCK(signals=signals).fit_transform(list(joints))
    assert (features == kerneton.DCK(signals="velocity").fit_transform(list(joints))).all()


def test_dck_refuses_two_signals():
    with pytest.raises(ParameterError, match="DCK takes one signal"):
        kerneton.DCK(signals=("position", "velocity")).fit([np.ones((5, 3, 3))])


@pytest.fixture(scope="module")
def takes():
    return kerneton.make_actions(["wave", "kick"], n_subjects=3, n_takes=1, uncut=True)


@pytest.fixture(scope="module")
def spotter(takes):
    with pytest.warns(OutdatedWarning, match="false_alarms= is now false_alarms_per_hour="):
        return kerneton.make_recognizer().fit_spotting(takes[:2], false_alarms=5.0)


def test_stream_takes_delay(spotter):
    with pytest.warns(OutdatedWarning, match="delay= is now delay_s="):
        spotter.stream(delay=0.5)


def test_delay_of_an_evaluation_was_in_frames(spotter, takes):
    with pytest.warns(OutdatedWarning, match="delay= in frames is now delay_s= in seconds"):
        frames = kerneton.evaluate_spotting(spotter, takes[2:], delay=15)
    seconds = kerneton.evaluate_spotting(spotter, takes[2:], delay_s=15 / takes[2].fps)
    assert frames.found == seconds.found
