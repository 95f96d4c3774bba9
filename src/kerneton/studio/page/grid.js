// A list of recordings with small animations. Only visible cards exist, so that the list may be long.
import { h, icon, clock } from "./dom.js";
import { texts } from "./texts.js";
import { labelColor, name, seconds, emit } from "./store.js";
import * as api from "./api.js";

const CARD = 158, HEIGHT = 234, GAP = 12, KEPT = 600, PERIOD = 90;
const thumbs = new Map();
let wanted = new Set(), asking = false;

async function ask() {
  if (asking || !wanted.size) return;
  asking = true;
  const ids = [...wanted].slice(0, 100);
  ids.forEach(id => wanted.delete(id));
  try {
    const told = await api.post("thumbs", { ids });
    for (const [id, thumb] of Object.entries(told)) {
      thumb.values = Int8Array.from(atob(thumb.points), c => c.charCodeAt(0));
      delete thumb.points;
      thumbs.set(id, thumb);
    }
    while (thumbs.size > KEPT) thumbs.delete(thumbs.keys().next().value);
  } catch { /* the next layout requests them again */ }
  asking = false;
  if (wanted.size) ask();
}

function paint(canvas, thumb, at, colors) {
  const c = canvas.getContext("2d"), { width, height } = canvas, half = Math.min(width, height) / 2 * 0.9 / 120;
  c.clearRect(0, 0, width, height);
  const from = (at % thumb.frames) * thumb.joints * 2, v = thumb.values;
  const x = j => width / 2 + v[from + j * 2] * half, y = j => height / 2 + v[from + j * 2 + 1] * half, gone = j => v[from + j * 2] === -128;
  c.lineCap = "round";
  c.lineWidth = width / 44;
  for (const [a, b] of thumb.bones) {
    if (gone(a) || gone(b)) continue;
    c.strokeStyle = colors[thumb.sides[b]];
    c.beginPath(); c.moveTo(x(a), y(a)); c.lineTo(x(b), y(b)); c.stroke();
  }
  const head = thumb.sides.indexOf("h");
  if (head >= 0 && !gone(head)) { c.fillStyle = colors.h; c.beginPath(); c.arc(x(head), y(head), width / 26, 0, 7); c.fill(); }
  if (!thumb.bones.length) for (let j = 0; j < thumb.joints; j++) {
    if (gone(j)) continue;
    c.fillStyle = colors[thumb.sides[j]];
    c.beginPath(); c.arc(x(j), y(j), width / 60, 0, 7); c.fill();
  }
}

export class Grid {
  constructor({ onopen, onpress = null, label = texts.recordings, onselect = () => {} }) {
    this.onpress = onpress;
    this.items = []; this.cards = new Map(); this.active = null; this.selected = new Set(); this.onopen = onopen; this.onselect = onselect;
    this.space = h("div.grid-space");
    this.node = h("div.grid", { role: "listbox", tabindex: 0, "aria-label": label, "aria-multiselectable": "true", onscroll: () => this.layout(), onkeydown: e => this.keys(e) }, this.space);
    new ResizeObserver(() => this.layout(true)).observe(this.node);
    this.still = matchMedia("(prefers-reduced-motion: reduce)");
    this.animate();
  }

  set(items) {
    this.items = items;
    this.place = new Map(items.map((item, i) => [item.id, i]));
    for (const id of this.selected) if (!this.place.has(id)) this.selected.delete(id);
    if (this.active && !this.place.has(this.active)) this.active = null;
    for (const card of this.cards.values()) card.node.remove();
    this.cards.clear();
    this.layout(true);
  }

  layout() {
    const width = this.node.clientWidth - 2 * GAP;
    if (width <= 0) return;
    this.columns = Math.max(2, Math.floor((width + GAP) / (CARD + GAP)));
    const cell = (width + GAP) / this.columns, rows = Math.ceil(this.items.length / this.columns);
    this.space.style.height = `${rows * (HEIGHT + GAP) + GAP}px`;
    const top = this.node.scrollTop, first = Math.max(0, Math.floor(top / (HEIGHT + GAP)) - 1), last = Math.ceil((top + this.node.clientHeight) / (HEIGHT + GAP)) + 1;
    const seen = new Set();
    for (let i = first * this.columns; i < Math.min(this.items.length, last * this.columns); i++) {
      const item = this.items[i];
      seen.add(item.id);
      if (!this.cards.has(item.id)) this.cards.set(item.id, this.card(item, i));
      const { node } = this.cards.get(item.id);
      node.style.width = `${cell - GAP}px`;
      node.style.transform = `translate(${GAP + (i % this.columns) * cell}px, ${GAP + Math.floor(i / this.columns) * (HEIGHT + GAP)}px)`;
    }
    for (const [id, card] of this.cards) if (!seen.has(id)) { card.node.remove(); this.cards.delete(id); }
    if (wanted.size) ask();
  }

  card(item, i) {
    const canvas = h("canvas", { width: 150, height: 132, "aria-hidden": "true" });
    const label = item.label ?? (item.segments.length ? texts.segmentsCount(item.segments.length) : texts.unlabelled);
    const what = [name(item.id), label, item.subject, clock(seconds(item)), ...item.warnings.map(w => texts.warnings[w])].filter(Boolean).join(", ");
    const node = h("div.card", {
      id: `card-${i}`, role: "option", "aria-label": what, "aria-posinset": i + 1, "aria-setsize": this.items.length,
      "aria-selected": String(this.selected.has(item.id)), onclick: e => this.click(item.id, e), ondblclick: () => emit("label", item.id),
    },
      canvas, item.warnings.length ? h("span.badge", { title: item.warnings.map(w => texts.warnings[w]).join("\n") }, icon("warn")) : null,
      item.source ? h("span.cut", { title: texts.segmentOf(name(item.source)) }, "✂") : null,
      h("span.who", {}, h("span.line", {}, h("span.chip", { style: { "--chip": labelColor(item.label) }, title: label }, label), h("span", {}, `${seconds(item).toFixed(1)} s`)), h("b", { title: name(item.id) }, name(item.id)), h("span.line", {}, h("span.quiet", {}, item.subject ?? "–"))));
    if (item.id === this.active) node.classList.add("active");
    this.space.append(node);
    if (!thumbs.has(item.id)) wanted.add(item.id);
    return { node, canvas, shift: i * 3 };
  }

  click(id, event) {
    if (event.shiftKey && this.active) {
      const [a, b] = [this.place.get(this.active), this.place.get(id)].sort((p, q) => p - q);
      for (let i = a; i <= b; i++) this.selected.add(this.items[i].id);
    } else if (event.ctrlKey || event.metaKey) {
      if (!this.selected.delete(id)) this.selected.add(id);
    } else this.selected = new Set([id]);
    this.go(id);
    if (!event.shiftKey && !event.ctrlKey && !event.metaKey) this.onpress?.(id);
  }

  go(id, { scroll = false } = {}) {
    this.active = id;
    for (const [key, { node }] of this.cards) {
      node.classList.toggle("active", key === id);
      node.setAttribute("aria-selected", String(this.selected.has(key)));
    }
    if (scroll && this.place.has(id)) {
      const top = Math.floor(this.place.get(id) / this.columns) * (HEIGHT + GAP);
      if (top < this.node.scrollTop) this.node.scrollTop = top;
      else if (top + HEIGHT + 2 * GAP > this.node.scrollTop + this.node.clientHeight) this.node.scrollTop = top + HEIGHT + 2 * GAP - this.node.clientHeight;
      this.layout();
    }
    const i = this.place.get(id);
    if (i !== undefined) this.node.setAttribute("aria-activedescendant", `card-${i}`);
    this.onopen(id);
    this.onselect(this.selected);
  }

  keys(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.columns, ArrowDown: this.columns, Home: -1e9, End: 1e9, PageUp: -this.columns * 3, PageDown: this.columns * 3 }[event.key];
    if (event.key === "a" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      this.selected = new Set(this.items.map(item => item.id));
      if (this.active) this.go(this.active); else this.onselect(this.selected);
    } else if (event.key === "Enter" && this.active) emit("label", this.active);
    else if (step && this.items.length) {
      event.preventDefault();
      const now = this.active === null ? -1 : this.place.get(this.active), next = Math.max(0, Math.min(this.items.length - 1, now + step));
      if (event.shiftKey) this.selected.add(this.items[next].id); else this.selected = new Set([this.items[next].id]);
      this.go(this.items[next].id, { scroll: true });
    }
  }

  animate() {
    let before = 0, count = 0;
    const tick = now => {
      requestAnimationFrame(tick);
      if (now - before < PERIOD || !this.node.isConnected || document.hidden) return;
      before = now;
      if (!this.still.matches) count++;
      const css = getComputedStyle(document.documentElement), colors = { l: css.getPropertyValue("--left"), r: css.getPropertyValue("--right"), m: css.getPropertyValue("--middle"), h: css.getPropertyValue("--middle") };
      for (const [id, card] of this.cards) {
        const thumb = thumbs.get(id);
        if (!thumb) { wanted.add(id); continue; }
        const at = Math.floor(count * PERIOD / 1000 / Math.max(thumb.seconds, 0.4) * thumb.frames) + card.shift;
        if (at !== card.drawn) { paint(card.canvas, thumb, this.still.matches ? 6 : at, colors); card.drawn = this.still.matches ? -1 : at; }
      }
      if (wanted.size) ask();
    };
    requestAnimationFrame(tick);
  }

  // Animations of moved recordings are kept: the content is the same.
  static moved(map) { for (const [old, now] of Object.entries(map)) if (thumbs.has(old)) { thumbs.set(now, thumbs.get(old)); thumbs.delete(old); } }
}
