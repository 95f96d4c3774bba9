"""kerneton fit --spot: train a recogniser that also finds when actions happen."""

from __future__ import annotations

import argparse
import warnings

from kerneton.cli import Output
from kerneton.cli._options import all_cores, load_data, load_recordings, make_model, progress_of
from kerneton.cli.fit import held_out, training_facts, write_model
from kerneton.exceptions import DataError, KernetonWarning, ParameterError


def fit_spotting(args: argparse.Namespace) -> Output:
    """Load, train, write, print the accuracy of spotting on held-out subjects."""
    from kerneton.data.wording import many
    from kerneton.files.summary import summarize
    from kerneton.stream.spotter import spotter_of

    given = args.false_alarms_per_hour
    alarms = None if given is None else alarms_per_hour(given)
    model = make_model(args, progress=progress_of(args))
    data = load_data(args)
    summary = summarize(data)
    for warning in summary.warnings:
        warnings.warn(warning, KernetonWarning, stacklevel=1)
    if alarms is not None and all(r.fps is None for r in data):
        raise DataError(
            "--false-alarms-per-hour needs the frame rate, which no recording states: give it with --fps"
        )
    quiet = list(load_recordings(args.background, args)) if args.background else []
    bare = sum(not r.segments for r in data)
    if 0 < bare < len(data):
        warnings.warn(
            f"without segments, left out: {many(bare, 'recording')}", KernetonWarning, stacklevel=1
        )
    with all_cores():
        takes = [r for r in data if r.segments] or data
        model.fit_spotting(
            takes,
            unlabelled=quiet,
            false_alarms_per_hour=alarms,
            partial=args.partial,
            uncertain_s=args.uncertain,
            scratch=args.scratch,
        )
    model.training_ = training_facts(data, args)
    spotter = spotter_of(model)
    figures = spotter.held_out_
    text = (
        f"{str(summary).splitlines()[0]}\nlearnt {', '.join(spotter.classes_)}; on held-out training {held_out(summary)}: precision "
        f"{figures['precision']:.2f}, recall {figures['recall']:.2f}, F1 {figures['f1']:.2f}"
    )
    if before := spotter.before_points_:
        rate = spotter.fps_
        spans = [
            f"{label} {many(n, 'frame') if rate is None else f'{n / rate:.1f} s'}"
            for label, n in before.items()
        ]
        text += f"\nwindows before the points: {', '.join(spans)}"
    facts = {
        "file": args.output,
        "held_out": figures,
        "labels": list(spotter.classes_),
        "frames_before_points": spotter.before_points_,
        "data": summary.to_dict(),
    }
    return Output(text, facts, lambda: write_model(model, args, facts))


def alarms_per_hour(text: str) -> float:
    """False alarms per hour from ``1``, or from ``1/h`` or ``2/min``.

    >>> alarms_per_hour("1"), alarms_per_hour("1/h"), alarms_per_hour("2/min")
    (1.0, 1.0, 120.0)
    """
    number, _, unit = text.partition("/")
    per_hour = {"": 1.0, "h": 1.0, "hour": 1.0, "min": 60.0, "minute": 60.0, "day": 1 / 24}
    try:
        value = float(number) * per_hour[unit.strip()]
    except (ValueError, KeyError):
        value = 0.0
    if not 0 < value < 1e6:
        raise ParameterError(f"--false-alarms-per-hour takes a number such as 1, got {text!r}")
    return value
