// The first steps: generated actions, a label, a model, a live label; one card with instructions per step.
import { h, button, clear, announce } from "./dom.js";
import { demo } from "./collect.js";
import { texts } from "./texts.js";
import { complain, on, store } from "./store.js";
import * as api from "./api.js";

const until = test => new Promise(ok => { if (test()) return ok(); const stops = ["state", "models", "recordings"].map(e => on(e, () => { if (test()) { stops.forEach(stop => stop()); ok(); } })); });

const BESIDE = [".grid", ".queue", ".train-top .row", ".result", ".live-now"]; // what each step is about
const GAP = 14;

// Where a card of this size stands beside a part of the page, without covering it if there is room; below all else if not.
export function placed(card, part, room) {
  const across = Math.min(Math.max(GAP, part.left), room.width - card.width - GAP), along = Math.min(Math.max(GAP, part.top), room.height - card.height - GAP);
  if (part.right + GAP + card.width <= room.width) return [part.right + GAP, along];
  if (part.left - GAP - card.width >= 0) return [part.left - GAP - card.width, along];
  if (part.bottom + GAP + card.height <= room.height) return [across, part.bottom + GAP];
  if (part.top - GAP - card.height >= 0) return [across, part.top - GAP - card.height];
  return [(room.width - card.width) / 2, room.height - card.height - GAP];
}

export function tour(app) {
  const box = h("div.tour", { role: "dialog", "aria-label": texts.tour.name });
  let over = false, about = null;
  const stand = () => {
    if (!box.isConnected) return;
    const part = about && document.querySelector(about), room = { width: document.documentElement.clientWidth, height: document.documentElement.clientHeight };
    for (const node of document.querySelectorAll(".toured")) if (node !== part) node.classList.remove("toured");
    part?.classList.add("toured");
    const now = part?.getBoundingClientRect() ?? { left: 0, right: room.width, top: 0, bottom: room.height }, shown = { left: now.left, right: now.right, top: now.top, bottom: Math.min(now.bottom, room.height) };
    const [left, top] = placed(box.getBoundingClientRect(), shown, room);
    box.style.left = `${Math.max(4, left)}px`;
    box.style.top = `${Math.max(4, top)}px`;
  };
  const timer = setInterval(stand, 250); // the page moves while it is filled
  const close = () => { over = true; clearInterval(timer); box.remove(); document.querySelector(".toured")?.classList.remove("toured"); };
  const step = (i, next, wait = null) => new Promise(ok => {
    const [title, text] = texts.tour.steps[i];
    const go = button(next, () => ok(), { kind: "primary", disabled: !!wait });
    const skip = button(texts.tour.leave, close, { kind: "quiet" });
    clear(box, h("p.quiet", {}, texts.tour.count(i + 1, texts.tour.steps.length)), h("h2", { tabindex: -1 }, title), h("p", {}, text), h("div.row", {}, go, skip));
    if (!box.isConnected) document.body.append(box);
    about = BESIDE[i];
    document.querySelector(about)?.scrollIntoView({ block: "nearest" });
    stand();
    announce(`${title}. ${text}`);
    if (wait) wait.then(() => { go.disabled = false; }); else go.focus();
  });
  (async () => {
    location.hash = "#/collect";
    if (!store.recordings.some(r => r.id.includes("long-take"))) await demo();
    await step(0, texts.tour.next);
    if (over) return;
    location.hash = "#/label";
    await step(1, texts.tour.next);
    if (over) return;
    location.hash = "#/train";
    const before = store.models.length;
    await step(2, texts.train);
    if (over) return;
    await api.post("train");
    await step(3, texts.tour.next, until(() => store.models.length > before));
    if (over) return;
    const long = store.recordings.find(r => r.id.includes("long-take"));
    if (long) app.views.live.replayed = long.id;
    location.hash = "#/live";
    setTimeout(() => app.views.live.start(), 600);
    await step(4, texts.tour.done);
    close();
  })().catch(error => { close(); complain(error); });
}
