// Executions: the repetitions of a recording with range, tempo and symmetry, and two of them side by side, aligned in time.
import { h, button, clear } from "./dom.js";
import { Player, motionOf } from "./player.js";
import { beep } from "./sound.js";
import { texts } from "./texts.js";
import { complain, name, store } from "./store.js";
import * as api from "./api.js";

const FARTHEST = 0.25; // metres: a joint that is so far away is drawn at full size
let chosen = null; // the execution that others are compared with; it stays while the page is open

const target = key => { const value = localStorage.getItem(`kerneton-target-${key}`); return value === null ? null : Number(value); };
export const targets = () => ({ range: target("range"), count: target("count") });
export const reached = (range, { range: wanted } = targets()) => wanted === null || range === undefined || range === null || range >= wanted;

// Fields for the target: a range in degrees, and how many repetitions; live, a sound tells whether each reaches it.
export function targetFields(onchange = () => {}) {
  const field = (key, text, max) => h("label.field.inline", {}, h("span", {}, text), h("input", { type: "number", min: 0, max, size: 4, value: target(key) ?? "", name: `target-${key}`, onchange: e => {
    if (e.target.value === "") localStorage.removeItem(`kerneton-target-${key}`); else localStorage.setItem(`kerneton-target-${key}`, e.target.value);
    onchange();
  } }));
  return h("div.row", {}, field("range", texts.targetRange, 360), field("count", texts.targetCount, 1000));
}

// The part of a recording as a motion of its own.
const part = (motion, start, stop) => Object.assign(Object.create(Object.getPrototypeOf(motion)), motion, {
  frames: stop - start, seconds: (stop - start) / motion.fps, values: motion.values.subarray(start * motion.n * 3, stop * motion.n * 3),
});

const called = e => e.whole ? name(e.id) : texts.repetitionOf(e.number, name(e.id));

export async function open(id) {
  const record = store.byId.get(id);
  const motion = await motionOf(record), whole = { id, start: 0, stop: record.frames, whole: true };
  const table = h("div.scroll", { tabindex: 0, role: "region", "aria-label": texts.repetitions }), beside = h("div"), about = h("p.quiet", { role: "status" });
  let rows = [];

  const fill = async () => {
    const own = chosen?.id === id && !chosen.whole ? chosen.number - 1 : null;
    const told = await api.post("executions", { id, ...(own === null ? {} : { chosen: own }) });
    rows = told.repetitions;
    about.textContent = rows.length ? texts.repetitionsOf(rows.length, told.angle?.replaceAll("_", " ")) : texts.noRepetitions;
    const columns = texts.repetitionColumns(told.angle?.replaceAll("_", " "), own === null ? null : own + 1), two = rows.some(r => r.left !== undefined);
    clear(table, rows.length ? h("table", {}, h("thead", {}, h("tr", {}, columns.filter((_, i) => (i !== 5 || own !== null) && (i !== 4 || two)).map(c => c ? h("th", { scope: "col" }, c) : h("td", {})))),
      h("tbody", {}, rows.map((r, k) => h(k === own ? "tr.active" : "tr", {},
        h("th", { scope: "row" }, k + 1), h("td.num", {}, `${(r.start / motion.fps).toFixed(1)} s`), h("td.num", {}, texts.tempo(r.seconds)),
        h(r.range === undefined || targets().range === null ? "td.num" : reached(r.range) ? "td.num.better" : "td.num.worse", {}, texts.degrees(r.range, targets().range, reached(r.range))),
        two ? h("td.num", {}, texts.symmetry(r)) : null, own === null ? null : h("td.num", {}, k === own ? "–" : texts.centimetres(r.distance)),
        h("td", {}, h("div.row", {}, button(texts.compareThis, () => compare({ id, start: r.start, stop: r.stop, number: k + 1 }).catch(complain), { "aria-label": texts.compareNumber(k + 1), disabled: !chosen || k === own }),
          button(texts.choose, () => { chosen = { id, start: r.start, stop: r.stop, number: k + 1 }; fill().catch(complain); }, { kind: "quiet", "aria-label": texts.chooseNumber(k + 1), disabled: k === own }))))))) : null);
    clear(reference, chosen ? texts.chosenIs(called(chosen)) : texts.chooseFirst);
    wholeGo.disabled = !chosen || (chosen.id === id && chosen.whole);
  };

  const compare = async other => {
    const first = chosen, told = await api.post("compare", { first: { id: first.id, start: first.start, stop: first.stop }, second: { id: other.id, start: other.start, stop: other.stop } });
    const colors = k => Object.fromEntries(told.names.map((joint, j) => [joint, -Math.min(1, told.moments[k][j] / FARTHEST)]));
    const right = new Player();
    const left = new Player({ onframe: frame => { // the second follows the first, at the same moment of the movement
      const k = Math.min(told.at.length - 1, frame);
      right.moments = () => colors(k);
      right.seek(told.at[k]);
    } });
    right.node.querySelector(".controls").hidden = true;
    clear(beside, h("h3", { tabindex: -1 }, texts.sideBySide(called(first), called(other))), h("p", {}, texts.difference(told)),
      h("div.side-by-side", {}, h("figure", {}, h("figcaption", {}, called(first)), left.node), h("figure", {}, h("figcaption", {}, called(other)), right.node)),
      h("p.quiet", {}, texts.differenceColors(FARTHEST)));
    const motions = await Promise.all([first, other].map(async e => part(await motionOf(store.byId.get(e.id)), e.start, e.stop)));
    right.set(motions[1], { play: false });
    left.set(motions[0]);
    beside.querySelector("h3").focus();
  };

  const reference = h("p", {}), wholeGo = button(texts.compareWhole, () => compare(whole).catch(complain));
  const dialog = h("dialog.record.executions", { "aria-label": texts.executions, onclose: () => dialog.remove() },
    h("header", {}, h("h2", {}, `${texts.executions}: ${name(id)}`), button(texts.close, () => dialog.close(), { kind: "quiet" })),
    about, targetFields(() => { fill().catch(complain); const { range } = targets(); if (range !== null) beep(true); }), table, reference,
    h("div.row", {}, button(texts.chooseWhole, () => { chosen = whole; fill().catch(complain); }), wholeGo), beside);
  document.body.append(dialog);
  dialog.showModal();
  await fill();
  return dialog;
}
