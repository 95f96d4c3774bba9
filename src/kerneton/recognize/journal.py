"""Finished steps of a fit, kept in a folder, so that an interrupted fit resumes."""

from __future__ import annotations

import copy
import warnings
import zlib
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from kerneton.data.progress import silent
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import KernetonError, KernetonWarning
from kerneton.files.output import replacing, write_text
from kerneton.recognize.model_reader import load
from kerneton.recognize.storage import fit_key, locked


class Journal:
    """Results by name; without a folder, nothing is kept. What cannot be read is computed again,
    and a full disk is told once.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder

    def arrays(self, name: str, make: Callable[[], list[np.ndarray]]) -> list[np.ndarray]:
        """A list of arrays.

        >>> Journal().arrays("ones", lambda: [np.ones(2)])
        [array([1., 1.])]
        """
        if self.folder is None:
            return make()
        file = self.folder / f"{name}.npz"
        try:
            with np.load(file, allow_pickle=False) as kept:
                return [kept[f"part{i}"] for i in range(len(kept.files))]
        except (OSError, ValueError, KeyError, EOFError, BadZipFile, zlib.error):
            found = make()

        def write() -> None:
            with replacing(file) as new, open(new, "wb") as out:
                np.savez(out, **{f"part{i}": part for i, part in enumerate(found)})  # type: ignore[arg-type]

        self._write(write)
        return found

    def text(self, name: str, make: Callable[[], str]) -> str:
        """A short text."""
        if self.folder is None:
            return make()
        file = self.folder / f"{name}.txt"
        try:
            return file.read_text("utf-8")
        except (OSError, ValueError):
            found = make()
        self._write(lambda: write_text(file, found))
        return found

    def model(self, name: str, model: Any, fit: Callable[[Any], Any]) -> Any:
        """A fitted recogniser."""
        if self.folder is None:
            return fit(model)
        file = self.folder / f"{name}.kern"
        own = [type(v) for v in model.get_params().values() if hasattr(v, "get_params")]
        try:
            learned = load(file, classes=own).learned_
        except (OSError, KernetonError):
            fitted = fit(model)
            self._write(lambda: fitted.save(file))
            return fitted
        for branch in learned.branches.values():
            branch.run_on(n_jobs=model.n_jobs, device=model.device)
        return copy.copy(model).with_learned(learned)

    def _write(self, write: Callable[[], Any]) -> None:
        try:
            write()
        except (OSError, KernetonError) as error:
            warnings.warn(
                f"{self.folder}: {error}; learning goes on, but would begin again after an interrupt",
                KernetonWarning,
                stacklevel=3,
            )
            self.folder = None


def open_journal(
    scratch: Any,
    model: Any,
    recordings: Sequence[SkeletonSequence],
    options: str,
    until: ExitStack,
) -> Journal:
    """The journal of this fit inside the user's folder, locked until the fit ends."""
    if scratch is None:
        return Journal()
    told = np.array([*(repr(r.segments) for r in recordings), options])
    people = [str(r.subject) for r in recordings]
    key = fit_key(model, recordings, told, people, 0, silent)
    folder = Path(scratch) / f"spotting-{key}"
    folder.mkdir(parents=True, exist_ok=True)
    until.enter_context(locked(folder))
    return Journal(folder)
