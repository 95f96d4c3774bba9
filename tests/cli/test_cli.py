from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from joblib import cpu_count, effective_n_jobs

import kerneton
from kerneton.cli import COMMANDS, build_parser, main
from kerneton.cli._settings import find_parameter, parse_settings
from kerneton.cli.demo import strangers
from kerneton.datasets import LOADERS
from kerneton.exceptions import DataError, ParameterError
from kerneton.files.summary import summarize
from kerneton.paper import complexity as _complexity
from kerneton.paper.markdown import to_markdown
from kerneton.recognize.presets import make_recognizer
from kerneton.report.results import versions

# features that take no time
SMALL = ["--set", "sck__n_pivots_joint=2", "--set", "sck__n_pivots_time=3"]


@pytest.fixture
def toy_loader(toy, monkeypatch):
    """The data set "toy", as if it were a published one."""
    monkeypatch.setitem(LOADERS, "toy", lambda data_home: toy)
    return toy


def without_times(report):
    """What two runs must agree on."""
    drop = {"fit_seconds", "predict_seconds"}
    splits = [{k: v for k, v in split.items() if k not in drop} for split in report["splits"]]
    return {
        **{k: v for k, v in report.items() if k not in ("timings", "seconds", "files")},
        "splits": splits,
    }


def stop_with(monkeypatch, error):
    def run(args):
        raise error

    monkeypatch.setattr("kerneton.cli.info.run", run)
    return main(["info"])


# help


def subcommands():
    parser = build_parser()
    (action,) = [a for a in parser._actions if isinstance(a.choices, dict)]
    return action.choices


def test_every_module_adds_its_command():
    assert set(COMMANDS) <= set(subcommands())


@pytest.mark.parametrize("command", sorted(subcommands()))
def test_every_command_has_help_with_examples_and_common_options(command, capsys):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    examples = text.partition("examples:")[2]
    assert f"kerneton {command}" in examples
    for option in ("--json", "--quiet", "--help"):
        assert option in text
    assert all(action.help for action in subcommands()[command]._actions)


@pytest.mark.parametrize("command", sorted(subcommands()))
def test_examples_in_help_parse(command):
    for line in subcommands()[command].epilog.splitlines()[1:]:
        words = line.strip().split("  ")[0].split()  # what follows is a remark
        assert words[0] == "kerneton"
        build_parser().parse_args(words[1:])


def test_every_command_is_in_the_readme(pytestconfig):
    readme = (pytestconfig.rootpath / "README.md").read_text(encoding="utf-8")
    for command in subcommands():
        assert f"kerneton {command}" in readme


def test_version(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"kerneton {kerneton.__version__}\n"


@pytest.mark.parametrize(
    "argv", [[], ["juggle"], ["evaluate"], ["info", "--colour"], ["reproduce", "music"]]
)
def test_wrong_usage_is_2(argv, capsys):
    with pytest.raises(SystemExit) as stop:
        main(argv)
    assert stop.value.code == 2
    assert "usage: kerneton" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "near"),
    [
        (
            ["info", "--layot", "kinect20"],
            "unrecognized arguments: --layot; did you mean --layout?",
        ),
        (["fit", "data", "--kernal=sck", "-x"], "--kernal=sck -x; did you mean --kernel?"),
        (["info", "-x"], "unrecognized arguments: -x\n"),
        (
            ["evaluate", "data", "--jobs", "two"],
            "argument --jobs: expected a whole number, got 'two'",
        ),
        (
            ["info", "--unit", "yards"],
            "no unit 'yards'; expected m, cm, mm, in, ft, or a word such as feet",
        ),
    ],
)
def test_wrong_usage_says_what_may_be_meant(argv, near, capsys):
    with pytest.raises(SystemExit) as stop:
        main(argv)
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert f"kerneton {argv[0]}: error: " in error
    assert near in error


@pytest.mark.parametrize(
    ("name", "near"),
    [("evalute", "; did you mean evaluate?"), ("x", "; kerneton --help lists them")],
)
def test_a_misspelt_command(name, near, capsys):
    with pytest.raises(SystemExit):
        main([name, "data"])
    assert capsys.readouterr().err.endswith(f"kerneton: error: no command {name!r}{near}\n")


@pytest.mark.parametrize("name", ["mm", "millimetres", "Millimeter"])
def test_units_by_their_names(name):
    assert build_parser().parse_args(["info", "--unit", name]).unit == "mm"


# errors


def test_user_errors_are_one_line_and_1(monkeypatch, capsys):
    assert stop_with(monkeypatch, DataError("recording 'x'\nis empty")) == 1
    assert capsys.readouterr().err == "kerneton: error: recording 'x' is empty\n"


def test_file_errors_are_one_line_and_1(monkeypatch, capsys):
    assert stop_with(monkeypatch, PermissionError(13, "Permission denied", "/locked")) == 1
    assert capsys.readouterr().err == "kerneton: error: /locked: Permission denied\n"
    assert stop_with(monkeypatch, OSError("disk full")) == 1
    assert capsys.readouterr().err == "kerneton: error: disk full\n"


def test_interruption_is_clean(monkeypatch, capsys):
    assert stop_with(monkeypatch, KeyboardInterrupt()) == 130
    assert capsys.readouterr().err == "\nkerneton: interrupted\n"


def test_bugs_show_where_they_are(monkeypatch):
    with pytest.raises(ZeroDivisionError):
        stop_with(monkeypatch, ZeroDivisionError())


def test_closed_pipe_is_no_error():
    command = f"{sys.executable} -m kerneton info | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_errors_reach_the_shell():
    done = subprocess.run(
        [sys.executable, "-m", "kerneton", "evaluate", "no-such-folder"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith(
        "kerneton: error: 'no-such-folder' is neither a folder nor a data set"
    )
    assert done.stderr.count("\n") == 1


# output


def test_json_goes_to_file_or_screen(tmp_path, capsys):
    path = tmp_path / "new" / "info.json"
    assert main(["info", "--json", str(path)]) == 0
    assert "numpy" in capsys.readouterr().out
    assert main(["info", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(path.read_text())


def test_quiet_prints_nothing(capsys):
    assert main(["info", "--quiet"]) == 0
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_parse_settings():
    assert parse_settings([]) == {}
    assert parse_settings(
        ["a=1", "b=0.5", "c=None", "d=(1, 'x')", "e=word", "f = two words ", "g=a=b"]
    ) == {
        "a": 1,
        "b": 0.5,
        "c": None,
        "d": (1, "x"),
        "e": "word",
        "f": "two words",
        "g": "a=b",
    }
    for wrong in ("a", "=1", ""):
        with pytest.raises(ParameterError, match="--set takes NAME=VALUE"):
            parse_settings([wrong])


def test_find_parameter():
    known = ["sck__kernel__power", "dck__kernel__power", "machine__C", "C"]
    assert find_parameter("sck__power", known) == "sck__kernel__power"
    assert find_parameter("machine__C", known) == "machine__C"
    assert find_parameter("C", known) == "C"
    with pytest.raises(
        ParameterError, match="'power' is ambiguous: it may be sck__kernel__power, dck__kernel"
    ):
        find_parameter("power", known)
    with pytest.raises(ParameterError, match=r"no parameter 'machine__Q'; did you mean machine__C"):
        find_parameter("machine__Q", known)
    with pytest.raises(ParameterError, match=r"no parameter '!'$"):
        find_parameter("!", known)


# info


def test_info_of_the_installation(capsys, tmp_path, monkeypatch):
    monkeypatch.delenv("KERNETON_DATA", raising=False)
    assert main(["info"]) == 0
    text = capsys.readouterr().out
    assert "no data home" in text
    assert ["numpy", np.__version__] in [line.split() for line in text.splitlines()]
    (tmp_path / "florence3d").mkdir()
    assert main(["info", "--json", "-", "--data-home", str(tmp_path)]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["versions"] == versions()
    assert data["data_home"] == str(tmp_path)
    assert data["datasets"]["florence3d"] is True
    assert data["datasets"]["utkinect"] is False
    assert data["extras"]["plot"] is True
    monkeypatch.setenv("KERNETON_DATA", str(tmp_path))
    main(["info", "--json", "-"])
    assert json.loads(capsys.readouterr().out) == data


def test_info_of_a_file(capsys, tmp_path, toy):
    path = tmp_path / "toy.npz"
    kerneton.write(toy[:2], path)
    assert main(["info", str(path)]) == 0
    assert capsys.readouterr().out.startswith(f"{path}: npz, 2 recordings\n")
    main(["info", str(path), "--json", "-"])
    data = json.loads(capsys.readouterr().out)
    assert data["format"] == "npz"
    assert data["recordings"][0] == {
        "name": "bow-1-0",
        "label": "bow",
        "subject": "s1",
        "frames": 9,
        "joints": 15,
        "layout": "florence15",
        "fps": 30.0,
    }


def test_info_of_a_long_file(capsys, tmp_path, toy):
    kerneton.write(toy, tmp_path / "toy.npz")
    main(["info", str(tmp_path / "toy.npz"), "--fps", "15"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[3].split()[-1] == "15"
    assert lines[2 + 1 + 20] == "... and 16 more"
    assert lines[2 + 1 + 20 + 2].startswith("joints  head, neck, spine")


@pytest.fixture
def folder(tmp_path, toy):
    """LABEL/SUBJECT/FILE, beside which stands what --pattern needs."""
    for s in toy:
        place = tmp_path / "mine" / s.label / s.subject / f"{s.name}.npz"
        place.parent.mkdir(parents=True, exist_ok=True)
        kerneton.write([s.replace(label=None, subject=None)], place)
    return tmp_path / "mine"


def test_info_of_a_folder_equals_the_library_call(capsys, folder):
    assert main(["info", str(folder), "--json", "-"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data == json.loads(json.dumps(summarize(kerneton.load_folder(folder)).to_dict()))
    assert data["labels"] == {"bow": 12, "clap": 12, "wave": 12}
    assert main(["info", str(folder)]) == 0
    assert capsys.readouterr().out == f"{summarize(kerneton.load_folder(folder))}\n"


def test_folder_options(capsys, folder):
    argv = [
        "info",
        str(folder),
        "--json",
        "-",
        "--pattern",
        "{subject}-{label}-{take}",
        "--fps",
        "25",
    ]
    assert main(argv) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["labels"] == {"1": 9, "2": 9, "3": 9, "4": 9}
    assert data["fps"] == {"25 fps": 36}


@pytest.mark.filterwarnings("default")
def test_broken_files(capsys, folder):
    (folder / "bow" / "s1" / "torn.npz").write_bytes(b"PK")
    assert main(["info", str(folder)]) == 1
    assert "1 of 37 files cannot be used: " in capsys.readouterr().err
    assert main(["info", str(folder), "--skip-broken", "--json", "-"]) == 0
    captured = capsys.readouterr()
    assert captured.err.startswith("kerneton: warning: 1 of 37 files cannot be used: ")
    assert captured.err.count("\n") == 1
    assert json.loads(captured.out)["n_recordings"] == 36


def test_evaluate_a_folder(capsys, folder):
    argv = [
        "evaluate",
        str(folder),
        "--json",
        "-",
        "--protocol",
        "k-fold",
        "--kernel",
        "sck",
        *SMALL,
    ]
    assert main(argv) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["data"]["name"] == "mine"
    assert len(data["splits"]) == 4


def test_info_of_a_missing_file(capsys, tmp_path):
    assert main(["info", str(tmp_path / "none.bvh")]) == 1
    assert "none.bvh: no such file" in capsys.readouterr().err


# evaluate


@pytest.mark.parametrize("jobs", [[], ["--jobs", "1"], ["--jobs", "2"]])
def test_evaluate_uses_all_cores(toy_loader, monkeypatch, jobs):
    """Threads of the kernels where splits run one by one; else processes, each with its own."""
    seen = []
    known = kerneton.evaluate

    def spy(model, data, protocol, *, n_jobs, **options):
        seen.append((n_jobs, effective_n_jobs(None)))
        return known(model, data, protocol, n_jobs=n_jobs, **options)

    monkeypatch.setattr(sys.modules["kerneton.report.evaluation"], "evaluate", spy)
    assert main(["evaluate", "toy", "--kernel", "sck", *SMALL, *jobs]) == 0
    n_splits = int(jobs[1]) if jobs else 1
    assert seen == [(n_splits, cpu_count() if n_splits == 1 else 1)]
    assert effective_n_jobs(None) == 1


@pytest.mark.skipif(cpu_count() < 2, reason="one core")
def test_one_recording_is_predicted_on_all_cores(tmp_path, folder, monkeypatch):
    from kerneton.core.sck import Vectors
    from kerneton.recognize import model_reader

    model = tmp_path / "model.kern"
    assert main(["fit", str(folder), "-o", str(model), "--kernel", "sck", *SMALL]) == 0
    seen = []
    known = Vectors.order3
    # on a short recording of its own
    monkeypatch.setattr(model_reader, "try_out", lambda model: None)
    monkeypatch.setattr(
        Vectors, "order3", lambda *given: (seen.append(given[4:6]), known(*given))[1]
    )
    assert main(["predict", str(model), str(next(folder.rglob("*.npz")))]) == 0
    assert len(set(seen)) == cpu_count()


def test_no_jobs(toy_loader, capsys):
    assert main(["evaluate", "toy", "--kernel", "sck", *SMALL, "--jobs", "0"]) == 1
    assert "--jobs must not be 0" in capsys.readouterr().err


def test_evaluate_equals_the_library_call(toy_loader, tmp_path, capsys):
    json_path, markdown_path, plot_path = (
        tmp_path / f"report.{kind}" for kind in ("json", "md", "png")
    )
    argv = [
        "evaluate",
        "toy",
        "--protocol",
        "leave-one-subject-out",
        "--preset",
        "paper",
        "--kernel",
        "sck",
    ]
    argv += ["--set", "machine__C=0.5", *SMALL]
    argv += ["--json", str(json_path), "--markdown", str(markdown_path), "--plot", str(plot_path)]
    assert main(argv) == 0
    model = make_recognizer(preset="paper", kernel="sck")
    model.set_params(machine__C=0.5, sck__kernel__n_pivots_joint=2, sck__kernel__n_pivots_time=3)
    expected = kerneton.evaluate(model, toy_loader, "leave-one-subject-out")
    assert without_times(json.loads(json_path.read_text())) == without_times(
        json.loads(expected.to_json())
    )
    assert json.loads(json_path.read_text())["parameters"]["machine__C"] == 0.5
    *printed, _, last = capsys.readouterr().out.splitlines()  # the line between tells the time
    assert printed == str(expected).splitlines()[:-1]
    assert last == f"wrote {markdown_path}, {plot_path}, {json_path}"
    assert markdown_path.read_text(encoding="utf-8").startswith("# toy, leave-one-subject-out")
    assert plot_path.read_bytes().startswith(b"\x89PNG")


def test_evaluate_chooses_the_protocol(toy_loader, capsys):
    assert main(["evaluate", "toy", "--json", "-", "--kernel", "sck", *SMALL]) == 0
    assert json.loads(capsys.readouterr().out)["protocol"] == "leave-one-subject-out"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--protocol", "thirds"], "protocol must be one of"),
        (["--preset", "secret"], "preset must be one of"),
        (["--kernel", "rbf"], "kernel must be one of"),
        (["--set", "machine__Q=1"], "no parameter 'machine__Q'; did you mean"),
        (["--set", "machine__C"], "--set takes NAME=VALUE"),
        (["--set", "machine__C=-1"], "C must be"),
    ],
)
def test_evaluate_says_what_is_wrong(toy_loader, capsys, more, message):
    assert main(["evaluate", "toy", *more]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_evaluate_without_the_data(capsys, tmp_path):
    assert main(["evaluate", "florence3d", "--data-home", str(tmp_path)]) == 1
    assert "Download" in capsys.readouterr().err


# reproduce


@pytest.mark.parametrize("what", ["tables", "figures", "timing", "beyond"])
def test_reproduce_needs_the_published_recordings(what, tmp_path, capsys):
    argv = ["reproduce", what, "--data-home", str(tmp_path), "-o", str(tmp_path / "out"), "--quiet"]
    assert main(argv) == 1
    captured = capsys.readouterr()
    assert re.match("kerneton: error: .*Download", captured.err)
    assert captured.out == ""
    assert not (tmp_path / "out").exists()


def test_reproduce_runs_and_writes(tmp_path, capsys, monkeypatch):
    """The part that needs no recordings, on sizes that take no time."""
    pytest.importorskip("matplotlib")
    sizes = dict.fromkeys(_complexity.SIZES, (4, 6))
    monkeypatch.setattr(_complexity, "SIZES", sizes)
    monkeypatch.setattr(_complexity, "LARGEST_EXACT", dict.fromkeys(sizes, 6))
    file = tmp_path / "r.json"
    assert main(["reproduce", "complexity", "-o", str(tmp_path / "out"), "--json", str(file)]) == 0
    result = json.loads(file.read_text())
    assert set(result) == {"complexity"}
    assert capsys.readouterr().out == f"{to_markdown(result)}\nwrote {file}\n"
    assert [path.suffix for path in (tmp_path / "out").iterdir()].count(".png") == len(sizes)


def test_only_goes_with_beyond(capsys):
    assert main(["reproduce", "tables", "--only", "utkinect"]) == 1
    assert "--only goes with beyond" in capsys.readouterr().err


# demo


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """What the demo prints, on two people who act once."""
    pytest.importorskip("matplotlib")
    folder = tmp_path_factory.mktemp("demo")
    argv = [sys.executable, "-m", "kerneton", "demo", "-o", "out", "--json", "demo.json"]
    done = subprocess.run(
        [*argv, "--subjects", "2", "--takes", "1"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return folder, done.stdout


def test_demo_tests_people_who_took_no_part_in_training(demo):
    folder, text = demo
    data = json.loads((folder / "demo.json").read_text())
    (split,) = data["splits"]
    assert (split["n_train"], split["n_test"]) == (2 * 14, 6 * 14)
    assert {row["subject"] for row in data["predictions"]} == {f"new-{k}" for k in range(1, 7)}
    known = [
        s.joints for s in kerneton.make_actions(n_subjects=9, n_takes=1, noise=0.03, dropout=0.05)
    ]
    for stranger in strangers(1):
        assert not any(np.array_equal(stranger.joints, other, equal_nan=True) for other in known)
    assert data["accuracy"] > 0.3  # fourteen actions, learned from one take by each of two people
    assert "trained on 2 people, tested on 6 others: accuracy " in text


def test_demo_leaves_what_it_says(demo):
    folder, text = demo
    wrote = re.search(r"wrote (.*) in [0-9.]+ s", text)[1]
    for file in re.split(", | and ", wrote):
        assert (folder / file).exists()
    assert {path.name for path in (folder / "out").iterdir()} == {
        *("confusion.png", "skeletons.png", "report.html"),
        *("recordings", "new-person", "long-recordings"),
    }
    page = (folder / "out" / "report.html").read_text(encoding="utf-8")
    assert "<!DOCTYPE html>" in page
    assert "Not measured" not in page
    assert "gives no probabilities" not in page


def test_demo_ends_with_commands_that_work(demo, monkeypatch, capsys):
    """Each is one that the parser takes; those that take no time are run."""
    folder, text = demo
    monkeypatch.chdir(folder)
    lines = text.partition("next steps\n")[2].splitlines()
    commands = [
        line.partition("kerneton ")[2].split()
        for line in lines
        if re.search(r"kerneton [a-z]+ \S*out", line)
    ]
    commands += [
        line.split("kerneton ")[1].split()
        for line in lines
        if "model.kern" in line and "predict" in line
    ]
    assert [words[0] for words in commands[:3]] == ["info", "evaluate", "fit"]
    for words in commands:
        build_parser().parse_args(words)
    assert main(commands[0]) == 0
    assert "10 recordings, 5 labels, 2 subjects" in capsys.readouterr().out
    (explained,) = re.findall(r"explain model.kern (\S+) -o why.png", text)
    assert main(["info", explained]) == 0


def test_what_is_logged_in_every_split_is_said_once(tmp_path, capsys):
    for i, recording in enumerate(kerneton.make_actions(["bow", "wave"], n_subjects=1, n_takes=6)):
        place = tmp_path / "data" / recording.label
        place.mkdir(parents=True, exist_ok=True)
        kerneton.write([recording.replace(subject=None, label=None)], place / f"{i}.csv")
    assert main(["evaluate", str(tmp_path / "data"), "-q"]) == 0
    assert capsys.readouterr().err.count("no subjects") == 1
