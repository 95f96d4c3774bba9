"""
A folder of BVH
===============

Train on motion capture, then recognise what a depth camera saw.

You learn how labels come out of file names, and how recordings with different joints meet: by the names of the joints
they share.
"""

import sys
from pathlib import Path

from kerneton import load_folder, make_actions, make_recognizer, map_layout, write
from kerneton.data.layouts import FLORENCE_15
from kerneton.report.animation import contact_sheet

out = Path(sys.argv[1] if len(sys.argv) > 1 else "examples-out")

# %%
# A folder of BVH files
# ---------------------
# This makes one, without gaps, as a motion capture suite would. File names say what is in them: ``s01_wave_t1.bvh``.

folder = out / "bvh"
folder.mkdir(parents=True, exist_ok=True)
for recording in make_actions(["wave", "kick", "bow"], n_subjects=4, n_takes=2, noise=0.002, dropout=0):
    write(folder / f"{recording.name}.bvh", [recording])

# %%
# Labels from file names
# ----------------------
# ``{label}`` and ``{subject}`` are what we want to know, ``{take}`` is any other part of the name. Reading a BVH file
# computes where every joint is, from the hierarchy, its offsets and the channels of each frame; the files above have
# channels for positions, those of most suites for rotations.

mocap = load_folder(folder, pattern="s{subject}_{label}_t{take}")
print(mocap)
print(mocap[0])
print("joints:", ", ".join(mocap.layout.joints))

# %%
# One recording as a contact sheet; ``kerneton.report.animation.animate`` makes a film of it.

contact_sheet(mocap[0], out / "folder_of_bvh.png", n_frames=8)

# %%
# Joints that both have
# ---------------------
# Suite and camera agree on few things: number of joints, their order, their names. ``map_layout`` finds the joints of
# a layout by name, with stand-ins: a neck may be the shoulder centre, a wrist the hand.

train = [map_layout(recording, FLORENCE_15) for recording in mocap]
model = make_recognizer(kernel="sck").fit(train, mocap.labels)

# %%
# Recognise a camera's recordings
# -------------------------------
# Other people (another seed), seen by a noisy sensor that loses joints now and then, in Kinect's joint order.

camera = make_actions(["wave", "kick", "bow"], n_subjects=3, n_takes=1, random_state=7)
seen = [map_layout(recording, FLORENCE_15) for recording in camera]
for recording, label in zip(camera, model.predict(seen), strict=True):
    print(f"subject {recording.subject}: {recording.label:5} recognised as {label}")
