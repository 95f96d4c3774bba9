// The frame around the views: bar, tabs, undo, theme.
import { h, button, iconButton, clear, toast, typing } from "./dom.js";
import { Collect } from "./collect.js";
import { Label } from "./label.js";
import { Train } from "./train.js";
import { Live } from "./live.js";
import { Share } from "./share.js";
import { forgetColors } from "./body3d.js";
import { listen } from "./drop.js";
import { options } from "./detail.js";
import { tour } from "./tour.js";
import { texts } from "./texts.js";
import { change, complain, on, redo, reloadModels, start, store, undo } from "./store.js";
import { token } from "./api.js";

const TABS = ["collect", "label", "train", "live", "share"];
const app = { views: {}, shown: null };

function theme(next) {
  if (next) localStorage.setItem("kerneton-theme", next);
  const chosen = localStorage.getItem("kerneton-theme") ?? "system";
  if (chosen === "system") delete document.documentElement.dataset.theme; else document.documentElement.dataset.theme = chosen;
  forgetColors();
  return chosen;
}

function bar() {
  const dark = () => (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  app.undo = iconButton("undo", texts.undo, undo, { "aria-keyshortcuts": "Control+Z", disabled: true });
  app.redo = iconButton("redo", texts.redo, redo, { "aria-keyshortcuts": "Control+Shift+Z", disabled: true });
  app.tabs = Object.fromEntries(TABS.map(tab => [tab, h("a", { href: `#/${tab}` }, texts.tabs[tab])]));
  return h("header.bar", {}, h("a.skip", { href: "#main", onclick: event => { event.preventDefault(); document.getElementById("main").focus(); } }, texts.skip),
    h("a.brand", { href: "#/collect", "aria-label": texts.title }, h("img", { src: "icon.svg", alt: "", width: 28, height: 28 }), h("span", {}, texts.title)),
    h("nav", { "aria-label": texts.sections }, Object.values(app.tabs)),
    h("div.bar-end", {}, h("span.folder", { title: store.state.folder }, store.state.name), iconButton("folder", texts.folders, async () => (await import("./folders.js")).open().catch(complain)), app.undo, app.redo,
      iconButton("help", texts.takeTour, () => tour(app)), iconButton("moon", texts.theme, () => theme(dark() ? "light" : "dark"))));
}

// What is wrong with the folder; one that was made elsewhere is shown, and changed only after a click.
function folderNews() {
  const { foreign: why, trouble } = store.state;
  app.trouble.hidden = !trouble;
  if (trouble && app.trouble.textContent !== trouble) app.trouble.textContent = trouble;
  app.foreign.hidden = !why;
  if (!why || app.foreign.dataset.why === why) return;
  app.foreign.dataset.why = why;
  const take = button(texts.takeOver, async () => {
    const told = await change("takeover").catch(() => null);
    if (told?.wrong.length) toast(texts.leftOut(told.wrong), { error: true });
    await reloadModels().catch(complain);
  }, { kind: "primary" });
  clear(app.foreign, h("p", {}, h("b", {}, texts.foreign(why)), " ", texts.foreignText), take);
}

function route() {
  const [, tab, ...rest] = location.hash.split("/"), name = TABS.includes(tab) ? tab : "collect", view = app.views[name];
  if (app.shown !== name) {
    app.views[app.shown]?.leave?.();
    clear(app.main, view.node);
    app.main.scrollTop = 0;
    app.shown = name;
    for (const [key, link] of Object.entries(app.tabs)) if (key === name) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
    document.title = `${texts.tabs[name]} · ${texts.title}`;
    view.enter?.(rest.length ? decodeURIComponent(rest.join("/")) : null);
  } else if (rest.length) view.enter?.(decodeURIComponent(rest.join("/")));
}

async function begin() {
  theme();
  if (!token) { document.body.append(h("main.empty", {}, h("h1", {}, texts.title), h("p", {}, texts.noToken))); return; }
  try { await start(); } catch (error) { document.body.append(h("main.empty", {}, h("h1", {}, texts.title), h("p", {}, error.status === 401 ? texts.noToken : texts.offline))); return; }
  const lists = h("div", { hidden: true });
  const fill = () => clear(lists, options("labels", store.labels), options("subjects", store.subjects));
  app.offline = h("p.offline", { role: "alert", hidden: true }, texts.offline);
  app.main = h("main", { id: "main", tabindex: -1 });
  app.trouble = h("p.notice", { role: "alert", hidden: true });
  app.foreign = h("div.notice.foreign", { role: "alert", hidden: true });
  document.body.append(bar(), app.offline, app.trouble, app.foreign, app.main, lists);
  fill();
  app.views = { collect: new Collect(), label: new Label(), train: new Train(), live: new Live(), share: new Share() };
  on("recordings", fill);
  const buttons = () => { app.undo.disabled = !store.state.undo; app.redo.disabled = !store.state.redo; };
  on("state", buttons);
  buttons();
  on("state", folderNews);
  on("state", before => { if (before?.folder && before.folder !== store.state.folder) location.reload(); }); // another page has opened another folder
  folderNews();
  on("offline", () => { app.offline.hidden = !store.offline; });
  on("label", id => { location.hash = `#/label/${encodeURIComponent(id)}`; });
  on("tour", () => tour(app));
  on("trained", () => { if (app.shown !== "train") toast(texts.trained, { action: { text: texts.tabs.train, run: () => { location.hash = "#/train"; } } }); });
  addEventListener("hashchange", route);
  addEventListener("keydown", event => {
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z" || typing(event)) return;
    event.preventDefault();
    if (event.shiftKey) redo(); else undo();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", forgetColors);
  listen();
  route();
  document.body.dataset.ready = "";
}

begin().catch(complain);
