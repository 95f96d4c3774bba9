// The prediction of the model in use for a recording, and the contributions of the joints as colours on the body.
import { h, clear } from "./dom.js";
import { texts } from "./texts.js";
import { labelColor } from "./store.js";
import * as api from "./api.js";

export default async function verdict(id, player, node) {
  const told = await api.post("why", { id });
  player.color(told.joints);
  const strongest = Object.entries(told.joints).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1])).slice(0, 5);
  clear(node,
    h("p", {}, h("span.chip", { style: { "--chip": labelColor(told.label) } }, told.label), " ",
      told.probability === null ? "" : texts.probability(told.probability), told.unknown ? ` · ${texts.noneOfThese}` : ""),
    h("p.quiet", {}, texts.speaks, " ", h("span.key.for", {}, texts.speaksFor), " ", h("span.key.against", {}, texts.speaksAgainst)),
    h("ul.bars", {}, strongest.map(([joint, value]) =>
      h("li", {}, h("span", {}, joint.replaceAll("_", " ")), h(value >= 0 ? "span.meter.for" : "span.meter.against", { style: { "--share": Math.abs(value) } }, `${value > 0 ? "+" : ""}${value.toFixed(2)}`)))));
}
