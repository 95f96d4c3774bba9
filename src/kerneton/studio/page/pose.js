// Pose estimation in the page with MediaPipe from this machine. Images never leave the page; only joints do.
import { texts } from "./texts.js";
import { store } from "./store.js";

let loading = null;

export const QUALITIES = ["lite", "full", "heavy"];
export const quality = () => Math.max(0, QUALITIES.indexOf(localStorage.getItem("kerneton-pose") ?? "full"));

export function estimator(complexity = quality()) {
  loading ??= (async () => {
    if (!store.state.pose) throw new Error(texts.noPose);
    await new Promise((ok, no) => {
      const script = document.createElement("script");
      script.src = "/pose/pose.js";
      script.onload = ok;
      script.onerror = () => no(new Error(texts.noPose));
      document.head.append(script);
    });
    const pose = new globalThis.Pose({ locateFile: file => `/pose/${file}` });
    let found = null;
    pose.onResults(result => { found = result; });
    pose.setOptions({ modelComplexity: complexity, smoothLandmarks: true, minDetectionConfidence: 0.5, minTrackingConfidence: 0.5 });
    await pose.initialize();
    return {
      reset: () => pose.reset(),
      // 33 rows of [x, y, z, visibility] in metres, in MediaPipe's axes, or null if nobody is visible.
      async estimate(image) {
        found = null;
        await pose.send({ image });
        const world = found?.poseWorldLandmarks;
        return world?.length ? { world: world.map(p => [p.x, p.y, p.z, p.visibility ?? 1]), picture: found.poseLandmarks } : null;
      },
    };
  })();
  loading.catch(() => { loading = null; });
  return loading;
}

export const poseBody = () => ({ ...store.state.camera_body, size: 1.75, flat: false });

// Points for the stage: x to the right, y up from the floor, z towards the viewer.
export function standing(world) {
  const low = Math.max(...world.map(p => p[1])), out = new Float32Array(world.length * 3);
  world.forEach(([x, y, z, c], j) => out.set(c > 0.1 ? [x, low - y, -z] : [NaN, NaN, NaN], j * 3));
  return out;
}

// The camera with poses as fast as the machine allows; calls back with every result, null for a frame without a body.
export class Camera {
  constructor(onresult) { this.onresult = onresult; }
  async open() {
    if (!navigator.mediaDevices?.getUserMedia) throw new Error(texts.noCamera);
    try {
      this.stream = await navigator.mediaDevices.getUserMedia({ video: { width: 640, height: 480, frameRate: 30 }, audio: false });
    } catch (error) { throw new Error(`${texts.noCamera} (${error.message})`); }
    this.video = Object.assign(document.createElement("video"), { muted: true, playsInline: true, srcObject: this.stream });
    await this.video.play();
    const pose = await estimator();
    pose.reset();
    this.begin = performance.now();
    this.run(pose);
    return this.video;
  }
  async run(pose) {
    while (this.stream) {
      const time = (performance.now() - this.begin) / 1000;
      try {
        const found = await pose.estimate(this.video);
        if (!this.stream) return;
        this.onresult(found && { ...found, time, points: standing(found.world) });
      } catch (error) { this.onerror?.(error); return; }
      await new Promise(requestAnimationFrame);
    }
  }
  close() { this.stream?.getTracks().forEach(track => track.stop()); this.stream = null; }
}
