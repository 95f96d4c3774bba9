"""Facts about the recordings and about the evaluation."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from markupsafe import escape

from kerneton.data.sequence import SkeletonDataset
from kerneton.data.wording import many
from kerneton.report.page import _charts
from kerneton.report.page._cells import Cell, per_cent
from kerneton.report.text import variant_note, variant_rows

if TYPE_CHECKING:
    from kerneton.report.results import Report

_ROWS, _COLUMNS = 100, 40  # of the table of labels and subjects


def tiles(report: Report) -> list[tuple[str, str]]:
    """The size of the data, in four numbers."""
    data = report.data
    subjects = len(data.get("subjects") or {})
    shortest, _, longest = data["n_frames"]
    counts = {"recording": data["n_recordings"], "label": len(data["labels"]), "subject": subjects}
    tiles = [(f"{n:,}" if n else "–", what if n == 1 else f"{what}s") for what, n in counts.items()]
    return [
        *tiles,
        (f"{shortest}–{longest}" if shortest != longest else str(longest), "frames each"),
    ]


def data_facts(report: Report, data: SkeletonDataset | None) -> dict[str, Any]:
    """Counts, lengths and gaps."""
    facts = report.data
    shortest, median, longest = facts["n_frames"]
    missing = facts.get("missing")
    return {
        "facts": [
            ["Recordings", facts["n_recordings"]],
            ["Length", f"{shortest} to {many(longest, 'frame')}, median {median:g}"],
            ["Joints", _counted(facts.get("layouts", {}))],
            ["Frame rate", _counted(facts.get("fps", {})) or "unknown"],
            ["Missing", "unknown" if missing is None else f"{per_cent(missing)} of joints"],
            *([["Unit and axes", facts["axes"]]] if facts.get("axes") else []),
        ],
        "lengths": None if data is None else _charts.lengths([s.n_frames for s in data]),
        "counts": _counts(facts, data),
        "count_lists": [
            _count_list(name, facts[name]) for name in ("labels", "subjects") if facts.get(name)
        ],
    }  # fmt: skip


def making_facts(report: Report) -> dict[str, Any]:
    """Protocol, model, parameters, versions and seconds: enough to repeat the evaluation."""
    times, n = report.timings, len(report.splits)
    per = 1000 * times["predict_seconds_per_recording"]
    making: list[list[Any]] = [
        ["Protocol", report.protocol],
        ["Splits", n],
        [
            "Training",
            f"{times['fit_seconds']:.3g} s in all, {times['fit_seconds'] / n:.3g} s per split",
        ],
        ["Prediction", f"{times['predict_seconds']:.3g} s in all, {per:.3g} ms per recording"],
    ]
    return {
        "making": making,
        "variants": variant_rows(report),
        "variant_note": escape(variant_note(report)),  # whole, however long
        "versions": [[name, Cell(value, kind="code")] for name, value in report.versions.items()],
        "parameters": [
            [
                Cell(name, kind="code"),
                Cell(value if isinstance(value, str) else repr(value), kind="code"),
            ]
            for name, value in report.parameters.items()
        ],
    }


def _counts(facts: dict[str, Any], data: SkeletonDataset | None) -> dict[str, Any] | None:
    """Recordings of every label by every subject; None if the table would not fit."""
    labels, subjects = facts["labels"], facts.get("subjects") or {}
    if data is None or not subjects or len(labels) > _ROWS or len(subjects) > _COLUMNS:
        return None
    both = Counter((s.label, s.subject) for s in data)
    most = max(both.values())
    names = sorted(subjects, key=_natural)
    rows: list[list[Any]] = [
        [
            label,
            *(Cell(both[label, s] or "·", share=both[label, s] / most, kind="heat") for s in names),
            n,
        ]
        for label, n in labels.items()
    ]
    rows.append(["all", *(subjects[subject] for subject in names), sum(labels.values())])
    return {"header": ["label", *names, "all"], "rows": rows}


def _count_list(name: str, counts: dict[str, int]) -> dict[str, Any]:
    rows = sorted(counts.items(), key=lambda item: _natural(item[0]))[:_ROWS]
    most = max(counts.values())
    return {
        "title": many(len(counts), name.removesuffix("s")),
        "rows": [(label, Cell(n, share=n / most)) for label, n in rows],
        "more": len(counts) - len(rows),
    }


def _natural(name: str) -> tuple[int, int, str]:
    """Numbers in their own order, before words."""
    return (0, int(name), name) if name.isdecimal() and len(name) < 19 else (1, 0, name)


def _counted(counts: dict[str, int]) -> str:
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{name} ({n})" for name, n in counts.items())
