"""Gzip: a file of any other format that was packed, such as ``take.csv.gz`` or ``take.json.gz``."""

from __future__ import annotations

import gzip
import tempfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from kerneton.data.layouts import Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import FormatError, KernetonError
from kerneton.files.readers import HEAD, PACKED, format_of
from kerneton.files.readers._packed import read_inside
from kerneton.files.readers._text import MAX_BYTES, check_regular
from kerneton.files.readers._values import file_budget

NAMES_JOINTS, TAKES = True, ("layout", "columns")
_BLOCK = 1 << 20


def sniff(head: bytes, path: Path) -> bool:
    """Whether what is packed begins like a file of another format."""
    if not head.startswith(b"\x1f\x8b"):
        return False
    try:
        inner = zlib.decompressobj(31).decompress(head, HEAD)
    except zlib.error:
        return path.suffix.lower() == ".gz"  # damaged, which is reported
    return format_of(inner, _inner_name(path), but=PACKED) is not None


def _inner_name(path: Path) -> Path:
    return path.with_suffix("") if path.suffix.lower() in (".gz", ".gzip") else path


def read(
    path: Path,
    *,
    layout: Layout | None = None,
    columns: Sequence[str] | Mapping[str, str] | None = None,
) -> list[SkeletonSequence]:
    """The recordings of the packed file."""
    check_regular(path)
    room = min(file_budget(path).total, MAX_BYTES)
    with tempfile.TemporaryDirectory() as folder:
        inner = Path(folder, _inner_name(path).name)
        try:
            with gzip.open(path) as packed, inner.open("wb") as file:
                while block := packed.read(_BLOCK):
                    room -= len(block)
                    if room < 0:
                        raise FormatError(
                            f"{path}: unpacks to more memory than such a file may need"
                        )
                    file.write(block)
        except KernetonError:
            raise
        except (OSError, EOFError, zlib.error) as error:
            raise FormatError(f"{path}: damaged: {str(error)[:80]}") from error
        return read_inside({inner: str(path)}, layout=layout, columns=columns)
