"""The result of an evaluation: numbers, and from them tables, text, JSON, a plot and a page."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kerneton.data.parameters import check_choice
from kerneton.exceptions import import_extra
from kerneton.files.output import write_text
from kerneton.report import measures
from kerneton.report.text import percent_of, report_markdown, report_text, written

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from kerneton.data.sequence import SkeletonSequence
    from kerneton.report.explanation import ClassImportance, Explanation
    from kerneton.report.intervals import Interval

_PACKAGES = ("kerneton", "numpy", "scipy", "scikit-learn")


@dataclass(frozen=True, eq=False)
class Split:
    """One training set and one test set, and the predictions for the test set.

    >>> import numpy as np
    >>> split = Split(
    ...     "1",
    ...     n_train=8,
    ...     indices=np.array([3, 4]),
    ...     true=np.array(["a", "b"]),
    ...     predicted=np.array(["a", "a"]),
    ...     fit_seconds=0.5,
    ...     predict_seconds=0.01,
    ... )
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
    importance: ClassImportance | None = None  # of joints, on the tested recordings, if requested
    # of some, by position in the data
    reasons: dict[int, Explanation] = field(default_factory=dict)
    variant: str | None = None  # view and mirroring, where the model chose them
    # of each, accuracy on held-out training subjects
    variant_scores: dict[str, float] | None = None

    @property
    def n_test(self) -> int:
        return len(self.indices)

    @property
    def accuracy(self) -> float:
        return float(np.mean(self.true == self.predicted))


@dataclass(frozen=True, eq=False)
class Report:
    """Accuracy, mistakes, times, parameters and versions of an evaluation.

    ``accuracy`` is the mean over splits and ``accuracy_sd`` their sample standard deviation; the
    confusion matrix (n_classes, n_classes), rows true and columns predicted, and the class table
    pool all splits. A recording that is tested in several splits therefore counts in each.

    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.model_selection import LeaveOneGroupOut
    >>> from kerneton import SkeletonDataset, SkeletonSequence, evaluate
    >>> import numpy as np
    >>> data = SkeletonDataset(
    ...     SkeletonSequence(np.ones((5, 3, 3)), label=k, subject=s) for s in "123" for k in "aab"
    ... )
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
        """Sample standard deviation over splits; None if there is only one."""
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
        """95 % confidence interval of the accuracy, or of the recall of one label."""
        return measures.interval(self, label)

    def class_table(self) -> list[dict[str, Any]]:
        """Precision, recall with its interval, F1 and number of tests of each class."""
        return measures.class_table(self)

    def split_table(self) -> list[dict[str, Any]]:
        """Accuracy, sizes and times of each split."""
        return measures.split_table(self)

    def subject_table(self) -> list[dict[str, Any]]:
        """Accuracy and number of tests of each subject, the worst first."""
        return measures.subject_table(self)

    def prediction_table(self) -> list[dict[str, Any]]:
        """Every prediction of every split."""
        return measures.prediction_table(self)

    def confused_pairs(self, n: int | None = 5) -> list[dict[str, Any]]:
        """The most frequent mistakes."""
        return measures.confused_pairs(self, n)

    def variant_table(self) -> list[dict[str, Any]]:
        """Accuracies of the variants that a search tried, over all splits."""
        return measures.variant_table(self)

    def next_steps(self) -> list[dict[str, str]]:
        """What to do next, from the results: confusions to look at, labels to record more of,
        people to add.
        """
        from kerneton.report.advice import next_steps

        return [asdict(step) for step in next_steps(self)]

    def calibration(self) -> dict[str, Any] | None:
        """Whether the probabilities are calibrated, as far as the tests can show; None if there are
        none.
        """
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
        """Plot the confusion matrix; options go to `kerneton.report.pictures.plot_confusion`."""
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
        """Everything as JSON; also written to ``path`` if given."""
        return written(json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n", path)

    def to_markdown(self, path: str | os.PathLike[str] | None = None) -> str:
        """A page of tables in Markdown; also written to ``path`` if given."""
        return written(report_markdown(self), path)

    def to_html(
        self,
        path: str | os.PathLike[str],
        data: Iterable[SkeletonSequence] | None = None,
        *,
        command: str | None = None,
        films: Mapping[str, Path] | None = None,
    ) -> None:
        """Write one self-contained HTML page; with the evaluated ``data`` it plays the mistakes.

        ``command`` is shown as the way to make the report again. ``films`` by the names of
        recordings are shown beside the skeletons: the page then contains pictures of people.
        """
        from kerneton.report.page import render

        write_text(path, render(self, data, command=command, films=films))

    def __str__(self) -> str:
        return report_text(self)

    def __repr__(self) -> str:
        return f"Report({self.data.get('name') or 'unnamed'}, {self.protocol}, {percent_of(self)})"


def versions() -> dict[str, str]:
    """Versions of Python, the platform and the packages that the numbers depend on.

    >>> sorted(versions())
    ['kerneton', 'numpy', 'platform', 'python', 'scikit-learn', 'scipy']
    """
    from importlib import metadata  # takes 15 ms, and a Report built by hand does not need it

    found = {"python": platform.python_version(), "platform": platform.platform()}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:  # run from a source tree: keep the results
            found[package] = "not installed"
    return found
