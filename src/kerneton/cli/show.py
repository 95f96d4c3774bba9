"""kerneton show: a recording as an animation or a contact sheet."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kerneton.cli import Output, PathTo, add_command, use_default
from kerneton.cli._options import pose_options
from kerneton.cli._recordings import (
    add_choice,
    add_reading_options,
    load_model,
    read_one,
    read_recordings,
    with_poses_of,
)
from kerneton.cli._settings import whole
from kerneton.exceptions import ParameterError

_EXAMPLES = """\
  kerneton show wave.bvh -o wave.gif
  kerneton show wave.bvh -o wave.png --poses 12
  kerneton show clip.mp4 -o overlay.mp4 --model model.kern
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
    parser.add_argument(
        "--model",
        metavar="MODEL",
        type=PathTo.READ,
        help="with a film and -o FILE.mp4: draw the model's label, its probability and the joints that decided",
    )
    add_choice(parser)
    add_reading_options(parser)


def run(args: argparse.Namespace) -> Output:
    """Read and draw."""
    from kerneton.data.wording import many
    from kerneton.files.readers import detect_format
    from kerneton.files.segments import read_all_but_segments
    from kerneton.report.animation import animate, contact_sheet

    if args.poses < 1:
        raise ParameterError(f"--poses must be a positive whole number, got {args.poses}")
    if args.output is None:
        use_default(args, Path(args.file).stem + ".gif")
    path = Path(args.output)
    if path.suffix.lower() == ".mp4" and detect_format(args.file) == "film":
        return _overlay(args, path)
    if args.model is not None:
        raise ParameterError("--model needs a film, and a name that ends in .mp4 after -o")
    recording = read_one(args.file, args.recording, args, read_all=read_all_but_segments)
    if path.suffix.lower() in (".gif", ".mp4"):
        animate(recording, path, title=args.title)
    else:
        contact_sheet(recording, path, args.poses, title=args.title)
    facts = {"recording": recording.name, "frames": recording.n_frames, "fps": recording.fps}
    return Output(
        f"wrote {path}: {many(recording.n_frames, 'frame')} of {recording.name}",
        {"file": str(path), **facts},
    )


def _overlay(args: argparse.Namespace, path: Path) -> Output:
    """The film itself with skeletons, and with what a model says of each person."""
    from kerneton.data.wording import many
    from kerneton.report.overlay import Caption, write_overlay
    from kerneton.video.estimator import PoseOptions

    model = None if args.model is None else load_model(args.model, args)
    args = with_poses_of(model, args)
    recordings = [recording for _, recording in read_recordings([args.file], args, model)]
    captions = {}
    for i, recording in enumerate(recordings):
        text = args.title or recording.label or ""
        if model is not None:
            (adapted,) = model.adapt([recording])
            (told,) = model.predictions([adapted])
            why = model.explain(adapted)
            sure = "" if why.probability is None else f" {why.probability:.0%}"
            doubt = " (unlike anything seen in training)" if told.unknown else ""
            captions[i] = Caption(f"{why.label}{sure}{doubt}", why.joints)
        elif text:
            captions[i] = Caption(text)
    write_overlay(args.file, path, pose_options(args) or PoseOptions(), captions)
    frames = recordings[0].n_frames
    facts = {"file": str(path), "frames": frames, "captions": [c.text for c in captions.values()]}
    return Output(f"wrote {path}: {many(frames, 'frame')} of {Path(args.file).name}", facts)
