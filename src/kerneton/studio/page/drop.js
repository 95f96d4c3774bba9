// Files and folders, dropped or chosen: uploaded, then sorted in by the server.
import { h, toast, announce } from "./dom.js";
import { texts } from "./texts.js";
import { reload, complain, store, emit, on } from "./store.js";
import * as api from "./api.js";

const PARALLEL = 4;

async function walk(entry, path, out) {
  if (entry.isFile) out.push({ path: path + entry.name, file: await new Promise((ok, no) => entry.file(ok, no)) });
  else {
    const reader = entry.createReader();
    for (;;) {
      const some = await new Promise((ok, no) => reader.readEntries(ok, no));
      if (!some.length) break;
      for (const child of some) await walk(child, `${path}${entry.name}/`, out);
    }
  }
}

async function dropped(transfer) {
  const entries = [...transfer.items].map(item => item.webkitGetAsEntry?.()).filter(Boolean), out = [];
  if (!entries.length) return [...transfer.files].map(file => ({ path: file.name, file }));
  for (const entry of entries) await walk(entry, "", out);
  return out;
}

export async function add(files) {
  const commands = store.state.pose_commands, films = files.filter(({ path }) => store.state.films.some(ending => path.toLowerCase().endsWith(ending)));
  const unknown = commands.length ? films : []; // films that nobody could read
  if (unknown.length) toast(`${texts.noPose} ${commands.join("; ")}`, { error: true });
  const rest = files.filter(file => !unknown.includes(file) && !file.path.split("/").pop().startsWith("."));
  if (!rest.length) return null;
  const large = rest.filter(({ file }) => file.size > store.state.max_upload);
  if (large.length) toast(texts.tooLarge(large.map(f => f.path), store.state.max_upload), { error: true });
  const fit = rest.filter(({ file }) => file.size <= store.state.max_upload), batch = api.newBatch();
  if (!fit.length) return null;
  const bar = h("progress", { max: fit.length, value: 0 }), note = toast(texts.uploading(fit.length), { stay: 0 });
  note.append(bar);
  try {
    let next = 0, done = 0;
    const worker = async () => {
      while (next < fit.length) {
        const { path, file } = fit[next++];
        await api.put(`uploads/${batch}`, { path }, file);
        bar.value = ++done;
      }
    };
    await Promise.all(Array.from({ length: Math.min(PARALLEL, fit.length) }, worker));
    const stop = on("state", () => { // poses of films take longer than their way here
      const { poses } = store.state;
      if (poses) { Object.assign(bar, { max: poses[1], value: poses[0] }); note.querySelector("p").textContent = texts.estimating(...poses); }
    });
    const told = await api.post("uploads/commit", { batch }).finally(stop);
    await reload();
    announce(texts.added(told.added.length));
    if (told.added.length) toast(texts.added(told.added.length));
    if (told.broken.length) toast(texts.brokenFiles(told.broken), { error: true });
    if (told.added.length) emit("added", told.added);
    return told;
  } catch (error) {
    complain(error);
    return null;
  } finally {
    note.remove();
  }
}

export function choose({ folder = false } = {}) {
  const input = h("input.unseen", { type: "file", multiple: true, "aria-hidden": "true", tabindex: -1, ...(folder ? { webkitdirectory: true } : {}) });
  input.addEventListener("change", () => {
    add([...input.files].map(file => ({ path: file.webkitRelativePath || file.name, file })));
    input.remove();
  });
  document.body.append(input);
  input.click();
}

export function listen() {
  let depth = 0;
  const veil = h("div.veil", { hidden: true }, h("p", {}, texts.dropHere));
  document.body.append(veil);
  const files = event => event.dataTransfer?.types.includes("Files");
  addEventListener("dragenter", event => { if (files(event)) { event.preventDefault(); depth++; veil.hidden = false; } });
  addEventListener("dragleave", event => { if (files(event) && --depth <= 0) { depth = 0; veil.hidden = true; } });
  addEventListener("dragover", event => { if (files(event)) event.preventDefault(); });
  addEventListener("drop", async event => {
    if (!files(event)) return;
    event.preventDefault();
    depth = 0; veil.hidden = true;
    if (!location.hash.startsWith("#/collect")) location.hash = "#/collect";
    add(await dropped(event.dataTransfer));
  });
}
