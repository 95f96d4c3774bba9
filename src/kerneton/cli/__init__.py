"""The ``kerneton`` command: parse, one library call, print.

A command is a module of this package with two functions. ``add_parser(subparsers)`` says what it
takes (see `add_command`); ``run(args)`` makes the library call and returns an `Output`. The name
goes into ``COMMANDS``. Modules import what is heavy inside ``run``, so that ``kerneton --help`` is
instant. Options that several commands share are in `kerneton.cli._options`.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import json
import logging
import os
import re
import shlex
import sys
import textwrap
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, TextIO

from kerneton.data.notes import Notes
from kerneton.exceptions import KernetonError, ParameterError
from kerneton.files.output import write_text

_STILL = ("", ".png", ".svg", ".pdf", ".jpg", ".jpeg")  # kinds of pictures; without an ending PNG
_MOVING = (".gif", ".mp4")
# Control characters other than tab and newline, marks that change the direction of text, and bytes
# that are not text.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)

COMMANDS = (
    *("demo", "studio", "pose", "record", "info", "show", "convert", "cut", "spot", "watch"),
    *("fit", "predict", "explain", "evaluate", "export", "reproduce"),
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
        formatter_class=_Help,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in names:
        importlib.import_module(f"kerneton.cli.{name}").add_parser(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 0 for success, 1 for an error in the input, 2 for
    wrong usage (by argparse).

    >>> main(["--version"])
    Traceback (most recent call last):
    SystemExit: 0
    """
    argv = sys.argv[1:] if argv is None else list(argv)
    # Streams may be closed, as by >&- or in a service.
    sys.stdout, sys.stderr = (s or open(os.devnull, "w") for s in (sys.stdout, sys.stderr))  # noqa: SIM115
    # Only the command that runs is imported; anything else, such as --help, is handled by the
    # parser of all commands.
    parser = build_parser(argv[:1] if argv[:1] and argv[0] in COMMANDS else COMMANDS)
    if argv[:1] and argv[0] not in COMMANDS and not argv[0].startswith("-"):
        from kerneton.cli._settings import nearest

        hint = nearest(argv[:1], COMMANDS) or "; kerneton --help lists them"
        parser.error(f"no command {argv[0]!r}{hint}")
    args, unknown = parser.parse_known_args(argv)
    if unknown:
        from kerneton.cli._settings import nearest_options

        args.parser.error(nearest_options(unknown, args.parser._actions))
    args.command_line = shlex.join(["kerneton", *argv])
    options = {action.dest for action in args.parser._actions if action.option_strings}
    notes = _Notes(options)
    logging.getLogger("kerneton").addHandler(notes)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = functools.partial(_warn, options)
            check_arguments(args)
            with _for_a_reader():  # kerneton watch prints while it runs
                output: Output = args.run(args)
                deliver(replace(output, text=printable(output.text, sys.stdout)), args)
    except KernetonError as error:
        return _complain("error", error, options)
    except OSError as error:
        return _complain(
            "error", f"{error.filename}: {error.strerror}" if error.filename else error
        )
    except KeyboardInterrupt:
        print("\nkerneton: interrupted", file=sys.stderr)
        return 130
    finally:
        logging.getLogger("kerneton").removeHandler(notes)
    return 0


class _Notes(Notes):
    """Prints each note of the library once, however many splits log it."""

    def __init__(self, options: Collection[str]) -> None:
        super().__init__()
        self.options = options

    def emit(self, record: logging.LogRecord) -> None:
        if self.new(record):
            _complain("note", record.getMessage(), self.options)


def _warn(options: Collection[str], message: Warning | str, *_: object) -> None:
    # of Matplotlib
    if (found := re.match(r"Glyph (\d+) .*missing from", str(message))) is not None:
        message = f"the font of the picture has no {chr(int(found[1]))!r}"
    _complain("warning", message, options)


def _complain(kind: str, message: object, options: Collection[str] = ()) -> int:
    """Print one line on stderr, in which arguments of Python are named as the options of the
    command.
    """
    from kerneton.cli._settings import in_options

    text = in_options(" ".join(str(message).split()), options)
    print(f"kerneton: {kind}:", printable(text, sys.stderr), file=sys.stderr)
    return 1


def in_own_options(message: str, args: argparse.Namespace) -> str:
    """A message of the library with the options of this command instead of arguments of Python."""
    from kerneton.cli._settings import in_options

    return in_options(
        message, {action.dest for action in args.parser._actions if action.option_strings}
    )


class _Help(argparse.RawDescriptionHelpFormatter):
    def _split_lines(self, text: str, width: int) -> list[str]:
        # names stay whole
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)


class _Version(argparse.Action):
    """Looks up the version only when it is requested."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from kerneton import __version__

        print(f"kerneton {__version__}")
        parser.exit()


@dataclass(frozen=True)
class Output:
    """The result of a command: text for people, and the same as plain data for ``--json``."""

    text: str
    data: Any = field(default_factory=dict)
    # writes files after the text, and names them
    then: Callable[[], list[str] | None] | None = None


def add_command(
    subparsers: Any,
    name: str,
    run: Callable[[argparse.Namespace], Output],
    *,
    help: str,
    examples: str,
) -> argparse.ArgumentParser:
    """A parser for one command with the common options; ``help`` is one line, ``examples``
    several.
    """
    parser: argparse.ArgumentParser = subparsers.add_parser(
        name,
        help=help,
        description=help[0].upper() + help[1:] + ".",
        epilog=f"examples:\n{examples.rstrip()}",
        formatter_class=_Help,
    )
    shown = "write the result as JSON to FILE (- for the screen)"
    parser.add_argument("--json", metavar="FILE", type=PathTo.WRITE, help=shown)
    parser.add_argument(
        "-q", "--quiet", action="store_true", help="do not print the result or the progress"
    )
    parser.set_defaults(run=run, parser=parser)
    return parser


def deliver(output: Output, args: argparse.Namespace) -> None:
    """Print the text and write the JSON, according to the options."""
    # a screen with data holds no words
    silent = args.quiet or "-" in (args.json, getattr(args, "csv", None))
    with _for_a_reader():
        if output.text and not silent:
            print(output.text)
    files = (output.then and output.then()) or []
    with _for_a_reader():
        if args.json:
            text = json.dumps(output.data, indent=2, allow_nan=False)
            print(text) if args.json == "-" else write_text(args.json, text + "\n")
            files = [*files, args.json]
        if files and not silent:
            print("wrote", printable(", ".join(files), sys.stdout))


@contextmanager
def _for_a_reader() -> Iterator[None]:
    """If the reader of a pipe ends, as in ``kerneton evaluate ... | head -1``, the rest of the text
    is lost; files are still written.
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class PathTo(Enum):
    """What a command does with a path: the ``type`` of every option that takes one, by which
    `check_arguments` finds it.
    """

    READ = "a file or folder"
    FIND = "the folder of published data sets"
    WRITE = "a file"
    DRAW = "a still picture"
    ANIMATE = "a picture or an animation"
    FILL = "a folder that results go into"
    WRITE_OR_FILL = "a file, or a folder that results go into"

    def __call__(self, text: str) -> str:
        if not text:
            raise argparse.ArgumentTypeError(f"expected the name of {self.value}, got nothing")
        return text


def positive(text: str) -> float:
    """The ``type`` of an option for a positive number."""
    with suppress(ValueError):
        if 0 < (value := float(text)) < 1e6:
            return value
    raise argparse.ArgumentTypeError(f"expected a positive number, got {text!r}")


def unit(text: str) -> str:
    """The ``type`` of an option for a unit of length, by its symbol or a word."""
    from kerneton.data.stated import unit_named

    if (found := unit_named(text)) is None:
        raise argparse.ArgumentTypeError(
            f"no unit {text!r}; expected m, cm, mm, in, ft, or a word such as feet"
        )
    return found


def check_arguments(args: argparse.Namespace) -> None:
    """Refuse outputs that cannot be written or would overwrite what is read, before anything is
    computed.
    """
    given: dict[Any, list[str]] = {use: [] for use in PathTo}
    for action in args.parser._actions:
        if action.type in given and (value := getattr(args, action.dest)):
            given[action.type] += value if action.nargs in ("+", "*") else [value]
    for use, kinds in ((PathTo.DRAW, _STILL), (PathTo.ANIMATE, (*_STILL, *_MOVING))):
        for path in given[use]:
            if (kind := os.path.splitext(path)[1]).lower() not in kinds:
                known = (
                    ".gif, .mp4, .png, .svg or .pdf"
                    if use is PathTo.ANIMATE
                    else ".png, .svg or .pdf"
                )
                raise ParameterError(f"{path}: cannot write {kind!r}; choose {known}")
    files, folders = given[PathTo.WRITE], given[PathTo.FILL]
    pictures = given[PathTo.DRAW] + given[PathTo.ANIMATE]
    for path in given[PathTo.WRITE_OR_FILL]:
        (folders if is_folder(path) else files).append(path)
    if files or folders or pictures:
        from kerneton.files.output import check_outputs, lies_in

        inputs = given[PathTo.READ]
        for home in map(
            os.path.expanduser, given[PathTo.FIND] or [os.environ.get("KERNETON_DATA", "")]
        ):
            if home and any(lies_in(path, home) for path in (*files, *folders, *pictures)):
                from kerneton.datasets import published_folders

                inputs += published_folders(home)
        check_outputs(files, inputs=inputs, folders=folders, pictures=pictures)


def use_default(args: argparse.Namespace, name: str) -> None:
    """Write to a name that the user did not give, and therefore replace nothing."""
    if os.path.lexists(name):
        raise ParameterError(
            f"{name}: already there; -o {name} replaces it, -o and another name keeps both"
        )
    args.output = name
    check_arguments(args)


def is_folder(path: str) -> bool:
    """Whether a place for results is a folder: one that is there, or a name without an ending."""
    return os.path.isdir(path) or not os.path.splitext(path)[1]


def printable(text: str, stream: TextIO | None = None) -> str:
    r"""Text with control characters, and characters that the encoding of ``stream`` lacks, written
    as escapes.

    Labels and names of recordings may contain escape sequences, which could colour, erase or forge
    what a terminal shows.

    >>> print(printable("wave\x1b[2J"))
    wave\x1b[2J
    """
    return encodable(
        _UNSAFE.sub(lambda c: c[0].encode("unicode_escape").decode("ascii"), text), stream
    )


def encodable(text: str, stream: TextIO | None = None) -> str:
    r"""Text with characters that the encoding of ``stream`` lacks written as escapes; all others
    stay.

    >>> print(encodable("caf\udce9"))
    caf\udce9
    """
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
