// A page that runs an exported model: camera or demo → poses → label, body, movements. Nothing leaves the device.
import {load} from "./kerneton.js";
import {Stage} from "./stage.js";
import {openCamera} from "./camera.js";

const element = (id) => document.getElementById(id);
const EXPLAINED = 6; // every so many poses the body is coloured anew: explaining costs as much as predicting
const TIMED = 30; // labels whose time is shown
const UNSEEN = 3; // joints that are named
const SHOWN = 8; // labels with a bar, movements in the list

let model;
let mapping;
let running = null;

async function start() {
  const [loaded, facts] = await Promise.all([load("model.knx"), (await fetch("model.json")).json()]);
  model = loaded;
  mapping = facts.from_camera; // for each joint of the model, the camera's joints whose mean it is; null if it has none
  document.title = `${facts.name} · Kerneton live`;
  element("about").textContent = `${model.labels.length} actions: ${model.labels.join(", ")}.`;
  if (!mapping) complain(`The camera finds a body's joints, and this model needs ${facts.needs}.`);
  element("camera").onclick = () => run(fromCamera);
  element("demo").onclick = () => run(fromDemo);
  element("stop").onclick = () => running?.stop();
  element("camera").disabled = !mapping;
  element("demo").disabled = false; // until here a click would do nothing
}

function complain(sentence) {
  element("trouble").textContent = sentence;
  element("trouble").hidden = !sentence;
}

async function run(source) {
  running?.stop();
  complain("");
  let view;
  const mine = {stop: () => {}, over: false};
  running = mine;
  const buttons = (active) => {
    element("stop").hidden = !active;
    element("camera").hidden = element("demo").hidden = active;
  };
  const stopped = new Promise((resolve) => {
    mine.stop = () => {
      mine.over = true;
      resolve();
    };
  });
  buttons(true);
  try {
    view = new View();
    await source(view, mine, stopped);
  } catch (error) {
    complain(error.message);
  }
  view?.live.close();
  if (running === mine) {
    running = null;
    buttons(false);
    element("picture").hidden = true;
  }
}

// The recordings that came with the page, one after the other, in real time.
async function fromDemo(view, mine, stopped) {
  const {recordings} = await (await fetch("demo.json")).json();
  let clock = 0;
  for (let k = 0; !mine.over; k = (k + 1) % recordings.length) {
    const {label, fps, joints} = recordings[k];
    const width = 3 * model.joints.length;
    const begin = performance.now() / 1000;
    const rest = Math.ceil(1.2 * fps); // stands still, so that the movement ends
    for (let s = 0; s < joints.length / width + rest && !mine.over; s += 1) {
      const at = Math.min(s, joints.length / width - 1) * width;
      const pose = Float32Array.from(joints.slice(at, at + width), (x) => (x === null ? NaN : x / 1000)); // from millimetres
      view.show(clock + s / fps, pose, `recorded as ${label}`);
      const wait = begin + s / fps - performance.now() / 1000;
      await Promise.race([stopped, new Promise((next) => setTimeout(next, Math.max(0, 1000 * wait)))]);
    }
    clock += joints.length / width / fps + 2.5; // a pause: the next recording starts anew
  }
}

async function fromCamera(view, mine, stopped) {
  element("now").textContent = "Opening the camera ...";
  const camera = await openCamera(element("picture"));
  try {
    element("picture").hidden = false;
    while (!mine.over) {
      const found = await Promise.race([stopped, camera.pose()]);
      if (mine.over) break;
      view.show(found.seconds, found.world ? mapped(found.world) : new Float32Array(3 * model.joints.length).fill(NaN));
      await new Promise(requestAnimationFrame);
    }
  } finally {
    camera.close();
  }
}

// The camera's joints as the model's; y up and z towards the viewer, as in the recordings of training.
function mapped(world) {
  const out = new Float32Array(3 * model.joints.length);
  mapping.forEach((sources, j) => {
    const seen = sources.every((k) => world[k][3] > 0.1);
    const mean = (axis) => sources.reduce((sum, k) => sum + world[k][axis], 0) / sources.length;
    out.set(seen ? [mean(0), -mean(1), -mean(2)] : [NaN, NaN, NaN], 3 * j);
  });
  return out;
}

class View {
  constructor() {
    this.live = model.live();
    this.stage = new Stage(element("body"), model.parents);
    this.recent = [];
    this.counts = new Map();
    this.shown = 0;
    this.contributions = null;
    this.times = [];
    element("segments").replaceChildren();
    element("counts").hidden = true;
  }

  show(seconds, pose, remark = "") {
    this.recent.push({seconds, pose});
    while (this.recent.length > 1 && seconds - this.recent[0].seconds > this.window()) this.recent.shift();
    let event;
    const begin = performance.now();
    try {
      event = this.live.push(seconds, pose);
    } catch (error) {
      complain(error.message);
      return;
    }
    complain("");
    if (event.current) this.tell(event.current, remark);
    else this.wait();
    if (event.current) this.time(performance.now() - begin);
    if (event.segment) this.count(event.segment);
    this.shown += 1;
    if (event.current && this.shown % EXPLAINED === 0) this.explain(event.current.label);
    this.stage.draw(pose, event.current && !event.current.isUnknown ? this.contributions : null);
    document.body.dataset.poses = String(this.shown);
  }

  // The median of the last labels, so that a pause of the browser does not count.
  time(milliseconds) {
    this.times.push(milliseconds);
    if (this.times.length < TIMED) return;
    const median = this.times.sort((a, b) => a - b)[TIMED / 2];
    element("cost").textContent = `A label takes ${median < 10 ? median.toFixed(1) : Math.round(median)} ms here.`;
    document.body.dataset.milliseconds = String(median);
    this.times = [];
  }

  window() {
    return Math.max(0.3, model.needsRate ? model.usualSeconds : model.usualSeconds / 30);
  }

  // Why there is no label yet: joints that were not seen in all that time.
  wait() {
    const unseen = model.joints.filter((_, j) => this.recent.every(({pose}) => !Number.isFinite(pose[3 * j])));
    const names = unseen.slice(0, UNSEEN).map((joint) => joint.replaceAll("_", " "));
    const now = element("now");
    if (unseen.length === model.joints.length) now.textContent = "Nobody is in sight.";
    else if (unseen.length) now.textContent = `Step back: ${names.join(", ")}${unseen.length > UNSEEN ? " ..." : ""} not in sight.`;
    else now.textContent = "Watching ...";
    now.classList.add("unknown");
    element("bars").replaceChildren();
  }

  tell(answer, remark) {
    const now = element("now");
    const sure = answer.probabilities ? Math.max(...answer.probabilities) : null;
    const text = answer.isUnknown
      ? "None of these"
      : `${answer.label}${sure === null ? "" : ` · ${Math.round(100 * sure)} %`}`;
    now.textContent = remark ? `${text} (${remark})` : text;
    now.classList.toggle("unknown", answer.isUnknown);
    const values = answer.probabilities ?? answer.decisions;
    const order = Array.from(values.keys()).sort((a, b) => values[b] - values[a]).slice(0, SHOWN);
    element("bars").replaceChildren(
      ...order.map((k) => {
        const row = document.createElement("li");
        const share = Math.max(0, Math.min(1, answer.probabilities ? values[k] : (values[k] + 1) / 2));
        const [name, bar, told] = ["span", "progress", "span"].map((tag) => document.createElement(tag));
        name.className = "name";
        name.textContent = answer.labels[k];
        bar.max = 1;
        bar.value = share;
        bar.setAttribute("aria-label", answer.labels[k]);
        told.className = "share";
        told.textContent = answer.probabilities ? `${Math.round(100 * share)} %` : values[k].toFixed(2);
        row.append(name, bar, told);
        return row;
      }),
    );
  }

  count({label, isUnknown, begin, end}) {
    const name = isUnknown ? "None of these" : label;
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
    const row = document.createElement("li");
    row.textContent = `${name}, ${(end - begin).toFixed(1)} s`;
    element("segments").prepend(row);
    while (element("segments").children.length > SHOWN) element("segments").lastChild.remove();
    const rows = [...this.counts].map(([action, times]) => {
      const line = document.createElement("tr");
      const [head, cell] = [document.createElement("th"), document.createElement("td")];
      head.scope = "row";
      head.textContent = action;
      cell.textContent = String(times);
      line.append(head, cell);
      return line;
    });
    element("counts").tBodies[0].replaceChildren(...rows);
    element("counts").hidden = false;
  }

  explain(label) {
    const frames = this.recent.length;
    if (frames < 5) return;
    const joints = new Float32Array(frames * 3 * model.joints.length);
    this.recent.forEach(({pose}, s) => joints.set(pose, s * pose.length));
    const fps = (frames - 1) / (this.recent[frames - 1].seconds - this.recent[0].seconds);
    try {
      this.contributions = Object.values(model.explain({joints, frames, fps}, label).contributions);
    } catch {
      this.contributions = null; // a joint is missing: the body stays plain
    }
  }
}

start().catch((error) => complain(error.message));
