"""kerneton info: installed versions, data sets found, contents of a file or folder."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kerneton.cli import Output, PathTo, add_command, in_own_options
from kerneton.cli._options import (
    add_data_home,
    add_folder_options,
    load_recordings,
    pose_options,
    progress_of,
)
from kerneton.cli._recordings import warn_misspelt_side
from kerneton.exceptions import KernetonError

if TYPE_CHECKING:
    from kerneton.data.segments import Segment

_EXAMPLES = """\
  kerneton info                    versions, extras, data sets found
  kerneton info wave.bvh           what is in a file
  kerneton info my-recordings      what is in a folder of recordings
  kerneton info model.kern         what is in a model file
  kerneton info florence3d         what is in a published data set
"""
_SHOWN = 20  # recordings of a file that are listed one by one
_EXTRAS = {
    "plot": "matplotlib",
    "frame": "pandas",
    "formats": "h5py",
    "studio": "starlette",
    "torch": "torch",
    "video": "av",
}


def add_parser(subparsers: Any) -> None:
    """Add the parser of the command."""
    parser = add_command(
        subparsers,
        "info",
        run,
        help="show what is installed and which data sets are found, or what is in a file or folder",
        examples=_EXAMPLES,
    )
    parser.add_argument(
        "path",
        metavar="PATH",
        nargs="?",
        type=PathTo.READ,
        help="a recording, a folder of recordings, a model file, or the name of a published data set",
    )
    add_data_home(parser)
    add_folder_options(parser)


def run(args: argparse.Namespace) -> Output:
    """Describe the installation, a folder, or a file."""
    if args.path is None:
        return describe_installation(args.data_home)
    if Path(args.path).suffix == ".kern":
        return describe_model(args.path)
    from kerneton.datasets import is_dataset

    if is_dataset(args.path, args.data_home):
        return describe_dataset(args)
    if not Path(args.path).is_dir():
        return describe_file(args)
    from kerneton.data.checks import common_layout
    from kerneton.files.folder import listed_entries
    from kerneton.files.segments import read_all_but_segments
    from kerneton.files.summary import summarize

    data = load_recordings(args.path, args, read_all=read_all_but_segments)
    warn_misspelt_side(common_layout(data))
    summary = summarize(data, progress_of(args))
    facts = summary.to_dict()
    films = film_doubts([entry.path for entry in listed_entries(Path(args.path))], args)
    facts["warnings"] += [f"{film}: {told}" for film, doubts in films.items() for told in doubts]
    facts |= {
        name: [in_own_options(told, args) for told in facts[name]] for name in ("notes", "warnings")
    }
    return Output(str(replace(summary, notes=facts["notes"], warnings=facts["warnings"])), facts)


def describe_dataset(args: argparse.Namespace) -> Output:
    """A published data set, or the generated one, by its name."""
    from kerneton.datasets import PUBLISHED, load_dataset
    from kerneton.files.summary import summarize

    data = load_dataset(args.path, args.data_home)
    summary = summarize(data, progress_of(args))
    facts = summary.to_dict()
    source = ""
    if args.path in PUBLISHED:
        facts["source"] = import_module(f"kerneton.datasets.{args.path}").SOURCE.publisher
        source = f"\n  source    {facts['source']}"
    return Output(f"{summary}{source}", facts)


def describe_installation(data_home: str | None = None) -> Output:
    """Versions, extras and data sets."""
    from kerneton.datasets import PUBLISHED
    from kerneton.datasets._home import find_home
    from kerneton.report.results import versions
    from kerneton.report.tables import aligned

    home = find_home(data_home)
    published = {name: import_module(f"kerneton.datasets.{name}").SOURCE for name in PUBLISHED}
    found = versions()
    extras = {extra: find_spec(module) is not None for extra, module in _EXTRAS.items()}
    datasets = {
        name: home is not None and (home / s.folder).is_dir() for name, s in published.items()
    }
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
        ["  synthetic", "always available"],
    ]
    home_name = None if home is None else str(home)
    data = {"versions": found, "extras": extras, "data_home": home_name, "datasets": datasets}
    return Output(aligned(rows), data)


def describe_file(args: argparse.Namespace) -> Output:
    """The recordings of one file."""
    from kerneton.data.segments import segment_problems, short_segments
    from kerneton.data.wording import many
    from kerneton.files.readers import detect_format
    from kerneton.files.segments import read_all_but_segments
    from kerneton.files.summary import describe_axes
    from kerneton.report.tables import aligned

    data = load_recordings(args.path, args, read_all=read_all_but_segments)
    warn_misspelt_side(data.layout)
    uncut = any(s.segments for s in data)
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
        | ({"segments": len(s.segments)} if uncut else {})
        for s in data
    ]
    kind, n = detect_format(args.path), len(recordings)
    names = [] if data.layout is None else list(data.layout.joints)
    done = data.conversion
    axes = describe_axes(data, done)
    notes = [
        in_own_options(n, args) for n in ([] if done is None else done.notes + done.statements)
    ]
    rows = [list(recordings[0])]
    rows += [
        ["-" if v is None else f"{v:g}" if isinstance(v, float) else f"{v}" for v in row.values()]
        for row in recordings[:_SHOWN]
    ]
    more = f"\n... and {n - _SHOWN} more" if n > _SHOWN else ""
    lines = [f"{args.path}: {kind}, {many(n, 'recording')}", "", f"{aligned(rows)}{more}", ""]
    lines += [f"joints  {', '.join(names)}"] * bool(names) + [f"axes    {axes}"] * bool(axes)
    lines += [f"note    {note}" for note in notes]
    for s in data[:_SHOWN]:
        lines += [f"segment {describe_segment(part, s.fps)}" for part in s.segments]
        lines += [
            f"warning {s.name}: {problem}" for problem in segment_problems(s.segments, s.n_frames)
        ]
    lines += [
        f"warning {problem}"
        for problem in short_segments(part for s in data for part in s.segments)
    ]
    if kind == "film":
        told = film_doubts([Path(args.path)], args).get(Path(args.path), ())
        lines += [f"warning {in_own_options(message, args)}" for message in told]
    facts: dict[str, Any] = {"joint_names": names, "axes": axes, "notes": notes}
    facts["segments"] = {
        s.name: [[p.label, p.start, p.stop] for p in s.segments] for s in data if s.segments
    }
    return Output(
        "\n".join(lines).rstrip(),
        {"path": args.path, "format": kind, "recordings": recordings, **facts},
    )


def film_doubts(paths: Sequence[Path], args: argparse.Namespace) -> dict[Path, list[str]]:
    """What speaks against the poses of the films among some files, by file."""
    from kerneton.files.readers import FORMATS

    films = [path for path in paths if path.suffix.lower() in FORMATS["film"].suffixes]
    if not films:
        return {}
    from kerneton.video.estimator import PoseOptions
    from kerneton.video.poses import doubts

    told = {}
    for film in films:
        with suppress(KernetonError):  # a film that cannot be read was left out with a warning
            told[film] = doubts(film, pose_options(args) or PoseOptions())
    return told


def describe_segment(part: Segment, fps: float | None) -> str:
    """A segment as a line.

    >>> from kerneton import Segment
    >>> describe_segment(Segment("wave", 30, 90), 30.0)
    'wave  frames 30 to 89, 1.00 to 3.00 s'
    """
    seconds = "" if fps is None else ", {:.2f} to {:.2f} s".format(*part.seconds(fps))
    return f"{part.label}  frames {part.start} to {part.stop - 1}{seconds}"


def describe_model(path: str) -> Output:
    """What a model file contains."""
    from kerneton.data.layouts import layout_words
    from kerneton.data.wording import many
    from kerneton.recognize.model_archive import model_info
    from kerneton.report.tables import aligned

    info = model_info(path)
    training = info["training"] or {}
    rows = [
        ["labels", ", ".join(info["labels"])],
        ["joints", ", ".join(layout_words(str(name)) for name in info["layouts"]) or "unnamed"],
        ["size", f"{info['bytes'] / 1e6:.1f} MB, {info['numbers']} numbers"],
        ["written by", ", ".join(f"{name} {v}" for name, v in (info["written_by"] or {}).items())],
    ]
    if info["spots"]:
        rows.insert(1, ["spots", f"{', '.join(info['spots'])} in long recordings and streams"])
    if training:
        subjects = (
            f" of {many(len(training['subjects']), 'subject')}" if training["subjects"] else ""
        )
        rows.insert(
            1,
            [
                "trained on",
                f"{many(training['recordings'], 'recording')}{subjects}, {training['date']}",
            ],
        )
    return Output(f"{path}: model\n\n{aligned([['', ''], *rows]).strip()}", info)
