"""Every level of the processor passes the tests of the core."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kerneton import core

HERE = Path(__file__).parent


# the highest one is what the others run on
@pytest.mark.parametrize("level", core.available_levels()[:-1])
def test_a_level(level: str) -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "-n",
        "0",
        str(HERE),
    ]
    skipped = [f"--ignore={HERE / name}" for name in ("test_levels.py", "test_library.py")]
    given = {**os.environ, "KERNETON_CORE": level}
    done = subprocess.run(
        [*command, *skipped], env=given, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:]
