"""AMC and ASF against an independent computation."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from kerneton.data.layouts import HDM_31
from kerneton.exceptions import FormatError, MissingDataError
from kerneton.files import readers
from kerneton.files.readers import amc

CMU = {
    "root": ["lhipjoint", "rhipjoint", "lowerback"],
    **{f"{s}hipjoint": [f"{s}femur"] for s in "lr"},
    **{f"{s}femur": [f"{s}tibia"] for s in "lr"},
    **{f"{s}tibia": [f"{s}foot"] for s in "lr"},
    **{f"{s}foot": [f"{s}toes"] for s in "lr"},
    "lowerback": ["upperback"],
    "upperback": ["thorax"],
    "thorax": ["lowerneck", "lclavicle", "rclavicle"],
    "lowerneck": ["upperneck"],
    "upperneck": ["head"],
    **{f"{s}clavicle": [f"{s}humerus"] for s in "lr"},
    **{f"{s}humerus": [f"{s}radius"] for s in "lr"},
    **{f"{s}radius": [f"{s}wrist"] for s in "lr"},
    **{f"{s}wrist": [f"{s}hand", f"{s}thumb"] for s in "lr"},
    **{f"{s}hand": [f"{s}fingers"] for s in "lr"},
}


def depth_first(tree, name="root"):
    return [name] + [k for child in tree.get(name, []) for k in depth_first(tree, child)]


class Body:
    """A random skeleton and motion, as files and as positions worked out with SciPy."""

    def __init__(self, seed, tree=CMU, *, degrees=True, length=0.45, frames=4, orders=("XYZ",)):
        rng = np.random.default_rng(seed)
        self.tree, self.degrees, self.length = tree, degrees, length
        self.names = depth_first(tree)
        orders = itertools.cycle(orders)
        dofs = itertools.cycle(
            [c for n in range(4) for c in itertools.permutations(["rx", "ry", "rz"], n)]
        )
        self.bones = {}
        for name in self.names[1:]:
            direction = rng.normal(size=3)
            self.bones[name] = {
                "direction": direction / np.linalg.norm(direction),
                "length": rng.uniform(0.5, 3),
                "axis": rng.uniform(-180, 180, size=3),
                "order": next(orders),
                "dof": next(dofs),
            }
        self.root_order = next(orders)
        self.values = [
            {
                "root": rng.uniform(-90, 90, size=6),
                **{n: rng.uniform(-90, 90, len(b["dof"])) for n, b in self.bones.items()},
            }
            for _ in range(frames)
        ]

    def angle(self, value):
        return value if self.degrees else np.deg2rad(value)

    def asf(self):
        lines = ["# made for a test", ":version 1.10", ":name test", ":units", "  mass 1.0"]
        lines += [
            f"  length {self.length}",
            f"  angle {'deg' if self.degrees else 'rad'}",
            ":documentation",
            "   free text",
        ]
        lines += [
            ":root",
            "  order TX TY TZ RX RY RZ",
            f"  axis {self.root_order}",
            "  position 0 0 0",
            "  orientation 0 0 0",
        ]
        lines.append(":bonedata")
        for i, (name, bone) in enumerate(self.bones.items()):
            axis = " ".join(repr(float(v)) for v in self.angle(bone["axis"]))
            lines += ["  begin", f"    id {i + 1}", f"    name {name}"]
            lines += [
                f"    direction {' '.join(repr(float(v)) for v in bone['direction'])}",
                f"    length {bone['length']!r}",
            ]
            lines += [f"    axis {axis} {bone['order']}"]
            if bone["dof"]:
                lines += [
                    f"    dof {' '.join(bone['dof'])}",
                    "    limits (-90 90)",
                    *["           (-90 90)"] * 2,
                ]
            lines.append("  end")
        lines += [
            ":hierarchy",
            "  begin",
            *(f"    {p} {' '.join(c)}" for p, c in self.tree.items()),
            "  end",
        ]
        return "\n".join(lines) + "\n"

    def amc(self):
        lines = [
            "#!OML:ASF made for a test",
            ":FULLY-SPECIFIED",
            ":DEGREES" if self.degrees else ":RADIANS",
        ]
        for t, frame in enumerate(self.values):
            lines.append(str(t + 1))
            for name, values in frame.items():
                row = (
                    [*values[:3], *self.angle(values[3:])] if name == "root" else self.angle(values)
                )
                if len(row):
                    lines.append(f"{name} {' '.join(repr(float(v)) for v in row)}")
        return "\n".join(lines) + "\n"

    def positions(self):
        frames = []
        for frame in self.values:
            turn, place = {}, {}
            root = frame["root"]
            turns = dict(zip("xyz", root[3:], strict=True))
            order = self.root_order.lower()
            turn["root"] = Rotation.from_euler(order, [turns[a] for a in order], degrees=True)
            place["root"] = root[:3]
            parents = {
                child: parent for parent, children in self.tree.items() for child in children
            }
            for name in self.names[1:]:
                bone, order = self.bones[name], self.bones[name]["order"].lower()
                given = {d[1]: v for d, v in zip(bone["dof"], frame[name], strict=True)}
                axis = Rotation.from_euler(
                    order, [bone["axis"]["xyz".index(a)] for a in order], degrees=True
                )
                move = Rotation.from_euler(order, [given.get(a, 0.0) for a in order], degrees=True)
                turn[name] = turn[parents[name]] * axis * move * axis.inv()
                place[name] = place[parents[name]] + turn[name].apply(
                    bone["length"] * bone["direction"]
                )
            frames.append([place[name] for name in self.names])
        return np.array(frames)

    def write(self, tmp_path, asf="07.asf", name="07_02.amc"):
        (tmp_path / asf).write_text(self.asf())
        (tmp_path / name).write_text(self.amc())
        return tmp_path / name


ORDERS = ["".join(p) for p in itertools.permutations("XYZ")]


@pytest.mark.parametrize("degrees", [True, False])
@pytest.mark.parametrize("orders", [["XYZ"], ORDERS])
def test_forward_kinematics(tmp_path, degrees, orders):
    for seed in range(4):
        body = Body(
            seed,
            degrees=degrees,
            orders=orders[seed % len(orders) :] + orders[: seed % len(orders)],
        )
        (recording,) = amc.read(body.write(tmp_path))
        assert_allclose(recording.joints, body.positions() * 0.0254 / 0.45, atol=1e-6, rtol=0)


def test_cmu_names_units_and_layout(tmp_path):
    body = Body(0)
    (recording,) = readers.read(body.write(tmp_path))
    assert recording.layout is HDM_31
    assert recording.name == "07_02"
    assert recording.fps is None
    assert_allclose(recording.joints, body.positions() * 0.0254 / 0.45, atol=1e-9)


@pytest.mark.parametrize(
    ("size", "unit"), [(0.3, 1.0), (5.0, 0.0254), (15.0, 0.01), (200.0, 0.001)]
)
def test_a_unit_of_one_is_guessed_from_the_size(tmp_path, size, unit):
    body = Body(0, length=1.0)
    for bone in body.bones.values():
        bone["length"] *= size
    (recording,) = amc.read(body.write(tmp_path))
    assert_allclose(recording.joints, body.positions() * unit, rtol=1e-9)


def test_other_skeletons_get_a_layout_of_their_own(tmp_path):
    body = Body(1, tree={"root": ["tail", "lfemur", "rfemur"], "lfemur": ["ltibia"]})
    (recording,) = amc.read(body.write(tmp_path))
    assert recording.layout.joints == (
        "hip_center",
        "tail",
        "left_knee",
        "left_ankle",
        "right_knee",
    )
    assert recording.layout.bones == ((0, 1), (0, 2), (2, 3), (0, 4))


def test_frame_rate_where_it_is_given(tmp_path):
    path = Body(0).write(tmp_path)
    path.write_text(path.read_text().replace(":DEGREES", ":DEGREES\n:SAMPLES-PER-SECOND 120"))
    assert amc.read(path)[0].fps == 120


def test_bones_left_out_of_a_frame_are_missing_and_of_all_frames_rest(tmp_path):
    body = Body(0)
    path = body.write(tmp_path)
    lines = path.read_text().split("\n")
    humerus = [i for i, line in enumerate(lines) if line.startswith("lhumerus ")]
    del lines[humerus[2]]
    path.write_text("\n".join(lines))
    (recording,) = amc.read(path)
    gone = ["left_elbow", "left_forearm", "left_wrist", "left_hand", "left_fingers", "left_thumb"]
    assert {
        HDM_31.joints[j] for j in np.flatnonzero(np.isnan(recording.joints[2]).any(axis=1))
    } == set(gone)
    assert not np.isnan(recording.joints[[0, 1, 3]]).any()
    for frame in body.values:
        frame["lhumerus"] = 0 * frame["lhumerus"]
    path.write_text("\n".join(line for line in lines if not line.startswith("lhumerus ")))
    assert_allclose(amc.read(path)[0].joints, body.positions() * 0.0254 / 0.45, atol=1e-6)


def test_which_skeleton(tmp_path):
    body = Body(0)
    path = body.write(tmp_path, asf="only.ASF")
    assert amc.find_skeleton(path).name == "only.ASF"
    (tmp_path / "07.asf").write_text(body.asf())
    (tmp_path / "0.asf").write_text(body.asf())
    assert amc.find_skeleton(path).name == "07.asf"
    for name in ("07.asf", "0.asf"):
        (tmp_path / name).rename(tmp_path / f"x{name}")
    with pytest.raises(MissingDataError, match=r"several: only\.ASF, x0\.asf, x07\.asf"):
        amc.read(path)
    for file in tmp_path.iterdir():
        if file.suffix.lower() == ".asf":
            file.unlink()
    with pytest.raises(
        MissingDataError,
        match=r"needs its ASF skeleton in the same folder, 07_02\.asf or the only one",
    ):
        amc.read(path)
    with pytest.raises(MissingDataError, match="no such file"):
        amc.read(tmp_path / "nowhere" / "a.amc")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "lfemur ",
            "lfemoral ",
            "expected a frame number or a bone of the skeleton, got 'lfemoral'",
        ),
        ("\nroot ", "\nroot 1 ", "bone 'root' has 6 degrees of freedom, got 7 numbers"),
        ("\nroot ", "\nroot x", "line 5: expected a number, got 'x"),
        ("\n1\n", "\n", "line 4: expected a frame number"),
    ],
)
def test_errors_in_the_motion(tmp_path, old, new, message):
    path = Body(0).write(tmp_path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(FormatError, match=message):
        amc.read(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (":hierarchy", ":tree", "lacks :hierarchy"),
        ("angle deg", "angle gon", "expected the unit of angles, deg or rad, got 'gon'"),
        ("length 0.45", "length 0", "a unit of length of 0"),
        ("order TX", "order TW", "expected an order such as TX TY TZ RX RY RZ"),
        ("axis XYZ", "axis XXZ", "expected an order of axes such as XYZ, got 'XXZ'"),
        ("position 0 0 0", "position 0 0", "line 13: expected three numbers, got 2"),
        ("dof rx", "dof l", "expected rotations rx, ry, rz, got 'l"),
        ("name lfemur", "name rfemur", "two bones have the same name"),
        ("root lhipjoint", "root ltail", "no bone is named 'ltail'"),
        ("lfoot ltoes", "lfoot ltoes rtoes", "bone 'rtoes' has two parents"),
        ("  begin\n    id 1\n", "", "expected begin, got 'name'"),
        ("    name lfemur\n", "", "has no name"),
    ],
)
def test_errors_in_the_skeleton(tmp_path, old, new, message):
    body = Body(0)
    path = body.write(tmp_path)
    text = body.asf()
    assert old in text
    (tmp_path / "07.asf").write_text(text.replace(old, new, 1))
    with pytest.raises(FormatError, match=message):
        amc.read(path)


def test_frames_and_frame_numbers_alone(tmp_path):
    path = Body(0).write(tmp_path)
    path.write_text(":FULLY-SPECIFIED\n:DEGREES\n")
    with pytest.raises(FormatError, match="no line with the number of a frame"):
        amc.read(path)
    path.write_text(":FULLY-SPECIFIED\n:DEGREES\n" + "1\n" * 400000)
    with pytest.raises(FormatError, match=r"need .* MiB"):
        amc.read(path)


def test_sniff_is_by_content():
    assert amc.sniff(b"#!OML:ASF x\r\n:FULLY-SPECIFIED\r\n:DEGREES\r\n1\r\n", Path("a.txt"))
    assert amc.sniff(b"# made by hand\n:version 1.10\n:root\n", Path("a.asf"))
    assert not amc.sniff(b"", Path("a.amc"))
