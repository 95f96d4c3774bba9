// Joints are estimated from videos in the page, frame by frame; the video is not uploaded.
import { h, toast, announce } from "./dom.js";
import { estimator } from "./pose.js";
import { texts } from "./texts.js";
import { complain, emit, reload, store } from "./store.js";
import * as api from "./api.js";

const RATE = 15; // frames per second that are used

export async function estimate(videos) {
  if (!store.state.pose) { toast(`${texts.noPose} ${store.state.pose_command}`, { error: true }); return; }
  const bar = h("progress", { max: videos.length, value: 0 }), note = toast(texts.estimating(videos.length), { stay: 0 }), added = [];
  note.append(bar);
  try {
    const pose = await estimator();
    for (const [i, { path, file }] of videos.entries()) {
      const found = await joints(file, pose, share => { bar.value = i + share; });
      const parts = path.split("/"), stem = parts.pop().replace(/\.[^.]+$/, "");
      if (found.joints.length < 2) { toast(texts.nobody(path), { error: true }); continue; }
      const [label, subject] = parts.slice(-2).length === 2 ? parts.slice(-2) : [parts[0] ?? null, null];
      const told = await api.post("recorded", { ...found, name: stem, label, subject, layout: "mediapipe33" });
      added.push(told.id);
    }
    await reload();
    if (added.length) { emit("added", added); announce(texts.added(added.length)); toast(texts.added(added.length)); }
  } catch (error) { complain(error); } finally { note.remove(); }
}

async function joints(file, pose, progress) {
  const video = Object.assign(document.createElement("video"), { muted: true, preload: "auto", src: URL.createObjectURL(file) });
  try {
    await new Promise((ok, no) => { video.onloadeddata = ok; video.onerror = () => no(new Error(texts.noVideo(file.name))); });
    pose.reset();
    const out = { joints: [], times: [] }, length = video.duration;
    for (let t = 0; t < length - 1e-3; t += 1 / RATE) {
      await new Promise(ok => { video.onseeked = ok; video.currentTime = t; });
      const found = await pose.estimate(video);
      if (found) { out.joints.push(found.world); out.times.push(t); }
      progress(t / length);
    }
    return out;
  } finally { URL.revokeObjectURL(video.src); }
}
