"""Model files: JSON and arrays in an uncompressed zip archive, with checksums. No pickle, no code.

::

    model.json         what the model is made of
    arrays/0000.npy    its numbers, little-endian, in the narrowest of float16, float32, float64 that is exact
    SHA256SUMS         of the members above, in the format of sha256sum

Everything in an archive is checked: sizes before memory is allocated, names, types, checksums, and that every number
is finite.
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
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from kerneton.exceptions import FormatError, MissingDataError, ModelFileError
from kerneton.files.output import replacing

FORMAT, VERSION = "kerneton model", 2
MAX_BYTES = 1 << 30
LARGEST = 1e12
_MAX_JSON = 1 << 24
_MAX_ARRAYS = 4096
_JSON, _SUMS = "model.json", "SHA256SUMS"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # archives know no earlier time; a real one would make every file differ
_DTYPES = (np.dtype("<f2"), np.dtype("<f4"), np.dtype("<f8"))


def write_archive(path: str | os.PathLike[str], header: Mapping[str, Any], arrays: list[np.ndarray]) -> None:
    """Write header and arrays, whole or not at all; the same content gives the same bytes.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "any.kern"
    >>> write_archive(file, {"format": FORMAT, "version": VERSION}, [np.ones(2)])
    >>> header, arrays = read_archive(file)
    >>> arrays
    [array([1., 1.], dtype=float16)]
    """
    text = json.dumps(dict(header), sort_keys=True, allow_nan=False)
    members = {_JSON: text.encode("utf-8")}
    members |= {_array_name(i): _npy(array) for i, array in enumerate(arrays)}
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in members.items())
    members[_SUMS] = sums.encode("ascii")
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name, _EPOCH)
            info.create_system, info.external_attr = 3, 0o644 << 16
            archive.writestr(info, data)


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
        refuse(path, f"a {'folder' if stat.S_ISDIR(mode) else 'device or a pipe'}, not a model file")
    with file:
        size = os.fstat(file.fileno()).st_size
        if size > max_bytes:
            refuse(path, f"{size} bytes, more than the {max_bytes} that are read; is it a model file?")
        try:
            with zipfile.ZipFile(file) as archive:
                members = _members(path, archive, size)
        except ModelFileError:
            raise
        except _BROKEN_ZIP as error:
            raise ModelFileError(f"{path}: not a model file, or damaged: {error}") from error
    _verify(path, members)
    header = _parse(path, members.pop(_JSON))
    _check_version(path, header)
    return header, [_array(path, name, data) for name, data in members.items()]


# What Python's zipfile is known to raise on files made to confuse it.
_BROKEN_ZIP = (
    *(zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, EOFError, OSError, struct.error),
    *(NotImplementedError, RuntimeError, ValueError, IndexError, KeyError, OverflowError, UnicodeError),
)


def refuse(path: Path, why: str) -> NoReturn:
    """Raise the one error that a bad file gives."""
    raise ModelFileError(f"{path}: {why}")


def _members(path: Path, archive: zipfile.ZipFile, size: int) -> dict[str, bytes]:
    """The members of the archive by name, checksums last; read only if all of them are harmless."""
    infos = archive.infolist()
    names = [info.filename for info in infos]
    expected = [_JSON, *(_array_name(i) for i in range(len(infos) - 2)), _SUMS]
    if len(infos) > _MAX_ARRAYS + 2 or names != expected:
        odd = next((n for n in names if n not in expected), names[-1] if names else "nothing")
        refuse(path, f"expected the members {_JSON}, arrays and {_SUMS}, found {odd[:80]!r}")
    for info in infos:
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 0x1:
            refuse(path, f"its member {info.filename} is compressed or encrypted; model files are neither")
        if info.file_size != info.compress_size or info.file_size > size:
            refuse(path, f"its member {info.filename} claims {info.file_size} bytes in a file of {size}")
    if sum(info.file_size for info in infos) > size or infos[0].file_size > _MAX_JSON:
        refuse(path, "its members claim more bytes than it has room for")
    return {info.filename: archive.read(info) for info in infos}


def _verify(path: Path, members: dict[str, bytes]) -> None:
    sums = members.pop(_SUMS)
    expected = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in members.items())
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
        header = json.loads(text, object_pairs_hook=unique, parse_float=finite, parse_constant=finite)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{path}: {_JSON} cannot be read: {error}") from error
    if not isinstance(header, dict):
        refuse(path, f"{_JSON} contains no JSON object")
    return header


def _check_version(path: Path, header: dict[str, Any]) -> None:
    version = header.get("version")
    if header.get("format") != FORMAT or type(version) is not int:
        refuse(path, "not a model file of Kerneton")
    if version > VERSION:
        upgrade = f"this Kerneton reads version {VERSION}: upgrade it (pip install --upgrade kerneton)"
        refuse(path, f"written in version {version} of the format, but {upgrade}")
    if version < VERSION:
        again = "by an older Kerneton: fit the model again on its recordings (kerneton fit) and save it"
        refuse(path, f"written in version {version} of the format, {again}")


def _array(path: Path, name: str, data: bytes) -> np.ndarray:
    try:
        from kerneton.files.readers._arrays import read_array

        array = read_array(io.BytesIO(data), len(data), f"{path}: {name}")
    except FormatError as error:
        raise ModelFileError(str(error)) from error
    if array.dtype not in _DTYPES:
        refuse(path, f"{name} is of type {array.dtype}; models contain floating-point numbers")
    if not np.isfinite(array).all():
        refuse(path, f"{name} contains NaN or infinity")
    if array.size and float(np.abs(array).max()) > LARGEST:
        refuse(path, f"{name} holds numbers beyond {LARGEST:g}, which is implausible for a model")
    return array


def _npy(array: np.ndarray) -> bytes:
    """An array in NumPy's format 1.0. Written here, since NumPy's padding of the header depends on its version."""
    array = _narrowed(np.ascontiguousarray(array))
    described = f"{{'descr': '{array.dtype.str}', 'fortran_order': False, 'shape': {array.shape}, }}"
    padded = described + " " * (-(len(described) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded.encode() + array.tobytes()


def _narrowed(array: np.ndarray) -> np.ndarray:
    """The same numbers in the narrowest type that holds them all, little-endian."""
    with np.errstate(all="ignore"):
        for dtype in _DTYPES[:-1]:
            if np.array_equal(array.astype(dtype), array):
                return array.astype(dtype)
    return array.astype(_DTYPES[-1])


def _array_name(number: int) -> str:
    return f"arrays/{number:04d}.npy"
