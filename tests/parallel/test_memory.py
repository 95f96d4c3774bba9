"""Memory, foreseen: what a machine, a container or a limit leaves, and fits that need more."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from kerneton.parallel.memory import _of_container, free_memory

pytest.importorskip("resource")

FIT = """
import resource
from pathlib import Path
from kerneton import make_actions, make_recognizer
from kerneton.exceptions import DataError
data = list(make_actions(["wave", "clap"], n_subjects=5, n_takes=3))
make_recognizer("tensor").fit(data[:3] + data[-3:], [s.label for s in data[:3] + data[-3:]])  # everything is loaded now
data = data * {times}
taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + {left}, taken + {left}))
try:
    make_recognizer({preset!r}).fit(data, [s.label for s in data])
except DataError as error:
    print(error)
"""


@pytest.mark.skipif(
    not os.path.exists("/proc/self/statm"), reason="the size of a process is read from /proc"
)
@pytest.mark.parametrize(
    ("preset", "times", "left", "said"),
    [
        (
            "tensor",
            5,
            2**29,
            "a fit of 150 recordings with 885,632 features each needs 1.01 GiB of memory and 0.",
        ),
        (
            None,
            30,
            2**30,
            "a fit of 900 recordings with 78,144 features each needs 1.42 GiB of memory and",
        ),
        ("tensor", 2, 2**27, "the memory is not enough"),  # too few to look before
    ],
)
def test_a_fit_that_memory_does_not_allow(preset, times, left, said):
    env = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    script = FIT.format(preset=preset, times=times, left=left)
    done = subprocess.run(
        [sys.executable, "-c", script], env=env, capture_output=True, text=True, timeout=300
    )
    assert said in done.stdout, done.stderr
    assert "use fewer recordings" in done.stdout


def test_what_a_container_leaves(tmp_path):
    assert _of_container(tmp_path) is None
    for name, text in (
        ("memory.max", "1000"),
        ("memory.current", "700"),
        ("memory.stat", "anon 5\ninactive_file 50\n"),
    ):
        (tmp_path / name).write_text(text)
    assert _of_container(tmp_path) == 350
    (tmp_path / "memory.max").write_text("max\n")
    assert _of_container(tmp_path) is None


def test_memory_is_known_here():
    assert free_memory() is None or free_memory() > 0
