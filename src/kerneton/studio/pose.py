"""The pose estimator that the page runs for cameras and videos: downloaded once, checked, kept in a
cache folder.

It is the npm package @mediapipe/pose (Apache-2.0), which contains its models: nothing else is ever
downloaded.
"""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from kerneton.exceptions import DataError, MissingDataError

PACKAGE, VERSION = "@mediapipe/pose", "0.5.1675469404"
# SHA-512 of the package
INTEGRITY = (
    "DFZsNWTsSphRIZppnUCuunzBiHP2FdJXR9ehc7mMi4KG+oPaOH0Em3d6kr7Py+TSyTXC1doH88KcF28k2sBxsQ=="
)
FILES = (
    "pose.js",
    "pose_web.binarypb",
    "pose_solution_packed_assets.data",
    "pose_solution_packed_assets_loader.js",
    "pose_solution_simd_wasm_bin.data",
    "pose_solution_simd_wasm_bin.js",
    "pose_solution_simd_wasm_bin.wasm",
    "pose_solution_wasm_bin.js",
    "pose_solution_wasm_bin.wasm",
    "pose_landmark_lite.tflite",
    "pose_landmark_full.tflite",
    "pose_landmark_heavy.tflite",
)
COMMAND = "kerneton studio --get-pose"


def cache_folder() -> Path:
    """Where the package is kept: ``$KERNETON_CACHE``, or the system's folder for caches."""
    if sys.platform == "win32":
        caches = os.environ.get("LOCALAPPDATA", Path.home())
    else:
        caches = os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")
    home = os.environ.get("KERNETON_CACHE") or Path(caches, "kerneton")
    return Path(home, f"pose-{VERSION}")


def pose_folder() -> Path | None:
    """The package's folder, or None if it was not downloaded."""
    folder = cache_folder()
    return folder if all((folder / name).is_file() for name in FILES) else None


def media_type(name: str) -> str:
    """Content type of a file of the package.

    >>> media_type("pose.js"), media_type("x.wasm")
    ('text/javascript', 'application/wasm')
    """
    known = {".js": "text/javascript", ".wasm": "application/wasm"}
    return known.get(Path(name).suffix, "application/octet-stream")


def get_pose(archive: str | None = None) -> Path:
    """Download the package with npm, or take it from a file that was downloaded elsewhere; check
    it, and keep it.
    """
    with tempfile.TemporaryDirectory() as work:
        path = _fetch(Path(work)) if archive is None else Path(archive)
        if not path.is_file():
            raise MissingDataError(f"{path}: no such file")
        found = base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()
        if found != INTEGRITY:
            raise DataError(
                f"{path.name}: not {PACKAGE} {VERSION}: expected SHA-512 {INTEGRITY}, got {found}"
            )
        return _unpack(path)


def _fetch(work: Path) -> Path:
    npm = shutil.which("npm")
    package = f"{PACKAGE}@{VERSION}"
    elsewhere = f"on a machine with npm, run 'npm pack {package}', then here '{COMMAND} FILE' with the file it makes"
    if npm is None:
        raise MissingDataError(
            f"npm is needed to download the pose package, but was not found; {elsewhere}"
        )
    done = subprocess.run([npm, "pack", package], cwd=work, capture_output=True, text=True)
    made = list(work.glob("*.tgz"))
    if done.returncode or len(made) != 1:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise MissingDataError(f"npm could not download {package} ({last}); {elsewhere}")
    return made[0]


def _unpack(archive: Path) -> Path:
    """Unpack only the files that are served, by name: the archive cannot choose where they go."""
    target = cache_folder()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as work:
        made = Path(work) / "pose"
        made.mkdir()
        with tarfile.open(archive, "r:gz") as tar:
            for name in FILES:
                member = tar.extractfile(f"package/{name}")
                if member is None:
                    raise DataError(f"{archive.name}: package/{name} is not a file")
                with member, (made / name).open("wb") as file:
                    shutil.copyfileobj(member, file)
        if target.exists():
            shutil.rmtree(target)
        made.rename(target)
    return target
