// Train: one button, a progress bar, and the results.
import { h, button, clear, toast } from "./dom.js";
import { compare } from "./compare.js";
import { Player, motionOf } from "./player.js";
import { texts } from "./texts.js";
import { assign, complain, emit, labelColor, name, on, reloadModels, store, undo } from "./store.js";
import * as api from "./api.js";

const AT_ONCE = 4; // recordings of a cell that play at once

const columnHead = text => text ? h("th", { scope: "col" }, text) : h("td", {}); // of buttons

export class Train {
  constructor() {
    this.go = button(texts.train, () => this.start(), { kind: "primary.large" });
    this.stop = button(texts.stop, () => api.post("train/stop").catch(complain), { hidden: true }, "stop");
    this.bar = h("progress.wide", { max: 1, value: 0, "aria-label": texts.trainingProgress, hidden: true });
    this.stage = h("p.quiet", { role: "status" });
    this.ready = h("div");
    this.failed = h("div");
    this.result = h("div.result");
    this.models = h("div.models");
    this.opened = h("div.opened", { "aria-live": "polite" });
    this.node = h("div.train", {}, h("div.train-top", {}, h("div", {}, h("h1", {}, texts.tabs.train), this.ready), h("div.row", {}, this.go, this.stop)), this.bar, this.stage, this.failed, this.result, this.models);
    on("state", before => this.state(before));
    on("recordings", () => this.renderReady());
    on("models", () => { this.renderModels(); this.renderReady(); });
    this.renderReady(); this.renderModels(); this.state({});
  }

  async start() {
    try { this.state({}, await api.post("train")); } catch (error) { complain(error); }
  }

  renderReady() {
    const counts = new Map();
    for (const r of store.recordings) if (r.label) counts.set(r.label, (counts.get(r.label) ?? 0) + 1);
    const enough = counts.size >= 2 && [...counts.values()].every(n => n >= 2);
    this.enough = enough;
    this.go.disabled = !enough || store.state.training?.running;
    const n = [...counts.values()].reduce((a, b) => a + b, 0), last = store.models[0];
    const long = enough && last?.seconds && last.recordings ? last.seconds * n / last.recordings : 0;
    clear(this.ready, counts.size ? h("p.chips", {}, [...counts].sort().map(([label, n]) => h("span.chip", { style: { "--chip": labelColor(label) } }, `${label} ${n}`))) : null,
      long ? h("p.quiet", {}, texts.longTraining(n, long, last)) : null,
      enough ? null : h("p.hint", {}, counts.size < 2 ? texts.needTwoLabels : texts.needTwoEach([...counts].filter(([, n]) => n < 2).map(([l]) => l))));
  }

  state(before, told) {
    const now = told ?? store.state.training ?? {};
    if (told) store.state.training = told;
    this.go.disabled = !this.enough || !!now.running;
    this.stop.hidden = !now.running;
    this.bar.hidden = !now.running;
    // The reason stays until the next training.
    clear(this.failed, !now.running && now.error ? h("div.warning", { role: "alert" }, h("p", {}, h("b", {}, texts.trainingFailed), " ", now.error)) : null);
    if (now.running) {
      this.bar.value = now.share ?? 0;
      const since = now.started ? Math.max(0, Math.round(Date.now() / 1000 - now.started)) : 0; // also after a reload
      this.stage.textContent = `${texts.stages[now.stage] ?? ""}${since > 2 ? ` · ${texts.elapsed(since)}` : ""}`;
    } else if (before?.training?.running) {
      this.stage.textContent = now.stopped ? now.done ? texts.stoppedLate : texts.stopped : now.error ? "" : texts.trained;
      if (now.done) { this.chosen = now.done; emit("trained", now.done); }
    }
  }

  renderModels() {
    const { models } = store;
    const model = models.find(m => m.name === (this.chosen ?? store.present)) ?? models[0];
    clear(this.result, model ? this.results(model) : h("div.empty", {}, h("h2", {}, texts.noModel), h("p", {}, texts.noModelText)));
    clear(this.models, models.length ? [h("h2", {}, texts.models), h("div.scroll", { tabindex: 0, role: "region", "aria-label": texts.models }, h("table", {},
      h("thead", {}, h("tr", {}, texts.modelColumns.map(columnHead))),
      h("tbody", {}, models.map(m => h(m.name === model.name ? "tr.active" : "tr", {},
        h("td", {}, h("input", { value: m.title, placeholder: texts.unnamed, "aria-label": texts.nameModel, maxlength: 80, size: 14, onchange: e => this.entitle(m.name, e.target.value), onkeydown: e => { if (e.key === "Enter") e.target.blur(); } })),
        h("th", { scope: "row" }, h("button.link", { type: "button", onclick: () => { this.chosen = m.name; this.renderModels(); } }, m.date)),
        h("td.num", {}, m.accuracy === undefined ? "–" : texts.percent(m.accuracy)), h("td.num", {}, m.interval ? texts.interval(m.interval) : "–"),
        h("td.num", {}, m.recordings), h("td", {}, Object.keys(m.labels).join(", ")), h("td.num", {}, m.subjects), h("td.num", {}, `${m.seconds} s`),
        h("td", {}, m.name === store.present ? h("b", {}, texts.inUse) : button(texts.use, () => this.use(m.name), { kind: "quiet" }))))))), models.length > 1 ? this.comparison(model) : null] : null);
  }

  comparison(model) {
    const others = store.models.filter(m => m.name !== model.name), older = others.find(m => m.name < model.name) ?? others[0];
    if (!others.some(m => m.name === this.against) && this.against !== "") this.against = older.name;
    const before = others.find(m => m.name === this.against);
    return h("section", {}, h("div.row", {}, h("h2", {}, texts.compare.title), h("label.field.inline", {}, h("span", {}, texts.compareWith),
      h("select", { onchange: e => { this.against = e.target.value; this.renderModels(); } }, h("option", { value: "" }, texts.compareNothing), others.map(m => h("option", { value: m.name, ...(m === before ? { selected: true } : {}) }, `${m.title ? `${m.title} · ` : ""}${m.name.replace("_", " ").replace(/(\d\d)(\d\d)(\d\d)$/, "$1:$2:$3")} · ${m.accuracy === undefined ? "–" : texts.percent(m.accuracy)}`))))),
      before ? compare(model, before, tested => { const record = this.find(tested); if (record) emit("label", record.id); }) : null);
  }

  async entitle(name, title) {
    try { await api.post("models/title", { name, title }); } catch (error) { complain(error); }
    await reloadModels().catch(complain);
  }

  async use(name) {
    try { await api.post("models/present", { name }); await reloadModels(); } catch (error) { complain(error); }
  }

  results(m) {
    const out = [];
    if (m.accuracy !== undefined) out.push(
      h("div.hero", {}, h("p.headline", {}, h("span.big", {}, texts.percentNumber(m.accuracy), h("small", {}, " %"))),
        h("div", {}, h("p", {}, h("b", {}, m.people === "subjects" ? texts.heldOutPeople : texts.heldOutRecordings)), h("p.quiet", {}, texts.ofTested(m.right, m.tested, m.interval, m.over_people)), m.people === "subjects" ? null : h("p.hint", {}, texts.onePerson), m.spotting ? h("p.quiet", {}, texts.spotting(m.spotting)) : null)),
      h("div.beside", {}, this.confusion(m), h("section", {}, h("h2", {}, texts.next), m.next.length ? h("ul", {}, m.next.map(n => h("li", {}, texts.advice(n)))) : h("p", {}, texts.nothingNext),
        h("div.row", {}, h("a.primary", { href: "#/live" }, texts.watchLive), h("a.plain", { href: "#/share" }, texts.tabs.share)))),
      this.opened);
    if (m.notes?.length) out.push(h("details.warning", {}, h("summary", {}, texts.notes(m.notes.length)), h("ul", {}, m.notes.map(n => h("li", {}, n)))));
    clear(this.opened);
    const wrong = (m.predictions ?? []).filter(p => p.true !== p.said);
    if (wrong.length) this.openCell(m, wrong[0].true, wrong[0].said, false);
    return out;
  }

  confusion(m) {
    const most = Math.max(1, ...m.confusion.flat());
    return h("section", {}, h("h2", {}, texts.confusion), h("p.quiet", {}, texts.confusionText), h("div.scroll", { tabindex: 0, role: "region", "aria-label": texts.confusion },
      h(m.classes.length > 6 || m.classes.some(c => c.length > 7) ? "table.matrix.steep" : "table.matrix", {}, h("thead", {}, h("tr", {}, h("td", {}), m.classes.map(c => h("th", { scope: "col", title: c }, h("span", {}, c))))),
        h("tbody", {}, m.classes.map((row, i) => h("tr", {}, h("th", { scope: "row" }, row), m.classes.map((col, j) => {
          const n = m.confusion[i][j];
          return h("td", {}, n ? h(i === j ? "button.cell.right" : "button.cell.wrong", { type: "button", style: { "--share": n / most }, "aria-label": texts.cell(n, row, col), onclick: () => this.openCell(m, row, col, true) }, n) : h("span.cell", {}, "·"));
        })))))));
  }

  find(tested) {
    return store.recordings.find(r => r.id === tested.name || r.id.replace(/\.[a-z0-9]+$/i, "") === tested.name);
  }

  openCell(m, row, col, focus) {
    const there = (m.predictions ?? []).filter(p => p.true === row && p.said === col), rights = (m.predictions ?? []).filter(p => p.true === col && p.said === col);
    const show = (p, caption) => {
      const record = this.find(p);
      if (!record) return h("div.small-player", {}, h("p.quiet", {}, texts.gone(p.name)));
      const player = new Player();
      motionOf(record).then(motion => player.set(motion)).catch(complain);
      return h("figure.small-player", {}, h("figcaption", {}, h("span.chip", { style: { "--chip": labelColor(p.true) } }, caption), " ", name(record.id)), player.node,
        p.true === p.said ? null : relabel(record), h("button.link", { type: "button", onclick: () => emit("label", record.id) }, texts.openTimeline));
    };
    // A mistake of the labels, not of the model: the right one, here.
    const relabel = record => h("label.field.inline", {}, h("span", {}, texts.isA), h("input", { list: "labels", value: record.label ?? "", size: 10, onchange: e => assign([record.id], { label: e.target.value.trim() || null }).then(told => { if (told) toast(texts.labelled(e.target.value.trim() || texts.unlabelled), { action: { text: texts.undo, run: undo } }); }) }));
    const players = h("div.players", {}, there.slice(0, AT_ONCE).map(p => show(p, row)), row !== col && rights.length ? show(rights[0], texts.example(col)) : null);
    let shown = AT_ONCE;
    const more = button(texts.showMore(there.length - shown), () => {
      players.append(...there.slice(shown, shown += AT_ONCE).map(p => show(p, row)));
      more.hidden = there.length <= shown;
      more.querySelector("span").textContent = texts.showMore(there.length - shown);
    }, { hidden: there.length <= shown });
    clear(this.opened, h("h2", { tabindex: -1 }, row === col ? texts.rightOnes(row) : texts.mistakes(row, col)), players, more);
    if (focus) this.opened.querySelector("h2").focus();
  }
}
