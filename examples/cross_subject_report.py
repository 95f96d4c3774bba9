"""
Cross-subject report
====================

Measure the accuracy of a recogniser on new people, and write a report.

You learn why recordings of one person must not be in both training and test data, how to evaluate
two models on the same splits, and which forms a report has: text, tables, HTML, Markdown, JSON,
plots.
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
# Folds drawn among all recordings put takes of one person into training and test data: the test
# then measures whether the model has learned these people. The accuracy on new people is lower, and
# that is the figure to report.

model = make_recognizer(kernel="sck")
by_recording = evaluate(model, data, StratifiedKFold(n_splits=4, shuffle=True, random_state=0))
by_person = evaluate(model, data, LeaveOneSubjectOut())
print(f"folds of recordings  {by_recording.accuracy:.1%}")
print(f"people left out      {by_person.accuracy:.1%} ± {by_person.accuracy_sd:.1%}")

# %%
# The report
# ----------
# Printed, it shows what was tested, how the accuracy varies, the results of each class and the most
# frequent mistakes.

print(by_person)

# %%
# As tables of pandas: classes, splits, confusion, or every prediction.

print(by_person.frame("splits").round(3).to_string(index=False))
wrong = by_person.frame("predictions").query("not correct")
print(wrong[["recording", "label", "predicted", "score"]].round(2).head().to_string(index=False))

# %%
# As files: an HTML page to send to a colleague, which plays the mistakes; Markdown for a lab book,
# JSON for programs, a plot for slides.

by_person.to_html(out / "report.html", data)
by_person.to_markdown(out / "report.md")
by_person.to_json(out / "report.json")
by_person.plot(title="People left out").savefig(out / "cross_subject_report.png", dpi=110)
print(", ".join(path.name for path in sorted(out.iterdir())))

# %%
# Two models on the same splits
# -----------------------------
# Both use the same splits, so that differences come from the models. DCK compares how joints move
# relative to each other.

dck = evaluate(make_recognizer(kernel="dck"), data, LeaveOneSubjectOut())
for name, report in (("SCK", by_person), ("DCK", dck)):
    people = ", ".join(f"{accuracy:.0%}" for accuracy in report.accuracies)
    print(f"{name} {report.accuracy:.1%}, person by person {people}")
