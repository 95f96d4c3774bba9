"""What all commands share: options, checks of outputs, text for the terminal, values given as NAME=VALUE."""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import os
import re
import sys
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from kerneton.cli._reading import add_reading, one_skeleton, reading_options, tell_conversion
from kerneton.data.progress import Progress, bar, silent
from kerneton.exceptions import MissingDataError, ParameterError
from kerneton.files.output import write_text

if TYPE_CHECKING:
    from kerneton.data.sequence import SkeletonDataset
    from kerneton.recognize.recognizer import Recognizer


@dataclass(frozen=True)
class Output:
    """The result of a command: text for people, and the same as plain data for ``--json``."""

    text: str
    data: Any = field(default_factory=dict)
    then: Callable[[], None] | None = None  # writes files, after the text is printed


def add_command(
    subparsers: Any, name: str, run: Callable[[argparse.Namespace], Output], *, help: str, examples: str
) -> argparse.ArgumentParser:
    """A parser for one command with the common options; ``help`` is one line, ``examples`` several."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        name,
        help=help,
        description=help[0].upper() + help[1:] + ".",
        epilog=f"examples:\n{examples.rstrip()}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", metavar="FILE", help="write the result as JSON to FILE (- for the screen)")
    parser.add_argument("-q", "--quiet", action="store_true", help="do not print the result or the progress")
    parser.set_defaults(run=run)
    return parser


def add_data_home(parser: argparse.ArgumentParser) -> None:
    """The option that names the folder of published data sets."""
    parser.add_argument(
        "--data-home", metavar="FOLDER", help="folder of published data sets (default: $KERNETON_DATA)"
    )


def add_data(parser: argparse.ArgumentParser) -> None:
    """A data set by name, or a folder of recordings; `load_data` loads it."""
    parser.add_argument(
        "data",
        metavar="DATA",
        help="name of a data set, folder of recordings, or file with many recordings",
    )
    add_data_home(parser)
    add_folder_options(parser)


def load_data(args: argparse.Namespace, **options: Any) -> SkeletonDataset:
    """The recordings that the options of `add_data` name; further options go to `load_folder`."""
    from kerneton.datasets import LOADERS, load_dataset

    if args.data in LOADERS:
        return load_dataset(args.data, args.data_home)
    if not Path(args.data).exists():
        raise MissingDataError(
            f"{args.data!r} is neither a folder nor a data set ({', '.join(LOADERS)}), nor a file of recordings"
        )
    data = load_recordings(args.data, args, **options)
    tell_conversion(data.conversion, args)
    return one_skeleton(data, args)


def add_folder_options(parser: argparse.ArgumentParser) -> None:
    """Options for reading the files of a folder; `load_recordings` applies them."""
    group = parser.add_argument_group("folders of recordings (default: LABEL/SUBJECT/FILE)")
    group.add_argument(
        "--pattern", metavar="TEXT", help="pattern of file names, such as 'a{label}_s{subject}_e{take}'"
    )
    group.add_argument("--index", metavar="FILE", help="a table with the columns file, label and subject")
    add_reading(group)


def load_recordings(path: str, args: argparse.Namespace, **options: Any) -> SkeletonDataset:
    """The recordings of a folder or of one file, read with the options of `add_folder_options`."""
    from kerneton.files.folder import load_folder

    options |= {name: getattr(args, name) for name in ("pattern", "index", "skip_broken")}
    return load_folder(path, progress=progress_of(args), **options, **reading_options(args))


def add_model(parser: argparse.ArgumentParser) -> None:
    """A preset and parameters on top of it; `make_model` builds the model."""
    parser.add_argument(
        "--preset",
        metavar="NAME",
        help="tensor, auto, paper or exact (default: the default recogniser; paper with --kernel or --set)",
    )
    parser.add_argument("--kernel", metavar="NAME", help="the paper's sck, dck or sck+dck (default: sck+dck)")
    parser.add_argument(
        "--view",
        metavar="NAME",
        help="free (people may face any direction), fixed (as the camera sees them) or auto (default: auto)",
    )
    parser.add_argument(
        "--set",
        metavar="NAME=VALUE",
        dest="settings",
        action="append",
        default=[],
        help="set a parameter, such as sck__power=0.3; may be given several times",
    )
    add_device(parser)


def add_device(parser: argparse.ArgumentParser) -> None:
    """Where the kernels run."""
    parser.add_argument("--device", metavar="NAME", help="cuda for the GPU (default: the CPU)")


def add_scheduler(parser: argparse.ArgumentParser) -> None:
    """A Dask cluster; `client_of` connects to it."""
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="read the files and compute on the Dask cluster of this scheduler, such as tcp://host:8786",
    )
    parser.add_argument(
        "--read-here",
        action="store_true",
        help="with --scheduler: read the files here and send the recordings, for workers that do not see the files",
    )


def client_of(args: argparse.Namespace) -> Any:
    """A context with a client of the scheduler that `add_scheduler` asked for, or with None."""
    if args.scheduler is None:
        return nullcontext()
    from kerneton.recognize.cluster import connect

    return connect(args.scheduler)


def reading_on(client: Any, args: argparse.Namespace) -> dict[str, Any]:
    """The option of `load_folder` that reads on a cluster, where there is one."""
    if client is None or args.read_here:
        return {}
    from kerneton.recognize.cluster import reader

    return {"read_all": reader(client)}


def all_cores() -> Any:
    """A context whose computations may use every core, in threads."""
    from joblib import parallel_config

    return parallel_config(backend="threading", n_jobs=-1)


def make_model(args: argparse.Namespace, **options: Any) -> Recognizer:
    """The recogniser that the options of `add_model` describe; ``options`` are passed to `make_recognizer`."""
    from kerneton.recognize.presets import make_recognizer

    names = ("preset", "kernel", "view")
    chosen = {name: value for name in names if (value := getattr(args, name)) is not None}
    settings = parse_settings(args.settings)
    if settings and not chosen:
        chosen = {"preset": "paper"}  # the preset whose parameters --set can name
    model = make_recognizer(**chosen, device=args.device, **options)
    known = model.get_params()
    return model.set_params(**{find_parameter(name, known): value for name, value in settings.items()})


def find_parameter(name: str, known: Iterable[str]) -> str:
    """The full name of a parameter, from the full name or from some of its parts in order, including the last, if that is unique.

    >>> find_parameter("sck__power", ["sck__kernel__power", "dck__kernel__power", "machine__C"])
    'sck__kernel__power'
    """
    known = list(known)
    found = [full for full in known if _names(name.split("__"), full.split("__"))]
    if name in found or len(found) == 1:
        return name if name in found else found[0]
    if found:
        raise ParameterError(
            f"parameter {name!r} is ambiguous: it may be {', '.join(found)}; give the full name"
        )
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.3)
    raise ParameterError(f"no parameter {name!r}" + (f"; did you mean {' or '.join(near)}?" if near else ""))


def _names(some: list[str], full: list[str]) -> bool:
    rest = iter(full)
    return some[-1] == full[-1] and all(part in rest for part in some)


def progress_of(args: argparse.Namespace) -> Progress:
    """A progress bar on stderr, or none with ``--quiet``."""
    return silent if args.quiet else bar


def deliver(output: Output, args: argparse.Namespace) -> None:
    """Print the text and write the JSON, according to the options."""
    to_screen = args.json == "-"
    if output.text and not args.quiet and not to_screen:
        print(output.text)
    sys.stdout.flush()
    if output.then is not None:
        output.then()
    if args.json:
        text = json.dumps(output.data, indent=2, allow_nan=False) + "\n"
        if to_screen:
            sys.stdout.write(text)
        else:
            write_text(args.json, text)
    sys.stdout.flush()


def parse_settings(settings: Iterable[str]) -> dict[str, Any]:
    """Parameters from NAME=VALUE; the value is a Python literal or a plain word.

    >>> parse_settings(["sck__power=0.3", "sck__joints=['head', 3]", "dck__joints=E"])
    {'sck__power': 0.3, 'sck__joints': ['head', 3], 'dck__joints': 'E'}
    """
    parsed = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name.strip():
            raise ParameterError(f"--set takes NAME=VALUE, such as sck__power=0.3, got {setting!r}")
        try:
            parsed[name.strip()] = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError):
            parsed[name.strip()] = value.strip()
    return parsed


_OUTPUTS = ("json", "csv", "output", "target", "html", "markdown", "plot")
_INPUTS = ("data", "files", "file", "model", "source", "path", "index")
_FILL_FOLDERS = ("demo", "reproduce", "cut", "convert")  # commands whose output may be a folder


def check_arguments(args: argparse.Namespace) -> None:
    """Refuse outputs that cannot be written, before anything is computed."""
    given = vars(args)
    command = args.run.__module__.rpartition(".")[2]
    outputs: list[str] = []
    folders: list[str] = []
    for name in _OUTPUTS:
        path = given.get(name)
        if path:
            fills = command in _FILL_FOLDERS and name in ("output", "target")
            is_folder = fills and (os.path.isdir(path) or not os.path.splitext(path)[1])
            (folders if is_folder else outputs).append(path)
    if outputs or folders:
        from kerneton.files.output import check_outputs

        check_outputs(outputs, inputs=_paths(given), folders=folders)


def _paths(given: dict[str, Any]) -> list[str]:
    values = [given[name] for name in _INPUTS if given.get(name)]
    return [os.fspath(path) for value in values for path in (value if isinstance(value, list) else [value])]


# Control characters other than tab and newline, marks that change the direction of text, and bytes that are not text.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str, stream: TextIO | None = None) -> str:
    r"""Text with control characters, and characters that the encoding of ``stream`` lacks, written as escapes.

    Labels and names of recordings may contain escape sequences, which could colour, erase or forge what a terminal shows.

    >>> print(printable("wave\x1b[2J"))
    wave\x1b[2J
    """
    return encodable(_UNSAFE.sub(lambda c: c[0].encode("unicode_escape").decode("ascii"), text), stream)


def encodable(text: str, stream: TextIO | None = None) -> str:
    r"""Text with characters that the encoding of ``stream`` lacks written as escapes; all others stay.

    >>> print(encodable("caf\udce9"))
    caf\udce9
    """
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
