"""kerneton fit: train a recogniser on recordings and write it to a file."""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import warnings
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kerneton.cli import Output, PathTo, add_command, use_default
from kerneton.cli._options import (
    add_data,
    add_model,
    add_scheduler,
    all_cores,
    client_of,
    load_data,
    make_model,
    progress_of,
    reading_on,
)
from kerneton.exceptions import KernetonWarning, ParameterError

if TYPE_CHECKING:
    from kerneton.data.sequence import SkeletonDataset
    from kerneton.files.summary import Summary
    from kerneton.recognize.recognizer import Recognizer

# How files were read, which is repeated where the model is used.
_AS_IN_TRAINING = ("layout", "columns", "rename", "pose", "pose_model")
_EXAMPLES = """\
  kerneton fit my-recordings -o model.kern
  kerneton fit my-recordings -o model.kern --pattern '{label}_{subject}_{take}'
  kerneton fit msr_action3d -o msr.kern --preset paper --set machine__C=1
  kerneton fit long-recordings --spot -o model.kern --false-alarms-per-hour 1
"""


def add_parser(subparsers: Any) -> None:
    """Add the parser of the command."""
    parser = add_command(
        subparsers,
        "fit",
        run,
        help="train a recogniser on a folder of recordings and write it to a file",
        examples=_EXAMPLES,
    )
    add_data(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=PathTo.WRITE,
        help="file to write the model to (default: model.kern)",
    )
    add_model(parser)
    parser.add_argument(
        "--false-alarm",
        metavar="SHARE",
        type=float,
        default=0.05,
        help="share of known actions that may be taken for unknown ones (default: 0.05)",
    )
    add_scheduler(parser)
    parser.add_argument(
        "--scratch",
        metavar="FOLDER",
        type=PathTo.FILL,
        help="folder for the features of more than 3,000 recordings, or with --spot for finished steps; an interrupted fit resumes from it",
    )
    group = parser.add_argument_group("long recordings")
    group.add_argument(
        "--spot",
        action="store_true",
        help="also learn when actions happen, from long recordings with annotated segments, or only from cut recordings",
    )
    group.add_argument(
        "--false-alarms-per-hour",
        metavar="N",
        help="with --spot: how many are allowed, estimated on held-out training subjects (default: best F1)",
    )
    group.add_argument(
        "--background",
        metavar="FOLDER",
        type=PathTo.READ,
        help="with --spot: long recordings in which none of the actions happens",
    )
    group.add_argument(
        "--partial",
        action="store_true",
        help="with --spot: only some of the actions have segments; what happens elsewhere is unknown, not background",
    )
    group.add_argument(
        "--uncertain",
        metavar="SECONDS",
        type=float,
        default=0.0,
        help="with --spot: how far the starts and ends of segments may be wrong (default: 0)",
    )


def run(args: argparse.Namespace) -> Output:
    """Load, train, write."""
    if args.output is None:
        use_default(args, "model.kern")
    if args.spot:
        from kerneton.cli._spotting import fit_spotting

        return fit_spotting(args)
    of_spotting = args.false_alarms_per_hour, args.background, args.partial, args.uncertain
    if any(of_spotting):
        raise ParameterError(
            "--false-alarms-per-hour, --background, --partial and --uncertain go with --spot"
        )
    from kerneton.files.summary import summarize

    start = time.perf_counter()
    with all_cores(), client_of(args) as client:
        model = make_model(
            args, calibrate="auto", false_alarm=args.false_alarm, progress=progress_of(args)
        )
        data = _single_precision(load_data(args, **reading_on(client, args)))
        summary = summarize(data, progress_of(args))
        for warning in summary.warnings:
            warnings.warn(warning, KernetonWarning, stacklevel=1)
        model.fit(data, data.labels, client=client, scratch=args.scratch)
    model.training_ = training_facts(data, args)
    seconds = time.perf_counter() - start
    figures = None if model.calibration_ is None else model.calibration_.held_out_
    text = f"{str(summary).splitlines()[0]}\n"
    if figures is not None:
        who = held_out(summary)
        text += (
            f"held-out {who}: accuracy {figures['accuracy_nested']:.1%} (estimated in training; 95 % interval {100 * figures['accuracy_low']:.1f} to "
            f"{100 * figures['accuracy_high']:.1f}), calibration error {figures['calibration_error']:.3f}, "
            f"AUC for unknown actions {figures['unknown_auc']:.2f} "
            "(0.5 is chance)\n"
            f"known actions of held-out {who} taken for unknown: {figures['false_alarm']:.1%} "
            f"(95 % interval {100 * figures['false_alarm_low']:.1f} to {100 * figures['false_alarm_high']:.1f})\n"
            "kerneton evaluate trains anew for every split: its accuracy may differ a little\n"
        )
    facts = {
        "file": args.output,
        "bytes": 0,
        "seconds": seconds,
        "held_out": figures,
        "data": summary.to_dict(),
    }
    return Output(text.rstrip(), facts, lambda: write_model(model, args, facts))


def held_out(summary: Summary) -> str:
    """The word for what training holds out: people, if there are several."""
    return "subjects" if len(summary.subjects) > 1 else "recordings"


def training_facts(data: SkeletonDataset, args: argparse.Namespace) -> dict[str, Any]:
    """What a model file stores about its training recordings, and how their files were read."""
    from kerneton.recognize.model_file import recording_facts, training_summary

    done = None if data.conversion is None else data.conversion.to_dict()
    reading = {name: value for name in _AS_IN_TRAINING if (value := getattr(args, name))}
    facts = recording_facts(data) | {"conversion": done, "reading": reading}
    return training_summary(data) | {"conventions": facts}


def write_model(model: Recognizer, args: argparse.Namespace, facts: dict[str, Any]) -> None:
    """Write a model after its figures were printed, and report it; ``facts`` get its size."""
    try:
        model.save(args.output)
    except OSError as error:
        kept = _save_elsewhere(model, Path(args.output).name)
        if kept is None:
            raise
        message = f"{error.strerror or error}; the trained model is in {kept} instead"
        raise OSError(error.errno, message, args.output) from error
    facts["bytes"] = os.stat(args.output).st_size
    if not args.quiet and args.json != "-":
        took = f" in {facts['seconds']:.1f} s" if "seconds" in facts else ""
        size = facts["bytes"] / 1e6
        print(
            f"wrote {args.output} ({f'{size:.1f} MB' if size >= 0.1 else f'{1000 * size:.0f} kB'}){took}"
        )


def _save_elsewhere(model: Recognizer, name: str) -> Path | None:
    """Save the model in the temporary folder or the home if the disk became full during the
    training.
    """
    for parent in (tempfile.gettempdir(), os.path.expanduser("~")):
        with suppress(OSError):
            folder = Path(tempfile.mkdtemp(prefix="saved-model-", dir=parent))
            try:
                return model.save(folder / name)
            except OSError:
                folder.rmdir()  # there is no incomplete file
    return None


def _single_precision(data: SkeletonDataset) -> SkeletonDataset:
    """The recordings as float32: more precise than any sensor, and models are half as large and
    twice as fast.
    """
    import numpy as np

    from kerneton.data.sequence import SkeletonDataset

    return SkeletonDataset(
        (s.replace(joints=s.joints.astype(np.float32, copy=False)) for s in data),
        name=data.name,
        conversion=data.conversion,
        left_out=data.left_out,
    )
