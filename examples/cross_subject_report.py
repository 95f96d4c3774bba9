"""
Cross-subject report
====================

Measure how well a recogniser does with people it has not seen, and write it down for others.

You learn why recordings of one person must not be on both sides of a split, how to evaluate two models alike, and which
forms a report takes: text, tables, HTML, Markdown, JSON, pictures.
"""

import sys
from pathlib import Path

from sklearn.model_selection import StratifiedKFold

from kerneton import evaluate, make_actions, make_recognizer
from kerneton.datasets.protocols import LeaveOneSubjectOut

out = Path(sys.argv[1] if len(sys.argv) > 1 else "examples-out")
out.mkdir(parents=True, exist_ok=True)
labels = ["drink", "answer phone", "draw circle", "draw X", "clap"]
data = make_actions(labels, n_subjects=4, n_takes=2, fps=15)

# %%
# By recording, or by person?
# ---------------------------
# Folds drawn among all recordings put takes of one person on both sides: the test then asks whether the model has learnt
# these people. With new people it does worse, and that is the figure to quote.

model = make_recognizer(kernel="sck")
by_recording = evaluate(model, data, StratifiedKFold(n_splits=4, shuffle=True, random_state=0))
by_person = evaluate(model, data, LeaveOneSubjectOut())
print(f"folds of recordings  {by_recording.accuracy:.1%}")
print(f"people left out      {by_person.accuracy:.1%} ± {by_person.accuracy_sd:.1%}")

# %%
# The report
# ----------
# Printed, it says what was tested, how accuracy varies, where each class stands and what is taken for what.

print(by_person)

# %%
# As tables of pandas: classes, splits, confusion, or every prediction.

print(by_person.frame("splits").round(3).to_string(index=False))
wrong = by_person.frame("predictions").query("not correct")
print(wrong[["recording", "label", "predicted", "score"]].round(2).head().to_string(index=False))

# %%
# As files: a page of HTML to send to a colleague, which plays the mistakes; Markdown for a lab book, JSON for programs, a
# picture for slides.

by_person.to_html(out / "report.html", data)
by_person.to_markdown(out / "report.md")
by_person.to_json(out / "report.json")
by_person.plot(title="People left out").savefig(out / "cross_subject_report.png", dpi=110)
print(", ".join(path.name for path in sorted(out.iterdir())))

# %%
# Two models alike
# ----------------
# The same splits for both, so that differences are the models'. DCK compares how joints move against each other.

dck = evaluate(make_recognizer(kernel="dck"), data, LeaveOneSubjectOut())
for name, report in (("SCK", by_person), ("DCK", dck)):
    people = ", ".join(f"{accuracy:.0%}" for accuracy in report.accuracies)
    print(f"{name} {report.accuracy:.1%}, person by person {people}")
