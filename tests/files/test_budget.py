"""Files that cost far more than their size are refused, and what is no file is not waited for."""

from __future__ import annotations

import io
import json
import os
import pickle
import subprocess
import sys
import tracemalloc
from contextlib import suppress

import numpy as np
import pytest
from samples import motion, npz_bytes

from kerneton import load_folder
from kerneton.exceptions import FormatError, KernetonError, MissingDataError
from kerneton.files import readers
from kerneton.files.readers._values import FACTOR, FLOOR
from kerneton.files.segments import read_segments


def repeated_annotation() -> bytes:
    one = {"frame_dir": "a", "label": 0, "keypoint": motion(50, 25)[None]}
    return pickle.dumps({"annotations": [one] * 200_000})


def sparse_table() -> bytes:
    return b"frame,joint,x,y\n" + b"".join(b"%d,j%d,1,2\n" % (i, i % 999) for i in range(9000))


def idle_skeleton() -> bytes:
    joints = "".join(f"JOINT j{i} {{ OFFSET 0 1 0 " for i in range(900)) + "}" * 900
    head = f"HIERARCHY\nROOT hips {{ OFFSET 0 0 0 CHANNELS 1 Xposition {joints} }}\nMOTION\n"
    return (head + "Frames: 20000\nFrame Time: 0.03\n" + "0\n" * 20000).encode()


def packed_zeros() -> bytes:
    out = io.BytesIO()
    np.savez_compressed(out, joints=np.zeros((200_000, 20, 3), np.float32))
    return out.getvalue()


def packed(**arrays) -> bytes:
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


def small_numbers() -> bytes:
    """Bytes that become floats, in annotations that share one array."""
    keypoint, score = np.ones((1, 20_000, 17, 2), np.int8), np.ones((1, 20_000, 17), np.int8)
    return pickle.dumps(
        {"annotations": [{"frame_dir": "a", "keypoint": keypoint, "keypoint_score": score}] * 40}
    )


def rare_body() -> bytes:
    """A body in the first frame and in the last."""
    body = "1\n7 0 1 1 1 1 0 0.02 0.1 2\n25\n" + ("0.1 0.5 3.2 " + "0 " * 8 + "2\n") * 25
    return ("50002\n" + body + "0\n" * 50_000 + body).encode()


HOSTILE = {
    "shared.pkl": small_numbers,
    "rare.skeleton": rare_body,
    "bytes.npz": lambda: packed(joints=np.zeros((300_000, 17, 2), np.int8)),
    "confidence.npz": lambda: packed(
        joints=np.zeros((100_000, 17, 2), np.int8), confidence=np.zeros((100_000, 17), np.int8)
    ),
    "recordings.npz": lambda: packed(joints=np.zeros((100_000, 1, 1, 3), np.int8)),
    "recordings.csv": lambda: (
        b"recording,head_x,head_y\n" + b"".join(b"%d,1,2\n" % i for i in range(24_000))
    ),
    "repeated.pkl": repeated_annotation,
    "sparse.csv": sparse_table,
    "idle.bvh": idle_skeleton,
    "zeros.npz": packed_zeros,
    "lists.json": lambda: b'{"keypoints": [' + b"[]," * 3_000_000 + b"[]]}",
    "images.json": lambda: (
        b'{"annotations": [{"image_id": null, "keypoints": ['
        + b"1," * 50
        + b'1]}], "images": [{"file_name": ""},'
        + b"{}," * 800_000
        + b"{}]}"
    ),
    "absent.json": lambda: (
        b'[{"people": [{"pose_keypoints_2d": ['
        + b"1," * 74
        + b"1]}]}"
        + b',{"people":[]}' * 200_000
        + b"]"
    ),
    "lists.pkl": lambda: b"\x80\x02" + b"](" * 200_000 + b".",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_file_costs_more_than_its_budget(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(HOSTILE[name]())
    limit = FLOOR + FACTOR * path.stat().st_size
    tracemalloc.start()
    try:
        with pytest.raises(FormatError):
            readers.read(path)
        assert tracemalloc.get_traced_memory()[1] <= limit
    finally:
        tracemalloc.stop()


def test_a_memoised_scalar_is_not_copied_without_end(tmp_path):
    kind, data = b"cnumpy\ndtype\nX\x03\x00\x00\x00S99\x85Rq\x0a", b"C\x63" + b"x" * 99 + b"q\x0b"
    again = b"cnumpy.core.multiarray\nscalar\nh\x0ah\x0b\x86R"
    path = tmp_path / "scalar.pkl"
    path.write_bytes(b"\x80\x03(" + kind + data + again * 20_000 + b"l.")
    with pytest.raises(FormatError, match="copies its text again and again"):
        readers.read(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_pipes_and_devices_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    for path in (tmp_path / "pipe.csv", "/dev/zero", "/dev/null"):
        with pytest.raises(MissingDataError, match="a device, pipe or socket"):
            readers.read(path)
        for module in readers.formats().values():
            with pytest.raises(KernetonError):
                module.read(type(tmp_path)(path))


@pytest.mark.parametrize("name", ["a\0b.csv", "a" * 5000 + ".csv"])
def test_impossible_names(tmp_path, name):
    with pytest.raises(MissingDataError):
        readers.read(tmp_path / name)
    with pytest.raises(MissingDataError):
        load_folder(tmp_path / name)


def test_a_pickle_cut_short_while_it_is_read_is_an_error(tmp_path):
    """A mapped file that loses its end kills the interpreter, so this runs in another one."""
    path = tmp_path / "cut.pkl"
    path.write_bytes(pickle.dumps({"annotations": [np.zeros(1000) + i for i in range(500)]}))
    program = f"""
import pickletools
from kerneton.files import readers
from kerneton.exceptions import FormatError
whole = pickletools.genops
def cut(content):
    open({str(path)!r}, "r+b").truncate(100)
    return whole(content)
pickletools.genops = cut
try:
    readers.read({str(path)!r})
except FormatError as error:
    print("refused")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, "refused"), done.stderr


def test_many_empty_frames_are_read_in_one_pass(tmp_path, monkeypatch):
    """Frames without people cost no array each."""
    made = []
    real = np.where
    monkeypatch.setattr(np, "where", lambda *args: made.append(1) or real(*args))
    person = [1.0] * 75
    path = tmp_path / "long.json"
    path.write_text(
        json.dumps([{"people": [{"pose_keypoints_2d": person}]}, *[{"people": []}] * 20_000])
    )
    (recording,) = readers.read(path)
    assert recording.n_frames == 20_001
    assert len(made) < 100


def test_honest_files_are_within_the_budget(tmp_path):
    """Recordings that compress well are no attack: a still body of an hour."""
    path = tmp_path / "still.npz"
    path.write_bytes(npz_bytes(joints=np.ones((100_000, 20, 3), np.float32)))
    assert readers.read(path)[0].n_frames == 100_000


NESTED = {
    "tags.segments.xml": lambda: (
        "<annotations>"
        + "<image id='1'>" * 60
        + "<tag label='a'/>" * 20_000
        + "</image>" * 60
        + "</annotations>"
    ),
    "tiers.eaf": lambda: (
        "<ANNOTATION_DOCUMENT><TIME_SLOT TIME_SLOT_ID='a' TIME_VALUE='1'/><TIME_SLOT TIME_SLOT_ID='b' TIME_VALUE='9'/>"
        + "<TIER>" * 60
        + "<ALIGNABLE_ANNOTATION TIME_SLOT_REF1='a' TIME_SLOT_REF2='b'/>" * 9000
        + "</TIER>" * 60
        + "</ANNOTATION_DOCUMENT>"
    ),
    "quote.TextGrid": lambda: (
        f'File type = "ooTextFile"\nObject class = "TextGrid"\n"{"a" * 1_000_000}'
    ),
}


@pytest.mark.parametrize("name", NESTED)
def test_segments_cost_no_more_than_their_file(tmp_path, name):
    """What is nested is not read once for each level, and a label of any length is one token."""
    path = tmp_path / name
    path.write_text(NESTED[name]())
    tracemalloc.start()
    try:
        with suppress(FormatError):
            read_segments(path, fps=30)
        assert tracemalloc.get_traced_memory()[1] <= FLOOR + 10 * path.stat().st_size
    finally:
        tracemalloc.stop()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a Unix")
def test_brackets_that_are_never_closed_cost_no_minutes(tmp_path):
    path = tmp_path / "brackets.TextGrid"
    path.write_text('File type = "ooTextFile"\nObject class = "TextGrid"\n' + "[" * 300_000)
    program = f"""
import resource
from kerneton.exceptions import FormatError
from kerneton.files.segments import read_segments
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))  # seconds of computing until the process is killed
try:
    read_segments({str(path)!r}, fps=30)
except FormatError:
    print("refused")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stdout == "refused\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a Unix")
def test_a_file_is_recognised_or_not_at_once(tmp_path):
    """Marks of formats are regular expressions, which may take minutes where repeats of repeats
    have no bound.
    """
    for i, repeated in enumerate(
        (b"[],", b" ", b"\t,", b'"', b"{", b"a ", b"v._", b"\xc3\xa9", b"1 ", b"a1 ")
    ):
        (tmp_path / f"{i}.txt").write_bytes(b"[" + repeated * (readers.HEAD // len(repeated)))
    program = f"""
import resource
from pathlib import Path
from kerneton.files import readers
readers.formats()
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))  # seconds of computing until the process is killed
for path in Path({str(tmp_path)!r}).iterdir():
    readers.detect_format(path)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
