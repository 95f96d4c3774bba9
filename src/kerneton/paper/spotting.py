"""Spotting in UTKinect's uncut takes, ten half splits: ``kerneton reproduce spotting``.

Everything is chosen on training people, the threshold on those held out in turn. All people perform
the ten actions in nearly the same order, which is learned from the training takes and expected in
the test takes; ``utkinect_any_order`` does not use it. Times are stated at 15 frames per second,
about what the takes have.
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
from kerneton.stream.timeline import draw_timeline

FPS = 15.0
BARS = {"utkinect": {"f1_50": 0.80}, "utkinect_cut": {"f1_50": 0.60}}
_SHOWN = (
    "f1_50",
    "f1_30",
    "f1_70",
    "map_50",
    "frame_accuracy",
    "delay_ms",
    "false_alarms_per_hour",
)


def spotting(
    *,
    data_home: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    n_splits: int = 10,
) -> dict[str, Any]:
    """Trained from uncut takes, with and without their order, and with half a second of delay; from
    cut actions alone.
    """
    takes = load_utkinect(data_home, uncut=True)
    protocol = _First(HalfSplits.published("utkinect"), n_splits)
    free = evaluate_spotting(make_recognizer(), takes, protocol, fps=FPS, progress=progress)
    runs: dict[str, SpottingReport] = {
        "utkinect": evaluate_spotting(free.models, takes, protocol, in_order=True, fps=FPS),
        "utkinect_half_second": evaluate_spotting(
            free.models, takes, protocol, in_order=True, delay_s=0.5, fps=FPS
        ),
        "utkinect_any_order": free,
        "utkinect_any_order_half_second": evaluate_spotting(
            free.models, takes, protocol, delay_s=0.5, fps=FPS
        ),
        "utkinect_cut": evaluate_spotting(
            make_recognizer(),
            takes,
            protocol,
            training=lambda some: [action for take in some for action in take.cut_segments()],
            fps=FPS,
            progress=progress,
        ),
    }
    if output is not None:
        for name, report in runs.items():
            _draw(Path(output), name, report)
    found = {name: {key: report.figures()[key] for key in _SHOWN} for name, report in runs.items()}
    lost = {
        name: found[name]["f1_50"] - found[f"{name}_half_second"]["f1_50"]  # type: ignore[operator]
        for name in ("utkinect", "utkinect_any_order")
    }
    return {
        "spotting": found,
        "f1_50_lost_in_half_a_second": lost,
        "splits": n_splits,
        "bars": BARS,
    }


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
    report.to_html(folder / f"{name}.html", name)
    write_text(folder / f"{name}.txt", f"{report}\n")
    try:
        draw_timeline(folder / f"{name}.png", rows, lengths, report.fps)
    except ImportError:  # pictures are an extra; the page has them too
        return
