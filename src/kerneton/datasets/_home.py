"""Where published recordings lie, what to say when they do not, and how their tables of numbers are read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kerneton.exceptions import FormatError, MissingDataError

ENVIRONMENT = "KERNETON_DATA"
_SHOWN = 3  # missing files spelt out before "and N more"


@dataclass(frozen=True)
class Source:
    """A published data set: who gives it out, what to fetch, and where its files belong."""

    title: str
    publisher: str
    download: str
    folder: str  # inside the data home

    def locate(self, data_home: str | os.PathLike[str] | None, files: Iterable[str]) -> list[Path]:
        """Full paths of files given relative to the folder; one error names all that are absent."""
        home = find_home(data_home)
        files = list(files)
        if home is None:
            raise MissingDataError(
                f"{self.title}: no data home; pass data_home= or set {ENVIRONMENT}. "
                + self._advice(f"DATA_HOME/{self.folder}", files[0])
            )
        folder = home / self.folder
        if not folder.is_dir():
            raise MissingDataError(f"{self.title}: no folder {folder}. {self._advice(str(folder), files[0])}")
        absent = [name for name in files if not (folder / name).is_file()]
        if absent:
            shown = ", ".join(absent[:_SHOWN])
            more = f" and {len(absent) - _SHOWN} more" if len(absent) > _SHOWN else ""
            raise MissingDataError(
                f"{self.title}: {len(absent)} of {len(files)} files are not in {folder}: {shown}{more}. "
                + self._advice(str(folder), files[0])
            )
        return [folder / name for name in files]

    def _advice(self, folder: str, example: str) -> str:
        return (
            f"Download {self.download} from {self.publisher} and unpack it so that {folder}/{example} exists"
        )


def find_home(data_home: str | os.PathLike[str] | None = None) -> Path | None:
    """The data home: the argument, else the environment variable KERNETON_DATA, else None.

    >>> str(find_home("/data"))
    '/data'
    """
    chosen = data_home if data_home is not None else os.environ.get(ENVIRONMENT)
    return Path(chosen).expanduser() if chosen else None


def read_table(path: Path, n_columns: int) -> np.ndarray:
    """Numbers separated by blanks, (rows, n_columns) float64; blank lines are skipped.

    Numbers are converted in one C loop. Only when that fails is the file walked line by line, to say where.
    """
    if not path.read_bytes().strip():  # NumPy only warns of it
        raise FormatError(f"{path}: the file is empty")
    try:
        table = np.loadtxt(path, dtype=np.float64, comments=None, ndmin=2, encoding="utf-8")
    except ValueError:
        raise FormatError(f"{path}{_first_fault(path, n_columns)}") from None
    if table.shape[1] != n_columns:
        raise FormatError(f"{path}{_first_fault(path, n_columns)}")
    return table


def _first_fault(path: Path, n_columns: int) -> str:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        return ": not a text file"
    for number, line in enumerate(lines, start=1):
        words = line.split()
        for word in words:
            try:
                float(word)
            except ValueError:
                return f", line {number}: {word!r} is not a number"
        if words and len(words) != n_columns:
            return f", line {number}: expected {n_columns} numbers, got {len(words)}"
    return f": not a table of {n_columns} numbers per line"
