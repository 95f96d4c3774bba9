"""The paper's tables with every setting evaluated on the test subjects: an upper bound, not a
result.

python benchmarks/oracle.py --only utkinect --cache done --json oracle.json
python benchmarks/oracle.py --reading all --cache done
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from paper_readings.oracle import oracle
from paper_readings.strips import to_markdown

from kerneton.cli._bar import bar
from kerneton.exceptions import KernetonError


def main(argv: list[str] | None = None) -> int:
    """Evaluate, draw and print; returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = ["florence3d", "utkinect", "msr_action3d"]
    parser.add_argument("--only", action="append", choices=names, help="only this data set")
    parser.add_argument(
        "--reading",
        metavar="NAME",
        action="append",
        help="an interpretation of the paper, all, or done (of the cache)",
    )
    parser.add_argument("--cache", metavar="FOLDER", help="finished results, to resume from")
    parser.add_argument("--output", metavar="FOLDER", help="where strips are drawn")
    parser.add_argument("--data-home", metavar="FOLDER", help="folder of the published data sets")
    parser.add_argument("--json", metavar="FILE", help="write the figures to FILE")
    args = parser.parse_args(argv)
    try:
        result = oracle(
            data_home=args.data_home,
            output=None if args.output is None else Path(args.output),
            cache=args.cache,
            only=args.only,
            readings=args.reading,
            progress=bar if sys.stderr.isatty() else None,
        )
    except KernetonError as error:
        print(f"oracle: {error}", file=sys.stderr)
        return 1
    print(to_markdown(result["oracle"]["cells"]))
    if args.json:
        Path(args.json).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
