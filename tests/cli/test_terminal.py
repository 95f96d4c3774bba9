"""What recordings and models say reaches terminals, tables and pages as text and nothing else."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from walks import walk

from kerneton import SkeletonSequence, make_actions, make_recognizer
from kerneton.cli import main, printable
from kerneton.files.readers import write
from kerneton.report.tables import aligned, markdown

ESCAPES = "\x1b[2J\x1b]0;title\x07\x9b31m\u202e"
posix = pytest.mark.skipif(os.name != "posix", reason="needs a Unix")


def recording(path, name):
    write([SkeletonSequence(walk(6), name=name)], path)
    return path


def kerneton(*arguments, **options):
    command = [sys.executable, "-m", "kerneton", *map(os.fsencode, arguments)]
    return subprocess.run(
        command,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
        timeout=120,
        check=False,
    )


def is_harmless(text: str) -> bool:
    return not any(c in text for c in "\x1b\x07\x9b\u202e\r")


def test_escape_sequences_are_spelt_out(tmp_path, capsys):
    file = recording(tmp_path / "take.npz", f"wave{ESCAPES}")
    assert main(["info", str(file)]) == 0
    said = capsys.readouterr()
    assert is_harmless(said.out + said.err)
    assert r"wave\x1b[2J\x1b]0;title\x07\x9b31m\u202e" in said.out


def test_escape_sequences_in_errors_and_warnings(tmp_path, capsys):
    (tmp_path / f"a{ESCAPES}.csv").write_text("no recording", encoding="utf-8")
    recording(tmp_path / "b.npz", "b")
    assert main(["info", str(tmp_path / f"a{ESCAPES}.csv")]) == 1
    assert main(["convert", str(tmp_path / f"{ESCAPES}none.npz"), str(tmp_path / "out.csv")]) == 1
    assert (
        main(["fit", str(tmp_path), "-o", str(tmp_path / f"{ESCAPES}/m.kern"), "--preset", ESCAPES])
        == 1
    )
    said = capsys.readouterr()
    assert said.err.count("kerneton: error:") == 3
    assert is_harmless(said.out + said.err)


def test_json_holds_the_label_itself(tmp_path):
    file = recording(tmp_path / "take.npz", f"wave{ESCAPES}")
    assert main(["info", str(file), "--json", str(tmp_path / "out.json"), "-q"]) == 0
    assert json.dumps(f"wave{ESCAPES}") in (tmp_path / "out.json").read_text()


@posix
def test_folder_names_that_are_no_text(tmp_path):
    folder = os.path.join(os.fsencode(tmp_path), b"caf\xe9")
    try:
        os.mkdir(folder)
    except OSError:
        pytest.skip("names here are text")
    recording(tmp_path / "take.npz", "take").rename(os.fsdecode(os.path.join(folder, b"take.npz")))
    for options in ((), ("--json", "-")):
        done = kerneton("info", os.fsdecode(folder), *options)
        assert done.returncode == 0, done.stderr
        assert ("café" if not options else r"caf\u00e9").encode() in done.stdout
    done = kerneton("info", os.fsdecode(folder) + "/none")
    assert done.returncode == 1
    assert rb"caf\udce9/none" in done.stderr
    assert b"Traceback" not in done.stderr


@posix
def test_predictions_in_a_folder_whose_name_is_no_text(tmp_path):
    folder, actions = (
        os.path.join(os.fsencode(tmp_path), b"caf\xe9"),
        make_actions(["bow", "wave"], n_subjects=2, n_takes=1),
    )
    try:
        os.mkdir(folder)
    except OSError:
        pytest.skip("names here are text")
    model, table = tmp_path / "model.kern", tmp_path / "out.csv"
    make_recognizer("paper", kernel="sck").fit(actions, actions.labels).save(model)
    write([actions[0]], tmp_path / "one.npz")
    (tmp_path / "one.npz").rename(os.fsdecode(os.path.join(folder, b"one.npz")))
    done = kerneton("predict", str(model), os.fsdecode(folder), "--csv", str(table))
    assert done.returncode == 0, done.stderr
    assert r"caf\udce9" in table.read_text(encoding="utf-8")
    assert (
        rb"caf\udce9" in kerneton("predict", str(model), os.fsdecode(folder), "--csv", "-").stdout
    )


def test_screens_that_lack_letters(tmp_path):
    file = recording(tmp_path / "take.npz", "Größe→σ")
    done = kerneton("info", str(file), env={**os.environ, "PYTHONIOENCODING": "latin-1"})
    assert done.returncode == 0, done.stderr
    assert "Größe\\u2192\\u03c3".encode("latin-1") in done.stdout
    assert printable("→", io.TextIOWrapper(io.BytesIO(), "ascii")) == r"\u2192"


@posix
def test_json_to_the_standard_output(tmp_path):
    """By a link of our own to it: see the tests of outputs."""
    link = tmp_path / "stdout"
    link.symlink_to("/proc/self/fd/1" if os.path.exists("/proc/self/fd/1") else "/dev/fd/1")
    file = recording(tmp_path / "take.npz", "take")
    done = kerneton("info", str(file), "-q", "--json", str(link))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)
    assert link.is_symlink()


def test_a_label_makes_no_row_of_its_own():
    rows = [["label", "recall %"], ["wave\nbow  100.0\rx", "1.0"]]
    assert len(aligned(rows).splitlines()) == 2
    assert len(markdown(rows).splitlines()) == 3


@pytest.mark.parametrize("label", ["<script>alert(1)</script>", "<img src=x onerror=y>", "a&lt;b"])
def test_html_in_labels_does_not_reach_markdown(label):
    cell = markdown([["label"], [label]]).splitlines()[-1]
    assert "<" not in cell
    assert cell.count("&") == cell.count("&lt;") + cell.count("&amp;")


def test_links_and_code_in_labels_do_not_reach_markdown():
    assert (
        markdown([["label"], ["![x](http://y) `z`"]]).splitlines()[-1]
        == r"| !\[x](http:\//y) \`z\` |"
    )
    assert markdown([["label"], ["`a`<b>`c`"]]).splitlines()[-1] == "| `a'<b>'c` |"


def test_plain_text_stays_as_it_is():
    text = "hip_center\t1.5 – Größe σ₂ 名前 👋\n"
    assert printable(text) == text
    assert np.all([printable(c) == c for c in map(chr, range(32, 127))])


def test_letters_that_the_font_of_a_picture_lacks_are_a_warning_of_one_line(tmp_path):
    (wave,) = make_actions(["wave"], n_subjects=1, n_takes=1)
    file = tmp_path / "take.npz"
    write([wave.replace(name="挥")], file)
    done = kerneton("show", str(file), "-o", str(tmp_path / "a.png"))
    assert done.returncode == 0
    assert done.stderr.decode() == "kerneton: warning: the font of the picture has no '挥'\n"


@posix
@pytest.mark.parametrize("buffered", ["", "1"])
def test_a_reader_that_goes_away_costs_no_file(tmp_path, buffered):
    """As in kerneton evaluate my-recordings --html report.html | head -3."""
    file, out = recording(tmp_path / "take.npz", "take"), tmp_path / "out.json"
    reading, writing = os.pipe()
    os.close(reading)
    done = kerneton(
        "info",
        file,
        "--json",
        out,
        stdout=writing,
        env={**os.environ, "PYTHONUNBUFFERED": buffered},
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(out.read_text())


@posix
def test_standard_streams_that_are_closed(tmp_path):
    """Services may start without them; results go to files all the same."""
    file, out = recording(tmp_path / "take.npz", "take"), tmp_path / "out.json"
    command = f'{sys.executable} -m kerneton info "$0" --json "$1" >&- 2>&- <&-'
    assert subprocess.run(["sh", "-c", command, str(file), str(out)], check=False).returncode == 0
    assert json.loads(out.read_text())
    wrong = subprocess.run(["sh", "-c", command, str(file) + "x", str(out)], check=False)
    assert wrong.returncode == 1
