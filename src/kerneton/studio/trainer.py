"""The training, in a separate process: ``python -m kerneton.studio.trainer`` waits for a job on its
input.

A job is a line of JSON, ``{"folder": ..., "name": ...}``; progress and the result are lines of JSON
on the output.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from joblib import parallel_config

from kerneton.data.sequence import SkeletonDataset, SkeletonSequence
from kerneton.datasets.protocols import RecordingKFold, SubjectKFold
from kerneton.exceptions import (
    DataError,
    HeldOutError,
    KernetonError,
    KernetonWarning,
    NoProbabilitiesWarning,
)
from kerneton.files.folder import collect, listed_entries
from kerneton.files.output import write_text
from kerneton.files.readers import Content
from kerneton.parallel.memory import most_used
from kerneton.recognize.model_file import recording_facts, save, training_summary
from kerneton.recognize.presets import make_recognizer
from kerneton.report.evaluation import evaluate
from kerneton.report.intervals import interval
from kerneton.report.results import Report
from kerneton.stream.spotter import spotter_of
from kerneton.studio.folders import MODELS, is_inside, named

# recordings, and people, that the spotter learns from at most: 1.6 GB for 104 of a Kinect
_SPOTTED, _PEOPLE = 120, 16
Tell = Callable[..., None]  # sends a message to the server


def train(folder: Path, name: str, tell: Tell) -> dict[str, Any]:
    """Read the folder, test on held-out people, train on all, and write model, figures and
    report.
    """
    start = time.monotonic()
    tell(share=0.02, stage="read")
    notes: list[str] = []
    data = _usable(read_folder(folder, notes, _reporter(tell, "read", 0.02, 0.1)), notes)
    protocol, people = _protocol(data)
    tell(share=0.1, stage="test")
    figures: dict[str, Any] = {"people": people, "notes": notes}
    home = folder / MODELS / name
    with warnings.catch_warnings():
        # the page has its own texts for few recordings and subjects
        warnings.simplefilter("ignore")
        progress = _reporter(tell, "test", 0.1, 0.45)
        try:
            report = evaluate(make_recognizer(), data, protocol, progress=progress, importance=True)
        except HeldOutError:
            if people == "recordings":
                raise
            # Without one person too little is left of some label to train on.
            protocol, people = _recordings(data), "recordings"
            notes.append("too few recordings to hold out a person, so recordings were held out")
            report = evaluate(make_recognizer(), data, protocol, progress=progress, importance=True)
        figures |= _held_out(report) | {"people": people}
        report.to_html(home / "report.html", data, command="kerneton studio")
        tell(share=0.45, stage="fit")
        model = fit_model(data, notes)
    tell(share=0.6, stage="save")
    save_model(model, home / "model.kern", data)
    figures |= {
        "date": time.strftime("%Y-%m-%d %H:%M"),
        "labels": dict(sorted(Counter(map(str, data.labels)).items())),
        "subjects": len({s.subject for s in data if s.subject is not None}),
        "recordings": len(data),
        "frames": sorted(s.n_frames for s in data)[len(data) // 2],
        "fps": Counter(s.fps for s in data).most_common(1)[0][0],
        "next": record_next(data, figures["pairs"]),
        "seconds": round(time.monotonic() - start, 1),
        "probabilities": hasattr(model, "predictions"),
        "bytes": (home / "model.kern").stat().st_size,
    }
    _write(home, figures)
    tell(share=0.62, stage="spot", model=name)  # can be used now; the spotter follows
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            spotting = make_recognizer(progress=_stages(tell, "spot", 0.62, 0.98))
            model = model.with_spotter(spotting.fit_spotting(_some(data, notes)))
        save_model(model, home / "model.kern", data)
        figures["spotting"] = spotter_of(model).held_out_
        figures["bytes"] = (home / "model.kern").stat().st_size
    except DataError as error:
        notes.append(f"segments and repetitions cannot be found live: {error}")
    figures["seconds"] = round(time.monotonic() - start, 1)
    figures["memory"] = most_used()
    _write(home, figures)
    return figures


def _write(home: Path, figures: dict[str, Any]) -> None:
    write_text(home / "figures.json", json.dumps(figures, ensure_ascii=False, indent=1) + "\n")


def read_folder(folder: Path, notes: list[str], progress: Callable[..., Any]) -> SkeletonDataset:
    """The folder's recordings, read as by `kerneton.load_folder`, named by the studio's ids."""
    entries = {e.path: e for e in listed_entries(folder) if is_inside(folder, e.path)}
    if not entries:
        return SkeletonDataset([], name=folder.name)

    def with_ids(path: Path, content: Content) -> Content:
        own = named(
            path.relative_to(folder).as_posix(),
            content.recordings,
            entries[path].label,
            entries[path].subject,
        )
        pairs = zip(content.recordings, own, strict=True)
        whole = [s.replace(name=id, label=label, subject=who) for s, (id, label, who) in pairs]
        parts = [part for sequence in whole for part in sequence.cut_segments() or [sequence]]
        return content._replace(recordings=parts)

    with warnings.catch_warnings():
        # of what is left out, which the notes tell
        warnings.simplefilter("ignore", KernetonWarning)
        found = collect(list(entries), {}, change=with_ids, skip_broken=True, progress=progress)
    notes += [f"left out: {file} {why}".replace(f"{folder}/", "") for file, why in found.broken]
    return SkeletonDataset(found.recordings, name=folder.name, conversion=found.conversion)


def record_next(
    data: Iterable[SkeletonSequence], pairs: Iterable[dict[str, Any]]
) -> list[dict[str, Any]]:
    """What to record next, as codes for the page: labels with few recordings or people, pairs that
    are confused.
    """
    count: Counter[str] = Counter()
    people: dict[str, set[str]] = defaultdict(set)
    for sequence in data:
        count[str(sequence.label)] += 1
        if sequence.subject is not None:
            people[str(sequence.label)].add(sequence.subject)
    out: list[dict[str, Any]] = []
    everybody = set[str]().union(*people.values())
    if len(everybody) < 2:
        out.append({"code": "second-person"})
    for label, n in sorted(count.items(), key=lambda item: item[1])[:3]:
        if n < 5:
            out.append({"code": "more", "label": label, "n": n})
    for pair in list(pairs)[:3]:
        out.append(
            {"code": "confused", "label": pair["true"], "other": pair["said"], "n": pair["n"]}
        )
    for label, who in people.items():
        if len(everybody) > 1 and len(who) == 1:
            out.append({"code": "one-person", "label": label})
    return out[:6]


def _usable(data: SkeletonDataset, notes: list[str]) -> SkeletonDataset:
    """Labelled recordings of the most frequent kind of skeleton, in single precision."""
    labelled = [s for s in data if s.label is not None]
    if len(labelled) < len(data):
        notes.append(f"{len(data) - len(labelled)} recordings have no label and were left out")
    kinds = [(s.layout.name if s.layout else None, s.n_joints) for s in labelled]
    if len(set(kinds)) > 1:
        ((kind, n),) = Counter(kinds).most_common(1)
        joints = kind[0] or kind[1]
        notes.append(
            f"{len(labelled) - n} recordings have other joints than {joints} and were left out"
        )
        labelled = [s for s, own in zip(labelled, kinds, strict=True) if own == kind]
    labels = Counter(s.label for s in labelled)
    if len(labels) < 2:
        found = ", ".join(f"{label} ({n})" for label, n in labels.items()) or "none"
        raise DataError(f"at least two labels are needed; this folder has {found}")
    lone = sorted(str(label) for label, n in labels.items() if n < 2)
    if lone:
        raise DataError(
            f"each label needs at least two recordings; these have one: {', '.join(lone)}"
        )
    single = [s.replace(joints=s.joints.astype(np.float32, copy=False)) for s in labelled]
    return SkeletonDataset(single, name=data.name, conversion=data.conversion)


def _some(data: SkeletonDataset, notes: list[str]) -> list[SkeletonSequence]:
    """The recordings that the spotter learns from: all of a hundred; of more, as many of each
    label and person, so that memory is bounded.
    """
    if len(data) <= _SPOTTED:
        return list(data)
    people = sorted({str(s.subject) for s in data})
    kept = set(people[:: -(-len(people) // _PEOPLE)])
    turns: Counter[tuple[str, str | None]] = Counter()
    ranked: list[tuple[int, int]] = []
    for i in range(len(data)):
        if str(data[i].subject) in kept:
            cell = str(data[i].subject), data[i].label
            ranked.append((turns[cell], i))
            turns[cell] += 1
    chosen = sorted(i for _, i in sorted(ranked)[:_SPOTTED])
    missing = {s.label for s in data} - {data[i].label for i in chosen}
    for label in missing:  # that only other people show
        chosen += [i for i in range(len(data)) if data[i].label == label][:4]
    notes.append(
        f"to find actions in long recordings, {len(chosen)} of {len(data)} recordings were used, "
        f"of {len(kept)} people"
    )
    return [data[i] for i in sorted(chosen)]


def _protocol(data: SkeletonDataset) -> tuple[Any, str]:
    """How to test: on held-out people, in at most five groups; else on held-out recordings, which
    the page states.
    """
    subjects = [s.subject for s in data]
    by_label: dict[str | None, set[str | None]] = defaultdict(set)
    for s in data:
        by_label[s.label].add(s.subject)
    if None not in subjects and all(len(who) > 1 for who in by_label.values()):
        return SubjectKFold(n_splits=min(5, len(set(subjects))), allow_unseen=True), "subjects"
    return _recordings(data), "recordings"


def _recordings(data: SkeletonDataset) -> RecordingKFold:
    fewest = min(Counter(s.label for s in data).values())
    return RecordingKFold(n_splits=min(5, fewest if fewest > 2 else len(data)), allow_unseen=True)


def _held_out(report: Report) -> dict[str, Any]:
    rows = report.prediction_table()
    right = [row["correct"] for row in rows]
    known = interval(right, None if report.subjects is None else [row["subject"] for row in rows])
    tested = [{"name": r["recording"], "true": r["label"], "said": r["predicted"]} for r in rows]
    pairs = report.confused_pairs(None)
    return {
        "right": sum(right),
        "tested": len(rows),
        "accuracy": sum(right) / len(rows),
        "interval": [known.low, known.high],
        "over_people": known.n_subjects,
        "classes": list(report.classes),
        "confusion": report.confusion.tolist(),
        "predictions": tested,
        "pairs": [{"true": p["label"], "said": p["predicted"], "n": p["count"]} for p in pairs],
    }


def fit_model(data: SkeletonDataset, notes: list[str]) -> Any:
    """A model as ``kerneton fit`` makes it, with probabilities if there are enough recordings to
    learn them.
    """
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", NoProbabilitiesWarning)
        model = make_recognizer(calibrate="auto").fit(data, data.labels)
    notes += [
        str(warning.message) for warning in told if warning.category is NoProbabilitiesWarning
    ]
    return model


def save_model(model: Any, path: Path, data: SkeletonDataset) -> None:
    """Write the model's file, with the same facts about its training recordings as ``kerneton
    fit``.
    """
    done = None if data.conversion is None else data.conversion.to_dict()
    model.training_ = training_summary(data) | {
        "conventions": recording_facts(data) | {"conversion": done}
    }
    save(model, path)


def _reporter(tell: Tell, stage: str, low: float, high: float) -> Callable[..., Iterator[Any]]:
    """A progress bar, called like tqdm.tqdm, that sends a share between ``low`` and ``high``."""

    def progress(
        iterable: Iterable[Any], *, total: int | None = None, desc: str = ""
    ) -> Iterator[Any]:
        if desc.startswith("split "):  # steps within a split: the bar counts splits
            yield from iterable
            return
        items = list(iterable) if total is None else iterable
        n = total or len(items) or 1  # type: ignore[arg-type]
        for count, item in enumerate(items, start=1):
            yield item
            tell(share=low + (high - low) * min(count / n, 1), stage=stage)

    return progress


def _stages(tell: Tell, stage: str, low: float, high: float) -> Callable[..., Iterator[Any]]:
    """The same for an unknown number of progress bars: each takes half of what is left."""
    left = low

    def progress(
        iterable: Iterable[Any], *, total: int | None = None, desc: str = ""
    ) -> Iterator[Any]:
        nonlocal left
        begin, left = left, (left + high) / 2
        yield from _reporter(tell, stage, begin, left)(iterable, total=total, desc=desc)

    return progress


def main() -> None:
    """Run one job."""
    if hasattr(os, "nice"):
        os.nice(10)  # the page and the live labels go first
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # printed text must not mix with the messages

    def tell(**message: Any) -> None:
        out.write(json.dumps(message, ensure_ascii=False) + "\n")
        out.flush()

    line = sys.stdin.readline()
    if not line:
        return
    job = json.loads(line)
    try:
        with parallel_config(backend="threading", n_jobs=-1):
            train(Path(job["folder"]), job["name"], tell)
        tell(share=1.0, stage="done", done=job["name"])
    except KernetonError as error:
        tell(error=str(error).replace(f"{job['folder']}/", ""))
    except OSError as error:
        tell(
            error=f"{error.filename or job['name']}: {error.strerror or error}".replace(
                f"{job['folder']}/", ""
            )
        )
    except MemoryError:
        tell(error="memory ran out; close other programs, or train on fewer recordings")


if __name__ == "__main__":
    main()
