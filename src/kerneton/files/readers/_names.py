"""Translation of joint names to the package's vocabulary, and layouts from names: a known one, or a
new one with its bones.

Capture suites name a joint after itself (``LeftElbow``), after the bone that starts there
(``LeftForeArm``), or, in ASF files, after the bone that ends there (``lhumerus``). The tables below
list, for each of our names, what it is called elsewhere. The first spelling that the file holds is
taken, so ``LeftShoulder`` is the collar bone where ``LeftArm`` stands beside it (MotionBuilder,
Mixamo) and the shoulder where it does not. Sides are recognised as ``Left``, ``L``, ``_l``, ``.L``
before or after the name, and as a single leading letter where the file also holds the other side
(``lfemur`` with ``rfemur``) or the rest is a known marker or bone (``LKNE``). Hands and feet are
kept where ``elbow`` and ``knee`` stand beside them; beside ``ForeArm`` and ``Leg`` they are wrists
and ankles. Prefixes of rigs (``mixamorig:``, ``Bip01``), and words that all names begin with
(``XN_SKEL_``), are dropped. Other names are kept.
"""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kerneton.data.layouts import BY_JOINTS, VOCABULARY, Layout, layout_named
from kerneton.data.sequence import SkeletonSequence

Spellings = Mapping[str, tuple[str, ...]]
# Each row: our name, then its spellings in other programs, the most specific first.
SIDED = {
    "shoulder": (
        "arm",
        "uparm",
        "upperarm",
        "humerus",
        "shoulder",
        "shoulderjoint",
        "sho",
        "shldr",
        "acromion",
    ),
    "collar": ("shoulder", "collar", "clavicle", "collarbone", "clav", "thorax"),
    "elbow": ("elbow", "forearm", "lowarm", "lowerarm", "radius", "elb", "elbowjoint"),
    "wrist": ("wrist", "hand", "wristjoint", "wri"),
    "hand": ("hand",),
    "hand_tip": ("handtip",),
    "hip": ("upleg", "upperleg", "thigh", "femur", "hip", "hipjoint"),
    "knee": ("knee", "leg", "lowleg", "lowerleg", "shin", "calf", "tibia", "kne", "kneejoint"),
    "ankle": ("ankle", "foot", "ank", "anklejoint"),
    "foot": ("foot", "toebase", "toe", "toes", "ball"),
}
CENTRAL = {
    "hip_center": (
        "hips",
        "pelvis",
        "hip",
        "midhip",
        "hipcenter",
        "hipscenter",
        "root",
        "bip1",
        "spinebase",
    ),
    "spine": ("spinemid", "spinemiddle", "spinenavel", "spinenaval"),
    "chest": ("spinechest",),
    "shoulder_center": ("spineshoulder", "thorax"),
    "neck": ("neck", "lowerneck", "neck1", "upperneck", "neckneck", "necknose"),
    "head": ("head", "headtop", "face"),
}
# Joints of the trunk from the pelvis up; their number decides which of ours they are.
TRUNK = ("lowerback", "abdomen", "belly", "torso", "spine", "spine1", "spine2", "spine3")

_LOWER = r"(?:[a-z]|[^\W\d_\x00-\x7f])"  # letters of other alphabets count as lower case
_TOKEN = re.compile(rf"[A-Z]+(?!{_LOWER})|[A-Z]?{_LOWER}+|[0-9]+")
_SIDE = {"left": "left", "l": "left", "right": "right", "r": "right"}
_RIG = {"mixamorig", "bip", "valvebiped", "cc", "base", "def", "j", "c"}
_LETTERED = {  # Plug-in Gait markers and ASF bones, which are known with one letter for the side
    *("fhd", "bhd", "sho", "elb", "wra", "wrb", "fin", "asi", "psi", "kne", "ank", "hee", "toe"),
    *("clavicle", "humerus", "radius", "hipjoint", "femur", "tibia"),
}
_NAMED_AFTER = {"wrist": "elbow", "ankle": "knee"}
_OF_THE = re.compile(r"(\w+?)[ _]of[ _]the[ _](.+)", re.IGNORECASE)  # tip of the left hand
_OURS = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


def joint_names(
    raw: Sequence[str], *, ends: tuple[Spellings, Spellings] | None = None, paired: bool = False
) -> list[str]:
    """Names of a file's joints in the package's vocabulary, unique and in the same order.

    ``ends`` are other spellings, of sided and of central joints: ASF bones carry the name of the
    bone and the place of its far end. ``paired`` says that they are joints of two bodies, whatever
    they are called.

    >>> mixamo = ("Hips", "LeftShoulder", "LeftArm", "LeftForeArm")
    >>> joint_names([f"mixamorig:{name}" for name in mixamo])
    ['hip_center', 'left_collar', 'left_shoulder', 'left_elbow']
    >>> ends = {"knee": ("femur",)}, {"hip_center": ("root",)}
    >>> joint_names(["root", "lfemur", "rfemur", "Prop 1"], ends=ends)
    ['hip_center', 'left_knee', 'right_knee', 'prop1']
    """
    if not ends and VOCABULARY.issuperset(raw):
        return _unique(raw)
    from kerneton.files.readers._hands import both_hands, lettered_hand
    from kerneton.files.readers._languages import translated
    from kerneton.files.readers._people import two_bodies, without_prefix

    raw = translated(raw)
    if (bodies := two_bodies(raw, known=not paired)) is not None:
        return [
            f"{joint}_{n}"
            for n, body in enumerate(bodies, 1)
            for joint in joint_names(body, ends=ends)
        ]
    raw = raw if ends else without_prefix(raw, _known_words())
    if (hand := lettered_hand(raw)) is not None:
        return hand
    split = _sides([_tokens(name) for name in raw])
    if (hands := both_hands([(side, "_".join(_words(core))) for side, core in split])) is not None:
        return hands
    if any(name.startswith("left_") for name in raw) and not any(_foreign(name) for name in raw):
        return _unique(raw)  # the file already uses our names
    sided, central = ends or (SIDED, CENTRAL)
    known: dict[tuple[str, str], str] = {}
    for side in ("left", "right", ""):
        cores = {"".join(core) for where, core in split if where == side}
        for ours, spellings in (sided if side else central).items():
            taken = {s for where, s in known if where == side}
            if (
                _NAMED_AFTER.get(ours) in cores
            ):  # joints named after themselves: a hand is no wrist, a foot no ankle
                taken |= {"hand", "foot"}
            found = next((s for s in spellings if s in cores - taken), None)
            if found is not None:
                known[side, found] = f"{side}_{ours}" if side else ours
        if not side and not ends:
            known.update((("", raw), ours) for raw, ours in _trunk(cores))
    names = []
    for side, core in split:
        kept = "_".join([side, *_words(core)] if side else _words(core)) or "joint"
        names.append(known.get((side, "".join(core)), kept))
    return _unique(names)


@functools.cache
def _known_words() -> frozenset[str]:
    """Every name and spelling of a joint, in lower case and without anything between the words."""
    sided = itertools.chain(SIDED, *SIDED.values())
    words = [side + part for part in sided for side in ("left", "right", "l", "r")]
    every = (*words, *VOCABULARY, *CENTRAL, *itertools.chain(*CENTRAL.values()), *TRUNK)
    return frozenset(word.replace("_", "") for word in every)


def _foreign(name: str) -> bool:
    """Whether a name is not ours, but a spelling of one of ours, or not written like ours."""
    if name.endswith(("_left", "_right")) or "_of_the_" in name:
        return True
    side, _, part = name.partition("_")
    sided = side in ("left", "right") and bool(part)
    core = (part if sided else name).replace("_", "")
    spellings = itertools.chain(*(SIDED if sided else CENTRAL).values(), () if sided else TRUNK)
    return not _OURS.fullmatch(name) or (core in spellings and name not in VOCABULARY)


def _trunk(cores: set[str]) -> Iterator[tuple[str, str]]:
    found = [core for core in TRUNK if core in cores]
    if found == ["spine"] and cores & {
        "spinemid",
        "spinemiddle",
    }:  # NTU's list: the joint between the shoulders
        found, cores = [], cores | {"spineshoulder"}
        yield "spine", "shoulder_center"
    ours = ["spine"] if len(found) == 1 else ["spine_lower", "spine", "chest"]
    if len(found) == 2 and "chest" not in cores:
        ours = ["spine", "chest"]
    yield from zip(
        found, (name for name in ours if name not in cores or name in found), strict=False
    )


def _tokens(name: str) -> list[str]:
    name = unicodedata.normalize("NFC", name.rpartition(":")[2])
    name = _OF_THE.sub(r"\2 \1", name)
    tokens = [token.lower() for token in _TOKEN.findall(name)]
    while any(token.isalpha() for token in tokens[1:]) and (
        tokens[0] in _RIG or tokens[0].isdigit()
    ):
        tokens.pop(0)
    return [token.lstrip("0") or "0" if token.isdigit() else token for token in tokens]


def _sides(names: Sequence[list[str]]) -> list[tuple[str, list[str]]]:
    whole = {"".join(tokens) for tokens in names}
    split = []
    for tokens in names:
        joined = "".join(tokens)
        twin = {"l": "r", "r": "l"}.get(joined[:1], "") + joined[1:]
        if len(tokens) == 2 and tokens[0] in _SIDE and tokens[1].isdigit() and twin not in whole:
            split.append(("", tokens))  # L5 and L3 are vertebrae
        elif len(tokens) > 1 and tokens[0] in _SIDE:
            split.append((_SIDE[tokens[0]], tokens[1:]))
        elif len(tokens) > 1 and tokens[-1] in _SIDE and not _lettered(tokens, names):
            split.append((_SIDE[tokens[-1]], tokens[:-1]))
        elif joined.startswith(("left", "right")) and joined not in _SIDE:
            side = "left" if joined.startswith("left") else "right"
            split.append((side, [tokens[0].removeprefix(side), *tokens[1:]]))
        elif (
            joined[:1] in ("l", "r")
            and (twin in whole or joined[1:] in _LETTERED)
            and len(joined) > 1
        ):
            split.append((_SIDE[joined[0]], [tokens[0][1:], *tokens[1:]]))
        else:
            split.append(("", tokens))
    return split


def _lettered(tokens: list[str], names: Sequence[list[str]]) -> bool:
    """Whether the last letter of a name is a counter, as in FingerA to FingerT, not a side."""
    if len(tokens[-1]) > 1:
        return False
    last = {name[-1] for name in names if name[:-1] == tokens[:-1] and len(name[-1]) == 1}
    return bool(last - {"l", "r"})


def _words(tokens: Iterable[str]) -> list[str]:
    """Numbers stay with the word before them: spine1, not spine_1."""
    words: list[str] = []
    for token in tokens:
        if token.isdigit() and words and not words[-1][-1:].isdigit():
            words[-1] += token
        elif token:
            words.append(token)
    return words


def _unique(names: Iterable[str]) -> list[str]:
    """Number repeated names: toe, toe_2."""
    counts: Counter[str] = Counter()
    unique: dict[str, None] = {}
    for name in names:
        new = name
        while new in unique:
            counts[name] += 1
            new = f"{name}_{counts[name] + 1}"
        unique[new] = None
    return list(unique)


def named_layout(layout: str) -> Layout:
    """A layout by its name, two of them with + between for two bodies, or by its joints with commas
    between them.

    >>> named_layout("florence15").name, named_layout("Head,LeftHand,RightHand").joints
    ('florence15', ('head', 'left_wrist', 'right_wrist'))
    >>> named_layout("openni15+openni15").roots
    (2, 17)
    """
    if "," not in layout:
        return layout_named(layout)
    from kerneton.files.readers._people import stated_joints

    return layout_of_names("named", stated_joints(layout, VOCABULARY))


def layout_of_names(name: str, joints: Sequence[str], written: Sequence[str] = ()) -> Layout:
    """A known layout with these joints, or one whose bones follow from their names; ``written`` is
    how the file names them.

    >>> layout_of_names("table", ["head", "neck", "clip"]).bones
    ((1, 0),)
    """
    if (known := BY_JOINTS.get(tuple(joints))) is not None:
        return known
    from kerneton.files.readers._bones import other_layout

    layout = other_layout(name, joints)
    layout.written.update(zip(joints, written, strict=False))
    return layout


def unique_names(sequences: Sequence[SkeletonSequence]) -> list[str]:
    """A unique name per recording: repeated names are numbered.

    >>> unique_names([SkeletonSequence([[[0.0] * 3]], name=name) for name in ("a", "a", "", "a_2")])
    ['a', 'a_3', 'recording_3', 'a_2']
    """
    given = {sequence.name for sequence in sequences}
    count: Counter[str] = Counter()
    names: dict[str, None] = {}
    for i, sequence in enumerate(sequences, start=1):
        base = name = sequence.name or f"recording_{i}"
        while name in names or (name != sequence.name and name in given):
            count[base] += 1
            name = f"{base}_{count[base] + 1}"
        names[name] = None
    return list(names)
