"""libkerneton through ctypes, and its JavaScript module through node, for tests."""

from __future__ import annotations

import ctypes
import json
import math
import shutil
import subprocess
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kerneton import runtime as package

NATIVE = Path(package.__file__).parent / "native"
JS = Path(package.__file__).parent / "js"


def library_path() -> Path:
    """This machine's libkerneton."""
    found = sorted(NATIVE.glob("linux-x86_64/libkerneton.so")) or sorted(
        NATIVE.glob("*/*kerneton.*")
    )
    if not found:
        pytest.skip("libkerneton was not built: that needs the compiler of the package ziglang")
    return found[0]


def node() -> str:
    """The command of node."""
    found = shutil.which("node")
    if found is None:
        pytest.skip("node is not installed")
    if not (JS / "kerneton.wasm").is_file():
        pytest.skip("kerneton.wasm was not built: that needs the compiler of the package ziglang")
    return found


class Facts(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int32) for name in ("n_labels", "n_joints", "calibrated", "needs_rate")),
        *((name, ctypes.c_double) for name in ("threshold", "usual_seconds")),
    )


class Answer(ctypes.Structure):
    _fields_ = (
        ("label", ctypes.c_int32),
        ("is_unknown", ctypes.c_int32),
        ("unknown", ctypes.c_double),
    )


class Options(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_double) for name in ("window", "still", "fps"))


class Event(ctypes.Structure):
    _fields_ = (
        ("has_label", ctypes.c_int32),
        ("current", Answer),
        ("has_segment", ctypes.c_int32),
        ("segment", Answer),
        ("begin", ctypes.c_double),
        ("end", ctypes.c_double),
        ("moving", ctypes.c_int32),
    )


class Memory:
    """Bytes on a cache line."""

    def __init__(self, size: int, content: bytes = b"") -> None:
        self.raw = np.zeros(size + 64, np.uint8)
        self.at = self.raw.ctypes.data + -self.raw.ctypes.data % 64
        if content:
            ctypes.memmove(self.at, content, len(content))


class RuntimeFailureError(Exception):
    """An error code of libkerneton, with its sentence."""

    def __init__(self, code: int, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


class Library:
    """libkerneton, with the types of its functions."""

    def __init__(self, path: Path | None = None) -> None:
        self.c = ctypes.CDLL(str(path or library_path()))
        pointer, long, real, whole = (
            ctypes.c_void_p,
            ctypes.c_int64,
            ctypes.c_double,
            ctypes.c_int32,
        )
        types: dict[str, tuple[Any, list[Any]]] = {
            "kn_sentence": (ctypes.c_char_p, [whole]),
            "kn_open_size": (long, [pointer, long]),
            "kn_open": (whole, [pointer, long, pointer, long, pointer]),
            "kn_describe": (whole, [pointer, pointer]),
            "kn_label": (ctypes.c_char_p, [pointer, whole]),
            "kn_joint": (ctypes.c_char_p, [pointer, whole]),
            "kn_predict_size": (long, [pointer, whole]),
            "kn_predict": (
                whole,
                [pointer, pointer, whole, real, pointer, long, pointer, pointer, pointer],
            ),
            "kn_explain": (
                whole,
                [pointer, pointer, whole, real, whole, pointer, long, pointer, pointer],
            ),
            "kn_live_size": (long, [pointer, pointer]),
            "kn_live_open": (whole, [pointer, pointer, pointer, long, pointer]),
            "kn_live_push": (whole, [pointer, real, pointer, pointer, pointer, pointer]),
        }
        for name, (result, arguments) in types.items():
            function = getattr(self.c, name)
            function.restype, function.argtypes = result, arguments

    def checked(self, code: int) -> int:
        if code < 0:
            raise RuntimeFailureError(code, self.c.kn_sentence(code).decode())
        return code

    def open(self, content: bytes) -> Model:
        return Model(self, content)


class Model:
    """An opened model."""

    def __init__(self, library: Library, content: bytes) -> None:
        self.library, c = library, library.c
        self._content = Memory(len(content), content)
        size = library.checked(c.kn_open_size(self._content.at, len(content)))
        self._memory, self._model = Memory(size), ctypes.c_void_p()
        at = self._content.at, len(content), self._memory.at, size
        library.checked(c.kn_open(*at, ctypes.addressof(self._model)))
        self.facts = Facts()
        c.kn_describe(self._model, ctypes.addressof(self.facts))

    @cached_property
    def labels(self) -> list[str]:
        return [
            self.library.c.kn_label(self._model, k).decode() for k in range(self.facts.n_labels)
        ]

    @cached_property
    def joints(self) -> list[str]:
        return [
            self.library.c.kn_joint(self._model, k).decode() for k in range(self.facts.n_joints)
        ]

    def predict(self, joints: np.ndarray, fps: float) -> dict[str, Any]:
        joints, room, size = self._given(joints)
        decisions, shares, answer = np.zeros(len(self.labels)), np.zeros(len(self.labels)), Answer()
        where = joints.ctypes.data, len(joints), fps, room.at, size
        out = decisions.ctypes.data, shares.ctypes.data, ctypes.addressof(answer)
        self.library.checked(self.library.c.kn_predict(self._model, *where, *out))
        return {
            "label": self.labels[answer.label],
            "decisions": decisions,
            "probabilities": shares if self.facts.calibrated else None,
            "unknown": answer.unknown if self.facts.calibrated else None,
        }

    def explain(self, joints: np.ndarray, fps: float, label: int) -> tuple[np.ndarray, float]:
        joints, room, size = self._given(joints)
        out, intercept = np.zeros(len(self.joints)), ctypes.c_double()
        where = joints.ctypes.data, len(joints), fps, label, room.at, size
        code = self.library.c.kn_explain(
            self._model, *where, out.ctypes.data, ctypes.addressof(intercept)
        )
        self.library.checked(code)
        return out, intercept.value

    def live(self, window: float = 0, still: float = 0, fps: float = 0) -> Live:
        return Live(self, Options(window, still, fps))

    def _given(self, joints: np.ndarray) -> tuple[np.ndarray, Memory, int]:
        joints = np.ascontiguousarray(joints, np.float32)
        size = self.library.checked(self.library.c.kn_predict_size(self._model, len(joints)))
        return joints, Memory(size), size


class Live:
    """A live view of a model."""

    def __init__(self, model: Model, options: Options) -> None:
        c = model.library.c
        self.model, self._live = model, ctypes.c_void_p()
        given = model._model, ctypes.addressof(options)
        size = model.library.checked(c.kn_live_size(*given))
        self._memory = Memory(size)
        at = self._memory.at, size, ctypes.addressof(self._live)
        model.library.checked(c.kn_live_open(*given, *at))

    def push(self, seconds: float, pose: np.ndarray) -> dict[str, Any]:
        pose = np.ascontiguousarray(pose, np.float32)
        n, event = len(self.model.labels), Event()
        decisions, shares = np.zeros(n), np.zeros(n)
        out = decisions.ctypes.data, shares.ctypes.data, ctypes.addressof(event)
        code = self.model.library.c.kn_live_push(self._live, seconds, pose.ctypes.data, *out)
        self.model.library.checked(code)
        labels, current, segment = self.model.labels, None, None
        if event.has_label:
            current = {"label": labels[event.current.label], "unknown": event.current.unknown}
            current |= {"decisions": decisions.tolist(), "probabilities": shares.tolist()}
        if event.has_segment:
            segment = {"label": labels[event.segment.label], "unknown": event.segment.unknown}
            segment |= {"begin": event.begin, "end": event.end}
        return {"current": current, "segment": segment, "moving": event.moving == 1}


_NODE = """
import {load} from "./kerneton.js";
import {readFileSync} from "node:fs";
import {ask} from "./ask.mjs";
const given = JSON.parse(readFileSync(0, "utf8"));
const model = await load(new Uint8Array(readFileSync(given.model)), given.wasm ? {wasm: new URL(given.wasm)} : {});
console.log(JSON.stringify(ask(model, given)));
"""
ASK = """
export function ask(model, given) {
const out = [];
for (const {joints, frames, fps, label} of given.recordings) {
  const values = Float32Array.from(joints, (x) => x ?? NaN);
  try {
    const found = model.predict({joints: values, frames, fps});
    const why = model.explain({joints: values, frames, fps}, label ?? found.label);
    out.push({...found, decisions: [...found.decisions], probabilities: found.probabilities && [...found.probabilities],
              contributions: Object.values(why.contributions), intercept: why.intercept});
  } catch (error) {
    out.push({error: error.message, code: error.code});
  }
}
const told = [];
const views = [];
for (const poses of given.streams) {
  const live = model.live();
  views.push(live);
  const events = [];
  for (const [seconds, pose] of poses) {
    try {
      const {current, segment, moving} = live.push(seconds, Float32Array.from(pose, (x) => x ?? NaN));
      events.push({moving, segment, current: current && {
        ...current, decisions: [...current.decisions], probabilities: current.probabilities && [...current.probabilities]}});
    } catch (error) {
      events.push({error: error.message, code: error.code});
    }
  }
  live.close();
  told.push(events);
}
return {joints: model.joints, labels: model.labels, out, told};
}
"""


def in_node(
    folder: Path,
    recordings: list[tuple[np.ndarray, float]],
    *,
    plain: bool = False,
    streams: list[list[tuple[float, np.ndarray]]] | None = None,
) -> dict[str, Any]:
    """What the module in a folder answers for recordings, and tells of streams of poses."""
    given = questions(recordings, streams)
    given["model"] = str(folder / "model.knx")
    given["wasm"] = (folder / "kerneton-plain.wasm").as_uri() if plain else None
    (folder / "ask.mjs").write_text(ASK)
    (folder / "node.mjs").write_text(_NODE)
    done = subprocess.run(
        [node(), "node.mjs"],
        cwd=folder,
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,  # a busy machine is slow, not wrong
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def questions(
    recordings: list[tuple[np.ndarray, float]],
    streams: list[list[tuple[float, np.ndarray]]] | None = None,
) -> dict[str, Any]:
    """What the function `ask` of `ASK` is given."""
    return {
        "recordings": [
            {"joints": _numbers(joints), "frames": len(joints), "fps": fps}
            for joints, fps in recordings
        ],
        "streams": [
            [(seconds, _numbers(pose)) for seconds, pose in poses] for poses in streams or ()
        ],
    }


def _numbers(joints: np.ndarray) -> list[float | None]:
    return [None if math.isnan(x) else x for x in joints.astype(float).ravel().tolist()]
