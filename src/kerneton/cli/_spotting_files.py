"""Spotting in many files: one after the other or on several cores, each in memory only while it is
searched, and resumable.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pickle
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kerneton.cli._options import progress_of
from kerneton.cli._recordings import load_model, read_recordings
from kerneton.data.progress import silent
from kerneton.exceptions import DataError, KernetonError, KernetonWarning

if TYPE_CHECKING:
    from kerneton.data.sequence import SkeletonSequence
    from kerneton.recognize.recognizer import Recognizer
    from kerneton.stream.detection import Detection

Rows = list[dict[str, Any]]
_PRINTED = {"command_line", "eaf", "html", "output", "suggest", "version"}
_RUNTIME = {
    "run",
    "parser",
    "files",
    "quiet",
    "json",
    "csv",
    "scratch",
    "jobs",
    "progress",
} | _PRINTED


def rows_of_files(args: argparse.Namespace, files: list[Path]) -> tuple[Rows, int]:
    """What is found in all files, in their order, and how many of them were known from an earlier
    run with the same ``--scratch``.
    """
    kept = Kept(args)
    done = {file: rows for file in files if (rows := kept.load(file)) is not None}
    rest = [file for file in files if file not in done]
    errors = []
    progress = progress_of(args) or silent
    for file, rows, told, error in progress(
        _searched(args, rest), total=len(rest), desc="spotting"
    ):
        for text in told:
            warnings.warn(text, KernetonWarning, stacklevel=2)
        if error is not None:
            errors.append(error)
            continue
        kept.store(file, rows)
        done[file] = rows
    if errors and not args.skip_broken:
        unique = list(dict.fromkeys(errors))
        more = f"; and {len(unique) - 5} more" if len(unique) > 5 else ""
        resume = ": what is found in the others is kept there" if args.scratch else ""
        raise DataError(
            f"{len(errors)} of {len(files)} files could not be searched{resume}: "
            f"{'; '.join(unique[:5])}{more}"
        )
    for error in errors:
        warnings.warn(f"left out: {error}", KernetonWarning, stacklevel=2)
    return [row for file in files for row in done.get(file, [])], len(files) - len(rest)


def found_rows(model: Recognizer, file: str, recording: SkeletonSequence, in_order: bool) -> Rows:
    """The detections in a recording as plain data, with the contributions of joints."""
    return detection_rows(model, file, recording, model.spot(recording, in_order=in_order))


def detection_rows(
    model: Recognizer, file: str, recording: SkeletonSequence, found: list[Detection]
) -> Rows:
    """Detections as plain data; with the intercept, contributions of joints sum to the decision."""
    from kerneton.stream.spotter import held

    whole = held(model, recording)  # once, not up to every detection
    rows = []
    for d in found:
        why = model.explain(whole.cut(d.start, d.stop), replace(d, start=0, stop=d.n_frames))
        row: dict[str, Any] = {
            "file": file,
            "recording": recording.name,
            "label": d.label,
            "start": d.start,
            "stop": d.stop,
        }
        fps = recording.fps
        row["start_s"], row["stop_s"] = (None, None) if fps is None else d.seconds(fps)
        row |= {"probability": d.probability, "decision": d.decision}
        rows.append(row | {"reason": {"intercept": why.intercept, "joints": why.joints}})
    return rows


class Kept:
    """What was found in each file, in the folder of ``--scratch``; where a file, the model or an
    option has changed, it is searched again.
    """

    def __init__(self, args: argparse.Namespace) -> None:
        self.folder = None if args.scratch is None else Path(args.scratch)
        if self.folder is None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        told = hashlib.blake2b(Path(args.model).read_bytes(), digest_size=16)
        plain = {k: repr(v) for k, v in vars(args).items() if k not in _RUNTIME}
        told.update(json.dumps(plain, sort_keys=True).encode())
        self._run = told.hexdigest()

    def load(self, file: Path) -> Rows | None:
        """The rows of a file, None if it must be searched."""
        if self.folder is None:
            return None
        try:
            rows = json.loads(self._place(file).read_text("utf-8"))
        except (OSError, ValueError):
            return None
        return rows if isinstance(rows, list) else None

    def store(self, file: Path, rows: Rows) -> None:
        """Keep the rows of a file; a disk that is full is told once, and the search goes on."""
        from kerneton.files.output import write_text

        if self.folder is None:
            return
        try:
            write_text(self._place(file), json.dumps(rows))
        except (OSError, KernetonError) as error:
            warnings.warn(
                f"{self.folder}: {error}; the search goes on, but would begin again after an interrupt",
                KernetonWarning,
                stacklevel=3,
            )
            self.folder = None

    def _place(self, file: Path) -> Path:
        assert self.folder is not None
        known = [self._run, os.path.abspath(file)]
        with suppress(OSError):
            facts = file.stat()
            known += [str(facts.st_size), str(facts.st_mtime_ns)]
        name = hashlib.blake2b("\n".join(known).encode(), digest_size=16).hexdigest()
        return self.folder / f"found-{name}.json"


_Result = tuple[Path, Rows, list[str], str | None]


def _searched(args: argparse.Namespace, files: list[Path]) -> Iterator[_Result]:
    """What is found in each file, with warnings, or an error; on several cores in any order."""
    jobs = min(args.jobs or os.cpu_count() or 1, len(files))
    plain = _picklable(args)
    if jobs < 2:
        _start(plain)
        yield from map(_search, files)
        return
    with ProcessPoolExecutor(jobs, get_context("spawn"), _start, (plain,)) as pool:
        try:
            # few at a time, so that an interrupt ends soon
            waiting = iter(files)
            running = {
                pool.submit(_search, file)
                for _, file in zip(range(2 * jobs), waiting, strict=False)
            }
            while running:
                finished = next(as_completed(running))
                running.discard(finished)
                running |= {
                    pool.submit(_search, file) for _, file in zip(range(1), waiting, strict=False)
                }
                yield finished.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _picklable(args: argparse.Namespace) -> argparse.Namespace:
    """The options for another process."""
    plain = {}
    for name, value in vars(args).items():
        if name not in ("run", "parser"):
            with suppress(pickle.PicklingError, AttributeError, TypeError):
                pickle.dumps(value)
                plain[name] = value
    return argparse.Namespace(
        **plain | {"parser": argparse.Namespace(prog=args.parser.prog), "quiet": True}
    )


_of_process: dict[str, Any] = {}  # the options and the model of a process that searches


def _start(args: argparse.Namespace) -> None:
    _of_process["args"], _of_process["model"] = args, load_model(args.model, args)


def _search(file: Path) -> _Result:
    from kerneton.parallel.threads import one_blas_thread

    args, model = _of_process["args"], _of_process["model"]
    rows: Rows = []
    with warnings.catch_warnings(record=True) as told, one_blas_thread():
        warnings.simplefilter("always", KernetonWarning)
        try:
            for name, recording in read_recordings([str(file)], args, model):
                rows += found_rows(model, name, recording, args.in_order)
            error = None
        except (KernetonError, OSError) as problem:
            error = str(problem)
        except MemoryError:
            error = f"{file}: too large for the memory"
    texts = [str(w.message) for w in told if issubclass(w.category, KernetonWarning)]
    return file, rows, texts, error
