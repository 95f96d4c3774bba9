"""A page of HTML about long recordings: timelines, figures, and mistakes that can be played."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from kerneton.data.segments import Segment
from kerneton.data.sequence import SkeletonSequence
from kerneton.data.wording import many
from kerneton.files.output import write_text
from kerneton.stream.detection import Detection
from kerneton.stream.metrics import match_segments
from kerneton.stream.timeline import colours, time_ticks, timeline_svg

_PLAYED = 12  # segments that can be played; a page must stay small

Row = tuple[str, Sequence[Segment], Sequence[Detection]]


def write_page(
    path: str | os.PathLike[str],
    title: str,
    rows: Sequence[Row],
    n_frames: Sequence[int],
    *,
    fps: float | None = None,
    figures: dict[str, float | None] | None = None,
    classes: Sequence[dict[str, Any]] = (),
    recordings: Sequence[SkeletonSequence] = (),
    reasons: Sequence[Sequence[str]] = (),
) -> Path:
    """Write one page that loads nothing: a timeline and a table per recording (name, truth, found),
    and figures if given.

    With ``recordings``, one per row, mistakes can be played, or the detections if there is no
    truth. ``reasons`` has a text for each detection of each row.
    """
    from kerneton.report.page import fill
    from kerneton.report.page._motion import Motion

    shade = colours([s.label for _, a, b in rows for s in (*a, *b)])
    has_truth = any(truth for _, truth, _ in rows)
    players: list[dict[str, Any]] = []
    motions: list[dict[str, Any]] = []
    for what, segment, recording in _to_play(rows, recordings, has_truth)[:_PLAYED]:
        beside = max(3, segment.n_frames // 2)
        first, last = max(0, segment.start - beside), min(recording.n_frames, segment.stop + beside)
        motion = Motion.of(recording.cut(first, last).replace(fps=recording.fps or fps))
        chance = getattr(segment, "probability", None)
        players.append(
            {
                "name": recording.name,
                "source": f"{recording.name}, {_time(segment.start, fps)} to {_time(segment.stop, fps)}",
                "label": segment.label,
                "told": what,
                "verdict": what != "found",
                "said": None if chance is None else f"probability {chance:.2f}",
                "motion": motion,
                "number": None if motion is None else len(motions),
                "length": f"{motion.seconds:.1f} s"
                if motion and motion.timed
                else many(segment.n_frames, "frame"),
            }
        )
        motions += [] if motion is None else [motion.to_dict()]
    whys = [[[t] for t in some] for some in reasons] or [[[] for _ in found] for *_, found in rows]
    page = fill(
        "spotting.html",
        title=title,
        figures=[[k, "unknown" if v is None else f"{v:.3f}"] for k, v in (figures or {}).items()],
        classes=[
            [c["label"], c["true"], c["found"], c["right"], f"{c['f1']:.2f}"] for c in classes
        ],
        has_truth=has_truth,
        legend=list(shade.items()),
        explained=bool(reasons),
        rows=[
            {
                "name": name,
                "picture": Markup(timeline_svg(truth, found, n, shade)),
                "ticks": time_ticks(n, fps),
                "found": [
                    [d.label, _time(d.start, fps), _time(d.stop, fps), _chance(d), *why]
                    for d, why in zip(found, texts, strict=True)
                ],
            }
            for (name, truth, found), n, texts in zip(rows, n_frames, whys, strict=True)
        ],
        players=players,
        motions=motions,
    )
    write_text(path, page)
    return Path(path)


def _to_play(
    rows: Sequence[Row], recordings: Sequence[SkeletonSequence], has_truth: bool
) -> list[tuple[str, Segment, SkeletonSequence]]:
    """Segments to play: missed and false ones alternately, false ones by falling score; without
    truth, all detections.
    """
    missed, false = [], []
    for (_, truth, found), recording in zip(rows, recordings, strict=bool(recordings)):
        matches = match_segments(truth, found)
        missed += [("missed", s, recording) for k, s in enumerate(truth) if k not in matches]
        false += [(d, recording) for d, m in zip(found, matches, strict=True) if m is None]
    if not has_truth:
        return [("found", d, recording) for d, recording in false]
    false.sort(key=lambda item: -item[0].score)
    wrong = [("found, and wrong:", d, recording) for d, recording in false]
    turns = [item for pair in zip(missed, wrong, strict=False) for item in pair]
    n = len(turns) // 2
    return [*turns, *missed[n:], *wrong[n:]]


def _time(frame: int, fps: float | None) -> str:
    return f"frame\u00a0{frame}" if fps is None else f"{frame / fps:.2f}\u00a0s"


def _chance(d: Detection) -> str:
    return "" if d.probability is None else f"{d.probability:.2f}"
