"""The programs of benchmarks/ find what they import: they run for hours, seldom, and the package
changes under them.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
from pathlib import Path

import pytest

PROGRAMS = sorted((Path(__file__).parents[2] / "benchmarks").glob("*.py"))


def imported(path: Path) -> list[tuple[str, str]]:
    """Modules of the package and names that a program takes from them."""
    tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    nodes = [
        node for node in tree if isinstance(node, ast.ImportFrom) and not node.level and node.module
    ]
    return [
        (n.module, a.name)
        for n in nodes
        for a in n.names
        if n.module.partition(".")[0] == "kerneton"
    ]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_benchmark_finds_the_names_that_it_imports(path):
    for module, name in imported(path):
        found = (
            importlib.util.find_spec(f"{module}.{name}")
            if hasattr(importlib.import_module(module), "__path__")
            else None
        )
        assert found or hasattr(importlib.import_module(module), name), (
            f"{path.name}: {module} has no {name}"
        )


def test_there_is_something_to_look_at():
    assert sum(bool(imported(path)) for path in PROGRAMS) >= 10
