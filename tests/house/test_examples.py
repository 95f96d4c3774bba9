"""Every example runs without warnings, without data and without network, and leaves its pictures
where it was told.
"""

from __future__ import annotations

import ast
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
GALLERY = {
    "first_recognition",
    "own_csv",
    "own_kernel",
    "own_layout",
    "folder_of_bvh",
    "what_sck_sees",
    "exact_against_linearised",
    "what_epn_does",
    "choosing_joints",
    "explanation",
    "unknown_actions",
    "cross_subject_report",
}
PNG = b"\x89PNG\r\n\x1a\n"

matplotlib = pytest.importorskip(
    "matplotlib", reason="examples draw pictures: pip install 'kerneton[plot]'"
)
plt = pytest.importorskip("matplotlib.pyplot")
pytest.importorskip("pandas", reason="examples print tables: pip install 'kerneton[frame]'")


def run(example: Path, where: Path, *arguments: str) -> str:
    """What the script prints, run in a process of its own that knows no data home."""
    environment = {k: v for k, v in os.environ.items() if k != "KERNETON_DATA"}
    environment |= {"MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1", "PYTHONUTF8": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(example), *arguments],
        cwd=where,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def size(picture: Path) -> tuple[int, int]:
    """Width and height that a PNG's header states."""
    head = picture.read_bytes()[:24]
    assert head.startswith(PNG), picture
    return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")


def test_gallery_is_whole():
    assert {example.stem for example in EXAMPLES} == GALLERY


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.stem)
def test_example_runs(example, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KERNETON_DATA", raising=False)
    monkeypatch.setattr(sys, "argv", [str(example), "pictures"])
    matplotlib.use("Agg")
    runpy.run_path(
        str(example), run_name="__main__"
    )  # in this process: eleven more would start as long as they run
    plt.close("all")
    assert capsys.readouterr().out.strip()
    assert [p.name for p in tmp_path.iterdir()] == ["pictures"], (
        "it writes into the folder it is given alone"
    )
    pictures = sorted((tmp_path / "pictures").glob("*.png"))
    assert pictures
    for picture in pictures:
        assert picture.name.startswith(example.stem), "pictures are called after their example"
        assert min(size(picture)) > 200


def test_pictures_go_to_examples_out_by_default(tmp_path):
    run(EXAMPLES[0].with_name("what_sck_sees.py"), tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["examples-out"]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.stem)
def test_example_says_what_one_learns(example):
    text = example.read_text(encoding="utf-8")
    assert "You learn" in (ast.get_docstring(ast.parse(text)) or "")
    assert text.count("\n# %%\n") >= 3
