"""kerneton reproduce: the paper's tables, figures, timing and complexity compared with ours, and
results beyond the paper.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kerneton.cli import Output, PathTo, add_command
from kerneton.cli._options import add_data_home, progress_of
from kerneton.exceptions import ParameterError

_EXAMPLES = """\
  kerneton reproduce tables --data-home ~/skeletons
  kerneton reproduce figures -o figures
  kerneton reproduce spotting --json spotting.json
  kerneton reproduce beyond --only utkinect --only utd_mhad
"""


def add_parser(subparsers: Any) -> None:
    """Add the parser of the command."""
    parser = add_command(
        subparsers,
        "reproduce",
        run,
        help="repeat the paper's experiments on the published recordings and compare the results",
        examples=_EXAMPLES,
    )
    parser.add_argument(
        "what",
        choices=["tables", "figures", "timing", "complexity", "beyond", "spotting"],
        help="which experiments; beyond compares the presets, spotting evaluates long recordings",
    )
    add_data_home(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FOLDER",
        type=PathTo.FILL,
        default="kerneton-reproduce",
        help="folder for tables, curves and pictures (default: kerneton-reproduce)",
    )
    parser.add_argument(
        "--only",
        metavar="DATA",
        action="append",
        choices=["florence3d", "utkinect", "msr_action3d", "msr_wang", "msr_li", "utd_mhad"],
        help="for beyond: only this data set; may be given several times (default: all)",
    )


def run(args: argparse.Namespace) -> Output:
    """Run one part of the paper, or go beyond it."""
    if args.what == "beyond":
        from kerneton.paper import presets

        result = presets.beyond(
            data_home=args.data_home,
            output=Path(args.output),
            progress=progress_of(args),
            only=args.only,
        )
        return Output(presets.to_markdown(result), result)
    if args.only:
        raise ParameterError(f"--only goes with beyond; {args.what} has no choice of data sets")
    if args.what == "spotting":
        from kerneton.paper import spotting

        result = spotting.spotting(
            data_home=args.data_home, output=Path(args.output), progress=progress_of(args)
        )
        return Output(spotting.to_markdown(result), result)
    from kerneton.paper import complexity, figures, markdown, tables, timing

    experiments = {
        "tables": tables.tables,
        "figures": figures.figures,
        "timing": timing.timing,
        "complexity": complexity.complexity,
    }
    result = experiments[args.what](
        data_home=args.data_home, output=Path(args.output), progress=progress_of(args)
    )
    return Output(markdown.to_markdown(result), result)
