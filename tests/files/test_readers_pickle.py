"""Pickles as plain data: what would run code or fill the memory is refused before it does."""

from __future__ import annotations

import builtins
import collections
import io
import os
import pickle
import struct
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kerneton.exceptions import FormatError, KernetonError
from kerneton.files import readers
from kerneton.files.readers import _pickle_data
from kerneton.files.readers._pickle_data import load
from kerneton.files.readers.pyskl import dump


def put(tmp_path, content, name="mine.pkl"):
    path = tmp_path / name
    path.write_bytes(content)
    return path


def annotation(**fields):
    return {
        "annotations": [
            {"frame_dir": "clip", "label": 3, "keypoint": np.ones((1, 4, 25, 3))} | fields
        ]
    }


# Pickles that would run code. Each would make the canary file; none may.


class Runs:
    """Unpickles to a call."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def hostile(canary):
    command, source = f"touch {canary}", f"open({str(canary)!r}, 'w').close()"
    array = np.empty(1, dtype=object)
    array[0] = Runs(os.system, command)
    yield "system", Runs(os.system, command)
    yield "eval", Runs(builtins.eval, source)
    yield "exec", Runs(builtins.exec, source)
    yield "open", Runs(builtins.open, str(canary), "w")
    yield "getattr", Runs(builtins.getattr, "x", "upper")
    yield "map", Runs(builtins.map, builtins.eval, (source,))
    yield "nested", {"annotations": [{"keypoint": Runs(np.array, Runs(os.system, command))}]}
    yield "in a dict", annotation(frame_dir=Runs(os.system, command))
    yield "object array", annotation(keypoint=array)
    yield "numpy's loader", Runs(np.load, str(canary))
    yield (
        "as a key",
        {"annotations": [], "x": Runs(collections.Counter, [Runs(os.system, command)])},
    )


@pytest.mark.parametrize("protocol", range(6))
def test_code_is_refused_and_not_run(tmp_path, protocol):
    canary = tmp_path / "canary"
    cases = list(hostile(canary))
    for name, data in cases:
        path = put(tmp_path, pickle.dumps(data, protocol))
        with pytest.raises(KernetonError):
            readers.read(path)
        with pytest.raises(FormatError):
            load(path)
        assert not canary.exists(), name
    pickle.loads(pickle.dumps(cases[0][1], protocol))
    assert canary.exists()  # the weapon was loaded


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"cos\nsystem\n(S'true'\ntR.", "asks for os.system, which is not data"),
        (b"cposix\nsystem\n(S'true'\ntR.", "asks for posix.system"),
        (b"\x80\x04\x8c\x02os\x8c\x06system\x93.", "asks for os.system"),
        (b"(S'true'\nios\nsystem\n.", "uses INST"),
        (b"(cos\nsystem\nS'true'\no.", "asks for os.system"),
        (b"\x80\x02cnumpy\nndarray\n)\x81.", "uses NEWOBJ"),
        (b"\x80\x02cnumpy.core.multiarray\n_reconstruct\n)R.", "REDUCE at step 3 does not fit"),
        (b"\x80\x02cnumpy\nndarray\n)R.", "REDUCE at step 3 does not fit"),
        (
            b"\x80\x02c_codecs\nencode\nX\x01\x00\x00\x00aX\x05\x00\x00\x00rot13\x86R.",
            "not bytes in latin1",
        ),
        (b"Pexternal\n.", "uses PERSID"),
        (b"\x80\x02\x82\x01.", "uses EXT1"),
        (b"\x80\x05\x97.", "uses NEXT_BUFFER"),
        (b"\x80\x03}}b.", "sets the state of something that is not an array"),
        (b"\x80\x03]K\x01K\x02s.", "SETITEM at step 4 does not fit"),
        (b"\x80\x03}NK\x02s.", "keys are neither text nor numbers"),
        (b"\x80\x03N2.", "uses DUP"),
        (b"\x80\x03NN.", "2 values at its end"),
        (b"\x80\x03.", "0 values at its end"),
        (b"\x80\x03N", "the pickle has no end|damaged pickle"),
        (b"\x80\x030.", "POP at step 1 does not fit"),
        (b"\x80\x03h\x05.", "BINGET at step 1 does not fit"),
        (b"\x80\x03\x8e" + b"\xff" * 7 + b"\x7f.", "damaged pickle"),
        (b"\x80\x05\x96" + b"\xff" * 7 + b"\x3f.", "damaged pickle"),
        (b"\x80\x03Nr\xff\xff\xff\xff.", None),
        (b"\x80\x63N.", "pickle protocol 99 is not known"),
    ],
)
def test_hand_made_pickles(tmp_path, content, message):
    path = put(tmp_path, content)
    if message is None:  # a huge number in the memo costs nothing here
        assert load(path) is None
        return
    with pytest.raises(FormatError, match=message):
        load(path)


def test_memory_is_bounded(tmp_path):
    text = (
        b"X"
        + struct.pack("<I", 1_000_000)
        + b"a" * 1_000_000
        + b"q\x00"
        + b"X\x06\x00\x00\x00latin1q\x01"
    )
    copies = b"c_codecs\nencode\nh\x00h\x01\x86R" * 5000
    path = put(tmp_path, b"\x80\x02(" + text + copies + b"l.")
    tracemalloc.start()
    with pytest.raises(FormatError, match="copies its text again and again"):
        load(path)
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()


def test_long_programs_end(tmp_path, monkeypatch):
    monkeypatch.setattr(_pickle_data, "MAX_STEPS", 1000)
    with pytest.raises(FormatError, match="more than 1000 instructions"):
        load(put(tmp_path, b"\x80\x03" + b"]" * 5000 + b"."))


def test_deep_nesting_needs_no_recursion(tmp_path):
    deep = b"\x80\x03" + b"]" * 100_000 + b"a" * 99_999 + b"."
    with pytest.raises(FormatError, match="annotation 0: expected a dict"):
        readers.read(put(tmp_path, deep))
    shape = b"\x80\x03cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\x00\x85B\x01\x00\x00\x00btR"
    tuples = b")" + b"\x85" * 100_000
    state = b"(K\x01" + tuples + b"cnumpy\ndtype\nX\x02\x00\x00\x00f4\x85R\x89B\x00\x00\x00\x00tb."
    with pytest.raises(FormatError, match="an array of an impossible shape"):
        load(put(tmp_path, shape + state))


def test_empty_file(tmp_path):
    with pytest.raises(FormatError, match="empty"):
        load(put(tmp_path, b""))


def test_dump_is_read_by_both(tmp_path):
    data = {
        "ints": [0, -1, 2**31 - 1],
        "mixed": (None, True, False, 1.5, "grün", b"\x00\xff", (), [], {}),
        "arrays": [
            np.arange(6).astype(k).reshape(2, 3) for k in ("<f4", ">f8", "i8", "u1", "?", "<f2")
        ],
        "empty": np.zeros((0, 3)),
        "zero-d": np.array(3.5),
    }
    file = io.BytesIO()
    dump(data, file)
    for got in (pickle.loads(file.getvalue()), load(put(tmp_path, file.getvalue()))):
        assert got["ints"] == data["ints"]
        assert got["mixed"] == data["mixed"]
        for a, b in zip(got["arrays"], data["arrays"], strict=True):
            assert_array_equal(a, b)
        assert got["empty"].shape == (0, 3)
        assert got["zero-d"] == 3.5
