"""Every format: whole samples are recognised and read, damaged ones are read or refused, never
anything else.
"""

from __future__ import annotations

import os
import random
import zipfile

import pytest
from coverage_fuzz import KEPT, Trial
from fuzz import damaged, fuzz, mutate
from samples import SAMPLES

from kerneton.files import readers

N_DAMAGED = int(os.environ.get("KERNETON_FUZZ", "200"))


def needs(format):
    if format == "c3d":
        pytest.importorskip("c3d")


@pytest.mark.parametrize("format", SAMPLES)
def test_whole_samples_are_recognised_and_read(format, tmp_path):
    needs(format)
    for i, make in enumerate(SAMPLES[format]):
        path = make().place(tmp_path / str(i))
        assert readers.detect_format(path) == format
        assert readers.read(path)


@pytest.mark.filterwarnings("ignore:.* s are missing after")  # damaged times
@pytest.mark.filterwarnings("ignore:.* the file ends inside this row")  # damaged ends
@pytest.mark.parametrize("format", SAMPLES)
def test_damaged_samples_are_read_or_refused(format, tmp_path):
    needs(format)
    outcome = fuzz(format, N_DAMAGED, tmp_path)
    assert not outcome.failures, "\n".join(outcome.failures)
    assert outcome.n_refused > N_DAMAGED // 20  # the damage does damage
    assert outcome.n_read > 0  # and leaves something


def test_damage_is_repeatable():
    sample = SAMPLES["ntu"][0]()
    assert damaged(sample, random.Random(1)) == damaged(sample, random.Random(1))
    assert mutate(b"", random.Random(0)) is not None


def test_every_format_has_samples():
    assert set(SAMPLES) == set(readers.formats()) - {"film"}  # damaged in tests/video


@pytest.mark.filterwarnings("ignore:.* s are missing after")
@pytest.mark.filterwarnings("ignore:.* the file ends inside this row")
def test_what_the_fuzzer_kept_is_read_or_refused(tmp_path):
    """Files that led the coverage-guided fuzzer to new lines of readers and of model files."""
    trial = Trial(tmp_path)
    with zipfile.ZipFile(KEPT) as archive:
        names = archive.namelist()
        for name in names:
            trial(archive.read(name))
    assert len(names) > 100
