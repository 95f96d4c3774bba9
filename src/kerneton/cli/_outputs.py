"""The outputs that a command line names, checked before the command runs."""

from __future__ import annotations

import argparse
import os
from typing import Any

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
        from kerneton.files.output_checks import check_outputs

        check_outputs(outputs, inputs=_paths(given), folders=folders)


def _paths(given: dict[str, Any]) -> list[str]:
    values = [given[name] for name in _INPUTS if given.get(name)]
    return [os.fspath(path) for value in values for path in (value if isinstance(value, list) else [value])]
