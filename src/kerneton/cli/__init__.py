"""The ``kerneton`` command: parse, one library call, print.

A command is a module of this package with two functions. ``add_parser(subparsers)`` says what it takes (see
`kerneton.cli._common.add_command`); ``run(args)`` makes the library call and returns an `Output`. The name
goes into ``COMMANDS``. Modules import what is heavy inside ``run``, so that ``kerneton --help`` is instant.
"""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import shlex
import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace

from kerneton.cli._common import Output, check_arguments, deliver, printable
from kerneton.exceptions import KernetonError

COMMANDS = (
    *("demo", "studio", "info", "show", "convert", "cut"),
    *("spot", "watch"),
    *("fit", "predict", "explain", "evaluate", "reproduce", "bench"),
)  # modules of this package, in the order in which help lists them

_EPILOG = """\
examples:
  kerneton demo                              try it without any data
  kerneton studio                            collect, label and train in the browser
  kerneton evaluate my-recordings            measure how accurately the actions in a folder are recognised
  kerneton fit my-recordings -o model.kern   train a model
  kerneton predict model.kern new.csv        predict the action in a new recording
  kerneton evaluate --help                   help for one command
"""


def build_parser(names: Sequence[str] = COMMANDS) -> argparse.ArgumentParser:
    """The parser with every command, or with some."""
    parser = argparse.ArgumentParser(
        prog="kerneton",
        description="Teach a computer an action from a handful of skeleton recordings.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in names:
        importlib.import_module(f"kerneton.cli.{name}").add_parser(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 0 for success, 1 for an error in the input, 2 for wrong usage (by argparse).

    >>> main(["--version"])
    Traceback (most recent call last):
    SystemExit: 0
    """
    argv = sys.argv[1:] if argv is None else list(argv)
    # Only the command that runs is imported; anything else, such as --help, is handled by the parser of all commands.
    args = build_parser(argv[:1] if argv[:1] and argv[0] in COMMANDS else COMMANDS).parse_args(argv)
    args.command_line = shlex.join(["kerneton", *argv])
    notes = _Notes(logging.WARNING)
    logging.getLogger("kerneton").addHandler(notes)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warn  # type: ignore[assignment]
            check_arguments(args)
            output: Output = args.run(args)
        deliver(replace(output, text=printable(output.text, sys.stdout)), args)
    except KernetonError as error:
        return _fail(error)
    except BrokenPipeError:  # the reader of our output went away, as in kerneton info | head -1
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}" if error.filename else error)
    except KeyboardInterrupt:
        print("\nkerneton: interrupted", file=sys.stderr)
        return 130
    finally:
        logging.getLogger("kerneton").removeHandler(notes)
    return 0


class _Notes(logging.Handler):
    """Prints each message that the library logs once, however many splits log it."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.told: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        if message not in self.told:
            self.told.add(message)
            _complain("note", message)


def _warn(message: Warning | str, *_: object) -> None:
    _complain("warning", message)


def _fail(error: object) -> int:
    _complain("error", error)
    return 1


def _complain(kind: str, message: object) -> None:
    print(f"kerneton: {kind}:", printable(" ".join(str(message).split()), sys.stderr), file=sys.stderr)


class _Version(argparse.Action):
    """Looks up the version only when it is requested."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from kerneton import __version__

        print(f"kerneton {__version__}")
        parser.exit()
