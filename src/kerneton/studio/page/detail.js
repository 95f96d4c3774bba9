// One recording: the body, label, subject and note, and what may be wrong with it.
import { h, button, clear, icon } from "./dom.js";
import { Player, motionOf } from "./player.js";
import { texts } from "./texts.js";
import { assign, change, complain, emit, name, noteProps, seconds, store, on } from "./store.js";

export const options = (id, values) => h("datalist", { id }, values.map(value => h("option", { value })));

export class Detail {
  constructor() {
    this.id = null; this.player = new Player();
    this.fields = h("div.fields");
    this.empty = h("p.hint", {}, texts.chooseOne);
    this.node = h("section.detail", { "aria-label": texts.recording }, this.empty);
    on("moved", map => { if (map[this.id]) this.id = map[this.id]; });
    on("recordings", () => this.refresh());
  }

  async open(id) {
    if (this.id === id) return;
    this.id = id;
    this.refresh(true);
  }

  async refresh(fresh = false) {
    const record = store.byId.get(this.id);
    if (!record) { this.id = null; this.shown = null; this.player.pause(); clear(this.node, this.empty); return; }
    if (this.fields.contains(document.activeElement) && !fresh) { this.late = true; return; }
    this.render(record);
    const key = `${record.id} ${record.frames}`;
    if (this.shown === key) return;
    this.shown = key;
    try {
      const motion = await motionOf(record);
      if (this.id === record.id) this.player.set(motion);
    } catch (error) { complain(error); }
  }

  render(record) {
    const field = (label, input) => h("label.field", {}, h("span", {}, label), input);
    const set = key => event => { this.late = false; assign([this.id], { [key]: event.target.value || null }); };
    const leave = () => setTimeout(() => { if (this.late && !this.fields.contains(document.activeElement)) { this.late = false; this.refresh(); } });
    clear(this.fields,
      h("h2", {}, name(record.id)),
      h("p.quiet", {}, texts.facts(record, seconds(record))),
      record.source ? h("p.quiet", {}, texts.segmentOf(name(record.source))) : null,
      h("div.row", { onfocusout: leave },
        field(texts.label, h("input", { value: record.label ?? "", list: "labels", placeholder: record.segments.length ? texts.hasSegments : texts.unlabelled, disabled: record.segments.length > 0, onchange: set("label"), name: "label" })),
        field(texts.subject, h("input", { value: record.subject ?? "", list: "subjects", placeholder: texts.noSubject, disabled: !!record.source, onchange: set("subject"), name: "subject" }))),
      field(texts.note, h("textarea", { rows: 2, value: record.note, onfocusout: leave, ...noteProps(() => this.id) })),
      record.warnings.length ? h("ul.warnings", {}, record.warnings.map(w => h("li", {}, icon("warn"), texts.warnings[w]))) : null,
      h("div.row.actions", {},
        button(texts.openTimeline, () => emit("label", this.id), {}),
        button(texts.executions, async () => (await import("./executions.js")).open(this.id).catch(complain), { title: texts.executionsTitle }),
        store.present ? button(texts.why, () => this.why(), { title: texts.whyTitle }, "spark") : null,
        button(texts.remove, () => change("remove", { ids: [this.id] }).catch(() => {}), { kind: "quiet" }, "trash")),
      this.verdict = h("div.verdict", { "aria-live": "polite" }));
    clear(this.node, this.player.node, this.fields);
  }

  async why() {
    try {
      const { default: verdict } = await import("./verdict.js");
      await verdict(this.id, this.player, this.verdict);
    } catch (error) { complain(error); }
  }
}
