"""The options of every command that reads recordings, and outputs that are checked before the
work.
"""

from __future__ import annotations

import html
import json
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import kerneton
from kerneton.cli import build_parser, main
from kerneton.cli.fit import write_model
from kerneton.data.differences import misspelt_side
from kerneton.data.layouts import FLORENCE_15, LAYOUTS, Layout
from kerneton.data.mapping import map_layout
from kerneton.datasets.synthetic import make_actions
from kerneton.files import readers
from kerneton.report.body import Body

READING = (
    "--layout",
    "--rename",
    "--columns",
    "--fps",
    "--unit",
    "--up",
    "--flip",
    "--skip-broken",
)


@pytest.fixture
def folder(tmp_path):
    """Six recordings in millimetres, z up, left-handed, as tables."""
    for r in make_actions(["wave", "bow"], n_subjects=3, n_takes=1):
        x, y, z = np.moveaxis(r.joints, -1, 0)
        place = tmp_path / "data" / r.label / r.subject
        place.mkdir(parents=True)
        readers.write([r.replace(joints=1000 * np.stack([-x, -z, y], axis=-1))], place / "take.csv")
    return tmp_path / "data"


@pytest.mark.parametrize(
    "command", ["info", "show", "convert", "fit", "predict", "explain", "evaluate", "cut"]
)
def test_every_command_that_reads_has_the_same_options(command):
    (action,) = [a for a in build_parser()._actions if isinstance(a.choices, dict)]
    options = action.choices[command]._option_string_actions
    assert [option for option in READING if option not in options] == []


@pytest.mark.parametrize("fps", ["0", "-3", "many", "nan"])
def test_no_frames_per_second_is_wrong_usage(folder, capsys, fps):
    with pytest.raises(SystemExit) as caught:
        main(["info", str(folder), f"--fps={fps}"])
    assert caught.value.code == 2
    assert "expected a positive number" in capsys.readouterr().err


def test_info_says_what_was_done_and_names_the_joints(folder, capsys):
    assert main(["info", str(folder)]) == 0
    told = capsys.readouterr().out
    assert (
        "coordinates were millimetres and became metres (detected from the data; override with --unit)"
        in told
    )
    assert "z was up and became y" in told
    assert (
        "axes were left-handed and became right-handed (detected: 6 of 6 recordings show it; override with --no-flip)"
        in told
    )
    assert "left_wrist" in told
    assert main(["info", str(folder / "wave"), "--unit", "m", "--up=-z", "--no-flip"]) == 0
    assert "-z was up and became y (--up)" in capsys.readouterr().out


def test_convert_notes_it_once_and_writes_all_that_can_be_written(folder, tmp_path, capsys):
    (one, *_) = sorted((folder / "wave").rglob("*.csv"))
    for ending in readers.writable():
        assert main(["convert", str(one), str(tmp_path / f"one{ending}")]) == 0
        err = capsys.readouterr().err
        assert err.count("kerneton: note:") == 1
        assert readers.read(tmp_path / f"one{ending}")[0].joints.shape[1:] == (20, 3)
    assert main(["convert", str(folder), str(tmp_path / "out"), "--to", "bvh", "-q"]) == 0
    assert len(list((tmp_path / "out").rglob("*.bvh"))) == 6
    assert main(["convert", str(one), str(tmp_path / "one.docx")]) == 1
    assert "choose .npz, .parquet, .feather, .pkl" in capsys.readouterr().err


def test_rename_and_columns(tmp_path, capsys):
    table = tmp_path / "a.csv"
    table.write_text("LWX,LWY,LWZ,RigthHand_x,RigthHand_y,RigthHand_z\n1,2,3,4,5,6\n1,2,3,4,5,7\n")
    columns = "LWX=left_wrist_x,LWY=left_wrist_y,LWZ=left_wrist_z"
    command = [
        "info",
        str(table),
        "--columns",
        columns,
        "--rename",
        "RigthHand=right_hand",
        "--json",
        "-",
    ]
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["joint_names"] == ["left_wrist", "right_hand"]
    assert main(["info", str(table), "--rename", "RigthHand"]) == 1
    assert "--rename takes OLD=NEW" in capsys.readouterr().err


def test_no_python_words_in_messages(tmp_path, capsys):
    (tmp_path / "bare.csv").write_text("1,2,3,4,5\n")
    (tmp_path / "rows.txt").write_text("1 2 3\n" * 6)
    (tmp_path / "odd.csv").write_text("a,b\n1,2\n")
    for name in ("bare.csv", "rows.txt", "odd.csv", ""):
        assert main(["info", str(tmp_path / name)]) == 1
        error = capsys.readouterr().err
        assert not any(
            word in error for word in ("layout=", "columns=", "kerneton.", "load_folder", "True")
        )


@pytest.mark.parametrize("where", ["folder", "input", "file-in-file"])
def test_outputs_are_checked_before_the_work(folder, tmp_path, capsys, monkeypatch, where):
    (one, *_) = sorted(folder.rglob("*.csv"))
    monkeypatch.setattr(
        "kerneton.files.folder.load_folder", lambda *_, **__: pytest.fail("work has begun")
    )
    output = {"folder": folder, "input": one, "file-in-file": one / "x.npz"}[where]
    told = {
        "folder": "a folder; name a file",
        "input": "would overwrite an input file",
        "file-in-file": "is not a folder",
    }
    assert main(["info", str(one), "--json", str(output)]) == 1
    assert told[where] in capsys.readouterr().err


def test_results_are_printed_before_files_are_written(capsys):
    from argparse import Namespace

    from kerneton.cli import Output, deliver

    def fail():
        raise OSError(28, "No space left on device", "report.html")

    with pytest.raises(OSError, match="No space"):
        deliver(Output("accuracy 93 %", {}, fail), Namespace(quiet=False, json=None))
    assert "accuracy 93 %" in capsys.readouterr().out


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Trained on the recordings of three people at 30 frames per second."""
    root = tmp_path_factory.mktemp("model")
    readers.write(make_actions(["wave", "bow"], n_subjects=3, n_takes=1), root / "all.npz")
    assert (
        main(["fit", str(root / "all.npz"), "-o", str(root / "m.kern"), "-q", "--kernel", "sck"])
        == 0
    )
    return root / "m.kern"


@pytest.mark.filterwarnings("default")
def test_prediction_warns_of_recordings_that_differ(model, tmp_path, capsys):
    wave = make_actions(["wave"], n_subjects=1, n_takes=1, random_state=3)[0]
    readers.write([wave], tmp_path / "same.npz")
    assert main(["predict", str(model), str(tmp_path / "same.npz")]) == 0
    assert capsys.readouterr().err == ""
    readers.write([wave.replace(fps=None)], tmp_path / "timeless.npz")
    assert main(["predict", str(model), str(tmp_path / "timeless.npz")]) == 0
    assert (
        "has no frame rate, the training recordings have 30 frames per second: give it with --fps"
        in (capsys.readouterr().err)
    )
    assert main(["predict", str(model), str(tmp_path / "timeless.npz"), "--fps", "30"]) == 0
    assert capsys.readouterr().err == ""
    assert main(["predict", str(model), str(tmp_path / "same.npz"), "--unit", "mm"]) == 0
    assert "is the unit right (--unit)?" in capsys.readouterr().err
    assert main(["explain", str(model), str(tmp_path / "timeless.npz")]) == 0
    assert "has no frame rate" in capsys.readouterr().err


def test_the_model_knows_what_its_recordings_were(model, capsys):
    assert main(["info", str(model), "--json", "-"]) == 0
    facts = json.loads(capsys.readouterr().out)["training"]["conventions"]
    assert facts["fps"] == 30
    assert 1.2 < facts["height"] < 1.8
    assert facts["conversion"]["up"] == "y"


@pytest.mark.filterwarnings("default")
def test_skip_broken_skips_recordings_that_lack_a_joint(model, tmp_path, capsys):
    wave = make_actions(["wave"], n_subjects=1, n_takes=1, random_state=3)[0]
    readers.write([wave], tmp_path / "good.npz")
    (tmp_path / "lacks.csv").write_text("head_x,head_y,head_z\n0,1.7,2\n0,1.6,2\n")
    command = [
        "predict",
        str(model),
        str(tmp_path / "good.npz"),
        str(tmp_path / "lacks.csv"),
        "--json",
        "-",
    ]
    assert main(command) == 1
    assert "lacks" in capsys.readouterr().err
    assert main([*command, "--skip-broken"]) == 0
    captured = capsys.readouterr()
    assert [row["recording"] for row in json.loads(captured.out)] == [wave.name]
    assert "1 of 2 recordings cannot be used" in captured.err
    assert main(["predict", str(model), str(tmp_path / "lacks.csv"), "--skip-broken"]) == 1


@pytest.mark.parametrize("command", ["predict", "spot", "explain"])
def test_a_recording_in_the_place_of_the_model(model, folder, tmp_path, capsys, command):
    (one, *_) = sorted(folder.rglob("*.csv"))
    for wrong, what in ((one, "a recording"), (folder, "a folder")):
        assert main([command, str(wrong), str(model)]) == 1
        told = f"{wrong}: {what}, not a model; the model comes first: kerneton {command} MODEL RECORDING\n"
        assert capsys.readouterr().err.endswith(told)
    torn = tmp_path / "torn.kern"
    torn.write_bytes(model.read_bytes()[:5000])
    assert main([command, str(torn), str(one)]) == 1
    assert "torn.kern: not a model file, or damaged" in capsys.readouterr().err


def test_false_alarms_need_the_frame_rate(tmp_path, capsys):
    waves = make_actions(["wave"], n_subjects=3, n_takes=1)
    long = [r.replace(label=None, fps=None, segments=[("up", 0, 20)]) for r in waves]
    readers.write(long, tmp_path / "long.npz")
    argv = [
        "fit",
        "--spot",
        str(tmp_path / "long.npz"),
        "--false-alarms-per-hour",
        "1",
        "-o",
        str(tmp_path / "m.kern"),
    ]
    assert main(argv) == 1
    assert "which no recording states: give it with --fps" in capsys.readouterr().err


def test_fit_takes_one_file_of_many_recordings(tmp_path, capsys):
    readers.write(make_actions(["wave", "bow"], n_subjects=3, n_takes=1), tmp_path / "all.pkl")
    assert (
        main(["fit", str(tmp_path / "all.pkl"), "-o", str(tmp_path / "m.kern"), "--kernel", "sck"])
        == 0
    )
    assert "all: 6 recordings, 2 labels, 3 subjects" in capsys.readouterr().out


@pytest.mark.filterwarnings("always")
def test_a_report_says_what_was_left_out(tmp_path):
    """A file that cannot be read, and a recording of other joints; a label may be missing because
    of them.
    """
    for i, recording in enumerate(make_actions(["bow", "wave"], n_subjects=3, n_takes=1)):
        place = tmp_path / "data" / recording.label / recording.subject
        place.mkdir(parents=True)
        readers.write(
            [map_layout(recording, FLORENCE_15) if i == 0 else recording], place / "take.csv"
        )
    (tmp_path / "data" / "wave" / "3" / "empty.csv").write_bytes(b"")
    page, text, plain = (tmp_path / f"r.{kind}" for kind in ("html", "md", "json"))
    argv = [
        "evaluate",
        str(tmp_path / "data"),
        "--skip-broken",
        "--kernel",
        "sck",
        "--protocol",
        "k-fold",
        "-q",
    ]
    assert main([*argv, "--html", str(page), "--markdown", str(text), "--json", str(plain)]) == 0
    data = json.loads(plain.read_text())["data"]
    file, recording = data["left_out"]
    assert file.startswith("1 of 7 files cannot be used: ")
    assert file.endswith("empty.csv: an empty file")
    assert recording.startswith("1 of 6 recordings cannot be used: recording 'bow/1/take' lacks ")
    assert data["n_recordings"] == 5
    shown = html.unescape(page.read_text(encoding="utf-8"))
    for told in data["left_out"]:
        assert f"<li>{told}</li>" in shown
        assert f"\n\nLeft out: {told}\n\n" in text.read_text(encoding="utf-8")
    assert "Nothing in the recordings looks suspicious" not in shown


@pytest.mark.filterwarnings("always")
def test_recordings_of_another_skeleton_are_named_once_or_left_out(tmp_path, capsys):
    for i, recording in enumerate(make_actions(["bow", "wave"], n_subjects=3, n_takes=1)):
        place = tmp_path / "data" / recording.label / recording.subject
        place.mkdir(parents=True)
        other = map_layout(recording, FLORENCE_15) if i == 0 else recording
        readers.write([other], place / "take.csv")
    command = ["fit", str(tmp_path / "data"), "-o", str(tmp_path / "model.kern"), "-q"]
    assert main(command) == 1
    told = capsys.readouterr().err
    assert told.count("'florence15' where 'kinect20' was expected") == 1
    assert "--skip-broken" in told
    assert main([*command, "--skip-broken"]) == 0
    assert "1 of 6 recordings cannot be used" in capsys.readouterr().err
    assert kerneton.load(tmp_path / "model.kern").training_["recordings"] == 5


@pytest.mark.filterwarnings("always")
def test_a_file_that_is_not_there_is_left_out(folder, tmp_path, capsys):
    assert main(["fit", str(folder), "-o", str(tmp_path / "model.kern"), "-q"]) == 0
    files = [str(folder / "bow" / "1" / "take.csv"), str(tmp_path / "gone.csv")]
    assert (
        main(["predict", str(tmp_path / "model.kern"), *files, "--skip-broken", "--json", "-"]) == 0
    )
    captured = capsys.readouterr()
    assert "1 of 2 files cannot be used" in captured.err
    assert len(json.loads(captured.out)) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--preset", "secret"],
            "preset must be one of 'default', 'tensor', 'auto', 'paper', 'exact', got 'secret'",
        ),
        (["--kernel", "rbf"], "kernel must be one of"),
        (["--set", "machine__Q=1"], "no parameter 'machine__Q'"),
        (["--device", "abacus"], "--device abacus: there is no such device here"),
        (["--layout", "openni16"], "no layout 'openni16' (did you mean openni15?)"),
    ],
)
@pytest.mark.parametrize("command", ["fit", "evaluate"])
def test_wrong_options_are_refused_before_the_files_are_read(
    folder, tmp_path, capsys, command, options, message
):
    pytest.importorskip("torch")
    (folder / "wave" / "broken.csv").write_text("head_x,head_y\nnot a number,1\n")
    assert main([command, str(folder), *options, "--json", str(tmp_path / "a.json")]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert "None" not in error.replace("'None'", "")


def test_recordings_without_any_label_say_where_labels_come_from(folder, tmp_path, capsys):
    flat = tmp_path / "flat"
    flat.mkdir()
    for i, file in enumerate(sorted(folder.rglob("*.csv"))):
        recordings = [r.replace(label=None, subject=None) for r in readers.read(file)]
        readers.write(recordings, flat / f"{i}.csv")
    for command in ("fit", "evaluate"):
        assert main([command, str(flat), "--json", str(tmp_path / "a.json")]) == 1
        assert (
            "have no label; labels come from folders LABEL/SUBJECT/FILE" in capsys.readouterr().err
        )


@pytest.mark.filterwarnings("default")
def test_prediction_names_a_misspelt_joint(model, tmp_path, capsys):
    (wave,) = make_actions(["wave"], n_subjects=1, n_takes=1, random_state=9)
    readers.write([wave], tmp_path / "odd.csv")
    text = (tmp_path / "odd.csv").read_text().replace("right_hand", "rigth_hand")
    (tmp_path / "odd.csv").write_text(text)
    assert main(["predict", str(model), str(tmp_path / "odd.csv")]) == 0
    error = capsys.readouterr().err
    assert "has a joint 'rigth_hand' where 'right_hand' is expected: misspelt?" in error
    assert "--rename OLD=NEW corrects a name" in error
    argv = ["predict", str(model), str(tmp_path / "odd.csv"), "--rename", "rigth_hand=right_hand"]
    assert main(argv) == 0
    assert "misspelt" not in capsys.readouterr().err


@pytest.mark.parametrize("command", ["evaluate", "explain", "show"])
def test_pictures_of_unknown_kinds_are_refused_before_the_work(
    model, folder, tmp_path, capsys, command
):
    target = tmp_path / "why.docx"
    (folder / "wave" / "broken.csv").write_text("head_x,head_y\nnot a number,1\n")
    argv = {
        "evaluate": ["evaluate", str(folder), "--plot", str(target)],
        "explain": ["explain", str(model), str(folder / "wave" / "broken.csv"), "-o", str(target)],
        "show": ["show", str(folder / "wave" / "broken.csv"), "-o", str(target)],
    }
    moving = ".gif, .mp4, " if command == "show" else ""
    assert main(argv[command]) == 1
    assert (
        capsys.readouterr().err
        == f"kerneton: error: {target}: cannot write '.docx'; choose {moving}.png, .svg or .pdf\n"
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("command", ["fit", "predict"])
def test_figures_are_printed_although_the_file_cannot_be_written(
    model, folder, tmp_path, capsys, monkeypatch, command
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # where the trained model goes instead
    (one, *_) = sorted(folder.rglob("*.csv"))
    argv = {
        "fit": ["fit", str(folder), "--kernel", "sck", "-o", "/dev/full"],
        "predict": ["predict", str(model), str(one), "--csv", "/dev/full"],
    }
    assert main(argv[command]) == 1
    told = capsys.readouterr()
    assert {"fit": "held-out", "predict": "probability %"}[command] in told.out
    assert "/dev/full: No space left on device" in told.err
    assert len(list(tmp_path.glob("saved-model-*/full"))) == (command == "fit")


def test_a_model_that_can_be_kept_nowhere_leaves_no_folder(tmp_path, monkeypatch):
    def save(path):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(OSError, match="No space left"):
        write_model(
            SimpleNamespace(save=save), SimpleNamespace(output="m.kern", quiet=True, json=None), {}
        )
    assert list(tmp_path.iterdir()) == []


def test_some_broken_files_say_how_to_leave_them_out(model, folder, capsys):
    (folder / "wave" / "broken.csv").write_text("head_x,head_y\nnot a number,1\n")
    for argv in (["info", str(folder)], ["fit", str(folder)], ["predict", str(model), str(folder)]):
        assert main(argv) == 1
        assert capsys.readouterr().err.endswith("; --skip-broken leaves these out\n")
    assert main(["info", str(folder / "wave" / "broken.csv")]) == 1
    assert "--skip-broken" not in capsys.readouterr().err


def test_a_layout_that_most_files_do_not_fit_is_another_one(tmp_path, capsys):
    """Tables of rows x y z whose length happens to fit must not be read wrongly while the others
    are left out.
    """
    for label, n_rows in (("wave", 75), ("bow", 90), ("nod", 300)):
        (tmp_path / label).mkdir()
        np.savetxt(tmp_path / label / "take.txt", np.random.default_rng(0).random((n_rows, 3)))
    assert main(["info", str(tmp_path), "--layout", "kinect20"]) == 1
    told = capsys.readouterr().err
    assert told.startswith("kerneton: error: 2 of 3 files cannot be used: ")
    assert told.endswith("; most files do not fit --layout kinect20: name another layout\n")
    (tmp_path / "wave" / "take.txt").unlink()
    assert main(["info", str(tmp_path), "--layout", "kinect20"]) == 1
    assert capsys.readouterr().err.endswith("; --skip-broken leaves these out\n")  # one of two


def test_a_folder_with_the_name_of_a_data_set(folder, tmp_path, capsys, monkeypatch):
    folder.rename(tmp_path / "sbu")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KERNETON_DATA", str(tmp_path / "elsewhere"))
    for command in ("fit", "evaluate"):
        assert main([command, "sbu"]) == 1
        error = capsys.readouterr().err
        assert (
            "sbu is the name of a published data set and of a folder here: write ./sbu for the folder"
            in error
        )
    assert main(["evaluate", "./sbu", "--kernel", "sck", "--protocol", "k-fold"]) == 0
    assert "sbu: 6 recordings" in capsys.readouterr().out
    for home in (["--data-home", str(tmp_path / "elsewhere")], []):
        assert main(["evaluate", "sbu", *home]) == 1
        assert "SBU-Kinect-Interaction" in capsys.readouterr().err
        monkeypatch.setenv("KERNETON_DATA", str(tmp_path))  # whose folders are the data sets


def test_long_recordings_say_what_to_do_with_their_segments(tmp_path, capsys):
    (wave,) = make_actions(["wave"], n_subjects=1, n_takes=1)
    readers.write(
        [wave.replace(label=None, segments=[("up", 0, 20), ("down", 20, 40)])],
        tmp_path / "long.npz",
    )
    for command in ("fit", "evaluate"):
        assert main([command, str(tmp_path / "long.npz")]) == 1
        error = capsys.readouterr().err
        assert "the recording has no label, but segments: kerneton cut makes" in error
        assert "kerneton fit --spot trains on long recordings" in error


@pytest.mark.filterwarnings("default")
def test_a_recording_that_is_named_twice_is_read_once(model, folder, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (one, *_) = sorted(folder.rglob("*.csv"))
    for argv, n in ((["data/bow/1/take.csv", str(one)], 1), (["data", "./data/bow/1/take.csv"], 6)):
        assert main(["predict", str(model), *argv, "--json", "-"]) == 0
        told = capsys.readouterr()
        assert len(json.loads(told.out)) == n
        assert f"1 of {n + 1} files come twice, read once: {argv[1]}" in told.err.replace(
            " data", " ./data"
        )


@pytest.mark.filterwarnings("default")
def test_files_of_one_name_are_told_apart_by_their_folders(model, folder, capsys):
    assert main(["predict", str(model), str(folder), "--json", "-"]) == 0
    names = [row["recording"] for row in json.loads(capsys.readouterr().out)]
    assert names == [f"{label}/{subject}/take" for label in ("bow", "wave") for subject in "123"]
    (one, *_) = sorted(folder.rglob("*.csv"))
    assert main(["predict", str(model), str(one), "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["recording"] == "take"


def test_a_model_remembers_how_its_files_were_read(tmp_path, capsys):
    """Rows without names need --layout in training, and not again in predict; other files are read
    as they are.
    """
    people = make_actions(["wave", "bow"], n_subjects=2, n_takes=2, dropout=0)
    for i, s in enumerate(people):
        place = tmp_path / "data" / s.label / s.subject / f"{i}.txt"
        place.parent.mkdir(parents=True, exist_ok=True)
        np.savetxt(place, s.joints.reshape(-1, 3))
    model, data = str(tmp_path / "m.kern"), str(tmp_path / "data")
    options = ["--layout", "kinect20", "--fps", "30", "--kernel", "sck"]
    assert (
        main(["fit", data, "-o", model, *options, "--rename", "left_hand=left_paw", "--quiet"]) == 0
    )
    capsys.readouterr()
    assert main(["predict", model, str(place), "--fps", "30"]) == 0
    out = capsys.readouterr()
    assert s.label in out.out
    assert (
        out.err
        == "kerneton: note: read with --layout kinect20 --rename left_hand=left_paw, as in training\n"
    )
    readers.write([s], tmp_path / "a.csv")
    names = ["--rename", "left_hand=left_paw"]
    assert main(["predict", model, str(tmp_path / "a.csv"), *names]) == 0
    capsys.readouterr()
    assert main(["predict", model, str(place), "--layout", "kinect25"]) == 1  # what is given wins
    assert "layout 'kinect25'" in capsys.readouterr().err


@pytest.mark.filterwarnings("default")
def test_a_file_that_names_its_joints_keeps_those_that_the_training_layout_lacks(tmp_path, capsys):
    """Nose and toes show that left and right are exchanged; the training files had neither, nor
    names.
    """
    people = make_actions(["wave", "bow"], n_subjects=2, n_takes=2, dropout=0)
    openni = LAYOUTS["openni15"]
    for i, s in enumerate(people):
        place = tmp_path / "data" / s.label / s.subject / f"{i}.txt"
        place.parent.mkdir(parents=True, exist_ok=True)
        np.savetxt(place, map_layout(s, openni).joints.reshape(-1, 3))
    model, other = str(tmp_path / "m.kern"), str(tmp_path / "other.csv")
    options = ["--layout", "openni15", "--fps", "30", "--kernel", "sck", "--quiet"]
    assert main(["fit", str(tmp_path / "data"), "-o", model, *options]) == 0
    x, y, z = np.moveaxis(people[0].joints, -1, 0)
    readers.write([people[0].replace(joints=np.stack([-x, -z, y], axis=-1))], other)
    capsys.readouterr()
    assert main(["predict", model, other]) == 0
    told = capsys.readouterr().err
    assert "where y is up: if so, give --up z --flip" in told
    assert "as in training" not in told  # that layout was not needed
    assert main(["predict", model, other, "--up=z"]) == 0
    assert "axes were left-handed and became right-handed" in capsys.readouterr().err


@pytest.mark.filterwarnings("always")
def test_a_misspelt_joint_is_told_and_keeps_its_side(tmp_path, capsys):
    joints = ["Head", "Hips", "ShoulderL", "ElbowL", "WristL", "ShoulderR", "ElbwoR", "WristR"]
    path = tmp_path / "take.csv"
    values = np.random.default_rng(0).normal(size=(4, 24)).astype(str)
    header = [f"{joint}_{axis}" for joint in joints for axis in "XYZ"]
    path.write_text("\n".join(map(",".join, [header, *values])))
    told = "'ElbowL' has no partner on the other side: is 'ElbwoR' misspelt? --rename OLD=NEW corrects a name"
    picture = str(tmp_path / "a.png")
    for argv in (["info", str(tmp_path)], ["info", str(path)], ["show", str(path), "-o", picture]):
        assert main(argv) == 0
        assert capsys.readouterr().err.count(told) == 1
    assert main(["show", str(path), "-o", picture, "--rename", "ElbwoR=ElbowR"]) == 0
    assert "misspelt" not in capsys.readouterr().err
    (take,) = readers.read(path)
    sides = dict(zip(take.layout.joints, Body.of(take).sides, strict=True))
    assert (sides["left_elbow"], sides["right_elbwo"], sides["head"]) == ("left", "right", "middle")


@pytest.mark.parametrize(
    "joints",
    [
        ["left_hand", "right_wrist"],
        ["left_ear", "right_eye"],
        ["left_toe_1", "right_toe_2", "left_thigh_a", "right_thigh_b"],
        ["left_elbow", "head"],
        ["left_elbow_1", "right_elbow_1", "left_elbow_2", "right_elbow_2"],
    ],
)
def test_joints_of_one_side_are_not_misspelt(joints):
    assert misspelt_side(Layout("table", joints)) is None


@pytest.mark.filterwarnings("default")
def test_each_kind_of_new_recordings_is_compared_with_training(folder, tmp_path, capsys):
    """Training in millimetres with z up; of three new recordings two are in metres with y down."""
    model = str(tmp_path / "m.kern")
    assert main(["fit", str(folder), "-o", model, "--kernel", "sck", "--fps", "30", "--quiet"]) == 0
    for i, r in enumerate(make_actions(["wave"], n_subjects=2, n_takes=1)):
        readers.write([r.replace(joints=r.joints * [-1, -1, 1])], tmp_path / f"down{i}.csv")
    usual = sorted(folder.rglob("*.csv"))[0]
    files = [str(usual), str(tmp_path / "down0.csv"), str(tmp_path / "down1.csv")]
    capsys.readouterr()
    assert main(["predict", model, *files, "--fps", "30"]) == 0
    told = capsys.readouterr().err
    assert "2 of 3 recordings are in metres, those of training were in millimetres" in told
    assert "2 of 3 recordings: bodies lie, or have other axes" in told
    assert "give --up=-y --no-flip to a command with only these" in told
    assert told.count("z was up and became y") == 1


@pytest.mark.parametrize("command", [["show", "-o", "look.png"], ["explain"], ["info"]])
def test_renaming_a_joint_that_is_not_there_is_an_error(
    model, folder, tmp_path, monkeypatch, capsys, command
):
    monkeypatch.chdir(tmp_path)
    first = [str(model)] if command[0] == "explain" else []
    name, *more = command
    file = str(next(folder.rglob("*.csv")))
    assert main([name, *first, file, *more, "--rename", "haed=head"]) == 1
    assert "no recording has a joint 'haed' that could be renamed" in capsys.readouterr().err
    assert not Path("look.png").exists()


def test_convert_says_which_frame_rate_it_invents(tmp_path, capsys):
    (wave,) = make_actions(["wave"], n_subjects=1, n_takes=1)
    readers.write([wave.replace(fps=None)], tmp_path / "wave.npz")
    assert main(["convert", str(tmp_path / "wave.npz"), str(tmp_path / "wave.trc")]) == 0
    assert "1 recording without a frame rate: the files state 30 fps" in capsys.readouterr().err
    assert main(["convert", str(tmp_path / "wave.npz"), str(tmp_path / "wave.csv")]) == 0
    assert "frame rate" not in capsys.readouterr().err


def test_info_describes_a_data_set_by_its_name(capsys):
    assert main(["info", "synthetic", "-q", "--json", "-"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["n_recordings"] > 100
    assert len(facts["labels"]) == 14
    assert main(["info", "florence3d", "--data-home", "nowhere"]) == 1
    assert "Florence3D-Actions: no folder nowhere/florence3d. Download" in capsys.readouterr().err
