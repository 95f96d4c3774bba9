"""Text of joint rows: how many joints a frame has is never guessed, names in the rows are read,
missing rows are located.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from samples import motion

from kerneton.data.layouts import LAYOUTS, Layout
from kerneton.exceptions import FormatError
from kerneton.files import readers
from kerneton.files.readers._frame_size import frame_size

NAMES = [
    "HEAD",
    "NECK",
    "TORSO",
    *(f"{s}_{p}" for s in ("LEFT", "RIGHT") for p in ("ELBOW", "HAND")),
]


def text(joints, *, before="", after="", names=None, frame=""):
    """Rows of joints; ``before`` may contain {t}, ``frame`` stands above each frame."""
    out = []
    for t, pose in enumerate(joints):
        out += [frame.format(t=t)] * bool(frame)
        for j, row in enumerate(pose):
            name = f"{names[j]} " if names else ""
            out.append(before.format(t=t) + name + " ".join(f"{v:.6f}" for v in row) + after)
    return "\n".join(out) + "\n"


@pytest.mark.parametrize("n", [15, 25])
def test_other_joints_are_not_read_as_those_of_msr(tmp_path, n):
    """40 frames of 15 joints are as many rows as 30 of MSR-Action3D."""
    path = tmp_path / "take.txt"
    path.write_text(text(motion(40, n), after=" 1"))
    with pytest.raises(
        FormatError, match=rf"apparently {n} joints in a frame; state which: .*layout='"
    ):
        readers.read(path)
    layout = {15: "openni15", 25: "kinect25"}[n]
    assert_allclose(readers.read(path, layout=layout)[0].joints, motion(40, n), atol=1e-6)
    path.write_text(text(np.ones((40, n, 3)), after=" 1"))  # nothing moves, so nothing can be told
    with pytest.raises(
        FormatError,
        match="one joint per row; state the joints of a frame, such as layout='openni15'",
    ):
        readers.read(path)


def test_layouts_whose_bones_keep_their_lengths_come_first(tmp_path):
    path = tmp_path / "take.txt"
    rng = np.random.default_rng(0)
    layout = LAYOUTS["openni15"]
    poses = np.zeros((40, 15, 3))
    for parent, child in layout.bones:  # parents come first
        way = np.array([0.0, 0.3, 0.0]) + np.cumsum(rng.normal(scale=0.03, size=(40, 3)), axis=0)
        poses[:, child] = poses[:, parent] + 0.3 * way / np.linalg.norm(way, axis=1, keepdims=True)
    path.write_text(text(poses + [0.1, 0.2, 2]))
    said = (
        r"state which: layout='florence15' or layout='openni15' \(their bones keep their lengths best\), less likely "
        r"layout=.* or layout=.* \(then look at it with kerneton show\), or the name of every joint"
    )
    with pytest.raises(FormatError, match=said):
        readers.read(path)


def test_a_layout_that_the_motion_contradicts_is_refused(tmp_path):
    """40 frames of 15 joints are as many rows as 30 of 20: nothing else shows the wrong layout."""
    path = tmp_path / "take.txt"
    path.write_text(text(motion(40, 15)))
    told = r"take.txt: not the 20 joints of layout 'kinect20': 600 rows of x y z, .*apparently 15 joints in a frame; state which: .*openni15"
    with pytest.raises(FormatError, match=told):
        readers.read(path, layout="kinect20")
    path.write_text(text(motion(40, 15)[:, [*range(15), *range(15)]]))  # two bodies in one place
    assert readers.read(path, layout="openni15+openni15")[0].n_frames == 40
    path.write_text(text(motion(40, 1)))
    assert readers.read(path, layout=Layout("tip", ["hand"]))[0].n_frames == 40


def test_rows_of_msr_need_no_layout(tmp_path):
    (tmp_path / "take.txt").write_text(text(motion(9, 20), after=" 1"))
    assert readers.read(tmp_path / "take.txt")[0].layout.name == "msr20"
    name = tmp_path / "a01_s02_e03_skeleton3D.txt"
    name.write_text("0.1 0.2 0.3 1\n" * 40)
    assert readers.read(name)[0].n_frames == 2


def test_motion_shows_the_joints_of_a_frame():
    lost = motion(30, 17)
    lost[3:6] = 0
    lost[9, 4] = np.nan
    assert frame_size(lost.reshape(-1, 3)) == 17
    assert frame_size(motion(2, 12).reshape(-1, 3)) == 12
    assert frame_size(motion(1, 12).reshape(-1, 3)) is None
    assert frame_size(np.zeros((60, 3))) is None
    assert frame_size(np.random.default_rng(0).normal(size=(300, 3))) is None


def test_every_file_of_msr_is_recognised(data_home):
    files = sorted((data_home / "msr_action3d" / "MSRAction3DSkeletonReal3D").glob("*.txt"))[::20]
    assert {frame_size(np.loadtxt(file)[:, :3]) for file in files} == {20}


@pytest.mark.parametrize(
    "form",
    [
        {"frame": "{t}"},
        {"frame": "{t} 15"},
        {"frame": "Frame: {t}"},
        {"frame": "# frame {t}"},
        {"frame": "\n"},
        {"before": "{t} "},
        {"before": "0.{t:03} "},
    ],
)
@pytest.mark.parametrize("header", ["", "x y z\n", "X, Y, Z\n"])
def test_lines_and_numbers_of_frames(tmp_path, form, header):
    path = tmp_path / "take.txt"
    path.write_text(header + text(motion(8, 15), **form))
    assert_allclose(readers.read(path, layout="florence15")[0].joints, motion(8, 15), atol=1e-6)
    with pytest.raises(FormatError, match="apparently 15 joints"):
        readers.read(path)


@pytest.mark.parametrize("ending", ["txt", "csv"])
@pytest.mark.parametrize("form", [{}, {"before": "{t} "}, {"frame": "FRAME {t}"}, {"after": " 1"}])
@pytest.mark.parametrize("header", ["", "joint x y z\n"])
def test_names_in_the_rows_are_read(tmp_path, form, header, ending):
    path = tmp_path / f"take.{ending}"
    path.write_text(header + text(motion(6, 7), names=NAMES, **form))
    (take,) = readers.read(path)
    assert take.layout.joints[:4] == ("head", "neck", "spine", "left_elbow")
    assert_allclose(take.joints, motion(6, 7), atol=1e-6)
    (two,) = readers.read(path, layout="right_hand,HEAD")
    assert_allclose(two.joints[:, 1], motion(6, 7)[:, 0], atol=1e-6)


def test_a_named_row_that_lacks_is_a_missing_joint(tmp_path):
    lines = text(motion(4, 7), names=NAMES).splitlines()
    (tmp_path / "take.txt").write_text(
        "\n".join(lines[:8] + lines[9:])
    )  # the neck of the second frame
    (take,) = readers.read(tmp_path / "take.txt")
    assert take.n_frames == 4
    assert np.argwhere(np.isnan(take.joints[..., 0])).tolist() == [[1, 1]]
    (tmp_path / "take.txt").write_text("\n".join([*lines[:6], "1 2 3", *lines[6:]]))
    with pytest.raises(FormatError, match="line 7: this row has no name before its numbers"):
        readers.read(tmp_path / "take.txt")


def test_a_missing_row_is_located(tmp_path):
    path, rows = tmp_path / "take.txt", text(motion(40, 15)).splitlines()
    path.write_text("\n".join(rows[:200] + rows[201:]))
    told = r"599 rows are not a multiple of the 15 joints of layout 'openni15'; a row .* near line (20\d|19\d)$"
    with pytest.raises(FormatError, match=told):
        readers.read(path, layout="openni15")
    path.write_text("\n".join(rows[:-1]))  # the last: nothing is shifted
    with pytest.raises(
        FormatError, match=r"of the 15 joints of layout 'openni15'; the last frame has 14$"
    ):
        readers.read(path, layout="openni15")
    fast = motion(40, 15)
    fast[20:] += 0.5  # a fast movement
    fast[25, ::2] = 0  # and lost joints shift nothing either
    path.write_text("\n".join(text(fast).splitlines()[:-1]))
    with pytest.raises(
        FormatError, match=r"of the 15 joints of layout 'openni15'; the last frame has 14$"
    ):
        readers.read(path, layout="openni15")
    path.write_text("\n".join(["1 2 3"] * 599))  # nothing moves
    with pytest.raises(
        FormatError, match=r"599 rows are not a multiple of the 25 joints of layout 'kinect25'$"
    ):
        readers.read(path, layout="kinect25")
    lines = text(motion(40, 15), frame="{t}").splitlines()
    path.write_text("\n".join(lines[:40] + lines[41:]))
    with pytest.raises(FormatError, match=r"; the frame in lines 34 to 47 has 14$"):
        readers.read(path, layout="openni15")
    path.write_text(
        "\n".join([*lines[:40], *lines[41:90], lines[90], *lines[90:]])
    )  # one less and one more
    with pytest.raises(FormatError, match=r"; the frame in lines 34 to 47 has 14$"):
        readers.read(path, layout="openni15")
    path.write_text("\n".join(lines))
    with pytest.raises(
        FormatError, match="the frames have 15 rows each, which are not the 20 joints"
    ):
        readers.read(path, layout="kinect20")


@pytest.mark.parametrize("ending", ["txt", "csv"])
def test_a_header_may_name_the_column_of_frames(tmp_path, ending):
    path = tmp_path / f"take.{ending}"
    path.write_text("frame x y z\n" + text(motion(8, 15), before="{t} "))
    assert_allclose(readers.read(path, layout="florence15")[0].joints, motion(8, 15), atol=1e-6)
