"""The plan of the package: what lies in its hall, how long files are, and how far a fit walks."""

from __future__ import annotations

import ast
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


def modules_after(program: str, folder: Path | None = None) -> set[str]:
    """Modules of the package that a program really imports; ``__init__.py`` counts where it is more than a docstring."""
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


def test_a_fit_walks_through_few_modules():
    """What the default recogniser needs and no more; docs/architecture.md draws the way."""
    found = modules_after(FIT)
    assert len(found) <= 24, sorted(found)
    packages = {name.split(".")[1] for name in found}
    assert packages == {"data", "exceptions", "kernels", "machine", "prepare", "recognize"}


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
        kerneton.write(place / f"{i}.csv", [recording])
    found = modules_after(COMMAND, tmp_path)
    readers = {name.rpartition(".")[2] for name in found if name.startswith("kerneton.files.readers.")}
    assert not readers & {"npz", "c3d", "pyskl", "bvh", "trc", "amc", "coco"}, readers
    assert not {name for name in found if name.startswith("kerneton.datasets.")}  # the table of names alone
    assert not {name.split(".")[1] for name in found} & {"stream", "studio", "experiments"}
    packages = {name for name in found if ROOT.joinpath(*name.split(".")[1:]).is_dir()}
    assert packages == {"kerneton.cli", "kerneton.datasets", "kerneton.files.readers"}
    assert len(found) <= 40, sorted(found)  # with these packages


# Where objects of any kind come in: what users pass, and what is in files.
GATES = ("data/validation.py", "files/", "recognize/model_file.py", "recognize/model_reader.py")


def own_types_asked(tree: ast.Module, own: set[str]) -> list[ast.Call]:
    """Calls of isinstance that ask for a class of the package."""
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("isinstance", "issubclass")
        and own
        & {
            name
            for part in ast.walk(node.args[1])
            for name in (getattr(part, "id", ""), getattr(part, "attr", ""))
        }
    ]


def test_nothing_asks_for_the_class_of_our_own_objects():
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in ROOT.rglob("*.py")}
    own = {node.name for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    found = [
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for path, tree in trees.items()
        if not path.relative_to(ROOT).as_posix().startswith(GATES)
        for call in own_types_asked(tree, own)
    ]
    assert found == []


def test_the_rule_about_classes_can_fail():
    tree = ast.parse("isinstance(x, (int, data.Layout)) or isinstance(x, str)")
    assert len(own_types_asked(tree, {"Layout"})) == 1
