from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerneton.data.segments import Segment
from kerneton.exceptions import DataError
from kerneton.stream.detection import Detection
from kerneton.stream.metrics import (
    Counts,
    action_point_f1,
    action_points,
    average_precision,
    frame_scores,
    latencies,
    match_segments,
    mean_average_precision,
    segment_counts,
)


def detections(*rows):
    return [Detection(label, start, stop, score=score) for label, start, stop, score in rows]


def test_the_higher_score_takes_the_segment():
    truth = [Segment("wave", 0, 100)]
    found = detections(("wave", 0, 60, 1.0), ("wave", 0, 100, 0.5))
    assert match_segments(truth, found) == [0, None]


def test_a_detection_takes_the_nearest_free_segment():
    truth = [Segment("wave", 0, 10), Segment("wave", 10, 22)]
    found = detections(("wave", 6, 20, 2.0), ("wave", 0, 9, 1.0))
    assert match_segments(truth, found, iou=0.3) == [1, 0]


@pytest.mark.parametrize(("iou", "right"), [(0.5, 1), (0.51, 0)])
def test_the_threshold_itself_counts(iou, right):
    truth, found = [[Segment("wave", 0, 10)]], [detections(("wave", 0, 5, 1.0))]
    assert segment_counts(truth, found, iou).right == right


def test_counts_by_hand():
    truth = [[Segment("wave", 0, 10), Segment("clap", 20, 30)], [Segment("wave", 5, 15)]]
    found = [detections(("wave", 0, 10, 1.0), ("wave", 20, 30, 1.0)), []]
    assert segment_counts(truth, found) == Counts(right=1, found=2, true=3)
    assert segment_counts(truth, found, label="clap") == Counts(0, 0, 1)
    assert segment_counts(truth, found).f1 == pytest.approx(2 * 0.5 * (1 / 3) / (0.5 + 1 / 3))


def test_average_precision_by_hand():
    truth = [[Segment("a", 0, 10), Segment("a", 20, 30), Segment("a", 40, 50)]]
    found = [
        detections(("a", 0, 10, 4.0), ("a", 60, 70, 3.0), ("a", 20, 30, 2.0), ("a", 80, 90, 1.0))
    ]
    # Precision after each: 1, 1/2, 2/3, 1/2; recall 1/3, 1/3, 2/3, 2/3; the third segment is never
    # found.
    assert average_precision(truth, found, "a") == pytest.approx((1 + 2 / 3) / 3)
    assert average_precision(truth, [[]], "a") == 0
    assert np.isnan(average_precision(truth, found, "b"))
    with pytest.raises(DataError, match="no true segments"):
        mean_average_precision([[]], found)


def test_mean_average_precision_ranks_over_recordings():
    truth = [[Segment("a", 0, 10)], [Segment("a", 0, 10), Segment("b", 20, 30)]]
    found = [detections(("a", 50, 60, 9.0)), detections(("a", 0, 10, 1.0), ("b", 20, 30, 1.0))]
    assert mean_average_precision(truth, found) == pytest.approx((0.25 + 1.0) / 2)


def test_action_points_at_ten_frames():
    truth = [[("kick", 100 / 30), ("kick", 200 / 30), ("duck", 1.0)]]
    fired = [[("kick", 110 / 30), ("kick", 211 / 30)]]
    counts = action_points(truth, fired)
    assert counts == {"duck": Counts(0, 0, 1), "kick": Counts(1, 2, 2)}
    assert action_point_f1(counts) == pytest.approx(0.25)


def test_points_are_matched_by_the_end():
    truth = [Segment.at("kick", 99), Segment.at("kick", 130), Segment("wave", 0, 40)]
    found = detections(("kick", 60, 111, 1.0), ("kick", 100, 112, 2.0), ("wave", 0, 19, 1.0))
    assert match_segments(truth, found) == [None, None, None]  # 11 frames late and more
    found = detections(("kick", 60, 110, 1.0), ("kick", 100, 110, 2.0), ("wave", 0, 20, 1.0))
    assert match_segments(truth, found) == [None, 0, 2]
    assert match_segments(truth, found, tolerance=30) == [1, 0, 2]
    assert segment_counts([truth], [found], tolerance=30) == Counts(3, 3, 3)


def test_frames_by_hand():
    accuracy, macro = frame_scores([[Segment("a", 0, 4)]], [[Segment("a", 2, 6)]], [8])
    assert accuracy == 0.5
    assert macro == pytest.approx((2 * 2 / 8 + 2 * 2 / 8) / 2)


def test_latency_is_measured_from_the_truth():
    truth = [[Segment("a", 10, 20)], [Segment("a", 0, 9)]]
    found = [[Detection("a", 11, 21, decided=30)], [Detection("b", 0, 9, decided=9)]]
    start, stop = latencies(truth, found)
    assert (start.tolist(), stop.tolist()) == ([20], [10])


segments = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 50), st.integers(2, 20), st.floats(-5, 5)),
    max_size=12,
)


@given(segments, segments)
def test_matches_are_one_to_one(true, found):
    truth = [Segment(label, start, start + n) for label, start, n, _ in true]
    detected = [Detection(label, start, start + n, score=score) for label, start, n, score in found]
    for iou in (0.3, 0.5, 0.7):
        matches = match_segments(truth, detected, iou)
        used = [m for m in matches if m is not None]
        assert len(set(used)) == len(used)
        for d, m in zip(detected, matches, strict=True):
            assert m is None or (truth[m].label == d.label and d.iou(truth[m]) >= iou)


@given(segments)
def test_truth_found_as_it_is_scores_one(true):
    truth = [[Segment(label, start, start + n) for label, start, n, _ in true]]
    found = [[Detection(s.label, s.start, s.stop) for s in truth[0]]]
    assert segment_counts(truth, found, iou=1.0).f1 == 1
