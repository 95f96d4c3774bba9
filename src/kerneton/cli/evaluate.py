"""kerneton evaluate: train and test on a published data set or on a folder of recordings."""

from __future__ import annotations

import argparse
import contextlib
import warnings
from typing import TYPE_CHECKING, Any

from kerneton.cli._common import (
    Output,
    add_command,
    add_data,
    add_model,
    all_cores,
    load_data,
    make_model,
    progress_of,
)
from kerneton.exceptions import DataError

if TYPE_CHECKING:
    from kerneton.data.sequence import SkeletonDataset
    from kerneton.report.results import Report

_EXAMPLES = """\
  kerneton evaluate florence3d --data-home ~/skeletons
  kerneton evaluate msr_action3d --protocol li --set sck__power=0.3
  kerneton evaluate my-recordings --protocol leave-one-subject-out --html report.html
"""


def add_parser(subparsers: Any) -> None:
    """Say what the command takes."""
    parser = add_command(
        subparsers,
        "evaluate",
        run,
        help="train and test a recogniser on a data set or a folder, and report how well it does",
        examples=_EXAMPLES,
    )
    add_data(parser)
    parser.add_argument(
        "--protocol",
        metavar="NAME",
        help="who trains and who is tested: half, leave-one-subject-out, odd-even, wang, li, k-fold or published "
        "(default: what the data set's published results use, else leave-one-subject-out)",
    )
    add_model(parser)
    parser.add_argument(
        "--jobs", metavar="N", type=int, default=1, help="splits that run at once (default: 1)"
    )
    parser.add_argument("--html", metavar="FILE", help="write the report as a page to look at and to send")
    parser.add_argument("--markdown", metavar="FILE", help="write the report as Markdown")
    parser.add_argument("--plot", metavar="FILE", help="write the confusion matrix as a picture")


def run(args: argparse.Namespace) -> Output:
    """Load, evaluate, report."""
    data, model = load_data(args), make_model(args)
    # Splits that run at once share the cores already.
    with all_cores() if args.jobs == 1 else contextlib.nullcontext():
        report = _evaluate_for_page(args, model, data) if args.html else _evaluate(args, model, data)
    return Output(str(report), report.to_dict(), lambda: _write(report, data, args))


def _write(report: Report, data: SkeletonDataset, args: argparse.Namespace) -> None:
    """The files that were asked for."""
    from kerneton.files.output import replacing

    if args.html:
        report.to_html(args.html, data, command=args.command_line)
    if args.markdown:
        report.to_markdown(args.markdown)
    if args.plot:
        with replacing(args.plot) as temporary:
            report.plot().savefig(temporary, dpi=150)


def _evaluate(args: argparse.Namespace, model: Any, data: SkeletonDataset, **options: Any) -> Report:
    from kerneton.report.evaluation import evaluate

    return evaluate(
        model,
        data,
        args.protocol,
        progress=progress_of(args),
        n_jobs=args.jobs,
        **options,
    )


def _evaluate_for_page(args: argparse.Namespace, model: Any, data: SkeletonDataset) -> Report:
    """The same labels, and besides which joints matter and probabilities, where there is enough to learn them from."""
    try:
        return _evaluate(args, model.set_params(calibrate=True), data, importance=True)
    except DataError as error:
        report = _evaluate(args, model.set_params(calibrate=False), data, importance=True)
        warnings.warn(f"the page has no probabilities: {error}", stacklevel=2)
        return report
