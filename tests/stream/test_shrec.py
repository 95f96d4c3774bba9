"""Figures of the SHREC 2022 contest, from its truth and its eight submissions: files that we did
not write.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kerneton.data.segments import Segment
from kerneton.exceptions import DataError, FormatError
from kerneton.stream.detection import Detection
from kerneton.stream.shrec import read_shrec, shrec_scores

FOLDER = Path(os.environ.get("KERNETON_DATA", "")) / "shrec22"
needs_files = pytest.mark.skipif(not FOLDER.is_dir(), reason="needs KERNETON_DATA with shrec22")

PRINTED = {
    "2ST-GCN 1F": (0.684, 0.328, 0.524, 12.5),
    "2ST-GCN 5F": (0.738, 0.231, 0.614, 13.3),
    "Causal TCN": (0.800, 0.292, 0.676, 19.0),
    "Stronger+EN": (0.703, 0.354, 0.561, 16.1),
    "Stronger": (0.719, 0.340, 0.589, 14.8),
    "TN-FSM": (0.727, 0.339, 0.560, 10.0),
    "TN-FSM+JD": (0.771, 0.233, 0.633, 10.0),
    "TN-FSM+JD+SC": (0.745, 0.358, 0.561, 10.0),
}


@needs_files
@pytest.mark.parametrize("submission", PRINTED)
def test_submissions_of_the_contest(submission):
    truth = read_shrec(FOLDER / "test_annotations_fixed.txt")
    found = read_shrec(FOLDER / f"{submission}.txt")
    scores = shrec_scores(list(truth.values()), [found.get(number, []) for number in truth])
    rate, false, jaccard, delay = PRINTED[submission]
    assert round(scores.detection_rate, 3) == rate
    assert round(scores.false_positives, 3) == false
    assert round(scores.jaccard, 3) == jaccard
    assert round(scores.delay_frames, 1) == delay


@needs_files
def test_the_truth_finds_itself():
    truth = list(read_shrec(FOLDER / "test_annotations_fixed.txt").values())
    assert len(truth) == 144
    assert sum(map(len, truth)) == 576
    scores = shrec_scores(truth, truth)
    assert (scores.detection_rate, scores.false_positives, scores.jaccard) == (1, 0, 1)


@pytest.mark.parametrize(
    ("found", "right"),
    [
        (("ONE", 100, 120), 1),
        (("ONE", 110, 120), 1),  # half of it
        (("ONE", 111, 120), 0),
        (("ONE", 90, 130), 1),  # twice as long
        (("ONE", 90, 131), 0),
        (("TWO", 100, 120), 0),
    ],
)
def test_what_counts_as_right(found, right):
    truth = [[Segment("ONE", 100, 120), Segment("TWO", 200, 220)]]
    scores = shrec_scores(truth, [[Detection(*found)]])
    assert scores.detection_rate == right / 2
    assert scores.false_positives == (1 - right) / 2


def test_a_second_detection_of_a_gesture_is_false():
    one = Detection("ONE", 0, 10)
    assert shrec_scores([[Segment("ONE", 0, 10)]], [[one, one]]).false_positives == 1


def test_faults_are_named(tmp_path):
    file = tmp_path / "found.txt"
    file.write_text("1;ONE;5;9\n2;ONE;x;9\n")
    with pytest.raises(FormatError, match=r"found.txt, line 2: expected number;LABEL"):
        read_shrec(file)
    with pytest.raises(DataError, match="truth of 1 recordings, detections of 2"):
        shrec_scores([[]], [[], []])
    with pytest.raises(DataError, match="no true gestures"):
        shrec_scores([[]], [[]])
