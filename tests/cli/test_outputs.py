"""Nothing of the user's is overwritten or lost: outputs that are inputs, or would be read with
them, are refused before the work.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys

import pytest

from kerneton import make_actions
from kerneton.cli import PathTo, build_parser, main
from kerneton.files import readers

(SUBPARSERS,) = [a for a in build_parser()._actions if isinstance(a.choices, dict)]
ABOUT_FILES = {  # options whose help speaks of files, but whose value is none
    *(
        "--pattern",
        "--layout",
        "--fps",
        "--unit",
        "--up",
        "--to",
        "--format",
        "--tier",
        "--recording",
        "--scheduler",
    ),
}


def undeclared(action: argparse.Action) -> bool:
    """Whether an option seems to take a path, by its metavar or its help, and is not declared as
    one.
    """
    if (
        action.nargs == 0
        or action.choices
        or action.type in set(PathTo)
        or ABOUT_FILES & set(action.option_strings)
    ):
        return False
    names = ("FILE", "FOLDER", "PATH", "MODEL", "DATA", "WHERE", "IN", "OUT")
    return (
        action.metavar in names
        or re.search(r"\b(files?|folders?|checkout)\b", action.help or "") is not None
    )


@pytest.mark.parametrize("command", sorted(SUBPARSERS.choices))
def test_every_option_that_takes_a_path_says_what_it_is_for(command):
    assert [a.dest for a in SUBPARSERS.choices[command]._actions if undeclared(a)] == []


def test_an_undeclared_path_is_found():
    parser = argparse.ArgumentParser()
    assert undeclared(parser.add_argument("--log", help="write it to this file"))
    assert undeclared(parser.add_argument("file", metavar="FILE"))


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder of recordings, one recording beside it with its segments, a model that nobody reads:
    all that commands name.
    """
    for recording in make_actions(["bow", "wave"], n_subjects=1, n_takes=1):
        there = tmp_path / "data" / recording.label / "ann"
        there.mkdir(parents=True)
        readers.write([recording], there / "take.csv")
    shutil.copy(tmp_path / "data" / "bow" / "ann" / "take.csv", tmp_path / "one.csv")
    (tmp_path / "one.eaf").write_text("segments")
    (tmp_path / "seg.csv").write_text("label,start,stop\nbow,0,9\n")
    (tmp_path / "m.kern").write_text("model")
    (tmp_path / "link.csv").symlink_to("one.csv")
    os.link(tmp_path / "one.csv", tmp_path / "hard.csv")
    (tmp_path / "linked").symlink_to("data", target_is_directory=True)
    (tmp_path / "outside.html").write_text("page")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def state(folder):
    """Every file with its content."""
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def refused(place, capsys, argv: str) -> str:
    """The one error of a command that changes nothing."""
    before = state(place)
    assert main(argv.split()) == 1, argv
    assert state(place) == before
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error


ONTO_ITSELF = (
    *("info {} --json {}", "show {} --json {}", "convert {} {}", "cut {} --to 9 -o {}"),
    *(
        "fit {} -o {}",
        "predict m.kern {} --csv {}",
        "evaluate {} --html {}",
        "evaluate {} --markdown {}",
    ),
    *("spot m.kern {} --eaf {}", "spot m.kern {} --csv {}", "spot m.kern {} --html {}"),
    "pose {} --json {}",
    *("watch m.kern --source {} --json {}", "explain m.kern {} --json {}"),
)


def test_every_command_that_names_recordings_is_tried():
    tried = {command.split()[0] for command in ONTO_ITSELF}
    assert tried == set(SUBPARSERS.choices) - {"demo", "export", "record", "reproduce", "studio"}


@pytest.mark.parametrize(
    "target", ["one.csv", "link.csv", "hard.csv", "data/../one.csv", "./linked/../one.csv"]
)
@pytest.mark.parametrize("command", ONTO_ITSELF)
def test_a_recording_is_not_overwritten(place, capsys, monkeypatch, command, target):
    monkeypatch.setattr(readers, "read_content", lambda *_: pytest.fail("work has begun"))
    assert "would overwrite an input file" in refused(
        place, capsys, command.format("one.csv", target)
    )


@pytest.mark.parametrize(
    "argv",
    [
        "cut one.csv --segments seg.csv -o seg.csv",
        "spot m.kern one.csv --eaf one.eaf",
        "spot m.kern one.csv --csv m.kern",
        "fit data -o m.kern --index seg.csv --json seg.csv",
        "fit data --spot --background one.csv --json one.csv -o new.kern",
        "pose --get one.csv --json one.csv",
    ],
)
def test_what_is_read_beside_recordings_is_not_overwritten(place, capsys, argv):
    assert "would overwrite" in refused(place, capsys, argv)


@pytest.mark.parametrize(
    "name",
    [
        *(f"a{s}" for f in readers.FORMATS.values() for s in f.suffixes),
        "a.asf",
        "a.eaf",
        "index.csv",
        "a",
    ],
)
@pytest.mark.parametrize("folder", ["data", "linked/wave"])
def test_results_do_not_become_recordings(place, capsys, name, folder):
    (place / "data" / "wave" / "a.c3d").write_bytes(b"recording")
    error = refused(place, capsys, f"info data --json {folder}/{name}")
    assert f"{folder}/{name}: would be read as a recording of data; write outside of it" in error


def test_reports_and_models_may_lie_among_recordings(place):
    assert main(["info", "data", "--json", "data/report.html", "-q"]) == 0


def test_recordings_that_a_folder_links_to_are_not_overwritten(place, capsys):
    (place / "data" / "wave" / "ann" / "link.csv").symlink_to(place / "one.csv")
    assert "would overwrite data/wave/ann/link.csv, which is read with data;" in refused(
        place, capsys, "info data --json one.csv"
    )
    os.link(place / "data" / "wave" / "ann" / "take.csv", place / "second.json")
    assert "data/wave/ann/take.csv" in refused(place, capsys, "info data --json second.json")
    (place / "data" / "page.html").symlink_to(place / "data" / "bow" / "ann" / "take.csv")
    assert "data/page.html" in refused(place, capsys, "evaluate data --html data/page.html")


@pytest.mark.parametrize(
    "argv",
    [
        *(
            "show one.csv -o data",
            "explain m.kern one.csv -o data",
            "spot m.kern one.csv --eaf data",
        ),
        *(
            "spot m.kern one.csv -o data",
            "fit data -o .",
            "evaluate data --plot .",
            "predict m.kern one.csv --csv .",
        ),
    ],
)
def test_a_folder_is_no_file(place, capsys, argv):
    assert "a folder; name a file to write" in refused(place, capsys, argv)


@pytest.mark.parametrize(
    "argv",
    [
        *(
            "fit data --scratch one.csv",
            "demo -o one.csv",
            "reproduce tables -o one.csv",
        ),
        *(
            "export m.kern -o one.csv",
            "convert data m.kern/x",
            "cut one.csv --to 9 -o m.kern/x",
        ),
    ],
)
def test_a_file_is_no_folder(place, capsys, argv):
    assert re.search("not a folder", refused(place, capsys, argv))


@pytest.mark.parametrize(
    "argv",
    [
        "convert data data",
        "convert linked data/new",
        "fit data --scratch data/s",
        "convert data ./linked/x",
    ],
)
def test_folders_are_not_filled_among_recordings(place, capsys, argv):
    assert "would be read as recordings of" in refused(place, capsys, argv)


@pytest.mark.parametrize(
    "command", ["convert one.csv data/bow/ann --to csv", "cut one.csv --to 9 --format csv -o data"]
)
def test_files_that_the_user_did_not_name_are_not_replaced(place, capsys, command):
    (place / "one.eaf").unlink()
    assert main([*command.split(), "-q"]) == 0
    assert "already there, and not replaced" in refused(place, capsys, command)


@pytest.mark.parametrize(
    ("argv", "name"), [("show one.csv", "one.gif"), ("fit data", "model.kern")]
)
def test_default_names_replace_nothing(place, capsys, argv, name):
    (place / name).write_text("mine")
    assert f"{name}: already there; -o {name} replaces it" in refused(place, capsys, argv)


def test_the_demo_replaces_nothing_but_a_demo(place, capsys):
    assert "a folder with other files" in refused(place, capsys, "demo -o data")


@pytest.mark.parametrize(
    "argv",
    ["demo -o new", "explain m.kern one.csv -o why", "show one.csv", "evaluate data --plot a.svg"],
)
def test_missing_libraries_are_told_before_the_work(place, capsys, monkeypatch, argv):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr("kerneton.files.output.find_spec", lambda _: None)
    monkeypatch.setattr(
        "kerneton.datasets.make_actions",
        lambda *_, **__: pytest.fail("work has begun"),
        raising=False,
    )
    assert "pip install 'kerneton[plot]'" in refused(place, capsys, argv)


def test_published_recordings_are_not_overwritten(place, capsys):
    (place / "home" / "florence3d").mkdir(parents=True)
    argv = "evaluate florence3d --data-home home --json home/florence3d/a.txt"
    assert "would be read as a recording of home/florence3d" in refused(place, capsys, argv)


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the administrator may write anywhere"
)
def test_folders_that_cannot_be_written_are_told_before_the_work(place, capsys):
    (place / "locked").mkdir(mode=0o500)
    assert "cannot be written to" in refused(place, capsys, "fit data -o locked/m.kern")
    assert "cannot be written to" in refused(place, capsys, "convert data locked/new")


def test_an_empty_name_is_wrong_usage(place, capsys):
    with pytest.raises(SystemExit):
        main(["fit", "data", "-o", ""])
    assert "expected the name of a file" in capsys.readouterr().err
