"""Examples in docstrings that need torch, which is optional, are skipped without it."""

import importlib.util

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip them."""
    if importlib.util.find_spec("torch") is None:
        for item in items:
            if isinstance(item, pytest.DoctestItem) and "import torch" in str(item.dtest.docstring):
                item.add_marker(pytest.mark.skip(reason="torch is not installed"))
