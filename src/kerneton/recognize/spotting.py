"""Training a spotter: candidate windows of held-out people, near misses as background, and
thresholds from these.

Time grows linearly with the recordings. What is quadratic, the recogniser with its Gram matrices,
has a bounded number of examples (`Bounds`), the most informative ones.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from kerneton.data.checks import check_sequences
from kerneton.data.parameters import check_in, check_positive, renamed
from kerneton.data.progress import silent
from kerneton.data.segments import Segment
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError, KernetonWarning, ParameterError
from kerneton.machine.folds import machines
from kerneton.machine.products import combine, gram
from kerneton.machine.sampling import sample_rows
from kerneton.machine.solver import per_class
from kerneton.machine.svm import LinearSVM, class_weights
from kerneton.parallel.threads import count_threads, in_threads, one_blas_thread
from kerneton.recognize.journal import Journal, open_journal
from kerneton.recognize.large import widths_of
from kerneton.recognize.search import fitting
from kerneton.stream.compose import compose_takes
from kerneton.stream.examples import RIGHT, Certainty, Take, cut_examples, make_take
from kerneton.stream.frames import FrameFeatures, raw_joints
from kerneton.stream.metrics import ACTION_POINT_SECONDS
from kerneton.stream.mining import Folds, Miner, encoded, main_directions
from kerneton.stream.points import frames_before_points
from kerneton.stream.proposals import WindowScorer, window_lengths
from kerneton.stream.proposer import Proposer
from kerneton.stream.selection import learn_order
from kerneton.stream.spotter import BACKGROUND, Spotter
from kerneton.stream.thresholds import choose_threshold
from kerneton.stream.verify import Candidates, fit_durations, fit_verifier

_MAX_FOLDS = 5
_ROUNDS = 3


@dataclass(frozen=True)
class Bounds:
    """What the learning of a spotter keeps bounded, however long the recordings are."""

    actions: int = 240  # on which view and mirroring are chosen
    examples: int = 2000  # of actions and background, of the recogniser
    judged: int = 5000  # candidates of held-out people that are judged by the recogniser
    choice: int = 1000  # examples on which the recogniser's weights are chosen
    per_frame: float = 0.2  # candidates, on average


@renamed(false_alarms="false_alarms_per_hour")
def fit_spotting(
    recognizer: Any,
    takes: Iterable[SkeletonSequence],
    *,
    unlabelled: Iterable[SkeletonSequence] = (),
    false_alarms_per_hour: float | None = None,
    partial: bool = False,
    uncertain_s: float = 0.0,
    scratch: Any = None,
    bounds: Bounds | None = None,
) -> tuple[Any, Spotter]:
    """A recogniser of actions and background, and the spotter that finds actions in long recordings
    with it.

    Parameters
    ----------
    recognizer : Recognizer
        With a `LinearSVM`; it is not changed. A copy is fitted with one more class, the background,
        learned from frames between the actions.
    takes : recordings
        Long recordings with ``segments``, among them cut ones with a label only. Of segments with a
        single frame, points, the window before is learned. Or cut recordings alone, from which long
        ones are composed: actions with pauses, parts of actions and transitions between them.
    unlabelled : recordings, optional
        Long recordings in which none of the actions happens.
    false_alarms_per_hour : float, optional
        On training people who are held out in turn; by default the threshold has the best
        F1 there.
    partial : bool
        Only some actions of the recordings have segments: what happens elsewhere is unknown.
    uncertain_s : float
        Seconds by which the bounds of segments may be wrong.
    scratch : path, optional
        A folder in which finished steps are kept, so that an interrupted fit resumes.
    """
    if recognizer.machine is not None and not isinstance(recognizer.machine, LinearSVM):
        raise ParameterError(f"spotting needs a LinearSVM, got {type(recognizer.machine).__name__}")
    recordings = check_sequences(takes, allow_missing=True, whole=True)
    if false_alarms_per_hour is not None:
        check_positive("false_alarms_per_hour", false_alarms_per_hour)
    check_in("uncertain_s", uncertain_s, 0, 10)
    ordered = True
    if not any(r.segments for r in recordings):
        recordings, ordered = compose_takes(recordings), False
        partial = False
    recordings = [_with_whole(r) for r in recordings]
    bare = [r.name or f"#{i}" for i, r in enumerate(recordings) if not r.segments]
    if bare:
        raise DataError(
            f"{len(bare)} of {len(recordings)} recordings have no segments, first {bare[0]}"
        )
    quiet = list(unlabelled)
    if quiet:
        extra = check_sequences(quiet, allow_missing=True, whole=True)
        recordings = [*recordings, *(r.replace(segments=()) for r in extra)]
    told = f"{false_alarms_per_hour} {partial} {uncertain_s} {len(quiet)}"
    with ExitStack() as until, one_blas_thread():
        journal = open_journal(scratch, recognizer, recordings, told, until)
        return _learn(
            recognizer,
            recordings,
            ordered,
            journal,
            bounds or Bounds(),
            false_alarms_per_hour=false_alarms_per_hour,
            partial=partial,
            uncertain_s=uncertain_s,
        )


def _with_whole(recording: SkeletonSequence) -> SkeletonSequence:
    """A cut recording among long ones is one segment."""
    if recording.segments or recording.label is None:
        return recording
    return recording.replace(segments=[Segment(str(recording.label), 0, recording.n_frames)])


def _learn(
    recognizer: Any,
    recordings: Sequence[SkeletonSequence],
    ordered: bool,
    journal: Journal,
    bounds: Bounds,
    *,
    false_alarms_per_hour: float | None,
    partial: bool,
    uncertain_s: float,
) -> tuple[Any, Spotter]:
    classes = tuple(sorted({s.label for r in recordings for s in r.segments}))
    if BACKGROUND in classes:
        raise DataError(
            f"the label {BACKGROUND!r} is reserved for frames without a segment; rename or leave it out"
        )
    fps = _rate(recordings)
    _tell_rare(recordings, classes)
    features = FrameFeatures(recordings[0].layout, recordings[0].n_joints).fit(recordings)
    show, threads = recognizer.progress or silent, count_threads(recognizer.n_jobs)
    rate = fps or 30.0
    certainty = Certainty(partial, uncertain_s * rate, ACTION_POINT_SECONDS * rate)
    takes = [make_take(r, features, classes, i, certainty) for i, r in enumerate(recordings)]
    folds = _folds([t.person for t in takes])
    groups = _groups(folds, len(takes))
    basis = main_directions(features, takes)

    def reduce(take: Take) -> None:
        parts = [some @ basis for _, some in encoded(features, take)]
        take.features = np.concatenate(parts) if parts else np.zeros((0, basis.shape[1]))

    in_threads(reduce, takes, threads, recognizer.progress, "features per frame")
    before: dict[str, int] = {}
    if any(t.points.any() for t in takes):
        kept = journal.arrays
        before = frames_before_points(takes, groups, classes, basis, fps, threads, kept)
        for i, (r, t) in enumerate(zip(recordings, takes, strict=True)):
            again = make_take(r, features, classes, i, certainty, before)
            t.windows, t.codes, t.points = again.windows, again.codes, again.points
            t.unknown = again.unknown
    durations = [
        [int(b - a) for t in takes for (a, b), c in zip(t.windows, t.codes, strict=True) if c == k]
        for k in range(len(classes))
    ]
    if gone := [c for c, some in zip(classes, durations, strict=True) if not some]:
        raise DataError(f"every segment of {gone[0]!r} lies outside of its recording")
    lengths = window_lengths([n for some in durations for n in some])
    shortest = min(len(t.joints) for t in takes)
    if lengths[0] > max(len(t.joints) for t in takes):
        raise DataError(f"recordings of {shortest} frames are shorter than every action")
    miner = Miner(takes, groups, basis, len(classes), lengths, threads)
    miner.start()
    for turn in range(1, _ROUNDS):
        desc = f"near misses, round {turn} of {_ROUNDS - 1}"

        def mined(desc: str = desc) -> list[np.ndarray]:
            return miner.mine(recognizer.progress, desc)

        miner.add_background(journal.arrays(f"near-misses-{turn}", mined))
    held_out = miner.held_out()

    def propose(i: int) -> Candidates:
        return _propose(features, held_out[groups[i]], takes[i])

    rows = range(len(takes))
    candidates = in_threads(propose, rows, threads, recognizer.progress, "candidates")
    floor = _floor(candidates, sum(len(t.joints) for t in takes), bounds.per_frame)
    candidates = [_above(c, floor) for c in candidates]
    examples, labels, of_take = cut_examples(takes, candidates, classes, bounds.examples)
    narrowed = _narrowed(recognizer, takes, classes, bounds, journal)
    # recordings of unknown people are held out together
    people = [s.subject or "" for s in examples]
    fitted = journal.model(
        "recognizer", narrowed, lambda m: m.fit(examples, np.asarray(labels), people)
    )
    codes = np.array([[*classes, BACKGROUND].index(label) for label in labels])
    judged = _judged_takes(takes, candidates, groups, bounds.judged)
    chosen = [takes[i] for i in judged], [candidates[i] for i in judged]

    def scored() -> list[np.ndarray]:
        held = groups[judged]
        return _held_out_scores(fitted, examples, codes, groups[of_take], *chosen, held, show)

    for c, deep in zip(chosen[1], journal.arrays("held-out-scores", scored), strict=True):
        c.deep = deep
    out = Spotter()
    out.classes_, out.features_, out.floor_ = classes, features, floor
    out.before_points_ = before
    parts = [_known(c, t) for t, c in zip(*chosen, strict=True)]
    right = [_right(c, t) for t, c in zip(chosen[0], parts, strict=True)]
    out.verifier_ = fit_verifier(parts, right, fit_durations(durations))
    out.fps_ = fps
    options = parts, chosen[0], out.verifier_, classes, false_alarms_per_hour, out.fps_
    out.threshold_, out.held_out_ = choose_threshold(*options)
    if partial:  # false alarms in unknown time are not seen
        out.threshold_ = max(out.threshold_, 0.0)
    if ordered and not partial:
        segments = [t.recording.segments for t in takes]
        orders = [
            learn_order(
                [segments[j] for j in rows if groups[j] != groups[i] or len(folds) == 1], classes
            )
            for i in judged
        ]  # without a person's own recordings
        threshold, _ = choose_threshold(*options, orders)
        out.order_ = replace(learn_order(segments, classes), threshold=threshold)
    out.scorer_ = miner.scorer()
    return fitted, out


def _rate(recordings: Sequence[SkeletonSequence]) -> float | None:
    rates = [r.fps for r in recordings if r.fps is not None]
    if rates and max(rates) > 1.1 * min(rates):
        warnings.warn(
            f"recordings at {min(rates):g} to {max(rates):g} frames per second are learnt as if at "
            f"one rate, {np.median(rates):g}; resample them first (kerneton convert --fps)",
            KernetonWarning,
            stacklevel=4,
        )
    return float(np.median(rates)) if rates else None


def _tell_rare(recordings: Sequence[SkeletonSequence], classes: Sequence[str]) -> None:
    """Warn of labels that occur once where others are frequent: such a label may be a slip."""
    counts = dict.fromkeys(classes, 0)
    for r in recordings:
        for s in r.segments:
            counts[s.label] += 1
    if max(counts.values()) > 2 and (once := [c for c in classes if counts[c] == 1]):
        warnings.warn(
            f"labels with a single segment, which hardly can be learnt: {', '.join(once[:5])}",
            KernetonWarning,
            stacklevel=4,
        )


def _propose(features: FrameFeatures, scorer: WindowScorer, take: Take) -> Candidates:
    """Candidates of a recording, before verification."""
    proposer = Proposer(features, scorer, -np.inf)
    found = []
    joints = raw_joints(take.recording)
    for first in range(0, len(joints), 1024):
        proposer.push(joints[first : first + 1024])
        while (some := proposer.next()) is not None:
            found += [(p.start, p.stop, p.scores) for p in some]
    while (some := proposer.next(final=True)) is not None:
        found += [(p.start, p.stop, p.scores) for p in some]
    windows = np.array([(a, b) for a, b, _ in found], dtype=int).reshape(-1, 2)
    light = np.array([scores for *_, scores in found]).reshape(len(found), -1)
    if not len(found):
        light = np.zeros((0, len(scorer.intercept)))
    return Candidates(windows, light, np.zeros_like(light))


def _narrowed(
    recognizer: Any,
    takes: Sequence[Take],
    classes: tuple[str, ...],
    bounds: Bounds,
    journal: Journal,
) -> Any:
    """A copy with view and mirroring already chosen on some of the actions, since there are many
    more background examples.
    """
    copy = clone(recognizer)
    copy.limits = replace(copy.limits, choice=bounds.choice, sample=bounds.choice)
    codes = np.concatenate([t.codes for t in takes])
    people = np.repeat([t.person for t in takes], [len(t.codes) for t in takes])
    tried = dict(copy.search.variants or {}) if copy.search is not None else {}
    if len(tried) < 2 or len(classes) < 2 or len(set(people)) < 2:
        return copy
    rows = sample_rows(codes, people, bounds.actions)
    places = [(t, w) for t in takes for w in t.windows]
    actions = [t.cut(w[None])[0] for t, w in (places[i] for i in rows)]

    def chosen() -> str:
        model = clone(recognizer).set_params(calibrate=False)
        fitted = model.fit(actions, np.asarray([classes[codes[i]] for i in rows]))
        return str(fitted.variant_)

    best = journal.text("variant", chosen)
    _, search = fitting(copy, actions)  # for this skeleton
    variants = (search or copy.search).variants or {}
    if best in variants:
        copy.search.set_params(variants={best: variants[best]})
    return copy


def _judged_takes(
    takes: Sequence[Take], candidates: Sequence[Candidates], groups: np.ndarray, most: int
) -> list[int]:
    """The recordings whose candidates are judged: of all folds in turn, until there are so many
    candidates.
    """
    turn = np.zeros(len(takes), dtype=int)
    for g in np.unique(groups):
        turn[groups == g] = np.arange((groups == g).sum())
    order = np.lexsort((groups, turn))
    total = np.cumsum([len(candidates[i].windows) for i in order])
    n = max(int(np.searchsorted(total, most, side="right")), len(np.unique(groups)))
    return sorted(int(i) for i in order[:n])


def _held_out_scores(
    recognizer: Any,
    examples: Sequence[SkeletonSequence],
    codes: np.ndarray,
    of_example: np.ndarray,
    takes: Sequence[Take],
    candidates: Sequence[Candidates],
    of_take: np.ndarray,
    show: Any,
) -> list[np.ndarray]:
    """Decision values of candidates by classifiers without their people; ``of_example`` and
    ``of_take`` are folds.

    Features are computed by the recogniser of all training people; the linear classifier is solved
    again for each fold. So joint weights and centring depend on the held-out people, the classifier
    does not.
    """
    k = int(codes.max()) + 1
    X = recognizer.features(examples)
    ends = np.cumsum(_widths(recognizer, examples[:1]))
    parts = dict(zip(recognizer.branches_, np.split(X, ends[:-1], axis=1), strict=True))
    threads = count_threads(recognizer.n_jobs)
    inner = dict(zip(parts, in_threads(gram, parts.values(), threads), strict=True))

    def solved(fold: int) -> tuple[np.ndarray, np.ndarray]:
        rows = np.flatnonzero(of_example != fold)
        if not len(rows):  # a single recording
            rows = np.arange(len(codes))
        return _machine(recognizer, inner, parts, codes, rows, k)

    folds = [int(f) for f in np.unique(of_take)]
    machines_of = dict(zip(folds, in_threads(solved, folds, threads), strict=True))
    out = [np.zeros((len(c.windows), k)) for c in candidates]
    places = [(i, j) for i, c in enumerate(candidates) for j in range(len(c.windows))]
    blocks = [places[a : a + 128] for a in range(0, len(places), 128)]
    for block in show(blocks, total=len(blocks), desc="held-out candidates"):
        windows = [takes[i].cut(candidates[i].windows[j : j + 1])[0] for i, j in block]
        Z = recognizer.features(windows)
        for fold in folds:
            rows = [r for r, (i, _) in enumerate(block) if of_take[i] == fold]
            if rows:
                coef, intercept = machines_of[fold]
                for r, values in zip(rows, Z[rows] @ coef.T + intercept, strict=True):
                    i, j = block[r]
                    out[i][j] = values
    return out


def _machine(
    recognizer: Any,
    inner: dict[str, np.ndarray],
    parts: dict[str, np.ndarray],
    codes: np.ndarray,
    rows: np.ndarray,
    k: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Weights (k, d) and intercepts (k,) of the classifiers learnt from some of the examples; a
    class that is absent there has the value -1.
    """
    present, local = np.unique(codes[rows], return_inverse=True)
    width = sum(X.shape[1] for X in parts.values())
    coef, intercept = np.zeros((k, width), np.float32), np.full(k, -1.0)
    if len(present) == 1:
        return coef, np.where(np.arange(k) == present[0], 0.0, intercept)
    intercept[present] = 0.0
    for m in recognizer.mixtures_:
        K: Any = sum(share * inner[name][np.ix_(rows, rows)] for name, share in m.shares.items())
        weights = class_weights(local, len(present), None)
        options = {"penalty": m.penalty, "tol": 1e-3, "weights": weights}
        ((duals, constant),) = machines(K, local, [m.C], **options)
        duals, constant = per_class(duals.T).T, per_class(constant[None])[0]
        share_of = [combine(duals * m.shares.get(name, 0.0), X[rows]) for name, X in parts.items()]
        coef[present] += np.hstack(share_of) / len(recognizer.mixtures_)
        intercept[present] += constant / len(recognizer.mixtures_)
    return coef, intercept


def _widths(recognizer: Any, examples: Sequence[SkeletonSequence]) -> list[int]:
    return list(widths_of(recognizer.learned_, examples).values())


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


def _groups(folds: Folds, n: int) -> np.ndarray:
    """(n,) the fold in which each recording is held out."""
    out = np.zeros(n, dtype=int)
    for g, (_, outside) in enumerate(folds):
        out[outside] = g
    return out


def _floor(proposed: Sequence[Candidates], n_frames: int, per_frame: float) -> float:
    """The margin at which candidates have the allowed frequency."""
    margins = np.sort(
        np.concatenate([c.light[:, :-1].max(axis=1) - c.light[:, -1] for c in proposed])
    )[::-1]
    most = int(per_frame * n_frames)
    return float(margins[most]) if len(margins) > most else -np.inf


def _above(c: Candidates, floor: float) -> Candidates:
    return _rows(c, c.light[:, :-1].max(axis=1) - c.light[:, -1] > floor)


def _known(c: Candidates, take: Take) -> Candidates:
    """Candidates of which it is known whether they are right."""
    return _rows(c, take.is_known(c.windows) | (take.nearness(c.windows) >= RIGHT).any(axis=1))


def _rows(c: Candidates, keep: np.ndarray) -> Candidates:
    return Candidates(c.windows[keep], c.light[keep], c.deep[keep])


def _right(c: Candidates, take: Take) -> np.ndarray:
    hit = take.nearness(c.windows) >= RIGHT
    return (hit & (take.codes[None] == c.labels()[:, None])).any(axis=1)
