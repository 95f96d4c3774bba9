// Segments over time: a curve of the speed of movement, segments with edges that can be dragged, the player's position.
import { h, clear, clock } from "./dom.js";
import { texts } from "./texts.js";
import { labelColor } from "./store.js";

export class Timeline {
  constructor({ onseek, onselect, onedge }) {
    Object.assign(this, { onseek, onselect, onedge, zoom: 1, segments: [], offered: [], chosen: -1, mark: null });
    this.curve = h("canvas.curve", { "aria-hidden": "true" });
    this.bars = h("div.bars-layer", { role: "list", "aria-label": texts.segments });
    this.head = h("div.head", { "aria-hidden": "true" });
    this.pending = h("div.pending", { hidden: true, "aria-hidden": "true" });
    this.ruler = h("div.ruler", { "aria-hidden": "true" });
    this.track = h("div.track", { onpointerdown: e => this.press(e) }, this.curve, this.bars, this.pending, this.head, this.ruler);
    this.node = h("div.timeline", { onwheel: e => this.wheel(e) }, this.track);
    new ResizeObserver(() => this.paint()).observe(this.node);
  }

  set(motion, segments) {
    this.motion = motion;
    this.zoom = 1;
    this.mark = null;
    this.offered = [];
    this.update(segments, -1);
    this.energy = energy(motion);
    this.paint();
    this.at(0);
  }

  update(segments, chosen = this.chosen) {
    this.segments = segments;
    this.chosen = chosen < segments.length ? chosen : -1;
    this.render();
  }

  offer(segments) { this.offered = segments; this.render(); }
  share(frame) { return `${frame / this.motion.frames * 100}%`; }

  render() {
    if (!this.motion) return;
    const fps = this.motion.fps;
    clear(this.bars,
      this.offered.map(s => h("div.segment.offered", { role: "listitem", style: { left: this.share(s.start), width: this.share(s.stop - s.start), "--chip": labelColor(s.label) }, title: texts.suggested(s) }, h("span", {}, `${s.label}?`))),
      this.segments.map((s, i) => h("div" + (i === this.chosen ? ".segment.chosen" : ".segment"), { role: "listitem", style: { left: this.share(s.start), width: this.share(s.stop - s.start), "--chip": labelColor(s.label) } },
        h("button.segment-body", { type: "button", "aria-pressed": String(i === this.chosen), "aria-label": texts.segmentName(s.label ?? texts.noLabel, clock(s.start / fps), clock(s.stop / fps)), onclick: e => { e.stopPropagation(); this.onselect(i); } }, h("span", {}, s.label ?? texts.noLabel)),
        h("span.edge.start", { "data-edge": "start", "data-i": i, title: texts.dragEdge }), h("span.edge.stop", { "data-edge": "stop", "data-i": i, title: texts.dragEdge }))));
  }

  at(frame) {
    if (!this.motion) return;
    this.head.style.left = this.share(frame);
    this.pending.hidden = this.mark === null;
    if (this.mark !== null) {
      const [a, b] = [Math.min(this.mark, frame), Math.max(this.mark, frame) + 1];
      this.pending.style.left = this.share(a);
      this.pending.style.width = this.share(b - a);
    }
    if (this.zoom > 1) {
      const x = frame / this.motion.frames * this.track.clientWidth, { scrollLeft: left, clientWidth: width } = this.node;
      if (x < left + 20 || x > left + width - 40) this.node.scrollLeft = x - width / 3;
    }
  }

  frameAt(event) {
    const box = this.track.getBoundingClientRect();
    return Math.max(0, Math.min(this.motion.frames, Math.round((event.clientX - box.left) / box.width * this.motion.frames)));
  }

  press(event) {
    if (!this.motion || event.button) return;
    const edge = event.target.dataset?.edge;
    if (!edge && event.target.closest(".segment-body")) return;
    event.preventDefault();
    this.track.setPointerCapture(event.pointerId);
    const i = +event.target.dataset?.i, before = this.segments;
    const move = e => {
      const frame = this.frameAt(e);
      if (!edge) { this.onseek(Math.min(frame, this.motion.frames - 1)); return; }
      const s = before[i];
      const changed = edge === "start" ? { ...s, start: Math.min(frame, s.stop - 1) } : { ...s, stop: Math.max(frame, s.start + 1) };
      this.segments = before.map((one, k) => k === i ? changed : one);
      this.chosen = i;
      this.render();
      this.onseek(edge === "start" ? changed.start : changed.stop - 1);
    };
    const up = () => {
      this.track.removeEventListener("pointermove", move);
      if (edge && this.segments !== before) this.onedge(this.segments, i);
    };
    this.track.addEventListener("pointermove", move);
    this.track.addEventListener("pointerup", up, { once: true });
    move(event);
  }

  wheel(event) {
    if (!event.ctrlKey) return;
    event.preventDefault();
    this.scale(event.deltaY < 0 ? 1.25 : 0.8);
  }

  scale(by) {
    this.zoom = Math.max(1, Math.min(40, this.zoom * by));
    this.track.style.width = `${this.zoom * 100}%`;
    this.paint();
  }

  paint() {
    if (!this.motion || !this.node.clientWidth) return;
    const width = Math.min(8000, Math.round(this.track.clientWidth)), height = 96, c = this.curve.getContext("2d");
    this.curve.width = width; this.curve.height = height;
    const css = getComputedStyle(document.documentElement), most = this.energy.most || 1;
    c.fillStyle = css.getPropertyValue("--tint");
    for (let x = 0; x < width; x++) {
      const a = Math.floor(x / width * this.motion.frames), b = Math.max(a + 1, Math.floor((x + 1) / width * this.motion.frames));
      let top = 0;
      for (let t = a; t < b; t++) top = Math.max(top, this.energy.values[t] ?? 0);
      const size = Math.sqrt(Math.min(1, top / most)) * (height - 34);
      c.fillRect(x, height - size, 1, size);
    }
    const steps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 600], want = this.motion.seconds / (width / 90), step = steps.find(s => s >= want) ?? 3600, marks = [];
    for (let t = 0; t <= this.motion.seconds; t += step) marks.push(h("span", { style: { left: `${t / this.motion.seconds * 100}%` } }, t >= 60 ? `${Math.floor(t / 60)}:${String(Math.round(t % 60)).padStart(2, "0")}` : `${+t.toFixed(1)} s`));
    clear(this.ruler, marks);
  }
}

// Speed of the joints in each frame, smoothed; the maximum is a 98 % quantile, without outliers.
function energy(motion) {
  const { frames, n, values, unit } = motion, out = new Float32Array(frames);
  for (let t = 1; t < frames; t++) {
    let sum = 0, count = 0;
    for (let k = 0; k < n * 3; k++) {
      const a = values[(t - 1) * n * 3 + k], b = values[t * n * 3 + k];
      if (a !== -32768 && b !== -32768) { sum += Math.abs(b - a); count++; }
    }
    out[t] = count ? sum / count * unit : 0;
  }
  const smooth = out.map((_, t) => { let s = 0, c = 0; for (let k = Math.max(0, t - 2); k <= Math.min(frames - 1, t + 2); k++) { s += out[k]; c++; } return s / c; });
  return { values: smooth, most: [...smooth].sort((a, b) => a - b)[Math.floor(frames * 0.98)] ?? 1 };
}
