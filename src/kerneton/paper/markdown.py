"""Results of the experiments as Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kerneton.exceptions import ParameterError
from kerneton.report.tables import markdown, percent

_NAMES = {"florence3d": "Florence3D", "utkinect": "UTKinect", "wang": "MSR Wang", "li": "MSR Li"}
_KERNELS = {
    "sck": "SCK",
    "dck": "DCK",
    "dck_d": "DCK, set D",
    "dck_e": "DCK, set E",
    "sck+dck": "SCK+DCK",
}


def to_markdown(result: Mapping[str, Any]) -> str:
    """The result of `tables`, `figures`, `timing` or `complexity` as Markdown, the paper's figures
    next to ours.

    >>> print(
    ...     to_markdown(
    ...         {
    ...             "tables": {
    ...                 "utkinect": {
    ...                     "sck": {
    ...                         "accuracy": 0.947,
    ...                         "size": 40480,
    ...                         "spread": 0.02,
    ...                         "low": 0.91,
    ...                         "high": 0.97,
    ...                         "paper_accuracy": 0.9608,
    ...                         "paper_size": 40480,
    ...                     }
    ...                 }
    ...             }
    ...         }
    ...     )
    ... )
    | data | kernel | paper % | ours % | 95 % interval | spread | difference | ... |
    | --- | --- | ---: | ---: | --- | ---: | --- | --- | --- |
    | UTKinect | SCK | 96.08 | 94.70 | 91.0 to 97.0 | 2.00 | -1.38 | 40,480 | 40,480 |
    """
    writers = {"tables": _tables, "figures": _figures, "timing": _timing, "complexity": _complexity}
    parts = [writers[key](value) for key, value in result.items() if key in writers]
    if not parts:
        raise ParameterError(
            f"expected one of {', '.join(writers)}, got {', '.join(result) or 'nothing'}"
        )
    return "\n\n".join(parts)


def _tables(result: Mapping[str, Any]) -> str:
    head = ["data", "kernel", "paper %", "ours %", "95 % interval", "spread", "difference"]
    rows = [[*head, "paper's size", "our size"]]
    rows += [
        _cell(_NAMES[name.split()[-1]], kernel, cell) for name, kernel, cell in cells_of(result)
    ]
    return markdown(rows)


def cells_of(result: Mapping[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """(data set and protocol, kernel, cell) of every cell of the tables.

    >>> cells_of({"msr_action3d": {"wang": {"sck": {"size": 1}}}})
    [('msr_action3d wang', 'sck', {'size': 1})]
    """
    rows = []
    for name, part in result.items():
        protocols = part if name == "msr_action3d" else {"": part}
        for protocol, cells in protocols.items():
            rows += [(f"{name} {protocol}".strip(), kernel, cell) for kernel, cell in cells.items()]
    return rows


def _cell(name: str, kernel: str, cell: Mapping[str, Any]) -> list[str]:
    ours, paper = 100 * cell["accuracy"], 100 * cell["paper_accuracy"]
    sizes = [f"{cell[key]:,}" for key in ("paper_size", "size")]
    known = f"{percent(cell['low'])} to {percent(cell['high'])}"
    shown = [
        f"{paper:.2f}",
        f"{ours:.2f}",
        known,
        percent(cell["spread"], 2),
        f"{ours - paper:+.2f}",
    ]
    return [name, _KERNELS[kernel], *shown, *sizes]


def _figures(result: Mapping[str, Any]) -> str:
    parts = []
    for figure in result.values():
        rows = [[figure["parameter"], "validation %", "test %", "spread", "paper %"]]
        for i, value in enumerate(figure["values"]):
            columns = ("validation", "test", "spread", "paper")
            rows.append([str(value), *(percent(figure[column][i], 2) for column in columns)])
        parts.append(f"### {figure['title']}\n\n{markdown(rows)}")
    return "\n\n".join(parts)


def _timing(result: Mapping[str, Any]) -> str:
    rows = [["what", "paper", "ours", "times faster"]]
    for kernel in ("sck", "dck"):
        part = result[kernel]
        faster = part["paper_seconds"] / part["seconds"]
        name = f"{_KERNELS[kernel]}, a sequence"
        rows.append(
            [
                name,
                f"{part['paper_seconds']} s",
                f"{1000 * part['seconds']:.1f} ms",
                f"{faster:.0f}",
            ]
        )
    total = result["msr_action3d"]
    paper, ours = f"{total['paper_minutes']:g} min", f"{60 * total['minutes']:.1f} s"
    faster = total["paper_minutes"] / total["minutes"]
    rows.append(["all of MSR-Action3D, both kernels", paper, ours, f"{faster:.0f}"])
    return markdown(rows)


def _complexity(result: Mapping[str, Any]) -> str:
    growth = [["kernel", "as this grows", "exact, seconds ∝", "linearised, seconds ∝"]]
    for name, sweep in result["sweeps"].items():
        kernel, _, what = name.partition("_")
        exact, linear = (f"n^{sweep[f'{kind}_growth']:.2f}" for kind in ("exact", "linear"))
        growth.append([kernel.upper(), f"n = {what}", exact, linear])
    ratios = [["kernel", "sequences", "frames", "paper", "ours"]]
    for row in result["ratios"]:
        both = [f"{r:,.3g}" if r < 1000 else f"{r:,.0f}" for r in (row["paper"], row["ours"])]
        ratios.append([row["kernel"].upper(), f"{row['sequences']:,}", str(row["frames"]), *both])
    return f"{markdown(growth)}\n\nHow many times faster the linearised kernel is:\n\n{markdown(ratios)}"
