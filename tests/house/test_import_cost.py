"""Importing the package, and asking for help, must cost next to nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {"sklearn", "matplotlib", "torch", "pandas", "scipy"}


def imported_by(program: str) -> set[str]:
    """Top-level packages in a fresh interpreter after a program."""
    report = "import sys; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\n{report}"], check=True, capture_output=True, text=True
    )
    return set(done.stdout.splitlines()[-1].split())


HELP = """
from kerneton.cli import main
try:
    main({argv})
except SystemExit as stop:
    assert stop.code == 0
"""


def test_the_measure_can_fail():
    assert "sklearn" in imported_by("import sklearn")


@pytest.mark.parametrize(
    "program",
    [
        "import kerneton",
        HELP.format(argv=["--help"]),
        HELP.format(argv=["--version"]),
        HELP.format(argv=["evaluate", "--help"]),
        HELP.format(argv=["reproduce", "--help"]),
    ],
)
def test_import_and_help_are_light(program):
    assert not imported_by(program) & (HEAVY | {"numpy"})


@pytest.mark.parametrize(
    "program",
    [
        "import kerneton; kerneton.SkeletonSequence, kerneton.Layout",
        "import kerneton; kerneton.Report",
        "import kerneton.report.pictures",
        "import kerneton.exceptions",
    ],
)
def test_light_modules_are_light(program):
    assert not imported_by(program) & HEAVY


def test_estimators_bring_no_more_than_scikit_learn_does():
    modules = (
        "prepare.preprocess",
        "kernels.sck",
        "kernels.dck",
        "kernels.exact",
        "machine.svm",
        "report.evaluation",
    )
    ours = imported_by("\n".join(f"import kerneton.{module}" for module in modules))
    theirs = imported_by("import sklearn.model_selection, sklearn.pipeline")
    assert not (ours - theirs) & {"matplotlib", "torch", "pandas"}
