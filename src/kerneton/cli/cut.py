"""kerneton cut: parts of long recordings as separate recordings."""

from __future__ import annotations

import argparse
import math
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kerneton.cli import Output, PathTo, add_command, is_folder
from kerneton.cli._options import add_folder_options, load_recordings, progress_of, tell_conversion
from kerneton.cli._recordings import add_choice, read_one
from kerneton.exceptions import KernetonWarning, ParameterError

if TYPE_CHECKING:
    from kerneton.data.sequence import SkeletonSequence

_EXAMPLES = """\
  kerneton cut long.bvh --segments long.eaf -o actions      a file per segment, LABEL/SUBJECT/FILE
  kerneton cut long.npz -o actions                          by the segments stored in the recording
  kerneton cut long-recordings -o actions                   every recording of a folder SUBJECT/FILE
  kerneton cut long.bvh --from 1:05 --to 72.5s -o part.npz  one part, by minutes or seconds
  kerneton cut long.bvh --from 300 --to 420 -o part.csv     or by frames
"""


def add_parser(subparsers: Any) -> None:
    """Add the parser of the command."""
    parser = add_command(
        subparsers,
        "cut",
        run,
        help="cut the actions, or one part, out of a long recording",
        examples=_EXAMPLES,
    )
    parser.add_argument(
        "file", metavar="FILE", type=PathTo.READ, help="a long recording, or a folder of them"
    )
    parser.add_argument(
        "--segments",
        metavar="FILE",
        type=PathTo.READ,
        help="annotated segments: a table, or a file of ELAN, Praat, Label Studio or CVAT "
        "(default: those stored in the recording, or a file of segments in the same folder)",
    )
    parser.add_argument(
        "--tier", metavar="NAME", help="which tier of an ELAN or Praat file (default: all)"
    )
    parser.add_argument(
        "--from", metavar="TIME", dest="first", help="frame, seconds (3.5s) or minutes (1:05)"
    )
    parser.add_argument(
        "--to",
        metavar="TIME",
        dest="last",
        help="frame, seconds or minutes; this frame is not included",
    )
    parser.add_argument(
        *("-o", "--output"),
        metavar="OUT",
        required=True,
        type=PathTo.WRITE_OR_FILL,
        help="a folder, or a file",
    )
    parser.add_argument(
        "--format", choices=("npz", "csv", "tsv"), default="npz", help="format of files in a folder"
    )
    add_choice(parser)
    add_folder_options(parser)


def run(args: argparse.Namespace) -> Output:
    """Read, cut, write."""
    from kerneton.cli.convert import _places, in_new_files
    from kerneton.data.wording import many
    from kerneton.files.readers import read_all_here, write
    from kerneton.files.segments import read_all_but_segments

    one_part = args.first is not None or args.last is not None
    if one_part and args.segments:
        raise ParameterError("give --segments, or --from and --to, not both")
    read_all = read_all_but_segments if one_part or args.segments else read_all_here
    if one_part or args.recording is not None or not _is_folder_of_recordings(args):
        recording = read_one(args.file, args.recording, args, read_all=read_all)
        recordings = [recording] if one_part else _with_segments([recording], args)
    else:
        data = load_recordings(args.file, args, read_all=read_all)
        tell_conversion(data.conversion, args)
        recordings = _with_segments(list(data), args)
    if one_part:
        start = 0 if args.first is None else frame_of(args.first, recording.fps)
        stop = recording.n_frames if args.last is None else frame_of(args.last, recording.fps)
        parts = [recording.cut(start, stop)]
    else:
        parts = _parts(recordings)
    output = Path(args.output)
    files = (
        in_new_files(output, _places(parts, args.format))
        if is_folder(args.output)
        else {output: parts}
    )
    progress = progress_of(args) if len(recordings) > 1 else None
    for path in files if progress is None else progress(list(files), desc="writing"):
        write(files[path], path)
    rows = [{"label": p.label, "name": p.name, "frames": p.n_frames} for p in parts]
    return Output(
        f"wrote {many(len(parts), 'recording')} to {args.output}",
        {"recordings": rows, "files": [str(f) for f in files]},
    )


def _parts(recordings: list[SkeletonSequence]) -> list[SkeletonSequence]:
    """The segments of all recordings; points have no frames that could be cut."""
    from kerneton.data.wording import many

    whole = [r.replace(segments=[s for s in r.segments if not s.is_point]) for r in recordings]
    parts = [part for recording in whole for part in recording.cut_segments()]
    points = sum(s.is_point for r in recordings for s in r.segments)
    told = f"{many(points, 'point')} without a start: only segments of several frames can be cut"
    if not parts and points:
        raise ParameterError(told)
    if points:
        warnings.warn(f"left out: {told}", KernetonWarning, stacklevel=2)
    return parts


def _is_folder_of_recordings(args: argparse.Namespace) -> bool:
    from kerneton.files.readers import detect_format

    listed = args.pattern is not None or args.index is not None
    return listed or (Path(args.file).is_dir() and detect_format(args.file) is None)


def _with_segments(
    recordings: list[SkeletonSequence], args: argparse.Namespace
) -> list[SkeletonSequence]:
    """The recordings that have segments, their own, those beside them, or those of
    ``--segments``.
    """
    from kerneton.data.segments import segment_problems, short_segments
    from kerneton.data.wording import many
    from kerneton.files.segments import segments_beside, with_segments

    source, several = args.segments, len(recordings) > 1
    if source is None and args.tier is not None:
        source = None if Path(args.file).is_dir() else segments_beside(args.file)
        if source is None:
            raise ParameterError("--tier is for one file of segments: name it with --segments")
    if source is not None:
        if len({os.path.basename(r.name) for r in recordings}) < len(recordings):
            raise ParameterError(
                f"{args.file}: recordings in several folders have the same name, so {source} cannot tell them apart: "
                "put a file of segments beside each recording, such as monday.segments.csv beside monday.bvh"
            )
        recordings = with_segments(
            recordings, source, fps=None if several else recordings[0].fps, tier=args.tier
        )
    found = [r for r in recordings if r.segments]
    if not found:
        raise ParameterError(f"{args.file}: which part? Give --segments FILE, or --from and --to")
    if bare := len(recordings) - len(found):
        warnings.warn(
            f"without segments, left out: {many(bare, 'recording')}", KernetonWarning, stacklevel=2
        )
    for r in found:
        for problem in segment_problems(r.segments, r.n_frames):
            warnings.warn(
                f"{r.name}: {problem}" if several else problem, KernetonWarning, stacklevel=2
            )
    for problem in short_segments(part for r in found for part in r.segments):
        warnings.warn(problem, KernetonWarning, stacklevel=2)
    return found


def frame_of(text: str, fps: float | None) -> int:
    """A frame from a number, from seconds (``3.5s``) or from minutes (``1:05``).

    >>> frame_of("42", None), frame_of("3.5s", 30.0), frame_of("1:05", 10.0)
    (42, 105, 650)
    """
    if text.isdecimal():
        return int(text)
    minutes, colon, rest = text.rpartition(":")
    try:
        seconds = float(rest.removesuffix("s")) + (60 * int(minutes) if colon else 0)
    except ValueError:
        seconds = -1.0
    if not (colon or rest.endswith("s")) or not 0 <= seconds < math.inf:
        raise ParameterError(
            f"expected a frame (300), seconds (3.5s) or minutes (1:05), got {text!r}"
        )
    if fps is None:
        raise ParameterError(f"{text!r} needs the frame rate: give --fps")
    return round(seconds * fps)
