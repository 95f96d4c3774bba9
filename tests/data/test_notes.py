from __future__ import annotations

import subprocess
import sys

TWICE = """
import logging, sys
import numpy as np
from kerneton import make_recognizer
if len(sys.argv) > 1:
    logging.basicConfig(format="%(name)s: %(message)s")
x = np.random.default_rng(0).normal(size=(8, 9, 5, 3))
for _ in range(2):
    make_recognizer(kernel="sck", calibrate=True).fit(x, list("abababab"))
"""


def told(*words):
    done = subprocess.run(
        [sys.executable, "-c", TWICE, *words], capture_output=True, text=True, check=True
    )
    return [line for line in done.stderr.splitlines() if "no subjects" in line]


def test_notes_are_printed_once_with_the_name_of_the_library():
    assert told() == ["kerneton: note: no subjects: folds hold out recordings, not people"]


def test_who_sets_up_logging_gets_the_records_instead():
    lines = told("own")
    assert len(lines) == 2
    assert all(line.startswith("kerneton.machine.folds: ") for line in lines)
