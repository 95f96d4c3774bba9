"""kerneton predict: the action in recordings, with its probability."""

from __future__ import annotations

import argparse
import csv
import io
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from kerneton.cli import Output, PathTo, add_command, encodable, printable
from kerneton.cli._options import (
    add_device,
    add_scheduler,
    all_cores,
    check_device,
    client_of,
    progress_of,
    reading_on,
)
from kerneton.cli._recordings import add_reading_options, load_model, read_recordings, usable
from kerneton.exceptions import DataError

if TYPE_CHECKING:
    from kerneton.data.progress import Progress
    from kerneton.data.sequence import SkeletonSequence
    from kerneton.recognize.recognizer import Recognizer


_UNKNOWN = "unlike anything seen in training"
_MEANING = (
    "another action, or a known one done in a way that no training person did. With few training people, known actions "
    "often get this remark: add people, or lower --false-alarm of kerneton fit"
)
_EXAMPLES = """\
  kerneton predict model.kern wave.bvh
  kerneton predict model.kern new-recordings --csv labels.csv
  kerneton predict model.kern a.csv b.csv --json -
  kerneton predict model.kern other-camera --new-sensor
"""


def add_parser(subparsers: Any) -> None:
    """Add the parser of the command."""
    parser = add_command(
        subparsers,
        "predict",
        run,
        help="predict the action in recordings, with its probability, and mark those unlike any training recording",
        examples=_EXAMPLES,
    )
    parser.add_argument(
        "model", metavar="MODEL", type=PathTo.READ, help="a model file that kerneton fit wrote"
    )
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        type=PathTo.READ,
        help="recordings, or folders of recordings",
    )
    table = "write the result as a table to FILE (- for the screen)"
    parser.add_argument("--csv", metavar="FILE", type=PathTo.WRITE, help=table)
    parser.add_argument(
        "--all",
        action="store_true",
        help="give the probability of every label, not only of the best",
    )
    parser.add_argument(
        "--new-sensor",
        action="store_true",
        help="the recordings are from another sensor than in training: centre their features; all actions should occur about "
        "equally often, and each prediction then depends on all recordings",
    )
    add_reading_options(parser)
    add_device(parser)
    add_scheduler(parser)


def run(args: argparse.Namespace) -> Output:
    """Read, predict, print."""
    from kerneton.report.tables import aligned, percent

    check_device(args)
    model = load_model(args.model, args).set_params(device=args.device)
    with all_cores(), client_of(args) as client:
        given = read_recordings(args.files, args, model, **reading_on(client, args))
        found = usable(given, partial(_complete, model), args)
        if args.new_sensor:
            from kerneton.recognize.sensors import centred_on

            model = centred_on(model, [sequence for _, sequence in found])
        rows = _all_predictions(
            model, [sequence for _, sequence in found], client, progress_of(args)
        )
    for row, (file, sequence) in zip(rows, found, strict=True):
        row.update(file=file, recording=sequence.name, frames=sequence.n_frames)
    if args.csv == "-":
        shown = printable if sys.stdout.isatty() else encodable
        sys.stdout.write(shown(_table(rows, everything=args.all), sys.stdout))
        return Output("", rows)
    table = [["file", "recording", "label", "probability %", "remarks"]]
    table += [
        [
            row["file"],
            row["recording"],
            row["label"],
            percent(row["probability"]),
            _remarks(row, args.all),
        ]
        for row in rows
    ]
    return Output(aligned(table), rows, lambda: _write(rows, args))


def _write(rows: list[dict[str, Any]], args: argparse.Namespace) -> list[str]:
    """Explain the remark, and write the table if it is wanted."""
    from kerneton.files.output import write_text

    if any(row["unknown"] for row in rows) and not args.quiet and args.json != "-":
        print(f"kerneton: note: {_UNKNOWN}: {_MEANING}", file=sys.stderr, flush=True)
    if not args.csv:
        return []
    write_text(args.csv, _table(rows, everything=args.all))
    return [args.csv]


def _complete(model: Recognizer, given: list[SkeletonSequence]) -> list[SkeletonSequence]:
    """Recordings adapted to a model, each of which contains all its joints."""
    from kerneton.prepare.preprocess import check_gaps

    adapted = model.adapt(given)
    try:
        check_gaps(adapted)
    except DataError as error:
        way = "; --skip-broken leaves these out" if len(given) > 1 else ""
        raise DataError(f"{error}{way}") from error
    return adapted


def _all_predictions(
    model: Recognizer, recordings: list[SkeletonSequence], client: Any, progress: Progress | None
) -> list[dict[str, Any]]:
    """A row per recording, computed in blocks to show progress."""
    if client is not None:
        from kerneton.recognize.cluster import mapped

        return [
            row
            for rows in mapped(client, _predictions, model, recordings, progress)
            for row in rows
        ]
    from kerneton.kernels.engine import find_gpu
    from kerneton.recognize import answers

    size = answers.BLOCK if find_gpu(model.device) is None else answers.GPU_BLOCK
    blocks = [recordings[i : i + size] for i in range(0, len(recordings), size)]
    ticked = (
        progress(blocks, total=len(blocks), desc="predicting")
        if progress and blocks[1:]
        else blocks
    )
    return [row for block in ticked for row in _predictions(model, block)]


def _predictions(model: Recognizer, recordings: list[SkeletonSequence]) -> list[dict[str, Any]]:
    if model.calibration_ is not None:
        return [
            {
                "label": p.label,
                "probability": p.probability,
                "unknown": p.unknown,
                "unknown_score": p.unknown_score,
                "probabilities": p.probabilities,
            }
            for p in model.predictions(recordings)
        ]
    nothing = {"probability": None, "unknown": None, "unknown_score": None, "probabilities": None}
    return [{"label": str(label), **nothing} for label in model.predict(recordings)]


def _table(rows: list[dict[str, Any]], *, everything: bool) -> str:
    """The rows as CSV, with one column per label if all probabilities are requested."""
    fields = ["file", "recording", "frames", "label", "probability", "unknown", "unknown_score"]
    labels = sorted(rows[0]["probabilities"] or {}) if everything else []
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*fields, *(f"P({label})" for label in labels)])
    for row in rows:
        writer.writerow(
            [_cell(row[f]) for f in fields] + [_cell(row["probabilities"][k]) for k in labels]
        )
    return out.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6f}" if isinstance(value, float) else "" if value is None else value


def _remarks(row: dict[str, Any], everything: bool) -> str:
    from kerneton.report.tables import percent

    told = [_UNKNOWN] if row["unknown"] else []
    if everything and row["probabilities"]:
        told += [f"{label} {percent(p)}" for label, p in list(row["probabilities"].items())[1:]]
    return ", ".join(told)
