"""kerneton studio: collect, label, train, watch and share on a page of this machine."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kerneton.cli._common import Output, add_command

_EXAMPLES = """\
  kerneton studio                      open the page on the folder kerneton-studio
  kerneton studio my-recordings        open it on a folder of recordings, LABEL/SUBJECT/FILE
  kerneton studio --get-pose           fetch what cameras and videos need, once
"""


def add_parser(subparsers: Any) -> None:
    """Say what the command takes."""
    parser = add_command(
        subparsers,
        "studio",
        run,
        help="open a page in the browser to collect, label, train, watch and share",
        examples=_EXAMPLES,
    )
    parser.add_argument(
        "folder",
        metavar="FOLDER",
        nargs="?",
        type=Path,
        default=Path("kerneton-studio"),
        help="where the recordings lie; made if it is not there (default: kerneton-studio)",
    )
    parser.add_argument("--port", metavar="N", type=int, help="port to listen on (default: from 8765 on)")
    parser.add_argument("--no-browser", action="store_true", help="print the address, open nothing")
    parser.add_argument(
        "--get-pose",
        metavar="FILE",
        nargs="?",
        const="",
        help="fetch the pose estimator for cameras and videos with npm, or take it from FILE; then leave",
    )


def run(args: argparse.Namespace) -> Output:
    """Fetch the pose package, or serve until interrupted."""
    if args.get_pose is not None:
        from kerneton.studio.pose import get_pose

        folder = get_pose(args.get_pose or None)
        return Output(f"the pose package is in {folder}; its checksum is right", {"folder": str(folder)})
    from kerneton.studio.server import serve

    def announce(address: str) -> None:
        if not args.quiet:
            print(f"Kerneton studio on {args.folder}: {address}\nCtrl-C ends it.", flush=True)

    serve(args.folder, port=args.port, browser=not args.no_browser, announce=announce)
    return Output("", {"folder": str(args.folder)})
