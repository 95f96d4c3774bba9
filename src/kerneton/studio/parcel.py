"""A folder with its models as one file to send, and such a file opened again.

The file is a zip archive from a stranger: what it holds is unpacked into a new folder, within
bounds, never outside of it and never as a link; the studio then shows that folder without changing
it until it is taken over (see `kerneton.studio.origin`).
"""

from __future__ import annotations

import contextlib
import shutil
import stat
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from kerneton.exceptions import DataError, FormatError, MissingDataError
from kerneton.files.readers import segment_file_of
from kerneton.files.segments import FOLDER_TABLE
from kerneton.studio import folders
from kerneton.studio.index import INDEX
from kerneton.studio.journal import EDITS
from kerneton.studio.library import Library
from kerneton.studio.place import Place, parts_of

_MOST_FILES = 200_000
_MOST_BYTES = 8 << 30  # of all files of an archive, unpacked
_DEEPEST = 12
_CHUNK = 1 << 20
_MODEL = ("model.kern", "report.html", "figures.json", "title.txt")
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, ValueError)


def pack(library: Library, path: Path) -> None:
    """Write recordings, notes, segments and models of a folder into a zip archive.

    What was removed, the history of changes and the originals of files that were split stay here.
    """
    library.check_ours()
    library.journal.sync()
    with library.lock:
        names = sorted(_contents(library))
    if not any(not name.startswith(f"{folders.STUDIO}/models") for name in names):
        raise DataError("there are no recordings to send")
    top = folders.safe_name(library.root.name) or "recordings"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            with (
                contextlib.suppress(FileNotFoundError),
                library.place.reading(name) as source,
                archive.open(f"{top}/{name}", "w", force_zip64=True) as target,
            ):
                shutil.copyfileobj(source, target, _CHUNK)


def _contents(library: Library) -> Iterator[str]:
    """Paths of all files that belong to a parcel."""
    root, place = library.root, library.place
    found = {record.path for record in library.records.values()}
    found |= {path for path in library.broken if place.is_file(path)}
    for path in list(found):
        for beside in (segment_file_of(root / path), (root / path).with_name(FOLDER_TABLE)):
            if beside is not None and beside.is_file() and folders.is_inside(root, beside):
                found.add(beside.relative_to(root).as_posix())
    yield from found
    yield from (name for name in (INDEX, EDITS) if place.is_file(name) and name not in found)
    for model in place.names(folders.MODELS):
        home = f"{folders.MODELS}/{model}"
        for name in _MODEL if place.is_folder(home) else ():
            if place.is_file(f"{home}/{name}"):
                yield f"{home}/{name}"


def unpack(path: Path, into: Path) -> Path:
    """Unpack such a file into a new folder below another, and return it."""
    if not path.is_file():
        raise MissingDataError(f"{path}: no such file")
    try:
        with zipfile.ZipFile(path) as archive:
            members = _checked(archive, path)
            name = folders.safe_name(path.stem) or "recordings"
            target = into / folders.free_path(name, lambda wanted: (into / wanted).exists())
            target.mkdir(parents=True)
            place = Place(target)
            try:
                _write(archive, members, place, path)
            except BaseException:
                shutil.rmtree(target, ignore_errors=True)
                raise
    except _DAMAGED as error:
        raise FormatError(f"{path}: not a whole zip archive: {error}") from error
    return target


def _checked(archive: zipfile.ZipFile, path: Path) -> dict[str, zipfile.ZipInfo]:
    """The files of an archive by their path in the new folder; a single folder around all is left
    out.
    """
    files = [info for info in archive.infolist() if not info.is_dir()]
    if len(files) > _MOST_FILES:
        raise FormatError(f"{path}: {len(files)} files; at most {_MOST_FILES} are unpacked")
    if sum(info.file_size for info in files) > _MOST_BYTES:
        raise FormatError(f"{path}: more than {_MOST_BYTES >> 30} GiB when unpacked")
    found: dict[str, zipfile.ZipInfo] = {}
    parts: dict[str, tuple[str, ...]] = {}
    for info in files:
        if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG):
            raise FormatError(f"{path}: {info.filename[:80]!r} is a link or a device, not a file")
        if info.flag_bits & 1:
            raise FormatError(f"{path}: it is encrypted")
        try:
            parts[info.filename] = parts_of(info.filename)
        except DataError as error:
            raise FormatError(f"{path}: {error}") from error
        if len(parts[info.filename]) > _DEEPEST:
            raise FormatError(f"{path}: more than {_DEEPEST} folders inside each other")
    tops = {some[0] for some in parts.values()}
    wrapped = len(tops) == 1 and all(len(some) > 1 for some in parts.values())
    if wrapped and tops != {folders.STUDIO}:
        parts = {name: some[1:] for name, some in parts.items()}
    for info in files:
        inside = "/".join(parts[info.filename])
        if inside in found:
            raise FormatError(f"{path}: {inside[:80]!r} is in it twice")
        if _belongs(inside):
            found[inside] = info
    if not found:
        raise FormatError(f"{path}: no recordings of the studio in it")
    return found


def _belongs(inside: str) -> bool:
    """Whether a file is one that a parcel can have; others are left in the archive."""
    below = PurePosixPath(inside).parts
    if inside.startswith(f"{folders.MODELS}/"):
        return len(below) == 4 and below[-1] in _MODEL
    return inside == EDITS or folders.is_listed(inside)


def _write(
    archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo], place: Place, path: Path
) -> None:
    left = _MOST_BYTES  # counted: the sizes that an archive states may be wrong
    for inside, info in members.items():
        with archive.open(info) as source, place.writing(inside) as target:
            while chunk := source.read(_CHUNK):
                left -= len(chunk)
                if left < 0:
                    raise FormatError(f"{path}: more than {_MOST_BYTES >> 30} GiB when unpacked")
                target.write(chunk)
