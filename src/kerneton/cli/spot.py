"""kerneton spot: which actions happen in long recordings, and when."""

from __future__ import annotations

import argparse
import csv
import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kerneton.cli._common import Output, add_command, all_cores, progress_of
from kerneton.cli._recordings import add_reading_options, read_recordings
from kerneton.exceptions import ParameterError

if TYPE_CHECKING:
    from kerneton.stream.detection import Detection

_EXAMPLES = """\
  kerneton spot model.kern --train long-recordings     learn from recordings with files of segments beside them
  kerneton spot model.kern long.bvh                    what happens in it, and when
  kerneton spot model.kern long.bvh --csv found.csv --eaf found.eaf -o timeline.png --html page.html
  kerneton spot model.kern --train my-recordings --false-alarms 1/h
"""


def add_parser(subparsers: Any) -> None:
    """Say what the command takes."""
    parser = add_command(
        subparsers,
        "spot",
        run,
        help="find which actions happen in long recordings, and when",
        examples=_EXAMPLES,
    )
    parser.add_argument("model", metavar="MODEL", help="a model file; with --train it is written")
    parser.add_argument("files", metavar="FILE", nargs="*", help="long recordings, or folders of them")
    parser.add_argument(
        "--train",
        metavar="FOLDER",
        help="learn from long recordings with segments, or from cut ones in folders LABEL/SUBJECT/FILE",
    )
    parser.add_argument(
        "--false-alarms",
        metavar="N/h",
        help="with --train: false alarms per hour, as on training people who are held out (default: best F1 there)",
    )
    parser.add_argument("--csv", metavar="FILE", help="write the segments as a table (- for the screen)")
    parser.add_argument("--eaf", metavar="FILE", help="write the segments for ELAN; of one recording")
    parser.add_argument("-o", "--output", metavar="FILE", help="draw a timeline")
    parser.add_argument("--html", metavar="FILE", help="write a page with timelines and a table")
    add_reading_options(parser)


def run(args: argparse.Namespace) -> Output:
    """Train where asked, read, spot, tell."""
    from kerneton.stream.spotter_file import load_spotter

    told = []
    if args.train:
        told.append(train(args))
    elif args.false_alarms:
        raise ParameterError("--false-alarms goes with --train: the threshold is part of the model")
    if not args.files:
        if not args.train:
            raise ParameterError("which recordings? Give files, or --train FOLDER")
        return Output("\n".join(told))
    spotter = load_spotter(args.model)
    recordings = read_recordings(args.files, args)
    with all_cores():
        found = [spotter.spot(r, progress=progress_of(args)) for _, r in recordings]
    rows = [
        _row(file, r.name, r.fps, d)
        for (file, r), detections in zip(recordings, found, strict=True)
        for d in detections
    ]
    _write(args, recordings, found, rows)
    if args.csv == "-":
        return Output("", rows)
    from kerneton.report.tables import aligned

    shown = [["recording", "label", "start", "stop", "probability"]]
    for row in rows:
        times = [_time(row, "start"), _time(row, "stop")]
        shown.append([row["recording"], row["label"], *times, f"{row['probability']:.2f}"])
    told.append(aligned(shown) if rows else "nothing found")
    return Output("\n".join(told), rows)


def train(args: argparse.Namespace) -> str:
    """Learn from a folder and write the model; what to say about it."""
    from kerneton.files.folder import load_folder
    from kerneton.stream.spotter import Spotter
    from kerneton.stream.spotter_file import save_spotter

    folder = Path(args.train)
    takes = [r for _, r in read_recordings([str(folder)], args)]
    if not any(t.segments for t in takes):
        takes = list(load_folder(folder, progress=progress_of(args)))
    spotter = Spotter(false_alarms=rate(args.false_alarms), progress=progress_of(args))
    with all_cores():
        spotter.fit([t for t in takes if t.segments] or takes)
    save_spotter(spotter, args.model)
    figures = spotter.held_out_
    return (
        f"learnt {', '.join(spotter.classes_)}; on training people held out: precision {figures['precision']:.2f}, "
        f"recall {figures['recall']:.2f}, F1 {figures['f1']:.2f}\nwrote {args.model}"
    )


def rate(text: str | None) -> float | None:
    """False alarms per hour from ``1/h``, ``0.5`` or ``2/min``.

    >>> rate("1/h"), rate("0.5"), rate("2/min"), rate(None)
    (1.0, 0.5, 120.0, None)
    """
    if text is None:
        return None
    number, _, unit = text.partition("/")
    per_hour = {"": 1.0, "h": 1.0, "hour": 1.0, "min": 60.0, "minute": 60.0, "day": 1 / 24}
    try:
        value = float(number) * per_hour[unit.strip()]
    except (ValueError, KeyError):
        value = 0.0
    if not 0 < value < 1e6:
        raise ParameterError(f"--false-alarms takes a rate such as 1/h, got {text!r}")
    return value


def _row(file: str, name: str, fps: float | None, d: Detection) -> dict[str, Any]:
    row: dict[str, Any] = {
        "file": file,
        "recording": name,
        "label": d.label,
        "start": d.start,
        "stop": d.stop,
    }
    row["start_s"], row["stop_s"] = (None, None) if fps is None else d.seconds(fps)
    return row | {"probability": d.probability, "decision": d.decision}


def _time(row: dict[str, Any], name: str) -> str:
    seconds = row[f"{name}_s"]
    return str(row[name]) if seconds is None else f"{int(seconds // 60)}:{seconds % 60:05.2f}"


def _write(args: argparse.Namespace, recordings: Any, found: Any, rows: list[dict[str, Any]]) -> None:
    from kerneton.files.output import write_text

    if args.csv:
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["file", "label", "start", "stop", "start_s", "stop_s", "probability"])
        for row in rows:
            seconds = ["" if row[k] is None else f"{row[k]:.4f}" for k in ("start_s", "stop_s")]
            writer.writerow(
                [
                    Path(row["file"]).name,
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
        from kerneton.files._segment_xml import eaf_text

        (_, only), *more = recordings
        if more or only.fps is None:
            raise ParameterError("--eaf is for one recording that knows its frame rate (--fps)")
        write_text(args.eaf, eaf_text(found[0], only.fps))
    if args.output or args.html:
        from kerneton.stream.timeline import draw_timeline, write_page

        lines = [(r.name, r.segments, d) for (_, r), d in zip(recordings, found, strict=True)]
        lengths, fps = [r.n_frames for _, r in recordings], recordings[0][1].fps
        if args.output:
            draw_timeline(args.output, lines, lengths, fps)
        if args.html:
            write_page(args.html, "Actions found", lines, lengths, fps=fps)
