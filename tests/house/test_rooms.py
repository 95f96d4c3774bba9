"""The plan of the package: what lies in its hall, and which rooms a fit walks through."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import kerneton

ROOT = Path(kerneton.__file__).parent
FAST = (".cuda",)  # optional second forms of the kernels

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


def test_no_public_function_shares_its_name_with_a_module():
    modules = {path.stem for path in ROOT.iterdir()}
    assert not modules & set(kerneton.__all__)


def modules_after(program: str, folder: Path | None = None) -> set[str]:
    """Modules of the package that a program really imports; ``__init__.py`` counts where it is more
    than a docstring.
    """
    report = "print(*sorted(m for m in sys.modules if m.startswith('kerneton.')))"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\n{report}"],
        check=True,
        capture_output=True,
        text=True,
        cwd=folder,
    )
    found = done.stdout.splitlines()[-1].split()
    return {name for name in found if has_code(name) and not any(word in name for word in FAST)}


def has_code(module: str) -> bool:
    path = ROOT.joinpath(*module.split(".")[1:])
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return len(ast.parse(path.read_text(encoding="utf-8")).body) > 1


def test_a_fit_walks_through_few_rooms():
    """What the default recogniser needs and no more; docs/architecture.md draws the way."""
    found = modules_after(FIT)
    packages = {name.split(".")[1] for name in found}
    rooms = {"core", "data", "exceptions", "kernels", "machine", "parallel", "prepare", "recognize"}
    rooms |= {"report"}  # intervals of the accuracy on held-out people
    assert packages == rooms


COMMAND = """
import sys
from kerneton.cli import main
assert main(["fit", "my-recordings", "-o", "model.kern", "-q"]) == 0
"""


def test_a_command_imports_what_its_files_need(tmp_path):
    """`kerneton fit` on a folder of tables imports no data set and no reader of binary files."""
    for i, recording in enumerate(kerneton.make_actions(["bow", "wave"], n_subjects=3, n_takes=1)):
        place = tmp_path / "my-recordings" / recording.label / recording.subject
        place.mkdir(parents=True, exist_ok=True)
        kerneton.write([recording], place / f"{i}.csv")
    found = modules_after(COMMAND, tmp_path)
    readers = {
        name.rpartition(".")[2] for name in found if name.startswith("kerneton.files.readers.")
    }
    assert not readers & {"npz", "c3d", "pyskl", "bvh", "trc", "amc", "coco"}, readers
    # the table of names alone
    assert not {name for name in found if name.startswith("kerneton.datasets.")}
    assert not {name.split(".")[1] for name in found} & {"stream", "studio", "paper"}
    packages = {name for name in found if ROOT.joinpath(*name.split(".")[1:]).is_dir()}
    assert packages == {
        "kerneton.cli",
        "kerneton.core",
        "kerneton.datasets",
        "kerneton.files.readers",
    }
