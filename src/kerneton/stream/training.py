"""Training a spotter: candidate windows of held-out people, near misses as background, and
thresholds from these.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from kerneton.data.checks import check_sequences
from kerneton.data.parameters import check_positive, renamed
from kerneton.data.progress import silent
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError, ParameterError
from kerneton.machine.folds import held_out_scores
from kerneton.machine.products import gram
from kerneton.machine.svm import LinearSVM
from kerneton.parallel.threads import one_blas_thread
from kerneton.stream.compose import compose_takes
from kerneton.stream.examples import Take, cut_examples, make_take
from kerneton.stream.frames import FrameFeatures, raw_joints
from kerneton.stream.proposals import WindowScorer, fit_scorer, overlaps, window_lengths
from kerneton.stream.proposer import Proposer
from kerneton.stream.selection import learn_order
from kerneton.stream.spotter import BACKGROUND, Spotter
from kerneton.stream.thresholds import RIGHT, choose_threshold
from kerneton.stream.verify import (
    Candidates,
    fit_durations,
    fit_verifier,
)

_MAX_FOLDS = 5
_CANDIDATES_PER_FRAME = 0.2  # on average, in held-out training recordings

Folds = list[tuple[list[int], list[int]]]


@renamed(false_alarms="false_alarms_per_hour")
def fit_spotting(
    recognizer: Any,
    takes: Iterable[SkeletonSequence],
    *,
    unlabelled: Iterable[SkeletonSequence] = (),
    false_alarms_per_hour: float | None = None,
) -> tuple[Any, Spotter]:
    """A recogniser of actions and background, and the spotter that finds actions in long recordings
    with it.

    Parameters
    ----------
    recognizer : Recognizer
        With a `LinearSVM`; it is not changed. A copy is fitted with one more class, the background,
        learned from frames between the actions.
    takes : recordings
        Long recordings with ``segments``. Or cut recordings with labels only, from which long ones
        are composed: actions with pauses, parts of actions and transitions between them.
    unlabelled : recordings, optional
        Long recordings in which none of the actions happens.
    false_alarms_per_hour : float, optional
        On training people who are held out in turn; by default the threshold has the best
        F1 there.
    """
    if recognizer.machine is not None and not isinstance(recognizer.machine, LinearSVM):
        raise ParameterError(f"spotting needs a LinearSVM, got {type(recognizer.machine).__name__}")
    recordings = check_sequences(takes, allow_missing=True, whole=True)
    if false_alarms_per_hour is not None:
        check_positive("false_alarms_per_hour", false_alarms_per_hour)
    ordered = True
    if not any(r.segments for r in recordings):
        recordings, ordered = compose_takes(recordings), False
    bare = [r.name or f"#{i}" for i, r in enumerate(recordings) if not r.segments]
    if bare:
        raise DataError(
            f"{len(bare)} of {len(recordings)} recordings have no segments, first {bare[0]}"
        )
    quiet = list(unlabelled)
    if quiet:
        extra = check_sequences(quiet, allow_missing=True, whole=True)
        recordings = [*recordings, *(r.replace(segments=()) for r in extra)]
    return _learn(recognizer, recordings, false_alarms_per_hour, ordered)


def _learn(
    recognizer: Any,
    recordings: Sequence[SkeletonSequence],
    false_alarms_per_hour: float | None,
    ordered: bool,
) -> tuple[Any, Spotter]:
    classes = tuple(sorted({s.label for r in recordings for s in r.segments}))
    if BACKGROUND in classes:
        raise DataError(
            f"the label {BACKGROUND!r} is reserved for frames without a segment; rename or leave it out"
        )
    features = FrameFeatures(recordings[0].layout, recordings[0].n_joints).fit(recordings)
    takes = [make_take(r, features, classes, i) for i, r in enumerate(recordings)]
    durations = [
        [int(b - a) for t in takes for (a, b), c in zip(t.windows, t.codes, strict=True) if c == k]
        for k in range(len(classes))
    ]
    if max(max(some) for some in durations) < 2:
        raise DataError(
            "every segment has one frame, too few for an action: are start and stop seconds? "
            "Name their columns start_s and stop_s, or draw the segments around the whole action"
        )
    lengths = window_lengths([n for some in durations for n in some])
    show = recognizer.progress or silent
    folds = _folds([t.person for t in takes])
    proposed: dict[int, Candidates] = {}
    for inside, outside in show(folds, total=len(folds), desc="proposals"):
        scorer = _scorer([takes[i] for i in inside], len(classes), lengths)
        proposed |= {i: _propose(features, scorer, takes[i]) for i in outside}
    candidates = [proposed[i] for i in range(len(takes))]
    floor = _floor(candidates, sum(len(t.joints) for t in takes))
    candidates = [_above(c, floor) for c in candidates]
    examples, labels, of_take = cut_examples(takes, candidates, classes)
    # recordings of unknown people are held out together
    people = [s.subject or "" for s in examples]
    fitted = _narrowed(recognizer, takes, classes).fit(examples, np.asarray(labels), people)
    codes = np.array([[*classes, BACKGROUND].index(label) for label in labels])
    _score_held_out(fitted, examples, codes, np.array(of_take), takes, candidates, folds)
    right = [_right(c, t) for c, t in zip(candidates, takes, strict=True)]
    rates = [r.fps for r in recordings if r.fps is not None]
    out = Spotter()
    out.classes_, out.features_, out.floor_ = classes, features, floor
    out.verifier_ = fit_verifier(candidates, right, fit_durations(durations))
    out.fps_ = float(np.median(rates)) if rates else None
    options = candidates, takes, out.verifier_, classes, false_alarms_per_hour, out.fps_
    out.threshold_, out.held_out_ = choose_threshold(*options)
    if ordered:
        segments = [t.recording.segments for t in takes]
        others = {i: [segments[j] for j in inside] for inside, outside in folds for i in outside}
        orders = [
            learn_order(others[i], classes) for i in range(len(takes))
        ]  # without a person's own recordings
        threshold, _ = choose_threshold(*options, orders)
        out.order_ = replace(learn_order(segments, classes), threshold=threshold)
    out.scorer_ = _scorer(takes, len(classes), lengths)
    return fitted, out


def _scorer(takes: Sequence[Take], n_classes: int, lengths: np.ndarray) -> WindowScorer:
    return fit_scorer(
        [t.features for t in takes],
        [t.windows for t in takes],
        [t.codes for t in takes],
        n_classes,
        lengths,
    )


def _propose(features: FrameFeatures, scorer: WindowScorer, take: Take) -> Candidates:
    """Candidates of a recording, before verification."""
    proposer = Proposer(features, scorer, -np.inf)
    proposer.push(raw_joints(take.recording))
    found = []
    while (some := proposer.next(final=True)) is not None:
        found += some
    windows = np.array([(p.start, p.stop) for p in found], dtype=int).reshape(-1, 2)
    light = np.array([p.scores for p in found]).reshape(len(found), -1)
    return Candidates(windows, light, np.zeros_like(light))


def _narrowed(recognizer: Any, takes: Sequence[Take], classes: tuple[str, ...]) -> Any:
    """A copy with view and mirroring already chosen on the actions only, since there are many more
    background examples.
    """
    actions = [a for t in takes for a in t.cut(t.windows)]
    labels = np.asarray([classes[k] for t in takes for k in t.codes])
    copy = clone(recognizer)
    tried = dict(copy.search.variants or {}) if copy.search is not None else {}
    if len(tried) < 2 or len(classes) < 2 or len({a.subject for a in actions}) < 2:
        return copy
    fitted = clone(recognizer).set_params(calibrate=False).fit(actions, labels)
    best, tried = fitted.variant_, fitted.search_.variants  # for this skeleton
    if best in tried:
        copy.search.set_params(variants={best: tried[best]})
    return copy


def _score_held_out(
    recognizer: Any,
    examples: Sequence[SkeletonSequence],
    codes: np.ndarray,
    of_take: np.ndarray,
    takes: Sequence[Take],
    candidates: Sequence[Candidates],
    folds: Folds,
) -> None:
    """Put decision values of held-out people into ``candidates``.

    Features are computed once, by the recogniser of all training people; the linear classifier is
    solved again for each fold. So joint weights and centring depend on the held-out people, the
    classifier does not.
    """
    judged = [w for t, c in zip(takes, candidates, strict=True) for w in t.cut(c.windows)]
    where = np.repeat(np.arange(len(takes)), [len(c.windows) for c in candidates])
    n = len(examples)
    with one_blas_thread():
        features = ((k, b.transform([*examples, *judged])) for k, b in recognizer.branches_.items())
        grams = {name: gram(f, f[:n]) for name, f in features}
    deep = np.zeros((len(judged), int(codes.max()) + 1))
    for inside, outside in folds:
        rows, held = (
            np.flatnonzero(np.isin(of_take, inside)),
            np.flatnonzero(np.isin(where, outside)),
        )
        for m in recognizer.mixtures_:
            K = sum(share * grams[name] for name, share in m.shares.items())
            fold = K[np.ix_(rows, rows)], K[np.ix_(n + held, rows)], codes[rows]
            (scores,) = held_out_scores(*fold, deep.shape[1], [m.C], penalty=m.penalty, tol=1e-3)
            scores[~np.isfinite(scores)] = -1.0  # of a class that nobody else performs
            deep[held] += scores / len(recognizer.mixtures_)
    ends = np.cumsum([len(c.windows) for c in candidates])
    for c, part in zip(candidates, np.split(deep, ends[:-1]), strict=True):
        c.deep = part


def _folds(people: Sequence[str]) -> Folds:
    """Each person held out in turn, or groups of people if there are many; a single recording is
    not held out.
    """
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
    """The margin at which candidates have the allowed frequency."""
    margins = np.sort(
        np.concatenate([c.light[:, :-1].max(axis=1) - c.light[:, -1] for c in proposed])
    )[::-1]
    most = int(_CANDIDATES_PER_FRAME * n_frames)
    return float(margins[most]) if len(margins) > most else -np.inf


def _above(c: Candidates, floor: float) -> Candidates:
    keep = c.light[:, :-1].max(axis=1) - c.light[:, -1] > floor
    return Candidates(c.windows[keep], c.light[keep], c.deep[keep])


def _right(c: Candidates, take: Take) -> np.ndarray:
    if not len(take.windows):
        return np.zeros(len(c.windows), dtype=bool)
    hit = overlaps(c.windows, take.windows) >= RIGHT
    return (hit & (take.codes[None] == c.labels()[:, None])).any(axis=1)
