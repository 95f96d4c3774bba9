// Label: a queue of recordings, a timeline, and a keyboard that does everything.
import { h, button, clear, iconButton, announce, tell, toast, typing } from "./dom.js";
import { FilmBeside } from "./film.js";
import { Player, motionOf } from "./player.js";
import { Timeline } from "./timeline.js";
import { texts } from "./texts.js";
import { assign, change, complain, labelColor, name, noteProps, on, seconds, store, undo } from "./store.js";
import * as api from "./api.js";

const AT_ONCE = 200; // recordings for whose labels the server is asked at a time

export class Label {
  constructor() {
    this.id = null; this.loaded = Promise.resolve(); this.suggestions = new Map(); this.order = null; this.pendingLabel = null; this.onlyOpen = true;
    this.player = new Player({ tall: true, onframe: frame => { this.timeline?.at(frame); this.film?.at(frame, this.player); } });
    this.film = new FilmBeside();
    this.player.loop = false;
    this.timeline = new Timeline({
      onseek: frame => { this.player.pause(); this.player.seek(frame); }, onselect: i => this.select(i), onedge: (segments, i) => this.store(segments, i),
    });
    this.queue = h("ol.queue", { "aria-label": texts.queue });
    this.queueHead = h("div.queue-head");
    this.title = h("div.label-title", { onkeydown: e => { if (e.key === "Escape" || e.key === "Enter") e.target.blur(); } });
    this.labels = h("div.label-keys", { role: "group", "aria-label": texts.labels });
    this.suggestion = h("div.suggestion", { "aria-live": "polite" });
    this.tools = h("div.timeline-tools", {},
      button(texts.markIn, () => this.markIn(), { title: "I" }), button(texts.markOut, () => this.markOut(), { title: "O" }),
      button(texts.removeSegment, () => this.removeSegment(), { title: "Delete" }),
      button(texts.trim, () => this.trim(), { title: "T" }),
      button(texts.executions, async () => (await import("./executions.js")).open(this.id).catch(complain), { title: texts.executionsTitle }),
      button(texts.findSegments, () => this.findSegments(), {}, "spark"),
      h("span.grow"), iconButton("close", texts.zoomOut, () => this.timeline.scale(0.66)), iconButton("spark", texts.zoomIn, () => this.timeline.scale(1.5)));
    this.tools.querySelectorAll(".icon-button").forEach((b, i) => clear(b, h("span", { "aria-hidden": "true" }, i ? "+" : "−")));
    this.help = h("details.keys", {}, h("summary", {}, texts.keyboard), h("dl", {}, texts.keys.map(([key, what]) => h("div", {}, h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)))));
    this.main = h("section.label-main", { "aria-label": texts.recording }, this.title, h("div.film-beside", {}, this.film.node, this.player.node), this.timeline.node, this.tools, this.labels, this.suggestion, this.help);
    this.side = h("aside.label-side", {}, this.queueHead, this.queue);
    this.empty = h("div.empty", {}, h("h2", {}, texts.nothingToLabel), h("p", {}, texts.nothingToLabelText), h("a.primary", { href: "#/collect" }, texts.tabs.collect));
    this.node = h("div.label", {}, this.side, this.main);
    on("moved", map => { if (map[this.id]) { this.id = map[this.id]; this.remember(); } for (const [old, now] of Object.entries(map)) if (this.suggestions.has(old)) this.suggestions.set(now, this.suggestions.get(old)); });
    on("recordings", () => this.refresh());
    on("models", () => this.renderHead());
    addEventListener("keydown", event => this.keys(event));
  }

  get record() { return store.byId.get(this.id); }
  get segments() { return this.record?.segments ?? []; }
  enter(id) { this.refresh(); const first = (store.byId.has(id) ? id : null) ?? this.id ?? this.list()[0]?.id ?? store.recordings[0]?.id; if (first) this.open(first); }

  list() {
    const own = store.recordings.filter(r => !r.source && (!this.onlyOpen || (r.label === null && !r.segments.length) || r.id === this.id));
    if (!this.order) return own;
    const rank = new Map(this.order.map((id, i) => [id, i]));
    return own.sort((a, b) => (rank.get(a.id) ?? 1e9) - (rank.get(b.id) ?? 1e9));
  }

  refresh() {
    if (!this.node.isConnected && this.id === null) return;
    clear(this.node, store.recordings.length ? [this.side, this.main] : this.empty);
    this.renderHead();
    this.renderQueue();
    if (!this.record) { if (this.node.isConnected && store.recordings.length) this.open(this.list()[0]?.id ?? store.recordings[0].id); return; }
    this.timeline.update(this.segments);
    this.renderLabels();
    if (!this.title.contains(document.activeElement)) this.renderTitle(); // unless an input there has the focus
  }

  renderHead() {
    const open = store.recordings.filter(r => r.label === null && !r.segments.length).length;
    const toggle = h("label.check", {}, h("input", { type: "checkbox", checked: this.onlyOpen, onchange: e => { this.onlyOpen = e.target.checked; this.renderQueue(); } }), texts.onlyUnlabelled(open));
    clear(this.queueHead, h("h2", {}, texts.queue), toggle, store.present ? button(texts.suggest, () => this.suggest(), { kind: "primary", title: texts.suggestTitle }, "spark") : h("p.quiet", {}, texts.suggestLater));
  }

  renderQueue() {
    const list = this.list(), at = Math.max(0, list.findIndex(r => r.id === this.id)), from = Math.max(0, Math.min(at - 60, list.length - 200));
    const others = n => n > 0 ? h("li.quiet.others", {}, texts.more(n)) : null; // of a long list, those around the open one are here
    clear(this.queue, others(from), list.slice(from, from + 200).map(r => {
      const said = this.suggestions.get(r.id), label = r.label ?? (r.segments.length ? texts.segmentsCount(r.segments.length) : said ? `${said.unknown ? texts.noneOfThese : said.label}?` : texts.unlabelled);
      return h("li", {}, h(r.id === this.id ? "button.queue-item.active" : "button.queue-item", { type: "button", "aria-current": r.id === this.id ? "true" : null, onclick: () => { this.open(r.id); if (!matchMedia("(min-width: 60rem)").matches) this.main.scrollIntoView({ block: "start" }); } },
        h("b", {}, name(r.id)), h("span.chip", { style: { "--chip": labelColor(r.label ?? said?.label ?? null) } }, label), h("span.quiet", {}, `${r.subject ?? "–"} · ${seconds(r).toFixed(1)} s`)));
    }), others(list.length - from - 200), list.length ? null : h("li.quiet", {}, texts.allLabelled));
    const active = this.queue.querySelector(".active"), top = active ? active.offsetTop - this.queue.offsetTop : 0; // scrolls the list, never the page
    if (active && (top < this.queue.scrollTop || top + active.offsetHeight > this.queue.scrollTop + this.queue.clientHeight)) this.queue.scrollTop = top - 40;
  }

  renderTitle() {
    const r = this.record;
    clear(this.title, h("h1", {}, name(r.id)), r.label ? h("span.chip", { style: { "--chip": labelColor(r.label) } }, r.label) : null,
      h("label.field.inline", {}, h("span", {}, texts.subject), h("input", { value: r.subject ?? "", list: "subjects", size: 12, onchange: e => assign([this.id], { subject: e.target.value || null }) })),
      h("label.field.inline.wide", {}, h("span", {}, texts.note), h("input", { value: r.note, ...noteProps(() => this.id) })));
  }

  renderLabels() {
    const said = this.suggestions.get(this.id);
    const input = h("input", { placeholder: texts.newLabel, "aria-label": texts.newLabel, list: "labels", size: 14, id: "new-label", onkeydown: e => { if (e.key === "Enter" && input.value.trim()) { this.use(input.value.trim()); input.value = ""; input.blur(); } else if (e.key === "Escape") input.blur(); } });
    clear(this.labels, store.labels.map((label, i) => h("button.label-key", { type: "button", style: { "--chip": labelColor(label) }, "aria-keyshortcuts": i < 9 ? String(i + 1) : null, onclick: () => this.use(label) }, i < 9 ? h("kbd", {}, i + 1) : null, label)), input);
    clear(this.suggestion, said && !this.record.label ? [h("span", {}, said.unknown ? texts.saysUnknown(said.label) : texts.says(said.label, said.probability)), button(texts.confirm, () => this.use(said.label, { next: true }), { title: "Enter" }, "check")] : null);
  }

  async open(id) {
    this.id = id; this.pendingLabel = null; this.timeline.mark = null; this.timeline.chosen = -1;
    const record = this.record;
    if (!record) return;
    this.renderQueue(); this.renderLabels(); this.renderTitle();
    this.remember();
    this.loaded = this.load(record);
    await this.loaded;
  }

  async load(record) {
    const { id } = record;
    try {
      const motion = await motionOf(record);
      if (this.id !== id) return;
      this.film.set(record, motion.fps);
      this.timeline.set(motion, this.segments);
      this.player.set(motion, { play: false });
      this.timeline.at(0);
      announce(texts.opened(name(id), seconds(record)));
    } catch (error) { complain(error); }
  }

  // The address names what is open, so that a reload opens it again.
  remember() { if (this.node.isConnected) history.replaceState(null, "", `#/label/${encodeURIComponent(this.id)}`); }

  go(by) {
    const list = this.list(), at = list.findIndex(r => r.id === this.id), next = list[Math.max(0, Math.min(list.length - 1, at + by))];
    if (next && next.id !== this.id) this.open(next.id);
  }

  // A label was chosen: for the segment being marked, the chosen segment, or the whole recording.
  async use(label, { next = false } = {}) {
    const { timeline, player } = this, segments = this.segments;
    if (timeline.mark !== null) {
      if (this.pendingLabel === label || !player.playing || this.pendingLabel === null) { await this.close(label); return; }
      const from = player.frame, closed = this.close(this.pendingLabel);
      this.begin(Math.min(from + 1, player.motion.frames - 1), label); // at once: the next key must not wait for the server
      await closed;
      return;
    }
    if (timeline.chosen >= 0) { await this.store(segments.map((s, i) => i === timeline.chosen ? { ...s, label } : s), timeline.chosen); return; }
    if (player.playing) { this.begin(player.frame, label); return; }
    if (segments.length) { tell(texts.markFirst); return; }
    const before = this.list(), at = before.findIndex(r => r.id === this.id), following = before[at + 1]?.id ?? before[at - 1]?.id;
    const done = assign([this.id], { label });
    this.record.label = label; // shown at once, so that the next key is for the next recording
    if ((next || this.onlyOpen) && following && store.byId.has(following)) this.open(following);
    else { this.renderQueue(); this.renderTitle(); }
    if (await done) tell(texts.labelled(label));
  }

  begin(frame, label = null) { this.timeline.mark = frame; this.pendingLabel = label; this.timeline.at(this.player.frame); tell(texts.marking(label)); }
  markIn() { this.begin(this.player.frame, null); }
  async markOut() { if (this.timeline.mark === null) tell(texts.markInFirst); else await this.close(this.pendingLabel ?? this.lastLabel ?? null); }

  async close(label) {
    const a = this.timeline.mark, b = this.player.frame, segment = { start: Math.min(a, b), stop: Math.max(a, b) + 1, label };
    this.timeline.mark = null; this.pendingLabel = null;
    this.lastLabel = label;
    const segments = [...this.segments, segment].sort((p, q) => p.start - q.start);
    await this.store(segments, segments.indexOf(segment));
    tell(texts.segmentMade(label));
  }

  async store(segments, chosen) {
    this.timeline.update(segments, chosen);
    if (this.record) this.record.segments = segments;
    await change("annotate", { id: this.id, segments: segments.map(({ start, stop, label }) => ({ start, stop, label: label ?? null })) }).catch(() => this.refresh());
  }

  select(i) {
    this.timeline.chosen = i;
    this.timeline.render();
    const s = this.segments[i];
    if (s) { this.player.pause(); this.player.seek(s.start); }
  }

  async removeSegment() {
    const i = this.timeline.chosen;
    if (i < 0) return;
    await this.store(this.segments.filter((_, k) => k !== i), Math.min(i, this.segments.length - 2));
  }

  // Keeps the marked part, or the chosen segment, and with it the segments inside.
  async trim() {
    const { timeline, player } = this, chosen = this.segments[timeline.chosen], at = player.frame;
    if (timeline.mark === null && !chosen) { tell(texts.trimFirst); return; }
    const [start, stop] = timeline.mark === null ? [chosen.start, chosen.stop] : [Math.min(timeline.mark, at), Math.max(timeline.mark, at) + 1];
    timeline.mark = null; this.pendingLabel = null; timeline.chosen = -1;
    const told = await change("trim", { id: this.id, start, stop }).catch(() => null);
    if (!told || !this.record) return;
    await this.open(this.id);
    toast(texts.trimmed(stop - start), { action: { text: texts.undo, run: undo } });
  }

  async moveEdge(edge) {
    const i = this.timeline.chosen, s = this.segments[i], at = this.player.frame;
    if (!s) return;
    const changed = edge === "start" ? { ...s, start: Math.min(at, s.stop - 1) } : { ...s, stop: Math.max(at + 1, s.start + 1) };
    await this.store(this.segments.map((one, k) => k === i ? changed : one), i);
  }

  async findSegments() {
    if (!store.present) { tell(texts.suggestLater); return; }
    try {
      const { segments } = await api.post("segments", { id: this.id });
      this.timeline.offer(segments);
      clear(this.suggestion, h("span", {}, texts.foundSegments(segments.length)), segments.length ? button(texts.takeAll, async () => {
        const free = segments.filter(s => !this.segments.some(o => o.start < s.stop && s.start < o.stop));
        this.timeline.offer([]);
        await this.store([...this.segments, ...free.map(({ start, stop, label }) => ({ start, stop, label }))].sort((a, b) => a.start - b.start), -1);
      }, { kind: "primary" }, "check") : null);
    } catch (error) { complain(error); }
  }

  async suggest() {
    const ids = store.recordings.filter(r => r.label === null && !r.segments.length && !r.source).map(r => r.id);
    try {
      const told = { suggestions: [], long: [] };
      for (let i = 0; i < ids.length; i += AT_ONCE) { // all of them, in parts
        const some = await api.post("suggest", { ids: ids.slice(i, i + AT_ONCE) });
        told.suggestions.push(...some.suggestions);
        told.long.push(...some.long);
        if (ids.length > AT_ONCE) tell(texts.suggesting(Math.min(i + AT_ONCE, ids.length), ids.length));
      }
      told.suggestions.sort((a, b) => b.unknown - a.unknown || a.margin - b.margin);
      this.suggestions = new Map(told.suggestions.map(s => [s.id, s]));
      this.order = [...told.suggestions.map(s => s.id), ...told.long];
      this.renderQueue();
      document.activeElement?.blur(); // so that Enter confirms the suggestion
      if (this.order.length) this.open(this.order[0]);
      if (!matchMedia("(min-width: 60rem)").matches) this.main.scrollIntoView({ block: "start" });
      tell(texts.suggestionsReady(told.suggestions.length));
    } catch (error) { complain(error); }
  }

  keys(event) {
    if (!this.node.isConnected || typing(event) || document.querySelector("dialog[open]")) return;
    const { player, timeline } = this, by = event.shiftKey ? 10 : 1, key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (event.ctrlKey || event.metaKey || (event.altKey && key.startsWith("Arrow"))) return;
    if (event.target.tagName === "BUTTON" && (key === " " || key === "Enter") && !event.target.classList.contains("segment-body")) return;
    const jump = way => {
      const edges = this.segments.flatMap(s => [s.start, s.stop - 1]).sort((a, b) => a - b), to = way > 0 ? edges.find(e => e > player.frame) : edges.reverse().find(e => e < player.frame);
      if (to !== undefined) { player.pause(); player.seek(to); }
    };
    const choose = way => { const n = this.segments.length; if (n) this.select((timeline.chosen + way + n) % n); };
    const actions = {
      " ": () => player.toggle(), ArrowLeft: () => player.step(-by), ArrowRight: () => player.step(by), Home: () => player.seek(0), End: () => player.seek(1e9),
      i: () => event.shiftKey ? this.moveEdge("start") : this.markIn(), o: () => event.shiftKey ? this.moveEdge("stop") : this.markOut(),
      Delete: () => this.removeSegment(), Backspace: () => this.removeSegment(), Escape: () => { timeline.mark = null; this.pendingLabel = null; timeline.chosen = -1; timeline.render(); timeline.at(player.frame); },
      t: () => this.trim(), "[": () => jump(-1), "]": () => jump(1), ArrowUp: () => choose(-1), ArrowDown: () => choose(1), n: () => this.go(1), p: () => this.go(-1),
      ",": () => player.faster(-1), ".": () => player.faster(1), "+": () => timeline.scale(1.5), "-": () => timeline.scale(0.66),
      l: () => document.getElementById("new-label")?.focus(), Enter: () => { const said = this.suggestions.get(this.id); if (said) this.use(said.label, { next: true }); },
    };
    const digit = /^[1-9]$/.test(key) ? store.labels[+key - 1] : null;
    if (!actions[key] && !digit) return;
    event.preventDefault();
    this.loaded.then(() => { if (digit) this.use(digit); else actions[key](); }); // keys wait for a recording that is being opened
  }
}
