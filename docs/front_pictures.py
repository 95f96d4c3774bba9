"""Draw the two pictures of the first page and of the README: ``make pictures``, or ``python
docs/front_pictures.py docs/front``.

A report and an explanation of generated actions, by the commands that the README shows. The report
is photographed with Chromium, so the pictures are kept with the source and not drawn with every
build.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

from kerneton import make_actions, write
from kerneton.cli import main

ALIKE = ["draw circle", "draw X", "drink", "answer phone", "punch", "throw"]
PLAIN = ["clap", "drink", "kick", "sit down", "wave"]
WIDTH, HEIGHT = 760, 1060  # of a column, in pixels of the page
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def record(folder, data):
    """Write recordings as LABEL/SUBJECT/FILE."""
    for recording in data:
        place = folder / recording.label / recording.subject
        place.mkdir(parents=True, exist_ok=True)
        write([recording.replace(label=None, subject=None)], place / f"{recording.name}.csv")


def photograph(page, picture):
    """Two places of the page side by side: the result, and what is taken for what."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.exit(f"the picture of the report needs a browser: one of {', '.join(BROWSERS)}")
    flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--force-prefers-reduced-motion",
    ]
    both = Image.new("RGB", (2 * WIDTH + 2, HEIGHT), "#dce1e7")
    text = page.read_text(encoding="utf-8")
    for k, hidden in enumerate(("footer", ".top, nav, #result, #next, #classes")):
        page.write_text(
            text.replace("</style>", f"{hidden} {{ display: none }}</style>", 1), encoding="utf-8"
        )
        size = [f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={picture}"]
        subprocess.run([browser, *flags, *size, page.as_uri()], check=True, capture_output=True)
        with Image.open(picture) as shot:
            both.paste(shot.convert("RGB"), (k * (WIDTH + 2), 0))
    save(both, picture)


def save(image, path, width=1200):
    """Few colours and no more pixels than a page shows."""
    small = image.convert("RGB").resize(
        (width, round(image.height * width / image.width)), Image.Resampling.LANCZOS
    )
    small.quantize(200, kmeans=1, dither=Image.Dither.NONE).save(path, optimize=True)


def draw(folder):
    """Train, test, ask why, and draw."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        here = Path(place)
        # a poor camera
        poor = make_actions(ALIKE, n_subjects=6, n_takes=2, fps=15, noise=0.09, dropout=0.06)
        record(here / "my-recordings", poor)
        main(
            [
                "evaluate",
                str(here / "my-recordings"),
                "--html",
                str(here / "report.html"),
                "--quiet",
            ]
        )
        photograph(here / "report.html", folder / "report.png")
        record(here / "good", make_actions(PLAIN, n_subjects=6, n_takes=2))
        (new,) = make_actions(["wave"], n_subjects=1, n_takes=1, random_state=1)
        write([new.replace(label=None, subject=None)], here / "new.csv")
        main(["fit", str(here / "good"), "-o", str(here / "model.kern"), "--quiet"])
        main(
            [
                "explain",
                str(here / "model.kern"),
                str(here / "new.csv"),
                "-o",
                str(here / "why.png"),
                "--quiet",
            ]
        )
        with Image.open(here / "why.png") as picture:
            save(picture, folder / "explanation.png", width=1000)


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
