from __future__ import annotations

import json

import pytest

from kerneton.data.segments import Segment
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError
from kerneton.stream.detection import Detection
from kerneton.stream.evaluation import SpottingReport, evaluate_spotting
from kerneton.stream.page import write_page
from kerneton.stream.timeline import draw_timeline, time_ticks


def report():
    truth = [(Segment("wave", 0, 30), Segment("clap", 60, 90))]
    found = [
        [
            Detection("wave", 0, 30, score=1.0, probability=0.9, decided=45),
            Detection("wave", 60, 90, decided=99),
        ]
    ]
    return SpottingReport(["long"], truth, found, [120], 30.0)


def test_figures_by_hand():
    figures = report().figures()
    assert figures["f1_50"] == 0.5
    assert figures["map_50"] == 0.5
    assert figures["frame_accuracy"] == 0.75
    assert figures["delay_ms"] == pytest.approx(500)
    assert figures["delay_from_start_ms"] == pytest.approx(1500)
    assert figures["false_alarms_per_hour"] == pytest.approx(3600 / 4)
    assert (figures["detection_rate"], figures["false_positives"], figures["jaccard"]) == (
        0.5,
        0.5,
        0.25,
    )
    assert report().per_class()[1] == {
        "label": "wave",
        "true": 1,
        "found": 2,
        "right": 1,
        "f1": 2 / 3,
    }


def test_without_a_frame_rate_times_are_unknown_not_invented():
    bare = report()
    bare.fps = None
    assert bare.figures()["delay_ms"] is None
    assert "unknown" in str(bare)


def test_a_fitted_spotter_on_new_recordings(spotter, takes):
    found = evaluate_spotting(spotter, [takes[3]])
    assert found.figures()["f1_50"] >= 0.8
    assert found.figures()["delay_ms"] > 0
    assert found.to_dict()["recordings"][0]["name"] == takes[3].name
    with pytest.raises(DataError, match="all have segments"):
        evaluate_spotting(spotter, [takes[3].replace(segments=())])


def test_pictures_and_pages_escape_labels(tmp_path):
    rows = [("<b>", [Segment("<script>", 0, 30)], [Detection("<script>", 5, 30, probability=0.5)])]
    write_page(
        tmp_path / "page.html", "T & <i>", rows, [60], fps=30.0, figures={"f1": 0.5, "delay": None}
    )
    text = (tmp_path / "page.html").read_text()
    assert text.count("<script>") == 1  # the players'
    assert "&lt;script&gt;, frames" in text
    assert "T &amp; &lt;i&gt;" in text
    draw_timeline(tmp_path / "line.png", rows, [60])
    assert (tmp_path / "line.png").stat().st_size > 1000


def test_a_timeline_has_times_and_no_empty_lane(tmp_path):
    truth, found = [Segment("wave", 0, 30)], [Detection("wave", 5, 30, probability=0.5)]
    write_page(tmp_path / "a.html", "t", [("a", truth, found)], [300], fps=30.0)
    write_page(
        tmp_path / "b.html", "t", [("b", [], found)], [300], fps=30.0, reasons=[["hand +0.50"]]
    )
    known, unknown = ((tmp_path / name).read_text() for name in ("a.html", "b.html"))
    assert 'viewBox="0 0 1000 46"' in known
    assert 'viewBox="0 0 1000 22"' in unknown
    for page in (known, unknown):
        assert ">2 s</span>" in page
        assert ">10 s</span>" in page
        assert ".swatch{" in page  # styles that are too long are cut off
    assert "hand +0.50" in unknown
    assert "reason" not in known.partition("<table")[2].partition("</table>")[0]


@pytest.mark.parametrize("fps", [None, 15.0, 30.0])
@pytest.mark.parametrize("n_frames", [1, 7, 90, 1000, 54_000, 2_592_000, 10**9])
def test_ticks_are_few_and_inside(n_frames, fps):
    ticks = time_ticks(n_frames, fps)
    assert 1 <= len(ticks) <= 6
    assert ticks[0][0] == 0
    assert all(0 <= share <= 100 for share, _ in ticks)
    assert len({text for _, text in ticks}) == len(ticks)


def test_mistakes_can_be_played(tmp_path):
    from walks import walk

    told = report()
    told.recordings = [SkeletonSequence(walk(120), name="long", fps=30)]
    text = told.to_html(tmp_path / "report.html").read_text()
    motions = json.loads(text.partition('id="motions">')[2].partition("</script>")[0])
    # a segment of 30 frames, with 15 before and after
    assert [len(m["frames"]) for m in motions] == [60, 60]
    assert "missed <b>clap</b>" in text
    assert "found, and wrong: <b>wave</b>" in text
    assert "0.500" in text


def test_the_order_of_training_may_be_expected(spotter, takes):
    free = evaluate_spotting(spotter, [takes[3]])
    ordered = evaluate_spotting([spotter], [takes[3]], in_order=True)
    assert [[d.label for d in f] for f in ordered.found] == [
        [d.label for d in spotter.spot(takes[3], in_order=True)]
    ]
    assert {d.decision for d in ordered.found[0]} <= {
        d.decision for d in spotter.spot(takes[3], in_order=True)
    }
    assert free.found[0][0].score != ordered.found[0][0].score
