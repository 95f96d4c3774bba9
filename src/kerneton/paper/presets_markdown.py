"""The tables of `kerneton.paper.presets` as Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kerneton.report.tables import markdown, percent

_NAMES = {
    "florence3d": "Florence3D",
    "utkinect": "UTKinect",
    "msr_wang": "MSR Wang",
    "msr_li": "MSR Li",
    "utd_mhad": "UTD-MHAD",
}
_ROWS = {
    "paper_printed": "the paper, SCK+DCK",
    "paper": "paper",
    "default": "default, fixed view",
    "tensor": "tensor, fixed view",
    "auto": "auto, fixed view",
    "free": "tensor, free view",
    "fixed_turned": "tensor, fixed view, turned",
    "free_turned": "tensor, free view, turned",
}


def to_markdown(result: Mapping[str, Any]) -> str:
    """The result of `beyond`: accuracies, choices, the ablation and the most frequent mistakes, in
    per cent.

    >>> part = {"paper_printed": 0.982, "paper": 0.95, "ablation": {}}
    >>> print(to_markdown({"beyond": {"utkinect": part}}).split("###")[0].strip())
    | test accuracy, % | UTKinect |
    | --- | ---: |
    | the paper, SCK+DCK | 98.20 |
    | paper | 95.00 |
    """
    parts = result["beyond"]
    names = [_NAMES[name] for name in parts]
    shown = [row for row in _ROWS if any(row in part for part in parts.values())]
    rows = [["test accuracy, %", *names]]
    rows += [[_ROWS[row], *(_known(part, row) for part in parts.values())] for row in shown]
    tables = [
        markdown(rows),
        _validation(parts, names),
        _ablation(parts, names),
        _choices(parts),
        _errors(parts),
    ]
    return "\n\n".join(text for text in tables if text)


def _titled(title: str, rows: list[list[str]]) -> str:
    return f"### {title}\n\n{markdown(rows)}" if len(rows) > 1 else ""


def _known(part: Mapping[str, Any], row: str) -> str:
    """An accuracy, with its interval over subjects where there is one."""
    known = part.get("interval", {}).get(row)
    return percent(part.get(row), 2) + (f" ({known})" if known else "")


def _validation(parts: Mapping[str, Any], names: list[str]) -> str:
    known = {name: part["validation"] for name, part in parts.items() if "validation" in part}
    if len(known) < len(parts):
        return ""
    rows = [["on held-out training subjects, order 2, %", *names]]
    for row in next(iter(known.values())):
        rows.append([_ROWS[row], *(percent(part[row], 2) for part in known.values())])
    return markdown(rows)


def _ablation(parts: Mapping[str, Any], names: list[str]) -> str:
    rows = [
        [
            "left out",
            "validation, mean",
            "test, mean",
            *(f"{name}, validation / test" for name in names),
        ]
    ]
    for what in next(iter(parts.values()))["ablation"]:
        cells = [part["ablation"][what] for part in parts.values()]
        means = [sum(cell[key] for cell in cells) / len(cells) for key in ("validation", "test")]
        pairs = [f"{percent(cell['validation'], 2)} / {percent(cell['test'], 2)}" for cell in cells]
        rows.append([what, *(percent(mean, 2) for mean in means), *pairs])
    return _titled("One ingredient left out, order 2", rows)


def _choices(parts: Mapping[str, Any]) -> str:
    rows = [["data", "row", "chosen inside the training subjects, and in how many splits"]]
    for name, part in parts.items():
        for row, counts in part.get("choices", {}).items():
            chosen = ", ".join(f"{variant}: {count}" for variant, count in counts.items())
            rows.append([_NAMES[name], _ROWS[row], chosen])
    return _titled("Choices", rows)


def _errors(parts: Mapping[str, Any]) -> str:
    rows = [["data", "wrong", "of", "commonest mistakes", "subjects"]]
    for name, part in parts.items():
        if "errors" in part:
            errors = part["errors"]
            pairs = ", ".join(
                f"{true} → {taken} {count}" for true, taken, count in errors["pairs"][:5]
            )
            subjects = ", ".join(
                f"{who}: {count}" for who, count in list(errors["subjects"].items())[:5]
            )
            rows.append(
                [_NAMES[name], str(errors["wrong"]), str(errors["tested"]), pairs, subjects]
            )
    return _titled("Mistakes of auto", rows)
