"""Trained models with date, data and figures: one folder each below ``__studio__/models``."""

from __future__ import annotations

import contextlib
import json
import math
import re
from pathlib import Path
from typing import Any

from kerneton.exceptions import DataError, KernetonError, MissingDataError, ParameterError
from kerneton.studio import folders
from kerneton.studio.library import Library

_NAME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}_[0-9]{6}(_[0-9]+)?")


_PRESENT = f"{folders.MODELS}/present.txt"


class Models:
    """The models of a folder; the newest is in use unless another was chosen. Those of a stranger's
    folder wait until it is taken over.

    >>> import tempfile
    >>> Models(Library(Path(tempfile.mkdtemp()))).listing()
    []
    """

    def __init__(self, library: Library) -> None:
        self.library, self.place = library, library.place

    def listing(self) -> list[dict[str, Any]]:
        """Figures of every model, the newest first."""
        out: list[dict[str, Any]] = []
        try:
            names = self.place.names(folders.MODELS) if self.library.foreign is None else []
        except (KernetonError, OSError):  # a link, or the folder is gone
            return out
        for name in reversed(names):
            with contextlib.suppress(KernetonError, OSError):  # a training that was stopped
                self.path(name)
                out.append({**self._figures(name), "name": name, "title": self.title(name)})
        return out

    def path(self, name: str, file: str = "model.kern") -> Path:
        """A file of a model; the name is looked up, never trusted as a path, and links are not
        followed.
        """
        inside = f"{folders.MODELS}/{name}/{file}"
        known = self.library.foreign is None and _NAME.fullmatch(name)
        if not known or not self.place.is_file(inside):
            raise MissingDataError(f"{name[:40]!r}: no such model, or it has no {file}")
        return self.place.root / inside

    @property
    def present(self) -> str | None:
        """The name of the model in use, for suggestions and live labels."""
        with contextlib.suppress(KernetonError, OSError):
            chosen = (self.place.read(_PRESENT, 100) or b"").decode("utf-8", "replace").strip()
            return self.path(chosen).parent.name
        newest = self.listing()
        return newest[0]["name"] if newest else None

    def choose(self, name: str | None) -> None:
        """Use this model from now on; None always uses the newest."""
        self.library.check_ours()
        if name is None:
            self.place.remove(_PRESENT)
        else:
            self.path(name)
            self.place.write(_PRESENT, name.encode())

    def entitle(self, name: str, title: str) -> None:
        """Give a model a name of the user's own; an empty one removes it."""
        self.path(name)
        title = title.strip()
        if len(title) > folders.LONGEST or not title.isprintable():
            raise ParameterError(
                f"a model's name has at most {folders.LONGEST} characters, all of which can be seen"
            )
        path = f"{folders.MODELS}/{name}/title.txt"
        if title:
            self.place.write(path, title.encode())
        else:
            self.place.remove(path)

    def title(self, name: str) -> str:
        """The user's own name for a model; empty if it has none."""
        with contextlib.suppress(KernetonError, OSError, UnicodeError):
            found = (self.place.read(f"{folders.MODELS}/{name}/title.txt", 1000) or b"").decode()
            return found if found.isprintable() and len(found) <= folders.LONGEST else ""
        return ""

    def remove(self, name: str) -> None:
        """Move a model to the trash."""
        self.path(name)
        wanted = f"{folders.TRASH}/model {name}"
        self.place.move(f"{folders.MODELS}/{name}", folders.free_path(wanted, self.place.is_taken))

    def figures(self) -> tuple[Path, dict[str, Any]]:
        """File and figures of the model in use."""
        name = self.present
        if name is None:
            raise MissingDataError("there is no model yet: train one")
        return self.path(name), self._figures(name)

    def _figures(self, name: str) -> dict[str, Any]:
        """What the training wrote about a model; values that are used for more than being shown are
        checked.
        """
        data = self.place.read(f"{folders.MODELS}/{name}/figures.json", 1 << 26)
        try:
            found = json.loads(data or b"")
        except (ValueError, RecursionError) as error:
            raise DataError(f"{name}: figures.json is not JSON") from error
        labels = found.get("labels") if isinstance(found, dict) else None
        if not isinstance(labels, dict) or not all(type(n) is int for n in labels.values()):
            raise DataError(f"{name}: figures.json has no labels")
        for key, unset in (("frames", 30), ("fps", 30.0)):
            value = found.get(key)
            good = isinstance(value, (int, float)) and math.isfinite(value) and 0 < value < 1e6
            found[key] = value if good else unset
        return {**found, "date": str(found.get("date", "")), "recordings": sum(labels.values())}
