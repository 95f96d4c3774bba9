"""kerneton reproduce: the paper's tables, figures, timing and complexity compared with ours, and results beyond the paper."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kerneton.cli import Output, PathTo, add_command
from kerneton.cli._options import add_data_home, progress_of
from kerneton.exceptions import ParameterError

_EXAMPLES = """\
  kerneton reproduce tables --data-home ~/skeletons
  kerneton reproduce tables --oracle --only utkinect --cache done --json oracle.json
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
        help="for beyond and tables --oracle: only this data set; may be given several times (default: all)",
    )
    group = parser.add_argument_group("tables")
    group.add_argument(
        "--oracle",
        action="store_true",
        help="evaluate every setting on the test subjects: an upper bound for the printed method, not a result",
    )
    group.add_argument(
        "--reading",
        metavar="NAME",
        action="append",
        help="with --oracle: an interpretation of the paper, all, or done for what --cache holds; may be given several times "
        "(default: printed)",
    )
    group.add_argument(
        "--cache",
        metavar="FOLDER",
        type=PathTo.FILL,
        help="with --oracle: folder of finished results, to resume from",
    )


def run(args: argparse.Namespace) -> Output:
    """Run one part of the paper, or go beyond it."""
    if args.oracle and args.what == "tables":
        from kerneton.experiments.paper import _strips, oracle

        result = oracle(
            data_home=args.data_home,
            output=Path(args.output),
            cache=args.cache,
            only=args.only,
            readings=args.reading,
            progress=progress_of(args),
        )
        return Output(_strips.to_markdown(result["oracle"]["cells"]), result)
    if args.oracle or args.reading or args.cache:
        raise ParameterError("--oracle goes with tables, --reading and --cache with tables --oracle")
    if args.what == "beyond":
        from kerneton.experiments import compare_presets

        result = compare_presets.beyond(
            data_home=args.data_home, output=Path(args.output), progress=progress_of(args), only=args.only
        )
        return Output(compare_presets.to_markdown(result), result)
    if args.only:
        raise ParameterError(
            f"--only goes with beyond and tables --oracle; {args.what} has no choice of data sets"
        )
    if args.what == "spotting":
        from kerneton.experiments import spotting

        result = spotting.spotting(
            data_home=args.data_home, output=Path(args.output), progress=progress_of(args)
        )
        return Output(spotting.to_markdown(result), result)
    from kerneton.experiments import paper

    experiments = {
        "tables": paper.tables,
        "figures": paper.figures,
        "timing": paper.timing,
        "complexity": paper.complexity,
    }
    result = experiments[args.what](
        data_home=args.data_home, output=Path(args.output), progress=progress_of(args)
    )
    return Output(paper.to_markdown(result), result)
