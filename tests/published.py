"""Small files in the forms that other programs publish, with a person who bows: what readers must
understand.
"""

from __future__ import annotations

import base64
import io
import json
import struct
import tempfile
import zipfile
from pathlib import Path

import numpy as np

# A person who faces z, y up, in metres, with names of Plug-in Gait; the head nods through the
# frames.
MARKERS = {
    "LFHD": (0.07, 1.75, 0.1),
    "RFHD": (-0.07, 1.75, 0.1),
    "LSHO": (0.2, 1.45, 0),
    "RSHO": (-0.2, 1.45, 0),
    "LELB": (0.3, 1.15, 0),
    "RELB": (-0.3, 1.15, 0),
    "LKNE": (0.12, 0.5, 0.02),
    "RKNE": (-0.12, 0.5, 0.02),
    "LHEE": (0.12, 0.06, -0.05),
    "RHEE": (-0.12, 0.06, -0.05),
    "LTOE": (0.12, 0.03, 0.15),
    "RTOE": (-0.12, 0.03, 0.15),
}
N_FRAMES = 5


def person(n_frames: int = N_FRAMES) -> np.ndarray:
    """(T, 12, 3) the markers; head and shoulders move forward and down."""
    points = np.repeat(np.array(list(MARKERS.values()))[None], n_frames, axis=0)
    for t in range(n_frames):
        points[t, :6] += [0, -0.01 * t, 0.03 * t]
    return points


def z_up(points: np.ndarray) -> np.ndarray:
    """The same with z up and the person facing -y."""
    x, y, z = np.moveaxis(points, -1, 0)
    return np.stack([x, -z, y], axis=-1)


def _row(values) -> str:
    return ",".join(f"{v:.6f}" for v in np.ravel(values))


def motive() -> bytes:
    """Motive 2: bones with rotations and positions, beside markers, of a skeleton in metres."""
    names = [f"ann:{name}" for name in MARKERS]
    kinds, labels, values, axes = [], [], [], []
    for name in names:
        kinds += ["Bone"] * 7
        labels += [name] * 7
        values += ["Rotation"] * 4 + ["Position"] * 3
        axes += ["X", "Y", "Z", "W", "X", "Y", "Z"]
    for name in ("ann:clip", "Unlabeled 1234"):
        kinds += ["Marker"] * 3
        labels += [name] * 3
        values += ["Position"] * 3
        axes += ["X", "Y", "Z"]
    lines = [
        "Format Version,1.23,Take Name,Take 1,Capture Frame Rate,120.000000,Export Frame Rate,120.000000,"
        "Rotation Type,Quaternion,Length Units,Meters,Coordinate Space,Global",
        "",
        *(",".join(["", word, *cells]) for word, cells in (("Type", kinds), ("Name", labels))),
        ",".join(["", "ID", *(["1"] * len(labels))]),
        ",".join(["", "", *values]),
        ",".join(["Frame", "Time (Seconds)", *axes]),
    ]
    for t, frame in enumerate(person()):
        cells = [_row([0, 0, 0, 1, *point]) for point in frame]
        lines.append(f"{t},{t / 120:.6f}," + ",".join(cells) + ",1,1,1,,,")
    return "\r\n".join(lines).encode()


def nexus() -> bytes:
    """Vicon Nexus: forces and then trajectories in millimetres with z up, one marker lost in a
    frame.
    """
    points = 1000 * z_up(person())
    lines = ["Devices", "1000", ",,Force,,", "Frame,Sub Frame,Fx,Fy,Fz", ",,N,N,N"]
    lines += [f"{t},0,1,2,3" for t in range(3)] + [""]
    lines += ["Trajectories", "100", ",," + ",,,".join(f"ann:{name}" for name in MARKERS) + ",,"]
    lines += ["Frame,Sub Frame," + ",".join("XYZ" * 12), ",," + ",".join(["mm"] * 36)]
    for t, frame in enumerate(points):
        cells = [_row(point) for point in frame]
        if t == 2:
            cells[-1] = ",,"
        lines.append(f"{t + 1},0," + ",".join(cells))
    return "\r\n".join([*lines, ""]).encode()


def qualisys(time: bool = True) -> bytes:
    """Qualisys Track Manager: millimetres, z up, with or without columns for frame and time."""
    header = {
        "NO_OF_FRAMES": N_FRAMES, "NO_OF_CAMERAS": 8, "NO_OF_MARKERS": 12, "FREQUENCY": 100,
        "NO_OF_ANALOG": 0, "ANALOG_FREQUENCY": 0, "DESCRIPTION": "--",
        "TIME_STAMP": "2024-01-01, 12:00:00\t1.0", "DATA_INCLUDED": "3D",
        "MARKER_NAMES": "\t".join(MARKERS),
    }  # fmt: skip
    lines = [f"{key}\t{value}" for key, value in header.items()]
    if time:
        lines.append("Frame\tTime\t" + "\t".join(f"{n} {axis}" for n in MARKERS for axis in "XYZ"))
    for t, frame in enumerate(1000 * z_up(person())):
        cells = [f"{v:.3f}" for v in frame.ravel()]
        lines.append("\t".join(([str(t + 1), f"{t / 100:.5f}"] if time else []) + cells))
    return "\r\n".join([*lines, ""]).encode()


def visual3d(kind: str = "TARGET") -> bytes:
    """Visual3D's text export of targets, in metres with z up."""
    names = [name for name in MARKERS for _ in "XYZ"]
    lines = ["\t" + "\t".join([word] * 36) for word in ("walk.c3d",)]
    lines += [
        "\t" + "\t".join(names),
        "\t" + "\t".join([kind] * 36),
        "\t" + "\t".join(["ORIGINAL"] * 36),
    ]
    lines.append("ITEM\t" + "\t".join("XYZ" * 12))
    for t, frame in enumerate(z_up(person())):
        lines.append("\t".join([str(t + 1), *(f"{v:.6f}" for v in frame.ravel())]))
    return "\r\n".join(lines).encode()


def body_kinematics() -> bytes:
    """OpenSim's Body Kinematics: positions and rotations of bodies in metres, y up."""
    lines = [
        "Positions",
        "version=1",
        f"nRows={N_FRAMES}",
        "nColumns=73",
        "inDegrees=yes",
        "",
        "endheader",
    ]
    lines.append(
        "\t".join(
            ["time", *(f"{n}_{a}" for n in MARKERS for a in ("X", "Y", "Z", "Ox", "Oy", "Oz"))]
        )
    )
    for t, frame in enumerate(person()):
        cells = [f"{v:.6f}" for point in frame for v in (*point, 10, 20, 30)]
        lines.append("\t".join([f"{t / 50:.4f}", *cells]))
    return "\n".join(lines).encode()


def vec3_sto() -> bytes:
    """OpenSim's table of vectors: three numbers a cell."""
    lines = [
        "DataRate=50",
        "DataType=Vec3",
        "version=3",
        "endheader",
        "\t".join(["time", *MARKERS]),
    ]
    lines += ["\t".join([f"{t / 50:.4f}", *map(_row, frame)]) for t, frame in enumerate(person())]
    return "\n".join(lines).encode()


def inverse_kinematics() -> bytes:
    """OpenSim's inverse kinematics: joint angles."""
    lines = ["Coordinates", "version=1", "inDegrees=yes", "endheader"]
    lines += ["time\tpelvis_tilt\tpelvis_tx\thip_flexion_r\tknee_angle_r"]
    return "\n".join([*lines, *(f"{t / 50}\t1\t2\t3\t4" for t in range(5))]).encode()


def named_points(n_frames: int = N_FRAMES) -> list[dict[str, list[float]]]:
    """Joints by name in each frame."""
    return [dict(zip(MARKERS, frame.round(5).tolist(), strict=True)) for frame in person(n_frames)]


AZURE = [
    "PELVIS",
    "SPINE_NAVEL",
    "SPINE_CHEST",
    "NECK",
    "CLAVICLE_LEFT",
    "SHOULDER_LEFT",
    "ELBOW_LEFT",
    "WRIST_LEFT",
    "HAND_LEFT",
    "HANDTIP_LEFT",
    "THUMB_LEFT",
    "CLAVICLE_RIGHT",
    "SHOULDER_RIGHT",
    "ELBOW_RIGHT",
    "WRIST_RIGHT",
    "HAND_RIGHT",
    "HANDTIP_RIGHT",
    "THUMB_RIGHT",
    "HIP_LEFT",
    "KNEE_LEFT",
    "ANKLE_LEFT",
    "FOOT_LEFT",
    "HIP_RIGHT",
    "KNEE_RIGHT",
    "ANKLE_RIGHT",
    "FOOT_RIGHT",
    "HEAD",
    "NOSE",
    "EYE_LEFT",
    "EAR_LEFT",
    "EYE_RIGHT",
    "EAR_RIGHT",
]


def azure_kinect() -> bytes:
    """offline_processor of Azure Kinect's body tracking SDK: millimetres, y down, two people at
    times.
    """
    body = np.random.default_rng(0).normal(size=(32, 3)) * 200 + [0, 0, 2000]
    body[AZURE.index("HEAD"), 1], body[AZURE.index("FOOT_LEFT"), 1] = -600, 1000
    frames = []
    for t in range(N_FRAMES):
        one = {
            "body_id": 1,
            "joint_positions": (body + t).tolist(),
            "joint_orientations": [[1, 0, 0, 0]] * 32,
        }
        other = {"body_id": 2, "joint_positions": (body + [500, 0, 0]).tolist()}
        people = [one, other] if t == 2 else [one]
        frames.append(
            {
                "frame_id": t,
                "num_bodies": len(people),
                "bodies": people,
                "timestamp_usec": 33333 * t,
            }
        )
    return json.dumps({"joint_names": AZURE, "bone_list": [], "frames": frames}).encode()


def zed(n: int = 34) -> bytes:
    """ZED's body tracking: an object per time with a list of bodies."""
    body = np.random.default_rng(0).normal(size=(n, 3)).round(4)
    frames = {
        str(1_700_000_000 + t): {
            "timestamp": 0.04 * t,
            "body_list": [
                {"id": 3, "keypoint": (body + 0.01 * t).tolist(), "keypoint_confidence": [90.0] * n}
            ],
        }
        for t in range(N_FRAMES)
    }
    return json.dumps(frames).encode()


ARKIT = {
    "head_joint": (0, 1.7, 0), "neck_1_joint": (0, 1.5, 0), "hips_joint": (0, 1, 0),
    "left_shoulder_1_joint": (0.2, 1.45, 0), "left_arm_joint": (0.25, 1.4, 0),
    "left_forearm_joint": (0.5, 1.4, 0), "left_hand_joint": (0.7, 1.4, 0),
    "right_arm_joint": (-0.25, 1.4, 0), "right_forearm_joint": (-0.5, 1.4, 0),
    "right_hand_joint": (-0.7, 1.4, 0), "left_upLeg_joint": (0.1, 0.95, 0), "left_leg_joint": (0.1, 0.5, 0),
    "left_foot_joint": (0.1, 0.1, 0), "right_upLeg_joint": (-0.1, 0.95, 0),
    "right_leg_joint": (-0.1, 0.5, 0), "right_foot_joint": (-0.1, 0.1, 0),
}  # fmt: skip


def arkit(form: str = "columns") -> bytes:
    """A recorder of ARKit's body anchors: 4 × 4 transforms by joint name."""
    frames = []
    for t in range(N_FRAMES):
        joints = {}
        for name, place in ARKIT.items():
            matrix = np.eye(4)
            matrix[3, :3] = np.add(place, [0, 0, 0.01 * t])
            if form == "rows":
                matrix = matrix.T
            joints[name] = matrix.ravel().tolist() if form == "flat" else matrix.tolist()
        frames.append({"timestamp": t / 60, "joints": joints})
    return json.dumps({"frames": frames}).encode()


def vision_pro() -> bytes:
    """A list of joints with name, position and rotation, as recorders on Vision Pro write it."""
    frames = [
        {
            "time": t / 90,
            "joints": [
                {
                    "name": n,
                    "position": {"x": x, "y": y, "z": z + t},
                    "rotation": {"x": 0, "y": 0, "z": 0, "w": 1},
                }
                for n, (x, y, z) in ARKIT.items()
            ],
        }
        for t in range(N_FRAMES)
    ]
    return json.dumps(frames).encode()


XSENS = [
    "Pelvis",
    "L5",
    "L3",
    "T12",
    "T8",
    "Neck",
    "Head",
    "RightShoulder",
    "RightUpperArm",
    "RightForeArm",
    "RightHand",
    "LeftShoulder",
    "LeftUpperArm",
    "LeftForeArm",
    "LeftHand",
    "RightUpperLeg",
    "RightLowerLeg",
    "RightFoot",
    "RightToe",
    "LeftUpperLeg",
    "LeftLowerLeg",
    "LeftFoot",
    "LeftToe",
]


def mvnx(positions: bool = True) -> bytes:
    """Xsens MVN: segments, calibration poses and frames, in metres with z up."""
    place = np.random.default_rng(0).normal(size=(len(XSENS), 3))
    segments = "".join(f'<segment label="{n}" id="{i}"/>' for i, n in enumerate(XSENS, 1))
    frames = ""
    for t, kind in enumerate(("identity", "npose", *["normal"] * N_FRAMES)):
        text = " ".join(f"{v:.6f}" for v in (place + 0.01 * t).ravel())
        inside = f"<position>{text}</position>" if positions else ""
        frames += (
            f'<frame time="{t}" type="{kind}"><orientation>1 0 0 0</orientation>{inside}</frame>\n'
        )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<mvnx xmlns="http://www.xsens.com/mvn/mvnx" version="4">'
        f'<subject label="ann" frameRate="60" segmentCount="{len(XSENS)}"><segments>{segments}</segments>'
        f"<frames>{frames}</frames></subject></mvnx>"
    ).encode()


def deeplabcut_csv(animals: tuple[str, ...] = ("mouse1", "mouse2")) -> bytes:
    """DeepLabCut's CSV of several animals."""
    columns = [
        (a, p, c)
        for a in animals
        for p in ("snout", "ear", "tail")
        for c in ("x", "y", "likelihood")
    ]
    lines = [",".join(["scorer", *["DLC_resnet50"] * len(columns)])]
    for word, k in (("individuals", 0), ("bodyparts", 1), ("coords", 2)):
        lines.append(",".join([word, *(column[k] for column in columns)]))
    for t in range(N_FRAMES):
        cells = [
            f"{0.9 if c == 'likelihood' else 100 + 10 * i + t:.2f}"
            for i, (*_, c) in enumerate(columns)
        ]
        lines.append(",".join([str(t), *cells]))
    return "\n".join([*lines, ""]).encode()


def yolo_label(t: int, track: str = "") -> bytes:
    """One person of YOLO's pose in one frame, as fractions of the picture."""
    points = np.random.default_rng(0).uniform(0.2, 0.8, (17, 2)) + 0.005 * t
    cells = " ".join(f"{x:.6f} {y:.6f} 0.900000" for x, y in points)
    return f"0 0.5 0.5 0.4 0.8 {cells}{track}\n".encode()


def yolo_files() -> dict[str, bytes]:
    """A folder of labels; the person is away in frame 3."""
    return {f"film_{t}.txt": yolo_label(t) for t in (1, 2, 4, 5)}


def gltf(binary: bool = True) -> bytes:
    """A skeleton of three joints whose arm turns by a right angle about z in a second."""
    times = np.linspace(0, 1, N_FRAMES, dtype="<f4")
    angles = times * np.pi / 2
    turns = np.stack(
        [0 * angles, 0 * angles, np.sin(angles / 2), np.cos(angles / 2)], axis=1
    ).astype("<f4")
    data = times.tobytes() + turns.tobytes()
    document = {
        "asset": {"version": "2.0"},
        "nodes": [
            {"name": "Hips", "translation": [0, 1, 0], "children": [1]},
            {"name": "LeftArm", "translation": [0.2, 0.5, 0], "children": [2]},
            {"name": "LeftHand", "translation": [0.6, 0, 0]},
        ],
        "skins": [{"joints": [0, 1, 2]}],
        "buffers": [{"byteLength": len(data)}],
        "bufferViews": [
            {"buffer": 0, "byteOffset": 0, "byteLength": times.nbytes},
            {"buffer": 0, "byteOffset": times.nbytes, "byteLength": turns.nbytes},
        ],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": N_FRAMES, "type": "SCALAR"},
            {"bufferView": 1, "componentType": 5126, "count": N_FRAMES, "type": "VEC4"},
        ],
        "animations": [
            {
                "name": "raise",
                "samplers": [{"input": 0, "output": 1}],
                "channels": [{"sampler": 0, "target": {"node": 1, "path": "rotation"}}],
            }
        ],
    }
    if not binary:
        document["buffers"][0]["uri"] = (
            "data:application/octet-stream;base64," + base64.b64encode(data).decode()
        )
        return json.dumps(document).encode()
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    parts = (
        struct.pack("<I4s", len(text), b"JSON")
        + text
        + struct.pack("<I4s", len(data), b"BIN\0")
        + data
    )
    return struct.pack("<4sII", b"glTF", 2, 12 + len(parts)) + parts


def jsonl() -> bytes:
    """Messages of Kerneton's stream, with facts in the first."""
    lines = []
    for t, frame in enumerate(person()):
        joints = frame.round(5).tolist()
        if t == 3:
            joints[4] = None
        facts = {"label": "bow", "subject": "ann"} if t == 0 else {}
        lines.append(json.dumps({"joints": joints, "time": t / 25, **facts}))
    return "\n".join([*lines, ""]).encode()


def _in_file(suffix: str, write) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"file{suffix}")
        write(path)
        return path.read_bytes()


def mat(**variables) -> bytes:
    """A MATLAB file of version 5."""
    import scipy.io

    return _in_file(".mat", lambda path: scipy.io.savemat(path, variables, do_compression=True))


def sleap(n_animals: int = 2) -> bytes:
    """SLEAP's analysis file."""
    import h5py

    tracks = np.random.default_rng(0).uniform(0, 500, (n_animals, 2, 3, N_FRAMES))
    tracks[0, :, 1, 2] = np.nan

    def write(path):
        with h5py.File(path, "w") as file:
            file["tracks"] = tracks
            file["node_names"] = np.array([b"snout", b"ear", b"tail base"])
            file["track_names"] = np.array([f"mouse{i}".encode() for i in range(n_animals)])
            file["point_scores"] = np.ones((n_animals, 3, N_FRAMES))
            file["track_occupancy"] = np.ones((N_FRAMES, n_animals))

    return _in_file(".h5", write)


def movement() -> bytes:
    """The netCDF file of the package movement: time, space, keypoints, individuals."""
    import h5py

    def write(path):
        with h5py.File(path, "w") as file:
            file["position"] = np.random.default_rng(0).uniform(0, 500, (N_FRAMES, 2, 3, 1))
            file["keypoints"] = np.array([b"snout", b"ear", b"tail"])
            file["individuals"] = np.array([b"mouse"])
            file["confidence"] = np.ones((N_FRAMES, 3, 1))
            file.attrs["fps"] = 50.0

    return _in_file(".nc", write)


def deeplabcut_h5(animals: tuple[str, ...] = ()) -> bytes:
    """DeepLabCut's table as pandas writes it: numbers, and the names of columns as a pickle."""
    import pickle

    import h5py

    parts = [(p, c) for p in ("snout", "ear", "tail") for c in ("x", "y", "likelihood")]
    columns = [
        ("DLC_resnet50", *animal, *part)
        for animal in ([(a,) for a in animals] or [()])
        for part in parts
    ]
    values = np.random.default_rng(0).uniform(0, 1, (N_FRAMES, len(columns)))

    def write(path):
        with h5py.File(path, "w") as file:
            kind = np.dtype([("index", "<i8"), ("values_block_0", "<f8", (len(columns),))])
            table = np.zeros(N_FRAMES, kind)
            table["index"], table["values_block_0"] = np.arange(N_FRAMES), values
            dataset = file.create_dataset("df_with_missing/table", data=table)
            dataset.attrs["values_block_0_kind"] = np.bytes_(pickle.dumps(columns, protocol=0))

    return _in_file(".h5", write)


def arrow(suffix: str) -> bytes:
    """A table of the form that Kerneton reads as CSV, as pandas writes it."""
    import pandas

    columns = {"label": ["bow"] * N_FRAMES, "time": [t / 25 for t in range(N_FRAMES)]}
    for j, name in enumerate(MARKERS):
        for k, axis in enumerate("xyz"):
            columns[f"{name}_{axis}"] = person()[:, j, k]
    frame = pandas.DataFrame(columns)
    return _in_file(suffix, frame.to_parquet if suffix == ".parquet" else frame.to_feather)


def zipped(**files: bytes) -> bytes:
    """A zip archive of files below folders; ``__`` in names stands for a slash, ``_dot_`` for a
    dot.
    """
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "/").replace("_dot_", "."), content)
    return memory.getvalue()


def wide_table(frames: slice = slice(None)) -> bytes:
    """A plain CSV of the person."""
    header = ",".join(f"{name}_{axis}" for name in MARKERS for axis in "xyz")
    return "\n".join([header, *(_row(frame) for frame in person()[frames])]).encode() + b"\n"
