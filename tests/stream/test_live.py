"""Live streams: the same as offline where they may wait, bounded where they may not, alive whatever
comes in.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from kerneton import make_actions, make_recognizer
from kerneton.data.segments import Segment
from kerneton.exceptions import ParameterError
from kerneton.machine.solver import per_class
from kerneton.stream.frames import raw_joints
from kerneton.stream.live import LiveStream
from kerneton.stream.metrics import segment_counts
from kerneton.stream.repetitions import count_repetitions
from kerneton.stream.spotter import judged_frames


def run_stream(stream, source):
    """All events of a finite source of (frame, time, body), its end included."""
    events = [event for frame, time, body in source for event in stream.push(frame, time, body)]
    return events + stream.close()


def frames(take, body=None):
    return [(pose, t / take.fps, body) for t, pose in enumerate(raw_joints(take))]


def segments(events, body=None):
    chosen = [e for e in events if e.kind == "segment" and (body is None or e.body == body)]
    return sorted(
        ((e.label, e.detection.start, e.detection.stop) for e in chosen), key=lambda s: s[1]
    )


@pytest.fixture(scope="session")
def offline(spotter, takes):
    return [(d.label, d.start, d.stop) for d in spotter.spot(takes[3])]


@pytest.fixture(scope="module")
def sure_of_waves():
    """A spotter that finds waves early, and the long recording of somebody else."""
    *some, other = make_actions(["wave", "clap", "kick"], n_subjects=5, n_takes=1, uncut=True)
    return make_recognizer().fit_spotting(some, false_alarms_per_hour=1.0), other


def test_unbounded_delay_equals_offline(spotter, takes, offline):
    events = run_stream(spotter.stream(), frames(takes[3]))
    assert segments(events) == offline
    assert offline  # or nothing was tested


def test_bounded_delay_keeps_its_promise_and_most_of_the_segments(spotter, takes):
    stream = spotter.stream(delay_s=0.5)
    events = run_stream(stream, frames(takes[3]))
    final = [e for e in events if e.kind == "segment"]
    assert all(e.detection.decided - e.detection.stop <= 0.5 * 30 + 4 for e in final)
    found = [e.detection for e in final]
    assert segment_counts([takes[3].segments], [found]).f1 >= 0.6
    assert any(e.kind == "provisional" for e in events)


@pytest.mark.parametrize("in_order", [False, True], ids=["any order", "in order"])
def test_what_a_bounded_stream_reports_has_the_decision_value_of_its_frames(
    spotter, takes, in_order
):
    stream = spotter.stream(delay_s=0.5, in_order=in_order)
    found = [e.detection for e in run_stream(stream, frames(takes[3])) if e.kind == "segment"]
    assert found
    assert all(a.stop <= b.start for a, b in pairwise(found))
    for d in found:  # also where a longer window took the place of one that was due
        values = per_class(spotter.decision_function([judged_frames(spotter, takes[3], d)]))[0]
        expected = values[list(spotter.classes_).index(d.label)]
        assert d.decision == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_an_action_that_goes_on_is_waited_for(spotter, takes):
    events = run_stream(spotter.stream(delay_s=0.25), frames(takes[3]))
    true = {s.label: s for s in takes[3].segments}
    found = [e.detection for e in events if e.kind == "segment"]
    assert found
    # 0.64 for one that is cut off when it is due
    assert all(d.iou(true[d.label]) >= 0.7 for d in found)


@pytest.mark.parametrize(("then", "cut"), [("kick", 0), ("clap", 4)])
def test_an_action_right_after_another_is_found(sure_of_waves, then, cut):
    """The reported end of the first is a little late: the other one begins before it."""
    spotter, take = sure_of_waves
    true = {s.label: s for s in take.segments}
    joints, _ = spotter.spotter_.features_.cleaner().clean(raw_joints(take))
    a, b = true["wave"], true[then]
    row = np.concatenate([joints[a.start - 30 : a.stop - cut], joints[b.start + cut : b.stop + 40]])
    place = Segment(then, 30 + a.n_frames - cut, 30 + a.n_frames + b.n_frames - 2 * cut)
    events = run_stream(
        spotter.stream(delay_s=0.5), [(pose, t / 30, None) for t, pose in enumerate(row)]
    )
    found = [e.detection for e in events if e.kind == "segment"]
    assert [d.label for d in found] == ["wave", then]
    assert found[0].stop <= found[1].start
    assert found[1].iou(place) >= 0.5


def test_two_bodies_by_id_are_two_streams(spotter, takes, offline):
    a, b = frames(takes[3], "ann"), frames(takes[0], "bob")
    mixed = sorted(a + b, key=lambda f: f[1])
    events = run_stream(spotter.stream(), mixed)
    assert segments(events, "ann") == offline
    assert segments(events, "bob") == [(d.label, d.start, d.stop) for d in spotter.spot(takes[0])]


def test_two_bodies_without_id_are_told_apart_by_nearness(spotter, takes):
    n = 120
    left = np.nan_to_num(raw_joints(takes[3])[:n], nan=0.0)
    right = left + [5.0, 0.0, 0.0]
    stream = spotter.stream()
    for t in range(n):
        pair = np.stack([left[t], right[t]] if t % 2 else [right[t], left[t]])
        stream.push(pair, t / 30)
    assert len(stream._bodies) == 2
    places = sorted(body.place[0] for body in stream._bodies.values())
    assert places[1] - places[0] == pytest.approx(5.0, abs=0.5)


def test_a_person_who_leaves_and_another_who_enters(spotter, takes):
    stream = spotter.stream()
    first = [e for f in frames(takes[3])[:90] for e in stream.push(*f)]
    later = [
        e for pose, t, _ in frames(takes[0])[:60] for e in stream.push(pose + [9.0, 0, 0], t + 60)
    ]
    said = [(e.kind, e.body, e.reason) for e in first + later if e.kind == "body"]
    assert said == [("body", "0", "appears"), ("body", "0", "leaves"), ("body", "1", "appears")]


def test_dropped_frames_and_uneven_times_still_find_the_actions(spotter, takes):
    chance = np.random.default_rng(0)
    kept = [f for f in frames(takes[3]) if chance.uniform() > 0.15]
    uneven = [(pose, t + chance.uniform(0, 0.01), body) for pose, t, body in kept]
    found = [e.detection for e in run_stream(spotter.stream(), uneven) if e.kind == "segment"]
    assert segment_counts([takes[3].segments], [found]).recall >= 0.6


def test_another_frame_rate_is_brought_to_that_of_training(spotter, takes):
    half = [(pose, t, b) for i, (pose, t, b) in enumerate(frames(takes[3])) if i % 2 == 0]
    found = [e.detection for e in run_stream(spotter.stream(fps=15), half) if e.kind == "segment"]
    assert segment_counts([takes[3].segments], [found]).recall >= 0.6


def test_what_is_no_frame_is_said_once_and_counted(spotter, takes, offline):
    stream, good = LiveStream(spotter), frames(takes[3])
    events = [e for f in good[:100] for e in stream.push(*f)]
    told = [
        (np.zeros((5, 3)), None, "a skeleton of 5 joints, expected 20"),
        ("abc", None, "the frame is not an array of numbers"),
        ([[1, 2], [3]], None, "the frame is not an array of numbers"),
        (np.zeros((20, 4)), None, "the frame is not (joints, 3)"),
        (7.0, None, "the frame is not (joints, 3)"),
        (np.zeros((20, 3)), float("nan"), "the time is not a number"),
        (np.zeros((20, 3)), "soon", "the time is not a number"),
        (np.zeros((20, 3)), -5.0, "time runs backwards"),
    ]
    for frame, time, reason in told:
        before = stream.summary().get(f"dropped: {reason}", 0)
        bad = [e for _ in range(50) for e in stream.push(frame, time)]
        assert [(e.kind, e.reason) for e in bad] == ([] if before else [("dropped", reason)])
        assert stream.summary()[f"dropped: {reason}"] == before + 50
    events += [e for f in good[100:] for e in stream.push(*f)] + stream.close()
    assert segments(events) == offline  # the stream went on as if nothing had been


def test_nan_for_a_minute_and_huge_numbers(spotter, takes):
    stream = spotter.stream(delay_s=0.5)
    good = frames(takes[3])
    for f in good[:60]:
        stream.push(*f)
    for i in range(1800):
        stream.push(np.full((20, 3), np.nan if i % 2 else 1e300), 2 + i / 30)
    events = [e for pose, t, b in good for e in stream.push(pose, t + 62, b)] + stream.close()
    assert [e for e in events if e.kind == "segment"]


@pytest.mark.parametrize("in_order", [False, True], ids=["any order", "in order"])
def test_memory_and_state_stay_bounded(spotter, takes, in_order):
    stream = spotter.stream(delay_s=0.5, in_order=in_order)
    joints = np.nan_to_num(raw_joints(takes[3]))
    for t in range(1500):
        stream.push(joints[t % len(joints)], t / 30)
    engine = stream._bodies["0"]._engine
    assert len(engine._windows._joints) < 1000
    assert len(engine._windows._sums) < 1000
    assert len(engine._windows._recent) < 500
    assert len(engine._active) < 100


@pytest.mark.parametrize(
    "jump", [3600.0, -3600.0], ids=["a frame an hour ahead", "the clock set back"]
)
def test_time_starts_anew_after_a_jump_that_lasts(spotter, takes, jump):
    """Of 410 frames all but those of a quarter of a second are used."""
    joints = np.nan_to_num(raw_joints(takes[3]))
    stream, reasons = spotter.stream(delay_s=0.5), []
    for t in range(410):
        moved = t == 77 if jump > 0 else t >= 77
        events = stream.push(joints[t % len(joints)], t / 30 + jump * moved)
        reasons += [e.reason for e in events if e.kind == "dropped"]
    stream.close()
    assert stream.summary()["frames"] >= 400
    assert reasons == ["time runs backwards", "the clock was set back: time starts anew"]


def test_single_frames_that_come_late_are_dropped(spotter, takes):
    stream, joints = spotter.stream(delay_s=0.5), np.nan_to_num(raw_joints(takes[3]))
    for t in range(60):
        stream.push(joints[t], t / 30 - 0.5 * (t % 3 == 2))
    assert stream.summary() == {"dropped: time runs backwards": 20, "frames": 40}


@pytest.mark.parametrize(
    "pose",
    [np.zeros((20, 3)), np.full((20, 3), np.nan), np.eye(20, 3)],
    ids=["zero", "missing", "mostly zero"],
)
def test_a_body_that_is_never_seen_does_not_end_the_stream(spotter, takes, pose):
    stream = spotter.stream(delay_s=0.5)
    for t in range(90):
        stream.push(pose, t / 30)
    assert not [e for e in stream.close() if e.kind == "segment"]


def test_repetitions():
    t = np.arange(150) / 30
    joints = np.zeros((150, 3, 3))
    joints[:, 1, 0] = 0.2
    joints[:, 2, 1] = 0.4 * np.sin(2 * np.pi * 1.2 * t)
    found = count_repetitions(joints, 30.0)
    assert found.count == 6
    assert found.period == pytest.approx(1 / 1.2, rel=0.05)
    assert found.regularity > 0.95
    assert count_repetitions(np.zeros((40, 3, 3)), 30.0).count == 0


def test_parameters(spotter):
    with pytest.raises(ParameterError, match="delay_s must be a number of seconds"):
        spotter.stream(delay_s=-1)
    with pytest.raises(ParameterError, match="fps must be a positive number"):
        spotter.stream(fps=0)
