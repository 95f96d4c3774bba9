"""kerneton demo: the whole path on generated actions."""

from __future__ import annotations

import argparse
import dataclasses
import os
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kerneton.cli import Output, PathTo, add_command
from kerneton.cli._options import all_cores, progress_of
from kerneton.cli._settings import whole
from kerneton.exceptions import ParameterError, import_extra

if TYPE_CHECKING:
    from kerneton.data.sequence import SkeletonDataset
    from kerneton.report.results import Report

_EXAMPLES = """\
  kerneton demo
  kerneton demo -o pictures --json demo.json
"""
_PICTURES = ("confusion.png", "skeletons.png")
_FOLDERS = ("recordings", "new-person", "long-recordings")
_SHOWN = ("draw circle", "draw X", "sit down", "bow", "drink", "answer phone")
_KEPT = (
    "answer phone",
    "clap",
    "drink",
    "sit down",
    "wave",
)  # actions of the folders to go on with
_STRANGERS = 6  # people who are tested
_LONG = 4  # people with a long recording
# A poor sensor and few people, so that actions that differ little are confused: errors of 3 cm, one
# of twenty joints lost.
_NOISE, _DROPOUT = 0.03, 0.05
_NEXT = """\
next steps
  open {page} in a browser
  {program} info {folder}/recordings
  {program} evaluate {folder}/recordings --html report.html
  {program} fit {folder}/recordings -o model.kern
  {program} predict model.kern {folder}/new-person
  {program} explain model.kern {folder}/new-person/{file} -o why.png
  {program} fit {folder}/long-recordings --spot -o spotter.kern
then do the same with your own folder: LABEL/SUBJECT/FILE, in any format that kerneton reads"""


def add_parser(subparsers: Any) -> None:
    """Add the parser of the command."""
    parser = add_command(
        subparsers,
        "demo",
        run,
        help="generate actions, train on some people, test on others, draw the result, suggest next steps",
        examples=_EXAMPLES,
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FOLDER",
        type=PathTo.FILL,
        default="kerneton-demo",
        help="folder for pictures and recordings (default: kerneton-demo)",
    )
    parser.add_argument(
        "--subjects", metavar="N", type=whole, default=4, help="people to train on (default: 4)"
    )
    parser.add_argument(
        "--takes",
        metavar="N",
        type=whole,
        default=2,
        help="times each person performs each action (default: 2)",
    )


def run(args: argparse.Namespace) -> Output:
    """Generate, train, test, draw."""
    from kerneton.data.sequence import SkeletonDataset
    from kerneton.datasets import make_actions
    from kerneton.recognize.presets import make_recognizer
    from kerneton.report.evaluation import evaluate

    import_extra("matplotlib", extra="plot", purpose="The demo")  # before the work, not after it
    folder = Path(args.output)
    if folder.is_dir() and any(folder.iterdir()) and not (folder / "new-person").is_dir():
        raise ParameterError(
            f"{folder}: a folder with other files, of which none is replaced; name a new folder"
        )
    start = time.perf_counter()
    known = make_actions(
        n_subjects=args.subjects, n_takes=args.takes, noise=_NOISE, dropout=_DROPOUT
    )
    new = strangers(args.takes)
    data = SkeletonDataset([*known, *new], name="Generated actions")
    split = (range(len(known)), range(len(known), len(data)))
    model = make_recognizer(calibrate=True)
    with all_cores():
        report = evaluate(
            model, data, [split], progress=progress_of(args), n_jobs=1, importance=True
        )
    told = f"trained on {args.subjects} {'people' if args.subjects > 1 else 'person'}, tested on {_STRANGERS} others"
    report = dataclasses.replace(report, protocol=told)
    files = [str(folder / name) for name in (*_PICTURES, "report.html", *_FOLDERS)]
    facts: dict[str, Any] = {
        **report.to_dict(),
        "files": files,
        "seconds": time.perf_counter() - start,
    }

    def write() -> None:
        file = _write_all(folder, report, data, known, new)
        facts["seconds"] = time.perf_counter() - start
        then = _NEXT.format(
            page=folder / "report.html", program=_program(), folder=folder, file=file
        )
        if not args.quiet and args.json != "-":
            print(
                f"\nwrote {', '.join(files[:-1])} and {files[-1]} in {facts['seconds']:.1f} s\n\n{then}"
            )

    return Output(str(report), facts, write)


def _write_all(
    folder: Path,
    report: Report,
    data: SkeletonDataset,
    known: SkeletonDataset,
    new: SkeletonDataset,
) -> str:
    """Pictures, page and recordings; the name of a recording of the new person."""
    from kerneton.report.pictures import plot_skeleton, save_figure

    first = {s.label: s for s in reversed(known) if s.subject == known[0].subject}
    title = "Generated actions; gaps are joints that the sensor lost"
    figures = (report.plot(), plot_skeleton([first[label] for label in _SHOWN], title=title))
    for name, figure in zip(_PICTURES, figures, strict=True):
        save_figure(figure, folder / name)
    report.to_html(folder / "report.html", data)
    return _write_recordings(folder, known, new)


def strangers(n_takes: int) -> SkeletonDataset:
    """People generated with another seed than the training people: they are used neither in
    training nor in selection.

    >>> strangers(1)[0].subject, strangers(1)[0].name
    ('new-1', 'new_wave_s01_t1')
    """
    from kerneton.data.sequence import SkeletonDataset
    from kerneton.datasets import make_actions

    return SkeletonDataset(
        s.replace(subject=f"new-{s.subject}", name=f"new_{s.label}_{s.name[:3]}_{s.name[-2:]}".replace(" ", "_"))
        for s in make_actions(n_subjects=_STRANGERS, n_takes=n_takes, random_state=1, noise=_NOISE, dropout=_DROPOUT)
    )  # fmt: skip


def _write_recordings(folder: Path, known: SkeletonDataset, new: SkeletonDataset) -> str:
    """A folder to train on, LABEL/SUBJECT/FILE, one of a new person, and one of long recordings
    with segments, SUBJECT/FILE; the name of a file of the second.
    """
    from kerneton.datasets import make_actions
    from kerneton.files.readers import write

    files = []
    for recording in known:
        if recording.label in _KEPT:
            place = folder / "recordings" / recording.label / f"subject-{recording.subject}"
            place.mkdir(parents=True, exist_ok=True)
            write([recording.replace(label=None, subject=None)], place / f"{recording.name}.csv")
    (folder / "new-person").mkdir(parents=True, exist_ok=True)
    for recording in new:
        if recording.label in _KEPT and recording.subject == "new-1":
            files.append(f"{recording.name}.csv")
            write([recording.replace(label=None, subject=None)], folder / "new-person" / files[-1])
    for recording in make_actions(
        list(_KEPT), n_subjects=_LONG, n_takes=1, uncut=True, noise=_NOISE, dropout=_DROPOUT
    ):
        place = folder / "long-recordings" / f"subject-{recording.subject}"
        place.mkdir(parents=True, exist_ok=True)
        write([recording.replace(subject=None)], place / f"{recording.name}.csv")
    return next(file for file in files if "drink" in file)


def _program() -> str:
    """How to call this program: by its name, or by its path where the shell would not find it."""
    here = Path(sys.executable).with_name("kerneton")
    if shutil.which("kerneton") or not here.exists():
        return "kerneton"
    return str(here) if os.path.relpath(here).startswith("..") else os.path.relpath(here)
