"""Recordings from files and folders named on the command line."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kerneton.cli import printable
from kerneton.cli._options import add_reading, hinting, progress_of, reading_options, tell_conversion
from kerneton.exceptions import DataError, KernetonError, ModelFileError, ParameterError

if TYPE_CHECKING:
    from kerneton.data.layout import Layout
    from kerneton.data.sequence import SkeletonSequence
    from kerneton.files.readers import Content, ReadAll
    from kerneton.recognize.recognizer import Recognizer


def add_reading_options(parser: argparse.ArgumentParser) -> None:
    """Options for reading files; `read_recordings` applies them."""
    add_reading(parser.add_argument_group("recordings"))


def load_model(path: str, args: argparse.Namespace) -> Recognizer:
    """Load a model; the error says so if the file is a recording."""
    from kerneton.files.readers import detect_format
    from kerneton.recognize.model_reader import load

    try:
        return load(path)
    except ModelFileError as error:
        if Path(path).suffix == ".kern" or not (Path(path).is_dir() or detect_format(path)):
            raise
        what = "a folder" if Path(path).is_dir() else "a recording"
        usage = f"{args.parser.prog} MODEL" + " RECORDING" * ("file" in args or "files" in args)
        raise ParameterError(f"{path}: {what}, not a model; the model comes first: {usage}") from error


def read_recordings(
    paths: Sequence[str],
    args: argparse.Namespace,
    model: Recognizer | None = None,
    read_all: ReadAll | None = None,
) -> list[tuple[str, SkeletonSequence]]:
    """Every recording in the files and folders, with its path; all broken files are reported in one error.

    How files are read and axes, where not given, are those of the recordings that ``model`` was trained on, with warnings where recordings differ from
    these; ``read_all`` may read on a cluster.
    """
    from kerneton.data.sequence import UNIT_WORDS
    from kerneton.data.units import settle
    from kerneton.data.validation import grouped, many
    from kerneton.files.folder import check_renamed, distinct, file_problem, with_warnings_grouped
    from kerneton.files.readers import read_all_here, read_content
    from kerneton.recognize.sensors import differences, kept_conventions

    named = [file for path in paths for file in _files(Path(path))]
    files = [named[i] for i in distinct(named)]
    remembered = _remembered(args, model)
    plain, options = _file_options(args), _file_options(remembered or args)
    axes = {name: getattr(args, name) for name in ("unit", "up", "flip")}
    with_model = 0
    found, broken, met = [], [], set[str]()
    contents: Iterable[Content] = with_warnings_grouped((read_all or read_all_here)(files, options), files)
    if (progress := progress_of(args)) is not None:
        contents = progress(contents, total=len(files), desc="reading")
    for file, content in zip(files, contents, strict=True):
        if remembered is not None:
            # A file of another kind needs no such options. One that names its joints shows left and right by nose and toes,
            # which the layout may lack.
            unneeded = content.error is not None or _names_joints(content, remembered, args)
            other = read_content(file, plain) if unneeded else content
            names_all = all(s.layout is not None for s in other.recordings)
            if unneeded and other.error is None and (names_all or content.error is not None):
                content = other
            else:
                with_model += content.error is None
        met |= content.met
        if content.error is not None:
            if len(files) == 1:
                raise content.error
            broken.append(file_problem(file, content.error))
            continue
        found += [(file, content.facts, s) for s in content.recordings]
    if broken:
        message = f"{len(broken)} of {many(len(files), 'file')} cannot be read: {grouped(broken)}"
        if not args.skip_broken or not found:
            with hinting(args):
                raise DataError(message)
        warnings.warn(message, stacklevel=2)
    check_renamed(plain["rename"] or {}, met, [s for *_, s in found])
    if with_model and not args.quiet:
        told = printable(_spelt(remembered, args), sys.stderr)  # text of the model file
        print(f"kerneton: note: read with {told}, as in training", file=sys.stderr)
    kept = kept_conventions(model_facts(model))
    sequences, conversion = settle([(*facts, s) for _, facts, s in found], **axes, kept=kept)
    tell_conversion(conversion, args)
    for kind in (conversion, *conversion.others):
        if kept is None or kept.stated or kind.stated or args.unit:
            continue
        if kind.unit not in (None, kept.unit or "m"):
            who = f"{kind.count} of {len(sequences)} recordings" if conversion.others else "recordings"
            units = f"{UNIT_WORDS[kind.unit]}, those of training were in {UNIT_WORDS[kept.unit or 'm']}"
            warnings.warn(f"{who} are in {units}; all became metres (override with --unit)", stacklevel=2)
    if model is not None:
        _warn_misspelt(model, sequences)
    for difference in differences(model_facts(model), sequences, conversion):
        warnings.warn(difference, stacklevel=2)
    names = telling_names([file for file, *_ in found], [s.name for s in sequences])
    return [
        (str(file), s.replace(name=name)) for (file, *_), s, name in zip(found, sequences, names, strict=True)
    ]


def telling_names(files: Sequence[Path], names: Sequence[str]) -> list[str]:
    """Names of recordings that are called alike in different files, with as many of their folders as tell them apart.

    >>> telling_names([Path("wave/1/take.csv"), Path("bow/1/take.csv"), Path("bow/nod.csv")], ["take", "take", "nod"])
    ['wave/1/take', 'bow/1/take', 'nod']
    """
    alike: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        alike.setdefault(name, []).append(i)
    told = list(names)
    for name, members in alike.items():
        folders = {i: files[i].parent.parts for i in members}
        for depth in range(1, 1 + max(map(len, folders.values()))):
            if len({told[i] for i in members}) == len({files[i] for i in members}):
                break
            for i, parts in folders.items():
                told[i] = "/".join([*parts[-depth:], name])
    return told


def _file_options(args: argparse.Namespace) -> dict[str, Any]:
    """How each file is read, without unit and axes, which all files decide together."""
    from kerneton.files.readers import named_layout

    options = {name: v for name, v in reading_options(args).items() if name not in ("unit", "up", "flip")}
    return options | {"layout": named_layout(options["layout"])}


def _remembered(args: argparse.Namespace, model: Recognizer | None) -> argparse.Namespace | None:
    """The options with those that the training files were read with, where the user gives none; None if that adds nothing."""
    stored = model_facts(model).get("reading")
    kinds = {"layout": str, "columns": str, "rename": list}
    missing = {
        name: value
        for name, kind in kinds.items()
        if isinstance(stored, dict)
        and isinstance(value := stored.get(name), kind)
        and not getattr(args, name)
    }
    if not missing or not all(isinstance(pair, str) for pair in missing.get("rename") or ()):
        return None
    return argparse.Namespace(**{**vars(args), **missing})


def _names_joints(content: Content, remembered: argparse.Namespace, args: argparse.Namespace) -> bool:
    """Whether a file was read with the layout of the training although its format can name joints."""
    from kerneton.files.readers import reader

    only_layout = all(getattr(remembered, name) == getattr(args, name) for name in ("columns", "rename"))
    return only_layout and bool(getattr(reader(content.facts[0]), "NAMES_JOINTS", False))


def _spelt(remembered: argparse.Namespace | None, args: argparse.Namespace) -> str:
    told = []
    for name in ("layout", "columns", "rename"):
        if (value := getattr(remembered, name)) != getattr(args, name):
            told += [f"--{name} {v}" for v in ([value] if isinstance(value, str) else value)]
    return " ".join(told)


def _warn_misspelt(model: Recognizer, sequences: Sequence[SkeletonSequence]) -> None:
    """Warn of joints that are named nearly like those of the model, which would be replaced by their neighbours."""
    from kerneton.data.differences import layout_difference
    from kerneton.data.validation import describe, grouped, many

    if model.layout_ is None:
        return
    odd = []
    for i, sequence in enumerate(sequences):
        difference = (
            layout_difference(sequence.layout, model.layout_) if sequence.layout is not None else None
        )
        if difference is not None and "misspelt" in difference and _replaced(sequence, model):
            odd.append((describe(sequence, i), difference))
    if odd:
        count = f"{len(odd)} of {many(len(sequences), 'recording')}"
        warnings.warn(f"{count}: {grouped(odd)}; --rename OLD=NEW corrects a name", stacklevel=3)


def warn_misspelt_side(layout: Layout | None) -> None:
    """Warn of a joint without a partner on the other side, if one with a similar name is there."""
    from kerneton.data.differences import misspelt_side

    if layout is not None and (told := misspelt_side(layout)) is not None:
        warnings.warn(f"{told} --rename OLD=NEW corrects a name", stacklevel=2)


def _replaced(sequence: SkeletonSequence, model: Recognizer) -> bool:
    """Whether every joint of the model has a substitute; otherwise another error says so."""
    from kerneton.data.mapping import source_joints

    known, wanted = sequence.layout, model.layout_
    return known is not None and wanted is not None and all(source_joints(known, wanted))


def usable(
    found: list[tuple[str, SkeletonSequence]],
    adapt: Callable[[list[SkeletonSequence]], list[SkeletonSequence]],
    args: argparse.Namespace,
) -> list[tuple[str, SkeletonSequence]]:
    """Recordings adapted to a model; with ``--skip-broken``, those that lack one of its joints are left out."""
    from kerneton.data.validation import grouped, many

    if not args.skip_broken:
        return [(file, s) for (file, _), s in zip(found, adapt([s for _, s in found]), strict=True)]
    kept, broken = [], []
    for file, sequence in found:
        try:
            kept += [(file, s) for s in adapt([sequence])]
        except KernetonError as error:
            broken.append((f"{file}:", str(error)))
    if broken:
        message = f"{len(broken)} of {many(len(found), 'recording')} cannot be used: {grouped(broken)}"
        if not kept:
            raise DataError(message)
        warnings.warn(message, stacklevel=2)
    return kept


def model_facts(model: Recognizer | None) -> dict[str, Any]:
    """What a model file stores about its training recordings; empty if it stores nothing."""
    training = getattr(model, "training_", None)
    facts = training.get("conventions") if isinstance(training, dict) else None
    return facts if isinstance(facts, dict) else {}


def read_one(
    path: str,
    which: str | None,
    args: argparse.Namespace,
    model: Recognizer | None = None,
    read_all: ReadAll | None = None,
) -> SkeletonSequence:
    """The only recording of a file, or the one with a given name or number, counted from 1."""
    from kerneton.data.validation import few, many

    recordings = [sequence for _, sequence in read_recordings([path], args, model, read_all)]
    if model is None:
        warn_misspelt_side(recordings[0].layout)
    names = few([s.name or str(i) for i, s in enumerate(recordings, start=1)])
    if which is None:
        if len(recordings) > 1:
            raise ParameterError(
                f"{path} contains {len(recordings)} recordings ({names}): choose one, such as --recording 1 for the first"
            )
        return recordings[0]
    named = [s for s in recordings if s.name == which]
    if named:
        return named[0]
    if not which.isdecimal() or not 1 <= int(which) <= len(recordings):
        raise ParameterError(
            f"{path} contains {many(len(recordings), 'recording')} ({names}), none named {which!r}"
        )
    return recordings[int(which) - 1]


def add_choice(parser: argparse.ArgumentParser) -> None:
    """Which recording of a file with several."""
    parser.add_argument(
        "--recording", metavar="NAME", help="which recording of a file with several, by name or number from 1"
    )


def _files(path: Path) -> list[Path]:
    """The path itself, or every recording below a folder that is not one recording itself."""
    if not path.is_dir():
        return [path]
    from kerneton.files.folder import find_entries

    files = [entry.path for entry in find_entries(path)]
    if not files:
        raise DataError(f"{path}: no recordings in this folder")
    return files
