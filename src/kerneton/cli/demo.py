"""kerneton demo: the whole path on generated actions."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from kerneton.cli._common import Output, add_command, all_cores, progress_of

_EXAMPLES = """\
  kerneton demo
  kerneton demo -o pictures --json demo.json
"""
_SHOWN = ("draw circle", "draw X", "sit down", "bow", "drink", "answer phone")


def add_parser(subparsers: Any) -> None:
    """Say what the command takes."""
    parser = add_command(
        subparsers,
        "demo",
        run,
        help="generate actions, train on some subjects, test on the others, draw the result",
        examples=_EXAMPLES,
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FOLDER",
        type=Path,
        default=Path("kerneton-demo"),
        help="where the pictures go (default: kerneton-demo)",
    )
    parser.add_argument(
        "--subjects", metavar="N", type=int, default=6, help="people to generate (default: 6)"
    )
    parser.add_argument("--takes", metavar="N", type=int, default=2, help="times each acts (default: 2)")


def run(args: argparse.Namespace) -> Output:
    """Generate, train, test, draw."""
    from kerneton.datasets import make_actions
    from kerneton.datasets.protocols import SubjectKFold
    from kerneton.files.output import replacing
    from kerneton.recognize.presets import make_recognizer
    from kerneton.report.evaluation import evaluate
    from kerneton.report.pictures import plot_skeleton

    start = time.perf_counter()
    data = make_actions(n_subjects=args.subjects, n_takes=args.takes)
    with all_cores():
        report = evaluate(
            make_recognizer(), data, SubjectKFold(n_splits=3), progress=progress_of(args), n_jobs=1
        )
    one_subject = {s.label: s for s in reversed(data) if s.subject == data[0].subject}
    shown = [one_subject[label] for label in _SHOWN if label in one_subject]
    figures = {
        "confusion.png": report.plot(),
        "skeletons.png": plot_skeleton(
            shown, title="Generated actions; gaps are joints that the sensor lost"
        ),
    }
    for name, figure in figures.items():
        with replacing(args.output / name) as temporary:
            figure.savefig(temporary, dpi=150)
    files = [str(args.output / name) for name in figures]
    seconds = time.perf_counter() - start
    text = f"{report}\n\nwrote {' and '.join(files)} in {seconds:.1f} s"
    return Output(text, {**report.to_dict(), "files": files, "seconds": seconds})
