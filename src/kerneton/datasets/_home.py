"""The folders of published data sets, and the error when files are missing."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kerneton.exceptions import MissingDataError

ENVIRONMENT = "KERNETON_DATA"
_SHOWN = 3  # missing files that are named


@dataclass(frozen=True)
class Source:
    """A published data set: its publisher, what to download, and where its files belong."""

    title: str
    publisher: str
    download: str
    folder: str  # inside the data home

    def locate(self, data_home: str | os.PathLike[str] | None, files: Iterable[str]) -> list[Path]:
        """Full paths of files given relative to the folder; one error names all that are absent."""
        home = find_home(data_home)
        files = list(files)
        folder = (home or Path("DATA_HOME")) / self.folder
        absent = [name for name in files if not (folder / name).is_file()]
        if home is not None and not absent:
            return [folder / name for name in files]
        if home is None:
            problem = f"the folder of published data sets is not known; give data_home= or set {ENVIRONMENT}"
        elif not folder.is_dir():
            problem = f"no folder {folder}"
        else:
            more = f" and {len(absent) - _SHOWN} more" if len(absent) > _SHOWN else ""
            shown = ", ".join(absent[:_SHOWN]) + more
            problem = f"{len(absent)} of {len(files)} files are not in {folder}: {shown}"
        raise MissingDataError(
            f"{self.title}: {problem}. Download {self.download} from {self.publisher} "
            f"and unpack it so that {folder}/{files[0]} exists"
        )


def find_home(data_home: str | os.PathLike[str] | None = None) -> Path | None:
    """The data home: the argument, else the environment variable KERNETON_DATA, else None."""
    chosen = data_home if data_home is not None else os.environ.get(ENVIRONMENT)
    return Path(chosen).expanduser() if chosen else None
