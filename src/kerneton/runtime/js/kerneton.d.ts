/** An error of the model or its input; `code` is one of kerneton.h, 0 for errors before the core is asked. */
export class KernetonError extends Error {
  readonly code: number;
}

export interface Recording {
  /** frames × joints × 3 numbers in metres, y up, NaN where missing, in the order of `Model.joints`. */
  joints: Float32Array | number[];
  frames: number;
  /** Frames a second; needed if `Model.needsRate`. */
  fps?: number;
}

export interface Answer {
  label: string;
  isUnknown: boolean;
  /** Score of being none of the labels, 0 to 1; null without calibration. */
  unknown: number | null;
}

export interface Prediction extends Answer {
  labels: string[];
  decisions: Float64Array;
  /** In the order of `labels`; null without calibration. */
  probabilities: Float64Array | null;
}

export interface Explanation {
  label: string;
  contributions: Record<string, number>;
  intercept: number;
}

export interface LiveEvent {
  current: Prediction | null;
  segment: (Answer & {begin: number; end: number}) | null;
  moving: boolean;
}

export interface Live {
  push(seconds: number, joints: Float32Array | number[]): LiveEvent;
  /** Its memory goes to the next live view. */
  close(): void;
}

export class Model {
  readonly labels: string[];
  readonly joints: string[];
  /** The joint from which the bone to each joint starts, or -1. */
  readonly parents: number[];
  readonly calibrated: boolean;
  readonly needsRate: boolean;
  readonly threshold: number;
  readonly usualSeconds: number;
  predict(recording: Recording): Prediction;
  explain(recording: Recording, label?: string): Explanation;
  live(options?: {window?: number; still?: number; fps?: number}): Live;
}

export function load(
  source: string | URL | ArrayBuffer | Uint8Array | Response,
  options?: {wasm?: string | URL | ArrayBuffer},
): Promise<Model>;
