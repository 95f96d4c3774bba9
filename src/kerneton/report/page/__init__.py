"""A report as one self-contained HTML page: charts, players and numbers in a single file.

`page.html` is a Jinja2 template, with the list of its sections at the top; the modules here compute
what it shows, in dicts whose keys are names in the template. Every text is escaped by the template
engine (autoescape). The page loads nothing from the network, and its content security policy
forbids it; the script in it gets only numbers.
"""

from __future__ import annotations

import base64
import hashlib
import re
import time
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup, escape

from kerneton.data.checks import as_dataset
from kerneton.data.sequence import SkeletonDataset, SkeletonSequence
from kerneton.data.wording import many
from kerneton.exceptions import DataError
from kerneton.report.page._cells import per_cent
from kerneton.report.page._facts import data_facts, making_facts, tiles
from kerneton.report.page._joints import joint_cards, pooled
from kerneton.report.page._mistakes import mistake_cards, mistake_list
from kerneton.report.page._predictions import all_predictions, anchor, best_examples, choose
from kerneton.report.page._results import (
    calibration_facts,
    class_rows,
    confusion_facts,
    result_facts,
)
from kerneton.report.scene import with_bones
from kerneton.report.tables import percent
from kerneton.report.text import protocol_words

if TYPE_CHECKING:
    from kerneton.report.results import Report

_LONGEST = 300  # letters of one text, so that the page stays small
# Control characters would break the page, and characters that change the writing direction would
# mislead its reader.
_STRANGE = dict.fromkeys(
    [*range(9), *range(11, 0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFFFE, 0xFFFF],
    "\ufffd",
)  # fmt: skip


def render(
    report: Report,
    data: Iterable[SkeletonSequence] | None = None,
    *,
    command: str | None = None,
    films: Mapping[str, Path] | None = None,
) -> str:
    """The page's text; ``data`` are the evaluated recordings, without which nothing can be played;
    ``films`` are those of recordings, by name.

    >>> from kerneton import make_actions, make_recognizer, evaluate
    >>> data = make_actions(["wave", "clap"], n_subjects=2, n_takes=1)
    >>> report = evaluate(make_recognizer(kernel="sck"), data, "leave-one-subject-out")
    >>> render(report, data).splitlines()[0]
    '<!DOCTYPE html>'
    """
    recordings = None if data is None else SkeletonDataset(with_bones(_checked(report, data)))
    predictions = all_predictions(report)
    examples = {} if recordings is None else best_examples(predictions, recordings)
    pairs = [pair for pair in choose(report, predictions, examples) if pair.mistakes]
    links = {(p.label, p.predicted): f"#{anchor(k)}" for k, p in enumerate(pairs, start=1)}
    importance = pooled(
        [split.importance for split in report.splits if split.importance is not None]
    )
    reasons = {i: why for split in report.splits for i, why in split.reasons.items()}
    joints = joint_cards(importance, recordings, examples)
    return fill(
        "page.html",
        report=report,
        name=report.data.get("name") or "Recordings",
        tiles=tiles(report),
        in_words=protocol_words(report),
        command=command,
        has_data=recordings is not None,
        filmed=bool(films),
        classes=class_rows(report),
        wrong=mistake_list(report, [v for v in predictions if not v.correct]),
        importance=joints,
        sided_classes=joints is not None and any(card["sided"] for card in joints["cards"]),
        **result_facts(report),
        **confusion_facts(report, links if recordings is not None else {}),
        **({} if recordings is None else mistake_cards(recordings, pairs, reasons, films)),
        **calibration_facts(report),
        **data_facts(report, recordings),
        **making_facts(report),
    )  # fmt: skip


def fill(template: str, **values: Any) -> str:
    """A page from its template, with the style and the players' script in it."""
    script = _resource("players.js")
    page = environment().get_template(template).render(
        today=time.strftime("%Y-%m-%d"),
        style=Markup(_resource("style.css")),
        script=Markup(script),
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        **values,
    )  # fmt: skip
    # Names of files may contain surrogates, which UTF-8 cannot encode.
    return page.encode("utf-8", "replace").decode("utf-8").translate(_STRANGE).lstrip() + "\n"


@cache
def environment() -> jinja2.Environment:
    """The template engine: escapes every text, cuts long ones, refuses undefined names.

    >>> environment().from_string('<b title="{{ x }}">{{ x }}</b>').render(x='"<')
    '<b title="&#34;&lt;">&#34;&lt;</b>'
    """
    made = jinja2.Environment(
        loader=jinja2.FunctionLoader(_resource),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_cut,
        trim_blocks=True,
    )
    made.filters.update(percent=percent, per_cent=per_cent, unbroken=_unbroken, many=many)
    return made


def _unbroken(text: str) -> Markup:
    """Text in which no line ends within the name of an option.

    >>> _unbroken("override with --no-flip")
    Markup('override with <span class="range">--no-flip</span>')
    """
    return Markup(
        re.sub(r"--\w[\w-]*", r'<span class="range">\g<0></span>', str(escape(_cut(text))))
    )


def _cut(value: Any) -> Any:
    if isinstance(value, str) and not isinstance(value, Markup) and len(value) > _LONGEST:
        return value[: _LONGEST - 1] + "…"
    return value


def _checked(report: Report, data: Iterable[SkeletonSequence]) -> SkeletonDataset:
    """The recordings, if they are those of the report."""
    recordings = as_dataset(data, told=False)
    if len(recordings) != len(report.recordings):
        raise DataError(
            f"the report is about {len(report.recordings)} recordings, got {len(recordings)}; "
            "pass the data that was evaluated"
        )
    for i, (sequence, name) in enumerate(zip(recordings, report.recordings, strict=True)):
        if sequence.name != name:
            raise DataError(
                f"recording {i} is {name!r} in the report and {sequence.name!r} in the data; "
                "pass the data that was evaluated, in the same order"
            )
    return recordings


def _resource(name: str) -> str:
    return resources.files("kerneton.report.page").joinpath(name).read_text(encoding="utf-8")
