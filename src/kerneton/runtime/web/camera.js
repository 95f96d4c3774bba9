// Camera → poses, by MediaPipe's package in the folder pose/ beside this page. Pictures stay in the page.
const MISSING =
  "The camera needs the package @mediapipe/pose in the folder pose/ beside this page: kerneton export --pose FOLDER puts it there.";

let estimator = null;

function load() {
  estimator ??= (async () => {
    await new Promise((ready, failed) => {
      const script = document.createElement("script");
      script.src = "pose/pose.js";
      script.onload = ready;
      script.onerror = () => failed(new Error(MISSING));
      document.head.append(script);
    });
    const pose = new globalThis.Pose({locateFile: (file) => `pose/${file}`});
    pose.setOptions({modelComplexity: 1, smoothLandmarks: true, minDetectionConfidence: 0.5, minTrackingConfidence: 0.5});
    await pose.initialize();
    return pose;
  })();
  estimator.catch(() => (estimator = null));
  return estimator;
}

export async function openCamera(video) {
  const devices = navigator.mediaDevices;
  if (!devices?.getUserMedia) throw new Error("Browsers give the camera only to pages from https or localhost.");
  let stream;
  try {
    stream = await devices.getUserMedia({video: {width: 640, height: 480, frameRate: 30, facingMode: "user"}, audio: false});
  } catch (error) {
    throw new Error(`The camera cannot be opened: ${error.message}`);
  }
  const close = () => {
    stream.getTracks().forEach((track) => track.stop());
    video.srcObject = null;
  };
  try {
    video.srcObject = stream;
    await video.play();
    const pose = await load();
    pose.reset();
    let world = null;
    pose.onResults((result) => (world = result.poseWorldLandmarks ?? null));
    const begin = performance.now();
    return {
      close,
      // 33 joints [x, y, z, visibility] in metres, or no world where nobody is seen.
      async pose() {
        const seconds = (performance.now() - begin) / 1000;
        world = null;
        await pose.send({image: video});
        return {seconds, world: world?.map((p) => [p.x, p.y, p.z, p.visibility ?? 1]) ?? null};
      },
    };
  } catch (error) {
    close();
    throw error;
  }
}
