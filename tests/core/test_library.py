"""Loading the core: its levels, and installations that cannot work."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kerneton import core

PACKAGE = Path(core.__file__).parents[1]
POWER = (
    "import numpy as np, kerneton.core.powers as p; rng = np.random.default_rng(0); V = rng.random((5, 9, 9)); "
    "A = V @ V.swapaxes(1, 2); assert not p.psd_power(A, 0.5, B := np.empty_like(A)).any(); print(B[4, 8, 8])"
)


def run(code: str, package: Path = PACKAGE, **environment: str) -> subprocess.CompletedProcess[str]:
    given = {**os.environ, "PYTHONPATH": str(package.parent), **environment}
    return subprocess.run(
        [sys.executable, "-c", code], env=given, capture_output=True, text=True, check=False
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package whose core a test may damage."""
    ignored = shutil.ignore_patterns("__pycache__", "studio", "paper")
    return Path(shutil.copytree(PACKAGE, tmp_path / "kerneton", ignore=ignored))


@pytest.mark.parametrize("level", core.available_levels())
def test_every_level_gives_the_same_within_rounding(level: str) -> None:
    done = run(POWER, KERNETON_CORE=level)
    assert done.returncode == 0, done.stderr
    highest = run(POWER, KERNETON_CORE=core.available_levels()[-1])
    assert float(done.stdout) == pytest.approx(float(highest.stdout), rel=1e-13)


def test_an_unknown_level_is_one_sentence() -> None:
    last = run(POWER, KERNETON_CORE="v9").stderr.strip().splitlines()[-1]
    assert "KERNETON_CORE=v9: this processor and this installation have the levels" in last


def test_a_truncated_library_is_one_sentence(copy: Path) -> None:
    for path in (copy / "core").glob("kerneton_core_*"):
        path.write_bytes(path.read_bytes()[:5000])
    last = run(POWER, copy).stderr.strip().splitlines()[-1]
    assert "is damaged: 5000 bytes, expected" in last
    assert "install Kerneton again" in last


def test_a_library_that_is_no_library_is_one_sentence(copy: Path) -> None:
    for path in (copy / "core").glob("kerneton_core_*"):
        path.write_bytes(b"x" * path.stat().st_size)
    last = run(POWER, copy).stderr.strip().splitlines()[-1]
    assert "compiled core cannot be loaded" in last


def test_a_missing_core_is_one_sentence(copy: Path) -> None:
    (copy / "core" / "libraries.json").unlink()
    last = run(POWER, copy).stderr.strip().splitlines()[-1]
    assert "compiled core is not installed" in last


def test_a_core_of_another_version_is_one_sentence(copy: Path) -> None:
    wrapper = copy / "core" / "__init__.py"
    wrapper.write_text(wrapper.read_text().replace(f"VERSION = {core.VERSION} ", "VERSION = 999 "))
    last = run(POWER, copy).stderr.strip().splitlines()[-1]
    assert f"is of version {core.VERSION}, expected 999" in last


def test_a_processor_without_the_lowest_level_is_one_sentence(copy: Path) -> None:
    listed = copy / "core" / "libraries.json"
    contents = json.loads(listed.read_text())
    if not contents["platform"].endswith("x86_64"):
        pytest.skip("only x86-64 has levels")
    # The highest level alone, asked for on a processor that is said to lack it.
    contents["libraries"] = {"v4": contents["libraries"]["v2"]}
    listed.write_text(json.dumps(contents))
    wrapper = copy / "core" / "__init__.py"
    wrapper.write_text(wrapper.read_text().replace('"v4": 4', '"v4": 5'))
    last = run(POWER, copy).stderr.strip().splitlines()[-1]
    assert "this processor is older than" in last


def test_memory_that_cannot_be_had_is_told_with_its_size() -> None:
    with pytest.raises(MemoryError, match=r"the core needs 2199023255552 MiB of working memory"):
        core.room(2**61)


def test_a_process_without_memory_is_told_the_size() -> None:
    """What the core or NumPy asks for is refused by the system; the process lives to say so."""
    code = (
        "import resource, numpy as np; from kerneton import make_actions, make_recognizer; "
        "data = make_actions(['wave', 'bow'], n_subjects=2, n_takes=1); model = make_recognizer(); "
        "model.fit(data, data.labels); size = int(open('/proc/self/statm').read().split()[0]) * 4096; "
        "resource.setrlimit(resource.RLIMIT_AS, (size, size)); "
        "many = [s for s in data for _ in range(300)]; model.features(many)"
    )
    if sys.platform != "linux":
        pytest.skip("only Linux limits the memory of a process")
    last = run(code, OMP_NUM_THREADS="1").stderr.strip().splitlines()[-1]
    assert "MemoryError" in last
    assert "MiB" in last
