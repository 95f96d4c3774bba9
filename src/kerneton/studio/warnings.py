"""Warnings about single recordings, by the same rules as the folder summary of the command line."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from kerneton.studio.library import Record

_FEW, _SHORT, _HALF = 2, 4, 0.5  # as in kerneton.files.summary
_SLOW = 8.0  # frames per second with which fast movements are lost


def warnings_of(records: Iterable[Record]) -> dict[str, list[str]]:
    """Codes of warnings by the recording's id; the page has the texts.

    Codes: ``short``, ``missing``, ``twice``, ``few`` (recordings of the label), ``one-subject`` (of
    the label), ``one-label`` (of the subject), ``layout`` and ``rate`` (other than most recordings
    have), ``slow`` (few frames per second), ``no-subject``.

    >>> warnings_of([])
    {}
    """
    records = list(records)
    out: dict[str, list[str]] = {}
    labels = Counter(r.label for r in records if r.label is not None)
    copies = Counter(r.info.digest for r in records)
    by_label, by_subject = defaultdict(set), defaultdict(set)
    for r in records:
        if r.label is not None and r.subject is not None:
            by_label[r.label].add(r.subject)
            by_subject[r.subject].add(r.label)
    layouts = Counter((r.info.layout, r.info.n_joints) for r in records)
    rates = Counter(r.info.fps for r in records)
    some_subjects = any(r.subject is not None for r in records)
    several = len(by_subject) > 1 and len(labels) > 1
    for r in records:
        found = {
            "short": r.info.n_frames <= _SHORT,
            "missing": r.info.missing > _HALF,
            "twice": copies[r.info.digest] > 1,
            "few": r.label is not None and labels[r.label] <= _FEW,
            "one-subject": several and len(by_label.get(r.label or "", ())) == 1,
            "one-label": several and len(by_subject.get(r.subject or "", ())) == 1,
            "layout": layouts[r.info.layout, r.info.n_joints] < max(layouts.values()),
            "rate": rates[r.info.fps] < max(rates.values()),
            "slow": r.info.fps is not None and r.info.fps < _SLOW,
            "no-subject": r.label is not None and r.subject is None and some_subjects,
        }
        if codes := [code for code, holds in found.items() if holds]:
            out[r.id] = codes
    return out
