"""An installed Kerneton in one process: learn, save, load, predict the same, also with libkerneton.

For emulators, which start no other process.
"""

from __future__ import annotations

import ctypes
import platform
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import kerneton
from kerneton import core, runtime
from kerneton.runtime.knx import model_bytes


def answers_of_libkerneton(content: bytes, recordings: Any) -> np.ndarray:
    """Decision values of the C library of this processor, through ctypes."""
    folder = Path(runtime.__file__).parent / "native" / f"linux-{platform.machine()}"
    c, kept = ctypes.CDLL(str(folder / "libkerneton.so")), []
    c.kn_open_size.restype = c.kn_predict_size.restype = ctypes.c_int64

    def memory(size: int) -> ctypes.c_void_p:
        kept.append(np.zeros(size + 64, np.uint8))
        return ctypes.c_void_p(kept[-1].ctypes.data + -kept[-1].ctypes.data % 64)

    def checked(code: int) -> int:
        assert code >= 0, f"libkerneton: code {code}"
        return code

    at, n_bytes, model = memory(len(content)), ctypes.c_int64(len(content)), ctypes.c_void_p()
    ctypes.memmove(at, content, len(content))
    size = checked(c.kn_open_size(at, n_bytes))
    checked(c.kn_open(at, n_bytes, memory(size), ctypes.c_int64(size), ctypes.byref(model)))
    out = []
    for recording in recordings:
        joints = np.ascontiguousarray(recording.joints, np.float32)
        size, decisions = checked(c.kn_predict_size(model, len(joints))), np.zeros(64)
        given = ctypes.c_void_p(joints.ctypes.data), len(joints), ctypes.c_double(recording.fps)
        room = memory(size), ctypes.c_int64(size)
        answer = memory(64)
        found = ctypes.c_void_p(decisions.ctypes.data), None, answer
        checked(c.kn_predict(model, *given, *room, *found))
        out.append(decisions[: len(set(recordings.labels))])
    return np.array(out)


def main() -> None:
    """Train on two people, test on the third."""
    data = kerneton.make_actions(["bow", "clap", "wave"], n_subjects=3, n_takes=1)
    model = kerneton.make_recognizer().fit(data[:6], data.labels[:6])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.kern")
        kerneton.save(model, path)
        again = kerneton.load(path)
    values = model.decision_function(data[6:])
    np.testing.assert_array_equal(again.decision_function(data[6:]), values)
    exported = answers_of_libkerneton(model_bytes(model), data[6:])
    np.testing.assert_allclose(exported, values, atol=1e-4)
    right = int((model.predict(data[6:]) == data.labels[6:]).sum())
    assert right == 3, f"{right} of 3 right"
    print(
        f"kerneton {kerneton.__version__} works on {platform.machine()}, levels {', '.join(core.available_levels())}"
    )


if __name__ == "__main__":
    main()
