// Live: camera, replayed recording or network stream in; label, probability, timeline, counts and colours out.
import { h, button, clear, announce, save, tell } from "./dom.js";
import { Stage } from "./body3d.js";
import { LiveChart } from "./livechart.js";
import { motionOf } from "./player.js";
import { cameraChoice, poseBody, Camera } from "./pose.js";
import { texts } from "./texts.js";
import { reached, targetFields, targets } from "./executions.js";
import { beep, done } from "./sound.js";
import { complain, labelColor, name, on, seconds, store } from "./store.js";
import * as api from "./api.js";

const quantile = (values, share) => [...values].sort((a, b) => a - b)[Math.floor(values.length * share)] ?? 0;

export class Live {
  constructor() {
    this.source = "replay"; this.running = false; this.sent = new Map(); this.delays = []; this.rates = []; this.joints = null; this.colored = true;
    this.canvas = h("canvas.stage.tall", { role: "img", tabindex: 0, "aria-label": texts.stageLabel });
    this.stage = new Stage(this.canvas);
    this.picture = h("div.live-picture", { hidden: true });
    this.chart = new LiveChart();
    this.tabs = h("div.segmented", { role: "radiogroup", "aria-label": texts.source }, ["replay", "camera", "stream"].map(s => h("label", {}, h("input", { type: "radio", name: "source", value: s, checked: s === this.source, onchange: () => this.choose(s) }), h("span", {}, texts.sources[s]))));
    this.setup = h("div.live-setup");
    this.word = h("p.live-word", {}, "–");
    this.sure = h("p.live-sure.quiet", {}, texts.notStarted);
    this.ranked = h("ul.bars");
    this.counts = h("div.tallies", { role: "group", "aria-label": texts.counts });
    this.meters = h("dl.meters", {}, ["delay", "rate", "window"].map(k => h("div", {}, h("dt", {}, texts.meters[k]), h("dd", { "data-k": k }, "–"))));
    this.color = h("label.check", {}, h("input", { type: "checkbox", checked: true, onchange: e => { this.colored = e.target.checked; this.tell({ why: this.colored }); if (!this.colored) this.joints = null; } }), texts.colorJoints);
    const shown = h("output", {}, "0.50");
    this.doubt = Number(localStorage.getItem("kerneton-doubt") ?? 0.5);
    const slide = h("input", { type: "range", min: 0, max: 1, step: 0.05, value: this.doubt, "aria-describedby": "doubt-text", oninput: event => {
      this.doubt = Number(event.target.value);
      localStorage.setItem("kerneton-doubt", this.doubt);
      shown.textContent = this.doubt.toFixed(2);
      this.tell({ doubt: this.doubt });
      this.chart.judge(this.doubt);
      this.effect();
    } });
    shown.textContent = this.doubt.toFixed(2);
    this.effectText = h("p.quiet", { id: "doubt-text" }, texts.doubtText);
    this.limit = h("div.doubt", {}, h("label.field", {}, h("span", {}, texts.doubt, " ", shown), slide), this.effectText);
    this.measures = h("p.quiet", { role: "status" });
    this.aim = h("details", {}, h("summary", {}, texts.aim), h("p.quiet", {}, texts.aimText), targetFields());
    this.legend = h("p.quiet", {}, texts.speaks, " ", h("span.key.for", {}, texts.speaksFor), " ", h("span.key.against", {}, texts.speaksAgainst));
    this.no = h("div");
    this.people = h("div.row", { role: "group", "aria-label": texts.bodies, hidden: true });
    this.node = h("div.live", {}, h("div.live-head", {}, h("h1", {}, texts.tabs.live), this.tabs, this.setup), this.no,
      h("div.live-main", {}, h("div.stage-box.live-stage", {}, this.canvas, this.picture), h("div.live-side", {}, this.people, h("div.live-now", {}, this.word, this.sure, this.ranked), h("h2", {}, texts.counts), this.counts, this.measures, this.aim, this.limit, this.meters, this.color, this.legend)),
      h("h2", {}, texts.lately), this.chart.node, this.outlets());
    on("models", () => { if (this.node.isConnected) this.connect(); });
    on("recordings", () => { if (this.node.isConnected && !this.running) this.renderSetup(); });
    on("state", before => { if (this.source === "stream" && before.stream !== store.state.stream) this.heard?.replaceChildren(texts.heard(store.state.stream)); });
  }

  enter() { this.connect(); this.renderSetup(); this.effect(); }
  leave() { this.stop(); this.socket?.close(); this.socket = null; }

  // What was seen, as a table, and for other programs.
  outlets() {
    const code = texts.toldCode(location.host), copy = button(texts.copyWithToken, () => navigator.clipboard?.writeText(code.replace("THE TOKEN", api.token)).then(() => { copy.querySelector("span").textContent = texts.copied; }).catch(complain), { kind: "quiet" });
    return h("section.outlets", {}, h("h2", {}, texts.seenEvents), h("div.row", {}, button(texts.saveSeen, async () => {
      try { save(`${store.state.name}-seen.csv`, await api.blob("seen")); tell(texts.savedFile(`${store.state.name}-seen.csv`)); } catch (error) { complain(error); }
    }, {}, "down")), h("details", {}, h("summary", {}, texts.toldHow), h("p.quiet", {}, texts.toldText), h("pre", { tabindex: 0 }, code), copy));
  }

  connect() {
    this.socket?.close();
    const socket = this.socket = api.socket("live");
    socket.onmessage = message => { if (socket === this.socket) this.hear(JSON.parse(message.data)); };
    socket.onopen = () => { // a new model during a stream: go on with the new one
      this.tell({ why: this.colored, doubt: this.doubt, source: this.source });
      if (this.running && this.source === "replay") this.tell({ replay: this.replayed });
    };
  }

  tell(message) { if (this.socket?.readyState === 1) this.socket.send(JSON.stringify(message)); }

  choose(source) {
    this.stop();
    this.source = source;
    this.tell({ source });
    this.reset();
    this.renderSetup();
  }

  renderSetup() {
    const start = button(texts.start, () => this.running ? this.stop() : this.start(), { kind: "primary" });
    this.startButton = start;
    if (this.source === "replay") {
      const list = [...store.recordings].sort((a, b) => (a.label !== null) - (b.label !== null) || b.frames - a.frames);
      this.pick = h("select", { "aria-label": texts.recording }, list.map(r => h("option", { value: r.id }, `${name(r.id)} · ${r.label ?? texts.unlabelled} · ${seconds(r).toFixed(1)} s`)));
      if (this.replayed && store.byId.has(this.replayed)) this.pick.value = this.replayed;
      clear(this.setup, this.pick, start);
    } else if (this.source === "camera") {
      this.cameras = cameraChoice(() => { if (this.running) { this.stop(); this.start(); } });
      clear(this.setup, store.state.pose_commands.length ? h("div.warning", {}, h("p", {}, texts.noPose), h("pre", {}, store.state.pose_commands.join("\n"))) : [start, this.cameras.node, h("p.quiet", {}, texts.onlyJoints)]);
    } else {
      this.heard = h("p.quiet", { role: "status" }, texts.heard(store.state.stream ?? 0));
      const code = texts.streamCode(location.origin), copy = button(texts.copyWithToken, () => navigator.clipboard?.writeText(code.replace("THE TOKEN", api.token)).then(() => { copy.querySelector("span").textContent = texts.copied; }).catch(complain), { kind: "quiet" });
      clear(this.setup, this.heard, h("details", {}, h("summary", {}, texts.streamHow), h("pre", { tabindex: 0 }, code), copy));
      this.running = true;
    }
  }

  async start() {
    try {
      this.reset();
      if (this.source === "replay") await this.replay();
      else await this.film();
    } catch (error) { this.stop(); complain(error); }
  }

  reset() {
    this.chart.clear();
    this.who = null; this.bodies = new Map(); this.points = new Map();
    this.renderBodies();
    this.renderCounts({});
    this.sent.clear();
    this.delays = []; this.rates = []; this.joints = null; this.shown = null;
    this.stage.draw(null);
    for (const key of ["delay", "rate"]) this.meter(key, "–");
    this.word.textContent = "–";
    this.word.classList.remove("perhaps");
    this.word.style.removeProperty("--chip");
    clear(this.ranked);
    this.say();
  }
  say() { this.sure.textContent = this.ready === false ? texts.gettingReady : this.running || this.source === "stream" ? texts.filling : texts.notStarted; }

  // The recogniser's process loads a model before its first answer: the replay waits for that.
  async becomeReady() {
    this.say();
    while (!this.ready && this.running && this.socket) await new Promise(ok => setTimeout(ok, 50));
  }

  mark(running) {
    this.running = running;
    this.startButton?.querySelector("span").replaceChildren(running ? texts.stop : texts.start);
    if (running) announce(texts.watching);
  }

  stop() {
    this.camera?.close();
    this.camera = null;
    this.picture.hidden = true;
    clear(this.picture);
    this.turn = (this.turn ?? 0) + 1;
    this.mark(false);
  }

  async replay() {
    const id = this.pick.value, record = store.byId.get(id);
    if (!record) return;
    this.replayed = id;
    const motion = await motionOf(record), turn = this.turn = (this.turn ?? 0) + 1;
    this.tell({ replay: id });
    this.stage.show(motion);
    this.mark(true);
    await this.becomeReady();
    const begin = performance.now();
    let shown = -1;
    const tick = now => {
      if (turn !== this.turn || !this.node.isConnected) return;
      const at = Math.floor((now - begin) / 1000 * motion.fps);
      if (at >= motion.frames) { this.stop(); return; }
      if (at !== shown) {
        shown = at;
        this.count(at / motion.fps);
        this.tell({ at });
        this.chart.now(at / motion.fps);
        this.stage.draw(motion.frame(at), this.joints);
      }
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  async film() {
    this.mark(true);
    this.tell({ source: "camera" });
    const body = poseBody();
    this.stage.show(body);
    this.camera = new Camera(result => {
      if (!result) return;
      const time = result.time;
      this.count(time, result.at);
      this.tell({ time, joints: result.joints, layout: "mediapipe33" });
      this.chart.now(time);
      this.stage.draw(result.points, this.joints);
    });
    this.camera.onerror = error => { this.stop(); complain(error); };
    clear(this.picture, await this.camera.open());
    this.picture.hidden = false;
    await this.cameras?.fill();
  }

  count(time, at = performance.now()) {
    const now = performance.now();
    this.sent.set(time, at);
    if (this.sent.size > 300) this.sent.delete(this.sent.keys().next().value);
    this.rates.push(now);
    while (this.rates.length && now - this.rates[0] > 2000) this.rates.shift();
  }

  // Every frame up to this time has been answered.
  measure(until) {
    const now = performance.now();
    for (const [time, at] of this.sent) {
      if (time > until + 1e-6) break;
      this.delays.push(now - at);
      this.sent.delete(time);
    }
    this.delays.splice(0, this.delays.length - 150);
    if (!this.delays.length) return;
    this.meter("delay", `${Math.round(quantile(this.delays, 0.5))} ms`);
    this.meters.querySelector("[data-k=delay]").title = texts.delayMost(Math.round(quantile(this.delays, 0.95)));
  }

  hear(told) {
    if (told.no_model) { clear(this.no, h("div.warning", {}, h("p", {}, texts.noModelText), h("a.primary", { href: "#/train" }, texts.tabs.train))); return; }
    if (told.model) { clear(this.no); this.meter("window", `${told.window.toFixed(1)} s`); }
    if (told.ready !== undefined) {
      this.ready = told.ready;
      this.say();
      return;
    }
    if (told.error) { this.sure.textContent = told.error; return; }
    if (told.frame) { this.streamed(told.frame); return; }
    if (!this.watches(told)) return;
    for (const segment of told.segments ?? []) {
      this.chart.settle(segment);
      announce(texts.seen(segment.label, segment.repetitions));
    }
    this.measure(told.t);
    if (told.filling !== undefined) { this.sure.textContent = told.hidden ? texts.hidden(told.hidden) : texts.filling; return; }
    this.meter("rate", `${(this.rates.length / 2).toFixed(0)} /s`);
    const none = told.unknown, label = none ? texts.noneOfThese : told.label;
    if (label !== this.shown) { this.word.textContent = label; this.shown = label; this.word.style.setProperty("--chip", none ? "var(--middle)" : labelColor(told.label)); }
    this.word.classList.toggle("perhaps", !none && !told.sure);
    this.sure.textContent = none ? texts.nearest(told.label, told.probability) : told.sure ? texts.probability(told.probability) : texts.perhaps(told.probability);
    clear(this.ranked, (told.ranked ?? []).map(([l, p]) => h("li", {}, h("span", {}, l), h("span.meter", { style: { "--share": p } }, texts.percent(p)))));
    this.renderCounts(told.counts ?? {}, told.present);
    this.measureRepetitions(told);
    this.joints = this.colored ? told.joints ?? null : null;
    this.chart.push({ time: told.t, nearest: told.label, sure: told.sure, doubt: told.doubt, label: none ? null : told.label, probability: told.probability ?? 1, present: told.present, since: told.since });
    this.effect();
  }

  // A sound for each new repetition: high if its range reaches the target, low if not; another one for the last that is wanted.
  measureRepetitions({ present, counts, repetitions }) {
    const rows = repetitions?.repetitions ?? [], last = rows.at(-1), n = present ? counts[present] : 0;
    if (!present || !last) { this.heardOf = null; return; }
    this.measures.textContent = texts.lastRepetition(last, repetitions.angle?.replaceAll("_", " "), targets().range, reached(last.range));
    if (this.heardOf?.label === present && n > this.heardOf.n && (targets().range !== null || targets().count !== null)) {
      if (n === targets().count) done(); else beep(reached(last.range));
    }
    this.heardOf = { label: present, n };
  }

  // Several bodies: one is watched in full, the others have a button with their label.
  watches(told) {
    const now = performance.now();
    this.who ??= told.body;
    this.bodies.set(told.body, { at: now, label: told.filling !== undefined || told.label === undefined ? "…" : told.unknown ? texts.noneOfThese : told.label });
    for (const [who, { at }] of this.bodies) if (now - at > 2000) { this.bodies.delete(who); this.points.delete(who); }
    if (!this.bodies.has(this.who)) this.watch(told.body);
    this.renderBodies();
    return told.body === this.who;
  }

  watch(who) { // the chart and the numbers are those of one body
    this.who = who;
    this.chart.clear();
    this.sent.clear(); this.delays = []; this.rates = []; this.joints = null; this.heardOf = null;
    this.renderBodies();
  }

  renderBodies() {
    const rows = [...this.bodies ?? []].sort(([a], [b]) => a < b ? -1 : 1);
    this.people.hidden = rows.length < 2;
    const key = JSON.stringify([this.who, rows.map(([who, { label }]) => [who, label])]);
    if (this.people.hidden || this.people.dataset.key === key) return;
    this.people.dataset.key = key;
    const focused = document.activeElement?.dataset?.who;
    clear(this.people, rows.map(([who, { label }]) => h("button.plain", { type: "button", "aria-pressed": String(who === this.who), "data-who": who, onclick: () => this.watch(who) }, texts.bodyShows(who, label))));
    if (focused !== undefined) [...this.people.children].find(b => b.dataset.who === focused)?.focus();
  }

  renderCounts(counts, present = null) {
    const total = Object.entries(counts).sort(([a], [b]) => a < b ? -1 : 1);
    clear(this.counts, total.length ? total.map(([l, n]) => h(l === present ? "div.tally.now" : "div.tally", { style: { "--chip": labelColor(l) } }, h("b", {}, n), h("span", {}, l))) : h("span.quiet", {}, texts.noneYet));
  }

  streamed(frame) {
    if (frame.names) {
      this.body = { joints: frame.names, bones: frame.bones, sides: frame.sides, size: 1.8 };
      this.stage.show(this.body);
      this.ground = null;
    }
    const points = new Float32Array(frame.points.length * 3), low = Math.min(...frame.points.map(p => p[1]));
    this.ground = this.ground === null ? low : Math.min(this.ground, low);
    this.middle ??= frame.points[0];
    frame.points.forEach(([x, y, z, c], j) => { const seen = c > 0; points.set(seen ? [this.middle[0] - x, y - this.ground, this.middle[2] - z] : [NaN, NaN, NaN], j * 3); });
    this.points.set(frame.body, points);
    this.who ??= frame.body;
    if (frame.body !== this.who) return;
    this.count(frame.t);
    this.chart.now(frame.t);
    this.stage.draw(points, this.joints, [...this.points].filter(([who, p]) => who !== this.who && p.length === points.length).map(([, p]) => p));
  }

  // What the limit does to the answers of the last seconds.
  effect() {
    const { answers } = this.chart, n = answers.filter(a => a.label !== null).length;
    this.effectText.textContent = answers.length ? texts.doubtEffect(n / answers.length) : texts.doubtText;
  }

  meter(key, text) { this.meters.querySelector(`[data-k=${key}]`).textContent = text; }
}
