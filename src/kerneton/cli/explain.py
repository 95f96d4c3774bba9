"""kerneton explain: why a model predicts a label for a recording."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kerneton.cli import Output, PathTo, add_command
from kerneton.cli._options import all_cores
from kerneton.cli._recordings import add_choice, add_reading_options, load_model, read_one

if TYPE_CHECKING:
    from kerneton.report.explanation import Explanation

_EXAMPLES = """\
  kerneton explain model.kern wave.bvh
  kerneton explain model.kern wave.bvh -o why.png --dark
  kerneton explain model.kern wave.bvh --label wave --versus clap --json why.json
"""


def add_parser(subparsers: Any) -> None:
    """Add the parser of the command."""
    parser = add_command(
        subparsers,
        "explain",
        run,
        help="say which joints of a recording contributed to its label, when, and how they moved",
        examples=_EXAMPLES,
    )
    parser.add_argument(
        "model", metavar="MODEL", type=PathTo.READ, help="a model file that kerneton fit wrote"
    )
    parser.add_argument("file", metavar="FILE", type=PathTo.READ, help="a recording")
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=PathTo.DRAW, help="draw it, as .png, .svg or .pdf"
    )
    parser.add_argument("--dark", action="store_true", help="draw it on a dark background")
    parser.add_argument(
        "--label", metavar="LABEL", help="the label to explain (default: the one predicted)"
    )
    parser.add_argument("--versus", metavar="LABEL", help="explain why it is not this label")
    add_choice(parser)
    add_reading_options(parser)


def run(args: argparse.Namespace) -> Output:
    """Read, explain, draw."""

    model = load_model(args.model, args)
    recording = read_one(args.file, args.recording, args, model)
    own, (recording,) = recording.fps, model.adapt([recording])
    with all_cores():
        why = model.explain(recording, args.label, versus=args.versus)
    # adapted may be at a rate that is no time
    why = replace(why, sequence=why.sequence.replace(fps=own))
    text = str(why)
    if why.probability is not None and model.predictions([recording])[0].unknown:
        text += "\n  remark   unlike anything seen in training"
    return Output(text, why.to_dict(), lambda: _draw(why, args))


def _draw(why: Explanation, args: argparse.Namespace) -> list[str]:
    """Write the picture, if one is wanted."""
    if not args.output:
        return []
    from kerneton.report.pictures import save_figure

    save_figure(why.plot(dark=args.dark), args.output)
    return [args.output]
