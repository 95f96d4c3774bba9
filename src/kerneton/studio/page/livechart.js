// The last seconds, scrolling: segments as blocks, the current one open, and the probability of each answer as a bar.
import { h } from "./dom.js";
import { labelColor } from "./store.js";
import { texts } from "./texts.js";

const SPAN = 15, HEIGHT = 110;

export class LiveChart {
  constructor() {
    this.answers = []; this.segments = []; this.time = 0; this.origin = null;
    this.canvas = h("canvas.livechart", { role: "img", "aria-label": texts.lately });
    this.node = h("div.livechart-box", {}, this.canvas);
    new ResizeObserver(() => this.paint()).observe(this.node);
  }
  clear() { this.answers = []; this.segments = []; this.time = 0; this.origin = null; this.paint(); }
  now(time) { this.time = time; this.origin ??= time; if (!this.waiting) this.waiting = requestAnimationFrame(() => { this.waiting = null; this.paint(); }); }
  settle(segment) { this.segments.push(segment); while (this.segments[0].stop < this.time - 2 * SPAN) this.segments.shift(); }
  push(answer) {
    if (this.answers.length && answer.time < this.answers.at(-1).time) this.clear();
    this.answers.push(answer);
    while (this.answers[0].time < answer.time - 2 * SPAN) this.answers.shift();
    this.now(answer.time);
  }
  judge(doubt) { // answers that are not sure are none of the actions above this limit
    for (const a of this.answers) a.label = !a.sure && a.doubt > doubt ? null : a.nearest;
    this.paint();
  }
  paint() {
    const ratio = Math.min(2, devicePixelRatio || 1), width = this.node.clientWidth, c = this.canvas.getContext("2d");
    if (!width) return;
    if (this.canvas.width !== Math.round(width * ratio)) { this.canvas.width = Math.round(width * ratio); this.canvas.height = HEIGHT * ratio; }
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, width, HEIGHT);
    const css = getComputedStyle(document.documentElement), known = new Map();
    const color = label => {
      if (!known.has(label)) known.set(label, css.getPropertyValue(label === null ? "--bone" : labelColor(label).slice(4, -1)).trim());
      return known.get(label);
    };
    const x = t => width - (this.time - t) / SPAN * width;
    c.strokeStyle = css.getPropertyValue("--line"); c.fillStyle = css.getPropertyValue("--quiet"); c.font = "11px system-ui"; c.lineWidth = 1;
    const begin = this.origin ?? 0; // times of another program may start anywhere
    for (let t = Math.ceil(this.time - begin - SPAN); t <= this.time - begin; t++) {
      const at = x(begin + t);
      c.beginPath(); c.moveTo(at, 0); c.lineTo(at, HEIGHT - 16); c.stroke();
      if (t % 5 === 0 && t >= 0) c.fillText(`${t} s`, at + 3, HEIGHT - 4);
    }
    const block = (from, until, label, text, open) => {
      const left = x(from), size = Math.max(2, x(until) - left - 1);
      c.fillStyle = c.strokeStyle = color(label); c.beginPath(); c.roundRect(left, 8, size, 40, 6);
      if (open) { c.globalAlpha = 0.35; c.fill(); c.globalAlpha = 1; c.setLineDash([4, 3]); c.stroke(); c.setLineDash([]); } else c.fill();
      c.fillStyle = css.getPropertyValue(open ? "--ink" : "--on-strong"); c.font = "600 13px system-ui"; c.save(); c.clip(); c.fillText(text, Math.max(left, 0) + 8, 33); c.restore();
    };
    for (const s of this.segments) if (s.stop > this.time - SPAN) block(s.start, s.stop, s.label, s.repetitions > 1 ? `${s.label} ${s.repetitions}×` : s.label, false);
    const last = this.answers.at(-1);
    if (last?.present) block(last.since, this.time, last.present, `${last.present} …`, true);
    for (const a of this.answers) {
      const size = 34 * a.probability;
      c.fillStyle = color(a.label); c.globalAlpha = a.label === null ? 0.5 : 0.9;
      c.fillRect(x(a.time) - 2, HEIGHT - 18 - size, 3, size);
    }
    c.globalAlpha = 1;
  }
}
