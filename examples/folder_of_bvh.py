"""
A folder of BVH
===============

Train on motion capture, then recognise recordings of a depth camera.

You learn how labels are read from file names, and how recordings with different joints are
combined: by the names of the joints that they share.
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
# This makes one, without gaps, like those of motion capture. File names contain subject and label:
# ``s01_wave_t1.bvh``.

folder = out / "bvh"
folder.mkdir(parents=True, exist_ok=True)
for recording in make_actions(
    ["wave", "kick", "bow"], n_subjects=4, n_takes=2, noise=0.002, dropout=0
):
    write([recording], folder / f"{recording.name}.bvh")

# %%
# Labels from file names
# ----------------------
# ``{label}`` and ``{subject}`` are read from the name, ``{take}`` is any other part of it. Reading
# a BVH file computes the positions of all joints from the hierarchy, its offsets and the channels
# of each frame; the files above have channels for positions, those of most motion capture systems
# for rotations.

mocap = load_folder(folder, pattern="s{subject}_{label}_t{take}")
print(mocap)
print(mocap[0])
print("joints:", ", ".join(mocap.layout.joints))

# %%
# One recording as a contact sheet; ``kerneton.report.animation.animate`` writes an animation.

contact_sheet(mocap[0], out / "folder_of_bvh.png", n_frames=8)

# %%
# Joints that both have
# ---------------------
# Motion capture and camera differ in the number of joints, their order and their names.
# ``map_layout`` finds the joints of a layout by name, with substitutes: the shoulder centre for a
# neck, the hand for a wrist.

train = [map_layout(recording, FLORENCE_15) for recording in mocap]
model = make_recognizer(kernel="sck").fit(train, mocap.labels)

# %%
# Recognise a camera's recordings
# -------------------------------
# Other people (another seed), recorded by a noisy sensor that sometimes loses joints, in Kinect's
# joint order.

camera = make_actions(["wave", "kick", "bow"], n_subjects=3, n_takes=1, random_state=7)
seen = [map_layout(recording, FLORENCE_15) for recording in camera]
for recording, label in zip(camera, model.predict(seen), strict=True):
    print(f"subject {recording.subject}: {recording.label:5} recognised as {label}")
