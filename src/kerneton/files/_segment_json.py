"""Label Studio's JSON: regions of time series, of audio and video, and of video timelines."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from kerneton.exceptions import FormatError
from kerneton.files.segments import MAX_INTERVALS, Interval

_SERIES = "timeserieslabels"


def label_studio_intervals(text: str, path: Path) -> list[Interval]:
    """Intervals of the exported tasks; the data of a task name its recording.

    ``timelinelabels`` count video frames from 1, the last one included; ``timeserieslabels`` are frames if all of their
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
    tasks = [task for task in (tasks if isinstance(tasks, list) else [tasks]) if isinstance(task, dict)]
    if not any(isinstance(_annotations(task), list) for task in tasks):
        raise FormatError(f"{path}: expected an export of Label Studio: tasks with 'annotations'")
    most = min(MAX_INTERVALS, len(text) // 4)  # every label is repeated for every range of its region
    intervals = list(itertools.islice(_intervals(tasks, path), most + 1))
    if len(intervals) > most:
        raise FormatError(f"{path}: {len(text)} characters that describe more than {most} segments")
    series = [i for i in intervals if i.where.endswith(_SERIES)]
    if any(i.start != int(i.start) or i.stop != int(i.stop) for i in series):
        return intervals
    return [replace(i, stop=i.stop + 1, seconds=False) if i.where.endswith(_SERIES) else i for i in intervals]


def _annotations(task: dict[str, Any]) -> Any:
    return task.get("annotations", task.get("completions"))


def _intervals(tasks: list[dict[str, Any]], path: Path) -> Iterator[Interval]:
    for number, task in enumerate(tasks, start=1):
        annotations = [a for a in _list(_annotations(task)) if isinstance(a, dict)]
        for annotation in annotations:
            results = [] if annotation.get("was_cancelled") else _list(annotation.get("result"))
            for result in results:
                if isinstance(result, dict):
                    yield from _item(result, _recording(task), f"task {number}", path)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _recording(task: dict[str, Any]) -> str:
    data = task.get("data")
    texts = [v for v in data.values() if isinstance(v, str)] if isinstance(data, dict) else []
    name = str(task.get("file_upload") or (texts[0] if texts else ""))
    return name.partition("?")[0]


def _item(item: dict[str, Any], recording: str, where: str, path: Path) -> Iterator[Interval]:
    value, kind = item.get("value"), item.get("type")
    if not isinstance(value, dict) or kind not in ("timelinelabels", _SERIES, "labels"):
        return
    labels = value.get(kind)
    ranges = _list(value.get("ranges")) if kind == "timelinelabels" else [value]
    for bounds in ranges:
        start, stop = (_number(bounds, key, where, path) for key in ("start", "end"))
        for label in (label for label in _list(labels) if isinstance(label, str)):
            if kind == "timelinelabels":
                yield Interval(label, start - 1, stop, False, recording, where)
            else:  # both bounds of a series are samples: the unit is decided when all are known
                yield Interval(label, start, stop, True, recording, f"{where}, {kind}")


def _number(bounds: Any, key: str, where: str, path: Path) -> float:
    value = bounds.get(key) if isinstance(bounds, dict) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise FormatError(f"{path}, {where}: expected a number as {key!r}, got {str(value)[:40]!r}")
    if not 0 <= value <= 1e9:  # NaN too
        raise FormatError(f"{path}, {where}: {key!r} is {str(value)[:40]}, which is not a valid time")
    return float(value)
