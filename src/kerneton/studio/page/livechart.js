// The last seconds as they scroll by: confirmed labels as blocks, how sure each answer was as a line.
import { h } from "./dom.js";
import { labelColor } from "./store.js";
import { texts } from "./en.js";

const SPAN = 15, HEIGHT = 110;

export class LiveChart {
  constructor() {
    this.answers = []; this.time = 0;
    this.canvas = h("canvas.livechart", { role: "img", "aria-label": texts.lately });
    this.node = h("div.livechart-box", {}, this.canvas);
    new ResizeObserver(() => this.paint()).observe(this.node);
  }
  clear() { this.answers = []; this.paint(); }
  now(time) { this.time = time; if (!this.waiting) this.waiting = requestAnimationFrame(() => { this.waiting = null; this.paint(); }); }
  push(time, label, probability, present) {
    if (this.answers.length && time < this.answers.at(-1).time) this.answers = [];
    this.answers.push({ time, label, probability, present });
    while (this.answers.length && this.answers[0].time < time - 2 * SPAN) this.answers.shift();
    this.now(time);
  }
  color(label) {
    const name = label === null ? "--bone" : labelColor(label).slice(4, -1);
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }
  paint() {
    const ratio = Math.min(2, devicePixelRatio || 1), width = this.node.clientWidth, c = this.canvas.getContext("2d");
    if (!width) return;
    if (this.canvas.width !== Math.round(width * ratio)) { this.canvas.width = Math.round(width * ratio); this.canvas.height = HEIGHT * ratio; }
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, width, HEIGHT);
    const css = getComputedStyle(document.documentElement), x = t => width - (this.time - t) / SPAN * width;
    c.strokeStyle = css.getPropertyValue("--line"); c.fillStyle = css.getPropertyValue("--quiet"); c.font = "11px system-ui"; c.lineWidth = 1;
    for (let t = Math.ceil(this.time - SPAN); t <= this.time; t++) { c.beginPath(); c.moveTo(x(t), 0); c.lineTo(x(t), HEIGHT - 16); c.stroke(); if (t % 5 === 0 && t >= 0) c.fillText(`${t} s`, x(t) + 3, HEIGHT - 4); }
    let block = null;
    const draw = until => {
      if (!block || block.label === null) return;
      const left = x(block.from), right = x(until);
      c.fillStyle = this.color(block.label); c.beginPath(); c.roundRect(left, 8, Math.max(2, right - left - 1), 40, 6); c.fill();
      c.fillStyle = css.getPropertyValue("--on-strong"); c.font = "600 13px system-ui"; c.save(); c.clip(); c.fillText(block.label, Math.max(left, 0) + 8, 33); c.restore();
    };
    for (const a of this.answers) { if (!block || a.present !== block.label) { draw(a.time); block = { from: a.time, label: a.present }; } }
    draw(this.time);
    for (const a of this.answers) {
      const size = 34 * a.probability;
      c.fillStyle = this.color(a.label); c.globalAlpha = a.label === null ? 0.5 : 0.9;
      c.fillRect(x(a.time) - 2, HEIGHT - 18 - size, 3, size);
    }
    c.globalAlpha = 1;
  }
}
