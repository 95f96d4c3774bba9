// Collect: everything in the folder, ways to add more, and one recording in full.
import { h, button, clear, icon, toast } from "./dom.js";
import { Grid } from "./grid.js";
import { Detail } from "./detail.js";
import { choose } from "./drop.js";
import { texts } from "./texts.js";
import { assign, change, complain, emit, on, store, reload, undo } from "./store.js";
import * as api from "./api.js";

export class Collect {
  constructor() {
    this.filters = { text: "", label: "", subject: "", quality: "" };
    this.detail = new Detail();
    this.grid = new Grid({ onopen: id => this.detail.open(id), onpress: () => { if (!matchMedia("(min-width: 60rem)").matches) this.detail.node.scrollIntoView({ block: "start" }); }, onselect: selected => this.bulk(selected) });
    this.search = h("input", { type: "search", placeholder: texts.search, "aria-label": texts.search, oninput: () => { this.filters.text = this.search.value; this.show(); } });
    const select = (key, label) => h("select", { "aria-label": label, onchange: event => { this.filters[key] = event.target.value; this.show(); } });
    this.selects = { label: select("label", texts.label), subject: select("subject", texts.subject), quality: select("quality", texts.quality) };
    this.count = h("p.quiet.count", { role: "status" });
    this.bulkBar = h("div.bulk", { hidden: true });
    this.broken = h("div");
    this.add = h("div.toolbar", {},
      button(texts.addFiles, () => choose(), { kind: "primary" }, "file"), button(texts.addFolder, () => choose({ folder: true }), {}, "folder"),
      button(texts.record, async () => (await import("./record.js")).open(), {}, "camera"),
      button(texts.names, async () => (await import("./names.js")).open((field, name) => this.only(field, name)), { kind: "quiet" }));
    this.list = h("div.list", {}, h("h1.unseen", {}, texts.tabs.collect), this.add, h("div.filters", {}, this.search, Object.values(this.selects)), this.count, this.broken, this.bulkBar, this.grid.node);
    this.welcome = this.makeWelcome();
    this.node = h("div.collect", {});
    on("recordings", () => this.show());
    on("state", () => this.counts());
    on("moved", map => {
      Grid.moved(map);
      this.grid.selected = new Set([...this.grid.selected].map(id => map[id] ?? id));
      if (map[this.grid.active]) this.grid.active = map[this.grid.active];
    });
    on("added", ids => { const first = ids.find(id => store.byId.has(id)); if (first) { this.grid.selected = new Set([first]); this.grid.go(first, { scroll: true }); } });
    this.show();
  }

  makeWelcome() {
    const way = (mark, title, text, ...buttons) => h("div.way", {}, h("div.way-icon", {}, icon(mark)), h("h2", {}, title), h("p", {}, text), h("div.row", {}, buttons));
    return h("div.welcome", {}, h("h1", {}, texts.welcome), h("p.lead", {}, texts.welcomeText),
      h("div.ways", {},
        way("file", texts.wayFiles, texts.wayFilesText, button(texts.addFiles, () => choose(), { kind: "primary" }), button(texts.addFolder, () => choose({ folder: true }))),
        way("camera", texts.wayCamera, texts.wayCameraText, button(texts.record, async () => (await import("./record.js")).open(), { kind: "primary" })),
        way("spark", texts.wayDemo, texts.wayDemoText, button(texts.takeTour, () => emit("tour"), { kind: "primary" }), button(texts.onlyDemo, demo))),
      h("p.quiet", {}, texts.formats));
  }

  matches(r) {
    const { text, label, subject, quality } = this.filters;
    if (label && (label === "\u0000" ? r.label !== null : r.label !== label)) return false;
    if (subject && (subject === "\u0000" ? r.subject !== null : r.subject !== subject)) return false;
    if (quality && !(quality === "any" ? r.warnings.length : quality === "none" ? !r.warnings.length : r.warnings.includes(quality))) return false;
    const found = `${r.id} ${r.label ?? ""} ${r.subject ?? ""} ${r.note}`.toLowerCase();
    return text.toLowerCase().split(/\s+/).every(word => found.includes(word));
  }

  show() {
    if (!store.ready) return;
    const empty = !store.recordings.length && !store.state.trouble && !Object.keys(store.broken).length && !(store.state.scan?.[1] > 0 && store.state.scan[0] < store.state.scan[1]);
    clear(this.node, empty ? this.welcome : [this.list, this.detail.node]);
    if (empty) return;
    const count = key => store.recordings.reduce((m, r) => m.set(r[key], (m.get(r[key]) ?? 0) + 1), new Map());
    const choices = (key, all, none) => {
      const counts = count(key), select = this.selects[key], values = [...counts.keys()].filter(v => v !== null).sort();
      clear(select, h("option", { value: "" }, all), counts.has(null) ? h("option", { value: "\u0000" }, `${none} (${counts.get(null)})`) : null, values.map(v => h("option", { value: v }, `${v} (${counts.get(v)})`)));
      select.value = this.filters[key];
      if (select.selectedIndex < 0) { this.filters[key] = ""; select.value = ""; }
    };
    choices("label", texts.allLabels, texts.unlabelled);
    choices("subject", texts.allSubjects, texts.noSubject);
    const codes = new Set(store.recordings.flatMap(r => r.warnings)), quality = this.selects.quality;
    clear(quality, h("option", { value: "" }, texts.anyQuality), h("option", { value: "none" }, texts.noWarnings), h("option", { value: "any" }, texts.withWarnings), [...codes].map(c => h("option", { value: c }, texts.warnings[c])));
    quality.value = this.filters.quality;
    if (quality.selectedIndex < 0) { this.filters.quality = ""; quality.value = ""; }
    const items = store.recordings.filter(r => this.matches(r));
    this.grid.set(items);
    this.counts();
    const broken = Object.entries(store.broken);
    clear(this.broken, broken.length ? h("details.warning", {}, h("summary", {}, texts.broken(broken.length)), h("ul", {}, broken.slice(0, 500).map(([, why]) => h("li", {}, why)), broken.length > 500 ? h("li.quiet", {}, texts.more(broken.length - 500)) : null)) : null);
    if (!this.grid.active && items.length && matchMedia("(min-width: 60rem)").matches) { this.grid.selected = new Set([items[0].id]); this.grid.go(items[0].id); }
    this.bulk(this.grid.selected);
  }

  // One label, or person, alone: some of its recordings get another name.
  only(field, name) {
    Object.assign(this.filters, { text: "", label: "", subject: "", quality: "", [field]: name });
    this.search.value = "";
    this.show();
    this.grid.node.focus();
    toast(texts.splitHow(name));
  }

  counts() {
    const [done, total] = store.state.scan ?? [0, 0];
    this.count.textContent = done < total ? texts.reading(done, total) : texts.shown(this.grid.items.length, store.recordings.length, store.labels.length, store.subjects.length);
  }

  bulk(selected) {
    this.bulkBar.hidden = selected.size < 2;
    if (selected.size < 2) return;
    const ids = [...selected], label = h("input", { list: "labels", "aria-label": texts.label, placeholder: texts.label }), subject = h("input", { list: "subjects", "aria-label": texts.subject, placeholder: texts.subject });
    const apply = () => {
      const fields = {};
      if (label.value.trim()) fields.label = label.value;
      if (subject.value.trim()) fields.subject = subject.value;
      if (Object.keys(fields).length) assign(ids, fields);
    };
    for (const input of [label, subject]) input.addEventListener("keydown", event => { if (event.key === "Enter") apply(); });
    clear(this.bulkBar, h("b", {}, texts.selected(ids.length)), label, subject, button(texts.apply, apply, { kind: "primary" }),
      button(texts.remove, () => change("remove", { ids }).then(() => toast(texts.removed(ids.length), { action: { text: texts.undo, run: undo } })).catch(() => {}), { kind: "quiet" }, "trash"));
  }
}

export async function demo() {
  try {
    const told = await api.post("demo");
    await reload();
    emit("added", told.added);
  } catch (error) { complain(error); }
}
