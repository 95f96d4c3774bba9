"""kerneton cut: parts of long recordings as separate recordings."""

from __future__ import annotations

import argparse
import math
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kerneton.cli import Output, PathTo, add_command, is_folder
from kerneton.cli._recordings import add_choice, add_reading_options, read_one
from kerneton.exceptions import ParameterError

if TYPE_CHECKING:
    from kerneton.data.sequence import SkeletonSequence

_EXAMPLES = """\
  kerneton cut long.bvh --segments long.eaf -o actions      a file per segment, LABEL/SUBJECT/FILE
  kerneton cut long.npz -o actions                          by the segments stored in the recording
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
    parser.add_argument("file", metavar="FILE", type=PathTo.READ, help="a long recording")
    parser.add_argument(
        "--segments",
        metavar="FILE",
        type=PathTo.READ,
        help="annotated segments: a table, or a file of ELAN, Praat, Label Studio or CVAT "
        "(default: those stored in the recording, or a file of segments in the same folder)",
    )
    parser.add_argument("--tier", metavar="NAME", help="which tier of an ELAN or Praat file (default: all)")
    parser.add_argument(
        "--from", metavar="TIME", dest="first", help="frame, seconds (3.5s) or minutes (1:05)"
    )
    parser.add_argument(
        "--to", metavar="TIME", dest="last", help="frame, seconds or minutes; this frame is not included"
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
    add_reading_options(parser)


def run(args: argparse.Namespace) -> Output:
    """Read, cut, write."""
    from kerneton.cli.convert import _places, in_new_files
    from kerneton.data.validation import many
    from kerneton.files.readers import write
    from kerneton.files.segments import read_all_but_segments

    given = args.segments or args.first is not None or args.last is not None
    read_all = read_all_but_segments if given else None
    recording = read_one(args.file, args.recording, args, read_all=read_all)
    if args.first is not None or args.last is not None:
        if args.segments:
            raise ParameterError("give --segments, or --from and --to, not both")
        start = 0 if args.first is None else frame_of(args.first, recording.fps)
        stop = recording.n_frames if args.last is None else frame_of(args.last, recording.fps)
        parts = [recording.cut(start, stop)]
    else:
        recording = _with_segments(recording, args)
        parts = recording.cut_segments()
    output = Path(args.output)
    files = in_new_files(output, _places(parts, args.format)) if is_folder(args.output) else {output: parts}
    for path, inside in files.items():
        write(path, inside)
    rows = [{"label": p.label, "name": p.name, "frames": p.n_frames} for p in parts]
    return Output(
        f"wrote {many(len(parts), 'recording')} to {args.output}",
        {"recordings": rows, "files": [str(f) for f in files]},
    )


def _with_segments(recording: SkeletonSequence, args: argparse.Namespace) -> SkeletonSequence:
    from kerneton.data.segments import segment_problems, short_segments
    from kerneton.files.segments import segments_beside, with_segments

    source = args.segments or (None if recording.segments else segments_beside(args.file))
    if source is not None:
        (recording,) = with_segments([recording], source, fps=recording.fps, tier=args.tier)
    if not recording.segments:
        raise ParameterError(f"{args.file}: which part? Give --segments FILE, or --from and --to")
    problems = segment_problems(recording.segments, recording.n_frames)
    for problem in problems + short_segments(recording.segments):
        warnings.warn(problem, stacklevel=2)
    return recording


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
        raise ParameterError(f"expected a frame (300), seconds (3.5s) or minutes (1:05), got {text!r}")
    if fps is None:
        raise ParameterError(f"{text!r} needs the frame rate: give --fps")
    return round(seconds * fps)
