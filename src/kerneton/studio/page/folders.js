// Another folder, without a restart: those that were open last, or any path of this machine.
import { h, button } from "./dom.js";
import { texts } from "./texts.js";
import { complain } from "./store.js";
import * as api from "./api.js";

export async function open() {
  const told = await api.get("folders");
  const go = folder => api.post("folders", { folder }).then(() => location.reload()).catch(complain);
  const path = h("input", { "aria-label": texts.folderPath, placeholder: texts.folderPath, size: 40, name: "folder", onkeydown: e => { if (e.key === "Enter") go(path.value); } });
  const others = told.recent.filter(folder => folder !== told.open);
  const dialog = h("dialog.record", { "aria-label": texts.folders, onclose: () => dialog.remove() },
    h("header", {}, h("h2", {}, texts.folders), button(texts.close, () => dialog.close(), { kind: "quiet" })), h("p.quiet", {}, texts.foldersText(told.open)),
    others.length ? h("ul.names", {}, others.map(folder => h("li.folder-row", {}, h("span", {}, folder), button(texts.openFolder, () => go(folder), { "aria-label": texts.openThis(folder) })))) : null,
    h("div.row", {}, path, button(texts.openFolder, () => go(path.value), { kind: "primary" })));
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}
