"""A trained recogniser out of Python: into a web page, a JavaScript module, or a C library."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kerneton.data.layouts import LAYOUTS
from kerneton.data.mapping import adapted, source_joints
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError, MissingDataError, ParameterError
from kerneton.runtime.knx import model_bytes

TARGETS = ("js", "web", "c")
_HERE = Path(__file__).parent
_JS = ("kerneton.js", "kerneton.d.ts")
_WASM = ("kerneton.wasm", "kerneton-plain.wasm")
_PAGE = ("index.html", "page.js", "stage.js", "camera.js", "style.css")
_DEMO_FRAMES, _DEMO_RECORDINGS = 150, 5  # limits of the page's own recordings
# What @mediapipe/pose needs in a page; the heavy model is left out.
POSE_FILES = (
    "pose.js",
    "pose_web.binarypb",
    "pose_solution_packed_assets.data",
    "pose_solution_packed_assets_loader.js",
    "pose_solution_simd_wasm_bin.js",
    "pose_solution_simd_wasm_bin.wasm",
    "pose_solution_wasm_bin.js",
    "pose_solution_wasm_bin.wasm",
    "pose_landmark_full.tflite",
)


def export(
    model: Any,
    folder: str | os.PathLike[str],
    to: str = "js",
    *,
    pose: str | os.PathLike[str] | None = None,
    demo: Sequence[SkeletonSequence] | None = None,
) -> list[Path]:
    """Write a fitted recogniser and what runs it into a folder; returns the files.

    Parameters
    ----------
    model : Recognizer
        Of second-order tensors, such as the default one.
    folder : path
        Is made; files of an earlier export there are replaced, others are left alone.
    to : {"js", "web", "c"}
        A module for browsers, workers and node; a page that runs from any static host; header,
        libraries and examples for C, C++ and others.
    pose : path, optional
        A folder with npm's package @mediapipe/pose, for the camera of the page.
    demo : recordings, optional
        What the page plays without a camera; by default generated actions.

    Examples
    --------
    >>> from kerneton import make_actions, make_recognizer
    >>> data = make_actions(["wave", "clap"], n_subjects=3, n_takes=1)
    >>> model = make_recognizer(view="free", mirror=True).fit(data, data.labels)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sorted(path.name for path in export(model, folder))
    ['kerneton-plain.wasm', 'kerneton.d.ts', 'kerneton.js', 'kerneton.wasm', 'model.knx']
    """
    if to not in TARGETS:
        raise ParameterError(f"to={to!r}: expected {', '.join(map(repr, TARGETS))}")
    files: dict[str, bytes | Path] = {"model.knx": model_bytes(model)}
    if to == "c":
        files |= _native_files()
    else:
        files |= {name: _HERE / "js" / name for name in _JS}
        files |= {name: _runtime(name) for name in _WASM}
    if to == "web":
        files |= {name: _HERE / "web" / name for name in _PAGE}
        recordings = _demo(model) if demo is None else list(demo)
        files["model.json"] = _json(_page_facts(model))
        files["demo.json"] = _json({"recordings": [_played(model, s) for s in recordings]})
        if pose is not None:
            files |= _pose_files(Path(pose))
    return _write(Path(folder), files)


def _runtime(name: str) -> Path:
    path = _HERE / "js" / name
    if not path.is_file():
        raise MissingDataError(
            f"{name} is not in this installation, which was built without the compiler that makes "
            "WebAssembly: pip install ziglang and install Kerneton again, or take a wheel"
        )
    return path


def _native_files() -> dict[str, bytes | Path]:
    native = _HERE / "native"
    if not (native / "kerneton.h").is_file():
        raise MissingDataError(
            "libkerneton is not in this installation: pip install ziglang and install Kerneton again, "
            "or take a wheel"
        )
    files: dict[str, bytes | Path] = {
        path.relative_to(native).as_posix(): path
        for path in sorted(native.rglob("*"))
        if path.is_file()
    }
    examples = sorted(path for path in (_HERE / "c").iterdir() if path.is_file())
    return files | {f"examples/{path.name}": path for path in examples}


def _page_facts(model: Any) -> dict[str, Any]:
    layout = model.layout_
    camera = LAYOUTS["mediapipe33"]
    sources = [] if layout is None else source_joints(camera, layout)
    lacking = [
        joint
        for joint, source in zip(layout.joints if layout else (), sources, strict=True)
        if not source
    ]
    return {
        "name": ", ".join(map(str, model.classes_[:3]))
        + (" ..." if len(model.classes_) > 3 else ""),
        "from_camera": None if lacking or not sources else sources,
        "needs": "other joints" if not lacking else ", ".join(lacking[:5]),
    }


def _demo(model: Any) -> list[SkeletonSequence]:
    """Generated actions in the joints of the model, those that it knows first; none if it has other
    joints.
    """
    from kerneton.datasets.synthetic import ACTIONS, make_actions

    known = [str(label) for label in model.classes_ if str(label) in ACTIONS]
    others = [name for name in ACTIONS if name not in known]
    made = make_actions(
        (known + others)[:_DEMO_RECORDINGS], n_subjects=1, n_takes=1, random_state=7
    )
    try:
        return [adapted(s, model.layout_, model.n_joints_in_, np.float32) for s in made]
    except (DataError, ParameterError):
        return []


def _played(model: Any, sequence: SkeletonSequence) -> dict[str, Any]:
    (sequence,) = model.adapt([sequence])
    joints = np.asarray(sequence.joints[:_DEMO_FRAMES], np.float64)
    millimetres = [None if np.isnan(x) else round(1000 * float(x)) for x in joints.reshape(-1)]
    return {"label": str(sequence.label), "fps": sequence.fps or 30.0, "joints": millimetres}


def _json(contents: Any) -> bytes:
    return json.dumps(contents, separators=(",", ":"), ensure_ascii=False).encode()


def _pose_files(folder: Path) -> dict[str, bytes | Path]:
    missing = [name for name in POSE_FILES if not (folder / name).is_file()]
    if missing:
        raise MissingDataError(
            f"{folder} is not npm's package @mediapipe/pose: it lacks {', '.join(missing[:3])}. "
            "npm pack @mediapipe/pose@0.5.1675469404 downloads it; unpack it and name its folder 'package'"
        )
    return {f"pose/{name}": folder / name for name in POSE_FILES}


def _write(folder: Path, files: dict[str, bytes | Path]) -> list[Path]:
    """All files, each completely or not at all, the model last: a page never sees half of an
    export.
    """
    if folder.exists() and not folder.is_dir():
        raise ParameterError(f"{folder} is a file; expected a folder, which may exist")
    written = []
    for name, contents in sorted(files.items(), key=lambda item: item[0] == "model.knx"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
        try:
            with os.fdopen(handle, "wb") as out:
                if isinstance(contents, Path):
                    with contents.open("rb") as source:
                        shutil.copyfileobj(source, out)
                else:
                    out.write(contents)
            os.chmod(partial, 0o644)
            os.replace(partial, path)
        except BaseException:
            Path(partial).unlink(missing_ok=True)
            raise
        written.append(path)
    return written
