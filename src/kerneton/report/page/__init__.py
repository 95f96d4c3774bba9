"""A report as one page of HTML that needs nothing else: pictures, players and numbers in a single file.

The page asks the network for nothing, and its security policy would not let it. Every text that comes from the user is
escaped by the way the page is built (see `kerneton.report.page._html`); the script in it gets numbers alone.
"""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Iterable
from importlib import resources
from typing import TYPE_CHECKING

from kerneton.data.sequence import SkeletonDataset, SkeletonSequence
from kerneton.data.validation import check_sequences
from kerneton.exceptions import DataError
from kerneton.report.page._facts import data_section, making_section
from kerneton.report.page._html import Html, escape, join, tag
from kerneton.report.page._joints import joint_section
from kerneton.report.page._mistakes import mistake_section
from kerneton.report.page._results import (
    calibration_section,
    class_section,
    confusion_section,
    result_section,
    tile_list,
)
from kerneton.report.page._verdicts import all_verdicts, anchor, best_examples, choose

if TYPE_CHECKING:
    from kerneton.report.results import Report

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<a class="skip" href="#result">Skip to the result</a>
{body}
<script>{script}</script>
</body>
</html>
"""


def render(
    report: Report, data: Iterable[SkeletonSequence] | None = None, *, command: str | None = None
) -> str:
    """The page's text; ``data`` are the recordings that were evaluated, for without them nothing can be played.

    >>> from kerneton import make_actions, make_recognizer, evaluate
    >>> data = make_actions(["wave", "clap"], n_subjects=2, n_takes=1)
    >>> report = evaluate(make_recognizer(kernel="sck"), data, "leave-one-subject-out")
    >>> render(report, data).splitlines()[0]
    '<!DOCTYPE html>'
    """
    recordings = None if data is None else _checked(report, data)
    verdicts = all_verdicts(report)
    examples = {} if recordings is None else best_examples(verdicts, recordings)
    pairs = choose(report, verdicts, examples)
    links = {}
    if recordings is not None:
        shown = [pair for pair in pairs if pair.mistakes]
        links = {(p.label, p.predicted): f"#{anchor(k)}" for k, p in enumerate(shown, start=1)}
    sections = [
        ("result", "Result", "Result", result_section(report)),
        ("confusion", "Confusion", "What is taken for what", confusion_section(report, links)),
        ("classes", "Classes", "Class by class", class_section(report)),
        ("mistakes", "Mistakes", "Mistakes to look at", mistake_section(report, recordings, verdicts, pairs)),
        ("probabilities", "Probabilities", "Can its probabilities be trusted?", calibration_section(report)),
        ("joints", "Joints", "Which joints matter", joint_section(report, recordings, examples)),
        ("data", "Recordings", "The recordings", data_section(report, recordings)),
        ("making", "Making", "How this was made", making_section(report, command)),
    ]
    name = report.data.get("name") or "Recordings"
    script, style = _resource("players.js"), _resource("style.css")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return _PAGE.format(
        policy=f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'",
        title=escape(f"{name}: recognition report"),
        style=style,
        body=_body(report, name, sections),
        script=script,
    )


def _body(report: Report, name: str, sections: list[tuple[str, str, str, Html]]) -> Html:
    head = tag(
        "header",
        tag("p", "Recognition report", class_="kicker"),
        tag("h1", name),
        tag("p", _protocol(report), class_="lead"),
        tile_list(report),
        class_="top",
    )
    links = [tag("li", tag("a", short, href=f"#{key}")) for key, short, _, _ in sections]
    nav = tag("nav", tag("ol", *links), aria_label="Contents")
    parts = [
        tag("section", tag("h2", title, id=f"{key}-title"), content, id=key, aria_labelledby=f"{key}-title")
        for key, _, title, content in sections
    ]
    made = f"Made with Kerneton {report.versions.get('kerneton', '')}".strip()
    foot = tag(
        "footer", tag("p", f"{made}, {time.strftime('%Y-%m-%d')}. This page is one file and loads nothing.")
    )
    return join([head, nav, tag("main", *parts), foot], "\n")


def _protocol(report: Report) -> str:
    n = len(report.splits)
    return f"Protocol: {report.protocol}, {'one split' if n == 1 else f'{n} splits'}"


def _checked(report: Report, data: Iterable[SkeletonSequence]) -> SkeletonDataset:
    """The recordings, if they are those of the report."""
    recordings = (
        data
        if isinstance(data, SkeletonDataset)
        else SkeletonDataset(check_sequences(data, allow_missing=True))
    )
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
