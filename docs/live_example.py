"""The live example of the page "Out of Python": a recogniser of generated actions, made with the
site.
"""

import sys
from pathlib import Path

from kerneton import make_actions, make_recognizer
from kerneton.exceptions import MissingDataError

ACTIONS = ("wave", "clap", "kick", "bow", "sit down")


def make(folder):
    """Train on four generated people, and write a page that plays a fifth."""
    data = make_actions(ACTIONS, n_subjects=5, n_takes=2, random_state=3)
    new = data[-1].subject
    train = [s for s in data if s.subject != new]
    model = make_recognizer(view="free", mirror=True, calibrate=True)
    model.fit(train, [s.label for s in train])
    shown = [next(s for s in data if s.subject == new and s.label == label) for label in ACTIONS]
    return model.export(Path(folder), to="web", demo=shown)


if __name__ == "__main__":
    try:
        make(sys.argv[1])
    except MissingDataError as error:  # an installation without WebAssembly
        Path(sys.argv[1]).mkdir(exist_ok=True)
        Path(sys.argv[1], "index.html").write_text(f"<p>{error}</p>", encoding="utf-8")
