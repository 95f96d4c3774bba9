"""What an evaluation found: numbers first, and from them tables, text, JSON and a picture."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kerneton.data.validation import check_choice
from kerneton.exceptions import import_extra
from kerneton.files.output import write_text
from kerneton.report.tables import aligned, markdown
from kerneton.report.text import class_rows, describe_data, pair_rows, percent_of, split_rows, variant_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from kerneton.data.sequence import SkeletonSequence
    from kerneton.report.explanation import ClassImportance

_PACKAGES = ("kerneton", "numpy", "scipy", "scikit-learn")


@dataclass(frozen=True, eq=False)
class Split:
    """One training and one test set, and what the model said of the test set.

    >>> import numpy as np
    >>> split = Split("1", n_train=8, indices=np.array([3, 4]), true=np.array(["a", "b"]),
    ...               predicted=np.array(["a", "a"]), fit_seconds=0.5, predict_seconds=0.01)
    >>> split.accuracy
    0.5
    """

    name: str
    n_train: int
    indices: np.ndarray  # (n_test,) positions in the data set
    true: np.ndarray  # (n_test,) labels
    predicted: np.ndarray  # (n_test,) labels
    fit_seconds: float
    predict_seconds: float
    model_classes: tuple[str, ...] = ()  # the columns of the next two
    scores: np.ndarray | None = None  # (n_test, n_classes) decision values
    probabilities: np.ndarray | None = None  # (n_test, n_classes)
    importance: ClassImportance | None = None  # of joints, on the tested recordings, where it was asked for
    variant: str | None = None  # view and mirroring, where the model chose them
    variant_scores: dict[str, float] | None = None  # of each, accuracy on held-out training subjects

    @property
    def n_test(self) -> int:
        return len(self.indices)

    @property
    def accuracy(self) -> float:
        return float(np.mean(self.true == self.predicted))


@dataclass(frozen=True, eq=False)
class Report:
    """Accuracy, where it goes wrong, how long it took, and with which parameters and versions.

    ``accuracy`` is the mean over splits and ``accuracy_sd`` their sample standard deviation; the confusion
    matrix (n_classes, n_classes), rows true and columns predicted, and the class table pool all splits. A
    recording that is tested in several splits therefore counts in each.

    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.model_selection import LeaveOneGroupOut
    >>> from kerneton import SkeletonDataset, SkeletonSequence, evaluate
    >>> import numpy as np
    >>> data = SkeletonDataset(SkeletonSequence(np.ones((5, 3, 3)), label=k, subject=s)
    ...                        for s in "123" for k in "aab")
    >>> report = evaluate(DummyClassifier(), data, LeaveOneGroupOut())
    >>> round(report.accuracy, 3), report.confusion.tolist()
    (0.667, [[6, 0], [3, 0]])
    """

    splits: tuple[Split, ...]
    classes: tuple[str, ...]
    recordings: tuple[str, ...]  # names of all recordings, in the data set's order
    subjects: tuple[str, ...] | None
    protocol: str
    model: str
    parameters: dict[str, Any]
    data: dict[str, Any]  # see `kerneton.files.folder.Summary`
    versions: dict[str, str]

    @property
    def accuracies(self) -> np.ndarray:
        """(n_splits,) fractions."""
        return np.array([split.accuracy for split in self.splits])

    @property
    def accuracy(self) -> float:
        return float(self.accuracies.mean())

    @property
    def accuracy_sd(self) -> float | None:
        """Sample standard deviation over splits; None where there is one."""
        return float(self.accuracies.std(ddof=1)) if len(self.splits) > 1 else None

    @property
    def confusion(self) -> np.ndarray:
        """(n_classes, n_classes) counts; rows true, columns predicted, all splits together."""
        matrix = np.zeros((len(self.classes), len(self.classes)), dtype=int)
        position = {label: i for i, label in enumerate(self.classes)}
        for split in self.splits:
            for true, predicted in zip(split.true, split.predicted, strict=True):
                matrix[position[true], position[predicted]] += 1
        return matrix

    def class_table(self) -> list[dict[str, Any]]:
        """Label, precision, recall, F1 and support of each class; None where there is nothing to divide."""
        matrix = self.confusion
        hits, support, said = np.diag(matrix), matrix.sum(1), matrix.sum(0)
        return [
            {
                "label": label,
                "precision": _ratio(hits[i], said[i]),
                "recall": _ratio(hits[i], support[i]),
                "f1": _ratio(2 * hits[i], support[i] + said[i]),
                "support": int(support[i]),
            }
            for i, label in enumerate(self.classes)
        ]

    def split_table(self) -> list[dict[str, Any]]:
        """Sizes, accuracy and seconds of each split."""
        fields = ("name", "n_train", "n_test", "accuracy", "fit_seconds", "predict_seconds")
        return [{field: getattr(split, field) for field in fields} for split in self.splits]

    def prediction_table(self) -> list[dict[str, Any]]:
        """What was said of each recording in each split, with the score and probability of what was said."""
        return [row for split in self.splits for row in self._rows(split)]

    def confused_pairs(self, n: int | None = 5) -> list[dict[str, Any]]:
        """The most frequent mistakes: label, what it was taken for, how often, and as a share of the label."""
        matrix = self.confusion
        support = matrix.sum(1)
        pairs = [
            {
                "label": self.classes[i],
                "predicted": self.classes[j],
                "count": int(matrix[i, j]),
                "share": float(matrix[i, j] / support[i]),
            }
            for i, j in np.argwhere(matrix)
            if i != j
        ]
        return sorted(pairs, key=lambda pair: (-pair["count"], -pair["share"], pair["label"]))[:n]

    def variant_table(self) -> list[dict[str, Any]]:
        """Views and mirroring that the model chose from: how often chosen, and how they did on training subjects.

        Empty for a model that does not choose. ``validation`` is the mean over splits of the accuracy on training
        subjects held out in turn, pooled over all that was tried.
        """
        found = [split.variant_scores for split in self.splits if split.variant_scores]
        names = dict.fromkeys(name for scores in found for name in scores)
        return [
            {
                "variant": name or "as given",
                "splits": sum(split.variant == name for split in self.splits),
                "validation": float(np.mean([scores[name] for scores in found if name in scores])),
            }
            for name in names
        ]

    @property
    def timings(self) -> dict[str, float]:
        """Seconds: to fit and to predict in all, and to predict one recording."""
        predict = sum(split.predict_seconds for split in self.splits)
        return {
            "fit_seconds": sum(split.fit_seconds for split in self.splits),
            "predict_seconds": predict,
            "predict_seconds_per_recording": predict / sum(split.n_test for split in self.splits),
        }

    def frame(self, kind: str = "classes") -> DataFrame:
        """A pandas table of ``kind`` "classes", "splits", "confusion" or "predictions"."""
        check_choice("kind", kind, ["classes", "splits", "confusion", "predictions"])
        pandas = import_extra("pandas", extra="frame", purpose="Report.frame")
        if kind == "confusion":
            labels = list(self.classes)
            return pandas.DataFrame(self.confusion, index=labels, columns=labels)
        if kind == "predictions":
            return pandas.DataFrame(self.prediction_table())
        return pandas.DataFrame(self.class_table() if kind == "classes" else self.split_table())

    def plot(self, **options: Any) -> Figure:
        """The confusion matrix as a picture; options go to `kerneton.report.pictures.plot_confusion`."""
        from kerneton.report.pictures import plot_confusion

        title = f"{self.data.get('name') or 'recordings'}, {self.protocol}: {percent_of(self)}"
        return plot_confusion(self.confusion, self.classes, **{"title": title, **options})

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON."""
        return {
            "accuracy": self.accuracy,
            "accuracy_sd": self.accuracy_sd,
            "protocol": self.protocol,
            "data": self.data,
            "splits": self.split_table(),
            "classes": self.class_table(),
            "confusion": {"labels": list(self.classes), "counts": self.confusion.tolist()},
            "confused_pairs": self.confused_pairs(None),
            "variants": self.variant_table(),
            "predictions": self.prediction_table(),
            "timings": self.timings,
            "model": self.model,
            "parameters": self.parameters,
            "versions": self.versions,
        }

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Everything as JSON, written to ``path`` where one is given."""
        text = json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n"
        if path is not None:
            write_text(path, text)
        return text

    def to_markdown(self, path: str | os.PathLike[str] | None = None) -> str:
        """A page of tables in Markdown, written to ``path`` where one is given."""
        facts = {**self.parameters, **self.versions}
        parts = [
            f"# {self.data.get('name') or 'Recordings'}, {self.protocol}",
            f"Accuracy **{percent_of(self)}**.",
            describe_data(self.data) + ".",
            markdown(class_rows(self)),
            "## Splits",
            markdown(split_rows(self)),
            "## Most confused",
            markdown(pair_rows(self)) if self.confused_pairs() else "No mistakes.",
            *(["## View and mirroring", markdown(variant_rows(self))] if self.variant_table() else []),
            "## Parameters and versions",
            markdown([["", "value"], *([f"`{name}`", f"`{value}`"] for name, value in facts.items())]),
        ]
        text = "\n\n".join(parts) + "\n"
        if path is not None:
            write_text(path, text)
        return text

    def to_html(
        self,
        path: str | os.PathLike[str],
        data: Iterable[SkeletonSequence] | None = None,
        *,
        command: str | None = None,
    ) -> None:
        """Write one page that needs nothing else; with the evaluated ``data`` it plays the mistakes.

        ``command`` is how the report was made, for those who want to make it again.
        """
        from kerneton.report.page import render

        write_text(path, render(self, data, command=command))

    def __str__(self) -> str:
        times = self.timings
        lines = [
            describe_data(self.data),
            f"{self.protocol}: accuracy {percent_of(self)}",
            "",
            aligned(class_rows(self)),
        ]
        if self.confused_pairs():
            lines += ["", aligned(pair_rows(self))]
        if self.variant_table():
            lines += ["", aligned(variant_rows(self))]
        lines += [
            "",
            f"fit {times['fit_seconds'] / len(self.splits):.3g} s a split, "
            f"predict {1000 * times['predict_seconds_per_recording']:.3g} ms a recording",
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Report({self.data.get('name') or 'unnamed'}, {self.protocol}, {percent_of(self)})"

    def _rows(self, split: Split) -> Iterable[dict[str, Any]]:
        column = {label: i for i, label in enumerate(split.model_classes)}
        for i, index in enumerate(split.indices):
            said = str(split.predicted[i])
            row = {
                "split": split.name,
                "index": int(index),
                "recording": self.recordings[index],
                "subject": None if self.subjects is None else self.subjects[index],
                "label": str(split.true[i]),
                "predicted": said,
                "correct": bool(split.true[i] == said),
            }
            for name, values in (("score", split.scores), ("probability", split.probabilities)):
                if values is not None:
                    row[name] = float(values[i, column[said]]) if said in column else None
            yield row


def versions() -> dict[str, str]:
    """Of Python, the platform and the packages that decide the numbers.

    >>> sorted(versions())
    ['kerneton', 'numpy', 'platform', 'python', 'scikit-learn', 'scipy']
    """
    from importlib.metadata import version  # 15 ms that a Report built by hand need not pay

    found = {"python": platform.python_version(), "platform": platform.platform()}
    return {**found, **{package: version(package) for package in _PACKAGES}}


def _ratio(part: int, whole: int) -> float | None:
    return float(part / whole) if whole else None
