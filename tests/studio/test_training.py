"""From clips to a model and live labels, with the processes that really do it."""

from __future__ import annotations

import io
import itertools
import json
import zipfile
from collections import Counter

import numpy as np
import pytest
from runtimes import in_node, node
from studios import TOKEN, running
from websockets.sync.client import connect

import kerneton
from kerneton import make_actions
from kerneton.cli import main
from kerneton.exceptions import ParameterError
from kerneton.files.readers import write
from kerneton.recognize.model_reader import load
from kerneton.report.intervals import interval
from kerneton.studio import recognizing
from kerneton.studio.live import Watcher, Window, frame_of
from kerneton.studio.server import Studio
from kerneton.studio.trainer import _some, read_folder, record_next
from kerneton.studio.trainer import train as train_here


def test_the_bar_moves_and_ends(trained):
    shares = [t["training"]["share"] for t in trained.told if t["training"].get("running")]
    assert shares == sorted(shares)
    assert len(set(shares)) > 3
    assert trained.told[-1]["training"]["error"] is None


def test_the_figures_are_those_of_people_held_out(trained):
    (model,) = trained.get("models")["models"]
    assert model["people"] == "subjects"
    assert model["memory"] is None or 1e8 < model["memory"] < 4e9  # of its process, for the page
    assert model["tested"] == 15
    assert np.sum(model["confusion"]) == 15
    assert np.trace(model["confusion"]) == model["right"]
    right = [row["true"] == row["said"] for row in model["predictions"]]
    known = interval(right, [row["name"].split("/")[1] for row in model["predictions"]])
    assert model["interval"] == pytest.approx([known.low, known.high])
    assert model["over_people"] == 5
    ids = {row["id"] for row in trained.get("recordings")["recordings"]}
    assert {row["name"] for row in model["predictions"]} <= ids


def test_the_web_page_of_the_model_is_a_zip(trained, tmp_path):
    node()
    (model,) = trained.get("models")["models"]
    status, body, headers = trained.ask(f"/api/models/page?name={model['name']}")
    assert status == 200
    assert f"{model['name']}-page.zip" in headers["content-disposition"]
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        names = set(archive.namelist())
        archive.extractall(tmp_path)
    assert {"page/index.html", "page/kerneton.wasm", "page/model.knx", "page/demo.json"} <= names
    data = kerneton.load_folder(trained.studio.library.root)
    said = in_node(tmp_path / "page", [(data[0].joints, data[0].fps)])
    home = trained.studio.library.root / "__studio__" / "models" / model["name"]
    assert said["out"][0]["label"] == kerneton.load(home / "model.kern").predict(data[:1])[0]
    assert trained.ask("/api/models/page?name=../x")[0] == 404


def test_the_model_is_one_that_kerneton_loads_and_the_report_is_a_page(trained):
    (model,) = trained.get("models")["models"]
    home = trained.studio.library.root / "__studio__" / "models" / model["name"]
    loaded = kerneton.load(home / "model.kern")
    data = kerneton.load_folder(trained.studio.library.root)
    assert (loaded.predict(data) == data.labels).mean() > 0.9
    status, body, headers = trained.ask(f"/api/models/{model['name']}/model.kern")
    assert (status, body) == (200, (home / "model.kern").read_bytes())
    assert "attachment" in headers["content-disposition"]
    status, body, headers = trained.ask(f"/api/models/{model['name']}/report.html")
    assert status == 200
    assert body.lower().startswith(b"<!doctype html>")
    assert "attachment" in headers["content-disposition"]


def test_suggestions_are_right_and_the_least_certain_come_first(trained):
    ids = [row["id"] for row in trained.get("recordings")["recordings"] if row["label"] is None]
    told = trained.post("suggest", ids=ids)
    assert {s["id"].rsplit("/")[-1]: s["label"] for s in told["suggestions"]} == {
        "clip-1.npz": "wave",
        "clip-2.npz": "clap",
        "clip-3.npz": "kick",
    }
    margins = [s["margin"] for s in told["suggestions"] if not s["unknown"]]
    assert margins == sorted(margins)
    assert [id.rsplit("/")[-1] for id in told["long"]] == ["long-take.npz"]


LONG = ["wave", "wave", "clap", "clap", "kick", "kick"]  # what the long take shows


def long_take(server):
    (row,) = [
        r for r in server.get("recordings")["recordings"] if r["id"].endswith("long-take.npz")
    ]
    return row


def test_segments_of_the_long_take_are_found_in_order(trained):
    long = long_take(trained)
    found = trained.post("segments", id=long["id"])["segments"]
    assert [s["label"] for s in found] == LONG
    assert all(a["stop"] <= b["start"] for a, b in itertools.pairwise(found))
    assert found[-1]["stop"] <= long["frames"]


def test_segments_are_told_in_the_frames_of_the_recording(trained):
    """Every second frame of it, at half the rate: the same segments, at half the frame numbers."""
    long = trained.studio.library.sequence(long_take(trained)["id"])
    model, figures = trained.studio.models.figures()
    both = load(model)
    half = long.replace(joints=long.joints[::2], confidence=None, fps=long.fps / 2)
    whole, halved = (recognizing.segments(both, s, figures["fps"]) for s in (long, half))
    assert [s["label"] for s in halved] == [s["label"] for s in whole] == LONG
    for a, b in zip(whole, halved, strict=True):
        assert abs(a["start"] - 2 * b["start"]) < 30
        assert abs(a["stop"] - 2 * b["stop"]) < 30


def test_a_long_take_is_watched_live(trained):
    """Segments, repetitions, none of these and reasons come while the frames do."""
    long = long_take(trained)
    segments, last, sure, none = [], {}, set(), 0
    with connect(f"ws://127.0.0.1:{trained.port}/api/live?token={TOKEN}") as page:
        assert json.loads(page.recv(timeout=60))["labels"] == ["clap", "kick", "wave"]
        page.send(json.dumps({"replay": long["id"], "why": True}))
        for at in [*range(14, long["frames"], 15), long["frames"] - 1]:
            page.send(json.dumps({"at": at}))
            told = json.loads(page.recv(timeout=60))
            assert "error" not in told, told
            segments += told["segments"]
            if "label" in told:
                last = told
                shares = [share for _, share in told["ranked"]]
                assert told["ranked"][0] == [told["label"], told["probability"]]  # one truth
                assert shares == sorted(shares, reverse=True)
                assert sum(shares) <= 1 + 1e-6
                none += told["unknown"]
                if told["sure"]:
                    sure.add(told["label"])
    assert [s["label"] for s in segments] == LONG[: len(segments)]
    assert len(segments) >= 5  # the last one ends with the recording
    assert sure == {"wave", "clap", "kick"}
    assert none > 3  # between the actions
    assert all(n >= 2 for n in last["counts"].values())
    assert sum(s["repetitions"] for s in segments if s["label"] == "clap") == last["counts"]["clap"]
    assert set(last["joints"]) == set(trained.get(f"motion?id={long['id']}")["joints"])


def test_the_limit_of_doubt_decides_what_has_a_label(trained):
    """At 0 nothing has one, and no segment becomes final; at 1 everything has."""
    path, figures = trained.studio.models.figures()
    models = load(path), figures
    kick = trained.studio.library.sequence("kick/bob/kick-bob.npz")
    rows = np.nan_to_num(np.concatenate([kick.joints, np.isfinite(kick.joints[..., :1])], axis=-1))
    still = rows[rows[..., 3].all(axis=1)][:1]  # a frame in which all is seen, for two seconds
    rows = np.concatenate([rows, np.repeat(still, 60, axis=0)])
    named, segments = {}, {}
    for doubt in (0.0, 1.0):
        watcher, named[doubt], segments[doubt] = Watcher(*models), 0, 0
        for i in range(0, len(rows), 5):
            frames = [(j / kick.fps, rows[j]) for j in range(i, min(i + 5, len(rows)))]
            told = watcher.answer(frames, kick.layout, why=False, doubt=doubt)
            named[doubt] += "label" in told and not told["unknown"]
            segments[doubt] += len(told["segments"])
    assert (named[0.0], segments[0.0]) == (0, 0)
    assert named[1.0] > 10
    assert segments[1.0] == 1


def test_a_source_that_begins_anew_is_watched_anew(trained):
    path, figures = trained.studio.models.figures()
    watcher = Watcher(load(path), figures)
    kick = trained.studio.library.sequence("kick/bob/kick-bob.npz")
    rows = np.nan_to_num(np.concatenate([kick.joints, np.isfinite(kick.joints[..., :1])], axis=-1))
    frames = [(i / kick.fps, row) for i, row in enumerate(rows)]
    told = watcher.answer(frames, kick.layout, why=False)
    assert told["label"] == "kick"
    assert "filling" in watcher.answer(frames[:5], kick.layout, why=False)
    assert watcher.answer(frames[5:], kick.layout, why=False)["label"] == "kick"


def test_of_many_recordings_the_spotter_learns_from_as_many_of_each():
    """Its memory grows with what it learns from; everybody's labels are there."""
    data = make_actions(["wave", "clap", "kick", "bow"], n_subjects=30, n_takes=3)
    rare = [s.replace(label="nod", subject="9") for s in data[:3]]
    notes: list[str] = []
    some = _some(kerneton.SkeletonDataset([*data, *rare]), notes)
    counts = Counter(s.label for s in some)
    assert len(some) <= 124
    assert set(counts) == {"wave", "clap", "kick", "bow", "nod"}
    assert max(counts.values()) - min(counts[a] for a in ("wave", "clap", "kick", "bow")) <= 5
    assert len({s.subject for s in some}) <= 17
    assert notes == [
        f"to find actions in long recordings, {len(some)} of 363 recordings were used, of 15 people"
    ]
    assert _some(data[:110], notes) == list(data[:110])
    assert len(notes) == 1


def test_reasons_name_the_joints(trained):
    (row,) = [
        r for r in trained.get("recordings")["recordings"] if r["id"] == "kick/ann/kick-ann.npz"
    ]
    told = trained.post("why", id=row["id"])
    assert told["label"] == "kick"
    assert max(abs(v) for v in told["joints"].values()) == 1
    assert len(told["joints"]) == row["joints"]


def test_a_replayed_recording_gets_its_label_live(trained):
    with connect(f"ws://127.0.0.1:{trained.port}/api/live?token={TOKEN}") as page:
        assert json.loads(page.recv(timeout=60))["labels"] == ["clap", "kick", "wave"]
        page.send(json.dumps({"replay": "kick/bob/kick-bob.npz"}))
        n = trained.studio.library.record("kick/bob/kick-bob.npz").info.n_frames
        for at in range(n):
            page.send(json.dumps({"at": at}))
        while (
            "label" not in (told := json.loads(page.recv(timeout=60)))
            or told["t"] < (n - 1) / 30 - 1e-6
        ):
            assert "error" not in told
        assert told["label"] == "kick"
        assert not told["unknown"]
        assert set(told["joints"]) == set(trained.get("motion?id=kick/bob/kick-bob.npz")["joints"])


def test_a_training_can_be_stopped_and_leaves_nothing(trained):
    before = trained.get("models")
    trained.post("train")
    status, answer, _ = trained.ask("/api/train", {})
    assert status == 400
    assert "running" in answer["error"]
    trained.post("train/stop")
    with connect(f"ws://127.0.0.1:{trained.port}/api/events?token={TOKEN}") as news:
        while json.loads(news.recv(timeout=60))["training"]["running"]:
            pass
    assert trained.get("models") == before
    assert len(list((trained.studio.library.root / "__studio__" / "models").glob("2*"))) == 1


def test_too_little_to_train_is_said(tmp_path):
    studio = Studio(tmp_path / "few", eager=False)
    with running(studio) as server:
        kerneton.write(
            kerneton.make_actions(["wave"], n_subjects=1, n_takes=1),
            tmp_path / "few" / "wave" / "1.npz",
        )
        with connect(f"ws://127.0.0.1:{server.port}/api/events?token={TOKEN}") as news:
            server.post("train")
            while not (told := json.loads(news.recv(timeout=120))["training"]).get("error"):
                pass
        assert told["error"] == "at least two labels are needed; this folder has wave (1)"


def test_two_labels_by_two_people_once_each_are_trained(tmp_path):
    """No person can be held out, because nothing would be left to choose parameters with:
    recordings are.
    """
    root = tmp_path / "two"
    for s in kerneton.make_actions(["wave", "clap"], n_subjects=2, n_takes=1):
        write([s], root / str(s.label) / f"p{s.subject}" / f"{s.name}.npz")

    class TestedError(Exception):
        pass

    def tell(**news):
        if news["stage"] == "fit":
            raise TestedError

    with pytest.raises(TestedError):  # a refusal would be a DataError, before
        train_here(root, "2026-01-31_154500", tell)


def test_recordings_to_train_on_are_those_of_the_command_line(folder):
    notes: list[str] = []
    (folder / "wave" / "bad.csv").write_text("a,b\nc,d\n")
    mine = read_folder(folder, notes, lambda items, **_: items)
    with pytest.warns(UserWarning, match="bad.csv"):
        theirs = kerneton.load_folder(folder, skip_broken=True)
    assert mine.labels.tolist() == theirs.labels.tolist()
    assert mine.subjects.tolist() == theirs.subjects.tolist()
    assert len(notes) == 1
    assert "bad.csv" in notes[0]


def test_advice_names_what_is_missing(toy):
    few = [s for s in toy if s.subject == "s1"]
    codes = [row["code"] for row in record_next(few, [{"true": "bow", "said": "clap", "n": 2}])]
    assert codes == ["second-person", "more", "more", "more", "confused"]
    assert record_next(toy, []) == []


def test_a_window_forgets_jumps_and_old_frames():
    window = Window(seconds=1.0)
    for t in np.arange(0, 3, 0.125):
        window.push(float(t), np.full((5, 4), t))
    assert window.frames[0][0] == 1.875
    assert window.recording(8.0, 0.5).joints[-1, 0, 0] == 2.875
    window.push(0.5, np.ones((5, 4)))  # the source began anew
    assert len(window.frames) == 1


def test_resampling_a_window_is_linear():
    window = Window(seconds=2.0)
    for t in (0.0, 0.3, 0.35, 1.0, 1.4):
        window.push(t, np.full((2, 4), t))
    times = window.recording(25.0, 5.0).joints[:, 0, 0]
    np.testing.assert_allclose(np.diff(times), 0.04, atol=1e-6)


@pytest.mark.parametrize(
    "told",
    [{}, {"time": 0}, {"time": "x", "joints": [[0, 0, 0]]}, {"time": 0, "joints": [[0, 0]]}, {"time": 0, "joints": []},
     {"time": float("nan"), "joints": [[0, 0, 0]]}, {"time": 0, "joints": [[0, 0, 0]], "layout": "kinect20"}],
)  # fmt: skip
def test_wrong_frames_are_refused(told):
    with pytest.raises(ParameterError):
        frame_of(told)


def test_one_file_predicts_spots_and_watches(trained, tmp_path, capsys):
    """The file that Share gives is all that the command line needs."""
    (model,) = trained.get("models")["models"]
    status, body, _ = trained.ask(f"/api/models/{model['name']}/model.kern")
    assert status == 200
    file, source = tmp_path / "model.kern", str(trained.folder / "wave" / "ann" / "wave-ann.npz")
    file.write_bytes(body)
    long = tmp_path / "long.npz"
    write([trained.studio.library.sequence(long_take(trained)["id"])], long)
    assert main(["watch", str(file), "--source", str(long), "--fast"]) == 0
    told = capsys.readouterr().out
    assert [line.split()[3] for line in told.splitlines() if " from " in line] == LONG
    assert main(["spot", str(file), str(long)]) == 0
    assert capsys.readouterr().out.count("clap") >= LONG.count("clap")
    assert main(["predict", str(file), source]) == 0
    assert "wave" in capsys.readouterr().out
    (found,) = load(file).predictions([trained.studio.library.sequence("wave/ann/wave-ann.npz")])
    assert found.label == "wave"
    assert set(found.probabilities) == {"wave", "clap", "kick"}  # the background is no label
    assert trained.ask(f"/api/models/{model['name']}/spotter.kern")[0] == 404
