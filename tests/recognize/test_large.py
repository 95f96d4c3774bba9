"""Fits block by block: the machine of the Gram path, from memory and from disk, whatever happens on
the way.
"""

# ruff: noqa: F811 (fixtures)

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from large_fits import data, difference, large, limit, recognizer  # noqa: F401 (fixtures)
from numpy.testing import assert_allclose

from kerneton import (
    make_actions,
    make_recognizer,
)
from kerneton.exceptions import DataError, ParameterError
from kerneton.machine.sampling import sample_rows
from kerneton.parallel import memory
from kerneton.recognize import answers, storage
from kerneton.recognize import large as fits_of_many
from kerneton.recognize.encoder import Encoder
from kerneton.recognize.training import check_training, learn_on


@pytest.fixture(scope="module")
def by_gram(data):
    return recognizer(calibrate=True).fit(data, data.labels)


@pytest.mark.parametrize(
    ("memory", "halve", "error"),
    [(2**30, 0, 1e-4), (0, 2**30, 1e-4), (0, 0, 2e-4)],
    ids=["memory", "disk", "halved"],
)
def test_equals_the_gram_path(large, data, by_gram, memory, halve, error, tmp_path):
    large.setattr(storage, "MEMORY", memory)
    large.setattr(storage, "HALVE", halve)
    large.setattr(storage, "seconds_to_read", lambda file, whole: 0.0)
    large.setattr(storage.tempfile, "tempdir", str(tmp_path))
    model = recognizer(calibrate=True).fit(data, data.labels)
    assert difference(model, by_gram) < error
    assert model.predict(data).tolist() == by_gram.predict(data).tolist()
    np.testing.assert_allclose(model.predict_proba(data), by_gram.predict_proba(data), atol=1e-3)
    assert not list(tmp_path.iterdir())  # features are removed, whatever happens


def test_features_are_computed_anew_where_the_disk_has_no_room(large, data, by_gram):
    large.setattr(storage, "MEMORY", 0)
    large.setattr(storage.shutil, "disk_usage", lambda folder: type("", (), {"free": 0}))
    assert difference(recognizer().fit(data, data.labels), by_gram) < 1e-4


def test_a_smaller_sample_chooses_and_all_recordings_train(large, data):
    limit(large, sample=18)
    model = recognizer().fit(data, data.labels)
    assert (model.predict(data) == data.labels).mean() > 0.9
    few = recognizer()
    few = few.with_learned(learn_on(few, check_training(data, data.labels), Encoder(data))[0])
    assert difference(model, few) > 1e-3  # the sample has a mean and weights of its own


def test_frame_rates_are_looked_at_in_all_recordings(large, data):
    limit(large, sample=18)
    codes = np.unique(data.labels, return_inverse=True)[1]
    rows = sample_rows(codes, data.subjects, 18)
    some = [s if i in rows else s.replace(fps=None) for i, s in enumerate(data)]
    assert [recognizer().fit(found, data.labels).timed_ for found in (data, some)] == [True, None]


def test_choices_on_a_sample_and_the_machine_on_gram_matrices(large, data):
    """Between the two limits: the machine that passes over blocks give in the end."""
    limit(large, sample=18)
    model = make_recognizer(view="free", mirror=False, calibrate=True)
    by_passes = model.fit(data, data.labels).machine_.coef_
    limit(large, gram=len(data))
    large.setattr(fits_of_many, "machine_from_blocks", None)  # not asked
    by_gram = model.fit(data, data.labels).machine_.coef_
    assert np.linalg.norm(by_gram - by_passes) < 1e-3 * np.linalg.norm(by_gram)
    assert sum(model.trials_[0].right) <= 18  # the sample chose
    kept = model.fit(data, data.labels, keep=True)  # features of all are kept: all choose
    assert sum(kept.trials_[0].right) > 18


def test_a_stopped_fit_goes_on(large, data, tmp_path):
    whole = recognizer().fit(data, data.labels, scratch=tmp_path / "whole")
    write, written = storage.write_packed, []

    def stop(path, block):
        if len(written) == 4:  # the sample and three blocks
            raise KeyboardInterrupt
        written.append(path)
        write(path, block)

    large.setattr(storage, "write_packed", stop)
    with pytest.raises(KeyboardInterrupt):
        recognizer().fit(data, data.labels, scratch=tmp_path / "again")
    assert all(path.exists() for path in written)
    large.setattr(
        storage, "write_packed", lambda path, block: (written.append(path), write(path, block))
    )
    model = recognizer().fit(data, data.labels, scratch=tmp_path / "again")
    assert len(written) == len(set(written)) == 7  # no block twice, nor the sample
    np.testing.assert_array_equal(model.machine_.coef_, whole.machine_.coef_)


def test_a_damaged_block_is_computed_again(large, data, tmp_path, caplog):
    whole = recognizer().fit(data, data.labels, scratch=tmp_path).machine_.coef_
    blocks = sorted(tmp_path.glob("*/*.block"))
    content = bytearray(blocks[2].read_bytes())
    content[1000] ^= 1
    blocks[2].write_bytes(content)
    blocks[3].write_bytes(blocks[4].read_bytes()[:50])
    blocks[0].write_bytes(blocks[1].read_bytes())
    blocks[5].unlink()
    again = recognizer().fit(data, data.labels, scratch=tmp_path)
    assert [path.name for path in blocks if str(path) in caplog.text] == [
        "000000.block",
        "000002.block",
        "000003.block",
    ]
    np.testing.assert_array_equal(again.machine_.coef_, whole)
    caplog.clear()
    recognizer().fit(data, data.labels, scratch=tmp_path)
    assert not caplog.text  # all are good again


def test_a_full_disk(large, data, tmp_path):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with large.context() as patch:
        patch.setattr(storage, "_checksum", full)
        with pytest.raises(
            DataError, match="the disk is full; make room and fit again with the same scratch"
        ):
            recognizer().fit(data, data.labels, scratch=tmp_path)
    assert not list(tmp_path.glob("*/*"))
    large.setattr(storage.shutil, "disk_usage", lambda folder: type("", (), {"free": 1000}))
    with pytest.raises(
        DataError,
        match=r"the features need 0\.\d+ GB but the disk has 1e-06 GB left; give a folder",
    ):
        recognizer().fit(data, data.labels, scratch=tmp_path)


def test_labels_and_subjects_that_many_recordings_must_have(large, data):
    labels = data.labels.astype(object)
    labels[3] = "wvae"
    with pytest.raises(
        DataError, match=r"'wvae': a single recording among 36, .* correct the label"
    ):
        recognizer().fit(data, labels)
    some = [s.replace(subject=None) if i in (4, 9) else s for i, s in enumerate(data)]
    with pytest.raises(
        DataError, match="2 of 36 recordings have no subject, the first is number 4"
    ):
        recognizer().fit(some, data.labels)


def test_recordings_that_cannot_be_used_are_found_before_the_work(large, data):
    """And named by their places among all, not within a block."""
    limit(large, sample=18)
    fitted = recognizer().fit(data, data.labels)
    some = [s.replace(name="") for s in data]
    left = np.setdiff1d(
        np.arange(36),
        sample_rows(np.unique(data.labels, return_inverse=True)[1], data.subjects, 18),
    )
    for i, change in zip(left[-2:], ((slice(None), 0), (slice(None), slice(None))), strict=True):
        joints = some[i].joints.copy()
        joints[change] = np.nan
        some[i] = some[i].replace(joints=joints)
    told = rf"2 of 36 recordings cannot be used: recording #{left[-2]} never contains .*; recording #{left[-1]} contains no pose"
    large.setattr(answers, "BLOCK", 7)
    with pytest.raises(DataError, match=told):
        fitted.predict(some)
    large.setattr(fits_of_many, "_choose", None)  # not asked
    with pytest.raises(DataError, match=told):
        recognizer().fit(some, data.labels)
    with pytest.raises(
        ParameterError, match=r"client must be a dask\.distributed\.Client, got 'tcp://host:8786'"
    ):
        recognizer().fit(data, data.labels, client="tcp://host:8786")


def test_the_sample_covers_classes_and_subjects():
    rng = np.random.default_rng(0)
    codes = np.append(rng.integers(5, size=4000), [5])  # of the last class there is one
    people = rng.integers(30, size=4001).astype(str)
    rows = sample_rows(codes, people, 300)
    assert len(rows) in (300, 301)
    counts = np.bincount(codes[rows])
    assert counts[:5].min() >= 59
    assert counts[5] == 1
    cells = np.unique(
        np.stack([codes[rows][codes[rows] < 5], people[rows][codes[rows] < 5].astype(int)]),
        axis=1,
        return_counts=True,
    )[1]
    assert len(cells) == 150
    assert cells.max() - cells.min() <= 1
    np.testing.assert_array_equal(rows, sample_rows(codes, people, 300))  # seeded


def test_packing_keeps_four_digits():
    x = np.random.default_rng(0).normal(size=(3, 50)).astype(np.float32)
    np.testing.assert_allclose(storage.pack(x).features(), x, atol=np.abs(x).max() / 65000)


# more recordings


@pytest.mark.parametrize("preset", [None, "tensor", "paper"])
def test_adding_recordings_is_a_fit_on_all_of_them(preset):
    """With the reference skeleton of the first fit, which is the one thing that stays."""
    data = make_actions(["wave", "clap", "bow"], n_subjects=4, n_takes=1)
    first = make_recognizer(preset, calibrate=True).fit(data[:9], data.labels[:9], keep=True)
    steps = [branch.preprocess_ for branch in first.branches_.values()]
    more = first.add(data[9:], data.labels[9:])
    assert len(more.learned_.kept.encoder.sequences) == len(data)
    assert [branch.preprocess_ for branch in more.branches_.values()] == steps  # the same objects
    again = make_recognizer(preset, calibrate=True)
    reference = {
        key: step.reference_
        for key, step in zip(more.branches_, steps, strict=True)
        if step.bones is not None
    }
    for name, lengths in reference.items():
        again.set_params(**{f"{name}__preprocess__reference": lengths})
    again.fit(data, data.labels)
    if preset != "tensor":  # whose chosen variant may be another one
        assert more.learned_.kept.encoder.n_encoded == 0
    # Single precision: mirrored features of the added recordings are computed directly, not from
    # those without mirroring.
    assert_allclose(more.decision_function(data), again.decision_function(data), atol=1e-3)
    assert_allclose(more.predict_proba(data), again.predict_proba(data), atol=1e-3)


def test_adding_to_nothing_says_what_to_do():
    data = make_actions(["wave", "bow"], n_subjects=3, n_takes=1)
    model = make_recognizer().fit(data, data.labels)
    with pytest.raises(ParameterError, match="keep=True"):
        model.add(data[:1], data.labels[:1])
    with pytest.raises(TypeError, match="kept"):
        model.fit(data, data.labels, kept=True)
    model.fit(data, data.labels, keep=True)
    with pytest.raises(DataError, match="a label per recording"):
        model.add(data[:2], data.labels[:1])
    with pytest.raises(DataError, match="a label per recording"):
        model.add(data[:2], None)
    with pytest.raises(DataError, match="15 joints"):
        model.add(
            [data[0].replace(joints=data[0].joints[:, :15], confidence=None, layout=None)], ["wave"]
        )
    with pytest.raises(DataError, match="need subjects, or none"):
        model.add([data[0].replace(subject=None)], ["wave"])


def test_more_than_gram_matrices_can_hold_are_encoded_once(large, data):
    limit(large, gram=len(data) - 1)
    model = recognizer().fit(data[:18], data.labels[:18], keep=True)
    model.learned_.kept.encoder.extended = None  # not asked
    more = model.add(data[18:], data.labels[18:])
    expected = recognizer().fit(data, data.labels)
    assert difference(more, expected) < 1e-6
    with pytest.raises(ParameterError, match="on up to"):
        more.add(data[:1], data.labels[:1])


# what happens to a process and to a disk

_FIT = """
import sys, large_fits
from kerneton import Recognizer
from kerneton.recognize import storage
from kerneton.recognize.training import Limits
Recognizer.limits = Limits(gram=10, block=7, settled=0.0, steps=100, tol=1e-7)
data = large_fits.make_actions(["wave", "clap", "bow"], n_subjects=4, n_takes=3)
write = storage.write_packed

def slow(path, block):
    write(path, block)
    if path.suffix == ".block":
        print(path, flush=True)
    if path.name == "000002.block":
        sys.stdin.read()  # until it is killed

storage.write_packed = slow
large_fits.recognizer().fit(data, data.labels, scratch=sys.argv[1])
"""


def test_a_killed_fit_goes_on(large, data, tmp_path):
    whole = recognizer().fit(data, data.labels, scratch=tmp_path / "whole")
    path = [str(Path(__file__).parents[1]), *sys.path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    command = [sys.executable, "-c", _FIT, str(tmp_path / "killed")]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        for _ in range(3):
            assert b".block" in process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    before = {file: file.stat().st_mtime_ns for file in tmp_path.glob("killed/*/*.block")}
    assert len(before) == 3
    model = recognizer().fit(data, data.labels, scratch=tmp_path / "killed")
    assert {file: file.stat().st_mtime_ns for file in before} == before  # none was written again
    # Sums over blocks on several threads may be added in another order.
    assert_allclose(model.machine_.coef_, whole.machine_.coef_, rtol=0, atol=1e-12)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_disk_that_is_full_in_the_middle(large, data, tmp_path):
    """A real one: every write to /dev/full finds no space."""
    write = storage.write_packed

    def third(path, block):
        if path.name == "000002.block":
            path.with_suffix(".part").symlink_to("/dev/full")
        write(path, block)

    large.setattr(storage, "write_packed", third)
    with pytest.raises(
        DataError, match="the disk is full; make room and fit again with the same scratch"
    ):
        recognizer().fit(data, data.labels, scratch=tmp_path)
    assert len(list(tmp_path.glob("*/*.block"))) == 2
    assert not list(tmp_path.glob("*/*.part"))
    large.setattr(storage, "write_packed", write)
    recognizer().fit(data, data.labels, scratch=tmp_path)


def test_a_block_damaged_between_two_passes(large, data, tmp_path):
    solve, damaged = fits_of_many.solve_blocks, []

    def damaging(blocks, *arguments, **options):
        reduce = blocks.reduce

        def between(work, *columns, shared=None):
            answer = reduce(work, *columns, shared=shared)
            if not damaged:
                damaged.append(sorted(tmp_path.glob("*/*.block"))[4])
                content = bytearray(damaged[0].read_bytes())
                content[-300] ^= 8
                damaged[0].write_bytes(content)
            return answer

        blocks.reduce = between
        return solve(blocks, *arguments, **options)

    large.setattr(fits_of_many, "solve_blocks", damaging)
    with pytest.raises(
        DataError, match=r"000004\.block: the block was changed after it was written; fit again"
    ):
        recognizer().fit(data, data.labels, scratch=tmp_path)


def test_what_the_memory_cannot_hold_is_refused(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 2**30)
    with pytest.raises(
        DataError, match=r"the weights needs 2 GiB of memory and 1 GiB are left; use fewer"
    ):
        memory.check_memory(2**31, "the weights", "use fewer labels")
