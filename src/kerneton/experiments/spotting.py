"""Spotting in UTKinect's uncut takes, ten half splits: ``kerneton reproduce spotting``.

Everything is chosen on training people: the threshold on those who are held out in turn. The order of the actions, which
is the same in most takes, is not used. Times are stated at 15 frames per second, about what the takes have.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from kerneton.data.progress import Progress
from kerneton.datasets.protocols import HalfSplits
from kerneton.datasets.utkinect import load_utkinect
from kerneton.files.output import write_text
from kerneton.recognize.presets import make_recognizer
from kerneton.stream.evaluation import SpottingReport, evaluate_spotting
from kerneton.stream.timeline import draw_timeline, write_page

FPS = 15.0
BARS = {"utkinect": {"f1_50": 0.80}, "utkinect_cut": {"f1_50": 0.60}}
_SHOWN = ("f1_50", "f1_30", "f1_70", "map_50", "frame_accuracy", "delay_ms", "false_alarms_per_hour")


def spotting(
    *,
    data_home: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    n_splits: int = 10,
) -> dict[str, Any]:
    """Trained from uncut takes; from their cut actions alone; and from uncut takes with half a second of delay."""
    takes = load_utkinect(data_home, uncut=True)
    protocol = _First(HalfSplits.published("utkinect"), n_splits)
    uncut = evaluate_spotting(make_recognizer(), takes, protocol, fps=FPS, progress=progress)
    half = round(0.5 * FPS)
    runs: dict[str, SpottingReport] = {
        "utkinect": uncut,
        "utkinect_cut": evaluate_spotting(
            make_recognizer(),
            takes,
            protocol,
            training=lambda some: [action for take in some for action in take.cut_segments()],
            fps=FPS,
            progress=progress,
        ),
        "utkinect_half_second": evaluate_spotting(uncut.models, takes, protocol, delay=half, fps=FPS),
    }
    if output is not None:
        for name, report in runs.items():
            _draw(Path(output), name, report)
    found = {name: {key: report.figures()[key] for key in _SHOWN} for name, report in runs.items()}
    return {"spotting": found, "splits": n_splits, "bars": BARS}


def to_markdown(result: dict[str, Any]) -> str:
    """A table of the figures."""
    lines = ["| training | " + " | ".join(_SHOWN) + " |", "|" + " --- |" * (len(_SHOWN) + 1)]
    for name, figures in result["spotting"].items():
        values = ["unknown" if figures[k] is None else f"{figures[k]:.3f}" for k in _SHOWN]
        lines.append(f"| {name} | " + " | ".join(values) + " |")
    return "\n".join(lines)


class _First:
    """The first splits of a protocol, for a quick look."""

    def __init__(self, protocol: Any, n: int) -> None:
        self._protocol, self._n = protocol, n

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Any:
        return list(self._protocol.split(X, y, groups))[: self._n]


def _draw(folder: Path, name: str, report: SpottingReport) -> None:
    rows = list(zip(report.names, report.truth, report.found, strict=True))[:20]
    lengths = report.n_frames[:20]
    write_page(folder / f"{name}.html", name, rows, lengths, fps=report.fps, figures=report.figures())
    write_text(folder / f"{name}.txt", f"{report}\n")
    try:
        draw_timeline(folder / f"{name}.png", rows, lengths, report.fps)
    except ImportError:  # pictures are an extra; the page has them too
        return
