// Kerneton in JavaScript: predictions of a model that `kerneton export` wrote, in browsers, workers and node.
//
//     import {load} from "./kerneton.js";
//     const model = await load("model.knx");
//     const {label, probabilities, unknown} = model.predict({joints, frames, fps});
//
// `joints` is a Float32Array of frames × joints × 3, in metres, y up, NaN where missing, in the order of `model.joints`.

const PAGE = 65536;
const ALIGNED = 64;

// A module of eight bytes of code that uses one instruction of 128 bits: does this engine know them?
const SIMD_PROBE = new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11,
]);

const modules = new Map(); // compiled once for all models

export class KernetonError extends Error {
  constructor(code, sentence) {
    super(sentence);
    this.name = "KernetonError";
    this.code = code;
  }
}

async function bytesOf(source) {
  if (source instanceof ArrayBuffer) return source;
  if (ArrayBuffer.isView(source)) {
    return source.buffer.slice(source.byteOffset, source.byteOffset + source.byteLength);
  }
  if (typeof Response !== "undefined" && source instanceof Response) return await checked(source).arrayBuffer();
  const url = new URL(source, typeof document === "undefined" ? import.meta.url : document.baseURI);
  if (url.protocol === "file:") {
    const {readFile} = await import(/* @vite-ignore */ "node:fs/promises");
    const found = await readFile(url);
    return found.buffer.slice(found.byteOffset, found.byteOffset + found.byteLength);
  }
  return await checked(await fetch(url)).arrayBuffer();
}

function checked(response) {
  if (!response.ok) throw new KernetonError(0, `${response.url}: ${response.status} ${response.statusText}`);
  return response;
}

function compiled(source) {
  const key = typeof source === "string" || source instanceof URL ? String(source) : source;
  if (!modules.has(key)) {
    const found = bytesOf(source).then((bytes) => WebAssembly.compile(bytes));
    found.catch(() => modules.delete(key));
    modules.set(key, found);
  }
  return modules.get(key);
}

// `source` is a URL, a path relative to the page (in node: to this file), a Response, or the bytes of a model.
// `wasm` is where kerneton.wasm is, by default beside this file.
export async function load(source, {wasm} = {}) {
  const name = WebAssembly.validate(SIMD_PROBE) ? "kerneton.wasm" : "kerneton-plain.wasm";
  const [module, bytes] = await Promise.all([compiled(wasm ?? new URL(name, import.meta.url)), bytesOf(source)]);
  const {exports} = await WebAssembly.instantiate(module, {});
  return new Model(exports, new Uint8Array(bytes));
}

// Memory of one model: the model at the bottom, working memory above it, which grows when longer recordings come.
class Heap {
  constructor(exports) {
    this.memory = exports.memory;
    this.top = align(exports.__heap_base.value);
  }

  take(size) {
    const at = this.top;
    this.top = align(at + size);
    this.reach(this.top);
    return at;
  }

  reach(end) {
    const missing = end - this.memory.buffer.byteLength;
    if (missing > 0) this.memory.grow(Math.ceil(missing / PAGE));
  }
}

const align = (at) => Math.ceil(at / ALIGNED) * ALIGNED;

export class Model {
  #c;
  #heap;
  #model;
  #answer;
  #decisions;
  #probabilities;
  #contributions;
  #options;
  #closed = []; // memory of live views that were closed

  constructor(exports, bytes) {
    this.#c = exports;
    this.#heap = new Heap(exports);
    const file = this.#heap.take(bytes.length);
    this.#bytes(file, bytes.length).set(bytes);
    const size = this.#checked(Number(exports.kn_open_size(file, BigInt(bytes.length))));
    const memory = this.#heap.take(size);
    const pointer = this.#heap.take(8);
    this.#checked(exports.kn_open(file, BigInt(bytes.length), memory, BigInt(size), pointer));
    this.#model = this.#view().getUint32(pointer, true);
    const facts = this.#heap.take(64);
    exports.kn_describe(this.#model, facts);
    const view = this.#view();
    const count = (k) => view.getInt32(facts + 4 * k, true);
    const text = (at) => {
      const all = this.#bytes(at);
      return new TextDecoder().decode(all.subarray(0, all.indexOf(0)));
    };
    const range = (n) => Array.from({length: n}, (_, k) => k);
    this.labels = range(count(0)).map((k) => text(exports.kn_label(this.#model, k)));
    this.joints = range(count(1)).map((k) => text(exports.kn_joint(this.#model, k)));
    this.parents = range(count(1)).map((k) => exports.kn_parent(this.#model, k));
    this.calibrated = count(2) === 1;
    this.needsRate = count(3) === 1;
    this.threshold = view.getFloat64(facts + 16, true);
    this.usualSeconds = view.getFloat64(facts + 24, true);
    this.#answer = this.#heap.take(16);
    this.#decisions = this.#heap.take(8 * this.labels.length);
    this.#probabilities = this.#heap.take(8 * this.labels.length);
    this.#contributions = this.#heap.take(8 * (this.joints.length + 1));
    this.#options = this.#heap.take(24);
  }

  // {label, labels, decisions, probabilities, unknown, isUnknown} of one recording. `fps` is needed by models that
  // know seconds. Without calibration there are no probabilities, and nothing is unknown.
  predict(recording) {
    const {joints, frames, fps, room, size} = this.#given(recording);
    const {kn_predict} = this.#c;
    const [d, p, a] = [this.#decisions, this.#probabilities, this.#answer];
    this.#checked(kn_predict(this.#model, joints, frames, fps, room, size, d, p, a));
    return this.#read(a, d, p);
  }

  // What each joint contributes to the decision value of a label (by default the predicted one):
  // {label, contributions: {joint: value}, intercept}; they sum to the decision value.
  explain(recording, label = this.predict(recording).label) {
    const {joints, frames, fps, room, size} = this.#given(recording);
    const at = this.#contributions;
    const intercept = at + 8 * this.joints.length;
    const number = this.labels.indexOf(label);
    this.#checked(this.#c.kn_explain(this.#model, joints, frames, fps, number, room, size, at, intercept));
    const values = this.#doubles(at, this.joints.length + 1);
    const contributions = Object.fromEntries(this.joints.map((joint, k) => [joint, values[k]]));
    return {label, contributions, intercept: values[this.joints.length]};
  }

  // A live view: push(seconds, pose) with a pose of joints × 3, one after the other. Close it when it is no longer needed:
  // the next one takes its memory.
  live({window = 0, still = 0, fps = 0} = {}) {
    const view = this.#view();
    [window, still, fps].forEach((value, k) => view.setFloat64(this.#options + 8 * k, value, true));
    const size = this.#checked(Number(this.#c.kn_live_size(this.#model, this.#options)));
    const width = 3 * this.joints.length;
    const whole = align(size) + align(4 * width) + ALIGNED * 2;
    const known = this.#closed.findIndex((other) => other.whole === whole);
    const memory = known < 0 ? this.#heap.take(whole) : this.#closed.splice(known, 1)[0].memory;
    const pose = memory + align(size);
    const event = pose + align(4 * width);
    this.#checked(this.#c.kn_live_open(this.#model, this.#options, memory, BigInt(size), event));
    const live = this.#view().getUint32(event, true);
    let open = true;
    return {
      close: () => {
        if (open) this.#closed.push({memory, whole});
        open = false;
      },
      push: (seconds, joints) => {
        if (!open) throw new KernetonError(0, "this live view was closed");
        this.#floats(pose, width).set(this.#pose(joints, 1));
        const given = [live, seconds, pose, this.#decisions, this.#probabilities, event];
        this.#checked(this.#c.kn_live_push(...given));
        const now = this.#view();
        const has = (at) => now.getInt32(event + at, true) === 1;
        return {
          current: has(0) ? this.#read(event + 8, this.#decisions, this.#probabilities) : null,
          segment: has(24)
            ? {
                ...this.#short(event + 32),
                begin: now.getFloat64(event + 48, true),
                end: now.getFloat64(event + 56, true),
              }
            : null,
          moving: has(64),
        };
      },
    };
  }

  #given({joints, frames, fps = 0}) {
    const values = this.#pose(joints, frames);
    const room = Number(this.#c.kn_predict_size(this.#model, frames));
    this.#checked(room);
    const at = this.#heap.top; // above everything that stays
    const memory = align(at + 4 * values.length);
    this.#heap.reach(memory + room);
    this.#floats(at, values.length).set(values);
    return {joints: at, frames, fps, room: memory, size: BigInt(room)};
  }

  #pose(joints, frames) {
    if (!Number.isInteger(frames)) throw new KernetonError(0, `frames: expected how many there are, got ${frames}`);
    const expected = frames * 3 * this.joints.length;
    if (joints?.length !== expected) {
      const shape = `${frames} frames × ${this.joints.length} joints × 3 = ${expected}`;
      throw new KernetonError(0, `joints: expected ${shape} numbers, got ${joints?.length}`);
    }
    return joints;
  }

  #short(at) {
    const view = this.#view();
    const [label, unknown] = [view.getInt32(at, true), view.getInt32(at + 4, true) === 1];
    return {
      label: this.labels[label],
      isUnknown: unknown,
      unknown: this.calibrated ? view.getFloat64(at + 8, true) : null,
    };
  }

  #read(answer, decisions, probabilities) {
    const n = this.labels.length;
    return {
      ...this.#short(answer),
      labels: this.labels,
      decisions: this.#doubles(decisions, n).slice(),
      probabilities: this.calibrated ? this.#doubles(probabilities, n).slice() : null,
    };
  }

  #checked(code) {
    if (code >= 0) return code;
    const all = this.#bytes(this.#c.kn_sentence(code));
    throw new KernetonError(code, new TextDecoder().decode(all.subarray(0, all.indexOf(0))));
  }

  #view() {
    return new DataView(this.#c.memory.buffer);
  }

  #bytes(at, size) {
    return new Uint8Array(this.#c.memory.buffer, at, size);
  }

  #floats(at, size) {
    return new Float32Array(this.#c.memory.buffer, at, size);
  }

  #doubles(at, size) {
    return new Float64Array(this.#c.memory.buffer, at, size);
  }
}
