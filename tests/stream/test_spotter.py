from __future__ import annotations

import numpy as np
import pytest

from kerneton import make_actions, make_recognizer
from kerneton.data.segments import segment_problems
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError, ParameterError
from kerneton.recognize.model_reader import load
from kerneton.stream.compose import compose_takes
from kerneton.stream.metrics import segment_counts


def test_actions_of_a_new_person_are_found(spotter, takes):
    found = spotter.spot(takes[3])
    assert segment_counts([takes[3].segments], [found]).f1 >= 0.8
    assert segment_problems(found, takes[3].n_frames) == []
    assert all(0 <= d.probability <= 1 for d in found)
    assert [d.start for d in found] == sorted(d.start for d in found)


def test_the_explanation_of_a_segment_sums_to_its_decision_value(spotter, takes):
    (first, *_) = spotter.spot(takes[3])
    explanation = spotter.explain(takes[3], first)
    total = explanation.intercept + sum(part.value for part in explanation.parts)
    assert explanation.label == first.label
    assert total == pytest.approx(first.decision, rel=1e-4, abs=1e-4)
    assert explanation.value == pytest.approx(first.decision, rel=1e-4, abs=1e-4)


def test_one_model_answers_and_spots(spotter, takes, tmp_path):
    """With the spotter of another recogniser: its own labels, the other's segments, one file."""
    cut = make_actions(["wave", "kick", "bow"], n_subjects=3, n_takes=2, random_state=1)
    plain = make_recognizer().fit(cut, cut.labels)
    both = load(plain.with_spotter(spotter).save(tmp_path / "both.kern"))
    assert plain.spotter_ is None
    assert both.classes_.tolist() == ["bow", "kick", "wave"]
    assert both.predict(cut).tolist() == plain.predict(cut).tolist()
    found, wanted = both.spot(takes[3]), spotter.spot(takes[3])
    assert [(d.label, d.start, d.stop, d.decision) for d in found] == [
        (d.label, d.start, d.stop, d.decision) for d in wanted
    ]
    why = both.explain(takes[3], found[0])
    assert why.value == pytest.approx(found[0].decision, rel=1e-4, abs=1e-4)
    other = make_actions(["clap", "kick"], n_subjects=3, n_takes=1)
    with pytest.raises(ParameterError, match="do not belong together"):
        make_recognizer().fit(other, other.labels).with_spotter(spotter)


def test_held_out_people_set_the_threshold(spotter):
    told = spotter.spotter_.held_out_
    assert 0 < told["f1"] <= 1
    assert set(told) == {"precision", "recall", "f1", "false_alarms_per_hour"}


def test_a_recording_in_pieces_of_any_size_gives_the_same(spotter, takes):
    from kerneton.stream.engine import Engine
    from kerneton.stream.frames import raw_joints

    joints = raw_joints(takes[3])
    whole = spotter.spot(takes[3])
    for size in (1, 7, 100):
        engine = Engine(spotter)
        found = [d for i in range(0, len(joints), size) for d in engine.push(joints[i : i + size])]
        found += engine.close()
        assert [(d.label, d.start, d.stop) for d in found] == [
            (d.label, d.start, d.stop) for d in whole
        ]
        np.testing.assert_allclose([d.score for d in found], [d.score for d in whole], rtol=1e-6)


def test_short_recordings_and_one_frame(spotter, takes):
    assert spotter.spot(takes[3].cut(0, 1)) == []
    assert isinstance(spotter.spot(takes[3].cut(0, 6)), list)


def test_cut_recordings_alone_are_composed_into_long_ones():
    data = make_actions(["wave", "kick", "bow"], n_subjects=3, n_takes=2, random_state=1)
    composed = compose_takes(data)
    assert len(composed) == 6
    for take in composed:
        assert segment_problems(take.segments, take.n_frames) == []
        assert np.isfinite(take.joints).all()
        labelled = sum(s.n_frames for s in take.segments)
        assert 0.3 < labelled / take.n_frames < 0.9
    total = sorted(s.label for take in composed for s in take.segments)
    assert total == sorted(data.labels)


def test_training_from_cut_recordings_finds_actions_in_long_ones(takes):
    data = make_actions(["wave", "kick", "bow"], n_subjects=3, n_takes=2, random_state=1)
    spotter = make_recognizer().fit_spotting(data)
    assert segment_counts([takes[3].segments], [spotter.spot(takes[3])]).f1 >= 0.5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda t: [t[0], t[1].replace(segments=())],
            "1 of 2 recordings have no segments, first s02_long_t1",
        ),
        (
            lambda t: [t[0].replace(segments=()), t[1].replace(segments=())],
            "neither segments nor a label",
        ),
        (
            lambda t: [
                t[0].replace(
                    segments=[
                        ("wave", 5, 60),
                        ("wave", 90, 160),
                        ("bow", 9000, 9100),
                        ("bow", 9200, 9300),
                    ]
                )
            ],
            "every segment of 'bow' lies outside of its recording",
        ),
        (
            lambda t: [t[0].replace(segments=[("background", 5, 50)])],
            "is reserved for frames without a segment",
        ),
    ],
)
def test_what_cannot_be_learnt_from(takes, change, message):
    with pytest.raises(DataError, match=message):
        make_recognizer().fit_spotting(change(takes))


def test_mistakes(spotter, takes):
    with pytest.raises(ParameterError, match="not trained to find actions"):
        make_recognizer().spot(takes[0])
    with pytest.raises(ParameterError, match="false_alarms_per_hour must be a positive number"):
        make_recognizer().fit_spotting(takes[:2], false_alarms_per_hour=-1)
    with pytest.raises(DataError, match="has 5 joints, the recogniser was trained with 20"):
        spotter.spot(SkeletonSequence(np.ones((50, 5, 3)), name="odd"))
