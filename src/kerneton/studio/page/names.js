// Labels and people as such: renamed, merged, split.
import { h, button, clear, toast } from "./dom.js";
import { texts } from "./texts.js";
import { change, labelColor, on, store, undo } from "./store.js";

const counted = () => {
  const out = { label: new Map(), subject: new Map() };
  const add = (kind, name, what) => { if (!name) return; const row = out[kind].get(name) ?? { whole: 0, segments: 0 }; row[what]++; out[kind].set(name, row); };
  for (const r of store.recordings) {
    if (!r.source) { add("label", r.label, "whole"); add("subject", r.subject, "whole"); }
    for (const s of r.segments) add("label", s.label, "segments");
  }
  return out;
};

// `show` filters the list by a label or a person, where a part of it is chosen for another name.
export function open(show) {
  const body = h("div");
  const rename = async (field, old, name) => {
    if (!name || name === old) return;
    const merged = counted()[field].has(name), told = await change("rename", { field, old, new: name }).catch(() => null);
    if (told) toast(merged ? texts.merged(old, name) : texts.renamed(old, name), { action: { text: texts.undo, run: undo } });
  };
  const table = (field, title, rows) => rows.size ? h("section", {}, h("h3", {}, title), h("ul.names", {}, [...rows].sort().map(([name, n]) => {
    const input = h("input", { value: name, list: field === "label" ? "labels" : "subjects", "aria-label": texts.newName(name), onkeydown: e => { if (e.key === "Enter") { e.preventDefault(); go(); } } });
    const go = () => rename(field, name, input.value.trim());
    return h("li", {}, h("span.chip", { style: { "--chip": field === "label" ? labelColor(name) : "var(--middle)" }, title: name }, name), h("span.quiet", {}, texts.nameCount(n)), input,
      button(texts.rename, go, { "aria-label": texts.renameOf(name) }), button(texts.split, () => { dialog.close(); show(field, name); }, { kind: "quiet", "aria-label": texts.splitOf(name) }));
  }))) : null;
  const render = () => { const all = counted(); clear(body, table("label", texts.labels, all.label), table("subject", texts.people, all.subject)); };
  const stop = on("recordings", render);
  const dialog = h("dialog.record", { "aria-label": texts.names, onclose: () => { stop(); dialog.remove(); } },
    h("header", {}, h("h2", {}, texts.names), button(texts.close, () => dialog.close(), { kind: "quiet" })), h("p.quiet", {}, texts.namesText), body);
  render();
  document.body.append(dialog);
  dialog.showModal();
}
