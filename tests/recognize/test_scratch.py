"""Features of many recordings on a disk: what belongs to which fit, what is damaged, what does not
fit, what is left over.
"""

from __future__ import annotations

import errno
import signal
import subprocess
import sys

import numpy as np
import pytest
from large_fits import large, limit, recognizer  # noqa: F401 (a fixture)

import kerneton
from kerneton import Search, make_actions, make_recognizer
from kerneton.exceptions import DataError, ParameterError
from kerneton.recognize import large as fits_of_many
from kerneton.recognize import storage


@pytest.fixture(scope="module")
def data():
    return make_actions(["wave", "clap", "bow"], n_subjects=4, n_takes=3)


def a_block(rows=5, columns=1200, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, columns)).astype(np.float32)


@pytest.mark.parametrize("halved", [False, True])
def test_any_change_of_a_block_is_found(tmp_path, halved):
    path = tmp_path / "000000.block"
    storage.write_packed(path, storage.pack(a_block(), halved=halved))
    whole = path.read_bytes()
    np.testing.assert_allclose(storage.read_packed(path).features(), a_block(), atol=1e-3)
    places = [*range(40), *np.linspace(40, len(whole) - 1, 60, dtype=int)]
    for place in places:  # the first ones are the types of numbers and their rows and columns
        for bit in (1, 128):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :])
            with pytest.raises(
                DataError, match=r"000000\.block: the block was changed after it was written"
            ):
                storage.read_packed(path)
    for damaged in (b"", whole[:20], whole[:-1], whole + b"0", bytes(len(whole))):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match="was changed after"):
            storage.read_packed(path)


def test_rows_of_a_block_that_are_exchanged_or_fewer_are_found(tmp_path):
    path, X = tmp_path / "000000.block", a_block()
    storage.write_packed(path, storage.pack(X, halved=False))
    whole = path.read_bytes()
    row = X.itemsize * X.shape[1]
    start = whole.index(b"\n") + 1
    first, second = whole[start : start + row], whole[start + row : start + 2 * row]
    path.write_bytes(whole[:start] + second + first + whole[start + 2 * row :])
    with pytest.raises(DataError, match="was changed after"):
        storage.read_packed(path)
    path.write_bytes(whole.replace(b" 5 1200\n", b" 3 2000\n"))
    with pytest.raises(DataError, match="was changed after"):
        storage.read_packed(path)


def test_blocks_that_are_exchanged_are_found(tmp_path):
    one, two, other = (
        tmp_path / "a" / "1.block",
        tmp_path / "a" / "2.block",
        tmp_path / "b" / "1.block",
    )
    for i, path in enumerate((one, two, other)):
        path.parent.mkdir(exist_ok=True)
        storage.write_packed(path, storage.pack(a_block(seed=i)))
    for path in (two, other):
        content = one.read_bytes(), path.read_bytes()
        for a in (one, path):
            a.write_bytes(content[a is one])
            with pytest.raises(DataError, match=f"{a.parent.name}/{a.name}: the block was changed"):
                storage.read_packed(a)
            a.write_bytes(content[a is not one])
            storage.read_packed(a)


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt, MemoryError, OSError(errno.EIO, "Input/output error")]
)
def test_a_block_that_is_interrupted_leaves_nothing(tmp_path, monkeypatch, error):
    """Neither half a block nor its temporary file."""

    def stopped(*_):
        raise error

    monkeypatch.setattr(storage, "_checksum", stopped)
    with pytest.raises(error if isinstance(error, type) else OSError):
        storage.write_packed(tmp_path / "000000.block", storage.pack(a_block()))
    assert not list(tmp_path.iterdir())


# which features belong to which fit


def key(model, data, y=None, groups=None, size=7):
    labels = data.labels if hasattr(data, "labels") else np.array([s.label for s in data])
    return storage.fit_key(model, data, labels if y is None else y, groups, size, storage.silent)


def test_features_are_those_of_the_same_recordings_and_parameters_alone(data, monkeypatch):
    """Whatever decides features is part of their name."""
    first, model = data[0], recognizer()
    known = {key(model, data): "as it is"}

    def differs(what, name):
        assert name not in known, (what, known[name])
        known[name] = what

    changes = {
        "fps": {"fps": 15.0},
        "layout": {"layout": None},
        "confidence": {"confidence": np.full(first.joints.shape[:2], 0.5)},
        "joints": {"joints": first.joints + 1e-6},
        "precision": {"joints": first.joints.astype(np.float32)},
        "frames": {"joints": first.joints[:-1], "confidence": None},
    }
    for what, change in changes.items():
        differs(what, key(model, [first.replace(**change), *data[1:]]))
    differs("order", key(model, [data[1], data[0], *data[2:]], data.labels))
    differs("labels", key(model, data, data.labels[::-1]))
    differs("subjects", key(model, data, groups=data.subjects))
    # 9 comes before 10, "9" after "10"
    numbers = np.unique(data.labels, return_inverse=True)[1] + 8
    differs("numbers", key(model, data, numbers))
    differs("the same digits", key(model, data, numbers.astype(str)))
    differs("block size", key(model, data, size=8))
    differs("pivots", key(recognizer().set_params(hands__kernel__n_pivots_joint=4), data))
    differs("C", key(recognizer().set_params(machine__C=5), data))
    differs("another kernel", key(recognizer().set_params(hands__kernel=kerneton.DCK()), data))
    differs("preset", key(make_recognizer(), data))
    monkeypatch.setattr(kerneton, "__version__", "9.9")
    differs("version", key(model, data))


def test_where_and_how_loudly_a_fit_runs_is_not_part_of_the_name(data):
    name = key(recognizer(), data)
    loud = recognizer(n_jobs=2, device="cuda", progress=lambda items, **_: items)
    loud.set_params(hands__kernel__n_jobs=1, hands__kernel__batch_size=3)
    assert key(loud, list(data)) == name
    strided = [s.replace(joints=np.asfortranarray(s.joints)) for s in data]
    assert key(recognizer(), strided) == name
    with pytest.raises(
        ParameterError, match="only for a recogniser whose parameters can be written down"
    ):
        key(recognizer().set_params(hands__kernel__signals=lambda s: s), data)


def test_other_frame_rates_are_not_taken_from_the_folder(large, data, tmp_path):  # noqa: F811
    def model():
        return make_recognizer(view="free", mirror=False)

    slow = [s.replace(fps=10.0) for s in data]
    model().fit(data, data.labels, scratch=tmp_path)
    resumed = model().fit(slow, data.labels, scratch=tmp_path)
    np.testing.assert_array_equal(
        resumed.machine_.coef_, model().fit(slow, data.labels).machine_.coef_
    )


def test_a_resumed_fit_tells_all_that_the_whole_one_tells(large, data, tmp_path):  # noqa: F811
    limit(large, sample=18)
    labels = data.labels.astype(object)
    whole = make_recognizer(view="free", calibrate=True, progress=lambda items, **_: items)
    whole.fit(data, labels, scratch=tmp_path)
    large.setattr(fits_of_many.Encoder, "fit_all", None)  # nothing is chosen again
    resumed = make_recognizer(view="free", calibrate=True, n_jobs=2).fit(
        data, labels, scratch=tmp_path
    )
    assert vars(resumed).keys() == vars(whole).keys()
    for name in ("trials_", "chosen_", "mixtures_", "variant_", "variant_scores_", "timed_"):
        assert getattr(resumed, name) == getattr(whole, name), name
    assert resumed.search_.get_params() == whole.search_.get_params()
    assert resumed.classes_.dtype == whole.classes_.dtype == object
    np.testing.assert_array_equal(resumed.machine_.coef_, whole.machine_.coef_)
    np.testing.assert_array_equal(resumed.predict_proba(data), whole.predict_proba(data))
    assert {branch.kernel_.n_jobs for branch in resumed.branches_.values()} == {2}


def test_a_damaged_choice_is_made_again(large, data, tmp_path):  # noqa: F811
    whole = recognizer(search=Search()).fit(data, data.labels, scratch=tmp_path)
    for name in ("choice.kern", "trials.json", "sample.features"):
        (file,) = tmp_path.glob(f"*/{name}")
        for damaged in (
            file.read_bytes()[:-30],
            b'{"trials": [{"name": 1}], "chosen": [3]}',
            b"[1]",
        ):
            file.write_bytes(damaged)
            again = recognizer(search=Search()).fit(data, data.labels, scratch=tmp_path)
            np.testing.assert_array_equal(again.machine_.coef_, whole.machine_.coef_)


def test_two_fits_do_not_share_a_folder(large, data, tmp_path):  # noqa: F811
    recognizer().fit(data, data.labels, scratch=tmp_path)
    (folder,) = tmp_path.iterdir()
    with storage.locked(folder), pytest.raises(DataError, match="another fit uses this folder"):
        recognizer().fit(data, data.labels, scratch=tmp_path)


# where there is no room


def free(n_bytes):
    return lambda folder: type("", (), {"free": n_bytes})


@pytest.fixture
def own_disk(large, tmp_path):  # noqa: F811
    """The temporary folder, and features that do not stay in memory."""
    large.setattr(storage, "MEMORY", 0)
    large.setattr(storage, "seconds_to_read", lambda file, whole: 0.0)
    large.setattr(storage.tempfile, "tempdir", str(tmp_path))
    return large


@pytest.mark.parametrize("halve", [0, 2**30], ids=["16 bits", "whole"])
@pytest.mark.parametrize("full", ["before", "in the middle", "slow"])
def test_features_without_room_are_computed_again(own_disk, data, tmp_path, caplog, full, halve):
    own_disk.setattr(storage, "HALVE", halve)
    on_disk = recognizer().fit(data, data.labels)
    assert not caplog.text
    if full == "before":
        own_disk.setattr(storage.shutil, "disk_usage", free(1000))
    elif full == "slow":
        own_disk.setattr(storage, "seconds_to_read", lambda file, whole: 1e9)
    else:
        checksum = storage._checksum

        def third(path, head, block):
            if path.name == "000002.block":
                raise OSError(errno.ENOSPC, "No space left on device")
            return checksum(path, head, block)

        own_disk.setattr(storage, "_checksum", third)
    model = recognizer().fit(data, data.labels)
    # whatever is stored
    np.testing.assert_array_equal(model.machine_.coef_, on_disk.machine_.coef_)
    assert not list(tmp_path.iterdir())
    if full == "slow":
        assert not caplog.text
        return
    state = "has 1e-06 GB left" if full == "before" else "is full"
    assert f"{tmp_path} {state}, the features need " in caplog.text
    assert "computed again in every pass" in caplog.text
    assert "--scratch" in caplog.text


def test_what_a_killed_fit_left_is_removed_by_the_next(own_disk, data, tmp_path):
    program = "from kerneton.recognize.storage import *\nwith temporary_folder() as f: print(f, flush=True); input()"
    command = [
        sys.executable,
        "-c",
        f"import tempfile; tempfile.tempdir = {str(tmp_path)!r}\n{program}",
    ]
    running = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in "ab"
    ]
    folders = [storage.Path(process.stdout.readline().strip()) for process in running]
    try:
        running[0].send_signal(signal.SIGKILL)
        running[0].communicate()
        assert all(folder.is_dir() for folder in folders)
        recognizer().fit(data, data.labels)
        assert [folder.exists() for folder in folders] == [False, True]  # one is in use
    finally:
        running[1].communicate("\n")
    assert not list(tmp_path.iterdir())
