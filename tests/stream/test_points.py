"""Actions of which only the moment is known in which they are complete, and other truth that leaves
something open.
"""

from __future__ import annotations

import numpy as np
import pytest

from kerneton import load, make_actions, make_recognizer
from kerneton.data.segments import Segment
from kerneton.exceptions import DataError
from kerneton.stream.evaluation import evaluate_spotting

ACTIONS = ["wave", "kick", "bow", "clap"]


def as_points(take):
    return take.replace(segments=[Segment.at(s.label, s.stop - 1) for s in take.segments])


@pytest.fixture(scope="module")
def people():
    return make_actions(ACTIONS, n_subjects=6, n_takes=1, uncut=True, random_state=5)


@pytest.fixture(scope="module")
def pointed(people):
    return make_recognizer().fit_spotting([as_points(t) for t in people[:4]])


def test_points_of_new_people_are_found(people, pointed):
    report = evaluate_spotting(pointed, [as_points(t) for t in people[4:]])
    figures = report.figures()
    assert figures["action_point_f1"] >= 0.8
    assert figures["f1_50"] is None  # nobody knows where the actions began
    assert figures["delay_ms"] is not None
    assert sum(row["right"] for row in report.per_class()) >= 6


def test_the_window_before_a_point_is_learnt_and_kept_in_the_file(people, pointed, tmp_path):
    before = pointed.spotter_.before_points_
    assert set(before) == set(ACTIONS)
    assert all(9 <= n <= 120 for n in before.values())
    found = pointed.spot(people[4])
    assert found
    pointed.save(tmp_path / "model.kern")
    again = load(tmp_path / "model.kern")
    assert again.spotter_.before_points_ == before
    assert again.spot(people[4]) == found


def test_a_start_that_is_known_for_some_gives_the_window_of_the_others(people):
    some = [people[0], *(as_points(t) for t in people[1:4])]
    before = make_recognizer().fit_spotting(some).spotter_.before_points_
    true = {s.label: s.n_frames for s in people[0].segments}
    assert before == true


def test_cut_recordings_beside_points_give_the_window(people):
    cut = make_actions(ACTIONS, n_subjects=2, n_takes=1, random_state=5)
    model = make_recognizer().fit_spotting([*cut, *(as_points(t) for t in people[2:4])])
    lengths = {a: [r.n_frames for r in cut if r.label == a] for a in ACTIONS}
    for label, n in model.spotter_.before_points_.items():
        assert min(lengths[label]) <= n <= max(lengths[label])


def test_a_point_outside_and_two_points_in_one_frame(people):
    odd = as_points(people[0])
    odd = odd.replace(segments=[*odd.segments, ("kick", 99_999), ("bow", odd.segments[0].start)])
    model = make_recognizer().fit_spotting([odd, *(as_points(t) for t in people[1:3])])
    assert isinstance(model.spot(people[4]), list)


@pytest.mark.filterwarnings("ignore:labels with a single segment")
def test_partial_truth_does_not_teach_that_the_rest_is_background(people):
    """Half of the actions have no segment: they count as background unless the truth is partial."""
    chance = np.random.default_rng(0)
    some = [
        t.replace(segments=[s for s in t.segments if chance.uniform() < 0.6] or t.segments[:1])
        for t in people[:4]
    ]
    kept = {}
    for partial in (False, True):
        model = make_recognizer().fit_spotting(some, partial=partial)
        report = evaluate_spotting(model, people[4:])
        kept[partial] = report.figures()["recall_50"]
    assert kept[True] >= kept[False]
    assert kept[True] >= 0.5


def test_uncertain_bounds(people):
    chance = np.random.default_rng(1)
    loose = [
        t.replace(
            segments=[
                (s.label, max(0, s.start + int(chance.integers(-8, 9))), s.stop) for s in t.segments
            ]
        )
        for t in people[:4]
    ]
    model = make_recognizer().fit_spotting(loose, uncertain_s=0.3)
    assert evaluate_spotting(model, people[4:]).figures()["f1_30"] >= 0.6


def test_an_interrupted_fit_resumes_from_the_folder(people, tmp_path, monkeypatch):
    from kerneton.recognize import spotting

    points = [as_points(t) for t in people[:3]]
    whole = make_recognizer().fit_spotting(points).spot(people[4])

    def stopped(*_args, **_kwargs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(spotting, "_held_out_scores", stopped)
        with pytest.raises(KeyboardInterrupt):
            make_recognizer().fit_spotting(points, scratch=tmp_path)
    (folder,) = tmp_path.iterdir()
    kept = {f.name for f in folder.iterdir()}
    assert {"near-misses-1.npz", "windows-before-points.npz", "recognizer.kern"} <= kept
    with monkeypatch.context() as patch:  # what is done is not done again
        patch.setattr(spotting.Miner, "mine", stopped)
        model = make_recognizer().fit_spotting(points, scratch=tmp_path)
    assert [(d.label, d.start, d.stop) for d in model.spot(people[4])] == [
        (d.label, d.start, d.stop) for d in whole
    ]


def test_recordings_of_two_frames(people):
    short = people[0].cut(0, 2, segments=[("wave", 1), ("wave", 0)])
    with pytest.raises(DataError, match="contain no background"):
        make_recognizer().fit_spotting([short, short])


def test_a_label_that_is_never_seen_again_is_told(people):
    from kerneton.exceptions import KernetonWarning

    odd = people[0].replace(segments=[*people[0].segments, ("wve", 5, 30)])
    with pytest.warns(KernetonWarning, match="labels with a single segment.*: wve"):
        make_recognizer().fit_spotting([odd, *people[1:3]])
