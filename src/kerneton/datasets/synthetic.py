"""Generated recordings of people doing everyday actions: the data set that needs no download."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kerneton.data.layouts import KINECT_20
from kerneton.data.parameters import check_choice, check_in, check_positive
from kerneton.data.sequence import SkeletonDataset, SkeletonSequence
from kerneton.datasets._actions import ACTIONS, Style, rest, wander
from kerneton.datasets._body import Body, Motion, keys, pose
from kerneton.exceptions import ParameterError

# The noise of each joint relative to the mean: the ends of limbs are the hardest to see.
_NOISE = {"hand": 1.6, "foot": 1.5, "wrist": 1.2, "ankle": 1.2}
_UNSTEADY = np.array([_NOISE.get(joint.rpartition("_")[2], 0.8) for joint in KINECT_20.joints])
_UNSTEADY /= np.sqrt(np.mean(_UNSTEADY**2))


@dataclass(frozen=True)
class Subject:
    """What one person keeps from take to take."""

    body: Body
    tempo: float
    amplitude: float
    left_handed: bool
    facing: float  # radians from the camera
    place: np.ndarray  # (3,) on the ground, metres from the camera
    stoop: float  # how far the trunk leans at rest
    elbow: float


def make_actions(
    actions: Sequence[str] | None = None,
    *,
    n_subjects: int = 8,
    n_takes: int = 3,
    noise: float = 0.01,
    dropout: float = 0.01,
    fps: float = 30.0,
    uncut: bool = False,
    random_state: int | np.random.Generator | None = 0,
) -> SkeletonDataset:
    """Generate recordings of fourteen actions by people who each move in their own way.

    Jointed bodies follow minimum-jerk paths with sway, in the joint order of Kinect, in metres.
    Subjects differ in size, proportions, tempo, amplitude, handedness and facing; takes in timing,
    repetitions and random details. Several pairs differ only in how they move: draw circle and draw
    X, sit down and stand up, sit down and bow, drink and answer phone, clap and pass hand to hand,
    punch and throw.

    A recording depends only on the seed, its subject, action and take: generating more of them does
    not change it.

    Parameters
    ----------
    actions : sequence of str, optional
        Some of ``kerneton.datasets.synthetic.ACTIONS``; all by default.
    n_subjects, n_takes : int
        Subjects, and takes of each action by each subject.
    noise : float
        Standard deviation of the sensor's error, in metres per coordinate.
    dropout : float
        Share of joint positions that are lost, in runs of several frames: NaN, with confidence 0.
    fps : float
        Frames per second.
    uncut : bool
        Generate one long recording per subject and take, with ``segments``: the actions in random
        order, rests, other motions, and transitions.
    random_state : int, Generator or None
        Seed; None gives different recordings every time.

    Examples
    --------
    >>> data = make_actions(["wave", "clap"], n_subjects=3, n_takes=2)
    >>> data
    SkeletonDataset(synthetic: 12 recordings, 2 labels, 3 subjects)
    >>> data[0]
    SkeletonSequence(... frames, 20 joints, kinect20, label='wave', subject='1', name='s01_wave_t1')
    """
    chosen = list(ACTIONS) if actions is None else _check_actions(actions)
    check_positive("n_subjects", n_subjects, integer=True)
    check_positive("n_takes", n_takes, integer=True)
    check_positive("fps", fps)
    check_in("noise", noise, 0, 1)
    check_in("dropout", dropout, 0, 0.5)
    seed = _seed(random_state)
    if uncut:
        numbers = [(s, take) for s in range(n_subjects) for take in range(n_takes)]
        takes = [make_long(chosen, s, take, seed, noise, dropout, fps) for s, take in numbers]
        return SkeletonDataset(takes, name="synthetic")
    sequences = []
    for s in range(n_subjects):
        subject = make_subject(np.random.default_rng([seed, s]))
        for action in chosen:
            number = list(ACTIONS).index(action) + 1
            for take in range(n_takes):
                chance = np.random.default_rng([seed, s, number, take + 1])
                style = make_style([seed, s, number], subject, chance)
                joints, _, _ = play(*ACTIONS[action], subject, style, fps)
                name = f"s{s + 1:02d}_{action.replace(' ', '_')}_t{take + 1}"
                recording = sense(joints, noise, dropout, fps, chance)
                sequences.append(recording.replace(label=action, subject=str(s + 1), name=name))
    return SkeletonDataset(sequences, name="synthetic")


def make_long(
    actions: Sequence[str],
    s: int,
    take: int,
    seed: int,
    noise: float,
    dropout: float,
    fps: float,
    *,
    n_unknown: int = -1,
) -> SkeletonSequence:
    """One long recording of subject ``s``: each action once, with rests, unknown motions and
    transitions.
    """
    subject = make_subject(np.random.default_rng([seed, s]))
    chance = np.random.default_rng([seed, s, 0, take + 1])
    plan: list[str | None] = [actions[i] for i in chance.permutation(len(actions))]
    for _ in range(round(0.6 * len(actions)) if n_unknown < 0 else n_unknown):
        plan.insert(int(chance.integers(len(plan) + 1)), None)
    pieces: list[np.ndarray] = []
    segments = []
    length = 0
    for action in plan:
        for script, usual, label in (
            (rest, chance.uniform(0.4, 2.0), None),
            (*ACTIONS[action], action) if action else (wander, chance.uniform(1.2, 4.0), None),
        ):
            number = 1 + list(ACTIONS).index(label) if label else 0
            style = make_style([seed, s, number], subject, chance)
            joints, start, stop = play(script, usual, subject, style, fps)
            if pieces:
                n = max(2, round(chance.uniform(0.2, 0.5) * fps))
                ease = keys(np.linspace(0, 1, n + 2)[1:-1], [0, 1], [0.0, 1.0])[:, None, None]
                pieces.append(pieces[-1][-1] + (joints[0] - pieces[-1][-1]) * ease)
                length += n
            if label is not None:
                segments.append((label, length + start, length + stop))
            pieces.append(joints)
            length += len(joints)
    recording = sense(np.concatenate(pieces), noise, dropout, fps, chance)
    return recording.replace(
        subject=str(s + 1), name=f"s{s + 1:02d}_long_t{take + 1}", segments=segments
    )


def make_background(
    seconds: float,
    *,
    n_subjects: int = 1,
    noise: float = 0.01,
    dropout: float = 0.01,
    fps: float = 30.0,
    random_state: int | np.random.Generator | None = 0,
) -> SkeletonDataset:
    """Generate recordings in which none of the actions happens: rests and random motions.

    >>> quiet = make_background(20.0, n_subjects=2)
    >>> len(quiet), quiet[0].segments, quiet[0].duration > 5
    (2, (), True)
    """
    check_positive("seconds", seconds)
    check_positive("n_subjects", n_subjects, integer=True)
    seed = _seed(random_state)
    n = max(1, round(seconds / n_subjects / 4.5))  # a rest and a motion last about 4.5 seconds
    takes = [make_long([], s, 0, seed, noise, dropout, fps, n_unknown=n) for s in range(n_subjects)]
    return SkeletonDataset(takes, name="background")


def make_subject(chance: np.random.Generator) -> Subject:
    """Draw a person: 1.5 to 1.95 m tall, one in four left-handed, turned up to 35 degrees from the
    camera.
    """
    height = chance.uniform(1.5, 1.95)
    shares = dataclasses.asdict(Body())
    lengths = {name: height * share * chance.normal(1.0, 0.05) for name, share in shares.items()}
    return Subject(
        body=Body(**lengths),
        tempo=chance.lognormal(0, 0.15),
        amplitude=chance.lognormal(0, 0.12),
        left_handed=bool(chance.uniform() < 0.25),
        facing=np.deg2rad(chance.uniform(-35, 35)),
        place=np.array(
            [chance.uniform(-0.4, 0.4), chance.uniform(-1.0, -0.8), chance.uniform(2.0, 3.0)]
        ),
        stoop=chance.normal(0.03, 0.04),
        elbow=chance.normal(0, 0.08),
    )


def make_style(seed: Sequence[int], subject: Subject, chance: np.random.Generator) -> Style:
    """How a person does an action in one take: habits depend on the seed alone, the amplitude also
    on the take.
    """
    habits = np.random.default_rng(seed)
    amplitude = subject.amplitude * chance.lognormal(0, 0.08)
    return Style(amplitude, habits.normal(0, 0.05, 3), habits.uniform(), chance)


def play(
    script: Callable[[np.ndarray, Style], Motion],
    usual: float,
    subject: Subject,
    style: Style,
    fps: float,
) -> tuple[np.ndarray, int, int]:
    """A motion as a body performs it, (T, 20, 3) in metres from the camera, between two moments of
    rest; its frames.
    """
    chance = style.chance
    seconds = usual * subject.tempo * chance.lognormal(0, 0.07)
    before, after = chance.uniform(0.0, 0.4, 2)
    n_frames = max(2, round((before + seconds + after) * fps))
    clock = np.arange(n_frames) / fps
    phase = np.clip((clock - before) / seconds, 0.0, 1.0)
    skew, ripple = chance.uniform(-0.5, 0.5, 2)  # uneven tempo; the phase still only grows
    phase = (
        phase + (skew * np.sin(np.pi * phase) ** 2 + 0.5 * ripple * np.sin(2 * np.pi * phase)) / 8
    )
    motion = script(np.clip(phase, 0.0, 1.0), style)
    _sway(motion, clock, subject, chance)
    joints = pose(subject.body, motion)
    if subject.left_handed != (chance.uniform() < 0.08):  # now and then the other hand
        joints = joints[:, KINECT_20.mirror] * [-1.0, 1.0, 1.0]
    yaw = subject.facing + np.deg2rad(chance.normal(0, 6))
    turn = np.array([[np.cos(yaw), 0, np.sin(yaw)], [0, 1, 0], [-np.sin(yaw), 0, np.cos(yaw)]])
    joints = joints @ turn.T + subject.place + chance.normal(0, 0.08, 3) * [1.0, 0.0, 1.0]
    start = min(round(before * fps), n_frames - 1)
    return joints, start, max(start + 1, min(round((before + seconds) * fps), n_frames))


def sense(
    joints: np.ndarray, noise: float, dropout: float, fps: float, chance: np.random.Generator
) -> SkeletonSequence:
    """What a depth camera reports: noise, half of it lasting a few frames, and joints lost for a
    while.
    """
    n_frames, n_joints, _ = joints.shape
    quick = chance.normal(0, 1, joints.shape)
    slow = chance.normal(0, 1, (n_frames + 4, n_joints, 3))
    slow = np.lib.stride_tricks.sliding_window_view(slow, 5, axis=0).sum(-1) / np.sqrt(5)
    seen = joints + noise * _UNSTEADY[:, None] * (quick + slow) / np.sqrt(2)
    if not dropout:
        return SkeletonSequence(seen, layout=KINECT_20, fps=fps)
    lost = np.zeros((n_frames, n_joints), dtype=bool)
    longest = max(1, min(10, n_frames // 4))
    mean_run = (1 + longest) / 2
    runs = chance.poisson(dropout * n_frames * n_joints / mean_run)
    which = chance.choice(n_joints, runs, p=_UNSTEADY / _UNSTEADY.sum())
    for joint, length in zip(which, chance.integers(1, longest + 1, runs), strict=True):
        start = chance.integers(0, n_frames - length + 1)
        lost[start : start + length, joint] = True
    seen[lost] = np.nan
    return SkeletonSequence(seen, np.where(lost, 0.0, 1.0), layout=KINECT_20, fps=fps)


def _sway(motion: Motion, clock: np.ndarray, subject: Subject, chance: np.random.Generator) -> None:
    """Add slow drifts of pelvis, trunk and hands, and the person's own posture."""
    periods = chance.uniform(0.9, 4.0, (3, 14))
    waves = np.sin(2 * np.pi * (clock[:, None, None] / periods + chance.uniform(size=(3, 14)))).sum(
        1
    )
    motion.pelvis = motion.pelvis + 0.006 * waves[:, :3] * [1.0, 0.2, 1.0]
    motion.pitch = motion.pitch + subject.stoop + 0.01 * waves[:, 3]
    motion.roll = motion.roll + 0.01 * waves[:, 4]
    motion.twist = motion.twist + 0.02 * waves[:, 5]
    motion.nod = motion.nod + 0.02 * waves[:, 6]
    motion.tilt = motion.tilt + 0.015 * waves[:, 7]
    for i, side in enumerate(("left", "right")):
        motion.hands[side] = motion.hands[side] + 0.012 * waves[:, 8 + 3 * i : 11 + 3 * i]
        motion.elbows[side] = motion.elbows[side] + subject.elbow


def _check_actions(actions: Sequence[str]) -> list[str]:
    if isinstance(actions, str):
        raise ParameterError(f"actions must be a list of names, got the text {actions!r}")
    chosen = list(actions)
    if not chosen or len(set(chosen)) != len(chosen):
        raise ParameterError(f"actions must name at least one action and none twice, got {chosen}")
    for action in chosen:
        check_choice("action", action, ACTIONS)
    return chosen


def _seed(random_state: int | np.random.Generator | None) -> int:
    if random_state is None or isinstance(random_state, np.random.Generator):
        return int(np.random.default_rng(random_state).integers(2**62))
    if (
        not isinstance(random_state, (int, np.integer))
        or isinstance(random_state, bool)
        or random_state < 0
    ):
        expected = "a whole number, a Generator or None"
        raise ParameterError(f"random_state must be {expected}, got {random_state!r}")
    return int(random_state)
