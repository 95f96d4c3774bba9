// The first steps: generated actions, a label, a model, a live label; one card with instructions per step.
import { h, button, clear, announce } from "./dom.js";
import { demo } from "./collect.js";
import { texts } from "./texts.js";
import { complain, on, store } from "./store.js";
import * as api from "./api.js";

const until = test => new Promise(ok => { if (test()) return ok(); const stops = ["state", "models", "recordings"].map(e => on(e, () => { if (test()) { stops.forEach(stop => stop()); ok(); } })); });

export function tour(app) {
  const box = h("div.tour", { role: "dialog", "aria-label": texts.tour.name });
  let over = false;
  const close = () => { over = true; box.remove(); };
  const step = (i, next, wait = null) => new Promise(ok => {
    const [title, text] = texts.tour.steps[i];
    const go = button(next, () => ok(), { kind: "primary", disabled: !!wait });
    const skip = button(texts.tour.leave, close, { kind: "quiet" });
    clear(box, h("p.quiet", {}, texts.tour.count(i + 1, texts.tour.steps.length)), h("h2", { tabindex: -1 }, title), h("p", {}, text), h("div.row", {}, go, skip));
    if (!box.isConnected) document.body.append(box);
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
