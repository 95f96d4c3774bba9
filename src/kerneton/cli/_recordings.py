"""Recordings from files and folders named on the command line."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kerneton.cli import printable
from kerneton.cli._options import (
    add_reading,
    hinting,
    progress_of,
    reading_options,
    tell_conversion,
)
from kerneton.exceptions import (
    DataError,
    KernetonError,
    KernetonWarning,
    ModelFileError,
    ParameterError,
)

if TYPE_CHECKING:
    from kerneton.data.layouts import Layout
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
        raise ParameterError(
            f"{path}: {what}, not a model; the model comes first: {usage}"
        ) from error


def read_recordings(
    paths: Sequence[str],
    args: argparse.Namespace,
    model: Recognizer | None = None,
    read_all: ReadAll | None = None,
) -> list[tuple[str, SkeletonSequence]]:
    """Every recording in the files and folders, with its path; all broken files are reported in one
    error.

    How files are read and axes, where not given, are those of the recordings that ``model`` was
    trained on, with warnings where recordings differ from these; ``read_all`` may read on a
    cluster.
    """
    from kerneton.data.sequence import UNIT_WORDS
    from kerneton.files.folder import collect
    from kerneton.files.readers import read_all_here, read_content
    from kerneton.recognize.sensors import differences, kept_conventions

    args = with_poses_of(model, args)
    files = recording_files(paths)
    remembered = _remembered(args, model)
    plain, options = _file_options(args), _file_options(remembered or args)
    as_in_training: list[Path] = []

    def by_own_means(file: Path, content: Content) -> Content:
        """A file of another kind needs no options of the training. One that names its joints shows
        left and right by nose and toes, which the layout may lack.
        """
        assert remembered is not None
        failed = content.error is not None
        if failed or _names_joints(content, remembered, args):
            own = read_content(file, plain)
            named = all(s.layout is not None for s in own.recordings)
            if own.error is None and (named or failed):
                return own
        if not failed:
            as_in_training.append(file)
        return content

    kept = kept_conventions(model_facts(model))
    with hinting(args):
        found = collect(
            files,
            options,
            change=None if remembered is None else by_own_means,
            renamed=plain["rename"] or (),
            skip_broken=args.skip_broken,
            progress=progress_of(args),
            read_all=read_all or read_all_here,
            unit=args.unit,
            up=args.up,
            flip=args.flip,
            kept=kept,
        )
    sequences, conversion = found.recordings, found.conversion
    if as_in_training and not args.quiet:
        told = printable(_spelt(remembered, args), sys.stderr)  # text of the model file
        print(f"kerneton: note: read with {told}, as in training", file=sys.stderr)
    tell_conversion(conversion, args)
    for kind in (conversion, *conversion.others):
        if kept is None or kept.stated or kind.stated or args.unit:
            continue
        if kind.unit not in (None, kept.unit or "m"):
            who = (
                f"{kind.count} of {len(sequences)} recordings"
                if conversion.others
                else "recordings"
            )
            units = (
                f"{UNIT_WORDS[kind.unit]}, those of training were in {UNIT_WORDS[kept.unit or 'm']}"
            )
            warnings.warn(
                f"{who} are in {units}; all became metres (override with --unit)",
                KernetonWarning,
                stacklevel=2,
            )
    if model is not None:
        _warn_misspelt(model, sequences)
    for difference in differences(model_facts(model), sequences, conversion):
        warnings.warn(difference, KernetonWarning, stacklevel=2)
    names = telling_names(found.files, [s.name for s in sequences])
    named_ones = zip(found.files, sequences, names, strict=True)
    return [
        (str(file), s if s.name == name else s.replace(name=name)) for file, s, name in named_ones
    ]


def recording_files(paths: Sequence[str]) -> list[Path]:
    """The files that the paths name, and those in folders, each once."""
    from kerneton.files.folder import distinct

    named = [file for path in paths for file in _files(Path(path))]
    return [named[i] for i in distinct(named)]


def telling_names(files: Sequence[Path], names: Sequence[str]) -> list[str]:
    """Names of recordings that are called alike in different files, with as many of their folders
    as tell them apart.

    >>> telling_names(
    ...     [Path("wave/1/take.csv"), Path("bow/1/take.csv"), Path("bow/nod.csv")],
    ...     ["take", "take", "nod"],
    ... )
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

    options = {
        name: v for name, v in reading_options(args).items() if name not in ("unit", "up", "flip")
    }
    return options | {"layout": named_layout(options["layout"])}


def with_poses_of(model: Recognizer | None, args: argparse.Namespace) -> argparse.Namespace:
    """The options, with those for poses in films as in training where the user gives none."""
    stored = model_facts(model).get("reading")
    known = {"pose": str, "pose_model": str}
    same = {
        name: value
        for name, kind in known.items()
        if isinstance(stored, dict)
        and isinstance(value := stored.get(name), kind)
        and not getattr(args, name)
    }
    return argparse.Namespace(**{**vars(args), **same})


def _remembered(args: argparse.Namespace, model: Recognizer | None) -> argparse.Namespace | None:
    """The options with those that the training files were read with, where the user gives none;
    None if that adds nothing.
    """
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


def _names_joints(
    content: Content, remembered: argparse.Namespace, args: argparse.Namespace
) -> bool:
    """Whether a file was read with the layout of the training although its format can name
    joints.
    """
    from kerneton.files.readers import reader

    only_layout = all(
        getattr(remembered, name) == getattr(args, name) for name in ("columns", "rename")
    )
    return only_layout and bool(getattr(reader(content.facts[0]), "NAMES_JOINTS", False))


def _spelt(remembered: argparse.Namespace | None, args: argparse.Namespace) -> str:
    told = []
    for name in ("layout", "columns", "rename"):
        if (value := getattr(remembered, name)) != getattr(args, name):
            told += [f"--{name} {v}" for v in ([value] if isinstance(value, str) else value)]
    return " ".join(told)


def _warn_misspelt(model: Recognizer, sequences: Sequence[SkeletonSequence]) -> None:
    """Warn of joints that are named nearly like those of the model, which would be replaced by
    their neighbours.
    """
    from kerneton.data.checks import describe
    from kerneton.data.differences import layout_difference
    from kerneton.data.wording import grouped, many

    if model.layout_ is None:
        return
    odd = []
    for i, sequence in enumerate(sequences):
        difference = (
            layout_difference(sequence.layout, model.layout_)
            if sequence.layout is not None
            else None
        )
        if difference is not None and "misspelt" in difference and _replaced(sequence, model):
            odd.append((describe(sequence, i), difference))
    if odd:
        count = f"{len(odd)} of {many(len(sequences), 'recording')}"
        warnings.warn(
            f"{count}: {grouped(odd)}; --rename OLD=NEW corrects a name",
            KernetonWarning,
            stacklevel=3,
        )


def warn_misspelt_side(layout: Layout | None) -> None:
    """Warn of a joint without a partner on the other side, if one with a similar name is there."""
    from kerneton.data.differences import misspelt_side

    if layout is not None and (told := misspelt_side(layout)) is not None:
        warnings.warn(f"{told} --rename OLD=NEW corrects a name", KernetonWarning, stacklevel=2)


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
    """Recordings adapted to a model; with ``--skip-broken``, those that lack one of its joints are
    left out.
    """
    from kerneton.data.wording import grouped, many

    if not args.skip_broken:
        return [(file, s) for (file, _), s in zip(found, adapt([s for _, s in found]), strict=True)]
    kept, broken = [], []
    for file, sequence in found:
        try:
            kept += [(file, s) for s in adapt([sequence])]
        except KernetonError as error:
            broken.append((f"{file}:", str(error)))
    if broken:
        message = (
            f"{len(broken)} of {many(len(found), 'recording')} cannot be used: {grouped(broken)}"
        )
        if not kept:
            raise DataError(message)
        warnings.warn(message, KernetonWarning, stacklevel=2)
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
    from kerneton.data.wording import few, many

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
        "--recording",
        metavar="NAME",
        help="which recording of a file with several, by name or number from 1",
    )


def _files(path: Path) -> list[Path]:
    """The path itself, or every recording below a folder that is not one recording itself."""
    if not path.is_dir():
        return [path]
    from kerneton.files.folder import check_listed, find_entries

    ignored: list[Path] = []
    entries = list(find_entries(path, ignored=ignored))
    check_listed(path, entries, ignored)
    return [entry.path for entry in entries]
