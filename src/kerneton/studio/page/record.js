// Record from the camera: countdown, fixed length or hands-free, several takes in a row.
import { h, button, clear, toast, tell } from "./dom.js";
import { Stage } from "./body3d.js";
import { cameraChoice, Camera, poseBody, quality, QUALITIES } from "./pose.js";
import { tick } from "./sound.js";
import { texts } from "./texts.js";
import { complain, emit, reload, store } from "./store.js";
import * as api from "./api.js";

const MOVES = 0.5, STILL = 0.25, REST = 0.7, BEFORE = 0.3, LONGEST = 60; // m/s, m/s, s, s, s
const FASTEST = 4, SEEN = 0.5, BASE = 0.2; // joints, visibility, s: between the two frames that are compared

// Speed of the body in metres per second: the mean of its fastest joints, so that one hand is enough, without joints
// that the camera does not see, whose estimates change in every frame.
export const speed = (a, b) => {
  const speeds = b.joints.map((p, j) => Math.min(p[3], a.joints[j][3]) < SEEN ? 0 : Math.hypot(...[0, 1, 2].map(k => p[k] - a.joints[j][k])));
  return speeds.sort((p, q) => q - p).slice(0, FASTEST).reduce((sum, v) => sum + v, 0) / FASTEST / Math.max(1e-3, b.time - a.time);
};

export class Recorder {
  constructor({ mode, length, takes, countdown, onstate, ontake }) {
    Object.assign(this, { mode, length, takes, countdown, onstate, ontake, taken: 0, frames: [], recent: [], slow: 0, quiet: 0 });
    this.phase("count");
  }
  phase(name) { this.now = name; this.from = null; this.onstate(name, this); }
  // Called with every frame of the camera, so that times are those of the camera.
  frame(result) {
    if (this.now === "done") return;
    const { time } = result;
    this.from ??= time;
    while (this.recent.length > 1 && time - this.recent[1].time >= BASE) this.recent.shift(); // noise of single frames must not count as movement
    this.slow = this.recent.length ? (this.slow + speed(this.recent[0], result)) / 2 : 0;
    this.recent.push(result);
    if (this.now === "count") {
      this.left = this.countdown - (time - this.from);
      this.onstate("count", this);
      if (this.left <= 0) { this.frames = []; this.phase(this.mode === "hands-free" ? "wait" : "record"); }
    } else if (this.now === "wait") {
      this.frames.push(result);
      while (time - this.frames[0].time > BEFORE) this.frames.shift();
      if (this.slow > MOVES) { this.quiet = 0; this.phase("record"); this.from = time; }
    } else {
      this.frames.push(result);
      const lasted = time - this.from;
      this.quiet = this.slow < STILL ? (this.quiet || time) : 0;
      const over = this.mode === "hands-free" ? this.quiet && time - this.quiet > REST && lasted > 0.5 : lasted >= this.length;
      if (over || lasted > LONGEST) this.finish();
    }
  }
  finish() {
    const end = this.mode === "hands-free" && this.quiet ? this.quiet + 0.2 : Infinity, frames = this.frames.filter(f => f.time <= end);
    this.taken++;
    this.frames = []; this.quiet = 0;
    this.ontake(frames, this.taken);
    if (this.taken >= this.takes) this.phase("done"); else this.phase(this.mode === "hands-free" ? "wait" : "count");
  }
}

export async function open() {
  if (store.state.pose_commands.length) return explain();
  const canvas = h("canvas.stage", { role: "img", "aria-label": texts.stageLabel }), stage = new Stage(canvas), told = h("p.record-told", { role: "status" }, texts.openingCamera), preview = h("div.preview");
  const label = h("input", { list: "labels", value: store.labels[0] ?? "", name: "record-label" }), subject = h("input", { list: "subjects", value: localStorage.getItem("kerneton-subject") ?? "", name: "record-subject" });
  const mode = h("select", {}, h("option", { value: "fixed" }, texts.fixed), h("option", { value: "hands-free" }, texts.handsFree));
  const fine = h("select", { onchange: () => { localStorage.setItem("kerneton-pose", fine.value); camera.begin(); } }, QUALITIES.map(q => h("option", { value: q, ...(q === quality() ? { selected: true } : {}) }, texts.qualities[q])));
  const number = (value, min, max) => h("input", { type: "number", value, min, max, size: 4 });
  const length = number(2, 0.5, 60), takes = number(5, 1, 50), countdown = number(3, 0, 20);
  length.step = 0.5;
  const sound = h("input", { type: "checkbox", name: "record-sound", checked: localStorage.getItem("kerneton-sound") !== "off", onchange: () => localStorage.setItem("kerneton-sound", sound.checked ? "on" : "off") });
  const which = cameraChoice(() => watch());
  const field = (text, input) => h("label.field", {}, h("span", {}, text), input);
  const go = button(texts.startRecording, () => begin(), { kind: "primary", disabled: true }, "camera");
  let recorder = null, kept = 0, saving = Promise.resolve();
  const begin = () => {
    if (recorder && recorder.now !== "done") { recorder = null; go.querySelector("span").textContent = texts.startRecording; told.textContent = ""; return; }
    localStorage.setItem("kerneton-subject", subject.value);
    go.querySelector("span").textContent = texts.stop;
    recorder = new Recorder({
      mode: mode.value, length: +length.value || 2, takes: +takes.value || 1, countdown: +countdown.value || 0,
      onstate: (name, r) => {
        const text = name === "count" ? texts.getReady(Math.max(0, Math.ceil(r.left ?? +countdown.value)), r.taken + 1, r.takes) : texts.phases[name];
        if (told.textContent !== text) {
          told.textContent = text;
          if (sound.checked && (name === "count" || name === "record")) tick(name === "record");
        }
        told.classList.toggle("recording", name === "record");
        if (name === "done") go.querySelector("span").textContent = texts.startRecording;
      },
      ontake: (frames, n) => { saving = saving.then(() => keep(frames, n)); },
    });
  };
  const keep = async (frames, n) => {
    if (frames.length < 4) { toast(texts.tooShort, { error: true }); return; }
    const stamp = new Date().toISOString().slice(0, 19).replace(/[-:]/g, "").replace("T", "-");
    try {
      const answer = await api.post("recorded", { joints: frames.map(f => f.joints), times: frames.map(f => f.time), name: `${label.value || "recording"}-${stamp}-${n}`, label: label.value || null, subject: subject.value || null, layout: "mediapipe33" });
      kept++;
      tell(texts.takeKept(n));
      await reload();
      emit("added", [answer.id]);
    } catch (error) { complain(error); }
  };
  const dialog = h("dialog.record", { "aria-label": texts.record, onclose: () => { camera.close(); recorder = null; dialog.remove(); } },
    h("header", {}, h("h2", {}, texts.record), button(texts.close, () => dialog.close(), { kind: "quiet" })), h("p.quiet", {}, texts.onlyJoints),
    h("div.record-main", {}, h("div.record-view", {}, preview, canvas, told), h("div.record-form", {}, h("div.row", {}, field(texts.label, label), field(texts.subject, subject)), field(texts.mode, mode), h("div.row", {}, field(texts.seconds, length), field(texts.takes, takes), field(texts.countdown, countdown)), field(texts.poseQuality, fine), which.node, h("label.check", {}, sound, texts.countSound), go, h("p.quiet", {}, texts.handsFreeText))));
  document.body.append(dialog);
  dialog.showModal();
  stage.show(poseBody());
  const times = []; // of the last poses
  const camera = new Camera(result => {
    const now = performance.now();
    times.push(now);
    while (now - times[0] > 3000) times.shift();
    go.disabled = false;
    if (!recorder) told.textContent = !result ? texts.nobodySeen : texts.cameraReady(times.length > 1 ? (times.length - 1) * 1000 / (now - times[0]) : 0);
    if (!result) return;
    stage.draw(result.points);
    recorder?.frame(result);
  });
  camera.onerror = error => { told.textContent = error.message; };
  const watch = async () => {
    camera.close();
    try { clear(preview, await camera.open()); await which.fill(); } catch (error) { told.textContent = error.message; }
  };
  await watch();
  return dialog;
}

function explain() {
  const dialog = h("dialog.record", { "aria-label": texts.record, onclose: () => dialog.remove() }, h("h2", {}, texts.noPoseTitle), h("p", {}, texts.noPose), h("pre", {}, store.state.pose_commands.join("\n")), h("p.quiet", {}, texts.noPoseText), button(texts.close, () => dialog.close(), { kind: "primary" }));
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}
