"""Reading archives of models from untrusted sources: JSON and arrays in an uncompressed zip file,
with checksums.

Everything is checked: sizes before memory is allocated, names, types, checksums, and that all
numbers are finite.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import stat
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from kerneton.exceptions import FormatError, MissingDataError, ModelFileError
from kerneton.recognize.model_file import DESCRIPTION, DTYPES, FORMAT, SUMS, VERSION, array_name

MAX_BYTES = 1 << 30
LARGEST = 1e12
_MAX_JSON = 1 << 24
_MAX_ARRAYS = 4096


def read_archive(
    path: str | os.PathLike[str], max_bytes: int = MAX_BYTES
) -> tuple[dict[str, Any], list[np.ndarray]]:
    """Header and arrays of a valid file; `ModelFileError` otherwise."""
    path = Path(path)
    try:
        mode = path.stat().st_mode
        file = path.open("rb") if stat.S_ISREG(mode) else None
    except FileNotFoundError as error:
        raise MissingDataError(f"{path}: no such file") from error
    except (OSError, ValueError) as error:  # an impossible name, or a file that may not be read
        raise MissingDataError(f"{str(path)[:200]!r}: cannot be opened: {error}") from error
    if file is None:
        refuse(
            path, f"a {'folder' if stat.S_ISDIR(mode) else 'device or a pipe'}, not a model file"
        )
    with file:
        size = os.fstat(file.fileno()).st_size
        if size > max_bytes:
            refuse(
                path, f"{size} bytes, more than the {max_bytes} that are read; is it a model file?"
            )
        try:
            with zipfile.ZipFile(file) as archive:
                members = _members(path, archive, size)
        except ModelFileError:
            raise
        except _BROKEN_ZIP as error:
            raise ModelFileError(f"{path}: not a model file, or damaged: {error}") from error
    _verify(path, members)
    header = _parse(path, members.pop(DESCRIPTION))
    _check_version(path, header)
    return header, [_array(path, name, data) for name, data in members.items()]


# Errors that Python's zipfile is known to raise on malicious files.
_BROKEN_ZIP = (
    *(zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, EOFError, OSError, struct.error),
    *(
        NotImplementedError,
        RuntimeError,
        ValueError,
        IndexError,
        KeyError,
        OverflowError,
        UnicodeError,
    ),
)


def refuse(path: Path, why: str) -> NoReturn:
    """Raise the error of a bad file."""
    raise ModelFileError(f"{path}: {why}")


def _members(path: Path, archive: zipfile.ZipFile, size: int) -> dict[str, bytes]:
    """The members of the archive by name, checksums last; they are read only if all are
    harmless.
    """
    infos = archive.infolist()
    names = [info.filename for info in infos]
    expected = [DESCRIPTION, *(array_name(i) for i in range(len(infos) - 2)), SUMS]
    if len(infos) > _MAX_ARRAYS + 2 or names != expected:
        odd = next((n for n in names if n not in expected), names[-1] if names else "nothing")
        refuse(path, f"expected the members {DESCRIPTION}, arrays and {SUMS}, found {odd[:80]!r}")
    for info in infos:
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 0x1:
            refuse(
                path,
                f"its member {info.filename} is compressed or encrypted; model files are neither",
            )
        if info.file_size != info.compress_size or info.file_size > size:
            refuse(
                path,
                f"its member {info.filename} claims {info.file_size} bytes in a file of {size}",
            )
    if sum(info.file_size for info in infos) > size or infos[0].file_size > _MAX_JSON:
        refuse(path, "its members claim more bytes than it has room for")
    return {info.filename: archive.read(info) for info in infos}


def _verify(path: Path, members: dict[str, bytes]) -> None:
    sums = members.pop(SUMS)
    expected = "".join(
        f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in members.items()
    )
    if sums != expected.encode("ascii"):
        refuse(path, "damaged: its content does not match its checksums; copy or download it again")


def _parse(path: Path, data: bytes) -> dict[str, Any]:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) < len(pairs):
            raise ValueError("a name occurs twice")
        return dict(pairs)

    def finite(word: str) -> float:
        value = float(word)
        if not math.isfinite(value):
            raise ValueError(f"{word} is not a finite number")
        return value

    try:
        text = data.decode("utf-8")
        header = json.loads(
            text, object_pairs_hook=unique, parse_float=finite, parse_constant=finite
        )
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{path}: {DESCRIPTION} cannot be read: {error}") from error
    if not isinstance(header, dict):
        refuse(path, f"{DESCRIPTION} contains no JSON object")
    return header


def _check_version(path: Path, header: dict[str, Any]) -> None:
    version = header.get("version")
    if header.get("format") != FORMAT or type(version) is not int:
        refuse(path, "not a model file of Kerneton")
    if version > VERSION:
        upgrade = (
            f"this Kerneton reads version {VERSION}: upgrade it (pip install --upgrade kerneton)"
        )
        refuse(path, f"written in version {version} of the format, but {upgrade}")
    if version < VERSION:
        again = (
            "by an older Kerneton: fit the model again on its recordings (kerneton fit) and save it"
        )
        refuse(path, f"written in version {version} of the format, {again}")


def _array(path: Path, name: str, data: bytes) -> np.ndarray:
    try:
        from kerneton.files.readers._arrays import read_array

        array = read_array(io.BytesIO(data), len(data), f"{path}: {name}")
    except FormatError as error:
        raise ModelFileError(str(error)) from error
    if array.dtype not in DTYPES:
        refuse(path, f"{name} is of type {array.dtype}; models contain floating-point numbers")
    if not np.isfinite(array).all():
        refuse(path, f"{name} contains NaN or infinity")
    if array.size and float(np.abs(array).max()) > LARGEST:
        refuse(path, f"{name} holds numbers beyond {LARGEST:g}, which is implausible for a model")
    return array


def model_info(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The description in a model file, without loading the model: labels, layout, training
    recordings, versions.

    >>> import tempfile
    >>> from kerneton import make_actions, make_recognizer, save
    >>> data = make_actions(["wave", "bow"], n_subjects=2, n_takes=1)
    >>> file = save(
    ...     make_recognizer(kernel="sck").fit(data, data.labels),
    ...     Path(tempfile.mkdtemp()) / "two.kern",
    ... )
    >>> model_info(file)["labels"]
    ['bow', 'wave']
    """
    path = Path(path)
    header, arrays = read_archive(path)
    check_facts(path, header)
    labels, layouts = header.get("labels"), header.get("layouts")
    if (
        not isinstance(layouts, list)
        or not isinstance(labels, list)
        or not all(isinstance(x, str) for x in [*labels, *(header.get("spots") or [])])
    ):
        refuse(path, "its layouts and labels are missing")
    return {
        "labels": labels,
        "layouts": [layout.get("name") for layout in layouts if isinstance(layout, dict)],
        "training": header.get("training"),
        "spots": header.get("spots") or [],
        "written_by": header.get("written_by"),
        "version": header["version"],
        "bytes": path.stat().st_size,
        "numbers": int(sum(array.size for array in arrays)),
    }


def check_facts(path: Path, header: dict[str, Any]) -> None:
    """Facts about the training are shown to people, so they must have the form that `save` writes,
    with printable text.
    """

    def table(value: Any, kind: Any) -> bool:
        return isinstance(value, dict) and all(type(v) in kind for v in value.values())

    told, made = header.get("training"), header.get("written_by")
    sound = (made is None or table(made, (str,))) and isinstance(header.get("spots", []), list)
    if told is not None:
        sound = sound and isinstance(told, dict) and type(told.get("recordings")) is int
        sound = sound and all(type(told.get(name)) is str for name in ("name", "date"))
        sound = sound and all(table(told.get(name), (int,)) for name in ("labels", "subjects"))
        sound = sound and table(told.get("frames"), (int, float))
    try:
        json.dumps(
            [told, made, *(header.get(k) for k in ("labels", "layouts", "spots"))],
            ensure_ascii=False,
        ).encode()
    except UnicodeEncodeError:
        sound = False
    if not sound:
        refuse(path, "its description of the training or of the writing program is invalid")
