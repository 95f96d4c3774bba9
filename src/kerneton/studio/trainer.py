"""The program that trains, in a process of its own: ``python -m kerneton.studio.trainer`` waits for a job on its input.

A job is a line of JSON, ``{"folder": ..., "name": ...}``; progress and the result are lines of JSON on the output. With
``--warm`` it imports and compiles first, so that those seconds are over when somebody presses the button.
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

from kerneton.exceptions import DataError, KernetonError
from kerneton.studio.places import MODELS, named
from kerneton.studio.recognizing import (
    fit_model,
    fit_spotter,
    new_model,
    save_model,
    warm_up,
)

Tell = Callable[..., None]


def train(folder: Path, name: str, tell: Tell) -> dict[str, Any]:
    """Read the folder, test on people held out, train on everybody, and keep model, figures and report."""
    from kerneton.data.sequence import SkeletonDataset
    from kerneton.report.evaluation import evaluate

    start = time.monotonic()
    tell(share=0.02, stage="read")
    notes: list[str] = []
    data = read_folder(folder, notes, _reporter(tell, "read", 0.02, 0.1))
    data = _usable(data, notes)
    protocol, people = _protocol(data)
    tell(share=0.1, stage="test")
    figures: dict[str, Any] = {"people": people, "notes": notes}
    home = folder / MODELS / name
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the page has its own words for few recordings and subjects
        if protocol is not None:
            report = evaluate(
                new_model(), data, protocol, progress=_reporter(tell, "test", 0.1, 0.45), importance=True
            )
            figures |= _held_out(report, data)
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
        "next": record_next(SkeletonDataset(data), figures.get("pairs", ())),
        "seconds": round(time.monotonic() - start, 1),
        "probabilities": hasattr(model, "predictions"),
        "bytes": (home / "model.kern").stat().st_size,
    }
    _write(home, figures)
    tell(share=0.62, stage="spot", model=name)  # ready to look at; what finds segments follows
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            spotter = fit_spotter(data, _stages(tell, "spot", 0.62, 0.98))
        save_model(spotter, home / "spotter.kern", data)
        figures["spotting"] = spotter.spotter_.held_out_
    except DataError as error:
        notes.append(f"segments and repetitions cannot be found live: {error}")
    figures["seconds"] = round(time.monotonic() - start, 1)
    _write(home, figures)
    return figures


def _write(home: Path, figures: dict[str, Any]) -> None:
    from kerneton.files.output import write_text

    write_text(home / "figures.json", json.dumps(figures, ensure_ascii=False, indent=1) + "\n")


def read_folder(folder: Path, notes: list[str], progress: Callable[..., Any]) -> Any:
    """The folder's recordings, as `kerneton.load_folder` reads them, named by the studio's ids."""
    from kerneton.data.conventions import settle
    from kerneton.data.sequence import SkeletonDataset
    from kerneton.files.folder import listed_entries
    from kerneton.files.readers import format_facts, read

    out = []
    entries = list(listed_entries(folder))
    for entry in progress(entries, total=len(entries)):
        try:
            found, facts = read(entry.path), format_facts(entry.path)
        except KernetonError as error:
            notes.append(f"left out: {str(error).replace(f'{folder}/', '')}")
            continue
        path = entry.path.relative_to(folder).as_posix()
        for sequence, (id, label, subject) in zip(
            found, named(path, found, entry.label, entry.subject), strict=True
        ):
            out.append((*facts, sequence.replace(name=id, label=label, subject=subject)))
    sequences, conversion = settle(out) if out else ([], None)
    return SkeletonDataset(sequences, name=folder.name, conversion=conversion)


def record_next(data: Iterable[Any], pairs: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """What would help most, as codes for the page: labels with few recordings or people, pairs that are confused."""
    count: Counter[str] = Counter()
    people: dict[str, set[str]] = defaultdict(set)
    for sequence in data:
        count[str(sequence.label)] += 1
        if sequence.subject is not None:
            people[str(sequence.label)].add(sequence.subject)
    out: list[dict[str, Any]] = []
    everybody = set().union(*people.values()) if people else set()
    if len(everybody) < 2:
        out.append({"code": "second-person"})
    for label, n in sorted(count.items(), key=lambda item: item[1])[:3]:
        if n < 5:
            out.append({"code": "more", "label": label, "n": n})
    for pair in list(pairs)[:3]:
        out.append({"code": "confused", "label": pair["true"], "other": pair["said"], "n": pair["n"]})
    for label, who in people.items():
        if len(everybody) > 1 and len(who) == 1:
            out.append({"code": "one-person", "label": label})
    return out[:6]


def _usable(data: Any, notes: list[str]) -> Any:
    """Labelled recordings of the commonest kind of skeleton, in single precision."""
    import numpy as np

    from kerneton.data.sequence import SkeletonDataset

    labelled = [s for s in data if s.label is not None]
    if len(labelled) < len(data):
        notes.append(f"{len(data) - len(labelled)} recordings have no label and were left out")
    kinds = Counter((s.layout.name if s.layout else None, s.n_joints) for s in labelled)
    if len(kinds) > 1:
        (kind, n), *_ = kinds.most_common()
        notes.append(
            f"{len(labelled) - n} recordings have other joints than {kind[0] or kind[1]} and were left out"
        )
        labelled = [s for s in labelled if (s.layout.name if s.layout else None, s.n_joints) == kind]
    labels = Counter(s.label for s in labelled)
    if len(labels) < 2:
        found = ", ".join(f"{label} ({n})" for label, n in labels.items()) or "none"
        raise DataError(f"at least two labels are needed; this folder has {found}")
    lone = sorted(str(label) for label, n in labels.items() if n < 2)
    if lone:
        raise DataError(f"each label needs at least two recordings; these have one: {', '.join(lone)}")
    return SkeletonDataset(
        (s.replace(joints=s.joints.astype(np.float32, copy=False)) for s in labelled),
        name=data.name,
        conversion=data.conversion,
    )


def _protocol(data: Any) -> tuple[Any, str]:
    """How to test: people in turn, in five groups at most; else recordings in turn, which the page says."""
    from kerneton.datasets.protocols import RecordingKFold, SubjectKFold

    subjects = [s.subject for s in data]
    by_label: dict[str, set[str | None]] = defaultdict(set)
    for s in data:
        by_label[s.label].add(s.subject)
    if None not in subjects and all(len(who) > 1 for who in by_label.values()):
        return SubjectKFold(n_splits=min(5, len(set(subjects))), allow_unseen=True), "subjects"
    fewest = min(Counter(s.label for s in data).values())
    return RecordingKFold(n_splits=min(5, fewest), allow_unseen=True), "recordings"


def _held_out(report: Any, data: Any) -> dict[str, Any]:
    from kerneton.report.intervals import interval

    names = [s.name for s in data]
    tested = [
        {"name": names[i], "true": str(true), "said": str(said)}
        for split in report.splits
        for i, true, said in zip(split.indices, split.true, split.predicted, strict=True)
    ]
    right = sum(row["true"] == row["said"] for row in tested)
    subjects = (
        None if report.subjects is None else [report.subjects[i] for s in report.splits for i in s.indices]
    )
    known = interval([row["true"] == row["said"] for row in tested], subjects)
    pairs = Counter((row["true"], row["said"]) for row in tested if row["true"] != row["said"])
    return {
        "right": right,
        "tested": len(tested),
        "accuracy": right / len(tested),
        "interval": [known.low, known.high],
        "over_people": known.n_subjects,
        "classes": list(report.classes),
        "confusion": report.confusion.tolist(),
        "predictions": tested,
        "pairs": [{"true": t, "said": s, "n": n} for (t, s), n in pairs.most_common()],
    }


def _reporter(tell: Tell, stage: str, low: float, high: float) -> Callable[..., Iterator[Any]]:
    """A progress callable, called like tqdm.tqdm, that tells a share between ``low`` and ``high``."""

    def progress(iterable: Iterable[Any], *, total: int | None = None, desc: str = "") -> Iterator[Any]:
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
    """The same for work in an unknown number of parts: each takes half of what is left."""
    left = low

    def progress(iterable: Iterable[Any], *, total: int | None = None, desc: str = "") -> Iterator[Any]:
        nonlocal left
        begin, left = left, (left + high) / 2
        yield from _reporter(tell, stage, begin, left)(iterable, total=total, desc=desc)

    return progress


def main() -> None:
    """Get ready, say so, and work on one job."""
    if hasattr(os, "nice"):
        os.nice(10)  # the page and the live labels go first
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever prints, prints elsewhere

    def tell(**message: Any) -> None:
        out.write(json.dumps(message, ensure_ascii=False) + "\n")
        out.flush()

    if "--warm" in sys.argv:
        warm_up()
    tell(ready=True)
    line = sys.stdin.readline()
    if not line:
        return
    job = json.loads(line)
    from joblib import parallel_config

    try:
        with parallel_config(backend="threading", n_jobs=-1):
            train(Path(job["folder"]), job["name"], tell)
        tell(share=1.0, stage="done", done=job["name"])
    except KernetonError as error:
        tell(error=str(error).replace(f"{job['folder']}/", ""))


if __name__ == "__main__":
    main()
