// The prediction of the model in use for a recording, and the contributions of the joints as colours on the body.
import { h, clear } from "./dom.js";
import { texts } from "./texts.js";
import { labelColor } from "./store.js";
import * as api from "./api.js";

export default async function verdict(id, player, node) {
  const told = await api.post("why", { id });
  const at = share => told.moments[Math.min(told.moments.length - 1, Math.floor(share * told.moments.length))];
  player.color(told.joints, share => Object.fromEntries(told.names.map((name, j) => [name, at(share)[j] / 100])));
  const strongest = Object.entries(told.joints).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1])).slice(0, 5);
  clear(node,
    h("p", {}, h("span.chip", { style: { "--chip": labelColor(told.label) } }, told.label), " ",
      told.probability === null ? "" : texts.probability(told.probability), told.unknown ? ` · ${texts.noneOfThese}` : ""),
    h("p", {}, told.words),
    h("p.quiet", {}, texts.speaks, " ", h("span.key.for", {}, texts.speaksFor), " ", h("span.key.against", {}, texts.speaksAgainst)),
    h("ul.bars", {}, strongest.map(([joint, value]) =>
      h("li", {}, h("span", {}, joint.replaceAll("_", " ")), h(value >= 0 ? "span.meter.for" : "span.meter.against", { style: { "--share": Math.abs(value) } }, `${value > 0 ? "+" : ""}${value.toFixed(2)}`)))));
}
