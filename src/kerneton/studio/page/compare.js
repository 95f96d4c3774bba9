// Two models side by side: what changed in accuracy, per label, in the data, and which recordings became right or wrong.
import { h } from "./dom.js";
import { texts } from "./texts.js";
import { labelColor, name } from "./store.js";

const recalls = model => {
  const out = new Map();
  for (const p of model.predictions ?? []) {
    const row = out.get(p.true) ?? { right: 0, n: 0 };
    row.n++;
    row.right += p.true === p.said;
    out.set(p.true, row);
  }
  return out;
};

export function compare(now, before, open) {
  const a = recalls(before), b = recalls(now), labels = [...new Set([...Object.keys(before.labels), ...Object.keys(now.labels)])].sort();
  const t = texts.compare, share = row => row ? `${row.right} / ${row.n}` : "–";
  const change = (old, fresh) => {
    if (old === undefined || fresh === undefined) return h("td.num", {}, "–");
    const by = Math.round((fresh - old) * 100);
    return h(by > 0 ? "td.num.better" : by < 0 ? "td.num.worse" : "td.num", {}, t.points(by));
  };
  const old = new Map((before.predictions ?? []).map(p => [p.name, p])), shared = (now.predictions ?? []).filter(p => old.has(p.name));
  const right = p => p.true === p.said, turned = good => shared.filter(p => right(p) === good && right(old.get(p.name)) !== good);
  const list = (title, found) => found.length ? h("div", {}, h("h3", {}, title), h("ul", {}, found.slice(0, 12).map(p => h("li", {}, h("button.link", { type: "button", onclick: () => open(p) }, name(p.name)), ` ${t.said(old.get(p.name).said, p.said)}`)), found.length > 12 ? h("li.quiet", {}, texts.more(found.length - 12)) : null)) : null;
  return h("div.compare", {},
    h("p", {}, t.verdict(before, now)),
    h("div.scroll", { tabindex: 0, role: "region", "aria-label": t.title }, h("table", {},
      h("thead", {}, h("tr", {}, t.columns.map(c => h("th", { scope: "col" }, c)))),
      h("tbody", {},
        h("tr", {}, h("th", { scope: "row" }, h("b", {}, t.all)), h("td.num", {}, before.accuracy === undefined ? "–" : texts.percent(before.accuracy)), h("td.num", {}, now.accuracy === undefined ? "–" : texts.percent(now.accuracy)), change(before.accuracy, now.accuracy), h("td.num", {}, before.recordings), h("td.num", {}, now.recordings)),
        labels.map(l => h("tr", {}, h("th", { scope: "row" }, h("span.chip", { style: { "--chip": labelColor(l) } }, l)), h("td.num", {}, share(a.get(l))), h("td.num", {}, share(b.get(l))), change(a.get(l) && a.get(l).right / a.get(l).n, b.get(l) && b.get(l).right / b.get(l).n), h("td.num", {}, before.labels[l] ?? 0), h("td.num", {}, now.labels[l] ?? 0)))))),
    h("p.quiet", {}, t.data(before, now, shared.length)),
    h("div.beside", {}, list(t.fixed, turned(true)), list(t.broke, turned(false))));
}
