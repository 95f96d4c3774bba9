// Share: the model, its web page, the report, the data set, and how to use them without this page.
import { h, button, clear, save, icon, toast } from "./dom.js";
import { texts } from "./texts.js";
import { complain, on, store } from "./store.js";
import * as api from "./api.js";

// A path as one word of the shell: nothing in it is run.
const quoted = path => /^[\w@%+=:,./-]+$/.test(path) ? path : store.state.shell === "windows" ? `"${path}"` : `'${path.replaceAll("'", `'"'"'`)}'`;

export class Share {
  constructor() {
    this.node = h("div.share");
    on("models", () => this.render());
    on("recordings", () => this.render());
    this.render();
  }

  async fetch(path, query, file) {
    try { save(file, await api.blob(path, query)); toast(texts.savedFile(file)); } catch (error) { complain(error); }
  }

  render() {
    const model = store.models.find(m => m.name === store.present), folder = store.state.folder ?? "", labelled = store.recordings.filter(r => r.label).length;
    const card = (mark, title, text, ...content) => h("section.share-card", {}, h("div.way-icon", {}, icon(mark)), h("h2", {}, title), h("p", {}, text), h("div.row", {}, content));
    const code = (title, text) => h("div.code", {}, h("h3", {}, title), h("pre", { tabindex: 0 }, text), button(texts.copy, event => { navigator.clipboard?.writeText(text).then(() => { event.target.closest("button").querySelector("span").textContent = texts.copied; }).catch(() => {}); }, { kind: "quiet" }));
    const file = model ? `${folder}/__studio__/models/${model.name}/model.kern` : "model.kern";
    clear(this.node, h("h1", {}, texts.tabs.share),
      h("div.share-cards", {},
        card("spark", texts.shareModel, model ? texts.shareModelText(model) : texts.noModelText,
          model ? button(texts.download("model.kern"), () => this.fetch(`models/${model.name}/model.kern`, {}, `${(model.title || "model").replace(/[^\p{L}\p{N} ._-]/gu, "_")}.kern`), { kind: "primary" }, "down") : h("a.primary", { href: "#/train" }, texts.tabs.train)),
        card("camera", texts.sharePage, texts.sharePageText, model ? button(texts.download("page.zip"), () => this.fetch("models/page", { name: model.name }, "page.zip"), {}, "down") : h("p.quiet", {}, texts.noModelText)),
        card("down", texts.shareParcel, texts.shareParcelText, button(texts.download(`${store.state.name}.zip`), () => this.fetch("export", { format: "parcel" }, `${store.state.name}.zip`), { disabled: !store.recordings.length }, "down")),
        card("check", texts.shareReport, texts.shareReportText, model?.accuracy !== undefined ? button(texts.download("report.html"), () => this.fetch(`models/${model.name}/report.html`, {}, "report.html"), {}, "down") : h("p.quiet", {}, texts.noModelText)),
        card("folder", texts.shareData, texts.shareDataText(labelled), ["npz", "pkl", "csv"].map(format => button(texts.formatsOut[format], () => this.fetch("export", { format }, `${store.state.name}.${format === "csv" ? "zip" : format}`), { disabled: !labelled }, "down")),
          button(texts.segmentsOut, () => this.fetch("export", { format: "segments" }, "segments.csv"), { disabled: !store.recordings.some(r => r.segments.length) }, "down"))),
      h("section", {}, h("h2", {}, texts.how), h("p", {}, texts.howText(folder)), h("div.codes", {}, code(texts.fromPython, texts.pythonCode(file)), store.state.shell ? code(texts.fromShell, texts.shellCode(quoted(file), quoted(folder))) : null)));
  }
}
