// State of the page: recordings, models, the training; the views listen for its changes.
import * as api from "./api.js";
import { texts } from "./texts.js";
import { toast } from "./dom.js";

export const store = {
  ready: false, state: {}, recordings: [], byId: new Map(), broken: {}, models: [], present: null,
  labels: [], subjects: [], offline: false,
};
const listeners = new Map();

export function on(event, listener) {
  if (!listeners.has(event)) listeners.set(event, new Set());
  listeners.get(event).add(listener);
  return () => listeners.get(event).delete(listener);
}
export const emit = (event, detail) => listeners.get(event)?.forEach(listener => listener(detail));

export const name = id => id.split("/").pop().replace(/\.[a-z0-9]+(#\d+)?$/i, "$1");
export const labelColor = label => label === null ? "var(--middle)" : `var(--c${Math.max(0, store.labels.indexOf(label)) % 10})`;
export const seconds = record => record.frames / (record.fps ?? 30);

// A list that was requested before a change is older than what the page shows: it is ignored, and the change requests the list
// again when it is done. Otherwise the newest segment, and the selection with it, would disappear for a moment.
let loading = null, again = false;
export async function reload() {
  if (loading) { again = true; return loading; }
  loading = (async () => {
    do {
      again = false;
      const told = await api.get("recordings");
      if (pending) return;
      store.recordings = told.recordings;
      store.byId = new Map(told.recordings.map(r => [r.id, r]));
      store.broken = told.broken;
      const used = new Set(told.recordings.flatMap(r => [r.label, ...r.segments.map(s => s.label)]).filter(Boolean));
      store.labels = [...used].sort();
      store.subjects = [...new Set(told.recordings.map(r => r.subject).filter(Boolean))].sort();
      store.version = told.version;
      store.ready = true;
    } while (again);
    emit("recordings");
  })().finally(() => { loading = null; });
  return loading;
}

export async function reloadModels() {
  const told = await api.get("models");
  store.models = told.models;
  store.present = told.present;
  emit("models");
}

// A change is made by the server, then the list is read again. Changes are sent one after another, in the order in which they
// were made; a change may give recordings new ids, which are looked up when the next one is sent. The list is read after the
// last change, so that the page does not show an older state in between.
let last = Promise.resolve(), pending = 0, leaving = false;
addEventListener("pagehide", () => { // text that is being typed is saved at once
  leaving = true;
  document.activeElement?.blur();
});
const renamed = new Map();
function present(id) {
  for (let n = 0; n < 50 && !store.byId.has(id) && renamed.has(id); n++) id = renamed.get(id);
  return id;
}

// A moved recording has its new id at once, before the list is read again.
function move(from, to) {
  renamed.set(from, to);
  renamed.delete(to);
  const record = store.byId.get(from);
  if (!record) return;
  store.byId.delete(from);
  record.id = to;
  store.byId.set(to, record);
}

export async function change(path, body = {}) {
  pending++;
  const done = (leaving ? Promise.resolve() : last).then(async () => {
    const now = { ...body };
    if (now.id !== undefined) now.id = present(now.id);
    if (now.ids !== undefined) now.ids = now.ids.map(present);
    const told = await api.post(path, now);
    for (const [from, to] of Object.entries(told.moved ?? {})) if (from !== to) move(from, to);
    if (told.moved) emit("moved", told.moved);
    return told;
  });
  last = done.catch(complain);
  try { return await done; } finally {
    pending--;
    if (!pending) await reload();
  }
}

export function complain(error) {
  if (!(error instanceof api.ApiError)) { console.error(error); }
  toast(error.status === 0 ? texts.offline : error.status === 401 ? texts.noToken : error.message, { error: true });
}

export async function assign(ids, fields) {
  const told = await change("assign", { ids, ...fields }).catch(() => null);
  for (const [name, other] of told?.alike ?? []) toast(texts.lookAlike(name, other), { action: { text: texts.undo, run: undo } });
  return told;
}
// A note is saved while it is typed, half a second after the last key.
export function noteProps(id) {
  let timer = 0, kept = null;
  const keep = event => {
    clearTimeout(timer);
    const note = event.target.value;
    if (note === kept) return;
    kept = note;
    change("annotate", { id: id(), note }).catch(() => {});
  };
  return { name: "note", onfocus: event => { kept = event.target.value; }, oninput: event => { clearTimeout(timer); timer = setTimeout(() => keep(event), 500); }, onchange: keep };
}
export async function undo() {
  const told = await change("undo").catch(() => null);
  if (told) toast(told.moved ? texts.undone(told) : texts.nothingToUndo, told.moved ? { action: { text: texts.redo, run: redo } } : {});
}
export async function redo() {
  const told = await change("redo").catch(() => null);
  if (told) toast(told.moved ? texts.redone(told) : texts.nothingToRedo);
}

let wait = 250;
export function follow() {
  const news = api.socket("events");
  news.onopen = () => { wait = 250; store.offline = false; emit("offline"); };
  news.onmessage = async message => {
    const before = store.state;
    store.state = { ...before, ...JSON.parse(message.data) };
    if (store.state.version !== store.version && !pending) reload().catch(complain);
    const { done } = store.state.training; // a finished model is fetched even if messages were missed
    if (done && !store.models.some(model => model.name === done)) await reloadModels().catch(complain);
    emit("state", before);
  };
  news.onclose = event => {
    store.offline = true;
    emit("offline");
    if (event.code === 1006 || event.code < 4000) setTimeout(follow, wait = Math.min(wait * 2, 4000));
  };
}

export async function start() {
  store.state = await api.get("state");
  store.present = store.state.present;
  await Promise.all([reload(), reloadModels()]);
  follow();
}
