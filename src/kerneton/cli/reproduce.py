"""kerneton reproduce: the paper's tables, figures, timing and complexity, beside our own."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kerneton.cli._common import Output, add_command, add_data_home, progress_of

_EXAMPLES = """\
  kerneton reproduce tables --data-home ~/skeletons
  kerneton reproduce figures -o figures
"""


def add_parser(subparsers: Any) -> None:
    """Say what the command takes."""
    parser = add_command(
        subparsers,
        "reproduce",
        run,
        help="repeat the paper's experiments on the published recordings, its figure and ours side by side",
        examples=_EXAMPLES,
    )
    parser.add_argument("what", choices=["tables", "figures", "timing", "complexity"], help="which part")
    add_data_home(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FOLDER",
        type=Path,
        default=Path("kerneton-reproduce"),
        help="where tables, curves and pictures go (default: kerneton-reproduce)",
    )


def run(args: argparse.Namespace) -> Output:
    """Run one part of the paper."""
    from kerneton import paper

    experiments = {
        "tables": paper.tables,
        "figures": paper.figures,
        "timing": paper.timing,
        "complexity": paper.complexity,
    }
    result = experiments[args.what](data_home=args.data_home, output=args.output, progress=progress_of(args))
    return Output(paper.to_markdown(result), result)
