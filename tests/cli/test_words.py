"""Words of messages: those of the command line's users, and counts of one."""

from __future__ import annotations

import re

import pytest
from sklearn.dummy import DummyClassifier

import kerneton
from kerneton.cli import build_parser, main
from kerneton.cli.fit import held_out
from kerneton.datasets._home import ENVIRONMENT
from kerneton.files.summary import summarize
from kerneton.recognize.model_file import training_summary
from kerneton.recognize.presets import make_recognizer
from kerneton.report.page import render


def put(folder, recordings, *, subjects=True):
    for s in recordings:
        place = folder / s.label / (s.subject if subjects else "")
        place.mkdir(parents=True, exist_ok=True)
        kerneton.write([s.replace(label=None, subject=None)], place / f"{s.name}.csv")
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Recordings of three people, one of whom does what nobody else does; and of nobody that is
    named.
    """
    made = list(kerneton.make_actions(["bow", "wave"], n_subjects=3, n_takes=1))
    rare = made[0].replace(label="rare", name="rare")
    root = tmp_path_factory.mktemp("words")
    kerneton.write([made[0]], root / "clip.npz")
    make_recognizer("paper", kernel="sck").fit(made, [s.label for s in made]).save(
        root / "model.kern"
    )
    some = put(root / "rare", [*made, rare]), put(root / "nobody", made, subjects=False)
    return *some, root / "model.kern", root / "clip.npz"


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["evaluate", "RARE"], "'rare' (1 in all); record more of them"),
        (
            ["evaluate", "NOBODY", "--protocol", "half"],
            "each recording needs one, as in folders LABEL/SUBJECT",
        ),
        (["evaluate", "NOBODY", "--protocol", "li"], "no subjects are known"),
        (
            ["evaluate", "RARE", "--kernel", "sck", "--preset", "auto"],
            "--kernel sck is only for --preset paper or",
        ),
        (["evaluate", "RARE", "--jobs", "0"], "--jobs must not be 0; 1 is"),
        (["evaluate", "florence3d"], f"give --data-home or set {ENVIRONMENT}"),
        (["reproduce", "tables"], f"give --data-home or set {ENVIRONMENT}"),
        (["fit", "RARE", "--false-alarm", "2"], "--false-alarm must be a number"),
        (["fit", "RARE", "--preset", "none"], "--preset must be one of"),
        (["demo", "--takes", "0"], "--takes must be a positive whole number"),
        (["show", "RARE", "--poses", "0"], "error: --poses must be a positive whole number"),
        (
            ["explain", "MODEL", "CLIP", "--label", "bow", "--versus", "bow"],
            ": --versus must be another label",
        ),
        (["spot", "MODEL", "CLIP"], "in long recordings: use kerneton fit --spot"),
    ],
)
def test_errors_name_options_and_no_arguments(folders, argv, said, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    names = ("RARE", "NOBODY", "MODEL", "CLIP")
    assert (
        main([dict(zip(names, map(str, folders), strict=True)).get(word, word) for word in argv])
        == 1
    )
    error = capsys.readouterr().err.splitlines()[-1]
    assert said in error
    assert not re.search(r"\w=|n_[a-z]+|\bNone\b|True", error)


def test_joints_with_names_of_their_own_are_said_in_words(tmp_path, capsys):
    table = "time,alpha_x,alpha_y,alpha_z,beta_x,beta_y,beta_z\n0,1,2,3,4,5,6\n0.1,1,2,3,4,5,7\n"
    (tmp_path / "a.csv").write_text(table)
    assert main(["info", str(tmp_path)]) == 0
    assert "  joints    with the names in the table\n" in capsys.readouterr().out


def test_people_who_are_not_known_are_not_held_out(folders):
    rare, nobody = (summarize(kerneton.load_folder(folder)) for folder in folders[:2])
    assert (held_out(rare), held_out(nobody)) == ("subjects", "recordings")


@pytest.mark.parametrize("width", range(60, 130, 7))
def test_no_line_of_help_ends_within_a_name(width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    (commands,) = [a.choices for a in build_parser()._actions if isinstance(a.choices, dict)]
    for parser in commands.values():
        assert not re.search(r"\w-\n", parser.format_help().partition("examples:")[0])


@pytest.mark.filterwarnings("default")
def test_counts_of_one(tmp_path, capsys, monkeypatch):
    """One recording, one frame, one subject, one test, one mistake: the word is in the singular
    wherever it stands.
    """
    monkeypatch.chdir(tmp_path)
    bow, wave = kerneton.make_actions(["bow", "wave"], n_subjects=1, n_takes=1)
    put(tmp_path / "one", [bow])
    kerneton.write([bow.replace(joints=bow.joints[:1], confidence=None)], "pose.npz")
    kerneton.write([wave.replace(label=None, subject=None)], "clip.npz")
    (tmp_path / "index.csv").write_text("file,label\nnone.npz,bow\n")
    commands = [
        *("info", "info one", "info pose.npz", "convert pose.npz pose.csv", "convert one out"),
        *(
            "cut clip.npz --from 0 --to 9 -o cut.npz",
            "show pose.npz -o pose.png",
            "fit clip.npz",
            "fit one",
        ),
        *("info one --index index.csv", "evaluate one", "info one --columns a,b"),
    ]
    model = make_recognizer("paper", kernel="sck")
    for i, subject in enumerate("aabb"):
        put(tmp_path / "two", [(bow, wave)[i % 2].replace(subject=subject, name=f"{i}")])
    data = kerneton.load_folder("two")
    model.fit(data, data.labels)
    model.training_ = training_summary(data.select([0]))
    model.save("model.kern")
    for command in [*commands, "info model.kern", "predict model.kern clip.npz"]:
        main(command.split())
    report = kerneton.evaluate(DummyClassifier(), data, [([0, 1, 2], [3])])
    out, err = capsys.readouterr()
    texts = [out, err, str(report), report.to_markdown()]
    page = render(report, data)
    texts.append(
        re.sub(r"<[^>]+>", " ", re.sub(r"<(script|style|svg).*?</\1>", "", page, flags=re.S))
    )
    words = "recordings|tests|classes|splits|labels|subjects|files|frames|joints|people|mistakes|kinds|were|have|do"
    for text in texts:
        assert not re.findall(
            rf"(?<![\d.,] )(?<![\d.,-])\b1 (?:of 1 )?(?:\w+ )?(?:{words})\b.*", text
        )
