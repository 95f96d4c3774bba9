"""Constraints for pip: the lowest versions of the dependencies that pyproject.toml names."""

import re
from pathlib import Path

text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
(listed,) = re.findall(r"^dependencies = \[(.*?)\]", text, re.M | re.S)
for name, version in re.findall(r'"([\w-]+)>=([\w.]+)"', listed):
    print(f"{name}=={version}.0" if version.count(".") == 1 else f"{name}=={version}")
