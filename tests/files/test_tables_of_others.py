"""Tables as spreadsheets, cameras and other programs write them: units in headers, rotations,
dates, two header rows.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kerneton.exceptions import FormatError
from kerneton.files import readers
from kerneton.files.readers._people import say
from kerneton.video import models
from kerneton.video.estimator import PoseOptions

NETWORKS = not set(PoseOptions().models) - set(models.found_models())  # of poses in films


def read_one(tmp_path, content, name="take.csv", **options):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    (take,) = readers.read(path, **options)
    return take


@pytest.mark.parametrize(
    "header", ["head_x (mm)", "head_x [m]", "head_x_mm", "head x(px)", "Head.X (Meters)"]
)
def test_units_in_headers(tmp_path, header):
    columns = [
        header,
        header.replace("x", "y", 1).replace("X", "Y", 1),
        "left_hand_x",
        "left_hand_y",
    ]
    take = read_one(tmp_path, ",".join(columns).replace("pyx", "px") + "\n1,2,3,4\n")
    assert take.layout.joints[0] == "head"
    assert_array_equal(take.joints[0, 0], [1, 2, 0])


@pytest.mark.parametrize(
    "pattern", ["{}_rot{}", "{}Rotation{}", "{}.rotation.{}", "{}_velocity_{}", "{} Orientation {}"]
)
def test_rotations_and_velocities_are_no_joints(tmp_path, pattern):
    header = [f"head_{c}" for c in "xyz"] + [pattern.format("head", c) for c in "XYZ"]
    header += [f"navel_{c}" for c in "xyz"]
    take = read_one(tmp_path, ",".join(header) + "\n1,2,3,10,20,30,4,5,6\n")
    assert take.layout.joints == ("head", "navel")
    assert_array_equal(take.joints[0], [[1, 2, 3], [4, 5, 6]])


@pytest.mark.parametrize(
    "time",
    [
        "2024-01-01 23:59:{:06.3f}",
        "2024-01-01T23:59:{:06.3f}Z",
        "2024-01-01T23:59:{:06.3f}+02:00",
        "9:15:{:06.3f}",
    ],
)
def test_dates_and_clock_times(tmp_path, time):
    rows = [f"{time.format(frame / 30)},1,2,3" for frame in range(20)]
    assert read_one(tmp_path, "\n".join(["timestamp,head_x,head_y,head_z", *rows])).fps == 30
    with pytest.raises(FormatError, match="line 2, column 1: no such date as"):
        read_one(tmp_path, "time,head_x,head_y,head_z\n2024-13-01 10:00:00,1,2,3\n")


def test_times_before_the_joints_of_a_table_without_header(tmp_path):
    for step, fps in ((0.04, 25), (1, None)):
        rows = [
            f"{frame * step:g}{'.00' * (frame == 0 and step < 1)},1,2,3,4,5,6" for frame in range(9)
        ]
        assert read_one(tmp_path, "\n".join(rows), layout="head,neck").fps == fps


@pytest.mark.parametrize(
    "word", ["#N/A", "#VALUE!", "#DIV/0!", "-nan(ind)", "1.#QNAN", "-1.#IND", "?", "--", "missing"]
)
def test_words_of_spreadsheets_and_c_for_missing_values(tmp_path, word):
    take = read_one(tmp_path, f"head_x,head_y,head_z\n1,2,3\n{word},2,3\n")
    assert_array_equal(np.isnan(take.joints).all(axis=(1, 2)), [False, True])


def test_joints_at_the_origin_in_some_frames_are_missing(tmp_path):
    rows = [
        "root_x,root_y,root_z,left_hand_x,left_hand_y,left_hand_z",
        "0,0,0,1,2,3",
        "0,0,0,0,0,0",
        "0,0,0,1,2,4",
    ]
    take = read_one(tmp_path, "\n".join(rows))
    assert_array_equal(take.confidence, [[1, 1], [0, 0], [1, 1]])
    rows = [
        "head_x,head_y,head_z,left_hand_x,left_hand_y,left_hand_z",
        "0,1,0,1,2,3",
        "0,1,0,0,0,0",
    ]
    assert_array_equal(read_one(tmp_path, "\n".join(rows)).confidence, [[1, 1], [1, 0]])
    rows[0] = rows[0].replace("left_hand_z", "left_hand_z,head_confidence")
    stated = read_one(tmp_path, "\n".join([rows[0], *(f"{row},1" for row in rows[1:])]))
    assert_array_equal(stated.confidence, [[1, 1], [1, 1]])


def test_the_separator_line_of_excel(tmp_path):
    take = read_one(tmp_path, "sep=;\nhead_x;head_y;head_z\n1,5;2;3\n")
    assert_array_equal(take.joints[0, 0], [1.5, 2, 3])
    assert readers.detect_format(tmp_path / "take.csv") == "csv_table"


def test_two_header_rows_of_pandas(tmp_path):
    take = read_one(
        tmp_path, ",head,head,head,neck,,\nframe,x,y,z,x,y,z\n0,1,2,3,4,5,6\n1,1,2,3,4,5,7\n"
    )
    assert take.layout.joints == ("head", "neck")
    assert_array_equal(take.joints[1], [[1, 2, 3], [4, 5, 7]])


def test_three_header_rows_of_deeplabcut(tmp_path):
    content = (
        "scorer,DLC_mouse,DLC_mouse,DLC_mouse,DLC_mouse,DLC_mouse,DLC_mouse\n"
        "bodyparts,nose,nose,nose,tail_base,tail_base,tail_base\n"
        "coords,x,y,likelihood,x,y,likelihood\n"
        "0,10,20,0.9,30,40,0.2\n1,11,20,0.9,30,41,1.0\n"
    )
    take = read_one(tmp_path, content)
    assert take.layout.joints == ("nose", "tail_base")
    assert_array_equal(take.joints[1], [[11, 20, 0], [30, 41, 0]])
    assert_allclose(take.confidence, [[0.9, 0.2], [0.9, 1.0]])


def test_other_words_before_the_numbers_are_still_an_error_of_the_first_line(tmp_path):
    with pytest.raises(FormatError, match=r"take\.csv, line 1: no columns like left_wrist_x"):
        read_one(tmp_path, "my,table\nof,things\n1,2\n")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_names_in_other_alphabets(tmp_path, encoding):
    header = "label,Tête x,Tête y,Tête z,Épaule_gauche_x,Épaule_gauche_y,Épaule_gauche_z"
    take = read_one(tmp_path, f"{header}\ncafé,1,2,3,4,5,6\n".encode(encoding))
    assert take.layout.joints == ("tête", "épaule_gauche")
    assert take.label == "café"


def test_names_in_chinese(tmp_path):
    take = read_one(tmp_path, "头_x,头_y,头_z,左手_x,左手_y,左手_z\n1,2,3,4,5,6\n")
    assert take.layout.joints == ("头", "左手")


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.csv", b"", "an empty file"),
        ("a.xlsx", b"PK\x03\x04" + b"\0" * 60, "save the sheet as CSV"),
        ("a.zip", b"PK\x03\x04" + b"\0" * 60, "damaged archive"),
        ("a.mat", b"MATLAB 5.0 MAT-file" + b" " * 100, "damaged"),
        ("a.fbx", b"Kaydara FBX Binary  \0" + b"\0" * 60, "export it as BVH"),
        pytest.param(
            "a.mp4",
            b"\0\0\0\x20ftypisom" + b"\0" * 100,
            "not a film that can be read",
            marks=pytest.mark.skipif(not NETWORKS, reason="kerneton pose --get was not run"),
        ),
        (
            "a.json",
            b'{"frames": []}',
            "known formats are film, npz, .*of JSON files, those of OpenPose",
        ),
        ("a.bin", bytes(range(100)), "unknown format; known formats are film, npz"),
    ],
)
def test_files_that_are_no_recordings_say_what_to_do(tmp_path, name, content, says):
    with pytest.raises(FormatError, match=rf"{name}: .*{says}"):
        read_one(tmp_path, content, name)


@pytest.mark.parametrize(
    "names",
    [
        *(
            "{j}_p{a}",
            "{j}_t{a}",
            "{j}[{a}]",
            "{j} ({a})",
            "{j}.{a}",
            "{j} {a}",
            "{j}_Pos_{A}",
            "{j}_{a}_pos",
        ),
        *(
            "{j} Position {A}",
            "{j}Pos{A}",
            "pos_{a}_{j}",
            "pos{A}_{j}",
            "{j}{a}",
            "{j}_translate{A}",
            "{A}_{j}",
        ),
    ],
)
def test_columns_as_others_name_them(tmp_path, names):
    cells = [names.format(j=j, a=a, A=a.upper()) for j in ("head", "neck") for a in "xyz"]
    turned = [cell.replace("_p", "_r") for cell in cells] if "_p{a}" in names else []
    (tmp_path / "a.csv").write_text(
        ",".join(["frame", *cells, *turned]) + "\n" + "0,1,2,3,4,5,6" + ",0" * len(turned)
    )
    (take,) = readers.read(tmp_path / "a.csv")
    assert take.layout.joints == ("head", "neck")
    assert take.joints.tolist() == [[[1, 2, 3], [4, 5, 6]]]


@pytest.mark.parametrize(
    "names",
    ["pos_x,pos_y,pos_z", "Position X,Position Y,Position Z", "px,py,pz", "X (m),Y (m),Z (m)"],
)
def test_columns_of_long_tables_as_others_name_them(tmp_path, names):
    (tmp_path / "a.csv").write_text(f"frame,joint,{names}\n0,head,1,2,3\n0,neck,4,5,6\n")
    assert readers.read(tmp_path / "a.csv")[0].joints.tolist() == [[[1, 2, 3], [4, 5, 6]]]


def test_a_pixel_column_beside_a_coordinate_stays_out(tmp_path):
    (tmp_path / "a.csv").write_text("head_x,head_y,head_z,head_px,head_py\n1,2,3,400,500\n")
    assert readers.read(tmp_path / "a.csv")[0].joints.tolist() == [[[1, 2, 3]]]


def test_the_example_for_columns_that_are_not_known_works(tmp_path, capsys):
    from kerneton.cli import main

    (tmp_path / "a.csv").write_text("frame,Kopf quer,Kopf hoch,Kopf tief\n0,1,2,3\n")
    assert main(["info", str(tmp_path / "a.csv")]) == 1
    example = re.search(r"--columns '([^']+)'", capsys.readouterr().err)[1]
    assert main(["info", str(tmp_path / "a.csv"), "--columns", example]) == 0
    assert "head" in capsys.readouterr().out


def test_a_gap_in_the_times_is_told_and_kept(tmp_path):
    path = tmp_path / "gap.csv"
    times = [33 * i + (700 if i >= 50 else 0) for i in range(100)]
    rows = [f"{t},{'bow' if i >= 50 else 'wave'},{t / 1000},1.7,2" for i, t in enumerate(times)]
    path.write_text("time_ms,label,head_x,head_y,head_z\n" + "\n".join(rows))
    with pytest.warns(
        UserWarning, match=r"gap.csv: 0.7 s are missing after 1.62 s \(21 frames\): their joints"
    ):
        (take,) = readers.read(path)
    assert (take.n_frames, take.fps) == (121, 30.3)
    assert np.isnan(take.joints[50:71]).all()
    known = ~np.isnan(take.joints[:, 0, 0])
    assert_allclose(take.joints[known, 0, 0], np.arange(121)[known] * 0.033, atol=0.03)
    assert [(s.label, s.start, s.stop) for s in take.segments] == [
        ("wave", 0, 71),
        ("bow", 71, 121),
    ]
    path.write_text(
        "time_ms,head_x,head_y,head_z\n"
        + "\n".join(f"{33 * i + i // 9 * 33},0,1,2" for i in range(90))
    )
    assert readers.read(path)[0].n_frames == 90  # single frames that a sensor lost
    path.write_text(
        "time_ms,head_x,head_y,head_z\n"
        + "\n".join(f"{33 * i + i // 5 * 9000},0,1,2" for i in range(10))
    )
    with pytest.warns(UserWarning, match="too much to fill"):
        assert readers.read(path)[0].n_frames == 10


def test_a_gap_in_a_long_table(tmp_path):
    rows = [f"{t / 10},{j},{t},1,2" for t in (*range(9), *range(14, 20)) for j in ("head", "neck")]
    (tmp_path / "a.csv").write_text("time,joint,x,y,z\n" + "\n".join(rows))
    with pytest.warns(UserWarning, match=r"0.5 s are missing after 0.80 s \(5 frames\)"):
        (take,) = readers.read(tmp_path / "a.csv")
    assert take.n_frames == 20


@pytest.mark.parametrize("fill", ["-9999", "-999.0", "99999", "-1e6"])
@pytest.mark.parametrize("axes", ["xyz", "xy"])
def test_numbers_for_missing_values(tmp_path, fill, axes):
    header = [f"{joint}_{axis}" for joint in ("head", "neck") for axis in axes]
    rows = [["1"] * len(header), [fill] * len(axes) + ["-999"] + ["2"] * (len(axes) - 1)]
    with pytest.warns(
        UserWarning,
        match=r"take.csv: a joint is at .* in all coordinates 1 time: it counts as missing",
    ):
        take = read_one(tmp_path, "\n".join(map(",".join, [header, *rows])))
    assert_array_equal(np.isnan(take.joints).any(axis=2), [[False, False], [True, False]])
    assert take.joints[1, 1, 0] == -999


@pytest.mark.parametrize("form", ["{name} {xyz}", "{xyz}", "{xyz} 1"])
def test_numbers_for_missing_values_in_rows_of_joints(tmp_path, form):
    places = [["1 2 3", "4 5 6"], ["-9999 -9999 -9999", "4 5 7"], ["1 2 4", "-9999 5 7"]]
    rows = [
        form.format(name=name, xyz=xyz)
        for frame in places
        for name, xyz in zip("ab", frame, strict=True)
    ]
    with pytest.warns(UserWarning, match="a joint is at -9999 in all coordinates 1 time"):
        take = read_one(
            tmp_path, "\n".join(rows), "take.txt", layout=None if "name" in form else "head,neck"
        )
    assert_array_equal(
        np.isnan(take.joints).all(axis=2), [[False, False], [True, False], [False, False]]
    )
    assert take.confidence is None or take.confidence[1, 0] == 0


@pytest.mark.parametrize(
    ("n_joints", "flat", "said"), [(17, True, 1), (17, False, 0), (16, True, 0)]
)
def test_seventeen_numbered_points_of_a_picture_may_be_those_of_coco(
    tmp_path, caplog, n_joints, flat, said
):
    say.cache_clear()
    header = ",".join(
        f"{axis}{n}" for n in range(n_joints) for axis in ("x", "y", "c" if flat else "z")
    )
    row = ",".join(["3", "4", "0.5"] * n_joints)
    assert read_one(tmp_path, f"{header}\n{row}\n").layout is None
    message = "17 joints without names: layout='coco17' if these are COCO keypoints"
    assert caplog.messages == [message] * said
    assert read_one(tmp_path, f"{header}\n{row}\n", layout=None if n_joints < 17 else "coco17")
    assert len(caplog.messages) == said


@pytest.mark.parametrize(
    ("header", "names"),
    [
        (
            "Zeit (s);Hüfte Mitte;Kopf;Ellbogen links;Ellbogen rechts;Fuß links;Fuß rechts;Knöchel links;Knöchel rechts",
            "hip_center head left_elbow right_elbow left_foot right_foot left_ankle right_ankle",
        ),
        (
            "temps;tête;poignet gauche;poignet droit;genou gauche;genou droit;talon gauche;cou",
            "head left_wrist right_wrist left_knee right_knee left_heel neck",
        ),
        (
            "tiempo;cabeza;muñeca izquierda;muñeca derecha;rodilla izquierda;rodilla derecha;cuello;pelvis",
            "head left_wrist right_wrist left_knee right_knee neck hip_center",
        ),
        (
            "tempo_s;testa;polso_sx;polso_dx;ginocchio_sx;ginocchio_dx;collo;bacino",
            "head left_wrist right_wrist left_knee right_knee neck hip_center",
        ),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_names_in_other_languages(header, names, encoding, tmp_path):
    """As a spreadsheet writes them: semicolons, decimal commas, the encoding of Windows."""
    time, *joints = header.split(";")
    columns = [time, *(f"{joint} {axis}" for joint in joints for axis in "XYZ")]
    rows = [
        [f"{t / 25:.2f}".replace(".", ","), *(f"{k + t},5" for k in range(len(columns) - 1))]
        for t in range(5)
    ]
    text = "\n".join(";".join(row) for row in [columns, *rows])
    (tmp_path / "take.csv").write_bytes(text.encode(encoding))
    (found,) = readers.read(tmp_path / "take.csv")
    assert found.layout.joints == tuple(names.split())
    assert found.fps == 25
    assert found.layout.bones
