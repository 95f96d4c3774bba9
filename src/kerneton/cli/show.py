"""kerneton show: a recording as an animation or a contact sheet."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kerneton.cli import Output, PathTo, add_command, use_default
from kerneton.cli._recordings import add_choice, add_reading_options, read_one
from kerneton.cli._settings import whole
from kerneton.exceptions import ParameterError

_EXAMPLES = """\
  kerneton show wave.bvh -o wave.gif
  kerneton show wave.bvh -o wave.png --poses 12
  kerneton show people.skeleton --recording 2 -o second.mp4
"""


def add_parser(subparsers: Any) -> None:
    """Add the parser of the command."""
    parser = add_command(
        subparsers,
        "show",
        run,
        help="draw a recording: an animation (.gif or .mp4), or poses side by side (.png, .svg or .pdf)",
        examples=_EXAMPLES,
    )
    parser.add_argument("file", metavar="FILE", type=PathTo.READ, help="a recording")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=PathTo.ANIMATE,
        help="file to write: .gif, .mp4, .png, .svg or .pdf (default: the recording's name, as .gif)",
    )
    parser.add_argument(
        "--poses",
        metavar="N",
        type=whole,
        default=8,
        help="poses in a still picture (default: 8)",
    )
    parser.add_argument(
        "--title", metavar="TEXT", help="title of the picture (default: name, label and subject)"
    )
    add_choice(parser)
    add_reading_options(parser)


def run(args: argparse.Namespace) -> Output:
    """Read and draw."""
    from kerneton.data.validation import many
    from kerneton.files.segments import read_all_but_segments
    from kerneton.report.animation import animate, contact_sheet

    if args.poses < 1:
        raise ParameterError(f"--poses must be a positive whole number, got {args.poses}")
    if args.output is None:
        use_default(args, Path(args.file).stem + ".gif")
    recording = read_one(args.file, args.recording, args, read_all=read_all_but_segments)
    path = Path(args.output)
    if path.suffix.lower() in (".gif", ".mp4"):
        animate(recording, path, title=args.title)
    else:
        contact_sheet(recording, path, args.poses, title=args.title)
    facts = {"recording": recording.name, "frames": recording.n_frames, "fps": recording.fps}
    return Output(
        f"wrote {path}: {many(recording.n_frames, 'frame')} of {recording.name}", {"file": str(path), **facts}
    )
