"""What an evaluation found: numbers first, and from them tables, text, JSON and a picture."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kerneton.data.validation import check_choice
from kerneton.exceptions import import_extra
from kerneton.files.output import write_text
from kerneton.report import measures
from kerneton.report.text import percent_of, report_markdown, report_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from kerneton.data.sequence import SkeletonSequence
    from kerneton.report.explanation import ClassImportance
    from kerneton.report.intervals import Interval

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
    data: dict[str, Any]  # see `kerneton.files.summary.Summary`
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

    def interval(self, label: str | None = None) -> Interval:
        """95 % confidence interval of the accuracy, or of the recall of one label.

        It is taken over people where at least three were tested, else over recordings as if they were independent. A
        recording that was tested several times counts once, with the share of its tests that were right.
        """
        return measures.interval_of(self, label)

    def class_table(self) -> list[dict[str, Any]]:
        """Label, precision, recall with its interval, F1 and support of each class; None where nothing was tested."""
        return measures.class_table(self)

    def split_table(self) -> list[dict[str, Any]]:
        """Sizes, accuracy with its interval, and seconds of each split."""
        return measures.split_table(self)

    def subject_table(self) -> list[dict[str, Any]]:
        """Accuracy and number of tests of each subject, the worst first; empty where subjects are not known."""
        return measures.subject_table(self)

    def next_steps(self) -> list[dict[str, str]]:
        """What to do next, from the results: confusions to look at, labels to record more of, people to add."""
        from kerneton.report.advice import next_steps

        return [asdict(step) for step in next_steps(self)]

    def prediction_table(self) -> list[dict[str, Any]]:
        """What was said of each recording in each split, with the score and probability of what was said."""
        return measures.prediction_table(self)

    def confused_pairs(self, n: int | None = 5) -> list[dict[str, Any]]:
        """The most frequent mistakes: label, what it was taken for, how often, and as a share of the label."""
        return measures.confused_pairs(self)[:n]

    def variant_table(self) -> list[dict[str, Any]]:
        """Views and mirroring that the model chose from: how often chosen, and how they did on training subjects.

        Empty for a model that does not choose. ``validation`` is the mean over splits of the accuracy on training
        subjects held out in turn, pooled over all that was tried.
        """
        return measures.variant_table(self)

    def calibration(self) -> dict[str, Any] | None:
        """Whether probabilities mean what they say, as far as the tests can tell; None where there are none."""
        found = measures.calibration_of(self)
        return None if found is None else asdict(found)

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
        title += f"\n95 % interval {self.interval()}"
        return plot_confusion(self.confusion, self.classes, **{"title": title, **options})

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON."""
        return {
            "accuracy": self.accuracy,
            "accuracy_sd": self.accuracy_sd,
            "accuracy_interval": self.interval().to_dict(),
            "protocol": self.protocol,
            "data": self.data,
            "splits": self.split_table(),
            "classes": self.class_table(),
            "subjects": self.subject_table(),
            "confusion": {"labels": list(self.classes), "counts": self.confusion.tolist()},
            "confused_pairs": self.confused_pairs(None),
            "calibration": self.calibration(),
            "next_steps": self.next_steps(),
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
        text = report_markdown(self)
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
        return report_text(self)

    def __repr__(self) -> str:
        return f"Report({self.data.get('name') or 'unnamed'}, {self.protocol}, {percent_of(self)})"


def versions() -> dict[str, str]:
    """Of Python, the platform and the packages that decide the numbers.

    >>> sorted(versions())
    ['kerneton', 'numpy', 'platform', 'python', 'scikit-learn', 'scipy']
    """
    from importlib import metadata  # 15 ms that a Report built by hand need not pay

    found = {"python": platform.python_version(), "platform": platform.platform()}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:  # run from a source tree; no reason to lose what was computed
            found[package] = "not installed"
    return found
