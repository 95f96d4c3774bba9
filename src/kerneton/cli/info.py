"""kerneton info: what is installed, which data sets are at hand, what is in a file or folder."""

from __future__ import annotations

import argparse
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kerneton.cli._common import Output, add_command, add_data_home

_EXAMPLES = """\
  kerneton info                    versions, extras, data sets found
  kerneton info wave.bvh           what is in a file
  kerneton info my-recordings      what is in a folder of recordings
"""
_EXTRAS = {"fast": "numba", "plot": "matplotlib", "frame": "pandas", "torch": "torch"}


def add_parser(subparsers: Any) -> None:
    """Say what the command takes."""
    parser = add_command(
        subparsers,
        "info",
        run,
        help="tell what is installed and which data sets are found, or what is in a file or folder",
        examples=_EXAMPLES,
    )
    parser.add_argument("path", metavar="PATH", nargs="?", help="a recording, or a folder of recordings")
    add_data_home(parser)


def run(args: argparse.Namespace) -> Output:
    """Describe the installation, or a path."""
    return describe_installation(args.data_home) if args.path is None else describe_path(args.path)


def describe_installation(data_home: str | None = None) -> Output:
    """Versions, extras and data sets."""
    from kerneton._tables import aligned
    from kerneton.datasets import LOADERS
    from kerneton.datasets._home import find_home
    from kerneton.report import versions

    home = find_home(data_home)
    folders = {name: import_module(f"kerneton.datasets.{name}").SOURCE.folder for name in LOADERS}
    found = versions()
    extras = {extra: find_spec(module) is not None for extra, module in _EXTRAS.items()}
    datasets = {name: home is not None and (home / folder).is_dir() for name, folder in folders.items()}
    rows = [
        ["versions", ""],
        *([f"  {name}", version] for name, version in found.items()),
        ["extras", ""],
        *(
            [f"  {name}", "found" if there else f"pip install 'kerneton[{name}]'"]
            for name, there in extras.items()
        ),
        ["data sets", f"in {home}" if home else "no data home: set KERNETON_DATA"],
        *([f"  {name}", "found" if there else "not found"] for name, there in datasets.items()),
        ["generated actions", "always there: kerneton demo"],
    ]
    home_name = None if home is None else str(home)
    data = {"versions": found, "extras": extras, "data_home": home_name, "datasets": datasets}
    return Output(aligned(rows), data)


def describe_path(path: str) -> Output:
    """Recordings of a file, or the summary of a folder."""
    if Path(path).is_dir():
        from kerneton.folder import load_folder, summarize

        summary = summarize(load_folder(path))
        return Output(str(summary), summary.to_dict())
    from kerneton._tables import aligned
    from kerneton.readers import read, recognize

    recordings = [
        {
            "name": s.name,
            "label": s.label,
            "subject": s.subject,
            "frames": s.n_frames,
            "joints": s.n_joints,
            "layout": None if s.layout is None else s.layout.name,
            "fps": s.fps,
        }
        for s in read(path)
    ]
    rows = [list(recordings[0])]
    rows += [["-" if value is None else f"{value}" for value in row.values()] for row in recordings]
    data = {"path": str(path), "format": recognize(path), "recordings": recordings}
    return Output(f"{path}: {data['format']}, {len(recordings)} recordings\n\n{aligned(rows)}", data)
