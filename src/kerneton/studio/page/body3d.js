// A skeleton on a canvas: turned by dragging, joints named on hover, left and right in their colours.
import { texts } from "./texts.js";

const MISSING = -32768;

// A recording as the server sends it, with frames as points in metres; NaN where a joint is missing.
export class Motion {
  constructor(told) {
    Object.assign(this, told);
    const bytes = Uint8Array.from(atob(told.points), c => c.charCodeAt(0));
    this.values = new Int16Array(bytes.buffer);
    this.n = told.joints.length;
    this.seconds = this.frames / this.fps;
  }
  frame(at) {
    const i = Math.max(0, Math.min(this.frames - 1, Math.floor(at))), out = new Float32Array(this.n * 3);
    for (let k = 0, from = i * this.n * 3; k < out.length; k++) {
      const value = this.values[from + k];
      out[k] = value === MISSING ? NaN : value * this.unit;
    }
    return out;
  }
  missing(at) {
    const points = this.frame(at), gone = [];
    for (let j = 0; j < this.n; j++) if (Number.isNaN(points[j * 3])) gone.push(this.joints[j]);
    return gone;
  }
}

const palette = () => {
  const css = getComputedStyle(document.documentElement), of = key => css.getPropertyValue(key).trim();
  return { l: of("--left"), r: of("--right"), m: of("--middle"), h: of("--middle"), floor: of("--line"), ink: of("--ink"), bg: of("--bg"),
    for: of("--for"), against: of("--against"), bone: of("--bone"), soft: of("--soft") };
};
let colors = null;
export const forgetColors = () => { colors = null; };

export class Stage {
  constructor(canvas, { turns = true } = {}) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.yaw = -0.45; this.pitch = 0.18; this.zoom = 1;
    this.body = null; this.points = null; this.last = null; this.values = null; this.hover = -1;
    new ResizeObserver(() => this.fit()).observe(canvas);
    if (turns) this.listen();
  }

  // What is shown: names, bones, sides and size of a body; points come with draw().
  show(body) {
    this.body = body;
    this.last = null;
    if (body.flat) { this.yaw = 0; this.pitch = 0; }
    else if (this.pitch === 0 && this.yaw === 0) { this.yaw = -0.45; this.pitch = 0.18; }
  }

  fit() {
    const box = this.canvas.getBoundingClientRect(), ratio = Math.min(2, devicePixelRatio || 1);
    if (!box.width) return;
    this.canvas.width = Math.round(box.width * ratio);
    this.canvas.height = Math.round(box.height * ratio);
    this.ratio = ratio;
    this.redraw();
  }

  listen() {
    const { canvas } = this;
    let from = null;
    canvas.addEventListener("pointerdown", event => {
      from = [event.clientX, event.clientY, this.yaw, this.pitch];
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", event => {
      if (from) {
        this.yaw = from[2] + (event.clientX - from[0]) / 110;
        this.pitch = Math.max(-0.4, Math.min(1.5, from[3] + (event.clientY - from[1]) / 160));
        this.redraw();
      } else this.point(event);
    });
    for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, () => { from = null; });
    canvas.addEventListener("pointerleave", () => { this.hover = -1; this.redraw(); });
    canvas.addEventListener("wheel", event => {
      if (!event.ctrlKey && !event.shiftKey) return;
      event.preventDefault();
      this.zoom = Math.max(0.4, Math.min(4, this.zoom * Math.exp(-event.deltaY / 400)));
      this.redraw();
    }, { passive: false });
    canvas.addEventListener("dblclick", () => { this.yaw = -0.45; this.pitch = 0.18; this.zoom = 1; this.redraw(); });
  }

  turn(yaw, pitch = 0) { this.yaw += yaw; this.pitch = Math.max(-0.4, Math.min(1.5, this.pitch + pitch)); this.redraw(); }

  point(event) {
    if (!this.spots) return;
    const box = this.canvas.getBoundingClientRect(), x = (event.clientX - box.left) * this.ratio, y = (event.clientY - box.top) * this.ratio;
    let best = -1, near = (16 * this.ratio) ** 2;
    this.spots.forEach(([px, py], j) => { const d = (px - x) ** 2 + (py - y) ** 2; if (d < near) { near = d; best = j; } });
    if (best !== this.hover) { this.hover = best; this.redraw(); }
  }

  // `others` are bodies of the same joints, drawn pale.
  draw(points, values = null, others = []) { this.points = points; this.values = values; this.others = others; this.redraw(); }

  project(x, y, z) {
    const cy = Math.cos(this.yaw), sy = Math.sin(this.yaw), cp = Math.cos(this.pitch), sp = Math.sin(this.pitch);
    const across = x * cy + z * sy, near = -x * sy + z * cy, up = y * cp - near * sp;
    const { width, height } = this.canvas, size = this.body?.size || 1.7, scale = this.zoom * Math.min(height * 0.78, width * 0.9) / size;
    return [width / 2 + across * scale, height * 0.5 + (size / 2 * cp - up) * scale, near];
  }

  redraw() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => { this.waiting = null; this.paint(); });
  }

  paint() {
    const { context: c, canvas, body, points } = this;
    if (!this.ratio) return;
    colors ??= palette();
    c.clearRect(0, 0, canvas.width, canvas.height);
    if (!body || !points) return;
    if (!body.flat) this.floor();
    const n = points.length / 3, spots = [], gone = [];
    this.last ??= new Float32Array(points.length).fill(NaN);
    for (let j = 0; j < n; j++) {
      const missing = Number.isNaN(points[j * 3]);
      gone.push(missing);
      if (!missing) this.last.set(points.subarray(j * 3, j * 3 + 3), j * 3);
      spots.push(this.project(this.last[j * 3], this.last[j * 3 + 1], this.last[j * 3 + 2]));
    }
    this.spots = spots;
    const unit = Math.min(canvas.width, canvas.height) / 100 * Math.sqrt(this.zoom);
    c.lineCap = "round";
    c.strokeStyle = colors.bone;
    c.lineWidth = unit * 1.1;
    for (const other of this.others ?? []) for (const [a, b] of body.bones) {
      const [p, q] = [a, b].map(j => this.project(...other.subarray(j * 3, j * 3 + 3)));
      if (Number.isNaN(p[0] + q[0])) continue;
      c.beginPath(); c.moveTo(p[0], p[1]); c.lineTo(q[0], q[1]); c.stroke();
    }
    const order = body.bones.map(([a, b], i) => [i, spots[a][2] + spots[b][2]]).sort((p, q) => p[1] - q[1]);
    for (const [i] of order) {
      const [a, b] = body.bones[i];
      if (Number.isNaN(spots[a][0]) || Number.isNaN(spots[b][0])) continue;
      const lost = gone[a] || gone[b];
      c.strokeStyle = this.values ? colors.bone : colors[body.sides[b]];
      c.globalAlpha = lost ? 0.3 : 1;
      c.setLineDash(lost ? [unit, unit * 2] : []);
      c.lineWidth = unit * (this.values ? 1.1 : 1.7);
      c.beginPath(); c.moveTo(spots[a][0], spots[a][1]); c.lineTo(spots[b][0], spots[b][1]); c.stroke();
    }
    c.setLineDash([]);
    spots.forEach(([x, y], j) => {
      if (Number.isNaN(x)) return;
      const value = this.values?.[body.joints[j]] ?? 0;
      const r = this.values ? unit * (0.7 + 2.4 * Math.sqrt(Math.abs(value))) : unit * (body.sides[j] === "h" && body.joints[j] === "head" ? 3.4 : 1.05);
      c.globalAlpha = gone[j] ? 0.5 : 1;
      c.beginPath(); c.arc(x, y, j === this.hover ? r * 1.6 : r, 0, 7);
      if (gone[j]) { c.strokeStyle = colors.m; c.lineWidth = unit * 0.4; c.stroke(); }
      else { c.fillStyle = this.values ? (value >= 0 ? colors.for : colors.against) : colors[body.sides[j]]; c.fill(); }
    });
    c.globalAlpha = 1;
    if (this.hover >= 0 && this.hover < n) this.name(spots[this.hover], gone[this.hover]);
  }

  floor() {
    const { context: c } = this, reach = Math.ceil((this.body.size || 1.7) * 0.7 / 0.5) * 0.5, step = this.body.size > 20 ? this.body.size / 4 : 0.5;
    const far = this.body.size > 20 ? this.body.size / 2 : Math.max(1, reach);
    c.strokeStyle = colors.floor; c.lineWidth = this.ratio; c.globalAlpha = 0.9;
    for (let t = -far; t <= far + 1e-9; t += step) {
      for (const ends of [[[t, -far], [t, far]], [[-far, t], [far, t]]]) {
        const [p, q] = ends.map(([x, z]) => this.project(x, 0, z));
        c.beginPath(); c.moveTo(p[0], p[1]); c.lineTo(q[0], q[1]); c.stroke();
      }
    }
    c.globalAlpha = 1;
  }

  name([x, y], gone) {
    const { context: c, ratio } = this, value = this.values?.[this.body.joints[this.hover]];
    const text = this.body.joints[this.hover].replaceAll("_", " ") + (gone ? ` (${texts.missing})` : "") + (value === undefined ? "" : ` ${value > 0 ? "+" : ""}${value.toFixed(2)}`);
    c.font = `${13 * ratio}px system-ui, sans-serif`;
    const width = c.measureText(text).width + 14 * ratio, left = Math.max(2, Math.min(this.canvas.width - width - 2, x + 12 * ratio)), top = Math.max(2, y - 32 * ratio);
    c.fillStyle = colors.ink; c.beginPath(); c.roundRect(left, top, width, 24 * ratio, 6 * ratio); c.fill();
    c.fillStyle = colors.bg; c.textBaseline = "middle"; c.fillText(text, left + 7 * ratio, top + 12.5 * ratio);
  }
}
