"""Label Studio's JSON: regions of time series, of audio and video, and of video timelines."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kerneton.exceptions import FormatError
from kerneton.files._segment_text import MAX_INTERVALS, Interval, is_background


def label_studio_intervals(text: str, path: Path) -> list[Interval]:
    """Intervals of the exported tasks; a task's data name its recording.

    ``timelinelabels`` count video frames from 1, the last one in; ``timeserieslabels`` are frames where all of their
    bounds are whole numbers, else seconds; ``labels`` of audio and video are seconds.

    >>> task = {"data": {"video": "/data/long.mp4"}, "annotations": [{"result": [{"type": "timelinelabels",
    ...     "value": {"ranges": [{"start": 11, "end": 40}], "timelinelabels": ["wave"]}}]}]}
    >>> label_studio_intervals(json.dumps([task]), Path("a.json"))[0]
    Interval(label='wave', start=10.0, stop=40.0, seconds=False, recording='/data/long.mp4', where='task 1')
    """
    try:
        tasks = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: damaged JSON: {str(error)[:80]}") from error
    tasks = tasks if isinstance(tasks, list) else [tasks]
    intervals: list[Interval] = []
    known = False
    for number, task in enumerate(tasks, start=1):
        if not isinstance(task, dict):
            continue
        known = known or isinstance(task.get("annotations", task.get("completions")), list)
        recording = _recording(task)
        for item in _results(task):
            intervals += _item(item, recording, f"task {number}", path)
            if len(intervals) > MAX_INTERVALS:
                raise FormatError(f"{path}: more than {MAX_INTERVALS} segments")
    if not known:
        raise FormatError(f"{path}: expected an export of Label Studio: tasks with 'annotations'")
    return _series_units(intervals)


def _recording(task: dict[str, Any]) -> str:
    data = task.get("data")
    texts = [v for v in data.values() if isinstance(v, str)] if isinstance(data, dict) else []
    name = str(task.get("file_upload") or (texts[0] if texts else ""))
    return name.partition("?")[0]


def _results(task: dict[str, Any]) -> Iterator[dict[str, Any]]:
    annotations = task.get("annotations", task.get("completions"))
    for annotation in annotations if isinstance(annotations, list) else []:
        if not isinstance(annotation, dict) or annotation.get("was_cancelled"):
            continue
        results = annotation.get("result")
        yield from (r for r in (results if isinstance(results, list) else []) if isinstance(r, dict))


def _item(item: dict[str, Any], recording: str, where: str, path: Path) -> Iterator[Interval]:
    value, kind = item.get("value"), item.get("type")
    if not isinstance(value, dict) or kind not in ("timelinelabels", "timeserieslabels", "labels"):
        return
    labels = value.get(kind)
    ranges = value.get("ranges") if kind == "timelinelabels" else [value]
    for bounds in ranges if isinstance(ranges, list) else []:
        start, stop = (_number(bounds, key, where, path) for key in ("start", "end"))
        for label in labels if isinstance(labels, list) else []:
            if isinstance(label, str) and not is_background(label):
                if kind == "timelinelabels":
                    yield Interval(label, start - 1, stop, False, recording, where)
                else:  # of a series, both bounds lie on samples: the unit is settled when all are known
                    yield Interval(label, start, stop, True, recording, f"{where}, {kind}")


def _series_units(intervals: list[Interval]) -> list[Interval]:
    series = [i for i in intervals if i.where.endswith("timeserieslabels")]
    if not series or any(i.start != int(i.start) or i.stop != int(i.stop) for i in series):
        return intervals
    return [
        Interval(i.label, i.start, i.stop + 1, False, i.recording, i.where)
        if i.where.endswith("timeserieslabels")
        else i
        for i in intervals
    ]


def _number(bounds: Any, key: str, where: str, path: Path) -> float:
    value = bounds.get(key) if isinstance(bounds, dict) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise FormatError(f"{path}, {where}: expected a number as {key!r}, got {str(value)[:40]!r}")
    if not 0 <= value <= 1e9:
        raise FormatError(f"{path}, {where}: {key!r} is {value:g}, which is not a valid time")
    return float(value)
