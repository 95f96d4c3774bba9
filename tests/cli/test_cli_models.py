"""Commands from files to a model that explains itself: fit, predict, explain, show, convert."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kerneton import load, make_actions, make_recognizer, read, write
from kerneton.cli import main, predict
from kerneton.cli.convert import _safe
from kerneton.data.layouts import COCO_17, KINECT_20, KINECT_25, Layout
from kerneton.data.mapping import map_layout
from kerneton.data.sequence import SkeletonDataset, SkeletonSequence
from kerneton.files import output
from kerneton.files.folder import load_folder
from kerneton.recognize import answers, storage
from kerneton.recognize.contributions import explain
from kerneton.recognize.recognizer import Recognizer
from kerneton.recognize.sensors import centred_on
from kerneton.recognize.training import Limits

LABELS = ["wave", "clap", "bow"]
FAST = ["--preset", "paper", "--kernel", "sck", "--set", "sck__order=2", "--set", "sck__joints=key"]


def make(**options):
    return make_actions(LABELS, fps=15, **{"n_subjects": 3, "n_takes": 1, **options})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """LABEL/SUBJECT/FILE.csv, as people have it."""
    root = tmp_path_factory.mktemp("my-recordings")
    for s in make():
        place = root / s.label / s.subject
        place.mkdir(parents=True)
        write([s.replace(label=None, subject=None)], place / "take.csv")
    return root


@pytest.fixture(scope="module")
def model(folder, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.kern"
    assert main(["fit", str(folder), "-o", str(path), "-q", *FAST]) == 0
    return path


@pytest.fixture(scope="module")
def new(tmp_path_factory):
    """Recordings of somebody else."""
    root = tmp_path_factory.mktemp("new")
    for s in make(n_subjects=1, random_state=5):
        write([s.replace(label=None, subject=None, name=s.label)], root / f"{s.label}.npz")
    return root


def printed(capsys):
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


# fit


def test_fit_equals_the_library_call(folder, tmp_path, capsys):
    path = tmp_path / "deep" / "model.kern"
    assert (
        main(["fit", str(folder), "-o", str(path), "--json", str(tmp_path / "fit.json"), *FAST])
        == 0
    )
    text = printed(capsys)
    data = load_folder(folder)
    data = SkeletonDataset(
        [s.replace(joints=s.joints.astype(np.float32)) for s in data], name=data.name
    )
    expected = make_recognizer("paper", kernel="sck", calibrate=True)
    expected.set_params(sck__kernel__order=2, sck__kernel__joints="key").fit(data, data.labels)
    found = load(path)
    assert_allclose(found.decision_function(data), expected.decision_function(data), rtol=0, atol=0)
    assert found.machine_.coef_.dtype == np.float32
    assert found.training_["labels"] == {"bow": 3, "clap": 3, "wave": 3}
    told = json.loads((tmp_path / "fit.json").read_text())
    assert told["held_out"] == expected.calibration_.held_out_
    assert told["bytes"] == path.stat().st_size
    assert told["data"]["n_recordings"] == 9
    first, second, third, other, fourth, last = text.splitlines()
    assert first.endswith("9 recordings, 3 labels, 3 subjects")
    assert second.startswith(
        f"held-out subjects: accuracy {expected.calibration_.held_out_['accuracy_nested']:.1%}"
    )
    alarms = expected.calibration_.held_out_["false_alarm"]
    assert third.startswith(
        f"known actions of held-out subjects taken for unknown: {alarms:.1%} (95 % interval "
    )
    assert (
        other == "kerneton evaluate trains anew for every split: its accuracy may differ a little"
    )
    assert fourth.startswith(f"wrote {path} (")
    assert last == f"wrote {tmp_path / 'fit.json'}"


def test_fit_takes_patterns_and_false_alarms(folder, tmp_path):
    flat = tmp_path / "flat"
    for s in make():
        write([s.replace(label=None, subject=None)], flat / f"{s.label}-{s.subject}.csv")
    path = tmp_path / "model.kern"
    argv = [
        "fit",
        str(flat),
        "-o",
        str(path),
        "--pattern",
        "{label}-{subject}",
        "--false-alarm",
        "0.2",
        "-q",
    ]
    assert main([*argv, *FAST]) == 0
    assert load(path).false_alarm == 0.2
    assert load(path).training_["subjects"] == {"1": 3, "2": 3, "3": 3}


@pytest.mark.filterwarnings("always")
def test_fit_warns_of_what_may_mislead(folder, tmp_path, capsys):
    few = tmp_path / "few"
    for s in make(n_takes=2)[:5]:
        write([s], few / s.label / s.subject / f"{s.name}.csv")
    assert main(["fit", str(few), "-o", str(tmp_path / "m.kern"), *FAST]) == 0
    captured = capsys.readouterr()
    assert "kerneton: warning: labels with 2 recordings or fewer: " in captured.err
    assert "held-out recordings" in captured.out  # there is one subject only


@pytest.mark.filterwarnings("always")
def test_fit_without_anything_to_hold_out(tmp_path, capsys):
    one = tmp_path / "one"
    for s in make(n_subjects=1):
        write([s.replace(subject=None)], one / s.label / f"{s.name}.csv")
    path = tmp_path / "m.kern"
    assert main(["fit", str(one), "-o", str(path), *FAST]) == 0
    captured = capsys.readouterr()
    assert (
        "kerneton: warning: the model gives no probabilities: every label has only one recording"
        in captured.err
    )
    assert not hasattr(load(path), "predict_proba")
    assert main(["predict", str(path), str(one / "wave")]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[-2:] == ["wave", "-"]


def test_a_fit_that_fails_is_not_repeated_without_probabilities(
    folder, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(Recognizer, "limits", Limits(choice=5, gram=5, sample=6))
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(storage.shutil, "disk_usage", lambda _: usage._replace(free=1000))
    path = tmp_path / "m.kern"
    argv = ["fit", str(folder), "-o", str(path), "--scratch", str(tmp_path / "scratch"), *FAST]
    monkeypatch.setattr(output, "_LEAST", 0)
    assert main(argv) == 1
    told = capsys.readouterr().err
    assert "the features need" in told
    assert "no probabilities" not in told
    assert not path.exists()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
def test_a_model_whose_disk_is_full_is_kept_elsewhere(folder, new, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert main(["fit", str(folder), "-o", "/dev/full", *FAST]) == 1
    captured = capsys.readouterr()
    assert "held-out subjects: accuracy" in captured.out
    (kept,) = tmp_path.glob("saved-model-*/full")
    assert captured.err == (
        f"kerneton: error: /dev/full: No space left on device; the trained model is in {kept} instead\n"
    )
    assert list(load(kept).predict(read(new / "wave.npz"))) == ["wave"]


def test_prediction_moves_in_blocks(model, new, tmp_path, monkeypatch, capsys):
    assert main(["predict", str(model), str(new), "--json", "-"]) == 0
    whole = json.loads(capsys.readouterr().out)
    monkeypatch.setattr(answers, "BLOCK", 2)
    shown = []
    monkeypatch.setattr(
        predict, "progress_of", lambda _: lambda items, **how: shown.append(how) or items
    )
    assert main(["predict", str(model), str(new), "--json", "-"]) == 0
    for row, expected in zip(json.loads(capsys.readouterr().out), whole, strict=True):
        assert row["file"] == expected["file"]
        assert row["label"] == expected["label"]
        # sums in float32
        assert row["probability"] == pytest.approx(expected["probability"], abs=1e-6)
    assert shown == [{"total": 2, "desc": "predicting"}]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["nowhere"], "'nowhere' is neither a folder nor a data set"),
        (["FOLDER", "--set", "sck__order=7"], "order must be one of 1, 2, 3"),
        (["FOLDER", "--false-alarm", "2"], "--false-alarm must be a number in [0, 1)"),
        (["FOLDER", "--index", "none.csv"], "no such index file"),
    ],
)
def test_fit_says_what_is_wrong(folder, tmp_path, capsys, argv, message):
    argv = [str(folder) if word == "FOLDER" else word for word in argv]
    assert (
        main(["fit", *argv, "-o", str(tmp_path / "m.kern"), "--preset", "paper", "--kernel", "sck"])
        == 1
    )
    error = capsys.readouterr().err
    assert message in error
    assert error.startswith("kerneton: error: ")
    assert error.count("\n") == 1
    assert not (tmp_path / "m.kern").exists()


@pytest.mark.filterwarnings("always")
def test_fit_needs_labels(new, tmp_path, capsys):
    assert main(["fit", str(new), "-o", str(tmp_path / "m.kern"), *FAST]) == 1
    assert "3 of 3 recordings have no label" in capsys.readouterr().err


# predict


def test_predict_equals_the_library_call(model, new, tmp_path, capsys):
    files = [str(new / f"{label}.npz") for label in LABELS]
    argv = [
        "predict",
        str(model),
        *files,
        "--json",
        str(tmp_path / "p.json"),
        "--csv",
        str(tmp_path / "p.csv"),
    ]
    assert main([*argv, "--all"]) == 0
    text = printed(capsys)
    machine = load(model)
    recordings = [s.replace(joints=s.joints.astype(np.float32)) for f in files for s in read(f)]
    expected = machine.predictions(recordings)
    told = json.loads((tmp_path / "p.json").read_text())
    assert [row["file"] for row in told] == files
    assert [row["label"] for row in told] == [p.label for p in expected] == LABELS
    assert [row["probability"] for row in told] == [p.probability for p in expected]
    assert [row["unknown_score"] for row in told] == [p.unknown_score for p in expected]
    rows = list(csv.DictReader(io.StringIO((tmp_path / "p.csv").read_text())))
    assert [row["label"] for row in rows] == LABELS
    for row, p in zip(rows, expected, strict=True):
        assert_allclose(float(row["probability"]), p.probability, atol=1e-6)
        assert_allclose(
            [float(row[f"P({k})"]) for k in LABELS], [p.probabilities[k] for k in LABELS], atol=1e-6
        )
        assert row["unknown"] == ("yes" if p.unknown else "no")
    *lines, last = text.splitlines()
    assert [line.split()[2] for line in lines[1:]] == LABELS
    assert last == f"wrote {tmp_path / 'p.csv'}, {tmp_path / 'p.json'}"


def test_predict_reads_folders_and_writes_tables_to_the_screen(model, new, capsys):
    assert main(["predict", str(model), str(new), "--csv", "-"]) == 0
    rows = list(csv.reader(io.StringIO(printed(capsys))))
    assert rows[0] == [
        "file",
        "recording",
        "frames",
        "label",
        "probability",
        "unknown",
        "unknown_score",
    ]
    assert [row[3] for row in rows[1:]] == sorted(LABELS)


def test_predict_tells_what_is_unknown(model, folder, tmp_path, capsys):
    rng = np.random.default_rng(0)
    noise = SkeletonSequence(rng.normal(size=(40, 20, 3)), layout=KINECT_20, name="noise", fps=15)
    write([noise], tmp_path / "noise.npz")
    assert main(["predict", str(model), str(tmp_path / "noise.npz"), "--json", "-"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["unknown"] is True
    assert main(["predict", str(model), str(tmp_path / "noise.npz"), "-q"]) == 0
    assert "note" not in capsys.readouterr().err
    assert main(["predict", str(model), str(tmp_path / "noise.npz")]) == 0
    told = capsys.readouterr()
    assert "unlike anything seen in training" in told.out
    assert told.err.count("add people, or lower --false-alarm of kerneton fit") == 1


def test_predict_maps_other_layouts(model, new, tmp_path, capsys):
    (wave,) = read(new / "wave.npz")
    rich = SkeletonSequence(
        np.zeros((wave.n_frames, 25, 3)), layout=KINECT_25, name="wave25", fps=15
    )
    joints = rich.joints
    for i, joint in enumerate(KINECT_25.joints):
        joints[:, i] = wave.joints[
            :, KINECT_20.index(joint if joint in KINECT_20.joints else "head")
        ]
    write([rich], tmp_path / "wave25.npz")
    bare = wave.replace(layout=None, name="bare")
    write([bare], tmp_path / "bare.npz")
    files = [str(new / "wave.npz"), str(tmp_path / "wave25.npz"), str(tmp_path / "bare.npz")]
    assert main(["predict", str(model), *files, "--json", "-"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["label"] for row in told] == ["wave"] * 3
    assert told[0]["probability"] == told[2]["probability"]
    assert_allclose(told[0]["probability"], told[1]["probability"], atol=1e-5)
    few = map_layout(wave, Layout("two", ["head", "left_wrist"]))
    write([few], tmp_path / "few.npz")
    assert main(["predict", str(model), str(tmp_path / "few.npz")]) == 1
    assert "with layout 'two' lacks hip_center" in capsys.readouterr().err


def test_predict_of_a_new_sensor_centres_features_on_its_recordings(model, new, capsys):
    assert main(["predict", str(model), str(new), "--new-sensor", "--json", "-"]) == 0
    told = json.loads(capsys.readouterr().out)
    fitted, data = load(model), [read(file)[0] for file in sorted(new.iterdir())]
    moved = centred_on(fitted, fitted.adapt(data))
    expected = [p.probability for p in moved.predictions(fitted.adapt(data))]
    assert_allclose([row["probability"] for row in told], expected, rtol=1e-6)
    assert main(["predict", str(model), str(new / "wave.npz"), "--new-sensor"]) == 1
    assert "one recording" in capsys.readouterr().err


@pytest.mark.filterwarnings("always")
def test_predict_reports_all_broken_files_or_skips_them(model, new, tmp_path, capsys):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("nothing\n")
    files = [str(new / "wave.npz"), str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    assert main(["predict", str(model), *files]) == 1
    error = capsys.readouterr().err
    assert "2 of 3 files cannot be used" in error
    assert "a.csv" in error
    assert "b.csv" in error
    assert error.count("\n") == 1
    assert main(["predict", str(model), *files, "--skip-broken"]) == 0
    captured = capsys.readouterr()
    assert captured.err.startswith("kerneton: warning: 2 of 3 files cannot be used")
    assert len(captured.out.splitlines()) == 2


def test_predict_with_what_is_no_model(new, tmp_path, capsys):
    assert main(["predict", str(new / "wave.npz"), str(new / "wave.npz")]) == 1
    assert "wave.npz: a recording, not a model; the model comes first" in capsys.readouterr().err
    assert main(["predict", str(tmp_path / "none.kern"), str(new / "wave.npz")]) == 1
    assert "none.kern: no such file" in capsys.readouterr().err
    assert main(["predict", str(new / "wave.npz"), str(tmp_path)]) == 1


@pytest.mark.parametrize(
    "command", ["evaluate {}", "convert {} a.csv", "predict {model} {}", "info {}"]
)
def test_a_model_in_the_place_of_recordings(model, tmp_path, capsys, monkeypatch, command):
    """Also one of another name, which is told by its content."""
    monkeypatch.chdir(tmp_path)
    renamed = shutil.copy(model, tmp_path / "model.bin")
    for path in (model, renamed) if command != "info {}" else (renamed,):
        assert main(command.format(path, model=model).split()) == 1
        assert f"{path}: a model, not a recording; name recordings" in capsys.readouterr().err


def test_predict_an_empty_folder(model, tmp_path, capsys):
    assert main(["predict", str(model), str(tmp_path)]) == 1
    assert "no recordings in this folder" in capsys.readouterr().err


def test_info_of_a_model(model, capsys):
    assert main(["info", str(model), "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["labels"] == sorted(LABELS)
    assert main(["info", str(model)]) == 0
    text = capsys.readouterr().out
    assert "trained on  9 recordings of 3 subjects, " in text
    assert "joints      kinect20" in text


# explain


def test_explain_equals_the_library_call(model, new, tmp_path, capsys):
    picture = tmp_path / "why.png"
    argv = [
        "explain",
        str(model),
        str(new / "wave.npz"),
        "--json",
        str(tmp_path / "why.json"),
        "-o",
        str(picture),
    ]
    assert main(argv) == 0
    text = printed(capsys)
    (recording,) = read(new / "wave.npz")
    expected = explain(load(model), recording.replace(joints=recording.joints.astype(np.float32)))
    assert json.loads((tmp_path / "why.json").read_text()) == json.loads(expected.to_json())
    assert text == f"{expected}\nwrote {picture}, {tmp_path / 'why.json'}\n"
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_explain_tells_the_seconds_of_the_recording(model, new, tmp_path, capsys, monkeypatch):
    """A model of recordings without frame rate looks at others at a rate that makes them as fast,
    and is no time.
    """
    monkeypatch.setattr(
        "kerneton.recognize.sensors.paced", lambda _, sequence: sequence.replace(fps=0.9)
    )
    argv = ["explain", str(model), str(new / "wave.npz"), "--json", str(tmp_path / "why.json")]
    assert main(argv) == 0
    assert re.search(r" strongest \d\.\d\d to \d\.\d\d s: ", printed(capsys))
    (recording,) = read(new / "wave.npz")
    moments = json.loads((tmp_path / "why.json").read_text())["moments"]
    assert max(m["stop_seconds"] for m in moments) <= recording.n_frames / recording.fps


def test_explain_another_label(model, new, capsys):
    assert (
        main(["explain", str(model), str(new / "wave.npz"), "--label", "bow", "--versus", "clap"])
        == 0
    )
    assert "wave: bow rather than clap, " in printed(capsys)
    assert main(["explain", str(model), str(new / "wave.npz"), "--label", "fly"]) == 1
    assert "no label 'fly'; its labels are bow, clap, wave" in capsys.readouterr().err
    assert main(["explain", str(model), str(new / "wave.npz"), "-o", "why.docx"]) == 1
    assert "choose .png, .svg or .pdf" in capsys.readouterr().err


# show


@pytest.mark.parametrize("command", ["show", "explain"])
def test_pictures_whose_name_says_no_format(command, model, new, tmp_path):
    argv = [command, *([str(model)] if command == "explain" else []), str(new / "bow.npz")]
    assert main([*argv, "-o", str(tmp_path / "picture")]) == 0
    assert (tmp_path / "picture").read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in tmp_path.iterdir()] == ["picture"]
    done = subprocess.run(
        [sys.executable, "-m", "kerneton", *argv, "-q", "-o", "/dev/stdout"], capture_output=True
    )
    assert done.returncode == 0
    assert done.stdout.startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("name", "start"),
    [("a.gif", b"GIF8"), ("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a", b"\x89PNG")],
)
def test_show(new, tmp_path, capsys, name, start):
    (recording,) = read(new / "bow.npz")
    short = recording.replace(joints=recording.joints[:6], confidence=None)
    write([short], tmp_path / "short.npz")
    argv = [
        "show",
        str(tmp_path / "short.npz"),
        "-o",
        str(tmp_path / name),
        "--poses",
        "3",
        "--title",
        "A bow",
    ]
    assert main(argv) == 0
    assert printed(capsys) == f"wrote {tmp_path / name}: 6 frames of bow\n"
    assert (tmp_path / name).read_bytes().startswith(start)


def test_show_has_a_default_place_and_says_what_it_cannot_do(new, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (recording,) = read(new / "bow.npz")
    write([recording.replace(joints=recording.joints[:2], confidence=None)], "short.npz")
    assert main(["show", "short.npz", "-q"]) == 0
    assert (tmp_path / "short.gif").exists()
    assert main(["show", "short.npz", "-o", "a.docx"]) == 1
    assert "cannot write '.docx'" in capsys.readouterr().err
    assert main(["show", "short.npz", "-o", "a.png", "--poses", "0"]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_which_recording_of_several(new, tmp_path, capsys):
    both = [s for label in ("bow", "wave") for s in read(new / f"{label}.npz")]
    write(
        [s.replace(joints=s.joints[: 4 + i], confidence=None) for i, s in enumerate(both)],
        tmp_path / "both.npz",
    )
    argv = ["show", str(tmp_path / "both.npz"), "-o", str(tmp_path / "a.png"), "--json", "-"]
    assert main(argv) == 1
    assert (
        "contains 2 recordings (bow, wave): choose one, such as --recording 1"
        in capsys.readouterr().err
    )
    for which, frames in (("1", 4), ("2", 5), ("wave", 5)):
        assert main([*argv, "--recording", which]) == 0
        assert json.loads(capsys.readouterr().out)["frames"] == frames
    for which in ("3", "0", "fly"):
        assert main([*argv, "--recording", which]) == 1
        assert f"contains 2 recordings (bow, wave), none named '{which}'" in capsys.readouterr().err


# convert


def test_convert_a_file(new, tmp_path, capsys):
    assert main(["convert", str(new / "wave.npz"), str(tmp_path / "wave.csv")]) == 0
    assert printed(capsys) == f"wrote 1 recording to {tmp_path / 'wave.csv'}\n"
    before, after = read(new / "wave.npz")[0], read(tmp_path / "wave.csv")[0]
    assert_allclose(after.joints, before.joints)
    assert after.layout == before.layout


@pytest.mark.parametrize("ending", ["csv", "npz", "pkl", "tsv"])
def test_convert_a_folder_to_one_file_and_back(folder, tmp_path, ending, capsys):
    one = tmp_path / f"all.{ending}"
    assert main(["convert", str(folder), str(one), "-q"]) == 0
    assert len(read(one)) == 9
    assert main(["convert", str(one), str(tmp_path / "tree"), "--to", "csv", "--json", "-"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["recordings"] == len(told["files"]) == 9
    if ending != "pkl":  # which has numbers for labels, and no subjects
        before, after = load_folder(folder), load_folder(tmp_path / "tree")
        assert sorted(zip(before.labels, before.subjects, strict=True)) == sorted(
            zip(after.labels, after.subjects, strict=True)
        )


def test_convert_maps_layouts(new, tmp_path, capsys):
    (wave,) = read(new / "wave.npz")
    filmed = SkeletonSequence(
        np.random.default_rng(0).normal(size=(5, 17, 3)), layout=COCO_17, name="filmed"
    )
    write([filmed], tmp_path / "filmed.npz")
    argv = [
        "convert",
        str(tmp_path / "filmed.npz"),
        str(tmp_path / "out.npz"),
        "--map",
        "florence15",
    ]
    assert main(argv) == 0
    assert read(tmp_path / "out.npz")[0].layout.name == "florence15"
    assert main([*argv[:-1], "moon"]) == 1
    assert "no layout 'moon'; known layouts are florence15" in capsys.readouterr().err
    assert wave.layout == KINECT_20


def test_convert_says_what_it_cannot_do(new, tmp_path, capsys):
    assert main(["convert", str(new / "wave.npz"), str(tmp_path / "wave.docx")]) == 1
    assert (
        "cannot write '.docx'; choose .npz, .parquet, .feather, .pkl, .pickle, .bvh, .trc, .jsonl, .csv, .tsv, or a folder"
        in capsys.readouterr().err
    )
    assert main(["convert", str(tmp_path / "none.bvh"), str(tmp_path / "x.csv")]) == 1
    assert "none.bvh: no such file or folder" in capsys.readouterr().err


def test_convert_stays_within_its_folder(new, tmp_path):
    (wave,) = read(new / "wave.npz")
    evil = [
        wave.replace(label="../../evil", subject="/root", name=name)
        for name in ("../x", "../x", "..")
    ]
    write(evil, tmp_path / "evil.npz")
    assert main(["convert", str(tmp_path / "evil.npz"), str(tmp_path / "out"), "-q"]) == 0
    found = sorted(str(f.relative_to(tmp_path)) for f in tmp_path.rglob("*.npz"))
    assert len(found) == 4
    assert all(name.startswith("out/") for name in found if name != "evil.npz")
    assert _safe("sit down") == "sit down"


# from files to an explained prediction


def test_five_commands_from_a_folder_of_tables(tmp_path, monkeypatch, capsys):
    """What the README promises, with sixty CSV files."""
    monkeypatch.chdir(tmp_path)
    for s in make(n_subjects=5, n_takes=4):
        place = tmp_path / "rec" / s.label / s.subject
        write([s.replace(label=None, subject=None)], place / f"{s.name}.csv")
    write(make(n_subjects=1, random_state=9)[:1], "new.csv")
    for command in (
        ["info", "rec"],
        ["evaluate", "rec", "--protocol", "k-fold", "--html", "report.html", *FAST],
        ["fit", "rec", "-o", "model.kern", *FAST],
        ["predict", "model.kern", "new.csv"],
        ["explain", "model.kern", "new.csv", "-o", "why.png"],
    ):
        assert main(command) == 0, command
    text = capsys.readouterr().out
    assert "60 recordings, 3 labels, 5 subjects" in text
    assert (tmp_path / "why.png").exists()
    assert (tmp_path / "report.html").exists()
