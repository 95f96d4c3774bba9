"""The page in a real browser: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from browsers import CHROMIUM, WAIT, opened
from studios import Command, running

import kerneton
from kerneton.data.sequence import SkeletonSequence
from kerneton.files.readers import write
from kerneton.studio.journal import Journal
from kerneton.studio.library import Library
from kerneton.studio.place import Place
from kerneton.studio.server import Studio

if CHROMIUM is None:
    pytest.skip("Chromium is not installed", allow_module_level=True)
playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def context(browser):
    """A context whose pages may not complain: no script error, nothing blocked by the policy."""
    found = browser.new_context(viewport={"width": 1400, "height": 900}, reduced_motion="reduce")
    found.set_default_timeout(WAIT)
    problems: list[str] = []
    found.on("weberror", lambda error: problems.append(str(error.error)))
    found.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
    found.problems = problems
    yield found
    found.close()
    gone = (
        "ERR_CONNECTION_REFUSED",
        "ERR_CONNECTION_RESET",
        "Connection closed",
    )  # servers end before their pages
    assert [text for text in problems if not any(word in text for word in gone)] == []


def counted(page, selector: str, n: int) -> None:
    """Wait until so many are there; Playwright's own waiting with scripts is what the policy
    forbids.
    """
    playwright.expect(page.locator(selector)).to_have_count(n, timeout=WAIT)


def drop(page, files: dict[str, bytes]) -> None:
    """Files dropped on the page, as the browser's own event."""
    import base64

    page.evaluate(
        """files => {
            const transfer = new DataTransfer();
            for (const [name, data] of Object.entries(files))
                transfer.items.add(new File([Uint8Array.from(atob(data), c => c.charCodeAt(0))], name));
            for (const kind of ["dragenter", "dragover", "drop"])
                dispatchEvent(new DragEvent(kind, {dataTransfer: transfer, bubbles: true, cancelable: true}));
        }""",
        {name: base64.b64encode(data).decode() for name, data in files.items()},
    )


def test_from_a_folder_to_live_labels_in_a_few_clicks(context, empty, tmp_path):
    """Five clips each of three actions; the clicks are counted."""
    source = tmp_path / "clips"
    for s in kerneton.make_actions(["wave", "clap", "kick"], n_subjects=5, n_takes=1):
        write([s], source / str(s.label) / f"p{s.subject}" / f"{s.name}.npz")
    page = opened(context, empty)
    page.evaluate(
        "addEventListener('click', e => { if (e.isTrusted) globalThis.clicks = (globalThis.clicks ?? 0) + 1; }, true)"
    )
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Add folder").first.click()
    chooser.value.set_files(source)
    page.wait_for_selector(".card")
    page.get_by_text("15 recordings · 3 labels · 5 subjects").wait_for()
    page.get_by_role("link", name="Train").click()
    page.get_by_role("button", name="Train", exact=True).click()
    page.wait_for_selector(".hero")
    assert "15" in page.inner_text(".hero")
    assert "Wilson" in page.inner_text(".hero")
    page.get_by_role("link", name="See it live").click()
    page.get_by_role("button", name="Start").click()
    counted(page, ".live-now .bars li", 3)
    assert page.evaluate("globalThis.clicks") <= 8
    assert kerneton.load(next(empty.folder.glob("__studio__/models/2*/model.kern"))) is not None
    page.get_by_role("link", name="Train").click()
    page.get_by_role("button", name="5 × wave, right").click()
    assert page.locator(".opened canvas").count() >= 4


def test_dropped_files_say_what_is_wrong_with_them(context, empty):
    page = opened(context, empty)
    drop(
        page,
        {"nod.csv": b"head_x,head_y,head_z\n0,1.7,2\n0,1.6,2\n0,1.5,2\n", "bad.csv": b"a,b\nc,d\n"},
    )
    page.get_by_text("1 recording added").first.wait_for()
    page.locator(".toast.error", has_text="bad.csv").wait_for()
    assert (empty.folder / "__studio__" / "unlabelled" / "nod.csv").exists()


def test_names_and_labels_cannot_inject(context, empty):
    page = opened(context, empty)
    evil = "<img src=x onerror=alert(1)>"
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    drop(page, {"<b>x<'\">.csv": b"head_x,head_y,head_z\n0,1.7,2\n0,1.6,2\n0,1.5,2\n"})
    page.locator(".card").click()
    page.locator(".detail input[name=label]").fill("& 'quoted' ;{}()")
    page.locator(".detail input[name=label]").press("Enter")
    page.locator(".card .chip", has_text="& 'quoted' ;{}()").wait_for()
    page.locator(".detail textarea").fill(evil)
    page.locator(".detail textarea").blur()
    playwright.expect(page.get_by_role("button", name="Undo")).to_be_enabled(timeout=WAIT)
    page.reload()
    page.locator(".card").click()
    assert page.locator(".detail textarea").input_value() == evil
    assert page.locator("img[src=x]").count() == 0


def test_a_long_recording_is_labelled_with_the_keyboard_alone(context, server, folder):
    page = opened(context, server, "label/kick%2Fs1%2Fs01_kick_t1.npz")
    page.locator(".label-title h1", has_text="s01_kick_t1").wait_for()
    page.locator(".label-key", has_text="wave").wait_for()
    keys = page.keyboard
    # frames 5 to 25: clap
    for key in ["Home", *["ArrowRight"] * 5, "i", *["Shift+ArrowRight"] * 2, "1"]:
        keys.press(key)
    page.locator(".segment").first.wait_for()
    for key in ["Escape", "ArrowRight", "i", "Shift+ArrowRight", "3"]:  # 26 to 36: wave
        keys.press(key)
    counted(page, ".segment", 2)
    keys.press("Shift+ArrowLeft")
    keys.press("Shift+O")  # the chosen segment, wave, now ends at 26
    page.locator(".segment-body[aria-label^='wave, 0.87 s to 0.90 s']").wait_for()
    keys.press("Control+z")
    page.locator(".segment-body[aria-label^='wave, 0.87 s to 1.23 s']").wait_for()
    keys.press("Control+Shift+z")
    page.locator(".segment-body[aria-label^='wave, 0.87 s to 0.90 s']").wait_for()
    keys.press("Control+z")
    page.locator(".segment-body[aria-label^='wave, 0.87 s to 1.23 s']").wait_for()
    edits = Journal(Place(folder)).edits
    assert edits["__studio__/unlabelled/s1/s01_kick_t1.npz"]["segments"] == [
        {"start": 5, "stop": 26, "label": "clap"},
        {"start": 26, "stop": 37, "label": "wave"},
    ]
    data = kerneton.load_folder(folder)
    assert sum(s.label == "clap" and s.n_frames == 21 for s in data) == 1
    page.reload()
    counted(page, ".segment", 2)


def test_what_is_typed_is_kept_by_a_reload_in_mid_word(context, server, folder):
    page = opened(context, server)
    page.get_by_role("option", name="s01_wave_t1, wave").click()
    note = page.locator(".detail textarea")
    note.click()
    page.keyboard.type("arm")
    playwright.expect(page.get_by_role("button", name="Undo")).to_be_enabled(
        timeout=WAIT
    )  # kept while typing
    page.keyboard.type(" too low")  # the list was read again, and the focus is still here
    page.reload()
    page.get_by_role("option", name="s01_wave_t1, wave").click()
    assert note.input_value() == "arm too low"


def test_labels_while_it_plays_touch_and_do_not_overlap(context, server, folder):
    page = opened(context, server, "label/kick%2Fs1%2Fs01_kick_t1.npz")
    page.locator(".label-key", has_text="wave").wait_for()
    page.locator(".player select").last.select_option("0.1")
    keys = page.keyboard
    keys.press("Home")
    for key in ("Space", "1", "3", "3"):  # clap begins; it ends and wave begins; wave ends
        keys.press(key)
        page.wait_for_timeout(500)
    counted(page, ".segment", 2)
    (edits,) = Journal(Place(folder)).edits.values()
    first, second = edits["segments"]
    assert (first["label"], second["label"]) == ("clap", "wave")
    assert first["start"] < first["stop"] == second["start"] < second["stop"]


def test_two_tabs_show_the_same(context, server, folder):
    one, two = opened(context, server), opened(context, server)
    two.locator(".card .chip", has_text="wave").first.wait_for()
    one.get_by_role("option", name="s01_wave_t1, wave").click()
    label = one.locator(".detail input[name=label]")
    label.fill("greet")
    label.press("Enter")
    two.locator(".card .chip", has_text="greet").wait_for()
    two.get_by_role("button", name="Undo").click()
    one.locator(".card .chip", has_text="greet").wait_for(state="detached")
    one.get_by_role("option", name="s01_wave_t1, wave").wait_for()
    assert (folder / "wave" / "s1" / "s01_wave_t1.npz").exists()


def test_labels_are_renamed_merged_and_split(context, server, folder):
    page = opened(context, server)
    page.locator(".card").first.wait_for()
    page.get_by_role("button", name="Names …").click()
    dialog = page.get_by_role("dialog", name="Names …")
    dialog.get_by_label("New name of wave").fill("greet")
    page.keyboard.press("Enter")
    page.get_by_text("“wave” is now “greet”").wait_for()
    assert len(list(folder.glob("greet/*/*.npz"))) == 3
    dialog.get_by_label("New name of greet").fill("clap")
    dialog.get_by_role("button", name="Rename greet").click()
    page.get_by_text("“greet” is now part of “clap”").wait_for()
    assert len(list(folder.glob("clap/*/*.npz"))) == 6
    page.get_by_role("button", name="Undo").last.click()  # beside the message, before the dialog
    dialog.get_by_label("New name of greet").wait_for()
    dialog.get_by_role("button", name="Split clap").click()
    page.get_by_text("3 of 9 recordings").wait_for()
    page.keyboard.press("Home")
    page.keyboard.press("Shift+ArrowRight")
    bulk = page.locator(".bulk input").first
    bulk.fill("applaud")
    bulk.press("Enter")
    page.get_by_text("1 of 9 recordings").wait_for()
    assert len(list(folder.glob("applaud/*/*.npz"))) == 2


def test_a_recording_is_trimmed_with_the_keyboard(context, server, folder):
    page = opened(context, server, "label/wave%2Fs1%2Fs01_wave_t1.npz")
    page.locator(".label-key", has_text="wave").wait_for()
    keys = page.keyboard
    keys.press("t")
    page.locator(".flash.seen", has_text="Mark the part to keep first").wait_for()
    for key in ["Home", *["ArrowRight"] * 5, "i", *["Shift+ArrowRight"] * 2, "t"]:
        keys.press(key)
    page.get_by_text("Trimmed to 21 frames").wait_for()
    playwright.expect(page.locator(".clock").last).to_have_text("0.00 s · 1/21", timeout=WAIT)
    (cut,) = kerneton.read(folder / "wave" / "s1" / "s01_wave_t1.npz")
    assert cut.n_frames == 21
    keys.press("Control+z")
    page.get_by_text("Undone: the trim of 1 recording").or_(
        page.get_by_text("Undone: trimming")
    ).first.wait_for()
    assert kerneton.read(folder / "wave" / "s1" / "s01_wave_t1.npz")[0].n_frames > 21


def test_repetitions_are_measured_and_compared_side_by_side(context, server, folder):
    from kerneton.stream.executions import align, repetitions

    (one,) = kerneton.read(folder / "clap" / "s1" / "s01_clap_t1.npz")
    one = one.replace(joints=np.concatenate([one.joints] * 3), confidence=None)
    write([one], folder / "clap" / "s1" / "s01_clap_t1.npz")
    server.studio.library.scan()
    found = repetitions(one)
    page = opened(context, server)
    page.get_by_role("option", name="s01_clap_t1, clap").click()
    page.locator(".detail").get_by_role("button", name="Repetitions").click()
    dialog = page.get_by_role("dialog", name="Repetitions")
    counted(dialog, "tbody tr", len(found))
    dialog.get_by_role("button", name="Take repetition 1 as the model").click()
    dialog.locator("tr.active").wait_for()
    cm = 100 * align(*(one.cut(r.start, r.stop) for r in found[:2])).mean
    assert f"{cm:.1f} cm" in dialog.locator("tbody tr").nth(1).inner_text()
    dialog.get_by_label("Target: range in degrees").fill("300")
    dialog.get_by_label("Target: range in degrees").press("Tab")
    dialog.get_by_text("✗").first.wait_for()
    dialog.get_by_role("button", name="Compare repetition 2").click()
    dialog.get_by_text("The joints are").wait_for()
    counted(dialog, ".side-by-side canvas", 2)
    dialog.get_by_role("button", name="Take the whole recording as model").click()
    dialog.get_by_text("The model is s01_clap_t1").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("option", name="s02_clap_t1, clap").click()
    page.locator(".detail").get_by_role("button", name="Repetitions").click()
    dialog.get_by_role("button", name="Compare the whole recording").click()
    dialog.get_by_role("heading", name="s01_clap_t1 and s02_clap_t1").wait_for()


def test_a_kill_in_mid_edit_loses_nothing_and_the_page_says_so(context, command, folder):
    page = opened(context, command)
    page.get_by_role("option", name="s01_wave_t1, wave").click()
    page.locator(".detail textarea").fill("arm too low")
    page.locator(".detail textarea").blur()
    playwright.expect(page.get_by_role("button", name="Undo")).to_be_enabled(timeout=WAIT)
    command.close(kill=True)
    page.locator(".offline").wait_for()
    assert "does not respond" in page.inner_text(".offline")
    context.problems.clear()  # the browser logs that the server is gone
    page.close()
    context.problems.clear()
    again = Command(folder)
    try:
        page = opened(context, again)
        page.get_by_role("option", name="s01_wave_t1, wave").click()
        assert page.locator(".detail textarea").input_value() == "arm too low"
    finally:
        page.close()
        again.close()


def test_two_thousand_recordings_in_the_list(context, tmp_path):
    rng = np.random.default_rng(0)
    layout = kerneton.make_actions(["wave"], n_subjects=1, n_takes=1)[0].layout
    for i in range(20):
        one = [
            SkeletonSequence(
                rng.normal(size=(6, 20, 3)).astype("f4"),
                layout=layout,
                name=f"r{i:02d}-{k:02d}",
                subject=f"p{k % 7}",
                fps=30,
            )
            for k in range(100)
        ]
        write(one, tmp_path / "many" / f"label {i:02d}" / f"{i}.npz")
    with running(Studio(tmp_path / "many", eager=False)) as server:
        page = opened(context, server)
        page.get_by_text("2,000 recordings · 20 labels · 7 subjects").wait_for()
        most = page.evaluate(
            """async () => {
                const grid = document.querySelector('.grid');
                let most = 0;
                for (let top = 0; top < grid.scrollHeight; top += 2000) {
                    grid.scrollTop = top;
                    await new Promise(requestAnimationFrame);
                    most = Math.max(most, grid.querySelectorAll('.card').length);
                }
                grid.scrollTop = grid.scrollHeight;
                return most;
            }"""
        )
        assert most < 60
        page.get_by_role("option", name="19.npz#100").or_(
            page.locator(".card", has_text="19#100")
        ).first.wait_for()
        page.get_by_role("searchbox").fill("label 07 #42")
        page.get_by_text("1 of 2,000 recordings").wait_for()
        page.get_by_role("listbox", name="Recordings").focus()
        page.keyboard.press("Home")
        page.locator(".detail h2", has_text="7#42").wait_for()


def test_the_tour_ends_with_a_model(context, empty):
    page = opened(context, empty)
    page.get_by_role("button", name="Take the tour").last.click()
    tour = page.get_by_role("dialog", name="Tour")
    for name in ("Next", "Next", "Train", "Next"):
        tour.get_by_role("button", name=name, exact=True).click()
    counted(page, ".live-now .bars li", 3)
    tour.get_by_role("button", name="Finish").click()
    assert len(list(empty.folder.glob("__studio__/models/2*/model.kern"))) == 1


def test_the_card_of_the_tour_stands_beside_what_it_explains(context, server):
    page = opened(context, server)
    page.locator(".card").first.wait_for()
    page.get_by_role("button", name="Take the tour").click()
    card = page.get_by_role("dialog", name="Tour")
    for step, part in ((1, ".grid"), (2, ".queue"), (3, ".train-top .row")):
        card.get_by_text(f"Step {step} of 5").wait_for()
        page.locator(f"{part}.toured").wait_for()
        page.wait_for_timeout(600)
        a, b = card.bounding_box(), page.locator(part).bounding_box()
        apart = (
            a["x"] + a["width"] <= b["x"]
            or b["x"] + b["width"] <= a["x"]
            or a["y"] + a["height"] <= b["y"]
            or b["y"] + b["height"] <= a["y"]
        )
        assert apart, (step, a, b)
        assert a["x"] >= 0
        assert a["y"] >= 0
        assert a["x"] + a["width"] <= 1400
        if step < 3:
            card.get_by_role("button", name="Next", exact=True).click()
    card.get_by_role("button", name="Leave the tour").click()
    counted(page, ".toured", 0)


def test_on_a_phone_the_list_comes_before_the_player(browser, server):
    context = browser.new_context(viewport={"width": 400, "height": 900}, reduced_motion="reduce")
    context.set_default_timeout(WAIT)
    page = opened(context, server)
    page.locator(".card").first.click()
    page.locator(".detail canvas").wait_for()
    page.wait_for_timeout(200)
    top = page.locator(".detail").bounding_box()["y"]
    assert page.locator(".grid").bounding_box()["y"] < top < 500  # and what was pressed is shown
    page.goto(f"{server.address}/#/label")
    page.locator(".queue-item").first.wait_for()
    queue, player = (page.locator(s).bounding_box()["y"] for s in (".queue", ".label-main"))
    assert queue < player
    context.close()


HANDS_FREE = """async () => {
    const { Recorder } = await import("/record.js"), takes = [], phases = [];
    const recorder = new Recorder({ mode: "hands-free", length: 2, takes: 2, countdown: 1,
        onstate: name => { if (phases.at(-1) !== name) phases.push(name); },
        ontake: frames => takes.push([frames[0].time, frames.at(-1).time, frames.length]) });
    const moves = t => (t > 3 && t < 4.5) || (t > 7 && t < 8);  // else the body stands still, but for some noise
    let angle = 0;
    for (let i = 0; i < 300; i++) {
        const time = i / 20, joints = [];
        if (moves(time)) angle += 0.45;
        for (let j = 0; j < 33; j++)
            joints.push([0.1 * (j % 3) + (j > 14 ? 0.3 * Math.sin(angle) : 0) + 0.002 * Math.sin(i * j), 0.05 * j, 0, 1]);
        recorder.frame({ time, joints });
    }
    return { takes, phases };
}"""


def test_hands_free_recording_begins_with_a_movement_and_ends_when_it_stops(context, empty):
    """Two movements in a stream of frames, the body standing still between them: two takes, then
    done.
    """
    told = opened(context, empty).evaluate(HANDS_FREE)
    (first, second) = told["takes"]
    assert 2.6 <= first[0] <= 3.2
    assert 4.4 <= first[1] <= 5.2
    assert 6.6 <= second[0] <= 7.2
    assert 7.9 <= second[1] <= 8.7
    assert told["phases"] == ["count", "wait", "record", "wait", "record", "done"]


def test_two_models_are_compared(context, trained):
    """A second model with other data and one recording more wrong: the page says what changed."""
    home = trained.folder / "__studio__" / "models"
    (first,) = home.glob("2*")
    other = home / "2020-01-01_120000"
    shutil.copytree(first, other)
    figures = json.loads((other / "figures.json").read_text())
    fooled = next(p for p in figures["predictions"] if p["true"] == "kick")
    figures["accuracy"] -= (fooled["said"] == "kick") / 15
    fooled["said"] = "wave"
    figures["labels"]["bow"] = 3
    (other / "figures.json").write_text(json.dumps(figures))
    try:
        page = opened(context, trained, "train")
        told = page.locator(".compare")
        told.wait_for()
        assert "7 points better than before" in told.inner_text()
        assert "The intervals overlap" in told.inner_text()
        rows = {row.split()[0]: row.split() for row in told.locator("tbody tr").all_inner_texts()}
        assert rows["kick"] == ["kick", "4", "/", "5", "5", "/", "5", "+20", "points", "5", "5"]
        assert rows["bow"][-2:] == ["3", "0"]
        told.get_by_role("button", name=fooled["name"].split("/")[-1].removesuffix(".npz")).click()
        page.locator(".label-title h1", has_text="kick").wait_for()
    finally:
        shutil.rmtree(other)


def test_a_mistake_of_the_labels_is_mended_where_it_is_seen(context, trained):
    """The list of mistakes: a recording gets its right label there, and undo takes it back."""
    home = trained.folder / "__studio__" / "models"
    (first,) = home.glob("2*")
    other = home / "2020-01-01_120000"
    shutil.copytree(first, other)
    figures = json.loads((other / "figures.json").read_text())
    fooled = next(p for p in figures["predictions"] if p["true"] == p["said"] == "kick")
    fooled["said"] = "wave"
    k, w = (figures["classes"].index(c) for c in ("kick", "wave"))
    figures["confusion"][k][k] -= 1
    figures["confusion"][k][w] += 1
    (other / "figures.json").write_text(json.dumps(figures))
    trained.post("models/present", name=other.name)
    try:
        page = opened(context, trained, "train")
        page.get_by_role("button", name="× kick taken for wave").click()
        page.get_by_label("It is").fill("wave")
        page.get_by_label("It is").press("Enter")
        page.get_by_text("Labelled wave").wait_for()
        stem = fooled["name"].split("/")[-1]
        assert list(trained.folder.glob(f"wave/*/{stem}"))
        page.locator(".toast").get_by_role("button", name="Undo").click()
        page.get_by_text("Undone: the label of").wait_for()
        assert (trained.folder / fooled["name"]).exists()
    finally:
        trained.post("models/present", name=None)
        shutil.rmtree(other)


def test_several_bodies_have_a_button_each(context, trained):
    """Two people of one stream: one is shown in full, the other with its label; a click changes."""
    from kerneton.studio.live import replayed

    page = opened(context, trained, "live")
    page.get_by_text("Network", exact=True).click()
    for _ in range(600):
        if trained.studio.streams:
            break
        page.wait_for_timeout(50)
    rows = []
    for body, label in (("left", "clap"), ("right", "kick")):
        frames, layout = replayed(trained.studio.library.sequence(f"{label}/bob/{label}-bob.npz"))
        rows += [
            (t, {"time": t, "joints": j.tolist(), "layout": layout.name, "body": body})
            for t, j in frames
        ]
    rows.sort(key=lambda row: row[0])
    data = b"\n".join(json.dumps(row).encode() for _, row in rows)
    assert trained.ask("/api/stream", data)[0] == 200
    bodies = page.get_by_role("group", name="Bodies")
    counted(bodies, "button", 2)
    playwright.expect(bodies.locator("[aria-pressed=true]")).to_have_text(re.compile("Body left"))
    bodies.get_by_role("button", name="Body right").click()
    playwright.expect(bodies.locator("[aria-pressed=true]")).to_have_text(re.compile("Body right"))


def test_suggestions_are_confirmed_with_enter(context, trained):
    page = opened(context, trained, "label")
    page.get_by_role("button", name="Suggest labels").click()
    page.locator(".suggestion", has_text="The model says").or_(
        page.locator(".suggestion", has_text="Unlike")
    ).wait_for()
    before = page.locator(".queue-item").count()
    page.keyboard.press("Enter")
    counted(page, ".queue-item", before - 1)
    page.keyboard.press("Control+z")
    counted(page, ".queue-item", before)


@pytest.mark.parametrize("width", [1400, 400])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(browser, trained, width, theme):
    source = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe is not installed"
    )
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme=theme,
        bypass_csp=True,
        reduced_motion="reduce",
    )
    context.set_default_timeout(WAIT)
    page = opened(context, trained)
    found = []
    for view, ready in (
        ("collect", ".card"),
        ("label", ".label-key"),
        ("train", ".hero"),
        ("live", ".live-setup select"),
        ("share", "pre"),
    ):
        page.goto(f"http://127.0.0.1:{trained.port}/#/{view}")
        page.locator(ready).first.wait_for()
        result = source.Axe().run(page)
        found += [
            (view, v["id"], v["nodes"][0]["html"][:120]) for v in result.response["violations"]
        ]
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, f"{view} is {wide} pixels wide"
        for name in ("Names …", "Repetitions", "Open another folder") if view == "collect" else ():
            if name == "Repetitions":
                page.locator(".card").first.click()
            page.get_by_role("button", name=name).last.click()
            dialog = page.get_by_role("dialog")
            dialog.get_by_role("button", name="Close").wait_for()
            if name == "Repetitions":
                dialog.locator("tbody tr").first.wait_for()
            found += [
                (name, v["id"], v["nodes"][0]["html"][:120])
                for v in source.Axe().run(page).response["violations"]
            ]
            dialog.get_by_role("button", name="Close").click()
    context.close()
    assert found == []


def test_without_the_networks_the_page_says_how_to_get_them(context, tmp_path, monkeypatch):
    monkeypatch.setenv("KERNETON_CACHE", str(tmp_path / "cache"))
    with running(Studio(tmp_path / "studio", eager=False)) as server:
        page = opened(context, server)
        page.get_by_role("button", name="Record").first.click()
        assert "kerneton pose --get" in page.get_by_role("dialog").inner_text()
        page.get_by_role("button", name="Close").click()
        drop(page, {"dance.mp4": b"not really"})
        page.locator(".toast.error", has_text="kerneton pose --get").wait_for()


def test_a_stranger_s_folder_is_shown_and_changed_only_after_a_click(context, folder, tmp_path):
    first = Library(folder)
    first.scan()
    first.annotate("wave/s1/s01_wave_t1.npz", note="theirs")
    first.journal.sync()
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    with running(Studio(copy, eager=False)) as server:
        page = context.new_page()
        page.goto(server.url)
        question = page.get_by_role("alert").filter(
            has_text="not made by the studio on this machine"
        )
        question.wait_for()
        page.wait_for_selector(".card")
        page.get_by_role("button", name="Take it over").click()
        question.wait_for(state="hidden")
        assert server.get("state")["foreign"] is None
        assert server.studio.library.journal.edits == {
            "wave/s1/s01_wave_t1.npz": {"note": "theirs"}
        }


def test_the_lines_for_the_shell_hold_any_folder_as_one_word(context, tmp_path):
    """The shell runs nothing but the command that is shown, whatever the folder is called."""
    root = tmp_path / "O'Neil $(touch x) `touch y`; touch z"
    with running(Studio(root, eager=False)) as server:
        page = opened(context, server, "share")
        text = page.locator(".code pre").last.inner_text()
    work = tmp_path / "work"
    work.mkdir()
    command = 'kerneton() { printf "%s\\n" "$@"; }\n' + text.replace("< frames.jsonl", "")
    done = subprocess.run(
        ["sh", "-c", command], cwd=work, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines().count(str(root)) == 2
    assert not list(work.iterdir())
