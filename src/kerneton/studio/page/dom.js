// Functions that make elements. Text is always inserted as text: nothing here can inject markup.
import { texts } from "./texts.js";

export function h(tag, props = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const node = document.createElement(name || "div");
  if (classes.length) node.className = classes.join(" ");
  for (const [key, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "style") for (const [k, v] of Object.entries(value)) node.style.setProperty(k, v);
    else if (key === "value" || key === "checked" || key === "disabled" || key === "hidden") node[key] = value;
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat(9).filter(c => c !== null && c !== undefined && c !== false));
  return node;
}

export const clear = (node, ...children) => {
  const wanted = children.flat(9).filter(c => c !== null && c !== undefined && c !== false), there = node.childNodes;
  if (wanted.length !== there.length || wanted.some((child, i) => child !== there[i])) node.replaceChildren(...wanted); // otherwise a focused input keeps the focus
  return node;
};

const SVG = "http://www.w3.org/2000/svg";
const PATHS = {
  play: "M7 4.500v15l12-7.500z", pause: "M7 4.500h3.500v15H7zM13.500 4.500H17v15h-3.500z",
  undo: "M9 14 4 9l5-5M4 9h10a6 6 0 0 1 0 12h-3", redo: "m15 14 5-5-5-5M20 9H10a6 6 0 0 0 0 12h3",
  next: "m6 4 10 8-10 8zM19 5v14", back: "m18 4-10 8 10 8zM5 5v14", camera: "M3 7h4l2-3h6l2 3h4v13H3zM12 17a4 4 0 1 0 0-8 4 4 0 0 0 0 8z",
  file: "M14 3H6v18h12V7zM14 3v4h4", folder: "M3 6h6l2 2h10v11H3z", warn: "M12 4 2.500 20h19zM12 10v4.500M12 17.300v.2",
  trash: "M4 7h16M9 7V4h6v3M6.500 7l1 13h9l1-13", spark: "M12 3l2 6 6 2-6 2-2 6-2-6-6-2 6-2z", close: "M6 6l12 12M18 6 6 18",
  moon: "M20 14.500A8 8 0 0 1 9.500 4 8 8 0 1 0 20 14.500z", help: "M9 9a3 3 0 1 1 4 2.800c-1 .5-1 1.200-1 2.200M12 17.500v.2M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18z",
  check: "m5 12.500 4.500 4.500L19 7", down: "M12 4v11m-5-5 5 5 5-5M4 20h16", stop: "M6 6h12v12H6z", turn: "M4 12a8 4 0 1 0 16 0 8 4 0 1 0-16 0M12 4v16",
};
const FILLED = new Set(["play", "pause", "stop"]);

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg"), path = document.createElementNS(SVG, "path");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("class", FILLED.has(name) ? "icon filled" : "icon");
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}

export const iconButton = (name, label, onclick, props = {}) =>
  h("button.icon-button", { type: "button", "aria-label": label, title: label, onclick, ...props }, icon(name));

export const button = (text, onclick, props = {}, mark = null) =>
  h("button." + (props.kind ?? "plain"), { type: "button", onclick, ...props, kind: undefined }, mark && icon(mark), h("span", {}, text));

let live;
export function announce(text) {
  live ??= document.body.appendChild(h("div.unseen", { role: "status", "aria-live": "polite" }));
  live.textContent = text;
}

// What has just happened, shown for a moment and read aloud.
let flash, fading;
export function tell(text) {
  announce(text);
  flash ??= h("p.flash", { "aria-hidden": "true" });
  (document.querySelector("dialog[open]") ?? document.body).append(flash);
  flash.textContent = text;
  flash.classList.add("seen");
  clearTimeout(fading);
  fading = setTimeout(() => flash.classList.remove("seen"), 2500);
}

export function toast(text, { error = false, action = null, stay = 6000 } = {}) {
  let box = document.querySelector(".toasts");
  box ??= h("div.toasts", { role: "log", "aria-live": "polite", "aria-label": texts.messages });
  const front = document.querySelector("dialog[open]") ?? document.body; // nothing behind a dialog can be pressed
  if (box.parentNode !== front) front.append(box);
  const node = h(error ? "div.toast.error" : "div.toast", {}, h("p", {}, text),
    action && h("button.link", { type: "button", onclick: () => { node.remove(); action.run(); } }, action.text),
    iconButton("close", texts.close, () => node.remove()));
  box.append(node);
  while (box.children.length > 4) box.firstChild.remove();
  if (stay) setTimeout(() => node.remove(), error ? stay * 3 : stay);
  return node;
}

export const clock = seconds => {
  const s = Math.max(0, seconds), m = Math.floor(s / 60);
  return m ? `${m}:${(s % 60).toFixed(1).padStart(4, "0")}` : `${s.toFixed(2)} s`;
};

export const typing = event => /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) && !/^(checkbox|range|radio|button)$/.test(event.target.type ?? "")
  || event.target.isContentEditable;

export function save(name, blob) {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
