"""What a release says about itself agrees in every place that says it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_one_version():
    (version,) = re.findall(r'^version = "(.*)"', text("pyproject.toml"), re.M)
    assert re.findall(r"^version: (.*)", text("CITATION.cff"), re.M) == [version]
    released = re.findall(r"^## (\d.*?)(?: |$)", text("CHANGELOG.md"), re.M)
    assert released[0] == version
    assert released == sorted(released, key=lambda v: [int(n) for n in v.split(".")], reverse=True)


def test_citation_can_be_read_and_names_the_paper():
    yaml = pytest.importorskip("yaml")
    citation = yaml.safe_load(text("CITATION.cff"))
    assert {"cff-version", "title", "message", "authors", "version", "license"} <= set(citation)
    assert citation["references"][0]["title"].split()[:3] == ["Tensor", "Representations", "via"]


def test_lowest_versions_are_those_of_the_project():
    said = subprocess.run(
        [sys.executable, ROOT / ".ci" / "lowest.py"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout.split()
    (listed,) = re.findall(r"^dependencies = \[(.*?)\]", text("pyproject.toml"), re.M | re.S)
    assert len(said) == listed.count('"') // 2
    assert all(re.fullmatch(r"[\w-]+==\d+\.\d+\.\d+", line) for line in said)


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"])
def test_links_to_files_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#\s]+)", text(page))
    assert [link for link in links if "://" not in link and not (ROOT / link).exists()] == []
