"""Trained models with date, data and figures: one folder each below ``__studio__/models``."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

from kerneton.exceptions import MissingDataError
from kerneton.files.output import write_text
from kerneton.studio import folders

_NAME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}_[0-9]{6}(_[0-9]+)?")


class Models:
    """The models of a folder; the newest is in use unless another was chosen.

    >>> import tempfile
    >>> Models(Path(tempfile.mkdtemp())).listing()
    []
    """

    def __init__(self, root: Path) -> None:
        self.home = root / folders.MODELS

    def listing(self) -> list[dict[str, Any]]:
        """Figures of every model, the newest first."""
        out = []
        for folder in sorted(self.home.glob("*"), reverse=True) if self.home.is_dir() else ():
            try:
                figures = json.loads((folder / "figures.json").read_text(encoding="utf-8"))
            except (OSError, ValueError):
                continue  # a training that was stopped
            if _NAME.fullmatch(folder.name) and (folder / "model.kern").exists():
                out.append({**figures, "name": folder.name})
        return out

    def path(self, name: str, file: str = "model.kern") -> Path:
        """A file of a model; the name is looked up, never trusted as a path."""
        if not _NAME.fullmatch(name) or not (self.home / name / file).is_file():
            raise MissingDataError(f"{name[:40]!r}: no such model, or it has no {file}")
        return self.home / name / file

    @property
    def present(self) -> str | None:
        """The name of the model in use, for suggestions and live labels."""
        with contextlib.suppress(OSError, MissingDataError):
            return self.path((self.home / "present.txt").read_text(encoding="utf-8").strip()).parent.name
        newest = self.listing()
        return newest[0]["name"] if newest else None

    def choose(self, name: str | None) -> None:
        """Use this model from now on; None always uses the newest."""
        if name is None:
            (self.home / "present.txt").unlink(missing_ok=True)
        else:
            self.path(name)
            write_text(self.home / "present.txt", name)

    def remove(self, name: str) -> None:
        """Move a model to the trash."""
        folder = self.path(name).parent
        trash = self.home.parent / "trash"
        trash.mkdir(parents=True, exist_ok=True)
        shutil.move(str(folder), str(trash / f"model {name}"))

    def figures(self) -> tuple[Path, dict[str, Any]]:
        """File and figures of the model in use."""
        name = self.present
        if name is None:
            raise MissingDataError("there is no model yet: train one")
        path = self.path(name, "figures.json")
        return path.with_name("model.kern"), json.loads(path.read_text(encoding="utf-8"))
