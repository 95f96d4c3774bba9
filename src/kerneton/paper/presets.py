"""Beyond the paper: the presets on the published recordings, on turned recordings, and with one
ingredient left out.

Every choice is made inside the training subjects of a split. Features are computed once per split
and cue, and all rows come from their Gram matrices; they equal those of `kerneton.make_recognizer`
up to rounding.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kerneton.data.parameters import check_choice
from kerneton.data.progress import Progress, silent
from kerneton.data.sequence import SkeletonDataset, SkeletonSequence
from kerneton.datasets import load_dataset
from kerneton.datasets.protocols import get_protocol
from kerneton.exceptions import import_extra
from kerneton.files.output import write_text
from kerneton.paper.presets_markdown import to_markdown
from kerneton.paper.split_grams import SplitGrams
from kerneton.prepare.poses import turn
from kerneton.recognize.branch import Branch
from kerneton.recognize.presets import STANDARD_C, STANDARD_PENALTY, make_recognizer, standard_cues
from kerneton.recognize.search import Mixture, with_parameters
from kerneton.report.evaluation import evaluate
from kerneton.report.pictures import plot_skeleton, save_figure
from kerneton.report.results import Report, Split

# Data set and protocol of each column, and the paper's SCK+DCK there.
TASKS: dict[str, tuple[str, str | None, float | None]] = {
    "florence3d": ("florence3d", None, 0.9523),
    "utkinect": ("utkinect", None, 0.982),
    "msr_wang": ("msr_action3d", "wang", 0.9145),
    "msr_li": ("msr_action3d", "li", 0.9396),
    "utd_mhad": ("utd_mhad", None, None),
}
# Preset and view of each row.
ROWS: dict[str, tuple[str | None, str]] = {
    "tensor": ("tensor", "fixed"),
    "auto": ("auto", "fixed"),
    "free": ("tensor", "free"),
    "default": (None, "fixed"),
}
_TURNED = {"tensor": "fixed_turned", "free": "free_turned"}
_LARGEST_TURN = 60  # degrees to either side
_PICTURES = 3  # of confused recordings per data set


def beyond(
    *,
    data_home: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    only: Iterable[str] | None = None,
    n_jobs: int | None = -1,
) -> dict[str, Any]:
    """The paper's result, its method as printed, and the default, tensor and auto recognisers on
    the published recordings.

    Also with every test recording turned about the vertical by a random angle of at most 60°, and
    with each ingredient of the default left out in turn. ``only`` names some of florence3d,
    utkinect, msr_wang, msr_li and utd_mhad. ``output`` receives tables, confusion matrices of the
    auto rows and pictures of confused recordings, written after each data set. Accuracies are
    fractions.

    >>> result = beyond(data_home="/data", only=["utkinect"])  # doctest: +SKIP
    >>> result["beyond"]["utkinect"]["paper_printed"]  # doctest: +SKIP
    0.982
    """
    names = list(TASKS) if only is None else list(only)
    for name in names:
        check_choice("data set", name, TASKS)
    if output is not None:  # before minutes of work
        import_extra("matplotlib", extra="plot", purpose="Drawing confusion matrices")
    data = {name: load_dataset(TASKS[name][0], data_home) for name in names}
    result: dict[str, Any] = {"beyond": {}}
    for name in names:
        _, protocol, printed = TASKS[name]
        task = Task(data[name], protocol, n_jobs)
        result["beyond"][name] = {"paper_printed": printed, **task.run(progress or silent, name)}
        if output is not None:
            _write(Path(output), name, task, result)
    return result


@dataclass
class Task:
    """A data set with its protocol, and the predictions of each row for its test recordings."""

    data: SkeletonDataset
    protocol: str | None
    n_jobs: int | None = None
    # by row, one array per split
    predictions: dict[str, list[np.ndarray]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        splitter = get_protocol(self.protocol, self.data)
        self.splits = list(splitter.split(self.data, self.data.labels, self.data.subjects))

    def run(self, progress: Progress, name: str) -> dict[str, Any]:
        """All rows, choices and the ablation."""
        model = make_recognizer("paper", calibrate=False, n_jobs=self.n_jobs)
        paper = evaluate(model, self.data, self.protocol, progress=progress)
        choices: dict[str, Counter[str]] = {row: Counter() for row in ROWS}
        validation: dict[str, list[float]] = {row: [] for row in ROWS}
        trials: list[dict[str, dict[str, float]]] = []
        n_steps = len(self.splits) * (len(ROWS) + 1)
        for row, found in progress(self._steps(), total=n_steps, desc=name):
            if row == "ablation":
                trials.append(found)
            else:
                choices[row][found.variant] += 1
                validation[row].append(found.chosen[0].accuracy)
        reports = {row: self.report(row) for row in self.predictions}
        return {
            **{row: report.accuracy for row, report in {"paper": paper, **reports}.items()},
            "interval": {
                row: str(report.interval()) for row, report in {"paper": paper, **reports}.items()
            },
            "spread": {row: float(np.std(report.accuracies)) for row, report in reports.items()},
            "validation": {row: float(np.mean(values)) for row, values in validation.items()},
            "choices": {row: dict(counts) for row, counts in choices.items()},
            "ablation": {
                what: {
                    key: float(np.mean([t[what][key] for t in trials]))
                    for key in ("validation", "test")
                }
                for what in trials[0]
            },
            "errors": errors(reports["auto"]),
        }

    def _steps(self) -> Iterator[tuple[str, Any]]:
        """For each split, the search of every row, and the ablation."""
        turned = turned_copies(self.data)
        for train, test in self.splits:
            known = list(self.data.select(train))
            tests = {"as it is": self.data.select(test), "turned": turned.select(test)}
            split = SplitGrams(known, self.data.labels[train], self.data.subjects[train], tests)
            for row, (preset, view) in ROWS.items():
                model = make_recognizer(preset, view=view, calibrate=False)
                cues = {name: cue.run_on(n_jobs=self.n_jobs) for name, cue in model.branches}
                assert model.search is not None  # only preset "paper" has none
                found = split.choose(model.search, cues)
                predicted = split.predict(found.mixtures, found.branches)
                self.predictions.setdefault(row, []).append(predicted["as it is"])
                if row in _TURNED:
                    self.predictions.setdefault(_TURNED[row], []).append(predicted["turned"])
                mirror = "mirrored" in found.variant
                yield row, found
            # Mirroring as chosen by the last row, which is of order 2 like the ablation.
            yield "ablation", ablation(split, mirror, self.data.labels[test], n_jobs=self.n_jobs)

    def report(self, row: str) -> Report:
        """The predictions of a row as the report of an evaluation."""
        data = self.data
        splits: list[Split] = []
        for (train, test), predicted in zip(self.splits, self.predictions[row], strict=True):
            name = str(len(splits) + 1)
            splits.append(Split(name, len(train), test, data.labels[test], predicted, 0.0, 0.0))
        classes, names = tuple(np.unique(data.labels).tolist()), tuple(s.name for s in data)
        protocol, subjects = self.protocol or "published", tuple(data.subjects.tolist())
        return Report(
            tuple(splits), classes, names, subjects, protocol, row, {}, {"name": data.name}, {}
        )


def errors(report: Report) -> dict[str, Any]:
    """Number of mistakes by pair of labels and by subject."""
    wrong = [row for row in report.prediction_table() if not row["correct"]]
    return {
        "tested": int(report.confusion.sum()),
        "wrong": len(wrong),
        "pairs": [[p["label"], p["predicted"], p["count"]] for p in report.confused_pairs(None)],
        "subjects": dict(Counter(row["subject"] for row in wrong).most_common()),
    }


def turned_copies(data: SkeletonDataset, seed: int = 0) -> SkeletonDataset:
    """Every recording turned about the vertical by its own random angle.

    >>> from kerneton import make_actions
    >>> data = make_actions(["wave"], n_subjects=1, n_takes=1)
    >>> np.allclose(turned_copies(data)[0].joints[..., 1], data[0].joints[..., 1], equal_nan=True)
    True
    """
    angles = np.deg2rad(
        np.random.default_rng(seed).uniform(-_LARGEST_TURN, _LARGEST_TURN, len(data))
    )
    turned = [
        s.replace(joints=turn(s.joints, angle)) for s, angle in zip(data, angles, strict=True)
    ]
    return SkeletonDataset(turned, name=data.name)


def ablations(mirror: bool, n_jobs: int | None = None) -> dict[str, dict[str, Branch]]:
    """The cues of the default in order 2 with one ingredient left out or changed, by the name of
    the ingredient.

    >>> list(ablations(mirror=False))[:3]
    ['nothing', 'joints', 'pairs']
    """

    def changed(**parameters: Any) -> dict[str, Branch]:
        return {name: with_parameters(cue, parameters) for name, cue in cues.items()}

    cues = {name: cue.run_on(n_jobs=n_jobs) for name, cue in standard_cues().items()}
    cues = changed(kernel__mirror=mirror)

    def without(*names: str) -> dict[str, Branch]:
        return {name: cue for name, cue in cues.items() if name not in names}

    return {
        "nothing": cues,
        **{name: without(name) for name in cues},
        "directions": without("bones_front", "directions_front"),
        "pairs of joints": without("pairs", "pairs_force", "directions_front"),
        "velocity": {name: _without_velocity(cue) for name, cue in cues.items()},
        "joint weights": changed(kernel__weighting=None),
        "equal size": changed(preprocess__bones=None),
        "equal size, each bone instead": changed(preprocess__bones="reference"),
        "power normalisation": changed(kernel__power=1.0),
        "mirroring, never": changed(kernel__mirror=False),
        "mirroring, always": changed(kernel__mirror=True),
    }


def ablation(
    split: SplitGrams, mirror: bool, truth: np.ndarray, *, n_jobs: int | None = None
) -> dict[str, dict[str, float]]:
    """Accuracy on held-out training subjects and on test recordings without each ingredient."""
    changed = {what: (cues, STANDARD_PENALTY) for what, cues in ablations(mirror, n_jobs).items()}
    changed["within-class penalty"] = (changed["nothing"][0], 0.0)
    out = {}
    for what, (cues, penalty) in changed.items():
        mixture = Mixture(dict.fromkeys(cues, 1 / len(cues)), STANDARD_C, penalty)
        predicted = split.predict([mixture], cues)["as it is"]
        out[what] = {
            "validation": split.validation(list(cues.values()), STANDARD_C, penalty),
            "test": float(np.mean(predicted == truth)),
        }
    return out


def _without_velocity(cue: Branch) -> Branch:
    """The other signals take over velocity's weight in the kernel; the weight of time is
    unchanged.
    """
    kernel = cue.kernel
    kept = [i for i, signal in enumerate(kernel.signals) if signal != "velocity"]
    share = sum(kernel.joint_weight) / sum(kernel.joint_weight[i] for i in kept)
    columns = {
        name: tuple(getattr(kernel, name)[i] for i in kept)
        for name in ("signals", "sigma_joint", "n_pivots_joint", "joint_weight")
    }
    columns["joint_weight"] = tuple(weight * share for weight in columns["joint_weight"])
    return with_parameters(cue, {f"kernel__{name}": value for name, value in columns.items()})


def _write(output: Path, name: str, task: Task, result: Mapping[str, Any]) -> None:
    write_text(output / "beyond.md", to_markdown(result) + "\n")
    write_text(output / "beyond.json", json.dumps(result, indent=2) + "\n")
    report = task.report("auto")
    pictures = {f"confusion_{name}": report.plot(title=f"{name}, auto")}
    for number, rows in enumerate(confused(report, task.data), start=1):
        pictures[f"confused_{name}_{number}"] = plot_skeleton(rows)
    for file, figure in pictures.items():
        save_figure(figure, output / f"{file}.png", dpi=120, bbox_inches="tight")


def confused(report: Report, data: SkeletonDataset) -> list[list[SkeletonSequence]]:
    """Recordings of the most frequent mistakes, each with a recognised one of its label and of the
    predicted label.
    """
    wrong = [row for row in report.prediction_table() if not row["correct"]]
    mistaken = {row["index"] for row in wrong}
    pictures = []
    for pair in report.confused_pairs(_PICTURES):
        both = [pair["label"], pair["predicted"]]
        chosen = [next(row["index"] for row in wrong if [row["label"], row["predicted"]] == both)]
        for label in both:
            chosen += [
                i for i in np.flatnonzero(data.labels == label).tolist() if i not in mistaken
            ][:1]
        pictures.append([data[i] for i in chosen])
    return pictures
