"""kerneton convert: recordings from one format to another."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kerneton.cli import Output, PathTo, add_command, is_folder
from kerneton.cli._options import add_folder_options, load_recordings, tell_conversion
from kerneton.cli._recordings import usable
from kerneton.exceptions import ParameterError

if TYPE_CHECKING:
    from kerneton.data.sequence import SkeletonSequence

_EXAMPLES = """\
  kerneton convert wave.bvh wave.csv
  kerneton convert my-recordings all.npz            a folder to one file
  kerneton convert my-recordings tables --to csv    a folder to a folder, LABEL/SUBJECT/FILE
  kerneton convert take.skeleton take.npz --map kinect20
"""
_FORMATS = ("csv", "tsv", "npz", "pkl", "bvh", "trc", "jsonl", "parquet", "feather")
_TIMED = (".bvh", ".trc")  # formats that always state a frame rate


def add_parser(subparsers: Any) -> None:
    """Add the parser of the command."""
    parser = add_command(
        subparsers,
        "convert",
        run,
        help="write recordings in another format: .csv, .tsv, .npz, .bvh, .trc, .jsonl, .parquet, .feather, or the .pkl "
        "of PYSKL and MMAction2",
        examples=_EXAMPLES,
    )
    parser.add_argument(
        "source", metavar="IN", type=PathTo.READ, help="a recording, or a folder of recordings"
    )
    parser.add_argument(
        "target",
        metavar="OUT",
        type=PathTo.WRITE_OR_FILL,
        help="a file whose extension gives the format, or a folder",
    )
    parser.add_argument(
        "--to", choices=_FORMATS, help="format of the files in a folder (default: npz)"
    )
    parser.add_argument(
        "--map", metavar="LAYOUT", help="map all recordings to the joints of this layout"
    )
    add_folder_options(parser)


def run(args: argparse.Namespace) -> Output:
    """Read, map, write."""
    from kerneton.data.wording import many
    from kerneton.files.readers import writable, write

    target = Path(args.target)
    one_file = not is_folder(args.target)
    if one_file and (ending := target.suffix.lower()) not in writable():
        raise ParameterError(
            f"{target}: cannot write {ending!r}; choose {', '.join(writable())}, or a folder"
        )
    data = load_recordings(args.source, args)
    tell_conversion(data.conversion, args)
    recordings = list(data)
    if args.map:
        recordings = _mapped(recordings, args)
    files = (
        {target: recordings}
        if one_file
        else in_new_files(target, _places(recordings, args.to or "npz"))
    )
    for path, inside in files.items():
        write(inside, path)
    unknown = sum(
        s.fps is None
        for path, inside in files.items()
        if path.suffix.lower() in _TIMED
        for s in inside
    )
    if unknown and not args.quiet:
        told = f"{many(unknown, 'recording')} without a frame rate: the files state 30 fps (--fps states another)"
        print(f"kerneton: note: {told}", file=sys.stderr)
    count = many(len(recordings), "recording")
    where = f"{target}" if one_file else f"{many(len(files), 'file')} in {target}"
    return Output(
        f"wrote {count} to {where}",
        {"recordings": len(recordings), "files": [str(f) for f in files]},
    )


def in_new_files(
    folder: Path, places: list[tuple[Path, SkeletonSequence]]
) -> dict[Path, list[SkeletonSequence]]:
    """Each recording by the file in a folder that it goes into; files that are there already are
    not replaced.
    """
    files = {folder / place: [recording] for place, recording in places}
    if there := [str(path) for path in files if os.path.lexists(path)]:
        more = f" and {len(there) - 1} more" if there[1:] else ""
        raise ParameterError(
            f"{there[0]}{more}: already there, and not replaced; name a new folder, or remove them first"
        )
    return files


def _mapped(recordings: list[SkeletonSequence], args: argparse.Namespace) -> list[SkeletonSequence]:
    """The recordings mapped to one layout; with ``--skip-broken``, those that lack some of its
    joints are left out.
    """
    from kerneton.data.mapping import map_layout
    from kerneton.files.readers import named_layout

    layout = named_layout(args.map)
    assert layout is not None  # --map was given
    found = [(recording.name, recording) for recording in recordings]
    return [s for _, s in usable(found, lambda some: [map_layout(s, layout) for s in some], args)]


def _places(recordings: list[SkeletonSequence], ending: str) -> list[tuple[Path, SkeletonSequence]]:
    """The path LABEL/SUBJECT/NAME.ending of each recording, so that the folder is a data set;
    duplicate names are numbered.
    """
    seen: Counter[Path] = Counter()
    out = []
    for i, recording in enumerate(recordings):
        above = [_safe(part) for part in (recording.label, recording.subject) if part is not None]
        if recording.label is None:
            above = []
        name = _safe(os.path.basename(recording.name) or f"recording {i + 1}")
        place = Path(*above, name)
        seen[place] += 1
        number = f"_{seen[place]}" if seen[place] > 1 else ""
        out.append((place.with_name(f"{name}{number}.{ending}"), recording))
    return out


def _safe(part: str) -> str:
    """A file name that cannot leave its folder, whatever the name of the recording.

    >>> _safe("../a: b/c"), _safe("..")
    ('_a_ b_c', '_')
    """
    return re.sub(r'[\\/:*?"<>|\x00-\x1f]', "_", part).lstrip(".").strip() or "_"
