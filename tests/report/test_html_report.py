"""The page that a report writes: what it says, what it escapes, how large it gets, and that a
browser runs it.
"""

from __future__ import annotations

import dataclasses
import html
import itertools
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.dummy import DummyClassifier

from kerneton import SkeletonDataset, SkeletonSequence, evaluate, make_actions, make_recognizer
from kerneton.cli import main
from kerneton.data.layouts import KINECT_20
from kerneton.data.units import to_convention
from kerneton.datasets import LOADERS
from kerneton.exceptions import DataError
from kerneton.recognize.contributions import class_importance
from kerneton.report.page import environment, render
from kerneton.report.page._joints import pooled
from kerneton.report.page._motion import HEIGHT, WIDTH, Motion, thinned
from kerneton.report.page._predictions import all_predictions, best_examples, choose
from kerneton.report.results import Split

VOID = {"br", "input", "meta", "col"}
HOSTILE = (
    "</script><script>document.body.dataset.stolen=1</script>",
    '"><img src=x onerror="document.body.dataset.stolen=2">',
    "</title></style><b>{x}&amp;' \u202e\x00\ud800" + "long" * 100,
)


class Reader(HTMLParser):
    """Elements in the order of the page; fails where one is not closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements, self.texts, self._open = [], [], []
        self.feed(page)
        assert not self._open

    def handle_starttag(self, name, attributes):
        self.elements.append((name, dict(attributes)))
        if name not in VOID:
            self._open.append(name)

    def handle_endtag(self, name):
        assert self._open.pop() == name

    def handle_data(self, text):
        if self._open and self._open[-1] not in ("style", "script"):
            self.texts.append(text)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())

    def having(self, name, **attributes):
        found = [a for n, a in self.elements if n == name]
        return [
            a for a in found if all(v in (a.get(k) or "").split() for k, v in attributes.items())
        ]


def motions_in(page):
    found = re.search(r'<script type="application/json" id="motions">(.*?)</script>', page)
    return json.loads(found[1]) if found else []


@pytest.fixture(scope="module")
def data():
    return make_actions(["draw circle", "draw X", "drink"], n_subjects=3, n_takes=2, fps=10)


@pytest.fixture(scope="module")
def model():
    return make_recognizer(kernel="sck", calibrate=False).set_params(
        sck__kernel__order=2, sck__kernel__n_pivots_joint=3, sck__kernel__n_pivots_time=3
    )


@pytest.fixture(scope="module")
def report(data, model):
    found = evaluate(model, data, "leave-one-subject-out", importance=True)
    assert found.confused_pairs(), "the tests need mistakes to show"
    return found


@pytest.fixture(scope="module")
def page(report, data):
    return render(report, data, command="kerneton evaluate 'my <recordings>'")


def test_contents_list_the_sections_in_order(page):
    sections = [attributes["id"] for attributes in Reader(page).having("section")]
    assert re.findall(r'<li><a href="#(\w+)">', page)[: len(sections)] == sections


def with_probabilities(report):
    """The same report, as if the model gave probabilities."""
    splits = []
    for split in report.splits:
        shares = np.exp(2 * split.scores)
        splits.append(
            dataclasses.replace(split, probabilities=shares / shares.sum(axis=1, keepdims=True))
        )
    return dataclasses.replace(report, splits=tuple(splits))


def with_names(report, data, names):
    """The same report and data under other labels, subjects and names."""
    label = dict(zip(report.classes, names, strict=True))
    subject = {s: f"{names[0]} {s}" for s in sorted(set(data.subjects.tolist()))}
    renamed = SkeletonDataset(
        [
            s.replace(label=label[s.label], subject=subject[s.subject], name=names[1] + s.name)
            for s in data
        ],
        name=names[2],
    )

    def new(labels):
        return np.array([label[k] for k in labels.tolist()])

    splits = tuple(
        dataclasses.replace(
            s,
            name=names[0],
            true=new(s.true),
            predicted=new(s.predicted),
            model_classes=tuple(label[c] for c in s.model_classes),
            importance=dataclasses.replace(
                s.importance, labels=tuple(label[c] for c in s.importance.labels)
            ),
        )
        for s in report.splits
    )
    facts = {
        **report.data,
        "name": names[2],
        "labels": {label[k]: n for k, n in report.data["labels"].items()},
        "subjects": {subject[k]: n for k, n in report.data["subjects"].items()},
        "layouts": {names[1]: 18},
        "warnings": list(names),
    }
    other = dataclasses.replace(
        report,
        splits=splits,
        classes=tuple(label[c] for c in report.classes),
        recordings=tuple(s.name for s in renamed),
        subjects=tuple(renamed.subjects.tolist()),
        protocol=names[0],
        model=names[1],
        parameters={names[0]: names[1]},
        data=facts,
        versions={names[1]: names[0]},
    )
    return other, renamed


# what it says


def test_the_note_on_views_is_whole(report, data):
    names = ["free", "free, mirrored", "free, either order", "fixed"]
    splits = [
        dataclasses.replace(s, variant="free", variant_scores=dict.fromkeys(names, 0.9))
        for s in report.splits
    ]
    shown = render(dataclasses.replace(report, splits=tuple(splits)), data)
    assert "either order: it does not matter who of two is the first." in shown


def test_every_part_is_there(page, report):
    reader = Reader(page)
    sections = [a["id"] for a in reader.having("section")]
    assert {"result", "next", "confusion", "classes", "mistakes", "probabilities", "joints"} < set(
        sections
    )
    contents = [
        a["href"].lstrip("#") for a in reader.having("a") if a["href"].lstrip("#") in sections
    ]
    assert list(dict.fromkeys(contents)) == sections
    text = reader.text
    assert f"{100 * report.accuracy:.1f}" in text
    assert f"± {100 * report.accuracy_sd:.1f}" in text
    assert "kerneton evaluate 'my <recordings>'" in text
    for value in (
        *report.classes,
        report.protocol,
        *report.versions,
        *report.versions.values(),
        "sck__kernel__order",
    ):
        assert value in text
    assert "mean and standard deviation over 3 splits" in text


def test_confusion_cells_say_what_they_count(page, report):
    text = Reader(page).text
    matrix = report.confusion
    for i, j in np.argwhere(matrix):
        a, b = report.classes[i], report.classes[j]
        what = f"{a} recognised" if i == j else f"{a} taken for {b}"
        assert f"{what}: {matrix[i, j]} of {matrix[i].sum()}" in text
    assert len(Reader(page).having("g", **{"class": "cell"})) == np.count_nonzero(matrix)


def test_pairs_have_players_and_the_matrix_leads_to_them(page, report):
    reader = Reader(page)
    cards = reader.having("article", **{"class": "card"})
    assert len(cards) == min(len(report.confused_pairs(None)), 6)
    targets = {a["href"] for a in reader.having("a") if "pair" in a["href"]}
    assert targets == {f"#{card['id']}" for card in cards}
    players = reader.having("figure", **{"class": "player"})
    assert len(reader.having("figure", **{"class": "mistake"})) >= len(cards)
    assert len(reader.having("figure", **{"class": "example"})) == len(cards)
    assert {int(a["data-motion"]) for a in players} == set(range(len(motions_in(page))))


def test_accessible_by_construction(page):
    reader = Reader(page)
    assert len(reader.having("caption")) == len(reader.having("table"))
    assert all(a.get("scope") for a in reader.having("th"))
    assert all(a.get("aria-label") for name, a in reader.elements if name in ("svg", "input"))
    identifiers = [a["id"] for _, a in reader.elements if "id" in a]
    assert len(identifiers) == len(set(identifiers))
    levels = [int(name[1]) for name, _ in reader.elements if re.fullmatch("h[1-6]", name)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))


def test_nothing_is_loaded(page):
    reader = Reader(page)
    loading = [
        (n, k) for n, a in reader.elements for k in a if k in ("src", "srcset", "data", "action")
    ]
    assert loading == []
    assert not re.search(r"https?:|@import|url\(|<link|<iframe", page)
    (policy,) = [a["content"] for a in reader.having("meta") if "http-equiv" in a]
    assert "default-src 'none'" in policy
    assert "script-src 'sha256-" in policy


def test_probabilities_are_checked_where_there_are_any(report, data, page):
    assert "The model gives no probabilities" in Reader(page).text
    sure = with_probabilities(report)
    text = Reader(render(sure, data)).text
    assert "The model gives no probabilities" not in text
    proba = np.concatenate([s.probabilities for s in sure.splits])
    true = np.concatenate([s.true for s in sure.splits])
    right = np.array(report.classes)[proba.argmax(axis=1)] == true
    confidence, gap = proba.max(axis=1), 0.0
    for low in np.arange(10) / 10:
        inside = (confidence > low) & (confidence <= low + 0.1)
        gap += abs(right[inside].sum() - confidence[inside].sum())
    assert f"{gap / len(right):.3f} expected calibration error" in text
    assert "There are too few tests for a verdict: a difference of up to" in text  # 18 tests
    assert f"The mean probability of the predicted label is {100 * confidence.mean():.1f}" in text


def test_joints_of_each_class(page, report, data):
    reader = Reader(page)
    assert len(reader.having("article", **{"class": "class"})) == 3
    assert len(reader.having("circle", **{"class": "mark"})) >= 3 * 15
    importance = pooled([s.importance for s in report.splits])
    label, (joint, value) = importance.labels[0], importance.top(importance.labels[0], 1)[0]
    told = f"{joint.replace('_', ' ')} {value:+.3f}"
    assert re.search(f"{label} .*{re.escape(told)}", reader.text)


def test_importance_is_measured_on_test_recordings_when_asked_for(report, data, model):
    split = report.splits[0]
    train = sorted(set(range(len(data))) - set(split.indices.tolist()))
    fitted = model.fit(data.select(train), data.labels[train])
    expected = class_importance(fitted, data.select(split.indices))
    assert split.importance.labels == expected.labels
    assert_allclose(split.importance.values, expected.values)
    plain = evaluate(model, data, "leave-one-subject-out")
    assert plain.splits[0].importance is None
    assert "Not measured" in Reader(render(plain, data)).text
    dummy = evaluate(DummyClassifier(), data, "leave-one-subject-out", importance=True)
    assert dummy.splits[0].importance is None


def test_players_show_what_joints_say_at_each_frame(page, report, data):
    whys = {i: why for split in report.splits for i, why in split.reasons.items()}
    assert whys
    reader = Reader(page)
    motions = motions_in(page)
    spoken = [motion for motion in motions if motion["said"] is not None]
    assert spoken
    for motion in spoken:
        said = np.array(motion["said"])
        assert said.shape == (len(motion["frames"]), 20)
        assert np.abs(said).max() > 50
    dots = [a for n, a in reader.elements if n == "circle" and "mark" in (a.get("class") or "")]
    assert len(dots) >= 20 * len(spoken)
    shown = [why.words for why in whys.values() if html.escape(why.words, quote=False) in page]
    assert shown
    for split in report.splits:
        for i, why in split.reasons.items():
            at = split.indices.tolist().index(i)
            assert why.label == split.predicted[at]
            assert why.versus == (None if split.true[at] == why.label else split.true[at])


def test_classes_say_what_the_model_looks_for_and_when(page, report):
    importance = report.splits[0].importance
    text = Reader(page).text
    assert importance.phases.shape == (3, 10, 20)
    for label in importance.labels:
        assert label in text
    strips = re.findall(r'<li class="phases" aria-hidden="true">(.*?)</li>', page)
    assert len(strips) == 15
    assert all(strip.count("<i ") == 10 for strip in strips)


def test_importance_of_splits_with_other_joints_is_not_pooled(report):
    one = report.splits[0].importance
    other = dataclasses.replace(one, joints=tuple(reversed(one.joints)))
    assert pooled([one, other]) is None
    assert pooled([]) is None


# what may be missing


def test_without_recordings_mistakes_are_listed(report):
    reader = Reader(render(report))
    assert "The recordings were not passed to this page" in reader.text
    assert not reader.having("figure", **{"class": "player"})
    wrong = next(row for row in report.prediction_table() if not row["correct"])
    assert wrong["recording"] in reader.text


def test_no_mistakes_one_split_no_subjects(report, data):
    split = dataclasses.replace(report.splits[0], predicted=report.splits[0].true)
    perfect = dataclasses.replace(
        report, splits=(split,), subjects=None, data={**report.data, "subjects": {}}
    )
    anonymous = [s.replace(subject=None) for s in data]
    text = Reader(render(perfect, anonymous)).text
    assert "There was no mistake to show." in text
    assert "accuracy, one split 95 % interval 61.0 to 100.0 %" in text  # Wilson's for 6 of 6
    assert "if its 6 recordings were independent" in text
    assert "±" not in text


def test_one_of_several_worst_is_called_so(report, data):
    split = report.splits[0]
    first, second, *_ = report.classes
    for said, told in (
        (
            {first: second, second: first},
            ("One of the most frequent mistakes", "One of the labels with"),
        ),
        ({first: second}, ("The most frequent mistake is", "The label with")),
    ):
        predicted = np.array([said.get(label, label) for label in split.true])
        sure = np.where(predicted[:, None] == np.array(report.classes), 0.998, 0.001)
        one = dataclasses.replace(split, predicted=predicted, probabilities=sure)
        text = Reader(render(dataclasses.replace(report, splits=(one,)), data)).text
        assert [part for part in told if part not in text] == []
        assert "On average, the probabilities agree" not in text
    perfect = dataclasses.replace(split, predicted=split.true, probabilities=None)
    sure = np.where(split.true[:, None] == np.array(report.classes), 0.998, 0.001)
    perfect = dataclasses.replace(perfect, probabilities=sure)
    assert (
        "On average, the probabilities agree"
        in Reader(render(dataclasses.replace(report, splits=(perfect,)), data)).text
    )


def test_warnings_of_the_data_are_shown(report, data):
    told = dataclasses.replace(
        report, data={**report.data, "warnings": ["the same recording 2 times: a, b"]}
    )
    text = Reader(render(told, data)).text
    assert (
        "One thing in the recordings may distort the results the same recording 2 times: a, b"
        in text
    )
    assert "may mislead" not in Reader(render(report, data)).text


def test_summary_without_details(report):
    facts = {k: report.data[k] for k in ("name", "n_recordings", "labels", "n_frames")}
    assert "Frame rate unknown" in Reader(render(dataclasses.replace(report, data=facts))).text


@pytest.mark.parametrize("kind", ["bare", "flat", "unmeasured", "one frame", "gaps"])
def test_unusual_recordings(report, data, kind):
    def change(s):
        joints = s.joints.copy()
        if kind == "bare":
            return s.replace(layout=None, confidence=None, fps=None)
        if kind == "flat":
            joints[..., 2] = 0
        if kind == "unmeasured":
            joints[:] = np.nan
        if kind == "one frame":
            return s.replace(joints=joints[:1], confidence=None)
        if kind == "gaps":
            joints[3:6] = np.nan
            joints[:, 4] = np.nan
        return s.replace(joints=joints)

    page = render(report, [change(s) for s in data])
    reader = Reader(page)
    motions = motions_in(page)
    assert ("No joint of this recording was measured." in reader.text) == (kind == "unmeasured")
    assert (motions == []) == (kind == "unmeasured")
    if kind == "bare":
        assert reader.having("line", **{"class": "bone"})  # found in the data
        assert motions[0]["timed"] is False
    if kind == "flat":
        assert motions[0]["turns"] is False
    if kind == "gaps":
        assert motions[0]["frames"][4] == [None] * 60


def test_label_that_no_recording_has(report, data):
    split = report.splits[0]
    said = np.full(split.n_test, "none of these")
    strange = dataclasses.replace(
        report,
        splits=(dataclasses.replace(split, predicted=said),),
        classes=(*report.classes, "none of these"),
    )
    text = Reader(render(strange, data)).text
    assert "No recording has the label none of these." in text


def test_none_of_these_is_a_mistake_like_others(data, model):
    strict = clone(model).set_params(
        calibrate=True, reject=True, false_alarm=0.9, unknown_label="none of these"
    )
    refused = evaluate(strict, data, "leave-one-subject-out", importance=True)
    assert "none of these" in refused.classes
    assert "No recording has the label none of these." in Reader(render(refused, data)).text
    accepting = evaluate(strict.set_params(reject=False), data, "leave-one-subject-out")
    assert "none of these" not in accepting.classes


def test_wrong_data_is_refused_and_the_old_page_stays(report, data, tmp_path):
    path = tmp_path / "page.html"
    path.write_text("old")
    with pytest.raises(DataError, match="about 18 recordings, got 17"):
        report.to_html(path, data[:17])
    with pytest.raises(
        DataError, match="recording 0 is 's01_draw_circle_t1' in the report and 's03_drink_t2'"
    ):
        report.to_html(path, list(data)[::-1])
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]
    report.to_html(path, data)
    assert Reader(path.read_text(encoding="utf-8")).having("h1")


# escaping


def test_every_text_is_escaped_and_cut():
    """Whatever a template says: as content, as an attribute, through a macro, put together from
    parts.
    """
    text = "<b>&\"'"
    template = (
        "{% macro bold(x) %}<b>{{ x }}</b>{% endmacro %}"
        "{{ x }}|<p title=\"{{ x }}\"></p>|{{ bold(x) }}|{{ 'a ' ~ x }}|{{ '%s'|format(x) }}"
    )
    safe = "&lt;b&gt;&amp;&#34;&#39;"
    said = environment().from_string(template).render(x=text)
    assert said == f'{safe}|<p title="{safe}"></p>|<b>{safe}</b>|a {safe}|{safe}'
    assert len(environment().from_string("{{ x }}").render(x="x" * 10_000)) == 300


def test_no_template_switches_escaping_off():
    folder = Path(environment.__wrapped__.__code__.co_filename).parent
    templates = sorted(folder.glob("*.html"))
    assert [path.name for path in templates] == [
        "charts.html",
        "macros.html",
        "page.html",
        "spotting.html",
    ]
    for path in templates:
        assert not re.search(r"\|\s*safe|autoescape", path.read_text(encoding="utf-8")), path


def test_hostile_names_stay_text(report, data, page):
    other, renamed = with_names(with_probabilities(report), data, HOSTILE)
    hostile = render(other, renamed, command=HOSTILE[0])
    reader, plain = Reader(hostile), Reader(render(with_probabilities(report), data, command="x"))
    assert [n for n, _ in reader.elements].count("script") == 2
    assert {n for n, _ in reader.elements} == {n for n, _ in plain.elements}
    assert not [k for _, a in reader.elements for k in a if k.startswith("on")]
    assert {k for _, a in reader.elements for k in a} == {k for _, a in plain.elements for k in a}
    assert HOSTILE[0] in reader.text
    assert HOSTILE[1] in reader.text
    assert "\u202e" not in hostile
    assert "\x00" not in hostile
    hostile.encode("utf-8")


# pictures


def test_motion_faces_the_viewer_and_stays_in_the_picture(data):
    motion = Motion.of(data[0])
    names = KINECT_20.joints
    for yaw_frame in range(len(motion.frames)):
        pose = motion.view(yaw_frame)
        seen = pose[~np.isnan(pose).any(axis=1)]
        assert (seen >= 0).all()
        assert (seen <= [WIDTH, HEIGHT]).all()
    mean = np.nanmean(np.stack([motion.view(t) for t in range(len(motion.frames))]), axis=0)
    # Seen from the front, the right shoulder is at the picture's left; y grows downwards.
    assert mean[names.index("right_shoulder"), 0] < mean[names.index("left_shoulder"), 0]
    assert mean[names.index("head"), 1] < mean[names.index("left_foot"), 1]


def test_motion_as_whole_numbers(data):
    motion = Motion.of(data[0])
    written = motion.to_dict()
    assert len(written["frames"]) == len(thinned(data[0].n_frames, 20))
    values = np.array(written["frames"], dtype=float)  # None becomes NaN
    assert_array_equal(np.isnan(values), np.isnan(motion.frames.reshape(len(values), -1)))
    assert all(isinstance(v, int) or v is None for row in written["frames"] for v in row)
    # Distances between joints survive scale and rounding.
    raw, drawn = data[0].joints[0], motion.frames[0]
    bones = np.array(KINECT_20.bones)
    lengths = [np.linalg.norm(x[bones[:, 0]] - x[bones[:, 1]], axis=1) for x in (raw, drawn)]
    there = ~np.isnan(lengths[0])
    ratio = lengths[1][there].sum() / lengths[0][there].sum()
    assert_allclose(lengths[1][there], ratio * lengths[0][there], atol=2)


def test_examples_are_recognised_and_mistakes_are_the_surest(report, data):
    predictions = all_predictions(report)
    examples = best_examples(predictions, data)
    right = {p.index for p in predictions if p.correct}
    for label, index in examples.items():
        assert data[index].label == label
        assert index in right or not any(data[i].label == label for i in right)
    pair = choose(report, predictions, examples)[0]
    same = [p for p in predictions if (p.label, p.predicted) == (pair.label, pair.predicted)]
    assert pair.count == len(same)
    assert pair.mistakes[0].margin == max(p.margin for p in same)


def test_large_data_make_a_page_of_bounded_size():
    rng = np.random.default_rng(0)
    labels = [f"label {i:02d}" for i in range(60)]
    true = np.array(labels * 20)
    data = SkeletonDataset(
        [SkeletonSequence(rng.normal(size=(300, 60, 3)), label=k, subject=str(i % 50), name=f"n{i}" * 20)
         for i, k in enumerate(true)]
    )  # fmt: skip
    splits = tuple(
        Split(
            str(k),
            100,
            np.arange(1200),
            true,
            rng.permutation(true),
            fit_seconds=1.0,
            predict_seconds=1.0,
        )
        for k in range(3)
    )
    small = evaluate(DummyClassifier(), make_actions(["wave", "clap"], n_subjects=2, n_takes=1), 2)
    report = dataclasses.replace(
        small,
        splits=splits,
        classes=tuple(labels),
        recordings=tuple(s.name for s in data),
        subjects=tuple(data.subjects.tolist()),
        data={
            **small.data,
            "labels": dict.fromkeys(labels, 20),
            "subjects": {str(i): 24 for i in range(50)},
        },
    )
    page = render(report, data)
    assert len(page.encode()) < 3_000_000
    motions = motions_in(page)
    assert 6 < len(motions) <= 12
    assert max(len(m["frames"]) for m in motions) * 60 <= 3000


# the command


def test_command(data, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(LOADERS, "toy", lambda home: data)
    path = tmp_path / "deep" / "report.html"
    argv = [
        "evaluate",
        "toy",
        "--kernel",
        "sck",
        "--set",
        "sck__order=2",
        "--html",
        str(path),
        "--quiet",
    ]
    assert main(argv) == 0
    assert capsys.readouterr().out == ""
    text = Reader(path.read_text(encoding="utf-8")).text
    assert f"kerneton evaluate toy --kernel sck --set sck__order=2 --html {path}" in text
    assert "Not measured" not in text
    assert "expected calibration error" in text


@pytest.mark.filterwarnings("always:the model gives no probabilities")
def test_command_on_too_few_recordings_for_probabilities(tmp_path, monkeypatch, capsys):
    few = make_actions(["wave", "clap"], n_subjects=2, n_takes=1, fps=10)
    monkeypatch.setitem(LOADERS, "toy", lambda home: few)
    path = tmp_path / "report.html"
    assert (
        main(
            [
                "evaluate",
                "toy",
                "--kernel",
                "sck",
                "--set",
                "sck__order=2",
                "--html",
                str(path),
                "-q",
            ]
        )
        == 0
    )
    assert "kerneton: warning: the model gives no probabilities: " in capsys.readouterr().err
    assert "The model gives no probabilities" in Reader(path.read_text(encoding="utf-8")).text


def test_command_says_the_same_with_a_page(data, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(LOADERS, "toy", lambda home: data)
    results = []
    for more in ([], ["--html", str(tmp_path / "report.html")]):
        assert (
            main(
                [
                    "evaluate",
                    "toy",
                    "--kernel",
                    "sck",
                    "--set",
                    "sck__order=2",
                    "--json",
                    "-",
                    "-q",
                    *more,
                ]
            )
            == 0
        )
        results.append(json.loads(capsys.readouterr().out))
    assert results[0]["confusion"] == results[1]["confusion"]
    assert results[0]["predictions"] == results[1]["predictions"]


# a browser

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
OPTIONS = [
    *(
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--hide-scrollbars",
    ),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--enable-logging=stderr",  # where complaints of the page's script appear
]
# In virtual time no frames are drawn, so a timer stands in for them.
FRAMES = "let now = 0; window.requestAnimationFrame = f => setTimeout(() => f(now += 16), 16);"
ACT = """
const wait = ms => new Promise(done => setTimeout(done, ms));
addEventListener("load", async () => {
  const out = {}, player = document.querySelector(".player"), button = player.querySelector(".play");
  const bones = () => [...player.querySelectorAll(".bone")].map(b => b.getAttribute("x1")).join();
  const slider = player.querySelector("input"), stage = player.querySelector(".stage");
  out.still = bones(); out.title = document.title;
  button.click(); await wait(300);
  out.playing = [button.getAttribute("aria-pressed"), button.getAttribute("aria-label").slice(0, 5), +slider.value];
  await wait(300); out.later = +slider.value;
  button.click(); const at = slider.value; await wait(200); out.paused = slider.value === at;
  slider.value = slider.max; slider.dispatchEvent(new Event("input")); out.end = bones();
  out.clock = player.querySelector("output").value; out.told = slider.getAttribute("aria-valuetext");
  stage.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight"})); out.turned = bones();
  stage.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowLeft"})); out.back = bones();
  const all = document.querySelector(".all"); all.click(); await wait(50);
  out.all = [...all.closest(".card").querySelectorAll(".play")].map(b => b.getAttribute("aria-pressed"));
  out.word = all.textContent; all.click(); out.word2 = all.textContent;
  const table = document.querySelector("table.sortable"), head = table.tHead.rows[0].cells[3];
  const recalls = () => [...table.tBodies[0].rows].map(r => +r.cells[3].dataset.key);
  head.firstChild.click(); out.down = recalls(); out.sort = head.ariaSort;
  head.firstChild.click(); out.up = recalls();
  out.ready = document.body.dataset.ready; out.stolen = document.body.dataset.stolen ?? null;
  document.body.innerHTML = ""; document.body.textContent = "RESULT" + JSON.stringify(out) + "END";
});
"""


def browse(path, tmp_path, *flags):
    """What Chromium says of a page, with its complaints."""
    done = subprocess.run(
        [BROWSER, *OPTIONS, f"--user-data-dir={tmp_path / 'profile'}", *flags, path.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    complaints = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return done.stdout, complaints


@browser
def test_chromium_runs_the_page(report, data, tmp_path):
    """Hostile names, probabilities and all; the page as it is, then a copy in which a script acts
    as a user.
    """
    other, renamed = with_names(with_probabilities(report), data, HOSTILE)
    path = tmp_path / "hostile.html"
    other.to_html(path, renamed)
    shown, complaints = browse(path, tmp_path, "--dump-dom")
    assert complaints == []
    n_players = len(
        Reader(path.read_text(encoding="utf-8")).having("figure", **{"class": "player"})
    )
    assert f'data-ready="{n_players}"' in shown
    assert "data-stolen" not in shown.partition("<header")[0]

    text = path.read_text(encoding="utf-8")
    acting = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    acting = acting.replace("<style>", f"<script>{FRAMES}</script><style>", 1)
    acting = acting.replace("</body>\n</html>", f"<script>{ACT}</script></body></html>")
    path.write_text(acting, encoding="utf-8")
    shown, complaints = browse(path, tmp_path, "--virtual-time-budget=9000", "--dump-dom")
    assert complaints == []
    out = json.loads(html.unescape(re.search(r"RESULT(.*)END", shown)[1]))
    assert out["ready"] == str(n_players)
    assert out["stolen"] is None
    assert out["playing"][:2] == ["true", "Pause"]
    assert 0 < out["playing"][2] < out["later"]
    assert out["paused"]
    assert out["end"] != out["still"]
    assert out["clock"] == out["told"]
    assert out["clock"].endswith(" s")
    assert out["turned"] != out["end"]
    assert out["back"] == out["end"]
    assert set(out["all"]) == {"true"}
    assert (out["word"], out["word2"]) == ("Pause all", "Play all")
    assert out["down"] == sorted(out["down"], reverse=True)
    assert out["up"] == sorted(out["up"])
    assert out["sort"] == "descending"


@browser
def test_script_and_still_draw_the_same(report, data, tmp_path):
    """What Python drew for paper is what the script draws first."""
    path = tmp_path / "page.html"
    report.to_html(path, data)
    shown, _ = browse(path, tmp_path, "--dump-dom")

    def bones(page):
        found = [
            a
            for a in Reader(page).having("line", **{"class": "bone"})
            if a.get("visibility") != "hidden"
        ]
        return np.array([[float(a[k]) for k in ("x1", "y1", "x2", "y2")] for a in found])

    written, drawn = bones(path.read_text(encoding="utf-8")), bones(shown)
    assert written.shape == drawn.shape
    assert_allclose(drawn, written, atol=0.51)


MEASURE = """
addEventListener("load", () => setTimeout(() => {
  for (const each of document.querySelectorAll("details")) each.open = true;
  setTimeout(() => {
    const root = document.scrollingElement, told = [...document.querySelectorAll(".scroll.wide")];
    const cut = [...document.querySelectorAll("main *, nav *, header *")].filter(
      e => e.getBoundingClientRect().right > root.clientWidth + 1 && !told.some(t => t.contains(e)));
    const hint = getComputedStyle(told[0], "::before").content;
    const rows = new Set([...document.querySelectorAll("nav a")].map(a => a.getBoundingClientRect().top));
    const out = { width: root.clientWidth, page: root.scrollWidth, cut: cut.map(e => e.outerHTML.slice(0, 80)),
      wide: told.map(e => e.textContent.trim().slice(0, 20)), hint, rows: rows.size };
    parent.postMessage(JSON.stringify(out), "*");
  }, 500);
}, 300));
"""
# A window has a least width; a frame has not.
FRAME = """<!DOCTYPE html><iframe src="page.html" style="border: 0; width: {width}px; height: 900px"></iframe>
<script>onmessage = event => {{ document.body.textContent = "RESULT" + event.data + "END"; }}</script>"""


@browser
@pytest.mark.parametrize("width", [400, 1400])
def test_nothing_is_cut_without_a_hint(report, data, tmp_path, width):
    """On a phone and on a desk: what is wider than the screen scrolls and says so; the navigation
    wraps.
    """
    path = tmp_path / "page.html"
    with_probabilities(report).to_html(path, data)
    text = re.sub(
        r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", path.read_text(encoding="utf-8")
    )
    text = text.replace("<style>", f"<script>{FRAMES}</script><style>", 1)
    path.write_text(text.replace("</body>", f"<script>{MEASURE}</script></body>"), encoding="utf-8")
    outer = tmp_path / "outer.html"
    outer.write_text(FRAME.format(width=width), encoding="utf-8")
    shown, complaints = browse(outer, tmp_path, "--virtual-time-budget=5000", "--dump-dom")
    assert complaints == []
    out = json.loads(html.unescape(re.search(r"RESULT(.*)END", shown)[1]))
    assert out["width"] == width
    assert out["page"] <= width
    assert out["cut"] == []
    assert "scroll sideways" in out["hint"]
    assert (out["rows"] == 1) == (width == 1400)


@browser
def test_screenshots_in_light_and_dark(report, data, tmp_path):
    image = pytest.importorskip("PIL.Image")
    path = tmp_path / "page.html"
    report.to_html(path, data)
    brightness = {}
    for name, flags in {"light": [], "dark": ["--force-dark-mode"]}.items():
        picture = tmp_path / f"{name}.png"
        browse(path, tmp_path, *flags, "--window-size=1000,2600", f"--screenshot={picture}")
        pixels = np.asarray(image.open(picture).convert("L"))
        assert pixels.shape == (2600, 1000)
        assert pixels.std() > 10, "something is drawn"
        brightness[name] = pixels.mean()
    assert brightness["light"] > 220
    assert brightness["dark"] < 60


def test_the_page_says_what_was_done_to_unit_and_axes():
    data = make_actions(["wave", "clap"], n_subjects=2, n_takes=1, fps=10)
    converted, done = to_convention([s.replace(joints=1000 * s.joints) for s in data])
    told = SkeletonDataset(converted, name="mm", conversion=done)
    report = evaluate(make_recognizer(kernel="sck"), told, "leave-one-subject-out")
    page = render(report, told)
    assert "When the recordings were read, coordinates were millimetres and became metres" in page
    assert "y up, right-handed; 1.6" in page
    assert " m from the feet to the head" in page
    stated = {**report.data, "notes": ["stated by the files: -y up (override with --unit, --up)"]}
    page = render(dataclasses.replace(report, data=stated), told)
    assert ">Stated by the files: -y up" in page
