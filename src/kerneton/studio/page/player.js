// A stage with its controls: play, speed, frame by frame, a slider.
import { Stage, Motion } from "./body3d.js";
import { h, icon, iconButton, clock } from "./dom.js";
import { texts } from "./texts.js";
import * as api from "./api.js";

const SPEEDS = [0.1, 0.25, 0.5, 1, 1.5, 2, 4];
const kept = new Map();

export async function motionOf(record) {
  const key = `${record.id} ${record.frames}`;
  if (!kept.has(key)) {
    kept.set(key, api.get("motion", { id: record.id }).then(told => new Motion(told)));
    if (kept.size > 12) kept.delete(kept.keys().next().value);
    kept.get(key).catch(() => kept.delete(key));
  }
  return kept.get(key);
}

export class Player {
  constructor({ tall = false, onframe = () => {} } = {}) {
    this.at = 0; this.playing = false; this.speed = 1; this.loop = true; this.motion = null; this.onframe = onframe;
    this.canvas = h(tall ? "canvas.stage.tall" : "canvas.stage", { tabindex: 0, role: "img", "aria-label": texts.stageLabel, onkeydown: e => this.turnKeys(e) });
    this.stage = new Stage(this.canvas);
    this.play = iconButton("play", texts.play, () => this.toggle(), { "aria-pressed": "false" });
    this.slider = h("input", { type: "range", min: 0, value: 0, "aria-label": texts.frame, oninput: () => { this.pause(); this.seek(+this.slider.value); } });
    this.clock = h("output.clock", { "aria-hidden": "true" }, "");
    this.rate = h("select", { "aria-label": texts.speed, title: texts.speed, onchange: () => { this.speed = +this.rate.value; } },
      SPEEDS.map(s => h("option", { value: s, ...(s === 1 ? { selected: true } : {}) }, `${s}×`)));
    this.note = h("p.stage-note");
    this.node = h("div.player", {}, h("div.stage-box", {}, this.canvas, this.note),
      h("div.controls", {}, this.play, iconButton("back", texts.frameBack, () => this.step(-1)), iconButton("next", texts.frameNext, () => this.step(1)),
        this.slider, this.clock, this.rate));
  }

  turnKeys(event) {
    const turns = { ArrowLeft: [-0.15, 0], ArrowRight: [0.15, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] }[event.key];
    if (!turns || !event.altKey) return;
    event.preventDefault(); event.stopPropagation();
    this.stage.turn(...turns);
  }

  set(motion, { play = true } = {}) {
    this.motion = motion;
    this.at = 0;
    this.values = this.moments = null;
    this.stage.show(motion);
    this.slider.max = motion.frames - 1;
    this.seek(0);
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (play && !still) this.start(); else this.pause();
  }

  seek(frame) {
    if (!this.motion) return;
    this.at = Math.max(0, Math.min(this.motion.frames - 1e-6, frame));
    const whole = Math.floor(this.at);
    this.stage.draw(this.motion.frame(whole), this.moments ? this.moments(whole / this.motion.frames) : this.values);
    this.slider.value = whole;
    this.slider.setAttribute("aria-valuetext", texts.frameOf(whole + 1, this.motion.frames));
    this.clock.textContent = `${clock(whole / this.motion.fps)} · ${whole + 1}/${this.motion.frames}`;
    const gone = this.motion.missing(whole).length;
    this.note.textContent = gone ? texts.missingJoints(gone, this.motion.n) : "";
    this.onframe(whole);
  }

  get frame() { return Math.floor(this.at); }
  step(by) { this.pause(); this.seek(this.frame + by); }
  faster(by) {
    const i = Math.max(0, Math.min(SPEEDS.length - 1, SPEEDS.indexOf(this.speed) + by));
    this.speed = SPEEDS[i];
    this.rate.value = String(this.speed);
  }
  // Joints coloured by values; while it plays, by those of the moment: `moments` gives them for a share of the recording.
  color(values, moments = null) { this.values = values; this.moments = moments; this.seek(this.at); }
  toggle() { if (this.playing) this.pause(); else this.start(); }

  start() {
    if (!this.motion || this.playing) return;
    if (this.frame >= this.motion.frames - 1) this.at = 0;
    this.playing = true;
    this.marks();
    let before = performance.now();
    const tick = now => {
      if (!this.playing || !this.canvas.isConnected) { this.playing = false; this.marks(); return; }
      const next = this.at + (now - before) / 1000 * this.motion.fps * this.speed;
      before = now;
      if (next >= this.motion.frames) {
        if (!this.loop) { this.seek(this.motion.frames - 1); this.pause(); return; }
        this.seek(0);
      } else this.seek(next);
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }
  pause() { const was = this.playing; this.playing = false; this.marks(); if (was) this.onframe(this.frame); }
  marks() {
    this.play.setAttribute("aria-pressed", String(this.playing));
    this.play.setAttribute("aria-label", this.playing ? texts.pause : texts.play);
    this.play.title = this.playing ? texts.pause : texts.play;
    this.play.replaceChildren(icon(this.playing ? "pause" : "play"));
  }
}
