"""kerneton export: a trained model out of Python, into a web page, JavaScript, or C."""

from __future__ import annotations

import argparse
from typing import Any

from kerneton.cli import Output, PathTo, add_command

_EXAMPLES = """\
  kerneton export model.kern -o page --to web --pose package   a page with a camera, for any static host
  kerneton export model.kern -o module                         a module for browsers, workers and node
  kerneton export model.kern -o library --to c                 header, libraries, examples for C and C++
"""
_NEXT = {
    "js": 'import {load} from "./kerneton.js"; const model = await load("model.knx");',
    "web": "python -m http.server --directory {folder}   (then open http://localhost:8000)",
    "c": "{folder}/examples/predict.c shows the calls; {folder}/kerneton.h explains them",
}


def add_parser(subparsers: Any) -> None:
    """Add the parser of the command."""
    parser = add_command(
        subparsers,
        "export",
        run,
        help="take a model out of Python: web page, JavaScript, C",
        examples=_EXAMPLES,
    )
    parser.add_argument(
        "model", metavar="MODEL", type=PathTo.READ, help="a model that kerneton fit wrote"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FOLDER",
        type=PathTo.FILL,
        required=True,
        help="where the files go",
    )
    parser.add_argument("--to", choices=("js", "web", "c"), default="js", help="default: js")
    parser.add_argument(
        "--pose",
        metavar="FOLDER",
        type=PathTo.READ,
        help="npm's package @mediapipe/pose, unpacked, for the camera of the page",
    )
    parser.add_argument(
        "--demo",
        metavar="RECORDINGS",
        type=PathTo.READ,
        help="a file or folder that the page plays without a camera",
    )


def run(args: argparse.Namespace) -> Output:
    """Load, export, list."""
    from kerneton.exceptions import ParameterError
    from kerneton.files.folder import load_folder
    from kerneton.recognize.model_reader import load
    from kerneton.runtime import export

    if args.to != "web" and (args.pose or args.demo):
        raise ParameterError("--pose and --demo are for the page: kerneton export --to web")
    demo = None if args.demo is None else list(load_folder(args.demo))
    model = load(args.model)
    written = export(model, args.output, args.to, pose=args.pose, demo=demo)
    sizes = {path.relative_to(args.output).as_posix(): path.stat().st_size for path in written}
    lines = [f"wrote {len(written)} files ({sum(sizes.values()) / 1e6:.1f} MB) into {args.output}"]
    lines += [f"  {name:<28} {_size(sizes[name])}" for name in sorted(sizes) if "/" not in name]
    if args.to == "web" and args.pose is None:
        lines.append("without --pose the page has its demo, but no camera")
    lines.append(_NEXT[args.to].format(folder=args.output))
    return Output("\n".join(lines), {"files": sizes})


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e3:.0f} kB"
