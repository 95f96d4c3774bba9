// The camera: its pictures go to Kerneton on this machine, which answers with joints and keeps no picture.
import { clear, h } from "./dom.js";
import { texts } from "./texts.js";
import { store } from "./store.js";
import * as api from "./api.js";

export const QUALITIES = ["lite", "full", "heavy"];
export const quality = () => QUALITIES.find(q => q === localStorage.getItem("kerneton-pose")) ?? "full";
const WIDEST = 640, SHARP = 0.85, ON_THE_WAY = 2; // pixels, quality of JPEG, pictures without an answer
const FEET = 27, LEG = 0.85; // the first joint of the feet, metres from the hips to the floor

export const poseBody = () => ({ ...store.state.camera_body, size: 1.75, flat: false });

const wanted = () => localStorage.getItem("kerneton-camera");

// A choice among the cameras, as soon as the browser tells them apart, which it does once one of them may be used.
export function cameraChoice(onchange) {
  const select = h("select", { "aria-label": texts.whichCamera, onchange: () => { localStorage.setItem("kerneton-camera", select.value); onchange(); } }), node = h("label.field.inline", { hidden: true }, h("span", {}, texts.whichCamera), select);
  return { node, async fill() {
    const found = (await navigator.mediaDevices.enumerateDevices()).filter(d => d.kind === "videoinput" && d.deviceId);
    clear(select, found.map((d, i) => h("option", { value: d.deviceId }, d.label || texts.cameraNumber(i + 1))));
    if (found.some(d => d.deviceId === wanted())) select.value = wanted();
    node.hidden = found.length < 2;
  } };
}

// Points for the stage: x to the right, y up from the floor, z towards the viewer. Feet that are not seen are taken to stand.
export function standing(joints) {
  const seen = joints.filter(p => p[3] > 0).map(p => p[1]), feet = joints.slice(FEET).some(p => p[3] > 0);
  const out = new Float32Array(joints.length * 3), low = Math.min(...seen, feet ? Infinity : -LEG);
  joints.forEach(([x, y, z, c], j) => out.set(c > 0 ? [-x, y - low, -z] : [NaN, NaN, NaN], j * 3));
  return out;
}

// Calls back with every answer, null for a picture without a body. While one picture is worked on the next is encoded, and others
// are skipped, so that answers are as new as the machine can make them.
export class Camera {
  constructor(onresult) { this.onresult = onresult; }
  async open() {
    if (!navigator.mediaDevices?.getUserMedia) throw new Error(texts.noCamera);
    try {
      const size = { width: 640, height: 480, frameRate: 30 }, open = video => navigator.mediaDevices.getUserMedia({ video, audio: false });
      this.stream = wanted() ? await open({ ...size, deviceId: { exact: wanted() } }).catch(() => open(size)) : await open(size); // another one, if that one is gone
    } catch (error) { throw new Error(`${texts.noCamera} (${error.message})`); }
    this.video = Object.assign(document.createElement("video"), { muted: true, playsInline: true, srcObject: this.stream });
    await this.video.play();
    this.canvas = document.createElement("canvas");
    this.socket = api.socket("camera");
    this.socket.onmessage = message => this.hear(JSON.parse(message.data));
    this.socket.onclose = () => { if (this.stream) this.onerror?.(new Error(texts.cameraLost)); };
    this.socket.onopen = () => this.begin();
    for (const track of this.stream.getTracks()) track.onended = () => this.onerror?.(new Error(texts.cameraLost));
    return this.video;
  }
  begin() { // with the estimator that is chosen; answers to older pictures are ignored
    if (this.socket?.readyState !== 1) return;
    this.begun = null;
    this.waiting = 0;
    this.socket.send(JSON.stringify({ pose_model: quality() }));
  }
  hear(told) {
    if (!this.stream) return;
    if (told.error) { this.onerror?.(new Error(told.error)); return; }
    if (told.ready) {
      this.begun = performance.now();
      this.look();
      return;
    }
    if (this.begun === null) return;
    this.waiting--;
    this.onresult(told.joints && { joints: told.joints, time: told.time, at: this.begun + 1000 * told.time, points: standing(told.joints) });
    this.look();
  }
  // The next picture, as soon as there is one and the one before the last is answered.
  look() {
    if (this.looking || !this.stream || this.begun === null || this.waiting >= ON_THE_WAY) return;
    this.looking = true;
    const then = callback => this.video.requestVideoFrameCallback ? this.video.requestVideoFrameCallback(callback) : requestAnimationFrame(callback);
    then(async () => {
      const begun = this.begun, time = (performance.now() - begun) / 1000, picture = await this.picture();
      this.looking = false;
      if (!this.stream || !picture || begun === null || begun !== this.begun) { this.look(); return; }
      const bytes = new Uint8Array(8 + picture.byteLength);
      new DataView(bytes.buffer).setFloat64(0, time, true);
      bytes.set(new Uint8Array(picture), 8);
      this.waiting++;
      this.socket.send(bytes);
      this.look();
    });
  }
  async picture() {
    const { videoWidth, videoHeight } = this.video, share = Math.min(1, WIDEST / Math.max(videoWidth, videoHeight));
    Object.assign(this.canvas, { width: Math.round(videoWidth * share), height: Math.round(videoHeight * share) });
    this.canvas.getContext("2d").drawImage(this.video, 0, 0, this.canvas.width, this.canvas.height);
    const blob = await new Promise(ok => this.canvas.toBlob(ok, "image/jpeg", SHARP));
    return blob && blob.arrayBuffer();
  }
  close() {
    this.stream?.getTracks().forEach(track => track.stop());
    this.stream = null;
    this.socket?.close();
  }
}
