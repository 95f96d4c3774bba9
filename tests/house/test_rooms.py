"""The plan of the package: what lies in its hall, how long files are, and how far a fit walks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import kerneton

ROOT = Path(kerneton.__file__).parent
FAST = (".compiled", ".cuda")  # optional second forms of the kernels

FIT = """
import sys
from kerneton import SkeletonSequence, make_recognizer
from kerneton.data.layouts import FLORENCE_15
import numpy as np
rng = np.random.default_rng(0)
poses = rng.normal(size=(6, 1, 15, 3)) * 0.3 + rng.normal(size=(6, 9, 15, 3)).cumsum(1) * 0.02
data = [SkeletonSequence(x, layout=FLORENCE_15, subject="abc"[i // 2]) for i, x in enumerate(poses)]
make_recognizer().fit(data, ["bow", "wave"] * 3)
"""


def test_the_hall_holds_packages_alone():
    files = {path.name for path in ROOT.iterdir() if path.is_file()}
    assert files == {"__init__.py", "__main__.py", "exceptions.py", "py.typed"}
    for folder in (path for path in ROOT.iterdir() if path.is_dir() and path.name != "__pycache__"):
        assert (folder / "__init__.py").is_file(), folder.name


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_files_are_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 300


def test_no_public_function_shares_its_name_with_a_module():
    modules = {path.stem for path in ROOT.iterdir()}
    assert not modules & set(kerneton.__all__)


def modules_after(program: str) -> set[str]:
    """Modules of the package with code in them that a program really imports."""
    report = "print(*sorted(m for m in sys.modules if m.startswith('kerneton.')))"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\n{report}"], check=True, capture_output=True, text=True
    )
    found = done.stdout.splitlines()[-1].split()
    folders = {".".join(path.parent.relative_to(ROOT.parent).parts) for path in ROOT.rglob("__init__.py")}
    return {name for name in found if name not in folders and not any(word in name for word in FAST)}


def test_a_fit_walks_through_few_modules():
    """What the default recogniser needs and no more; docs/architecture.md draws the way."""
    found = modules_after(FIT)
    assert len(found) <= 30, sorted(found)
    packages = {name.split(".")[1] for name in found}
    assert packages == {"data", "exceptions", "kernels", "machine", "prepare", "recognize"}


COMMAND = """
import sys
from kerneton.cli import main
main(["fit", {folder!r}, "-o", {model!r}, "--quiet"])
"""


def test_a_command_imports_what_its_files_need(tmp_path):
    """`kerneton fit` on a folder of tables imports no data set and no reader of binary files."""
    for i, recording in enumerate(kerneton.make_actions(["bow", "wave"], n_subjects=3, n_takes=1)):
        place = tmp_path / "data" / recording.label / recording.subject
        place.mkdir(parents=True, exist_ok=True)
        kerneton.write(place / f"{i}.csv", [recording])
    found = modules_after(COMMAND.format(folder=str(tmp_path / "data"), model=str(tmp_path / "model.kern")))
    readers = {name.rpartition(".")[2] for name in found if name.startswith("kerneton.files.readers.")}
    assert not readers & {"npz", "c3d", "pyskl", "bvh", "trc", "amc", "coco"}, readers
    assert not {name.split(".")[1] for name in found} & {"datasets", "stream", "studio", "experiments"}
    assert len(found) <= 49, sorted(found)
