"""kerneton bench: the speed of the library compared with plain NumPy, LAPACK, scikit-learn and others, in one run."""

from __future__ import annotations

import argparse
from typing import Any

from kerneton.cli import Output, PathTo, add_command
from kerneton.cli._options import add_data_home, progress_of
from kerneton.cli._settings import whole

_EXAMPLES = """\
  kerneton bench --json bench.json
  kerneton bench --only epn dck
  kerneton bench --only growth --out pictures
  kerneton bench --only gpu --json gpu.json
  kerneton bench --only scale --before ../kerneton-0.1
"""


def add_parser(subparsers: Any) -> None:
    """Add the parser of the command."""
    parser = add_command(
        subparsers,
        "bench",
        run,
        help="measure the speed of the library on this machine, compared with plain NumPy and others",
        examples=_EXAMPLES,
    )
    add_data_home(parser)
    parser.add_argument(
        "--out",
        metavar="FOLDER",
        type=PathTo.FILL,
        help="draw how times grow with size, as pictures in this folder",
    )
    parser.add_argument("--only", metavar="NAME", nargs="+", help="only these parts (default: all)")
    parser.add_argument(
        "--before",
        metavar="FOLDER",
        type=PathTo.READ,
        help="a checkout of an older version, to compare fits with (part scale)",
    )
    parser.add_argument(
        "--repeats", metavar="N", type=whole, default=7, help="runs whose median is reported (default: 7)"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="small workloads, to check that everything runs; the targets do not apply to them",
    )


def run(args: argparse.Namespace) -> Output:
    """Measure and show one table."""
    from kerneton.experiments.bench import bench, to_text

    result = bench(
        only=args.only,
        repeats=args.repeats,
        quick=args.quick,
        data_home=args.data_home,
        output=args.out,
        progress=progress_of(args),
        before=args.before,
    )
    return Output(to_text(result), result)
