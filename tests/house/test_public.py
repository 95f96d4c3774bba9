"""Every public name resolves, is documented, and is shown in use."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path

import pytest

import kerneton

NAMES = sorted(set(kerneton.__all__) - {"__version__"})


@pytest.mark.parametrize("name", NAMES)
def test_name_resolves_to_what_its_module_defines(name):
    value = getattr(kerneton, name)
    module = importlib.import_module(f"kerneton.{kerneton._PUBLIC[name]}")
    assert value is getattr(module, name)
    assert value.__name__ == name


@pytest.mark.parametrize("name", NAMES)
def test_name_is_documented_with_an_example(name):
    doc = inspect.getdoc(getattr(kerneton, name))
    assert doc
    assert doc.splitlines()[0].endswith("."), "the first line is a sentence"
    assert ">>> " in doc


def test_lists_agree():
    """What type checkers see, what __all__ exports and what loads at run time are the same."""
    tree = ast.parse(Path(kerneton.__file__).read_text(encoding="utf-8"))
    (block,) = [
        n for n in tree.body if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"
    ]
    seen = {
        alias.name: node.module.removeprefix("kerneton.")
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == kerneton._PUBLIC
    assert sorted({*kerneton._PUBLIC, "__version__"}) == sorted(kerneton.__all__)
    assert len(set(kerneton.__all__)) == len(kerneton.__all__)


def test_dir_shows_the_public_names():
    assert set(kerneton.__all__) <= set(dir(kerneton))


@pytest.mark.parametrize("name", sorted(kerneton._PACKAGES))
def test_modules_load_when_asked_for(name):
    assert getattr(kerneton, name) is importlib.import_module(f"kerneton.{name}")


def test_unknown_name():
    with pytest.raises(AttributeError, match="module 'kerneton' has no attribute 'fly'"):
        kerneton.fly  # noqa: B018


def test_star_import():
    namespace: dict = {}
    exec("from kerneton import *", namespace)
    assert set(kerneton.__all__) <= set(namespace)
