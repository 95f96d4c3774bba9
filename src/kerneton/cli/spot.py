"""kerneton spot: which actions happen in long recordings, and when."""

from __future__ import annotations

import argparse
import csv
import io
import sys
from pathlib import Path
from typing import Any

from kerneton.cli import Output, PathTo, add_command
from kerneton.cli._options import all_cores, progress_of
from kerneton.cli._recordings import (
    add_reading_options,
    load_model,
    read_recordings,
    recording_files,
    telling_names,
)
from kerneton.exceptions import ParameterError

_EXAMPLES = """\
  kerneton fit long-recordings --spot -o model.kern    train on recordings with annotated segments
  kerneton spot model.kern long.bvh                    list the actions, their times and reasons
  kerneton spot model.kern day/*.bvh --csv found.csv --scratch work    one table of many files, resumable
  kerneton spot model.kern long.bvh --suggest 10       what to label next
  kerneton spot model.kern long.bvh --csv found.csv --eaf found.eaf -o timeline.png --html page.html
"""


def add_parser(subparsers: Any) -> None:
    """Add the parser of the command."""
    parser = add_command(
        subparsers,
        "spot",
        run,
        help="find actions in long recordings, and when they happen",
        examples=_EXAMPLES,
    )
    parser.add_argument(
        "model",
        metavar="MODEL",
        type=PathTo.READ,
        help="a model file that kerneton fit --spot wrote",
    )
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        type=PathTo.READ,
        help="long recordings, or folders of them",
    )
    results = {
        "--csv": "write the segments as a table (- for the screen)",
        "--eaf": "write the segments of one recording for ELAN",
        "--html": "write a page with timelines and a table",
    }
    for option, does in results.items():
        parser.add_argument(option, metavar="FILE", type=PathTo.WRITE, help=does)
    parser.add_argument("-o", "--output", metavar="FILE", type=PathTo.DRAW, help="draw a timeline")
    add_order(parser)
    parser.add_argument(
        "--suggest",
        metavar="N",
        type=int,
        help="list the N stretches whose label would teach the model most, instead of what is found",
    )
    parser.add_argument(
        "--scratch",
        metavar="FOLDER",
        type=PathTo.FILL,
        help="folder for what is found in each file; an interrupted search of many files resumes from it",
    )
    parser.add_argument(
        "--jobs",
        metavar="N",
        type=int,
        help="search N recordings at once, in processes of their own (default: one per core)",
    )
    add_reading_options(parser)


def add_order(parser: Any) -> None:
    """Say that the order of actions may be used."""
    parser.add_argument(
        "--in-order",
        action="store_true",
        help="expect the actions in the order of the training recordings, such as exercises that always follow the same course",
    )


def run(args: argparse.Namespace) -> Output:
    """Read, spot, explain, print."""
    from kerneton.cli._spotting_files import detection_rows, rows_of_files
    from kerneton.data.wording import many
    from kerneton.report.tables import aligned
    from kerneton.stream.spotter import spotter_of

    for option in ("suggest", "jobs"):
        if getattr(args, option) is not None and getattr(args, option) < 1:
            raise ParameterError(f"--{option} takes a whole number of at least 1")
    model = load_model(args.model, args)
    spotter_of(model)  # refuses a recogniser that was not trained for it before anything is read
    if args.suggest is not None:
        return _suggested(args, model)
    files = recording_files(args.files)
    drawn = args.eaf or args.html or args.output
    if (len(files) > 1 or args.scratch) and not drawn:
        recordings, found = [], []
        rows, known = rows_of_files(args, files)
        if known and not args.quiet:
            told = f"{many(known, 'file')} of {len(files)} known from an earlier run"
            print(f"kerneton: note: {told}", file=sys.stderr)
        names = telling_names([Path(r["file"]) for r in rows], [r["recording"] for r in rows])
        rows = [row | {"recording": name} for row, name in zip(rows, names, strict=True)]
    else:
        recordings = read_recordings(args.files, args, model)
        if args.eaf and (len(recordings) > 1 or recordings[0][1].fps is None):
            raise ParameterError(
                "--eaf needs exactly one recording with a known frame rate (--fps)"
            )
        with all_cores():
            found = [
                model.spot(r, in_order=args.in_order, progress=progress_of(args))
                for _, r in recordings
            ]
            rows = [
                row
                for (file, r), detections in zip(recordings, found, strict=True)
                for row in detection_rows(model, file, r, detections)
            ]
    if args.csv == "-":
        _write(args, recordings, found, rows)
        return Output("", rows)
    shown = [["recording", "label", "start", "stop", "probability", "reason"]]
    for row in rows:
        times = [_time(row, "start"), _time(row, "stop")]
        shown.append(
            [row["recording"], row["label"], *times, f"{row['probability']:.2f}", _strongest(row)]
        )
    text = aligned(shown) if rows else "nothing found"
    return Output(text, rows, lambda: _write(args, recordings, found, rows))


def _suggested(args: argparse.Namespace, model: Any) -> Output:
    """The stretches whose labels would teach the model most."""
    from kerneton.report.tables import aligned
    from kerneton.stream.suggest import suggest

    recordings = read_recordings(args.files, args, model)
    with all_cores():
        chosen = suggest(model, [r for _, r in recordings], args.suggest, progress_of(args))
    rows, shown = [], [["recording", "start", "stop", "perhaps", "probability"]]
    for s in chosen:
        file, recording = recordings[s.recording]
        row: dict[str, Any] = {"file": file, "recording": recording.name}
        row |= {"label": s.label, "start": s.start, "stop": s.stop}
        fps = recording.fps
        row["start_s"], row["stop_s"] = (
            (None, None) if fps is None else (s.start / fps, s.stop / fps)
        )
        rows.append(row | {"probability": s.probability})
        times = [_time(row, "start"), _time(row, "stop")]
        shown.append([recording.name, *times, s.label, f"{s.probability:.2f}"])
    text = aligned(shown) if rows else "nothing to suggest: no stretch resembles an action"

    def write() -> list[str]:
        return _write(args, recordings, [[]], rows)

    if args.csv == "-":
        write()
        return Output("", rows)
    return Output(text, rows, write)


def _strongest(row: dict[str, Any]) -> str:
    strongest = sorted(row["reason"]["joints"].items(), key=lambda item: -item[1])[:3]
    return ", ".join(f"{joint} {value:+.2f}" for joint, value in strongest)


def _time(row: dict[str, Any], name: str) -> str:
    seconds = row[f"{name}_s"]
    return str(row[name]) if seconds is None else f"{int(seconds // 60)}:{seconds % 60:05.2f}"


def _write(
    args: argparse.Namespace, recordings: Any, found: Any, rows: list[dict[str, Any]]
) -> list[str]:
    from kerneton.files.output import write_text

    if args.csv:
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["file", "label", "start", "stop", "start_s", "stop_s", "probability"])
        files = {row["file"] for row in rows}
        plain = len({Path(file).name for file in files}) == len(files)  # else with folders
        for row in rows:
            seconds = ["" if row[k] is None else f"{row[k]:.4f}" for k in ("start_s", "stop_s")]
            writer.writerow(
                [
                    Path(row["file"]).name if plain else row["file"],
                    row["label"],
                    row["start"],
                    row["stop"],
                    *seconds,
                    f"{row['probability']:.6f}",
                ]
            )
        if args.csv == "-":
            sys.stdout.write(out.getvalue())
        else:
            write_text(args.csv, out.getvalue())
    if args.eaf:
        from kerneton.files.segments import eaf_text

        write_text(args.eaf, eaf_text(found[0], recordings[0][1].fps))
    if args.output or args.html:
        from kerneton.stream.page import write_page
        from kerneton.stream.timeline import draw_timeline

        lines = [(r.name, r.segments, d) for (_, r), d in zip(recordings, found, strict=True)]
        lengths, fps = [r.n_frames for _, r in recordings], recordings[0][1].fps
        if args.output:
            draw_timeline(args.output, lines, lengths, fps)
        if args.html:
            played, texts = [r for _, r in recordings], iter([_strongest(row) for row in rows])
            reasons = [[next(texts) for _ in some] for some in found]
            write_page(
                args.html,
                "Actions found",
                lines,
                lengths,
                fps=fps,
                recordings=played,
                reasons=reasons,
            )
    return [file for file in (args.csv, args.eaf, args.output, args.html) if file]
