"""kerneton studio: a local web page to collect, label, train, watch and share."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kerneton.cli import Output, PathTo, add_command
from kerneton.cli._settings import whole

_EXAMPLES = """\
  kerneton studio                      open the page on the folder kerneton-studio
  kerneton studio my-recordings        open it on a folder of recordings, LABEL/SUBJECT/FILE
  kerneton studio ward.zip             unpack the folder that somebody has sent, and open it
  kerneton pose --get                  fetch the networks for cameras and films, once
"""


def add_parser(subparsers: Any) -> None:
    """Add the parser of the command."""
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
        type=PathTo.READ,
        default="kerneton-studio",
        help="folder of recordings, created if it does not exist, or a .zip that Share has "
        "made, unpacked beside it (default: kerneton-studio)",
    )
    parser.add_argument(
        "--port",
        metavar="N",
        type=whole,
        help="port to listen on (default: the first free one from 8765)",
    )
    parser.add_argument(
        "--no-browser", action="store_true", help="print the address and do not open a browser"
    )


def run(args: argparse.Namespace) -> Output:
    """Serve until interrupted."""
    from kerneton.studio.server import serve

    folder = Path(args.folder)
    if folder.suffix.lower() == ".zip" and not folder.is_dir():
        from kerneton.studio.parcel import unpack

        folder = unpack(folder, folder.parent)

    def announce(address: str) -> None:
        if not args.quiet:
            print(f"Kerneton studio on {folder}: {address}\nPress Ctrl-C to stop.", flush=True)

    serve(folder, port=args.port, browser=not args.no_browser, announce=announce)
    return Output("", {"folder": args.folder})
