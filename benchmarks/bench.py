"""The speed of the library compared with plain NumPy, LAPACK, scikit-learn and others, in one run.

python benchmarks/bench.py --json bench.json
python benchmarks/bench.py --only epn dck
python benchmarks/bench.py --only growth --out pictures
python benchmarks/bench.py --only scale --before ../kerneton-0.2
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from bench_parts import PARTS, bench, to_text

from kerneton.cli._bar import bar
from kerneton.exceptions import KernetonError


def main(argv: list[str] | None = None) -> int:
    """Measure and print one table; returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", metavar="NAME", nargs="+", help=f"only these parts: {', '.join(PARTS)}"
    )
    parser.add_argument(
        "--json", metavar="FILE", help="write the figures to FILE (- for the screen)"
    )
    parser.add_argument("--data-home", metavar="FOLDER", help="folder of the published data sets")
    parser.add_argument(
        "--out", metavar="FOLDER", help="draw how times grow with size into this folder"
    )
    parser.add_argument(
        "--before", metavar="FOLDER", help="a checkout to compare fits with (part scale)"
    )
    parser.add_argument(
        "--repeats", metavar="N", type=int, default=7, help="runs of which the median counts"
    )
    parser.add_argument(
        "--quick", action="store_true", help="small workloads, to which no bar applies"
    )
    args = parser.parse_args(argv)
    try:
        result = bench(
            only=args.only,
            repeats=args.repeats,
            quick=args.quick,
            data_home=args.data_home,
            output=args.out,
            progress=bar if sys.stderr.isatty() else None,
            before=args.before,
        )
    except KernetonError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    text = json.dumps(result, indent=1)
    if args.json == "-":
        print(text)
        return 0
    print(to_text(result))
    if args.json:
        Path(args.json).write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
