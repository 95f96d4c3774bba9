"""How a spotter is trained: windows proposed on people held out, near misses as background, thresholds from those people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from kerneton.data.progress import Progress, silent
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError
from kerneton.stream.detection import Detection
from kerneton.stream.engine import Engine
from kerneton.stream.frames import FrameFeatures, raw_joints
from kerneton.stream.held_out import Examples, Take, held_out_scores
from kerneton.stream.metrics import match_segments
from kerneton.stream.proposals import WindowScorer, fit_scorer, overlaps, window_lengths
from kerneton.stream.selection import best_segments
from kerneton.stream.spotter import BACKGROUND, Parts
from kerneton.stream.verify import (
    Candidates,
    Verifier,
    fit_durations,
    fit_verifier,
    threshold_for_alarms,
    threshold_for_f1,
)

_MAX_FOLDS = 5
_CANDIDATES_PER_FRAME = 0.2  # on average over held-out training recordings
_NEAR, _FAR = 0.7, 0.3  # overlap with an action that makes a candidate an example of it, or of background
_RIGHT = 0.5  # overlap at which a detection counts as right
_BACKGROUND_SHARE = 2.0  # examples of background per example of an action


def train(
    recordings: Sequence[SkeletonSequence],
    recognizer: Any,
    *,
    false_alarms: float | None,
    n_jobs: int | None,
    progress: Progress | None,
) -> tuple[Parts, dict[str, float]]:
    """Parts of a spotter, and how well it did on people who were held out."""
    classes = tuple(sorted({s.label for r in recordings for s in r.segments}))
    if BACKGROUND in classes:
        raise DataError(
            f"the label {BACKGROUND!r} stands for frames without a segment; rename or leave it out"
        )
    features = FrameFeatures(recordings[0].layout, recordings[0].n_joints).fit(recordings)
    takes = [_take(r, features, classes, i) for i, r in enumerate(recordings)]
    lengths = window_lengths([int(b - a) for t in takes for a, b in t.windows])
    steps = _Steps(classes, features, lengths, takes)
    show = progress or silent
    folds = _folds([t.person for t in takes])
    proposed: dict[int, Candidates] = {}
    for inside, outside in show(folds, total=len(folds), desc="proposals"):
        scorer = steps.scorer(inside)
        proposed |= {i: steps.propose(scorer, takes[i], -np.inf) for i in outside}
    floor = _floor([proposed[i] for i in range(len(takes))], sum(len(t.joints) for t in takes))
    proposed = {i: _above(c, floor) for i, c in proposed.items()}
    examples = steps.examples(proposed)
    model = _fitted(_chosen(recognizer, takes, classes, n_jobs), examples)
    held_out_scores(model, examples, proposed, takes, classes, folds, show)
    ordered = [proposed[i] for i in range(len(takes))]
    right = [_right(c, t) for c, t in zip(ordered, takes, strict=True)]
    durations = fit_durations(
        [
            [int(b - a) for t in takes for (a, b), c in zip(t.windows, t.codes, strict=True) if c == k]
            for k in range(len(classes))
        ]
    )
    verifier = fit_verifier(ordered, right, durations)
    rates = [r.fps for r in recordings if r.fps is not None]
    fps = float(np.median(rates)) if rates else None
    threshold, told = _threshold(ordered, takes, verifier, classes, false_alarms, fps)
    scorer = steps.scorer(range(len(takes)))
    return Parts(classes, features, scorer, model, verifier, floor, threshold, fps), told


class _Steps:
    """The parts that are fitted once per fold."""

    def __init__(
        self, classes: tuple[str, ...], features: FrameFeatures, lengths: np.ndarray, takes: list[Take]
    ) -> None:
        self.classes, self.features, self.lengths, self.takes = classes, features, lengths, takes

    def scorer(self, chosen: Sequence[int]) -> WindowScorer:
        some = [self.takes[i] for i in chosen]
        return fit_scorer(
            [t.features for t in some],
            [t.windows for t in some],
            [t.codes for t in some],
            len(self.classes),
            self.lengths,
        )

    def propose(self, scorer: WindowScorer, take: Take, floor: float) -> Candidates:
        """Candidates of a recording, found by the engine itself, without the recogniser."""
        k = len(self.classes) + 1
        catch: Any = _Catch(k)
        parts: Any = Parts(self.classes, self.features, scorer, None, catch, floor, np.inf)
        parts.decisions = lambda recordings: np.zeros((len(recordings), k))
        engine = Engine(parts)
        engine.push(raw_joints(take.recording))
        engine.close()
        return catch.all()

    def examples(self, proposed: dict[int, Candidates]) -> Examples:
        """True segments, a good candidate of each, and candidates of background, those most like an action first."""
        out = Examples([], [], [])
        background: list[tuple[float, int, np.ndarray]] = []
        for i, take in enumerate(self.takes):
            c = proposed[i]
            out.add(i, take, take.windows, [self.classes[k] for k in take.codes])
            near = overlaps(c.windows, take.windows) if len(take.windows) else np.zeros((len(c.windows), 1))
            if len(take.windows) and len(c.windows):
                best = near.argmax(axis=0)  # of each true segment
                good = [k for k in range(len(best)) if near[best[k], k] >= _NEAR]
                out.add(i, take, c.windows[best[good]], [self.classes[take.codes[k]] for k in good])
            margin = c.light[:, :-1].max(axis=1) - c.light[:, -1]
            background += [(-margin[j], i, c.windows[j]) for j in np.flatnonzero(near.max(axis=1) < _FAR)]
        background.sort(key=lambda item: item[:2])
        for _, i, window in background[: int(_BACKGROUND_SHARE * len(out.labels)) or 1]:
            out.add(i, self.takes[i], window[None], [BACKGROUND])
        if BACKGROUND not in out.labels:
            raise DataError("the recordings hold no background at all: every frame belongs to an action")
        return out


class _Catch:
    """Stands in for the verifier while windows are only proposed: keeps them."""

    def __init__(self, k: int) -> None:
        self._parts: list[Candidates] = [
            Candidates(np.zeros((0, 2), int), np.zeros((0, k)), np.zeros((0, k)))
        ]

    def log_odds(self, candidates: Candidates) -> np.ndarray:
        self._parts.append(candidates)
        return np.full(len(candidates.windows), -np.inf)

    def all(self) -> Candidates:
        names = ("windows", "light", "deep")
        return Candidates(*(np.concatenate([getattr(p, name) for p in self._parts]) for name in names))


def _take(
    recording: SkeletonSequence, features: FrameFeatures, classes: tuple[str, ...], number: int
) -> Take:
    joints, sizes = features.cleaner().clean(raw_joints(recording))
    inside = [s for s in recording.segments if s.start < recording.n_frames]
    return Take(
        joints,
        features.encode(joints, sizes, 0, len(joints)),
        np.array([(s.start, min(s.stop, len(joints))) for s in inside], dtype=int).reshape(-1, 2),
        np.array([classes.index(s.label) for s in inside], dtype=int),
        recording.subject if recording.subject is not None else f"recording {number}",
        recording,
    )


def _folds(people: Sequence[str]) -> list[tuple[list[int], list[int]]]:
    """Each person held out in turn, or groups of people where there are many; one recording alone is not held out."""
    names = sorted(set(people))
    if len(names) == 1:
        names, people = [str(i) for i in range(len(people))], [str(i) for i in range(len(people))]
    if len(names) == 1:
        return [([0], [0])]
    group = {name: i % min(len(names), _MAX_FOLDS) for i, name in enumerate(names)}
    return [
        (
            [i for i, p in enumerate(people) if group[p] != g],
            [i for i, p in enumerate(people) if group[p] == g],
        )
        for g in range(min(len(names), _MAX_FOLDS))
    ]


def _floor(proposed: Sequence[Candidates], n_frames: int) -> float:
    """The margin at which candidates come as often as they may."""
    margins = np.sort(np.concatenate([c.light[:, :-1].max(axis=1) - c.light[:, -1] for c in proposed]))[::-1]
    most = int(_CANDIDATES_PER_FRAME * n_frames)
    return float(margins[most]) if len(margins) > most else -np.inf


def _above(c: Candidates, floor: float) -> Candidates:
    keep = c.light[:, :-1].max(axis=1) - c.light[:, -1] > floor
    return Candidates(c.windows[keep], c.light[keep], c.deep[keep])


def _chosen(recognizer: Any, takes: Sequence[Take], classes: tuple[str, ...], n_jobs: int | None) -> Any:
    """The recogniser to be fitted; of the default one, view and mirroring are chosen on the actions alone."""
    if recognizer is not None:
        return clone(recognizer)
    from kerneton.recognize.presets import make_recognizer

    actions = [a for t in takes for a in t.cut(t.windows)]
    labels = np.asarray([classes[k] for t in takes for k in t.codes])
    subjects = [a.subject for a in actions]
    if len(classes) < 2 or len(set(subjects)) < 2:
        return make_recognizer(n_jobs=n_jobs)
    variant = make_recognizer(n_jobs=n_jobs).fit(actions, labels, groups=subjects).variant_
    view, _, side = variant.partition(", ")
    return make_recognizer(view=view, mirror=side == "mirrored", n_jobs=n_jobs)


def _fitted(model: Any, examples: Examples) -> Any:
    subjects = [s.subject for s in examples.recordings]
    return model.fit(examples.recordings, np.asarray(examples.labels), groups=subjects)


def _right(c: Candidates, take: Take) -> np.ndarray:
    if not len(take.windows):
        return np.zeros(len(c.windows), dtype=bool)
    hit = overlaps(c.windows, take.windows) >= _RIGHT
    return (hit & (take.codes[None] == c.labels()[:, None])).any(axis=1)


def _threshold(
    candidates: Sequence[Candidates],
    takes: Sequence[Take],
    verifier: Verifier,
    classes: tuple[str, ...],
    false_alarms: float | None,
    fps: float | None,
) -> tuple[float, dict[str, float]]:
    """The threshold, and what it gives on the held-out people."""
    if false_alarms is not None and fps is None:
        raise DataError("false alarms per hour need recordings that know their frame rate (fps)")
    threshold = 0.0
    told: dict[str, float] = {}
    n_true = sum(len(t.windows) for t in takes)
    hours = sum(len(t.joints) for t in takes) / (fps or 30.0) / 3600
    # The threshold also shapes what competes: a few rounds settle both.
    for _ in range(4):
        scores, right = [], []
        for c, take in zip(candidates, takes, strict=True):
            odds, labels = verifier.log_odds(c), c.labels()
            found = [
                Detection(classes[k], int(a), int(b), score=float(z))
                for (a, b), k, z in zip(c.windows, labels, odds, strict=True)
                if z > threshold - 2
            ]
            kept = [found[i] for i in best_segments(found, [d.score - threshold + 2 for d in found])]
            matches = match_segments(take.recording.segments, kept, _RIGHT)
            scores += [d.score for d in kept]
            right += [m is not None for m in matches]
        s, ok = np.array(scores), np.array(right, dtype=bool)
        if false_alarms is None:
            threshold = threshold_for_f1(s, ok, n_true)
        else:
            threshold = threshold_for_alarms(s[~ok], hours, false_alarms)
        n_right, n_found = int((ok & (s > threshold)).sum()), int((s > threshold).sum())
        told = {
            "precision": n_right / n_found if n_found else 0.0,
            "recall": n_right / n_true if n_true else 0.0,
            "f1": 2 * n_right / (n_found + n_true) if n_found + n_true else 0.0,
            "false_alarms_per_hour": (n_found - n_right) / hours,
        }
    return threshold, told
