"""kerneton record: takes of a person in front of a camera, as recordings in a folder."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kerneton.cli import Output, PathTo, add_command, positive, printable
from kerneton.cli._options import add_poses, pose_options
from kerneton.cli._settings import whole
from kerneton.exceptions import DataError, KernetonError, ParameterError

if TYPE_CHECKING:
    from kerneton.video.cameras import Sight

_EXAMPLES = """\
  kerneton record my-recordings --label wave --subject ann --takes 5
  kerneton record my-recordings --label wave --subject ann --takes 5 --hands-free
  kerneton record my-recordings --source rtsp://192.168.1.7/live --label wave --subject ann
  kerneton record my-recordings --label yes --subject ann --pose hands --seconds 2
"""


def add_parser(subparsers: Any) -> None:
    """Add the parser of the command."""
    parser = add_command(
        subparsers,
        "record",
        run,
        help="record takes of a person in front of a camera; joints are written, pictures are not kept",
        examples=_EXAMPLES,
    )
    parser.add_argument(
        "folder", metavar="FOLDER", type=PathTo.FILL, help="the takes go to FOLDER/LABEL/SUBJECT/"
    )
    parser.add_argument(
        "--source",
        metavar="WHERE",
        type=PathTo.READ,
        default="camera",
        help="camera, camera:1, /dev/video0, or the address of a stream (default: camera)",
    )
    parser.add_argument("--label", metavar="NAME", required=True, help="the action")
    parser.add_argument("--subject", metavar="NAME", required=True, help="the person")
    parser.add_argument("--takes", metavar="N", type=whole, default=5, help="how many (default: 5)")
    parser.add_argument(
        "--seconds", metavar="S", type=positive, default=4.0, help="of a take, at most (default: 4)"
    )
    parser.add_argument(
        "--countdown",
        metavar="S",
        type=whole,
        default=3,
        help="seconds before each take (default: 3)",
    )
    parser.add_argument(
        "--hands-free",
        action="store_true",
        help="no countdown: a take begins when the person moves and ends when the person stands still",
    )
    add_poses(parser)


def run(args: argparse.Namespace) -> Output:
    """Record one take after the other; those that are finished are kept, whatever happens."""
    from kerneton.data.wording import many
    from kerneton.files.readers import write
    from kerneton.video.cameras import Camera, Sight, is_camera
    from kerneton.video.estimator import PoseEstimator, PoseOptions
    from kerneton.video.takes import as_recordings, hands_free_take, timed_take

    if not is_camera(args.source):
        raise ParameterError(
            f"--source {args.source}: expected camera, camera:1, or an address; films need no recording"
        )
    for option in ("label", "subject"):
        name = getattr(args, option)
        if (
            not name.strip(". ")
            or name.startswith((".", "__"))
            or re.search(r'[/\\:*?"<>|\x00-\x1f]', name)
        ):
            raise ParameterError(f"--{option} {name!r} cannot be the name of a folder")
    if args.takes < 1 or args.countdown < 0:
        raise ParameterError("--takes must be 1 or more, --countdown 0 or more")
    options = pose_options(args) or PoseOptions()
    estimator = PoseEstimator(options)
    folder = Path(args.folder) / args.label / args.subject
    written: list[str] = []

    def tell(text: str) -> None:
        if not args.quiet:
            print(f"kerneton: {text}", file=sys.stderr, flush=True)

    def tell_of(which: str, word: object) -> None:
        tell(f"{which}: {word}")

    try:
        with Camera(args.source) as camera:
            pictures = camera.pictures()

            def sights() -> Iterator[Sight]:
                for moment, pixels in pictures:
                    yield Sight(moment, estimator.push(pixels, moment), pixels)

            while len(written) < args.takes:
                which = f"take {len(written) + 1} of {args.takes}"
                if args.hands_free:
                    taken = hands_free_take(sights(), args.seconds, partial(tell_of, which))
                else:
                    _count_down(sights(), args.countdown, partial(tell_of, which))
                    tell_of(which, "go")
                    taken = timed_take(sights(), args.seconds)
                if not taken:
                    raise DataError(f"{args.source}: the camera ended")
                try:
                    recordings = as_recordings(taken, options, "take")
                except DataError as error:
                    tell(f"{which} is not kept: {error}; once more")
                    continue
                path = _free(folder)
                path.parent.mkdir(parents=True, exist_ok=True)
                facts = {"label": args.label, "subject": args.subject}
                write(
                    [
                        r.replace(name=r.name.replace("take", path.stem), **facts)
                        for r in recordings
                    ],
                    path,
                )
                written.append(str(path))
                seconds = recordings[0].duration or 0
                tell(f"wrote {path}: {seconds:.1f} s, {recordings[0].fps:.3g} pictures a second")
    except KernetonError as error:
        kept = (
            f"{many(len(written), 'take')} of {args.takes} are kept in {folder}"
            if written
            else "no take was kept"
        )
        raise DataError(f"{error}; {kept}") from error
    except KeyboardInterrupt:
        tell("interrupted")
    text = f"wrote {many(len(written), 'take')} to {folder}"
    return Output(printable(text), {"folder": str(folder), "files": written})


def _count_down(sights: Iterator[Sight], seconds: int, tell: Any) -> None:
    """Let the camera run for some seconds, so that the person is followed when the take begins."""
    begin, said = time.monotonic(), seconds + 1
    for _ in sights:
        left = seconds - int(time.monotonic() - begin)
        if left <= 0:
            return
        if left < said:
            tell(left)
            said = left


def _free(folder: Path) -> Path:
    """The first file name with a number that is not taken."""
    n = 1
    while (path := folder / f"{n}.npz").exists():
        n += 1
    return path
