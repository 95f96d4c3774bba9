"""
Your own CSV
============

From a folder of CSV files to a recogniser and an estimate of its accuracy on new people.

You learn what a CSV file of joints looks like, how folders give labels and subjects, how to check a
data set before training, and how to test on people who are not in the training data.
"""

import sys
from pathlib import Path

from kerneton import evaluate, load_folder, make_actions, make_recognizer, read, write
from kerneton.files.summary import summarize

out = Path(sys.argv[1] if len(sys.argv) > 1 else "examples-out")

# %%
# A folder of CSV files
# ---------------------
# This makes one; you have yours. The folders give label and subject: ``label/subject/file.csv``.

folder = out / "own_csv"
for recording in make_actions(["drink", "draw X", "draw circle"], n_subjects=4, n_takes=2):
    path = folder / recording.label / recording.subject / f"{recording.name}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    write([recording], path)

# %%
# A row is a frame, and columns are named after joints and axes. A column ``time`` gives the frame
# rate; confidences are optional, and an empty cell is a joint that was not seen.

first = sorted(folder.glob("*/*/*.csv"))[0]
for line in first.read_text().splitlines()[:3]:
    print(line[:100], "...")
print(read(first))

# %%
# Look before training
# --------------------
# The summary counts and warns: classes with few examples, missing joints, the same recording twice.

data = load_folder(folder)
print(summarize(data))

# %%
# How well are the actions distinguished?
# ---------------------------------------
# Each person in turn is recognised by a model that was trained on the others. ``kernel="sck"``
# gives the simplest and fastest recogniser; without it you get the default recogniser, which uses
# more cues.

report = evaluate(make_recognizer(kernel="sck"), data, "leave-one-subject-out")
print(report)
report.plot(title="Each person by the others").savefig(out / "own_csv_confusion.png", dpi=110)

# %%
# A model of all recordings
# -------------------------
# Files with labels in their names need a pattern, ``load_folder(folder,
# pattern="{label}_{subject}_{take}")``, or a table ``index.csv`` with the columns file, label and
# subject.

model = make_recognizer(kernel="sck").fit(data, data.labels)
print(first.name, "is", model.predict(read(first))[0])
