"""Ready-made recognisers: recordings in, labels out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kerneton.data.parameters import check_choice
from kerneton.exceptions import ParameterError
from kerneton.kernels.sck import SCK
from kerneton.machine.scaling import CenterNormalize
from kerneton.machine.svm import LinearSVM
from kerneton.prepare.preprocess import Preprocess
from kerneton.recognize.branch import Branch
from kerneton.recognize.recognizer import Recognizer
from kerneton.recognize.search import Search

if TYPE_CHECKING:
    from kerneton.data.progress import Progress

PRESETS = ("default", "tensor", "auto", "paper", "exact")
_FIXED_VIEW_MUST_GAIN = 0.02  # gain on held-out subjects that is required to use the fixed view


# (σ, pivots, share of the kernel) of each signal, for time and two signals, and for time and three.
_TWO: dict[str, Any] = {
    "sigma_joint": (0.5, 0.7),
    "n_pivots_joint": (5, 4),
    "joint_weight": (0.4, 0.35),
}
_THREE: dict[str, Any] = {
    "sigma_joint": (0.6, 0.7, 0.7),
    "n_pivots_joint": (3, 3, 3),
    "joint_weight": (0.3, 0.25, 0.2),
}
_MOVE: tuple[str, ...] = ("position", "velocity")
_PAIRS: dict[str, Any] = {"pairs": True, "joints": "key"}

# C and within-class penalty of the default recogniser. Accuracy changes little between a third of
# either and three times either.
STANDARD_C = 10.0
STANDARD_PENALTY = 3.0


def standard_cues(*, order: int = 2) -> dict[str, Branch]:
    """The five cues of the default recogniser, by name; order 3 for third-order tensors.

    Positions and velocities of joints (of the root: its path through space) and of pairs of joints,
    for pairs also accelerations; directions of bones and between joints of the body turned to the
    front. Joints are weighted by their alignment with the training labels.

    >>> list(standard_cues())
    ['joints', 'pairs', 'pairs_force', 'bones_front', 'directions_front']
    """

    def cue(
        signals: tuple[str, ...], facing: str | None = None, path: bool = False, **parameters: Any
    ) -> Branch:
        kernel = SCK(
            signals=signals,
            sigma_time=0.3,
            n_pivots_time=5,
            power=0.3,
            order=order,
            weighting="alignment",
            **parameters,
        )
        poses = Preprocess(path=path, bones="size", facing=facing, dtype="float32")
        return Branch(poses, kernel, CenterNormalize())

    return {
        "joints": cue(_MOVE, path=True, **_TWO),
        "pairs": cue(_MOVE, **_TWO, **_PAIRS),
        "pairs_force": cue((*_MOVE, "acceleration"), **_THREE, **_PAIRS),
        "bones_front": cue(("bone", "velocity"), facing="sequence", **_TWO),
        "directions_front": cue(("direction", "velocity"), facing="sequence", **_TWO, **_PAIRS),
    }


VIEWS: dict[str, dict[str, Any]] = {
    "free": {"preprocess__facing": "sequence"},  # turn every recording to the front
    "fixed": {},  # keep the camera's view
}


def make_recognizer(
    preset: str | None = None,
    *,
    kernel: str | None = None,
    view: str = "auto",
    mirror: str | bool = "auto",
    calibrate: bool | str = "auto",
    false_alarm: float = 0.05,
    reject: bool = False,
    n_jobs: int | None = None,
    device: str | None = None,
    progress: Progress | None = None,
) -> Recognizer:
    """A recogniser that fits on (recordings, labels) and predicts labels.

    Parameters
    ----------
    preset : {"default", "tensor", "auto", "paper", "exact"}, optional
        "default" is a sum of five kernels with weighted joints and matrices.
        "tensor" is the same with third-order tensors, as in the paper, about ten times larger and
        slower. "auto", again with matrices, also selects which kernels to combine: it tries sums
        without one of the five, and smaller and larger within-class penalties, and averages the ten
        best. These three choose mirroring, view and sums on held-out training subjects. "paper"
        is the method of Koniusz, Cherian and Porikli (2016). "exact" uses
        their kernels without linearisation and power normalisation, from the Gram matrix of all
        training recordings: for few recordings (see `kerneton.kernels.exact_features.ExactKernel`),
        and less accurate.
    kernel : {"sck", "dck", "sck+dck"}, optional
        Which of the paper's kernels to use, for ``preset="exact"`` and ``"paper"``, which it
        implies; both by default.
    view : {"auto", "free", "fixed"}
        "free" turns every recording to the front, so that people may stand anywhere; "fixed" uses
        the camera's frame. "auto" is "free" unless the training subjects show that this costs more
        than two points.
    mirror : {"auto", True, False, "partly", "bodies"}
        Whether an action and its mirror image count as the same action, as different ones, or
        ("partly") as similar ones, for people of either hand where the side also matters; "auto"
        decides on the training subjects. For two persons (`pair`), "bodies" means that their order
        does not matter; "auto" tries that too.
    calibrate : {"auto", True, False}
        Whether probabilities and "none of these" are learned too: by default where people can be
        held out for that, else with a `NoProbabilitiesWarning`. It takes about a fifth of a fit.
    false_alarm, reject, n_jobs, device, progress
        As in `Recognizer`: probabilities and "none of these"; threads; "cuda" for the GPU; a
        progress bar.

    Examples
    --------
    >>> from kerneton import make_actions
    >>> data = make_actions(["wave", "clap", "kick"], n_subjects=4, n_takes=2)
    >>> model = make_recognizer().fit(data[:18], data.labels[:18])
    >>> model.predict(data[18:]).shape
    (6,)
    """
    if preset is None:
        preset = "default" if kernel is None else "paper"
    check_choice("preset", preset, PRESETS)
    if kernel is not None:
        check_choice("kernel", kernel, ["sck", "dck", "sck+dck"])
    if kernel is not None and preset not in ("paper", "exact"):
        raise ParameterError(
            f"kernel={kernel!r} is only for preset='paper' or preset='exact'; preset={preset!r} chooses its kernels itself"
        )
    check_choice("view", view, ["auto", "free", "fixed"])
    check_choice("mirror", mirror, ["auto", True, False, "partly", "bodies"])
    if preset in ("paper", "exact"):
        made = (
            {"sck": _paper_sck, "dck": _paper_dck}
            if preset == "paper"
            else {"sck": _exact_sck, "dck": _exact_dck}
        )
        branches, search = [(name, made[name]()) for name in (kernel or "sck+dck").split("+")], None
    else:
        branches = list(standard_cues(order=3 if preset == "tensor" else 2).items())
        search = _search(preset, view, mirror)
    return Recognizer(
        branches,
        machine=LinearSVM(C=STANDARD_C),
        search=search,
        any_skeleton=True,
        calibrate=calibrate,
        false_alarm=false_alarm,
        reject=reject,
        n_jobs=n_jobs,
        device=device,
        progress=progress,
    )


def variants(view: str, mirror: str | bool) -> dict[str, dict[str, Any]]:
    """Parameters of each combination of view and mirroring that is to be tried.

    >>> variants("free", "auto")
    {'free': {'preprocess__facing': 'sequence', 'kernel__mirror': False},
     'free, mirrored': {'preprocess__facing': 'sequence', 'kernel__mirror': True},
     'free, partly mirrored': {'preprocess__facing': 'sequence', 'kernel__mirror': 'partly'}}
    """
    views = list(VIEWS) if view == "auto" else [view]
    sides = [False, True, "partly"] if mirror == "auto" else [mirror]
    told = {
        False: "",
        True: ", mirrored",
        "partly": ", partly mirrored",
        "bodies": ", either order",
    }
    return {
        name + told[side]: {**VIEWS[name], "kernel__mirror": side}
        for name in views
        for side in sides
    }


def _search(preset: str, view: str, mirror: str | bool) -> Search:
    chosen = variants(view, mirror)
    fixed = [name for name in chosen if view == "auto" and name.startswith("fixed")]
    factors = (1 / 3, 1, 3) if preset == "auto" else (1,)
    return Search(
        sums="leave-out" if preset == "auto" else "all",
        variants=chosen,
        required_gain=dict.fromkeys(fixed, _FIXED_VIEW_MUST_GAIN),
        scout={"kernel__order": 2},
        # between 1 and 100, C changes accuracy less than a choice on few subjects would
        Cs=(STANDARD_C,),
        penalties=[STANDARD_PENALTY * factor for factor in factors],
        average=10 if preset == "auto" else 1,
    )


def _paper_sck() -> Branch:
    """SCK as printed: σ₂ 0.6, σ₃ 0.5, Z₂ 5, Z₃ 6, γ 0.36; hip-centred, equal bones."""
    return Branch(Preprocess(), SCK(joint_weight=0.3, entries="upper"), CenterNormalize())


def _paper_dck() -> Branch:
    """DCK as printed: set E, Z₂' 5, Z₃' 6, γ 0.85, raw coordinates; the widths are not printed."""
    from kerneton.kernels.dck import DCK

    kernel = DCK(joints="E", sigma_joint=0.3, sigma_time=0.25, sigma_span=3.0)
    return Branch(Preprocess(center=False, bones=None), kernel, CenterNormalize())


def _exact_sck() -> Branch:
    """SCK without linearisation, with the parameters of `_paper_sck`."""
    from kerneton.kernels.exact_features import ExactSCK

    return Branch(Preprocess(), ExactSCK(joint_weight=0.3), CenterNormalize())


def _exact_dck() -> Branch:
    """DCK without linearisation, with the parameters of `_paper_dck`."""
    from kerneton.kernels.exact_features import ExactDCK

    kernel = ExactDCK(joints="E", sigma_joint=0.3, sigma_time=0.25, sigma_span=3.0)
    return Branch(Preprocess(center=False, bones=None), kernel, CenterNormalize())
