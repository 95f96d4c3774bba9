"""kerneton evaluate: train and test on a published data set or on a folder of recordings."""

from __future__ import annotations

import argparse
import contextlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kerneton.cli import Output, PathTo, add_command
from kerneton.cli._options import add_data, add_model, all_cores, load_data, make_model, progress_of
from kerneton.cli._settings import whole
from kerneton.exceptions import ParameterError

if TYPE_CHECKING:
    from kerneton.data.sequence import SkeletonDataset
    from kerneton.report.results import Report

_EXAMPLES = """\
  kerneton evaluate florence3d --data-home ~/skeletons
  kerneton evaluate msr_action3d --protocol li --set sck__power=0.3
  kerneton evaluate my-recordings --protocol leave-one-subject-out --html report.html
"""


def add_parser(subparsers: Any) -> None:
    """Add the parser of the command."""
    parser = add_command(
        subparsers,
        "evaluate",
        run,
        help="train and test a recogniser on a data set or a folder, and report its accuracy",
        examples=_EXAMPLES,
    )
    add_data(parser)
    parser.add_argument(
        "--protocol",
        metavar="NAME",
        help="how to split subjects into training and test: half, leave-one-subject-out, odd-even, wang, li, k-fold, xsub, xview, xset or published "
        "(default: the published protocol of the data set, else leave-one-subject-out)",
    )
    add_model(parser)
    parser.add_argument(
        "--jobs",
        metavar="N",
        type=whole,
        default=1,
        help="splits that run in parallel (default: 1)",
    )
    parser.add_argument(
        "--scratch",
        metavar="FOLDER",
        type=PathTo.FILL,
        help="folder for the features of more than 3,000 recordings; an interrupted evaluation resumes from it",
    )
    parser.add_argument(
        "--html", metavar="FILE", type=PathTo.WRITE, help="write the report as an HTML page"
    )
    parser.add_argument(
        "--with-film",
        action="store_true",
        help="with --html: show films beside the skeletons; the page then contains pictures of people",
    )
    parser.add_argument(
        "--markdown", metavar="FILE", type=PathTo.WRITE, help="write the report as Markdown"
    )
    parser.add_argument(
        "--plot", metavar="FILE", type=PathTo.DRAW, help="write the confusion matrix as a picture"
    )


def run(args: argparse.Namespace) -> Output:
    """Load, evaluate, report."""
    from kerneton.data.parameters import check_choice
    from kerneton.datasets.protocols import PROTOCOLS

    if args.protocol is not None:
        check_choice("protocol", args.protocol, PROTOCOLS)
    if args.with_film and not args.html:
        raise ParameterError("--with-film needs --html")
    model, data = make_model(args), load_data(args)
    films = films_of(data, Path(args.data)) if args.with_film else None
    # Splits that run in parallel already share the cores.
    with all_cores() if args.jobs == 1 else contextlib.nullcontext():
        report = _evaluate(args, model, data, importance=bool(args.html))
    return Output(str(report), report.to_dict(), lambda: _write(report, data, args, films))


def _write(
    report: Report, data: SkeletonDataset, args: argparse.Namespace, films: dict[str, Path] | None
) -> list[str]:
    """Write the requested files."""

    if args.html:
        report.to_html(args.html, data, command=args.command_line, films=films)
    if args.markdown:
        report.to_markdown(args.markdown)
    if args.plot:
        from kerneton.report.pictures import save_figure

        save_figure(report.plot(), args.plot)
    return [file for file in (args.html, args.markdown, args.plot) if file]


def _evaluate(
    args: argparse.Namespace, model: Any, data: SkeletonDataset, **options: Any
) -> Report:
    from kerneton.report.evaluation import evaluate

    return evaluate(
        model,
        data,
        args.protocol,
        progress=progress_of(args),
        n_jobs=args.jobs,
        scratch=args.scratch,
        **options,
    )


def films_of(data: SkeletonDataset, folder: Path) -> dict[str, Path]:
    """The films of recordings by name: those that they were read from, or that lie beside them."""
    from kerneton.files.readers import FORMATS

    films: dict[str, Path] = {}
    for recording in data:
        for name in (recording.name, re.sub(r"_\d+$", "", recording.name)):
            paths = [folder / f"{name}{suffix}" for suffix in FORMATS["film"].suffixes]
            if there := next((path for path in paths if path.is_file()), None):
                films.setdefault(recording.name, there)
    if not films:
        raise ParameterError(f"--with-film: no recording of {folder} has a film")
    return films
