"""Zip archives with recordings of any other format, below folders or not.

`kerneton.load_folder` and the commands read an archive like the folder that was packed, with labels
and subjects from its tree. `kerneton.read` returns all recordings, which must be of one format.
"""

from __future__ import annotations

import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from kerneton.data.layouts import Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import FormatError, KernetonError, MissingDataError
from kerneton.files.readers import FORMATS
from kerneton.files.readers._packed import read_inside
from kerneton.files.readers._text import MAX_BYTES, check_regular
from kerneton.files.readers._values import file_budget

NAMES_JOINTS, TAKES = True, ("layout", "columns")
_MOST = 20_000  # files
_OTHERS = ("[Content_Types].xml", "mimetype", "model.json")  # spreadsheets, documents, models
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError, NotImplementedError)


def sniff(head: bytes, path: Path) -> bool:
    """Whether the file is an archive with recordings, by their names, of no document or model."""
    if not head.startswith(b"PK\x03\x04") or any(n.encode() in head[:512] for n in _OTHERS):
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            names = [info.filename for info in archive.infolist()]
    except (OSError, *_DAMAGED):
        return path.suffix.lower() == ".zip"  # damaged, which is reported
    usual = {suffix for form in FORMATS.values() for suffix in form.suffixes}
    return any(PurePosixPath(name).suffix.lower() in usual for name in names)


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """The folder that was packed, for as long as it is needed.

    Names that would lead out of it, hidden ones and links are left out; sizes are bounded.
    """
    check_regular(path)
    budget = file_budget(path)
    with tempfile.TemporaryDirectory() as place:
        root = Path(place, path.stem)
        root.mkdir()
        try:
            with zipfile.ZipFile(path) as archive:
                members = [info for info in archive.infolist() if _wanted(info)]
                if len(members) > _MOST:
                    raise FormatError(f"{path}: {len(members)} files; at most {_MOST} are read")
                size = sum(info.file_size for info in members)
                if size > MAX_BYTES:
                    raise FormatError(
                        f"{path}: unpacks to {size >> 20} MiB; at most {MAX_BYTES >> 20} are read"
                    )
                budget.take(size)
                for info in members:
                    target = root.joinpath(*PurePosixPath(info.filename).parts)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with archive.open(info) as packed, target.open("wb") as file:
                        file.write(packed.read(info.file_size + 1))
        except KernetonError:
            raise
        except OSError as error:
            raise MissingDataError(
                f"{path}: cannot be unpacked: {error.strerror or error}"
            ) from error
        except _DAMAGED as error:
            raise FormatError(f"{path}: damaged archive: {str(error)[:80]}") from error
        yield root


def _wanted(info: zipfile.ZipInfo) -> bool:
    parts = PurePosixPath(info.filename.replace("\\", "/")).parts
    link = (info.external_attr >> 16) & 0o170000 == 0o120000
    odd = not parts or any(
        p in ("..", "/") or p.startswith((".", "__")) or "\0" in p for p in parts
    )
    return not (odd or link or info.is_dir() or PurePosixPath(info.filename).is_absolute())


def read(
    path: Path,
    *,
    layout: Layout | None = None,
    columns: Sequence[str] | Mapping[str, str] | None = None,
) -> list[SkeletonSequence]:
    """All recordings of an archive, in the order of their names."""
    from kerneton.files.folder import check_listed, find_entries

    with unpacked(path) as root:
        ignored: list[Path] = []
        entries = list(find_entries(root, ignored=ignored))
        check_listed(path, entries, ignored)
        files = [entry.path for entry in entries]
        places = {file: f"{path}, {file.relative_to(root).as_posix()}" for file in files}
        return read_inside(places, layout=layout, columns=columns)
